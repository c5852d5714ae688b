//! What is on the terminal now.

use super::queries::Queries;
use vt100::Parser;

pub struct Screen {
    parser: Parser<Queries>,
}

impl Screen {
    pub fn new(rows: u16, columns: u16) -> Screen {
        Screen { parser: Parser::new_with_callbacks(rows, columns, 0, Queries::default()) }
    }

    /// Takes in what the program has printed. Returns the answers to what it asks of a terminal.
    pub fn take(&mut self, printed: &[u8]) -> Vec<u8> {
        self.parser.process(printed);
        self.parser.callbacks_mut().take()
    }

    pub fn resize(&mut self, rows: u16, columns: u16) {
        self.parser.screen_mut().set_size(rows, columns);
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

    /// A text as if it were pasted.
    pub fn pasted(&self, text: &str) -> Vec<u8> {
        // A program is told where a paste ends by the sequence below: in the text it would end it early.
        let text = text.replace("\x1b[201~", "");
        if self.parser.screen().bracketed_paste() {
            format!("\x1b[200~{text}\x1b[201~").into_bytes()
        } else {
            text.replace('\n', "\r").into_bytes()
        }
    }
}
