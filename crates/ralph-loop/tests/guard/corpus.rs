//! Reads the corpus, and the world that its commands are written for.
#![expect(clippy::unwrap_used, reason = "a corpus that cannot be read fails the test")]

use ralph_loop::guard::{GitQuestion, Judgement, Policy, ToolCall, World, judge};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

pub struct Case {
    pub group: String,
    pub text: String,
}

/// The cases of a file. Another directory than the corpus can be measured with `RALPH_GUARD_CORPUS`.
pub fn read(file: &str) -> Vec<Case> {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guard");
    let dir = std::env::var("RALPH_GUARD_CORPUS").unwrap_or_else(|_| own.to_owned());
    let text = fs::read_to_string(Path::new(&dir).join(file)).unwrap();
    let mut cases = Vec::new();
    let mut group = String::new();
    let mut block: Option<Vec<&str>> = None;
    for line in text.lines() {
        match (line, &mut block) {
            (">>>", Some(lines)) => {
                cases.push(Case { group: group.clone(), text: lines.join("\n") });
                block = None;
            }
            (line, Some(lines)) => lines.push(line),
            ("<<<", None) => block = Some(Vec::new()),
            ("", None) => {}
            (line, None) if line.starts_with("## ") => group = line[3..].to_owned(),
            (line, None) if line.starts_with('#') => {}
            (line, None) => cases.push(Case { group: group.clone(), text: line.to_owned() }),
        }
    }
    cases
}

pub fn judged(case: &Case) -> Judgement {
    let (name, input) = match case.text.strip_prefix('@').and_then(|rest| rest.split_once(' ')) {
        Some((tool, input)) => (tool, serde_json::from_str::<Value>(input).unwrap()),
        None => ("Bash", json!({ "command": case.text })),
    };
    judge(ToolCall { name, input: &input }, &world(), &Policy::default())
}

/// As the head of the corpus describes it.
pub fn world() -> World<'static> {
    World {
        workspace: PathBuf::from("/home/dev/app"),
        home: PathBuf::from("/home/dev"),
        cwd: PathBuf::from("/home/dev/app"),
        writable: Vec::new(),
        protected: Vec::new(),
        variable: &|_| None,
        script: &|_| None,
        resolve: &|path| path.to_path_buf(),
        names: &|path| (!path.ends_with("missing")).then(Vec::new),
        git: &|_, question| Some(answer(question)),
    }
}

fn answer(question: GitQuestion<'_>) -> bool {
    let is_old = |commit: &str| {
        commit.starts_with("origin/")
            || matches!(commit, "main" | "release" | "old-feature" | "v1.0")
            || commit.strip_prefix("HEAD~").and_then(|n| n.parse::<u32>().ok()).is_some_and(|n| n >= 3)
    };
    match question {
        GitQuestion::IsPublished(commit) => is_old(commit),
        // `HEAD~4` is published, and so is everything before it.
        GitQuestion::AnyPublished { upstream, tip } => {
            let is_far = upstream
                .and_then(|commit| commit.strip_prefix("HEAD~"))
                .is_none_or(|count| count.parse::<u32>().is_ok_and(|count| count > 3));
            is_old(tip) || (is_far && !upstream.is_some_and(is_old))
        }
        GitQuestion::HasRemoteBranch(branch) | GitQuestion::PushesOver(branch) => {
            matches!(branch, "main" | "release" | "old-feature")
        }
        GitQuestion::HasRef(name) => {
            matches!(name, "refs/heads/main" | "refs/heads/release" | "refs/heads/ralph/work")
        }
        // Commits before the run are on the remote; so only leaving the history of the run loses anything.
        GitQuestion::LosesWork { branch, kept } => {
            let is_near = |commit: &str| {
                matches!(commit, "HEAD" | "@" | "")
                    || commit.starts_with("HEAD^")
                    || commit.strip_prefix("HEAD~").is_some_and(|n| n.parse::<u32>().is_ok_and(|n| n <= 3))
            };
            let is_there = matches!(branch, "HEAD" | "ralph/work" | "main" | "release");
            is_there && !kept.iter().any(|commit| is_near(commit))
        }
        GitQuestion::IsRemote(name) => name == "origin",
        GitQuestion::IsUsersWorktree => false,
    }
}
