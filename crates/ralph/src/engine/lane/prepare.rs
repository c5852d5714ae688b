//! Making ready what a round of checks runs on.

use super::{Shared, Thread};
use crate::git::checkpoint::Checkpoints;
use crate::layout;
use crate::proof::after_check::AfterCheck;
use crate::proof::copy::CleanCopy;
use crate::proof::prepare::Preparation;
use crate::proof::watched::WatchedTree;
use ralph_loop::check::{CheckEnd, CheckOutcome};
use ralph_loop::dialect::Dialect;
use ralph_loop::plan::Plan;
use ralph_loop::proof::{Prepared, Round};
use ralph_loop::{Run, State};
use std::path::Path;

/// What comes back from the thread, with what was lent to it.
pub(in crate::engine) struct MadeReady {
    pub(in crate::engine) checkpoints: Option<Checkpoints>,
    pub(in crate::engine) copy: Option<CleanCopy>,
    pub(in crate::engine) watched: Option<WatchedTree>,
    pub(in crate::engine) prepared: Prepared,
}

impl Shared {
    pub(in crate::engine) fn start_prepare(&mut self, run: &Run, state: &State, round: Round) -> Thread {
        let (mut checkpoints, mut copy) = (self.checkpoints.take(), self.copy.take());
        let top = checkpoints.as_ref().map_or(run.workspace.as_path(), Checkpoints::top);
        let preparation = self.preparation(run, state, round, top);
        Thread::Prepare(tokio::task::spawn_blocking(move || {
            let prepared = preparation.carry_out(checkpoints.as_mut(), &mut copy);
            let shadow = checkpoints.as_ref().map(Checkpoints::shadow);
            let watched = shadow.and_then(|shadow| preparation.watch(&prepared, shadow));
            MadeReady { checkpoints, copy, watched, prepared }
        }))
    }

    /// What is to be made ready for a round.
    pub(super) fn preparation(&self, run: &Run, state: &State, round: Round, top: &Path) -> Preparation {
        let delivered = state.prepared(Round::Delivered).and_then(|prepared| prepared.tree.clone());
        Preparation {
            round,
            spec: run.proof.clone().unwrap_or_default(),
            run_dir: self.run_dir.clone(),
            project: self.project.dir().to_path_buf(),
            base: state.proof.base.clone(),
            delivered: delivered.filter(|_| round != Round::Delivered),
            site: state.proof.site.clone(),
            checks: checks_at_top(run, top),
            own_files: self.own_files(run, top),
            plan_dirs: plan_dirs(run, top),
            agents: agents(run),
            with_diff: run.prompt.context,
            memory: self.test_data.clone(),
        }
    }
}

impl Thread {
    /// Reading a long log would hold up the loop.
    pub(in crate::engine) fn after_check(after: AfterCheck, end: CheckEnd) -> Thread {
        let passed = CheckOutcome::of(end.exit).passed();
        let handle = tokio::task::spawn_blocking(move || after.look(passed));
        Thread::AfterCheck { handle, end: Box::new(end) }
    }
}

/// Programs of agents that replace themselves when there is a newer version.
fn agents(run: &Run) -> Vec<String> {
    let known = run.agents.iter().filter(|agent| agent.dialect != Dialect::Plain);
    known.filter_map(|agent| Path::new(&agent.program).file_name()?.to_str().map(String::from)).collect()
}

/// The commands of the checks, as if they ran at the top of the work tree.
pub(super) fn checks_at_top(run: &Run, top: &Path) -> Vec<String> {
    let below = layout::below(top, &run.workspace).filter(|below| !below.is_empty());
    let at_top = |command: &String| match &below {
        Some(below) => format!("cd '{}' && {command}", below.replace('\'', "'\\''")),
        None => command.clone(),
    };
    run.checks.iter().map(|check| at_top(&check.command)).collect()
}

/// Where the plan lies, relative to the top: what an agent does to the list of the work is not the work.
fn plan_dirs(run: &Run, top: &Path) -> Vec<String> {
    let dir = match &run.plan {
        Plan::Prompt(_) => return Vec::new(),
        Plan::Stories(_) => run.workspace.join("specs"),
        Plan::Tasks(plan) => run.workspace.join(&plan.dir),
    };
    layout::below(top, &dir).into_iter().collect()
}
