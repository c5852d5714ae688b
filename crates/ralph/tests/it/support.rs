//! A sandbox to run ralph in, and what a test asks of a run afterwards.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

/// Far more than any of it takes, and still an end.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// A project, a home, and nothing of the user's own.
pub struct Sandbox {
    _dir: TempDir,
    root: PathBuf,
    counter: AtomicU32,
}

/// A program after `--`.
pub struct Agent(Vec<String>);

impl Agent {
    /// A program by its name.
    pub fn named(program: &str) -> Agent {
        Agent(vec![program.to_string()])
    }

    /// The words after `--`.
    pub fn words(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }
}

impl Sandbox {
    /// The project is a plain directory.
    pub fn bare() -> Sandbox {
        let dir = TempDir::with_prefix("ralph-it-").unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["project", "bin", "tmp", "user"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let sandbox = Sandbox { _dir: dir, root, counter: AtomicU32::new(0) };
        sandbox.user_settings(&json!({}));
        sandbox
    }

    /// Checks run in the workspace and only after agents, and there is no sandbox, as most tests are about
    /// something else.
    pub fn user_settings(&self, settings: &Value) {
        let mut settings = settings.clone();
        settings["proof"] = json!({"mode": "in-place", "baseline": false});
        settings["sandbox"] = "none".into();
        fs::create_dir_all(self.user_settings_file().parent().unwrap()).unwrap();
        fs::write(self.user_settings_file(), settings.to_string()).unwrap();
    }

    /// Checks run as they do by default: before the first agent, and on what is delivered.
    pub fn proving(self) -> Sandbox {
        fs::write(self.user_settings_file(), json!({"sandbox": "none"}).to_string()).unwrap();
        self
    }

    /// Everything is as it is by default, sandbox included.
    pub fn confined(self) -> Sandbox {
        fs::remove_file(self.user_settings_file()).unwrap();
        self
    }

    fn user_settings_file(&self) -> PathBuf {
        self.root.join("user/.config/ralph/settings.json")
    }

    /// The project is a repository with one commit.
    pub fn git() -> Sandbox {
        let sandbox = Sandbox::empty_repository();
        sandbox.write("README", "a project\n");
        sandbox.sh("git add . && git commit -q -m begin");
        sandbox
    }

    /// The project is a repository without any commit.
    pub fn empty_repository() -> Sandbox {
        let sandbox = Sandbox::bare();
        // A git that tidies up behind an agent's back is ended with the agent, now and then.
        sandbox.sh(
            "git init -q -b main && git config user.name Someone && git config user.email someone@localhost
             git config gc.auto 0 && git config maintenance.auto false",
        );
        sandbox
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        let path = self.project().join(name);
        String::from_utf8(fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))).unwrap()
    }

    pub fn has(&self, name: &str) -> bool {
        self.project().join(name).exists()
    }

    /// Replaces the placeholders of all specs that ralph has laid out.
    pub fn write_stories(&self) {
        self.sh("for spec in specs/*/*.md; do sed -i '/^## Story/,$d' \"$spec\"; echo 'Build it.' >> \"$spec\"; done");
    }

    pub fn settings(&self, settings: &Value) {
        self.write(".ralph/settings.json", settings.to_string());
    }

    /// Small waits, no context, no checkpoints: the loop and nothing else.
    pub fn plain_settings(&self) {
        self.settings(
            &json!({"context": false, "checkpoints": false, "backoff": {"base": 0.01, "cap": 0.05}}),
        );
    }

    /// A plain agent that plays these calls.
    pub fn agent(&self, calls: &Value) -> Agent {
        self.agent_of(&json!({"calls": calls}))
    }

    pub fn agent_of(&self, script: &Value) -> Agent {
        Agent([RALPH, "__agent", &self.script(script)].map(String::from).to_vec())
    }

    fn script(&self, script: &Value) -> String {
        let path = self.root.join(format!("script-{}.json", self.next()));
        fs::write(&path, script.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Puts a `claude` into the path that plays these calls.
    pub fn claude(&self, calls: &Value) {
        let script = self.script(&json!({"dialect": "claude", "calls": calls}));
        self.program("claude", &format!("exec '{RALPH}' __agent '{script}' \"$@\""));
    }

    /// A shell script as the agent.
    pub fn sh_agent(&self, script: &str) -> Agent {
        Agent(["sh", "-c", script].map(String::from).to_vec())
    }

    /// Puts a shell script into the path.
    pub fn program(&self, name: &str, body: &str) -> String {
        let path = self.root.join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn next(&self) -> u32 {
        self.counter.fetch_add(1, Ordering::Relaxed)
    }

    /// Runs ralph in another directory than the project.
    pub fn ralph_in(&self, dir: &Path, args: &[&str]) -> Ran {
        let mut command = self.command(RALPH);
        command.args(args).current_dir(dir);
        self.spawn(command).end()
    }

    /// A command in the project, with the sandbox for an environment.
    pub fn command(&self, program: &str) -> Command {
        let mut path = self.root.join("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        let mut command = Command::new(program);
        command.current_dir(self.project()).env_clear().stdin(Stdio::null());
        command.env("PATH", path).env("HOME", self.root.join("user")).env("RALPH_HOME", self.home());
        command.env("TMUX_TMPDIR", self.root.join("tmp"));
        command.env("TMPDIR", self.root.join("tmp")).env("LANG", "C.UTF-8").env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    pub fn spawn(&self, mut command: Command) -> Running {
        let number = self.next();
        let [out, err] = ["out", "err"].map(|end| self.root.join(format!("std-{number}.{end}")));
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        Running { child: command.spawn().unwrap(), out, err, started: Instant::now() }
    }

    pub fn start(&self, args: &[&str]) -> Running {
        let mut command = self.command(RALPH);
        command.args(args);
        self.spawn(command)
    }

    pub fn ralph(&self, args: &[&str]) -> Ran {
        self.start(args).end()
    }

    /// `ralph run ARGS -- AGENT`, still running.
    pub fn begin(&self, args: &[&str], agent: &Agent) -> Running {
        self.start(&[&["run"], args, &["--"], &agent.words()[..]].concat())
    }

    pub fn run(&self, args: &[&str], agent: &Agent) -> Ran {
        self.begin(args, agent).end()
    }

    /// A shell command that must succeed; its output.
    #[track_caller]
    pub fn sh(&self, script: &str) -> String {
        self.shell(script).exits(0).stdout
    }

    /// A shell command in the sandbox. `$RALPH` is the program.
    pub fn shell(&self, script: &str) -> Ran {
        let mut command = self.command("sh");
        command.args(["-c", script]).env("RALPH", RALPH);
        self.spawn(command).end()
    }

    /// Ids of all runs, oldest first by the time in their names.
    pub fn runs(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.home().join("runs")) else { return Vec::new() };
        let mut ids: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        ids.sort();
        ids
    }

    #[track_caller]
    pub fn only_run(&self) -> String {
        let ids = self.runs();
        assert_eq!(ids.len(), 1, "{ids:?}");
        ids[0].clone()
    }

    pub fn run_dir(&self) -> PathBuf {
        self.home().join("runs").join(self.only_run())
    }

    pub fn journal_file(&self) -> PathBuf {
        self.run_dir().join("journal.jsonl")
    }

    /// The events of the only run.
    pub fn events(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.journal_file()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The facts of the only run.
    pub fn facts(&self) -> Vec<Value> {
        self.events().into_iter().map(|mut event| event["fact"].take()).collect()
    }

    /// As after a power cut: of the first fact like this only some bytes are left, and nothing of
    /// what came after it.
    #[track_caller]
    pub fn lose_from(&self, fits: impl Fn(&Value) -> bool) {
        let at = self.facts().iter().position(fits).unwrap();
        let text = fs::read_to_string(self.journal_file()).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let torn = &lines[at][..lines[at].len() / 2];
        fs::write(self.journal_file(), lines[..at].concat() + torn).unwrap();
    }

    /// How many agents the only run has begun.
    pub fn agents_begun(&self) -> usize {
        self.facts().iter().filter(|fact| fact["began"]["step"]["agent"].is_object()).count()
    }

    /// What `ralph runs` says of the only run.
    pub fn listed(&self) -> Value {
        self.ralph(&["runs", "--format", "json"]).exits(0).json()[0].take()
    }

    /// Waits until the only run has a fact like this.
    #[track_caller]
    pub fn until_fact(&self, what: &str, fits: impl Fn(&Value) -> bool) {
        self.until_facts(what, |facts| facts.iter().any(&fits));
    }

    /// Waits until the journal of the latest run holds facts like these.
    pub fn until_facts(&self, what: &str, fit: impl Fn(&[Value]) -> bool) {
        until(what, || {
            let Some(id) = self.runs().pop() else { return false };
            let journal = self.home().join("runs").join(id).join("journal.jsonl");
            let text = fs::read_to_string(journal).unwrap_or_default();
            let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            let events = whole.map(|line| serde_json::from_str::<Value>(line).unwrap());
            fit(&events.map(|mut event| event["fact"].take()).collect::<Vec<_>>())
        });
    }

    /// Sends a signal and waits until the loop has heard it.
    #[track_caller]
    pub fn interrupt(&self, running: &Running, signal: Signal) {
        running.signal(signal);
        self.until_fact("the signal", |fact| *fact == "stop_asked" || !fact["asked"].is_null());
    }

    /// The same, and lets an agent go on that waits for the file `go` beside the project.
    #[track_caller]
    pub fn interrupt_and_go(&self, running: &Running, signal: Signal) {
        self.interrupt(running, signal);
        self.write("../go", "");
    }

    #[track_caller]
    pub fn until_file(&self, name: &str) {
        until(name, || fs::metadata(self.project().join(name)).is_ok_and(|meta| meta.len() > 0));
    }

    /// Every process that was started in this sandbox and lives.
    pub fn alive(&self) -> Vec<Pid> {
        let marker = format!("HOME={}", self.root.join("user").display());
        let numbers =
            fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok());
        let marked = |pid: &i32| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|entry| entry == marker.as_bytes())
        };
        numbers.filter(marked).filter_map(Pid::from_raw).collect()
    }

    pub fn keeper(&self) -> Option<Pid> {
        let is_keeper = |pid: &Pid| {
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "ralph-keeper")
        };
        self.alive().into_iter().find(is_keeper)
    }

    #[track_caller]
    pub fn nothing_is_left(&self) {
        assert_eq!(self.alive(), [], "still alive");
    }

    #[track_caller]
    pub fn soon_nothing_is_left(&self) {
        until("the end of all processes", || self.alive().is_empty());
    }

    /// Output without what differs from one time to the next.
    pub fn tidy(&self, text: &str) -> String {
        let mut text = text.replace(RALPH, "[RALPH]").replace(self.root.to_str().unwrap(), "[ROOT]");
        for id in self.runs() {
            text = text.replace(&id, "[RUN]");
        }
        without_times(&without_hashes(&without_dates(&text)))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        for pid in self.alive() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// `2026-11-15 22:15` as `[DATE]`.
fn without_dates(text: &str) -> String {
    const SHAPE: &[u8] = b"dddd-dd-dd dd:dd";
    let is_date = |window: &[u8]| {
        window.iter().zip(SHAPE).all(|(c, s)| if *s == b'd' { c.is_ascii_digit() } else { c == s })
    };
    let mut dates: Vec<&str> = (0..text.len().saturating_sub(SHAPE.len() - 1))
        .filter(|at| is_date(&text.as_bytes()[*at..*at + SHAPE.len()]))
        .map(|at| &text[at..at + SHAPE.len()])
        .collect();
    dates.dedup();
    dates.iter().fold(text.to_owned(), |text, date| text.replace(date, "[DATE]"))
}

/// Names of texts and trees as `[HASH]`.
fn without_hashes(text: &str) -> String {
    let words = text.split_inclusive(|c: char| !c.is_ascii_hexdigit());
    words
        .map(|word| {
            let hash = word.trim_end_matches(|c: char| !c.is_ascii_hexdigit());
            if hash.len() >= 40 { format!("[HASH]{}", &word[hash.len()..]) } else { word.to_owned() }
        })
        .collect()
}

/// `12ms` and `1.5s` as `[TIME]`.
fn without_times(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
        let after = &number[end..];
        let word = after.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after.len());
        let glued = before.ends_with(|c: char| c.is_ascii_alphanumeric());
        out.push_str(before);
        if matches!(&after[..word], "s" | "ms") && !glued {
            out.push_str("[TIME]");
            rest = &after[word..];
        } else {
            out.push_str(&number[..end]);
            rest = after;
        }
    }
    out + rest
}

/// Waits, with an end.
#[track_caller]
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        sleep(Duration::from_millis(10));
    }
}

/// A program at work.
pub struct Running {
    child: Child,
    out: PathBuf,
    err: PathBuf,
    started: Instant,
}

impl Running {
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.out).unwrap()).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.err).unwrap()).into_owned()
    }

    /// Kills the program itself and nothing else, and waits for its end.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    #[track_caller]
    pub fn end(mut self) -> Ran {
        let deadline = self.started + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                let _ = self.child.kill();
                panic!("no end:\n{}\n{}", fs::read_to_string(&self.out).unwrap(), self.stderr());
            }
            sleep(Duration::from_millis(3));
        };
        let bytes = fs::read(&self.out).unwrap();
        Ran {
            code: status.code(),
            stdout: String::from_utf8_lossy(&bytes).into_owned(),
            stderr: self.stderr(),
            took: self.started.elapsed(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that has ended.
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Ran {
    #[track_caller]
    pub fn exits(self, code: i32) -> Ran {
        let Ran { stdout, stderr, .. } = &self;
        assert_eq!(self.code, Some(code), "\n--- stdout\n{stdout}\n--- stderr\n{stderr}");
        self
    }

    /// The one object on standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("{e}\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr))
    }

    #[track_caller]
    pub fn says(self, text: &str) -> Ran {
        assert!(
            self.stdout.contains(text) || self.stderr.contains(text),
            "neither stdout nor stderr has {text:?}\n--- stdout\n{}\n--- stderr\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Ends with this code and, in `--format json`, this reason after so many iterations.
    #[track_caller]
    pub fn stops(self, code: i32, reason: &str, iterations: u64) -> Value {
        let ran = self.exits(code);
        let result = ran.json();
        assert_eq!(result["stop_reason"], reason, "{result:#}");
        assert_eq!(result["total_iterations"], iterations, "{result:#}");
        assert_eq!(result["success"], reason == "completed", "{result:#}");
        result
    }
}

/// What an agent was started with, one word a line, without what differs each time.
pub fn lasting(args: &str) -> Vec<&str> {
    let mut words = args.lines();
    let mut lasting = Vec::new();
    while let Some(word) = words.next() {
        if matches!(word, "--session-id" | "--max-budget-usd" | "--settings") {
            words.next();
        } else {
            lasting.push(word);
        }
    }
    lasting
}

/// Whether this process, and so what it starts, ignores a signal: as under `nohup`.
pub fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    u64::from_str_radix(mask, 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
}
