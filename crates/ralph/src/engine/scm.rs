//! Source control tasks, carried out for a run.
//!
//! They run outside the keeper: what they leave behind (gpg-agent, a credential cache) is
//! the user's. The user's hooks and signing apply.
//!
//! In a run with a sandbox they run inside, because hooks and filters run what agents have written. Pushes
//! and signatures need the user's keys: they are done outside, where nothing of that is run.

use super::in_sandbox::InSandbox;
use super::own_commit::OwnCommit;
use crate::fsx;
use crate::git::{self, Repository};
use crate::handed::HandedFile;
use crate::place::Access;
use crate::process::tool::Tool;
use crate::sandbox::Sandbox;
use crate::secrets;
use ralph_loop::Run;
use ralph_loop::dialect::{AgentEvent, Answer, Dialect, ScanFor, StreamReader};
use ralph_loop::event::{End, MessageEnd, UncommittedEnd};
use ralph_loop::run::Tree;
use ralph_loop::scm::{COMMIT, MessageOutcome, ScmSpec, TaskOutcome, message_in};
use ralph_loop::text::clip;
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A push over a slow line may take a while; one that waits for a password never ends.
const TIMEOUT: Duration = Duration::from_secs(600);

/// What one task needs to know, apart from the run that goes on meanwhile.
pub(super) struct Task {
    pub(super) name: String,
    program: String,
    message: Option<String>,
    workspace: PathBuf,
    access: Access,
    run_id: String,
    iteration: u32,
    /// The run's lock: a commit that is no longer waited for is still something of the run
    /// that is alive.
    lock: Option<OwnedFd>,
}

impl Task {
    pub(super) fn of(
        run: &Run,
        spec: &ScmSpec,
        access: Access,
        iteration: u32,
        task: usize,
        message: Option<String>,
        lock: Option<OwnedFd>,
    ) -> Option<Task> {
        Some(Task {
            name: spec.tasks.get(task)?.clone(),
            program: spec.command.clone(),
            message,
            workspace: run.workspace.clone(),
            access,
            run_id: run.id.clone(),
            iteration,
            lock,
        })
    }

    /// The same for a process that is in the sandbox already.
    pub(super) fn inside(request: TaskRequest) -> Task {
        let TaskRequest { name, program, message, workspace, tree, run_id, iteration } = request;
        let access = Access::from_inside(tree);
        Task { name, program, message, workspace, access, run_id, iteration, lock: None }
    }

    pub(super) fn perform(&self) -> TaskOutcome {
        match (self.access.sandbox(), self.pushed()) {
            (Some(sandbox), Some(args)) => self.push_outside(sandbox, &args),
            (Some(sandbox), None) => self.perform_inside(sandbox),
            (None, _) => self.perform_here(),
        }
    }

    /// What is pushed, if this is a push by git itself and not by a program that agents can write.
    fn pushed(&self) -> Option<Vec<&str>> {
        let mut words = self.name.split_whitespace();
        let is_push = self.is_git() && words.next() == Some("push");
        let program = which::which(&self.program).ok()?.canonicalize().ok()?;
        let is_agents = program.starts_with(self.access.top().unwrap_or(&self.workspace));
        (is_push && !is_agents).then(|| words.collect())
    }

    fn push_outside(&self, sandbox: &Sandbox, args: &[&str]) -> TaskOutcome {
        let Some(repository) = self.access.repository() else {
            return TaskOutcome::Failed { why: "the repository is gone".to_string() };
        };
        if let Some(hook) = repository.pre_push_hook() {
            sandbox.tell_once(format!("pushes from a sandbox run no hooks: {} is skipped", hook.display()));
        }
        match repository.push_without_hooks(args, self.lock.as_ref()) {
            Ok(()) => TaskOutcome::Done,
            Err(cause) => TaskOutcome::Failed { why: in_one_line(&cause.to_string()) },
        }
    }

    /// What the process inside says counts only as far as it shows outside: a filter can write to its
    /// output, too.
    fn perform_inside(&self, sandbox: &Arc<Sandbox>) -> TaskOutcome {
        let trailer = self.trailer();
        let is_committed = || {
            let repository = self.access.repository().filter(|_| self.is_git() && self.name == COMMIT)?;
            repository.recent_commit_says(&trailer).then_some(repository)
        };
        let before = is_committed();
        let outcome = match &before {
            Some(_) => TaskOutcome::Done,
            None => {
                let inside = InSandbox { access: &self.access, sandbox, lock: self.lock.as_ref() };
                match inside.perform(&OwnCommit::Task(self.request())) {
                    Ok(End::Scm(outcome)) => outcome,
                    Ok(_) => TaskOutcome::Failed { why: "unexpected answer".to_string() },
                    Err(why) => TaskOutcome::Failed { why },
                }
            }
        };
        if outcome != TaskOutcome::Done || !self.is_git() || self.name != COMMIT {
            return outcome;
        }
        match before.or_else(is_committed) {
            Some(repository) => self.sign(&repository),
            None => {
                TaskOutcome::Failed { why: "the commit was not carried over from the sandbox".to_string() }
            }
        }
    }

    /// Inside there is no key.
    fn sign(&self, repository: &Repository) -> TaskOutcome {
        if !repository.signs_commits() {
            return TaskOutcome::Done;
        }
        match repository.sign_last_commit(&self.trailer()) {
            Ok(_) => TaskOutcome::Done,
            Err(cause) => TaskOutcome::Failed {
                why: format!("committed, but not signed: {}", in_one_line(&cause.to_string())),
            },
        }
    }

    fn request(&self) -> TaskRequest {
        let tree =
            Tree { dir: self.access.dir().to_path_buf(), top: self.access.top().map(Path::to_path_buf) };
        TaskRequest {
            name: self.name.clone(),
            program: self.program.clone(),
            message: self.message.clone(),
            workspace: self.workspace.clone(),
            tree,
            run_id: self.run_id.clone(),
            iteration: self.iteration,
        }
    }

    fn trailer(&self) -> String {
        format!("Ralph-Run: {}/{}", self.run_id, self.iteration)
    }

    fn perform_here(&self) -> TaskOutcome {
        let repository = self.access.repository();
        if let (true, None, Some(top)) = (self.is_git(), &repository, self.access.top()) {
            // Git would take one that lies around it.
            return TaskOutcome::Failed { why: format!("the repository is gone: {}", top.display()) };
        }
        // A command of another name may well be git.
        if let Some(Err(cause)) = repository.as_ref().map(Repository::unstage_private) {
            return TaskOutcome::Failed { why: cause.to_string() };
        }
        let repository = repository.filter(|_| self.is_git());
        match (&repository, self.name.as_str()) {
            (Some(repository), COMMIT) => self.commit(repository),
            (_, COMMIT) => match &self.message {
                Some(message) => self.run(&["commit", "-am", message]),
                None => TaskOutcome::NothingToCommit,
            },
            (_, task) => self.run(&task.split_whitespace().collect::<Vec<_>>()),
        }
    }

    /// A commit that is there already was made by a life of this run that was cut short
    /// before it could record so.
    fn commit(&self, repository: &Repository) -> TaskOutcome {
        let trailer = self.trailer();
        if repository.recent_commit_says(&trailer) {
            return TaskOutcome::Done;
        }
        let Some(message) = &self.message else { return TaskOutcome::NothingToCommit };
        match repository.changed_paths() {
            Ok(paths) if paths.is_empty() => return TaskOutcome::NothingToCommit,
            Ok(_) => {}
            Err(cause) => return TaskOutcome::Failed { why: cause.to_string() },
        }
        // `commit -a` alone would leave new files out.
        if let Err(cause) = repository.stage_all() {
            return TaskOutcome::Failed { why: cause.to_string() };
        }
        self.run(&["commit", "-am", message, "-m", &trailer])
    }

    fn run(&self, args: &[&str]) -> TaskOutcome {
        let mut tool = Tool::new(&self.program).args(args).cwd(&self.workspace).timeout(TIMEOUT);
        if let Some(lock) = self.lock.as_ref().and_then(|lock| lock.try_clone().ok()) {
            tool = tool.holding(lock);
        }
        match self.access.tool(git::apart_from_hooks(tool)).env("GIT_TERMINAL_PROMPT", "0").run() {
            Ok(output) if output.success() => TaskOutcome::Done,
            Ok(output) => {
                let said = [output.stderr, output.stdout].concat();
                let first = first_line(&String::from_utf8_lossy(&said));
                TaskOutcome::Failed { why: format!("{}: {first}", output.exit) }
            }
            Err(cause) => TaskOutcome::Failed { why: cause.to_string() },
        }
    }

    fn is_git(&self) -> bool {
        Path::new(&self.program).file_name().is_some_and(|name| name == "git")
    }
}

/// A task, for another process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskRequest {
    name: String,
    program: String,
    message: Option<String>,
    workspace: PathBuf,
    tree: Tree,
    run_id: String,
    iteration: u32,
}

fn in_one_line(said: &str) -> String {
    const LONGEST: usize = 300;
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    clip(&lines.join("; "), LONGEST).into_owned()
}

fn first_line(said: &str) -> String {
    said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_string()
}

/// Why a task that cannot be taken back is not begun.
pub(super) fn unsettled(cause: &io::Error) -> String {
    format!("cannot write the journal: {cause}")
}

/// Whether a commit would be empty; where git cannot say, it is tried.
pub(super) fn nothing_to_commit(access: &Access) -> bool {
    if let Some(sandbox) = access.sandbox() {
        let tree = Tree { dir: access.dir().to_path_buf(), top: access.top().map(Path::to_path_buf) };
        let counted = InSandbox { access, sandbox, lock: None }
            .perform(&OwnCommit::Uncommitted { tree, message: None });
        return matches!(counted, Ok(End::Uncommitted(UncommittedEnd { paths: 0, problem: None, .. })));
    }
    let repository = access.repository();
    repository.and_then(|found| found.changed_paths().ok()).is_some_and(|paths| paths.is_empty())
}

/// The uncommitted changes of an iteration, committed under a message or only counted.
pub(super) fn commit_uncommitted(access: &Access, message: Option<&str>) -> UncommittedEnd {
    let Some(repository) = access.repository() else { return UncommittedEnd::default() };
    let seen = repository.changed_paths().map(|paths| paths.iter().filter(|byte| **byte == 0).count());
    let paths = match seen {
        Ok(paths) => paths,
        Err(cause) => {
            return UncommittedEnd { problem: Some(cause.to_string()), ..UncommittedEnd::default() };
        }
    };
    let Some(message) = message.filter(|_| paths > 0) else {
        return UncommittedEnd { paths, ..UncommittedEnd::default() };
    };
    match repository.commit_all(message) {
        Ok(()) => UncommittedEnd { paths, committed: true, problem: None },
        Err(cause) => UncommittedEnd { paths, committed: false, problem: Some(cause.to_string()) },
    }
}

/// Where an agent says a commit message.
pub(super) enum MessageIn {
    /// What it has printed, without secrets.
    Log { log: PathBuf, read_as: Dialect },
    /// What it has written is recorded without them.
    Handed { file: HandedFile, recorded: PathBuf },
    /// The user wants it there.
    UsersFile(PathBuf),
}

/// The message in what an agent has said, read from where it has said it. A stream of
/// events is no message; the last text in it is.
fn read_message(words: &MessageIn, tag: Option<&str>) -> Option<String> {
    let plain = |file: &Path| {
        let bytes = beginning(file)?;
        Some(secrets::mask(&String::from_utf8_lossy(&bytes)).into_owned())
    };
    match words {
        MessageIn::Log { log, read_as: Dialect::Plain } => message_in(&plain(log)?, tag),
        MessageIn::UsersFile(file) => message_in(&plain(file)?, tag),
        MessageIn::Handed { file, recorded } => {
            let text = plain(file.path())?;
            fsx::write_whole(recorded, text.as_bytes()).ok()?;
            message_in(&text, tag)
        }
        MessageIn::Log { log, read_as } => message_in(&last_text(&beginning(log)?, *read_as), tag),
    }
}

/// As much of a file as a message can need.
fn beginning(file: &Path) -> Option<Vec<u8>> {
    const ENOUGH: u64 = 16 << 20;
    let mut bytes = Vec::new();
    std::fs::File::open(file).ok()?.take(ENOUGH).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn last_text(stream: &[u8], read_as: Dialect) -> String {
    let mut last = String::new();
    let mut note = |event: AgentEvent<'_>| {
        if let AgentEvent::Text { text, parent: None } = event
            && !text.trim().is_empty()
        {
            last = text.into_owned();
        }
    };
    let mut reader = StreamReader::new(read_as, "", ScanFor::Completion);
    reader.feed(stream, &mut note);
    reader.finish(&mut note);
    last
}

/// What an agent's end amounts to where it was asked for a commit message.
pub(super) fn message_end(end: End, words: &MessageIn) -> End {
    match end {
        End::Agent(agent) => {
            let outcome = match &agent.answer {
                Answer::Failed { why }
                | Answer::Limited { why, .. }
                | Answer::Unavailable { why }
                | Answer::Refused { why, .. } => MessageOutcome::Failed { why: why.clone() },
                Answer::Said | Answer::Empty => match read_message(words, agent.seen.tag.as_deref()) {
                    Some(text) => MessageOutcome::Text(text),
                    None => MessageOutcome::Failed { why: "the agent gave no commit message".into() },
                },
            };
            End::Message(MessageEnd { outcome, cost: agent.seen.cost, estimate: agent.estimate })
        }
        End::Impossible { why } => no_message(why),
        other => other,
    }
}

pub(super) fn no_message(why: String) -> End {
    End::Message(MessageEnd { outcome: MessageOutcome::Failed { why }, cost: None, estimate: None })
}
