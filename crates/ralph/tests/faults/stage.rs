//! The place of a round: a repository with a user's unfinished work, a home for ralph, an
//! agent. Dropped, it ends every process that was started in it, by number.

use crate::procs::{self, Process};
use crate::rng::Rng;
use crate::script::{AGENT_DIR, Part, STATE_FILE};
use fake_agent::script::{Action, Call, Dialect, Script};
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

pub const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

/// More than any script can need: the limit is not what is tested here.
const MOST_ITERATIONS: &str = "60";

/// Far longer than any other agent of a round takes than one that has to be ended.
pub const AGENT_TIMEOUT_SECONDS: u32 = 5;

pub struct Stage {
    dir: TempDir,
    pub part: Part,
    users: UsersWork,
    /// Randomly one that sleeps longer, so that checks are met at work.
    slow_check: String,
}

/// What must not change, whatever dies.
#[derive(Debug, PartialEq, Eq)]
struct UsersWork {
    files: Vec<(&'static str, Option<Vec<u8>>)>,
    git: Vec<(&'static str, String)>,
    index: Vec<u8>,
}

const USERS_FILES: [&str; 6] =
    ["tracked.txt", "clean.txt", "staged.txt", "untracked.txt", "local.secret", ".gitignore"];

const GIT_QUESTIONS: [&str; 7] = [
    "status --porcelain=v1 -uall --branch",
    "diff",
    "diff --cached",
    "rev-parse HEAD",
    "for-each-ref",
    "stash list",
    "config --local --list",
];

impl Stage {
    pub fn new(rng: &mut Rng) -> Result<Stage, String> {
        let dir = tempfile::Builder::new().prefix("ralph-faults-").tempdir().map_err(about("temp dir"))?;
        let at = |name: &str| dir.path().join(name);
        for name in ["repo", "home", "bin", "user"] {
            fs::create_dir(at(name)).map_err(about(name))?;
        }
        let part = Part::new(rng, &at("ledger"), &at("pids"));
        let script = serde_json::to_vec(&part.script).map_err(about("script"))?;
        put(&at("script.json"), &script)?;
        let done = Call(vec![Action::Say("<response>DONE</response>".into())]);
        let after = serde_json::to_vec(&Script { calls: vec![done], ..Script::default() });
        put(&at("after.json"), &after.map_err(about("script"))?)?;
        put(
            &at("settings.json"),
            br#"{"maxFailures": 50, "keepStreams": 8, "backoff": {"base": 0.002, "cap": 0.01}}"#,
        )?;
        let wrapper = format!("#!/bin/sh\nexec {RALPH} __agent {} \"$@\"\n", at("script.json").display());
        put(&at("bin/claude"), wrapper.as_bytes())?;
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(at("bin/claude"), executable).map_err(about("claude"))?;
        begin_work(&at("repo"))?;
        let users = UsersWork::at(&at("repo"))?;
        let slow_check = format!("sleep 0.0{}; grep -q ready {STATE_FILE}", rng.within(0, 4));
        Ok(Stage { dir, part, users, slow_check })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn run_dir(&self, id: &str) -> PathBuf {
        self.path("home/runs").join(id)
    }

    /// ralph with nothing of this machine's settings in its environment.
    pub fn ralph(&self) -> Command {
        let mut command = Command::new(RALPH);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("RALPH_") || name.to_string_lossy().starts_with("XDG_") {
                command.env_remove(name);
            }
        }
        command
            .env("RALPH_HOME", self.path("home"))
            .env("HOME", self.path("user"))
            .env("RALPH_SANDBOX", "none")
            .stdin(Stdio::null());
        command.current_dir(self.path("repo"));
        command
    }

    pub fn run_command(&self) -> Command {
        let mut command = self.ralph();
        command.args(["run", "work until done", "-n", MOST_ITERATIONS, "--check", &self.slow_check]);
        command.args(["-t", &AGENT_TIMEOUT_SECONDS.to_string()]);
        command.args(["--check", "test -d .", "--config"]).arg(self.path("settings.json"));
        command
    }

    /// The agent, for the end of a command line.
    pub fn agent(&self) -> Vec<String> {
        let script = self.path("script.json").display().to_string();
        match self.part.dialect {
            Dialect::Plain => ["--", RALPH, "__agent", &script].map(String::from).to_vec(),
            Dialect::Claude => vec!["--".into(), self.path("bin/claude").display().to_string()],
        }
    }

    /// Another run in the same directory; whether it ran, and what it said.
    pub fn another_run(&self) -> Result<(), String> {
        let mut command = self.ralph();
        command.args(["run", "something else", "-n", "1", "--", RALPH, "__agent"]);
        command.arg(self.path("after.json"));
        let output = command.output().map_err(about("another run"))?;
        let text = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(()) } else { Err(format!("another run was refused: {text}")) }
    }

    /// Everything that ralph started, by what all of it inherits or by what the leftovers wrote
    /// down about themselves.
    pub fn processes(&self) -> Vec<Process> {
        let mut found = procs::with_variable("HOME", &self.path("user").display().to_string());
        let file = self.path("pids");
        let listed = fs::read_to_string(&file).unwrap_or_default();
        let listed = listed.lines().filter_map(|line| Process::of(procs::pid(line)?));
        // The id may belong to another process by now. The file's name is in its arguments.
        let file = file.display().to_string();
        found.extend(listed.filter(|process| process.arguments().contains(&file)));
        found.dedup();
        found
    }

    pub fn users_work_is_intact(&self) -> Result<(), String> {
        let repo = self.path("repo");
        let lock = repo.join(".git/index.lock");
        if lock.exists() {
            return Err("an index.lock is left in the user's repository".into());
        }
        let now = UsersWork::at(&repo)?;
        if now == self.users {
            return Ok(());
        }
        let files = now.files.iter().zip(&self.users.files).filter(|(now, before)| now != before);
        let git = now.git.iter().zip(&self.users.git).filter(|(now, before)| now != before);
        Err(format!(
            "the user's work has changed: files {:?}, git {:?}, index {}",
            files.collect::<Vec<_>>(),
            git.collect::<Vec<_>>(),
            if now.index == self.users.index { "as it was" } else { "changed" }
        ))
    }

    /// Paths of the user that belong into every checkpoint, and their content's git ids.
    pub fn recorded_files(&self) -> Result<Vec<(&'static str, String)>, String> {
        let names = ["tracked.txt", "clean.txt", "staged.txt", "untracked.txt", ".gitignore"];
        let ids = git(&self.path("repo"), &format!("hash-object {}", names.join(" ")))?;
        Ok(names.into_iter().zip(ids.lines().map(String::from)).collect())
    }

    /// What a checkpoint holds: `id`, `path`.
    pub fn checkpoint(&self, run: &str, tree: &str) -> Result<Vec<(String, String)>, String> {
        let dir = self.run_dir(run).join("checkpoints.git");
        let listing = git(&self.path("repo"), &format!("--git-dir={} ls-tree -r {tree}", dir.display()))?;
        let entry = |line: &str| {
            let (head, path) = line.split_once('\t')?;
            Some((head.rsplit(' ').next()?.to_string(), path.to_string()))
        };
        Ok(listing.lines().filter_map(entry).collect())
    }

    /// Whatever has been written of a run's checkpoints is whole, also if it was cut short.
    pub fn fsck(&self, run: &str) -> Result<(), String> {
        let dir = self.run_dir(run).join("checkpoints.git");
        git(&self.path("repo"), &format!("--git-dir={} fsck --no-dangling --no-progress", dir.display()))
            .map(drop)
    }

    /// Leaves the directory behind for a person to look at.
    pub fn keep(&mut self) -> PathBuf {
        self.dir.disable_cleanup(true);
        self.dir.path().to_path_buf()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        procs::until_none(Duration::from_secs(5), || {
            let found = self.processes();
            for process in &found {
                process.signal(Signal::KILL);
            }
            found
        });
    }
}

impl UsersWork {
    fn at(repo: &Path) -> Result<UsersWork, String> {
        let files = USERS_FILES.map(|name| (name, fs::read(repo.join(name)).ok())).to_vec();
        let index = fs::read(repo.join(".git/index")).map_err(about("index"))?;
        let mut answers = Vec::new();
        for question in GIT_QUESTIONS {
            let answer = git(repo, question)?;
            // What the agent makes is not the user's.
            let lines = answer.lines().filter(|line| !line.starts_with(&format!("?? {AGENT_DIR}")));
            answers.push((question, lines.collect::<Vec<_>>().join("\n")));
        }
        Ok(UsersWork { files, git: answers, index })
    }
}

/// A branch with a commit, a stash, and something in each state that git knows.
fn begin_work(repo: &Path) -> Result<(), String> {
    let file = |name: &str, content: &str| put(&repo.join(name), content.as_bytes());
    git(repo, "init -q -b topic")?;
    file("tracked.txt", "as committed\n")?;
    file("clean.txt", "never touched\n")?;
    file(".gitignore", "*.secret\n")?;
    git(repo, "add .")?;
    git(repo, "commit -q -m begin")?;
    file("tracked.txt", "put away\n")?;
    git(repo, "stash push -q")?;
    file("tracked.txt", "not committed yet\n")?;
    file("staged.txt", "staged\n")?;
    git(repo, "add staged.txt")?;
    file("staged.txt", "staged, and then changed\n")?;
    file("untracked.txt", "new\n")?;
    file("local.secret", "ignored\n")
}

pub fn git(repo: &Path, words: &str) -> Result<String, String> {
    let mut command = Command::new("git");
    command.current_dir(repo).args(words.split(' ')).stdin(Stdio::null());
    // Looking must not refresh the index that is compared.
    command
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "user").env(format!("GIT_{who}_EMAIL"), "user@localhost");
    }
    let output = command.output().map_err(about("git"))?;
    if !output.status.success() {
        return Err(format!("git {words}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub fn put(path: &Path, content: &[u8]) -> Result<(), String> {
    fs::write(path, content).map_err(about(&path.display().to_string()))
}

/// An error of the driver's own, with what it was about.
pub fn about<E: std::fmt::Display>(what: &str) -> impl Fn(E) -> String {
    move |cause| format!("{what}: {cause}")
}
