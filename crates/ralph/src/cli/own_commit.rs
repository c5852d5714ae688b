//! `ralph __own-commit`: what the keeper starts where ralph has git commit what agents left.

use super::format::Format;
use super::{fail, print_lines};
use crate::engine::OwnCommit;
use crate::error::CliError;
use std::ffi::OsString;
use std::process::ExitCode;

pub(super) fn main(args: &[OsString]) -> ExitCode {
    // It is started by a link to this program, which would otherwise name it.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(c"ralph-commit");
    let own_commit = args.first().and_then(|arg| serde_json::from_str::<OwnCommit>(arg.to_str()?).ok());
    let Some(own_commit) = own_commit else {
        return fail(&CliError::usage("this command is for internal use"), Format::Human);
    };
    print_lines([own_commit.perform()]);
    ExitCode::SUCCESS
}
