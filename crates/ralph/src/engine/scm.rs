//! Source control tasks, carried out for a run.
//!
//! They run outside the keeper: what they leave behind (gpg-agent, a credential cache) is
//! the user's. The user's hooks and signing apply.

use crate::git::{self, Repository};
use crate::place::Access;
use crate::process::tool::Tool;
use ralph_loop::Run;
use ralph_loop::dialect::{AgentEvent, Answer, Dialect, ScanFor, StreamReader};
use ralph_loop::event::{End, MessageEnd, UncommittedEnd};
use ralph_loop::scm::{COMMIT, MessageOutcome, ScmSpec, TaskOutcome, message_in};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
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
            access: Access::to(run),
            run_id: run.id.clone(),
            iteration,
            lock,
        })
    }

    pub(super) fn perform(&self) -> TaskOutcome {
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
        let trailer = format!("Ralph-Run: {}/{}", self.run_id, self.iteration);
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
                let said = String::from_utf8_lossy(&said);
                let first =
                    said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_string();
                TaskOutcome::Failed { why: format!("{}: {first}", output.exit) }
            }
            Err(cause) => TaskOutcome::Failed { why: cause.to_string() },
        }
    }

    fn is_git(&self) -> bool {
        Path::new(&self.program).file_name().is_some_and(|name| name == "git")
    }
}

/// Why a task that cannot be taken back is not begun.
pub(super) fn unsettled(cause: &io::Error) -> String {
    format!("cannot write the journal: {cause}")
}

/// Whether a commit would be empty; where git cannot say, it is tried.
pub(super) fn nothing_to_commit(access: &Access) -> bool {
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

/// The message in what an agent has said, read from where it has said it. A stream of
/// events is no message; the last text in it is.
fn read_message(words: &Path, read_as: Dialect, tag: Option<&str>) -> Option<String> {
    const ENOUGH: u64 = 16 << 20;
    let mut bytes = Vec::new();
    std::fs::File::open(words).ok()?.take(ENOUGH).read_to_end(&mut bytes).ok()?;
    if read_as == Dialect::Plain {
        return message_in(&String::from_utf8_lossy(&bytes), tag);
    }
    let mut last = String::new();
    let mut note = |event: AgentEvent<'_>| {
        if let AgentEvent::Text { text, parent: None } = event
            && !text.trim().is_empty()
        {
            last = text.into_owned();
        }
    };
    let mut reader = StreamReader::new(read_as, "", ScanFor::Completion);
    reader.feed(&bytes, &mut note);
    reader.finish(&mut note);
    message_in(&last, tag)
}

/// What an agent's end amounts to where it was asked for a commit message.
pub(super) fn message_end(end: End, words: &Path, read_as: Dialect) -> End {
    match end {
        End::Agent(agent) => {
            let outcome = match &agent.answer {
                Answer::Failed { why }
                | Answer::Limited { why, .. }
                | Answer::Unavailable { why }
                | Answer::Refused { why, .. } => MessageOutcome::Failed { why: why.clone() },
                Answer::Said | Answer::Empty => match read_message(words, read_as, agent.seen.tag.as_deref())
                {
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
