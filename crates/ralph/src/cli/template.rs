//! `ralph template` and `ralph init prompt`: a starter prompt.

use crate::error::CliError;
use crate::fsx;
use crate::report::Out;
use std::path::Path;
use std::process::ExitCode;

/// Short on purpose: what the prompt does not take up is left for the work.
const TEMPLATE: &str = "\
Read specs/README.md and CLAUDE.md.
Then choose the one unfinished task that matters most, and do only that.

IMPORTANT:

- assume nothing: search the code to see what already exists
- add missing tests (unit, integration or property tests, like the code around them)
- run the tests after every change
- tick the task off in IMPLEMENTATION_PLAN.md once it is done
- commit and push when you have finished
";

pub(super) const EXAMPLE: &str = "\
Example:
  ralph template > PROMPT.md";

const NAME: &str = "PROMPT.md";

pub fn template() -> Result<ExitCode, CliError> {
    let mut out = Out::stdout();
    out.bytes(TEMPLATE.as_bytes());
    out.flush();
    Ok(ExitCode::SUCCESS)
}

/// Writes `PROMPT.md`.
pub(super) fn init(dir: &Path, force: bool) -> Result<ExitCode, CliError> {
    let path = dir.join(NAME);
    let there = path.symlink_metadata().is_ok();
    if there && !force {
        return Err(CliError::failed(format!("{NAME} already exists (use --force to overwrite)")));
    }
    fsx::write_whole(&path, TEMPLATE.as_bytes())
        .map_err(|cause| CliError::failed(format!("cannot write {NAME}")).cause(cause))?;
    let mut out = Out::stdout();
    out.line(&format!("created {NAME}{}", if there { " (overwritten)" } else { "" }));
    out.flush();
    Ok(ExitCode::SUCCESS)
}
