//! Services that refuse: waited for, stood in for, or the end; never a failure.

use crate::support::Sandbox;
use serde_json::{Value, json};

const DONE: &str = "<response>DONE</response>";

fn refusal(status: u16, text: &str) -> Value {
    json!({"result": {"is_error": true, "subtype": "success", "api_error_status": status, "text": text}})
}

#[test]
fn a_limit_is_waited_out_and_uses_up_neither_iteration_nor_failure() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.claude(&json!([
        [refusal(429, "rejected"), {"exit": 1}],
        [refusal(429, "rejected"), {"exit": 1}],
        [{"say": DONE}],
    ]));
    let ran = sandbox.ralph(&["run", "-p", "x", "-n", "1", "--max-failures", "1"]).exits(0);
    let ran = ran.says("Usage limit:").says("then retrying the same iteration (it does not count)");
    assert!(ran.stdout.contains("Iteration 1/1 (attempt 3)"), "{}", ran.stdout);
}

#[test]
fn a_limit_with_a_time_is_waited_for_until_then() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let soon = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() + 2;
    let event = json!({"type": "rate_limit_event", "rate_limit_info":
        {"status": "rejected", "resetsAt": soon, "rateLimitType": "five_hour"}});
    sandbox.claude(&json!([
        [{"raw": format!("{event}\n")}, refusal(429, "limit"), {"exit": 1}],
        [{"say": DONE}],
    ]));
    let running = sandbox.start(&["run", "-p", "x", "-n", "1"]);
    sandbox.until_fact("the limit is recorded", |fact| {
        fact["ended"]["end"]["agent"]["retry_in_ms"].as_u64().is_some_and(|ms| ms <= 2_000)
    });
    // The wait ends by a signal, too.
    running.signal(rustix::process::Signal::INT);
    running.end().exits(130);
    sandbox.ralph(&["resume"]).exits(0);
}

#[test]
fn an_outage_is_endured_for_so_long_and_no_longer() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.claude(&json!([[refusal(529, "overloaded"), {"exit": 1}]]));
    let result = sandbox.ralph(&["run", "-p", "x", "--max-outage", "0.5", "--format", "json"]);
    result.stops(1, "outage", 0);
    let ran = sandbox.ralph(&["runs"]).exits(0);
    assert!(ran.stdout.contains("outage"), "{}", ran.stdout);
}

#[test]
fn a_wrong_key_ends_the_run_at_once_and_says_what_to_do() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.claude(&json!([[refusal(401, "Invalid API key"), {"exit": 1}]]));
    let ran = sandbox.ralph(&["run", "-p", "x"]).exits(1);
    let ran = ran.says("authentication: API error 401: Invalid API key").says("log in (claude /login)");
    assert_eq!(sandbox.agents_begun(), 1, "{}", ran.stdout);
    let result = sandbox.ralph(&["run", "-p", "x", "--format", "json"]).stops(1, "authentication", 0);
    assert_eq!(result["error"]["message"], "API error 401: Invalid API key");
}

#[test]
fn another_agent_stands_in_while_the_first_is_limited() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.claude(&json!([[refusal(429, "limit"), {"exit": 1}]]));
    sandbox
        .settings(&json!({"backoff": {"base": 3600, "cap": 3600}, "context": false, "checkpoints": false}));
    sandbox.program("second", &format!("cat > asked; echo '{DONE}'"));
    let started = std::time::Instant::now();
    sandbox.ralph(&["run", "-p", "do it", "-n", "1", "--fallback-agent", "second"]).exits(0);
    assert!(started.elapsed().as_secs() < 150, "it did not wait");
    assert_eq!(sandbox.read("asked"), "do it");
    sandbox.ralph(&["run", "-p", "x", "--fallback-agent", "nobody"]).exits(2).says("not installed: nobody");
}

#[test]
fn another_agent_takes_over_from_one_that_is_refused_for_good() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.claude(&json!([[refusal(404, "no such model"), {"exit": 1}]]));
    sandbox.program("second", &format!("cat > asked; echo '{DONE}'"));
    sandbox.ralph(&["run", "-p", "do it", "-n", "1", "--fallback-agent", "second"]).exits(0);
    assert_eq!(sandbox.read("asked"), "do it");
    // With no agent to take over, the run ends with the first refusal and says what to do.
    let ran = sandbox.ralph(&["run", "-p", "do it"]).exits(1);
    ran.says("authentication: API error 404: no such model").says("choose a model");
}

/// A Claude that prints these lines and then waits, as it does between retries.
fn waiting_claude(sandbox: &Sandbox, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    sandbox.program("claude", &format!("cat > /dev/null; cat <<'END'\n{text}END\nexec sleep 600"));
}

#[test]
fn a_refused_key_ends_the_agent_at_its_first_retry() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let init =
        json!({"type": "system", "subtype": "init", "session_id": "s", "apiKeySource": "ANTHROPIC_API_KEY"});
    let retry = json!({"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10,
        "retry_delay_ms": 500, "error_status": 401, "error": "authentication_failed"});
    waiting_claude(&sandbox, &[init, retry]);
    let started = std::time::Instant::now();
    let result = sandbox.ralph(&["run", "-p", "x", "--format", "json"]).stops(1, "authentication", 0);
    assert!(started.elapsed().as_secs() < 150, "it was not waited for");
    assert_eq!(result["error"]["message"], "API error 401: authentication_failed");
    assert_eq!(sandbox.agents_begun(), 1);
}

/// A Codex without a network says so and waits.
fn offline_codex(sandbox: &Sandbox) {
    let line = json!({"type": "error",
        "message": "Reconnecting... waiting for network (Connection failed: error sending request)"});
    sandbox.program("codex", &format!("cat > /dev/null; echo '{line}'; exec sleep 600"));
}

#[test]
fn an_agent_that_waits_for_the_network_is_ended_with_the_outage() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    offline_codex(&sandbox);
    let started = std::time::Instant::now();
    let args = ["run", "-p", "x", "--agent", "codex", "--max-outage", "0.5", "--format", "json"];
    sandbox.ralph(&args).stops(1, "outage", 0);
    assert!(started.elapsed().as_secs() < 150, "it was not waited for");
}

#[test]
fn one_signal_ends_an_agent_that_waits_for_the_network() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    offline_codex(&sandbox);
    let running = sandbox.start(&["run", "-p", "x", "--agent", "codex"]);
    sandbox.until_fact("an agent that waits", |fact| fact["blocked"].is_object());
    let asked = std::time::Instant::now();
    running.signal(rustix::process::Signal::INT);
    running.end().exits(130);
    assert!(asked.elapsed().as_secs() < 40, "it was waited for");
}

/// A Codex that asks a person something, which takes longer than it may be silent or work.
#[test]
fn an_agent_that_waits_for_a_person_is_neither_silent_nor_late() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let asks = r#"echo '{"type":"ralph","waiting":"question","text":"Which database?"}'"#;
    let typed = r#"echo '{"type":"ralph","typed":"SQLite"}'; echo '{"type":"ralph","working":true}'"#;
    let said = json!({"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": DONE}});
    let ends = json!({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}});
    let goes_on = format!("{typed}; echo '{said}'; echo '{ends}'");
    sandbox.program("codex", &format!("cat > /dev/null; {asks}; sleep 4; {goes_on}"));
    let limits = ["--timeout", "2", "--inactivity-timeout", "2"];
    let ran =
        sandbox.ralph(&[&["run", "-p", "x", "-n", "1", "--agent", "codex"][..], &limits].concat()).exits(0);
    ran.says("waiting for a person (question): Which database?").says("typed by a person: SQLite");
    assert_eq!(sandbox.agents_begun(), 1);
}

#[test]
fn the_time_of_the_run_also_ends_an_agent_that_waits_for_a_person() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let line = r#"{"type":"ralph","waiting":"idle","text":"ready"}"#;
    sandbox.program("codex", &format!("cat > /dev/null; echo '{line}'; exec sleep 600"));
    let args = ["run", "-p", "x", "--agent", "codex", "--max-time", "1", "--format", "json"];
    sandbox.ralph(&args).stops(1, "timeout", 1);
}

#[test]
fn a_codex_whose_address_is_no_url_ends_the_run_at_once() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let why = "stream disconnected before completion: builder error";
    let line = json!({"type": "turn.failed", "error": {"message": why}});
    sandbox.program("codex", &format!("cat > /dev/null; echo '{line}'; exit 1"));
    let args = ["run", "-p", "x", "--agent", "codex", "--format", "json"];
    let result = sandbox.ralph(&args).stops(1, "error", 0);
    assert_eq!(result["error"]["message"], why);
    assert!(result["error"]["hint"].as_str().unwrap().contains("base_url"), "{result:#}");
}

#[test]
fn another_agent_stands_in_for_one_that_waits_for_the_network() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    offline_codex(&sandbox);
    sandbox.program("second", &format!("cat > asked; echo '{DONE}'"));
    let started = std::time::Instant::now();
    sandbox
        .ralph(&["run", "-p", "do it", "-n", "1", "--agent", "codex", "--fallback-agent", "second"])
        .exits(0);
    assert!(started.elapsed().as_secs() < 150, "it was not waited for");
    assert_eq!(sandbox.read("asked"), "do it");
}

#[test]
fn a_program_that_refuses_its_flags_ends_the_run_at_once() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.program("claude", "cat > /dev/null; echo \"error: unknown option '--nonsense'\" >&2; exit 1");
    let ran = sandbox.ralph(&["run", "-p", "x"]).exits(1);
    let ran = ran.says("error: error: unknown option '--nonsense'").says("remove the flag");
    assert_eq!(sandbox.agents_begun(), 1, "{}", ran.stdout);
    // Any other program may mean anything by it.
    sandbox.program("other", "cat > /dev/null; echo \"error: unknown option '--nonsense'\" >&2; exit 1");
    let args = ["run", "-p", "x", "--max-failures", "2", "--format", "json", "--", "other"];
    sandbox.ralph(&args).stops(1, "too_many_failures", 2);
}

#[test]
fn a_refusal_of_root_ends_the_run_at_once_and_names_the_ways_out() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let no = "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons";
    sandbox.program("claude", &format!("cat > /dev/null; echo '{no}' >&2; exit 1"));
    let ran = sandbox.ralph(&["run", "-p", "x"]).exits(1).says(no).says("export IS_SANDBOX=1");
    assert_eq!(sandbox.agents_begun(), 1, "{}", ran.stdout);
}

/// As root only, and only where it is Claude itself that would be started.
#[test]
fn claude_as_root_is_refused_before_the_run_begins() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let path = sandbox.program("claude", "");
    std::fs::write(&path, "#!/usr/bin/env node\n").unwrap();
    for args in [&["run", "-p", "x"][..], &["spawn", "--name", "w", "-n", "1", "-p", "x"][..]] {
        let ran = sandbox.ralph(args).exits(2);
        for part in
            ["as root unless IS_SANDBOX is 1", "another user", "export IS_SANDBOX=1", "agent.autonomous"]
        {
            assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
        }
    }
    assert_eq!(sandbox.runs().len(), 0);
    let doctor = sandbox.ralph(&["doctor"]).exits(0);
    assert!(doctor.stdout.contains("refuses to skip permissions as root"), "{}", doctor.stdout);
    // It may ask, and is then started.
    sandbox.settings(&json!({"agent": {"autonomous": false}, "checkpoints": false}));
    sandbox.ralph(&["run", "-p", "x", "--max-failures", "1"]).exits(1);
    let doctor = sandbox.ralph(&["doctor"]).exits(0);
    assert!(!doctor.stdout.contains("as root"), "{}", doctor.stdout);
}

/// Not refused is what Claude 2.1.325 does not refuse, nor what only Claude can know.
#[test]
fn claude_as_root_is_started_where_its_own_settings_vouch_for_a_sandbox() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    std::fs::write(sandbox.program("claude", ""), "#!/usr/bin/env node\n").unwrap();
    let starts = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = sandbox.command(crate::support::RALPH);
        command.args(["run", "-p", "x", "--max-failures", "1"]).args(args).envs(variables.iter().copied());
        let ran = sandbox.spawn(command).end();
        assert!(matches!(ran.code, Some(1 | 2)), "{}", ran.stderr);
        ran.code == Some(1)
    };
    let yes = json!({"env": {"IS_SANDBOX": "1"}}).to_string();
    let no = json!({"env": {"IS_SANDBOX": "true"}, "model": "IS_SANDBOX"}).to_string();
    let user = sandbox.root().join("user");
    for file in
        [user.join(".claude/settings.json"), user.join(".claude.json"), user.join("other/settings.json")]
    {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let config = user.join("other");
        let variables = [("CLAUDE_CONFIG_DIR", config.to_str().unwrap())];
        let variables = &variables[..usize::from(file.starts_with(&config))];
        for (text, started) in [(yes.as_str(), true), (no.as_str(), false), ("{ // torn", true)] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(starts(&[], variables), started, "{}: {text}", file.display());
        }
        std::fs::remove_file(&file).unwrap();
        assert!(!starts(&[], variables));
    }
    sandbox.write("given.json", &yes);
    for (flag, started) in
        [(yes.as_str(), true), (no.as_str(), false), ("given.json", true), ("none.json", false)]
    {
        assert_eq!(starts(&["--", "claude", "--settings", flag], &[]), started, "{flag}");
    }
    for (name, value, started) in [
        ("IS_SANDBOX", "1", true),
        ("IS_SANDBOX", "true", false),
        ("CLAUDE_CODE_BUBBLEWRAP", "true", true),
        ("CLAUDE_CODE_BUBBLEWRAP", "Yes", true),
        ("CLAUDE_CODE_BUBBLEWRAP", "0", false),
    ] {
        assert_eq!(starts(&[], &[(name, value)]), started, "{name}={value}");
    }
}

#[test]
fn words_about_limits_in_prose_or_tool_results_never_count() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let talk = "Error 429: rate limit. You've hit your usage limit, try again at Mar 17th, 2030 5:46 PM.";
    sandbox.claude(&json!([[
        {"tool": {"name": "Bash", "input": {"command": "x"}, "output": talk, "error": true}},
        {"say": format!("{talk}\n{DONE}")},
    ]]));
    sandbox.ralph(&["run", "-p", "x", "-n", "1"]).exits(0);
}

/// A Claude that is denied a call, and told why.
fn denied_claude(sandbox: &Sandbox) {
    let denied = json!({"type": "system", "subtype": "permission_denied", "tool_name": "Write",
        "tool_use_id": "t1", "message": "writes to /etc are not allowed"});
    sandbox.claude(&json!([[{"raw": format!("{denied}\n")}, {"say": DONE}]]));
}

#[test]
fn denied_tool_calls_are_told_with_the_setting_that_allows_them() {
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({"agent": {"autonomous": false}, "checkpoints": false}));
    denied_claude(&sandbox);
    let ran = sandbox.ralph(&["run", "-p", "x", "-n", "1"]).exits(0);
    ran.says("1 tool call was denied; to allow them, set agent.autonomous to true");
    let result = sandbox.ralph(&["run", "-p", "x", "-n", "1", "--format", "json"]).stops(0, "completed", 1);
    assert_eq!(result["iterations"][0]["denied_tool_calls"], 1);
}

#[test]
fn denied_tool_calls_are_told_with_their_reason_if_the_setting_is_on() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    denied_claude(&sandbox);
    let ran = sandbox.ralph(&["run", "-p", "x", "-n", "1", "--no-stream-agent-output"]).exits(0);
    let ran = ran.says("1 tool call was denied: Write: writes to /etc are not allowed");
    assert!(!ran.stdout.contains("agent.autonomous allows"), "{}", ran.stdout);
}

#[test]
fn every_line_names_the_agent_at_work_if_there_are_several() {
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({"backoff": {"base": 0.01, "cap": 0.05}, "checkpoints": false}));
    sandbox.claude(&json!([[refusal(404, "no such model"), {"exit": 1}]]));
    sandbox.program("second", &format!("cat > /dev/null; [ $RALPH_ITERATION = 1 ] && exit 3; echo '{DONE}'"));
    let args = ["-p", "x", "-n", "2", "--fallback-agent", "second", "--log-file", "a.log"];
    let ran = sandbox.ralph(&[&["run"], &args[..]].concat()).exits(0);
    for line in
        ["Iteration 1/2 (claude)", "Iteration 1/2 (second)", "second failed: exit code 3 (second, time"]
    {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    assert!(ran.stdout.contains("Complete (second, time"), "{}", ran.stdout);
    let log = sandbox.read("a.log");
    for line in ["claude failed: API error 404", "second failed: exit code 3", "second ended ("] {
        assert!(log.contains(line), "{line}: {log}");
    }
    let shown = sandbox.ralph(&["show"]).exits(0).stdout;
    assert_eq!(shown.matches("  agent    second\n").count(), 2, "{shown}");
    // The same in a worker's lines.
    let worker = [&["spawn", "--name", "w", "--wait"], &args[..6]].concat();
    sandbox.ralph(&worker).exits(0);
    let log = std::fs::read_to_string(sandbox.home().join("workers/w/iterations.log")).unwrap();
    for line in [
        "[START] iteration 1/2 (claude)",
        "[START] iteration 1/2 (second)",
        "iteration 1 failed (second, exit: 3)",
        "agent=second",
    ] {
        assert!(log.contains(line), "{line}: {log}");
    }
}

#[test]
fn a_time_for_tools_is_warned_about_where_nothing_tells_of_tools() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.sh_agent(&format!("cat > /dev/null; echo '{DONE}'"));
    let ran = sandbox.run(&["-p", "x", "-n", "1", "--tool-timeout", "5m"], &agent).exits(0);
    assert!(ran.stderr.contains("warning: --tool-timeout has no effect"), "{}", ran.stderr);
    let ran = sandbox.run(&["-p", "x", "-n", "1"], &agent).exits(0);
    assert!(!ran.stderr.contains("tool-timeout"), "{}", ran.stderr);
    sandbox.claude(&json!([[{"say": DONE}]]));
    let ran = sandbox.ralph(&["run", "-p", "x", "-n", "1", "--tool-timeout", "5m"]).exits(0);
    assert!(!ran.stderr.contains("tool-timeout"), "{}", ran.stderr);
}
