//! Agents that show no sign of life.

use super::Yard;
use serde_json::{Value, json};

/// A tool that the stream shows as running is no silence.
#[test]
fn a_running_tool_has_a_limit_of_its_own() {
    let yard = Yard::new();
    let start = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"sleep"}}]}}"#;
    let end =
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"fine"}"#;
    yard.0.write("start", start);
    yard.0.write("end", end);
    yard.0.write("result", result);
    let log_of = |name: &str, tool: &str, limits: [&str; 2], code: i32| {
        let script = format!("cat > /dev/null; cat start; echo; {tool}; cat end; echo; cat result; echo");
        yard.0.program("claude", &script);
        let limits = ["--inactivity-timeout", limits[0], "--tool-timeout", limits[1]];
        let args = ["spawn", "--name", name, "-f", "PROMPT.md", "-n", "1", "--wait"];
        yard.0.ralph(&[&args[..], &limits, &["--", "claude"]].concat()).exits(code);
        yard.log(name)
    };
    // Longer than an agent may be silent.
    let log = log_of("slow", "sleep 6", ["5", "600"], 0);
    assert!(!log.contains("[TIMEOUT]"), "{log}");
    let log = log_of("tool", "exec tail -f /dev/null", ["600", "0.5"], 1);
    assert!(log.contains("[TIMEOUT] iteration 1 tool timeout (0.5s), restarting"), "{log}");
    let state = yard.state("tool");
    assert_eq!((&state["total_failures"], &state["consecutive_failures"]), (&json!(1), &json!(1)));
}

#[test]
fn output_that_changes_nothing_on_the_screen_is_no_sign_of_life() {
    let yard = Yard::new();
    let agent = yard.0.sh_agent("cat; while :; do printf '\\033[0m'; sleep 0.05; done");
    yard.spawn(&["-n", "1", "--inactivity-timeout", "0.5", "--wait"], &agent).exits(1);
    assert!(yard.log("agent").contains("[TIMEOUT] iteration 1 inactivity timeout (0.5s), restarting"));
}

#[test]
fn any_change_resets_the_timer() {
    let yard = Yard::new();
    let agent = yard.0.sh_agent("cat; for i in 1 2 3 4 5 6 7 8 9 a b c; do printf $i; sleep 0.5; done");
    yard.spawn(&["-n", "1", "--inactivity-timeout", "5", "--wait"], &agent).exits(0);
    assert!(!yard.log("agent").contains("TIMEOUT"), "{}", yard.log("agent"));
}

/// The timer runs from what was read last, also where that came right after a look at the screen.
#[test]
fn a_silence_lasts_no_longer_than_it_may() {
    let yard = Yard::new();
    let agent = yard.0.sh_agent(
        "cat > got; printf one; sleep 0.06; printf two; date +%s%3N > ../last; exec tail -f /dev/null",
    );
    yard.spawn(&["-n", "1", "--inactivity-timeout", "8", "--wait"], &agent).exits(1);
    let events = yard.0.events();
    let silent = events.iter().find(|event| event["fact"]["silent"].is_object()).unwrap();
    let last: i64 = yard.0.read("../last").trim().parse().unwrap();
    let silence = silent["at"].as_i64().unwrap() - last;
    // One that counts from the look before lasts twice as long. The clocks differ by a moment.
    assert!((7_500..15_500).contains(&silence), "{silence}");
}

/// The same words over and over, in whatever way they are drawn.
#[test]
fn drawing_the_same_again_is_no_sign_of_life() {
    for frame in ["\\rworking", "working\\n", "\\033[2K\\033[1Gworking"] {
        let yard = Yard::new();
        let script = format!("cat > got; while :; do printf '{frame}'; sleep 0.05; done");
        yard.spawn(&["-n", "1", "--inactivity-timeout", "0.5", "--wait"], &yard.0.sh_agent(&script)).exits(1);
        assert!(yard.log("agent").contains("[TIMEOUT] iteration 1 inactivity timeout (0.5s), restarting"));
    }
}

/// And of a flood of it there is always more to read.
#[test]
fn a_flood_of_the_same_is_no_sign_of_life() {
    let yard = Yard::new();
    yard.0.settings(&json!({"context": false, "checkpoints": false, "keepStreams": 4}));
    let agent = yard.0.sh_agent("cat > got; exec yes never");
    yard.spawn(&["-n", "1", "--inactivity-timeout", "0.5", "--wait"], &agent).exits(1);
    assert!(yard.log("agent").contains("[TIMEOUT] iteration 1 inactivity timeout (0.5s), restarting"));
}

#[test]
fn an_iteration_ended_for_silence_is_told_as_that_and_counts_as_a_failure() {
    let yard = Yard::new();
    yard.0.settings(&json!({"context": false, "checkpoints": false, "maxFailures": 2,
                            "backoff": {"base": 0.01, "cap": 0.05}}));
    let agent = yard.0.sh_agent("cat > got; echo once; exec sleep 600");
    yard.spawn(&["-n", "9", "--inactivity-timeout", "0.3", "--wait"], &agent).exits(1);
    let events = yard.events("agent");
    assert_eq!(events.last().unwrap(), "[FAIL] 2 consecutive failures, stopping loop", "{events:#?}");
    let status = yard.status("agent");
    assert!(status.contains("Consecutive failures: 2\nTotal failures: 2\n"), "{status}");
    let shown = yard.0.ralph(&["show", "agent"]).exits(0).stdout;
    assert_eq!(shown.matches("agent stopped: it was silent for too long").count(), 2, "{shown}");
    assert_eq!(shown.matches("  failed   silent for 0.3s\n").count(), 2, "{shown}");
    assert!(!shown.contains("checks passed"), "{shown}");
    let result = yard.0.ralph(&["show", "agent", "--format", "json"]).exits(0).json();
    assert_eq!(result["stop_reason"], "too_many_failures");
    for iteration in result["iterations"].as_array().unwrap() {
        assert_eq!((&iteration["end"], &iteration["error"]), (&json!("silent"), &json!("silent for 0.3s")));
    }
    yard.until_says("agent", "Agent stopped: silent for 0.3s (");
    yard.until_says("agent", "  failure 2 of 2 in a row\n");
}

/// What it has claimed before it fell silent is worth as much as ever.
#[test]
fn a_silent_agent_that_is_done_is_done() {
    let yard = Yard::new();
    let agent = yard.0.sh_agent("cat > got; echo '<response>DONE</response>'; exec sleep 600");
    let args = ["-p", "x", "--check", "true", "--inactivity-timeout", "5", "--format", "json"];
    let result = yard.0.run(&args, &agent).stops(0, "completed", 1);
    let iteration = &result["iterations"][0];
    assert_eq!((&iteration["end"], &iteration["error"]), (&json!("silent"), &json!(null)));
}

/// Claude and the others show all the time that they are at work; text need not.
#[test]
fn the_time_depends_on_what_an_agent_prints() {
    let yard = Yard::new();
    yard.0.claude(&json!([[{"say": "hi"}]]));
    yard.0
        .ralph(&["spawn", "--name", "stream", "-f", "PROMPT.md", "-n", "1", "--wait", "--", "claude"])
        .exits(0);
    assert_eq!(yard.state("stream")["inactivity_timeout"], 600);
    yard.spawn_as("text", &["-f", "PROMPT.md", "-n", "1", "--wait"], &yard.0.sh_agent("echo hi")).exits(0);
    assert_eq!(yard.state("text")["inactivity_timeout"], 60);
    let args =
        ["spawn", "--name", "told", "-f", "PROMPT.md", "-n", "1", "--inactivity-timeout", "90", "--wait"];
    yard.0.ralph(&[&args[..], &["--", "claude"]].concat()).exits(0);
    assert_eq!(yard.state("told")["inactivity_timeout"], 90);
}

/// Pieces of a message are kept and are signs of life, but only the whole is said.
#[test]
fn pieces_of_a_message_are_signs_of_life_and_are_said_once() {
    let yard = Yard::new();
    let piece = r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"slow words"}}}"#;
    let whole =
        r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"slow words"}]}}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"slow words"}"#;
    yard.0.write("piece", format!("{piece}\n"));
    yard.0.write("rest", format!("{whole}\n{result}\n"));
    yard.0.program(
        "claude",
        "echo \"$@\" > args; cat > /dev/null; for i in 1 2 3 4 5 6 7 8 9 a b c; do cat piece; sleep 0.5; done; cat rest",
    );
    let args = ["-f", "PROMPT.md", "-n", "1", "--inactivity-timeout", "5", "--wait"];
    yard.0.ralph(&[&["spawn", "--name", "slow"], &args[..], &["--", "claude"]].concat()).exits(0);
    assert!(!yard.log("slow").contains("TIMEOUT"), "{}", yard.log("slow"));
    assert!(yard.0.read("args").contains("--include-partial-messages"));
    assert_eq!(yard.output("slow").matches("slow words").count(), 1, "{}", yard.output("slow"));
    let raw = std::fs::read_to_string(yard.0.run_dir().join("streams/1-1.out")).unwrap();
    assert_eq!(raw.matches("stream_event").count(), 12);
}

#[test]
fn a_pause_is_no_silence() {
    let yard = Yard::new();
    yard.spawn(&["-n", "2", "--inactivity-timeout", "8"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.0.ralph(&["pause", "agent"]).exits(0);
    // Longer than it may be silent; longer still does no harm.
    std::thread::sleep(std::time::Duration::from_millis(8_500));
    assert!(!yard.log("agent").contains("TIMEOUT"), "{}", yard.log("agent"));
    yard.go(1, 0);
    yard.until_log("agent", "[END] iteration 1 exit=0");
}

/// Outside of a worker there is no limit on silence, unless one is given.
#[test]
fn a_run_in_a_terminal_can_be_impatient_too() {
    let yard = Yard::new();
    let agent = yard.0.sh_agent("cat; echo once; sleep 600");
    let args = ["-f", "PROMPT.md", "-n", "1", "--inactivity-timeout", "0.3", "--format", "json"];
    let result = yard.0.run(&args, &agent).exits(1).json();
    assert_eq!((&result["stop_reason"], &result["total_iterations"]), (&json!("max_iterations"), &json!(1)));
    let silent = |fact: &Value| fact["silent"]["silence"]["after_ms"] == 300;
    assert!(yard.0.facts().iter().any(silent));
}
