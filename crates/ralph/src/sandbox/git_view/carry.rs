//! Carrying over what programs inside have done.
//!
//! What was inside is taken out of the agents' reach first, then each git directory is carried over
//! by itself: objects, refs, HEAD, index, logs, unfinished commands, in this order, so that nothing
//! ever names what is not there yet. What was taken becomes the new base; until then all of it can
//! be done again.

use super::copy::{MARK, git_dirs, is_git_dir};
use super::format::Format;
use super::modules;
use super::objects;
use super::one::One;
use super::refs::Refs;
use super::root::{Root, remove};
use super::taken;
use super::worktrees;
use crate::fsx;
use crate::git::GitError;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why nothing of a git directory was carried over.
#[derive(Debug, Error)]
pub(super) enum CarryError {
    /// It may go another time.
    #[error("{0}")]
    Git(#[from] GitError),
    /// It never will.
    #[error("{0}")]
    Refused(String),
}

impl From<std::io::Error> for CarryError {
    fn from(cause: std::io::Error) -> CarryError {
        CarryError::Git(GitError::Io(cause))
    }
}

pub(super) struct Carrying<'a> {
    pub(super) root: &'a Root,
    pub(super) keep_under: &'a str,
    /// Sentences for the user.
    pub(super) told: Vec<String>,
    /// The copy is no longer what it should be.
    pub(super) spoiled: bool,
}

impl<'a> Carrying<'a> {
    pub(super) fn of(root: &'a Root, keep_under: &'a str) -> Carrying<'a> {
        Carrying { root, keep_under, told: Vec::new(), spoiled: false }
    }

    pub(super) fn carry_out(&mut self) -> Result<(), CarryError> {
        let taken = self.root.scratch("taken");
        remove(&taken)?;
        let left_out = taken::take(self.root, &taken)?;
        let is_whole = is_git_dir(&taken) && taken.join(MARK).is_file();
        if !is_whole {
            self.keep_replaced(&taken)?;
        } else {
            worktrees::carry(self, &taken)?;
            let now = git_dirs(&taken, &self.root.own);
            for gone in
                git_dirs(&self.root.base(), &self.root.own).iter().filter(|below| !now.contains(below))
            {
                self.spoiled = true;
                self.tell(gone, "it was removed inside; the real one is as it was");
            }
            for below in now {
                let left_out = left_out.iter().filter_map(|path| path.strip_prefix(&below).ok());
                let left_out: Vec<PathBuf> = left_out.map(Path::to_path_buf).collect();
                self.carry_git_dir(&taken, &below, &left_out)?;
            }
        }
        self.become_base(&taken)
    }

    fn carry_git_dir(&mut self, taken: &Path, below: &Path, left_out: &[PathBuf]) -> Result<(), CarryError> {
        let is_new = !self.root.real.join(below).exists();
        if is_new && let Err(why) = modules::make(self.root, taken, below) {
            self.tell(below, &format!("not carried over: {why}"));
            return Ok(());
        }
        let carried = One::of(self.root, taken, below).and_then(|mut one| {
            let done = one.carry_out(self.keep_under, left_out);
            self.spoiled |= one.spoiled;
            one.told.iter().for_each(|sentence| self.tell(below, sentence));
            done
        });
        match carried {
            Err(CarryError::Refused(why)) => {
                let kept = self.put_aside(taken, below)?;
                self.tell(
                    below,
                    &format!("not carried over: {why}; what was there is in {}", kept.display()),
                );
                self.spoiled = true;
                Ok(())
            }
            carried => carried,
        }
    }

    /// Another repository is in the place of the copy, or none. Its branches are kept, and not taken
    /// for those of the real one.
    fn keep_replaced(&mut self, taken: &Path) -> Result<(), CarryError> {
        self.spoiled = true;
        let format = Format::of(&self.root.real)?;
        let mut kept = 0;
        if is_git_dir(taken) && !format.reftable {
            objects::import(self.root, taken, Path::new(""), format)?;
            let mut one = One::of(self.root, taken, Path::new(""))?;
            for (name, value) in Refs::of(taken, format, self.root.scratch("listing"), &[])?.values {
                if let Some(id) = value.id().filter(|_| name.starts_with(b"refs/heads/")) {
                    kept +=
                        usize::from(one.keep(&format!("{}replaced/", self.keep_under), &name, id).is_some());
                }
            }
        }
        self.told.push(match kept {
            0 => "the repository was removed or damaged inside; the real one is as it was".to_string(),
            _ => format!(
                "the repository was replaced inside; the real one is as it was, and the branches of the other \
                 one are at {}replaced/",
                self.keep_under
            ),
        });
        Ok(())
    }

    /// What was taken is what both sides have in common from now on.
    fn become_base(&self, taken: &Path) -> Result<(), CarryError> {
        for below in git_dirs(taken, &self.root.own) {
            for large in ["objects", "lfs"] {
                remove(&taken.join(&below).join(large))?;
            }
        }
        let (base, last) = (self.root.base(), self.root.scratch("base.last"));
        remove(&last)?;
        // If ralph is killed between the two, the copy counts as carried over, and it is.
        fsx::rename(&base, &last)?;
        fsx::rename(taken, &base)?;
        Ok(remove(&last)?)
    }

    fn put_aside(&self, taken: &Path, below: &Path) -> Result<PathBuf, CarryError> {
        let aside = self.root.scratch("aside");
        fsx::private_dir(&aside)?;
        let free = (1..).map(|number: u32| aside.join(number.to_string())).find(|path| !path.exists());
        let to = free.unwrap_or(aside);
        fsx::TreeCopy::of_at_most(u64::MAX).copy(&taken.join(below), &to)?;
        Ok(to)
    }

    fn tell(&mut self, below: &Path, sentence: &str) {
        self.told.push(match below.to_str() {
            Some("") => sentence.to_string(),
            _ => format!("{}: {sentence}", below.display()),
        });
    }
}
