//! A project, a home and a scripted model for one real agent.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};
use stub_model::{Scenario, Seen, Server};
use tempfile::TempDir;

const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

/// Where `make e2e` has put the agents.
const AGENTS: &str = "RALPH_E2E_AGENTS";

/// What Codex needs where its own sandbox does not work; `make e2e` finds out.
const CODEX_FLAGS: &str = "RALPH_E2E_CODEX_FLAGS";

/// Far more than any of it takes on a busy machine, and still an end.
pub const PATIENCE: Duration = Duration::from_secs(90);

pub const DONE: &str = "<response>DONE</response>";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Real {
    Claude,
    Codex,
}

impl Real {
    fn program(self) -> &'static str {
        match self {
            Real::Claude => "claude",
            Real::Codex => "codex",
        }
    }
}

pub struct Stage {
    _dir: TempDir,
    root: PathBuf,
    agents: PathBuf,
    pub real: Real,
    pub server: Server,
    pays: Pays,
    sandbox: &'static str,
    started: AtomicU32,
}

/// How Claude is paid for, made up either way.
enum Pays {
    ByTheToken,
    BySubscription,
}

impl Stage {
    /// None where there are no real agents.
    pub fn set(real: Real, runs: &Value) -> Option<Stage> {
        Stage::set_inside("none", real, runs)
    }

    pub fn set_inside(sandbox: &'static str, real: Real, runs: &Value) -> Option<Stage> {
        Stage::set_all(sandbox, real, json!({"runs": runs}))
    }

    pub fn set_scenario(real: Real, scenario: Value) -> Option<Stage> {
        Stage::set_all("none", real, scenario)
    }

    fn set_all(sandbox: &'static str, real: Real, scenario: Value) -> Option<Stage> {
        let Some(agents) = std::env::var_os(AGENTS).map(PathBuf::from) else {
            eprintln!("skipped: `make e2e` runs it with the real {}", real.program());
            return None;
        };
        // Landlock leaves the temporary directory of the system open, and ralph's home must not be there.
        let dir = match sandbox {
            "landlock" => TempDir::with_prefix_in("ralph-e2e-", env!("CARGO_TARGET_TMPDIR")),
            _ => TempDir::with_prefix("ralph-e2e-"),
        };
        let dir = dir.unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["project", "tmp", "user/.codex"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let server = Server::start(Scenario::of(scenario).unwrap()).unwrap();
        // Without the last three Codex asks other hosts for plugins and tells them what it did.
        let config = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"stub\"\n[model_providers.stub]\nname = \"stub\"\n\
             base_url = \"{}/v1\"\nenv_key = \"STUB_KEY\"\nwire_api = \"responses\"\n\
             [features]\nplugins = false\napps = false\n[analytics]\nenabled = false\n",
            server.url()
        );
        fs::write(root.join("user/.codex/config.toml"), config).unwrap();
        let started = AtomicU32::new(0);
        let stage = Stage { _dir: dir, root, agents, real, server, pays: Pays::ByTheToken, sandbox, started };
        stage.git(&["init", "-q", "-b", "main"]);
        stage.git(&["config", "user.name", "Someone"]);
        stage.git(&["config", "user.email", "someone@localhost"]);
        fs::write(stage.path("README"), "a project\n").unwrap();
        stage.git(&["add", "."]);
        stage.git(&["commit", "-q", "-m", "begin"]);
        stage.settings(json!({}));
        Some(stage)
    }

    pub fn with_subscription(mut self) -> Stage {
        self.pays = Pays::BySubscription;
        self
    }

    /// Whether Codex runs in a sandbox of its own.
    pub fn codex_has_a_sandbox() -> bool {
        std::env::var_os(CODEX_FLAGS).is_none()
    }

    /// The project's settings, beside the agent.
    pub fn settings(&self, mut settings: Value) {
        settings["agent"]["command"] = json!(self.real.program());
        if self.real == Real::Codex
            && let Ok(flags) = std::env::var(CODEX_FLAGS)
        {
            settings["agent"]["flags"] = json!([flags]);
        }
        settings["backoff"] = json!({"base": 0.01, "cap": 0.05});
        fs::create_dir_all(self.path(".ralph")).unwrap();
        fs::write(self.path(".ralph/settings.json"), settings.to_string()).unwrap();
    }

    /// A path in the project.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join("project").join(name)
    }

    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// A path in the home of the user.
    pub fn user(&self, name: &str) -> PathBuf {
        self.root.join("user").join(name)
    }

    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut path = self.agents.join("node_modules/.bin").into_os_string();
        path.push(":");
        // What the plugin calls.
        path.push(Path::new(RALPH).parent().unwrap());
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        let mut command = Command::new(program);
        command.current_dir(self.root.join("project")).env_clear().stdin(Stdio::null());
        command
            .env("PATH", path)
            .env("HOME", self.root.join("user"))
            .env("RALPH_HOME", self.home())
            .env("RALPH_SANDBOX", self.sandbox);
        command.env("TMPDIR", self.root.join("tmp")).env("LANG", "C.UTF-8").env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("TMUX_TMPDIR", self.root.join("tmp"));
        // A request for another host arrives here and is refused.
        let url = self.server.url();
        command.env("HTTPS_PROXY", url).env("HTTP_PROXY", url).env("NO_PROXY", "127.0.0.1,localhost");
        match self.real {
            Real::Claude => {
                command.env("ANTHROPIC_BASE_URL", url);
                match self.pays {
                    Pays::ByTheToken => command.env("ANTHROPIC_API_KEY", "stub-key-0123"),
                    Pays::BySubscription => command.env("CLAUDE_CODE_OAUTH_TOKEN", "stub-token-0123"),
                };
                // As root it acts without asking only where it is told to be in a sandbox; ralph tells it so in its own.
                if self.sandbox == "none" {
                    command.env("IS_SANDBOX", "1");
                }
                command.env("CLAUDE_CODE_MAX_RETRIES", "3");
                for off in
                    ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER"]
                {
                    command.env(off, "1");
                }
            }
            Real::Codex => {
                command.env("STUB_KEY", "stub-key-0123");
            }
        }
        command
    }

    /// For temporary files, and for the sockets of tmux.
    pub fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Where ralph keeps its records.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let output = self.command("git").args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// `ralph ARGS`, still running.
    pub fn start(&self, args: &[&str]) -> Running<'_> {
        self.start_with(args, &[])
    }

    /// The same, with these variables.
    pub fn start_with(&self, args: &[&str], env: &[(&str, &str)]) -> Running<'_> {
        let mut command = self.command(RALPH);
        command.args(args).envs(env.iter().copied());
        self.spawn(command)
    }

    /// Another program, as ralph is started.
    pub fn start_program(&self, program: &Path, args: &[&str]) -> Running<'_> {
        let mut command = self.command(program);
        command.args(args);
        self.spawn(command)
    }

    fn spawn(&self, mut command: Command) -> Running<'_> {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let [out, err] = ["out", "err"].map(|end| self.root.join(format!("std-{number}.{end}")));
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        Running { stage: self, child: command.spawn().unwrap(), out, err, began: Instant::now() }
    }

    /// `ralph run ARGS --format json` to its end.
    pub fn run(&self, args: &[&str]) -> Ran {
        self.start(&[&["run", "--format", "json"], args].concat()).end()
    }

    /// The real agent, by its path.
    pub fn program(&self) -> PathBuf {
        self.agents.join("node_modules/.bin").join(self.real.program())
    }

    /// The program, by its path.
    pub fn ralph() -> &'static str {
        RALPH
    }

    /// The agent as a user runs it by hand, to its end; what it printed.
    #[track_caller]
    pub fn person(&self, args: &[&str]) -> String {
        self.person_with(args, &[])
    }

    /// The same, with these variables.
    #[track_caller]
    pub fn person_with(&self, args: &[&str], env: &[(&str, &str)]) -> String {
        let mut command = self.command(self.real.program());
        command.args(args).envs(env.iter().copied());
        let ran = self.spawn(command).end();
        assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    /// The record of the only run, as it is.
    #[track_caller]
    pub fn journal(&self) -> String {
        let mut runs = fs::read_dir(self.home().join("runs")).unwrap().map(|entry| entry.unwrap().path());
        let (run, more) = (runs.next().unwrap(), runs.next());
        assert_eq!(more, None, "more than one run");
        fs::read_to_string(run.join("journal.jsonl")).unwrap()
    }

    /// What the first agent of the only run has printed so far.
    pub fn stream(&self) -> String {
        let runs = fs::read_dir(self.home().join("runs")).into_iter().flatten();
        let streams = runs.map(|entry| entry.unwrap().path().join("streams/1-1.out"));
        streams
            .map(|path| fs::read(path).unwrap_or_default())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .collect()
    }

    /// What the model was asked by the agent for its work, in order.
    pub fn turns(&self) -> Vec<Seen> {
        self.server.turns()
    }

    /// No request went to another host.
    #[track_caller]
    pub fn asked_only_the_model(&self) {
        let elsewhere = |seen: &Seen| seen.method == "CONNECT" || seen.path.starts_with("http");
        let elsewhere: Vec<String> =
            self.server.requests().into_iter().filter(elsewhere).map(|seen| seen.path).collect();
        assert!(elsewhere.is_empty(), "{elsewhere:?}");
    }

    /// Every process that was started here and lives, as far as it has kept its environment.
    pub fn alive(&self) -> Vec<Pid> {
        let marker = format!("HOME={}", self.root.join("user").display());
        processes("environ").filter(|(_, environ)| environ.contains(&marker)).map(|(pid, _)| pid).collect()
    }

    /// Those of them that were called with this word.
    pub fn alive_with(&self, word: &str) -> Vec<Pid> {
        let alive = self.alive();
        called_with(word).into_iter().filter(|pid| alive.contains(pid)).collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let alive = self.alive();
        for (pid, line) in processes("cmdline").filter(|(pid, _)| alive.contains(pid)) {
            eprintln!("still alive: {pid:?} {}", line.join(" "));
            let _ = kill_process(pid, Signal::KILL);
        }
        if std::thread::panicking() {
            for seen in self.server.requests() {
                eprintln!("asked: {seen:?}");
            }
        }
    }
}

/// The processes that were called with this word.
pub fn called_with(word: &str) -> Vec<Pid> {
    processes("cmdline").filter(|(_, line)| line.iter().any(|arg| arg == word)).map(|(pid, _)| pid).collect()
}

/// All processes with a list that the kernel keeps of them.
fn processes(list: &'static str) -> impl Iterator<Item = (Pid, Vec<String>)> {
    let numbers = fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter_map(Pid::from_raw).map(move |pid| {
        let bytes = fs::read(Path::new("/proc").join(pid.to_string()).join(list)).unwrap_or_default();
        let entries = bytes.split(|byte| *byte == 0).map(|entry| String::from_utf8_lossy(entry).into_owned());
        (pid, entries.collect())
    })
}

/// Waits, with an end.
#[track_caller]
pub fn until(what: &str, done: impl FnMut() -> bool) {
    until_or(|| what.to_owned(), done);
}

/// The same, where what to say is known only then.
#[track_caller]
pub fn until_or(what: impl Fn() -> String, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "waited in vain for {}", what());
        sleep(Duration::from_millis(20));
    }
}

/// A ralph at work.
pub struct Running<'a> {
    stage: &'a Stage,
    child: Child,
    out: PathBuf,
    err: PathBuf,
    began: Instant,
}

impl Running<'_> {
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.err).unwrap()).into_owned()
    }

    #[track_caller]
    pub fn end(mut self) -> Ran {
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            let said = || format!("{}\n{}", fs::read_to_string(&self.out).unwrap(), self.stderr());
            assert!(self.began.elapsed() < PATIENCE, "no end of {:?}:\n{}", self.stage.real, said());
            sleep(Duration::from_millis(10));
        };
        let stdout = String::from_utf8_lossy(&fs::read(&self.out).unwrap()).into_owned();
        Ran { code: status.code(), stdout, stderr: self.stderr(), took: self.began.elapsed() }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A ralph that has ended.
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Ran {
    /// Its result, where it ended with this code, for this reason, after so many iterations.
    #[track_caller]
    pub fn stops(&self, code: i32, reason: &str, iterations: u64) -> Value {
        let Ran { stdout, stderr, took, .. } = self;
        let output = format!("after {took:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}");
        assert_eq!(self.code, Some(code), "{output}");
        let result: Value = serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error} {output}"));
        assert_eq!(result["stop_reason"], reason, "{output}");
        assert_eq!(result["total_iterations"], iterations, "{output}");
        result
    }
}
