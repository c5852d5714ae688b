//! A round of `ralph stories`: twelve stories through all their deaths.
//!
//! Agents are a shell script that commits with git. The first attempts at some stories fail, and
//! spoil what the user has not committed yet. Whatever dies meanwhile, in the end each story is
//! done once: one `[DONE]` line, one commit, in an order that its dependencies allow.
//!
//! Left out: torn journals, since a line of `progress.txt` can outlive the fact that it tells of;
//! and faults in git, which end a run by design.

use crate::fault::{Fault, Tally};
use crate::fold::{Fold, fold};
use crate::life::{Death, Life};
use crate::procs::{self, Process, until_none};
use crate::rng::Rng;
use crate::round::{PATIENCE, Shot, aim, shots};
use crate::stage::{RALPH, git, put, told};
use rustix::process::Signal;
use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const MOST_LIVES: u32 = 40;

/// Each with what it waits for.
const STORIES: [(&str, &[&str]); 12] = [
    ("1.1", &[]),
    ("1.2", &["1.1"]),
    ("1.3", &["2.1"]),
    ("1.9", &["1.2"]),
    ("1.10", &["1.9"]),
    ("2.1", &[]),
    ("2.2", &["2.1", "3.1"]),
    ("2.3", &[]),
    ("3.1", &["1.3"]),
    ("3.2", &["3.1"]),
    ("3.3", &["2.2"]),
    ("3.4", &[]),
];

/// `$1` is where it counts its calls, outside of the project.
const AGENT: &str = r#"cat > /dev/null
echo x >> "$1/$RALPH_STORY"
case "$(wc -l < "$1/$RALPH_STORY" | tr -d ' ')/$RALPH_STORY" in
    1/1.2) echo spoiled > mine.txt; git add -A; git commit -q -m "story $RALPH_STORY"; echo "<ralph>FAIL 1.2: no</ralph>" ;;
    1/2.1) echo spoiled > tracked.txt; git rm -q --cached tracked.txt; exit 4 ;;
    1/3.1 | 2/3.1) rm mine.txt; git checkout -q -- .; echo "<ralph>DONE 9.9</ralph>" ;;
    *)
        echo "$RALPH_STORY" > "made-$RALPH_STORY"
        git add "made-$RALPH_STORY" && git commit -q -m "story $RALPH_STORY" && echo "<ralph>DONE $RALPH_STORY</ralph>" ;;
esac
"#;

struct Stage {
    dir: TempDir,
    run: Option<String>,
    story: Vec<String>,
}

pub fn play(seed: u64, sweep: Duration, tally: &mut Tally) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let dir = tempfile::Builder::new().prefix("ralph-faults-").tempdir().map_err(told("temp dir"))?;
    let mut stage = Stage { dir, run: None, story: Vec::new() };
    stage.set_up()?;
    let wanted = |shot: &Shot| !matches!(shot.fault, Fault::Cut | Fault::Garbage | Fault::Git);
    let mut shots: VecDeque<Shot> =
        shots(&mut rng).into_iter().chain(shots(&mut rng)).filter(wanted).collect();
    for shot in &mut shots {
        shot.amid_leftovers = false;
    }
    stage.live(&mut shots, sweep, tally).map_err(|why| {
        stage.dir.disable_cleanup(true);
        format!("{why}\n  {}\n  kept: {}", stage.story.join("\n  "), stage.dir.path().display())
    })
}

impl Stage {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn set_up(&self) -> Result<(), String> {
        for name in ["home", "user", "calls"] {
            fs::create_dir(self.path(name)).map_err(told(name))?;
        }
        put(&self.path("agent.sh"), AGENT.as_bytes())?;
        for (id, depends_on) in STORIES {
            let dir =
                self.path("repo/specs").join(format!("epic-{}", id.split('.').next().unwrap_or_default()));
            fs::create_dir_all(&dir).map_err(told("specs"))?;
            let spec = format!("---\nstatus: pending\ndepends_on: {depends_on:?}\n---\n# Part {id}\n");
            put(&dir.join(format!("story-{id}-part.md")), spec.as_bytes())?;
        }
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

    fn ralph(&self) -> Command {
        let mut command = Command::new(RALPH);
        for (name, _) in std::env::vars_os() {
            if ["RALPH_", "XDG_", "GIT_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command.env("RALPH_HOME", self.path("home")).env("HOME", self.path("user"));
        command.env("GIT_CONFIG_NOSYSTEM", "1").current_dir(self.path("repo")).stdin(Stdio::null());
        command
    }

    fn stories(&self) -> Command {
        let mut command = self.ralph();
        // Each death of an agent is a failed attempt, and none of them the point here.
        command.args([
            "stories",
            "--max-retries",
            "60",
            "--check",
            "sleep 0.02; test -e made-$RALPH_STORY",
            "--",
        ]);
        command.arg("sh").arg(self.path("agent.sh")).arg(self.path("calls"));
        command
    }

    fn processes(&self) -> Vec<Process> {
        procs::with_variable("RALPH_HOME", &self.path("home").display().to_string())
    }

    fn live(&mut self, shots: &mut VecDeque<Shot>, sweep: Duration, tally: &mut Tally) -> Result<(), String> {
        for number in 1..=MOST_LIVES {
            tally.lives += 1;
            let command = match &self.run {
                None => self.stories(),
                Some(id) => {
                    let mut command = self.ralph();
                    command.args(["resume", id]);
                    command
                }
            };
            let mut life = Life::begin(command, &self.path(&format!("life-{number}")))?;
            let (death, orphans) = self.torment(&mut life, shots, tally)?;
            self.story.push(format!("life {number}: {death:?} at {} ms", life.age_ms()));
            if orphans {
                tally.left_behind += 1;
            } else {
                let left = until_none(sweep, || self.processes());
                if !left.is_empty() {
                    let left: Vec<String> = left.into_iter().map(Process::told).collect();
                    return Err(format!("processes outlive ralph: {}", left.join("; ")));
                }
            }
            let Some(folded) = self.folded()? else { continue };
            if folded.is_over() {
                tally.iterations += folded.state.judged;
                return self.all_is_done(&folded);
            }
            if let Death::Exit(code) = death
                && ![1, 130].contains(&code)
            {
                return Err(format!("exit code {code}: {}", life.last_words()));
            }
        }
        Err("the run does not come to an end".into())
    }

    /// Shoots until ralph is dead. True if engine and keeper died together: what they ran is left
    /// to the next resume.
    fn torment(
        &mut self,
        life: &mut Life,
        shots: &mut VecDeque<Shot>,
        tally: &mut Tally,
    ) -> Result<(Death, bool), String> {
        let (mut orphans, engine) = (false, life.ralph);
        while let Some(shot) = shots.front().copied() {
            if let Some(death) = life.wait(shot.delay) {
                return Ok((death, orphans));
            }
            let target = aim(shot, life);
            if let Some(death) = life.wait(Duration::ZERO) {
                return Ok((death, orphans));
            }
            shots.pop_front();
            let Some(target) = target else { continue };
            self.story.push(format!("{} at {} ms", shot.fault, life.age_ms()));
            tally.count(shot.fault);
            let mut kill = |process: Process, signal| {
                process.signal(signal);
                life.wait(shot.gap);
            };
            match shot.fault {
                Fault::Engine | Fault::Agent | Fault::Check => kill(target, Signal::KILL),
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
                Fault::Keeper => {
                    kill(target, Signal::KILL);
                    // Sweeping up after it takes a moment, in which ralph may be shot as well.
                    orphans = true;
                }
                Fault::Term => kill(target, Signal::TERM),
                Fault::Int => kill(target, Signal::INT),
                Fault::TermTwice => [Signal::TERM; 2].into_iter().for_each(|signal| kill(target, signal)),
                Fault::IntTwice => [Signal::INT; 2].into_iter().for_each(|signal| kill(target, signal)),
                Fault::Git | Fault::Cut | Fault::Garbage => {}
            }
            if shot.kills_ralph() {
                let death = life.wait(PATIENCE).ok_or("ralph survived a SIGKILL")?;
                return Ok((death, orphans));
            }
        }
        match life.wait(PATIENCE) {
            Some(death) => Ok((death, false)),
            None => {
                let alive: Vec<String> = self.processes().into_iter().map(Process::told).collect();
                Err(format!("ralph hangs; alive: {}", alive.join("; ")))
            }
        }
    }

    /// The run as its journal tells it, once it has a first line.
    fn folded(&mut self) -> Result<Option<Fold>, String> {
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

    fn all_is_done(&self, folded: &Fold) -> Result<(), String> {
        let repo = self.path("repo");
        let read = |name: &str| fs::read_to_string(repo.join(name)).map_err(told(name));
        let state: serde_json::Value =
            serde_json::from_str(&read(".ralph/state.json")?).map_err(told("state"))?;
        let mut done: Vec<&str> = state["completed_stories"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|id| id.as_str())
            .collect();
        for (at, id) in done.iter().enumerate() {
            let waits_for = STORIES.iter().find(|(story, _)| story == id).map_or(&[][..], |(_, ids)| ids);
            if !waits_for.iter().all(|needed| done[..at].contains(needed)) {
                return Err(format!("{id} was done too early: {done:?}"));
            }
        }
        let mut all = STORIES.map(|(id, _)| id);
        done.sort_unstable();
        all.sort_unstable();
        if done != all || !state["current_story"].is_null() || state["retry_count"] != 0 {
            return Err(format!("not all is done: {state}"));
        }
        let progress = read("progress.txt")?;
        let commits = git(&repo, "log --format=%s")?;
        for (id, _) in STORIES {
            let lines =
                progress.lines().filter(|line| line.starts_with(&format!("[DONE] Story {id} - "))).count();
            if lines != 1 {
                return Err(format!("{lines} lines say that {id} is done:\n{progress}"));
            }
            let made = commits.lines().filter(|line| **line == format!("story {id}")).count();
            if made != 1 {
                return Err(format!("{made} commits of {id}:\n{commits}"));
            }
            let spec = format!("specs/epic-{}/story-{id}-part.md", id.split('.').next().unwrap_or_default());
            if !read(&spec)?.contains("status: done\n") {
                return Err(format!("{spec} is not marked"));
            }
        }
        let users = (read("mine.txt")?, read("tracked.txt")?);
        if users != ("mine\n".into(), "not committed yet\n".into()) {
            return Err(format!("the user's work has changed: {users:?}"));
        }
        let staged = git(&repo, "diff --cached --name-only")?;
        if !staged.is_empty() || repo.join(".git/index.lock").exists() {
            return Err(format!("left in the user's index: {staged}"));
        }
        if !folded.run.succeeded(folded.state.stopped.as_ref().ok_or("not stopped")?.reason) {
            return Err("the run did not succeed".into());
        }
        let again = self.stories().output().map_err(told("another run"))?;
        let left = until_none(PATIENCE, || self.processes());
        match again.status.success() && left.is_empty() {
            true => Ok(()),
            false => Err(format!("another run: {}", String::from_utf8_lossy(&again.stderr))),
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        until_none(Duration::from_secs(5), || {
            let found = self.processes();
            for process in &found {
                process.signal(Signal::KILL);
            }
            found
        });
    }
}
