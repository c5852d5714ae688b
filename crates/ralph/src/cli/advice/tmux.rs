//! A tmux that cannot show workers.

use crate::error::{CliError, Code};
use crate::tmux::TmuxError;

impl From<&TmuxError> for CliError {
    fn from(error: &TmuxError) -> CliError {
        let usage = CliError::from_error(error, Code::Usage);
        match error {
            TmuxError::Missing => usage
                .hint("install it (apt install tmux, brew install tmux), or use `ralph run` in a terminal"),
            TmuxError::CannotAttach { worker, cause } => {
                CliError::failed(error.to_string()).cause(cause).hint(format!("ralph logs {worker} --follow"))
            }
            TmuxError::Tool(_) | TmuxError::Refused(_) | TmuxError::Own(_) | TmuxError::Terminal(_) => {
                CliError::from_error(error, Code::Failed)
            }
        }
    }
}
