//! Refs outside, changed by git itself and under its locks.

use super::carry::CarryError;
use super::one::One;
use super::refs::{self, Change, Value, called};
use super::scratch;
use crate::git::{GitError, checked};
use crate::process::tool::{Tool, ToolOutput};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

impl One<'_> {
    /// In one transaction, or, if that fails, one by one.
    pub(super) fn update_refs(&mut self, keep_under: &str, changes: &[Change]) -> Result<(), CarryError> {
        let is_plain = |change: &Change| {
            ![&change.old, &change.new].iter().any(|value| matches!(value, Some(Value::Symbolic(_))))
        };
        let (plain, symbolic): (Vec<&Change>, Vec<&Change>) =
            changes.iter().partition(|change| is_plain(change));
        let all: Vec<&[&Change]> = match plain.is_empty() || self.transact(&plain).is_ok() {
            true => Vec::new(),
            false => plain.chunks(1).collect(),
        };
        let mut failed = Vec::new();
        for change in all.into_iter().flatten() {
            failed.extend(self.transact(&[change]).err().map(|cause| (*change, cause)));
        }
        for change in symbolic {
            failed.extend(self.set_symbolic(change).err().map(|cause| (change, cause)));
        }
        for (change, cause) in failed {
            // It may go once the other git has ended.
            if is_locked(&cause) {
                return Err(cause.into());
            }
            self.spoiled = true;
            let kept = change.new.as_ref().and_then(Value::id).map(String::from);
            let kept = kept.and_then(|id| self.keep(&format!("{keep_under}inside/"), &change.name, &id));
            let kept = kept.map(|kept| format!("; it is kept as {kept}")).unwrap_or_default();
            self.told.push(format!("{} was not carried over: {cause}{kept}", called(&change.name)));
        }
        Ok(())
    }

    /// A git that has the real refs, and writes no log of its own: those from inside are carried over.
    fn ref_git(&self) -> Tool<'static> {
        if self.format.reftable { scratch::git(&self.real) } else { self.scratch.git() }
    }

    fn transact(&self, changes: &[&Change]) -> Result<(), GitError> {
        let zero = self.format.zero();
        let mut commands: Vec<u8> = Vec::new();
        for change in changes {
            let id = |value: &Option<Value>| value.as_ref().and_then(Value::id).unwrap_or(&zero).to_string();
            let (verb, ids) = match &change.new {
                Some(_) => ("update ", vec![id(&change.new), id(&change.old)]),
                None => ("delete ", vec![id(&change.old)]),
            };
            commands.extend_from_slice(verb.as_bytes());
            commands.extend_from_slice(&change.name);
            commands.push(0);
            ids.iter().for_each(|id| commands.extend_from_slice(format!("{id}\0").as_bytes()));
        }
        let update =
            ["update-ref", "--no-deref", "-m", "ralph: carried over from the sandbox", "--stdin", "-z"];
        checked("update-ref", self.ref_git().args(update).stdin(&commands)).map(drop)
    }

    fn set_symbolic(&self, change: &Change) -> Result<(), GitError> {
        let name = OsStr::from_bytes(&change.name);
        let git = self.ref_git();
        let set = match &change.new {
            Some(Value::Symbolic(target)) => git.arg("symbolic-ref").arg(name).arg(OsStr::from_bytes(target)),
            Some(Value::Id(id)) => git.args(["update-ref", "--no-deref"]).arg(name).arg(id),
            None => git.args(["update-ref", "--no-deref", "-d"]).arg(name),
        };
        checked("update-ref", set).map(drop)
    }

    pub(super) fn tell_conflict(&mut self, keep_under: &str, conflict: &Change) {
        self.spoiled = true;
        let called = called(&conflict.name);
        let Some(id) = conflict.new.as_ref().and_then(Value::id) else {
            self.told.push(format!("{called} was changed outside meanwhile, and stays as it is there"));
            return;
        };
        let kept =
            self.keep(&format!("{keep_under}inside/"), &conflict.name, id).unwrap_or_else(|| id.to_string());
        self.told.push(format!(
            "{called} was changed outside meanwhile, and stays as it is there; what it was inside is kept as {kept}"
        ));
    }

    pub(super) fn keep_deleted(&mut self, keep_under: &str, change: &Change) {
        let old = change.old.as_ref().and_then(Value::id).map(String::from);
        let old = old.filter(|_| refs::is_of_value(&change.name));
        if let Some(kept) = old.and_then(|id| self.keep(&format!("{keep_under}deleted/"), &change.name, &id))
        {
            self.told.push(format!("{} was deleted inside; it is kept as {kept}", called(&change.name)));
        }
    }

    /// A ref of ralph's own that keeps a commit; its name.
    pub(super) fn keep(&mut self, under: &str, name: &[u8], id: &str) -> Option<String> {
        let name = String::from_utf8_lossy(name.strip_prefix(b"refs/").unwrap_or(name)).into_owned();
        let taken = |name: &str| {
            let asked = self.ref_git().args(["rev-parse", "--verify", "-q", name]).run();
            asked.ok().filter(ToolOutput::success).map(|answer| answer.stdout.trim_ascii_end().to_vec())
        };
        let mut names = (1..100).map(|number| match number {
            1 => format!("{under}{name}"),
            _ => format!("{under}{name}.{number}"),
        });
        let free = names.find(|name| taken(name).is_none_or(|found| found == id.as_bytes()))?;
        let kept = checked("update-ref", self.ref_git().args(["update-ref", &free, id]));
        kept.ok().map(|_| free)
    }
}

fn is_locked(cause: &GitError) -> bool {
    match cause {
        GitError::Refused { message, .. } => message.contains(".lock': File exists"),
        GitError::Tool(_) => true,
        GitError::Unmerged { .. } | GitError::NoWorktree(_) | GitError::Io(_) => false,
    }
}
