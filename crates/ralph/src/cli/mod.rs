//! The command line: one file per command.

mod advice;
mod agents;
mod archive;
mod args;
mod ask;
mod clean;
mod completions;
mod config;
mod demo;
mod diff;
mod doctor;
mod enter;
mod format;
mod function;
mod guard;
mod habits;
mod hook;
mod in_the_way;
mod init;
mod logs;
mod loops;
mod ls;
mod own_commit;
mod plan;
mod plugin;
mod prove;
mod resume;
mod run;
mod run_log;
mod run_table;
mod runs;
mod sandbox;
mod schema;
mod show;
mod spawn;
mod status;
mod steer;
mod stories;
mod table;
mod tasks;
mod template;
mod top;
mod typing;
mod undo;
mod watch;
mod workers;

use crate::engine::OWN_COMMIT;
use crate::error::{CliError, Code};
use crate::layout::Home;
use crate::library;
use crate::process;
use crate::report::{say, say_panic, shown};
use crate::sandbox::ENTER;
use crate::session::Ended;
use crate::similar;
use crate::terminal;
use crate::worker;
use crate::worker::workers::check_name;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use format::{Format, Stream, print_json, print_lines, print_list, print_names, print_refusal, report_on};
use ralph_loop::State;
use ralph_loop::event::{StopKind, StopReason};
use ralph_loop::text::printable;
use std::ffi::OsString;
use std::process::ExitCode;

/// Run coding agents in a loop, each iteration with a fresh context, until the work is
/// proven done.
#[derive(Parser)]
#[command(name = "ralph", version, propagate_version = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  ralph demo                        # a complete run, without a real agent
  ralph run \"fix the failing test\" --check \"make test\"
  ralph run -f PROMPT.md -n 20 -- codex exec -
  ralph stories                     # work through the stories in specs/
  ralph tasks                       # work through a task list, with reviews
  ralph spawn --name night tasks    # run any of these in the background
  ralph resume                      # continue after a crash or Ctrl+C

Exit codes: 0 done, 1 stopped without success, 2 bad usage or configuration, \
130 interrupted.";

// Arguments are built for the given command only, which halves the work of a start.
#[derive(Subcommand)]
#[command(defer = true)]
enum Command {
    /// Set up a project: settings, a prompt, stories or a task list
    Init(init::InitArgs),
    /// Plan work with an agent: from an idea to a task list or stories
    Plan(plan::PlanArgs),
    /// Repeat a prompt until checks pass and the agent says it is done
    #[command(alias = "loop")]
    Run(Box<run::RunArgs>),
    /// Work through the stories in specs/, a fresh agent per attempt
    Stories(Box<stories::StoriesArgs>),
    /// Work through ralph/tasks.json: implement, review, fix
    Tasks(Box<tasks::TasksArgs>),
    /// Archive a task list and start a new one
    Archive(archive::ArchiveArgs),
    /// Start a worker in the background
    Spawn(spawn::SpawnArgs),
    /// List live runs and workers
    Ls(ls::LsArgs),
    /// Show the status of workers and runs
    Status(status::StatusArgs),
    /// Watch and steer all runs on one screen
    Top(top::TopArgs),
    /// Attach to a worker in tmux
    Attach(watch::AttachArgs),
    /// Print the output of a worker or run
    Logs(logs::LogsArgs),
    /// Pause a worker or run after its current iteration
    Pause(steer::PauseArgs),
    /// Continue a paused or interrupted worker or run
    Resume(resume::ResumeArgs),
    /// Kill a worker or run and everything it started
    Kill(steer::KillArgs),
    /// Wait until a worker or run ends, and exit with its code
    Wait(watch::WaitArgs),
    /// Change the limits or the prompt of a worker or run
    Set(steer::SetArgs),
    /// Add a note to the next prompt of a worker or run
    Say(steer::SayArgs),
    /// Type keys into the terminal of an interactive agent
    Send(typing::SendArgs),
    /// Answer an interactive agent that waits for you
    Answer(typing::AnswerArgs),
    /// Remove a worker
    Rm(watch::RmArgs),
    /// List runs, newest first
    Runs(runs::RunsArgs),
    /// Show what happened in a run
    Show(show::ShowArgs),
    /// Show what a run, or one iteration of it, changed
    Diff(diff::DiffArgs),
    /// Restore the files as they were before a run or an iteration
    Undo(undo::UndoArgs),
    /// Repeat the proof of a run, or prove a commit
    Prove(prove::ProveArgs),
    /// Remove worktrees and records of finished runs
    Clean(clean::CleanArgs),
    /// Show the effective settings
    Config(config::ConfigArgs),
    /// Print the JSON schema of the settings, or of the view of a run
    Schema(schema::SchemaArgs),
    /// List known agents, or verify an installed one
    Agents(agents::AgentsArgs),
    /// Show what is installed, what is missing, and how to fix it
    Doctor(doctor::DoctorArgs),
    /// Try the sandboxes that agents can run in, or look around in one
    Sandbox(sandbox::SandboxArgs),
    /// Explain what the guard denies, and show what it has denied
    Guard(guard::GuardArgs),
    /// Use ralph from inside Claude Code and Codex
    Plugin(plugin::PluginArgs),
    /// Handle a hook call from an agent
    Hook(hook::HookArgs),
    /// Print a starter prompt
    #[command(after_help = template::EXAMPLE)]
    Template,
    /// Print a shell completion script
    Completions(completions::CompletionsArgs),
    /// Print a manual page
    Man(completions::ManArgs),
    /// Show a complete run with a scripted agent (no key, no network)
    Demo(demo::DemoArgs),
}

impl Command {
    fn runs_agents(&self) -> bool {
        match self {
            Command::Run(_)
            | Command::Resume(_)
            | Command::Prove(_)
            | Command::Demo(_)
            | Command::Plan(_) => true,
            Command::Stories(args) => args.runs(),
            Command::Tasks(args) => args.runs(),
            _ => false,
        }
    }
}

/// `exit` ends the program at once: for a guard that has crashed.
pub fn main(exit: hook::Exit) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| say_panic(&panic.to_string())));
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    match args.first().and_then(|arg| arg.to_str()) {
        Some(process::KEEPER) => return process::keeper_main(),
        Some(ENTER) => return enter::main(&args[1..]),
        Some(process::FOREGROUND) => return enter::foreground(&args[1..]),
        Some(process::ON_TERMINAL) => return enter::on_terminal(&args[1..]),
        Some(terminal::TERMINAL) => return terminal::main(),
        Some(OWN_COMMIT) => return own_commit::main(&args[1..]),
        Some(library::FUNCTION) => return function::main(&args[1..]),
        Some(fake_agent::SUBCOMMAND) => return fake_agent::main(&args[1..]),
        Some("hook") => {
            if let Some(code) = hook::at_once(&args[1..], exit) {
                return code;
            }
        }
        Some(worker::WORKER) => match seated(&args[1..]) {
            Ok(words) => return act(&words, exit),
            Err(error) => return fail(&error, Format::Human),
        },
        _ => {}
    }
    act(&args, exit)
}

/// Makes this process a worker; the words that are left are its command.
fn seated(args: &[OsString]) -> Result<Vec<OsString>, CliError> {
    match args {
        [name, dashes, words @ ..] if dashes == "--" => {
            let name = name.to_str().unwrap_or_default();
            check_name(name)?;
            let flags =
                words.split_first().filter(|(first, _)| *first == worker::PROMPT).map(|(_, flags)| flags);
            worker::take(&home()?, name, flags.is_some())?;
            Ok(flags.map_or_else(|| words.to_vec(), |flags| [&["run".into()][..], flags].concat()))
        }
        _ => Err(CliError::usage("start workers with `ralph spawn`")),
    }
}

/// What would keep the run of a worker from starting, found without starting it.
fn check_loop(words: &[OsString]) -> Result<(), CliError> {
    let flags = words.split_first().filter(|(first, _)| *first == worker::PROMPT).map(|(_, flags)| flags);
    let words = flags.map_or_else(|| words.to_vec(), |flags| [&["run".into()][..], flags].concat());
    habits::swallowed_flag(&words)?;
    habits::sandbox_name(&words)?;
    let cli = Cli::try_parse_from(std::iter::once(OsString::from("ralph")).chain(words.iter().cloned()));
    match cli.map(|cli| cli.command) {
        Ok(Command::Run(args)) => args.check(flags.is_some()),
        Ok(Command::Stories(args)) => args.check(),
        Ok(Command::Tasks(args)) => args.check(),
        Ok(_) => Ok(()),
        Err(error) => Err(habits::of_refused(&error, &words).unwrap_or_else(|| {
            let message = error.to_string();
            let message = message.lines().next().unwrap_or_default().trim_start_matches("error: ");
            CliError::usage(message)
        })),
    }
}

fn act(args: &[OsString], exit: hook::Exit) -> ExitCode {
    if let Err(error) = habits::swallowed_flag(args).and_then(|()| habits::sandbox_name(args)) {
        return fail(&error, Format::asked_for(args));
    }
    let words = std::iter::once(OsString::from("ralph")).chain(habits::note_last(args));
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(mut error) => {
            if let Some(meant) = habits::of_refused(&error, args) {
                return fail(&meant, Format::asked_for(args));
            }
            suggest_subcommand(&mut error, args);
            let message = error.to_string();
            match *shown(&message) == *message {
                // A closed pipe is no error, for help as for everything else.
                true => drop(error.print()),
                false => say(&message),
            }
            if !error.use_stderr() {
                return ExitCode::SUCCESS;
            }
            let message = message.lines().next().unwrap_or_default().trim_start_matches("error: ");
            print_refusal(&CliError::usage(message), Format::asked_for(args));
            return ExitCode::from(Code::Usage as u8);
        }
    };
    if cli.command.runs_agents()
        && let Err(cause) = process::become_subreaper()
    {
        return fail(&CliError::from_error(&cause, Code::Failed), Format::asked_for(args));
    }
    let (format, done) = match &cli.command {
        Command::Run(args) => (args.common.output.format, run::run(args)),
        Command::Stories(args) => (args.format(), stories::stories(args)),
        Command::Tasks(args) => (args.format(), tasks::tasks(args)),
        Command::Plan(args) => (args.format, plan::plan(args)),
        Command::Archive(args) => (Format::Human, archive::archive(args)),
        Command::Resume(args) => (args.output.format, resume::resume(args)),
        Command::Spawn(args) => (Format::Human, spawn::spawn(args)),
        Command::Ls(args) => (Format::Human, ls::ls(args)),
        Command::Status(args) => (Format::Human, status::status(args)),
        Command::Top(args) => (Format::Human, top::top(args)),
        Command::Attach(args) => (Format::Human, watch::attach(args)),
        Command::Logs(args) => (Format::Human, logs::logs(args)),
        Command::Pause(args) => (Format::Human, steer::pause(args)),
        Command::Kill(args) => (Format::Human, steer::kill(args)),
        Command::Wait(args) => (Format::Human, watch::wait(args)),
        Command::Set(args) => (Format::Human, steer::set(args)),
        Command::Say(args) => (Format::Human, steer::say_to(args)),
        Command::Send(args) => (Format::Human, typing::send(args)),
        Command::Answer(args) => (Format::Human, typing::answer(args)),
        Command::Rm(args) => (Format::Human, watch::rm(args)),
        Command::Template => (Format::Human, template::template()),
        Command::Runs(args) => (Format::Human, runs::runs(args)),
        Command::Show(args) => (Format::Human, show::show(args)),
        Command::Diff(args) => (Format::Human, diff::diff(args)),
        Command::Prove(args) => (args.output.format, prove::prove(args)),
        Command::Clean(args) => (Format::Human, clean::clean(args)),
        Command::Init(args) => (Format::Human, init::init(args)),
        Command::Config(args) => (Format::Human, config::config(args)),
        Command::Schema(args) => (Format::Human, schema::schema(args)),
        Command::Agents(args) => (Format::Human, agents::agents(args)),
        Command::Doctor(args) => (Format::Human, doctor::doctor(args)),
        Command::Sandbox(args) => (Format::Human, sandbox::sandbox(args)),
        Command::Guard(args) => (Format::Human, guard::guard(args)),
        Command::Hook(args) => (Format::Human, hook::hook(args, exit)),
        Command::Plugin(args) => (Format::Human, plugin::plugin(args)),
        Command::Completions(args) => (Format::Human, completions::completions(args)),
        Command::Man(args) => (Format::Human, completions::man(args)),
        Command::Undo(args) => (Format::Human, undo::undo(args)),
        Command::Demo(args) => (Format::Human, demo::demo(args)),
    };
    done.unwrap_or_else(|error| fail(&error, format))
}

/// Where a program can follow `--`, clap takes a word that is no subcommand for a part of it and
/// suggests nothing.
fn suggest_subcommand(error: &mut clap::Error, args: &[OsString]) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return };
    let mut cli = Cli::command();
    cli.build();
    let Some(command) = args.first().and_then(|name| cli.find_subcommand(name)) else { return };
    let names = command.get_subcommands().map(clap::Command::get_name);
    if let (ErrorKind::UnknownArgument, Some(meant)) = (error.kind(), similar::nearest(word, names)) {
        let meant = ContextValue::Strings(vec![meant.to_string()]);
        error.insert(ContextKind::SuggestedSubcommand, meant);
    }
}

/// Prints an error; with `--format json` also as an object on standard output.
fn fail(error: &CliError, format: Format) -> ExitCode {
    say(&printable(&error.to_string()));
    print_refusal(error, format);
    ExitCode::from(error.code as u8)
}

fn home() -> Result<Home, CliError> {
    Home::find()
        .ok_or_else(|| CliError::usage("no home directory to keep runs in").hint("set HOME or RALPH_HOME"))
}

/// As a shell has it for Ctrl+C.
const INTERRUPTED: u8 = 130;

/// How a run has ended, for the shell.
fn code(ended: &Ended) -> ExitCode {
    exit_code(ended.stopped.reason, &ended.state)
}

fn exit_code(reason: StopReason, state: &State) -> ExitCode {
    match reason.kind() {
        _ if state.is_success(reason) => ExitCode::SUCCESS,
        StopKind::Interrupted => ExitCode::from(INTERRUPTED),
        StopKind::Unusable => ExitCode::from(Code::Usage as u8),
        StopKind::Done
        | StopKind::Limit
        | StopKind::Stalled
        | StopKind::GaveUp
        | StopKind::Failed
        | StopKind::Paused
        | StopKind::Killed => ExitCode::from(Code::Failed as u8),
    }
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    /// With all their arguments.
    fn built() -> clap::Command {
        let mut cli = Cli::command();
        cli.build();
        cli
    }

    #[test]
    fn a_start_builds_the_arguments_of_no_other_command() {
        let arguments = |cli: &clap::Command| {
            cli.get_subcommands().map(|command| command.get_arguments().count()).sum::<usize>()
        };
        assert_eq!(arguments(&Cli::command()), 0);
        assert!(arguments(&built()) > 100);
    }

    #[test]
    fn formats_are_the_same_wherever_they_are_offered() {
        let mut commands = vec![built()];
        let mut offered = 0;
        while let Some(command) = commands.pop() {
            commands.extend(command.get_subcommands().cloned());
            let Some(format) = command.get_arguments().find(|arg| arg.get_id() == "format") else { continue };
            let values = format.get_possible_values();
            let values: Vec<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
            let is_list = matches!(command.get_name(), "ls" | "list" | "runs" | "agents");
            let wanted = ["human", "json", "ndjson", "names"];
            assert_eq!(values, wanted[..if is_list { 4 } else { 3 }], "{}", command.get_name());
            offered += 1;
        }
        assert!(offered > 10, "{offered}");
    }

    /// Paragraphs are one line each, so that they are wrapped to the terminal; examples are as they
    /// are, so they have to fit.
    #[test]
    fn help_fits_eighty_columns() {
        let mut commands = vec![built()];
        while let Some(command) = commands.pop() {
            commands.extend(command.get_subcommands().cloned());
            let Some(help) = command.get_after_help() else { continue };
            let (help, name) = (help.to_string(), command.get_name());
            let mut prose = false;
            for line in help.lines() {
                let example = line.starts_with("  ");
                assert!(!example || line.chars().count() <= 80, "{name}: {line}");
                assert!(!prose || example || line.is_empty(), "{name}: broken by hand before: {line}");
                prose = !example && !line.is_empty();
            }
        }
    }
}
