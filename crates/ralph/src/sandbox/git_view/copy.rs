//! Making the copy that programs inside see.
//!
//! It is made as a whole and from nothing each time: what agents left in the last one cannot lead a
//! write elsewhere. Of that one only the configuration and what no git outside needs are taken over.

use super::config;
use super::root::Root;
use super::scratch::alternates_list;
use crate::fsx::{self, Taken, Wanted};
use crate::git::GitError;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Of these everything is copied.
const TREES: [&str; 7] = ["refs", "logs", "info", "branches", "rebase-merge", "rebase-apply", "sequencer"];
/// What a linked worktree has for all to see.
const ABOUT_WORKTREE: [&str; 4] = ["HEAD", "commondir", "gitdir", "locked"];
/// Of these nothing is copied.
const TRANSIENT: [&str; 3] = ["gc.pid", "gc.log", "packed-refs"];
/// Other files are configuration that is included, or notes of other tools.
const MOST_OTHER: u64 = 1 << 20;
/// Recorded resolutions of conflicts.
const MOST_RESOLUTIONS: u64 = 16 << 20;
const MOST_FILES: usize = 100_000;
const DEEPEST: usize = 32;
/// Git may replace a table meanwhile.
const LOOKS: usize = 5;

/// That the copy is still the one that ralph made: in a new repository in its place it is missing.
pub(super) const MARK: &str = "ralph-copy";

/// Directories of a git directory that are not known, and so are only shown inside.
pub(super) fn unknown_dirs(real: &Path) -> Vec<PathBuf> {
    const KNOWN: [&str; 7] = ["objects", "hooks", "lfs", "modules", "worktrees", "rr-cache", "reftable"];
    let entries = fs::read_dir(real).into_iter().flatten().filter_map(Result::ok);
    let dirs = entries.filter(|entry| entry.path().is_dir()).map(|entry| PathBuf::from(entry.file_name()));
    dirs.filter(|name| !KNOWN.iter().chain(&TREES).any(|known| name.as_os_str() == *known)).collect()
}

/// The git directories below one, by their paths there: itself and those of its submodules.
pub(super) fn git_dirs(dir: &Path, own: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for modules in [PathBuf::from("modules"), own.join("modules")] {
        if !found.iter().any(|known| known.starts_with(&modules)) {
            find_git_dirs(dir, &modules, 0, &mut found);
        }
    }
    found
}

fn find_git_dirs(dir: &Path, below: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(dir.join(below)).into_iter().flatten().filter_map(Result::ok);
    for entry in entries {
        let path = below.join(entry.file_name());
        // Links are not followed.
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) || depth > DEEPEST {
            continue;
        }
        if is_git_dir(&dir.join(&path)) {
            found.push(path.clone());
            find_git_dirs(dir, &path.join("modules"), depth + 1, found);
        } else {
            // The name of a submodule may have slashes.
            find_git_dirs(dir, &path, depth + 1, found);
        }
    }
}

pub(super) fn is_git_dir(dir: &Path) -> bool {
    let is_file = |name: &str| dir.join(name).symlink_metadata().is_ok_and(|meta| meta.is_file());
    is_file("HEAD") && dir.join("refs").symlink_metadata().is_ok_and(|meta| !meta.is_file())
}

pub(super) struct Copying<'a> {
    pub(super) root: &'a Root,
    /// Where it is made.
    pub(super) to: &'a Path,
    /// The last one.
    pub(super) last: Option<&'a Path>,
    /// Worktrees that are copied as a whole.
    pub(super) owns: &'a [PathBuf],
}

impl Copying<'_> {
    pub(super) fn carry_out(&self) -> Result<(), GitError> {
        for below in git_dirs(&self.root.real, &self.root.own) {
            self.copy_git_dir(&below).map_err(GitError::Io)?;
            self.configure(&below)?;
        }
        fsx::write_whole(&self.to.join(MARK), b"A copy for programs in a sandbox of ralph.\n")
            .map_err(GitError::Io)
    }

    fn copy_git_dir(&self, below: &Path) -> io::Result<()> {
        let (from, to) = (self.root.real.join(below), self.to.join(below));
        for dir in ["refs", "hooks", "info", "objects/info", "objects/pack"] {
            fsx::dir(&to.join(dir))?;
        }
        fsx::write_whole(&to.join(BORROWED), &borrowed(self.root, below))?;
        for entry in fs::read_dir(&from)? {
            let name = entry?.file_name();
            let (from, to) = (from.join(&name), to.join(&name));
            let Ok(meta) = fs::metadata(&from) else { continue };
            let is = |names: &[&str]| names.iter().any(|known| name.as_os_str() == *known);
            if meta.is_file() {
                let is_large = meta.len() > MOST_OTHER && !is_data(&name);
                if !is(&TRANSIENT) && !is_lock(&name) && !is_large {
                    copy_file(&from, &to)?;
                }
            } else if is(&TREES) {
                copy_tree(&from, &to, 0)?;
            } else if is(&["reftable"]) {
                copy_tables(&from, &to)?;
            } else if is(&["rr-cache"]) && fsx::disk_usage(&from) <= MOST_RESOLUTIONS {
                copy_tree(&from, &to, 0)?;
            } else if is(&["worktrees"]) {
                self.copy_worktrees(below)?;
            } else if meta.is_dir() && !is(&["modules", "objects"]) {
                fsx::dir(&to)?;
            }
        }
        // Last: a ref that is packed meanwhile is in one of both.
        copy_file(&from.join("packed-refs"), &to.join("packed-refs"))
    }

    fn copy_worktrees(&self, below: &Path) -> io::Result<()> {
        let worktrees = below.join("worktrees");
        for entry in fs::read_dir(self.root.real.join(&worktrees))?.filter_map(Result::ok) {
            let path = worktrees.join(entry.file_name());
            let (from, to) = (self.root.real.join(&path), self.to.join(&path));
            if self.owns.contains(&path) {
                copy_tree_but(&from, &to, 0, &["modules"])?;
            } else if from.is_dir() {
                fsx::dir(&to)?;
                for name in ABOUT_WORKTREE {
                    copy_file(&from.join(name), &to.join(name))?;
                }
            }
        }
        Ok(())
    }

    /// The configuration of the last copy stays, and what no git outside needs.
    fn configure(&self, below: &Path) -> Result<(), GitError> {
        for file in self.root.config_files(below) {
            let start = self.root.at_start().join(&file);
            let last = self.last.and_then(|last| fsx::read_taken(last, &file, config::MOST_BYTES));
            let content = match (last, fs::read(self.root.real.join(&file))) {
                (Some(last), _) if start.exists() => last,
                (_, Ok(real)) => {
                    fsx::dir(start.parent().unwrap_or(&start)).map_err(GitError::Io)?;
                    fsx::write_whole(&start, &real).map_err(GitError::Io)?;
                    if file.ends_with("config") {
                        config::turn_off(&start, &self.root.real.join(self.root.own_of(below)))?;
                    }
                    fs::read(&start).map_err(GitError::Io)?
                }
                (_, Err(_)) => continue,
            };
            fsx::write_whole(&self.to.join(&file), &content).map_err(GitError::Io)?;
        }
        let Some(last) = self.last else { return Ok(()) };
        for private in ["info", "rr-cache"].map(|name| below.join(name)) {
            let taken = self.to.join(below).join("taken");
            let wanted = |_: &Path| Wanted::UpTo(MOST_RESOLUTIONS);
            if Taken::of_at_most(MOST_FILES).copy(last, &private, &taken, &wanted).is_ok() {
                let _ = fsx::remove_tree(&self.to.join(&private));
                fsx::rename(&taken, &self.to.join(&private)).map_err(GitError::Io)?;
            } else if taken.exists() {
                fsx::remove_tree(&taken).map_err(GitError::Io)?;
            }
        }
        Ok(())
    }
}

/// Where a copy says from where it borrows objects.
pub(super) const BORROWED: &str = "objects/info/alternates";

/// All directories, as they are seen inside: git takes no relative path from the list of another repository.
pub(super) fn borrowed(root: &Root, below: &Path) -> Vec<u8> {
    let mut listed = vec![root.seen.join(below).join("objects")];
    listed.extend(alternates(&root.real.join(below).join("objects")));
    alternates_list(&listed)
}

/// Other directories that objects are borrowed from, and those that these borrow from.
pub(super) fn alternates(objects: &Path) -> Vec<PathBuf> {
    const MOST: usize = 100;
    let mut found: Vec<PathBuf> = Vec::new();
    let mut next = vec![objects.to_path_buf()];
    while let Some(objects) = next.pop().filter(|_| found.len() < MOST) {
        let listed = fs::read(objects.join("info/alternates")).unwrap_or_default();
        let lines = listed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#');
        for path in lines.filter_map(|line| objects.join(OsStr::from_bytes(line)).canonicalize().ok()) {
            if !found.contains(&path) {
                found.push(path.clone());
                next.push(path);
            }
        }
    }
    found
}

/// Git's own, of any size.
fn is_data(name: &OsStr) -> bool {
    name == "index" || name == "shallow" || name.as_bytes().starts_with(b"sharedindex.")
}

fn is_lock(name: &OsStr) -> bool {
    name.as_bytes().ends_with(b".lock")
}

/// One that goes meanwhile is no failure. The copy can be written, whatever it is a copy of.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    match fs::read(from) {
        Ok(content) => fsx::write_whole(to, &content),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(cause),
    }
}

fn copy_tree(from: &Path, to: &Path, depth: usize) -> io::Result<()> {
    copy_tree_but(from, to, depth, &[])
}

fn copy_tree_but(from: &Path, to: &Path, depth: usize, but: &[&str]) -> io::Result<()> {
    fsx::dir(to)?;
    let Ok(entries) = fs::read_dir(from) else { return Ok(()) };
    for name in entries.filter_map(Result::ok).map(|entry| entry.file_name()) {
        let (from, to) = (from.join(&name), to.join(&name));
        // The user's own links are followed: some tools share refs and logs that way.
        match fs::metadata(&from) {
            Ok(meta) if meta.is_dir() && depth < DEEPEST && !but.iter().any(|but| name == *but) => {
                copy_tree_but(&from, &to, depth + 1, &[])?;
            }
            Ok(meta) if meta.is_file() && !is_lock(&name) => copy_file(&from, &to)?,
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// Tables are of one moment: that at which the list of them names them.
fn copy_tables(from: &Path, to: &Path) -> io::Result<()> {
    let list = || fs::read(from.join("tables.list"));
    for _ in 0..LOOKS {
        let before = list()?;
        copy_tree(from, to, 0)?;
        let names = before.split(|byte| *byte == b'\n').filter(|name| !name.is_empty());
        let mut names = names.map(|name| to.join(OsStr::from_bytes(name)));
        if names.all(|table| table.exists()) && list()? == before {
            return Ok(());
        }
        fsx::remove_tree(to)?;
    }
    Err(io::Error::other(format!("the tables change all the time: {}", from.display())))
}
