//! Colors and markers, by what the terminal can show.

use anstyle::{AnsiColor, Color};
use ralph_loop::text::printable;
use std::borrow::Cow;
use std::env;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How a report looks.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub color: bool,
    pub emoji: bool,
    pub width: usize,
    /// It is a person's screen: lines end at its edge.
    terminal: bool,
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
        Style {
            color: terminal && !plain,
            emoji: terminal && speaks_utf8(),
            width: columns(stdout),
            terminal,
        }
    }

    /// How wide a line may be: a pipe has no edge.
    pub fn edge(&self) -> usize {
        if self.terminal { self.width } else { usize::MAX }
    }

    /// How wide a line of a table may be: also a narrow screen has no room for more.
    pub fn table_edge() -> usize {
        let stdout = rustix::stdio::stdout();
        match rustix::termios::tcgetwinsize(stdout).map(|size| usize::from(size.ws_col)) {
            _ if !stdout.is_terminal() => usize::MAX,
            Ok(0) | Err(_) => 80,
            Ok(columns) => columns,
        }
    }

    /// Columns and rows of the screen, if standard output is one that can be drawn on.
    pub fn screen() -> Option<(usize, usize)> {
        let stdout = rustix::stdio::stdout();
        let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        let size = if stdout.is_terminal() && !dumb {
            rustix::termios::tcgetwinsize(stdout).ok()?
        } else {
            return None;
        };
        let or = |cells: u16, other: usize| if cells == 0 { other } else { usize::from(cells) };
        Some((or(size.ws_col, 80), or(size.ws_row, 24)))
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

    /// It is done, and worth a look.
    pub fn doubt(&self) -> String {
        self.paint(Tone::Warn, if self.emoji { "⚠️" } else { "[!]" })
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

pub(super) fn columns(fd: impl AsFd) -> usize {
    match rustix::termios::tcgetwinsize(fd).map_or(0, |size| usize::from(size.ws_col)) {
        0 => 80,
        width => width.clamp(40, 200),
    }
}

/// How wide a line on standard error may be.
pub(super) fn stderr_edge() -> usize {
    let stderr = rustix::stdio::stderr();
    if stderr.is_terminal() { columns(stderr) } else { usize::MAX }
}

fn speaks_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()))
        .unwrap_or_default()
        .to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// `950`, `45K`, `1.2M`.
pub fn count(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..10_000 => format!("{:.1}K", n as f64 / 1e3),
        10_000..1_000_000 => format!("{}K", n / 1_000),
        _ => format!("{:.1}M", n as f64 / 1e6),
    }
}

/// Cuts a line to a width, counted as a terminal counts: wide characters take two.
pub fn fit(line: &str, width: usize) -> String {
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

/// As `fit`, keeping the last word: how long something has taken stays.
pub fn fit_middle(line: &str, width: usize) -> String {
    match line.rsplit_once(' ') {
        Some((head, last)) if line.width() > width && last.width() + 4 <= width => {
            format!("{} {last}", fit(head, width - last.width() - 1))
        }
        _ => fit(line, width),
    }
}

/// Breaks lines that are wider than an edge between their words. What follows hangs below; a word
/// that is too wide by itself, such as a path, stays in one piece.
pub fn fold(text: &str, edge: usize) -> Cow<'_, str> {
    if text.len() <= edge {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split('\n').map(|line| fold_line(line, edge)).collect::<Vec<_>>().join("\n"))
}

fn fold_line(line: &str, edge: usize) -> String {
    // Colors take no room.
    let width = |text: &str| printable(text).width();
    if width(line) <= edge {
        return line.to_string();
    }
    let indent = line.len() - line.trim_start_matches(' ').len();
    let (mut out, mut used, mut is_first) = (line[..indent].to_string(), indent, true);
    for word in line[indent..].split(' ') {
        let wide = width(word);
        if is_first {
            is_first = false;
        } else if used + 1 + wide > edge {
            let hang = indent + 2;
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&" ".repeat(hang));
            used = hang;
        } else {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += wide;
    }
    out
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
        assert_eq!(fit_middle("Bash cargo test 1m40s", 16), "Bash carg… 1m40s");
        assert_eq!(fit_middle("Bash cargo test 1m40s", 6), "Bash …");
        assert_eq!(fit_end("日本語日本語", 6), "…本語");
    }

    #[test]
    fn wide_lines_are_folded_between_words_and_hang() {
        let folded = |text: &str| fold(text, 20).into_owned();
        assert_eq!(folded("short"), "short");
        assert_eq!(folded("  a line that is too wide"), "  a line that is too\n    wide");
        assert_eq!(
            folded("see /a/path/that/is/far/too/wide for it"),
            "see\n  /a/path/that/is/far/too/wide\n  for it"
        );
        assert_eq!(folded("one\ntwo words, and so on and on"), "one\ntwo words, and so on\n  and on");
        // Colors take no room, wide characters take two.
        assert_eq!(
            folded("\u{1b}[31mred red red red red\u{1b}[0m"),
            "\u{1b}[31mred red red red red\u{1b}[0m"
        );
        assert_eq!(folded("日本語 日本語 日本語 日"), "日本語 日本語 日本語\n  日");
        assert_eq!(
            fold("a pipe has no edge, so this stays as it is", usize::MAX),
            "a pipe has no edge, so this stays as it is"
        );
    }
}
