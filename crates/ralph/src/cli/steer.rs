//! `ralph pause`, `kill`, `set`, `say`: asking something of a worker.
//!
//! A loop that is there is asked over its socket and writes its journal itself. Where none is,
//! whoever asks holds the run's lock for a moment and writes in its place.

use super::args::{dollars, duration};
use super::home;
use crate::control::{Answer, Command, LONGEST_NOTE, TalkError, end_listener, talk};
use crate::engine::why_not;
use crate::error::CliError;
use crate::fsx;
use crate::layout::Home;
use crate::lock::RunLock;
use crate::report::{Out, bytes, say};
use crate::request::prompt::bad_pattern;
use crate::seat::record::{Record, Status};
use crate::seat::workers::{Worker, find};
use crate::session;
use crate::settings::{self, MOST};
use crate::texts::Texts;
use crate::tmux::Tmux;
use clap::Args;
use ralph_loop::ask::{Ask, Changes};
use ralph_loop::done_pattern::DonePattern;
use ralph_loop::event::{Fact, StopReason};
use ralph_loop::money::Usd;
use ralph_loop::time::span;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub struct PauseArgs {
    /// The worker
    #[arg(required = true)]
    name: Vec<String>,
}

#[derive(Args)]
pub struct KillArgs {
    /// The worker
    #[arg(required = true)]
    name: Vec<String>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ralph set agent --max-iterations 200
  ralph set agent --prompt-file OTHER.md --done-pattern \"No remaining tasks\"
  ralph set agent --min-free-space 100

What is changed counts from the next iteration on, also for a worker that does not run now.")]
pub struct SetArgs {
    /// The worker
    name: String,
    /// Stop after so many iterations
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_iterations: Option<u32>,
    /// Stop once this much money is spent
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<Usd>,
    /// Stop after this much time
    #[arg(long, value_name = "TIME", value_parser = duration)]
    max_time: Option<u64>,
    /// Read the prompt from another file
    #[arg(short = 'f', long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// Done when a line of the agent's own words matches this regular expression
    #[arg(long, value_name = "REGEX")]
    done_pattern: Option<String>,
    /// Wait while less is free on the disks; 0 is never
    #[arg(long, value_name = "MIB", value_parser = mebibytes)]
    min_free_space: Option<u64>,
}

/// In bytes.
fn mebibytes(text: &str) -> Result<u64, String> {
    let number = text.parse::<f64>().ok().filter(|n| (0.0..=MOST as f64).contains(n));
    number.map(settings::mebibytes).ok_or_else(|| "expected a number of MiB, 0 or more".to_string())
}

#[derive(Args)]
#[command(after_help = "\
Example:
  ralph say agent \"the tests need a running database\"")]
pub struct SayArgs {
    /// The worker
    name: String,
    /// A note for the next iteration's prompt
    text: String,
}

/// What came of asking.
enum Came {
    Done,
    Already,
}

pub fn pause(args: &PauseArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    for name in &args.name {
        let worker = find(&home, name)?;
        let paused = worker.state.status == Status::Paused;
        if paused && !worker.alive {
            already_paused(name);
            continue;
        }
        if worker.state.reason.is_some() {
            return Err(not_running(&worker));
        }
        let leave = [Fact::Asked(Ask::Leave), Fact::Stopped { reason: StopReason::Paused, note: None }];
        match ask(&home, &worker, &Command::Pause, &leave)? {
            Came::Done => print(&format!("paused ralph loop for {name}")),
            Came::Already => already_paused(name),
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub fn kill(args: &KillArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    for name in &args.name {
        let worker = find(&home, name)?;
        if worker.alive || worker.is_abandoned() || worker.state.reason.as_deref() == Some("paused") {
            end(&home, &worker)?;
            print(&format!("killed {name}"));
        } else {
            say(&format!("ralph: warning: worker '{name}' is not running"));
        }
        Tmux::of(&home).close(name);
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends a worker; nothing of it is left when this returns.
pub(super) fn end(home: &Home, worker: &Worker) -> Result<(), CliError> {
    let killed = [Fact::Asked(Ask::Kill), Fact::Stopped { reason: StopReason::Killed, note: None }];
    ask(home, worker, &Command::Kill, &killed)?;
    // Twice what a tree takes that has to be buried with its keeper.
    for _ in 0..8 {
        if RunLock::becomes_free(&worker.run_dir) {
            return Ok(());
        }
    }
    Err(CliError::failed(format!("something of worker '{}' is still alive", worker.name))
        .hint("`ralph doctor` ends what is left of runs"))
}

pub fn set(args: &SetArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let worker = find(&home, &args.name)?;
    change(&home, &worker, &changes(args)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Changes what a worker may use up or works on, and says so.
pub(super) fn change(home: &Home, worker: &Worker, changes: &Changes) -> Result<(), CliError> {
    let waits = [Fact::Asked(Ask::Set(changes.clone()))];
    ask(home, worker, &Command::Set(changes.clone()), &waits)?;
    let Changes { max_iterations, max_cost, max_time_ms, prompt_file, done_pattern, min_free } = changes;
    let name = &worker.name;
    if let Some(most) = max_iterations {
        print(&format!("set max-iterations of {name} to {most}"));
    }
    if let Some(most) = max_cost {
        print(&format!("set max-cost of {name} to {most}"));
    }
    if let Some(most) = max_time_ms {
        print(&format!("set max-time of {name} to {}", span(*most)));
    }
    if let Some(path) = prompt_file {
        print(&format!("set prompt-file of {name} to {}", path.display()));
    }
    if let Some(pattern) = done_pattern {
        print(&format!("set done-pattern of {name} to {pattern}"));
    }
    if let Some(least) = min_free {
        print(&format!("set min-free-space of {name} to {}", bytes(*least)));
    }
    Ok(())
}

fn changes(args: &SetArgs) -> Result<Changes, CliError> {
    let SetArgs { name: _, max_iterations, max_cost, max_time, prompt_file, done_pattern, min_free_space } =
        args;
    if let Some(pattern) = done_pattern {
        DonePattern::new(pattern).map_err(|cause| bad_pattern(&cause))?;
    }
    let prompt_file = prompt_file.as_ref().map(|path| {
        let missing = |cause: std::io::Error| match cause.kind() {
            std::io::ErrorKind::NotFound => {
                CliError::usage(format!("prompt file not found: {}", path.display()))
            }
            _ => CliError::usage(format!("cannot read prompt file: {}", path.display())).cause(cause),
        };
        let found = path.canonicalize().map_err(missing)?;
        fsx::read_regular(&found).map_err(missing)?;
        Ok(found)
    });
    let changes = Changes {
        max_iterations: *max_iterations,
        max_cost: *max_cost,
        max_time_ms: *max_time,
        prompt_file: prompt_file.transpose()?,
        done_pattern: done_pattern.clone(),
        min_free: *min_free_space,
    };
    if changes.is_empty() {
        return Err(CliError::usage("nothing to set").hint("`ralph set --help` lists what can be set"));
    }
    Ok(changes)
}

pub fn say_to(args: &SayArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let worker = find(&home, &args.name)?;
    let text = args.text.trim();
    if text.is_empty() {
        return Err(CliError::usage("the note is empty"));
    }
    if text.len() > LONGEST_NOTE {
        return Err(CliError::usage(format!("the note is longer than {LONGEST_NOTE} bytes"))
            .hint("put it into a file, and say where it is"));
    }
    let hash = Texts::of(&worker.run_dir).put(text);
    let hash = hash.map_err(|cause| CliError::failed("the note cannot be kept").cause(cause))?;
    let waits = [Fact::Asked(Ask::Say { text: hash })];
    ask(&home, &worker, &Command::Say { text: text.to_string() }, &waits)?;
    print(&format!("noted for the next iteration of {}", worker.name));
    Ok(ExitCode::SUCCESS)
}

/// Asks the loop, or writes `instead` where there is none.
fn ask(home: &Home, worker: &Worker, command: &Command, instead: &[Fact]) -> Result<Came, CliError> {
    let refused =
        |why: String| CliError::failed(format!("worker '{}' cannot do that", worker.name)).cause(why);
    // A loop may come or go while it is asked.
    for _ in 0..2 {
        if RunLock::is_held(&worker.run_dir) {
            match talk(&worker.run_dir, command) {
                Ok(Answer::Done) => return Ok(Came::Done),
                Ok(Answer::Already) => return Ok(Came::Already),
                Ok(Answer::Refused { why }) => return Err(refused(why)),
                Err(TalkError::Nobody) => {}
                // It does not answer, and it is to end anyway.
                Err(TalkError::Broken(_)) if *command == Command::Kill && end_listener(&worker.run_dir) => {}
                Err(cause) => {
                    return Err(
                        CliError::failed(format!("cannot reach worker '{}'", worker.name)).cause(cause)
                    );
                }
            }
        }
        if RunLock::becomes_free(&worker.run_dir) {
            if let Command::Set(changes) = command
                && let Some(why) = session::run_of(home, &worker.run)?.and_then(|run| why_not(&run, changes))
            {
                return Err(refused(why));
            }
            session::write_in_its_place(home, &worker.run, instead)?;
            let replayed = Record::replay(&worker.name, worker.dir.clone(), &worker.run_dir);
            if let Ok(mut record) = replayed {
                // A projection that cannot be written is written by the next life.
                let _ = record.write();
            }
            return Ok(Came::Done);
        }
    }
    Err(CliError::failed(format!("worker '{}' does not answer", worker.name)).hint("try again in a moment"))
}

fn already_paused(name: &str) {
    say(&format!("ralph: warning: worker '{name}' is already paused"));
}

fn not_running(worker: &Worker) -> CliError {
    CliError::failed(format!("worker '{}' is not running: {}", worker.name, worker.status_line()))
}

fn print(line: &str) {
    let mut out = Out::stdout();
    out.line(line);
    out.flush();
}
