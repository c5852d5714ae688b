//! `ralph config`: the effective settings, and where each comes from.

use super::args::ProjectArgs;
use super::format::{Format, Shape};
use super::print_json;
use crate::error::{CliError, Code};
use crate::layout::Project;
use crate::report::{Out, say};
use crate::settings::{self, Loaded, SettingsError};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Example:
  ralph config show --format json")]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Print the effective settings and the file each one comes from
    Show(ShowArgs),
}

#[derive(Args)]
#[command(after_help = "\
Values that look like secrets are printed as ***. RALPH_AGENT and RALPH_MODEL override all files. The \
flags of a command override everything and are not shown here.

Examples:
  ralph config show | grep -v default$
  ralph config show --format json | jq .settings.agent")]
struct ShowArgs {
    /// Read more settings from this file; they override the project's
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn config(args: &ConfigArgs) -> Result<ExitCode, CliError> {
    let ConfigCommand::Show(args) = &args.command;
    let loaded = load(&Project::at(args.project.dir()?), args.config.as_deref())?;
    match args.format.shape() {
        Shape::Text => print_lines(&loaded),
        Shape::Value => print_object(&loaded),
        Shape::Lines => {
            let entries = loaded.effective.entries();
            print_all(entries.iter().filter_map(|entry| serde_json::to_string(entry).ok()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Loads the settings and prints their warnings.
pub fn load(project: &Project, config: Option<&Path>) -> Result<Loaded, CliError> {
    let loaded = settings::load(project, config).map_err(|error| refused(&error))?;
    for warning in &loaded.warnings {
        say(&format!("ralph: warning: {warning}"));
    }
    Ok(loaded)
}

/// The error for wrong settings.
pub fn refused(error: &SettingsError) -> CliError {
    CliError::from_error(error, Code::Usage)
        .hint("`ralph schema settings` prints what is allowed; docs/settings.md explains it")
}

fn print_lines(loaded: &Loaded) {
    let entries = loaded.effective.entries();
    let said: Vec<String> = entries.iter().map(|entry| format!("{} = {}", entry.key, entry.value)).collect();
    // A few long values do not push all sources out of sight.
    const WIDEST: usize = 48;
    let widths = said.iter().map(|said| said.chars().count());
    let width = widths.filter(|width| *width <= WIDEST).max().unwrap_or(0);
    let lines = said.iter().zip(&entries);
    print_all(lines.map(|(said, entry)| format!("{said:width$}  {}", entry.from)));
}

fn print_object(loaded: &Loaded) {
    #[derive(serde::Serialize)]
    struct Shown<'l> {
        settings: settings::InOrder,
        from: Map<String, Value>,
        files: &'l [PathBuf],
        warnings: &'l [String],
    }
    let from = loaded.effective.entries().into_iter().map(|entry| (entry.key, json!(entry.from)));
    print_json(&Shown {
        settings: loaded.effective.masked(),
        from: from.collect(),
        files: &loaded.files,
        warnings: &loaded.warnings,
    });
}

fn print_all(lines: impl Iterator<Item = String>) {
    let mut out = Out::stdout();
    lines.for_each(|line| out.line(&line));
    out.flush();
}
