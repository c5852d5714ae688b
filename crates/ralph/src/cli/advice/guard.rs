//! A guard that cannot be set up as the settings want it.

use crate::error::{CliError, Code};
use crate::guard::{DecidedError, OrdersError};
use ralph_loop::guard::{Category, PolicyError};

impl From<&DecidedError> for CliError {
    fn from(error: &DecidedError) -> CliError {
        let usage = CliError::from_error(error, Code::Usage);
        match error {
            DecidedError::Entry { cause: PolicyError::NoCategory(_), .. } => {
                let names: Vec<&str> = Category::ALL.into_iter().map(Category::name).collect();
                usage.hint(format!("categories are {}", names.join(", ")))
            }
            DecidedError::Entry { cause: PolicyError::Empty(_) | PolicyError::Everything(_), .. } => {
                usage.hint("an entry is a command, such as `git push --force origin wip/*`")
            }
            DecidedError::List { .. } => usage.hint("make it readable, or remove it"),
        }
    }
}

impl From<&OrdersError> for CliError {
    fn from(error: &OrdersError) -> CliError {
        match error {
            OrdersError::File { .. } => CliError::from_error(error, Code::Failed),
            OrdersError::Settings(error) => super::super::config::refused(error),
            OrdersError::Decided(error) => error.into(),
        }
    }
}
