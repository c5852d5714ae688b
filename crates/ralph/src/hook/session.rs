//! `ralph hook session-start`: a fresh context may be warned again.

use super::context::fired;
use super::state::{Memory, forget_old};
use super::stop::{BLOCKS, blocked};
use super::{HookAnswer, Input, Surroundings};
use ralph_loop::context::THRESHOLDS;

/// An agent that only shortens its context is still in the session that it was blocked in.
const SHORTENED: &str = "compact";

pub(super) fn start(around: &Surroundings, input: &Input) -> HookAnswer {
    let memory = Memory::of(around, input);
    let thresholds = THRESHOLDS.into_iter().map(fired);
    let blocks = (1..=BLOCKS).map(blocked).filter(|_| input.source != SHORTENED);
    let forgotten = thresholds.chain(blocks).try_for_each(|what| memory.forget(&what));
    forget_old(around);
    match forgotten {
        Ok(()) => HookAnswer::nothing(),
        Err(cause) => HookAnswer::failed(format!("cannot reset the state of the session: {cause}")),
    }
}
