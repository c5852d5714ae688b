//! Colors and markers, by what the terminal can show.

use anstyle::{AnsiColor, Color};
use std::env;
use std::io::IsTerminal;

/// How a report looks.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub color: bool,
    pub emoji: bool,
    pub width: usize,
}

/// What a piece of text is, not how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Good,
    Bad,
    Warn,
    Quiet,
    Strong,
}

impl Style {
    pub fn of_stdout() -> Style {
        let stdout = rustix::stdio::stdout();
        let terminal = stdout.is_terminal();
        let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let plain = set("NO_COLOR") || env::var_os("TERM").is_some_and(|term| term == "dumb");
        let width = rustix::termios::tcgetwinsize(stdout).map_or(0, |size| usize::from(size.ws_col));
        Style {
            color: terminal && !plain,
            emoji: terminal && speaks_utf8(),
            width: if width == 0 { 80 } else { width.clamp(40, 200) },
        }
    }

    /// How wide a table may be: a pipe has no edge.
    pub fn table_width(&self) -> usize {
        if rustix::stdio::stdout().is_terminal() { self.width } else { usize::MAX }
    }

    pub fn paint(&self, tone: Tone, text: &str) -> String {
        if !self.color {
            return text.to_string();
        }
        let style = match tone {
            Tone::Good => anstyle::Style::new().fg_color(Some(Color::Ansi(AnsiColor::Green))),
            Tone::Bad => anstyle::Style::new().fg_color(Some(Color::Ansi(AnsiColor::Red))),
            Tone::Warn => anstyle::Style::new().fg_color(Some(Color::Ansi(AnsiColor::Yellow))),
            Tone::Quiet => anstyle::Style::new().dimmed(),
            Tone::Strong => anstyle::Style::new().bold(),
        };
        format!("{style}{text}{style:#}")
    }

    pub fn ok(&self) -> String {
        self.paint(Tone::Good, if self.emoji { "✅" } else { "[OK]" })
    }

    /// Whether something is there, in a column of four cells.
    pub fn mark(&self, there: bool) -> String {
        match there {
            true if self.emoji => format!("{}  ", self.ok()),
            true => self.ok(),
            false => "--  ".to_string(),
        }
    }

    pub fn bad(&self) -> String {
        self.paint(Tone::Bad, if self.emoji { "❌" } else { "[ERR]" })
    }

    pub fn tool(&self) -> &'static str {
        if self.emoji { "⏺" } else { "*" }
    }

    pub fn under(&self) -> &'static str {
        if self.emoji { "  ⎿ " } else { "  | " }
    }

    pub fn rule(&self) -> &'static str {
        if self.emoji { "─" } else { "-" }
    }
}

fn speaks_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()))
        .unwrap_or_default()
        .to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// Cuts a line to a width, counted as a terminal counts: wide characters take two.
pub fn fit(line: &str, width: usize) -> String {
    use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
    if line.width() <= width {
        return line.to_string();
    }
    let (mut out, mut used) = (String::new(), 0);
    for c in line.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        out.push(c);
    }
    out.push('…');
    out
}

/// As `fit`, keeping the end.
pub fn fit_end(line: &str, width: usize) -> String {
    use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
    if line.width() <= width {
        return line.to_string();
    }
    let (mut kept, mut used) = (Vec::new(), 0);
    for c in line.chars().rev() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        kept.push(c);
    }
    std::iter::once('…').chain(kept.into_iter().rev()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(fit("abcdef", 6), "abcdef");
        assert_eq!(fit("abcdefg", 6), "abcde…");
        assert_eq!(fit("日本語日本語", 6), "日本…");
        assert_eq!(fit_end("/a/long/path", 6), "…/path");
        assert_eq!(fit_end("日本語日本語", 6), "…本語");
    }
}
