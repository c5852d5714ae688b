//! `ralph init`: asks what a project wants, and writes `.ralph/settings.json`; or lays out
//! stories or a task list.
//!
//! Nothing is written before the last question is answered, and then the whole file at once.

pub(super) mod detect;
mod stories;
pub(super) mod tasks;

use super::args::ProjectArgs;
use super::ask::{Answer, Asker, Stopped};
use super::config::refused;
use crate::error::CliError;
use crate::fsx;
use crate::layout::Project;
use crate::report::say;
use crate::settings::{self, FAIL_ACTIONS, InOrder, mask};
use clap::{Args, ValueEnum};
use ralph_loop::dialect::Dialect;
use ralph_loop::sandbox::SandboxChoice;
use serde::Serialize;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
`ralph init` asks for the agent, the limits, the checks and what to commit, each with a default that \
Enter takes, and writes .ralph/settings.json. It needs a terminal.

The others ask nothing and keep existing files. `ralph init stories` creates specs/ with a first story, \
and progress.txt. `ralph init tasks` creates prd.md, tasks.json, progress.txt and prompt.md in ralph/. \
`ralph init prompt` creates PROMPT.md.

Examples:
  ralph init
  ralph init stories
  ralph init tasks --name login")]
pub struct InitArgs {
    /// What to set up
    #[arg(value_enum, default_value = "settings", value_name = "WHAT")]
    what: Subject,
    /// Overwrite PROMPT.md or the files of a task list
    #[arg(long)]
    force: bool,
    /// Feature that the tasks implement; their branch is ralph/FEATURE
    #[arg(long, value_name = "FEATURE", value_parser = tasks::feature)]
    name: Option<String>,
    /// Directory for the task list [default: ralph]
    #[arg(long, value_name = "DIR")]
    ralph_dir: Option<PathBuf>,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum Subject {
    /// .ralph/settings.json
    Settings,
    /// specs/ and progress.txt
    Stories,
    /// PROMPT.md, a starter prompt
    Prompt,
    /// ralph/: prd.md, tasks.json, progress.txt, prompt.md
    Tasks,
}

/// What is written, in this order.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answers {
    maximum_iterations: u32,
    completion_response: String,
    output_truncate_chars: u32,
    stream_agent_output: bool,
    include_iteration_count_in_prompt: bool,
    agent: AgentAnswers,
    guardrails: Vec<GuardrailAnswers>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scm: Option<ScmAnswers>,
    /// The default is not written down: a better one may come.
    #[serde(skip_serializing_if = "is_auto")]
    sandbox: &'static str,
}

fn is_auto(sandbox: &&str) -> bool {
    *sandbox == "auto"
}

#[derive(Debug, Serialize)]
struct AgentAnswers {
    command: String,
    flags: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GuardrailAnswers {
    command: String,
    fail_action: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    hint: String,
}

#[derive(Debug, Serialize)]
struct ScmAnswers {
    command: String,
    tasks: Vec<String>,
}

pub fn init(args: &InitArgs) -> Result<ExitCode, CliError> {
    let project = args.project.project()?;
    match args.what {
        Subject::Settings | Subject::Stories | Subject::Prompt if args.name.is_some() => {
            Err(CliError::usage("--name only works with `ralph init tasks`"))
        }
        Subject::Settings | Subject::Stories | Subject::Prompt if args.ralph_dir.is_some() => {
            Err(CliError::usage("--ralph-dir only works with `ralph init tasks`"))
        }
        Subject::Settings => settings_by_questions(&project),
        Subject::Stories => stories::lay_out(&project),
        Subject::Prompt => super::template::init(project.dir(), args.force),
        Subject::Tasks => {
            tasks::lay_out(&project, args.name.as_deref(), args.ralph_dir.as_deref(), args.force)
        }
    }
}

fn settings_by_questions(project: &Project) -> Result<ExitCode, CliError> {
    if !io::stdin().is_terminal() {
        return Err(CliError::usage("`ralph init` asks questions, but standard input is not a terminal")
            .hint("run it in a terminal, or write .ralph/settings.json yourself (see docs/settings.md)"));
    }
    let mut asker = Asker::new()
        .map_err(|cause| CliError::usage("cannot read answers from this terminal").cause(cause))?;
    if project.settings().exists() {
        show_present(project, &mut asker)?;
        match asker.yes("Overwrite? (y/N): ") {
            Ok(true) => {}
            Ok(false) => return Ok(ExitCode::SUCCESS),
            Err(Stopped) => return Ok(stopped(&mut asker)),
        }
    }
    let Ok(answers) = questions(project, &mut asker) else { return Ok(stopped(&mut asker)) };
    write(project, &answers)?;
    asker.say("");
    asker.say("Settings written to .ralph/settings.json");
    Ok(ExitCode::SUCCESS)
}

fn stopped(asker: &mut Asker) -> ExitCode {
    // The question is still on the last line.
    asker.say("");
    say("ralph: stopped; nothing was written");
    ExitCode::from(130)
}

/// What would be overwritten, together with what lies over it.
fn show_present(project: &Project, asker: &mut Asker) -> Result<(), CliError> {
    let layers = settings::of_project(project)
        .map_err(|error| refused(&error).hint("fix it, or remove it and run `ralph init` again"))?;
    let merged = InOrder::new(mask::value(&layers.merged()));
    if let Ok(text) = serde_json::to_string_pretty(&merged) {
        asker.say(&text);
    }
    asker.say(match layers.list.len() {
        2 => "Loaded from .ralph/settings.json (with local overlay from settings.local.json)",
        _ => "Loaded from .ralph/settings.json",
    });
    for warning in &layers.warnings {
        say(&format!("ralph: warning: {warning}"));
    }
    Ok(())
}

/// Each question is explained on a line of its own, and Enter takes what is in brackets.
fn questions(project: &Project, asker: &mut Asker) -> Answer<Answers> {
    asker.say("");
    asker.say("Press Enter to take the answer in brackets.");
    asker.say("");
    let command = agent(asker)?;
    asker.say("Arguments to start the agent with, such as --model,opus.");
    let flags = asker.line("Agent flags (comma-separated) [none]: ")?;
    asker.say("Each iteration starts a fresh agent. The run stops after this many.");
    let maximum_iterations = asker.until("Maximum iterations [10]: ", iterations)?;
    asker.say("The agent says that it is done with this word: <response>DONE</response>.");
    let completion_response = asker.line("Completion response [DONE]: ")?;
    let checks = checks(project, asker)?;
    let scm = scm(asker)?;
    let sandbox = sandbox(asker)?;
    Ok(Answers {
        maximum_iterations,
        completion_response: or(completion_response, "DONE"),
        output_truncate_chars: 5_000,
        stream_agent_output: true,
        include_iteration_count_in_prompt: false,
        agent: AgentAnswers { command, flags: list(&flags) },
        guardrails: checks,
        scm,
        sandbox,
    })
}

fn agent(asker: &mut Asker) -> Answer<String> {
    const USUAL: &str = "claude";
    let known = Dialect::KNOWN.map(Dialect::name);
    let installed = detect::agents();
    let offered = installed.first().copied().unwrap_or(USUAL);
    asker.say(&match installed.as_slice() {
        [] => "The program that does the work. No known agent is installed here.".to_string(),
        installed => format!("The program that does the work. Installed here: {}.", installed.join(", ")),
    });
    let answer = asker.line(&format!("Agent command ({} or any other) [{offered}]: ", known.join(", ")))?;
    Ok(or(answer, offered))
}

fn iterations(answer: &str) -> Result<u32, String> {
    match answer {
        "" => Ok(10),
        answer => match answer.parse() {
            Ok(count @ 1..=1_000_000_000) => Ok(count),
            _ => Err("Please enter a whole number, 1 or more.".to_string()),
        },
    }
}

/// In the settings they are called `guardrails`.
fn checks(project: &Project, asker: &mut Asker) -> Answer<Vec<GuardrailAnswers>> {
    let found = detect::checks(project.dir());
    asker.say("A check is a command that must succeed before the work counts as done.");
    if !found.is_empty() {
        let numbered: Vec<String> =
            found.iter().enumerate().map(|(i, command)| format!("{}) {command}", i + 1)).collect();
        asker.say(&format!("Found in this project (type a number to take it): {}", numbered.join("  ")));
    }
    let mut checks = Vec::new();
    loop {
        let answer = asker.line(match checks.is_empty() {
            true => "Check command [none]: ",
            false => "Another check command [no more]: ",
        })?;
        if answer.is_empty() {
            return Ok(checks);
        }
        let number = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let command = match number.and_then(|number| found.get(number)) {
            Some(command) => {
                asker.say(&format!("  {command}"));
                command.clone()
            }
            None => answer,
        };
        // To explain it once is enough.
        if checks.is_empty() {
            asker.say("  If it fails, its output goes after your prompt, before it, or in its place.");
        }
        let fail_action =
            asker.until("  Fail action (APPEND, PREPEND or REPLACE) [APPEND]: ", fail_action)?;
        if checks.is_empty() {
            asker.say("  Advice that the agent gets along with the output.");
        }
        let hint = asker.line("  Hint [none]: ")?;
        checks.push(GuardrailAnswers { command, fail_action, hint });
    }
}

fn fail_action(answer: &str) -> Result<&'static str, String> {
    let wanted = if answer.is_empty() { "APPEND" } else { answer };
    let known = FAIL_ACTIONS.iter().copied().find(|action| action.eq_ignore_ascii_case(wanted));
    known.ok_or_else(|| "  Please enter APPEND, PREPEND or REPLACE.".to_string())
}

fn scm(asker: &mut Asker) -> Answer<Option<ScmAnswers>> {
    asker.say("Source control (SCM): ralph can commit each iteration that passes the checks.");
    if !asker.yes("Configure SCM? (y/N): ")? {
        return Ok(None);
    }
    asker.say("  The program that runs the tasks.");
    let command = or(asker.line("  SCM command [git]: ")?, "git");
    asker.say("  What it runs, in this order. For commit, the agent is asked for a message.");
    let tasks = asker.line("  SCM tasks (comma-separated, such as commit,push) [commit]: ")?;
    let tasks = list(&tasks);
    let tasks = if tasks.is_empty() { vec!["commit".to_string()] } else { tasks };
    Ok(Some(ScmAnswers { command, tasks }))
}

fn sandbox(asker: &mut Asker) -> Answer<&'static str> {
    asker.say("A sandbox keeps agents and checks inside this project. auto takes the first that works.");
    let names = SandboxChoice::NAMES;
    let question = format!("Sandbox ({}) [auto]: ", names.join(", "));
    asker.until(&question, |answer| {
        let wanted = if answer.is_empty() { "auto" } else { answer };
        let known = names.into_iter().find(|name| name.eq_ignore_ascii_case(wanted));
        known.ok_or_else(|| format!("Please enter one of {}.", names.join(", ")))
    })
}

/// An answer, or what Enter takes.
fn or(answer: String, default: &str) -> String {
    if answer.is_empty() { default.to_string() } else { answer }
}

/// `a, b,,c` is three.
fn list(answer: &str) -> Vec<String> {
    answer.split(',').map(str::trim).filter(|item| !item.is_empty()).map(String::from).collect()
}

fn write(project: &Project, answers: &Answers) -> Result<(), CliError> {
    let failed =
        |cause: io::Error| CliError::usage("cannot write the settings: .ralph/settings.json").cause(cause);
    let mut text = serde_json::to_string_pretty(answers).map_err(|cause| failed(cause.into()))?;
    text.push('\n');
    fsx::dir_inside(project.dir(), &project.ralph_dir()).map_err(failed)?;
    fsx::write_whole(&project.settings(), text.as_bytes()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_split_at_commas_and_trimmed() {
        assert_eq!(list(" --model , opus,,"), ["--model", "opus"]);
        assert!(list("").is_empty());
    }

    #[test]
    fn iterations_are_positive_and_ten_if_nothing_is_said() {
        assert_eq!(iterations(""), Ok(10));
        assert_eq!(iterations("3"), Ok(3));
        for bad in ["0", "-1", "x", "1.5", "99999999999"] {
            assert!(iterations(bad).is_err(), "{bad}");
        }
    }
}
