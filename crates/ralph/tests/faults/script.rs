//! What the agent of a round does in which iteration, and what has to come of it.

use crate::rng::Rng;
use crate::stage::AGENT_TIMEOUT_SECONDS;
use fake_agent::script::{Action, By, Call, Content, Dialect, Leave, LeaveKind, PrintMb, Script, Shape};
use ralph_loop::money::Usd;
use ralph_loop::verdict::Verdict;
use std::path::Path;

/// The first check is red until the agent has made this file.
pub const STATE_FILE: &str = "agent/state";
pub const AGENT_DIR: &str = "agent/";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Works,
    /// Exits with 1.
    Fails,
    /// Ends well and says nothing.
    Mute,
    /// Prints as fast as it can until it is ended.
    Floods,
}

#[derive(Clone, Debug)]
pub struct Part {
    pub dialect: Dialect,
    /// From this iteration on the first check can be green.
    ready: u32,
    /// From this iteration on the agent says that it is done.
    pub done: u32,
    manners: Vec<Manner>,
    pub script: Script,
}

impl Part {
    pub fn new(rng: &mut Rng, ledger: &Path, pids: &Path) -> Part {
        let dialect = rng.one_of(&[Dialect::Plain, Dialect::Claude]);
        let done = rng.within(4, 8);
        let ready = rng.within(2, done);
        let manners: Vec<Manner> = (1..=done)
            .map(|iteration| match rng.below(100) {
                0..12 if iteration < done => Manner::Fails,
                12..20 if iteration < done => Manner::Mute,
                20..28 if iteration < done => Manner::Floods,
                _ => Manner::Works,
            })
            .collect();
        let calls = (1..=done)
            .zip(&manners)
            .map(|(iteration, manner)| {
                let mut actions = begin(rng, *manner);
                actions.extend(work(iteration >= ready));
                if rng.percent(50) {
                    actions.push(Action::Leave(leftover(rng, pids)));
                    actions.push(Action::SleepMs(rng.below(25)));
                }
                actions.push(Action::SleepMs(rng.below(25)));
                actions.push(Action::Cost(dollars(iteration)));
                actions.extend(end(*manner, iteration == done));
                Call(actions)
            })
            .collect();
        let script =
            Script { dialect, by: By::Iteration, ledger: Some(ledger.into()), calls, ..Script::default() };
        Part { dialect, ready, done, manners, script }
    }

    /// The verdict on an iteration in which neither the agent nor a check was killed.
    pub fn verdict(&self, iteration: u32) -> Verdict {
        match self.manner(iteration) {
            Manner::Fails => Verdict::AgentFailed { why: "exit code 1".into() },
            Manner::Floods => {
                Verdict::AgentFailed { why: format!("timed out after {AGENT_TIMEOUT_SECONDS}s") }
            }
            Manner::Works | Manner::Mute if iteration >= self.ready => Verdict::Green { checks: 2 },
            Manner::Works | Manner::Mute => Verdict::Red { failed: vec![0] },
        }
    }

    /// What an agent of this iteration that got to its end reports to have cost.
    pub fn cost(&self, iteration: u32) -> Option<Usd> {
        match self.dialect {
            Dialect::Plain => None,
            Dialect::Claude => Some(Usd::from_dollars(dollars(iteration.min(self.done)))),
        }
    }

    /// The last entry of a script is played again and again.
    fn manner(&self, iteration: u32) -> Manner {
        self.manners[iteration.min(self.done) as usize - 1]
    }
}

/// No two iterations cost the same, nor do their sums.
fn dollars(iteration: u32) -> f64 {
    0.001 * f64::from(1 << iteration)
}

fn begin(rng: &mut Rng, manner: Manner) -> Vec<Action> {
    let mut actions = Vec::new();
    if rng.percent(15) {
        actions.push(Action::IgnoreTerm(fake_agent::script::Yes));
    }
    match manner {
        Manner::Works | Manner::Fails | Manner::Floods => {
            actions.push(Action::Say("iteration {{iteration}}".into()));
        }
        Manner::Mute => {}
    }
    actions.push(Action::SleepMs(rng.below(25)));
    actions
}

fn work(ready: bool) -> Vec<Action> {
    let content = |path: &str, content: &str| Content { path: path.into(), content: content.into() };
    let mut actions = vec![Action::Append(content("agent/log.txt", "{{iteration}}\n"))];
    if ready {
        actions.push(Action::Write(content(STATE_FILE, "ready\n")));
    }
    actions
}

fn leftover(rng: &mut Rng, pids: &Path) -> Leave {
    Leave {
        kind: rng.one_of(&[LeaveKind::Child, LeaveKind::Setsid, LeaveKind::DoubleFork, LeaveKind::Refork]),
        ignore_term: rng.percent(60),
        seconds: 60,
        hold_stdout: rng.percent(30),
        pid_file: Some(pids.display().to_string()),
    }
}

fn end(manner: Manner, done: bool) -> Vec<Action> {
    match manner {
        Manner::Fails => vec![Action::Stderr("out of luck".into()), Action::Exit(1)],
        Manner::Floods => vec![Action::PrintMb(PrintMb { mb: u64::MAX, shape: Shape::ShortLines })],
        Manner::Works if done => vec![Action::Say("<response>DONE</response>".into())],
        Manner::Works | Manner::Mute => Vec::new(),
    }
}
