//! What an interactive agent waits for, and how a person answers it.

use ralph_loop::dialect::{Awaited, NeedsPerson};
use ralph_loop::text::one_line;

/// Where a person sees the terminal of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// In the window of its worker.
    Window,
    /// In the terminal that its run was started from.
    ItsTerminal,
}

/// What is awaited of the user, with the commands for it. `name`: the worker's, or the id of the run.
pub fn waits_for_you(awaited: &Awaited, name: &str, seen: Seen) -> String {
    let what = awaited_words(awaited);
    let look = match seen {
        Seen::Window => format!("with `ralph attach {name}`"),
        Seen::ItsTerminal => "in its terminal".to_string(),
    };
    match awaited.why {
        Some(NeedsPerson::Permission) => {
            format!("{what}; answer with `ralph answer {name} yes` or `no`, or {look}")
        }
        Some(NeedsPerson::Question) => {
            format!("{what}; answer with `ralph answer {name} TEXT`, or {look}")
        }
        Some(NeedsPerson::Interrupted | NeedsPerson::Idle) => {
            format!("{what}; continue with `ralph resume {name}`, or type {look}")
        }
        Some(NeedsPerson::NotReady) | None => format!("{what}; look {look}"),
    }
}

/// The same without the commands.
pub fn awaited_words(awaited: &Awaited) -> String {
    let text = one_line(&awaited.text);
    match awaited.why {
        Some(NeedsPerson::Permission) => format!("the agent asks for permission: {text}"),
        Some(NeedsPerson::Question) => format!("the agent asks: {text}"),
        // These are sentences already.
        Some(NeedsPerson::Interrupted | NeedsPerson::Idle | NeedsPerson::NotReady) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(why: Option<NeedsPerson>, text: &str, expected: &str) {
        let awaited = Awaited { why, text: text.to_string() };
        assert_eq!(waits_for_you(&awaited, "night", Seen::Window), expected);
    }

    #[test]
    fn each_reason_to_wait_names_the_command_that_ends_it() {
        check(
            Some(NeedsPerson::Permission),
            "Bash: make deploy",
            "the agent asks for permission: Bash: make deploy; answer with `ralph answer night yes` or `no`, or \
             with `ralph attach night`",
        );
        check(
            Some(NeedsPerson::Question),
            "Which store?",
            "the agent asks: Which store?; answer with `ralph answer night TEXT`, or with `ralph attach night`",
        );
        check(
            Some(NeedsPerson::Interrupted),
            "a person has interrupted the agent",
            "a person has interrupted the agent; continue with `ralph resume night`, or type with `ralph attach night`",
        );
        check(None, "no sign of life", "no sign of life; look with `ralph attach night`");
    }
}
