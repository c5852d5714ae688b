//! Disks that are full or may not be written.
//!
//! Both are mounted in a namespace of their own, which needs root or user namespaces.

use crate::support::{RALPH, Ran, Sandbox};
use crate::terminal::skip;
use serde_json::json;
use std::fs;

/// A shell script that may mount; nothing where that is not possible.
pub fn with_mounts(sandbox: &Sandbox, script: &str) -> Option<Ran> {
    let probe = "d=$(mktemp -d) && mount -t tmpfs -o size=64k tmpfs \"$d\"";
    let unshare = ["-m", "-rm"].into_iter().find(|flag| {
        let mut command = sandbox.command("unshare");
        command.args([flag, "sh", "-c", probe]);
        sandbox.spawn(command).end().code == Some(0)
    });
    let Some(flag) = unshare else {
        skip("nothing can be mounted here");
        return None;
    };
    let mut command = sandbox.command("unshare");
    command.args([flag, "sh", "-c", script]).env("RALPH", RALPH);
    Some(sandbox.spawn(command).end())
}

/// Nothing waits for room here.
fn until_it_is_full(sandbox: &Sandbox) {
    sandbox.settings(&json!({"context": false, "checkpoints": false, "minFreeSpace": 0}));
}

#[test]
fn a_full_disk_stops_the_run_and_leaves_a_journal_that_can_be_carried_on() {
    let sandbox = Sandbox::bare();
    until_it_is_full(&sandbox);
    // The agent says nothing and nothing is checked: the journal is the first to need space.
    sandbox.program("fill", "dd if=/dev/zero of=\"$RALPH_HOME/fill\" bs=4096 count=64 2>/dev/null; true");
    let saved = sandbox.root().join("saved");
    fs::create_dir(sandbox.home()).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=96k,mode=700 tmpfs \"$RALPH_HOME\" || exit 99
         \"$RALPH\" run -p x -n 40 --format json -- fill
         code=$?; rm -f \"$RALPH_HOME/fill\"; cp -r \"$RALPH_HOME\" '{}'; exit $code",
        saved.display()
    );
    let Some(ran) = with_mounts(&sandbox, &script) else { return };
    let ran = ran.exits(1).says("ralph: error: cannot write the journal").says("No space left on device");
    let result = ran.json();
    assert_eq!(result["stop_reason"], "error");
    assert!(!result["error"].is_null());
    assert!(ran.stderr.contains("continue with: ralph resume "), "{}", ran.stderr);
    sandbox.nothing_is_left();

    fs::remove_dir(sandbox.home()).unwrap();
    fs::rename(&saved, sandbox.home()).unwrap();
    let text = fs::read_to_string(sandbox.journal_file()).unwrap();
    assert!(text.ends_with('\n'), "no half line: {:?}", text.lines().last());
    let listed = sandbox.listed();
    assert_eq!(listed["status"], "crashed", "{listed:#}");
    let before = listed["iterations"].as_u64().unwrap();
    assert!((1..40).contains(&before), "{before}");
    sandbox.ralph(&["resume", "--format", "json"]).stops(1, "max_iterations", 40);
}

#[test]
fn a_full_disk_ends_a_workers_loop_and_that_is_told() {
    let sandbox = Sandbox::bare();
    until_it_is_full(&sandbox);
    sandbox.write("PROMPT.md", "x\n");
    sandbox.program(
        "fill",
        "[ -e emptied ] || dd if=/dev/zero of=\"$RALPH_HOME/fill\" bs=4096 count=99 2>/dev/null; true",
    );
    fs::create_dir(sandbox.home()).unwrap();
    let script = "mount -t tmpfs -o size=192k,mode=700 tmpfs \"$RALPH_HOME\" || exit 99
         \"$RALPH\" spawn --name agent -f PROMPT.md -n 40 --wait -- fill; echo \"code $?\"
         touch emptied; rm -f \"$RALPH_HOME/fill\"
         \"$RALPH\" status agent
         \"$RALPH\" resume agent && \"$RALPH\" wait agent && \"$RALPH\" status agent";
    let Some(ran) = with_mounts(&sandbox, script) else { return };
    let ran = ran
        .exits(0)
        .says("code 1\n")
        .says("Status: running, but its process is gone; continue with: ralph resume agent\n");
    ran.says("resumed ralph loop for agent\n").says("Status: stopped (max_iterations)\nIteration: 40/40\n");
}

#[test]
fn a_disk_too_full_for_what_the_agent_prints_stops_the_run() {
    let sandbox = Sandbox::bare();
    until_it_is_full(&sandbox);
    sandbox.program("tell", "seq 100000; echo '<response>DONE</response>'");
    fs::create_dir(sandbox.home()).unwrap();
    let script = "mount -t tmpfs -o size=96k,mode=700 tmpfs \"$RALPH_HOME\" || exit 99
         \"$RALPH\" run -p x --format json -- tell; code=$?; rm \"$RALPH_HOME\"/runs/*/streams/*
         \"$RALPH\" runs --format ndjson; exit $code";
    let Some(ran) = with_mounts(&sandbox, script) else { return };
    let ran = ran.exits(1).says("No space left on device");
    assert!(!ran.stdout.contains("\"completed\""), "{}", ran.stdout);
    assert!(ran.stdout.contains("\"resumable\":true"), "{}", ran.stdout);
}

#[test]
fn a_file_size_limit_ends_in_an_error_or_a_crash_that_can_be_carried_on() {
    let sandbox = Sandbox::bare();
    until_it_is_full(&sandbox);
    sandbox.program("tell", "true");
    // Where SIGXFSZ is not ignored it kills the process, as the kernel would for anyone.
    for (signal, code) in [("trap '' XFSZ;", Some(1)), ("", None)] {
        let _ = fs::remove_dir_all(sandbox.home());
        let script = format!(
            "{signal} ulimit -f 8; exec \"$RALPH\" run -p x -n 40 --stall-after 0 --checks-only --check false -- tell"
        );
        let ran = sandbox.shell(&script);
        assert_eq!(ran.code, code, "{}", ran.stderr);
        sandbox.soon_nothing_is_left();
        let listed = sandbox.listed();
        assert_eq!(
            (&listed["status"], &listed["resumable"]),
            (&"crashed".into(), &true.into()),
            "{listed:#}"
        );
        sandbox.ralph(&["resume", "--format", "json"]).stops(1, "max_iterations", 40);
    }
}

#[test]
fn a_project_that_may_not_be_written_is_refused() {
    let sandbox = Sandbox::bare();
    sandbox.program("tell", "echo '<response>DONE</response>'");
    let script = "p=$(pwd) && mount --bind \"$p\" \"$p\" && mount -o remount,bind,ro \"$p\" || exit 99
        cd \"$p\" && exec \"$RALPH\" run -p x -- tell";
    let Some(ran) = with_mounts(&sandbox, script) else { return };
    let ran = ran.exits(2).says("cannot write to the project directory: ").says("Read-only file system");
    assert!(ran.stderr.contains("  hint: "), "{}", ran.stderr);
    assert_eq!(sandbox.runs(), [] as [&str; 0], "no run was begun");
}

#[test]
fn a_home_that_may_not_be_written_is_refused() {
    let sandbox = Sandbox::bare();
    sandbox.program("tell", "echo '<response>DONE</response>'");
    fs::write(sandbox.home(), "a file").unwrap();
    let ran = sandbox.ralph(&["run", "-p", "x", "--", "tell"]).exits(1);
    ran.says("cannot write: ").says("set RALPH_HOME to a writable directory");
}
