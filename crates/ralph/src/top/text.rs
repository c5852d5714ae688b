//! Rows of text with tones: what reports print, cut into rows of a width.
//!
//! Invariant: no control character gets into a row. Of escape sequences only the few colors that
//! [`Style::paint`](crate::report::Style::paint) writes are understood.

use crate::report::{Tone, fold};
use ralph_loop::text::printable;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError, Weak};
use unicode_width::UnicodeWidthChar;

/// One row, in pieces of one tone each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row(pub Vec<(Option<Tone>, String)>);

impl Row {
    pub fn plain(text: impl Into<String>) -> Row {
        Row(vec![(None, text.into())])
    }

    pub fn toned(tone: Tone, text: impl Into<String>) -> Row {
        Row(vec![(Some(tone), text.into())])
    }

    pub fn text(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Ignores case.
    pub fn has(&self, wanted: &str) -> bool {
        self.text().to_lowercase().contains(&wanted.to_lowercase())
    }
}

/// Longer lines are cut: a screen cannot show them.
const LONGEST_LINE: usize = 32 << 10;
const TAB: usize = 4;

/// The rows of one printed line, broken between words where that is possible.
pub fn rows(line: &str, width: usize) -> Vec<Row> {
    if line.len() > LONGEST_LINE {
        return exact_rows(line, width);
    }
    fold(line, width).split('\n').flat_map(|part| exact_rows(part, width)).collect()
}

/// The same, broken where a row is full.
pub fn exact_rows(line: &str, width: usize) -> Vec<Row> {
    let (line, is_cut) = match line.char_indices().nth(LONGEST_LINE) {
        Some((at, _)) => (&line[..at], true),
        None => (line, false),
    };
    let width = width.max(2);
    let (mut out, mut row, mut used) = (Vec::new(), Row::default(), 0);
    for (tone, text) in pieces(line) {
        let mut piece = String::new();
        for c in printable(text).chars() {
            let (shown, wide) = match c {
                '\t' => (' ', TAB - used % TAB),
                c => (c, c.width().unwrap_or(0)),
            };
            if used + wide > width {
                row.0.push((tone, std::mem::take(&mut piece)));
                out.push(std::mem::take(&mut row));
                used = 0;
            }
            let times = if c == '\t' { wide.min(width) } else { 1 };
            piece.extend(std::iter::repeat_n(shown, times));
            used += wide;
        }
        if !piece.is_empty() {
            row.0.push((tone, piece));
        }
    }
    if is_cut {
        row.0.push((Some(Tone::Quiet), "…".to_string()));
    }
    out.push(row);
    out
}

/// The parts of a line between its colors.
fn pieces(line: &str) -> Vec<(Option<Tone>, &str)> {
    let (mut out, mut tone) = (Vec::new(), None);
    for (number, part) in line.split("\u{1b}[").enumerate() {
        let text = match part.split_once('m') {
            Some((code, text)) if number > 0 && code.bytes().all(|b| b.is_ascii_digit() || b == b';') => {
                tone = match code {
                    "1" => Some(Tone::Strong),
                    "2" => Some(Tone::Quiet),
                    "31" => Some(Tone::Bad),
                    "32" => Some(Tone::Good),
                    "33" => Some(Tone::Warn),
                    _ => None,
                };
                text
            }
            _ => part,
        };
        out.push((tone, text));
    }
    out
}

/// The last rows of something that grows. Rows keep their numbers when older ones are dropped.
#[derive(Debug, Default)]
pub struct Tail {
    rows: VecDeque<Row>,
    dropped: usize,
}

/// So many rows are kept.
pub const KEPT: usize = 4000;

impl Tail {
    pub fn push(&mut self, row: Row) {
        if self.rows.len() == KEPT {
            self.rows.pop_front();
            self.dropped += 1;
        }
        self.rows.push_back(row);
    }

    /// The number of the first row that is kept.
    pub fn first(&self) -> usize {
        self.dropped
    }

    /// The number after the last one.
    pub fn end(&self) -> usize {
        self.dropped + self.rows.len()
    }

    pub fn get(&self, number: usize) -> Option<&Row> {
        self.rows.get(number.checked_sub(self.dropped)?)
    }
}

/// Takes what a report prints, line by line, as long as `to` exists.
pub struct RowWriter<T, F: Fn(&mut T) -> &mut Tail> {
    to: Weak<Mutex<T>>,
    tail: F,
    width: usize,
    begun: Vec<u8>,
}

impl<T, F: Fn(&mut T) -> &mut Tail> RowWriter<T, F> {
    pub fn new(to: Weak<Mutex<T>>, tail: F, width: usize) -> RowWriter<T, F> {
        RowWriter { to, tail, width, begun: Vec::new() }
    }
}

impl<T, F: Fn(&mut T) -> &mut Tail> Write for RowWriter<T, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(to) = self.to.upgrade() else { return Ok(bytes.len()) };
        let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            // A line without an end must not fill the memory.
            if self.begun.len() < 4 * LONGEST_LINE || piece.ends_with(b"\n") {
                self.begun.extend_from_slice(&piece[..piece.len().min(4 * LONGEST_LINE)]);
            }
            if piece.ends_with(b"\n") {
                let line = String::from_utf8_lossy(&self.begun);
                let tail = (self.tail)(&mut to);
                rows(line.trim_end_matches('\n'), self.width).into_iter().for_each(|row| tail.push(row));
                self.begun.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str, width: usize) -> Vec<String> {
        rows(line, width).iter().map(Row::text).collect()
    }

    #[test]
    fn long_lines_go_on_in_the_next_row() {
        assert_eq!(texts("", 5), [""]);
        assert_eq!(texts("abcdef", 5), ["abcde", "f"]);
        assert_eq!(texts("日本語", 5), ["日本", "語"]);
        assert_eq!(texts("a\tb", 20), ["a   b"]);
        assert_eq!(texts("a few words", 7), ["a few", "  words"]);
        assert_eq!(rows(&"x".repeat(100_000), 100).len(), LONGEST_LINE / 100 + 1);
    }

    #[test]
    fn colors_become_tones_and_other_sequences_are_removed() {
        let row = &rows("a \u{1b}[31mred\u{1b}[0m b", 40)[0];
        let tones = [(None, "a ".into()), (Some(Tone::Bad), "red".into()), (None, " b".into())];
        assert_eq!(row.0, tones);
        let bad = |line: &str| texts(line, 80).concat().chars().any(char::is_control);
        assert!(!bad("\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}2J\u{8}x\u{1b}[?25l\r"));
    }

    #[test]
    fn only_the_last_rows_are_kept_and_keep_their_numbers() {
        let mut tail = Tail::default();
        (0..KEPT + 10).for_each(|number| tail.push(Row::plain(number.to_string())));
        assert_eq!((tail.first(), tail.end()), (10, KEPT + 10));
        assert_eq!(tail.get(9), None);
        assert_eq!(tail.get(10).map(Row::text), Some("10".into()));
    }
}
