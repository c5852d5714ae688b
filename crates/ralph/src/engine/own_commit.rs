//! Commits of ralph's own in a tree where agents have been.
//!
//! Git runs the filters and monitors of a configuration that agents can write, and those can
//! leave something running. So these commits are made by a process of the keeper's, `ralph
//! __own-commit`, and nothing that they start outlives them.
//!
//! Invariant: what such a process says decides nothing. It is told to people.

use super::scm;
use crate::place;
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

/// What to do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnCommit {
    /// See to what an iteration has left: commit it under this message, or only count it.
    Left { tree: Tree, message: Option<String> },
    /// Commit what a run leaves in its worktree.
    Rest { worktree: Tree, run_id: String },
}

impl OwnCommit {
    pub fn perform(&self) -> End {
        match self {
            OwnCommit::Left { tree, message } => End::Uncommitted(scm::see_to_left(tree, message.as_deref())),
            OwnCommit::Rest { worktree, run_id } => {
                End::CommitWorktree(match place::commit_rest(worktree, run_id) {
                    Ok(true) => TaskOutcome::Done,
                    Ok(false) => TaskOutcome::NothingToCommit,
                    Err(cause) => TaskOutcome::Failed { why: cause.to_string() },
                })
            }
        }
    }

    fn is_ended_by(&self, end: &End) -> bool {
        matches!(
            (self, end),
            (OwnCommit::Left { .. }, End::Uncommitted(_)) | (OwnCommit::Rest { .. }, End::CommitWorktree(_))
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
    /// It has ended, and everything that it had started. `cut`: it did not end by itself.
    pub(super) fn finish(mut self, exit: Exit, cut: bool) -> End {
        let said = self.said().unwrap_or_default();
        let end = serde_json::from_slice(&said).ok();
        match end.filter(|end| exit == Exit::Code(0) && self.own_commit.is_ended_by(end)) {
            Some(end) => end,
            None if cut => End::Lost { why: "it was stopped".to_string(), cost: None, estimate: None },
            None => self.failed(without_an_outcome(exit, &said)),
        }
    }

    /// A commit that cannot be made is no reason to lose the run.
    pub(super) fn failed(&self, why: String) -> End {
        match self.own_commit {
            OwnCommit::Left { .. } => left_failed(why),
            OwnCommit::Rest { .. } => rest_failed(why),
        }
    }

    fn said(&mut self) -> io::Result<Vec<u8>> {
        const ENOUGH: u64 = 64 << 10;
        let mut said = Vec::new();
        self.output.seek(SeekFrom::Start(0))?;
        (&self.output).take(ENOUGH).read_to_end(&mut said)?;
        Ok(said)
    }
}

pub(super) fn left_failed(why: String) -> End {
    End::Uncommitted(UncommittedEnd { problem: Some(why), ..UncommittedEnd::default() })
}

pub(super) fn rest_failed(why: String) -> End {
    End::CommitWorktree(TaskOutcome::Failed { why })
}

fn without_an_outcome(exit: Exit, said: &[u8]) -> String {
    const LONGEST: usize = 160;
    let said = String::from_utf8_lossy(said);
    let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("no output");
    format!("its process gave no result ({exit}): {}", clip(&printable(first), LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn ended(own_commit: OwnCommit, said: &str, exit: Exit, cut: bool) -> End {
        let mut output = tempfile::tempfile().unwrap();
        output.write_all(said.as_bytes()).unwrap();
        OwnCommitStep { own_commit, output }.finish(exit, cut)
    }

    fn nowhere() -> Tree {
        Tree { dir: "/nowhere".into(), top: None }
    }

    fn left() -> OwnCommit {
        OwnCommit::Left { tree: nowhere(), message: None }
    }

    fn rest() -> OwnCommit {
        OwnCommit::Rest { worktree: nowhere(), run_id: "r".into() }
    }

    #[test]
    fn an_errand_is_understood_as_it_was_told() {
        for own_commit in [left(), rest()] {
            let told = serde_json::to_string(&own_commit).unwrap();
            let heard: OwnCommit = serde_json::from_str(&told).unwrap();
            assert_eq!(format!("{heard:?}"), format!("{own_commit:?}"));
            let end = own_commit.perform();
            let said = serde_json::to_string(&end).unwrap() + "\n";
            assert_eq!(ended(heard, &said, Exit::Code(0), false), end);
        }
    }

    #[test]
    fn whatever_else_is_said_is_told_and_not_believed() {
        let fine = r#"{"left":{"paths":1,"committed":true}}"#;
        let other = r#"{"rest":"done"}"#;
        let another = r#"{"impossible":{"why":"x"}}"#;
        let twice = format!("{fine}\n{fine}");
        let long =
            format!(r#"{{"left":{{"paths":1,"committed":true,"problem":"{}"}}}}"#, "x".repeat(1 << 20));
        for (said, exit) in [
            ("", Exit::Code(0)),
            ("", Exit::Signal(9)),
            ("no such command", Exit::Code(2)),
            (fine, Exit::Code(1)),
            (other, Exit::Code(0)),
            (another, Exit::Code(0)),
            (&twice, Exit::Code(0)),
            (&long, Exit::Code(0)),
        ] {
            let End::Uncommitted(end) = ended(left(), said, exit, false) else { panic!("{said}") };
            assert!(!end.committed && end.problem.is_some_and(|why| why.len() < 300), "{said}");
            let lost = ended(left(), said, exit, true);
            assert!(matches!(lost, End::Lost { .. }), "{said}: {lost:?}");
        }
        let end = ended(rest(), fine, Exit::Code(0), false);
        assert!(matches!(end, End::CommitWorktree(TaskOutcome::Failed { .. })), "{end:?}");
    }
}
