//! Tables that fit the terminal: the title gives way first.

use crate::report::{fit, fit_end};
use unicode_width::UnicodeWidthStr;

pub struct Column {
    pub head: &'static str,
    pub shape: Shape,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// As wide as what is in it.
    Left,
    /// The same, for numbers.
    Right,
    /// No wider than this.
    UpTo(usize),
    /// What the others leave.
    Title,
    /// The same; the end of a path says more than its beginning.
    Path,
}

const WIDEST_TITLE: usize = 40;
const NARROWEST_TITLE: usize = 12;
const NARROWEST_PATH: usize = 16;

/// A line for the heads and for each row. A pipe has no edge (`usize::MAX`), and what reads it
/// wants all of it: there, long texts push the rest aside.
pub fn table<const N: usize>(columns: &[Column; N], rows: &[[String; N]], width: usize) -> Vec<String> {
    let pipe = width == usize::MAX;
    let widest = |at: usize| {
        let cells = rows.iter().map(|row| row[at].width());
        cells.max().unwrap_or(0).max(columns[at].head.width())
    };
    let mut widths: [usize; N] = std::array::from_fn(|at| match columns[at].shape {
        Shape::Left | Shape::Right => widest(at),
        Shape::UpTo(most) => widest(at).min(most),
        Shape::Title | Shape::Path => 0,
    });
    let others = widths.iter().sum::<usize>() + N - 1;
    let room = |least: usize| if pipe { WIDEST_TITLE } else { width.saturating_sub(others).max(least) };
    for (at, column) in columns.iter().enumerate() {
        match column.shape {
            Shape::Title => widths[at] = widest(at).min(room(NARROWEST_TITLE)),
            Shape::Path => widths[at] = widest(at).min(room(NARROWEST_PATH)),
            Shape::Left | Shape::Right | Shape::UpTo(_) => {}
        }
    }
    let line = |cell: &dyn Fn(usize) -> String| {
        let cells: Vec<String> =
            (0..N).map(|at| placed(&cell(at), widths[at], columns[at].shape, pipe)).collect();
        cells.join(" ").trim_end().to_string()
    };
    let head = line(&|at| columns[at].head.to_string());
    std::iter::once(head).chain(rows.iter().map(|row| line(&|at| row[at].clone()))).collect()
}

/// As a terminal counts: wide characters take two columns.
fn placed(text: &str, width: usize, shape: Shape, pipe: bool) -> String {
    let text = match shape {
        Shape::UpTo(_) | Shape::Title if !pipe => fit(text, width),
        Shape::Path if !pipe => fit_end(text, width),
        Shape::UpTo(_) | Shape::Title | Shape::Path | Shape::Left | Shape::Right => text.to_string(),
    };
    let padding = " ".repeat(width.saturating_sub(text.width()));
    match shape {
        Shape::Right => padding + &text,
        Shape::Left | Shape::UpTo(_) | Shape::Title | Shape::Path => text + &padding,
    }
}
