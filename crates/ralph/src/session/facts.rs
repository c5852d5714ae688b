//! Facts that are written in place of a loop, while the run has none.

use super::{SessionError, cannot_write};
use crate::fsx;
use crate::journal::{self, Journal, UnreadableRun};
use crate::layout::{Home, RunDir};
use crate::lock::RunLock;
use crate::process;
use crate::secrets;
use ralph_loop::event::{Event, Fact, VERSION};
use ralph_loop::{Run, State};

/// Writes facts into the journal of a run that has no loop to do it. Those that only a life can
/// have are preceded by one.
pub fn write_in_its_place(home: &Home, id: &str, facts: &[Fact]) -> Result<(), SessionError> {
    let run_dir = home.run(id);
    let lock = RunLock::acquire(&run_dir, id)?;
    end_survivors(&run_dir, &lock);
    let replayed = journal::replay(&run_dir, |_, _, _| {}).map_err(|cause| cause.of_run(id))?;
    let mut state = replayed.state;
    let can_wait = |fact: &Fact| matches!(fact, Fact::Asked(ask) if ask.can_wait());
    let first = (!facts.iter().all(can_wait)).then(|| Fact::Resumed { pid: std::process::id() });
    let unwritable = |cause| cannot_write(run_dir.dir(), cause);
    let mut journal = Journal::reopen(&run_dir, replayed.whole).map_err(unwritable)?;
    for fact in first.into_iter().chain(facts.iter().cloned()) {
        let event = following(&state, secrets::masked_fact(fact));
        state.apply(&event)?;
        journal.append(&event).map_err(unwritable)?;
    }
    journal.settle().map_err(unwritable)
}

/// Ends what a run whose engine and keeper were killed has left. Returns how many processes.
pub fn end_survivors(run: &RunDir, _lock: &RunLock) -> u32 {
    let ended = process::end_survivors(run.dir());
    // Its sessions are over, so they need not be looked for again.
    let _ = fsx::remove(&run.keepers());
    ended
}

/// The next event of a run that has no loop.
pub(super) fn following(state: &State, fact: Fact) -> Event {
    let epoch = state.position.epoch + u32::from(matches!(fact, Fact::Resumed { .. }));
    let (seq, at, up_ms) = (state.position.seq + 1, crate::engine::wall_ms(), state.position.up_ms);
    Event { v: VERSION, seq, epoch, at, up_ms, fact }
}

/// The run as it was asked for.
pub fn run_of(home: &Home, id: &str) -> Result<Run, UnreadableRun> {
    let replayed = journal::replay(&home.run(id), |_, _, _| {}).map_err(|cause| cause.of_run(id))?;
    Ok(replayed.run)
}
