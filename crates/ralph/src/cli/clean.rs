//! `ralph clean`: removes what finished runs left behind, if nothing is lost.

use super::args::ProjectArgs;
use super::home;
use crate::catalog::{self, Belongings, RunLine};
use crate::error::{CliError, Code};
use crate::fsx;
use crate::layout::Home;
use crate::place::worktree;
use crate::planner::records;
use crate::report::{Out, bytes};
use crate::worktree_removal::{Worktree, may_go};
use clap::Args;
use ralph_loop::run::Place;
use ralph_loop::text::printable;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Covers the runs of this project: those of the repository around the current directory, or of the \
directory itself. --all covers every project and prints how many there are; RUN selects a single \
run.

Removes the worktree and branch of a run that has ended, if the branch is merged and nothing is \
uncommitted. With --runs, also removes the records (journal, prompts, streams, checkpoints, \
refs/ralph/RUN, worker output) of all but the newest finished runs, and likewise of planning sessions. Active runs are never touched, and \
resumable ones only with --force. If --force removes unmerged branches, their commits are printed: \
`git branch NAME COMMIT` restores one.

Examples:
  ralph clean --dry-run
  ralph clean --runs --keep 20
  ralph clean --all --dry-run
  ralph clean 20261115-221503-4f2a")]
pub struct CleanArgs {
    /// Remove this run and its record: a run id, or the start of one
    #[arg(conflicts_with_all = ["runs", "keep", "all", "project_dir"])]
    run: Option<String>,
    /// Also remove the records of old runs
    #[arg(long)]
    runs: bool,
    /// Number of finished runs, and of planning sessions, that --runs keeps
    #[arg(long, value_name = "N", default_value = "100", requires = "runs")]
    keep: usize,
    /// Include the runs of all other projects
    #[arg(long, conflicts_with = "project_dir")]
    all: bool,
    /// Also remove what is unmerged, uncommitted or resumable
    #[arg(long)]
    force: bool,
    /// Print what would be removed, without removing it
    #[arg(short, long)]
    dry_run: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn clean(args: &CleanArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let mut out = Out::stdout();
    let mut lines = match (&args.run, args.all) {
        (Some(name), _) => vec![catalog::one(&home, catalog::find(&home, name)?)],
        (None, true) => catalog::all(&home)?,
        (None, false) => of_this_project(&home, &args.project.dir()?, &mut out)?,
    };
    for line in lines.iter_mut().filter(|line| line.workspace.is_none()) {
        // Its record is damaged, and a worktree may be left all the same.
        let found =
            args.project.dir().ok().and_then(|dir| worktree::without_record(&home.run(&line.id), &dir));
        line.place = found.unwrap_or(Place::Here);
    }
    let worktrees: Vec<Worktree> =
        lines.iter().filter_map(|line| Worktree::of(&home, line, args.force)).collect();
    print_extent(args, &lines, &worktrees, &mut out);
    let (mut freed, mut kept, mut code) = (Vec::new(), BTreeSet::new(), ExitCode::SUCCESS);
    for worktree in worktrees {
        let id = &worktree.line.id;
        match clean_worktree(&worktree, args, &mut out) {
            Outcome::Removed(used) => freed.push(used),
            Outcome::Kept => drop(kept.insert(id)),
            Outcome::Failed => {
                kept.insert(id);
                code = ExitCode::from(Code::Failed as u8);
            }
        }
    }
    if args.run.is_some() || args.runs {
        if let (Some(_), [line]) = (&args.run, &lines[..])
            && !may_go(line, args.force)
        {
            let way_out = if line.is_alive() { "" } else { "; use --force to remove it" };
            out.line(&format!("kept          run {} ({}{way_out})", line.id, line.status));
        }
        let keep = if args.run.is_some() { 0 } else { args.keep };
        let old = lines.iter().filter(|line| may_go(line, args.force)).skip(keep);
        // As long as a worktree is there, it can only be found through its run's record.
        for line in old.filter(|line| !kept.contains(&line.id)) {
            freed.extend(clean_record(&home, line, args, &mut out)?);
        }
        if args.runs {
            freed.extend(clean_plans(&home, args, &mut out)?);
        }
        if !args.dry_run {
            catalog::remove_remains(&home);
        }
    }
    let sum = bytes(freed.iter().sum());
    out.line(&match (freed.is_empty(), args.dry_run) {
        (true, _) => "Nothing to remove.".to_string(),
        (false, true) => format!("Would free {sum}."),
        (false, false) => format!("Freed {sum}."),
    });
    out.flush();
    Ok(code)
}

fn of_this_project(home: &Home, dir: &Path, out: &mut Out) -> Result<Vec<RunLine>, CliError> {
    let lines = catalog::of_project(home, dir)?;
    if lines.is_empty() {
        out.line(&format!("No runs in this project: {}", catalog::project_of(dir).display()));
        let others = catalog::all(home)?.len();
        if others > 0 {
            out.line(&format!(
                "{} in other projects: `ralph clean --all` includes them.",
                count(others, "run")
            ));
        }
    }
    Ok(lines)
}

/// Says how much `--all` is about, and what nothing else leads to, before anything is removed.
fn print_extent(args: &CleanArgs, lines: &[RunLine], worktrees: &[Worktree<'_>], out: &mut Out) {
    let unmerged = || worktrees.iter().filter_map(|found| Some((found, found.risk.unmerged()?)));
    if args.all {
        let projects: BTreeSet<&Path> =
            lines.iter().filter_map(RunLine::origin).map(catalog::project_of).collect();
        let branches = match unmerged().count() {
            1 => "1 unmerged branch".to_string(),
            n => format!("{n} unmerged branches"),
        };
        out.line(&format!("{}, {branches}", count(projects.len(), "project")));
    }
    for (found, commit) in unmerged().filter(|(found, _)| found.kept.is_none()) {
        out.line(&format!("unmerged      {} at {commit} ({})", found.branch, found.origin.display()));
    }
    out.flush();
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn clean_worktree(worktree: &Worktree<'_>, args: &CleanArgs, out: &mut Out) -> Outcome {
    let Worktree { path, branch, .. } = worktree;
    if let Some(why) = &worktree.kept {
        out.line(&format!("kept          {} ({why})", path.display()));
        return Outcome::Kept;
    }
    let used = fsx::disk_usage(path);
    if !args.dry_run
        && let Err(cause) = worktree.remove()
    {
        let cause = printable(&cause.to_string()).into_owned();
        out.line(&format!("kept          {} (branch {branch}: {cause})", path.display()));
        return Outcome::Failed;
    }
    let word = removed_word(args);
    out.line(&format!("{word}  {} (branch {branch}, {})", path.display(), bytes(used)));
    Outcome::Removed(used)
}

/// What became of a worktree.
enum Outcome {
    /// It took up so many bytes.
    Removed(u64),
    Kept,
    /// It was to go, and not all of it went.
    Failed,
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
    if line.workspace.is_none() && line.place == Place::Here && belongings.names_no_place() {
        let branch = worktree::branch(&line.id);
        out.line(&format!(
            "          its record does not say where it worked: a worktree would be on {branch}"
        ));
    }
    Ok(Some(used))
}

/// The records of planning sessions; what each has freed.
fn clean_plans(home: &Home, args: &CleanArgs, out: &mut Out) -> Result<Vec<u64>, CliError> {
    let dir = args.project.dir()?;
    let project = (!args.all).then_some(dir.as_path());
    let mut freed = Vec::new();
    for (id, record) in records::over(home, project).into_iter().skip(args.keep) {
        let used = fsx::disk_usage(record.dir());
        if !args.dry_run {
            fsx::remove_tree(record.dir()).map_err(|cause| {
                CliError::failed(format!("cannot remove the planning session {id}")).cause(cause)
            })?;
        }
        out.line(&format!("{}  planning session {id} ({})", removed_word(args), bytes(used)));
        freed.push(used);
    }
    Ok(freed)
}

fn removed_word(args: &CleanArgs) -> &'static str {
    if args.dry_run { "would remove" } else { "removed     " }
}
