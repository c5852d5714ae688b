//! A git directory of ralph's own over the user's work tree.
//!
//! It borrows objects from what the run keeps of the user's repository (`kept.rs`) and its first
//! index is a copy of the user's, but it needs nothing of the user's git directory any more once
//! it is set up, no configuration, hook or filter that an agent can edit is read, and the user's
//! branch, index and stash are never touched. Trees are written; nothing points at them but the
//! journal, and nothing removes them but the cap of the run (`tidy.rs`) and its own removal.

use super::ignored::Ignored;
use super::kept::Kept;
use super::long_lived::DiffOf;
use super::private::Private;
use super::{
    FORGET, FileSettings, GitError, Repository, by_ralph, checked, git, left_out, runtime_patterns,
    stale_lock,
};
use crate::fsx;
use crate::process::tool::Tool;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum ShadowError {
    #[error("{0}")]
    Git(#[from] GitError),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("cannot read the checkpoint; nothing was changed: {0}")]
    Unreadable(GitError),
    #[error("cannot write to this directory; nothing was changed: {}", .0.display())]
    NotWritable(PathBuf),
    #[error(
        "this file can be neither replaced nor removed (immutable, a mount, or another user's), and nothing \
         was changed: {}", .0.display()
    )]
    Fixed(PathBuf),
    #[error(
        "not enough space for the files to be written, and nothing was changed: {wanted} KiB wanted, {free} KiB \
         free: {}", .dir.display()
    )]
    NoRoom { dir: PathBuf, wanted: u64, free: u64 },
}

pub struct Shadow {
    dir: PathBuf,
    /// Instead of the directory's own.
    index: Option<PathBuf>,
    repository: Repository,
    /// Larger files are not recorded.
    largest_file: u64,
}

/// What differs from the last tree that was recorded.
#[derive(Default)]
pub struct Changes {
    /// Paths with new content, each ended by a zero byte, as git takes them.
    paths: Vec<u8>,
    /// Paths that are gone, likewise.
    deleted: Vec<u8>,
    /// How much there is to be read of them.
    pub(super) bytes: u64,
    /// Paths that cannot be recorded, the first of them.
    pub left_out: Vec<String>,
    /// All of them, as git names them.
    pub(super) unrecorded: BTreeSet<Vec<u8>>,
    /// There are local settings that are not recorded either.
    pub(super) has_private: bool,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.deleted.is_empty()
    }
}

/// What differs from the index, with every new file.
const STATUS: [&str; 6] =
    ["status", "--porcelain=v1", "-z", "-uall", "--no-renames", "--ignore-submodules=all"];

/// So many left-out paths are named; more would drown the record.
const NAMED_PATHS: usize = 20;

/// How a prompt shows a difference: every file first, so that one large file does not hide the others.
pub(super) const FOR_A_PROMPT: &[&str] =
    &["--no-ext-diff", "--no-textconv", "--no-color", "--stat=80,60,25", "--patch"];

impl Shadow {
    pub fn over(repository: Repository, dir: PathBuf, largest_file: u64) -> Shadow {
        Shadow { dir, index: None, repository, largest_file }
    }

    /// The same for another thread.
    pub(super) fn again(&self) -> Shadow {
        Shadow::over(self.repository.clone(), self.dir.clone(), self.largest_file)
    }

    /// The checkpoints of a run over the work tree that they are of, which need not be a
    /// repository any more. Those of versions that did not note it need one.
    pub fn open(dir: PathBuf, largest_file: u64) -> Option<Shadow> {
        let top = Shadow::top_of(&dir)?;
        top.is_dir().then(|| Shadow::over(Repository::at(top), dir, largest_file))
    }

    /// The top of the work tree that checkpoints are of, whether it exists or not.
    pub fn top_of(dir: &Path) -> Option<PathBuf> {
        let noted = fs_err::read(dir.join(TOP)).ok()?;
        Some(PathBuf::from(OsStr::from_bytes(&noted)))
    }

    /// What is kept of the user's repository.
    pub fn kept(&self) -> Kept {
        Kept::below(&self.dir)
    }

    pub(super) fn largest_file(&self) -> u64 {
        self.largest_file
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    pub fn top(&self) -> &Path {
        &self.repository.top
    }

    pub fn exists(&self) -> bool {
        self.dir.join("HEAD").exists()
    }

    /// Makes the directory, or takes it over from a life of the run that was cut short.
    /// `project` is where ralph's own files lie, which are never recorded.
    /// Returns the tree of the index if it is new.
    pub fn set_up(&self, project: &Path) -> Result<Option<String>, ShadowError> {
        if self.exists() {
            self.take_over_index();
            return Ok(None);
        }
        // Made beside its place: a life cut short on the way must not leave one without its
        // patterns, which would record ralph's own files and what the user ignores.
        let dir = self.dir.with_extension("new");
        let _ = fsx::remove_tree(&dir);
        let beside = Shadow::over(self.repository.clone(), dir, self.largest_file);
        let tree = beside.make(project)?;
        fsx::rename(&beside.dir, &self.dir)?;
        Ok(Some(tree))
    }

    fn make(&self, project: &Path) -> Result<String, ShadowError> {
        // All that `git init` would make and that git needs.
        for dir in ["objects/info", "objects/pack", "refs/heads", "info"] {
            fsx::private_dir(&self.dir.join(dir))?;
        }
        // What git has to be asked does not depend on what is kept, and both take their time.
        let (kept, settings, format, converts_files) = std::thread::scope(|both| {
            let kept = both.spawn(|| self.kept().make(&self.repository));
            let settings = self.repository.file_settings();
            let format = self.repository.object_format();
            let converts_files = self.repository.converts_files(&settings);
            let kept = kept.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (kept, settings, format, converts_files)
        });
        kept?;
        fsx::write_whole(&self.dir.join("HEAD"), format!("ref: {BASE}\n").as_bytes())?;
        let config =
            if format == "sha1" { CONFIG.to_owned() } else { format!("{CONFIG}{}", extension(&format)) };
        fsx::write_whole(&self.dir.join("config"), config.as_bytes())?;
        fsx::write_whole(&self.dir.join("info/exclude"), self.excluded(project, &settings).as_bytes())?;
        fsx::write_whole(&self.dir.join("objects/info/alternates"), Kept::ALTERNATES.as_bytes())?;
        fsx::write_whole(&self.dir.join(TOP), self.top().as_os_str().as_bytes())?;
        // Bytes are recorded as they are: what is put back must be what was there.
        fsx::write_whole(&self.dir.join("info/attributes"), ATTRIBUTES.as_bytes())?;
        // With the user's index git knows which files it need not read. Where that does
        // not work (none yet, a split one, files that git converts), everything is simply
        // read once.
        let mut tree = None;
        if !converts_files
            && let Some(index) = self.repository.git_path("index")
            && let Ok(content) = fs_err::read(index)
        {
            fsx::write_whole(&self.dir.join("index"), &content)?;
            tree = self.write_tree().ok();
            if tree.is_none() {
                fsx::remove(&self.dir.join("index"))?;
            }
        }
        // A HEAD that equals the index keeps `status` down to what has changed.
        let tree = tree.map_or_else(|| self.write_tree(), Ok)?;
        let commit = checked("commit-tree", self.git().args(["commit-tree", "-m", "base", &tree]))?;
        fsx::write_whole(&self.dir.join(BASE), &commit)?;
        Ok(tree)
    }

    /// A git of a life that was killed may still be at it, for a moment; what is left of one
    /// that was killed itself is removed.
    fn take_over_index(&self) {
        stale_lock::take_over(self.top(), &[self.dir.join("index.lock")]);
    }

    /// What the user ignores by ways that only the user's own git directory knows.
    fn excluded(&self, project: &Path, settings: &FileSettings) -> String {
        let mut patterns = String::new();
        let global = settings.excludes_file.clone();
        let default = || {
            let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
            Some(config.or_else(|| Some(std::env::home_dir()?.join(".config")))?.join("git/ignore"))
        };
        let own = self.repository.git_path("info/exclude");
        for path in [global.or_else(default), own].into_iter().flatten() {
            if let Ok(text) = fs_err::read(path) {
                patterns.push_str(&String::from_utf8_lossy(&text));
                patterns.push('\n');
            }
        }
        patterns + &runtime_patterns(self.top(), project)
    }

    /// The same with an index of its own: for a look that must not meet the run, which may be
    /// at work. Remove it with [`Shadow::forget`].
    pub fn aside(&self) -> Result<Shadow, ShadowError> {
        let index = self.dir.join(format!("index.{}", std::process::id()));
        fsx::write_whole(&index, &fs_err::read(self.dir.join("index"))?)?;
        let repository = self.repository.clone();
        Ok(Shadow { dir: self.dir.clone(), index: Some(index), repository, largest_file: self.largest_file })
    }

    /// Nothing is left of what [`Shadow::aside`] made.
    pub fn forget(self) {
        if let Some(index) = self.index {
            let _ = fsx::remove(&index);
        }
    }

    pub fn changes(&self) -> Result<Changes, ShadowError> {
        let listing = checked("status", self.git().args(STATUS))?;
        Ok(self.changes_of(&listing))
    }

    /// The same, and what git ignores.
    pub(super) fn changes_and_ignored(&self) -> Result<(Changes, Ignored), ShadowError> {
        let listing = checked("status", self.git().args(STATUS).arg("--ignored=matching"))?;
        Ok((self.changes_of(&listing), Ignored::of_status(&listing)))
    }

    fn changes_of(&self, listing: &[u8]) -> Changes {
        let mut changes = Changes::default();
        // `XY path`; Y is the work tree against the index, `?` for a new file, `!` for an ignored one.
        let entries = listing.split(|byte| *byte == 0);
        let entries = entries.filter(|entry| entry.len() > 3 && !matches!(entry[1], b' ' | b'!'));
        // What an attempt leaves becomes a commit in the user's repository.
        let private = Private::among(self.top(), listing);
        for entry in entries {
            if private.holds(entry) {
                changes.has_private = true;
                continue;
            }
            let (change, path) = (entry[1], &entry[3..]);
            if change == b'D' {
                // Not looked at: there may be another file behind a link in its directory's place.
                changes.deleted.extend_from_slice(path);
                changes.deleted.push(0);
            } else if let Some(bytes) = self.to_be_recorded(path) {
                changes.bytes = changes.bytes.saturating_add(bytes);
                changes.paths.extend_from_slice(path);
                changes.paths.push(0);
            } else {
                if changes.left_out.len() < NAMED_PATHS {
                    changes.left_out.push(String::from_utf8_lossy(path).into_owned());
                }
                changes.unrecorded.insert(path.to_vec());
            }
        }
        changes
    }

    /// A hash of paths that are not recorded, which is another once one has changed.
    pub(super) fn left_out_hash(&self, unrecorded: &BTreeSet<Vec<u8>>) -> Option<String> {
        left_out::hash(self.top(), unrecorded)
    }

    /// Whether the index names commits of other repositories. They are left as they are.
    pub(super) fn has_submodules(&self) -> Result<bool, ShadowError> {
        let listing = checked("ls-files", self.git().args(["ls-files", "-s", "-z"]))?;
        Ok(listing.split(|byte| *byte == 0).any(|entry| entry.starts_with(b"160000 ")))
    }

    /// The bytes of a path that can be recorded.
    fn to_be_recorded(&self, path: &[u8]) -> Option<u64> {
        if path.ends_with(b"/") {
            return None; // a repository of its own
        }
        let path = self.top().join(OsStr::from_bytes(path));
        match path.symlink_metadata() {
            Ok(meta) if meta.is_file() => {
                let fits = meta.len() <= self.largest_file && std::fs::File::open(&path).is_ok();
                fits.then_some(meta.len())
            }
            // A directory in the place of a file: that file is gone.
            Ok(meta) => (meta.is_symlink() || meta.is_dir()).then_some(0),
            // Deleted, which is a change.
            Err(cause) => {
                let gone = matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
                gone.then_some(0)
            }
        }
    }

    /// Records changes; the id of the tree as it is now.
    pub fn record(&self, changes: &Changes) -> Result<String, ShadowError> {
        self.add(changes)?;
        self.write_tree()
    }

    pub(super) fn add(&self, changes: &Changes) -> Result<(), ShadowError> {
        // First: what is gone may have been in the way of what is new.
        if !changes.deleted.is_empty() {
            checked("update-index", self.git().args(FORGET).stdin(&changes.deleted))?;
        }
        if !changes.paths.is_empty() {
            let update = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
            checked("update-index", self.git().args(update).stdin(&changes.paths))?;
        }
        Ok(())
    }

    pub(super) fn write_tree(&self) -> Result<String, ShadowError> {
        Ok(trimmed(&checked("write-tree", self.git().args(["write-tree"]))?))
    }

    /// The tree of the index and, if it is asked for, its difference from an earlier one, at the same
    /// time.
    pub(super) fn tree_and_diff(
        &self,
        diff: Option<&DiffOf>,
    ) -> Result<(String, Option<Vec<u8>>), ShadowError> {
        let difference = |diff: &DiffOf| {
            let tool = self.git().args(["diff", "--cached"]).args(FOR_A_PROMPT).arg(&diff.from);
            checked("diff", tool.args(all_but(&diff.own_files)).keep(diff.most))
        };
        std::thread::scope(|both| {
            let diff = diff.map(|diff| both.spawn(move || difference(diff)));
            let tree = self.write_tree();
            let diff = diff.map(|diff| diff.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            Ok((tree?, diff.transpose()?))
        })
    }

    /// The same differences between pairs of trees that it is told one after the other. Unlike the
    /// command for people, it finds no renames unless it is asked to.
    pub(super) fn diff_many_tool(&self, diff: &DiffOf) -> Tool<'static> {
        let tool = self.git().args(["diff-tree", "--stdin", "-r", "-M"]).args(FOR_A_PROMPT);
        tool.args(all_but(&diff.own_files))
    }

    /// Makes the index that of a tree. What it knows of files that are the same there stays, and so
    /// does which paths are not checked out.
    pub(super) fn reset_index(&self, tree: &str) -> Result<(), ShadowError> {
        checked("read-tree", self.git().args(["read-tree", "--reset", tree]))?;
        Ok(())
    }

    /// The difference between two trees, at most so many bytes of it.
    pub fn diff(&self, from: &str, to: &str, flags: &[&str], most: usize) -> Result<Vec<u8>, ShadowError> {
        self.diff_without(&[], (from, to), flags, most)
    }

    /// The same, apart from ralph's own files.
    pub fn diff_without(
        &self,
        own_files: &[String],
        (from, to): (&str, &str),
        flags: &[&str],
        most: usize,
    ) -> Result<Vec<u8>, ShadowError> {
        let diff = self.git().args(["diff", "--no-ext-diff", "--no-textconv"]).args(flags).args([from, to]);
        Ok(checked("diff", diff.args(all_but(own_files)).keep(most))?)
    }

    /// What it takes to put the work tree back from one recorded tree to another: only paths that
    /// differ are written, and those that only the first has are removed. `now` is what is in the
    /// work tree beside the first: what it could not record is in no tree, so neither it nor
    /// anything in its way is touched. `own_files` are ralph's and stay as they are. Nothing is
    /// changed yet, but everything that is to be written has been read.
    pub fn prepare(
        &self,
        now: &Changes,
        from: &str,
        to: &str,
        own_files: &[String],
    ) -> Result<Prepared, ShadowError> {
        let names = self.diff(from, to, &["--no-renames", "--name-status", "-z"], usize::MAX)?;
        let mut fields = names.split(|byte| *byte == 0);
        let mut prepared = Prepared { to: to.to_owned(), ..Prepared::default() };
        while let (Some(status @ [_, ..]), Some(path)) = (fields.next(), fields.next()) {
            if own_files.iter().any(|own| own.as_bytes() == path) {
                continue;
            }
            if now.unrecorded.contains(path) {
                prepared.spared.push(path.to_vec());
            } else if status == b"D" {
                prepared.removed.push(path.to_vec());
            } else {
                prepared.wanted.push(path.to_vec());
            }
        }
        self.can_finish(&prepared)?;
        Ok(prepared)
    }

    /// Puts the work tree back.
    pub fn put_back(&self, prepared: Prepared) -> Result<PutBack, ShadowError> {
        let mut done = PutBack { removed: prepared.removed.len(), ..PutBack::default() };
        prepared.spared.iter().for_each(|path| done.spare(path));
        for path in prepared.removed {
            self.remove_file(&path)?;
        }
        let mut written = Vec::new();
        for path in prepared.wanted {
            if self.is_obstructed(&path) {
                done.spare(&path);
            } else {
                written.extend(path);
                written.push(0);
                done.written += 1;
            }
        }
        self.reset_index(&prepared.to)?;
        if done.written > 0 {
            let checkout = ["checkout-index", "-f", "-u", "-z", "--stdin"];
            checked("checkout-index", self.git().args(checkout).stdin(&written))?;
        }
        Ok(done)
    }

    /// Whether something that no tree holds stands where a file, or a directory above it,
    /// would have to be: git would remove it without a word.
    fn is_obstructed(&self, path: &[u8]) -> bool {
        let path = self.top().join(OsStr::from_bytes(path));
        let is_dir = |path: &Path| path.symlink_metadata().map(|meta| meta.is_dir());
        let above = path.ancestors().skip(1).take_while(|dir| *dir != self.top());
        // Directories alone are no loss: an agent that was killed has made them, or an undo that
        // was killed has emptied them.
        (is_dir(&path).unwrap_or(false) && !fsx::remove_empty_tree(&path))
            || above.map(is_dir).any(|dir| dir.is_ok_and(|dir| !dir))
    }

    /// What is there is not part of the tree.
    pub(super) fn is_behind_link(&self, path: &Path) -> bool {
        path.ancestors().skip(1).take_while(|dir| *dir != self.top()).any(Path::is_symlink)
    }

    /// Removes a file and the directories that it leaves empty.
    fn remove_file(&self, path: &[u8]) -> Result<(), ShadowError> {
        let path = self.top().join(OsStr::from_bytes(path));
        if self.is_behind_link(&path) {
            return Ok(());
        }
        match fsx::remove(&path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause.into()),
            Ok(()) | Err(_) => {}
        }
        let parents = path.ancestors().skip(1).take_while(|dir| *dir != self.top());
        for dir in parents {
            if !fsx::remove_empty_dir(dir) {
                break;
            }
        }
        Ok(())
    }

    /// Keeps a tree under a name, beside what the journal knows.
    pub fn keep(&self, tree: &str, name: &str) -> Result<(), ShadowError> {
        checked("update-ref", self.git().args(["update-ref", &format!("refs/kept/{name}"), tree]))?;
        Ok(())
    }

    pub(super) fn git(&self) -> Tool<'static> {
        let of = |flag: &str, path: &Path| {
            let mut word = OsString::from(flag);
            word.push(path);
            word
        };
        let tool = git(self.top()).arg(of("--git-dir=", &self.dir)).arg(of("--work-tree=", self.top()));
        let tool = tool.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let tool = tool.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_ATTR_NOSYSTEM", "1");
        let tool = match &self.index {
            Some(index) => tool.env("GIT_INDEX_FILE", index),
            None => tool,
        };
        by_ralph(tool)
    }
}

/// Pathspecs of everything but these files.
fn all_but(files: &[String]) -> impl Iterator<Item = String> + '_ {
    let excluded = files.iter().map(|file| format!(":(top,exclude,literal){file}"));
    ["--".to_string(), ":(top)".to_string()].into_iter().chain(excluded)
}

/// What is to be done to put a tree back; paths are as git names them.
#[derive(Default)]
pub struct Prepared {
    pub(super) to: String,
    pub(super) removed: Vec<Vec<u8>>,
    pub(super) wanted: Vec<Vec<u8>>,
    spared: Vec<Vec<u8>>,
}

/// What putting a tree back has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutBack {
    pub written: usize,
    pub removed: usize,
    /// Paths that could not be put back without a loss.
    pub spared: Vec<String>,
}

impl PutBack {
    fn spare(&mut self, path: &[u8]) {
        self.spared.push(String::from_utf8_lossy(path).into_owned());
    }
}

/// The branch that HEAD is on.
const BASE: &str = "refs/heads/base";

/// Which work tree the checkpoints are of.
const TOP: &str = "ralph-top";

/// Objects are named like the user's, so that those can be borrowed.
fn extension(format: &str) -> String {
    format!("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = {format}\n")
}

/// No line endings, filters or encodings: an LFS file is its content, not its pointer.
const ATTRIBUTES: &str = "* -text -ident -filter -working-tree-encoding\n";

const CONFIG: &str = "\
[core]
\tbare = false
\trepositoryformatversion = 0
\tfsmonitor = false
\tlooseCompression = 1
\tautocrlf = false
\texcludesFile = /dev/null
\tattributesFile = /dev/null
\tsafecrlf = false
[gc]
\tauto = 0
[index]
\tversion = 4
\tskipHash = true
[feature]
\tmanyFiles = false
";

fn trimmed(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim().to_string()
}
