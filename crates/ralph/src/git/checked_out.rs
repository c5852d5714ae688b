//! A directory that holds one recorded tree, apart from the user's: what the checks of a proof run on.
//!
//! It is refreshed by difference. Ralph compares what is there with what it has left there, and the new
//! tree with the one before, and writes the files that differ. Whatever it does not know (new files of
//! checks, other patterns of ignored files, submodules) git puts right, as it does the first time. The
//! index is kept outside, where no check reaches it.
//!
//! Invariant: after a refresh the directory holds the tree, and what git ignores by the patterns of that
//! tree.

use super::copied_repository::Files;
use super::ignored::Ignored;
use super::index_file::{Replaced, with_entries};
use super::long_lived::Unable;
use super::loose::{Entry, Format, SUBMODULE, TREE};
use super::objects::Objects;
use super::scan::{Changed, Difference, Scan};
use super::shadow::{Shadow, ShadowError};
use super::stamp::Moment;
use super::{FORGET, checked};
use crate::fsx;
use crate::process::tool::Tool;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Larger files are written by git.
const LARGEST_FILE: usize = 16 << 20;

#[derive(Clone)]
pub struct CheckedOut {
    pub dir: PathBuf,
    pub index: PathBuf,
    /// None if git has to look.
    known: Option<Arc<Known>>,
    /// None if it has to be made again.
    pub(super) repository: Option<Arc<Files>>,
}

/// What was left in the directory.
struct Known {
    tree: String,
    scan: Scan,
    ignored: Arc<Ignored>,
    /// The same, and what was left out.
    skipped: Arc<Ignored>,
    submodules: Arc<[String]>,
}

/// What is in the directory now.
pub struct Looked(Scan);

/// What is to be in the place of a path; none if nothing is.
type Wanted = BTreeMap<Vec<u8>, Option<Entry>>;

impl CheckedOut {
    pub fn at(dir: PathBuf, index: PathBuf) -> CheckedOut {
        CheckedOut { dir, index, known: None, repository: None }
    }

    /// For the next [`CheckedOut::refresh`]; needs no git.
    pub fn look(&self) -> Option<Looked> {
        let known = self.known.as_ref()?;
        Scan::of_copy(&self.dir, &known.skipped, None).ok().map(Looked)
    }

    /// Whether nothing was written there since the last refresh. If that is not certain, git knows.
    pub fn is_untouched(&self) -> bool {
        let found = self.known.as_ref().zip(self.look());
        found.is_some_and(|(known, Looked(now))| {
            now.since(&known.scan, &self.dir, u64::MAX) == Difference::Nothing
        })
    }

    /// Makes the directory the same as a tree again. What git ignores stays. Files that are written
    /// are new as of now, so that no build takes an old output for theirs. Returns the submodules of
    /// the tree.
    pub fn refresh(
        &mut self,
        objects: &mut Objects,
        tree: &str,
        looked: Option<Looked>,
    ) -> Result<Arc<[String]>, ShadowError> {
        let written = match (self.known.take(), looked) {
            (Some(known), Some(Looked(now))) => self.write_changes(&known, now, objects, tree).ok(),
            (None, _) | (_, None) => None,
        };
        if let Some(known) = written {
            let submodules = known.submodules.clone();
            self.known = Some(Arc::new(known));
            return Ok(submodules);
        }
        self.write_by_git(objects.shadow(), tree)
    }

    fn write_by_git(&mut self, shadow: &Shadow, tree: &str) -> Result<Arc<[String]>, ShadowError> {
        let _ = self.forget_written(shadow);
        let read_tree =
            || checked("read-tree", shadow.git_in(self).args(["read-tree", "--reset", "-u", tree]));
        read_tree().or_else(|_| {
            // Perhaps it cannot be read: everything is written then.
            let _ = fsx::remove(&self.index);
            read_tree()
        })?;
        checked("clean", shadow.git_in(self).args(["clean", "-ffdq"]))?;
        let status = ["status", "--porcelain=v1", "-z", "--ignored=matching", "--ignore-submodules=all"];
        let ignored = Arc::new(Ignored::of_status(&checked("status", shadow.git_in(self).args(status))?));
        let submodules: Arc<[String]> = shadow.submodules(tree)?.into();
        let look = || Scan::of_copy(&self.dir, &ignored, self.written_before()).ok();
        let mut scan = look();
        let usual = fsx::usual_mode(&self.index.with_extension("mode"))?;
        let odd = scan.iter().flat_map(|scan| scan.odd_files(usual)).collect::<Vec<_>>();
        if !odd.is_empty() {
            odd.iter().try_for_each(|path| fsx::remove(&self.dir.join(path)))?;
            read_tree()?;
            scan = look();
        }
        let known = |scan| Known {
            tree: tree.to_string(),
            scan,
            skipped: ignored.clone(),
            ignored,
            submodules: submodules.clone(),
        };
        self.known = scan.map(known).map(Arc::new);
        Ok(submodules)
    }

    /// Has git write again what was changed after the index: it compares times by the second only, so a
    /// file that was changed within the second that it was written in can look the same.
    fn forget_written(&self, shadow: &Shadow) -> Result<(), ShadowError> {
        let Some(written) = self.written_before() else { return Ok(()) };
        let listing = checked("ls-files", shadow.git_in(self).args(["ls-files", "-z"]))?;
        let is_later = |path: &&[u8]| {
            let meta = self.dir.join(OsStr::from_bytes(path)).symlink_metadata();
            meta.is_ok_and(|meta| (meta.ctime(), meta.ctime_nsec()) >= written)
        };
        let later = listing.split(|byte| *byte == 0).filter(|path| !path.is_empty()).filter(is_later);
        let later: Vec<u8> = later.flat_map(|path| path.iter().copied().chain([0])).collect();
        if !later.is_empty() {
            checked("update-index", shadow.git_in(self).args(FORGET).stdin(&later))?;
        }
        Ok(())
    }

    /// Git writes the index last: what is changed from now on has a later time than files that are
    /// older than the index.
    fn written_before(&self) -> Option<Moment> {
        let meta = self.index.symlink_metadata().ok()?;
        Some((meta.mtime(), meta.mtime_nsec()).min((meta.ctime(), meta.ctime_nsec())))
    }

    fn write_changes(
        &self,
        known: &Known,
        mut now: Scan,
        objects: &mut Objects,
        tree: &str,
    ) -> Result<Known, Unable> {
        let wanted = self.wanted(known, &now, objects, tree)?;
        let path_of = |path: &Vec<u8>| PathBuf::from(OsStr::from_bytes(path));
        // First: what is gone may be in the way of what is new.
        for path in wanted.iter().filter(|(_, entry)| entry.is_none()).map(|(path, _)| path_of(path)) {
            fsx::remove_if_there(&self.dir.join(&path))?;
            now.forget(&path);
            for dir in path.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty()) {
                if !fsx::remove_empty_dir(&self.dir.join(dir)) {
                    break;
                }
                now.forget_dir(dir);
            }
        }
        let mut replaced = Replaced::new();
        for (path, entry) in wanted {
            let place = path_of(&path);
            let written = match entry {
                Some(entry) => Some((self.write(&place, &entry, &mut now, objects)?, entry)),
                None => None,
            };
            replaced.insert(path, written.map(|(meta, entry)| (entry, meta)));
        }
        if !replaced.is_empty() {
            let format = Format::of(tree).ok_or(Unable)?;
            let index = with_entries(&fs_err::read(&self.index)?, format, &replaced)?;
            // As a whole: half of it could say of a file that it holds what it held before.
            fsx::write_whole(&self.index, &index)?;
        }
        let (ignored, submodules) = (known.ignored.clone(), known.submodules.clone());
        Ok(Known { tree: tree.to_string(), scan: now, skipped: ignored.clone(), ignored, submodules })
    }

    fn write(
        &self,
        path: &Path,
        entry: &Entry,
        now: &mut Scan,
        objects: &mut Objects,
    ) -> Result<Metadata, Unable> {
        let (content, place) = (objects.blob(&entry.id, LARGEST_FILE)?, self.dir.join(path));
        fsx::remove_if_there(&place)?;
        if let Some(above) = place.parent() {
            fsx::dir(above)?;
        }
        match entry.mode {
            "120000" => fsx::symlink(Path::new(OsStr::from_bytes(&content)), &place)?,
            mode => fsx::place(&place, &content, mode == "100755")?,
        }
        let meta = place.symlink_metadata()?;
        now.note_written(&place, path, &meta, &content)?;
        Ok(meta)
    }

    /// What has to be written: what a check has changed, and what the new tree has changed.
    fn wanted(&self, known: &Known, now: &Scan, objects: &mut Objects, tree: &str) -> Result<Wanted, Unable> {
        let mut wanted = Wanted::new();
        let touched = match now.since(&known.scan, &self.dir, u64::MAX) {
            Difference::Nothing => Changed::default(),
            Difference::In(changed) if changed.new_files.is_empty() => changed,
            Difference::In(_) | Difference::Unclear => return Err(Unable),
        };
        for file in touched.files {
            let path = file.path.into_os_string().into_encoded_bytes();
            let entry = objects.entry(tree, &path)?;
            wanted.insert(path, entry.filter(|entry| entry.mode != TREE));
        }
        for change in objects.changes(&known.tree, tree)? {
            let path = Path::new(OsStr::from_bytes(&change.path));
            let is_submodule =
                |entry: &Option<Entry>| entry.as_ref().is_some_and(|entry| entry.mode == SUBMODULE);
            let is_known = !path.ends_with(".gitignore")
                && !known.skipped.covers(path)
                && ![&change.before, &change.now].into_iter().any(is_submodule);
            if !is_known || !is_plain(&change.path) {
                return Err(Unable);
            }
            wanted.insert(change.path, change.now);
        }
        Ok(wanted)
    }

    /// Has git look at everything the next time.
    pub fn distrust(&mut self) {
        self.known = None;
    }

    /// Something to mount on, which belongs to no tree and is not looked at.
    pub fn leave_out(&mut self, path: &Path, is_dir: bool) {
        if let Some(known) = self.known.as_mut().and_then(Arc::get_mut) {
            let skipped = Arc::make_mut(&mut known.skipped);
            let paths = if is_dir { &mut skipped.dirs } else { &mut skipped.files };
            paths.insert(path.to_path_buf());
        }
    }
}

/// Whether a path of a tree stays below the directory and away from its repository. Git refuses others.
fn is_plain(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/')
        .all(|name| !matches!(name, b"" | b"." | b"..") && !name.eq_ignore_ascii_case(b".git"))
}

impl Shadow {
    fn git_in(&self, place: &CheckedOut) -> Tool<'static> {
        let mut work_tree = OsString::from("--work-tree=");
        work_tree.push(&place.dir);
        // The last one counts.
        let tool = self.git().arg(work_tree).cwd(&place.dir).env("GIT_INDEX_FILE", &place.index);
        // The format that ralph can read.
        tool.args(["-c", "index.version=2"])
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
        // Also if git has found nothing to change in it: no file was changed later.
        Ok(fsx::touch(&place.index)?)
    }

    /// Makes an index of a tree for a directory that holds it already: the user's own. What the shadow's
    /// index knows of files that are the same is used.
    pub fn watch(&self, place: &CheckedOut, tree: &str) -> Result<(), ShadowError> {
        if let Some(above) = place.index.parent() {
            fsx::private_dir(above)?;
        }
        fsx::write_whole(&place.index, &fs_err::read(self.dir().join("index"))?)?;
        checked("read-tree", self.git_in(place).args(["read-tree", "--reset", tree]))?;
        // It fails if a file differs, which is no failure here.
        let _ = self.git_in(place).args(["update-index", "-q", "--refresh"]).run();
        Ok(())
    }

    /// Files that differ from the tree, and new ones that are not ignored: a check has made them so.
    pub fn changed_in(&self, place: &CheckedOut) -> Result<Vec<String>, ShadowError> {
        let list = ["ls-files", "-z", "-m", "-o", "--exclude-standard"];
        let listing = checked("ls-files", self.git_in(place).args(list))?;
        let is_left_out = |path: &[u8]| {
            let known = place.known.as_ref();
            known.is_some_and(|known| known.skipped.covers(Path::new(OsStr::from_bytes(path))))
        };
        let paths = listing.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let paths = paths.filter(|path| !is_left_out(path));
        Ok(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }

    /// Files of the tree, as far as their names are text.
    pub fn files_in(&self, place: &CheckedOut) -> Result<Vec<String>, ShadowError> {
        let listing = checked("ls-files", self.git_in(place).args(["ls-files", "-z"]))?;
        let paths = listing.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.filter_map(|path| String::from_utf8(path.to_vec()).ok()).collect())
    }

    /// The paths of submodules that a tree names.
    pub fn submodules(&self, tree: &str) -> Result<Vec<String>, ShadowError> {
        let listing = checked("ls-tree", self.git().args(["ls-tree", "-r", "-z", tree]))?;
        let submodules = listing.split(|byte| *byte == 0).filter(|line| line.starts_with(b"160000 "));
        let paths = submodules.filter_map(|line| line.splitn(2, |byte| *byte == b'\t').nth(1));
        Ok(paths.filter_map(|path| String::from_utf8(path.to_vec()).ok()).collect())
    }
}

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;
