//! The repository of a directory that holds a recorded tree: the user's history and refs, with the tree
//! as the last commit.
//!
//! Ralph writes its files, and knows what it has left there: only what differs is written the next time,
//! unless a check has changed anything. If there are commits of an agent, git collects their objects,
//! and all of it is made again each time.
//!
//! Invariant: nothing is written into the user's repository; its objects are borrowed. No object is
//! there that is not reached from HEAD or from a ref of the start.

use super::checked;
use super::checked_out::CheckedOut;
use super::long_lived::Unable;
use super::loose::{Format, Kind, Object};
use super::objects::Objects;
use super::pack::Pack;
use super::shadow::{Shadow, ShadowError};
use super::users_head::{AtStart, UsersHead};
use crate::fsx;
use crate::process::tool::Tool;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// What was recorded since the start is packed by ralph up to so many bytes.
const MOST_PACKED: usize = 1 << 20;

const MESSAGE: &str = "what is delivered";

/// Directories that git needs, also if they are empty.
const DIRS: [&str; 5] = ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"];

/// The index is always written, and what is mounted on modules is not the copy's own.
const INDEX: &str = "index";
pub const MODULES: &str = "modules";

/// Files by their paths in a repository. The index is none of them.
pub(super) type Files = BTreeMap<PathBuf, Vec<u8>>;

impl CheckedOut {
    /// A repository of its own for the directory: HEAD is a commit of its tree on top of the user's,
    /// with its history, the refs and tags of the start, and later ones that HEAD contains. It has no
    /// object that is not reached from there. Nothing is uncommitted in it.
    pub fn make_repository(
        &mut self,
        objects: &mut Objects,
        tree: &str,
        start: &mut AtStart,
    ) -> Result<(), ShadowError> {
        let dir = self.dir.join(".git");
        let before = self.repository.take().filter(|before| is_as_left(&dir, before));
        let head = objects.shadow().users_head(start);
        let mut files = objects.shadow().copied_files(&head);
        match start.commit_by_ralph(objects, tree, &head) {
            Ok((commit, pack)) => {
                files.extend(head_files(&head, &commit));
                files.extend(pack.into_iter().flat_map(Pack::into_files));
                match before {
                    Some(before) => replace(&dir, &before, &files)?,
                    None => make(&dir, &files)?,
                }
                self.repository = Some(files.into());
            }
            Err(Unable) => {
                make(&dir, &files)?;
                let commit = start.commit_by_git(objects.shadow(), tree, &head, &dir)?;
                put_all(&dir, &head_files(&head, &commit))?;
            }
        }
        Ok(put(&dir.join(INDEX), &fs_err::read(&self.index)?)?)
    }
}

/// Whether nothing was changed in a repository since it was written, but for its index.
fn is_as_left(dir: &Path, files: &Files) -> bool {
    let mut dirs: BTreeSet<&Path> = DIRS.iter().flat_map(|dir| Path::new(dir).ancestors()).collect();
    dirs.extend(files.keys().flat_map(|path| path.ancestors().skip(1)));
    let (mut ahead, mut seen) = (vec![PathBuf::new()], 0);
    while let Some(below) = ahead.pop() {
        let Ok(entries) = fs_err::read_dir(dir.join(&below)) else { return false };
        for entry in entries {
            let Ok(entry) = entry else { return false };
            let Ok(meta) = entry.metadata() else { return false };
            let path = below.join(entry.file_name());
            let is_known = match files.get(&path) {
                _ if path == Path::new(INDEX) => meta.is_file(),
                _ if path == Path::new(MODULES) => meta.is_dir() && is_empty(&entry.path()),
                Some(content) => meta.is_file() && has_content(&entry.path(), content),
                None => meta.is_dir() && dirs.contains(path.as_path()),
            };
            if !is_known || !has_usual_mode(&meta) {
                return false;
            }
            if meta.is_dir() && path != Path::new(MODULES) {
                ahead.push(path);
            } else if !files.contains_key(&path) {
                continue;
            }
            seen += 1;
        }
    }
    // The top is not in itself.
    seen == files.len() + dirs.len() - 1
}

fn has_content(file: &Path, content: &[u8]) -> bool {
    fsx::read_unlinked(file).is_ok_and(|now| now == content)
}

/// Whether its owner can still write to it, and nothing of it is run.
fn has_usual_mode(meta: &Metadata) -> bool {
    let usual = if meta.is_dir() { 0o700 } else { 0o600 };
    meta.mode() & 0o7700 == usual
}

fn is_empty(dir: &Path) -> bool {
    fs_err::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}

/// Makes a repository of these files, in the place of whatever is there.
fn make(dir: &Path, files: &Files) -> io::Result<()> {
    match dir.symlink_metadata() {
        Ok(meta) if meta.is_dir() => fsx::remove_tree(dir)?,
        Ok(_) => fsx::remove(dir)?,
        Err(_) => {}
    }
    for name in DIRS {
        fsx::private_dir(&dir.join(name))?;
    }
    put_all(dir, files)
}

/// Makes one that consists of some files consist of others.
fn replace(dir: &Path, before: &Files, files: &Files) -> io::Result<()> {
    for path in before.keys().filter(|path| !files.contains_key(*path)) {
        fsx::remove(&dir.join(path))?;
    }
    let new = files.iter().filter(|(path, content)| before.get(*path) != Some(content));
    new.into_iter().try_for_each(|(path, content)| put(&dir.join(path), content))
}

fn put_all(dir: &Path, files: &Files) -> io::Result<()> {
    files.iter().try_for_each(|(path, content)| put(&dir.join(path), content))
}

fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    fsx::remove_if_there(path)?;
    if let Some(above) = path.parent() {
        fsx::private_dir(above)?;
    }
    fsx::place(path, content, false)
}

fn head_files(head: &UsersHead, commit: &str) -> Files {
    let line = |text: String| format!("{text}\n").into_bytes();
    match &head.branch {
        Some(branch) => {
            let head = (PathBuf::from("HEAD"), line(format!("ref: {branch}")));
            Files::from([head, (PathBuf::from(branch), line(commit.to_string()))])
        }
        None => Files::from([(PathBuf::from("HEAD"), line(commit.to_string()))]),
    }
}

impl AtStart {
    /// The commit of a tree, and what it needs beside the objects of the start.
    fn commit_by_ralph(
        &self,
        objects: &mut Objects,
        tree: &str,
        head: &UsersHead,
    ) -> Result<(String, Option<Pack>), Unable> {
        let (Some(parent), Some(before), true) = (&head.commit, &head.tree, self.has_all_of(head)) else {
            return Err(Unable);
        };
        if before == tree {
            return Ok((parent.clone(), None));
        }
        let format = Format::of(tree).ok_or(Unable)?;
        let mut new = objects.new_since(before, tree, MOST_PACKED)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| Unable)?.as_secs();
        let who = format!("ralph <ralph@localhost> {now} +0000");
        let said = format!("tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\n{MESSAGE}\n");
        let commit = Object::new(format, Kind::Commit, said.as_bytes())?;
        let name = commit.name.clone();
        new.push(commit);
        Ok((name, Some(Pack::of(format, &new)?)))
    }

    /// The same with everything that an agent has committed.
    fn commit_by_git(
        &self,
        shadow: &Shadow,
        tree: &str,
        head: &UsersHead,
        dir: &Path,
    ) -> Result<String, ShadowError> {
        let commit = match &head.commit {
            Some(commit) if head.tree.as_deref() == Some(tree) => commit.clone(),
            parent => shadow.commit_of_tree(tree, parent.as_deref())?,
        };
        shadow.pack_new_objects(dir, &commit, head, self)?;
        Ok(commit)
    }
}

impl Shadow {
    /// What does not depend on the tree.
    fn copied_files(&self, head: &UsersHead) -> Files {
        let kept = self.kept();
        let mut alternates = kept.dir().join("objects").into_os_string().into_encoded_bytes();
        alternates.push(b'\n');
        let shallow = fs_err::read(kept.dir().join("shallow")).ok().map(|shallow| ("shallow", shallow));
        let files = [
            ("objects/info/alternates", alternates),
            ("config", self.copied_config(kept.dir())),
            ("info/exclude", self.users_excludes()),
            ("packed-refs", packed(&head.refs)),
        ];
        files.into_iter().chain(shallow).map(|(name, content)| (PathBuf::from(name), content)).collect()
    }

    /// Where the repositories of submodules are.
    pub fn modules(&self) -> Option<PathBuf> {
        let path = self.repository().git_path("modules")?.canonicalize().ok()?;
        path.is_dir().then_some(path)
    }

    /// Patterns that the user's repository had at the start, without ralph's own: code must not see
    /// that ralph is at work.
    fn users_excludes(&self) -> Vec<u8> {
        let kept = fs_err::read(self.kept().dir().join("info/exclude")).unwrap_or_default();
        let text = String::from_utf8_lossy(&kept);
        let is_users = |line: &&str| !line.contains("ralph");
        text.lines().filter(is_users).flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
    }

    /// The user's objects can be read, too.
    fn lending(&self) -> Tool<'static> {
        let path = self.repository().git_path("objects").and_then(|path| path.canonicalize().ok());
        let tool = self.git().env("GIT_NO_REPLACE_OBJECTS", "1");
        match path {
            Some(path) => tool.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", path),
            None => tool,
        }
    }

    fn commit_of_tree(&self, tree: &str, parent: Option<&str>) -> Result<String, ShadowError> {
        let commit = self.lending().args(["commit-tree", "-m", MESSAGE, tree]);
        let commit = parent.iter().fold(commit, |commit, parent| commit.args(["-p", parent]));
        Ok(String::from_utf8_lossy(&checked("commit-tree", commit)?).trim().to_string())
    }

    /// What a commit needs beside the objects of the start.
    fn pack_new_objects(
        &self,
        dir: &Path,
        commit: &str,
        head: &UsersHead,
        start: &AtStart,
    ) -> Result<(), ShadowError> {
        let mut asked: String = head.refs.values().map(|object| format!("{object}\n")).collect();
        asked.push_str(&format!("{commit}\n"));
        if let Some(start) = &start.commit {
            asked.push_str(&format!("^{start}\n"));
        }
        let pack = ["pack-objects", "-q", "--revs", "--delta-base-offset", "--window=0"];
        let tool = self.lending().args(pack).arg(dir.join("objects/pack/pack"));
        checked("pack-objects", tool.stdin(asked.as_bytes()))?;
        Ok(())
    }

    /// The configuration that the run began with, without what leads elsewhere or runs something.
    fn copied_config(&self, kept: &Path) -> Vec<u8> {
        let mut config = fs_err::read(kept.join("config")).unwrap_or_default();
        config.extend_from_slice(b"\n[core]\n\tbare = false\n\thooksPath = /dev/null\n\tfsmonitor = false\n");
        without_keys(&config, &["worktree", "refstorage", "worktreeconfig"])
    }
}

/// Lines of a configuration but for some keys, wherever they are. None of them is used for
/// anything else.
fn without_keys(config: &[u8], keys: &[&str]) -> Vec<u8> {
    let is_kept = |line: &&[u8]| {
        let name = line.trim_ascii_start().split(|byte| matches!(byte, b' ' | b'=' | b'\t')).next();
        !name.is_some_and(|name| keys.iter().any(|key| name.eq_ignore_ascii_case(key.as_bytes())))
    };
    config.split_inclusive(|byte| *byte == b'\n').filter(is_kept).flatten().copied().collect()
}

/// Refs as git writes them into one file.
fn packed(refs: &BTreeMap<String, String>) -> Vec<u8> {
    let lines = refs.iter().map(|(name, object)| format!("{object} {name}\n"));
    ["# pack-refs with: sorted \n".to_string()].into_iter().chain(lines).collect::<String>().into_bytes()
}
