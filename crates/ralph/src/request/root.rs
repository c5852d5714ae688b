//! Claude Code as root: unless it is in a sandbox, it refuses to skip permissions.
//!
//! What is found out here is what Claude itself looks at, so that a run is refused before it begins
//! and not by its first agent. Deliberately absent: programs of that name that are scripts around
//! it. They can change what Claude gets to see; what it says then is read from its standard error.

use crate::error::CliError;
use ralph_loop::Run;
use ralph_loop::dialect::{Dialect, skips_permissions};
use ralph_loop::run::AgentSpec;
use std::env;
use std::io::Read;
use std::path::Path;

/// Variables that make Claude skip permissions for root.
pub const SANDBOX_VARIABLES: [&str; 2] = ["IS_SANDBOX", "CLAUDE_CODE_BUBBLEWRAP"];

/// What can be done about it.
pub const ADVICE: &str = "run ralph as another user, export IS_SANDBOX=1 if this is a throwaway container or VM, \
                          or set agent.autonomous to false";

/// An agent that would refuse to start is refused itself.
pub fn check(agent: &AgentSpec, path: &Path) -> Result<(), CliError> {
    if !refuses(agent.dialect, &agent.args, agent.autonomous, path) {
        return Ok(());
    }
    let message = format!("{} refuses to skip permissions as root unless IS_SANDBOX is 1", agent.name);
    Err(CliError::usage(message).hint(ADVICE))
}

/// The same for those of a run that is taken up.
pub fn check_all(run: &Run) -> Result<(), CliError> {
    run.agents.iter().try_for_each(|agent| {
        match which::which_in(&agent.program, env::var_os("PATH"), &run.workspace) {
            Ok(path) => check(agent, &path),
            Err(_) => Ok(()),
        }
    })
}

/// Whether the program at this path would refuse to start for the user that runs ralph.
pub fn refuses(dialect: Dialect, args: &[String], autonomous: bool, path: &Path) -> bool {
    skips_permissions(dialect, args, autonomous)
        && rustix::process::getuid().is_root()
        && !SANDBOX_VARIABLES.iter().any(|name| env::var_os(name).is_some_and(|value| value == "1"))
        && is_claude_itself(path)
}

/// Not a wrapper script: Claude is a binary, or a script for node.
fn is_claude_itself(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = fs_err::File::open(path).and_then(|file| file.take(100).read_to_end(&mut start));
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    match line.strip_prefix(b"#!") {
        Some(interpreter) => String::from_utf8_lossy(interpreter).contains("node"),
        None => read.is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsx;

    #[test]
    fn a_script_around_claude_is_not_claude_itself() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("claude");
        for (start, itself) in [
            (&b"#!/bin/sh\nexec real-claude\n"[..], false),
            (b"#!/usr/bin/env bash\n# runs node\n", false),
            (b"#!/usr/bin/env node\n", true),
            (b"\x7fELF\x02\x01", true),
        ] {
            fsx::write_whole(&path, start).unwrap();
            assert_eq!(is_claude_itself(&path), itself, "{start:?}");
        }
        assert!(!is_claude_itself(&dir.path().join("none")));
    }
}
