//! A program that embeds ralph gets the advice of the command line, but for its own settings.

use crate::error::{CliError, Code};
use crate::library::{Error, Kept};
use crate::report::ErrorReport;

impl Error {
    /// The message, what lies behind it, and what to do about it, as the command line says it.
    pub fn report(&self) -> ErrorReport {
        CliError::from(self).report()
    }
}

impl From<&Error> for CliError {
    fn from(error: &Error) -> CliError {
        let failed = CliError::from_error(error, Code::Failed);
        let usage = CliError::from_error(error, Code::Usage);
        match error {
            Error::NoHome | Error::NoDirectory { .. } | Error::Settings(_) | Error::DirectoryInUse(_) => {
                usage
            }
            Error::NoProgram(_) => usage.hint("install it, or set its path in `ralph`"),
            Error::WorktreeKept { why: Kept::CheckedOut { .. }, .. } => failed,
            Error::WorktreeKept { .. } => {
                failed.hint("use `Unmerged::Discard` to remove it once it has ended")
            }
            Error::CannotListen { .. }
            | Error::NoThread(_)
            | Error::Git(_)
            | Error::CannotRemove { .. }
            | Error::Panicked => failed,
            Error::Prompt(error) => error.into(),
            Error::Stories(error) => error.into(),
            Error::Tasks(error) => error.into(),
            Error::Session(error) => error.into(),
            Error::Unreadable(error) => error.into(),
            Error::Catalog(error) => error.into(),
        }
    }
}
