//! What is on the terminal now.
//!
//! Invariant: nothing that a program prints ends the host. The parser panics on a screen of one row or one column, and
//! on a wide character of which a resize has left one half, so neither ever comes to be.

use super::queries::Queries;
use std::ops::RangeInclusive;
use vt100::Parser;

/// Smaller screens break the parser, larger ones are no one's and take memory.
const ROWS: RangeInclusive<u16> = 2..=500;
const COLUMNS: RangeInclusive<u16> = 2..=1000;

/// The first byte of the first character that takes two columns, U+1100. No smaller byte begins one.
const FIRST_WIDE: u8 = 0xe1;

pub struct Screen {
    parser: Parser<Queries>,
    /// Some character may have taken two columns.
    may_have_wide: bool,
}

impl Screen {
    pub fn new(rows: u16, columns: u16) -> Screen {
        let (rows, columns) = within(rows, columns);
        let parser = Parser::new_with_callbacks(rows, columns, 0, Queries::default());
        Screen { parser, may_have_wide: false }
    }

    /// Takes in what the program has printed. Returns the answers to what it asks of a terminal.
    pub fn take(&mut self, printed: &[u8]) -> Vec<u8> {
        self.may_have_wide |= printed.iter().any(|byte| *byte >= FIRST_WIDE);
        self.parser.process(printed);
        self.parser.callbacks_mut().take()
    }

    pub fn resize(&mut self, rows: u16, columns: u16) {
        let (rows, columns) = within(rows, columns);
        let (_, before) = self.parser.screen().size();
        if columns < before && self.may_have_wide {
            self.erase_halves(columns);
        }
        self.parser.screen_mut().set_size(rows, columns);
    }

    /// Erases what would be cut in two by a screen of so many columns, also on the screen that is hidden now.
    fn erase_halves(&mut self, columns: u16) {
        let shown = self.parser.screen().alternate_screen();
        for alternate in [!shown, shown] {
            self.parser.process(if alternate { b"\x1b[?47h" } else { b"\x1b[?47l" });
            let screen = self.parser.screen();
            let ((row, column), (rows, _)) = (screen.cursor_position(), screen.size());
            let is_wide = |row: &u16| screen.cell(*row, columns - 1).is_some_and(vt100::Cell::is_wide);
            let mut erased: String = (0..rows)
                .filter(is_wide)
                .map(|row| format!("\x1b[{}d\x1b[{columns}G\x1b[X", row + 1))
                .collect();
            erased += &format!("\x1b[{}d\x1b[{}G", row + 1, column + 1);
            self.parser.process(erased.as_bytes());
        }
    }

    /// What moves the cursor of a terminal that looks like this one below all that is on it.
    pub fn below(&self) -> Vec<u8> {
        match self.parser.screen().alternate_screen() {
            // What was there before comes back.
            true => Vec::new(),
            false => format!("\x1b[{};1H", self.lines().len().max(1)).into_bytes(),
        }
    }

    /// All that a terminal has to be told in order to look like this one.
    pub fn repaint(&self) -> Vec<u8> {
        let screen = self.parser.screen();
        let alternate: &[u8] = if screen.alternate_screen() { b"\x1b[?1049h" } else { b"" };
        [alternate, &screen.state_formatted()].concat()
    }

    /// As lines of text, without the empty ones at its end.
    pub fn lines(&self) -> Vec<String> {
        let screen = self.parser.screen();
        let (_, columns) = screen.size();
        let mut lines: Vec<String> = screen.rows(0, columns).map(|line| line.trim_end().to_owned()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    /// Likewise, but a line that was too long for the screen is one.
    pub fn text(&self) -> Vec<String> {
        let screen = self.parser.screen();
        let (rows, columns) = screen.size();
        let mut lines: Vec<String> = Vec::new();
        let mut goes_on = false;
        for (row, text) in (0..rows).zip(screen.rows(0, columns)) {
            match lines.last_mut().filter(|_| goes_on) {
                Some(line) => line.push_str(&text),
                None => lines.push(text),
            }
            goes_on = screen.row_wrapped(row);
        }
        lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    /// A text as if it were pasted.
    pub fn pasted(&self, text: &str) -> Vec<u8> {
        // A program is told where a paste ends by the sequence below: in the text it would end it early.
        let mut text = text.to_owned();
        while text.contains("\x1b[201~") {
            text = text.replace("\x1b[201~", "");
        }
        if self.parser.screen().bracketed_paste() {
            format!("\x1b[200~{text}\x1b[201~").into_bytes()
        } else {
            text.replace('\n', "\r").into_bytes()
        }
    }
}

fn within(rows: u16, columns: u16) -> (u16, u16) {
    (rows.clamp(*ROWS.start(), *ROWS.end()), columns.clamp(*COLUMNS.start(), *COLUMNS.end()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What happens to a terminal.
    #[derive(Clone, Debug)]
    enum Act {
        Printed(Vec<u8>),
        Resized(u16, u16),
    }

    /// Sequences that move, scroll and erase, with numbers that are missing, small or too large, and text of every
    /// width between them.
    fn printed() -> impl Strategy<Value = Vec<u8>> {
        let number =
            prop_oneof![Just(String::new()), (0..600u32).prop_map(|n| n.to_string()), Just("700".into())];
        let ends = "@ABCDEFGHIJKLMPSTXZ`abcdefghilmnqrstu".chars().collect::<Vec<_>>();
        let sequence = (
            prop::sample::select(vec!["", "?", ">", "!"]),
            prop::collection::vec(number, 0..4),
            prop::sample::select(ends),
        )
            .prop_map(|(prefix, numbers, end)| {
                format!("\x1b[{prefix}{}{end}", numbers.join(";")).into_bytes()
            });
        let mode = prop::sample::select(vec![6u32, 7, 25, 47, 1000, 1047, 1049, 2004])
            .prop_flat_map(|mode| {
                any::<bool>().prop_map(move |on| format!("\x1b[?{mode}{}", if on { 'h' } else { 'l' }))
            })
            .prop_map(String::into_bytes);
        let text = prop::sample::select(vec![
            "a",
            "wide: 世界",
            "世",
            "e\u{301}",
            "\u{301}",
            "\u{200d}",
            "👩\u{200d}👩",
            "\u{ad}",
            "\t",
            "\r",
            "\n",
            "\x08",
            "\x0b",
            "\x0c",
            "\x07",
            "\x1b7",
            "\x1b8",
            "\x1bD",
            "\x1bM",
            "\x1bc",
            "\x1bE",
            "\x1b]0;title\x07",
            "\x1bP+q\x1b\\",
            "\x0e",
            "\x0f",
        ])
        .prop_map(|text| text.as_bytes().to_vec());
        prop_oneof![3 => sequence, 1 => mode, 4 => text, 1 => prop::collection::vec(any::<u8>(), 0..40)]
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        let size = prop_oneof![1..4u16, 1..500u16, Just(0)];
        let resized = (prop_oneof![1..4u16, 1..200u16, Just(0)], size);
        let act = prop_oneof![
            8 => printed().prop_map(Act::Printed),
            1 => resized.prop_map(|(rows, columns)| Act::Resized(rows, columns)),
        ];
        prop::collection::vec(act, 0..120)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        /// The host would end with it, and the agent with the host.
        #[test]
        fn nothing_that_a_program_prints_breaks_the_screen(
            (rows, columns) in (1..200u16, 1..500u16),
            acts in acts(),
        ) {
            let mut screen = Screen::new(rows, columns);
            for act in acts {
                match act {
                    Act::Printed(bytes) => drop(screen.take(&bytes)),
                    Act::Resized(rows, columns) => screen.resize(rows, columns),
                }
            }
            screen.repaint();
            screen.lines();
            screen.text();
        }
    }

    #[test]
    fn a_wide_character_that_a_resize_cuts_in_two_is_erased() {
        for other_screen in ["", "\x1b[?1049h"] {
            let mut screen = Screen::new(3, 10);
            screen.take(format!("abc\u{4e16}{other_screen}").as_bytes());
            screen.resize(3, 4);
            screen.take(b"\x1b[?1049l\x1b[1;4H");
            assert_eq!(screen.lines(), ["abc"], "{other_screen:?}");
            screen.take(b"x");
            assert_eq!(screen.lines(), ["abcx"], "{other_screen:?}");
        }
    }

    #[test]
    fn a_screen_is_never_too_large_for_memory() {
        let mut screen = Screen::new(u16::MAX, u16::MAX);
        screen.resize(u16::MAX, u16::MAX);
        assert_eq!(screen.parser.screen().size(), (500, 1000));
    }

    #[test]
    fn a_line_that_was_too_long_for_the_screen_is_one_line_of_text() {
        let mut screen = Screen::new(4, 5);
        screen.take(b"abcdefg\r\nhi");
        assert_eq!(
            (screen.lines(), screen.text()),
            (vec!["abcde".into(), "fg".into(), "hi".into()], vec!["abcdefg".into(), "hi".into()])
        );
    }
}
