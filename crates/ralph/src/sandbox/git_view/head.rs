//! HEAD, which says what is checked out.

use super::carry::CarryError;
use super::one::One;
use super::refs::{Change, Value, called};
use super::scratch::{self, Scratch};
use crate::fsx::GitLock;
use crate::git::checked;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

impl One<'_> {
    pub(super) fn head_of(&self, dir: &Path, own: &Path) -> Option<Value> {
        if !self.format.reftable {
            return Value::of_file(&fs::read(dir.join(own).join("HEAD")).ok()?, self.format);
        }
        let scratch = self.root.scratch("listing");
        let scratch = Scratch::make(scratch, self.format, dir, &[self.real.join("objects")]).ok()?;
        let git_dir = if own.as_os_str().is_empty() {
            scratch.dir().to_path_buf()
        } else {
            scratch.worktree(&dir.join(own)).ok()?
        };
        let answer = |args: &[&str]| {
            let answer = scratch::git(&git_dir).args(args).run().ok()?;
            answer.success().then(|| answer.stdout.trim_ascii_end().to_vec())
        };
        if let Some(target) = answer(&["symbolic-ref", "-q", "HEAD"]) {
            return Some(Value::Symbolic(target));
        }
        answer(&["rev-parse", "--verify", "-q", "HEAD"])
            .map(|id| Value::Id(String::from_utf8_lossy(&id).into_owned()))
    }

    /// Where the user has moved HEAD meanwhile, it stays there.
    pub(super) fn carry_head(
        &mut self,
        keep_under: &str,
        own: &Path,
        head: Option<Value>,
    ) -> Result<(), CarryError> {
        let (was, is) = (self.head_of(&self.base, own), self.head_of(&self.real, own));
        let head = head.filter(|head| match head {
            Value::Symbolic(target) => target.starts_with(b"refs/heads/"),
            Value::Id(id) => {
                let look = scratch::git(&self.real).args(["cat-file", "-e", &format!("{id}^{{commit}}")]);
                look.run().is_ok_and(|answer| answer.success())
            }
        });
        let Some(head) = head else {
            self.spoiled = true;
            self.told.push("HEAD was damaged inside, and is as it was".to_string());
            return Ok(());
        };
        if Some(&head) == was.as_ref() || Some(&head) == is.as_ref() {
            return Ok(());
        }
        if is != was {
            self.spoiled = true;
            if let Some(id) = head.id() {
                self.keep(&format!("{keep_under}inside/"), b"refs/HEAD", id);
            }
            let (yours, theirs) = (is.as_ref().map_or_else(String::new, shown_head), shown_head(&head));
            self.told.push(format!(
                "HEAD was moved outside meanwhile and stays at {yours}; inside it was at {theirs}"
            ));
            return Ok(());
        }
        let git_dir = self.real.join(own);
        if self.format.reftable {
            let git = scratch::git(&git_dir);
            let set = match &head {
                Value::Symbolic(target) => git.args(["symbolic-ref", "HEAD"]).arg(OsStr::from_bytes(target)),
                Value::Id(id) => git.args(["update-ref", "--no-deref", "HEAD", id]),
            };
            checked("symbolic-ref", set)?;
        } else {
            let lock = GitLock::on(&git_dir.join("HEAD"))?;
            if self.head_of(&self.real, own) == is {
                lock.replace(&head.in_file())?;
            }
        }
        Ok(())
    }

    /// Git itself deletes no branch that is checked out.
    pub(super) fn without_current(&mut self, owns: &[PathBuf], deleted: Vec<Change>) -> Vec<Change> {
        let current: Vec<Vec<u8>> = owns
            .iter()
            .filter_map(|own| match self.head_of(&self.real, own)? {
                Value::Symbolic(target) => Some(target),
                Value::Id(_) => None,
            })
            .collect();
        let (refused, deleted): (Vec<_>, Vec<_>) =
            deleted.into_iter().partition(|change| current.contains(&change.name));
        for change in refused {
            self.spoiled = true;
            self.told.push(format!(
                "{} is checked out, was removed inside, and is as it was",
                called(&change.name)
            ));
        }
        deleted
    }
}

fn shown_head(head: &Value) -> String {
    match head {
        Value::Id(id) => id.clone(),
        Value::Symbolic(target) => called(target),
    }
}
