//! All the runs there are, as their journals and locks show them.

use crate::fsx;
use crate::git::shadow::Shadow;
use crate::git::{GitError, Repository};
use crate::journal::{self, JournalError};
use crate::layout::{self, Home, RunDir, WorkerDir};
use crate::lock::RunLock;
use crate::similar;
use crate::worker::{self, WorkerError, output};
use jiff::Timestamp;
use ralph_loop::Run;
use ralph_loop::money::Cost;
use ralph_loop::run::Place;
use ralph_loop::state::Resumable;
use ralph_loop::view::RunView;
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a run is not found, or cannot be removed.
#[derive(Debug, Error)]
pub enum CatalogError {
    #[error("cannot list the runs")]
    CannotList(#[source] io::Error),
    #[error("no runs in this directory: {}", .0.display())]
    NoRunHere(PathBuf),
    #[error("no such run: {name}")]
    Unknown {
        name: String,
        /// The run or worker that was probably meant.
        nearest: Option<String>,
    },
    #[error("several runs start with {name}: {}", ids.join(", "))]
    Ambiguous { name: String, ids: Vec<String> },
    #[error(transparent)]
    Worker(#[from] WorkerError),
    #[error("cannot remove the kept attempts of run {run}")]
    CannotForgetAttempts {
        run: String,
        #[source]
        cause: GitError,
    },
    #[error("cannot remove the record of run {run}")]
    CannotRemoveRecord {
        run: String,
        #[source]
        cause: io::Error,
    },
}

/// One run, as a line or an object.
#[derive(Debug, Serialize)]
pub struct RunLine {
    pub id: String,
    pub plan: Option<String>,
    pub status: String,
    pub iterations: u32,
    pub max_iterations: u32,
    /// US dollars.
    #[serde(flatten)]
    pub cost: Cost,
    /// Seconds, downtime left out.
    pub duration: f64,
    pub started_at: Option<String>,
    pub last_event_at: Option<String>,
    pub workspace: Option<PathBuf>,
    #[serde(skip)]
    pub place: Place,
    pub resumable: bool,
    /// It can be resumed with a higher limit.
    pub limit_reached: bool,
    /// Why the record cannot be read.
    pub problem: Option<String>,
    /// A step of it was begun: before that, no agent has worked in its place.
    #[serde(skip)]
    pub begun: bool,
    /// Something of it was running when this line was made.
    #[serde(skip)]
    pub alive: bool,
    /// Milliseconds since 1970; 0 where the record cannot be read.
    #[serde(skip)]
    pub opened_at: i64,
    /// Nothing where the record cannot be read.
    #[serde(skip)]
    pub view: Option<Box<RunView>>,
}

/// The project that a directory belongs to: the repository around it, or the directory itself. It
/// need not exist any more.
pub fn project_of(dir: &Path) -> &Path {
    // An empty `.git`, as some sandboxes leave it, is no repository.
    let is_top = |above: &&Path| {
        let git = above.join(".git");
        git.is_file() || git.join("HEAD").symlink_metadata().is_ok()
    };
    dir.ancestors().find(is_top).unwrap_or(dir)
}

impl RunLine {
    /// Whether it worked in this directory, or in a worktree of it.
    pub fn is_of(&self, dir: &Path) -> bool {
        self.workspace.as_deref() == Some(dir) || self.origin() == Some(dir)
    }

    /// The directory that it was started in, if its record says it.
    pub fn origin(&self) -> Option<&Path> {
        self.place.origin().or(self.workspace.as_deref())
    }
}

impl RunLine {
    fn sort_key(&self) -> (&str, i64, &str) {
        const SECOND: usize = "20261115-221503".len();
        (self.id.get(..SECOND).unwrap_or(&self.id), self.opened_at, &self.id)
    }
}

impl RunLine {
    /// As long as that is there, it can only be found through the run's record.
    pub fn worktree(&self) -> Option<&Path> {
        self.place.own_tree().filter(|path| path.exists())
    }

    pub fn is_alive(&self) -> bool {
        matches!(self.status.as_str(), "running" | "starting")
    }

    /// Whether nothing is left to be done with it. A record that cannot be read, or only by a
    /// newer ralph, may be of a run that goes on.
    pub fn is_over(&self) -> bool {
        !self.is_alive() && !self.resumable && self.problem.is_none()
    }
}

/// Every run, newest first.
pub fn all(home: &Home) -> Result<Vec<RunLine>, CatalogError> {
    these(home, |_| true)
}

/// The runs of the project of a directory, newest first. The journals of the others are not read beyond their
/// first line. Records that do not say whose they are belong to no project.
pub fn of_project(home: &Home, dir: &Path) -> Result<Vec<RunLine>, CatalogError> {
    let project = project_of(dir);
    these(home, |id| {
        journal::opened(&home.run(id))
            .is_some_and(|run| [&run.workspace, run.origin()].iter().any(|dir| project_of(dir) == project))
    })
}

fn these(home: &Home, wanted: impl Fn(&str) -> bool) -> Result<Vec<RunLine>, CatalogError> {
    let ids = ids(home)?.into_iter().filter(|id| wanted(id));
    let mut lines: Vec<RunLine> = ids.filter_map(|id| line(home, id)).collect();
    // Ids tell runs of different seconds apart, also where the record cannot be read.
    lines.sort_unstable_by(|a, b| b.sort_key().cmp(&a.sort_key()));
    Ok(lines)
}

fn ids(home: &Home) -> Result<Vec<String>, CatalogError> {
    let entries = match fs_err::read_dir(home.runs()) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(CatalogError::CannotList(cause)),
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.filter(|name| layout::is_safe_name(name)).collect())
}

/// The run that is named, or the newest one of a directory.
pub fn find_or_newest(home: &Home, name: Option<&str>, dir: &Path) -> Result<String, CatalogError> {
    if let Some(name) = name {
        return find(home, name);
    }
    let newest = all(home)?.into_iter().find(|line| line.is_of(dir));
    newest.map(|line| line.id).ok_or_else(|| CatalogError::NoRunHere(dir.to_path_buf()))
}

/// The run of the worker of that name, the run with this id, or the only one whose id begins like
/// this.
pub fn find(home: &Home, name: &str) -> Result<String, CatalogError> {
    if layout::is_safe_name(name)
        && let Some(run) = worker::run_of(home, name)
    {
        return Ok(run);
    }
    match &matching(home, name)?[..] {
        [] => Err(unknown(home, name)),
        [run] => Ok(run.clone()),
        fitting => Err(several(name, fitting)),
    }
}

/// The run with this id, or those whose ids begin like this.
pub fn matching(home: &Home, name: &str) -> Result<Vec<String>, CatalogError> {
    if !layout::is_safe_name(name) {
        return Ok(Vec::new());
    }
    let mut fitting: Vec<String> = ids(home)?.into_iter().filter(|id| id.starts_with(name)).collect();
    if fitting.iter().any(|id| id == name) {
        fitting.retain(|id| id == name);
    }
    fitting.sort_unstable();
    Ok(fitting)
}

/// The error for a name that no run and no worker has.
pub fn unknown(home: &Home, name: &str) -> CatalogError {
    let nearest = if layout::is_safe_name(name) { nearest(home, name) } else { Ok(None) };
    match nearest {
        Ok(nearest) => CatalogError::Unknown { name: name.to_string(), nearest },
        Err(error) => error,
    }
}

pub fn several(name: &str, ids: &[String]) -> CatalogError {
    CatalogError::Ambiguous { name: name.to_string(), ids: ids.to_vec() }
}

/// The ids of the runs that something is alive of, oldest first. Of the others no journal is read.
pub fn running(home: &Home, wanted: impl Fn(&Run) -> bool) -> Result<Vec<String>, CatalogError> {
    let mut ids = ids(home)?;
    ids.retain(|id| {
        let run_dir = home.run(id);
        RunLock::is_held(&run_dir) && journal::opened(&run_dir).is_some_and(|run| wanted(&run))
    });
    ids.sort_unstable();
    Ok(ids)
}

/// The run or worker whose name is nearest to an unknown one; of runs that are as near, the
/// newest.
fn nearest(home: &Home, name: &str) -> Result<Option<String>, CatalogError> {
    let mut ids = ids(home)?;
    if let Some(worker) = similar::nearest(name, worker::workers::names(home)?) {
        return Ok(Some(worker));
    }
    ids.sort_unstable_by(|a, b| b.cmp(a));
    // Its beginning is enough to name a run.
    let begins = ids.iter().map(|id| id.get(..name.len()).unwrap_or(id));
    Ok(similar::nearest(name, begins).and_then(|begin| ids.iter().find(|id| id.starts_with(begin)).cloned()))
}

/// Nothing for a run whose process died before its first fact was whole: it never began. One that
/// has started an agent had facts, and has lost them.
fn line(home: &Home, id: String) -> Option<RunLine> {
    let run_dir = home.run(&id);
    let line = one(home, id);
    let started = || run_dir.streams().read_dir().is_ok_and(|mut streams| streams.next().is_some());
    (line.workspace.is_some() || line.alive || journal::has_lines(&run_dir) || started()).then_some(line)
}

/// A run that has a record, whatever is in it.
pub fn one(home: &Home, id: String) -> RunLine {
    let run_dir = home.run(&id);
    let alive = RunLock::is_held(&run_dir);
    match journal::view(&run_dir) {
        Ok(view) => readable(id, view, alive),
        Err(cause) => unreadable(id, &cause, alive, journal::opened(&run_dir)),
    }
}

fn readable(id: String, view: RunView, alive: bool) -> RunLine {
    let status = match view.reason {
        _ if alive => "running",
        Some(reason) => reason.word(),
        None => "crashed",
    };
    RunLine {
        status: status.to_string(),
        iterations: view.judged,
        max_iterations: view.max_iterations,
        cost: view.cost(),
        duration: view.up_ms as f64 / 1000.0,
        started_at: time(view.opened_at),
        last_event_at: time(view.last_at),
        resumable: !alive && view.resumable == Resumable::Now,
        limit_reached: !alive && view.resumable == Resumable::WithHigherLimit,
        problem: None,
        begun: view.begun,
        alive,
        opened_at: view.opened_at,
        id,
        plan: Some(view.plan.clone()),
        workspace: Some(view.workspace.clone()),
        place: view.place.clone(),
        view: Some(Box::new(view)),
    }
}

/// Of a record that cannot be read whole. Its beginning says where the run worked.
fn unreadable(id: String, cause: &JournalError, alive: bool, opened: Option<Run>) -> RunLine {
    let (workspace, place) = opened.map_or((None, Place::Here), |run| (Some(run.workspace), run.place));
    let status = match cause {
        JournalError::Empty { .. } | JournalError::Unreadable { .. } if alive => "starting",
        JournalError::Newer { .. } => "newer",
        JournalError::Empty { .. }
        | JournalError::Unreadable { .. }
        | JournalError::Damaged { .. }
        | JournalError::Illegal { .. } => "damaged",
    };
    let cause_of = std::error::Error::source(cause).map(|source| format!(": {source}")).unwrap_or_default();
    RunLine {
        id,
        plan: None,
        status: status.to_string(),
        iterations: 0,
        max_iterations: 0,
        cost: Cost::default(),
        duration: 0.0,
        started_at: None,
        last_event_at: None,
        workspace,
        place,
        resumable: false,
        limit_reached: false,
        problem: Some(format!("{cause}{cause_of}")),
        begun: true,
        alive,
        opened_at: 0,
        view: None,
    }
}

/// As RFC 3339, in UTC.
fn time(ms: i64) -> Option<String> {
    Timestamp::from_millisecond(ms).ok().map(|time| time.to_string())
}

/// Everything that is kept of a run, wherever it lies. How a worker has ended stays in its own
/// small files until the worker is removed.
pub struct Belongings<'r> {
    line: &'r RunLine,
    run_dir: RunDir,
    workers: Vec<WorkerDir>,
    _lock: RunLock,
}

impl Belongings<'_> {
    /// Nothing if the run is alive. It cannot be resumed meanwhile.
    pub fn of<'r>(home: &Home, line: &'r RunLine) -> Option<Belongings<'r>> {
        let run_dir = home.run(&line.id);
        let lock = RunLock::of_idle(&run_dir).filter(|_| !line.is_alive())?;
        Some(Belongings { line, run_dir, workers: worker::workers_of(home, &line.id), _lock: lock })
    }

    /// What they take up; what the user's own repository holds is not ralph's to count.
    pub fn bytes(&self) -> u64 {
        let outputs = self.workers.iter().map(|worker| output::disk_usage(&worker.output()));
        outputs.fold(fsx::disk_usage(self.run_dir.dir()), u64::saturating_add)
    }

    /// Whether its checkpoints do not say where it worked either.
    pub fn names_no_place(&self) -> bool {
        Shadow::top_of(&self.run_dir.checkpoints()).is_none()
    }

    /// The record goes last: without it nothing leads to the rest.
    pub fn remove(&self) -> Result<(), CatalogError> {
        let run = || self.line.id.clone();
        if let Some(repository) = self.line.origin().and_then(Repository::around) {
            repository
                .forget_attempts(&self.line.id)
                .map_err(|cause| CatalogError::CannotForgetAttempts { run: run(), cause })?;
        }
        self.workers.iter().for_each(|worker| output::remove(&worker.output()));
        remove_record(&self.run_dir).map_err(|cause| CatalogError::CannotRemoveRecord { run: run(), cause })
    }
}

/// At once, so that a process that wants to resume the run finds all of it or nothing.
pub fn remove_record(run_dir: &RunDir) -> io::Result<()> {
    let going = run_dir.going();
    fsx::rename(run_dir.dir(), &going).and_then(|()| fsx::remove_tree(&going))
}

/// Finishes removals that were interrupted. What cannot be removed is no run.
pub fn remove_remains(home: &Home) {
    let Ok(entries) = fs_err::read_dir(home.runs()) else { return };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    for id in names.filter_map(|name| Some(name.strip_prefix('.')?.to_string())) {
        if layout::is_safe_name(&id) {
            let _ = fsx::remove_tree(&home.run(&id).going());
        }
    }
}

/// Removes the records of all but the newest runs of a project that are over.
pub fn prune(home: &Home, dir: &Path, keep: usize) -> Result<(), CatalogError> {
    // Most of the time there is nothing to do, and the journals need not be read for that.
    if ids(home)?.len() <= keep {
        return Ok(());
    }
    let over = of_project(home, dir)?.into_iter().filter(RunLine::is_over).skip(keep);
    let mut old = over.filter(|line| line.worktree().is_none());
    old.try_for_each(|line| Belongings::of(home, &line).map_or(Ok(()), |belongings| belongings.remove()))
}
