//! `ralph tasks`: a task list, worked through with a review of every story.

mod run;

use super::args::Format;
use crate::error::CliError;
use clap::Args;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
The list is ralph/tasks.json; `ralph init tasks` lays it out. A story is implemented by one agent and
reviewed by another with fresh eyes; what a review finds goes back. What an agent may not change in
the list is undone, and an approval counts only if the list's verifyCommands succeed.

Examples:
  ralph tasks                          until every story is approved, at most 15 iterations
  ralph tasks -n 40 --review-cap 3
  ralph tasks --skip-review --max-cost 5")]
pub struct TasksArgs {
    #[command(flatten)]
    run: run::RunArgs,
}

impl TasksArgs {
    /// What a refusal is told in.
    pub fn format(&self) -> Format {
        self.run.common.output.format
    }
}

pub fn tasks(args: &TasksArgs) -> Result<ExitCode, CliError> {
    run::run(&args.run)
}
