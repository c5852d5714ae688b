//! The faults, how often each is chosen, and how often each was injected.

use crate::life::Life;
use crate::procs::Process;
use crate::rng::Rng;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// SIGKILL for ralph itself.
    Engine,
    Keeper,
    Agent,
    Check,
    /// A git command that records a checkpoint.
    Git,
    /// Both within a few milliseconds: what they ran is left to the next resume.
    EngineThenKeeper,
    KeeperThenEngine,
    /// As a reboot does. Drawn by rounds of a whole plan only.
    Everything,
    Term,
    TermTwice,
    Int,
    IntTwice,
    /// ralph is killed, then some bytes of the journal's last line are cut off.
    Cut,
    /// ralph is killed, then something that is no fact stands at the journal's end.
    Garbage,
}

const WEIGHTS: [(Fault, u64); 13] = [
    (Fault::Engine, 18),
    (Fault::Keeper, 14),
    (Fault::Agent, 14),
    (Fault::Check, 10),
    (Fault::Git, 4),
    (Fault::EngineThenKeeper, 8),
    (Fault::KeeperThenEngine, 6),
    (Fault::Term, 4),
    (Fault::TermTwice, 4),
    (Fault::Int, 3),
    (Fault::IntTwice, 3),
    (Fault::Cut, 8),
    (Fault::Garbage, 4),
];

impl Fault {
    pub fn choose(rng: &mut Rng) -> Fault {
        let mut left = rng.below(WEIGHTS.iter().map(|(_, weight)| weight).sum());
        for (fault, weight) in WEIGHTS {
            match left.checked_sub(weight) {
                Some(less) => left = less,
                None => return fault,
            }
        }
        Fault::Engine
    }

    fn name(self) -> &'static str {
        match self {
            Fault::Engine => "engine killed",
            Fault::Keeper => "keeper killed",
            Fault::Agent => "agent killed",
            Fault::Check => "check killed",
            Fault::Git => "git killed",
            Fault::EngineThenKeeper => "engine and keeper killed",
            Fault::KeeperThenEngine => "keeper and engine killed",
            Fault::Everything => "everything killed",
            Fault::Term => "SIGTERM",
            Fault::TermTwice => "SIGTERM twice",
            Fault::Int => "SIGINT",
            Fault::IntTwice => "SIGINT twice",
            Fault::Cut => "journal cut",
            Fault::Garbage => "garbage in the journal",
        }
    }

    /// The process that is hit, if it is there now.
    pub fn target(self, life: &Life) -> Option<Process> {
        match self {
            Fault::Keeper | Fault::EngineThenKeeper | Fault::KeeperThenEngine => life.keeper(),
            Fault::Agent => life.keeper()?.children().into_iter().find(|child| is_agent(*child)),
            Fault::Check => life.keeper()?.children().into_iter().find(|child| is_check(*child)),
            Fault::Git => life.ralph.children().into_iter().find(|child| is_checkpoint(*child)),
            Fault::Engine
            | Fault::Everything
            | Fault::Term
            | Fault::TermTwice
            | Fault::Int
            | Fault::IntTwice
            | Fault::Cut
            | Fault::Garbage => Some(life.ralph),
        }
    }
}

/// Survivors are the keeper's children, too.
fn is_agent(process: Process) -> bool {
    let arguments = process.arguments();
    let names = ["__agent\0", "/claude\0", "/agent.sh\0"];
    names.iter().any(|name| arguments.contains(name)) && !arguments.contains("--linger")
}

fn is_check(process: Process) -> bool {
    let arguments = process.arguments();
    // In a sandbox it comes after the program that makes that.
    arguments.starts_with("/bin/sh\0-c\0") || arguments.contains("\0/bin/sh\0-c\0")
}

/// Other questions to git stand at the beginning, where a person waits and sees the answer.
fn is_checkpoint(process: Process) -> bool {
    process.arguments().contains("\0--git-dir=")
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What was done so far.
#[derive(Default)]
pub struct Tally {
    pub rounds: u32,
    pub lives: u32,
    pub iterations: u32,
    /// How often engine and keeper together left something to the next one.
    pub left_behind: u32,
    /// The longest that processes took to be gone after a death.
    pub slowest_sweep: Duration,
    by_kind: BTreeMap<Fault, u32>,
    /// What was asked of workers.
    asked: BTreeMap<&'static str, u32>,
}

impl Tally {
    pub fn count(&mut self, fault: Fault) {
        *self.by_kind.entry(fault).or_default() += 1;
    }

    pub fn count_ask(&mut self, what: &'static str) {
        *self.asked.entry(what).or_default() += 1;
    }

    pub fn faults(&self) -> u32 {
        self.by_kind.values().sum()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (fault, count) in &self.by_kind {
            writeln!(f, "{count:>6} {fault}")?;
        }
        for (what, count) in &self.asked {
            writeln!(f, "{count:>6} {what}, not counted as a fault")?;
        }
        write!(
            f,
            "{:>6} faults in {} rounds, {} lives of ralph, {} iterations\n       \
             processes were gone after {} ms at most, {} times left to the next run or resume",
            self.faults(),
            self.rounds,
            self.lives,
            self.iterations,
            self.slowest_sweep.as_millis(),
            self.left_behind
        )
    }
}
