//! Claude Code as root: unless it is in a sandbox, it refuses to skip permissions.
//!
//! What is found out here is what Claude itself looks at, so that a run is refused before it begins
//! and not by its first agent. Invariant: a run that would work is never refused. Where it is not
//! certain what Claude will see, it is started, and what it says is read from its standard error.
//!
//! Deliberately absent: programs of that name that are scripts around it, and which of its
//! settings files wins if they disagree.

use crate::layout::CLAUDE_MANAGED_SETTINGS;
use ralph_loop::Run;
use ralph_loop::dialect::{Dialect, claude_settings, skips_permissions};
use ralph_loop::run::AgentSpec;
use serde_json::Value;
use std::env;
use std::ffi::OsString;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Variables that make Claude skip permissions for root.
pub const SANDBOX_VARIABLES: [&str; 2] = ["IS_SANDBOX", "CLAUDE_CODE_BUBBLEWRAP"];

/// What can be done about it.
pub const ADVICE: &str = "run ralph as another user, export IS_SANDBOX=1 if this is a throwaway container or VM, \
                          or set agent.autonomous to false";

/// Claude as root, without a sandbox.
#[derive(Debug, Error)]
#[error("{agent} refuses to skip permissions as root unless IS_SANDBOX is 1")]
pub struct RefusesRoot {
    pub agent: String,
}

/// An agent that would refuse to start is refused itself.
fn check(agent: &AgentSpec, path: &Path, dir: &Path) -> Result<(), RefusesRoot> {
    if !refuses(agent.dialect, &agent.args, agent.autonomous, path, dir) {
        return Ok(());
    }
    Err(RefusesRoot { agent: agent.name.clone() })
}

/// The same for those of a run. In a sandbox they are not root.
pub fn check_all(run: &Run) -> Result<(), RefusesRoot> {
    if run.confinement.sandbox().is_some() {
        return Ok(());
    }
    run.agents.iter().try_for_each(|agent| {
        match which::which_in(&agent.program, env::var_os("PATH"), &run.workspace) {
            Ok(path) => check(agent, &path, &run.workspace),
            Err(_) => Ok(()),
        }
    })
}

/// Whether the program at this path would refuse to start in `dir` for the user that runs ralph.
pub fn refuses(dialect: Dialect, args: &[String], autonomous: bool, path: &Path, dir: &Path) -> bool {
    skips_permissions(dialect, args, autonomous)
        && rustix::process::getuid().is_root()
        && !SANDBOX_VARIABLES.iter().any(|name| env::var_os(name).is_some_and(|value| vouches(name, &value)))
        && is_claude_itself(path)
        && !settings_can_vouch(args, dir)
}

/// What Claude's own settings and the environment say about a sandbox, for a Claude that is
/// started with other settings.
pub fn sandbox_variables() -> Vec<(&'static str, OsString)> {
    let in_settings = |name: &&str| user_files().iter().any(|file| says(file, name) == Some(true));
    SANDBOX_VARIABLES
        .into_iter()
        .filter_map(|name| match in_settings(&name) {
            true => Some((name, "1".into())),
            false => Some((name, env::var_os(name)?)),
        })
        .collect()
}

/// Claude compares one of them with `1` and reads the other as a switch.
fn vouches(name: &str, value: &(impl AsRef<std::ffi::OsStr> + ?Sized)) -> bool {
    let value = value.as_ref().to_string_lossy();
    match name {
        "IS_SANDBOX" => value == "1",
        _ => ["1", "true", "yes", "on"].contains(&value.trim().to_lowercase().as_str()),
    }
}

/// Whether any settings that Claude may read set such a variable, or cannot be read here.
fn settings_can_vouch(args: &[String], dir: &Path) -> bool {
    let mut files = user_files();
    files.extend([".claude/settings.json", ".claude/settings.local.json"].map(|name| dir.join(name)));
    let given = claude_settings(args);
    let inline = given.as_deref().and_then(|given| serde_json::from_str::<Value>(given).ok());
    if let (Some(given), None) = (&given, &inline) {
        files.push(dir.join(given));
    }
    SANDBOX_VARIABLES.iter().any(|name| {
        inline.as_ref().is_some_and(|settings| sets(settings, name))
            || files.iter().any(|file| says(file, name).unwrap_or(true))
    })
}

/// The files that Claude reads for every project.
fn user_files() -> Vec<PathBuf> {
    let dir = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let of_user = match (dir("CLAUDE_CONFIG_DIR"), env::home_dir()) {
        (Some(config), _) => vec![config.join("settings.json"), config.join(".claude.json")],
        (None, Some(home)) => vec![home.join(".claude/settings.json"), home.join(".claude.json")],
        (None, None) => Vec::new(),
    };
    [of_user, vec![CLAUDE_MANAGED_SETTINGS.into()]].concat()
}

/// Whether a settings file sets the variable; `None` if that cannot be told.
fn says(file: &Path, name: &str) -> Option<bool> {
    match fs_err::read(file) {
        Ok(text) => serde_json::from_slice::<Value>(&text).ok().map(|settings| sets(&settings, name)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Some(false),
        Err(_) => None,
    }
}

fn sets(settings: &Value, name: &str) -> bool {
    match &settings["env"][name] {
        Value::String(value) => vouches(name, value.as_str()),
        Value::Null => false,
        value => vouches(name, &value.to_string()),
    }
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
