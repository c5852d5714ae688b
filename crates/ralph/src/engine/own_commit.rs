//! Commits of ralph's own in a tree where agents have been.
//!
//! Git runs the filters and monitors of a configuration that agents can write, and those can
//! leave something running. So these commits are made by a process of the keeper's, `ralph
//! __own-commit`, and nothing that they start outlives them.
//!
//! Invariant: what such a process prints decides nothing. It is only shown.

use super::scm::{self, Task, TaskRequest};
use super::step::{EndedBy, ProgramEnd};
use crate::place::{self, Access};
use ralph_loop::dialect::Exit;
use ralph_loop::event::{End, UncommittedEnd};
use ralph_loop::run::Tree;
use ralph_loop::scm::TaskOutcome;
use ralph_loop::text::{clip, printable};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// The hidden subcommand; its one argument is an [`OwnCommit`].
pub const SUBCOMMAND: &str = "__own-commit";

/// Which commit to make.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnCommit {
    /// Commit the uncommitted changes of an iteration under this message, or only count them.
    Uncommitted { tree: Tree, message: Option<String> },
    /// Commit what a run has not committed in its own worktree, before it stops.
    Worktree { worktree: Tree, run_id: String },
    /// Carry out a source control task, in a run with a sandbox.
    Task(TaskRequest),
}

impl OwnCommit {
    pub fn perform(&self) -> End {
        match self {
            OwnCommit::Uncommitted { tree, message } => End::Uncommitted(scm::commit_uncommitted(
                &Access::from_inside(tree.clone()),
                message.as_deref(),
            )),
            OwnCommit::Worktree { worktree, run_id } => End::CommitWorktree(
                match place::worktree::commit(&Access::from_inside(worktree.clone()), run_id) {
                    Ok(true) => TaskOutcome::Done,
                    Ok(false) => TaskOutcome::NothingToCommit,
                    Err(cause) => TaskOutcome::Failed { why: cause.to_string() },
                },
            ),
            OwnCommit::Task(request) => End::Scm(Task::inside(request.clone()).perform()),
        }
    }

    /// What a process has printed, if it is an end of this, or what it is instead.
    pub(super) fn ended(&self, exit: Exit, printed: &[u8]) -> Result<End, String> {
        let end = serde_json::from_slice(printed).ok();
        let end = end.filter(|end| exit == Exit::Code(0) && self.is_ended_by(end));
        end.ok_or_else(|| without_an_outcome(exit, printed))
    }

    fn is_ended_by(&self, end: &End) -> bool {
        matches!(
            (self, end),
            (OwnCommit::Uncommitted { .. }, End::Uncommitted(_))
                | (OwnCommit::Worktree { .. }, End::CommitWorktree(_))
                | (OwnCommit::Task(_), End::Scm(_))
        )
    }
}

/// A commit of ralph's own that is being made.
pub(super) struct OwnCommitStep {
    pub(super) own_commit: OwnCommit,
    /// What it writes to: a file without a name.
    pub(super) output: File,
}

impl OwnCommitStep {
    /// It has ended, and everything that it had started.
    pub(super) fn finish(mut self, ended: ProgramEnd) -> End {
        let ProgramEnd { exit, by, .. } = ended;
        let printed = self.printed().unwrap_or_default();
        match self.own_commit.ended(exit, &printed) {
            Ok(end) => end,
            Err(_) if by != EndedBy::Itself => {
                End::Lost { why: "it was stopped".to_string(), cost: None, estimate: None }
            }
            Err(why) => self.failed(why),
        }
    }

    /// A commit that cannot be made is no reason to lose the run.
    pub(super) fn failed(&self, why: String) -> End {
        match self.own_commit {
            OwnCommit::Uncommitted { .. } => uncommitted_failed(why),
            OwnCommit::Worktree { .. } => worktree_failed(why),
            OwnCommit::Task(_) => End::Scm(TaskOutcome::Failed { why }),
        }
    }

    fn printed(&mut self) -> io::Result<Vec<u8>> {
        const ENOUGH: u64 = 64 << 10;
        let mut printed = Vec::new();
        self.output.seek(SeekFrom::Start(0))?;
        (&self.output).take(ENOUGH).read_to_end(&mut printed)?;
        Ok(printed)
    }
}

pub(super) fn uncommitted_failed(why: String) -> End {
    End::Uncommitted(UncommittedEnd { problem: Some(why), ..UncommittedEnd::default() })
}

pub(super) fn worktree_failed(why: String) -> End {
    End::CommitWorktree(TaskOutcome::Failed { why })
}

fn without_an_outcome(exit: Exit, printed: &[u8]) -> String {
    const LONGEST: usize = 160;
    let printed = String::from_utf8_lossy(printed);
    let first = printed.lines().find(|line| !line.trim().is_empty()).unwrap_or("no output");
    format!("its process gave no result ({exit}): {}", clip(&printable(first), LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn ended(own_commit: OwnCommit, printed: &str, exit: Exit, by: EndedBy) -> End {
        let mut output = tempfile::tempfile().unwrap();
        output.write_all(printed.as_bytes()).unwrap();
        OwnCommitStep { own_commit, output }.finish(ProgramEnd { exit, by, swept: 0 })
    }

    fn nowhere() -> Tree {
        Tree { dir: "/nowhere".into(), top: None }
    }

    fn uncommitted() -> OwnCommit {
        OwnCommit::Uncommitted { tree: nowhere(), message: None }
    }

    fn worktree() -> OwnCommit {
        OwnCommit::Worktree { worktree: nowhere(), run_id: "r".into() }
    }

    #[test]
    fn a_process_gets_the_commit_it_was_given_and_its_result_is_read() {
        for own_commit in [uncommitted(), worktree()] {
            let argument = serde_json::to_string(&own_commit).unwrap();
            let read: OwnCommit = serde_json::from_str(&argument).unwrap();
            assert_eq!(format!("{read:?}"), format!("{own_commit:?}"));
            let end = own_commit.perform();
            let printed = serde_json::to_string(&end).unwrap() + "\n";
            assert_eq!(ended(read, &printed, Exit::Code(0), EndedBy::Itself), end);
        }
    }

    #[test]
    fn any_other_output_is_shown_and_not_believed() {
        let fine = r#"{"left":{"paths":1,"committed":true}}"#;
        let other = r#"{"rest":"done"}"#;
        let another = r#"{"impossible":{"why":"x"}}"#;
        let twice = format!("{fine}\n{fine}");
        let long =
            format!(r#"{{"left":{{"paths":1,"committed":true,"problem":"{}"}}}}"#, "x".repeat(1 << 20));
        for (printed, exit) in [
            ("", Exit::Code(0)),
            ("", Exit::Signal(9)),
            ("no such command", Exit::Code(2)),
            (fine, Exit::Code(1)),
            (other, Exit::Code(0)),
            (another, Exit::Code(0)),
            (&twice, Exit::Code(0)),
            (&long, Exit::Code(0)),
        ] {
            let End::Uncommitted(end) = ended(uncommitted(), printed, exit, EndedBy::Itself) else {
                panic!("{printed}")
            };
            assert!(!end.committed && end.problem.is_some_and(|why| why.len() < 300), "{printed}");
            let lost = ended(uncommitted(), printed, exit, EndedBy::Ralph);
            assert!(matches!(lost, End::Lost { .. }), "{printed}: {lost:?}");
        }
        let end = ended(worktree(), fine, Exit::Code(0), EndedBy::Itself);
        assert!(matches!(end, End::CommitWorktree(TaskOutcome::Failed { .. })), "{end:?}");
    }
}
