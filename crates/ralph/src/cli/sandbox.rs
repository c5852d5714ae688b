//! `ralph sandbox`: which sandboxes work here, and a shell in the one that agents would get.

use super::args::ProjectArgs;
use super::config::refused;
use super::format::{Format, Shape};
use super::{home, print_json, print_lines};
use crate::error::{CliError, Code};
use crate::git::Repository;
use crate::layout::Project;
use crate::process::{self, Command, Exit, SHELL};
use crate::report::{Out, Style};
use crate::sandbox::{self, Sandbox, canary, network};
use crate::settings;
use clap::{Args, Subcommand};
use ralph_loop::sandbox::network::Host;
use ralph_loop::sandbox::{Confinement, SandboxChoice, SandboxKind};
use ralph_loop::text::printable;
use serde::Serialize;
use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
A sandbox keeps agents and checks inside the project: docs/sandbox.md tells what each one stops.

Examples:
  ralph sandbox check
  ralph sandbox shell               # what an agent sees
  ralph sandbox shell -- cargo test # whether a check works inside")]
pub struct SandboxArgs {
    #[command(subcommand)]
    command: SandboxCommand,
}

#[derive(Subcommand)]
enum SandboxCommand {
    /// Try each sandbox, and say what keeps it from working
    Check(CheckArgs),
    /// Open a shell in the sandbox of this project, or run a command there
    Shell(ShellArgs),
}

#[derive(Args)]
#[command(after_help = "\
Each one is tried: a program inside has to write into its workspace, and must neither write beside it nor \
read a file of the home.

With --host, tells whether programs in the sandbox of this project can reach a host, and connects to it as they \
would.

Exit codes: 0 one of them works here, or the host can be reached; 1 otherwise.

Examples:
  ralph sandbox check --format json
  ralph sandbox check --host api.example.org")]
struct CheckArgs {
    /// Test a host, at port 443 unless it is given as HOST:PORT
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    #[command(flatten)]
    project: ProjectArgs,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

#[derive(Args)]
#[command(after_help = "\
Exits with the code of the shell or the command.

Examples:
  ralph sandbox shell
  ralph sandbox shell -- npm test")]
struct ShellArgs {
    /// Which sandbox: bwrap or landlock [default: the one that a run would get]
    #[arg(long, value_name = "NAME", value_parser = super::loops::sandbox)]
    sandbox: Option<SandboxChoice>,
    #[command(flatten)]
    project: ProjectArgs,
    /// Run this instead of a shell
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Serialize)]
struct Tried {
    name: &'static str,
    works: bool,
    /// Why it does not.
    why: Option<String>,
    /// What it does not stop.
    gaps: Option<String>,
}

pub fn sandbox(args: &SandboxArgs) -> Result<ExitCode, CliError> {
    match &args.command {
        SandboxCommand::Check(args) => check(args),
        SandboxCommand::Shell(args) => shell(args),
    }
}

fn check(args: &CheckArgs) -> Result<ExitCode, CliError> {
    if let Some(host) = &args.host {
        return check_host(host, args);
    }
    let home = home()?;
    let tried: Vec<Tried> = SandboxKind::ALL
        .into_iter()
        .map(|kind| {
            let why = canary::attempt(kind, &home).err();
            Tried { name: kind.name(), works: why.is_none(), why, gaps: sandbox::gaps(kind) }
        })
        .collect();
    match args.format.shape() {
        Shape::Text => print(&tried),
        Shape::Value => print_json(&tried),
        Shape::Lines => print_lines(&tried),
    }
    Ok(if tried.iter().any(|tried| tried.works) { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

#[derive(Serialize)]
struct TestedHost {
    host: String,
    network: &'static str,
    reached: bool,
    why: Option<String>,
    /// What would allow it.
    setting: Option<String>,
}

fn check_host(host: &str, args: &CheckArgs) -> Result<ExitCode, CliError> {
    let target = if Host::parse(host).is_ok() { format!("{host}:443") } else { host.to_owned() };
    let (host, port) = Host::with_port(&target)
        .map_err(|cause| CliError::usage(format!("not a host: {host}")).cause(cause))?;
    let project = Project::at(args.project.dir()?);
    let settings = settings::load(&project, None).map_err(|error| refused(&error))?.settings;
    let tree =
        Repository::around(project.dir()).map_or_else(|| project.dir().to_path_buf(), |found| found.top);
    let spec = sandbox::network_of(&settings.sandbox)?;
    let tested = network::test(&spec, &settings.agent.command, &tree, &host, port);
    let tested = tested.map_err(|cause| CliError::failed("cannot test the host").cause(cause))?;
    let tested = TestedHost {
        host: host.authority(port),
        network: spec.mode.name(),
        reached: tested.is_ok(),
        setting: tested.as_ref().err().and_then(|error| error.setting(spec.mode)),
        why: tested.err().map(|error| error.to_string()),
    };
    match args.format.shape() {
        Shape::Text => {
            let (mut out, mark) = (Out::stdout(), Style::of_stdout().mark(tested.reached));
            let setting = tested.setting.as_ref().map(|setting| format!(" ({setting})")).unwrap_or_default();
            out.text(&match &tested.why {
                None => format!("{mark} {} can be reached", tested.host),
                Some(why) => format!("{mark} {}{setting}", printable(why)),
            });
            out.flush();
        }
        Shape::Value => print_json(&tested),
        Shape::Lines => print_lines([&tested]),
    }
    Ok(if tested.reached { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn print(tried: &[Tried]) {
    let (mut out, style) = (Out::stdout(), Style::of_stdout());
    for Tried { name, works, why, gaps } in tried {
        let mark = style.mark(*works);
        let text = match (why, gaps) {
            (Some(why), _) => format!("does not work: {}", printable(why)),
            (None, Some(gaps)) => format!("works; {gaps}"),
            (None, None) => "works".to_string(),
        };
        out.text(&format!("{mark} {name:<9} {text}"));
    }
    out.flush();
}

fn shell(args: &ShellArgs) -> Result<ExitCode, CliError> {
    let (home, project) = (home()?, Project::at(args.project.dir()?));
    let settings = settings::load(&project, None).map_err(|error| refused(&error))?.settings;
    let tree =
        Repository::around(project.dir()).map_or_else(|| project.dir().to_path_buf(), |found| found.top);
    let confinement = sandbox::choose(args.sandbox, &settings.sandbox, &tree)?;
    let Confinement::Sandbox(spec) = confinement else {
        let why = match confinement {
            Confinement::None { why: Some(why) } => why,
            Confinement::None { why: None } | Confinement::Sandbox(_) => "the settings say so".to_string(),
        };
        return Err(CliError::usage("agents have no sandbox here")
            .cause(why)
            .hint("`ralph sandbox check` tries each"));
    };
    let argv = match args.command.as_slice() {
        [] => vec![env::var_os("SHELL").unwrap_or_else(|| SHELL.into())],
        words => words.to_vec(),
    };
    let command = Command { argv, cwd: project.dir().to_path_buf(), ..Command::default() };
    let program = &settings.agent.command;
    let sandbox = Sandbox::for_user(&spec, &home, tree, project.dir(), program)?;
    let ended = process::command_in_terminal(sandbox.command_in_terminal(command));
    let ended = ended.map_err(|cause| CliError::failed("cannot start the sandbox").cause(cause))?;
    Ok(match ended {
        Exit::Code(code) => ExitCode::from(u8::try_from(code).unwrap_or(Code::Failed as u8)),
        Exit::Signal(signal) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(Code::Failed as u8)),
    })
}
