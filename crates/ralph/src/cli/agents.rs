//! `ralph agents`: which agents are known and installed, and how ralph runs each.
//!
//! The table says what ralph asks of an agent and what it reads from it, not all that the agent
//! could do. `verify` holds an installed one against that.

mod probe;
mod verify;

use super::args::ListFormat;
use super::{print_json, print_lines, print_names};
use crate::error::CliError;
use crate::process::tool::{Tool, ToolOutput};
use crate::report::{Out, Style};
use clap::{Args, Subcommand};
use ralph_loop::dialect::Dialect;
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

/// What ralph knows about an agent.
struct Known {
    name: &'static str,
    dialect: Dialect,
    install: &'static str,
    /// How the prompt gets in.
    prompt: &'static str,
    /// What comes out.
    output: &'static str,
    autonomous: Option<&'static str>,
    reports_tokens: bool,
    reports_cost: bool,
    /// The version that was last run through all tests.
    verified: Option<&'static str>,
    works: &'static str,
}

const KNOWN: &[Known] = &[
    Known {
        name: "claude",
        dialect: Dialect::Claude,
        install: "npm install -g @anthropic-ai/claude-code",
        prompt: "stdin",
        output: "stream-json",
        autonomous: Some("--dangerously-skip-permissions"),
        reports_tokens: true,
        reports_cost: true,
        verified: Some("2.1.325"),
        works: "loops, denials, limits, API errors, signals, resume",
    },
    Known {
        name: "codex",
        dialect: Dialect::Codex,
        install: "npm install -g @openai/codex",
        prompt: "stdin",
        output: "stream-json",
        autonomous: Some("--sandbox workspace-write"),
        reports_tokens: true,
        reports_cost: false,
        verified: Some("0.166.0"),
        works: "loops, its sandbox, limits, API errors, signals, resume",
    },
    Known {
        name: "amp",
        dialect: Dialect::Amp,
        install: "npm install -g @sourcegraph/amp",
        prompt: "argument",
        output: "stream-json",
        autonomous: Some("--dangerously-allow-all"),
        reports_tokens: true,
        reports_cost: false,
        verified: None,
        works: "untested; written from its documentation",
    },
    Known {
        name: "plain",
        dialect: Dialect::Plain,
        install: "any program: ralph run \"...\" -- COMMAND",
        prompt: "stdin, or in place of {prompt} or {prompt_file}",
        output: "text",
        autonomous: None,
        reports_tokens: false,
        reports_cost: false,
        verified: None,
        works: "any program that reads a prompt; exit code 0 means success",
    },
];

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
    match args.format {
        ListFormat::Human => print(),
        ListFormat::Json => print_json(&KNOWN.iter().map(entry).collect::<Vec<_>>()),
        ListFormat::Ndjson => print_lines(KNOWN.iter().map(entry)),
        // Names need no versions, which are slow to get.
        ListFormat::Names => print_names(KNOWN.iter().map(|known| known.name.to_string())),
    }
    Ok(ExitCode::SUCCESS)
}

fn entry(known: &Known) -> Entry {
    let installed = known.path();
    Entry {
        name: known.name,
        version: installed.as_deref().and_then(version),
        installed,
        dialect: known.dialect.name(),
        prompt: known.prompt,
        output: known.output,
        autonomous_flag: known.autonomous,
        reports_tokens: known.reports_tokens,
        reports_cost: known.reports_cost,
        cost: known.cost(),
        verified_with: known.verified,
        known_to_work: known.works,
    }
}

impl Known {
    fn cost(&self) -> CostKnown {
        match (self.reports_cost, self.reports_tokens) {
            (true, _) => CostKnown::Reported,
            (false, true) => CostKnown::Estimated,
            (false, false) => CostKnown::Unknown,
        }
    }

    fn path(&self) -> Option<PathBuf> {
        match self.dialect {
            // No program of that name is meant.
            Dialect::Plain => None,
            Dialect::Claude | Dialect::Codex | Dialect::Amp => which::which(self.name).ok(),
        }
    }
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
    for known in KNOWN {
        let entry = entry(known);
        let mark = style.mark(entry.installed.is_some());
        let found = match (&entry.version, &entry.installed) {
            (Some(version), _) => printable(version).into_owned(),
            (None, Some(_)) => "installed, version unknown".into(),
            (None, None) => known.missing(),
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

impl Known {
    fn missing(&self) -> String {
        match self.dialect {
            Dialect::Plain => self.install.to_string(),
            Dialect::Claude | Dialect::Codex | Dialect::Amp => format!("not installed: {}", self.install),
        }
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
