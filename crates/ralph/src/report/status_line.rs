//! The last line of a terminal, its title, and its mark in the taskbar, while a run goes on.

use super::out::signal_terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::env;
use std::io::IsTerminal;

/// What is shown of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) line: String,
    pub(super) title: String,
    pub(super) taskbar: Taskbar,
}

/// How far the run is, where a terminal shows that outside of its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Taskbar {
    #[default]
    Nothing,
    Busy,
    Percent(usize),
    /// It waits, or is paused.
    Waiting(usize),
}

pub(super) struct StatusLine {
    bar: ProgressBar,
    terminal: Terminal,
    shown: Status,
}

/// What a terminal understands beside text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Terminal {
    has_title: bool,
    has_taskbar: bool,
}

/// Many terminals keep a stack of titles, and the others pass over this.
const SAVE_TITLE: &str = "\x1b[22;2t";
const RESTORE_TITLE: &str = "\x1b[23;2t";

impl StatusLine {
    /// Only where both streams are a terminal that can move its cursor: output and line share the screen.
    pub(super) fn on_terminal() -> Option<StatusLine> {
        if !rustix::stdio::stdout().is_terminal() || !rustix::stdio::stderr().is_terminal() {
            return None;
        }
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        if variable("TERM").is_none_or(|term| term == "dumb") {
            return None;
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
            bar.set_style(style);
        }
        Some(StatusLine { bar, terminal: Terminal::of(&variable), shown: Status::default() })
    }

    pub(super) fn show(&mut self, status: Status) {
        if status.line != self.shown.line {
            self.bar.set_message(status.line.clone());
            self.bar.tick();
        }
        signal_terminal(&self.terminal.signs(&self.shown, &status));
        self.shown = status;
    }

    /// Runs something that prints, with the line out of its way.
    pub(super) fn aside(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    pub(super) fn clear(&mut self) {
        self.bar.finish_and_clear();
        signal_terminal(&self.terminal.signs(&self.shown, &Status::default()));
        self.shown = Status::default();
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Terminal {
    fn of(variable: &dyn Fn(&str) -> Option<String>) -> Terminal {
        let term = variable("TERM").unwrap_or_default();
        // Inside of a multiplexer the title would be that of the pane, and stay.
        let is_multiplexed =
            variable("TMUX").is_some() || ["screen", "tmux"].iter().any(|name| term.starts_with(name));
        let program = variable("TERM_PROGRAM").unwrap_or_default();
        let version = |name: &str| variable(name).and_then(|text| text.parse::<u32>().ok()).unwrap_or(0);
        // Others take the same code for a notification.
        let has_taskbar = variable("WT_SESSION").is_some()
            || variable("ConEmuANSI").is_some_and(|value| value == "ON")
            || ["WezTerm", "ghostty"].contains(&program.as_str())
            || version("VTE_VERSION") >= 7900;
        Terminal {
            has_title: !is_multiplexed && !["", "dumb", "linux"].contains(&term.as_str()),
            has_taskbar: !is_multiplexed && has_taskbar,
        }
    }

    /// What to send when one status follows another.
    fn signs(self, before: &Status, now: &Status) -> String {
        let mut signs = String::new();
        if self.has_title && before.title != now.title {
            if before.title.is_empty() {
                signs += SAVE_TITLE;
            }
            match now.title.as_str() {
                "" => signs += RESTORE_TITLE,
                title => signs += &format!("\x1b]2;{title}\x1b\\"),
            }
        }
        if self.has_taskbar && before.taskbar != now.taskbar {
            let (state, percent) = match now.taskbar {
                Taskbar::Nothing => (0, 0),
                Taskbar::Percent(percent) => (1, percent),
                Taskbar::Busy => (3, 0),
                Taskbar::Waiting(percent) => (4, percent),
            };
            signs += &format!("\x1b]9;4;{state};{percent}\x1b\\");
        }
        signs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal(variables: &[(&str, &str)]) -> Terminal {
        Terminal::of(&|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn only_terminals_that_understand_a_sign_get_it() {
        let has = |title, taskbar| Terminal { has_title: title, has_taskbar: taskbar };
        for (variables, expected) in [
            (&[("TERM", "xterm-256color")][..], has(true, false)),
            (&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "WezTerm")], has(true, true)),
            (&[("TERM", "xterm-ghostty"), ("TERM_PROGRAM", "ghostty"), ("TMUX", "x")], has(false, false)),
            (&[("TERM", "screen"), ("WT_SESSION", "x")], has(false, false)),
            (&[("TERM", "xterm"), ("VTE_VERSION", "7600")], has(true, false)),
            (&[("TERM", "xterm"), ("VTE_VERSION", "8000")], has(true, true)),
            (&[("TERM", "linux")], has(false, false)),
            (&[], has(false, false)),
        ] {
            assert_eq!(terminal(variables), expected, "{variables:?}");
        }
    }

    #[test]
    fn a_terminal_is_left_as_it_was() {
        let terminal = Terminal { has_title: true, has_taskbar: true };
        let status = |title: &str, taskbar| Status { line: String::new(), title: title.into(), taskbar };
        let (nothing, half) = (Status::default(), status("ralph 1/2", Taskbar::Percent(50)));
        assert_eq!(terminal.signs(&nothing, &half), "\x1b[22;2t\x1b]2;ralph 1/2\x1b\\\x1b]9;4;1;50\x1b\\");
        assert_eq!(terminal.signs(&half, &half), "");
        let waits = status("ralph 1/2", Taskbar::Waiting(50));
        assert_eq!(terminal.signs(&half, &waits), "\x1b]9;4;4;50\x1b\\");
        assert_eq!(
            terminal.signs(&waits, &status("ralph", Taskbar::Busy)),
            "\x1b]2;ralph\x1b\\\x1b]9;4;3;0\x1b\\"
        );
        assert_eq!(terminal.signs(&half, &nothing), "\x1b[23;2t\x1b]9;4;0;0\x1b\\");
    }
}
