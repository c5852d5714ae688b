//! What a run keeps of the user's repository, as it was when the run began.
//!
//! An agent can prune the user's `.git`, or delete it. Checkpoints borrow objects from here and
//! not from there, and a repository that is gone can be restored from here. Objects are hard
//! links, which cost next to nothing; refs, HEAD, configuration, index, logs and hooks are copies.
//! Where links cannot be made (another file system, another owner) objects are copied; if that
//! is too much, only the last commit and what is staged is kept, in a pack, without the history.
//!
//! Deliberately absent: protection from a process that writes into an object file in place, which
//! git never does. A restore reads everything that it needs before it changes the first file.

use super::copier::{Copier, DEEPEST};
use super::git_dir::GitDir;
use super::shadow::ShadowError;
use super::{Condition, Repository, checked, git, one_path};
use crate::fsx;
use ralph_loop::event::Branch;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A copy of the user's git directory.
pub struct Kept {
    dir: PathBuf,
}

#[derive(Debug, Error)]
pub enum RestoreGitError {
    #[error("a repository already exists: {}", .0.display())]
    Exists(PathBuf),
    #[error("no copy of the repository was kept")]
    Nothing,
    #[error("the main repository of this worktree is gone too: {}", .0.display())]
    MainGone(PathBuf),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// More bytes are not copied where links cannot be made.
const MOST_COPIED: u64 = 64 << 20;
/// `git gc` may be running: what it has just moved is found the next time.
const LOOKS: usize = 3;

/// What each worktree has for itself.
const OWN_FILES: [&str; 2] = ["HEAD", "index"];
const POINTER: &str = "ralph-pointer";
const TIP_ONLY: &str = "ralph-tip-only";
/// Of the repository that a worktree belongs to: where it is, and what the worktree has for itself.
const MAIN: &str = "ralph-main";
const MAIN_PATH: &str = "path";

impl Kept {
    pub(super) fn below(checkpoints: &Path) -> Kept {
        Kept { dir: checkpoints.join("kept.git") }
    }

    /// Where it is, seen from the objects of the checkpoints: the two are moved together.
    pub(super) const ALTERNATES: &str = "../kept.git/objects\n";

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn exists(&self) -> bool {
        self.dir.join("HEAD").exists()
    }

    /// Whether all refs and commits are there.
    pub fn has_history(&self) -> bool {
        !self.dir.join(TIP_ONLY).exists()
    }

    /// The commit that HEAD was on, if all before it is there as well.
    pub fn start(&self) -> Option<String> {
        let head = git(&self.dir).args(["--git-dir=.", "rev-parse", "-q", "--verify", "HEAD^{commit}"]);
        let head = head.run().ok().filter(|head| self.has_history() && head.success())?;
        lines(&head.stdout).next()
    }

    /// Keeps a repository. That nothing can be kept is no failure: the checkpoints then hold
    /// every file by themselves.
    pub(super) fn make(&self, repository: &Repository) -> Result<(), ShadowError> {
        let Some(source) = Source::of(repository) else { return Ok(fsx::private_dir(&self.objects())?) };
        let kept = self.copy_all(&source).is_ok() || {
            let _ = fsx::remove_tree(&self.dir);
            self.keep_tip(repository, &source).is_ok()
        };
        if kept {
            self.keep_pointer(repository, &source)?;
        } else {
            let _ = fsx::remove_tree(&self.dir);
            fsx::private_dir(&self.objects())?;
        }
        Ok(())
    }

    fn objects(&self) -> PathBuf {
        self.dir.join("objects")
    }

    fn copy_all(&self, source: &Source) -> io::Result<()> {
        let copier = Copier::of_at_most(MOST_COPIED);
        copier.copy_git_dir(&source.common, &self.dir)?;
        fsx::private_dir(&self.objects().join("pack"))?;
        for _ in 0..LOOKS {
            for objects in &source.objects {
                copier.link_objects(objects, &self.objects())?;
            }
            if !copier.missed_any() {
                break;
            }
        }
        // What a worktree has for itself.
        if source.private != source.common {
            let main = self.dir.join(MAIN);
            fsx::private_dir(&main)?;
            for name in OWN_FILES.iter().filter(|name| self.dir.join(name).exists()) {
                fsx::rename(&self.dir.join(name), &main.join(name))?;
            }
            fsx::write_whole(&main.join(MAIN_PATH), source.common.as_os_str().as_bytes())?;
            for name in OWN_FILES {
                copier.replace(&source.private.join(name), &self.dir.join(name))?;
            }
        }
        Ok(())
    }

    /// The commit that HEAD is on and what is staged, as a shallow repository.
    fn keep_tip(&self, repository: &Repository, source: &Source) -> Result<(), ShadowError> {
        let format = repository.object_format();
        let init = ["init", "-q", "--bare", &format!("--object-format={format}")];
        checked("init", repository.git().env("GIT_DEFAULT_REF_FORMAT", "files").args(init).arg(&self.dir))?;
        let head = repository.commit();
        let mut names = BTreeSet::new();
        if let Some(commit) = &head {
            let list =
                ["rev-list", "--objects", "--no-object-names", "--no-walk", "--missing=allow-any", commit];
            names.extend(lines(&checked("rev-list", repository.local().args(list))?));
        }
        // `mode name stage`, then the path.
        let staged = checked("ls-files", repository.local().args(["ls-files", "-s", "-z"]))?;
        let staged = staged.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        names.extend(staged.filter_map(|entry| entry.split(' ').nth(1).map(String::from)));
        let asked: String = names.iter().map(|name| format!("{name}\n")).collect();
        let check = ["cat-file", "--batch-check=%(objectname)", "--buffer"];
        let found = checked("cat-file", repository.local().args(check).stdin(asked.as_bytes()))?;
        let found: String =
            lines(&found).filter(|line| !line.ends_with(" missing")).map(|name| name + "\n").collect();
        let own = || git(&self.dir).args(["-c", "core.hooksPath=/dev/null", "--git-dir=."]);
        if !found.is_empty() {
            // Packed from here: git renames the pack into its place, on one file system only.
            let mut from: Vec<u8> = Vec::new();
            for objects in &source.objects {
                from.extend(objects.as_os_str().as_bytes());
                from.push(b'\n');
            }
            let alternates = self.objects().join("info/alternates");
            fsx::write_whole(&alternates, &from)?;
            let pack = own().args(["pack-objects", "-q", "objects/pack/pack"]);
            checked("pack-objects", pack.stdin(found.as_bytes()))?;
            fsx::remove(&alternates)?;
        }
        if let Some(commit) = &head {
            fsx::write_whole(&self.dir.join("shallow"), format!("{commit}\n").as_bytes())?;
            match repository.branch() {
                Branch::Named(name) => {
                    let name = format!("refs/heads/{name}");
                    checked("update-ref", own().args(["update-ref", &name, commit]))?;
                    checked("symbolic-ref", own().args(["symbolic-ref", "HEAD", &name]))?;
                }
                Branch::Detached => {
                    checked("update-ref", own().args(["update-ref", "--no-deref", "HEAD", commit]))?;
                }
            }
        }
        let copier = Copier::of_at_most(MOST_COPIED);
        for name in ["config", "info", "hooks", "description"] {
            copier.replace(&source.common.join(name), &self.dir.join(name))?;
        }
        copier.replace(&source.private.join("index"), &self.dir.join("index"))?;
        // The refs are in files here, wherever they were.
        let _ = own().args(["config", "--file", "config", "--unset", "extensions.refStorage"]).run();
        Ok(fsx::write_whole(&self.dir.join(TIP_ONLY), b"")?)
    }

    /// `.git` of a worktree or a submodule is a file, or a link, that says where the repository is.
    fn keep_pointer(&self, repository: &Repository, source: &Source) -> io::Result<()> {
        let place = repository.top.join(".git");
        let meta = place.symlink_metadata()?;
        if meta.is_dir() {
            return Ok(());
        }
        let content = if meta.is_symlink() {
            let mut line = OsString::from("gitdir: ");
            line.push(&source.private);
            line.push("\n");
            line.into_vec()
        } else {
            fs_err::read(&place)?
        };
        fsx::write_whole(&self.dir.join(POINTER), &content)
    }

    /// Puts `.git` back, as it was when the run began. One that git can work with is never touched;
    /// a damaged one is moved aside.
    pub fn restore(&self, repository: &Repository) -> Result<RestoredGit, RestoreGitError> {
        let place = repository.top.join(".git");
        if repository.condition() == Condition::Whole && !repository.lacks_objects() {
            return Err(RestoreGitError::Exists(place));
        }
        if !self.exists() {
            return Err(RestoreGitError::Nothing);
        }
        let Ok(pointer) = fs_err::read(self.dir.join(POINTER)) else {
            let aside = self.restore_to(&place)?;
            return Ok(RestoredGit { place, aside });
        };
        let target = pointer.strip_prefix(b"gitdir: ").unwrap_or_default().trim_ascii_end();
        let target = repository.top.join(Path::new(OsStr::from_bytes(target)));
        let is_pointed = fs_err::read(&place).is_ok_and(|there| there == pointer);
        let main = if target.join("HEAD").exists() && !is_pointed {
            None
        } else {
            Some(self.restore_main().map_err(|cause| match cause {
                RestoreGitError::Nothing => RestoreGitError::MainGone(target),
                other => other,
            })?)
        };
        let mut aside = None;
        if !is_pointed {
            aside = put_aside(&place)?;
            fsx::write_new(&place, &pointer)?;
        }
        Ok(main.unwrap_or(RestoredGit { place, aside }))
    }

    /// The repository that the worktree belongs to; nothing, if it was not kept or is there.
    fn restore_main(&self) -> Result<RestoredGit, RestoreGitError> {
        let path = fs_err::read(self.dir.join(MAIN).join(MAIN_PATH)).map_err(|_| RestoreGitError::Nothing)?;
        let place = PathBuf::from(OsStr::from_bytes(&path));
        let mut git_dir = OsString::from("--git-dir=");
        git_dir.push(&place);
        let Some(dir) = place.parent().filter(|dir| dir.is_dir()) else {
            return Err(RestoreGitError::Nothing);
        };
        if git(dir).arg(git_dir).args(["rev-parse", "--git-dir"]).run().is_ok_and(|answer| answer.success()) {
            return Err(RestoreGitError::Nothing);
        }
        let aside = self.restore_to(&place)?;
        Ok(RestoredGit { place, aside })
    }

    /// Made beside its place, so that there is a whole one or none. Returns where what was there is now.
    fn restore_to(&self, place: &Path) -> Result<Option<PathBuf>, RestoreGitError> {
        let beside = place.with_file_name(".git.ralph-restore");
        let _ = fsx::remove_tree(&beside);
        let copier = Copier::of_at_most(u64::MAX);
        copier.copy_git_dir(&self.dir, &beside)?;
        copier.link_objects(&self.objects(), &beside.join("objects"))?;
        fsx::dir(&beside.join("refs"))?;
        let main = beside.join(MAIN);
        if main.is_dir() {
            for name in OWN_FILES {
                copier.replace(&main.join(name), &beside.join(name))?;
            }
            fsx::remove_tree(&main)?;
        }
        for name in [TIP_ONLY, POINTER] {
            let _ = fsx::remove(&beside.join(name));
        }
        let aside = put_aside(place)?;
        fsx::rename(&beside, place)?;
        Ok(aside)
    }
}

/// What was done to have a repository again.
pub struct RestoredGit {
    pub place: PathBuf,
    /// Where the damaged one is now.
    pub aside: Option<PathBuf>,
}

fn put_aside(place: &Path) -> io::Result<Option<PathBuf>> {
    if place.symlink_metadata().is_ok() { fsx::put_aside(place).map(Some) } else { Ok(None) }
}

/// Where the user's repository is.
struct Source {
    /// What all worktrees share.
    common: PathBuf,
    /// What this one has for itself; mostly the same.
    private: PathBuf,
    /// The object directory and those that it borrows from.
    objects: Vec<PathBuf>,
}

impl Source {
    fn of(repository: &Repository) -> Option<Source> {
        let asked = |what: &str| {
            let answer = repository.git().args(["rev-parse", what]).run().ok()?;
            Some(repository.top.join(one_path(&answer)?))
        };
        let (common, private) = match GitDir::of(&repository.top) {
            Some(GitDir { own, common }) => (common, own),
            None => (asked("--git-common-dir")?, asked("--git-dir")?),
        };
        let (common, private) = (common.canonicalize().ok()?, private.canonicalize().ok()?);
        let mut objects = vec![common.join("objects").canonicalize().ok()?];
        let mut next = 0;
        while let Some(dir) = objects.get(next).filter(|_| next < DEEPEST).cloned() {
            let listed = fs_err::read(dir.join("info/alternates")).unwrap_or_default();
            let paths =
                listed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#');
            let paths = paths.map(|line| dir.join(OsStr::from_bytes(line)));
            let found: Vec<PathBuf> = paths.filter_map(|path| path.canonicalize().ok()).collect();
            let new: Vec<PathBuf> = found.into_iter().filter(|path| !objects.contains(path)).collect();
            objects.extend(new);
            next += 1;
        }
        Some(Source { common, private, objects })
    }
}

fn lines(output: &[u8]) -> impl Iterator<Item = String> {
    String::from_utf8_lossy(output).lines().map(String::from).collect::<Vec<_>>().into_iter()
}
