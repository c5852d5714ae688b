//! What rounds of a whole plan have in common: a directory, a run in it, and one life after the
//! other until the run has come to an end.
//!
//! The run is this process's child, or a worker: then its tmux server is killed, too, and people
//! ask things of it all the time.
//!
//! A journal is torn only while nothing of the run is alive, and only in a line that the life
//! before has written: what stood there earlier has long been on the disk.

use crate::fault::{Fault, Tally};
use crate::fold::{Fold, fold, whole_lines};
use crate::life::{Death, Life};
use crate::procs::{self, Process, until_none};
use crate::rng::Rng;
use crate::round::{PATIENCE, Shot, aim, shots, torn};
use crate::stage::{RALPH, about, git, put};
use rustix::process::Signal;
use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const MOST_LIVES: u32 = 40;

pub struct Ordeal {
    dir: TempDir,
    /// The run's id, once it has one.
    pub run: Option<String>,
    story: Vec<String>,
    shots: VecDeque<Shot>,
    sweep: Duration,
    /// Whole lines of the journal when the life began.
    lines_before: usize,
    worker: Option<Worker>,
    /// For `RALPH_SANDBOX`.
    sandbox: &'static str,
}

/// What the worker is called.
pub const NAME: &str = "hand";

/// A user who steers a worker.
struct Worker {
    asks: VecDeque<Ask>,
    paused: bool,
    /// It was sent a signal, and will not go on by itself.
    leaving: bool,
    /// The iterations that it may take, where that is known for certain.
    iterations: Option<u32>,
}

impl Worker {
    /// A pause lasts for one fault.
    fn next(&mut self) -> Option<Ask> {
        let ask = self.asks.pop_front();
        match ask {
            // A worker that continues after a signal begins another life.
            Some(Ask::Pause | Ask::Continue) if self.leaving => None,
            _ if self.paused => Some(Ask::Continue),
            _ => ask,
        }
    }
}

#[derive(Clone, Copy)]
enum Ask {
    Nothing,
    /// Not asked at all: its windows go.
    KillTmux,
    Pause,
    Continue,
    Set(u32),
    Say,
}

impl Ask {
    fn choose(rng: &mut Rng) -> Ask {
        let limit = rng.within(360, 390);
        rng.one_of(&[Ask::Nothing, Ask::KillTmux, Ask::Pause, Ask::Continue, Ask::Set(limit), Ask::Say])
    }

    fn name(self) -> &'static str {
        match self {
            Ask::Nothing => "asked nothing",
            Ask::KillTmux => "tmux server killed",
            Ask::Pause => "asked to pause",
            Ask::Continue => "asked to go on",
            Ask::Set(_) => "given another limit",
            Ask::Say => "told something",
        }
    }
}

impl Ordeal {
    /// With a home for ralph and one for a user; the project is the round's affair.
    pub fn new(rng: &mut Rng, sweep: Duration) -> Result<Ordeal, String> {
        let dir = tempfile::Builder::new().prefix("ralph-faults-").tempdir().map_err(about("temp dir"))?;
        for name in ["home", "user", "repo", "tmp"] {
            fs::create_dir(dir.path().join(name)).map_err(about(name))?;
        }
        // Faults in git end a run by design.
        let mut shots: VecDeque<Shot> =
            shots(rng).into_iter().chain(shots(rng)).filter(|shot| shot.fault != Fault::Git).collect();
        for shot in &mut shots {
            shot.amid_leftovers = false;
            if shot.fault == Fault::KeeperThenEngine && rng.percent(50) {
                shot.fault = Fault::Everything;
            }
        }
        Ok(Ordeal {
            dir,
            run: None,
            story: Vec::new(),
            shots,
            sweep,
            lines_before: 0,
            worker: None,
            sandbox: "none",
        })
    }

    /// The run has a sandbox.
    pub fn confined(mut self) -> Ordeal {
        self.sandbox = "bwrap";
        self
    }

    /// The run is a worker.
    pub fn of_a_worker(mut self, rng: &mut Rng) -> Ordeal {
        let asks = self.shots.iter().map(|_| Ask::choose(rng)).collect();
        self.worker = Some(Worker { asks, paused: false, leaving: false, iterations: None });
        self
    }

    /// How many iterations the worker was granted, if that is certain.
    pub fn iterations_granted(&self) -> Option<u32> {
        self.worker.as_ref()?.iterations
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// What is in the project goes into its first commit.
    pub fn first_commit(&self) -> Result<(), String> {
        let repo = self.path("repo");
        git(&repo, "init -q -b main")?;
        git(&repo, "config user.name user")?;
        git(&repo, "config user.email user@localhost")?;
        put(&repo.join("tracked.txt"), b"as committed\n")?;
        put(&repo.join("AGENTS.md"), b"a project\n")?;
        git(&repo, "add .")?;
        git(&repo, "commit -q -m begin")?;
        put(&repo.join("tracked.txt"), b"not committed yet\n")?;
        put(&repo.join("mine.txt"), b"mine\n")
    }

    pub fn users_work_is_intact(&self) -> Result<(), String> {
        let read = |name: &str| fs::read_to_string(self.path("repo").join(name)).map_err(about(name));
        let users = (read("mine.txt")?, read("tracked.txt")?);
        match users == ("mine\n".into(), "not committed yet\n".into()) {
            true => Ok(()),
            false => Err(format!("the user's work has changed: {users:?}")),
        }
    }

    /// ralph with nothing of this machine's settings in its environment.
    pub fn ralph(&self) -> Command {
        let mut command = Command::new(RALPH);
        for (name, _) in std::env::vars_os() {
            if ["RALPH_", "XDG_", "GIT_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command
            .env("RALPH_HOME", self.path("home"))
            .env("HOME", self.path("user"))
            .env("RALPH_SANDBOX", self.sandbox);
        command.env("GIT_CONFIG_NOSYSTEM", "1").current_dir(self.path("repo")).stdin(Stdio::null());
        command.env("TMUX_TMPDIR", self.path("tmp")).env_remove("TMUX").env_remove("TMUX_PANE");
        command
    }

    /// Everything of the run; windows onto a worker are not.
    pub fn processes(&self) -> Vec<Process> {
        let mut found = self.all_processes();
        found.retain(|process| {
            !process.name().starts_with("tmux") && !process.arguments().contains("\0logs\0")
        });
        found
    }

    fn all_processes(&self) -> Vec<Process> {
        procs::with_variable("HOME", &self.path("user").display().to_string())
    }

    /// From `begin` through all deaths to the end of the run.
    pub fn live(&mut self, begin: &dyn Fn(&Ordeal) -> Command, tally: &mut Tally) -> Result<Fold, String> {
        let mut orphaned = false;
        for number in 1..=MOST_LIVES {
            tally.lives += 1;
            let command = match &self.run {
                None => begin(self),
                Some(id) => {
                    let mut command = self.ralph();
                    command.args(["resume", if self.worker.is_some() { NAME } else { id }]);
                    command
                }
            };
            self.lines_before = self.journal().map_or(0, |journal| lines(&journal));
            let mut life = Life::begin(command, &self.path(&format!("life-{number}")))?;
            let (death, orphans, last) = match self.worker.is_some() {
                false => self.torment(&mut life, tally)?,
                true => self.torment_worker(&mut life, tally)?,
            };
            self.note(format!("life {number}: {death:?} at {} ms", life.age_ms()));
            // A life that ended before its first word has not ended what the one before it left.
            let silent = self.journal().map_or(0, |journal| lines(&journal)) <= self.lines_before;
            orphaned = orphans || (orphaned && silent);
            if orphaned {
                tally.left_behind += 1;
            } else {
                let began = Instant::now();
                let left = until_none(self.sweep, || self.processes());
                tally.slowest_sweep = tally.slowest_sweep.max(began.elapsed());
                if !left.is_empty() {
                    let left: Vec<String> = left.into_iter().map(Process::described).collect();
                    return Err(format!("processes outlive ralph: {}", left.join("; ")));
                }
            }
            self.folded()?;
            if let Some(shot) = last {
                self.tear(shot)?;
            }
            let Some(folded) = self.folded()? else { continue };
            if folded.is_over() {
                tally.iterations += folded.state.ledger.judged;
                return Ok(folded);
            }
            if let Death::Exit(code) = death
                && ![1, 130].contains(&code)
            {
                return Err(format!("exit code {code}: {}", life.last_words()));
            }
        }
        Err("the run does not come to an end".into())
    }

    /// The life of a worker's loop, which `launcher` has to bring about.
    fn torment_worker(
        &mut self,
        launcher: &mut Life,
        tally: &mut Tally,
    ) -> Result<(Death, bool, Option<Shot>), String> {
        let seated = |process: &Process| process.arguments().contains("\0__worker\0");
        let mut ended = None;
        let found = loop {
            let found = self.processes().into_iter().find(seated);
            // Looked at once more after the launcher's end.
            if found.is_some() || ended.is_some() {
                break found;
            }
            ended = launcher.wait(Duration::from_millis(1));
        };
        let log = launcher.stderr.clone();
        if let Some(worker) = &mut self.worker {
            (worker.paused, worker.leaving) = (false, false);
        }
        let Some(mut life) = found.and_then(|process| Life::of(process, &log)) else {
            self.note(format!("no loop: {}", launcher.last_words().trim_end()));
            return Ok((Death::Unknown, false, None));
        };
        let lived = self.torment(&mut life, tally);
        launcher.wait(PATIENCE).ok_or("the launcher hangs")?;
        lived
    }

    /// What the user asks of the worker, besides all else that happens to it.
    fn ask(&mut self, ask: Ask, tally: &mut Tally) -> Result<(), String> {
        let paused = self.worker.as_ref().is_some_and(|worker| worker.paused);
        if matches!(ask, Ask::Nothing) || (matches!(ask, Ask::Continue) && !paused) {
            return Ok(());
        }
        self.note(ask.name().into());
        tally.count_ask(ask.name());
        let mut command = self.ralph();
        match ask {
            Ask::Nothing => return Ok(()),
            Ask::KillTmux => {
                for process in self.all_processes() {
                    if process.name() == "tmux: server" {
                        process.signal(Signal::KILL);
                    }
                }
                return Ok(());
            }
            Ask::Pause => command.args(["pause", NAME]),
            Ask::Continue => command.args(["resume", NAME]),
            Ask::Set(most) => command.args(["set", NAME, "--max-iterations", &most.to_string()]),
            Ask::Say => command.args(["say", NAME, "well done"]),
        };
        let output = command.output().map_err(about("ask"))?;
        let Some(worker) = &mut self.worker else { return Ok(()) };
        match ask {
            Ask::Pause => worker.paused |= output.status.success(),
            Ask::Continue => worker.paused = false,
            Ask::Set(most) => worker.iterations = output.status.success().then_some(most),
            Ask::Nothing | Ask::KillTmux | Ask::Say => {}
        }
        if !output.status.success() {
            self.note(format!("refused: {}", String::from_utf8_lossy(&output.stderr).trim_end()));
        }
        Ok(())
    }

    /// Shoots until ralph is dead. True if engine and keeper died together: what they ran is left
    /// to the next resume. With the shot that killed it.
    fn torment(&mut self, life: &mut Life, tally: &mut Tally) -> Result<(Death, bool, Option<Shot>), String> {
        let (mut orphans, engine) = (false, life.ralph);
        while let Some(shot) = self.shots.front().copied() {
            if let Some(death) = life.wait(shot.delay) {
                return Ok((death, orphans, None));
            }
            if let Some(ask) = self.worker.as_mut().and_then(Worker::next) {
                self.ask(ask, tally)?;
            }
            let target = aim(shot, life);
            if let Some(death) = life.wait(Duration::ZERO) {
                return Ok((death, orphans, None));
            }
            self.shots.pop_front();
            let Some(target) = target else { continue };
            self.note(format!("{} at {} ms", shot.fault, life.age_ms()));
            tally.count(shot.fault);
            let mut kill = |process: Process, signal| {
                process.signal(signal);
                life.wait(shot.gap);
            };
            match shot.fault {
                Fault::Engine | Fault::Agent | Fault::Check | Fault::Cut | Fault::Garbage => {
                    kill(target, Signal::KILL);
                }
                Fault::EngineThenKeeper => {
                    kill(engine, Signal::KILL);
                    kill(target, Signal::KILL);
                    orphans = true;
                }
                Fault::KeeperThenEngine => {
                    kill(target, Signal::KILL);
                    kill(engine, Signal::KILL);
                    orphans = true;
                }
                Fault::Everything => {
                    let all = target.descendants();
                    kill(target, Signal::KILL);
                    all.into_iter().for_each(|process| kill(process, Signal::KILL));
                    // One that was just being made may be left.
                    orphans = true;
                }
                Fault::Keeper => {
                    kill(target, Signal::KILL);
                    // Sweeping up after it takes a moment, in which ralph may be shot as well.
                    orphans = true;
                }
                Fault::Term => kill(target, Signal::TERM),
                Fault::Int => kill(target, Signal::INT),
                Fault::TermTwice => [Signal::TERM; 2].into_iter().for_each(|signal| kill(target, signal)),
                Fault::IntTwice => [Signal::INT; 2].into_iter().for_each(|signal| kill(target, signal)),
                Fault::Git => {}
            }
            let leaves = matches!(shot.fault, Fault::Term | Fault::TermTwice | Fault::Int | Fault::IntTwice);
            if let Some(worker) = self.worker.as_mut().filter(|_| leaves) {
                (worker.paused, worker.leaving) = (false, true);
            }
            if shot.kills_ralph() {
                let death = life.wait(PATIENCE).ok_or("ralph survived a SIGKILL")?;
                return Ok((death, orphans, Some(shot)));
            }
        }
        if life.wait(Duration::ZERO).is_none() {
            self.ask(Ask::Continue, tally)?;
        }
        match life.wait(PATIENCE) {
            Some(death) => Ok((death, false, None)),
            None => {
                let alive: Vec<String> = self.processes().into_iter().map(Process::described).collect();
                Err(format!("ralph hangs; alive: {}", alive.join("; ")))
            }
        }
    }

    fn tear(&mut self, shot: Shot) -> Result<(), String> {
        if !matches!(shot.fault, Fault::Cut | Fault::Garbage) || !self.processes().is_empty() {
            return Ok(());
        }
        let Some(journal) = self.journal() else { return Ok(()) };
        if shot.fault == Fault::Cut && lines(&journal) <= self.lines_before {
            return Ok(());
        }
        let (journal, what) = torn(whole_lines(&journal), shot);
        self.note(what);
        if let Some(worker) = &mut self.worker {
            worker.iterations = None;
        }
        let path = self.journal_path().ok_or("no journal to tear")?;
        fs::write(path, journal).map_err(about("tear"))
    }

    fn journal_path(&self) -> Option<PathBuf> {
        Some(self.path("home/runs").join(self.run.as_ref()?).join("journal.jsonl"))
    }

    fn journal(&self) -> Option<Vec<u8>> {
        fs::read(self.journal_path()?).ok()
    }

    /// The run as its journal records it, once it has a first line.
    fn folded(&mut self) -> Result<Option<Fold>, String> {
        self.run = None;
        let Ok(entries) = fs::read_dir(self.path("home/runs")) else { return Ok(None) };
        for entry in entries.filter_map(Result::ok) {
            let journal = fs::read(entry.path().join("journal.jsonl")).unwrap_or_default();
            if let Some(folded) = fold(&journal)? {
                self.run = entry.file_name().into_string().ok();
                return Ok(Some(folded));
            }
        }
        Ok(None)
    }

    fn note(&mut self, what: String) {
        self.story.push(what);
    }

    /// An error with all that led to it; the directory is left for a person to look at.
    pub fn failed(&mut self, why: &str) -> String {
        self.dir.disable_cleanup(true);
        format!("{why}\n  {}\n  kept: {}", self.story.join("\n  "), self.dir.path().display())
    }
}

fn lines(journal: &[u8]) -> usize {
    whole_lines(journal).iter().filter(|byte| **byte == b'\n').count()
}

impl Drop for Ordeal {
    fn drop(&mut self) {
        until_none(Duration::from_secs(5), || {
            let found = self.all_processes();
            for process in &found {
                process.signal(Signal::KILL);
            }
            found
        });
    }
}
