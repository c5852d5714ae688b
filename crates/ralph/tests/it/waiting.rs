//! Agents that wait for a person: what people see of it, and how they answer. The agent is a `claude` that does on its
//! terminal and with its hooks what the real one does, as far as ralph hears it.

use crate::support::{Agent, RALPH, Ran, until};
use crate::workers::Yard;
use rustix::process::Signal;
use serde_json::Value;

/// Puts a `claude` into the path: it reads its prompt, starts a session, and then does `body`.
fn claude(yard: &Yard, body: &str) {
    let script = format!(
        r#"cat > got
T=$PWD/transcript.$RALPH_ITERATION
: > "$T"
hook() {{ printf '%s' "$1" | '{RALPH}' hook turn; }}
says() {{ printf '%s\n' "$1" >> "$T"; }}
done_with() {{
    hook '{{"hook_event_name":"Stop","session_id":"s","last_assistant_message":"'"$1"'"}}'
    says '{{"type":"system","subtype":"stop_hook_summary"}}'
    exec sleep 600
}}
hook '{{"hook_event_name":"SessionStart","session_id":"s","transcript_path":"'"$T"'"}}'
hook '{{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"p"}}'
{body}"#
    );
    yard.0.program("claude", &script);
}

fn spawn(yard: &Yard, args: &[&str]) -> Ran {
    let all = [&["-n", "1", "--interactive"], args].concat();
    yard.spawn(&all, &Agent::named("claude")).exits(0)
}

const INTERRUPTED: &str = r#"says '{"type":"user","message":{"content":"[Request interrupted by user]"}}'
read -r line < /dev/tty
echo "$line" > typed
hook '{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"Continue."}'
done_with done"#;

#[test]
fn an_agent_that_was_interrupted_is_waiting_until_it_is_resumed() {
    let yard = Yard::new();
    claude(&yard, INTERRUPTED);
    spawn(&yard, &[]);
    yard.until_state("agent", "waiting");
    let note = "a person has interrupted the agent; continue with `ralph resume agent`, or type with `ralph attach agent`";
    assert_eq!(yard.state("agent")["note"], note);
    let status = yard.status("agent");
    assert!(status.contains("Status: waiting\n") && status.contains(&format!("Note: {note}\n")), "{status}");
    assert!(status.contains("Now: waiting for you: a person has interrupted the agent"), "{status}");
    yard.0.ralph(&["ls"]).exits(0).says("waiting").says("waiting for you: a person has interrupted");
    let shown = yard.0.ralph(&["status", "agent", "--format", "json"]).exits(0).json();
    assert_eq!(shown["status"], "waiting");
    assert_eq!(shown["view"]["waits_for_person"]["why"], "interrupted", "{shown:#}");
    assert!(yard.log("agent").contains("[WAIT] waiting for you: a person has interrupted the agent"));

    yard.0.ralph(&["resume", "agent"]).exits(0).says("typed \"Continue.\" into the terminal of agent");
    yard.ends("agent", 0);
    assert_eq!(yard.0.read("typed"), "Continue.\n");
    let ended = yard.state("agent");
    assert_eq!((&ended["status"], &ended["note"]), (&"stopped".into(), &Value::Null));
    yard.0.ralph(&["logs", "agent"]).exits(0).says("typed by a person: Continue.");
}

const PERMISSION: &str = r#"CALL='"session_id":"s","tool_name":"Bash","tool_input":{"command":"make deploy"},"tool_use_id":"1"'
hook '{"hook_event_name":"PermissionRequest",'"$CALL"'}'
stty -icanon -echo < /dev/tty
head -c 1 < /dev/tty > typed
hook '{"hook_event_name":"PostToolUse",'"$CALL"'}'
done_with done"#;

#[test]
fn a_permission_is_answered_and_not_resumed_and_the_user_is_notified_with_it() {
    let yard = Yard::new();
    claude(&yard, PERMISSION);
    spawn(&yard, &["--notify", "cat > note.part && mv note.part note.$RALPH_NOTIFY_EVENT"]);
    yard.until_state("agent", "waiting");
    let note = "the agent asks for permission: Bash: make deploy; answer with `ralph answer agent yes` or `no`, or with \
                `ralph attach agent`";
    assert_eq!(yard.state("agent")["note"], note);
    yard.until_exists("note.waiting");
    let notified: Value = serde_json::from_str(&yard.0.read("note.waiting")).unwrap();
    assert_eq!((&notified["event"], &notified["note"]), (&"waiting".into(), &note.into()));

    let refused = yard.0.ralph(&["resume", "agent"]).exits(1);
    refused
        .says("is waiting for you: the agent asks for permission: Bash: make deploy")
        .says("ralph answer agent yes");
    yard.0.ralph(&["answer", "agent", "yes"]).exits(0).says("answered agent");
    yard.ends("agent", 0);
    assert_eq!(yard.0.read("typed"), "1");
}

#[test]
fn a_worker_whose_loop_is_gone_asks_for_no_answer() {
    let yard = Yard::new();
    claude(&yard, INTERRUPTED);
    spawn(&yard, &[]);
    yard.until_state("agent", "waiting");
    yard.kill_loop();
    let status = yard.status("agent");
    assert!(
        status.contains("Status: waiting, but its process is gone; continue with: ralph resume agent"),
        "{status}"
    );
    assert!(!status.contains("Note:"), "{status}");
    yard.0.ralph(&["kill", "agent"]).exits(0);
}

#[test]
fn what_an_interactive_agent_drops_of_its_prompt_is_named_at_its_start() {
    let yard = Yard::new();
    yard.0.write("PROMPT.md", "a\u{1b}[1mb\0\n");
    claude(&yard, "done_with done");
    spawn(&yard, &[]);
    yard.ends("agent", 0);
    let logs = yard.0.ralph(&["logs", "agent"]).exits(0);
    let logs = logs.says("warning: claude drops these characters of the prompt: NUL, ESC");
    logs.says("screen  interactive: watch it and type with ralph attach agent");
}

#[test]
fn a_worker_in_the_foreground_is_shown_to_its_end_and_gives_its_code() {
    let yard = Yard::new();
    for (code, words) in [(0, "echo fine"), (1, "echo bad; exit 3")] {
        let name = format!("w{code}");
        let args = ["--prompt-file", "./PROMPT.md", "-n", "1", "--max-failures", "1", "--foreground"];
        let shown = yard.spawn_as(&name, &args, &yard.0.sh_agent(words)).exits(code);
        let log = yard.output(&name);
        assert!(shown.stdout.ends_with(&log) && log.contains("starting iteration 1/1"), "{}", shown.stdout);
    }
}

#[test]
fn ctrl_c_leaves_a_worker_that_is_in_the_foreground() {
    let yard = Yard::new();
    let agent = yard.waiting_agent();
    let args = ["spawn", "--name", "agent", "-f", "PROMPT.md", "-n", "1", "--foreground", "--"];
    let spawning = yard.0.start(&[&args, &agent.words()[..]].concat());
    until("the log", || spawning.stdout().contains("at work"));
    spawning.signal(Signal::INT);
    spawning
        .end()
        .exits(130)
        .says("agent keeps running; watch it: ralph attach agent, stop it: ralph kill agent");
    assert_eq!(yard.state("agent")["status"], "running");
    yard.go(1, 0);
    yard.ends("agent", 0);
}

#[test]
fn what_makes_no_sense_with_a_terminal_is_refused_at_the_start() {
    let yard = Yard::new();
    yard.0.program("claude", "exit 9");
    yard.0.program("codex", "exit 9");
    let run = |args: &[&str]| yard.0.ralph(&[&["run", "x", "--interactive"], args].concat());
    run(&["--format", "json"]).exits(2).says("--interactive needs a terminal");
    run(&[]).exits(2).says("ralph spawn --name NAME --interactive");
    run(&["--dry-run"]).exits(0).says("Nothing was started.");
    let words = ["spawn", "--name", "agent", "-p", "x", "-n", "1", "--interactive", "--"];
    let spawn = |args: &[&str]| yard.0.ralph(&[&words, args].concat());
    spawn(&["claude", "-p"])
        .exits(2)
        .says("cannot run claude with --interactive")
        .says("`-p` is for agents without");
    spawn(&["codex", "exec"]).exits(2).says("`exec` is for agents without a terminal");
    let args = ["-n", "1", "--interactive", "--append-system-prompt"];
    yard.spawn(&args, &Agent::named("codex")).exits(2).says("leave out --append-system-prompt");
    run(&["--max-context", "101"]).exits(2).says("expected a percentage from 1 to 100");
    yard.0.ralph(&["run", "x", "--ready-timeout", "5s"]).exits(2).says("--interactive");
    assert!(yard.0.runs().is_empty());
}

#[test]
fn a_flag_that_an_interactive_agent_has_no_use_for_is_warned_about() {
    let yard = Yard::new();
    claude(&yard, "done_with done");
    spawn(&yard, &["--ready-pattern", "x"])
        .says("--ready-pattern has no effect: ralph hears claude and codex without looking at their screen");
    yard.ends("agent", 0);
    let plain = yard.0.sh_agent("exit 0");
    let args = ["-p", "x", "-n", "1", "--interactive", "--max-context", "80%", "--wait"];
    yard.spawn_as("plain", &args, &plain)
        .says("--max-context has no effect: ralph sees only the screen of this agent");
}
