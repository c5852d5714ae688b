//! `ralph clean`: remove what finished runs have left, as far as nothing is lost.

use super::home;
use crate::catalog::{self, Belongings, RunLine};
use crate::error::{CliError, Code};
use crate::fsx;
use crate::layout::Home;
use crate::lock::RunLock;
use crate::place;
use crate::report::{Out, bytes};
use clap::Args;
use ralph_loop::run::Place;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
A worktree is removed, with its branch, once its run has ended, its branch is merged and nothing in \
it is uncommitted. --runs removes what is kept (journal, prompts, streams, checkpoints, refs/ralph/RUN, \
the output of a worker) of all but the newest finished runs. Runs that are alive are never touched, \
those that can be resumed only with --force.

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
    let (mut freed, mut bare) = (Vec::new(), Vec::new());
    for line in &lines {
        let worktree = clean_worktree(&home, line, args, &mut out)?;
        if worktree.is_some() || line.worktree().is_none() {
            bare.push(line);
        }
        freed.extend(worktree);
    }
    if args.runs {
        let old = lines.iter().filter(|line| may_go(line, args.force)).skip(args.keep);
        let is_bare = |line: &&RunLine| bare.iter().any(|bare| bare.id == line.id);
        for line in old.filter(is_bare) {
            freed.extend(clean_record(&home, line, args, &mut out)?);
        }
        if !args.dry_run {
            catalog::remove_remains(&home);
        }
    }
    let sum = bytes(freed.iter().sum());
    out.line(&match (freed.is_empty(), args.dry_run) {
        (true, _) => "Nothing to remove.".to_string(),
        (false, true) => format!("That would free {sum}."),
        (false, false) => format!("That has freed {sum}."),
    });
    out.flush();
    Ok(ExitCode::SUCCESS)
}

fn may_go(line: &RunLine, force: bool) -> bool {
    line.is_over() || (force && !line.is_alive())
}

/// The bytes that it took up, if it goes.
fn clean_worktree(
    home: &Home,
    line: &RunLine,
    args: &CleanArgs,
    out: &mut Out,
) -> Result<Option<u64>, CliError> {
    let (Place::Worktree { path, branch, origin }, Some(_)) = (&line.place, line.worktree()) else {
        return Ok(None);
    };
    // Somebody may have taken the run up since it was looked at, or be about to.
    let idle = RunLock::of_idle(&home.run(&line.id));
    let kept = if idle.is_none() || !may_go(line, args.force) {
        let status = if idle.is_none() { "running" } else { &line.status };
        Some(format!("its run is not over: {status}"))
    } else if args.force {
        None
    } else {
        place::at_risk(path, branch, origin)
    };
    if let Some(why) = kept {
        out.line(&format!("kept      {} ({why})", path.display()));
        return Ok(None);
    }
    let used = fsx::disk_usage(path);
    if !args.dry_run {
        place::remove_worktree(path, branch, origin)
            .map_err(|cause| CliError::from_error(&cause, Code::Failed))?;
    }
    let word = removed_word(args);
    out.line(&format!("{word}  {} (branch {branch}, {})", path.display(), bytes(used)));
    Ok(Some(used))
}

fn clean_record(
    home: &Home,
    line: &RunLine,
    args: &CleanArgs,
    out: &mut Out,
) -> Result<Option<u64>, CliError> {
    let Some(belongings) = Belongings::of(home, line) else { return Ok(None) };
    let used = belongings.bytes();
    if !args.dry_run {
        belongings.remove()?;
    }
    out.line(&format!("{}  run {} ({})", removed_word(args), line.id, bytes(used)));
    Ok(Some(used))
}

fn removed_word(args: &CleanArgs) -> &'static str {
    if args.dry_run { "would go" } else { "removed " }
}
