//! `ralph undo`: put the tree back as it was before an iteration.

use super::args::ProjectArgs;
use super::home;
use super::init::ask::{Asker, Stopped};
use crate::catalog::find_or_newest;
use crate::error::{CliError, Code};
use crate::git::Condition;
use crate::git::kept::RestoreGitError;
use crate::git::shadow::Shadow;
use crate::layout::Project;
use crate::lock::RunLock;
use crate::report::Out;
use crate::session::lock_tree;
use crate::stories::state_file::{self, StoryState};
use crate::story::Story;
use clap::Args;
use ralph_loop::plan::Plan;
use ralph_loop::text::printable;
use std::io::IsTerminal;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Files that the run made are removed, files that it changed or deleted come back. What is replaced is \
kept first and named, so that an undo can be undone. Commits, branches and the index stay as they \
are; files that no checkpoint holds (ignored, over 10 MiB, repositories inside) are never touched. \
Checkpoints need no repository: if the run has deleted or damaged .git, --restore-git restores it as it was \
when the run began.

Examples:
  ralph undo                          as it was before the last run here
  ralph undo 20261115-2215            as it was before the run
  ralph undo 20261115-2215 --to 3     as it was before iteration 3
  ralph undo 20261115-2215 --tree ID  as an earlier undo has kept it")]
pub struct UndoArgs {
    /// A worker's name, or a run's id or the start of it; by default the last run in this directory
    run: Option<String>,
    /// Back to before this iteration
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    to: u32,
    /// Back to a tree that an earlier undo has kept
    #[arg(long, value_name = "ID", conflicts_with = "to", value_parser = tree_id)]
    tree: Option<String>,
    /// Also restore a deleted or damaged .git as it was when the run began
    #[arg(long)]
    restore_git: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn undo(args: &UndoArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let here = args.project.dir()?;
    let id = find_or_newest(&home, args.run.as_deref(), &here)?;
    let story = Story::read(&home, &id)?;
    if !here.starts_with(&story.run.workspace) && !story.run.workspace.starts_with(&here) {
        let there = story.run.workspace.display();
        return Err(CliError::failed(format!("run {id} worked in another directory: {there}"))
            .hint(format!("go there, or pass -C {there}")));
    }
    if RunLock::is_held(&home.run(&id)) {
        return Err(CliError::failed(format!("run {id} is still at work")).hint("stop it first"));
    }
    let shadow = story.shadow()?;
    let _alone = lock_tree(&home, &story.run)?;
    let (target, before) = match &args.tree {
        // Of trees that are alike the last one has most behind it; one of no iteration is newer.
        Some(tree) => {
            let recorded = story.trees.iter().rfind(|(_, recorded)| *recorded == tree);
            (tree.as_str(), recorded.map(|(iteration, _)| *iteration))
        }
        None => (story.tree_before(&shadow, args.to)?, Some(args.to)),
    };
    let failed = |cause| CliError::from_error(&cause, Code::Failed);
    shadow.set_up(&story.run.workspace).map_err(failed)?;
    let changes = shadow.changes().map_err(failed)?;
    let now = shadow.record(&changes).map_err(failed)?;
    let prepared = shadow.prepare(&changes, &now, target, &[]).map_err(failed)?;
    let mut out = Out::stdout();
    let hint = see_to_repository(args, &id, &shadow, &mut out)?;
    if now == target {
        out.tell("Nothing to undo: the tree is as it was.");
        put_stories_back(&story, before, &mut out)?;
        hint.iter().for_each(|line| out.tell(line));
        out.flush();
        return Ok(ExitCode::SUCCESS);
    }
    shadow.keep(&now, &now).map_err(failed)?;
    let back = format!("ralph undo {id} --tree {now}");
    let done = shadow
        .put_back(prepared)
        .map_err(|cause| failed(cause).hint(format!("kept what was replaced; back to it: {back}")))?;
    match &args.tree {
        Some(_) => out.tell(&format!(
            "The tree is again as it was kept ({} written, {} removed).",
            done.written, done.removed
        )),
        None => out.tell(&format!(
            "The tree is as it was before iteration {} ({} written, {} removed).",
            args.to, done.written, done.removed
        )),
    }
    if !done.spared.is_empty() {
        let paths = printable(&done.spared.join(", ")).into_owned();
        out.tell(&format!("Not touched, because no checkpoint holds what is there: {paths}"));
    }
    put_stories_back(&story, before, &mut out)?;
    hint.iter().for_each(|line| out.tell(line));
    out.tell(&format!("Kept what was replaced; back to it: {back}"));
    out.flush();
    Ok(ExitCode::SUCCESS)
}

/// Restores a repository that is gone, if the user wants it; else how that can be done.
fn see_to_repository(
    args: &UndoArgs,
    id: &str,
    shadow: &Shadow,
    out: &mut Out,
) -> Result<Option<String>, CliError> {
    let kept = shadow.kept();
    if !args.restore_git {
        let Some(hint) = how_to_restore(shadow, id) else { return Ok(None) };
        let at_terminal = rustix::stdio::stdin().is_terminal() && rustix::stdio::stdout().is_terminal();
        let wanted = at_terminal && asked(shadow, out)?;
        if !wanted {
            return Ok(Some(hint));
        }
    }
    let restored = kept.restore(shadow.repository()).map_err(|cause| {
        let shown = CliError::from_error(&cause, Code::Failed);
        match cause {
            RestoreGitError::Exists(_) => shown.hint("it is left as it is: leave --restore-git out"),
            RestoreGitError::MainGone(_) => {
                shown.hint(format!("what is kept of it: git clone {}", kept.dir().display()))
            }
            RestoreGitError::Nothing | RestoreGitError::Io(_) => shown,
        }
    })?;
    let place = &restored.place;
    if let Some(aside) = &restored.aside {
        out.tell(&format!("Moved the damaged {} to {}", place.display(), aside.display()));
    }
    out.tell(&match kept.has_history() {
        true => format!("Restored {} as it was when the run began.", place.display()),
        false => format!(
            "Restored {} without its history, which could not be kept: it has the commit that the run \
             began with and what was staged. Fetch the rest from a remote: git fetch --unshallow",
            place.display()
        ),
    });
    Ok(None)
}

/// The command that restores a repository, if it is gone or damaged and something is kept of it.
pub fn how_to_restore(shadow: &Shadow, id: &str) -> Option<String> {
    let (condition, command) = (shadow.repository().condition(), format!("ralph undo {id} --restore-git"));
    let lost = lost(shadow, condition)?;
    Some(match condition {
        Condition::Damaged => format!("{lost}. Restore it, and keep what is left of it aside: {command}"),
        Condition::Gone | Condition::Whole => format!("{lost}. Restore it: {command}"),
    })
}

fn lost(shadow: &Shadow, condition: Condition) -> Option<&'static str> {
    match condition {
        _ if !shadow.kept().exists() => None,
        Condition::Whole => None,
        Condition::Gone => Some("The repository's .git is gone"),
        Condition::Damaged => Some("The repository is damaged: git cannot read its .git"),
    }
}

fn asked(shadow: &Shadow, out: &mut Out) -> Result<bool, CliError> {
    out.flush();
    let mut asker =
        Asker::new().map_err(|cause| CliError::usage("cannot ask on this terminal").cause(cause))?;
    let lost = lost(shadow, shadow.repository().condition()).unwrap_or_default();
    asker.tell(&format!("{lost}: {}", shadow.top().join(".git").display()));
    match asker.yes("Restore it as it was when the run began? (y/N): ") {
        Ok(answer) => Ok(answer),
        Err(Stopped) => Err(CliError::failed("interrupted, and nothing was changed")),
    }
}

/// Which stories are done is mostly kept where no checkpoint looks. Without this their work would
/// be gone and nobody would do it again.
fn put_stories_back(story: &Story, before: Option<u32>, out: &mut Out) -> Result<(), CliError> {
    let Plan::Stories(plan) = &story.run.plan else { return Ok(()) };
    let wanted = story.stories_done(plan, before);
    let failed = |cause| CliError::from_error(&cause, Code::Failed);
    let project = Project::at(story.run.workspace.clone());
    let now = state_file::look(&project).map_err(failed)?.state.completed_stories;
    if now == wanted {
        return Ok(());
    }
    let file = project.shown(&project.state()).display().to_string();
    if !story.were_done(plan, &now) {
        out.tell(&format!("{file} is not as this run has left it: see to the stories that are done there"));
        return Ok(());
    }
    let state = StoryState { completed_stories: wanted, ..StoryState::default() };
    state_file::write(&project, &state).map_err(failed)?;
    out.tell(&format!("By {file}, {}, as before.", state_file::done(state.completed_stories.len())));
    Ok(())
}

/// A tree's whole name: anything else could mean something to git.
fn tree_id(text: &str) -> Result<String, String> {
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { Ok(text.to_string()) } else { Err("expected the 40 digits that an undo has printed".into()) }
}
