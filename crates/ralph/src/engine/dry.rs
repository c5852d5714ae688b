//! What the first agent of a run would be asked, found out by the loop itself.
//!
//! The policy decides as in a real run, up to its first agent. That one is not started: its
//! prompt is kept, and the run is stopped. Nothing is written but texts in a directory that is
//! removed again.

use super::compose;
use super::projections::Projections;
use super::task_files::Disk;
use super::{DiskSpace, Host, Now, drive, task_files, wall_ms};
use crate::fsx;
use crate::layout::Home;
use crate::tasks::added::Added;
use crate::texts::Texts;
use ralph_loop::event::{End, Event, Fact, How, SnapshotEnd, Step, StepId, VERSION};
use ralph_loop::plan::{Item, PlanEnd};
use ralph_loop::proof::ProofSpec;
use ralph_loop::{Run, State};
use std::collections::VecDeque;
use std::io;

/// The first agent's work, and its whole prompt.
pub struct FirstPrompt {
    pub item: Item,
    pub text: String,
}

/// Nothing if there is no work left.
pub fn first_prompt(run: &Run, texts: &[String]) -> io::Result<Option<FirstPrompt>> {
    let dir = tempfile::tempdir()?;
    let run_dir = Home::at(dir.path().to_path_buf()).run(&run.id);
    fsx::private_dir(&run_dir.texts())?;
    let run = &without_baseline(run);
    let mut host = DryHost { texts: Texts::of(&run_dir), events: VecDeque::new(), found: None };
    texts.iter().try_for_each(|text| host.texts.put_sealed(text).map(drop))?;
    let fact = Fact::Opened(Box::new(run.clone()));
    let opened = Event { v: VERSION, seq: 1, epoch: 1, at: wall_ms(), up_ms: 0, fact };
    let mut state = State::open(&opened).map_err(io::Error::other)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let stopped = runtime.block_on(drive(run, &mut state, &mut host)).map_err(io::Error::other)?;
    match (host.found, stopped.note) {
        (None, Some(problem)) => Err(io::Error::other(problem)),
        (found, _) => Ok(found),
    }
}

/// The prompt of a real run also has the checks that fail before the first agent. Here they are not run.
fn without_baseline(run: &Run) -> Run {
    let proof = run.proof.clone().map(|proof| ProofSpec { baseline: false, ..proof });
    Run { proof, ..run.clone() }
}

struct DryHost {
    texts: Texts,
    events: VecDeque<Fact>,
    found: Option<FirstPrompt>,
}

impl DryHost {
    fn end_of(&mut self, run: &Run, state: &State, step: &Step) -> End {
        let impossible = |why: String| End::Impossible { why };
        match step {
            // The tree is not recorded, and not copied.
            Step::Snapshot { .. } => End::Snapshot(SnapshotEnd::default()),
            Step::Prepare { .. } => End::Prepare(Box::default()),
            Step::Plan { what, .. } => {
                let mut nothing_added = Added::nothing();
                match task_files::perform(
                    run,
                    state,
                    what,
                    Disk::Untouched,
                    &mut nothing_added,
                    &mut self.texts,
                ) {
                    Ok(end) => End::Plan(Box::new(PlanEnd::Tasks(end))),
                    Err(cause) => impossible(cause.to_string()),
                }
            }
            Step::Agent { item, .. } => {
                match compose::prompt(run, state, &self.texts, &Projections::default()) {
                    Ok(text) => {
                        self.found = Some(FirstPrompt { item: item.clone(), text });
                        self.events.push_back(Fact::StopAsked);
                        End::Lost { why: "not started".to_string(), cost: None, estimate: None }
                    }
                    Err(cause) => impossible(cause.to_string()),
                }
            }
            _ => impossible(format!("a dry run has no such step: {step:?}")),
        }
    }
}

impl Host for DryHost {
    fn now(&self) -> Now {
        Now { at: wall_ms(), up_ms: 0 }
    }

    fn masked(&self, fact: Fact) -> Fact {
        fact
    }

    fn record(&mut self, _: &Event) -> io::Result<()> {
        Ok(())
    }

    fn show(&mut self, _: &Run, _: &State, _: &Event) {}

    fn start(&mut self, run: &Run, state: &State, id: StepId, step: &Step) {
        let end = self.end_of(run, state, step);
        self.events.push_back(Fact::Ended { id, end });
    }

    fn cancel(&mut self, _: StepId, _: How) {}

    fn room(&self, _: &Run) -> Option<DiskSpace> {
        None
    }

    async fn wait(&mut self, _: &Run, _: &State, _: Option<u64>) -> Fact {
        self.events.pop_front().unwrap_or(Fact::StopAsked)
    }
}
