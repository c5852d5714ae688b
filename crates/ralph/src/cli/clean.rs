//! `ralph clean`: remove what finished runs have left, as far as nothing is lost.

use super::home;
use crate::catalog::{self, RunLine};
use crate::error::{CliError, Code};
use crate::layout::Home;
use crate::place;
use crate::report::Out;
use clap::Args;
use ralph_loop::run::Place;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
A worktree is removed, with its branch, once its run has ended, its branch is merged and nothing in \
it is uncommitted. --runs removes the records (journal, prompts, streams, checkpoints) of all but the \
newest finished runs. Runs that are alive are never touched, those that can be resumed only with \
--force.

Examples:
  ralph clean --dry-run
  ralph clean --runs --keep 20")]
pub struct CleanArgs {
    /// Also remove the records of old runs
    #[arg(long)]
    runs: bool,
    /// How many finished runs --runs leaves
    #[arg(long, value_name = "N", default_value = "100", requires = "runs")]
    keep: usize,
    /// Remove also what is unmerged, uncommitted or could be resumed
    #[arg(long)]
    force: bool,
    /// Only say what would be removed
    #[arg(short, long)]
    dry_run: bool,
}

pub fn clean(args: &CleanArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let mut out = Out::stdout();
    let lines = catalog::all(&home)?;
    let mut removed = 0;
    for line in &lines {
        removed += usize::from(clean_worktree(line, args, &mut out)?);
    }
    if args.runs {
        let old = lines.iter().filter(|line| may_go(line, args.force)).skip(args.keep);
        for line in old {
            removed += usize::from(clean_record(&home, line, args, &mut out)?);
        }
    }
    if removed == 0 {
        out.line("Nothing to remove.");
    }
    out.flush();
    Ok(ExitCode::SUCCESS)
}

fn may_go(line: &RunLine, force: bool) -> bool {
    line.is_over() || (force && !line.is_alive())
}

fn clean_worktree(line: &RunLine, args: &CleanArgs, out: &mut Out) -> Result<bool, CliError> {
    let Place::Worktree { path, branch, origin } = &line.place else { return Ok(false) };
    if !path.exists() {
        return Ok(false);
    }
    let kept = if !may_go(line, args.force) {
        Some(format!("its run is not over: {}", line.status))
    } else if args.force {
        None
    } else {
        place::at_risk(path, branch, origin)
    };
    if let Some(why) = kept {
        out.line(&format!("kept      {} ({why})", path.display()));
        return Ok(false);
    }
    if !args.dry_run {
        place::remove_worktree(path, branch, origin)
            .map_err(|cause| CliError::from_error(&cause, Code::Failed))?;
    }
    out.line(&format!("{}  {} (branch {branch})", removed_word(args), path.display()));
    Ok(true)
}

fn clean_record(home: &Home, line: &RunLine, args: &CleanArgs, out: &mut Out) -> Result<bool, CliError> {
    if !args.dry_run && !catalog::remove_record(home, line)? {
        return Ok(false);
    }
    out.line(&format!("{}  run {}", removed_word(args), line.id));
    Ok(true)
}

fn removed_word(args: &CleanArgs) -> &'static str {
    if args.dry_run { "would go" } else { "removed " }
}
