//! `ralph stories check`: what is wrong with the specs.

use super::Stories;
use crate::cli::args::ProjectArgs;
use crate::cli::format::{Format, Shape};
use crate::cli::{print_json, print_lines};
use crate::error::{CliError, Code};
use crate::report::Out;
use crate::stories::{Problem, Severity};
use clap::Args;
use ralph_loop::text::{counted, printable};
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Stories with warnings (no frontmatter, or frontmatter that is not YAML) still run. Stories with errors \
do not: wrong types, cycles, unknown dependencies, two files for one story, placeholder text.

Exit codes: 0 no errors, 2 errors.

Example:
  ralph stories check --format json | jq '.problems[].file'")]
pub struct CheckArgs {
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Serialize)]
struct Checked<'p> {
    stories: usize,
    errors: usize,
    warnings: usize,
    problems: &'p [Problem],
}

pub fn check(args: &CheckArgs) -> Result<ExitCode, CliError> {
    let stories = Stories::read(&args.project)?;
    let problems = &stories.backlog.problems;
    let count = |severity| problems.iter().filter(|problem| problem.severity == severity).count();
    let checked = Checked {
        stories: stories.backlog.specs.len(),
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        problems,
    };
    match args.format.shape() {
        Shape::Text => print(&checked),
        Shape::Value => print_json(&checked),
        Shape::Lines => print_lines(problems),
    }
    Ok(match checked.errors {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(Code::Usage as u8),
    })
}

fn print(checked: &Checked<'_>) {
    let mut out = Out::stdout();
    for problem in checked.problems {
        let Problem { severity, file, line, column, text, hint, .. } = problem;
        let message = format!("{}:{line}:{column}: {}: {text}", file.display(), severity.word());
        out.text(&printable(&message));
        out.text(&printable(&format!("  hint: {hint}")));
    }
    let Checked { stories, errors, warnings, .. } = *checked;
    let [stories, errors, warnings] = [(stories, "story"), (errors, "error"), (warnings, "warning")]
        .map(|(count, thing)| counted(count as u64, thing));
    out.text(&format!("{stories}, {errors}, {warnings}"));
    out.flush();
}
