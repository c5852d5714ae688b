//! `ralph template` and `ralph init prompt`: a prompt to begin with.

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

- take nothing for granted: look in the code whether something is there
- add the tests that are missing (unit, integration or property, as the code around them does)
- run the tests after every change
- tick the task off in IMPLEMENTATION_PLAN.md once it is done
- commit and push when you have finished
";

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
