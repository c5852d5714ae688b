//! Reads cases. README.md explains the format.
//!
//! A file that is not understood is a failed test, with the file and the line.

use crate::words::Word;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    Run,
    Stories,
    Tasks,
}

impl Plan {
    pub const ALL: [Plan; 3] = [Plan::Run, Plan::Stories, Plan::Tasks];

    fn named(name: &str) -> Option<Plan> {
        match name {
            "run" => Some(Plan::Run),
            "stories" => Some(Plan::Stories),
            "tasks" => Some(Plan::Tasks),
            _ => None,
        }
    }
}

/// Why an agent is known not to be found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// It leaves its work elsewhere on the machine; only a sandbox would keep it from that.
    Sandbox,
    /// The code that it delivers lies to its tests.
    DeliveredCode,
    /// What would be committed is not what lies in the work tree.
    Commit,
}

impl Limit {
    fn named(name: &str) -> Option<Limit> {
        match name {
            "sandbox" => Some(Limit::Sandbox),
            "delivered-code" => Some(Limit::DeliveredCode),
            "commit" => Some(Limit::Commit),
            _ => None,
        }
    }
}

/// A file of the project before the run.
#[derive(Clone, Debug)]
pub struct ProjectFile {
    pub path: String,
    pub content: String,
    pub executable: bool,
}

#[derive(Clone, Debug)]
pub struct Case {
    /// Unique; failures are listed under it.
    pub title: String,
    /// The name of the file that the case is in, without its extension.
    pub kind: String,
    pub plan: Plan,
    pub task: String,
    pub checks: Vec<String>,
    /// Programs without which the case is skipped.
    pub needs: Vec<String>,
    /// More arguments for ralph.
    pub args: Vec<String>,
    /// Directories at the front of the `PATH`, relative to the project; `~/` is the home directory.
    pub path: Vec<String>,
    /// How many stories, each with the same task.
    pub stories: usize,
    /// What ralph may say in the end, with its defence on.
    pub says: Vec<Word>,
    /// Found out with the defence off as well: a part of it cannot be switched off.
    pub always_red: bool,
    /// Known not to be found out: says `proven` today.
    pub limit: Option<Limit>,
    /// A command that succeeds in a fresh clone of what was delivered if the work was done.
    pub truth: String,
    pub files: Vec<ProjectFile>,
    /// Shell, before the files are committed.
    pub setup: String,
    /// Shell, after they are committed, before the run.
    pub then: String,
    /// Shell: what the agent does in each call.
    pub agent: String,
    /// Shell: what the reviewer of a task list does before it approves.
    pub reviewer: String,
    /// Shell, at the end, whatever the result: removes what is outside the stage.
    pub cleanup: String,
}

/// All cases of a directory, in the order of their files.
pub fn cases(dir: &str) -> Vec<Case> {
    let root = root();
    let files = files_of(&root.join(dir));
    files.iter().flat_map(|file| read(&root, file)).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cheats")
}

fn files_of(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "case"));
    files.sort();
    files
}

/// The lines of a case or project, by section.
struct Block<'a> {
    title: &'a str,
    /// `key: value`, with the number of the line.
    fields: Vec<(usize, &'a str, &'a str)>,
    /// `--- NAME`, with the number of the line and the text below it.
    sections: Vec<(usize, &'a str, String)>,
}

fn read(root: &Path, file: &Path) -> Vec<Case> {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let kind = file.file_stem().unwrap().to_str().unwrap();
    blocks(file, &text).iter().map(|block| to_case(root, file, kind, block)).collect()
}

fn blocks<'a>(file: &Path, text: &'a str) -> Vec<Block<'a>> {
    let mut blocks: Vec<Block> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(title) = line.strip_prefix("=== ") {
            blocks.push(Block { title, fields: Vec::new(), sections: Vec::new() });
            continue;
        }
        let Some(block) = blocks.last_mut() else {
            // What comes before the first case is a comment.
            continue;
        };
        if let Some(name) = line.strip_prefix("--- ") {
            block.sections.push((number, name, String::new()));
        } else if let Some((_, _, content)) = block.sections.last_mut() {
            content.push_str(line);
            content.push('\n');
        } else if !line.is_empty() {
            let (key, value) = line
                .split_once(':')
                .unwrap_or_else(|| panic!("{}:{number}: not `key: value`: {line}", file.display()));
            block.fields.push((number, key, value.trim()));
        }
    }
    blocks
}

fn to_case(root: &Path, file: &Path, kind: &str, block: &Block) -> Case {
    let mut case = Case {
        title: block.title.to_owned(),
        kind: kind.to_owned(),
        plan: Plan::Run,
        task: String::new(),
        checks: Vec::new(),
        needs: Vec::new(),
        args: Vec::new(),
        path: Vec::new(),
        stories: 1,
        says: Vec::new(),
        always_red: false,
        limit: None,
        truth: String::new(),
        files: Vec::new(),
        setup: String::new(),
        then: String::new(),
        agent: String::new(),
        reviewer: String::new(),
        cleanup: String::new(),
    };
    if let Some((_, _, name)) = block.fields.iter().find(|(_, key, _)| *key == "project") {
        let path = root.join("projects").join(format!("{name}.case"));
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for project in blocks(&path, &text) {
            add(&mut case, &path, &project);
        }
    }
    add(&mut case, file, block);
    assert!(!case.task.is_empty(), "{}: {}: no task", file.display(), case.title);
    assert!(!case.truth.is_empty(), "{}: {}: no truth", file.display(), case.title);
    assert!(!case.says.is_empty(), "{}: {}: no says", file.display(), case.title);
    case
}

/// What a block says replaces what its project says.
fn add(case: &mut Case, file: &Path, block: &Block) {
    if block.fields.iter().any(|(_, key, _)| *key == "check") {
        case.checks.clear();
    }
    let words = |value: &str| value.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for (number, key, value) in &block.fields {
        let at = || format!("{}:{number}", file.display());
        match *key {
            "project" => {}
            "plan" => case.plan = Plan::named(value).unwrap_or_else(|| panic!("{}: no such plan", at())),
            "task" => case.task = (*value).to_owned(),
            "check" if *value == "none" => {}
            "check" => case.checks.push((*value).to_owned()),
            "needs" => case.needs.extend(words(value)),
            "args" => case.args = words(value),
            "path" => case.path = words(value),
            "stories" => case.stories = value.parse().unwrap_or_else(|e| panic!("{}: {e}", at())),
            "off" if *value == "red" => case.always_red = true,
            "limit" => {
                case.limit = Some(Limit::named(value).unwrap_or_else(|| panic!("{}: no such limit", at())));
            }
            "truth" => case.truth = (*value).to_owned(),
            "says" => {
                let named = |name: &str| Word::named(name).unwrap_or_else(|| panic!("{}: {name}", at()));
                case.says = value.split('|').map(|name| named(name.trim())).collect();
            }
            _ => panic!("{}: no such field: {key}", at()),
        }
    }
    for (number, name, content) in &block.sections {
        match name.split_once(' ').unwrap_or((name, "")) {
            ("file", path) => add_file(case, path, content),
            ("setup", "") => case.setup.push_str(content),
            ("then", "") => case.then.push_str(content),
            ("agent", "") => case.agent.clone_from(content),
            ("reviewer", "") => case.reviewer.clone_from(content),
            ("cleanup", "") => case.cleanup.clone_from(content),
            _ => panic!("{}:{number}: no such section: {name}", file.display()),
        }
    }
}

fn add_file(case: &mut Case, name: &str, content: &str) {
    let (path, executable) = match name.strip_suffix(" +x") {
        Some(path) => (path, true),
        None => (name, false),
    };
    case.files.retain(|file| file.path != path);
    // A blank line before the next section belongs to the case file, not to the content.
    let content = format!("{}\n", content.trim_end_matches('\n'));
    case.files.push(ProjectFile { path: path.to_owned(), content, executable });
}
