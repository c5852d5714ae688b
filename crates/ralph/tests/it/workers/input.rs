//! What cannot be asked for, and worlds in which it cannot be done.

use super::Yard;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn names_that_are_no_names() {
    let yard = Yard::new();
    let long = "x".repeat(300);
    for name in ["", "a/b", "..", "a..b", "a:b", "-x", "a b", "é", ".hidden", &long, "20261115-221503-4f2a"]
    {
        let flag = format!("--name={name}");
        let ran = yard.0.ralph(&["spawn", &flag, "-f", "PROMPT.md", "-n", "1", "--", "cat"]).exits(2);
        assert!(ran.stderr.starts_with("ralph: error: "), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("worker"), "{name}: {}", ran.stderr);
        assert!(ran.stderr.len() < 400, "{name}");
    }
    yard.0
        .ralph(&["spawn", "-f", "PROMPT.md", "-n", "1", "--", "cat"])
        .exits(2)
        .says("spawn requires --name");
    assert!(yard.0.runs().is_empty() && yard.0.alive().is_empty());
}

#[test]
fn a_name_has_one_worker() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.spawn(&["-n", "1"], &yard.waiting_agent())
        .exits(1)
        .says("ralph: error: worker 'agent' already exists\n")
        .says("ralph kill agent");
    assert_eq!(yard.0.runs().len(), 1);
    // The same for whom the list does not know yet.
    fs::remove_file(yard.file("agent", "worker.json")).unwrap();
    yard.spawn(&["-n", "1", "--share-workspace"], &yard.waiting_agent()).exits(1).says("already exists");
    assert_eq!(yard.0.runs().len(), 1);
}

#[test]
fn workers_that_are_not_there() {
    let yard = Yard::new();
    for command in ["pause", "kill", "status", "logs", "wait", "rm", "attach"] {
        let ran = yard.0.ralph(&[command, "nobody"]).exits(1);
        assert!(
            ran.stderr.starts_with("ralph: error: worker 'nobody' not found\n"),
            "{command}: {}",
            ran.stderr
        );
        yard.0.ralph(&[command, "../x"]).exits(1).says("not found");
    }
    yard.0.ralph(&["say", "nobody", "x"]).exits(1).says("worker 'nobody' not found");
    yard.0.ralph(&["set", "nobody", "-n", "1"]).exits(1).says("worker 'nobody' not found");
    yard.0.ralph(&["resume", "nobody"]).exits(1).says("no such run: nobody");
}

#[test]
fn a_name_with_a_slip_in_it_comes_with_the_one_that_was_meant() {
    let yard = Yard::new();
    yard.spawn_as("night", &["-p", "x", "-n", "1"], &yard.0.sh_agent("true")).exits(0);
    yard.ends("night", 0);
    yard.0.ralph(&["status", "nihgt"]).exits(1).says("hint: did you mean night? `ralph ls` lists them\n");
    yard.0.ralph(&["show", "nihgt"]).exits(1).says("no such run: nihgt").says("did you mean night?");
    let ran = yard.0.ralph(&["status", "somebody-else"]).exits(1);
    assert!(!ran.stderr.contains("did you mean"), "{}", ran.stderr);
}

#[test]
fn a_run_in_a_terminal_is_no_worker() {
    let yard = Yard::new();
    let running = yard.0.begin(&["-f", "PROMPT.md", "-n", "1"], &yard.waiting_agent());
    yard.until_exists("got.1");
    let run = yard.0.only_run();
    let message = format!("ralph: error: '{run}' is a run, not a worker\n");
    yard.0.ralph(&["attach", &run]).exits(1).says(&message);
    yard.0.ralph(&["rm", &run]).exits(1).says(&message);
    running.kill();
}

#[test]
fn done_patterns_that_are_none() {
    let yard = Yard::new();
    let refused = |pattern: &str| {
        yard.spawn(&["-n", "1", "--done-pattern", pattern], &yard.waiting_agent()).exits(2).stderr
    };
    assert!(
        refused("(done").starts_with(
            "ralph: error: the done pattern is not a valid regular expression: unclosed group\n"
        )
    );
    let lookaround = refused("(?<!not )done");
    assert!(lookaround.contains("uses lookaround, which is not supported"), "{lookaround}");
    assert!(refused(r"(a)\1").contains("uses backreferences"));
    assert!(refused("").contains("the done pattern is empty"));
    yard.spawn(&["-n", "1"], &yard.waiting_agent()).exits(0);
    yard.0.ralph(&["set", "agent", "--done-pattern", "(done"]).exits(2).says("unclosed group");
    yard.0.ralph(&["set", "agent"]).exits(2).says("nothing to set");
    yard.0.ralph(&["set", "agent", "-n", "0"]).exits(2);
    yard.0.ralph(&["set", "agent", "-f", "missing.md"]).exits(2).says("prompt file not found: missing.md");
    yard.0.ralph(&["say", "agent", "  "]).exits(2).says("the note is empty");
}

#[test]
fn prompt_files_that_are_none() {
    let yard = Yard::new();
    let refused =
        |path: &str| yard.spawn_as("agent", &["-f", path, "-n", "1"], &yard.waiting_agent()).exits(2).stderr;
    fs::create_dir(yard.0.project().join("dir")).unwrap();
    assert!(refused("dir").starts_with("ralph: error: cannot read prompt file: dir\n"));
    yard.0.sh("mkfifo fifo");
    assert!(refused("fifo").starts_with("ralph: error: cannot read prompt file: fifo\n"));
    assert!(yard.0.runs().is_empty());
}

#[test]
fn prompt_file_deleted_mid_loop() {
    let yard = Yard::new();
    yard.spawn(&["-n", "9"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    fs::remove_file(yard.0.project().join("PROMPT.md")).unwrap();
    yard.go(1, 0);
    yard.ends("agent", 1);
    let state = yard.state("agent");
    assert_eq!((&state["status"], &state["reason"]), (&json!("failed"), &json!("error")));
    let note = format!("prompt file not found: {}", yard.0.project().join("PROMPT.md").display());
    assert_eq!(state["note"], note);
    assert!(yard.log("agent").contains(&format!("[FAIL] error: {note}, stopping loop\n")));
    // Put back, it carries on.
    yard.0.write("PROMPT.md", "again\n");
    yard.0.ralph(&["resume", "agent"]).exits(0);
    yard.until_begun(2);
    assert_eq!(yard.0.read("got.2"), "again\n");
}

#[test]
fn prompt_file_unreadable_mid_loop() {
    let yard = Yard::new();
    yard.spawn(&["-n", "9"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.0.sh("rm PROMPT.md && mkdir PROMPT.md");
    yard.go(1, 0);
    yard.ends("agent", 1);
    let note = format!("cannot read prompt file: {}", yard.0.project().join("PROMPT.md").display());
    assert!(yard.state("agent")["note"].as_str().unwrap().starts_with(&note), "{}", yard.state("agent"));
}

#[test]
fn what_the_loop_refuses_is_said_where_it_was_spawned() {
    let yard = Yard::new();
    let ran =
        yard.0.ralph(&["spawn", "--name", "x", "-f", "PROMPT.md", "-n", "1", "--", "no-such-agent"]).exits(2);
    assert!(
        ran.stderr.starts_with("ralph: error: the agent is not installed: no-such-agent\n"),
        "{}",
        ran.stderr
    );
    let ran = yard
        .0
        .ralph(&["spawn", "--name", "x", "-f", "PROMPT.md", "-n", "1", "--no-such-flag", "--", "cat"])
        .exits(2);
    assert!(ran.stderr.contains("--no-such-flag"), "{}", ran.stderr);
    yard.spawn(&["-n", "1"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    // One workspace, one run.
    let args = ["-f", "PROMPT.md", "-n", "1"];
    yard.spawn_as("second", &args, &yard.waiting_agent())
        .exits(2)
        .says("is already working in this directory");
    assert_eq!(yard.0.ralph(&["ls", "--format", "names"]).exits(0).stdout, "agent\n");
}

#[test]
fn a_plan_behind_flags_is_not_taken_for_the_prompt() {
    let yard = Yard::new();
    let spawn =
        |words: &[&str]| yard.0.ralph(&[&["spawn", "--name", "s1"], words, &["--", "cat"]].concat()).exits(2);
    spawn(&["-n", "40", "tasks", "--check", "make test"]).says("`tasks` comes after flags").says(
        "hint: put the flags after `tasks`: ralph spawn --name s1 tasks -n 40 --check 'make test' -- cat\n",
    );
    for plan in ["run", "loop", "stories"] {
        spawn(&["-n", "40", plan]).says(&format!("ralph spawn --name s1 {plan} -n 40"));
    }
    // This is a conflict of its own.
    let both = spawn(&["-f", "PROMPT.md", "-n", "1", "tasks"]);
    assert!(!both.stderr.contains("comes after flags"), "{}", both.stderr);
    assert_eq!(yard.0.ralph(&["ls", "--format", "names"]).exits(0).stdout, "");
}

#[test]
fn a_worker_goes_on_without_a_window_and_does_not_begin_without_tmux() {
    let yard = Yard::new();
    let spawn = ["spawn", "--name", "x", "-f", "PROMPT.md", "-n", "1", "--", "cat"];
    // A path with everything but tmux.
    let bin = yard.0.root().join("few");
    fs::create_dir(&bin).unwrap();
    for tool in ["sh", "cat", "git", "env"] {
        let found = yard.0.sh(&format!("command -v {tool}"));
        std::os::unix::fs::symlink(found.trim(), bin.join(tool)).unwrap();
    }
    let script = format!("PATH={} $RALPH {}", bin.display(), spawn.join(" "));
    yard.0.shell(&script).exits(2).says("ralph: error: spawn needs tmux, which is not installed\n");
    assert!(yard.0.runs().is_empty());
    yard.0.program("tmux", "case $1 in -V) echo tmux 1.8;; *) echo 'unknown flag' >&2; exit 1;; esac");
    let old = yard.0.ralph(&[&spawn[..1], &["--wait"], &spawn[1..]].concat()).exits(0);
    old.says("ralph: warning: no tmux window for 'x': tmux: unknown flag\n");
}

#[test]
fn inside_the_users_own_tmux() {
    let yard = Yard::new();
    yard.0.sh("tmux -L mine -f /dev/null new-session -d -s mine");
    let direct = "TMUX=$TMUX_TMPDIR/tmux-$(id -u)/mine,1,0 TMUX_PANE=%0 $RALPH spawn --name agent -f PROMPT.md -n 1 -- sh -c 'cat > got.1; echo $TMUX. > tmux.txt; sleep 600'";
    yard.0.shell(direct).exits(0).says("spawned agent (tmux: ralph:agent)");
    yard.until_exists("got.1");
    // Neither is the user's server touched, nor does the agent believe to be in a pane.
    let listed = yard.0.sh("tmux -L mine list-windows -t mine -F '#{window_name}'");
    assert!(!listed.contains("agent"), "{listed}");
    assert_eq!(yard.windows(), ["agent"]);
    yard.0.until_file("tmux.txt");
    assert_eq!(yard.0.read("tmux.txt"), ".\n");
}

#[test]
fn attaching_needs_a_terminal() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1"], &yard.waiting_agent()).exits(0);
    yard.0
        .ralph(&["attach", "agent"])
        .exits(1)
        .says("attach needs a terminal")
        .says("ralph logs agent --follow");
}

#[test]
fn a_home_that_cannot_be_written() {
    let yard = Yard::new();
    let home = yard.0.root().join("file");
    fs::write(&home, "").unwrap();
    let script = format!("RALPH_HOME={} $RALPH spawn --name x -f PROMPT.md -n 1 -- cat", home.display());
    yard.0.shell(&script).exits(1).says("ralph: error: cannot start the worker\n");
}

/// A disk that is full for the worker's files is reported, and hurts no work.
#[test]
fn files_that_cannot_be_written_hurt_no_work() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    let state = yard.file("agent", "state.json");
    fs::remove_file(&state).unwrap();
    fs::create_dir(&state).unwrap();
    fs::write(state.join("x"), "").unwrap();
    yard.go(1, 0);
    yard.ends("agent", 0);
    assert!(
        yard.output("agent").contains("ralph: warning: cannot write the worker's state"),
        "{}",
        yard.output("agent")
    );
    assert!(yard.status("agent").contains("Status: stopped (max_iterations)\n"));
    yard.0.ralph(&["ls"]).exits(0).says("stopped (max_iterations)");
}

#[test]
fn a_damaged_record_is_named_and_can_be_removed() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1", "--wait"], &yard.0.sh_agent("cat")).exits(0);
    fs::write(yard.file("agent", "worker.json"), "{").unwrap();
    yard.0
        .ralph(&["ls"])
        .exits(0)
        .says("ralph: warning: worker 'agent': cannot read the record of worker 'agent'");
    yard.0.ralph(&["status", "agent"]).exits(1).says("ralph rm agent");
    yard.0.ralph(&["rm", "agent"]).exits(0);
    yard.0.ralph(&["ls"]).exits(0).says("No workers and no active runs.");
}

#[test]
fn files_of_a_worker_are_for_its_user() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1", "--wait"], &yard.0.sh_agent("cat")).exits(0);
    let mode = yard.file("agent", "").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}
