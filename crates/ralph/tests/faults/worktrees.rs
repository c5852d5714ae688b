//! Two projects in one home, and runs that are killed while their worktrees are laid out.
//!
//! Every run gets a worktree of its own and is killed soon after its start, alone or with the git
//! that fills the worktree. Whatever there is then of worktrees and branches belongs to a run that
//! `ralph runs` lists. Some of the runs are resumed, and now and then one project is cleaned, which
//! leaves the other as it is.

use crate::checks::locks_are_free;
use crate::fault::{Fault, Tally};
use crate::life::{Death, Life};
use crate::procs::{self, Process, until_none};
use crate::rng::Rng;
use crate::round::PATIENCE;
use crate::stage::{RALPH, about, git, put};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const PROJECTS: [&str; 2] = ["one", "two"];

/// Enough to be met while they are checked out.
const FILES: usize = 300;

pub fn play(seed: u64, _sweep: Duration, tally: &mut Tally) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let mut round = Round::new()?;
    let faults = rng.within(6, 10);
    round.live(&mut rng, faults, tally).map_err(|why| {
        let kept = round.keep();
        format!("{why}\n  {}\n  kept: {}", round.story.join("\n  "), kept.display())
    })
}

/// When a run is killed: so long after its start, or after its git was seen to make the worktree.
#[derive(Clone, Copy, Debug)]
enum Aim {
    Start(Duration),
    Git(Duration),
}

impl Aim {
    /// Whether the run is alive by then.
    fn is_met(self, life: &mut Life) -> bool {
        let delay = match self {
            Aim::Start(delay) => delay,
            Aim::Git(delay) => {
                let makes = |child: &Process| child.arguments().contains("worktree\0add\0");
                while !life.ralph.children().iter().any(makes) {
                    if life.wait(Duration::from_micros(300)).is_some() {
                        return false;
                    }
                }
                delay
            }
        };
        life.wait(delay).is_none()
    }
}

struct Round {
    dir: TempDir,
    story: Vec<String>,
    lives: u32,
}

/// What there is of the worktrees of a project.
#[derive(Debug, PartialEq, Eq)]
struct Remains {
    branches: BTreeSet<String>,
    directories: BTreeSet<String>,
    known_to_git: BTreeSet<String>,
}

impl Remains {
    fn of(project: &Path) -> Result<Remains, String> {
        let branches = git(project, "for-each-ref --format=%(refname:short) refs/heads/ralph/")?;
        let branches = branches.lines().filter_map(|branch| branch.strip_prefix("ralph/"));
        Ok(Remains {
            branches: branches.map(String::from).collect(),
            directories: names(&project.join(".ralph/worktrees")),
            known_to_git: names(&project.join(".git/worktrees")),
        })
    }

    fn ids(&self) -> impl Iterator<Item = &String> {
        self.branches.iter().chain(&self.directories).chain(&self.known_to_git)
    }
}

fn names(dir: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

impl Round {
    fn new() -> Result<Round, String> {
        let dir = tempfile::Builder::new().prefix("ralph-faults-").tempdir().map_err(about("temp dir"))?;
        let round = Round { dir, story: Vec::new(), lives: 0 };
        for name in ["home", "user", "one", "two"] {
            fs::create_dir(round.path(name)).map_err(about(name))?;
        }
        for project in PROJECTS.map(|name| round.path(name)) {
            git(&project, "init -q -b topic")?;
            for number in 0..FILES {
                put(&project.join(format!("file-{number}")), format!("{number}\n").repeat(50).as_bytes())?;
            }
            git(&project, "add .")?;
            git(&project, "commit -q -m begin")?;
        }
        Ok(round)
    }

    fn live(&mut self, rng: &mut Rng, faults: u32, tally: &mut Tally) -> Result<(), String> {
        for _ in 0..faults {
            let project = rng.one_of(&PROJECTS);
            let fault = rng.one_of(&[Fault::Engine, Fault::Everything]);
            let aim = if rng.percent(70) { Aim::Git(rng.pause(30)) } else { Aim::Start(rng.pause(120)) };
            self.kill_early(project, fault, aim, tally)?;
            self.everything_is_known()?;
            match rng.below(4) {
                0 => self.resume_one(rng, tally)?,
                1 => self.clean(project, &[])?,
                2 => self.clean(project, &["--force"])?,
                _ => {}
            }
        }
        self.end()
    }

    /// A run, killed after a while, with all that it has started or alone.
    fn kill_early(&mut self, project: &str, fault: Fault, aim: Aim, tally: &mut Tally) -> Result<(), String> {
        let mut command = self.ralph(project);
        command.args(["run", "x", "--worktree", "-n", "2", "--", "sh", "-c"]);
        command.arg("echo made > made; echo '<response>DONE</response>'");
        let mut life = self.begin(command, tally)?;
        if aim.is_met(&mut life) {
            let below = life.ralph.descendants();
            if life.kill() {
                tally.count(fault);
            }
            if fault == Fault::Everything {
                for process in below {
                    process.signal(Signal::KILL);
                }
            }
        }
        let death = life.wait(PATIENCE).ok_or("ralph survived a SIGKILL")?;
        self.note(format!("{project}: {fault}, {aim:?}: {death:?}"));
        self.settled()?;
        let project = self.path(project);
        let whole = |id: &String| project.join(".git/worktrees").join(id).join("index").exists();
        if Remains::of(&project)?.branches.iter().any(|id| !whole(id)) {
            tally.count_ask("worktree found half made");
        }
        Ok(())
    }

    /// Nothing of any run is alive: a git whose ralph was killed has come to its end by itself.
    fn settled(&self) -> Result<(), String> {
        let left = until_none(PATIENCE, || self.processes());
        if left.is_empty() {
            return locks_are_free(&self.path("home"));
        }
        let left: Vec<String> = left.into_iter().map(Process::described).collect();
        Err(format!("processes outlive ralph: {}", left.join("; ")))
    }

    fn everything_is_known(&self) -> Result<(), String> {
        let runs = self.runs()?;
        for name in PROJECTS {
            let project = self.path(name);
            for id in Remains::of(&project)?.ids() {
                let run = runs.iter().find(|run| run["id"] == id.as_str());
                let run = run.ok_or_else(|| format!("no command knows of {id} in {name}"))?;
                if self.project_of(run) != Some(name) {
                    return Err(format!("{id} is not said to be in {name}: {run}"));
                }
            }
            let status = git(&project, "status --porcelain")?;
            if !status.is_empty() || git(&project, "rev-parse --abbrev-ref HEAD")? != "topic\n" {
                return Err(format!("the user's tree has changed: {status}"));
            }
        }
        Ok(())
    }

    fn resume_one(&mut self, rng: &mut Rng, tally: &mut Tally) -> Result<(), String> {
        let runs = self.runs()?;
        let waiting: Vec<&str> = runs.iter().filter(|run| run["resumable"] == true).filter_map(id).collect();
        let Some(id) = (!waiting.is_empty()).then(|| rng.one_of(&waiting)) else { return Ok(()) };
        let mut command = self.ralph("home");
        command.args(["resume", id]);
        let mut life = self.begin(command, tally)?;
        let death = life.wait(PATIENCE);
        self.note(format!("resumed {id}: {death:?}"));
        if death != Some(Death::Exit(0)) {
            return Err(format!("{id} was not resumed: {death:?} {}", life.last_words()));
        }
        tally.iterations += 1;
        let made = PROJECTS.iter().any(|project| {
            git(&self.path(project), &format!("show ralph/{id}:made")).is_ok_and(|made| made == "made\n")
        });
        if made { Ok(()) } else { Err(format!("the work of {id} is not on its branch")) }
    }

    /// Without --force, what is left is of runs that have begun something. The other project is as
    /// it was.
    fn clean(&mut self, project: &str, args: &[&str]) -> Result<(), String> {
        let other = PROJECTS.into_iter().find(|name| *name != project).unwrap_or_default();
        let (before, runs) = (Remains::of(&self.path(other))?, self.runs()?);
        self.stdout_of(project, &[&["clean"], args].concat())?;
        if Remains::of(&self.path(other))? != before || self.runs()?.len() != runs.len() {
            return Err(format!("cleaning {project} has changed {other}"));
        }
        let left = Remains::of(&self.path(project))?;
        match left.ids().find(|id| !args.is_empty() || !self.has_begun(id)) {
            Some(id) => Err(format!("clean {} has left {id}: {left:?}", args.join(" "))),
            None => Ok(()),
        }
    }

    /// Whether an agent may have worked in its worktree.
    fn has_begun(&self, id: &str) -> bool {
        let journal = fs::read_to_string(self.path("home/runs").join(id).join("journal.jsonl"));
        journal.unwrap_or_default().contains("\"began\"")
    }

    /// Both projects can be cleaned from anywhere, and then nothing is left.
    fn end(&mut self) -> Result<(), String> {
        let known: BTreeSet<&str> = self.runs()?.iter().filter_map(|run| self.project_of(run)).collect();
        let output = self.stdout_of("home", &["clean", "--all", "--runs", "--keep", "0", "--force"])?;
        let projects = format!("{} project{}", known.len(), if known.len() == 1 { "" } else { "s" });
        if !output.starts_with(&projects) {
            return Err(format!("expected {projects}, found: {output}"));
        }
        for project in PROJECTS {
            let left = Remains::of(&self.path(project))?;
            if left.ids().next().is_some() {
                return Err(format!("left in {project}: {left:?}"));
            }
        }
        let left = self.runs()?;
        if left.is_empty() { Ok(()) } else { Err(format!("left: {left:?}")) }
    }

    fn runs(&self) -> Result<Vec<Value>, String> {
        let listed = self.stdout_of("home", &["runs", "--format", "json"])?;
        serde_json::from_str(&listed).map_err(about("runs"))
    }

    /// The project that a run was started in.
    fn project_of(&self, run: &Value) -> Option<&'static str> {
        let workspace = PathBuf::from(run["workspace"].as_str()?);
        PROJECTS.into_iter().find(|name| workspace.starts_with(self.path(name)))
    }

    fn stdout_of(&self, project: &str, args: &[&str]) -> Result<String, String> {
        let output = self.ralph(project).args(args).output().map_err(about("ralph"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        match output.status.success() {
            true => Ok(said),
            false => Err(format!("{}: {said}{}", args.join(" "), String::from_utf8_lossy(&output.stderr))),
        }
    }

    fn begin(&mut self, command: Command, tally: &mut Tally) -> Result<Life, String> {
        self.lives += 1;
        tally.lives += 1;
        Life::begin(command, &self.path(&format!("life-{}", self.lives)))
    }

    fn ralph(&self, project: &str) -> Command {
        let mut command = Command::new(RALPH);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("RALPH_") || name.to_string_lossy().starts_with("XDG_") {
                command.env_remove(name);
            }
        }
        command
            .env("RALPH_HOME", self.path("home"))
            .env("HOME", self.path("user"))
            .env("RALPH_SANDBOX", "none")
            .stdin(Stdio::null());
        command.env("GIT_CONFIG_NOSYSTEM", "1").current_dir(self.path(project));
        command
    }

    fn processes(&self) -> Vec<Process> {
        procs::with_variable("HOME", &self.path("user").display().to_string())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn keep(&mut self) -> PathBuf {
        self.dir.disable_cleanup(true);
        self.dir.path().to_path_buf()
    }

    fn note(&mut self, what: String) {
        self.story.push(what);
    }
}

fn id(run: &Value) -> Option<&str> {
    run["id"].as_str()
}

impl Drop for Round {
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
