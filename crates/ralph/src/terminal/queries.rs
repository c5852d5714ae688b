//! What programs ask their terminal, answered while no one looks at it.
//!
//! Some programs do not start on a terminal that does not say where its cursor is.

use vt100::{Callbacks, Screen};

/// The answers that are due.
#[derive(Default)]
pub struct Queries {
    answers: Vec<u8>,
}

impl Queries {
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.answers)
    }
}

impl Callbacks for Queries {
    fn unhandled_csi(
        &mut self,
        screen: &mut Screen,
        prefix: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        end: char,
    ) {
        let first = params.first().and_then(|param| param.first()).copied().unwrap_or(0);
        match (prefix, first, end) {
            (None, 5, 'n') => self.answers.extend(b"\x1b[0n"),
            (None, 6, 'n') => {
                let (row, column) = screen.cursor_position();
                self.answers.extend(format!("\x1b[{};{}R", row + 1, column + 1).as_bytes());
            }
            // A terminal with colors.
            (None, 0, 'c') => self.answers.extend(b"\x1b[?62;22c"),
            _ => {}
        }
    }
}
