//! `ralph agents verify` on the real programs, and on ones that behave a little differently.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

#[test]
fn claude_is_as_expected() {
    breaks("claude", "exec REAL \"$@\"", &[]);
}

/// What a run would not get, `verify` does not give.
#[test]
fn a_claude_that_refuses_root_is_found_out() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    for (script, is_sandbox) in [("exec REAL \"$@\"", ""), ("IS_SANDBOX= exec REAL \"$@\"", "1")] {
        let variables = [("IS_SANDBOX", is_sandbox), ("RALPH_SANDBOX", "none")];
        let stdout = breaks_in(&variables, "claude", script, &["starts"]);
        assert!(stdout.contains("IS_SANDBOX"), "{stdout}");
    }
}

/// There, the same user is not root, or is believed to be in a sandbox.
#[test]
fn claude_as_root_is_as_expected_inside_bubblewrap() {
    breaks_in(&[("IS_SANDBOX", ""), ("RALPH_SANDBOX", "bwrap")], "claude", "exec REAL \"$@\"", &[]);
}

#[test]
fn codex_is_as_expected_inside_bubblewrap() {
    breaks_in(&[("RALPH_SANDBOX", "bwrap")], "codex", "exec REAL \"$@\"", &[]);
}

#[test]
fn codex_is_as_expected() {
    breaks("codex", "exec REAL \"$@\"", &[]);
}

#[test]
fn a_claude_that_tells_no_cost_is_found_out() {
    breaks("claude", "REAL \"$@\" | sed -u s/total_cost_usd/price/", &["reports cost"]);
}

#[test]
fn a_claude_that_never_asks_is_found_out() {
    breaks("claude", "exec REAL \"$@\" --dangerously-skip-permissions", &["obeys the autonomous flag"]);
}

#[test]
fn a_claude_that_may_do_nothing_is_found_out() {
    let meek =
        "for arg; do shift; test \"$arg\" = --dangerously-skip-permissions || set -- \"$@\" \"$arg\"; done
                exec REAL \"$@\"";
    breaks("claude", meek, &["writes a file", "finishes"]);
}

#[test]
fn a_claude_that_stays_when_asked_to_go_is_found_out() {
    breaks("claude", "trap '' TERM; REAL \"$@\" || sleep 30", &["obeys SIGTERM"]);
}

#[test]
fn a_claude_with_another_stream_is_found_out() {
    breaks("claude", "REAL \"$@\" | sed -u 's/\"type\":\"assistant\"/\"type\":\"novel\"/'", &["streams"]);
}

#[test]
fn a_codex_that_counts_no_tokens_is_found_out() {
    breaks("codex", "REAL \"$@\" | sed -u 's/\"usage\"/\"used\"/'", &["reports tokens"]);
}

/// Exactly these expectations are broken where the agent is called by this script.
#[track_caller]
fn breaks(name: &str, script: &str, broken: &[&str]) {
    breaks_in(&[("IS_SANDBOX", "1"), ("RALPH_SANDBOX", "none")], name, script, broken);
}

/// The same in another environment; what was printed.
#[track_caller]
fn breaks_in(variables: &[(&str, &str)], name: &str, script: &str, broken: &[&str]) -> String {
    let Some(agents) = std::env::var_os("RALPH_E2E_AGENTS").map(PathBuf::from) else {
        eprintln!("skipped: `make e2e` runs it with the real {name}");
        return "IS_SANDBOX".to_string();
    };
    let dir = TempDir::with_prefix("ralph-e2e-").unwrap();
    let (bin, tmp) = (dir.path().join("bin"), dir.path().join("tmp"));
    fs::create_dir(&bin).unwrap();
    fs::create_dir(&tmp).unwrap();
    let real = agents.join("node_modules/.bin").join(name);
    let script = format!("#!/bin/sh\n{}\n", script.replace("REAL", &format!("'{}'", real.display())));
    fs::write(bin.join(name), script).unwrap();
    fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    let mut path: OsString = bin.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());

    let mut command = Command::new(env!("CARGO_BIN_EXE_ralph"));
    command.args(["agents", "verify", name]).stdin(Stdio::null());
    let output =
        command.env("PATH", path).env("TMPDIR", &tmp).envs(variables.iter().copied()).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let shown_broken: Vec<&str> = stdout
        .lines()
        .filter_map(|line| line.strip_prefix("BROKEN: ")?.split_once(": expected ").map(|(what, _)| what))
        .collect();
    assert_eq!(shown_broken, broken, "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(i32::from(!broken.is_empty())), "{stdout}");
    assert_eq!(fs::read_dir(&tmp).unwrap().count(), 0, "scratch directories are removed");
    stdout
}
