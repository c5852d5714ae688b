//! What is about to be put in place, written down before the first file is.
//!
//! A ralph that is killed in between leaves a part of its plan in the project, and its intent in the record. The next
//! ralph that looks at the project takes that part back ([`take_back`]): a plan is there as a whole or not at all.
//!
//! Invariants: the intent and what the files were before are on the disk before the first file is replaced. Only content
//! that the intent has written is taken back; what was edited since stays. A plan is put in place and taken back under the
//! lock on its files ([`lock_path`]), so an intent whose lock is free is that of a dead process.

use super::{Form, PlanSpec, PlannerError};
use crate::fsx::{self, Staged};
use crate::layout::{Home, PlanDir, Project, hash, is_safe_name};
use crate::lock::EditLock;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The new files of a plan.
pub struct Intent<'a> {
    project: &'a Project,
    record: &'a PlanDir,
    noted: Noted,
    content: Vec<Vec<u8>>,
}

/// As it is in the record.
#[derive(Debug, Serialize, Deserialize)]
struct Noted {
    /// In the order in which they are put in place.
    files: Vec<Change>,
    /// Directories that did not exist, those within others first.
    new_dirs: Vec<PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Change {
    /// Relative to the project.
    path: PathBuf,
    before: Before,
    /// The hash of the new content.
    after: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Before {
    Absent,
    /// The hash of the content, which is kept in the record under the name of the file.
    Content(String),
}

/// What may be at a path where a new file goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    Replaced,
    /// It is the user's.
    Refused,
}

/// Held while the files of a plan are put in place or taken back.
pub fn lock_path(home: &Home, spec: &PlanSpec) -> PathBuf {
    match &spec.form {
        Form::Tasks { dir } => home.task_list_lock(&spec.project.join(dir)),
        Form::Stories => home.specs_lock(&spec.project),
    }
}

/// What was left of a plan, and what became of it. Paths are relative to the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenBack {
    /// They are as they were before.
    pub restored: Vec<PathBuf>,
    /// They are new, and were removed.
    pub removed: Vec<PathBuf>,
    /// They were edited since, and are left alone.
    pub edited: Vec<PathBuf>,
}

impl TakenBack {
    fn is_empty(&self) -> bool {
        self.restored.is_empty() && self.removed.is_empty() && self.edited.is_empty()
    }
}

impl fmt::Display for TakenBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`ralph plan` was killed while it wrote its plan")?;
        let parts = [
            ("restored", &self.restored),
            ("removed", &self.removed),
            ("left alone, because you have edited it since", &self.edited),
        ];
        for (what, files) in parts.into_iter().filter(|(_, files)| !files.is_empty()) {
            const MOST: usize = 5;
            let shown: Vec<String> = files.iter().take(MOST).map(|file| file.display().to_string()).collect();
            let more = files.len().saturating_sub(MOST);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            write!(f, "; {what}: {}{more}", shown.join(", "))?;
        }
        Ok(())
    }
}

impl<'a> Intent<'a> {
    /// Notes what the files are now, with a copy of each. Paths are absolute, and inside the project.
    pub fn note(
        project: &'a Project,
        record: &'a PlanDir,
        files: Vec<(PathBuf, Vec<u8>)>,
        existing: Existing,
    ) -> Result<Intent<'a>, PlannerError> {
        let not_written = |file: &Path, cause| not_installed(record, file.to_path_buf(), cause);
        let mut changes = Vec::new();
        for (path, content) in &files {
            fsx::check_inside(project.dir(), path).map_err(|cause| not_written(path, cause))?;
            let before = match fsx::read_regular(path) {
                Ok(_) if existing == Existing::Refused => {
                    return Err(not_written(path, io::ErrorKind::AlreadyExists.into()));
                }
                Ok(before) => {
                    keep(record, path, &before)
                        .map_err(|cause| PlannerError::Record { dir: record.before(), cause })?;
                    Before::Content(hash(&before))
                }
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => Before::Absent,
                Err(cause) => return Err(not_written(path, cause)),
            };
            changes.push(Change { path: project.shown(path), before, after: hash(content) });
        }
        let new_dirs = new_dirs(project, files.iter().map(|(path, _)| path.as_path()));
        let noted = Noted { files: changes, new_dirs };
        let content = files.into_iter().map(|(_, content)| content).collect();
        let intent = Intent { project, record, noted, content };
        intent.write().map_err(|cause| PlannerError::Record { dir: record.dir().to_path_buf(), cause })?;
        Ok(intent)
    }

    fn write(&self) -> io::Result<()> {
        let path = self.record.intent();
        let noted = serde_json::to_vec(&self.noted)?;
        Staged::write(&path, "new", &noted)?.replace()?;
        fsx::sync_dir(self.record.dir())
    }

    /// All of the files, or none; the files that were written, relative to the project.
    pub fn carry_out(self) -> Result<Vec<PathBuf>, PlannerError> {
        let done = self.put_all();
        if let Err((file, cause)) = done {
            take_back_of(self.project, self.record, &self.noted)?;
            return Err(not_installed(self.record, file, cause));
        }
        self.forget()
            .map_err(|cause| PlannerError::Record { dir: self.record.dir().to_path_buf(), cause })?;
        Ok(self.noted.files.into_iter().map(|change| change.path).collect())
    }

    /// The file that could not be written is named.
    fn put_all(&self) -> Result<(), (PathBuf, io::Error)> {
        let mut staged = Vec::new();
        // Nothing is replaced before the last one is on the disk.
        for (change, content) in self.noted.files.iter().zip(&self.content) {
            let path = self.project.dir().join(&change.path);
            staged.push((change, self.stage(&path, content).map_err(|cause| (path, cause))?));
        }
        for (change, staged) in staged {
            let put = match change.before {
                Before::Absent => staged.create(),
                Before::Content(_) => staged.replace(),
            };
            put.map_err(|cause| (self.project.dir().join(&change.path), cause))?;
        }
        Ok(())
    }

    fn stage(&self, path: &Path, content: &[u8]) -> io::Result<Staged> {
        if let Some(dir) = path.parent() {
            fsx::dir_inside(self.project.dir(), dir)?;
        }
        Staged::write(path, &self.record.id(), content)
    }

    /// The plan is in place, also after a power cut.
    fn forget(&self) -> io::Result<()> {
        sync_dirs(self.project, &self.noted)?;
        forget(self.record)
    }
}

fn not_installed(record: &PlanDir, file: PathBuf, cause: io::Error) -> PlannerError {
    PlannerError::NotInstalled { file, cause, drafts: record.drafts() }
}

/// The copy of a file, in the record.
fn kept(record: &PlanDir, path: &Path) -> PathBuf {
    record.before().join(path.file_name().unwrap_or_default())
}

fn keep(record: &PlanDir, path: &Path, content: &[u8]) -> io::Result<()> {
    fsx::private_dir(&record.before())?;
    Staged::write(&kept(record, path), "new", content)?.replace()?;
    fsx::sync_dir(&record.before())
}

/// Directories between the project and its files that do not exist yet.
fn new_dirs<'p>(project: &Project, files: impl Iterator<Item = &'p Path>) -> Vec<PathBuf> {
    let missing: BTreeSet<PathBuf> = files
        .flat_map(|file| file.ancestors().skip(1))
        .filter(|dir| dir.starts_with(project.dir()) && dir.symlink_metadata().is_err())
        .map(|dir| project.shown(dir))
        .collect();
    missing.into_iter().rev().collect()
}

fn sync_dirs(project: &Project, noted: &Noted) -> io::Result<()> {
    let dirs: BTreeSet<PathBuf> = noted
        .files
        .iter()
        .filter_map(|change| {
            let path = project.dir().join(&change.path);
            path.canonicalize().unwrap_or(path).parent().map(Path::to_path_buf)
        })
        .chain(noted.new_dirs.iter().filter_map(|dir| project.dir().join(dir).parent().map(PathBuf::from)))
        .collect();
    dirs.iter().filter(|dir| dir.is_dir()).try_for_each(|dir| fsx::sync_dir(dir))
}

fn forget(record: &PlanDir) -> io::Result<()> {
    fsx::remove_if_there(&record.intent())?;
    fsx::sync_dir(record.dir())
}

/// How long to wait for a ralph that is putting its plan in place now. That takes milliseconds; one that was stopped in
/// between must not stop others as well.
const PATIENCE: Duration = Duration::from_secs(10);

/// Takes back what ralphs that were killed have left of their plans in a project.
pub fn take_back(home: &Home, project: &Project) -> Result<Vec<TakenBack>, PlannerError> {
    let mut taken_back = Vec::new();
    for record in interrupted(home) {
        let spec = match PlanSpec::read(&record) {
            Ok(spec) if spec.project == project.dir() => spec,
            // That of another project, or of none.
            Ok(_) | Err(_) => continue,
        };
        let locked = EditLock::within(&lock_path(home, &spec), PATIENCE);
        let Some(lock) = locked.map_err(|cause| PlannerError::Record { dir: home.locks(), cause })? else {
            continue;
        };
        let unread = |cause| PlannerError::CannotRead { file: record.intent(), cause };
        let noted: Noted = match fsx::read_regular(&record.intent()) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|cause| unread(cause.into()))?,
            // It was carried out, or taken back, while the lock was waited for.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
            Err(cause) => return Err(unread(cause)),
        };
        taken_back.push(take_back_of(project, &record, &noted)?);
        drop(lock);
    }
    taken_back.retain(|taken| !taken.is_empty());
    Ok(taken_back)
}

/// Records with an intent, the newest first: of two plans, the later one was put on top.
fn interrupted(home: &Home) -> Vec<PlanDir> {
    let entries = std::fs::read_dir(home.plans()).into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut ids: Vec<String> = ids.filter(|id| is_safe_name(id)).collect();
    ids.sort_unstable_by(|a, b| b.cmp(a));
    ids.into_iter().map(|id| home.plan(&id)).filter(|record| record.intent().exists()).collect()
}

fn take_back_of(project: &Project, record: &PlanDir, noted: &Noted) -> Result<TakenBack, PlannerError> {
    let mut taken = TakenBack::default();
    let mut failed = None;
    for change in noted.files.iter().rev() {
        if let Err(cause) = take_back_file(project, record, change, &mut taken) {
            let (file, record) = (project.dir().join(&change.path), record.dir().to_path_buf());
            failed = Some(PlannerError::NotTakenBack { file, cause, record });
        }
    }
    if let Some(failed) = failed {
        // The intent stays, for the next try.
        return Err(failed);
    }
    for dir in &noted.new_dirs {
        // One that has something in it is not only ralph's any more.
        fsx::remove_empty_dir(&project.dir().join(dir));
    }
    for files in [&mut taken.restored, &mut taken.removed, &mut taken.edited] {
        files.reverse();
    }
    let forgotten = sync_dirs(project, noted).and_then(|()| forget(record));
    forgotten.map_err(|cause| PlannerError::Record { dir: record.dir().to_path_buf(), cause })?;
    Ok(taken)
}

fn take_back_file(
    project: &Project,
    record: &PlanDir,
    change: &Change,
    taken: &mut TakenBack,
) -> io::Result<()> {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    let path = project.dir().join(&change.path);
    let is_inside = fsx::is_inside(project.dir(), &path);
    if is_inside {
        fsx::unstage(&path, &record.id())?;
    }
    let now = match fsx::read_regular(&path) {
        Ok(now) if is_inside => Some(Before::Content(hash(&now))),
        Err(cause) if is_inside && matches!(cause.kind(), NotFound | NotADirectory) => Some(Before::Absent),
        Err(cause) if cause.kind() == PermissionDenied => return Err(cause),
        // A link out of the project, or no file: not what was written.
        Ok(_) | Err(_) => None,
    };
    if now.as_ref() == Some(&change.before) {
        return Ok(());
    }
    if now != Some(Before::Content(change.after.clone())) {
        taken.edited.push(change.path.clone());
        return Ok(());
    }
    match change.before {
        Before::Absent => {
            fsx::remove(&path)?;
            taken.removed.push(change.path.clone());
        }
        Before::Content(_) => {
            fsx::replace_content(&path, &fsx::read_regular(&kept(record, &path))?)?;
            taken.restored.push(change.path.clone());
        }
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out projects")]
mod tests {
    use super::*;
    use crate::planner::{PlanScope, PrdMode};
    use std::fs;
    use tempfile::TempDir;

    struct Stage {
        _dir: TempDir,
        home: Home,
        project: Project,
        record: PlanDir,
    }

    /// A project with one file, `old`, and a session that plans there.
    fn stage() -> Stage {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (home, project) = (Home::at(root.join("home")), Project::at(root.join("project")));
        fs::create_dir_all(project.dir()).unwrap();
        fs::create_dir_all(home.locks()).unwrap();
        fs::write(project.dir().join("old"), "old content").unwrap();
        let record = home.plan("p1");
        let spec = PlanSpec {
            project: project.dir().to_path_buf(),
            form: Form::Stories,
            scope: PlanScope::New,
            prd: PrdMode::Keep,
        };
        spec.write(&record).unwrap();
        Stage { _dir: dir, home, project, record }
    }

    const NEW: [&str; 4] = ["old", "beside", "specs/epic-1/one", "specs/epic-2/two"];

    impl Stage {
        fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
            let file = |name: &&str| (self.project.dir().join(name), format!("new {name}").into_bytes());
            NEW.iter().map(file).collect()
        }

        fn note(&self) -> Intent<'_> {
            Intent::note(&self.project, &self.record, self.files(), Existing::Replaced).unwrap()
        }

        /// As a ralph does that is killed after so many files.
        fn killed_after(&self, count: usize) {
            let intent = self.note();
            let mut staged: Vec<Staged> = Vec::new();
            for (path, content) in self.files() {
                staged.push(intent.stage(&path, &content).unwrap());
            }
            for (at, staged) in staged.into_iter().enumerate() {
                match at {
                    // Nothing is dropped.
                    _ if at >= count => std::mem::forget(staged),
                    0 => staged.replace().unwrap(),
                    _ => staged.create().unwrap(),
                }
            }
        }

        fn take_back(&self) -> Vec<String> {
            let taken = take_back(&self.home, &self.project).unwrap();
            assert!(!self.record.intent().exists());
            taken.iter().map(ToString::to_string).collect()
        }

        /// Everything in the project, directories too.
        fn tree(&self) -> Vec<String> {
            fn add(dir: &Path, root: &Path, tree: &mut Vec<String>) {
                for entry in fs::read_dir(dir).unwrap().flatten() {
                    let path = entry.path();
                    let shown = path.strip_prefix(root).unwrap().display().to_string();
                    match path.is_dir() {
                        true => {
                            tree.push(format!("{shown}/"));
                            add(&path, root, tree);
                        }
                        false => tree.push(format!("{shown}: {}", fs::read_to_string(&path).unwrap())),
                    }
                }
            }
            let mut tree = Vec::new();
            add(self.project.dir(), self.project.dir(), &mut tree);
            tree.sort();
            tree
        }
    }

    #[test]
    fn a_plan_is_put_in_place_and_nothing_is_left_beside_it() {
        let stage = stage();
        assert_eq!(stage.note().carry_out().unwrap(), NEW.map(PathBuf::from));
        let tree = stage.tree();
        for name in NEW {
            assert!(tree.contains(&format!("{name}: new {name}")), "{tree:?}");
        }
        assert_eq!(tree.len(), NEW.len() + 3, "{tree:?}");
        assert_eq!(stage.take_back(), [""; 0]);
        assert_eq!(stage.tree(), tree);
        assert_eq!(fs::read_to_string(stage.record.before().join("old")).unwrap(), "old content");
    }

    #[test]
    fn after_a_kill_everything_is_as_it_was_however_far_it_got() {
        for count in 0..=NEW.len() {
            let stage = stage();
            let before = stage.tree();
            stage.killed_after(count);
            assert_ne!(stage.tree(), before);
            let said = stage.take_back();
            assert_eq!(stage.tree(), before, "{count}");
            let restored = if count > 0 { "; restored: old" } else { "" };
            let removed = match NEW.get(1..count).unwrap_or_default() {
                [] => String::new(),
                removed => format!("; removed: {}", removed.join(", ")),
            };
            let line = format!("`ralph plan` was killed while it wrote its plan{restored}{removed}");
            assert_eq!(said, if count == 0 { vec![] } else { vec![line] }, "{count}");
            assert_eq!(stage.take_back(), [""; 0], "it is done once");
        }
    }

    #[test]
    fn what_was_edited_since_stays() {
        let stage = stage();
        stage.killed_after(3);
        fs::write(stage.project.dir().join("old"), "mine").unwrap();
        fs::write(stage.project.dir().join("specs/epic-1/one"), "mine too").unwrap();
        let line = "`ralph plan` was killed while it wrote its plan; removed: beside; \
                    left alone, because you have edited it since: old, specs/epic-1/one";
        assert_eq!(stage.take_back(), [line]);
        assert_eq!(stage.tree(), ["old: mine", "specs/", "specs/epic-1/", "specs/epic-1/one: mine too"]);
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_everything_as_it_was() {
        let stage = stage();
        let intent = stage.note();
        // It is there only now, and the intent says that it is not.
        fs::create_dir_all(stage.project.dir().join("specs/epic-2/two")).unwrap();
        let refused = intent.carry_out().unwrap_err();
        assert!(
            matches!(&refused, PlannerError::NotInstalled { file, .. } if file.ends_with("two")),
            "{refused:?}"
        );
        assert_eq!(stage.tree(), ["old: old content", "specs/", "specs/epic-2/", "specs/epic-2/two/"]);
        assert_eq!(stage.take_back(), [""; 0]);
    }

    #[test]
    fn what_cannot_be_taken_back_now_is_taken_back_later() {
        let stage = stage();
        stage.killed_after(2);
        let copy = stage.record.before().join("old");
        fs::rename(&copy, copy.with_extension("away")).unwrap();
        let failed = take_back(&stage.home, &stage.project).unwrap_err();
        assert!(
            matches!(&failed, PlannerError::NotTakenBack { file, .. } if file.ends_with("old")),
            "{failed:?}"
        );
        fs::rename(copy.with_extension("away"), &copy).unwrap();
        assert_eq!(stage.take_back(), ["`ralph plan` was killed while it wrote its plan; restored: old"]);
        assert_eq!(stage.tree(), ["old: old content"]);
    }

    #[test]
    fn a_plan_is_not_taken_back_while_it_is_put_in_place() {
        let stage = stage();
        stage.killed_after(2);
        let tree = stage.tree();
        let spec = PlanSpec::read(&stage.record).unwrap();
        let lock = EditLock::wait(&lock_path(&stage.home, &spec)).unwrap();
        let (home, project) = (stage.home.clone(), stage.project.clone());
        let waiting = std::thread::spawn(move || take_back(&home, &project).unwrap().len());
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(stage.tree(), tree);
        drop(lock);
        assert_eq!(waiting.join().unwrap(), 1);
    }

    #[test]
    fn other_projects_are_left_alone() {
        let stage = stage();
        stage.killed_after(2);
        let other = Project::at(stage.project.dir().join("specs"));
        assert_eq!(take_back(&stage.home, &other).unwrap(), []);
        assert!(stage.record.intent().exists());
    }
}
