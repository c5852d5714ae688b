//! Planning in a conversation: the agent has the terminal, and ralph asks what to do when the user leaves it.
//!
//! Invariant: nothing of the project is changed before the user has seen the plan and said what to do with it.

use super::menu;
use super::prepare::Prepared;
use super::summary::{self, Planned};
use crate::fsx;
use crate::git::{NoRepository, Repository};
use crate::hook::{self, HookSet};
use crate::lock::WorkspaceLock;
use crate::planner::drafts;
use crate::planner::{PLAN, PlannerError, install};
use crate::process::{self, Command, Exit, Foreground};
use crate::report::{Out, say};
use ralph_loop::dialect::{Conversation, Planning, PlanningSession, Talk, planning_command};
use ralph_loop::run::AgentSpec;
use ralph_loop::strict::repairs;
use ralph_loop::text::{clip, printable};
use std::io;
use std::process::ExitCode;

/// What the user wants once they have left the agent.
enum Choice {
    Run,
    Change,
    Later,
    /// Nothing of it: the drafts stay where they are.
    Drop,
}

pub fn hold(prepared: &Prepared, lock: WorkspaceLock) -> Result<ExitCode, PlannerError> {
    let record = &prepared.record;
    let failed = |cause| PlannerError::Record { dir: record.dir().to_path_buf(), cause };
    let ralph = std::env::current_exe().map_err(failed)?;
    let settings = hook::claude_settings(&ralph, HookSet::Planning).to_string();
    fsx::write_private(&record.settings(), settings.as_bytes()).map_err(failed)?;
    let config = hook::codex_config(&ralph, HookSet::Planning);
    let mut session = None;
    loop {
        let ended = converse(prepared, session.as_deref(), &config)?;
        if ended.told {
            return Err(PlannerError::Interrupted { drafts: record.drafts() });
        }
        session = known_session(prepared).or(session);
        match after(prepared, ended.exit)? {
            (Choice::Change, _) if session.is_some() => {}
            (Choice::Change, _) => {
                say("ralph: this conversation cannot be continued: the agent has not named it");
                return Err(PlannerError::Interrupted { drafts: record.drafts() });
            }
            (Choice::Drop, _) => return Err(PlannerError::Interrupted { drafts: record.drafts() }),
            (Choice::Later, planned) => {
                put_in_place(prepared, planned)?;
                return Ok(ExitCode::SUCCESS);
            }
            (Choice::Run, planned) => {
                let planned = put_in_place(prepared, planned)?;
                commit(prepared, &planned);
                drop(lock);
                return Ok(run(prepared));
            }
        }
    }
}

/// One life of the agent in the terminal.
fn converse(
    prepared: &Prepared,
    session: Option<&str>,
    config: &[String],
) -> Result<Foreground, PlannerError> {
    let AgentSpec { name, dialect, program, args, model, .. } = &prepared.agent;
    let not_started = |why: String| PlannerError::NotStarted { name: name.clone(), why };
    let record = &prepared.record;
    let [drafts, instructions, settings] =
        [record.drafts(), record.instructions(), record.settings()].map(|path| path.display().to_string());
    let (new, opening) = (new_session(prepared), opening(prepared));
    let conversation = Conversation {
        session: session.map_or(PlanningSession::New(&new), PlanningSession::Resumed),
        instructions: &instructions,
        opening: &opening,
        settings: &settings,
        config,
    };
    let planning = Planning {
        program,
        args,
        model: model.as_deref(),
        drafts: &drafts,
        talk: Talk::Conversation(conversation),
    };
    let line = planning_command(*dialect, &planning)
        .ok_or_else(|| not_started("it cannot plan".to_owned()))?
        .map_err(|cause| not_started(cause.to_string()))?;
    let command = Command {
        argv: line.argv.into_iter().map(Into::into).collect(),
        cwd: prepared.project.dir().to_path_buf(),
        env: vec![(PLAN.into(), record.dir().into())],
        ..Command::default()
    };
    let ended = process::in_foreground(command).map_err(|cause| not_started(cause.to_string()))?;
    if let Exit::Signal(_) = ended.exit {
        restore_screen();
    }
    Ok(ended)
}

/// A program that was killed could not leave the screen as it was: the other screen, mouse, paste and key modes,
/// colors, a hidden cursor.
fn restore_screen() {
    const RESTORE: &[u8] = b"\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\
        \x1b[?2004l\x1b[<u\x1b[?25h\x1b[0m\r\n";
    let mut out = Out::stdout();
    out.bytes(RESTORE);
    out.flush();
}

/// A UUID for the first session.
fn new_session(prepared: &Prepared) -> String {
    let hash = crate::layout::hash(prepared.record.dir().as_os_str().as_encoded_bytes());
    format!("{}-{}-4{}-8{}-{}", &hash[..8], &hash[8..12], &hash[13..16], &hash[17..20], &hash[20..32])
}

/// The session that the agent has told its hook.
fn known_session(prepared: &Prepared) -> Option<String> {
    let bytes = fsx::read_regular(&prepared.record.session()).ok()?;
    String::from_utf8(bytes).ok().filter(|session| !session.is_empty())
}

/// The first message. Without a word before it, one like `/help` would be a command.
fn opening(prepared: &Prepared) -> String {
    const SHOWN: usize = 4000;
    match (prepared.spec.scope.story(), prepared.idea.trim()) {
        (Some(story), "") => format!("Plan: work on {story} as your instructions say."),
        (None, "") => "Plan: read the project, then ask me what I want.".to_owned(),
        (_, idea) => format!("Plan:\n{}", clip(idea, SHOWN)),
    }
}

/// Shows what there is, and asks.
fn after(prepared: &Prepared, exit: Exit) -> Result<(Choice, Option<Planned>), PlannerError> {
    if !exit.is_success() {
        say(&format!("ralph: {} ended with {exit}", prepared.agent.name));
    }
    let record = &prepared.record;
    let draft = drafts::read(&prepared.spec, record, &[])?;
    match draft {
        None if !exit.is_success() && known_session(prepared).is_none() => {
            let why = format!("{} ended with {exit}", prepared.agent.name);
            Err(PlannerError::AgentFailed { why, record: record.dir().to_path_buf() })
        }
        None => {
            say("ralph: no plan was written yet");
            Ok((
                choose("c  go on talking, q  stop [q]: ", &[("c", Choice::Change), ("q", Choice::Drop)])?,
                None,
            ))
        }
        Some(draft) if !draft.is_valid() => {
            say("ralph: the plan is not valid yet:");
            repairs(draft.findings()).lines().for_each(|line| say(&printable(&format!("  {line}"))));
            Ok((
                choose("c  go on talking, q  stop [q]: ", &[("c", Choice::Change), ("q", Choice::Drop)])?,
                None,
            ))
        }
        Some(draft) => {
            let planned = summary::of(prepared, &draft, &[])?;
            summary::show(prepared, &planned);
            let question = "\nr  commit it and run it\nc  change something\nl  keep it for later\n\
                            q  drop it\nWhat next? [l]: ";
            let choices =
                [("r", Choice::Run), ("c", Choice::Change), ("q", Choice::Drop), ("l", Choice::Later)];
            Ok((choose(question, &choices)?, Some(planned)))
        }
    }
}

/// Enter takes the last one.
fn choose(question: &str, choices: &[(&str, Choice)]) -> Result<Choice, PlannerError> {
    let unread = |cause: io::Error| PlannerError::CannotRead { file: "/dev/tty".into(), cause };
    loop {
        let Some(line) = menu::line(question).map_err(unread)? else { return Ok(Choice::Drop) };
        let key = line.to_lowercase();
        let chosen = match key.as_str() {
            "" => choices.last(),
            key => choices.iter().find(|(name, _)| *name == key),
        };
        match chosen {
            Some((_, Choice::Run)) => return Ok(Choice::Run),
            Some((_, Choice::Change)) => return Ok(Choice::Change),
            Some((_, Choice::Later)) => return Ok(Choice::Later),
            Some((_, Choice::Drop)) => return Ok(Choice::Drop),
            None => say(&format!("Please type one of: {}", names(choices))),
        }
    }
}

fn names(choices: &[(&str, Choice)]) -> String {
    choices.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

fn put_in_place(prepared: &Prepared, planned: Option<Planned>) -> Result<Planned, PlannerError> {
    let files = install::install(&prepared.spec, &prepared.record, &prepared.home, &[])?;
    let shown: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    say(&format!("ralph: written: {}", shown.join(", ")));
    let Some(mut planned) = planned else {
        let drafts = prepared.record.drafts();
        return Err(PlannerError::Interrupted { drafts });
    };
    planned.files = files;
    Ok(planned)
}

/// A run switches to the branch of the list only if nothing is uncommitted.
fn commit(prepared: &Prepared, planned: &Planned) {
    let dir = prepared.project.dir();
    let repository = match Repository::find(dir) {
        Ok(repository) => repository,
        Err(NoRepository::None) => return,
        Err(cause @ (NoRepository::Untrusted { .. } | NoRepository::Unanswered(_))) => {
            return say(&format!("ralph: warning: the plan is not committed: {cause}"));
        }
    };
    let mut files: Vec<_> = planned.files.iter().map(|file| dir.join(file)).collect();
    if let Some(tasks) = prepared.spec.tasks() {
        // All that was laid out belongs to the list.
        files.extend([
            tasks.prd(),
            tasks.list(),
            tasks.progress(),
            tasks.prompt(),
            prepared.project.gitignore(),
        ]);
        files.retain(|file| file.exists());
        files.dedup();
    }
    if let Err(cause) = repository.commit_only(&files, "plan: what to build, as stories for ralph") {
        say(&format!("ralph: warning: the plan is not committed: {cause}"));
    }
}

/// This process becomes the run.
fn run(prepared: &Prepared) -> ExitCode {
    let mut words = summary::command(prepared);
    words.remove(0);
    words.extend(["-C".to_owned(), prepared.project.dir().display().to_string()]);
    let words: Vec<_> = words.into_iter().map(Into::into).collect();
    let error = match std::env::current_exe() {
        Ok(ralph) => process::exec(ralph.as_os_str(), &words),
        Err(cause) => cause,
    };
    say(&format!("ralph: error: cannot start the run: {error}"));
    ExitCode::FAILURE
}
