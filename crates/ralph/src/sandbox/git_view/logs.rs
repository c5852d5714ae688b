//! Reflogs, which lead to commits that no branch has any more.
//!
//! The user's are only added to. That of the stash is the list of what is stashed, and so is replaced.

use super::carry::CarryError;
use super::objects;
use super::one::One;
use super::root::remove;
use crate::fsx;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

impl One<'_> {
    pub(super) fn carry_logs(&mut self) -> Result<(), CarryError> {
        for dir in self.log_dirs() {
            let [base, taken] = [&self.base, &self.taken].map(|root| logs(&root.join(&dir)));
            for name in base.union(&taken) {
                // The main worktree's own.
                if dir == Path::new("logs") && self.is_linked_log(name) {
                    continue;
                }
                self.carry_log(&dir.join(name), name)?;
            }
        }
        Ok(())
    }

    fn log_dirs(&self) -> Vec<PathBuf> {
        let own = if self.below.as_os_str().is_empty() {
            self.root.own.join("logs")
        } else {
            PathBuf::from("logs")
        };
        let mut dirs = vec![PathBuf::from("logs"), own];
        dirs.dedup();
        dirs
    }

    fn is_linked_log(&self, name: &Path) -> bool {
        self.below.as_os_str().is_empty()
            && !self.root.own.as_os_str().is_empty()
            && name == Path::new("HEAD")
    }

    fn carry_log(&self, path: &Path, name: &Path) -> Result<(), CarryError> {
        let [was, is, now] = [&self.base, &self.real, &self.taken].map(|root| fs::read(root.join(path)).ok());
        let real = self.real.join(path);
        if was == now || is == now {
            return Ok(());
        }
        let Some(now) = now else {
            // Git keeps no log of a branch that is gone, and none that stands in the way of another.
            let is_gone = !self.has_ref(name);
            if is_gone && is == was {
                remove(&real)?;
            }
            return Ok(());
        };
        let now = self.lines_with_objects(&now)?;
        if name == Path::new("refs/stash") && is == was {
            return Ok(fsx::write_whole(&real, &now)?);
        }
        let known: BTreeSet<&[u8]> = [&was, &is].into_iter().flatten().flat_map(|log| lines(log)).collect();
        let new: Vec<u8> = lines(&now).filter(|line| !known.contains(line)).flatten().copied().collect();
        if new.is_empty() {
            return Ok(());
        }
        if let Some(dir) = real.parent() {
            // A file in the way is the log of a branch outside.
            if fsx::dir(dir).is_err() {
                return Ok(());
            }
        }
        if !real.is_dir() {
            fsx::append(&real, &new)?;
        }
        Ok(())
    }

    fn has_ref(&self, name: &Path) -> bool {
        let asked = self.scratch.git().args(["rev-parse", "--verify", "-q"]).arg(name);
        asked.run().is_ok_and(|answer| answer.success())
    }

    /// The lines of a log that are well formed, and whose commits are there.
    fn lines_with_objects(&self, log: &[u8]) -> Result<Vec<u8>, CarryError> {
        let length = self.format.id_length();
        let id = |line: &[u8], at: usize| {
            let id = line.get(at..at + length).filter(|id| self.format.is_id(id))?;
            Some(String::from_utf8_lossy(id).into_owned())
        };
        let parsed: Vec<(&[u8], String)> = lines(log)
            .filter(|line| is_line(line))
            .filter_map(|line| {
                id(line, 0)?;
                Some((line, id(line, length + 1)?))
            })
            .collect();
        let zero = self.format.zero();
        let ids = parsed.iter().map(|(_, id)| id.clone()).filter(|id| *id != zero).collect();
        let missing: BTreeSet<String> = objects::missing(&self.real, &ids)?.into_iter().collect();
        let kept = parsed.into_iter().filter(|(_, id)| !missing.contains(id));
        Ok(kept.flat_map(|(line, _)| line.iter().copied()).collect())
    }
}

/// `<old> <new> name <email> time zone<tab>message`.
fn is_line(line: &[u8]) -> bool {
    const LONGEST: usize = 64 << 10;
    let before = line.split(|byte| *byte == b'\t').next().unwrap_or_default();
    let is_bad = |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n');
    line.ends_with(b"\n") && line.len() < LONGEST && !line.iter().any(is_bad) && before.contains(&b'>')
}

fn lines(log: &[u8]) -> impl Iterator<Item = &[u8]> {
    log.split_inclusive(|byte| *byte == b'\n')
}

fn logs(dir: &Path) -> BTreeSet<PathBuf> {
    let (mut found, mut dirs) = (BTreeSet::new(), vec![dir.to_path_buf()]);
    while let Some(inner) = dirs.pop() {
        for entry in fs::read_dir(inner).into_iter().flatten().filter_map(Result::ok) {
            let path = entry.path();
            if path.is_dir() {
                dirs.push(path);
            } else if let Ok(below) = path.strip_prefix(dir) {
                found.insert(below.to_path_buf());
            }
        }
    }
    found
}
