//! A project of specs, and a shell script that plays the agent.

use crate::support::{Agent, Ran, Running, Sandbox, until};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

pub struct Stage {
    pub sandbox: Sandbox,
}

/// What every agent's script can use. `$try` is `8.3#2`: its story, and how often an agent was
/// asked for it so far.
const PRELUDE: &str = r#"
mkdir -p "$at"; echo "$RALPH_STORY" >> "$at/asked"
try="$RALPH_STORY#$(grep -cxF "$RALPH_STORY" "$at/asked")"
cat > "$at/prompt-$try"
DONE() { echo "<ralph>DONE $RALPH_STORY</ralph>"; }
FAIL() { echo "<ralph>FAIL $RALPH_STORY: $*</ralph>"; }
LEARN() { echo "<ralph>LEARN: $*</ralph>"; }
commit() { git add -A && git commit -q -m "$*"; }
hold() {
  : > "$at/held-$try"; i=0
  while [ ! -e "$at/go-$try" ] && [ $i -lt 3000 ]; do sleep 0.02; i=$((i+1)); done
}
"#;

impl Stage {
    /// A repository in which these stories are committed; `1.2<1.1<1.3` waits for both.
    pub fn new(stories: &str) -> Stage {
        let stage = Stage { sandbox: Sandbox::git() };
        stage.specs(stories);
        stage.sandbox.sh("git add . && git commit -q -m specs");
        stage
    }

    /// No repository.
    pub fn without_git(stories: &str) -> Stage {
        let stage = Stage { sandbox: Sandbox::bare() };
        stage.specs(stories);
        stage
    }

    pub fn specs(&self, stories: &str) {
        self.sandbox.write("AGENTS.md", "a project\n");
        self.sandbox.write("CLAUDE.md", "a project\n");
        fs::create_dir_all(self.sandbox.project().join("specs")).unwrap();
        for story in stories.split_whitespace() {
            let mut ids = story.split('<');
            let id = ids.next().unwrap();
            let depends_on: Vec<&str> = ids.collect();
            let spec = format!(
                "---\nstatus: pending\ndepends_on: {depends_on:?}\n---\n# Build part {id}\n\nIt works.\n"
            );
            self.sandbox.write(&spec_path(id), spec);
        }
    }

    pub fn agent(&self, script: &str) -> Agent {
        self.sandbox.sh_agent(&format!("at='{}'{PRELUDE}{script}", self.at("").display()))
    }

    /// Where the agent keeps what a test wants to know.
    pub fn at(&self, name: &str) -> PathBuf {
        self.sandbox.root().join("agent").join(name)
    }

    /// `ralph stories ARGS` with a script as the agent, still running.
    pub fn begin(&self, args: &[&str], script: &str) -> Running {
        self.sandbox.start(&[&["stories"], args, &["--"], &self.agent(script).words()[..]].concat())
    }

    pub fn run(&self, args: &[&str], script: &str) -> Ran {
        self.begin(args, script).end()
    }

    /// Which stories agents were asked for, in their order.
    pub fn asked(&self) -> String {
        fs::read_to_string(self.at("asked"))
            .unwrap_or_default()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// What the agent of a try was told.
    #[track_caller]
    pub fn prompt(&self, attempt: &str) -> String {
        self.note(&format!("prompt-{attempt}"))
    }

    /// What an agent wrote down.
    #[track_caller]
    pub fn note(&self, name: &str) -> String {
        let path = self.at(name);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    #[track_caller]
    pub fn until_held(&self, attempt: &str) {
        until(attempt, || self.at(&format!("held-{attempt}")).exists());
    }

    pub fn let_go(&self, attempt: &str) {
        fs::write(self.at(&format!("go-{attempt}")), "").unwrap();
    }

    /// `.ralph/state.json` as a line: `1.1 1.2 / 1.3 / 0`. Anything but its three fields is an error.
    pub fn state(&self) -> String {
        let state: Value = serde_json::from_str(&self.sandbox.read(".ralph/state.json")).unwrap();
        let fields: Vec<&str> = state.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, ["completed_stories", "current_story", "retry_count"]);
        let done: Vec<&str> =
            state["completed_stories"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
        format!(
            "{} / {} / {}",
            done.join(" "),
            state["current_story"].as_str().unwrap_or("-"),
            state["retry_count"]
        )
    }

    /// Waits until the state says so.
    #[track_caller]
    pub fn until_state(&self, expected: &str) {
        self.until_transition("a change", expected);
    }

    #[track_caller]
    pub fn until_transition(&self, name: &str, expected: &str) {
        let what = format!("{name}: {expected}");
        until(&what, || self.sandbox.has(".ralph/state.json") && self.state() == expected);
    }

    pub fn write_state(&self, done: &[&str], current: Option<&str>, retries: u32) {
        let state = json!({"completed_stories": done, "current_story": current, "retry_count": retries});
        self.sandbox.write(".ralph/state.json", state.to_string());
    }

    /// `progress.txt` with `TIME` where a time stands.
    pub fn progress(&self) -> Vec<String> {
        self.sandbox.read("progress.txt").lines().map(timeless).collect()
    }

    /// `ralph.log` without its times.
    pub fn log(&self) -> Vec<String> {
        let log = self.sandbox.read("ralph.log");
        log.lines().map(|line| line.split_once("] ").unwrap().1.to_owned()).collect()
    }

    /// Commits after that of the specs, oldest first.
    pub fn commits(&self) -> String {
        self.sandbox
            .sh("git log --reverse --format=%s HEAD | tail -n +3")
            .lines()
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The ref that keeps a failed attempt of the only run.
    pub fn kept(&self, attempt: u32) -> String {
        format!("refs/ralph/{}/attempt-{attempt}", self.sandbox.only_run())
    }
}

pub fn spec_path(id: &str) -> String {
    format!("specs/epic-{}/story-{id}-part-{}.md", id.split('.').next().unwrap(), id.replace('.', "-"))
}

/// `2026-11-15T22:15:01Z` as `TIME`.
fn timeless(line: &str) -> String {
    const SHAPE: &[u8] = b"dddd-dd-ddTdd:dd:ddZ";
    let fits = |word: &str| {
        word.len() == SHAPE.len()
            && word.bytes().zip(SHAPE).all(|(c, s)| if *s == b'd' { c.is_ascii_digit() } else { c == *s })
    };
    line.split(' ').map(|word| if fits(word) { "TIME" } else { word }).collect::<Vec<_>>().join(" ")
}
