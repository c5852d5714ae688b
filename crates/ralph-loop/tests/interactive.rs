//! Agents in a terminal, heard as they were recorded, and read as the stream of a headless one.
//!
//! `captures/interactive/` holds what Claude Code 2.1.325 and Codex 0.166.0 gave to their hooks in a real terminal,
//! with their transcripts where those were kept: `t` is in seconds. What follows from them is printed by the
//! listener and then read by the same reader as the output of a headless agent.

#![expect(clippy::expect_used, reason = "a recording that cannot be read is a wrong test")]

use ralph_loop::dialect::{
    AgentEvent, Answer, Blocker, Dialect, Exit, Refusal, ScanFor, StreamReader, StreamSummary, Tokens, answer,
};
use ralph_loop::interactive::{Effect, Expects, Input, Listener, Permissions};
use ralph_loop::money::Usd;
use serde_json::{Value, json};
use std::fmt::Write;

/// A listener, a reader behind it, and what both said.
struct Heard {
    dialect: Dialect,
    listener: Listener,
    reader: StreamReader,
    now_ms: u64,
    /// A line for each thing that happened.
    page: String,
    printed: Vec<Value>,
    answers: Vec<Value>,
    followed: Vec<String>,
    ended: bool,
}

fn expects(prompt: &str) -> Expects {
    Expects {
        prompt: prompt.to_owned(),
        lead_in: String::new(),
        ready_within_ms: 30_000,
        permissions: Permissions::Ask,
        end_at_context: None,
    }
}

impl Heard {
    fn new(dialect: Dialect, expects: Expects) -> Heard {
        let listener = Listener::new(dialect, expects).expect("an agent that can be heard");
        let reader = StreamReader::new(dialect, "", ScanFor::Completion);
        let mut heard = Heard {
            dialect,
            listener,
            reader,
            now_ms: 0,
            page: String::new(),
            printed: Vec::new(),
            answers: Vec::new(),
            followed: Vec::new(),
            ended: false,
        };
        heard.hear(Input::Time);
        heard
    }

    fn hear(&mut self, input: Input<'_>) {
        for effect in self.listener.hear(self.now_ms, input) {
            assert!(!self.ended || matches!(effect, Effect::Print(_)), "{effect:?} after the end");
            match effect {
                Effect::Print(line) => self.print(&line),
                Effect::Follow(path) => self.followed.push(path.display().to_string()),
                Effect::Answer(answer) => self.answers.push(answer),
                Effect::End => self.ended = true,
            }
        }
    }

    fn print(&mut self, line: &str) {
        assert!(!line.contains('\n'), "{line}");
        self.printed.push(serde_json::from_str(line).expect("a line of JSON"));
        let (page, now_ms) = (&mut self.page, self.now_ms);
        self.reader.feed(format!("{line}\n").as_bytes(), &mut |event| {
            let _ = writeln!(page, "{:>7.3} {}", now_ms as f64 / 1000.0, show(&event));
        });
    }

    /// Lets time go on, with a call at each moment that was asked for.
    fn until(&mut self, now_ms: u64) {
        while let Some(at) = self.listener.wake_at().filter(|at| *at <= now_ms) {
            self.now_ms = at.max(self.now_ms);
            self.hear(Input::Time);
            assert!(self.listener.wake_at() != Some(at), "it asks for the same moment again");
        }
        self.now_ms = now_ms;
    }

    fn hook(&mut self, hook: &Value) {
        self.hear(Input::Hook(&hook.to_string()));
    }

    fn transcript(&mut self, line: &Value) {
        self.hear(Input::Transcript(&line.to_string()));
    }

    /// The lines of a recording, until the turn is over.
    fn replay(&mut self, recording: &str) {
        for line in recording.lines() {
            let line: Value = serde_json::from_str(line).expect("a line of a recording");
            self.until((line["t"].as_f64().expect("a time") * 1000.0) as u64);
            if self.ended {
                return;
            }
            match &line {
                line if line["hook"].is_object() => self.hook(&line["hook"]),
                line if line["status"].is_object() => {
                    self.hear(Input::StatusLine(&line["status"].to_string()));
                }
                line => self.transcript(&line["transcript"]),
            }
        }
        self.until(self.now_ms + 120_000);
    }

    fn blocked(&self) -> Option<Blocker> {
        self.reader.blocked()
    }

    /// What ralph's own lines say, one after the other.
    fn own(&self) -> Vec<&Value> {
        self.printed.iter().filter(|line| line["type"] == "ralph").collect()
    }

    fn finish(self) -> (StreamSummary, Answer) {
        let seen = self.reader.finish(&mut |_| ());
        let answer = answer(self.dialect, Exit::Code(0), &seen, None);
        (seen, answer)
    }

    /// Events, effects, the record and the judgement.
    fn page(mut self) -> String {
        let mut page = std::mem::take(&mut self.page);
        let Heard { followed, answers, ended, now_ms, .. } = &self;
        let _ =
            writeln!(page, "\nfollowed: {followed:?}\nanswers: {answers:?}\nended: {ended} at {now_ms} ms");
        let (seen, answer) = self.finish();
        let record = serde_json::to_string_pretty(&seen).unwrap_or_default();
        let _ = writeln!(page, "{record}\n{answer:?}");
        page
    }
}

fn show(event: &AgentEvent<'_>) -> String {
    match event {
        AgentEvent::ToolStart { name, input, parent, .. } => {
            format!("{}tool {name} {:?}", if parent.is_some() { "sub-agent " } else { "" }, input.summary())
        }
        AgentEvent::Text { text, parent } => {
            format!("{}text {text:?}", if parent.is_some() { "sub-agent " } else { "" })
        }
        event => format!("{event:?}"),
    }
}

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("captures/interactive/", $name, ".jsonl"))
    };
}

fn replayed(dialect: Dialect, prompt: &str, recording: &str) -> Heard {
    let mut heard = Heard::new(dialect, expects(prompt));
    heard.replay(recording);
    heard
}

#[test]
fn every_recording_reads_as_the_stream_of_a_headless_agent() {
    for (name, dialect, prompt, recording) in [
        ("claude-use", Dialect::Claude, "USE x", recording!("claude-use")),
        ("claude-ask", Dialect::Claude, "ASK x", recording!("claude-ask")),
        ("claude-background", Dialect::Claude, "BG x", recording!("claude-background")),
        ("claude-err400", Dialect::Claude, "E400 x", recording!("claude-err400")),
        ("claude-esc", Dialect::Claude, "SLOW y", recording!("claude-esc")),
        ("claude-idle", Dialect::Claude, "hi", recording!("claude-idle")),
        ("claude-limit", Dialect::Claude, "LIMIT x", recording!("claude-limit")),
        ("claude-login", Dialect::Claude, "E401 x", recording!("claude-login")),
        ("claude-permission", Dialect::Claude, "PERM x", recording!("claude-permission")),
        ("claude-typed", Dialect::Claude, "SLOW x", recording!("claude-typed")),
        ("codex-use", Dialect::Codex, "USE x", recording!("codex-use")),
        ("codex-limit", Dialect::Codex, "XLIMIT x", recording!("codex-limit")),
        ("codex-permission", Dialect::Codex, "PERMX x", recording!("codex-permission")),
        ("codex-perm-readonly", Dialect::Codex, "PERM x", recording!("codex-perm-readonly")),
        ("codex-ask", Dialect::Codex, "XASK x", recording!("codex-ask")),
        ("codex-typed", Dialect::Codex, "SLOW x", recording!("codex-typed")),
        ("codex-esc", Dialect::Codex, "SLOW y", recording!("codex-esc")),
        ("codex-text", Dialect::Codex, "hello codex", recording!("codex-text")),
    ] {
        insta::assert_snapshot!(name, replayed(dialect, prompt, recording).page());
    }
}

/// The answers of headless agents in the same cases, from their own recordings.
fn headless(dialect: Dialect, stream: &str) -> (StreamSummary, Answer) {
    let mut reader = StreamReader::new(dialect, "", ScanFor::Completion);
    reader.feed(stream.as_bytes(), &mut |_| ());
    let seen = reader.finish(&mut |_| ());
    let answer = answer(dialect, Exit::Code(1), &seen, None);
    (seen, answer)
}

#[test]
fn a_failure_is_judged_as_that_of_a_headless_agent() {
    let kind = |answer: &Answer| match answer {
        Answer::Refused { about, .. } => format!("refused: {about:?}"),
        Answer::Limited { .. } => "limited".to_owned(),
        other => format!("{other:?}"),
    };
    for (recording, prompt, stream) in [
        (recording!("claude-login"), "E401 x", include_str!("captures/claude-err401-r0.ndjson")),
        (recording!("claude-limit"), "LIMIT x", include_str!("captures/claude-err429-r1.ndjson")),
    ] {
        let (seen, answered) = replayed(Dialect::Claude, prompt, recording).finish();
        let (expected, expected_answer) = headless(Dialect::Claude, stream);
        assert_eq!(kind(&answered), kind(&expected_answer));
        assert_eq!((seen.api_status, seen.error_kind), (expected.api_status, expected.error_kind));
    }
    let (_, limited) = replayed(Dialect::Claude, "LIMIT x", recording!("claude-limit")).finish();
    assert_eq!(limited.problem(), Some("API error 429: Request rejected (429) · usage limit"));
    let (_, failed) = replayed(Dialect::Claude, "E400 x", recording!("claude-err400")).finish();
    assert_eq!(failed, Answer::Failed { why: "API error 400: bad".into() });
    let (_, login) = replayed(Dialect::Claude, "E401 x", recording!("claude-login")).finish();
    assert!(matches!(login, Answer::Refused { about: Refusal::Login, .. }), "{login:?}");
    // Codex says when it may come back in its sentence, which is kept whole.
    let (seen, limited) = replayed(Dialect::Codex, "XLIMIT x", recording!("codex-limit")).finish();
    let Answer::Limited { why, until: None } = limited else { panic!("{limited:?}") };
    assert!(why.contains("try again at Mar 17th, 2030 5:46 PM."), "{why}");
    assert_eq!(seen.error_kind.as_deref(), Some("usage_limit"));
}

/// The same turn of a headless agent would have these numbers: 2 answers of 1200 + 2000 tokens.
#[test]
fn tokens_cost_and_claim_of_a_turn_are_those_that_the_agent_reports() {
    let (seen, answered) = replayed(Dialect::Claude, "USE x", recording!("claude-use")).finish();
    assert_eq!(answered, Answer::Said);
    assert_eq!(seen.tokens, Tokens { input: 3200, output: 65, cache_read: 2300, cache_write: 100 });
    assert_eq!(seen.cost, Some(Usd::from_dollars(0.01506)));
    assert_eq!((seen.tag.as_deref(), seen.steps, seen.tools, seen.tool_errors), (Some("DONE"), 2, 1, 0));
    let (seen, answered) = replayed(Dialect::Codex, "USE x", recording!("codex-use")).finish();
    assert_eq!(answered, Answer::Said);
    assert_eq!(seen.tokens, Tokens { input: 3200, output: 65, cache_read: 2300, cache_write: 0 });
    assert_eq!((seen.tag.as_deref(), seen.steps, seen.tools, seen.tool_errors), (Some("DONE"), 2, 1, 0));
    assert_eq!((seen.unparsed, seen.other), (0, 0));
}

fn start(session: &str) -> Value {
    let path = format!("/t/{session}.jsonl");
    json!({"hook_event_name": "SessionStart", "session_id": session, "transcript_path": path, "model": "m"})
}

fn submit(prompt: &str) -> Value {
    json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": prompt})
}

fn stop(words: &str) -> Value {
    json!({"hook_event_name": "Stop", "session_id": "s", "last_assistant_message": words, "background_tasks": []})
}

/// Claude with a prompt that has arrived.
fn claude_at_work() -> Heard {
    let mut heard = Heard::new(Dialect::Claude, expects("go"));
    heard.hook(&start("s"));
    heard.hook(&submit("go"));
    heard
}

fn said(id: &str, text: &str) -> Value {
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let content = json!([{"type": "text", "text": text}]);
    json!({"type": "assistant", "message": {"id": id, "model": "m", "content": content, "usage": usage}})
}

fn calls(id: &str, call: &str, command: &str) -> Value {
    let content = json!([{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}]);
    json!({"type": "assistant", "message": {"id": id, "model": "m", "content": content}})
}

fn result_of(call: &str) -> Value {
    let content = json!([{"type": "tool_result", "tool_use_id": call, "content": "out"}]);
    json!({"type": "user", "message": {"role": "user", "content": content}})
}

fn typed_text(text: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": text}]}})
}

fn permission(tool: &str, command: &str) -> Value {
    json!({"hook_event_name": "PermissionRequest", "tool_name": tool, "tool_input": {"command": command}})
}

#[test]
fn an_agent_that_is_not_ready_in_time_waits_for_a_person_until_it_is() {
    for dialect in [Dialect::Claude, Dialect::Codex] {
        let mut heard = Heard::new(dialect, expects("go"));
        heard.until(29_999);
        assert_eq!((heard.blocked(), heard.listener.wake_at()), (None, Some(30_000)));
        heard.until(40_000);
        assert_eq!(heard.blocked(), Some(Blocker::Person));
        assert_eq!(heard.own()[0]["waiting"], "not_ready");
        heard.hook(&start("s"));
        assert_eq!(heard.blocked(), None);
        assert_eq!(heard.followed, ["/t/s.jsonl"]);
        heard.hook(&submit("go"));
        heard.until(1_000_000);
        assert_eq!((heard.blocked(), heard.ended), (None, false));
    }
}

#[test]
fn an_agent_without_a_prompt_waits_for_one() {
    let mut claude = Heard::new(Dialect::Claude, expects(""));
    claude.hook(&start("s"));
    let mut codex = Heard::new(Dialect::Codex, expects(""));
    for heard in [&mut claude, &mut codex] {
        assert_eq!(heard.own()[0]["waiting"], "idle");
        heard.until(1_000_000);
        assert_eq!((heard.blocked(), heard.own().len()), (Some(Blocker::Person), 1));
        heard.hook(&submit("do it"));
        let own = heard.own();
        assert_eq!((own[1]["working"] == true, &own[2]["typed"], own.len()), (true, &json!("do it"), 3));
    }
}

#[test]
fn what_arrived_is_compared_with_what_was_handed_over() {
    for (handed_over, arrived, whole) in [
        ("Task:\n/help me\n", "Task:\n/help me\n", true),
        ("go\n", "go", false),
        ("go \u{1b}[1m", "go [1m", false),
        ("ä\tb", "ä\tb", true),
    ] {
        for dialect in [Dialect::Claude, Dialect::Codex] {
            let mut heard = Heard::new(dialect, expects(handed_over));
            heard.hook(&start("s"));
            heard.hook(&submit(arrived));
            heard.hook(&submit(arrived));
            let own = heard.own();
            assert_eq!(
                own[0]["received"],
                json!({"bytes": arrived.len(), "whole": whole}),
                "{handed_over:?}"
            );
            // The same words once more are a person's.
            assert_eq!((&own[1]["typed"], own.len()), (&json!(arrived), 2));
        }
    }
}

#[test]
fn a_turn_ends_with_its_transcript_or_after_a_silence() {
    let duration = json!({"type": "system", "subtype": "turn_duration", "durationMs": 5});
    let hooks = json!({"type": "system", "subtype": "stop_hook_summary", "hookErrors": []});
    let mut heard = claude_at_work();
    heard.transcript(&duration);
    assert!(!heard.ended, "a turn that has not stopped");
    heard.hook(&stop("done"));
    heard.transcript(&duration);
    assert!(heard.ended);

    let mut heard = claude_at_work();
    heard.hook(&stop("done"));
    heard.until(1_499);
    assert!(!heard.ended);
    heard.until(1_500);
    assert!(heard.ended, "there is no transcript to wait for");

    // A Stop hook of the user's runs for some time.
    let mut heard = claude_at_work();
    heard.transcript(&said("1", "done"));
    heard.hook(&stop("done"));
    heard.until(50_000);
    assert!(!heard.ended);
    heard.transcript(&hooks);
    heard.until(51_500);
    assert!(heard.ended);
}

#[test]
fn a_stop_hook_of_the_users_keeps_claude_at_work() {
    let blocks = json!({"type": "system", "subtype": "stop_hook_summary", "hookErrors": ["not yet"]});
    for kept in [blocks, typed_text("Stop hook feedback:\nnot yet"), submit("more")] {
        let mut heard = claude_at_work();
        heard.transcript(&said("1", "done"));
        heard.hook(&stop("done"));
        match kept["hook_event_name"].is_string() {
            true => heard.hook(&kept),
            false => heard.transcript(&kept),
        }
        heard.until(1_000_000);
        assert!(!heard.ended, "{kept}");
        heard.transcript(&said("2", "really done"));
        heard.hook(&stop("really done"));
        heard.until(2_000_000);
        let results: Vec<&Value> = heard.printed.iter().filter(|line| line["type"] == "result").collect();
        assert_eq!((results.len(), &results[0]["result"]), (1, &json!("really done")));
    }
}

#[test]
fn lines_of_the_transcript_that_come_late_do_not_undo_a_stop() {
    let mut heard = claude_at_work();
    heard.hook(&stop("all done <response>DONE</response>"));
    for line in [calls("1", "t", "make"), result_of("t"), said("2", "all done <response>DONE</response>")] {
        heard.transcript(&line);
    }
    heard.transcript(&json!({"type": "system", "subtype": "turn_duration"}));
    assert!(heard.ended);
    let (seen, answered) = heard.finish();
    assert_eq!((answered, seen.tag.as_deref(), seen.steps), (Answer::Said, Some("DONE"), 2));
}

#[test]
fn last_words_that_the_transcript_did_not_have_are_printed() {
    let mut heard = claude_at_work();
    heard.transcript(&said("1", "on it"));
    heard.hook(&stop("all done <response>DONE</response>"));
    heard.until(1_000_000);
    let (seen, answered) = heard.finish();
    assert_eq!((answered, seen.tag.as_deref(), seen.steps), (Answer::Said, Some("DONE"), 2));
}

#[test]
fn the_cost_that_is_known_only_at_the_very_end_counts() {
    let mut heard = claude_at_work();
    heard.hear(Input::StatusLine(r#"{"cost":{"total_cost_usd":0.5}}"#));
    heard.hear(Input::StatusLine(r#"{"cost":{"total_cost_usd":0.5}}"#));
    heard.hook(&stop("done"));
    heard.until(10_000);
    assert!(heard.ended);
    heard.transcript(&said("1", "too late"));
    heard.hook(&submit("too late"));
    heard.transcript(&json!({"type": "cost-state", "totalCostUSD": 0.75}));
    let costs: Vec<&Value> = heard.own().into_iter().filter(|line| line["cost"].is_number()).collect();
    assert_eq!(costs.len(), 2);
    let (seen, _) = heard.finish();
    assert_eq!(seen.cost, Some(Usd::from_dollars(0.75)));
}

#[test]
fn an_interrupted_agent_waits_until_a_person_goes_on() {
    let mut heard = claude_at_work();
    heard.transcript(&typed_text("[Request interrupted by user for tool use]"));
    assert_eq!(heard.own().last().unwrap()["waiting"], "interrupted");
    heard.until(1_000_000);
    assert_eq!((heard.blocked(), heard.ended), (Some(Blocker::Person), false));
    heard.hook(&submit("another way"));
    assert_eq!(heard.blocked(), None);
    heard.hook(&stop("done"));
    heard.until(2_000_000);
    assert!(heard.ended);

    let mut heard = Heard::new(Dialect::Codex, expects("go"));
    heard.hook(&start("s"));
    heard.hook(&submit("go"));
    heard.transcript(
        &json!({"type": "event_msg", "payload": {"type": "turn_aborted", "reason": "interrupted"}}),
    );
    assert_eq!((heard.blocked(), heard.ended), (Some(Blocker::Person), false));
    heard.hook(&submit("another way"));
    assert_eq!(heard.blocked(), None);
}

#[test]
fn leave_is_given_by_policy_or_waited_for() {
    let allowed = json!({"hookSpecificOutput":
        {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}});
    for dialect in [Dialect::Claude, Dialect::Codex] {
        let mut heard = Heard::new(dialect, Expects { permissions: Permissions::Allow, ..expects("go") });
        heard.hook(&permission("Bash", "touch x"));
        assert_eq!((heard.blocked(), &heard.answers[..]), (None, &[allowed.clone()][..]));
        let mut heard = Heard::new(dialect, expects("go"));
        heard.hook(&permission("Bash", "touch x"));
        assert_eq!((heard.blocked(), heard.answers.len()), (Some(Blocker::Person), 0));
        assert_eq!(heard.own()[0]["text"], "Bash: touch x");
    }
    // A question has no answer that a policy could give.
    let mut heard =
        Heard::new(Dialect::Claude, Expects { permissions: Permissions::Allow, ..expects("ASK x") });
    heard.replay(recording!("claude-ask"));
    let own: Vec<&Value> = heard.own().into_iter().filter(|line| line["waiting"].is_string()).collect();
    assert_eq!((own.len(), heard.answers.len()), (1, 0));
    assert_eq!(
        (&own[0]["waiting"], &own[0]["text"]),
        (&json!("question"), &json!("Which database? (SQLite, Postgres)"))
    );
}

#[test]
fn each_of_several_requests_is_waited_for() {
    let mut heard = claude_at_work();
    for (call, command) in [("a", "one"), ("b", "two"), ("c", "three")] {
        heard.transcript(&calls("1", call, command));
    }
    heard.hook(&permission("Bash", "two"));
    heard.hook(&permission("Bash", "three"));
    // It was read before the request was made.
    heard.transcript(&said("1", "three commands"));
    heard.transcript(&result_of("a"));
    assert_eq!(heard.own().last().unwrap()["text"], "Bash: two");
    heard.transcript(&result_of("b"));
    assert_eq!(
        (heard.blocked(), &heard.own().last().unwrap()["text"]),
        (Some(Blocker::Person), &json!("Bash: three"))
    );
    heard.transcript(&result_of("c"));
    assert_eq!(heard.blocked(), None);
}

#[test]
fn a_context_that_is_full_ends_the_turn_and_is_no_failure() {
    let mut heard = Heard::new(Dialect::Claude, Expects { end_at_context: Some(80), ..expects("go") });
    heard.hook(&start("s"));
    heard.hook(&submit("go"));
    heard.transcript(&said("1", "half of it is done"));
    heard.hear(Input::StatusLine(r#"{"context_window":{"used_percentage":null}}"#));
    heard.hear(Input::StatusLine(r#"{"context_window":{"used_percentage":79}}"#));
    assert!(!heard.ended);
    heard.hear(Input::StatusLine(r#"{"context_window":{"used_percentage":80}}"#));
    assert!(heard.ended && heard.own().last().unwrap()["notice"].as_str().unwrap().contains("80 %"));
    assert_eq!(heard.finish().1, Answer::Said);

    let mut heard = Heard::new(Dialect::Codex, Expects { end_at_context: Some(80), ..expects("go") });
    heard.hook(&start("s"));
    let tokens = |total: u64| {
        json!({"type": "event_msg", "payload": {"type": "token_count", "info":
            {"last_token_usage": {"total_tokens": total}, "model_context_window": 1000}}})
    };
    heard.transcript(&tokens(799));
    assert!(!heard.ended);
    heard.transcript(&tokens(800));
    assert!(heard.ended);
    assert_eq!(heard.finish().1, Answer::Empty);
}

#[test]
fn a_limit_of_a_subscription_has_the_time_of_its_reset() {
    let mut heard = claude_at_work();
    let limits = r#"{"rate_limits":{"five_hour":{"used_percentage":100,"resets_at":1900000000}}}"#;
    heard.hear(Input::StatusLine(limits));
    heard.hook(&json!({"hook_event_name": "StopFailure", "error": "rate_limit",
        "last_assistant_message": "You've hit your limit · resets 3pm"}));
    assert!(heard.ended);
    let (_, answered) = heard.finish();
    assert!(matches!(answered, Answer::Limited { until: Some(1_900_000_000), .. }), "{answered:?}");
}

#[test]
fn words_of_sub_agents_are_not_the_agents() {
    let mut heard = claude_at_work();
    let mut line = said("sub", "<response>DONE</response>");
    line["isSidechain"] = true.into();
    heard.transcript(&line);
    heard.transcript(&said("1", "not yet"));
    heard.hook(&stop("not yet"));
    heard.until(100_000);
    let (seen, answered) = heard.finish();
    assert_eq!((answered, seen.tag, seen.steps), (Answer::Said, None, 1));
    assert_eq!(seen.tokens.input, 20, "both were paid for");
}

#[test]
fn a_turn_of_codex_that_fails_is_told_by_its_word() {
    for (info, message, expected) in [
        (json!("unauthorized"), "Your login has expired", "refused"),
        (json!("server_overloaded"), "Too much to do", "unavailable"),
        (json!({"response_too_many_failed_attempts": {"http_status_code": 429}}), "Gave up", "limited"),
        (json!("other"), "Something broke", "failed"),
        (
            json!("bad_request"),
            r#"{"error":{"message":"too long","type":"invalid_request_error"}}"#,
            "failed",
        ),
        (Value::Null, "unexpected status 401 Unauthorized", "refused"),
    ] {
        let mut heard = Heard::new(Dialect::Codex, expects("go"));
        heard.hook(&start("s"));
        let error = json!({"message": message, "codex_error_info": info});
        heard.transcript(&json!({"type": "event_msg", "payload": {"type": "task_complete", "error": error}}));
        assert!(heard.ended);
        let answered = match heard.finish().1 {
            Answer::Refused { .. } => "refused",
            Answer::Unavailable { .. } => "unavailable",
            Answer::Limited { .. } => "limited",
            Answer::Failed { .. } => "failed",
            Answer::Said | Answer::Empty => "well",
        };
        assert_eq!(answered, expected, "{info}");
    }
}

#[test]
fn what_is_not_understood_is_skipped() {
    for dialect in [Dialect::Claude, Dialect::Codex] {
        let mut heard = Heard::new(dialect, expects("go"));
        for odd in [
            "",
            "{}",
            "[]",
            "null",
            "{\"type\":7}",
            "{\"type\":\"assistant\"}",
            "{\"type\":\"user\",\"message\":\"x\"}",
            "{\"type\":\"event_msg\",\"payload\":[]}",
            "{\"type\":\"response_item\",\"payload\":{\"type\":\"function_call\"}}",
            "{\"hook_event_name\":\"Later\"}",
            "cut {\"type",
        ] {
            heard.hear(Input::Hook(odd));
            heard.hear(Input::StatusLine(odd));
            heard.hear(Input::Transcript(odd));
        }
        assert!(!heard.ended && heard.printed.is_empty(), "{:?}", heard.printed);
    }
    assert!(Listener::new(Dialect::Amp, expects("go")).is_none());
    assert!(Listener::new(Dialect::Plain, expects("go")).is_none());
}
