//! The table of runs that `ralph ls` and `ralph status --watch` show, from the views of the runs.

use super::table::{Column, Shape, table};
use crate::report::{in_list, short, up_now};
use crate::target::Target;
use jiff::Zoned;
use ralph_loop::text::one_line;
use ralph_loop::view::RunView;
use std::path::Path;

/// Shown where there is none.
pub const NONE: &str = "No workers and no active runs. `ralph spawn --help` shows how to start a worker.";

const COLUMNS: [Column; 8] = [
    Column { head: "NAME", shape: Shape::Left, worth: 9 },
    Column { head: "STATE", shape: Shape::Title, worth: 8 },
    Column { head: "PROGRESS", shape: Shape::Left, worth: 7 },
    Column { head: "NOW", shape: Shape::Doing, worth: 6 },
    Column { head: "ASKED", shape: Shape::Title, worth: 5 },
    Column { head: "TIME", shape: Shape::Right, worth: 4 },
    Column { head: "COST", shape: Shape::Right, worth: 3 },
    Column { head: "PROJECT", shape: Shape::UpTo(20), worth: 2 },
];

/// A line for the heads, and one for each.
pub fn lines(targets: &[Target], now: &Zoned, width: usize) -> Vec<String> {
    table(&COLUMNS, &targets.iter().map(|target| cells(target, now)).collect::<Vec<_>>(), width)
}

fn cells(target: &Target, now: &Zoned) -> [String; 8] {
    let state = &target.state;
    let view = target.view.as_deref();
    let live = view.filter(|_| target.is_live());
    let status = match target.is_abandoned() {
        true => format!("{}, process is gone", state.status.word()),
        false if live.is_some_and(RunView::is_pausing) => "pausing".to_string(),
        false => target.status_line(),
    };
    [
        one_line(&target.name),
        status,
        view.map_or_else(
            || format!("iteration {}/{}", state.current_iteration, state.max_iterations),
            progress,
        ),
        live.map(|view| in_list(view, now)).unwrap_or_default(),
        target.assignment(),
        live.map(|view| up_now(view, now)).or(view.map(|view| view.up_ms)).map(short).unwrap_or_default(),
        view.map(|view| view.cost().rounded()).unwrap_or_default(),
        project(target.origin()),
    ]
}

/// `3/12` stories, or `iteration 4/10`.
fn progress(view: &RunView) -> String {
    match view.progress {
        Some(progress) => format!("{}/{}", progress.done, progress.of),
        None => format!("iteration {}/{}", view.iteration, view.max_iterations),
    }
}

/// The name of its directory.
fn project(dir: &Path) -> String {
    one_line(&dir.file_name().unwrap_or(dir.as_os_str()).to_string_lossy())
}
