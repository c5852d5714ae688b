//! Workers, on real tmux: every scenario, edge case and recovery procedure that was carried over,
//! by name, and what happens when parts of them are killed.

mod control;
mod edges;
mod faults;
mod input;
mod recovery;
mod scenarios;
mod silence;
mod templates;

use crate::support::{Agent, Ran, Sandbox, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// A place for workers, and what tests ask of them.
pub struct Yard(pub Sandbox);

impl Yard {
    /// With a prompt file, small waits, and the bare prompt.
    pub fn new() -> Yard {
        let sandbox = Sandbox::bare();
        sandbox.plain_settings();
        sandbox.write("PROMPT.md", "Do task A\n");
        Yard(sandbox)
    }

    /// An agent that keeps its prompt, prints a line, and ends once the test says so.
    pub fn waiting_agent(&self) -> Agent {
        self.0.sh_agent(
            "cat > part.$RALPH_ITERATION; mv part.$RALPH_ITERATION got.$RALPH_ITERATION; echo at work; \
             until [ -e go.$RALPH_ITERATION ]; do sleep 0.02; done; exit $(cat go.$RALPH_ITERATION)",
        )
    }

    /// Lets the waiting agent of an iteration end, with this exit code.
    pub fn go(&self, iteration: u32, code: i32) {
        let path = self.0.project().join(format!("go.{iteration}"));
        fs::write(path.with_extension("part"), code.to_string()).unwrap();
        fs::rename(path.with_extension("part"), path).unwrap();
    }

    /// Waits until the agent of an iteration has its prompt.
    #[track_caller]
    pub fn until_begun(&self, iteration: u32) {
        self.until_log("agent", &format!("[START] iteration {iteration}/"));
        self.until_exists(&format!("got.{iteration}"));
    }

    #[track_caller]
    pub fn until_exists(&self, name: &str) {
        until(name, || self.0.has(name));
    }

    /// `ralph spawn --name NAME ARGS -- AGENT`.
    pub fn spawn_as(&self, name: &str, args: &[&str], agent: &Agent) -> Ran {
        self.0.ralph(&[&["spawn", "--name", name], args, &["--"], &agent.words()[..]].concat())
    }

    pub fn spawn(&self, args: &[&str], agent: &Agent) -> Ran {
        self.spawn_as("agent", &[&["--prompt-file", "./PROMPT.md"], args].concat(), agent)
    }

    pub fn file(&self, worker: &str, name: &str) -> PathBuf {
        self.0.home().join("workers").join(worker).join(name)
    }

    pub fn log(&self, worker: &str) -> String {
        fs::read_to_string(self.file(worker, "iterations.log")).unwrap_or_default()
    }

    /// The log without its times.
    pub fn events(&self, worker: &str) -> Vec<String> {
        self.log(worker).lines().map(|line| line.split_once(' ').unwrap().1.to_string()).collect()
    }

    pub fn output(&self, worker: &str) -> String {
        fs::read_to_string(self.file(worker, "output.log")).unwrap_or_default()
    }

    pub fn state(&self, worker: &str) -> Value {
        let text = fs::read_to_string(self.file(worker, "state.json")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    #[track_caller]
    pub fn until_log(&self, worker: &str, line: &str) {
        until(line, || self.log(worker).contains(line));
    }

    #[track_caller]
    pub fn until_says(&self, worker: &str, line: &str) {
        until(line, || self.output(worker).contains(line));
    }

    #[track_caller]
    pub fn until_state(&self, worker: &str, status: &str) {
        until(status, || self.state(worker)["status"] == status);
    }

    #[track_caller]
    pub fn ends(&self, worker: &str, code: i32) {
        self.0.ralph(&["wait", worker]).exits(code);
    }

    pub fn status(&self, worker: &str) -> String {
        self.0.ralph(&["status", worker]).exits(0).stdout
    }

    /// The loop of the only run.
    pub fn loop_pid(&self) -> Pid {
        let found = self.0.alive().into_iter().find(|pid| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.split(|byte| *byte == 0).any(|word| word == b"__worker")
        });
        found.unwrap_or_else(|| panic!("no loop is alive"))
    }

    pub fn agent_pid(&self) -> Pid {
        let found = self.0.alive().into_iter().find(|pid| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            environ.windows(10).any(|window| window == b"RALPH_RUN=") && words.starts_with(b"sh\0-c\0cat")
        });
        found.unwrap_or_else(|| panic!("no agent is alive"))
    }

    /// Kills the loop and waits until its keeper has swept up.
    pub fn kill_loop(&self) {
        kill_process(self.loop_pid(), Signal::KILL).unwrap();
        until("the sweep", || self.0.keeper().is_none());
    }

    /// `tmux ARGS` with the server of this yard.
    pub fn tmux(&self, args: &str) -> Ran {
        let script = format!("tmux -L \"$(basename $TMUX_TMPDIR/tmux-*/ralph-*)\" {args}");
        self.0.shell(&script)
    }

    pub fn windows(&self) -> Vec<String> {
        let ran = self.tmux("list-windows -t =ralph -F '#{window_name}'");
        ran.stdout.lines().map(String::from).collect()
    }

    /// What is seen in a worker's window.
    pub fn pane(&self, worker: &str) -> String {
        let listed = self.tmux("list-windows -t =ralph -F '#{window_id} #{window_name}'").stdout;
        let found =
            listed.lines().find_map(|line| line.strip_suffix(&format!(" {worker}")).map(String::from));
        found.map(|id| self.tmux(&format!("capture-pane -p -t {id}")).stdout).unwrap_or_default()
    }

    /// How often each iteration was judged, as the only run's journal has it.
    pub fn judged(&self) -> Vec<u64> {
        self.0.facts().iter().filter_map(|fact| fact["judged"]["iteration"].as_u64()).collect()
    }
}
