//! The children of this process that are not to be swept.
//!
//! When a keeper dies, its processes become children of the engine, beside children that
//! the engine has anyway: other lanes' keepers, a `git` that runs, a gpg-agent that a `git`
//! left behind, what was there before ralph was exec'ed. These are told apart by keeping a
//! list of the latter: whatever is not on it was the dead keeper's. A program that uses ralph as a
//! library adopts nothing, and its children are never looked at.
//!
//! Invariant: a child is on the list before another thread could miss it there.
//! So one lock covers both spawning and listing, and a sweeper asks after it has looked.

use std::io;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, getpid, waitid, waitpid};

use super::procfs::View;
use super::reaper::adopts;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Keeper,
    Tool,
    /// Came to us from a tool, or was there before us, or is a keeper that was let go.
    Adopted,
}

static OURS: Mutex<Vec<(Pid, Kind)>> = Mutex::new(Vec::new());

fn ours() -> MutexGuard<'static, Vec<(Pid, Kind)>> {
    OURS.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn spawn(command: &mut Command, kind: Kind) -> io::Result<Child> {
    let mut ours = ours();
    let child = command.spawn()?;
    ours.push((Pid::from_child(&child), kind));
    Ok(child)
}

/// For a child that has been waited for.
pub(super) fn forget(child: &Child) {
    let pid = Pid::from_child(child);
    ours().retain(|(known, _)| *known != pid);
}

/// For a keeper that was let go and will end by itself.
pub(super) fn release(keeper: &Child) {
    let pid = Pid::from_child(keeper);
    for (_, kind) in ours().iter_mut().filter(|(known, _)| *known == pid) {
        *kind = Kind::Adopted;
    }
}

pub(super) fn contains(pid: Pid) -> bool {
    ours().iter().any(|(known, _)| *known == pid)
}

/// Whether a child of this process was left by a keeper that died and that ralph has not noticed yet.
pub(super) fn is_left_by_keeper(child: Pid) -> bool {
    let ours = ours();
    adopts()
        && !ours.iter().any(|(known, _)| *known == child)
        && ours.iter().any(|(pid, kind)| *kind == Kind::Keeper && has_ended(*pid))
}

/// Puts the children that we have adopted on the list, and reaps those that ended. Called
/// when a tool ended and before a keeper starts. Puts none there if a keeper died that
/// ralph has not noticed yet: then the adopted ones may be its own.
pub(super) fn note_adopted() {
    if !adopts() {
        return;
    }
    let mut ours = ours();
    ours.retain(|(pid, kind)| {
        *kind != Kind::Adopted || matches!(waitpid(Some(*pid), WaitOptions::NOHANG), Ok(None))
    });
    let children = View::now().children(getpid());
    // A keeper's orphans come to us in the moment in which it becomes a zombie, so asking
    // after having looked is safe.
    if ours.iter().any(|(pid, kind)| *kind == Kind::Keeper && has_ended(*pid)) {
        return;
    }
    for pid in children {
        if !ours.iter().any(|(known, _)| *known == pid) {
            ours.push((pid, Kind::Adopted));
        }
    }
}

fn has_ended(keeper: Pid) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(keeper), look), Ok(None))
}
