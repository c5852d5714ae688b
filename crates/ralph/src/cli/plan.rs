//! `ralph plan`: an idea, a PRD or an issue becomes a task list or stories.
//!
//! Everything that can be wrong with the request is found before anything is written.

mod idea;
mod menu;
mod prepare;
mod questions;
mod summary;
mod talk;
mod unattended;

use super::archive::alone;
use super::args::ProjectArgs;
use super::format::Format;
use crate::error::CliError;
use crate::handed;
use crate::planner::PlannerError;
use crate::planner::instructions::Talk;
use crate::report::{Out, say};
use clap::Args;
use prepare::Prepared;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
In a terminal this is a conversation: the agent starts here, reads the project, asks, and writes ralph/prd.md \
and ralph/tasks.json, or specs/ with --stories. After each turn ralph checks the plan, and the agent repairs \
what is wrong with it. When you leave the agent, ralph shows the plan and asks whether to run it. \
Without a terminal, or with --yes, the agent makes assumptions instead of asking, and lists them in the PRD.

A PRD that you have written is left alone. Stories that have begun or are done stay as they are. The agent writes \
drafts only: until the plan is valid, no file of the project is changed.

Exit codes: 0 planned, 1 no plan, 2 bad usage or configuration, 130 interrupted.

Examples:
  ralph plan \"log in with a passkey\"
  ralph plan --yes --from issue.md
  gh issue view 12 | ralph plan --from - --stories
  ralph plan --split US-007
  ralph plan --why US-007")]
pub struct PlanArgs {
    /// What you want [default: what ralph/prd.md says]
    #[arg(value_name = "TASK", conflicts_with = "from")]
    task: Option<String>,
    /// Read what you want from this file, or from standard input with -
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Write stories to specs/ instead of a task list
    #[arg(long)]
    stories: bool,
    /// Ask nothing: make assumptions, and list them
    #[arg(short, long)]
    yes: bool,
    /// Let ralph ask the agent's questions, one by one, instead of a conversation
    #[arg(long, conflicts_with = "yes")]
    ask: bool,
    /// Split this story of the list into smaller ones
    #[arg(long, value_name = "ID", conflicts_with_all = ["stories", "why"])]
    split: Option<String>,
    /// Find out why this story is not done, and propose a change to it
    #[arg(long, value_name = "ID", conflicts_with = "stories")]
    why: Option<String>,
    /// Use this agent: claude or codex [default: the agent in your settings]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Use this model
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// Directory of the task list [default: ralph]
    #[arg(long, value_name = "DIR", conflicts_with = "stories")]
    ralph_dir: Option<PathBuf>,
    /// Print what the agent would be told, and start nothing
    #[arg(short, long)]
    dry_run: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub format: Format,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn plan(args: &PlanArgs) -> Result<ExitCode, CliError> {
    let mut prepared = Prepared::of(args)?;
    if args.dry_run {
        let mut out = Out::stdout();
        out.part(&prepared.instructions(&[], &[])?);
        out.flush();
        return Ok(ExitCode::SUCCESS);
    }
    let lock = alone(&prepared.home, &prepared.project, "plan")?;
    if prepared.lays_out {
        say("ralph: there is no task list yet; creating one, as `ralph init tasks` does");
        prepared.lay_out(args)?;
    }
    if let Err(cause) = handed::sweep(&prepared.home) {
        say(&format!("ralph: warning: cannot remove what a ralph that was killed has left: {cause}"));
    }
    let told = prepared.begin()?;
    let done = match prepared.talk {
        Talk::Conversation => talk::hold(&prepared, &told, lock),
        Talk::Asks | Talk::Never => unattended::plan(&prepared, args.format),
    };
    match done {
        Err(PlannerError::Interrupted { .. }) => {
            prepared.say_unplanned("stopped");
            Ok(ExitCode::from(super::INTERRUPTED))
        }
        Err(error) => Err(error.into()),
        Ok(code) => Ok(code),
    }
}
