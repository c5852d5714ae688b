//! Carrying over one git directory: that of the run's repository, or of a submodule.

use super::carry::CarryError;
use super::entered;
use super::format::Format;
use super::objects;
use super::refs::{self, Change, Refs, Value, called};
use super::root::{Root, remove};
use super::scratch::Scratch;
use crate::fsx::{GitLock, TreeCopy};
use crate::git::GitError;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) struct One<'a> {
    pub(super) root: &'a Root,
    pub(super) below: PathBuf,
    pub(super) format: Format,
    pub(super) real: PathBuf,
    pub(super) base: PathBuf,
    pub(super) taken: PathBuf,
    /// Sees the real refs and objects, and nothing of the user's configuration.
    pub(super) scratch: Scratch,
    pub(super) told: Vec<String>,
    pub(super) spoiled: bool,
}

impl<'a> One<'a> {
    pub(super) fn of(root: &'a Root, taken: &Path, below: &Path) -> Result<One<'a>, CarryError> {
        let real = root.real.join(below);
        let format = Format::of(&real)?;
        let scratch = Scratch::make(root.scratch("scratch"), format, &real, &[real.join("objects")])?;
        let (base, taken) = (root.base().join(below), taken.join(below));
        let (told, spoiled) = (Vec::new(), false);
        Ok(One { root, below: below.to_path_buf(), format, real, base, taken, scratch, told, spoiled })
    }

    pub(super) fn carry_out(&mut self, keep_under: &str, left_out: &[PathBuf]) -> Result<(), CarryError> {
        let is_ref =
            |path: &PathBuf| ["refs", "packed-refs", "reftable"].iter().any(|name| path.starts_with(name));
        if let Some(odd) = left_out.iter().find(|path| is_ref(path)) {
            return Err(CarryError::Refused(format!("no regular file, or too large: {}", odd.display())));
        }
        let taken = self.taken_root();
        objects::import(self.root, &taken, &self.below, self.format)?;
        self.carry_shallow()?;
        let plan = {
            let [base, theirs, ours] = [&self.base, &self.real, &self.taken].map(|dir| self.refs(dir));
            let ours = ours.map_err(|cause| CarryError::Refused(format!("refs cannot be read: {cause}")))?;
            refs::plan(&base?, &theirs?, &ours, self.is_linked())
        };
        let owns: Vec<PathBuf> = self.owns();
        let heads: Vec<(PathBuf, Option<Value>)> =
            owns.iter().map(|own| (own.clone(), self.head_of(&self.taken, own))).collect();
        let new = plan.carry.iter().chain(&plan.conflicts).filter_map(|change| change.new.as_ref());
        let new = new.chain(heads.iter().filter_map(|(_, head)| head.as_ref()));
        let ids: BTreeSet<String> = new.filter_map(Value::id).map(String::from).collect();
        let absent = objects::missing(&self.real, &ids)?;
        if !absent.is_empty() || !objects::are_complete(&self.real, &ids)? {
            return Err(CarryError::Refused("objects are missing that its commits need".to_string()));
        }
        // Objects that are fetched only when they are needed cannot be looked at.
        let links = entered::links_in_commits(&self.real, &ids).unwrap_or_default();
        self.root.note_links(links)?;
        for name in &plan.refused {
            self.spoiled = true;
            self.told.push(format!("not carried over: {}", called(name)));
        }
        for conflict in &plan.conflicts {
            self.tell_conflict(keep_under, conflict);
        }
        let (deleted, changed): (Vec<_>, Vec<_>) =
            plan.carry.into_iter().partition(|change| change.new.is_none());
        // A branch `a` is in the way of one called `a/b`.
        let is_in_the_way =
            |gone: &Change| changed.iter().any(|new| refs::exclude_each_other(&gone.name, &new.name));
        let (in_the_way, deleted): (Vec<_>, Vec<_>) = deleted.into_iter().partition(is_in_the_way);
        for change in &in_the_way {
            self.keep_deleted(keep_under, change);
        }
        self.update_refs(keep_under, &in_the_way)?;
        self.update_refs(keep_under, &changed)?;
        self.advance(&[Path::new("refs"), Path::new("packed-refs"), Path::new("reftable")])?;
        for (own, head) in heads {
            self.carry_head(keep_under, &own, head)?;
            self.advance(&[&own.join("HEAD")])?;
        }
        let deleted = self.without_current(&owns, deleted);
        self.update_refs(keep_under, &deleted)?;
        for change in &deleted {
            if change.old.as_ref().and_then(Value::id).is_some_and(|id| objects::is_lost(&self.real, id)) {
                self.keep_deleted(keep_under, change);
            }
        }
        for own in owns {
            self.carry_index(&own)?;
            self.carry_states(&own)?;
        }
        if !self.format.reftable {
            self.carry_logs()?;
        }
        // Another git directory may still fail, and then this one is not to be done again.
        for own in self.owns() {
            let names =
                fs::read_dir(self.taken.join(&own))?.filter_map(Result::ok).map(|entry| entry.file_name());
            let names = names.filter(|name| !SEPARATE.iter().any(|separate| name == *separate));
            let paths: Vec<PathBuf> = names.map(|name| own.join(name)).collect();
            self.advance(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// What is carried over is what both sides have in common, whatever becomes of the rest.
    fn advance(&self, paths: &[&Path]) -> Result<(), CarryError> {
        for path in paths {
            let (taken, base) = (self.taken.join(path), self.base.join(path));
            remove(&base)?;
            if taken.exists() {
                TreeCopy::of_at_most(u64::MAX).copy(&taken, &base)?;
            }
        }
        Ok(())
    }

    /// The directory that everything was taken to.
    fn taken_root(&self) -> PathBuf {
        let depth = self.below.components().count();
        self.taken.ancestors().nth(depth).unwrap_or(&self.taken).to_path_buf()
    }

    fn is_linked(&self) -> bool {
        self.below.as_os_str().is_empty() && !self.root.own.as_os_str().is_empty()
    }

    /// What belongs to worktrees that are carried over, relative to this git directory.
    fn owns(&self) -> Vec<PathBuf> {
        if !self.below.as_os_str().is_empty() {
            return vec![PathBuf::new()];
        }
        self.root
            .owns()
            .into_iter()
            .filter(|own| self.taken.join(own).join("HEAD").exists() || *own == self.root.own)
            .collect()
    }

    fn refs(&self, dir: &Path) -> Result<Refs, GitError> {
        if !dir.is_dir() {
            return Ok(Refs::default());
        }
        let objects = [self.real.join("objects")];
        Refs::of(dir, self.format, self.root.scratch("listing"), &objects)
    }

    fn carry_shallow(&mut self) -> Result<(), CarryError> {
        let [was, is, now] =
            [&self.base, &self.real, &self.taken].map(|dir| fs::read(dir.join("shallow")).ok());
        if now == was || now == is {
            return Ok(());
        }
        let is_list = |content: &Vec<u8>| {
            let mut lines = content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            lines.all(|line| self.format.is_id(line))
        };
        if is != was || !now.as_ref().is_none_or(is_list) {
            self.told.push("how deep the history is was not carried over".to_string());
            return Ok(());
        }
        let lock = GitLock::on(&self.real.join("shallow"))?;
        let carried = match now {
            Some(now) => lock.replace(&now),
            None => lock.remove(),
        };
        Ok(carried?)
    }
}

/// They are carried over by themselves, or not kept.
const SEPARATE: [&str; 4] = ["modules", "worktrees", "objects", "lfs"];
