//! `ralph spawn`: any loop as a named worker in the background.

use super::logs::{Followed, follow_worker};
use super::steer::{end, refuse_agents};
use super::workers::{end_of, forget, show_window};
use super::{INTERRUPTED, check_loop, home, run};
use crate::error::{CliError, Code};
use crate::layout::Home;
use crate::lock::NameLock;
use crate::process::{Detached, Exit};
use crate::report::{Out, say};
use crate::tmux;
use crate::worker::workers::{check_name, find, look_for};
use crate::worker::{self, Opened, WorkerError};
use clap::Args;
use ralph_loop::text::shell_word;
use std::ffi::OsString;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct SpawnArgs {
    /// Name of the worker
    #[arg(long)]
    name: Option<String>,
    /// Wait until the worker ends, and exit with its code
    #[arg(long)]
    wait: bool,
    /// Show what the worker does in this terminal until it ends, and exit with its code; Ctrl+C
    /// leaves it running
    #[arg(long)]
    foreground: bool,
    /// Replace the worker of this name; if it is running, kill it first
    #[arg(long)]
    replace: bool,
    /// Discard the paused or crashed worker of this name, and start over
    #[arg(long)]
    clean_state: bool,
    /// Accepted for compatibility: workers always loop
    #[arg(long)]
    ralph: bool,
    /// Accepted for compatibility: workers always have a tmux window
    #[arg(long)]
    tmux: bool,
    /// Accepted for compatibility: ralph always waits until the agent is ready
    #[arg(long)]
    ready_wait: bool,
    /// run, stories or tasks with its arguments; without one of these, the flags of `run`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "LOOP")]
    rest: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  ralph spawn --name agent --prompt-file PROMPT.md --max-iterations 10 -- claude
  ralph spawn --name agent -f PROMPT.md -n 50 --done-pattern \"All done\" -- codex
  ralph spawn --name night --worktree -f PROMPT.md -n 50 --check \"make test\"
  ralph spawn --name epic-2 stories
  ralph spawn --name agent -f PROMPT.md -n 10 --wait && notify-send done
  ralph spawn --name agent -f PROMPT.md -n 10 --foreground
  ralph spawn --name agent -f PROMPT.md -n 10 --interactive; ralph attach agent
  ralph spawn --name agent --replace -f OTHER.md -n 10

`spawn run`, `spawn stories` and `spawn tasks` end as they do without spawn. A prompt without `run` is \
repeated until --max-iterations, or until -c, --done-pattern or its checks end it. An agent that is silent \
for --inactivity-timeout (10 minutes, or 60 seconds if it prints plain text) is stopped, and the next \
iteration starts.

You can reuse the name of a worker that has stopped or failed. --clean-state also reuses the name of a \
paused or crashed worker, --replace that of a running one. Their runs stay in `ralph runs`.

The worker keeps running when you close this terminal. Watch it with ralph ls, status, attach and logs; \
control it with pause, resume, set, say and kill.";

/// Commands that can be spawned.
const LOOPS: &[&str] = &["run", "loop", "stories", "tasks"];

/// The worker's own flags, apart from those of its loop.
struct Own {
    name: Option<String>,
    then: Then,
    former: Former,
    rest: Vec<OsString>,
}

/// What follows once the worker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Nothing,
    /// Its end is waited for.
    Wait,
    /// What it does is shown until its end.
    Show,
}

/// What becomes of a worker that has the name already and could go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Former {
    /// It keeps the name.
    Stays,
    /// It is forgotten, unless it is running.
    Forgotten,
    /// It is killed and forgotten.
    Replaced,
}

impl SpawnArgs {
    /// The flags of `spawn` are known wherever they stand before `--`.
    fn own(&self) -> Result<Own, CliError> {
        let former = match (self.replace, self.clean_state) {
            (true, _) => Former::Replaced,
            (false, true) => Former::Forgotten,
            (false, false) => Former::Stays,
        };
        let then = match (self.foreground, self.wait) {
            (true, _) => Then::Show,
            (false, true) => Then::Wait,
            (false, false) => Then::Nothing,
        };
        let mut own = Own { name: self.name.clone(), then, former, rest: Vec::new() };
        let mut words = self.rest.iter();
        while let Some(word) = words.next() {
            match word.to_str() {
                Some("--") => {
                    own.rest.push(word.clone());
                    own.rest.extend(words.cloned());
                    break;
                }
                Some("--name") => {
                    let value = words.next().and_then(|value| value.to_str());
                    own.name = Some(value.ok_or_else(|| CliError::usage("--name needs a name"))?.to_string());
                }
                Some("--foreground") => own.then = Then::Show,
                Some("--wait") if own.then == Then::Nothing => own.then = Then::Wait,
                Some("--wait") => {}
                Some("--replace") => own.former = Former::Replaced,
                Some("--clean-state") if own.former == Former::Stays => own.former = Former::Forgotten,
                Some("--clean-state") => {}
                Some("--ralph" | "--tmux" | "--ready-wait") => {}
                Some(flag) if flag.starts_with("--name=") => {
                    own.name = Some(flag["--name=".len()..].to_string());
                }
                _ => own.rest.push(word.clone()),
            }
        }
        Ok(own)
    }
}

pub fn spawn(args: &SpawnArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let own = args.own()?;
    let planned = own.rest.first().and_then(|word| word.to_str()).is_some_and(|word| LOOPS.contains(&word));
    let words = if planned {
        own.rest
    } else {
        refuse_late_plan(own.name.as_deref().unwrap_or("agent"), &own.rest)?;
        run::check_spawned(&own.rest)?;
        [vec![worker::PROMPT.into()], own.rest].concat()
    };
    let Some(name) = own.name else {
        return Err(CliError::usage("spawn requires --name").hint("ralph spawn --name agent …"));
    };
    check_name(&name)?;
    tmux::check()?;
    make_room(&home, &name, own.former, &words)?;
    let opened = seat_worker(&name, &words)?;
    let opened = match opened {
        Ok(opened) => opened,
        // It has said why by itself.
        Err(code) => return Ok(code),
    };
    let window = show_window(&home, &name);
    let Opened { iteration, of, run } = opened;
    let mut out = Out::stdout();
    out.line(&format!("spawned {name} ({window}) [ralph mode: iteration {iteration}/{of}]"));
    out.flush();
    match own.then {
        Then::Nothing => Ok(ExitCode::SUCCESS),
        Then::Wait => end_of(&home, &run, Some(&name)),
        Then::Show => in_foreground(&home, &run, &name),
    }
}

/// Stays with a worker until its end, or until the user has seen enough.
fn in_foreground(home: &Home, run: &str, name: &str) -> Result<ExitCode, CliError> {
    match follow_worker(&find(home, name)?)? {
        Followed::ToItsEnd => end_of(home, run, Some(name)),
        Followed::Left => {
            say(&format!(
                "ralph: {name} keeps running; watch it: ralph attach {name}, stop it: ralph kill {name}"
            ));
            Ok(ExitCode::from(INTERRUPTED))
        }
    }
}

/// Refuses a plan behind flags: it would be taken for the prompt.
fn refuse_late_plan(name: &str, words: &[OsString]) -> Result<(), CliError> {
    let run = run::RunArgs::augment_args(clap::Command::new("run").no_binary_name(true));
    // What else is wrong with the words is found by the worker.
    let Ok(parsed) = run.try_get_matches_from(words) else { return Ok(()) };
    let has_prompt = ["prompt", "prompt_file", "spec"].iter().any(|id| parsed.contains_id(id));
    let task = parsed.get_one::<String>("task").filter(|task| LOOPS.contains(&task.as_str()));
    let Some(plan) = task.filter(|_| !has_prompt) else { return Ok(()) };
    let at = words.iter().position(|word| word == plan.as_str());
    let flags = words.iter().enumerate().filter(|(index, _)| Some(*index) != at);
    let flags: Vec<String> = flags.map(|(_, word)| as_typed(&word.to_string_lossy())).collect();
    Err(CliError::usage(format!("`{plan}` comes after flags, so it would be the prompt"))
        .hint(format!("put the flags after `{plan}`: ralph spawn --name {name} {plan} {}", flags.join(" "))))
}

/// A word in quotes, if a shell needs them.
fn as_typed(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { shell_word(word) }
}

/// A worker that has ended gives its name away; one that could go on only if that was asked for.
fn make_room(home: &Home, name: &str, former: Former, words: &[OsString]) -> Result<(), CliError> {
    let name_taken = || CliError::from(WorkerError::NameTaken(name.to_string()));
    let worker = match look_for(home, name) {
        Ok(Some(worker)) => worker,
        Ok(None) => return Ok(()),
        Err(error) if former == Former::Stays => return Err(error.into()),
        Err(_) if NameLock::is_held(home, name) => return Err(name_taken()),
        // Its record does not say which run it is.
        Err(_) => return forget(home, name),
    };
    let runs = worker.alive && worker.state.reason.is_none();
    let waits = worker.is_abandoned() || worker.state.reason.as_deref() == Some("paused");
    match former {
        Former::Stays if runs => Err(name_taken()),
        Former::Stays if waits => Err(name_taken().hint(format!(
            "continue it with `ralph resume {name}`, start over with --clean-state, or kill it with `ralph kill {name}`"
        ))),
        Former::Stays => Ok(()),
        Former::Forgotten if runs => {
            Err(name_taken().hint("it is running; use --replace to kill and replace it"))
        }
        Former::Forgotten | Former::Replaced => {
            // Nothing is given up for a worker that could not start.
            check_loop(words)?;
            refuse_agents(home, &worker)?;
            if former == Former::Replaced && (runs || waits) {
                end(home, &worker)?;
            }
            forget(home, name)
        }
    }
}

/// Starts a process that becomes the worker of that name and runs the command. Its exit code, if
/// it did not get that far.
pub(super) fn seat_worker(name: &str, words: &[OsString]) -> Result<Result<Opened, ExitCode>, CliError> {
    let failed = |cause: std::io::Error| CliError::failed("cannot start the worker").cause(cause);
    let args = [&[worker::WORKER.into(), name.into(), "--".into()][..], words].concat();
    match Detached::start(&args).and_then(Detached::first_words).map_err(failed)? {
        Ok(words) => serde_json::from_slice(&words).map(Ok).map_err(|cause| failed(cause.into())),
        Err(Exit::Code(0)) => {
            say("ralph: warning: the command ended without a run, so no worker was started");
            Ok(Err(ExitCode::SUCCESS))
        }
        Err(Exit::Code(code)) => Ok(Err(ExitCode::from(u8::try_from(code).unwrap_or(Code::Failed as u8)))),
        Err(Exit::Signal(signal)) => {
            Err(CliError::failed(format!("the worker was killed by signal {signal} before it started")))
        }
    }
}
