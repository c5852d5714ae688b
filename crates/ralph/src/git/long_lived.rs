//! Gits that stay for the length of a run, and trees that are recorded without the index.
//!
//! Starting a git takes longer than what it does in a small repository. So once agents change files,
//! one git reads trees, one knows what is ignored and one compares trees. A new tree is made of the
//! one before and of the files that a scan has found changed; ralph writes it (`loose.rs`). No git
//! holds a lock, and each ends with ralph. What was written is packed while an agent works: a
//! difference is then read from one file instead of hundreds.
//!
//! Deliberately absent: the index, which is then behind the newest tree, and what a scan does not
//! name. For those git is asked in the usual way.

use super::edit_tree::Changes;
use super::loose::{Entry, Format, Kind, Loose, Object};
use super::objects::Objects;
use super::scan::{Changed, ChangedFile};
use super::shadow::Shadow;
use super::stamp::Mode;
use crate::fsx;
use crate::process::dialog::{Dialog, Reply};
use crate::process::tool::{Tool, ToolError};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Not for people: the caller asks git in the usual way instead.
#[derive(Debug)]
pub(super) struct Unable;

impl From<ToolError> for Unable {
    fn from(_: ToolError) -> Unable {
        Unable
    }
}

impl From<io::Error> for Unable {
    fn from(_: io::Error) -> Unable {
        Unable
    }
}

/// A difference that prompts carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DiffOf {
    pub(super) from: String,
    pub(super) own_files: Vec<String>,
    pub(super) most: usize,
}

/// What has become of changed files.
pub(super) struct Recorded {
    pub(super) tree: String,
    /// What was written for it.
    pub(super) written: Vec<Object>,
    /// New files that are no part of it.
    pub(super) ignored: Vec<PathBuf>,
}

#[derive(Default)]
pub(super) struct LongLived(Phase);

#[derive(Default)]
enum Phase {
    #[default]
    Absent,
    /// Even starting them takes a while; an agent works meanwhile.
    Starting(JoinHandle<Option<Gits>>),
    Ready(Box<Gits>),
}

struct Gits {
    trees: Objects,
    ignored: Dialog,
    diff: Option<(DiffOf, Dialog)>,
    top: Top,
    objects: Loose,
}

/// More to be read at once is left to git, which compresses what it writes.
const MOST_BYTES: u64 = 1 << 20;

/// The directory that they work in. Another one in its place is not seen by them.
#[derive(PartialEq, Eq)]
struct Top {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl Top {
    fn of(path: &Path) -> Top {
        Top { path: path.to_path_buf(), identity: fsx::identity(path) }
    }
}

impl LongLived {
    /// Has them started for the next snapshot, unless they are there.
    pub(super) fn start(&mut self, shadow: &Shadow, diff: Option<&DiffOf>) {
        self.0 = match std::mem::take(&mut self.0) {
            Phase::Absent => {
                let tools = Tools::of(shadow, diff);
                Phase::Starting(std::thread::spawn(|| tools.start().ok()))
            }
            Phase::Ready(gits) => {
                // The one that compares is used up by what is too long for a prompt, and looks for new
                // packs only if an object is nowhere else.
                let is_other = gits.diff.as_ref().map(|(of, _)| of) != diff;
                let diff_is_due = is_other || gits.objects.are_many();
                let diff = diff_is_due.then(|| Tools::of(shadow, diff).diff);
                let care = gits.objects.is_care_due().then(|| shadow.again());
                match (diff, care) {
                    (None, None) => Phase::Ready(gits),
                    (diff, care) => Phase::Starting(std::thread::spawn(|| gits.renew(diff, care).ok())),
                }
            }
            phase @ Phase::Starting(_) => phase,
        };
    }

    /// For a change of what they rely on: patterns, packs.
    pub(super) fn dismiss(&mut self) {
        if let Phase::Starting(thread) = std::mem::take(&mut self.0) {
            // Otherwise they would be started after this.
            let _ = thread.join();
        }
    }

    /// The tree after a change. Once that has failed, none of them is left.
    pub(super) fn record(&mut self, before: &str, changed: &Changed) -> Result<Recorded, Unable> {
        let recorded = self.ready().ok_or(Unable).and_then(|gits| gits.record(before, changed));
        self.or_dismiss(recorded)
    }

    /// The difference of a tree from an earlier one, as much of it as is asked for.
    pub(super) fn diff(&mut self, diff: &DiffOf, tree: &str) -> Result<Vec<u8>, Unable> {
        let found = self.ready().ok_or(Unable).and_then(|gits| gits.diff(diff, tree));
        self.or_dismiss(found)
    }

    fn or_dismiss<T>(&mut self, result: Result<T, Unable>) -> Result<T, Unable> {
        if result.is_err() {
            self.dismiss();
        }
        result
    }

    fn ready(&mut self) -> Option<&mut Gits> {
        self.0 = match std::mem::take(&mut self.0) {
            Phase::Starting(thread) => match thread.join() {
                Ok(Some(gits)) => Phase::Ready(Box::new(gits)),
                Ok(None) | Err(_) => Phase::Absent,
            },
            phase @ (Phase::Ready(_) | Phase::Absent) => phase,
        };
        match &mut self.0 {
            Phase::Ready(gits) => Some(gits),
            Phase::Absent | Phase::Starting(_) => None,
        }
    }
}

impl Drop for LongLived {
    fn drop(&mut self) {
        self.dismiss();
    }
}

fn start_diff(diff: Option<(DiffOf, Tool<'static>)>) -> Result<Option<(DiffOf, Dialog)>, ToolError> {
    diff.map(|(of, tool)| Dialog::start(tool).map(|dialog| (of, dialog))).transpose()
}

struct Tools {
    top: Top,
    objects: PathBuf,
    trees: Objects,
    ignored: Tool<'static>,
    diff: Option<(DiffOf, Tool<'static>)>,
}

impl Tools {
    fn of(shadow: &Shadow, diff: Option<&DiffOf>) -> Tools {
        Tools {
            top: Top::of(shadow.top()),
            objects: shadow.objects(),
            trees: Objects::of(shadow),
            ignored: shadow.git().args(["check-ignore", "--no-index", "--stdin", "-z", "-v", "-n"]),
            diff: diff.map(|diff| (diff.clone(), shadow.diff_many_tool(diff))),
        }
    }

    fn start(mut self) -> Result<Gits, ToolError> {
        self.trees.start()?;
        Ok(Gits {
            trees: self.trees,
            ignored: Dialog::start(self.ignored)?,
            diff: start_diff(self.diff)?,
            top: self.top,
            objects: Loose::below(self.objects),
        })
    }
}

/// Far more than the names of new files take.
const LONGEST_ANSWER: usize = 64 << 20;

impl Gits {
    /// What takes a while and is not needed before the next snapshot.
    fn renew(
        mut self,
        diff: Option<Option<(DiffOf, Tool<'static>)>>,
        care: Option<Shadow>,
    ) -> Result<Gits, ToolError> {
        if let Some(shadow) = care {
            self.objects.care(&shadow);
        }
        if let Some(diff) = diff {
            self.diff = start_diff(diff)?;
        }
        Ok(self)
    }

    fn record(&mut self, before: &str, changed: &Changed) -> Result<Recorded, Unable> {
        if Top::of(&self.top.path) != self.top || changed.bytes > MOST_BYTES {
            return Err(Unable);
        }
        let format = Format::of(before).ok_or(Unable)?;
        let ignored = self.ignored_among(&changed.new_files)?;
        let (mut changes, mut written) = (Changes::default(), Vec::new());
        for ChangedFile { path, now } in changed.files.iter().filter(|file| !ignored.contains(&file.path)) {
            let name = path.as_os_str().as_bytes();
            let known = self.trees.entry(before, name)?;
            let Some(mode) = now else {
                changes.insert(name, None);
                continue;
            };
            // It was there, and is in no tree: it is ignored, or was not there when git looked.
            if known.is_none() && !changed.new_files.contains(path) {
                return Err(Unable);
            }
            let content = content_of(&self.top.path.join(path), *mode)?;
            let object = Object::new(format, Kind::Blob, &content)?;
            // Of many files that were just changed, a scan cannot tell which are the same again.
            if known.is_none_or(|known| known.id != object.name) {
                self.objects.write(&object)?;
            }
            changes.insert(name, Some(Entry { mode: word_of(*mode), id: object.name.clone() }));
            written.push(object);
        }
        let Gits { trees, objects, .. } = self;
        let mut write = |object: &Object| {
            written.push(object.clone());
            objects.write(object)
        };
        let tree = trees.with_changes(before, changes, &mut write)?;
        Ok(Recorded { tree, written, ignored })
    }

    fn ignored_among(&mut self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Unable> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let question: Vec<u8> =
            paths.iter().flat_map(|path| path.as_os_str().as_bytes().iter().chain(&[0])).copied().collect();
        // For each: where a pattern is, its line, the pattern, the path.
        const FIELDS: usize = 4;
        let fields = |answer: &[u8]| answer.iter().filter(|byte| **byte == 0).count();
        let answer = ask(&mut self.ignored, &question, |answer| fields(answer) == paths.len() * FIELDS)?;
        let fields: Vec<&[u8]> = answer.split(|byte| *byte == 0).collect();
        let answers = paths.iter().zip(fields.chunks_exact(FIELDS));
        let is_ignored = |fields: &[&[u8]]| !fields[0].is_empty() && !fields[2].starts_with(b"!");
        Ok(answers.filter(|(_, fields)| is_ignored(fields)).map(|(path, _)| path.clone()).collect())
    }

    fn diff(&mut self, diff: &DiffOf, tree: &str) -> Result<Vec<u8>, Unable> {
        let Some((_, dialog)) = self.diff.as_mut().filter(|(of, _)| of == diff) else { return Err(Unable) };
        // A line that names no objects is printed as it is. Every line of a difference begins with
        // another character.
        const END: &[u8] = b"\nend\n";
        let header = format!("{} {tree}\n", diff.from);
        let question = format!("{header}end\n");
        let whole = |answer: &[u8]| answer.ends_with(END);
        let reply = dialog.ask(question.as_bytes(), diff.most + header.len() + END.len(), whole)?;
        let (answer, cut) = match reply {
            Reply::Whole(answer) => (answer, false),
            Reply::Cut(answer) => (answer, true),
        };
        let shown = answer.strip_prefix(header.as_bytes()).ok_or(Unable)?;
        let shown = if cut { shown } else { shown.strip_suffix(b"end\n").ok_or(Unable)? };
        let shown = shown[..shown.len().min(diff.most)].to_vec();
        if cut {
            self.diff = None;
        }
        Ok(shown)
    }
}

fn ask(dialog: &mut Dialog, question: &[u8], whole: impl FnMut(&[u8]) -> bool) -> Result<Vec<u8>, Unable> {
    match dialog.ask(question, LONGEST_ANSWER, whole)? {
        Reply::Whole(answer) => Ok(answer),
        Reply::Cut(_) => Err(Unable),
    }
}

/// What git records of a file.
fn content_of(path: &Path, mode: Mode) -> io::Result<Vec<u8>> {
    match mode {
        Mode::Plain | Mode::Executable => fsx::read_unlinked(path),
        Mode::Link => Ok(path.read_link()?.into_os_string().into_encoded_bytes()),
    }
}

fn word_of(mode: Mode) -> &'static str {
    match mode {
        Mode::Plain => "100644",
        Mode::Executable => "100755",
        Mode::Link => "120000",
    }
}
