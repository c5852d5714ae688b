//! One lane: a keeper and the step that it is busy with.
//!
//! The lane knows how to begin a step and how to tell that it has ended. Every program of
//! a step is started by the keeper, but for the git that records and restores trees and that
//! carries out source control tasks.

use super::activity::Activity;
use super::assignment::{self, HandedOut};
use super::check_log::LogGuard;
use super::compose;
use super::own_commit::{self, OwnCommit, OwnCommitStep};
use super::pipe;
use super::projections::Projections;
use super::raw_log::RawLog;
use super::scm::{self, Task};
use super::step::{AgentStep, CheckStep, check_log};
use super::streams::{LEAST_KEPT, Room, Streams};
use super::task_files::TaskFileError;
use crate::fsx;
use crate::git;
use crate::git::checkpoint::{Checkpoints, Restored, Taken};
use crate::git::known_head::KnownCommit;
use crate::git::restore::Target;
use crate::layout::{self, Project, RunDir};
use crate::lock::RunLock;
use crate::place;
use crate::process::{self, Keeper, KeeperProgram, ProcessError, Stdio3};
use crate::stories::added::AddedSpecs;
use crate::tasks::added::Added;
use crate::texts::Texts;
use ralph_loop::check::log_names;
use ralph_loop::dialect::{
    AnswerIn, CommandLineError, Dialect, Hooks, Invocation, Lines, PromptVia, StreamReader, Wants,
    command_line,
};
use ralph_loop::done_pattern::DonePattern;
use ralph_loop::event::{AgentEnd, Branch, End, How};
use ralph_loop::limits::Patience;
use ralph_loop::money::Usd;
use ralph_loop::plan::{Item, Pick, Plan, PlanState, PlanStep};
use ralph_loop::run::AgentSpec;
use ralph_loop::scm::{MESSAGE_PROMPT, TaskOutcome};
use ralph_loop::{Run, State};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Instant;
use thiserror::Error;
use tokio::task::JoinHandle;

pub(super) struct Lane {
    pub(super) keeper: Option<Keeper>,
    pub(super) current: Current,
    keeper_program: KeeperProgram,
    lock: RunLock,
    run_dir: RunDir,
    pub(super) project: Project,
    pub(super) texts: Texts,
    streams: Streams,
    checkpoints: Option<Checkpoints>,
    /// The story that is worked on.
    story: Option<String>,
    /// What else the agent of this iteration finds in its environment.
    extra_env: Vec<(&'static str, String)>,
    /// How many iterations there may be.
    iterations: u32,
}

/// What the lane is busy with.
pub(super) enum Current {
    Nothing,
    /// A step that could not begin because the keeper is dead.
    KeeperGone,
    Agent(Box<AgentStep>),
    Check(CheckStep),
    Snapshot(JoinHandle<Taken>),
    Restore(JoinHandle<Restored>),
    OwnCommit(OwnCommitStep),
    /// An agent that is asked for a commit message, and where it says it.
    Message {
        step: Box<AgentStep>,
        words: PathBuf,
        read_as: Dialect,
    },
    /// Finding out whether there is anything to commit.
    Survey {
        handle: JoinHandle<bool>,
        iteration: u32,
        agent: usize,
    },
    /// A source control task.
    Repository(JoinHandle<TaskOutcome>),
    /// Waiting for another process that edits the plan's files.
    Plan {
        handle: JoinHandle<io::Result<Added>>,
        what: PlanStep,
    },
    /// Finding out which branch an agent that has ended has left.
    Branch {
        handle: JoinHandle<Option<Branch>>,
        end: Box<AgentEnd>,
    },
}

/// What an agent is started for.
struct Asked<'a> {
    agent: usize,
    wants: Wants<'a>,
    session: Option<&'a str>,
    budget: Option<Usd>,
    hooks: Option<Hooks<'a>>,
    /// What its words are matched with.
    pattern: Option<&'a str>,
    patience: Patience,
}

impl<'a> Asked<'a> {
    /// A pattern is found to be one before the run is told it.
    fn pattern(&self) -> Option<DonePattern> {
        self.pattern.and_then(|pattern| DonePattern::new(pattern).ok())
    }

    fn invocation(&self, spec: &'a AgentSpec) -> Invocation<'a> {
        Invocation {
            program: &spec.program,
            args: &spec.args,
            model: spec.model.as_deref(),
            autonomous: spec.autonomous,
            wants: self.wants,
            session: self.session,
            budget: self.budget,
            hooks: self.hooks,
        }
    }
}

/// Why a step could not begin.
#[derive(Debug, Error)]
pub(super) enum StartError {
    #[error("{0}")]
    Compose(#[from] compose::ComposeError),
    #[error("{0}")]
    CommandLine(#[from] CommandLineError),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{}", with_cause(.0))]
    Process(#[from] ProcessError),
    #[error("{0}")]
    Tasks(#[from] TaskFileError),
    #[error("the run has no agent number {0}")]
    NoSuchAgent(usize),
    #[error("the run has no check number {0}")]
    NoSuchCheck(usize),
}

fn with_cause(error: &ProcessError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

impl Lane {
    pub(super) fn new(
        run_dir: RunDir,
        project: Project,
        lock: RunLock,
        checkpoints: Option<Checkpoints>,
        keeper_program: KeeperProgram,
    ) -> Lane {
        let (texts, streams) = (Texts::of(&run_dir), Streams::of(&run_dir));
        let current = Current::Nothing;
        let (keeper, story, extra_env, iterations) = (None, None, Vec::new(), 0);
        Lane {
            keeper,
            current,
            keeper_program,
            lock,
            run_dir,
            project,
            texts,
            streams,
            checkpoints,
            story,
            extra_env,
            iterations,
        }
    }

    /// Returns what the agent is asked.
    pub(super) fn start_agent(
        &mut self,
        run: &Run,
        state: &State,
        (iteration, attempt, agent): (u32, u32, usize),
        projections: &Projections,
    ) -> Result<String, StartError> {
        let prompt = compose::prompt(run, state, &self.texts, projections)?;
        self.work_on(state);
        let handed_out = self.hand_out(run, state)?;
        let logs = (self.run_dir.stdout(iteration, attempt), self.run_dir.stderr(iteration, attempt));
        let session = session_id(run, state, iteration);
        let budget = state.ledger.limits.max_cost.map(|most| most.less(state.ledger.spent.usd));
        let hooks = handed_out.hooks.as_ref();
        let hooks = hooks.map(|forms| Hooks { settings: &forms.settings, config: &forms.config });
        let (pattern, patience) = (run.plan.pattern(&state.plan), state.ledger.limits.patience);
        let session = Some(session.as_str());
        let asked = Asked { agent, wants: Wants::Events, session, budget, hooks, pattern, patience };
        self.extra_env = handed_out.env;
        let (step, _) = self.ask(run, iteration, &asked, &prompt, logs)?;
        self.current = Current::Agent(Box::new(step));
        Ok(prompt)
    }

    /// What agents and checks are told they work on.
    fn work_on(&mut self, state: &State) {
        self.iterations = state.ledger.limits.iterations;
        self.story = match &state.work.pick {
            Pick::Work(item) => item.story(),
            Pick::Done | Pick::Stuck(_) => None,
        };
    }

    /// What else the agent of an iteration gets.
    fn hand_out(&self, run: &Run, state: &State) -> Result<HandedOut, StartError> {
        let (Plan::Tasks(plan), PlanState::Tasks(tasks)) = (&run.plan, &state.plan) else {
            return Ok(HandedOut::default());
        };
        let Pick::Work(Item::Task { id, mode }) = &state.work.pick else {
            return Ok(HandedOut::default());
        };
        let ralph = self.keeper_program.path()?;
        let places = (&self.run_dir, &self.project, &self.texts);
        Ok(assignment::hand_out(run, state, (plan, tasks), (id, *mode), places, &ralph)?)
    }

    /// Asks an agent for a commit message, in words only.
    pub(super) fn start_message(
        &mut self,
        run: &Run,
        iteration: u32,
        agent: usize,
    ) -> Result<(), StartError> {
        let logs = (self.run_dir.message(iteration), self.run_dir.message_stderr(iteration));
        let file = self.run_dir.message_file(iteration);
        // Of a life of this run that was cut short.
        let _ = fsx::remove(&file);
        let wants = Wants::LastWords { file: &file.to_string_lossy() };
        let said = logs.0.clone();
        let (session, budget, hooks, pattern) = (None, None, None, None);
        let asked = Asked { agent, wants, session, budget, hooks, pattern, patience: Patience::default() };
        let (step, answer) = self.ask(run, iteration, &asked, MESSAGE_PROMPT, logs)?;
        let (words, read_as) = match answer {
            AnswerIn::Stdout => (said, step.dialect),
            AnswerIn::File(path) => (run.workspace.join(path), Dialect::Plain),
        };
        self.current = Current::Message { step: Box::new(step), words, read_as };
        Ok(())
    }

    /// Starts an agent with a prompt.
    fn ask(
        &mut self,
        run: &Run,
        iteration: u32,
        asked: &Asked<'_>,
        prompt: &str,
        (stdout_log, stderr_log): (PathBuf, PathBuf),
    ) -> Result<(AgentStep, AnswerIn), StartError> {
        let spec = run.agents.get(asked.agent).ok_or(StartError::NoSuchAgent(asked.agent))?;
        let hash = self.texts.put(prompt)?;
        let prompt_file = self.run_dir.text(&hash);
        let invocation = asked.invocation(spec);
        let line = command_line(spec.dialect, &invocation, &prompt_file.to_string_lossy(), prompt)?;
        let stdin: OwnedFd = match line.stdin {
            PromptVia::Stdin => File::open(&prompt_file)?.into(),
            PromptVia::Nothing => File::open("/dev/null")?.into(),
        };
        let (stdout, agents_stdout) = pipe::large()?;
        let (stderr, agents_stderr) = pipe::large()?;
        let most = match (run.keep_streams, asked.wants) {
            (0, _) => u64::MAX,
            (most, Wants::Events) => most,
            (most, Wants::LastWords { .. }) => most.max(LEAST_KEPT),
        };
        if run.keep_streams > 0 {
            self.streams.begin([&stdout_log, &stderr_log]);
        }
        let mut step = AgentStep {
            stdout: Some(stdout),
            stderr: Some(stderr),
            dialect: line.output,
            program: spec.dialect,
            reader: StreamReader::watching(line.output, prompt, run.plan.listen(), asked.pattern()),
            stderr_lines: Lines::default(),
            complaint: None,
            raw_out: RawLog::at(stdout_log),
            raw_err: RawLog::at(stderr_log),
            room: Room::of(most),
            gap_told: false,
            prompt: hash,
            price: spec.price,
            started: Instant::now(),
            activity: Activity::of(line.output, asked.patience, Instant::now()),
            silence_told: false,
            answers: 0,
            answers_told: 0,
            blocked_told: None,
            problem: None,
        };
        let argv = line.argv.into_iter().map(OsString::from).collect();
        let stdio = Stdio3 { stdin, stdout: agents_stdout, stderr: agents_stderr };
        if !matches!(run.plan, Plan::Prompt(_)) {
            // It also proves that there was an agent: see `session::resume`.
            step.raw_out.open()?;
        }
        self.spawn(run, iteration, (argv, &run.workspace), stdio)?;
        // Making a file takes longer than anything else between two agents, so where it can wait
        // it is made while the agent starts. An agent whose words cannot be kept is ended at once.
        if let Err(cause) = step.raw_out.open() {
            step.problem = Some(cause);
            self.cancel(How::Kill);
        }
        Ok((step, line.answer))
    }

    /// A task runs on a thread of its own, so that signals are heard meanwhile; so does the wait for
    /// the disk before it.
    pub(super) fn start_task(
        &mut self,
        task: Task,
        journal: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) {
        let texts = self.texts.settling();
        self.current = Current::Repository(tokio::task::spawn_blocking(move || {
            match texts().and_then(|()| journal()) {
                Ok(()) => task.perform(),
                Err(cause) => TaskOutcome::Failed { why: scm::unsettled(&cause) },
            }
        }));
    }

    pub(super) fn start_survey(&mut self, run: &Run, iteration: u32, agent: usize) {
        let tree = run.tree();
        let handle = tokio::task::spawn_blocking(move || scm::nothing_to_commit(&tree));
        self.current = Current::Survey { handle, iteration, agent };
    }

    pub(super) fn start_commit_worktree(&mut self, run: &Run, state: &State) -> Result<(), StartError> {
        let own_commit = OwnCommit::Rest { worktree: run.tree(), run_id: run.id.clone() };
        self.start_own_commit(run, state.ledger.judged, own_commit)
    }

    pub(super) fn start_uncommitted(
        &mut self,
        run: &Run,
        iteration: u32,
        item: &Item,
    ) -> Result<(), StartError> {
        let subject = run.plan.commit_subject(item, iteration);
        let message = subject.map(|subject| format!("{subject}\n\nRalph-Run: {}/{iteration}", run.id));
        let own_commit = OwnCommit::Left { tree: run.tree(), message };
        self.start_own_commit(run, iteration, own_commit)
    }

    /// Nowhere in particular: agents can have removed the workspace.
    fn start_own_commit(
        &mut self,
        run: &Run,
        iteration: u32,
        own_commit: OwnCommit,
    ) -> Result<(), StartError> {
        let told = serde_json::to_string(&own_commit).map_err(io::Error::from)?;
        let argv = vec![self.keeper_program.again()?.into(), own_commit::SUBCOMMAND.into(), told.into()];
        let output = fsx::nameless(self.run_dir.dir())?;
        let stdout = OwnedFd::from(output.try_clone()?);
        let stdio = Stdio3 { stdin: File::open("/dev/null")?.into(), stderr: stdout.try_clone()?, stdout };
        self.spawn(run, iteration, (argv, Path::new("/")), stdio)?;
        self.current = Current::OwnCommit(OwnCommitStep { own_commit, output });
        Ok(())
    }

    pub(super) fn start_check(
        &mut self,
        run: &Run,
        state: &State,
        iteration: u32,
        index: usize,
    ) -> Result<(), StartError> {
        self.work_on(state);
        let spec = run.checks.get(index).ok_or(StartError::NoSuchCheck(index))?;
        let name = &log_names(&run.checks)[index];
        let log = Project::check_log(iteration, name);
        let file = check_log(&self.project, &log)?;
        let (output, stdout) = (file.try_clone()?, OwnedFd::from(file));
        let stdio = Stdio3 { stdin: File::open("/dev/null")?.into(), stderr: stdout.try_clone()?, stdout };
        let argv = ["sh", "-c", &spec.command].map(OsString::from).to_vec();
        self.spawn(run, iteration, (argv, &run.workspace), stdio)?;
        // Without a thread the log is not held to its cap, and the check is run all the same.
        let guard = LogGuard::over(&output, run, spec).unwrap_or(None);
        self.current = Current::Check(CheckStep { index, log, output, guard, started: Instant::now() });
        Ok(())
    }

    /// Git runs on a thread of its own, so that signals are heard meanwhile.
    pub(super) fn start_snapshot(&mut self, run: &Run, state: &State) {
        let Some(mut checkpoints) = self.checkpoints.take() else {
            self.current = Current::Nothing;
            return;
        };
        let (project, with_diff) = (self.project.dir().to_path_buf(), run.prompt.context);
        let own_files = self.own_files(run, checkpoints.top());
        let needed = state.work.base.as_ref().map(|base| base.tree.clone());
        let (for_scm, for_answers) = (run.scm.is_some(), run.plan.repeats_empty_answers());
        let (tree, recorded) = (run.tree(), checkpoints.repository().clone());
        let commit = move |known: &mut KnownCommit| match (for_scm, for_answers) {
            // There may be another repository below the top by now.
            (true, _) if tree.dir != recorded.top => place::repository(&tree)?.commit(),
            (true, _) => known.get(&recorded.top, || place::repository(&tree)?.commit()),
            (false, true) => known.get(&recorded.top, || recorded.commit()),
            (false, false) => None,
        };
        self.current = Current::Snapshot(tokio::task::spawn_blocking(move || {
            let mut known = checkpoints.lend_known_commit();
            let (commit, mut taken) = std::thread::scope(|both| {
                let commit = both.spawn(|| commit(&mut known));
                let taken = checkpoints.take(&project, with_diff, needed.as_deref(), &own_files);
                (commit.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), taken)
            });
            checkpoints.return_known_commit(known);
            if let Ok(snapshot) = &mut taken {
                snapshot.end.commit = commit;
            }
            (checkpoints, taken)
        }));
    }

    /// Likewise. False if there is nothing to go back to.
    pub(super) fn start_restore(&mut self, run: &Run, state: &State, attempt: u32) -> bool {
        let (Some(base), Some(mut checkpoints)) = (state.work.base.clone(), self.checkpoints.take()) else {
            return false;
        };
        let (project, home) = (self.project.clone(), self.run_dir.home());
        let (own_files, top) = (self.own_files(run, checkpoints.top()), checkpoints.top().to_path_buf());
        let keep_as = git::attempt_ref(&run.id, attempt);
        self.current = Current::Restore(tokio::task::spawn_blocking(move || {
            // What people have added meanwhile is none of the attempt's.
            let own_files = || {
                let added = AddedSpecs::look(&home, &project).into_iter();
                let added = added.filter_map(|path| layout::below(&top, &project.dir().join(path)));
                own_files.iter().cloned().chain(added).collect()
            };
            let (tree, head) = (base.tree.as_str(), &base.head);
            let target = Target { tree, head, keep_as: &keep_as, own_files: &own_files };
            let restored = checkpoints.put_back(project.dir(), &target);
            (checkpoints, restored)
        }));
        true
    }

    /// What a run writes by itself, relative to the top of the work tree.
    fn own_files(&self, run: &Run, top: &Path) -> Vec<String> {
        let progress_txt = match run.plan {
            Plan::Stories(_) => Some(self.project.progress_txt()),
            Plan::Prompt(_) | Plan::Tasks(_) => None,
        };
        self.project.own_files_below(top, progress_txt.into_iter().chain(run.log.clone()))
    }

    /// Makes room for what agents print. Returns the last iteration whose stream had to
    /// go, if none had before.
    pub(super) fn trim_streams(&mut self, run: &Run) -> io::Result<Option<u32>> {
        if run.keep_streams == 0 {
            return Ok(None);
        }
        let now = match &self.current {
            Current::Agent(step) | Current::Message { step, .. } => step.kept(),
            _ => self.streams.newest(),
        };
        self.streams.trim(run.keep_streams, now)
    }

    pub(super) fn run_dir(&self) -> &RunDir {
        &self.run_dir
    }

    /// The agent has ended. Where a plan's work has to stay on one branch, git is first asked which
    /// one it is on now, on a thread of its own; returns the end if nothing is left to find out.
    pub(super) fn agent_ended(&mut self, run: &Run, end: End) -> Option<End> {
        match end {
            End::Agent(end) if run.plan.restores() => {
                let tree = run.tree();
                let branch = move || Some(place::repository(&tree)?.branch());
                self.current = Current::Branch { handle: tokio::task::spawn_blocking(branch), end };
                None
            }
            end => Some(end),
        }
    }

    /// The end of the agent whose branch git was asked for; without one if git is no longer waited
    /// for.
    pub(super) fn branch_known(&mut self, branch: Option<Branch>) -> Option<End> {
        match std::mem::replace(&mut self.current, Current::Nothing) {
            Current::Branch { end, .. } => Some(End::Agent(Box::new(AgentEnd { branch, ..*end }))),
            current => {
                self.current = current;
                None
            }
        }
    }

    /// Another descriptor of the run's lock.
    pub(super) fn lock(&self) -> Option<OwnedFd> {
        self.lock.as_fd().try_clone_to_owned().ok()
    }

    pub(super) fn has_checkpoints(&self) -> bool {
        self.checkpoints.is_some()
    }

    pub(super) fn put_back(&mut self, checkpoints: Checkpoints) {
        self.checkpoints = Some(checkpoints);
    }

    /// A keeper that cannot be reached has died, and says so by itself.
    pub(super) fn cancel(&mut self, how: How) {
        let Some(keeper) = &self.keeper else { return };
        let _ = match how {
            How::Ask => keeper.terminate(),
            How::Kill => keeper.sweep(),
            How::KillKeeper => keeper.kill(),
        };
    }

    /// Ends whatever runs; returns when nothing is left.
    pub(super) fn close(&mut self) {
        if let Some(keeper) = self.keeper.take() {
            keeper.finish();
        }
    }

    fn spawn(
        &mut self,
        run: &Run,
        iteration: u32,
        (argv, cwd): (Vec<OsString>, &Path),
        stdio: Stdio3,
    ) -> Result<(), StartError> {
        let mut env = vec![
            ("RALPH_RUN", run.id.clone()),
            ("RALPH_ITERATION", iteration.to_string()),
            ("RALPH_MAX_ITERATIONS", self.iterations.to_string()),
        ];
        if let Some(story) = &self.story {
            env.push(("RALPH_STORY", story.clone()));
        }
        env.append(&mut self.extra_env);
        let env = env.into_iter().map(|(name, value)| (name.to_string(), value));
        let env = env.chain(git::tidy_in_foreground()).map(|(name, value)| (name.into(), value.into()));
        let env = env.collect();
        let command = process::Command { argv, cwd: cwd.to_path_buf(), env, env_remove: Vec::new() };
        let keeper = match &mut self.keeper {
            Some(keeper) => keeper,
            none => none.insert(Keeper::start(&self.keeper_program, Some(self.lock.as_fd()), &[])?),
        };
        Ok(keeper.spawn(&command, stdio)?)
    }
}

/// A UUID that no other session has: of this attempt of this life of this run.
fn session_id(run: &Run, state: &State, iteration: u32) -> String {
    let name = format!(
        "{}/{}/{iteration}/{}/{}",
        run.id,
        state.position.epoch,
        state.position.steps_begun,
        std::process::id()
    );
    let hash = layout::hash(name.as_bytes());
    format!("{}-{}-4{}-8{}-{}", &hash[..8], &hash[8..12], &hash[13..16], &hash[17..20], &hash[20..32])
}
