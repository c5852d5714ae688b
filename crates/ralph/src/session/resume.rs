//! A run that is taken up where it was left.

use super::facts::{end_survivors, following};
use super::life::{Life, attended, live};
use super::limits::is_resumable;
use super::open::sweep_handed;
use super::workspace::{lock_workspace, make_worktree, prepare_project};
use super::{Ended, SessionError, SessionOptions, cannot_write};
use crate::engine::{Clock, Projections};
use crate::journal::{self, Journal, JournalError};
use crate::layout::{Home, Project, RunDir};
use crate::lock::RunLock;
use crate::planner::intent;
use crate::report::Reporter;
use crate::request::root;
use crate::secrets;
use crate::settings;
use crate::worker::Takeover;
use crate::worker::record::Record;
use ralph_loop::ask::{Ask, Changes};
use ralph_loop::event::{Fact, Step};
use ralph_loop::{Action, Run, State, next};

/// Takes a run up where it was left, with these limits changed.
pub fn resume(
    home: &Home,
    id: &str,
    changes: &Changes,
    options: &SessionOptions,
    reporter: &mut dyn Reporter,
) -> Result<Ended, SessionError> {
    let run_dir = home.run(id);
    let lock = RunLock::acquire(&run_dir, id)?;
    end_survivors(&run_dir, &lock);
    sweep_handed(home, reporter);
    let mut projections = Projections::default();
    let mut record = options.worker.map(|worker| Record::new(&worker.name, worker.dir(home)));
    let mut replayed = journal::replay(&run_dir, |run, state, event| {
        let update = projections.follow(run, state, event);
        if let Some(record) = &mut record {
            record.follow(&update);
        }
    })
    .map_err(|cause| cause.of_run(id))?;
    let (shown, run) = (replayed.run, needed(&run_dir, id)?);
    let mut facts = Vec::from_iter(lost_beginning(&run, &replayed.state, &run_dir));
    if !changes.is_empty() {
        facts.push(Fact::Asked(Ask::Set(changes.clone())));
    }
    let mut events = Vec::new();
    for fact in facts {
        let event = following(&replayed.state, secrets::masked_fact(fact));
        replayed.state.apply(&event)?;
        let update = projections.follow(&shown, &replayed.state, &event);
        if let Some(record) = &mut record {
            record.follow(&update);
        }
        events.push(event);
    }
    // Nothing is written for a run that cannot be resumed.
    is_resumable(&run, &replayed.state, options.worker.map_or(id, |worker| &worker.name))?;
    root::check_all(&run)?;
    let workspace_lock = match replayed.state.position.steps_begun {
        // It was killed while its worktree was created, or right after that.
        0 if run.place.own_tree().is_some() => {
            let workspace_lock = lock_workspace(home, &run, options)?;
            make_worktree(&run, &lock)?;
            workspace_lock
        }
        _ => {
            prepare_project(&run)?;
            lock_workspace(home, &run, options)?
        }
    };
    for taken in intent::take_back(home, &Project::at(run.workspace.clone()))? {
        reporter.warn(&taken.to_string());
    }
    let unwritable = |cause| cannot_write(run_dir.dir(), cause);
    let mut journal = Journal::reopen(&run_dir, replayed.whole).map_err(unwritable)?;
    events.iter().try_for_each(|event| journal.append(event)).map_err(unwritable)?;
    let clock = Clock::from(replayed.state.position.up_ms);
    if let Some(worker) = options.worker {
        let how = Takeover { fresh: false, share_workspace: options.share_workspace };
        worker.take_over(home, &run, &replayed.state, how)?;
    }
    let life = Life { run, state: replayed.state, run_dir, journal, lock, clock, projections };
    let ended = attended(life, record, options, reporter, |life, reporter| {
        live(life, Some(Fact::Resumed { pid: std::process::id() }), options, reporter)
    });
    drop(workspace_lock);
    ended
}

/// The run with its secrets, of which the record has only the names.
pub fn needed(run_dir: &RunDir, id: &str) -> Result<Run, SessionError> {
    let sealed =
        journal::sealed(run_dir).ok_or_else(|| JournalError::Empty { path: run_dir.journal() }.of_run(id))?;
    // Some may be in the settings. Those that cannot be read have been found wanting elsewhere, or are not needed.
    let _ = settings::load(&Project::at(sealed.workspace.clone()), None);
    Ok(secrets::unsealed_run(sealed)?)
}

/// The fact that an agent was begun, where a power cut has taken it from the journal. What such an
/// agent did to the tree and to the plan must not pass for a person's work. The policy says which
/// agent was next, and the file that its words go to, whether it was started.
fn lost_beginning(run: &Run, state: &State, run_dir: &RunDir) -> Option<Fact> {
    let [Action::Start(step @ Step::Agent { iteration, attempt, .. })] = &next(run, state)[..] else {
        return None;
    };
    if !run_dir.stdout(*iteration, *attempt).exists() {
        return None;
    }
    Some(Fact::Began { id: state.position.steps_begun + 1, step: step.clone() })
}
