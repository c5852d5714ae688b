//! `ralph stories check`: what is wrong with the specs.

use super::Stories;
use crate::cli::args::ProjectArgs;
use crate::cli::format::{Format, Shape};
use crate::cli::{print_json, print_lines};
use crate::error::{CliError, Code};
use crate::report::Out;
use crate::stories::{Problem, Severity, strict};
use clap::Args;
use ralph_loop::text::{counted, printable};
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Stories with warnings (no frontmatter, or frontmatter that is not YAML) still run. Stories with errors \
do not: wrong types, cycles, unknown dependencies, two files for one story, placeholder text.

With --strict, these are errors too, in stories that are not done:
  one-iteration    no text under `## Story`, or more than three sentences
  criteria         none, or nothing to observe: \"works correctly\", \"is fast\"
  order            not schema, backend, API, frontend, integration
  dependencies     needs the result of a story that is not in depends_on
  verify-commands  one in stories.verify that cannot fail: `npm test || true`
  duplicates       the same title or description twice
  placeholder      text that is still to be written: TODO, TBD, <title>
What may be intended (many criteria, similar titles) is a warning. `ralph stories` runs stories \
with such errors all the same.

Exit codes: 0 no errors, 2 errors.

Examples:
  ralph stories check --strict
  ralph stories check --format json | jq '.problems[].file'")]
pub struct CheckArgs {
    /// Also check whether the stories are good ones: small, with observable criteria, in order
    #[arg(long)]
    strict: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Serialize)]
struct Checked {
    stories: usize,
    errors: usize,
    warnings: usize,
    problems: Vec<Problem>,
}

pub fn check(args: &CheckArgs) -> Result<ExitCode, CliError> {
    let Stories { project, settings, order, state, backlog } = Stories::read(&args.project)?;
    let mut problems = Vec::new();
    if args.strict {
        let mut found = strict::findings(&project, &backlog, &order, &state.completed_stories);
        found.extend(strict::in_settings(&project, &settings));
        problems.extend(found.into_iter().map(strict::problem));
    }
    let stories = backlog.specs.len();
    problems.extend(backlog.problems);
    let place = |problem: &Problem| (problem.file.clone(), problem.line, problem.column);
    // Of --strict there may be many: first what must be fixed.
    problems.sort_by_key(|problem| (args.strict && problem.severity == Severity::Warning, place(problem)));
    let count = |severity| problems.iter().filter(|problem| problem.severity == severity).count();
    let checked =
        Checked { stories, errors: count(Severity::Error), warnings: count(Severity::Warning), problems };
    match args.format.shape() {
        Shape::Text => print(&checked),
        Shape::Value => print_json(&checked),
        Shape::Lines => print_lines(&checked.problems),
    }
    Ok(match checked.errors {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(Code::Usage as u8),
    })
}

fn print(checked: &Checked) {
    let mut out = Out::stdout();
    for problem in &checked.problems {
        let Problem { severity, file, line, column, text, hint, rule, .. } = problem;
        let rule = rule.map_or_else(String::new, |rule| format!(" [{rule}]"));
        let message = format!("{}:{line}:{column}: {}: {text}{rule}", file.display(), severity.word());
        out.text(&printable(&message));
        out.text(&printable(&format!("  hint: {hint}")));
    }
    let Checked { stories, errors, warnings, .. } = *checked;
    let [stories, errors, warnings] = [(stories, "story"), (errors, "error"), (warnings, "warning")]
        .map(|(count, thing)| counted(count as u64, thing));
    out.text(&format!("{stories}, {errors}, {warnings}"));
    out.flush();
}
