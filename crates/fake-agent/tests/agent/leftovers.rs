//! Leftovers really outlive the agent, each in its own way, and end when told.

use crate::stage::{Stage, stderr};
use rustix::process::{Pid, Signal, getsid, kill_process};
use std::fs;
use std::io::Read;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// A stage whose script leaves one process behind. Dropping it ends the process.
struct Left {
    stage: Stage,
}

impl Left {
    fn with(leave: &str, then: &str) -> Left {
        let script = format!(
            r#"{{"calls": [[{{"leave": {{{leave}, "pid_file": "pids"}}}}, {{"say": "left"}} {then}]]}}"#
        );
        Left { stage: Stage::with(&script) }
    }

    /// Plays to the end. Returns although the leftover lives: it does not hold stdout.
    fn run(&self) -> Pid {
        let output = self.stage.run();
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(output.stdout, b"left\n");
        self.last()
    }

    fn pids(&self) -> Vec<Pid> {
        let text = self.stage.read("pids");
        // The last line may still be in the making.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| Pid::from_raw(line.parse().unwrap()).unwrap()).collect()
    }

    fn last(&self) -> Pid {
        *self.pids().last().unwrap()
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        for pid in self.pids() {
            // A process id may belong to another process by now; only ours is meant.
            if is_agent(pid) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// The fields of /proc/PID/stat from the state on, unless the process is gone.
fn stat(pid: Pid) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = text.rsplit_once(") ")?.1.split(' ').map(str::to_owned).collect();
    Some(fields)
}

/// A zombie is dead: it only waits for its parent to notice.
fn lives(pid: Pid) -> bool {
    stat(pid).is_some_and(|fields| fields[0] != "Z" && fields[0] != "X")
}

fn parent(pid: Pid) -> String {
    stat(pid).unwrap()[1].clone()
}

fn group(pid: Pid) -> String {
    stat(pid).unwrap()[2].clone()
}

fn is_agent(pid: Pid) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.windows(8).any(|part| part == b"--linger"))
}

fn end(mut agent: Child) {
    agent.kill().unwrap();
    agent.wait().unwrap();
}

/// Starts the agent, and returns when it has left the process behind.
fn start(left: &Left) -> Child {
    let mut agent = left.stage.start();
    let mut said = [0; 5];
    agent.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
    assert_eq!(&said, b"left\n");
    agent
}

#[test]
fn a_child_stays_in_the_group_and_outlives_the_agent() {
    let left = Left::with(r#""kind": "child""#, r#", {"hang": true}"#);
    let agent = start(&left);
    let pid = left.last();
    assert_eq!(parent(pid), agent.id().to_string());
    assert_eq!(group(pid), group(Pid::from_child(&agent)));
    end(agent);
    assert!(lives(pid));
    kill_process(pid, Signal::TERM).unwrap();
    eventually("the child ends by SIGTERM", || !lives(pid));
}

#[test]
fn a_setsid_child_has_its_own_session_and_ignores_polite_signals() {
    let left = Left::with(r#""kind": "setsid", "ignore_term": true"#, "");
    let pid = left.run();
    assert_eq!(getsid(Some(pid)).unwrap(), pid);
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        kill_process(pid, signal).unwrap();
    }
    thread::sleep(Duration::from_millis(100));
    assert!(lives(pid));
    kill_process(pid, Signal::KILL).unwrap();
    eventually("the child ends by SIGKILL", || !lives(pid));
}

#[test]
fn a_double_fork_leaves_an_orphan_while_the_agent_runs() {
    let left = Left::with(r#""kind": "double_fork""#, r#", {"hang": true}"#);
    let agent = start(&left);
    let pid = left.last();
    eventually("the process between ends", || parent(pid) != agent.id().to_string());
    assert_eq!(getsid(Some(pid)).unwrap(), pid);
    assert_eq!(left.pids().len(), 1);
    end(agent);
    assert!(lives(pid));
}

#[test]
fn a_refork_moves_on_and_ends_in_time() {
    let left = Left::with(r#""kind": "refork", "seconds": 1, "ignore_term": true"#, "");
    let first = left.run();
    eventually("others take over", || left.pids().len() > 5);
    assert!(!lives(first));
    eventually("the last one ends", || {
        let seen = left.pids().len();
        thread::sleep(Duration::from_millis(300));
        seen == left.pids().len() && !lives(left.last())
    });
}

#[test]
fn every_leftover_ends_by_itself() {
    for kind in ["child", "setsid", "double_fork"] {
        let left = Left::with(&format!(r#""kind": "{kind}", "seconds": 1, "ignore_term": true"#), "");
        let pid = left.run();
        assert!(lives(pid), "{kind}");
        eventually("its time is over", || !lives(pid));
    }
}

#[test]
fn stdout_stays_open_as_long_as_a_leftover_holds_it() {
    for kind in ["child", "double_fork"] {
        let left = Left::with(&format!(r#""kind": "{kind}", "hold_stdout": true"#), "");
        let mut agent = left.stage.command().stderr(Stdio::null()).spawn().unwrap();
        let mut out = agent.stdout.take().unwrap();
        assert!(agent.wait().unwrap().success());

        let (sender, ended) = mpsc::channel();
        let reader = thread::spawn(move || {
            let mut all = Vec::new();
            out.read_to_end(&mut all).unwrap();
            sender.send(all).unwrap();
        });
        assert!(ended.recv_timeout(Duration::from_millis(150)).is_err(), "{kind}");
        kill_process(left.last(), Signal::KILL).unwrap();
        assert_eq!(ended.recv_timeout(Duration::from_secs(10)).unwrap(), b"left\n");
        reader.join().unwrap();
    }
}

#[test]
fn a_leftover_that_cannot_start_is_an_error() {
    let stage = Stage::with(r#"{"calls": [[{"leave": {"kind": "child", "pid_file": "script.json/x"}}]]}"#);
    let output = stage.run();
    assert_eq!(output.status.code(), Some(74));
    assert!(stderr(&output).contains("the leftover did not start"), "{}", stderr(&output));
}

/// Waits for something that happens soon, and says what it was when it does not.
fn eventually(what: &str, mut happened: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(10);
    while !happened() {
        assert!(Instant::now() < limit, "in vain: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
