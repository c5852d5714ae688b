//! One new spec at a time, and which were added while a run may put its tree back.
//!
//! A tree that is put back loses what is new in it. Specs that `ralph stories new` wrote since the
//! run began are people's work: their paths are noted in the lock's own file, in ralph's home.

use crate::layout::{Home, Project};
use crate::lock::EditLock;
use std::io;
use std::path::{Path, PathBuf};

pub struct AddedSpecs {
    lock: EditLock,
    paths: Vec<PathBuf>,
}

impl AddedSpecs {
    /// Waits for other writers.
    pub fn wait(home: &Home, project: &Project) -> io::Result<AddedSpecs> {
        let mut lock = EditLock::wait(&home.specs_lock(project.dir()))?;
        let paths = noted(&lock.content()?);
        Ok(AddedSpecs { lock, paths })
    }

    /// The paths, relative to the project. A spec is noted before it is written, and the notes only
    /// grow, so what is there needs no lock.
    pub fn look(home: &Home, project: &Project) -> Vec<PathBuf> {
        EditLock::look(&home.specs_lock(project.dir())).map_or_else(|_| Vec::new(), |text| noted(&text))
    }

    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    pub fn note(&mut self, path: &Path) -> io::Result<()> {
        self.paths.push(path.to_path_buf());
        self.lock.add_content(format!("{}\n", path.display()).as_bytes())
    }

    /// For a run that begins: whatever is there is part of its tree.
    pub fn forget(&mut self) -> io::Result<()> {
        self.paths.clear();
        self.lock.set_content(b"")
    }
}

fn noted(content: &str) -> Vec<PathBuf> {
    content.lines().map(PathBuf::from).collect()
}
