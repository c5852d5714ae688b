//! A scratch project, a scratch home and a scripted model for one run of a real agent.
//!
//! The agent is driven by `ralph run` itself, so a probe tries the same code as everyday work.
//! Invariants: nothing of the user's environment but `PATH` and the choice of a sandbox gets in, keys
//! included, and for Claude whether it is in one already; requests to other hosts go to the scripted model
//! as to a proxy, which refuses them; everything ends.

use crate::error::CliError;
use crate::fsx;
use crate::git;
use crate::process::Exit;
use crate::process::tool::{Tool, ToolError, ToolOutput};
use crate::request::root;
use crate::settings::SANDBOX;
use ralph_loop::text::{clip, printable};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use stub_model::{Scenario, Server};
use tempfile::TempDir;

/// Far more than an agent takes for two answers, and still an end.
const AGENT_TIME: Duration = Duration::from_secs(60);
/// Enough to start and to ask the model.
const SHORT_TIME: Duration = Duration::from_secs(8);
const PATIENCE: Duration = Duration::from_secs(90);
/// How long an agent may take to exit after the second signal.
pub const GOING: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);

const KEY: &str = "stub-key-0123";
pub const BYPASS: &str = "--dangerously-bypass-approvals-and-sandbox";

/// The file that the model wants written, and how.
pub const FILE: &str = "made.txt";
pub const CONTENT: &str = "made\n";
const COMMAND: &str = "echo made > made.txt";
/// What the model says before.
pub const WORDS: &str = "I write the file.";

/// The agents that can be pointed at the scripted model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    Claude,
    Codex,
}

impl Agent {
    pub const ALL: [Agent; 2] = [Agent::Claude, Agent::Codex];

    pub fn name(self) -> &'static str {
        match self {
            Agent::Claude => "claude",
            Agent::Codex => "codex",
        }
    }
}

/// How the agent is told to behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// It may act without asking.
    Autonomous,
    /// The same, without the sandbox that Codex cannot set up here.
    Unboxed,
    /// It would have to ask, and there is no one to answer.
    None,
}

pub struct Probe {
    agent: Agent,
    _scratch: TempDir,
    root: PathBuf,
    pub server: Server,
}

/// What came of one `ralph run`.
pub struct Observed {
    pub exit: Option<Exit>,
    /// The lines of `--format ndjson`.
    pub events: Vec<Value>,
    stderr: String,
    /// Why there is nothing to observe.
    trouble: Option<String>,
}

impl Probe {
    /// The model asks for a file to be written and is content.
    pub fn that_writes(agent: Agent, leave: Leave) -> Result<Probe, CliError> {
        let steps = json!([
            {"text": WORDS, "tools": [{"shell": COMMAND}]},
            {"text": "It is written. <response>DONE</response>"},
        ]);
        Probe::set(agent, leave, &steps)
    }

    /// The model thinks for longer than anybody waits.
    pub fn that_thinks(agent: Agent, leave: Leave) -> Result<Probe, CliError> {
        Probe::set(agent, leave, &json!([{"text": "late", "delay_ms": 600_000}]))
    }

    fn set(agent: Agent, leave: Leave, steps: &Value) -> Result<Probe, CliError> {
        Probe::try_set(agent, leave, steps)
            .map_err(|cause| CliError::failed("cannot set up the probe").cause(cause))
    }

    fn try_set(agent: Agent, leave: Leave, steps: &Value) -> Result<Probe, Box<dyn Error>> {
        let scratch = tempfile::Builder::new().prefix("ralph-verify-").tempdir()?;
        let root = scratch.path().canonicalize()?;
        let server = Server::start(Scenario::of(json!({"runs": [{"steps": steps}]}))?)?;
        let probe = Probe { agent, _scratch: scratch, root, server };
        for name in ["project/.ralph", "tmp", "user/.codex"] {
            fsx::dir(&probe.root.join(name))?;
        }
        let flags: &[&str] = if leave == Leave::Unboxed { &[BYPASS] } else { &[] };
        let settings = json!({
            "agent": {"command": agent.name(), "flags": flags, "autonomous": leave != Leave::None},
            "checkpoints": false,
            "backoff": {"base": 0.01, "cap": 0.05},
        });
        fsx::write_whole(&probe.path(".ralph/settings.json"), settings.to_string().as_bytes())?;
        // The last three keep Codex from asking other hosts for plugins and telling what it did.
        let config = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"stub\"\n[model_providers.stub]\nname = \"stub\"\n\
             base_url = \"{}/v1\"\nenv_key = \"STUB_KEY\"\nwire_api = \"responses\"\n\
             [features]\nplugins = false\napps = false\n[analytics]\nenabled = false\n",
            probe.server.url()
        );
        fsx::write_whole(&probe.root.join("user/.codex/config.toml"), config.as_bytes())?;
        // Agents work without git as well.
        git::scratch_repository(&probe.path(""));
        Ok(probe)
    }

    /// A path in the project.
    fn path(&self, name: &str) -> PathBuf {
        self.root.join("project").join(name)
    }

    fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// What is in the file that the model wants written.
    pub fn written(&self) -> Option<String> {
        fs_err::read(self.path(FILE)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A program in the scratch project and its environment.
    fn tool(&self, program: impl AsRef<OsStr>) -> Tool<'static> {
        let names =
            std::env::vars_os().map(|(name, _)| name).filter(|name| name != "PATH" && name != SANDBOX);
        let tool = names.fold(Tool::new(program), Tool::env_remove).timeout(PATIENCE);
        let url = self.server.url();
        let tool = tool
            .cwd(self.path(""))
            .env("HOME", self.root.join("user"))
            .env("RALPH_HOME", self.home())
            .env("TMPDIR", self.root.join("tmp"))
            .env("LANG", "C.UTF-8")
            .env("HTTPS_PROXY", url)
            .env("HTTP_PROXY", url)
            .env("NO_PROXY", "127.0.0.1,localhost");
        match self.agent {
            Agent::Claude => as_in_a_run(tool)
                .env("ANTHROPIC_BASE_URL", url)
                .env("ANTHROPIC_API_KEY", KEY)
                .env("CLAUDE_CODE_MAX_RETRIES", "1")
                .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
                .env("DISABLE_TELEMETRY", "1")
                .env("DISABLE_AUTOUPDATER", "1"),
            Agent::Codex => tool.env("STUB_KEY", KEY),
        }
    }

    /// Whether Codex can set up its own sandbox, which not every container allows.
    pub fn codex_has_a_sandbox(&self) -> bool {
        self.tool("codex").args(["sandbox", "--", "true"]).run().is_ok_and(|done| done.success())
    }

    /// One iteration, to its end.
    pub fn run(&self) -> Observed {
        Observed::of(self.ralph(AGENT_TIME).run())
    }

    /// One iteration whose time is soon over: the agent gets SIGTERM then.
    pub fn run_out_of_time(&self) -> Observed {
        Observed::of(self.ralph(SHORT_TIME).run())
    }

    /// One iteration that gets two signals once the agent has asked the model. The time is that
    /// from the second signal to the end; none where the model was not asked or there was no end.
    pub fn run_and_signal(&self) -> (Observed, Option<Duration>) {
        let tool = self.ralph(AGENT_TIME);
        thread::scope(|scope| {
            let running = scope.spawn(move || tool.run());
            let ended = || running.is_finished();
            let asked = until(PATIENCE, || ended() || !self.server.turns().is_empty()) && !ended();
            let mut took = None;
            if asked {
                self.signal(Signal::TERM);
                // Two signals of one kind at once are one.
                sleep(Duration::from_secs(1));
                let second = Instant::now();
                if !ended() {
                    self.signal(Signal::TERM);
                }
                took = until(GOING, ended).then(|| second.elapsed());
            }
            if !ended() {
                // Its keeper ends the agent then.
                self.signal(Signal::KILL);
            }
            let output = running.join().map(Observed::of);
            (output.unwrap_or_else(|_| Observed::trouble("the probe itself failed".into())), took)
        })
    }

    /// The shell leaves its number and becomes ralph.
    fn ralph(&self, time: Duration) -> Tool<'static> {
        let ralph = std::env::current_exe().unwrap_or_else(|_| "ralph".into());
        let task = format!("Write {FILE}.");
        let check = format!("test -f {FILE}");
        let time = format!("{}s", time.as_secs());
        self.tool("sh")
            .args(["-c", "echo $$ > ../pid; exec \"$@\"", "sh"])
            .arg(ralph)
            .args(["run", "--format", "ndjson", &task, "-n", "1", "--check", &check])
            .args(["--max-failures", "1", "--max-outage", "1s", "--timeout", &time])
    }

    fn signal(&self, signal: Signal) {
        let number = fs_err::read_to_string(self.root.join("pid")).ok();
        if let Some(pid) = number.and_then(|text| text.trim().parse().ok()).and_then(Pid::from_raw) {
            // One that is gone needs no signal.
            let _ = kill_process(pid, signal);
        }
    }

    /// How many processes of the probe are left; each gets a moment to be reaped.
    pub fn left(&self) -> usize {
        let marker = format!("HOME={}", self.root.join("user").display());
        until(Duration::from_secs(2), || alive(&marker) == 0);
        alive(&marker)
    }

    /// What the scripted model could not answer.
    pub fn note(&self) -> Option<String> {
        self.server.turns().into_iter().find_map(|turn| turn.note)
    }
}

impl Observed {
    fn of(ran: Result<ToolOutput, ToolError>) -> Observed {
        match ran {
            Err(error) => Observed::trouble(error.to_string()),
            Ok(ToolOutput { exit, stdout, stderr }) => {
                let stdout = String::from_utf8_lossy(&stdout);
                let events = stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
                let stderr = String::from_utf8_lossy(&stderr).into_owned();
                Observed { exit: Some(exit), events, stderr, trouble: None }
            }
        }
    }

    fn trouble(what: String) -> Observed {
        Observed { exit: None, events: Vec::new(), stderr: String::new(), trouble: Some(what) }
    }

    /// What the agent did, of one kind.
    pub fn agent(&self, kind: &str) -> impl DoubleEndedIterator<Item = &Value> {
        self.events.iter().filter(move |event| event["type"] == "agent" && event["kind"] == kind)
    }

    pub fn result(&self) -> Option<&Value> {
        self.events.iter().rfind(|event| event["type"] == "result")
    }

    /// What ralph did to the agent, in its order: `ask`, `kill`.
    pub fn cancels(&self) -> Vec<&str> {
        self.events.iter().filter_map(|event| event["fact"]["cancelled"]["how"].as_str()).collect()
    }

    /// The best explanation at hand of what went wrong.
    pub fn last_words(&self) -> String {
        let text = |value: &Value| value.as_str().map(str::to_string);
        let failed = || self.result().and_then(|result| text(&result["iterations"][0]["error"]));
        let refused = || {
            let error = &self.result()?["error"];
            let hint = text(&error["hint"]).map_or_else(String::new, |hint| format!("; {}", short(&hint)));
            Some(format!("{}{hint}", short(&text(&error["message"])?)))
        };
        let unread = || self.agent("unparsed").next().and_then(|event| text(&event["sample"]));
        let agent = || self.agent("stderr").next_back().and_then(|event| text(&event["text"]));
        let ralph = || self.stderr.lines().rfind(|line| !line.trim().is_empty()).map(str::to_string);
        let why = self.trouble.clone().or_else(failed).or_else(refused);
        let said = unread().or_else(agent).or_else(ralph);
        match (why, said) {
            (Some(why), Some(said)) if !why.contains(said.trim()) => {
                format!("{}; it said: {}", short(&why), short(&said))
            }
            (Some(why), _) => short(&why),
            (None, Some(said)) => format!("it said: {}", short(&said)),
            (None, None) => "it said nothing".to_string(),
        }
    }
}

/// As root, Claude acts without asking only where it is told to be in a sandbox: it is told what
/// a run would tell it.
fn as_in_a_run(tool: Tool<'static>) -> Tool<'static> {
    root::sandbox_variables().into_iter().fold(tool, |tool, (name, value)| tool.env(name, value))
}

/// One line of it.
pub fn short(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    clip(&printable(&words.join(" ")), 160).into_owned()
}

/// Whether it came true in time.
fn until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        if done() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        sleep(LOOK);
    }
}

/// Processes with this in their environment. Where the system does not say, none.
fn alive(marker: &str) -> usize {
    let Ok(entries) = fs_err::read_dir(Path::new("/proc")) else { return 0 };
    let marked = |path: PathBuf| {
        let environ = fs_err::read(path.join("environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry == marker.as_bytes())
    };
    entries.filter_map(Result::ok).filter(|entry| marked(entry.path())).count()
}
