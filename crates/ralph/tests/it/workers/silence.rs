//! Agents that show no sign of life.

use super::Yard;
use serde_json::json;

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
    yard.0.program(
        "claude",
        "cat > /dev/null; cat start; echo; sleep 1.2; [ $RALPH_ITERATION = 1 ] || sleep 600; cat end; echo; cat result; echo",
    );
    let args =
        ["-f", "PROMPT.md", "-n", "2", "--inactivity-timeout", "0.4", "--tool-timeout", "2.5", "--wait"];
    yard.0.ralph(&[&["spawn", "--name", "tool"], &args[..], &["--", "claude"]].concat()).exits(0);
    let log = yard.log("tool");
    assert!(!log.contains("[TIMEOUT] iteration 1 "), "{log}");
    assert!(log.contains("[TIMEOUT] iteration 2 tool timeout (2.5s), restarting"), "{log}");
    assert_eq!(yard.state("tool")["total_failures"], 0);
}

#[test]
fn output_that_changes_nothing_on_the_screen_is_no_sign_of_life() {
    let yard = Yard::new();
    let agent = yard.0.sh_agent("cat; while :; do printf '\\033[0m'; sleep 0.05; done");
    yard.spawn(&["-n", "1", "--inactivity-timeout", "0.5", "--wait"], &agent).exits(0);
    assert!(yard.log("agent").contains("[TIMEOUT] iteration 1 inactivity timeout (0.5s), restarting"));
}

#[test]
fn any_change_resets_the_timer() {
    let yard = Yard::new();
    let agent = yard.0.sh_agent("cat; for i in 1 2 3 4 5 6 7 8; do printf $i; sleep 0.2; done");
    yard.spawn(&["-n", "1", "--inactivity-timeout", "1", "--wait"], &agent).exits(0);
    assert!(!yard.log("agent").contains("TIMEOUT"), "{}", yard.log("agent"));
}

#[test]
fn a_pause_is_no_silence() {
    let yard = Yard::new();
    yard.spawn(&["-n", "2", "--inactivity-timeout", "4"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.0.ralph(&["pause", "agent"]).exits(0);
    std::thread::sleep(std::time::Duration::from_millis(4500));
    assert!(!yard.log("agent").contains("TIMEOUT"), "{}", yard.log("agent"));
    yard.go(1, 0);
    yard.until_log("agent", "[END] iteration 1 exit=0");
}

/// Without a seat nobody is in a hurry, unless told.
#[test]
fn a_run_in_a_terminal_can_be_impatient_too() {
    let yard = Yard::new();
    let agent = yard.0.sh_agent("cat; echo once; sleep 600");
    let args = ["-f", "PROMPT.md", "-n", "1", "--inactivity-timeout", "0.3", "--format", "json"];
    let result = yard.0.run(&args, &agent).exits(1).json();
    assert_eq!((&result["stop_reason"], &result["total_iterations"]), (&json!("max_iterations"), &json!(1)));
    let silent = |fact: &serde_json::Value| fact["silent"]["silence"]["after_ms"] == 300;
    assert!(yard.0.facts().iter().any(silent));
}
