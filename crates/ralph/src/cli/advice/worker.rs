//! A worker that cannot be started, found or read.

use crate::error::{CliError, Code};
use crate::similar;
use crate::worker::WorkerError;

impl From<&WorkerError> for CliError {
    fn from(error: &WorkerError) -> CliError {
        let failed = CliError::from_error(error, Code::Failed);
        match error {
            WorkerError::Unknown { nearest, .. } => {
                failed.hint(similar::hint(nearest.as_deref(), "`ralph ls` lists them"))
            }
            WorkerError::IsRun(_) => failed.hint("use `ralph logs` or `ralph show`"),
            WorkerError::DamagedRecord { name, .. } => {
                failed.hint(format!("remove it with `ralph rm {name}`; its run stays in `ralph runs`"))
            }
            WorkerError::NameTaken(name) => failed.hint(format!(
                "choose another name, take its place with --replace, or stop it: ralph kill {name}"
            )),
            // What a lock says is enough; its own cause would only repeat it.
            WorkerError::CannotStart(cause) => failed.cause(cause),
            WorkerError::AlreadyWorker
            | WorkerError::CannotWriteFiles { .. }
            | WorkerError::CannotList(_)
            | WorkerError::Journal(_) => failed,
            WorkerError::InvalidName(_) => CliError::from_error(error, Code::Usage)
                .hint("use up to 64 letters, digits, '.', '_' and '-', starting with a letter or digit"),
            WorkerError::NameLooksLikeRun(_) => CliError::from_error(error, Code::Usage),
        }
    }
}
