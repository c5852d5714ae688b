//! Recorded trees in another directory than the user's: what the checks of a proof run on.
//!
//! The directory is refreshed by difference: only what differs from the tree, or was changed there
//! by a check, is written. Its index is kept outside, where no check reaches it. Invariant: nothing
//! is written into the user's repository; its objects are borrowed.

use super::kept::Kept;
use super::shadow::{Shadow, ShadowError};
use super::{checked, git, is_object_id};
use crate::fsx;
use crate::process::tool::Tool;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::thread;

/// As long as a path can be.
const LONGEST_LINK: usize = 4096;

/// A directory that holds one recorded tree.
pub struct CheckedOut {
    pub dir: PathBuf,
    pub index: PathBuf,
}

/// A path that differs between two trees, as git names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeChange {
    pub path: Vec<u8>,
    pub kind: TreeChangeKind,
    /// Whether it is a symbolic link in the second tree.
    pub is_link: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeChangeKind {
    Added,
    /// Also in kind or mode.
    Changed,
    Deleted,
}

/// How one tree is made of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// As it is in the other tree; gone if it is not there.
    Take(Vec<u8>),
    Remove(Vec<u8>),
    Replace(Vec<u8>, Vec<u8>),
}

impl Shadow {
    /// Objects of other directories can be read as well.
    pub fn borrow_from(&self, others: &[PathBuf]) -> Result<(), ShadowError> {
        let mut alternates = Kept::ALTERNATES.as_bytes().to_vec();
        for objects in others {
            alternates.extend_from_slice(objects.as_os_str().as_bytes());
            alternates.push(b'\n');
        }
        Ok(fsx::write_whole(&self.dir().join("objects/info/alternates"), &alternates)?)
    }

    /// Untracked paths that git ignores, as it names them: a directory ends with a slash.
    pub fn ignored(&self) -> Result<Vec<Vec<u8>>, ShadowError> {
        let status = ["status", "--porcelain=v1", "-z", "--ignored=matching", "--ignore-submodules=all"];
        let listing = checked("status", self.git().args(status))?;
        let entries = listing.split(|byte| *byte == 0);
        Ok(entries.filter_map(|entry| entry.strip_prefix(b"!! ")).map(<[u8]>::to_vec).collect())
    }

    pub fn differing(&self, from: &str, to: &str) -> Result<Vec<TreeChange>, ShadowError> {
        let raw = self.diff(from, to, &["--no-renames", "--raw", "-z"], usize::MAX)?;
        let mut fields = raw.split(|byte| *byte == 0);
        let mut changes = Vec::new();
        // `:100644 120000 1a2b3c 4d5e6f T`, then the path.
        while let (Some(entry @ [b':', ..]), Some(path)) = (fields.next(), fields.next()) {
            let kind = match entry.rsplit(|byte| *byte == b' ').next() {
                Some([b'A', ..]) => TreeChangeKind::Added,
                Some([b'D', ..]) => TreeChangeKind::Deleted,
                _ => TreeChangeKind::Changed,
            };
            let is_link = entry.split(|byte| *byte == b' ').nth(1) == Some(b"120000");
            changes.push(TreeChange { path: path.to_vec(), kind, is_link });
        }
        Ok(changes)
    }

    /// Which of these names are in which files of a tree, as far as they are text. At most so many
    /// bytes of what git answers are read.
    pub fn mentions(&self, tree: &str, names: &[&str], most: usize) -> Vec<(String, String)> {
        if names.is_empty() {
            return Vec::new();
        }
        let grep = ["grep", "-z", "-I", "-F", "-o", "--no-color", "--no-line-number", "--full-name"];
        let patterns = names.iter().flat_map(|name| ["-e", name]);
        let found = self.git().args(grep).args(patterns).args([tree, "--"]).keep(most).run();
        let found = found.map(|found| found.stdout).unwrap_or_default();
        // `tree:path`, a zero byte, the name, a line end.
        let lines = found.split(|byte| *byte == b'\n');
        let mentions = lines.filter_map(|line| {
            let line = std::str::from_utf8(line).ok()?.strip_prefix(tree)?.strip_prefix(':')?;
            line.split_once('\0').map(|(path, name)| (name.to_string(), path.to_string()))
        });
        mentions.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Links among these changes that lead out of the work tree, and where to.
    pub fn links_outside(&self, tree: &str, changes: &[TreeChange]) -> Vec<(String, String)> {
        let links = changes.iter().filter(|change| change.is_link);
        let target = |change: &TreeChange| {
            let target = self.content(tree, &change.path, LONGEST_LINK)?;
            let (link, target) =
                (Path::new(OsStr::from_bytes(&change.path)), Path::new(OsStr::from_bytes(&target)));
            let shown = (link.display().to_string(), target.display().to_string());
            leads_outside(link, target).then_some(shown)
        };
        links.filter_map(target).collect()
    }

    /// What a tree has in the place of a file; at most so many bytes.
    pub fn content(&self, tree: &str, path: &[u8], most: usize) -> Option<Vec<u8>> {
        let mut name = OsString::from(format!("{tree}:"));
        name.push(OsStr::from_bytes(path));
        let shown = self.git().args(["cat-file", "blob"]).arg(name).keep(most).run().ok()?;
        shown.success().then_some(shown.stdout)
    }

    /// A tree made of another one. `other` is where [`Edit::Take`] takes from, `scratch` an index
    /// that is used for it.
    pub fn edited(
        &self,
        base: &str,
        other: &str,
        edits: &[Edit],
        scratch: &Path,
    ) -> Result<String, ShadowError> {
        let entries = self.entries(other)?;
        let mut info: Vec<u8> = Vec::new();
        let mut line = |mode_and_id: &[u8], path: &[u8]| {
            info.extend_from_slice(mode_and_id);
            info.push(b'\t');
            info.extend_from_slice(path);
            info.push(0);
        };
        let nothing = [b"0 ".as_slice(), "0".repeat(base.len()).as_bytes()].concat();
        for edit in edits {
            match edit {
                Edit::Take(path) => line(entries.get(path).unwrap_or(&nothing), path),
                Edit::Remove(path) => line(&nothing, path),
                Edit::Replace(path, content) => {
                    let id = checked(
                        "hash-object",
                        self.git().args(["hash-object", "-w", "--stdin"]).stdin(content),
                    )?;
                    line(&[b"100644 ".as_slice(), id.trim_ascii_end()].concat(), path);
                }
            }
        }
        let with_index = |tool: Tool<'static>| tool.env("GIT_INDEX_FILE", scratch);
        let _ = fsx::remove(scratch);
        checked("read-tree", with_index(self.git()).args(["read-tree", base]))?;
        checked(
            "update-index",
            with_index(self.git()).args(["update-index", "-z", "--index-info"]).stdin(&info),
        )?;
        let tree = checked("write-tree", with_index(self.git()).arg("write-tree"))?;
        let _ = fsx::remove(scratch);
        Ok(String::from_utf8_lossy(&tree).trim().to_string())
    }

    /// `mode id` of every file of a tree.
    fn entries(&self, tree: &str) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, ShadowError> {
        let listing = checked("ls-tree", self.git().args(["ls-tree", "-r", "-z", tree]))?;
        let entry = |line: &[u8]| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            let mut words = line[..tab].split(|byte| *byte == b' ');
            let (mode, _, id) = (words.next()?, words.next()?, words.next()?);
            Some((line[tab + 1..].to_vec(), [mode, b" ", id].concat()))
        };
        Ok(listing.split(|byte| *byte == 0).filter_map(entry).collect())
    }

    fn git_in(&self, place: &CheckedOut) -> Tool<'static> {
        let mut work_tree = OsString::from("--work-tree=");
        work_tree.push(&place.dir);
        // The last one counts.
        self.git().arg(work_tree).cwd(&place.dir).env("GIT_INDEX_FILE", &place.index)
    }

    /// Puts a tree into an empty directory, with the times that its files have in the workspace:
    /// build outputs that are copied as well are then up to date.
    pub fn check_out(&self, place: &CheckedOut, tree: &str) -> Result<(), ShadowError> {
        let _ = fsx::remove(&place.index);
        checked("read-tree", self.git_in(place).args(["read-tree", "--reset", "-u", tree]))?;
        let listing = checked("ls-files", self.git_in(place).args(["ls-files", "-z"]))?;
        for path in listing.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
            let path = OsStr::from_bytes(path);
            // A time that cannot be kept only costs a build.
            let _ = fsx::keep_time(&self.top().join(path), &place.dir.join(path));
        }
        let _ = self.git_in(place).args(["update-index", "-q", "--refresh"]).run();
        Ok(())
    }

    /// Makes the directory the same as a tree again. What git ignores stays. Files that are written
    /// are new as of now, so that no build takes an old output for theirs.
    pub fn refresh(&self, place: &CheckedOut, tree: &str) -> Result<(), ShadowError> {
        checked("read-tree", self.git_in(place).args(["read-tree", "--reset", "-u", tree]))?;
        checked("clean", self.git_in(place).args(["clean", "-ffdq"]))?;
        Ok(())
    }

    /// Files that differ from the tree, and new ones that are not ignored: a check has made them so.
    pub fn changed_in(&self, place: &CheckedOut, most: usize) -> Result<Vec<String>, ShadowError> {
        let list = ["ls-files", "-z", "-m", "-o", "--exclude-standard"];
        let listing = checked("ls-files", self.git_in(place).args(list))?;
        let paths = listing.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.take(most).map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }

    /// Files of the tree that were written to since it was put there, whatever is in them now.
    pub fn written_in(&self, place: &CheckedOut) -> Result<Vec<String>, ShadowError> {
        let list = ["diff-files", "-z", "--name-only", "--ignore-submodules=all"];
        let listing = checked("diff-files", self.git_in(place).args(list))?;
        let paths = listing.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.filter_map(|path| String::from_utf8(path.to_vec()).ok()).collect())
    }

    /// Where the repositories of submodules are.
    pub fn modules(&self) -> Option<PathBuf> {
        let path = self.repository().git_path("modules")?.canonicalize().ok()?;
        path.is_dir().then_some(path)
    }

    /// The paths of submodules that a tree names.
    pub fn submodules(&self, tree: &str) -> Result<Vec<String>, ShadowError> {
        let listing = checked("ls-tree", self.git().args(["ls-tree", "-r", "-z", tree]))?;
        let submodules = listing.split(|byte| *byte == 0).filter(|line| line.starts_with(b"160000 "));
        let paths = submodules.filter_map(|line| line.splitn(2, |byte| *byte == b'\t').nth(1));
        Ok(paths.filter_map(|path| String::from_utf8(path.to_vec()).ok()).collect())
    }

    /// Of these paths, those that the user's repository ignores as it is now: they would not be
    /// committed.
    pub fn ignored_now(&self, paths: &[&[u8]]) -> Vec<Vec<u8>> {
        if paths.is_empty() {
            return Vec::new();
        }
        let asked: Vec<u8> = paths.iter().flat_map(|path| path.iter().copied().chain([0])).collect();
        let check = ["-c", "core.fsmonitor=false", "check-ignore", "-z", "--stdin"];
        let answer = self.repository().git().args(check).stdin(&asked).run();
        let listing = answer.map(|answer| answer.stdout).unwrap_or_default();
        listing.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect()
    }

    /// What the user's repository was at the start: it is kept and does not change.
    pub fn at_start(&self) -> AtStart {
        let kept = self.kept();
        AtStart { commit: kept.start(), refs: refs(git(kept.dir()).arg("--git-dir=."), &[]) }
    }

    /// A repository of its own for a directory that holds a tree: HEAD is a commit of that tree on top
    /// of the user's, with its history, the refs and tags of the start, and later ones that HEAD
    /// contains. It has no object that is not reached from there, and no index yet.
    pub fn make_repository(
        &self,
        place: &CheckedOut,
        tree: &str,
        start: &AtStart,
    ) -> Result<(), ShadowError> {
        let dir = place.dir.join(".git");
        if dir.symlink_metadata().is_ok() {
            fsx::remove_tree(&dir)?;
        }
        for name in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
            fsx::private_dir(&dir.join(name))?;
        }
        let kept = self.kept();
        let mut alternates = kept.dir().join("objects").into_os_string().into_encoded_bytes();
        alternates.push(b'\n');
        fsx::write_whole(&dir.join("objects/info/alternates"), &alternates)?;
        fsx::write_whole(&dir.join("config"), &self.copied_config(kept.dir()))?;
        fsx::write_whole(&dir.join("info/exclude"), &self.users_excludes())?;
        if let Ok(shallow) = fs_err::read(kept.dir().join("shallow")) {
            fsx::write_whole(&dir.join("shallow"), &shallow)?;
        }
        let head = self.users_head(start);
        fsx::write_whole(&dir.join("packed-refs"), &packed(&head.refs))?;
        let commit = match &head.commit {
            Some(commit) if head.tree.as_deref() == Some(tree) => commit.clone(),
            parent => self.commit_of_tree(tree, parent.as_deref())?,
        };
        self.pack_new_objects(&dir, &commit, &head, start)?;
        match &head.branch {
            Some(branch) => {
                let file = dir.join(branch);
                if let Some(above) = file.parent() {
                    fsx::private_dir(above)?;
                }
                fsx::write_whole(&file, format!("{commit}\n").as_bytes())?;
                fsx::write_whole(&dir.join("HEAD"), format!("ref: {branch}\n").as_bytes())?;
            }
            None => fsx::write_whole(&dir.join("HEAD"), format!("{commit}\n").as_bytes())?,
        }
        Ok(())
    }

    /// Nothing is uncommitted there.
    pub fn add_index(&self, place: &CheckedOut) -> Result<(), ShadowError> {
        let index = fs_err::read(&place.index)?;
        Ok(fsx::write_whole(&place.dir.join(".git/index"), &index)?)
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
        let commit = self.lending().args(["commit-tree", "-m", "what is delivered", tree]);
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

    /// Where the user's repository is now; where the kept one was if it is gone.
    fn users_head(&self, start: &AtStart) -> UsersHead {
        let kept = self.kept();
        let of_user = || self.repository().local().env("GIT_NO_REPLACE_OBJECTS", "1");
        let of_kept = || git(kept.dir()).arg("--git-dir=.");
        let mut head = UsersHead::of(&of_user).or_else(|| UsersHead::of(&of_kept)).unwrap_or_default();
        // A tag that was moved is where it was.
        head.refs.extend(start.refs.clone());
        head
    }

    /// The configuration that the run began with, without what leads elsewhere or runs something.
    fn copied_config(&self, kept: &Path) -> Vec<u8> {
        let mut config = fs_err::read(kept.join("config")).unwrap_or_default();
        config.extend_from_slice(b"\n[core]\n\tbare = false\n\thooksPath = /dev/null\n\tfsmonitor = false\n");
        without_keys(&config, &["worktree", "refstorage", "worktreeconfig"])
    }
}

/// Whether a link leads above the top of the work tree, as far as its own text says.
fn leads_outside(link: &Path, target: &Path) -> bool {
    let mut depth = link.components().count().saturating_sub(1);
    for part in target.components() {
        match part {
            Component::RootDir | Component::Prefix(_) => return true,
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
        }
    }
    false
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

/// The user's repository before the first agent.
pub struct AtStart {
    commit: Option<String>,
    refs: BTreeMap<String, String>,
}

/// What a repository's HEAD is, and which refs and tags it contains.
#[derive(Default)]
struct UsersHead {
    /// None before the first commit.
    commit: Option<String>,
    tree: Option<String>,
    /// `refs/heads/main`; none if it is detached.
    branch: Option<String>,
    /// By name.
    refs: BTreeMap<String, String>,
}

impl UsersHead {
    fn of(git: &(dyn Fn() -> Tool<'static> + Sync)) -> Option<UsersHead> {
        let ask = |what: &[&str]| {
            let answer = git().args(what).run().ok()?;
            let said = String::from_utf8_lossy(&answer.stdout).trim().to_string();
            Some(if answer.success() { said } else { String::new() })
        };
        let (told, refs) = thread::scope(|scope| {
            let refs = scope.spawn(|| refs(git(), &["--merged", "HEAD"]));
            let what = ["rev-parse", "HEAD^{commit}", "HEAD^{tree}", "--symbolic-full-name", "HEAD"];
            (ask(&what), refs.join().unwrap_or_default())
        });
        let told = told?;
        let mut lines = told.lines().map(str::to_string);
        if let (Some(commit), Some(tree), branch) = (lines.next(), lines.next(), lines.next())
            && is_object_id(commit.as_bytes())
        {
            let branch = branch.filter(|branch| branch.starts_with("refs/"));
            return Some(UsersHead { commit: Some(commit), tree: Some(tree), branch, refs });
        }
        // Before the first commit, or after the objects were lost.
        let branch = ask(&["symbolic-ref", "-q", "HEAD"]).filter(|branch| !branch.is_empty())?;
        Some(UsersHead { branch: Some(branch), ..UsersHead::default() })
    }
}

/// The objects that refs name.
fn refs(tool: Tool<'static>, which: &[&str]) -> BTreeMap<String, String> {
    let listed = tool.args(["for-each-ref", "--format=%(refname) %(objectname)"]).args(which).run();
    let listed = listed.map(|listed| listed.stdout).unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let pairs = listed.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(name, object)| (name.to_string(), object.to_string())).collect()
}

/// Refs as git writes them into one file.
fn packed(refs: &BTreeMap<String, String>) -> Vec<u8> {
    let lines = refs.iter().map(|(name, object)| format!("{object} {name}\n"));
    ["# pack-refs with: sorted \n".to_string()].into_iter().chain(lines).collect::<String>().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_outside_if_it_is_absolute_or_climbs_above_the_top() {
        for (link, target, expected) in [
            ("a", "/home/a", true),
            ("a", "../a", true),
            ("a", "b/../../c", true),
            ("d/a", "../../a", true),
            ("d/a", "../b", false),
            ("a", "b", false),
            ("d/e/a", "./../../b", false),
        ] {
            assert_eq!(leads_outside(Path::new(link), Path::new(target)), expected, "{link} -> {target}");
        }
    }
}
