//! `ralph guard check`: the verdict on one command, step by step.

use super::list;
use crate::cli::format::{Format, Shape};
use crate::cli::{print_json, print_lines};
use crate::error::CliError;
use crate::guard::{Orders, Surroundings, is_users_own, rule_name};
use crate::report::{Out, say};
use clap::Args;
use ralph_loop::guard::{Finding, GuardSpec, Judgement, Verdict};
use ralph_loop::text::{one_line, printable};
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Nothing is run. The settings of the project around DIR count, and scripts are looked into as if an agent had just \
written them.

With --stdin, a line is printed for each command, and one that counts them. Commands with several lines are \
separated by NUL characters, with -0.

Exit codes: 0 allowed, or with a warning; 1 denied, or one of the list is; 2 bad usage or configuration.

Examples:
  ralph guard check 'cd .. && rm -rf build'
  ralph guard check --tool Write --path .git/hooks/pre-commit
  ralph guard check --stdin < commands.txt
  ralph guard check --stdin --format json < commands.txt | jq .blocked")]
pub struct CheckArgs {
    /// The command, as an agent would give it to its shell
    #[arg(required_unless_present_any = ["stdin", "tool"], conflicts_with_all = ["stdin", "tool"])]
    command: Option<String>,
    /// The directory that it would run in [default: the current one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// A tool of the agent other than its shell, such as Write, Edit or Read
    #[arg(long, value_name = "NAME", requires = "path", conflicts_with = "stdin")]
    tool: Option<String>,
    /// The file that the tool would use
    #[arg(long, value_name = "FILE", requires = "tool")]
    path: Option<PathBuf>,
    /// Read commands from standard input, one per line
    #[arg(long)]
    stdin: bool,
    /// Commands end with a NUL character instead of a newline
    #[arg(short = '0', long, requires = "stdin")]
    null: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

/// A tool call with the guard's word.
#[derive(Serialize)]
pub(super) struct Judged {
    pub(super) command: String,
    #[serde(flatten)]
    pub(super) judgement: Judgement,
}

impl Judged {
    /// The finding that decides.
    pub(super) fn decisive(&self) -> Option<&Finding> {
        self.judgement.findings.iter().find(|finding| finding.verdict == self.judgement.verdict)
    }
}

pub fn check(args: &CheckArgs) -> Result<ExitCode, CliError> {
    let cwd = args.cwd.as_deref().unwrap_or(Path::new("."));
    let cwd = cwd.canonicalize().map_err(|cause| {
        CliError::usage(format!("cannot enter the directory: {}", cwd.display())).cause(cause)
    })?;
    let (orders, warnings) = Orders::for_look(&cwd)?;
    for warning in &warnings {
        say(&format!("ralph: warning: {warning}"));
    }
    let around = Surroundings::new(orders, &cwd);
    if args.stdin {
        return list::check(&around, args.null, args.format);
    }
    let (name, input, shown) = match (&args.tool, &args.path, &args.command) {
        (Some(tool), Some(path), _) => {
            let path = path.display().to_string();
            // What a tool calls its file differs.
            (tool.as_str(), json!({"file_path": path, "path": path}), format!("{tool} {path}"))
        }
        (_, _, command) => {
            let command = command.clone().unwrap_or_default();
            ("Bash", json!({"command": command}), command)
        }
    };
    let judged = judged(&around, name, &input, shown)?;
    match args.format.shape() {
        Shape::Text => print(&judged, &around.orders.spec),
        Shape::Value => print_json(&judged),
        Shape::Lines => print_lines([&judged]),
    }
    Ok(exit_code(judged.judgement.verdict == Verdict::Block))
}

pub(super) fn exit_code(is_denied: bool) -> ExitCode {
    if is_denied { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

pub(super) fn judged(
    around: &Surroundings,
    tool: &str,
    input: &Value,
    command: String,
) -> Result<Judged, CliError> {
    let judgement = around
        .judge(tool, input)
        .map_err(|cause| CliError::failed("cannot judge the command").cause(cause))?;
    Ok(Judged { command, judgement })
}

fn print(judged: &Judged, spec: &GuardSpec) {
    let Judged { command, judgement } = judged;
    let mut out = Out::stdout();
    let rule_of_it = judged.decisive().map_or_else(|| "-".to_owned(), rule_name);
    out.text(&format!("{}  {rule_of_it}  {}", judgement.verdict.word(), one_line(command)));
    if !judgement.steps.is_empty() {
        out.line("");
        out.line("understood as");
    }
    for step in &judgement.steps {
        let indent = "  ".repeat(step.depth.clamp(1, 20));
        out.text(&format!("{indent}{:<10} {}", step.kind, one_line(&step.text)));
    }
    for finding in &judgement.findings {
        out.line("");
        out.text(&format!("rule {} ({})", rule_name(finding), finding.verdict.word()));
        out.text(&format!("  what     {}", printable(&one_line(&finding.what))));
        out.text(&format!("  why      {}", printable(&finding.why)));
        if !finding.instead.is_empty() {
            out.text(&format!("  instead  {}", finding.instead));
        }
        for line in how_to_allow(finding, spec) {
            out.text(&format!("  {line}"));
        }
    }
    out.flush();
}

/// What the user can do about a finding.
fn how_to_allow(finding: &Finding, spec: &GuardSpec) -> Vec<String> {
    match (&finding.allowed_by, finding.verdict) {
        (Some(entry), _) => return vec![format!("allowed  by the entry {entry:?} of guard.allow")],
        (None, Verdict::Allow) => {
            return vec![format!("allowed  guard.categories.{} is off", finding.category.name())];
        }
        (None, Verdict::Warn | Verdict::Block) if is_users_own(finding) => {
            return vec!["to allow remove the entry of guard.deny".to_owned()];
        }
        (None, Verdict::Warn | Verdict::Block) => {}
    }
    let mut lines = Vec::new();
    // What is unknown cannot be allowed by name.
    if !finding.what.contains('<') {
        let entry = json!(finding.what);
        lines.push(format!("to allow \"guard\": {{\"allow\": [{entry}]}} in .ralph/settings.json,"));
        lines.push("         or the command as a line of ralph/allowed-commands.txt,".to_owned());
    }
    let category = finding.category.name();
    let or = if lines.is_empty() { "to allow" } else { "      or" };
    // What only warns is not changed by `warn`.
    let level = if finding.verdict == Verdict::Warn { "off" } else { "warn" };
    lines.push(format!(
        "{or} \"guard\": {{\"categories\": {{\"{category}\": \"{level}\"}}}} for all of {category}"
    ));
    if spec.ask.contains(&finding.category) {
        lines.push("asked    in your own sessions of Claude you are asked (guard.ask)".to_owned());
    }
    lines
}
