//! A worker whose agent has a terminal, and a user who looks at it from outside.

use crate::stage::{Ran, Stage, until, until_or};
use rustix::process::Pid;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// The worker's name.
pub const NAME: &str = "w";

pub struct Worker<'a> {
    pub stage: &'a Stage,
}

impl<'a> Worker<'a> {
    /// `ralph spawn run ARGS --interactive`, which has started when this returns.
    #[track_caller]
    pub fn spawn(stage: &'a Stage, args: &[&str]) -> Worker<'a> {
        let worker = Worker { stage };
        worker.ralph(&[&["spawn", "--name", NAME, "run", "--interactive"], args].concat());
        worker
    }

    /// The same, to its end.
    pub fn spawn_and_wait(stage: &'a Stage, args: &[&str]) -> (Worker<'a>, Ran) {
        let ran =
            stage.start(&[&["spawn", "--name", NAME, "--wait", "run", "--interactive"], args].concat()).end();
        (Worker { stage }, ran)
    }

    /// A command that has to succeed; what it printed.
    #[track_caller]
    pub fn ralph(&self, args: &[&str]) -> String {
        let ran = self.stage.start(args).end();
        assert_eq!(ran.code, Some(0), "{args:?}\n{}\n{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    #[track_caller]
    pub fn status(&self) -> Value {
        serde_json::from_str(&self.ralph(&["status", NAME, "--format", "json"])).unwrap()
    }

    /// Waits until the agent waits for a person, for this; then `ralph status` says so, too.
    #[track_caller]
    pub fn until_awaits(&self, text: &str) {
        until_or(
            || format!("a wait for {text}; {:#}\n{}", self.status(), self.screen()),
            || self.awaited().is_some_and(|awaited| awaited.contains(text)),
        );
        let status = self.status();
        assert_eq!(status["status"], "waiting", "{status:#}");
        assert!(status["note"].as_str().is_some_and(|note| note.contains(text)), "{status:#}");
        let shown = self.ralph(&["status", NAME]);
        assert!(shown.contains(text), "{shown}");
    }

    /// What the agent waits for a person to do, by the journal.
    fn awaited(&self) -> Option<String> {
        let facts = self.facts();
        let last = facts.iter().rfind(|fact| !fact["blocked"].is_null())?;
        last["blocked"]["text"].as_str().map(String::from)
    }

    /// What is on the agent's terminal now.
    pub fn screen(&self) -> String {
        self.stage.start(&["logs", NAME, "--live"]).end().stdout
    }

    /// Waits until the worker has ended with this code, and no process is left. What is recorded of it.
    #[track_caller]
    pub fn ends(&self, code: i32, reason: &str, iterations: u64) -> Value {
        let waited = self.stage.start(&["wait", NAME]).end();
        let log = || self.ralph(&["logs", NAME]);
        assert_eq!(waited.code, Some(code), "{}\n{}\n{}", waited.stdout, waited.stderr, log());
        let shown: Value = serde_json::from_str(&self.ralph(&["show", NAME, "--format", "json"])).unwrap();
        assert_eq!(shown["stop_reason"], reason, "{shown:#}\n{}", log());
        assert_eq!(shown["total_iterations"], iterations, "{shown:#}\n{}", log());
        self.leaves_nothing();
        shown
    }

    /// The window closes with the worker, and the tmux server with its last window. Agents in a terminal look for news
    /// of themselves on other hosts, whatever they are told; here that is refused.
    #[track_caller]
    pub fn leaves_nothing(&self) {
        until("the end of all processes", || self.stage.alive().is_empty());
    }

    /// The facts of the only run.
    pub fn facts(&self) -> Vec<Value> {
        let journal = self.stage.journal();
        // The last line may be half written.
        let lines = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.map(|line| line["fact"].clone()).collect()
    }

    /// The lines of the streams of all agents so far, in order.
    pub fn stream(&self) -> Vec<Value> {
        let mut files: Vec<PathBuf> = fs::read_dir(self.stage.home().join("runs"))
            .into_iter()
            .flatten()
            .flat_map(|run| fs::read_dir(run.unwrap().path().join("streams")).into_iter().flatten())
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "out"))
            .collect();
        files.sort();
        let text: String = files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        // The last line may be half written.
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Whether a line of ralph's own is in the stream.
    pub fn has_line(&self, fits: impl Fn(&Value) -> bool) -> bool {
        self.stream().iter().any(|line| line["type"] == "ralph" && fits(line))
    }

    /// `tmux ARGS` with the server of this worker.
    pub fn tmux(&self, args: &[&str]) -> Ran {
        let mut words = vec!["-L".to_owned(), self.tmux_server()];
        words.extend(args.iter().map(|arg| (*arg).to_owned()));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.stage.start_program("tmux".as_ref(), &words).end()
    }

    pub fn tmux_server(&self) -> String {
        let dir = format!("tmux-{}", rustix::process::getuid().as_raw());
        let servers = fs::read_dir(self.stage.tmp().join(dir)).unwrap();
        let names = servers.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.into_iter().find(|name| name.starts_with("ralph-")).unwrap()
    }

    /// The only process here whose arguments have this one.
    #[track_caller]
    pub fn process(&self, argument: &str) -> Pid {
        let mut found = Vec::new();
        until(argument, || {
            found = self.stage.alive_with(argument);
            !found.is_empty()
        });
        assert_eq!(found.len(), 1, "{argument}: {found:?}");
        found[0]
    }

    /// The agent itself.
    #[track_caller]
    pub fn agent(&self) -> Pid {
        let host = self.process("__terminal");
        let mut found = Vec::new();
        until("the agent", || {
            found = children_of(host);
            !found.is_empty()
        });
        assert_eq!(found.len(), 1, "{:?}: {found:?}", self.stage.real);
        found[0]
    }
}

fn children_of(parent: Pid) -> Vec<Pid> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|word| Pid::from_raw(word.parse().ok()?)).collect()
}
