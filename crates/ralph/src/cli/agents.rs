//! `ralph agents`: which agents are known and installed, and how ralph runs each.
//!
//! The table says what ralph asks of an agent and what it reads from it, not all that the agent
//! could do. `verify` holds an installed one against that.

mod probe;
mod verify;

use super::format::{ListFormat, Shape};
use super::{print_json, print_lines, print_names};
use crate::error::CliError;
use crate::process::tool::{Tool, ToolOutput};
use crate::report::{Out, Style};
use clap::{Args, Subcommand};
use ralph_loop::dialect::{Dialect, DialectSpec};
use ralph_loop::text::printable;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args)]
#[command(after_help = "\
Without a subcommand, lists the agents that ralph knows: where each one is installed, its version, how \
ralph runs it, and the version that was last verified.

Examples:
  ralph agents
  ralph agents --format json | jq -r '.[] | select(.installed) | .name'
  ralph agents verify claude")]
#[command(args_conflicts_with_subcommands = true)]
pub struct AgentsArgs {
    #[command(subcommand)]
    command: Option<AgentsCommand>,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: ListFormat,
}

#[derive(Subcommand)]
enum AgentsCommand {
    /// Test whether an installed agent still works with ralph
    Verify(verify::VerifyArgs),
}

/// As they are listed: the plain one last.
fn all() -> impl Iterator<Item = Dialect> {
    Dialect::KNOWN.into_iter().chain([Dialect::Plain])
}

/// How what an agent costs is known.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum CostKnown {
    Reported,
    /// By its tokens and the prices in the settings.
    Estimated,
    Unknown,
}

/// An agent as the list shows it.
#[derive(Debug, Serialize)]
struct Entry {
    name: &'static str,
    /// Where it is.
    installed: Option<PathBuf>,
    version: Option<String>,
    dialect: &'static str,
    prompt: &'static str,
    output: &'static str,
    autonomous_flag: Option<&'static str>,
    reports_tokens: bool,
    reports_cost: bool,
    cost: CostKnown,
    verified_with: Option<&'static str>,
    known_to_work: &'static str,
}

pub fn agents(args: &AgentsArgs) -> Result<ExitCode, CliError> {
    if let Some(AgentsCommand::Verify(verify)) = &args.command {
        return verify::verify(verify);
    }
    match args.format.shape() {
        Some(Shape::Text) => print(),
        Some(Shape::Value) => print_json(&all().map(entry).collect::<Vec<_>>()),
        Some(Shape::Lines) => print_lines(all().map(entry)),
        // Names need no versions, which are slow to get.
        None => print_names(all().map(|known| known.name().to_string())),
    }
    Ok(ExitCode::SUCCESS)
}

fn entry(dialect: Dialect) -> Entry {
    let (installed, known) = (path(dialect), dialect.spec());
    Entry {
        name: known.name,
        version: installed.as_deref().and_then(version),
        installed,
        dialect: known.name,
        prompt: known.prompt,
        output: known.output.word(),
        autonomous_flag: known.autonomous,
        reports_tokens: known.reports_tokens,
        reports_cost: known.reports_cost,
        cost: cost(known),
        verified_with: known.verified,
        known_to_work: known.works,
    }
}

fn cost(known: &DialectSpec) -> CostKnown {
    match (known.reports_cost, known.reports_tokens) {
        (true, _) => CostKnown::Reported,
        (false, true) => CostKnown::Estimated,
        (false, false) => CostKnown::Unknown,
    }
}

/// Where the program is; a plain agent has no name to look for.
fn path(dialect: Dialect) -> Option<PathBuf> {
    which::which(dialect.name()).ok().filter(|_| dialect != Dialect::Plain)
}

/// What a program says to `--version`, in its first line.
fn version(program: &Path) -> Option<String> {
    let answer = Tool::new(program).arg("--version").timeout(Duration::from_secs(10)).run().ok();
    let text = answer.filter(ToolOutput::success)?.stdout;
    let line = String::from_utf8_lossy(&text).lines().next()?.trim().to_string();
    Some(line).filter(|line| !line.is_empty())
}

fn print() {
    let (mut out, style) = (Out::stdout(), Style::of_stdout());
    for dialect in all() {
        let entry = entry(dialect);
        let mark = style.mark(entry.installed.is_some());
        let found = match (&entry.version, &entry.installed) {
            (Some(version), _) => printable(version).into_owned(),
            (None, Some(_)) => "installed, version unknown".into(),
            (None, None) => missing(dialect),
        };
        out.line(&format!("{mark} {:<7} {found}", entry.name));
        if let Some(path) = &entry.installed {
            out.line(&format!("             path: {}", printable(&path.display().to_string())));
        }
        out.line(&format!("             prompt: {}", entry.prompt));
        out.line(&format!("             output: {}", entry.output));
        if let Some(flag) = entry.autonomous_flag {
            out.line(&format!("             autonomous: {flag}"));
        }
        out.line(&format!("             reports: {}", reports(&entry)));
        if let Some(verified) = entry.verified_with {
            out.line(&format!("             verified with: {verified}"));
        }
        out.line(&format!("             works: {}", entry.known_to_work));
    }
    out.flush();
}

fn missing(dialect: Dialect) -> String {
    let install = dialect.spec().install;
    match dialect {
        Dialect::Plain => install.to_string(),
        _ => format!("not installed: {install}"),
    }
}

fn reports(entry: &Entry) -> &'static str {
    match (entry.reports_tokens, entry.cost) {
        (true, CostKnown::Reported) => "tokens and cost",
        (false, CostKnown::Reported) => "cost",
        (_, CostKnown::Estimated) => "tokens; the cost is estimated from them",
        (_, CostKnown::Unknown) => "neither tokens nor cost",
    }
}
