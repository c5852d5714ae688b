//! Kills everything at random moments and shows that nothing is lost.
//!
//! A round is one run of `ralph run` on the scripted agent in a repository with a user's
//! unfinished work in it. While it runs, ralph, its keeper, an agent, a check or its git is
//! killed, signals are sent, and after a death the journal's last line is torn. Then the
//! run is resumed, faults and all, until it ends. After each death and at the end the
//! record, the processes, the locks and the user's work are looked at (`checks`).
//!
//! A round of stories (`stories`) is the same for `ralph stories`: twelve of them, with agents that
//! commit, fail, and spoil the user's files. A round of tasks (`tasks`) is one of `ralph tasks`: six
//! stories, with agents that implement, review, mend and cheat. A round of a worker (`workers`) is the
//! same with `ralph spawn`. A round of worktrees (`worktrees`) has two projects in one home, whose runs are
//! killed while their worktrees are laid out.
//!
//! A round of damage (`damage`) has agents that prune or delete the repository and swap directories
//! for links, and ends with an undo.
//!
//! A round in a sandbox (`confined`) has agents that commit there and try to leave it.
//!
//! A seed reproduces the choice of scripts, faults, targets and delays, not the moment a
//! process reached by then. Without variables a short round with a fixed seed is run;
//! `make faults` sets `RALPH_FAULTS` (how many) and `RALPH_FAULT_SEED` (empty: by the clock).
//!
//! Deliberately absent: power cuts (unsynced pages lost), full disks, faults inside git.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "tests drive the program from outside")]
#![expect(clippy::disallowed_macros, reason = "the driver tells what it does")]
#![expect(clippy::panic, reason = "clippy.toml allows it in tests, but not in helpers")]

mod checks;
mod confined;
mod damage;
mod fault;
mod fold;
mod life;
mod ordeal;
mod procs;
mod rng;
mod round;
mod script;
mod stage;
mod stories;
mod tasks;
mod workers;
mod worktrees;

use fault::Tally;
use rng::Rng;
use round::Round;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What happens without any variable set, as in `make test`.
const SHORT: Plan = Plan { faults: 20, seed: 4, sweep: Duration::from_secs(10) };

/// After so many failing rounds there is enough to think about.
const FAILURES: usize = 5;

#[derive(Clone, Copy)]
struct Plan {
    faults: u32,
    seed: u64,
    /// How long processes may take to be gone after a death.
    sweep: Duration,
}

impl Plan {
    fn of_environment() -> Plan {
        let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let number = |name: &str, text: String| {
            text.parse::<u64>().unwrap_or_else(|_| panic!("{name} is not a number: {text}"))
        };
        let Some(faults) = variable("RALPH_FAULTS") else { return SHORT };
        let faults = u32::try_from(number("RALPH_FAULTS", faults)).unwrap_or(u32::MAX);
        let seed = variable("RALPH_FAULT_SEED").map_or_else(by_the_clock, |s| number("RALPH_FAULT_SEED", s));
        Plan { faults, seed, sweep: Duration::from_secs(2) }
    }
}

fn by_the_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Short enough to be typed again.
    Rng::new(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)).below(1_000_000)
}

#[test]
fn nothing_is_lost_whatever_dies_and_whenever() {
    play(Plan::of_environment(), Round::play);
}

/// A round of these takes as long as several of the others.
#[test]
fn every_story_is_done_once_whatever_dies_and_whenever() {
    let plan = Plan::of_environment();
    play(Plan { faults: (plan.faults / 3).max(8), ..plan }, stories::play);
}

#[test]
fn every_task_is_approved_by_a_review_whatever_dies_and_whenever() {
    let plan = Plan::of_environment();
    play(Plan { faults: (plan.faults / 3).max(8), ..plan }, tasks::play);
}

/// The slowest: each life begins with tmux.
#[test]
fn a_worker_does_the_same_whatever_dies_and_whoever_asks() {
    let plan = Plan::of_environment();
    play(Plan { faults: (plan.faults / 6).max(4), ..plan }, workers::play);
}

#[test]
fn every_worktree_is_known_whatever_dies_while_it_is_laid_out() {
    let plan = Plan::of_environment();
    play(Plan { faults: (plan.faults / 3).max(8), ..plan }, worktrees::play);
}

#[test]
fn an_undo_brings_everything_back_whatever_agents_damage_and_whatever_dies() {
    let plan = Plan::of_environment();
    play(Plan { faults: (plan.faults / 3).max(8), ..plan }, damage::play);
}

/// Each start of a program takes longer here, and carrying over what it did takes several gits.
#[test]
fn nothing_leaves_a_sandbox_and_no_commit_is_lost_whatever_dies_and_whenever() {
    let plan = Plan::of_environment();
    play(Plan { faults: (plan.faults / 3).max(8), ..plan }, confined::play);
}

/// Rounds, until there were enough faults or failures.
fn play(plan: Plan, round: impl Fn(u64, Duration, &mut Tally) -> Result<(), String>) {
    let began = Instant::now();
    println!("seed {}, {} faults", plan.seed, plan.faults);
    let mut tally = Tally::default();
    let mut failed: Vec<String> = Vec::new();
    while tally.faults() < plan.faults && failed.len() < FAILURES {
        // The seeds of rounds follow each other, so that one can be repeated by itself.
        let seed = plan.seed.wrapping_add(u64::from(tally.rounds));
        tally.rounds += 1;
        if let Err(story) = round(seed, plan.sweep, &mut tally) {
            println!("{story}\nto repeat: make faults SEED={seed} FAULTS=1\n");
            failed.push(format!("seed {seed}: {}", story.lines().next().unwrap_or_default()));
        }
    }
    println!("{tally}\n{:.1} s", began.elapsed().as_secs_f32());
    assert!(failed.is_empty(), "{} of {} rounds failed:\n{}", failed.len(), tally.rounds, failed.join("\n"));
}
