//! `ralph undo`: restores the files as they were before an iteration.

use super::args::{ProjectArgs, count};
use super::ask::{Asker, Stopped};
use super::home;
use crate::catalog::find_or_newest;
use crate::error::{CliError, Code};
use crate::git::kept::RestoreGitError;
use crate::git::shadow::Shadow;
use crate::git::{Condition, is_object_id};
use crate::layout::Project;
use crate::lock::RunLock;
use crate::report::Out;
use crate::run_history::RunHistory;
use crate::session::lock_tree;
use crate::stories::state_file::{self, StoryState};
use clap::Args;
use ralph_loop::plan::Plan;
use ralph_loop::text::printable;
use std::io::IsTerminal;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Removes files that the run created, and restores those it changed or deleted. Saves the replaced files \
first and prints how to get them back, so you can undo an undo. Commits, branches and the index stay as \
they are. Files that are in no checkpoint (ignored, over 10 MiB, nested repositories) are never touched. \
Checkpoints do not depend on the repository: if the run deleted or damaged .git, --restore-git \
restores it as it was when the run started.

Examples:
  ralph undo                          # to before the last run here
  ralph undo 20261115-2215            # to before that run
  ralph undo 20261115-2215 --to 3     # to before its third iteration
  ralph undo 20261115-2215 --tree ID  # to what an earlier undo saved")]
pub struct UndoArgs {
    /// Worker name, run id or id prefix [default: the newest run in this directory]
    run: Option<String>,
    /// Go back to before this iteration
    #[arg(long, value_name = "N", default_value = "1", value_parser = count)]
    to: u32,
    /// Go back to a tree that an earlier undo saved
    #[arg(long, value_name = "ID", conflicts_with = "to", value_parser = tree_id)]
    tree: Option<String>,
    /// Also restore a deleted or damaged .git as it was when the run started
    #[arg(long)]
    restore_git: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn undo(args: &UndoArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let here = args.project.dir()?;
    let id = find_or_newest(&home, args.run.as_deref(), &here)?;
    let history = RunHistory::read(&home, &id)?;
    if !here.starts_with(&history.run.workspace) && !history.run.workspace.starts_with(&here) {
        let there = history.run.workspace.display();
        return Err(CliError::failed(format!("run {id} worked in another directory: {there}"))
            .hint(format!("go there, or pass -C {there}")));
    }
    if RunLock::is_held(&home.run(&id)) {
        return Err(CliError::failed(format!("run {id} is still running"))
            .hint(format!("stop it first: ralph kill {id}")));
    }
    let shadow = history.shadow()?;
    let _alone = lock_tree(&home, &history.run)?;
    let (target, before) = match &args.tree {
        // Of trees that are alike the last one has most behind it; one of no iteration is newer.
        Some(tree) => {
            let recorded = history.trees.iter().rfind(|(_, recorded)| *recorded == tree);
            (tree.as_str(), recorded.map(|(iteration, _)| *iteration))
        }
        None => (history.tree_before(&shadow, args.to)?, Some(args.to)),
    };
    let failed = |cause| CliError::from_error(&cause, Code::Failed);
    shadow.set_up(&history.run.workspace).map_err(failed)?;
    let changes = shadow.changes().map_err(failed)?;
    let now = shadow.record(&changes).map_err(failed)?;
    let prepared = shadow.prepare(&changes, &now, target, &[]).map_err(failed)?;
    let mut out = Out::stdout();
    let hint = see_to_repository(args, &id, &shadow, &mut out)?;
    if now == target {
        out.text("Nothing to undo: the files are already as they were.");
        put_stories_back(&history, before, &mut out)?;
        hint.iter().for_each(|line| out.text(line));
        out.flush();
        return Ok(ExitCode::SUCCESS);
    }
    shadow.keep(&now, &now).map_err(failed)?;
    let back = format!("ralph undo {id} --tree {now}");
    let done = shadow
        .put_back(prepared)
        .map_err(|cause| failed(cause).hint(format!("kept what was replaced; back to it: {back}")))?;
    match &args.tree {
        Some(_) => out
            .text(&format!("Restored the saved files ({} written, {} removed).", done.written, done.removed)),
        None => out.text(&format!(
            "Restored the files to before iteration {} ({} written, {} removed).",
            args.to, done.written, done.removed
        )),
    }
    if !done.spared.is_empty() {
        let paths = printable(&done.spared.join(", ")).into_owned();
        out.text(&format!("Not touched, because they are in no checkpoint: {paths}"));
    }
    put_stories_back(&history, before, &mut out)?;
    hint.iter().for_each(|line| out.text(line));
    out.text(&format!("Saved the replaced files; to get them back: {back}"));
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
            RestoreGitError::Exists(_) => shown.hint("it was not changed; drop --restore-git"),
            RestoreGitError::MainGone(_) => {
                shown.hint(format!("get what was saved: git clone {}", kept.dir().display()))
            }
            RestoreGitError::Nothing | RestoreGitError::Io(_) => shown,
        }
    })?;
    let place = &restored.place;
    if let Some(aside) = &restored.aside {
        out.text(&format!("Moved the damaged {} to {}", place.display(), aside.display()));
    }
    out.text(&match kept.has_history() {
        true => format!("Restored {} as it was when the run started.", place.display()),
        false => format!(
            "Restored {} without its history, which could not be saved: it has the commit that the run \
             started from and what was staged. Fetch the rest from a remote: git fetch --unshallow",
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
        Condition::Damaged => format!("{lost}. To restore it and move what is left of it aside: {command}"),
        Condition::Gone | Condition::Whole => format!("{lost}. To restore it: {command}"),
    })
}

fn lost(shadow: &Shadow, condition: Condition) -> Option<&'static str> {
    match condition {
        _ if !shadow.kept().exists() => None,
        Condition::Whole => None,
        Condition::Gone => Some("The repository's .git is missing"),
        Condition::Damaged => Some("The repository is damaged: git cannot read its .git"),
    }
}

fn asked(shadow: &Shadow, out: &mut Out) -> Result<bool, CliError> {
    out.flush();
    let mut asker = Asker::new()
        .map_err(|cause| CliError::usage("cannot read answers from this terminal").cause(cause))?;
    let lost = lost(shadow, shadow.repository().condition()).unwrap_or_default();
    asker.say(&format!("{lost}: {}", shadow.top().join(".git").display()));
    match asker.yes("Restore it as it was when the run started? (y/N): ") {
        Ok(answer) => Ok(answer),
        Err(Stopped) => Err(CliError::failed("interrupted; nothing was changed")),
    }
}

/// Which stories are done is mostly kept where no checkpoint looks. Without this their work would
/// be gone, and no run would do it again.
fn put_stories_back(history: &RunHistory, before: Option<u32>, out: &mut Out) -> Result<(), CliError> {
    let Plan::Stories(plan) = &history.run.plan else { return Ok(()) };
    let wanted = history.stories_done(plan, before);
    let failed = |cause| CliError::from_error(&cause, Code::Failed);
    let project = Project::at(history.run.workspace.clone());
    let now = state_file::look(&project).map_err(failed)?.state.completed_stories;
    if now == wanted {
        return Ok(());
    }
    let file = project.shown(&project.state()).display().to_string();
    if !history.were_done(plan, &now) {
        out.text(&format!("{file} has changed since this run: check which stories are done there"));
        return Ok(());
    }
    let state = StoryState { completed_stories: wanted, ..StoryState::default() };
    state_file::write(&project, &state).map_err(failed)?;
    out.text(&format!("{file}: {}, as before.", state_file::done(state.completed_stories.len())));
    Ok(())
}

/// A tree's whole name: anything else could mean something to git.
fn tree_id(text: &str) -> Result<String, String> {
    let is_id = is_object_id(text.as_bytes());
    if is_id { Ok(text.to_string()) } else { Err("expected the tree id that an undo printed".into()) }
}
