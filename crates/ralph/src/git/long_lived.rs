//! Gits that stay for the length of a run, and record a tree without the index.
//!
//! Starting a git takes longer than what it does in a small repository. So once agents change files,
//! one git writes blobs, one reads trees, one writes trees, one knows what is ignored and one
//! compares trees. A new tree is made of the one before and of the files that a scan has found
//! changed. None of them holds a lock, and each ends with ralph.
//!
//! Deliberately absent: the index, which is then behind the newest tree, and everything that is not
//! a plain file under a plain name. For those git is asked in the usual way.

use super::is_object_id;
use super::scan::{Changed, ChangedFile, Mode};
use super::shadow::Shadow;
use crate::fsx;
use crate::process::dialog::{Dialog, Reply};
use crate::process::tool::{Tool, ToolError};
use std::collections::BTreeMap;
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
    blobs: Dialog,
    trees: Dialog,
    new_trees: Dialog,
    ignored: Dialog,
    diff: Option<(DiffOf, Dialog)>,
    top: Top,
    /// The trees that were written last, by id: the next change is mostly to them.
    written: BTreeMap<String, Entries>,
}

/// What a tree consists of, by name.
type Entries = BTreeMap<Vec<u8>, Entry>;

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
            // The one that compares is used up by what is too long for a prompt.
            Phase::Ready(mut gits) if gits.diff.as_ref().map(|(of, _)| of) != diff => {
                let diff = Tools::of(shadow, diff).diff;
                Phase::Starting(std::thread::spawn(|| {
                    gits.diff = start_diff(diff).ok()?;
                    Some(*gits)
                }))
            }
            phase @ (Phase::Starting(_) | Phase::Ready(_)) => phase,
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
    blobs: Tool<'static>,
    trees: Tool<'static>,
    new_trees: Tool<'static>,
    ignored: Tool<'static>,
    diff: Option<(DiffOf, Tool<'static>)>,
}

impl Tools {
    fn of(shadow: &Shadow, diff: Option<&DiffOf>) -> Tools {
        Tools {
            top: Top::of(shadow.top()),
            blobs: shadow.git().args(["hash-object", "-w", "--no-filters", "--stdin-paths"]),
            trees: shadow.git().args(["cat-file", "--batch"]),
            new_trees: shadow.git().args(["mktree", "-z", "--missing", "--batch"]),
            ignored: shadow.git().args(["check-ignore", "--no-index", "--stdin", "-z", "-v", "-n"]),
            diff: diff.map(|diff| (diff.clone(), shadow.diff_many_tool(diff))),
        }
    }

    fn start(self) -> Result<Gits, ToolError> {
        Ok(Gits {
            blobs: Dialog::start(self.blobs)?,
            trees: Dialog::start(self.trees)?,
            new_trees: Dialog::start(self.new_trees)?,
            ignored: Dialog::start(self.ignored)?,
            diff: start_diff(self.diff)?,
            top: self.top,
            written: BTreeMap::new(),
        })
    }
}

/// What changes in a directory.
#[derive(Default)]
struct Dir {
    files: BTreeMap<Vec<u8>, Change>,
    dirs: BTreeMap<Vec<u8>, Dir>,
}

enum Change {
    Gone,
    /// The tree before has it.
    Changed(Entry),
    /// It is known not to be ignored.
    New(Entry),
}

/// What a tree has under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    mode: &'static str,
    id: String,
}

const TREE: &str = "40000";

/// The modes that are handed through. Another one is nothing that this file knows.
const MODES: [&str; 4] = ["100644", "100755", "120000", TREE];

/// Far more than the tree of one directory takes.
const LONGEST_ANSWER: usize = 64 << 20;

impl Gits {
    fn record(&mut self, before: &str, changed: &Changed) -> Result<Recorded, Unable> {
        if Top::of(&self.top.path) != self.top {
            return Err(Unable);
        }
        let ignored = self.ignored_among(&changed.new_files)?;
        let files: Vec<_> = changed.files.iter().filter(|file| !ignored.contains(&file.path)).collect();
        let there = files.iter().filter(|file| file.now.is_some());
        let paths = there.map(|file| plain_file(file)).collect::<Result<Vec<_>, _>>()?;
        let (mut root, mut ids) = (Dir::default(), self.write_blobs(&paths)?.into_iter());
        for ChangedFile { path, now } in files {
            let change = match now {
                None => Change::Gone,
                Some(mode) => {
                    let entry = Entry { mode: word_of(*mode), id: ids.next().ok_or(Unable)? };
                    let is_new = changed.new_files.contains(path);
                    if is_new { Change::New(entry) } else { Change::Changed(entry) }
                }
            };
            root.of_parent(path)?.files.insert(name(path)?, change);
        }
        let mut known = std::mem::take(&mut self.written);
        let tree = match self.write_dir(Some(before), root, &mut known)? {
            Some(tree) => tree,
            None => self.write_tree(Entries::new())?,
        };
        Ok(Recorded { tree, ignored })
    }

    fn ignored_among(&mut self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, Unable> {
        let mut found = Vec::new();
        for path in paths {
            let mut question = path.as_os_str().as_bytes().to_vec();
            question.push(0);
            // Where a pattern is, its line, the pattern, the path.
            let whole = |answer: &[u8]| answer.iter().filter(|byte| **byte == 0).count() == 4;
            let answer = ask(&mut self.ignored, &question, whole)?;
            let mut fields = answer.split(|byte| *byte == 0);
            let (source, pattern) = (fields.next().ok_or(Unable)?, fields.nth(1).ok_or(Unable)?);
            if !source.is_empty() && !pattern.starts_with(b"!") {
                found.push(path.clone());
            }
        }
        Ok(found)
    }

    fn write_blobs(&mut self, paths: &[&[u8]]) -> Result<Vec<String>, Unable> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let question = [paths.join(&b'\n'), b"\n".to_vec()].concat();
        let whole = |answer: &[u8]| answer.iter().filter(|byte| **byte == b'\n').count() == paths.len();
        let answer = ask(&mut self.blobs, &question, whole)?;
        String::from_utf8_lossy(&answer).lines().map(id).collect()
    }

    /// The id of a directory's new tree; nothing if nothing is left in it.
    fn write_dir(
        &mut self,
        before: Option<&str>,
        dir: Dir,
        known: &mut BTreeMap<String, Entries>,
    ) -> Result<Option<String>, Unable> {
        let mut entries = match before {
            Some(tree) => known.remove(tree).map_or_else(|| self.read_tree(tree), Ok)?,
            None => Entries::new(),
        };
        for (name, change) in dir.files {
            match change {
                Change::Gone => entries.remove(&name),
                // It was there, and is in no tree: it is ignored, or was not there when git looked.
                Change::Changed(_) if !entries.contains_key(&name) => return Err(Unable),
                Change::Changed(entry) | Change::New(entry) => entries.insert(name, entry),
            };
        }
        for (name, below) in dir.dirs {
            let before = match entries.get(&name) {
                Some(Entry { mode: TREE, id }) => Some(id.clone()),
                Some(_) => return Err(Unable),
                None => None,
            };
            match self.write_dir(before.as_deref(), below, known)? {
                Some(id) => entries.insert(name, Entry { mode: TREE, id }),
                None => entries.remove(&name),
            };
        }
        if entries.is_empty() { Ok(None) } else { self.write_tree(entries).map(Some) }
    }

    fn read_tree(&mut self, tree: &str) -> Result<Entries, Unable> {
        let question = format!("{tree}\n");
        let content = |answer: &[u8]| {
            let end = answer.iter().position(|byte| *byte == b'\n')?;
            let size: usize = str::from_utf8(&answer[..end])
                .ok()?
                .strip_prefix(tree)?
                .strip_prefix(" tree ")?
                .parse()
                .ok()?;
            (answer.len() == end + 1 + size + 1).then_some(end + 1..end + 1 + size)
        };
        let is_missing = |answer: &[u8]| answer.ends_with(b" missing\n");
        let whole = |answer: &[u8]| content(answer).is_some() || is_missing(answer);
        let answer = ask(&mut self.trees, question.as_bytes(), whole)?;
        let content = content(&answer).ok_or(Unable)?;
        parse_tree(&answer[content], tree.len() / 2)
    }

    fn write_tree(&mut self, entries: Entries) -> Result<String, Unable> {
        let mut question = Vec::new();
        for (name, Entry { mode, id }) in &entries {
            let kind = if *mode == TREE { "tree" } else { "blob" };
            question.extend(format!("{mode} {kind} {id}\t").into_bytes());
            question.extend(name);
            question.push(0);
        }
        question.push(0);
        let whole = |answer: &[u8]| answer.ends_with(b"\n");
        let answer = ask(&mut self.new_trees, &question, whole)?;
        let id = id(str::from_utf8(&answer).map_err(|_| Unable)?)?;
        self.written.insert(id.clone(), entries);
        Ok(id)
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

impl Dir {
    fn of_parent(&mut self, path: &Path) -> Result<&mut Dir, Unable> {
        let parents = path.parent().ok_or(Unable)?;
        Ok(parents.iter().fold(self, |dir, name| dir.dirs.entry(name.as_bytes().to_vec()).or_default()))
    }
}

fn name(path: &Path) -> Result<Vec<u8>, Unable> {
    path.file_name().map(|name| name.as_bytes().to_vec()).ok_or(Unable)
}

/// The path of a file that git reads, and that it takes as it is on a line. A link would be followed.
fn plain_file(file: &ChangedFile) -> Result<&[u8], Unable> {
    let path = file.path.as_os_str().as_bytes();
    let is_plain = !path.starts_with(b"\"") && !path.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
    if is_plain && file.now != Some(Mode::Link) { Ok(path) } else { Err(Unable) }
}

fn word_of(mode: Mode) -> &'static str {
    match mode {
        Mode::Plain => "100644",
        Mode::Executable => "100755",
        Mode::Link => "120000",
    }
}

fn id(line: &str) -> Result<String, Unable> {
    let line = line.trim_end();
    if is_object_id(line.as_bytes()) { Ok(line.to_string()) } else { Err(Unable) }
}

/// `mode name`, a zero byte, and the raw id, again and again.
fn parse_tree(mut content: &[u8], id_bytes: usize) -> Result<Entries, Unable> {
    let mut entries = Entries::new();
    while !content.is_empty() {
        let space = content.iter().position(|byte| *byte == b' ').ok_or(Unable)?;
        let end = content.iter().position(|byte| *byte == 0).filter(|end| *end > space).ok_or(Unable)?;
        let mode = MODES.iter().find(|mode| mode.as_bytes() == &content[..space]).ok_or(Unable)?;
        let raw = content.get(end + 1..end + 1 + id_bytes).ok_or(Unable)?;
        let id = raw.iter().map(|byte| format!("{byte:02x}")).collect();
        entries.insert(content[space + 1..end].to_vec(), Entry { mode, id });
        content = &content[end + 1 + id_bytes..];
    }
    Ok(entries)
}
