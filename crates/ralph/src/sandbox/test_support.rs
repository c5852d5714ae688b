//! A sandbox for tests of what is mounted in it.

use crate::process::Command;
use crate::process::tool::{Tool, ToolOutput};
use crate::proof::mounts::{self, Access, Mounts};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// All that is there before anything else is mounted: the work tree can be written.
pub(super) fn mounts(top: &Path) -> Mounts {
    let mut mounts = Mounts::confined(mounts::find(top).unwrap());
    for empty in ["/tmp", "/run", HOME] {
        mounts.empty(empty.into());
    }
    mounts.bind(top.to_path_buf(), top.to_path_buf(), Access::Write);
    mounts.env.push(("HOME".into(), HOME.into()));
    mounts
}

const HOME: &str = "/tmp/home";

/// Runs a script in the work tree, as an agent would.
pub(super) fn inside(top: &Path, mounts: &Mounts, script: &str) -> ToolOutput {
    let argv = ["sh", "-euc", script].map(OsString::from).to_vec();
    let command = mounts.wrap(Command { argv, cwd: top.to_path_buf(), ..Command::default() });
    as_user(Tool::of(command).env("TOP", top)).run().unwrap()
}

/// With an identity for commits, and without settings of the user's.
pub(super) fn as_user(tool: Tool<'_>) -> Tool<'_> {
    let tool = tool
        .timeout(Duration::from_secs(120))
        .env("GIT_EDITOR", "true")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    ["AUTHOR", "COMMITTER"].into_iter().fold(tool, |tool, who| {
        tool.env(format!("GIT_{who}_NAME"), "an agent").env(format!("GIT_{who}_EMAIL"), "agent@localhost")
    })
}

/// What it printed, if it succeeded.
pub(super) fn succeeded(script: &str, output: &ToolOutput) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_string();
    assert!(output.success(), "{script}: {}\n{}{}", output.exit, text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}
