//! All the workers there are, as their journals and locks show them.
//!
//! A reader asks the run's lock whether a worker's loop is there, never a process id. Lists read
//! the projections, which cost the same whatever the length of a journal, wherever nothing can
//! have kept them from being up to date; a command about one worker reads its journal.

use super::record::WorkerState;
use super::{WorkerError, WorkerRecord};
use crate::catalog;
use crate::fsx;
use crate::journal;
use crate::layout::{self, Home, RunDir, WorkerDir};
use crate::lock::RunLock;
use crate::similar;
use crate::target::{Kind, Target};
use ralph_loop::text::natural_order;
use serde::de::Error as _;

/// Every worker, by name. Those whose record cannot be read are named with why.
pub fn all(home: &Home) -> Result<(Vec<Target>, Vec<String>), WorkerError> {
    let (mut workers, mut problems) = (Vec::new(), Vec::new());
    for name in names(home)? {
        match look(home, &name, Care::Enough) {
            Ok(Some(worker)) => workers.push(worker),
            // A directory without a record: another process is creating or removing it.
            Ok(None) => {}
            Err(error) => problems.push(format!("worker '{name}': {error}")),
        }
    }
    Ok((workers, problems))
}

/// The names of all workers, in order: `w2` is before `w10`.
pub fn names(home: &Home) -> Result<Vec<String>, WorkerError> {
    let entries = match fs_err::read_dir(home.workers()) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(WorkerError::CannotList(cause)),
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| layout::is_safe_name(name))
        .collect();
    names.sort_unstable_by(|a, b| natural_order(a, b));
    Ok(names)
}

/// The worker of that name.
pub fn find(home: &Home, name: &str) -> Result<Target, WorkerError> {
    if let Some(worker) = look_for(home, name)? {
        return Ok(worker);
    }
    if catalog::find(home, name).is_ok() {
        return Err(WorkerError::IsRun(name.to_string()));
    }
    Err(unknown(home, name))
}

/// The error for a name that no worker has.
pub fn unknown(home: &Home, name: &str) -> WorkerError {
    match names(home) {
        Ok(names) => WorkerError::Unknown { name: name.to_string(), nearest: similar::nearest(name, names) },
        Err(error) => error,
    }
}

/// The same; nothing where there is none.
pub fn look_for(home: &Home, name: &str) -> Result<Option<Target>, WorkerError> {
    if layout::is_safe_name(name) { look(home, name, Care::Exact) } else { Ok(None) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Care {
    /// By what its loop has written beside the journal, unless that is out of date.
    Enough,
    /// By the journal.
    Exact,
}

fn look(home: &Home, name: &str, care: Care) -> Result<Option<Target>, WorkerError> {
    let dir = home.worker(name);
    let Ok(text) = fsx::read_regular(&dir.record()) else { return Ok(None) };
    let damaged = |cause| WorkerError::DamagedRecord { name: name.to_string(), cause };
    let record: WorkerRecord = serde_json::from_slice(&text).map_err(damaged)?;
    if !layout::is_safe_name(&record.run) {
        return Err(damaged(serde_json::Error::custom("it has no run id")));
    }
    let run_dir = home.run(&record.run);
    // Asked before the files are read: what a loop did last is in them once it is gone.
    let alive = RunLock::is_held(&run_dir);
    let (state, view) = match care {
        // Old runs are cleaned up; how the worker ended is still in its own files.
        _ if !run_dir.journal().exists() => (read(&dir), None),
        Care::Enough => match journal::view(&run_dir) {
            Ok(view) => (Some(WorkerState::of(name, view.clone())), Some(view)),
            Err(cause) => (Some(projected(&dir, &run_dir, alive).ok_or(cause)?), None),
        },
        Care::Exact => {
            let folded = journal::fold(&run_dir)?;
            // What its agent is doing is only in what the loop has written.
            let view = journal::written(&run_dir).unwrap_or_else(|| folded.clone());
            (Some(WorkerState::of(name, folded)), Some(view))
        }
    };
    let Some(state) = state else { return Ok(None) };
    let kind = Kind::Worker { dir, share_workspace: record.share_workspace };
    let view = view.map(Box::new);
    Ok(Some(Target { name: name.to_string(), run: record.run, run_dir, alive, state, view, kind }))
}

/// The projection, where it can be relied on: its loop is there to write it, or it was written
/// after the last fact of the journal.
fn projected(dir: &WorkerDir, run_dir: &RunDir, alive: bool) -> Option<WorkerState> {
    let state = read(dir)?;
    let modified = |path| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let current = alive || modified(dir.state())? >= modified(run_dir.journal())?;
    (alive || (current && !state.status.is_at_work())).then_some(state)
}

fn read(dir: &WorkerDir) -> Option<WorkerState> {
    serde_json::from_slice(&fsx::read_regular(&dir.state()).ok()?).ok()
}

/// Names become directories, branches and tmux windows.
pub fn check_name(name: &str) -> Result<(), WorkerError> {
    if !layout::is_safe_name(name) {
        return Err(WorkerError::InvalidName(name.to_string()));
    }
    if looks_like_a_run(name) {
        return Err(WorkerError::NameLooksLikeRun(name.to_string()));
    }
    Ok(())
}

/// `20261115-221503-4f2a`, or the beginning of it.
pub fn looks_like_a_run(name: &str) -> bool {
    name.len() >= 8 && name.bytes().take(8).all(|byte| byte.is_ascii_digit())
}
