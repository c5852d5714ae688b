//! A program that embeds ralph is told what the command line tells, but for its own settings.

use crate::error::{CliError, Code};
use crate::library::LibraryError;

impl From<&LibraryError> for CliError {
    fn from(error: &LibraryError) -> CliError {
        let failed = CliError::from_error(error, Code::Failed);
        let usage = CliError::from_error(error, Code::Usage);
        match error {
            LibraryError::NoHome | LibraryError::NoDirectory { .. } | LibraryError::Settings(_) => usage,
            LibraryError::NoProgram(_) => usage.hint("install it, or set its path in `ralph`"),
            LibraryError::Process(_) | LibraryError::Git(_) => failed,
            LibraryError::Request(error) => error.into(),
            LibraryError::Session(error) => error.into(),
            LibraryError::Unreadable(error) => error.into(),
        }
    }
}
