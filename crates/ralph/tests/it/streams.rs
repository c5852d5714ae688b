//! What agents print is kept up to a cap, and so is what a worker prints.

use crate::support::{RALPH, Sandbox, until};
use crate::workers::Yard;
use serde_json::{Value, json};
use std::fs;

const DONE: &str = "echo '<response>DONE</response>'";

fn settings(sandbox: &Sandbox, keep_streams: f64) {
    sandbox.settings(&json!({"context": false, "checkpoints": false, "keepStreams": keep_streams}));
}

/// The names of the streams that are kept, and how much they are.
fn kept(sandbox: &Sandbox) -> (Vec<String>, u64) {
    let entries = fs::read_dir(sandbox.run_dir().join("streams")).unwrap();
    let files = entries.map(|entry| entry.unwrap());
    let mut named: Vec<(String, u64)> =
        files.map(|file| (file.file_name().into_string().unwrap(), file.metadata().unwrap().len())).collect();
    named.sort();
    let bytes = named.iter().map(|(_, bytes)| bytes).sum();
    (named.into_iter().map(|(name, _)| name).collect(), bytes)
}

#[test]
fn the_oldest_streams_go_and_the_run_says_so_once() {
    let sandbox = Sandbox::bare();
    settings(&sandbox, 1.0);
    // 300,000 bytes an iteration.
    let agent = sandbox.sh_agent("head -c 300000 /dev/zero | tr '\\0' '.'; echo; echo oops >&2");
    let ran = sandbox.run(&["-p", "x", "-n", "7", "--no-stream-agent-output"], &agent).exits(1);
    assert_eq!(ran.stderr.matches("keepStreams").count(), 1, "{}", ran.stderr);
    let warning = "ralph: warning: agent output exceeds 1.0 MiB (keepStreams): removed it up to iteration 1";
    assert!(ran.stderr.contains(warning), "{}", ran.stderr);
    let (names, bytes) = kept(&sandbox);
    assert_eq!(names, ["5-1.err", "5-1.out", "6-1.err", "6-1.out", "7-1.err", "7-1.out"]);
    assert!(bytes <= 1 << 20, "{bytes}");
    let shown = sandbox.ralph(&["show", &sandbox.only_run()]).exits(0).stdout;
    assert_eq!(shown.matches("output   no longer kept (keepStreams)").count(), 4, "{shown}");
    assert_eq!(shown.matches("-1.out\n").count(), 3, "{shown}");
    assert_eq!(shown.matches("  prompt   ").count(), 7, "prompts are kept: {shown}");
}

#[test]
fn a_resumed_run_counts_what_was_there_before() {
    let sandbox = Sandbox::bare();
    settings(&sandbox, 1.0);
    let script = "head -c 300000 /dev/zero | tr '\\0' '.'; echo; [ $RALPH_ITERATION != 4 ] || [ -e up ] || exec sleep 600";
    let running = sandbox.begin(&["-p", "x", "-n", "6"], &sandbox.sh_agent(script));
    let fourth = |fact: &Value| fact["began"]["step"]["agent"]["iteration"] == 4;
    sandbox.until_fact("the fourth agent", fourth);
    until("its words", || {
        sandbox.run_dir().join("streams/4-1.out").metadata().is_ok_and(|meta| meta.len() > 300_000)
    });
    running.kill();
    sandbox.soon_nothing_is_left();
    sandbox.write("up", "");
    sandbox.ralph(&["resume", "--format", "json"]).stops(1, "max_iterations", 6);
    let (names, bytes) = kept(&sandbox);
    assert!(bytes <= 1 << 20 && names.last().unwrap() == "6-1.out", "{bytes} {names:?}");
}

#[test]
fn one_huge_stream_keeps_its_beginning_and_its_end() {
    let sandbox = Sandbox::bare();
    settings(&sandbox, 1.0);
    let agent = sandbox.sh_agent(&format!("seq 1000000; echo loud >&2; {DONE}"));
    let ran = sandbox.run(&["-p", "x", "--no-stream-agent-output"], &agent).exits(0);
    let warning =
        "ralph: warning: the agent's output exceeds 1.0 MiB (keepStreams): keeping only its start and end\n";
    assert_eq!(ran.stderr, warning);
    let read = |name: &str| fs::read_to_string(sandbox.run_dir().join("streams").join(name)).unwrap();
    let raw = read("1-1.out");
    let (head, last) = raw.split_at(512 << 10);
    assert!(head.starts_with("1\n2\n3\n"), "{head:.20}");
    assert_eq!(
        last,
        "\n[ralph] continued in 1-1.out.tail.1 and 1-1.out.tail: output in between was dropped (keepStreams)\n"
    );
    let end = read("1-1.out.tail.1") + &read("1-1.out.tail");
    assert!(end.len() > 128 << 10, "{}", end.len());
    assert!(end.ends_with("\n999999\n1000000\n<response>DONE</response>\n"));
    assert!(kept(&sandbox).1 < (1 << 20) + 200);
    let shown = sandbox.ralph(&["show", &sandbox.only_run()]).exits(0).stdout;
    assert!(shown.contains("  said     <response>DONE</response>\n"), "{shown}");
    assert!(shown.contains("1-1.out.tail\n"), "{shown}");
}

/// What was printed last can be read while the agent is still at work.
#[test]
fn the_end_of_a_huge_stream_is_there_while_the_agent_prints() {
    let sandbox = Sandbox::bare();
    settings(&sandbox, 1.0);
    let script = "cat > prompt; seq 1000000; echo the latest; until [ -e go ]; do sleep 0.02; done; exit 1";
    let running =
        sandbox.begin(&["-p", "x", "-n", "1", "--no-stream-agent-output"], &sandbox.sh_agent(script));
    let tail = || fs::read_to_string(sandbox.run_dir().join("streams/1-1.out.tail")).unwrap_or_default();
    sandbox.until_file("prompt");
    until("the end", || tail().ends_with("1000000\nthe latest\n"));
    sandbox.write("go", "");
    running.end().exits(1);
}

#[test]
fn at_0_everything_is_kept() {
    let sandbox = Sandbox::bare();
    settings(&sandbox, 0.0);
    let agent = sandbox.sh_agent(&format!("seq 1000000; {DONE}"));
    let ran = sandbox.run(&["-p", "x", "--no-stream-agent-output"], &agent).exits(0);
    assert_eq!(ran.stderr, "");
    assert!(kept(&sandbox).1 > 6 << 20);
}

/// Half of what is kept of a worker's output: 131,072 bytes.
const CAP: f64 = 0.25;

#[test]
fn a_workers_output_is_kept_up_to_the_cap_and_can_be_followed_all_the_while() {
    let yard = Yard::new();
    settings(&yard.0, CAP);
    // Lines that say where they belong, a hundred thousand bytes an iteration.
    let agent = yard.0.sh_agent(
        "i=0; while [ $i -lt 1000 ]; do printf 'line %s.%04d %085d\\n' $RALPH_ITERATION $i 0; i=$((i + 1)); done
         touch got.$RALPH_ITERATION; until [ -e go.$RALPH_ITERATION ]; do sleep 0.02; done",
    );
    yard.spawn(&["-n", "6"], &agent).exits(0);
    let mut command = yard.0.command("sh");
    command.args(["-c", "exec \"$RALPH\" logs agent --follow > followed"]).env("RALPH", RALPH);
    let following = yard.0.spawn(command);
    for iteration in 1..=6 {
        yard.until_exists(&format!("got.{iteration}"));
        let last = format!("line {iteration}.0999 ");
        until(&last, || yard.0.has("followed") && yard.0.read("followed").contains(&last));
        yard.go(iteration, 0);
    }
    yard.ends("agent", 0);
    let files: Vec<String> = fs::read_dir(yard.file("agent", ""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let outputs: Vec<&String> = files.iter().filter(|name| name.starts_with("output.log")).collect();
    assert_eq!(outputs.len(), 2, "{files:?}");
    let bytes: u64 = outputs.iter().map(|name| fs::metadata(yard.file("agent", name)).unwrap().len()).sum();
    assert!(bytes < 400_000, "{bytes}");
    // A later reader gets the newest part, and a line that says so.
    let logs = yard.0.ralph(&["logs", "agent"]).exits(0).stdout;
    assert!(logs.starts_with("[ralph] older output is no longer kept (keepStreams)\n"), "{logs:.200}");
    assert!(!logs.contains("line 1.0000 ") && logs.contains("line 6.0000 ") && logs.contains("line 6.0999 "));
    assert!(logs.contains("loop complete after 6 iterations\n"));
    // The reader that followed has every line, once and in order.
    yard.0.ralph(&["rm", "agent"]).exits(0);
    following.end().exits(0);
    let followed = yard.0.read("followed");
    let lines: Vec<&str> =
        followed.lines().filter_map(|line| line.strip_prefix("line ")?.split(' ').next()).collect();
    let expected: Vec<String> = (1..=6).flat_map(|n| (0..1000).map(move |i| format!("{n}.{i:04}"))).collect();
    assert_eq!(lines, expected);
    assert!(!followed.contains("older output"));
}

#[test]
fn a_new_worker_of_the_same_name_begins_with_nothing() {
    let yard = Yard::new();
    settings(&yard.0, CAP);
    let loud = yard.0.sh_agent("seq 40000");
    yard.spawn(&["-n", "3"], &loud).exits(0);
    yard.ends("agent", 0);
    assert!(yard.0.ralph(&["logs", "agent"]).exits(0).stdout.starts_with("[ralph] older output"));
    yard.spawn(&["-n", "1"], &yard.0.sh_agent("echo quiet")).exits(0);
    yard.ends("agent", 0);
    let logs = yard.0.ralph(&["logs", "agent"]).exits(0).stdout;
    assert!(logs.starts_with("ralph run ") && logs.contains("quiet"), "{logs}");
}
