//! A round: one run through all its deaths.

use crate::checks;
use crate::fault::{Fault, Tally};
use crate::fold::{Fold, fold, whole_lines};
use crate::life::{Death, Life};
use crate::procs::{Process, until_none};
use crate::rng::Rng;
use crate::stage::{Stage, about};
use rustix::process::Signal;
use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Far longer than any life takes.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// A target that does not show up for so long is let off.
const SEARCH: Duration = Duration::from_millis(400);

/// So shortly after its keeper's death an engine may still be at sweeping up.
const SWEEPING: Duration = Duration::from_millis(50);

const MOST_LIVES: usize = 40;

/// A fault and everything that is random about it.
#[derive(Clone, Copy, Debug)]
pub struct Shot {
    pub fault: Fault,
    /// Since the life began, or since the shot before.
    pub delay: Duration,
    /// Since the target was first seen.
    aim: Duration,
    /// Wait for processes that no other process waits for.
    pub amid_leftovers: bool,
    /// Between the two halves of a double fault.
    pub gap: Duration,
    /// Resume while the keeper may still be sweeping up.
    in_haste: bool,
    /// Which bytes are torn.
    tear: u64,
}

pub struct Round<'t> {
    pub stage: Stage,
    tally: &'t mut Tally,
    sweep: Duration,
    shots: VecDeque<Shot>,
    formats: Rng,
    story: Vec<String>,
    lives: usize,
    /// The run's id, once it has one.
    pub run: Option<String>,
    /// The whole lines of the journal as they were found last.
    journal: Vec<u8>,
    /// Iterations whose agent or check was killed.
    pub hit: BTreeSet<u32>,
    pub keeper_hits: usize,
    pub git_hits: usize,
    /// Whether a line that ralph had written was taken away.
    pub torn: bool,
    /// Whether this life was sent a signal that it can hear.
    pub signalled: bool,
    /// Whether another run has written its own progress file.
    pub overwritten: bool,
    keeper_hit_at: Option<Instant>,
    /// Engine and keeper died together in this epoch: their processes wait for a resume.
    orphans: Option<u32>,
}

impl Round<'_> {
    pub fn play(seed: u64, sweep: Duration, tally: &mut Tally) -> Result<(), String> {
        let mut rng = Rng::new(seed);
        let stage = Stage::new(&mut rng)?;
        let shots = shots(&mut rng);
        let mut round = Round {
            stage,
            tally,
            sweep,
            shots,
            formats: rng,
            story: Vec::new(),
            lives: 0,
            run: None,
            journal: Vec::new(),
            hit: BTreeSet::new(),
            keeper_hits: 0,
            git_hits: 0,
            torn: false,
            signalled: false,
            overwritten: false,
            keeper_hit_at: None,
            orphans: None,
        };
        round.live().map_err(|why| {
            let kept = round.stage.keep();
            format!("{why}\n  {}\n  kept: {}", round.story.join("\n  "), kept.display())
        })
    }

    fn live(&mut self) -> Result<(), String> {
        loop {
            let folded = self.one_life()?;
            let Some(folded) = folded.filter(Fold::is_over) else { continue };
            // The end itself can be torn, too.
            match self.shots.pop_front().filter(|shot| matches!(shot.fault, Fault::Cut | Fault::Garbage)) {
                Some(shot) => {
                    self.tally.count(shot.fault);
                    self.tear(shot)?;
                    if fold(&self.journal)?.is_some_and(|fold| fold.is_over()) {
                        return self.refused().and_then(|()| self.end(&folded));
                    }
                }
                None => return self.end(&folded),
            }
        }
    }

    /// From a start or a resume to a death and everything that has to hold after it.
    fn one_life(&mut self) -> Result<Option<Fold>, String> {
        if self.lives == MOST_LIVES {
            return Err("the run does not come to an end".into());
        }
        let mut life = self.begin()?;
        let (death, last) = self.torment(&mut life)?;
        self.note(format!("{death:?} at {} ms", life.age_ms()));
        let in_haste = last.is_some_and(|shot| shot.fault == Fault::Engine && shot.in_haste);
        let folded = self.after(&life, death, in_haste)?;
        if folded.is_some() && self.orphans.is_some() && last.is_some_and(|shot| shot.in_haste) {
            self.another_run()?;
        }
        match last.filter(|shot| matches!(shot.fault, Fault::Cut | Fault::Garbage)) {
            Some(shot) if !self.journal.is_empty() => {
                self.tear(shot)?;
                fold(&self.journal)
            }
            _ => Ok(folded),
        }
    }

    fn begin(&mut self) -> Result<Life, String> {
        self.lives += 1;
        self.tally.lives += 1;
        self.signalled = false;
        let format = self.formats.one_of(&["human", "json", "ndjson"]);
        let log = self.stage.path(&format!("life-{}-{format}", self.lives));
        let command = match &self.run {
            None => {
                let mut command = self.stage.run_command();
                command.args(["--format", format]).args(self.stage.agent());
                command
            }
            Some(id) => {
                let mut command = self.stage.ralph();
                command.args(["resume", id, "--format", format]);
                command
            }
        };
        let life = Life::begin(command, &log)?;
        self.note(format!("life {} ({format}), process {}", self.lives, life.ralph.pid));
        Ok(life)
    }

    /// Shoots until ralph is dead; returns the shot that killed it.
    fn torment(&mut self, life: &mut Life) -> Result<(Death, Option<Shot>), String> {
        while let Some(shot) = self.shots.front().copied() {
            if let Some(death) = life.wait(shot.delay) {
                return Ok((death, None));
            }
            let Some(target) = aim(shot, life) else {
                if let Some(death) = life.wait(Duration::ZERO) {
                    return Ok((death, None));
                }
                self.note(format!("no target: {}", shot.fault));
                self.shots.pop_front();
                continue;
            };
            let at = life.age_ms();
            if !self.shoot(shot, life, target)? {
                continue; // It was dead before; the shot is for the next one.
            }
            self.note(format!("{} at {at} ms", shot.fault));
            self.tally.count(shot.fault);
            self.shots.pop_front();
            if !life.ralph.is_alive() || shot.kills_ralph() {
                let death = life.wait(PATIENCE).ok_or("ralph survived a SIGKILL")?;
                return Ok((death, Some(shot)));
            }
        }
        match life.wait(PATIENCE) {
            Some(death) => Ok((death, None)),
            None => {
                let alive: Vec<String> = self.stage.processes().into_iter().map(Process::described).collect();
                Err(format!("ralph hangs; alive: {}", alive.join("; ")))
            }
        }
    }

    /// False if the target was dead already.
    fn shoot(&mut self, shot: Shot, life: &mut Life, target: Process) -> Result<bool, String> {
        match shot.fault {
            Fault::Engine | Fault::Cut | Fault::Garbage => {
                if self.keeper_hit_at.is_some_and(|at| at.elapsed() < SWEEPING) {
                    self.orphans = Some(0);
                }
                Ok(life.kill())
            }
            Fault::Keeper => {
                let below = target.descendants();
                let shot = target.signal(Signal::KILL);
                if shot {
                    self.keeper_hits += 1;
                    self.all_gone("outlive their keeper", &below)?;
                    self.keeper_hit_at = Some(Instant::now());
                }
                Ok(shot)
            }
            Fault::Agent | Fault::Check => {
                let Some(iteration) = target.iteration() else {
                    return Ok(false);
                };
                let below = target.descendants();
                self.hit.insert(iteration);
                let shot = target.signal(Signal::KILL);
                if shot {
                    self.all_gone("outlive their step", &below)?;
                }
                Ok(shot)
            }
            Fault::Git => {
                let shot = target.signal(Signal::KILL);
                self.git_hits += usize::from(shot);
                Ok(shot)
            }
            Fault::EngineThenKeeper => {
                self.orphans = Some(0);
                let shot_engine = life.kill();
                sleep(shot.gap);
                target.signal(Signal::KILL);
                self.all_gone("outlive a SIGKILL", &[target])?;
                Ok(shot_engine)
            }
            Fault::KeeperThenEngine => {
                self.orphans = Some(0);
                self.keeper_hits += 1;
                let shot_keeper = target.signal(Signal::KILL);
                sleep(shot.gap);
                life.kill();
                self.all_gone("outlive a SIGKILL", &[target])?;
                Ok(shot_keeper)
            }
            Fault::Everything => {
                self.orphans = Some(0);
                let all = target.descendants();
                let shot_engine = life.kill();
                for process in all {
                    process.signal(Signal::KILL);
                }
                Ok(shot_engine)
            }
            Fault::Term | Fault::Int | Fault::TermTwice | Fault::IntTwice => {
                let (signal, twice) = match shot.fault {
                    Fault::Term => (Signal::TERM, false),
                    Fault::TermTwice => (Signal::TERM, true),
                    Fault::IntTwice => (Signal::INT, true),
                    _ => (Signal::INT, false),
                };
                let shot_first = target.signal(signal);
                self.signalled |= shot_first;
                if twice {
                    life.wait(shot.gap * 4);
                    target.signal(signal);
                }
                Ok(shot_first)
            }
        }
    }

    fn all_gone(&mut self, what: &str, processes: &[Process]) -> Result<(), String> {
        let began = Instant::now();
        let left = until_none(self.sweep, || processes.iter().copied().filter(|p| p.is_alive()).collect());
        self.swept(what, began, left)
    }

    fn swept(&mut self, what: &str, began: Instant, left: Vec<Process>) -> Result<(), String> {
        self.tally.slowest_sweep = self.tally.slowest_sweep.max(began.elapsed());
        if left.is_empty() {
            return Ok(());
        }
        let left: Vec<String> = left.into_iter().map(Process::described).collect();
        Err(format!("processes {what}: {}", left.join("; ")))
    }

    /// What has to hold whenever ralph is dead.
    fn after(&mut self, life: &Life, death: Death, in_haste: bool) -> Result<Option<Fold>, String> {
        if self.run.is_none() {
            self.run = self.find_run()?;
        }
        let journal = fs::read(self.journal_path()).unwrap_or_default();
        let lines = whole_lines(&journal);
        if !lines.starts_with(&self.journal) {
            return Err("the journal has lost what stood in it".into());
        }
        let known = fold(&self.journal)?.map_or(0, |fold| fold.events.len());
        self.journal = lines.to_vec();
        let folded = fold(&self.journal)?;
        let facts = folded.as_ref().map_or(&[][..], |fold| &fold.events[known..]);
        checks::death_fits(self, life, death, facts)?;
        let epoch = folded.as_ref().map_or(1, |fold| fold.state.position.epoch);
        match self.orphans {
            Some(0) => self.orphans = Some(epoch),
            Some(since) if since < epoch => self.orphans = None,
            Some(_) | None => {}
        }
        if !in_haste {
            if self.orphans.is_some() {
                self.tally.left_behind += u32::from(!self.stage.processes().is_empty());
            } else {
                let began = Instant::now();
                let left = until_none(self.sweep, || self.stage.processes());
                self.swept("outlive ralph", began, left)?;
            }
            checks::locks_are_free(&self.stage.path("home"))?;
        }
        self.stage.users_work_is_intact()?;
        let Some(folded) = folded else { return Ok(None) };
        checks::record_holds(self, &folded)?;
        checks::ledger_agrees(self, &folded)?;
        checks::progress_is_the_fold(self, &folded, death)?;
        if let Death::Exit(_) = death {
            self.overwritten = false;
        }
        if !in_haste {
            checks::runs_tells_it(&self.stage, &folded)?;
        }
        Ok(Some(folded))
    }

    fn end(&mut self, folded: &Fold) -> Result<(), String> {
        checks::outcome_is_expected(self, folded)?;
        checks::checkpoints_hold_the_users_work(self, folded)?;
        self.tally.iterations += folded.state.ledger.judged;
        self.another_run()
    }

    /// The directory is free for another run, which ends what this one has left there.
    fn another_run(&mut self) -> Result<(), String> {
        self.note("another run".into());
        self.stage.another_run()?;
        (self.overwritten, self.orphans) = (true, None);
        let began = Instant::now();
        let left = until_none(self.sweep, || self.stage.processes());
        self.swept("are there after another run", began, left)?;
        checks::locks_are_free(&self.stage.path("home"))?;
        self.stage.users_work_is_intact()
    }

    /// The run is over, whatever stands behind its last line.
    fn refused(&mut self) -> Result<(), String> {
        let mut life = self.begin()?;
        match life.wait(PATIENCE) {
            Some(Death::Exit(1)) => Ok(()),
            other => Err(format!("a run that is over was resumed: {other:?} {}", life.last_words())),
        }
    }

    /// Cuts into the last line, or adds what is no line.
    fn tear(&mut self, shot: Shot) -> Result<(), String> {
        let path = self.journal_path();
        self.torn |= shot.fault == Fault::Cut;
        let (journal, what) = torn(&self.journal, shot);
        self.note(what);
        fs::write(&path, &journal).map_err(about("tear"))?;
        self.journal = whole_lines(&journal).to_vec();
        if self.journal.is_empty() {
            self.run = None; // Not even begun.
        }
        Ok(())
    }

    fn journal_path(&self) -> PathBuf {
        self.stage.run_dir(self.run.as_deref().unwrap_or("none")).join("journal.jsonl")
    }

    /// The run that has a first line.
    fn find_run(&self) -> Result<Option<String>, String> {
        let Ok(entries) = fs::read_dir(self.stage.path("home/runs")) else { return Ok(None) };
        for entry in entries.filter_map(Result::ok) {
            let journal = fs::read(entry.path().join("journal.jsonl")).unwrap_or_default();
            // Another run has only one iteration.
            if fold(&journal)?.is_some_and(|fold| fold.run.limits.iterations > 1) {
                return Ok(entry.file_name().into_string().ok());
            }
        }
        Ok(None)
    }

    fn note(&mut self, what: String) {
        self.story.push(what);
    }
}

impl Shot {
    pub fn kills_ralph(self) -> bool {
        match self.fault {
            Fault::Engine
            | Fault::EngineThenKeeper
            | Fault::KeeperThenEngine
            | Fault::Everything
            | Fault::Cut
            | Fault::Garbage => true,
            Fault::Keeper
            | Fault::Agent
            | Fault::Check
            | Fault::Git
            | Fault::Term
            | Fault::TermTwice
            | Fault::Int
            | Fault::IntTwice => false,
        }
    }
}

/// A journal whose last line is cut into, or followed by what is no line; and what was done.
pub fn torn(journal: &[u8], shot: Shot) -> (Vec<u8>, String) {
    let mut journal = journal.to_vec();
    if shot.fault == Fault::Cut {
        let before = &journal[..journal.len().saturating_sub(1)];
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let bytes = 1 + shot.tear % (journal.len() - start).max(1) as u64;
        journal.truncate(journal.len().saturating_sub(usize::try_from(bytes).unwrap_or(1)));
        return (journal, format!("{bytes} bytes cut off"));
    }
    let garbage: &[u8] = match shot.tear % 4 {
        0 => br#"{"v":1,"seq":7,"ep"#,
        1 => &[0; 300],
        2 => b"\0\0\0\0\0\0\0\n",
        _ => br#"{"v":1,"seq":9999,"epoch":1,"at":0,"up_ms":0,"fact":"woke"}"#,
    };
    journal.extend_from_slice(garbage);
    (journal, format!("{} bytes of garbage", garbage.len()))
}

/// All of them drawn before the first one is fired: what a seed chooses does not depend on
/// how fast the machine is.
pub fn shots(rng: &mut Rng) -> VecDeque<Shot> {
    let count = rng.within(5, 10);
    let shot = |_| Shot {
        fault: Fault::choose(rng),
        // The beginning of a life is short and full of things to be interrupted.
        delay: if rng.percent(35) { rng.pause(80) } else { rng.pause(300) },
        aim: rng.pause(20),
        amid_leftovers: rng.percent(70),
        // The one that is left needs only a moment to end everything.
        gap: if rng.percent(60) { Duration::ZERO } else { rng.pause(5) },
        in_haste: rng.percent(40),
        tear: rng.below(u64::MAX),
    };
    (0..count).map(shot).collect()
}

/// Waits for the target and then a little longer, so that it is hit anywhere in its life.
pub fn aim(shot: Shot, life: &mut Life) -> Option<Process> {
    let deadline = Instant::now() + SEARCH;
    let first = loop {
        if let Some(target) = shot.fault.target(life) {
            break target;
        }
        if Instant::now() >= deadline || life.wait(Duration::from_micros(300)).is_some() {
            return None;
        }
    };
    let leaves_orphans = matches!(
        shot.fault,
        Fault::Engine | Fault::Keeper | Fault::Agent | Fault::EngineThenKeeper | Fault::KeeperThenEngine
    );
    if leaves_orphans && shot.amid_leftovers {
        while !life.has_leftovers() && Instant::now() < deadline {
            if life.wait(Duration::from_micros(300)).is_some() {
                return None;
            }
        }
        return shot.fault.target(life);
    }
    if first == life.ralph {
        return Some(first);
    }
    while Instant::now() < deadline {
        if life.wait(shot.aim).is_some() {
            return None;
        }
        if let Some(target) = shot.fault.target(life) {
            return Some(target);
        }
    }
    None
}
