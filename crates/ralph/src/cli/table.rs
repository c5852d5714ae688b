//! Tables that fit the terminal: long texts give way first, then the columns that are worth the least.

use crate::report::{fit, fit_end, fit_middle};
use ralph_loop::text::clip;
use unicode_width::UnicodeWidthStr;

pub struct Column {
    pub head: &'static str,
    pub shape: Shape,
    /// Where there is no room for all columns, those of the highest worth are shown.
    pub worth: u8,
}

impl Column {
    /// One that is always shown.
    pub const fn kept(head: &'static str, shape: Shape) -> Column {
        Column { head, shape, worth: KEPT }
    }
}

const KEPT: u8 = u8::MAX;

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
    /// The same; the last word is how long it has taken.
    Doing,
}

const WIDEST_TITLE: usize = 40;
const NARROWEST: usize = 12;

/// A line for the heads and for each row. A pipe has no edge (`usize::MAX`), and what reads it
/// wants all of it: there, long texts push the rest aside.
pub fn table<const N: usize>(columns: &[Column; N], rows: &[[String; N]], width: usize) -> Vec<String> {
    let pipe = width == usize::MAX;
    let widest: [usize; N] = std::array::from_fn(|at| {
        let cells = rows.iter().map(|row| row[at].width()).max().unwrap_or(0);
        let widest = cells.max(columns[at].head.width());
        match columns[at].shape {
            Shape::UpTo(most) => widest.min(most),
            Shape::Title | Shape::Path | Shape::Doing if pipe => widest.min(WIDEST_TITLE),
            Shape::Left | Shape::Right | Shape::Title | Shape::Path | Shape::Doing => widest,
        }
    });
    let widths = if pipe {
        widest.map(Some)
    } else {
        let is_empty = |at: usize| columns[at].worth < KEPT && rows.iter().all(|row| row[at].is_empty());
        on_screen(columns, &widest, width, is_empty)
    };
    let line = |cell: &dyn Fn(usize) -> String| {
        let shown = (0..N).filter_map(|at| Some((at, widths[at]?)));
        let cells: Vec<String> =
            shown.map(|(at, width)| placed(&cell(at), width, columns[at].shape, pipe)).collect();
        cells.join(" ").trim_end().to_string()
    };
    let head = line(&|at| columns[at].head.to_string());
    std::iter::once(head).chain(rows.iter().map(|row| line(&|at| row[at].clone()))).collect()
}

/// How wide each column is; nothing for those that are not shown.
fn on_screen<const N: usize>(
    columns: &[Column; N],
    widest: &[usize; N],
    width: usize,
    is_empty: impl Fn(usize) -> bool,
) -> [Option<usize>; N] {
    let least = |at: usize| match columns[at].shape {
        Shape::Title | Shape::Path | Shape::Doing => widest[at].min(NARROWEST),
        Shape::Left | Shape::Right | Shape::UpTo(_) => widest[at],
    };
    let mut by_worth: Vec<usize> = (0..N).filter(|at| !is_empty(*at)).collect();
    by_worth.sort_by_key(|at| std::cmp::Reverse(columns[*at].worth));
    let (mut widths, mut used) = ([None; N], 0);
    for at in by_worth {
        let wants = least(at) + usize::from(used > 0);
        // What is worth less than a column that does not fit is not shown in its place.
        if used > 0 && columns[at].worth != KEPT && used + wants > width {
            break;
        }
        widths[at] = Some(least(at));
        used += wants;
    }
    // A single column that is too wide is cut.
    if let [only] = &mut widths.iter_mut().flatten().collect::<Vec<_>>()[..] {
        **only = (**only).min(width);
    }
    share(&mut widths, widest, width.saturating_sub(used));
    widths
}

/// Gives the room that is left to the columns that can use it, in equal parts.
fn share<const N: usize>(widths: &mut [Option<usize>; N], widest: &[usize; N], mut room: usize) {
    loop {
        let wants = |at: usize| widths[at].map_or(0, |width| widest[at].saturating_sub(width));
        let hungry: Vec<usize> = (0..N).filter(|at| wants(*at) > 0).collect();
        if hungry.is_empty() || room == 0 {
            return;
        }
        let each = (room / hungry.len()).max(1);
        for at in hungry {
            if let Some(width) = &mut widths[at] {
                let more = each.min(room).min(widest[at] - *width);
                *width += more;
                room -= more;
            }
        }
    }
}

/// As a terminal counts: wide characters take two columns.
fn placed(text: &str, width: usize, shape: Shape, pipe: bool) -> String {
    let text = match shape {
        _ if pipe => text.to_string(),
        // Characters without a width are limited, too.
        Shape::Path => fit_end(text, width),
        Shape::Doing => fit_middle(&clip(text, 4 * width), width),
        Shape::Left | Shape::Right | Shape::UpTo(_) | Shape::Title => fit(&clip(text, 4 * width), width),
    };
    let padding = " ".repeat(width.saturating_sub(text.width()));
    match shape {
        Shape::Right => padding + &text,
        Shape::Left | Shape::UpTo(_) | Shape::Title | Shape::Path | Shape::Doing => text + &padding,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const COLUMNS: [Column; 5] = [
        Column { head: "NAME", shape: Shape::Left, worth: 9 },
        Column { head: "STATE", shape: Shape::UpTo(12), worth: 8 },
        Column { head: "NOW", shape: Shape::Doing, worth: 6 },
        Column { head: "ASKED", shape: Shape::Title, worth: 5 },
        Column { head: "COST", shape: Shape::Right, worth: 7 },
    ];

    fn row(cells: [&str; 5]) -> [String; 5] {
        cells.map(String::from)
    }

    #[track_caller]
    fn check(width: usize, expected: &str) {
        let rows = [
            row(["w2", "running", "Bash cargo test --workspace 1m40s", "Fix the login of the shop", "$0.84"]),
            row(["w10", "stopped (max_iterations)", "", "Write the documentation", "$12.00"]),
        ];
        let lines = table(&COLUMNS, &rows, width);
        assert_eq!(format!("{}\n", lines.join("\n")), expected, "at {width}");
        assert!(width == usize::MAX || lines.iter().all(|line| line.width() <= width), "{lines:#?}");
    }

    #[test]
    fn texts_are_cut_and_then_columns_are_left_out_by_their_worth() {
        check(
            usize::MAX,
            "\
NAME STATE        NOW                               ASKED                       COST
w2   running      Bash cargo test --workspace 1m40s Fix the login of the shop  $0.84
w10  stopped (max_iterations)                                   Write the documentation   $12.00
",
        );
        check(
            70,
            "\
NAME STATE        NOW                    ASKED                    COST
w2   running      Bash cargo test… 1m40s Fix the login of the …  $0.84
w10  stopped (ma…                        Write the documentati… $12.00
",
        );
        check(
            40,
            "\
NAME STATE        NOW               COST
w2   running      Bash car… 1m40s  $0.84
w10  stopped (ma…                 $12.00
",
        );
        check(20, "NAME STATE\nw2   running\nw10  stopped (ma…\n");
        check(3, "NA…\nw2\nw10\n");
    }

    #[test]
    fn a_column_without_anything_in_it_takes_no_room() {
        let rows = [row(["w2", "stopped", "", "", "$1.00"])];
        assert_eq!(table(&COLUMNS, &rows, 80), ["NAME STATE    COST", "w2   stopped $1.00"]);
    }

    #[test]
    fn characters_without_a_width_do_not_fill_the_screen() {
        let rows = [row([&format!("e{}", "\u{301}".repeat(10_000)), "running", "", "x", ""])];
        let lines = table(&COLUMNS, &rows, 80);
        assert!(lines[1].chars().count() < 100, "{}", lines[1].chars().count());
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_screen(cells in "[a-z日👩 ]{0,60}", long in "\\PC{0,200}", width in 1usize..200) {
            let rows = [row([&cells, &long, &cells, &long, &cells])];
            let lines = table(&COLUMNS, &rows, width);
            prop_assert!(lines.iter().all(|line| line.width() <= width), "{:#?}", lines);
        }
    }
}
