//! A directory or a worktree that a run cannot work in.

use crate::error::{CliError, Code};
use crate::git::NoRepository;
use crate::place::PlaceError;

impl From<&PlaceError> for CliError {
    fn from(error: &PlaceError) -> CliError {
        let usage = CliError::from_error(error, Code::Usage);
        match error {
            PlaceError::NoRepository { why, .. } => usage.hint_if(trust(why)),
            PlaceError::WorktreeOutsideRepository(_) => {
                usage.hint("run `git init` and make a first commit, or drop --worktree")
            }
            PlaceError::WorktreeWithoutCommit => usage.hint("make a first commit, or drop --worktree"),
            PlaceError::WorktreeBehindLink(_)
            | PlaceError::DirectoryExists(_)
            | PlaceError::BranchExists(_) => usage,
        }
    }
}

/// The command that makes git trust a repository.
fn trust(why: &NoRepository) -> Option<String> {
    match why {
        NoRepository::None | NoRepository::Unanswered(_) => None,
        NoRepository::Untrusted { trust } => Some(format!("if you trust it: {trust}")),
    }
}
