//! A task list that is missing, or cannot be archived.

use crate::error::{CliError, Code};
use crate::tasks::archive::ArchiveError;
use crate::tasks::import::NoTaskList;

impl From<&NoTaskList> for CliError {
    fn from(error: &NoTaskList) -> CliError {
        let usage = CliError::from_error(error, Code::Usage);
        let create = "`ralph init tasks` creates one";
        match &error.other {
            Ok(Some(from)) => usage.hint(format!("`ralph init tasks` imports {}", from.display())),
            Ok(None) => usage.hint(create),
            Err(broken) => usage.cause(broken).hint(create),
        }
    }
}

impl From<&ArchiveError> for CliError {
    fn from(error: &ArchiveError) -> CliError {
        let failed = CliError::from_error(error, Code::Failed);
        match error {
            ArchiveError::NoTaskList(error) => error.into(),
            ArchiveError::Catalog(error) => error.into(),
            ArchiveError::Invalid { .. } => failed.hint("fix it first: the summary is made from it"),
            ArchiveError::NothingToArchive(_) => failed.cause("no story has a title"),
            ArchiveError::CannotRead { .. }
            | ArchiveError::CannotWrite { .. }
            | ArchiveError::CannotReset { .. } => failed,
            ArchiveError::InvalidLabel(_) => CliError::from_error(error, Code::Usage)
                .hint("use letters, digits, dots, dashes and underscores"),
        }
    }
}
