//! The runs of the list, read by a thread of its own.
//!
//! A run is looked at again when its journal has another size or time. One that is running is followed if what its
//! loop has written is older than its journal, so that a long journal is folded once at most.
//!
//! Deliberately absent: the agents' streams. Only the chosen run's are read.

use crate::journal::{self, Follower};
use crate::layout::{Home, RunDir, is_safe_name};
use crate::lock::RunLock;
use crate::report::Reporter;
use crate::worker::{self, workers};
use ralph_loop::text::natural_order;
use ralph_loop::view::RunView;
use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

/// One run, as the list shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedRun {
    pub id: String,
    /// The worker's name, or the id.
    pub name: String,
    pub is_worker: bool,
    /// Something of it is running.
    pub alive: bool,
    /// Nothing where the record cannot be read; `problem` says why.
    pub view: Option<RunView>,
    pub problem: Option<String>,
}

impl ListedRun {
    /// How it is, in a word.
    pub fn state(&self) -> &str {
        let Some(view) = &self.view else {
            return match &self.problem {
                _ if self.alive => "starting",
                Some(_) => "unreadable",
                None => "",
            };
        };
        match view.reason {
            Some(reason) => reason.word(),
            None if !self.alive => "crashed",
            None if view.is_pausing() => "pausing",
            None if view.paused => "paused",
            None if view.waits_for_person.is_some() => "waiting",
            None => "running",
        }
    }

    /// It is running and has not stopped.
    pub fn is_live(&self) -> bool {
        self.alive && self.view.as_ref().is_none_or(|view| view.reason.is_none())
    }

    /// The last part of the directory it works for.
    pub fn project(&self) -> String {
        let view = self.view.as_ref();
        let dir = view.map(|view| view.place.origin().unwrap_or(&view.workspace));
        let name = dir.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_default()
    }

    pub fn fits(&self, filter: &str) -> bool {
        let filter = filter.to_lowercase();
        let texts = [self.name.as_str(), &self.id, &self.project(), self.state()];
        texts.iter().any(|text| text.to_lowercase().contains(&filter))
    }
}

/// Live runs first, by name with numbers in order; then the others, newest first.
pub fn sort(runs: &mut [ListedRun]) {
    runs.sort_by(|a, b| match (a.is_live(), b.is_live()) {
        (true, true) => natural_order(&a.name, &b.name),
        (false, false) => b.id.cmp(&a.id),
        (a_live, b_live) => b_live.cmp(&a_live),
    });
}

/// How often files are looked at.
pub const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Sends the runs whenever something about them has changed, until nothing receives them any more.
pub fn watch(home: Home, send: Sender<Vec<ListedRun>>) -> std::io::Result<()> {
    thread::Builder::new().name("runs".into()).spawn(move || {
        let mut known = HashMap::new();
        let mut is_first = true;
        loop {
            let Looked { changed, left } = look(&home, &mut known);
            if changed || is_first {
                let mut runs: Vec<ListedRun> = known.values().map(|known| known.run.clone()).collect();
                sort(&mut runs);
                if send.send(runs).is_err() {
                    return;
                }
                is_first = false;
            }
            if left == 0 {
                thread::sleep(LOOK_EVERY);
            }
        }
    })?;
    Ok(())
}

/// What is known of a run, and of which journal.
struct Known {
    stamp: Option<Stamp>,
    follower: Option<Follower>,
    run: ListedRun,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    seconds: i64,
    nanoseconds: i64,
}

/// What came of looking at all of them.
struct Looked {
    changed: bool,
    /// So many are not read yet.
    left: usize,
}

/// Only the facts are wanted.
struct Unseen;

impl Reporter for Unseen {}

/// The list is shown after so long, with what is known by then.
const FIRST_LOOK: Duration = Duration::from_millis(30);

fn look(home: &Home, known: &mut HashMap<String, Known>) -> Looked {
    let began = Instant::now();
    let workers: HashMap<String, String> = workers::names(home)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|name| Some((worker::run_of(home, &name)?, name)))
        .collect();
    let entries = std::fs::read_dir(home.runs()).into_iter().flatten();
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut found: Vec<(Stamp, String)> = ids
        .filter(|id| is_safe_name(id))
        .filter_map(|id| {
            let journal = std::fs::metadata(home.run(&id).journal()).ok()?;
            let (bytes, seconds, nanoseconds) = (journal.len(), journal.mtime(), journal.mtime_nsec());
            Some((Stamp { bytes, seconds, nanoseconds }, id))
        })
        .collect();
    // A long journal must not keep the short ones from being listed.
    found.sort_unstable_by_key(|(stamp, _)| stamp.bytes);
    let before = known.len();
    let ids: HashSet<&String> = found.iter().map(|(_, id)| id).collect();
    known.retain(|id, _| ids.contains(id));
    let mut looked = Looked { changed: known.len() != before, left: 0 };
    let mut has_read = false;
    for (stamp, id) in found {
        let name = workers.get(&id);
        let current = known.remove(&id);
        let is_same = current.as_ref().is_some_and(|known| known.stamp == Some(stamp));
        // A run that is resumed writes a fact, so the lock of one that was not alive need not be tried.
        let alive = match &current {
            Some(current) if is_same && !current.run.alive => false,
            _ => RunLock::is_held(&home.run(&id)),
        };
        let run = ListedRun {
            name: name.unwrap_or(&id).clone(),
            is_worker: name.is_some(),
            alive,
            view: None,
            problem: None,
            id: id.clone(),
        };
        // An empty journal is of a run that is about to begin, or never did.
        if stamp.bytes == 0 && !alive {
            continue;
        }
        let is_unread = current.as_ref().is_none_or(|known| known.stamp.is_none());
        let next = match current {
            Some(current) if is_same && current.run.alive == alive && current.run.name == run.name => current,
            // At least one is read each time.
            _ if is_unread && has_read && began.elapsed() > FIRST_LOOK => {
                looked.left += 1;
                looked.changed |= current.is_none();
                Known { stamp: None, follower: None, run }
            }
            current => {
                (looked.changed, has_read) = (true, true);
                read(&home.run(&id), stamp, run, current.and_then(|current| current.follower))
            }
        };
        known.insert(id, next);
    }
    looked
}

fn read(run_dir: &RunDir, stamp: Stamp, mut run: ListedRun, follower: Option<Follower>) -> Known {
    let (view, follower) = match (run.alive, follower) {
        (false, _) => (journal::view(run_dir).map(Some).map_err(|cause| cause.to_string()), None),
        (true, Some(follower)) => followed(follower),
        // What its loop has written is as good as the journal, and need not be folded.
        (true, None) => match journal::written(run_dir) {
            Some(view) => (Ok(Some(view)), None),
            None => match Follower::open(run_dir) {
                Ok(follower) => followed(follower),
                Err(cause) => (Err(cause.to_string()), None),
            },
        },
    };
    match view {
        Ok(view) => run.view = view,
        Err(problem) => run.problem = Some(problem),
    }
    Known { stamp: Some(stamp), follower, run }
}

/// The run as it is now, and what goes on from there. There is no iteration 0: only facts are read.
fn followed(follower: Follower) -> (Result<Option<RunView>, String>, Option<Follower>) {
    let mut follower = follower.with_streams_of(0..=0);
    match follower.read(&mut Unseen) {
        Ok(()) => (Ok(follower.view()), Some(follower)),
        Err(cause) => (Err(cause.to_string()), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, alive: bool) -> ListedRun {
        let (id, name) = (name.to_string(), name.to_string());
        ListedRun { id, name, is_worker: true, alive, view: None, problem: None }
    }

    #[test]
    fn live_runs_come_first_in_natural_order_and_the_others_newest_first() {
        let mut runs = [("w10", true), ("2026-1", false), ("w2", true), ("2026-2", false), ("w02", true)]
            .map(|(name, alive)| run(name, alive));
        sort(&mut runs);
        assert_eq!(runs.map(|run| run.name), ["w02", "w2", "w10", "2026-2", "2026-1"]);
    }

    #[test]
    fn a_filter_ignores_case_and_looks_at_names_and_states() {
        assert!(run("Night", true).fits("nig") && run("x", true).fits("START") && !run("x", true).fits("y"));
    }
}
