//! Planning in a conversation: the agent has the terminal, and ralph asks what to do when the user leaves it.
//!
//! Invariant: nothing of the project is changed before the user has seen the plan and said what to do with it.

use super::menu::{self, Typed};
use super::prepare::Prepared;
use super::summary;
use crate::fsx;
use crate::git::{NoRepository, Repository};
use crate::handed::HandedFile;
use crate::hook::{self, HookCalls, HookSet};
use crate::layout::uuid;
use crate::lock::WorkspaceLock;
use crate::planner::drafts;
use crate::planner::{PLAN, PlannerError, install};
use crate::process::{self, Command, Exit, Foreground};
use crate::report::{Out, say};
use crate::secrets;
use ralph_loop::dialect::{Conversation, Dialect, Planning, PlanningSession, Talk, planning_command};
use ralph_loop::run::AgentSpec;
use ralph_loop::strict::repairs;
use ralph_loop::text::{clip, printable};
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What the user wants once they have left the agent.
enum Next {
    /// Ctrl+C or a signal: nothing is put in place.
    Stop,
    /// Nothing is put in place either, by choice.
    Drop,
    /// The same conversation goes on.
    Change,
    Keep,
    Run,
}

pub fn hold(prepared: &Prepared, told: &str, lock: WorkspaceLock) -> Result<ExitCode, PlannerError> {
    let record = &prepared.record;
    let failed = |cause| PlannerError::Record { dir: record.dir().to_path_buf(), cause };
    let instructions = Instructions::of(prepared, told).map_err(failed)?;
    let ralph = std::env::current_exe().map_err(failed)?;
    let calls = HookCalls { program: &ralph, set: Some(HookSet::Planning), guard: None, terminal: false };
    let settings = hook::claude_settings(&calls).to_string();
    fsx::write_private(&record.settings(), settings.as_bytes()).map_err(failed)?;
    let config = hook::codex_config(&calls);
    let stopped = || PlannerError::Interrupted { drafts: record.drafts() };
    let mut session = None;
    loop {
        let ended = converse(prepared, &instructions, session.as_deref(), &config)?;
        if ended.told {
            return Err(stopped());
        }
        session = known_session(prepared).or_else(|| own_session(prepared));
        let can_go_on = session.is_some();
        match after(prepared, ended.exit, can_go_on)? {
            Next::Stop => return Err(stopped()),
            Next::Drop => {
                prepared.say_unplanned("dropped");
                return Ok(ExitCode::FAILURE);
            }
            Next::Change => {}
            Next::Keep => {
                put_in_place(prepared)?;
                return Ok(ExitCode::SUCCESS);
            }
            Next::Run => {
                let files = put_in_place(prepared)?;
                commit(prepared, &files);
                // This process becomes another program, and drops nothing more.
                drop((lock, instructions));
                return Ok(run(prepared));
            }
        }
    }
}

/// The file that the agent reads what it is told from.
enum Instructions {
    Recorded(PathBuf),
    /// The record has no secrets.
    Handed(HandedFile),
}

impl Instructions {
    fn of(prepared: &Prepared, told: &str) -> io::Result<Instructions> {
        let recorded = prepared.record.instructions();
        match secrets::mask(told) {
            Cow::Borrowed(_) => Ok(Instructions::Recorded(recorded)),
            Cow::Owned(_) => {
                HandedFile::instead_of(&recorded, &prepared.home, told.as_bytes()).map(Instructions::Handed)
            }
        }
    }

    fn path(&self) -> &Path {
        match self {
            Instructions::Recorded(path) => path,
            Instructions::Handed(file) => file.path(),
        }
    }
}

/// One life of the agent in the terminal.
fn converse(
    prepared: &Prepared,
    instructions: &Instructions,
    session: Option<&str>,
    config: &[String],
) -> Result<Foreground, PlannerError> {
    let AgentSpec { name, dialect, program, args, model, .. } = &prepared.agent;
    let not_started = |why: String| PlannerError::NotStarted { name: name.clone(), why };
    let record = &prepared.record;
    let [drafts, instructions, settings] =
        [&record.drafts(), instructions.path(), &record.settings()].map(|path| path.display().to_string());
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
    if !ended.exit.is_success() {
        restore_screen();
    }
    Ok(ended)
}

/// A program that was killed or crashed may not have left the screen as it was: the other screen, mouse, paste and key
/// modes, updates held back, colors, a hidden cursor.
fn restore_screen() {
    const RESTORE: &[u8] = b"\x1b[?2026l\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\
        \x1b[?1004l\x1b[?2004l\x1b[?1l\x1b>\x1b[>4m\x1b[<u\x1b[?25h\x1b[0m\r\n";
    let mut out = Out::stdout();
    out.bytes(RESTORE);
    out.flush();
}

/// The session that the agent has told its hook.
fn known_session(prepared: &Prepared) -> Option<String> {
    let bytes = fsx::read_regular(&prepared.record.session()).ok()?;
    String::from_utf8(bytes).ok().filter(|session| !session.is_empty())
}

/// The name that a new session gets, if the agent lets others name it.
fn new_session(prepared: &Prepared) -> String {
    uuid(prepared.record.dir().as_os_str().as_encoded_bytes())
}

/// The session of an agent that takes a name and has not told its hook.
fn own_session(prepared: &Prepared) -> Option<String> {
    (prepared.agent.dialect == Dialect::Claude).then(|| new_session(prepared))
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
fn after(prepared: &Prepared, exit: Exit, can_go_on: bool) -> Result<Next, PlannerError> {
    let (record, name) = (&prepared.record, &prepared.agent.name);
    if !exit.is_success() {
        say(&format!("ralph: {name} ended with {exit}"));
    }
    let Some(draft) = drafts::read(&prepared.spec, record, &[])? else {
        if !exit.is_success() && known_session(prepared).is_none() {
            let why = format!("{name} ended with {exit}");
            return Err(PlannerError::AgentFailed { why, record: record.dir().to_path_buf() });
        }
        say("ralph: no plan was written yet");
        return choose(UNFINISHED, &['c', 'q'], can_go_on);
    };
    if !draft.is_valid() {
        say("ralph: the plan is not valid yet:");
        repairs(draft.findings()).lines().for_each(|line| say(&printable(&format!("  {line}"))));
        return choose(UNFINISHED, &['c', 'q'], can_go_on);
    }
    summary::show(prepared, &summary::of(prepared, &draft, &[])?);
    choose(FINISHED, &['r', 'c', 'q', 'l'], can_go_on)
}

const UNFINISHED: &str = "c  go on talking\nq  stop\nWhat next? [q]: ";
const FINISHED: &str =
    "\nr  commit it and run it\nc  change something\nl  keep it for later\nq  drop it\nWhat next? [l]: ";

/// Enter and Ctrl+D take the last key.
fn choose(question: &str, keys: &[char], can_go_on: bool) -> Result<Next, PlannerError> {
    let unread = |cause: io::Error| PlannerError::CannotRead { file: "/dev/tty".into(), cause };
    loop {
        let typed = match menu::line(question).map_err(unread)? {
            Typed::Line(line) => line.to_lowercase(),
            Typed::End => String::new(),
            Typed::Stop => return Ok(Next::Stop),
        };
        let key =
            if typed.is_empty() { keys.last() } else { keys.iter().find(|key| typed == key.to_string()) };
        match key {
            Some('r') => return Ok(Next::Run),
            Some('c') if !can_go_on => {
                say("ralph: the conversation cannot be continued: the agent has not named it");
            }
            Some('c') => return Ok(Next::Change),
            Some('l') => return Ok(Next::Keep),
            Some(_) => return Ok(Next::Drop),
            None => {
                let keys: Vec<String> = keys.iter().map(char::to_string).collect();
                say(&format!("Please type one of: {}", keys.join(", ")));
            }
        }
    }
}

/// The files that were written, relative to the project.
fn put_in_place(prepared: &Prepared) -> Result<Vec<PathBuf>, PlannerError> {
    let files = install::install(&prepared.spec, &prepared.record, &prepared.home, &[])?;
    say(&format!("ralph: written: {}", summary::shown(&files)));
    Ok(files)
}

/// A run switches to the branch of the list only if nothing is uncommitted.
fn commit(prepared: &Prepared, written: &[PathBuf]) {
    let dir = prepared.project.dir();
    let repository = match Repository::find(dir) {
        Ok(repository) => repository,
        Err(NoRepository::None) => return,
        Err(cause @ (NoRepository::Untrusted { .. } | NoRepository::Unanswered(_))) => {
            return say(&format!("ralph: warning: the plan is not committed: {cause}"));
        }
    };
    // Other files may have edits of the user's.
    let files: Vec<_> = written.iter().chain(&prepared.created).map(|file| dir.join(file)).collect();
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
