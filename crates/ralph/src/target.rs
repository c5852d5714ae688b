//! The run that a command talks to: a worker's, or one in a terminal.
//!
//! The one place that resolves what the user has typed: a worker's name, a run's id or its
//! beginning, or nothing, which is the run of the current directory.

use crate::catalog::{self, CatalogError};
use crate::journal::{self, Follower, UnreadableRun};
use crate::layout::{Home, RunDir, WorkerDir};
use crate::lock::{NameLock, RunLock};
use crate::report::{Reporter, ViewJson, assignment};
use crate::tmux;
use crate::worker::record::{Record, WorkerState};
use crate::worker::{self, WorkerError, workers};
use jiff::Zoned;
use ralph_loop::dialect::Awaited;
use ralph_loop::text::natural_order;
use ralph_loop::view::RunView;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why there is no run to talk to.
#[derive(Debug, Error)]
pub enum TargetError {
    #[error("no run is running in this directory: {}", .0.display())]
    NothingHere(PathBuf),
    #[error("several runs are running in this directory: {}", .0.join(", "))]
    SeveralHere(Vec<String>),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Worker(#[from] WorkerError),
    #[error(transparent)]
    Unreadable(#[from] UnreadableRun),
}

/// Only the view is wanted.
struct Unseen;

impl Reporter for Unseen {}

/// A run as it is now.
#[derive(Debug)]
pub struct Target {
    /// The worker's, or the run's id.
    pub name: String,
    pub run: String,
    pub run_dir: RunDir,
    /// Its loop is there.
    pub alive: bool,
    pub state: WorkerState,
    /// Of a worker whose run was cleaned up, its own files are all there is.
    pub view: Option<Box<RunView>>,
    pub kind: Kind,
}

#[derive(Debug)]
pub enum Kind {
    Worker {
        dir: WorkerDir,
        /// Other runs may work in its tree.
        share_workspace: bool,
    },
    /// It runs, or ran, in a terminal.
    Terminal,
}

impl Target {
    /// It should be running or could continue, but its process is gone.
    pub fn is_abandoned(&self) -> bool {
        !self.alive && self.state.reason.is_none()
    }

    /// Whether a process is there that may still print something.
    pub fn has_process(&self) -> bool {
        match &self.kind {
            Kind::Worker { .. } => NameLock::is_held(&self.run_dir.home(), &self.name),
            Kind::Terminal => RunLock::is_held(&self.run_dir),
        }
    }

    pub fn is_worker(&self) -> bool {
        matches!(self.kind, Kind::Worker { .. })
    }

    /// Its loop works, waits or is paused.
    pub fn is_live(&self) -> bool {
        self.alive && self.state.reason.is_none()
    }

    /// What its agent needs a person for now.
    pub fn waits_for_person(&self) -> Option<&Awaited> {
        let waits = self.view.as_ref()?.waits_for_person.as_ref()?;
        self.is_live().then_some(&waits.awaited)
    }

    /// The directory that its run was started in.
    pub fn origin(&self) -> &Path {
        let origin = self.view.as_ref().and_then(|view| view.place.origin());
        origin.unwrap_or(&self.state.workspace)
    }

    /// What was asked, in words.
    pub fn assignment(&self) -> String {
        self.view.as_ref().map(|view| assignment(&view.assignment, &self.run_dir)).unwrap_or_default()
    }

    /// The status in words, with what is to be known beside it.
    pub fn status_line(&self) -> String {
        let word = self.state.status.word();
        match &self.state.reason {
            _ if self.is_abandoned() => {
                format!("{word}, but its process is gone; continue with: ralph resume {}", self.name)
            }
            Some(reason) if reason != word => format!("{word} ({reason})"),
            _ => word.to_string(),
        }
    }

    /// What a loop that is there is doing now, its agent included.
    pub fn now(&self) -> Option<RunView> {
        let mut follower = Follower::open(&self.run_dir).ok().filter(|_| self.alive)?;
        follower.skip_to_now().ok()?;
        // An agent whose stream cannot be read is doing something all the same.
        let _ = follower.read(&mut Unseen);
        follower.view().filter(|view| view.reason.is_none())
    }

    /// Brings the files of a worker up to its journal, after another process has written there.
    pub fn write_files(&self) {
        let Kind::Worker { dir, .. } = &self.kind else { return };
        if let Ok(mut record) = Record::replay(&self.name, dir.clone(), &self.run_dir) {
            // A projection that cannot be written is written by the next life.
            let _ = record.write();
        }
    }
}

/// As messages name it.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Worker { .. } => write!(f, "worker '{}'", self.name),
            Kind::Terminal => write!(f, "run {}", self.name),
        }
    }
}

/// Its state, and what is known of it beside that.
impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'t> {
            name: &'t str,
            #[serde(flatten)]
            state: &'t WorkerState,
            loop_gone: bool,
            tmux: Value,
            metadata: Value,
            view: Option<ViewJson<'t>>,
        }
        let shown = Shown {
            name: &self.name,
            state: &self.state,
            loop_gone: self.is_abandoned(),
            tmux: match self.kind {
                Kind::Worker { .. } => json!({ "session": tmux::SESSION, "window": self.name }),
                Kind::Terminal => Value::Null,
            },
            metadata: json!({ "ralph": true, "ralph_iteration": self.state.current_iteration }),
            view: self
                .view
                .as_ref()
                .map(|view| ViewJson::of(view, &self.run_dir, self.is_live(), &Zoned::now())),
        };
        shown.serialize(serializer)
    }
}

/// The run that is named, or the one that is running in a directory.
pub fn find_or_here(home: &Home, name: Option<&str>, dir: &Path) -> Result<Target, TargetError> {
    if let Some(name) = name {
        return find(home, name);
    }
    only(here(home, dir)?)?.ok_or_else(|| TargetError::NothingHere(dir.to_path_buf()))
}

/// The worker of that name, or the run with this id or an id that begins like this.
pub fn find(home: &Home, name: &str) -> Result<Target, TargetError> {
    if let Some(worker) = workers::look_for(home, name)? {
        return Ok(worker);
    }
    match &catalog::matching(home, name)?[..] {
        [run] => of_run(home, run),
        [] if workers::looks_like_a_run(name) => Err(catalog::unknown(home, name).into()),
        [] => Err(workers::unknown(home, name).into()),
        several => Err(catalog::several(name, several).into()),
    }
}

/// Those that are running in a directory.
pub fn here(home: &Home, dir: &Path) -> Result<Vec<Target>, TargetError> {
    let running = catalog::running(home, |run| run.workspace == dir || run.origin() == dir)?;
    let mut found: Vec<Target> = running.iter().map(|run| of_run(home, run)).collect::<Result<_, _>>()?;
    // The keeper of one that has stopped may still be there.
    found.retain(|target| target.state.reason.is_none());
    Ok(found)
}

/// The only one, if there is one.
pub fn only(mut found: Vec<Target>) -> Result<Option<Target>, TargetError> {
    if found.len() > 1 {
        return Err(TargetError::SeveralHere(found.into_iter().map(|target| target.name).collect()));
    }
    Ok(found.pop())
}

/// Every run that is live, and then the other workers, by name. Workers whose record cannot be read are named with
/// why.
pub fn all(home: &Home) -> Result<(Vec<Target>, Vec<String>), TargetError> {
    let (mut targets, problems) = workers::all(home)?;
    targets.extend(in_terminals(home)?);
    let ended = |target: &Target| !target.is_live();
    targets.sort_by(|a, b| ended(a).cmp(&ended(b)).then_with(|| natural_order(&a.name, &b.name)));
    Ok((targets, problems))
}

/// Those that are running in terminals.
pub fn in_terminals(home: &Home) -> Result<Vec<Target>, TargetError> {
    let of_workers: HashSet<String> =
        workers::names(home)?.iter().filter_map(|name| worker::run_of(home, name)).collect();
    let mut running = catalog::running(home, |_| true)?;
    running.retain(|run| !of_workers.contains(run));
    let mut found: Vec<Target> = running.iter().filter_map(|run| in_terminal(home, run).ok()).collect();
    found.retain(|target| target.state.reason.is_none());
    Ok(found)
}

/// By its id.
pub fn of_run(home: &Home, run: &str) -> Result<Target, TargetError> {
    let names = worker::workers_of(home, run).into_iter().map(|dir| dir.name());
    for name in names {
        if let Some(worker) = workers::look_for(home, &name)? {
            return Ok(worker);
        }
    }
    in_terminal(home, run)
}

/// By the id of a run that is no worker's.
fn in_terminal(home: &Home, run: &str) -> Result<Target, TargetError> {
    let run_dir = home.run(run);
    // Asked before the journal is read: what a loop did last is in it once it is gone.
    let alive = RunLock::is_held(&run_dir);
    let view = journal::view(&run_dir).map_err(|cause| cause.of_run(run))?;
    let state = WorkerState::of(run, view.clone());
    let (name, run, view) = (run.to_string(), run.to_string(), Some(Box::new(view)));
    Ok(Target { name, run, run_dir, alive, state, view, kind: Kind::Terminal })
}
