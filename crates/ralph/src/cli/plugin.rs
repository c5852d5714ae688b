//! `ralph plugin`: ralph's commands, planner and hooks inside Claude Code and Codex.

use super::advice;
use super::format::{Format, Shape};
use super::{INTERRUPTED, print_json, print_lines};
use crate::error::CliError;
use crate::fsx;
use crate::layout;
use crate::plugin::{
    self, Alerts, Finding, HookState, PluginAgent, PluginError, Problem, Standing, Uninstalled, VERSION,
    check_by_claude,
};
use crate::process::is_told_to_stop;
use crate::report::{Out, Style, say};
use clap::{Args, Subcommand};
use ralph_loop::text::{counted, printable};
use serde::Serialize;
use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Without a subcommand, shows the status. In Claude Code the plugin adds /ralph:plan, init, run, status, stop, \
archive and install; in Codex the skills $ralph:plan and $ralph:runs. Its hooks do nothing in your own sessions, \
unless you install it with --alerts.

Examples:
  ralph plugin install
  ralph plugin status
  ralph plugin print ./ralph-plugin && claude --plugin-dir ./ralph-plugin/ralph")]
#[command(args_conflicts_with_subcommands = true)]
pub struct PluginArgs {
    #[command(subcommand)]
    command: Option<PluginCommand>,
    #[command(flatten)]
    status: StatusArgs,
}

#[derive(Subcommand)]
enum PluginCommand {
    /// Install the plugin, or bring it up to date
    Install(InstallArgs),
    /// Uninstall the plugin
    Uninstall(UninstallArgs),
    /// Show where the plugin is installed, and whether it works
    Status(StatusArgs),
    /// Check the files of a plugin
    Validate(ValidateArgs),
    /// Write the files of the plugin to a directory
    Print(PrintArgs),
}

#[derive(Args)]
struct AgentArgs {
    /// Only for this agent [default: those that are installed]
    #[arg(long, value_enum, value_name = "AGENT")]
    agent: Option<PluginAgent>,
}

#[derive(Args)]
#[command(after_help = "\
Writes the plugin's files to ~/.local/share/ralph/plugin and has the agents install it from there, with their own \
commands. Sessions that are started afterwards have it. Run it again after an update of ralph.

Codex skips the hooks of a plugin until you trust them: it asks when you start it next. --trust-hooks does the \
same without the question.

Examples:
  ralph plugin install
  ralph plugin install --agent codex --trust-hooks")]
struct InstallArgs {
    #[command(flatten)]
    agents: AgentArgs,
    /// Warn about a full context in your own sessions, too [default: as installed before]
    #[arg(long)]
    alerts: bool,
    /// Do not warn about a full context in your own sessions
    #[arg(long, conflicts_with = "alerts")]
    no_alerts: bool,
    /// Let Codex run the plugin's hooks
    #[arg(long)]
    trust_hooks: bool,
}

#[derive(Args)]
#[command(after_help = "\
Restores what `ralph plugin install` has changed, also the trust in the plugin's hooks.

Example:
  ralph plugin uninstall --agent codex")]
struct UninstallArgs {
    #[command(flatten)]
    agents: AgentArgs,
}

#[derive(Args)]
#[command(after_help = "\
Asks the agents which version of the plugin they have, whether it is enabled, and whether its hooks run in this directory.

Exit codes: 0 the plugin is installed and works, 1 it is not installed, or something keeps it from working.

Examples:
  ralph plugin status
  ralph plugin status --format json | jq -r '.[].problems[].fix'")]
struct StatusArgs {
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

#[derive(Args)]
#[command(after_help = "\
Checks manifests, hooks, commands and skills, also with `claude plugin validate --strict` if Claude Code is installed.

Exit codes: 0 no problems, 1 problems.

Example:
  ralph plugin validate ./ralph-plugin")]
struct ValidateArgs {
    /// Directory of the marketplace [default: the plugin of this ralph]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

#[derive(Args)]
#[command(after_help = "\
DIR is then a marketplace with one plugin, for `claude plugin marketplace add DIR` and `codex plugin marketplace add DIR`.

Example:
  ralph plugin print ./ralph-plugin")]
struct PrintArgs {
    /// Directory to write to
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Write to a directory that is not empty, over files of the same names
    #[arg(long)]
    force: bool,
}

pub fn plugin(args: &PluginArgs) -> Result<ExitCode, CliError> {
    let done = command(args);
    if !is_told_to_stop() {
        return done;
    }
    let ended = done.err().map_or_else(String::new, |error| format!(": {}", error.message));
    let hint = match args.command {
        Some(PluginCommand::Install(_) | PluginCommand::Uninstall(_)) => {
            "; `ralph plugin status` shows what is installed"
        }
        None | Some(PluginCommand::Status(_) | PluginCommand::Validate(_) | PluginCommand::Print(_)) => "",
    };
    say(&printable(&format!("ralph: stopped{ended}{hint}")));
    Ok(ExitCode::from(INTERRUPTED))
}

fn command(args: &PluginArgs) -> Result<ExitCode, CliError> {
    match &args.command {
        None => status(&args.status),
        Some(PluginCommand::Install(args)) => install(args),
        Some(PluginCommand::Uninstall(args)) => uninstall(args),
        Some(PluginCommand::Status(args)) => status(args),
        Some(PluginCommand::Validate(args)) => validate(args),
        Some(PluginCommand::Print(args)) => print(args),
    }
}

impl AgentArgs {
    fn chosen(&self) -> Result<Vec<PluginAgent>, PluginError> {
        self.chosen_if(|agent| agent.program().is_some())
    }

    /// Also agents whose program is gone and whose plugin is still there.
    fn chosen_or_left(&self) -> Result<Vec<PluginAgent>, PluginError> {
        self.chosen_if(|agent| agent.program().is_some() || own_dir(agent).is_ok_and(|dir| dir.exists()))
    }

    fn chosen_if(&self, wanted: impl Fn(PluginAgent) -> bool) -> Result<Vec<PluginAgent>, PluginError> {
        match self.agent {
            Some(agent) => Ok(vec![agent]),
            None => {
                let found: Vec<PluginAgent> =
                    PluginAgent::ALL.into_iter().filter(|agent| wanted(*agent)).collect();
                if found.is_empty() { Err(PluginError::NoPrograms) } else { Ok(found) }
            }
        }
    }
}

/// Where the files of an agent's plugin are.
fn own_dir(agent: PluginAgent) -> Result<PathBuf, PluginError> {
    layout::plugin(agent.name()).ok_or(PluginError::NoHome)
}

fn here() -> Result<PathBuf, CliError> {
    env::current_dir().map_err(|cause| CliError::failed("cannot find the current directory").cause(cause))
}

fn install(args: &InstallArgs) -> Result<ExitCode, CliError> {
    let project = here()?;
    for_each(&args.agents.chosen()?, |agent| {
        let dir = own_dir(agent)?;
        let alerts = match (args.alerts, args.no_alerts) {
            (true, _) => Alerts::Everywhere,
            (false, true) => Alerts::InRuns,
            (false, false) => Alerts::in_dir(&dir),
        };
        agent.install(&dir, alerts)?;
        if args.trust_hooks {
            agent.trust_hooks(&project)?;
        }
        let standing = Standing::of(agent, &project);
        show(&standing);
        // Hooks can be trusted later.
        Ok(if standing.installed && standing.enabled { ExitCode::SUCCESS } else { ExitCode::from(1) })
    })
}

/// One agent's failure does not keep the others from their turn.
fn for_each(
    agents: &[PluginAgent],
    mut act: impl FnMut(PluginAgent) -> Result<ExitCode, CliError>,
) -> Result<ExitCode, CliError> {
    let mut code = ExitCode::SUCCESS;
    for agent in agents {
        match act(*agent) {
            Ok(ExitCode::SUCCESS) => {}
            Ok(failed) => code = failed,
            Err(error) if agents.len() == 1 || is_told_to_stop() => return Err(error),
            Err(error) => {
                say(&printable(&error.to_string()));
                code = ExitCode::from(1);
            }
        }
    }
    Ok(code)
}

fn uninstall(args: &UninstallArgs) -> Result<ExitCode, CliError> {
    for_each(&args.agents.chosen_or_left()?, |agent| {
        let (name, dir) = (agent.name(), own_dir(agent)?);
        let word = match agent.uninstall(&dir)? {
            Uninstalled::Whole => "uninstalled".to_owned(),
            Uninstalled::Nothing => "was not installed".to_owned(),
            Uninstalled::FilesOnly => format!(
                "files removed; {name} is not installed, so its configuration still names the plugin: run \
                 `ralph plugin uninstall --agent {name}` if you install it again"
            ),
        };
        let mut out = Out::stdout();
        out.line(&format!("{name:<7} {word}"));
        if dir.exists() {
            out.line(&format!(
                "        left: {}, with files that are not ralph's",
                printable(&dir.display().to_string())
            ));
        }
        out.flush();
        Ok(ExitCode::SUCCESS)
    })
}

/// The status of one agent, as programs read it.
#[derive(Serialize)]
struct Entry<'a> {
    agent: &'static str,
    program: &'a Option<PathBuf>,
    installed: bool,
    enabled: bool,
    version: &'a Option<String>,
    /// Of this ralph and the plugin that it would install.
    ralph_version: &'static str,
    source: &'a Option<String>,
    alerts: bool,
    hooks: HookState,
    problems: Vec<EntryProblem>,
}

#[derive(Serialize)]
struct EntryProblem {
    problem: String,
    fix: String,
}

impl<'a> Entry<'a> {
    fn of(standing: &'a Standing) -> Entry<'a> {
        let problem = |problem: &Problem| EntryProblem {
            problem: problem.to_string(),
            fix: advice::plugin_fix(standing, problem),
        };
        Entry {
            agent: standing.agent.name(),
            program: &standing.program,
            installed: standing.installed,
            enabled: standing.enabled,
            version: &standing.version,
            ralph_version: VERSION,
            source: &standing.source,
            alerts: standing.alerts == Alerts::Everywhere,
            hooks: standing.hooks,
            problems: standing.problems.iter().map(problem).collect(),
        }
    }
}

fn status(args: &StatusArgs) -> Result<ExitCode, CliError> {
    let project = here()?;
    let standings = PluginAgent::ALL.map(|agent| Standing::of(agent, &project));
    if is_told_to_stop() {
        // What was not asked any more is unknown.
        return Ok(ExitCode::from(INTERRUPTED));
    }
    match args.format.shape() {
        Shape::Text => standings.iter().for_each(show),
        Shape::Value => print_json(&standings.iter().map(Entry::of).collect::<Vec<_>>()),
        Shape::Lines => print_lines(standings.iter().map(Entry::of)),
    }
    let mut relevant = standings.iter().filter(|standing| standing.may_be_installed()).peekable();
    let well = relevant.peek().is_some() && relevant.all(Standing::is_well);
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn show(standing: &Standing) {
    let mut out = Out::stdout();
    let mark = Style::of_stdout().mark(standing.is_well());
    out.text(&format!("{mark} {:<7} {}", standing.agent.name(), summary(standing)));
    for problem in &standing.problems {
        if standing.installed {
            out.text(&format!("             {}", printable(&problem.to_string())));
        }
        out.text(&format!("             {}", advice::plugin_fix(standing, problem)));
    }
    out.flush();
}

fn summary(standing: &Standing) -> String {
    if !standing.installed {
        let problem = standing.problems.first().map(ToString::to_string).unwrap_or_default();
        return printable(&problem).into_owned();
    }
    let version = standing.version.as_deref().unwrap_or("of an unknown version");
    let enabled = if standing.enabled { "enabled" } else { "disabled" };
    let alerts = match standing.alerts {
        Alerts::InRuns => "",
        Alerts::Everywhere => ", context alerts in your own sessions",
    };
    format!("plugin {}, {enabled}, {}{alerts}", printable(version), standing.hooks)
}

/// What a directory was checked by, and what that found.
#[derive(Serialize)]
struct Checked {
    checked_by: Vec<&'static str>,
    problems: Vec<Finding>,
}

fn validate(args: &ValidateArgs) -> Result<ExitCode, CliError> {
    let checked = match &args.dir {
        Some(dir) => check(dir)?,
        None => {
            let temporary = env::temp_dir();
            let dir = fsx::scratch_dir(&temporary)
                .map_err(|source| PluginError::Unwritable { path: temporary, source })?;
            plugin::write(dir.path(), Alerts::InRuns)?;
            check(dir.path())?
        }
    };
    match args.format.shape() {
        Shape::Text => show_checked(&checked),
        Shape::Value => print_json(&checked),
        Shape::Lines => print_lines(&checked.problems),
    }
    Ok(if checked.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn check(dir: &Path) -> Result<Checked, CliError> {
    let dir = dir.canonicalize().map_err(|cause| {
        CliError::usage(format!("cannot open the directory: {}", dir.display())).cause(cause)
    })?;
    let mut checked = Checked { checked_by: vec!["ralph"], problems: plugin::check(&dir) };
    if let Some(claude) = PluginAgent::Claude.program() {
        checked.problems.extend(check_by_claude(&claude, &dir)?);
        checked.checked_by.push("claude");
    }
    Ok(checked)
}

fn show_checked(checked: &Checked) {
    let (mut out, style) = (Out::stdout(), Style::of_stdout());
    for Finding { file, problem } in &checked.problems {
        out.text(&printable(&format!("{file}: {problem}")));
    }
    let found = match checked.problems.len() {
        0 => "no problems".to_owned(),
        found => counted(found as u64, "problem"),
    };
    let mark = style.mark(checked.problems.is_empty());
    out.line(&format!("{mark} {found} (checked by {})", checked.checked_by.join(" and ")));
    out.flush();
}

fn print(args: &PrintArgs) -> Result<ExitCode, CliError> {
    if !args.force && !is_free(&args.dir) {
        let message = format!("the directory is not empty: {}", args.dir.display());
        return Err(CliError::failed(message).hint("choose another one, or use --force"));
    }
    plugin::write(&args.dir, Alerts::InRuns)?;
    let mut out = Out::stdout();
    out.line(&format!("wrote {}", printable(&args.dir.display().to_string())));
    out.flush();
    Ok(ExitCode::SUCCESS)
}

fn is_free(dir: &Path) -> bool {
    match fs_err::read_dir(dir) {
        Ok(mut entries) => entries.next().is_none(),
        // What else is wrong with it is found by writing.
        Err(_) => true,
    }
}
