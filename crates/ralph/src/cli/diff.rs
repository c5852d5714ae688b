//! `ralph diff`: what a run, or one iteration of it, has changed.

use super::args::ProjectArgs;
use super::home;
use super::undo::how_to_restore;
use crate::catalog::find_or_newest;
use crate::error::{CliError, Code};
use crate::git::shadow::Shadow;
use crate::report::{Out, Style, say};
use crate::story::Story;
use clap::Args;
use ralph_loop::text::printable;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
New files are part of it, whether git tracks them or not. Without ITERATION it is everything since \
the run began.

Examples:
  ralph diff                        all of the newest run of this directory
  ralph diff 20261115-2215          all of that run
  ralph diff 20261115-2215 3        the third iteration
  ralph diff 20261115-2215 --stat")]
pub struct DiffArgs {
    /// A worker's name, or a run's id or the beginning of it; without it the newest one here
    run: Option<String>,
    /// One iteration
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    iteration: Option<u32>,
    /// Only name the files and count their lines
    #[arg(long)]
    stat: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn diff(args: &DiffArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let story = Story::read(&home, &find_or_newest(&home, args.run.as_deref(), &args.project.dir()?)?)?;
    let shadow = story.shadow()?;
    // An agent that is at work, or was cut short, has begun an iteration that is not judged.
    let begun = story.state.ledger.judged + u32::from(story.state.work.attempts > 0);
    if let Some(iteration) = args.iteration.filter(|iteration| *iteration > begun) {
        return Err(CliError::failed(format!("run {} has no iteration {iteration}", story.run.id))
            .hint(format!("it has begun {begun}")));
    }
    let from = story.tree_before(&shadow, args.iteration.unwrap_or(1))?;
    let to = match story.trees.get(&(args.iteration.unwrap_or(begun) + 1)) {
        Some(_) => story.tree_before(&shadow, args.iteration.unwrap_or(begun) + 1)?.to_owned(),
        // What came after the last recorded tree is in the work tree only.
        None => as_it_is_now(&shadow)?,
    };
    let color = if Style::of_stdout().color { "--color=always" } else { "--no-color" };
    let flags: &[&str] = if args.stat { &[color, "--stat"] } else { &[color] };
    let bytes = shadow
        .diff(from, &to, flags, usize::MAX)
        .map_err(|cause| CliError::from_error(&cause, Code::Failed))?;
    let mut out = Out::stdout();
    out.bytes(&bytes);
    out.flush();
    if !story.left_out.is_empty() {
        say(&format!("not recorded: {}", printable(&story.left_out.join(", "))));
    }
    if let Some(hint) = how_to_restore(&shadow, &story.run.id) {
        say(&hint);
    }
    Ok(ExitCode::SUCCESS)
}

/// The work tree as it is now. The run may be at work, so its own index is left alone.
fn as_it_is_now(shadow: &Shadow) -> Result<String, CliError> {
    let look = |aside: &Shadow| aside.record(&aside.changes()?);
    let recorded = shadow.aside().and_then(|aside| {
        let recorded = look(&aside);
        aside.forget();
        recorded
    });
    recorded.map_err(|cause| CliError::from_error(&cause, Code::Failed))
}
