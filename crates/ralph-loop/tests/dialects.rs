//! Agents' real output, read whole and in pieces.
//!
//! `captures/` holds what real agents printed, each with the exit code it ended with. Those called
//! `described` follow an agent's documentation: Amp could not be run, and no scripted model makes
//! Codex do all that it can. Each event is shown as one line, so that a snapshot reads like the
//! run it is of.

use proptest::prelude::*;
use ralph_loop::dialect::{
    AgentEvent, Answer, Blocker, Dialect, Exit, Line, Refusal, ScanFor, StreamReader, StreamSummary, answer,
};
use ralph_loop::done_pattern::DonePattern;
use ralph_loop::signal::{LegacySignal, Signals};
use ralph_loop::text::clip;
use std::fmt::Write;

struct Capture {
    name: &'static str,
    dialect: Dialect,
    exit: Exit,
    bytes: &'static [u8],
}

macro_rules! capture {
    ($name:literal, $dialect:ident, $how:ident($number:literal)) => {
        Capture {
            name: $name,
            dialect: Dialect::$dialect,
            exit: Exit::$how($number),
            bytes: include_bytes!(concat!("captures/", $name, ".ndjson")),
        }
    };
}

const CAPTURES: &[Capture] = &[
    capture!("claude-background", Claude, Code(0)),
    capture!("claude-bigstdin", Claude, Code(0)),
    capture!("claude-default-perms", Claude, Code(0)),
    capture!("claude-err400", Claude, Code(1)),
    capture!("claude-err401-r0", Claude, Code(1)),
    capture!("claude-err429-forever", Claude, Code(1)),
    capture!("claude-err429-r1", Claude, Code(1)),
    capture!("claude-err429", Claude, Code(0)),
    capture!("claude-err500-forever", Claude, Code(1)),
    capture!("claude-err500-r2", Claude, Code(1)),
    capture!("claude-err529-r1", Claude, Code(1)),
    capture!("claude-fallback", Claude, Code(1)),
    capture!("claude-hooks", Claude, Code(0)),
    capture!("claude-loop", Claude, Code(0)),
    capture!("claude-max-turns", Claude, Code(1)),
    capture!("claude-no-key", Claude, Code(1)),
    capture!("claude-old-err400", Claude, Code(1)),
    capture!("claude-old-err401", Claude, Signal(9)),
    capture!("claude-old-ratelimit", Claude, Code(0)),
    capture!("claude-old-tool", Claude, Code(0)),
    capture!("claude-outjson", Claude, Code(0)),
    capture!("claude-partial", Claude, Code(0)),
    capture!("claude-pre-continue-false", Claude, Code(0)),
    capture!("claude-sig-INT", Claude, Code(0)),
    capture!("claude-sig-model", Claude, Code(0)),
    capture!("claude-stdin", Claude, Code(0)),
    capture!("claude-text-err", Plain, Code(1)),
    capture!("claude-text", Claude, Code(0)),
    capture!("claude-tool", Claude, Code(0)),
    capture!("codex-docform", Codex, Code(0)),
    capture!("codex-drop", Codex, Code(0)),
    capture!("codex-err400", Codex, Code(1)),
    capture!("codex-err401", Codex, Code(1)),
    capture!("codex-err429-forever", Codex, Code(1)),
    capture!("codex-err429", Codex, Code(0)),
    capture!("codex-hooks-nobypass", Codex, Code(0)),
    capture!("codex-hooks-proj", Codex, Code(0)),
    capture!("codex-o-fail", Codex, Code(1)),
    capture!("codex-sandbox-default", Codex, Code(0)),
    capture!("codex-sandbox-landlock", Codex, Code(0)),
    capture!("codex-sandbox-ww", Codex, Code(0)),
    capture!("codex-sig-INT", Codex, Code(1)),
    capture!("codex-sig-TERM", Codex, Signal(15)),
    capture!("codex-stdin", Codex, Code(0)),
    capture!("codex-text", Codex, Code(0)),
    capture!("codex-textmode", Plain, Code(0)),
    capture!("codex-tool", Codex, Code(0)),
    capture!("codex-described", Codex, Code(0)),
    capture!("amp-described", Amp, Code(0)),
    capture!("amp-described-error", Amp, Code(1)),
];

#[expect(clippy::unwrap_used, reason = "a test that names no capture is wrong itself")]
fn capture(name: &str) -> &'static Capture {
    CAPTURES.iter().find(|capture| capture.name == name).unwrap()
}

/// The events, a line each, and what they came to.
fn read(dialect: Dialect, prompt: &str, reads: &[&[u8]]) -> (String, StreamSummary) {
    let mut shown = String::new();
    let mut sink = |event: AgentEvent<'_>| shown.push_str(&show(&event));
    let mut reader = StreamReader::new(dialect, prompt, ScanFor::Signals);
    for bytes in reads {
        reader.feed(bytes, &mut sink);
    }
    let seen = reader.finish(&mut sink);
    (shown, seen)
}

fn claude(stream: &str) -> (String, StreamSummary) {
    read(Dialect::Claude, "", &[stream.as_bytes()])
}

fn codex(stream: &str) -> (String, StreamSummary) {
    read(Dialect::Codex, "", &[stream.as_bytes()])
}

fn plain(prompt: &str, output: &str) -> StreamSummary {
    read(Dialect::Plain, prompt, &[output.as_bytes()]).1
}

fn show(event: &AgentEvent<'_>) -> String {
    let of = |parent: &Option<_>| if parent.is_some() { "sub-agent " } else { "" };
    let quoted = |text: &str| format!("{:?}", clip(text, 90));
    let line = match event {
        AgentEvent::Session { id, model } => format!("session {id} {model}"),
        AgentEvent::Text { text, parent } => format!("{}text {}", of(parent), quoted(text)),
        AgentEvent::Thinking { text, parent } => format!("{}thinking {}", of(parent), quoted(text)),
        AgentEvent::ToolStart { id, name, input, parent } => {
            format!("{}tool {id} {name} {}", of(parent), quoted(&input.summary()))
        }
        AgentEvent::ToolEnd { id, output, is_error } => {
            format!("{} {id} {}", if *is_error { "failed" } else { "ended" }, quoted(output))
        }
        AgentEvent::Todo(items) => format!("todo {items:?}"),
        AgentEvent::Retry { attempt, of, delay_ms, why } => {
            format!("retry {attempt}/{of} in {delay_ms} ms: {why}")
        }
        AgentEvent::RateLimit { status, resets_at, kind } => format!("limit {status} {kind} {resets_at:?}"),
        AgentEvent::Denied { tool, why } => format!("denied {tool} {}", quoted(why)),
        AgentEvent::Usage(tokens) => format!("used {tokens:?}"),
        AgentEvent::Cost(usd) => format!("cost {usd}"),
        AgentEvent::Waiting { why, text } => format!("waits for {}: {}", why.word(), quoted(text)),
        AgentEvent::Working => "works".to_owned(),
        AgentEvent::Typed { text } => format!("typed {}", quoted(text)),
        AgentEvent::Received { bytes, whole } => format!("received {bytes} bytes, whole: {whole}"),
        AgentEvent::Result(result) => format!(
            "result {} error {:?} cost {:?} {:?} turns {} in {} ms",
            quoted(&result.text),
            result.error,
            result.cost.map(|cost| cost.to_string()),
            result.tokens,
            result.turns,
            result.duration_ms,
        ),
        AgentEvent::Notice { text } => format!("notice {}", quoted(text)),
        AgentEvent::Unparsed { bytes, sample } => format!("unparsed {bytes} {}", quoted(sample)),
    };
    line + "\n"
}

/// What the journal keeps.
fn record(seen: &StreamSummary) -> String {
    serde_json::to_string_pretty(seen).unwrap_or_default()
}

impl Capture {
    fn read(&self) -> (String, StreamSummary) {
        read(self.dialect, "", &[self.bytes])
    }

    fn answer(&self) -> Answer {
        answer(self.dialect, self.exit, &self.read().1, None)
    }

    /// A page: the events, the record, and the judgement.
    fn page(&self) -> String {
        let (mut page, seen) = self.read();
        let _ = writeln!(page, "\n{}\n{}: {:?}", record(&seen), self.exit, self.answer());
        page
    }
}

#[test]
fn every_capture_reads_as_it_went() {
    for capture in CAPTURES {
        insta::assert_snapshot!(capture.name, capture.page());
    }
}

#[test]
fn every_capture_reads_the_same_byte_by_byte() {
    for capture in CAPTURES {
        let bytes: Vec<&[u8]> = capture.bytes.chunks(1).collect();
        assert_eq!(read(capture.dialect, "", &bytes), capture.read(), "{}", capture.name);
    }
}

#[test]
fn exit_codes_and_streams_are_judged_together() {
    let failed = |why: &str| Answer::Failed { why: why.to_owned() };
    for (name, expected) in [
        ("claude-tool", Answer::Said),
        ("claude-err429", Answer::Said),
        ("claude-max-turns", failed("max_turns: Reached maximum number of turns (2)")),
        ("claude-sig-model", failed("exited without a result")),
        (
            "claude-old-err401",
            Answer::Refused { why: "API error 401: authentication_failed".into(), about: Refusal::Login },
        ),
        ("claude-text-err", failed("exit code 1")),
        ("codex-tool", Answer::Said),
        ("codex-err429", Answer::Said),
        ("codex-drop", Answer::Said),
        ("codex-textmode", Answer::Said),
        (
            "codex-err429-forever",
            Answer::Limited {
                why: "exceeded retry limit, last status: 429 Too Many Requests".into(),
                until: None,
            },
        ),
        ("codex-err400", failed("prompt is too long: 210000 tokens > 200000 maximum")),
        ("codex-sig-INT", failed("exit code 1")),
        ("codex-sig-TERM", failed("killed by signal 15")),
        ("amp-described", Answer::Said),
        (
            "amp-described-error",
            Answer::Refused {
                why: "API error 402: Execute mode requires credits.".into(),
                about: Refusal::Quota,
            },
        ),
    ] {
        assert_eq!(capture(name).answer(), expected, "{name}");
    }
}

#[test]
fn the_last_result_counts_and_its_cost_is_not_added() {
    let (_, seen) = capture("claude-background").read();
    assert_eq!(seen.cost.map(|cost| cost.to_string()).as_deref(), Some("$0.0150"));
    assert_eq!((seen.tokens.input, seen.tokens.output), (3000, 150));
    assert_eq!((seen.steps, seen.tools), (3, 1));
    assert_eq!(seen.tag.as_deref(), Some("DONE"));
}

#[test]
fn a_failure_that_is_no_api_error_keeps_its_reason() {
    let (_, seen) = capture("claude-max-turns").read();
    assert_eq!(seen.error.as_deref(), Some("max_turns: Reached maximum number of turns (2)"));
    assert_eq!(seen.api_status, None);
}

#[test]
fn a_later_good_result_undoes_an_error() {
    let stream = r#"{"type":"result","is_error":true,"api_error_status":529,"result":"API Error: 529 Overloaded"}
        {"type":"result","is_error":false,"subtype":"success","result":"fine","total_cost_usd":0.5}"#;
    let (_, seen) = claude(stream);
    assert_eq!((seen.error, seen.api_status, seen.result, seen.text), (None, None, true, true));
    let (_, first) = claude(stream.lines().next().unwrap());
    assert_eq!((first.error.as_deref(), first.text), (Some("API error 529: Overloaded"), false));
}

const DONE: &str = "<response>DONE</response>";

#[test]
fn only_the_agents_own_words_are_a_claim() {
    for (line, tag) in [
        (
            r#"{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":"TAG"}]}}"#,
            Some("DONE"),
        ),
        (r#"{"type":"assistant","message":{"id":"1","content":"TAG"}}"#, Some("DONE")),
        (
            r#"{"message":{"content":[{"text":"TAG","type":"text"}],"id":"1"},"type":"assistant"}"#,
            Some("DONE"),
        ),
        (r#"{"type":"result","result":"TAG"}"#, Some("DONE")),
        (r#"{"type":"result","result":"TAG","is_error":true}"#, None),
        (r#"{"type":"user","message":{"content":"TAG"}}"#, None),
        (r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"TAG"}]}}"#, None),
        (r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"TAG"}]}}"#, None),
        (
            r#"{"type":"assistant","parent_tool_use_id":"t","message":{"content":[{"type":"text","text":"TAG"}]}}"#,
            None,
        ),
        (
            r#"{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"TAG"}]}}"#,
            None,
        ),
        (
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"TAG"}}]}}"#,
            None,
        ),
        (r#"{"type":"stream_event","event":{"delta":{"text":"TAG"}}}"#, None),
        ("TAG", None),
    ] {
        let (_, seen) = claude(&line.replace("TAG", DONE));
        assert_eq!(seen.tag.as_deref(), tag, "{line}");
        assert_eq!(seen.text, tag.is_some(), "{line}");
    }
}

#[test]
fn the_result_is_searched_only_if_nothing_was_said_before() {
    let said = r#"{"type":"assistant","message":{"id":"1","content":"not yet"}}"#;
    let (_, seen) = claude(&format!("{said}\n{{\"type\":\"result\",\"result\":\"{DONE}\"}}"));
    assert_eq!(seen.tag, None);
}

#[test]
fn a_tag_may_span_the_parts_of_a_message_but_not_two_messages() {
    let part = |id: &str, text: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    };
    let (_, one) = claude(&[part("1", "<response>DO"), part("1", "NE</response>")].join("\n"));
    assert_eq!((one.tag.as_deref(), one.steps), (Some("DONE"), 1));
    let (_, two) = claude(&[part("1", "<response>DO"), part("2", "NE</response>")].join("\n"));
    assert_eq!((two.tag, two.steps), (None, 2));
}

#[test]
fn events_of_rare_kinds_are_read() {
    let stream = r#"
{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794766914,"rateLimitType":"five_hour"}}
{"type":"assistant","message":{"id":"1","content":[{"type":"thinking","thinking":"hm"},{"type":"redacted_thinking","data":"x"}]}}
{"type":"assistant","message":{"id":"1","content":[{"type":"tool_use","id":"t1","name":"TodoWrite","input":{"todos":[{"content":"a","status":"completed","activeForm":"A"},{"content":"b","status":"in_progress"},{"content":"c","status":7}]}}]}}
{"type":"assistant","parent_tool_use_id":"t0","message":{"id":"9","content":[{"type":"text","text":"sub"},{"type":"tool_use","id":"t2","name":"Grep","input":{"pattern":"x","path":"src"}}]}}
{"type":"user","parent_tool_use_id":"t0","message":{"content":[{"type":"text","text":"the sub-agent's prompt"}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":[{"type":"text","text":"one"},{"type":"image","source":{}},{"type":"text","text":"two"}]}]}}
{"type":"system","subtype":"model_fallback","content":"Switched to Haiku"}
{"type":"system","subtype":"never_seen","message":"x"}
{"type":"brand_new","message":[1,2],"error":{"a":1},"usage":"none"}
{"no":"type"}
[1,2]
not json
{"type":"assistant","message":
"#;
    let (events, seen) = claude(stream);
    insta::assert_snapshot!("claude-rare-kinds", format!("{events}\n{}", record(&seen)));
}

#[test]
fn a_line_with_broken_text_is_mended() {
    let text = [br"a\ud83d b\ud83d\ude00 \\ud83d c".as_slice(), b"\xff"].concat();
    for (dialect, before, after) in [
        (
            Dialect::Claude,
            r#"{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":""#,
            r#""}]}}"#,
        ),
        (Dialect::Codex, r#"{"type":"item.completed","item":{"type":"agent_message","text":""#, r#""}}"#),
    ] {
        let (events, seen) = read(dialect, "", &[before.as_bytes(), &text, after.as_bytes()]);
        assert_eq!(events, "text \"a\u{fffd} b\u{1f600} \\\\ud83d c\u{fffd}\"\n");
        assert_eq!(seen.unparsed, 0);
    }
}

#[test]
fn a_line_that_is_too_long_is_told_and_not_kept() {
    let long = "x".repeat(9 << 20);
    for dialect in [Dialect::Claude, Dialect::Codex, Dialect::Amp, Dialect::Plain] {
        let (events, seen) = read(dialect, "", &[long.as_bytes(), b"\n"]);
        assert_eq!(events, format!("unparsed {} \"\"\n", 9 << 20));
        assert_eq!(seen.unparsed, 1);
    }
}

#[test]
fn of_codex_only_a_whole_message_is_a_claim() {
    for (line, tag) in [
        (r#"{"type":"item.completed","item":{"type":"agent_message","text":"TAG"}}"#, Some("DONE")),
        (r#"{"item":{"text":"TAG","type":"agent_message"},"type":"item.completed"}"#, Some("DONE")),
        (r#"{"type":"item.updated","item":{"type":"agent_message","text":"TAG"}}"#, None),
        (r#"{"type":"item.completed","item":{"type":"reasoning","text":"TAG"}}"#, None),
        (r#"{"type":"item.completed","item":{"type":"error","message":"TAG"}}"#, None),
        (
            r#"{"type":"item.completed","item":{"type":"command_execution","command":"TAG","aggregated_output":"TAG"}}"#,
            None,
        ),
        (r#"{"type":"item.completed","item":{"type":"todo_list","items":[{"text":"TAG"}]}}"#, None),
        (r#"{"type":"error","message":"TAG"}"#, None),
        (r#"{"type":"turn.failed","error":{"message":"TAG"}}"#, None),
        ("TAG", None),
    ] {
        let (_, seen) = codex(&line.replace("TAG", DONE));
        assert_eq!(seen.tag.as_deref(), tag, "{line}");
        assert_eq!((seen.text, seen.steps), (tag.is_some(), u32::from(tag.is_some())), "{line}");
    }
}

#[test]
fn no_tag_reaches_over_two_messages_of_codex() {
    let part = |text: &str| {
        format!(r#"{{"type":"item.completed","item":{{"type":"agent_message","text":"{text}"}}}}"#)
    };
    let (_, seen) = codex(&[part("<response>DO"), part("NE</response>")].join("\n"));
    assert_eq!((seen.tag, seen.steps), (None, 2));
}

const FAILED: &str = r#"{"type":"turn.failed","error":{"message":"WHY"}}"#;
const COMPLAINT: &str = r#"{"type":"error","message":"WHY"}"#;
const COMPLETED: &str = r#"{"type":"turn.completed","usage":{"input_tokens":1}}"#;

#[test]
fn codex_fails_with_its_turn_or_by_stopping_short() {
    for (stream, result, error) in [
        (vec![COMPLETED], true, None),
        (vec![COMPLAINT, COMPLETED], true, None),
        (vec![FAILED], true, Some("WHY")),
        (vec![COMPLAINT, FAILED], true, Some("WHY")),
        (vec![FAILED, COMPLETED], true, None),
        (vec![COMPLAINT, r#"{"type":"turn.failed"}"#], true, Some("WHY")),
        (vec![r#"{"type":"turn.failed"}"#], true, Some("the turn failed")),
        (vec![COMPLAINT], false, Some("WHY")),
        (vec![r#"{"type":"error","message":"Reconnecting... 5/5"}"#], false, None),
        (vec![r#"{"type":"item.completed","item":{"type":"error","message":"WHY"}}"#], false, None),
        (vec![r#"{"type":"error"}"#], false, None),
        (vec![], false, None),
    ] {
        let (_, seen) = codex(&stream.join("\n"));
        assert_eq!((seen.result, seen.error.as_deref()), (result, error), "{stream:?}");
        let ended_short = Answer::Failed { why: "exited without a result".into() };
        let answered = answer(Dialect::Codex, Exit::Code(0), &seen, None);
        assert_eq!(answered == ended_short, !result && error.is_none(), "{stream:?}");
    }
}

#[test]
fn a_codex_whose_address_is_no_url_is_refused_for_good() {
    let answer_to = |why: &str| {
        let (_, seen) = codex(&FAILED.replace("WHY", why));
        answer(Dialect::Codex, Exit::Code(1), &seen, None)
    };
    let why = "stream disconnected before completion: builder error";
    assert_eq!(answer_to(why), Answer::Refused { why: why.into(), about: Refusal::Address });
    let why = "stream disconnected before completion: Transport error: network error";
    assert_eq!(answer_to(why), Answer::Unavailable { why: why.into() });
}

#[test]
fn codex_says_what_kind_of_failure_it_was() {
    for (why, kind, status) in [
        (
            "You’ve hit your usage limit. Upgrade to Pro or try again at Mar 17th, 2030 5:46 PM.",
            Some("usage_limit"),
            None,
        ),
        ("You've hit your usage limit.", Some("usage_limit"), None),
        ("unexpected status 401 Unauthorized: bad key", None, Some(401)),
        ("exceeded retry limit, last status: 429 Too Many Requests", None, Some(429)),
        ("stream disconnected before completion", None, None),
        (
            "We’re currently experiencing high demand, which may cause temporary errors.",
            Some("server_error"),
            None,
        ),
        ("Selected model is at capacity. Please try a different model.", Some("overloaded"), None),
        ("Quota exceeded. Check your plan and billing details.", Some("insufficient_quota"), None),
        ("The model `gpt-9` does not exist or you do not have access to it.", Some("model_not_found"), None),
        ("Missing environment variable: `KEY`.", Some("authentication_failed"), None),
    ] {
        for line in [COMPLAINT, FAILED] {
            let (_, seen) = codex(&line.replace("WHY", why));
            assert_eq!(seen.error.as_deref(), Some(why));
            assert_eq!((seen.error_kind.as_deref(), seen.api_status), (kind, status), "{why}");
        }
    }
    let limit = "You’ve hit your usage limit.";
    let said = format!(r#"{{"type":"item.completed","item":{{"type":"agent_message","text":"{limit}"}}}}"#);
    let (_, seen) = codex(&said);
    assert_eq!((seen.error, seen.error_kind), (None, None));
}

/// Whether a failure is waited out, ends the run or counts as one.
#[test]
fn what_a_service_says_is_waited_for_or_not_by_its_kind() {
    let codex_says = |why: &str| codex(&FAILED.replace("WHY", why)).1;
    let claude_says = |kind: &str, status: &str| {
        let words = r#"{"type":"assistant","error":"KIND","message":{"model":"<synthetic>","content":[]}}"#;
        let result = r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":STATUS,"result":"WHY"}"#;
        let stream = format!("{}\n{}", words.replace("KIND", kind), result.replace("STATUS", status));
        read(Dialect::Claude, "", &[stream.as_bytes()]).1
    };
    let quota = "Quota exceeded. Check your plan and billing details.";
    for (dialect, seen, expected) in [
        (Dialect::Codex, codex_says("We're currently experiencing high demand, …"), "waited for"),
        (Dialect::Codex, codex_says("Selected model is at capacity. …"), "waited for"),
        (Dialect::Codex, codex_says("unexpected status 502 Bad Gateway: x"), "waited for"),
        (Dialect::Codex, codex_says(quota), "refused: Quota"),
        (Dialect::Codex, codex_says("The model `gpt-9` does not exist …"), "refused: Model"),
        (
            Dialect::Codex,
            codex_says("{\\\"detail\\\":\\\"The 'gpt-9' model is not supported when using Codex\\\"}"),
            "refused: Model",
        ),
        (Dialect::Codex, codex_says("Missing environment variable: `KEY`."), "refused: Login"),
        (Dialect::Codex, codex_says("You’ve hit your usage limit."), "limited"),
        (Dialect::Codex, codex_says("The tests of the quota exceeded their time"), "failed"),
        (Dialect::Claude, claude_says("billing_error", "400"), "refused: Quota"),
        (Dialect::Claude, claude_says("model_not_found", "404"), "refused: Model"),
        (Dialect::Claude, claude_says("authentication_failed", "null"), "refused: Login"),
        (Dialect::Claude, claude_says("server_error", "null"), "waited for"),
        (Dialect::Claude, claude_says("invalid_request", "400"), "failed"),
    ] {
        let answered = match answer(dialect, Exit::Code(1), &seen, None) {
            Answer::Refused { about, .. } => format!("refused: {about:?}"),
            Answer::Unavailable { .. } => "waited for".to_owned(),
            Answer::Limited { .. } => "limited".to_owned(),
            Answer::Failed { .. } => "failed".to_owned(),
            Answer::Said | Answer::Empty => "well".to_owned(),
        };
        assert_eq!(answered, expected, "{:?}", seen.error);
    }
}

/// What keeps an agent from going on after each line of its stream.
#[track_caller]
fn blocked(dialect: Dialect, stream: &[(&str, Option<Blocker>)]) -> StreamSummary {
    let mut reader = StreamReader::new(dialect, "", ScanFor::Completion);
    for (line, expected) in stream {
        reader.feed(format!("{line}\n").as_bytes(), &mut |_| ());
        assert_eq!(reader.blocked(), *expected, "{line}");
    }
    reader.finish(&mut |_| ())
}

#[test]
fn codex_without_a_network_is_blocked_until_it_gets_through() {
    const WAITS: &str = r#"{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}"#;
    const RETRIES: &str = r#"{"type":"error","message":"Reconnecting... 1/5 (it broke off)"}"#;
    const SPEAKS: &str = r#"{"type":"item.completed","item":{"type":"agent_message","text":"On it."}}"#;
    let offline = Some(Blocker::Network);
    let stream = [(r#"{"type":"turn.started"}"#, None), (WAITS, offline), (WAITS, offline)];
    let seen = blocked(Dialect::Codex, &stream);
    let why = "waiting for network (Connection failed: error sending request)".to_owned();
    assert_eq!(answer(Dialect::Codex, Exit::Signal(15), &seen, None), Answer::Unavailable { why });
    let stream = [(WAITS, offline), (RETRIES, None), (WAITS, offline), (SPEAKS, None)];
    let seen = blocked(Dialect::Codex, &stream);
    let ended = Answer::Failed { why: "killed by signal 15".into() };
    assert_eq!(answer(Dialect::Codex, Exit::Signal(15), &seen, None), ended);
}

/// A key stays refused; a login is renewed after the first refusal.
#[test]
fn claude_is_blocked_by_a_key_that_was_refused() {
    let init = |source: &str| {
        format!(r#"{{"type":"system","subtype":"init","session_id":"s","apiKeySource":"{source}"}}"#)
    };
    let retry = |attempt: u32, status: &str, error: &str| {
        format!(
            r#"{{"type":"system","subtype":"api_retry","attempt":{attempt},"max_retries":10,"error_status":{status},"error":"{error}"}}"#
        )
    };
    let first = retry(1, "401", "authentication_failed");
    let second = retry(2, "401", "authentication_failed");
    let speaks = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"On it."}]}}"#;
    let refused = Some(Blocker::Login);

    let stream = [(&*init("ANTHROPIC_API_KEY"), None), (&*first, refused)];
    let seen = blocked(Dialect::Claude, &stream);
    let why = "API error 401: authentication_failed".to_owned();
    let answered = answer(Dialect::Claude, Exit::Signal(15), &seen, None);
    assert_eq!(answered, Answer::Refused { why, about: Refusal::Login });

    blocked(Dialect::Claude, &[(&*init("none"), None), (&*first, None), (speaks, None)]);
    blocked(Dialect::Claude, &[(&*init("none"), None), (&*first, None), (&*second, refused), (speaks, None)]);
    let overloaded = retry(3, "529", "overloaded");
    blocked(Dialect::Claude, &[(&*init("ANTHROPIC_API_KEY"), None), (&*overloaded, None)]);
}

#[test]
fn a_reconnection_of_codex_is_a_retry() {
    for (message, shown) in [
        ("Reconnecting... 1/5 (it broke (off))", "retry 1/5 in 0 ms: it broke (off)"),
        ("Reconnecting… 2/5", "retry 2/5 in 0 ms: "),
        ("Reconnecting...", "retry 0/0 in 0 ms: "),
        ("Reconnecting soon", "retry 0/0 in 0 ms: soon"),
    ] {
        let (events, seen) = codex(&COMPLAINT.replace("WHY", message));
        assert_eq!((events.trim_end(), seen.error), (shown.trim_end(), None));
    }
}

#[test]
fn amp_repeats_the_prompt_and_that_is_no_claim() {
    let (events, seen) = capture("amp-described-error").read();
    assert!(!events.contains("notice") && !events.contains("text"), "{events}");
    assert_eq!((seen.tag, seen.text), (None, false));
    assert_eq!((seen.api_status, seen.error_kind.as_deref()), (Some(402), Some("unknown_error")));
}

#[test]
fn a_plain_agents_text_is_its_claim() {
    let seen = plain("", "working\n\x1b[1m<resp\x1b[0monse>DONE</response>\n");
    assert_eq!((seen.tag.as_deref(), seen.text, seen.steps), (Some("DONE"), true, 1));
    assert_eq!(answer(Dialect::Plain, Exit::Code(0), &plain("", " \n\n"), None), Answer::Empty);
}

#[test]
fn a_plain_agent_that_echoes_its_prompt_claims_nothing() {
    let prompt = format!("Do the work.\nThen say:\n{DONE}\n");
    let echo = plain(&prompt, &prompt);
    assert_eq!((echo.tag, echo.text), (None, false));
    let honest = plain(&prompt, &format!("{prompt}\nDid it.\n{DONE}\n"));
    assert_eq!((honest.tag.as_deref(), honest.text), (Some("DONE"), true));
}

/// What agents print in JSON formats that ralph does not read. `USER` is the prompt that they got.
const JSON: &[(&str, &str, &str)] = &[
    ("gemini", include_str!("captures/json/gemini.ndjson"), "\"Make a file\""),
    ("copilot", include_str!("captures/json/copilot.ndjson"), "\"x\""),
    ("pi", include_str!("captures/json/pi.ndjson"), "\"Make a file\""),
    ("continue", include_str!("captures/json/continue.ndjson"), ""),
    ("cline", include_str!("captures/json/cline.ndjson"), ""),
    ("droid", include_str!("captures/json/droid.ndjson"), "\"x\""),
    ("opencode", include_str!("captures/json/opencode.ndjson"), ""),
    ("qwen", include_str!("captures/json/qwen.ndjson"), ""),
];

const PROMPT: &str = "Make a file.\n\nWhen the whole task is done, end your answer with this line:\n\
                      <response>DONE</response>\n<ralph>DONE 1.1</ralph>\nor say: All tasks complete\n";

/// The output of an agent that was asked `PROMPT`.
fn asked(output: &str, user: &str) -> String {
    if user.is_empty() {
        return output.to_owned();
    }
    let prompt = serde_json::to_string(PROMPT).unwrap_or_default();
    let asked = output.replace(user, &prompt);
    assert!(asked.contains(&prompt), "the prompt is in it");
    asked
}

#[test]
fn no_json_is_a_claim() {
    for (name, output, user) in JSON {
        let output = asked(output, user);
        let whole = read(Dialect::Plain, PROMPT, &[output.as_bytes()]);
        let StreamSummary { tag, signals, json, text, .. } = &whole.1;
        assert_eq!((tag, signals.done.as_ref(), *json, *text), (&None, None, true, true), "{name}");
        let bytes: Vec<&[u8]> = output.as_bytes().chunks(1).collect();
        assert_eq!(read(Dialect::Plain, PROMPT, &bytes), whole, "{name}");
        // Beside JSON, text is heard.
        let seen = plain(PROMPT, &format!("{output}{DONE}\n"));
        assert_eq!((seen.tag.as_deref(), seen.json), (Some("DONE"), false), "{name}");
    }
}

/// What agents print as text, asked `PROMPT`, while one of their tools prints the tag.
const TEXT: &[(&str, &str)] = &[
    ("gemini", include_str!("captures/text/gemini.txt")),
    ("copilot", include_str!("captures/text/copilot.txt")),
    ("copilot-heredoc", include_str!("captures/text/copilot-heredoc.txt")),
    ("pi", include_str!("captures/text/pi.txt")),
];

#[test]
fn a_tag_that_a_tool_of_a_text_agent_prints_is_no_claim() {
    for (name, output) in TEXT {
        assert!(output.contains("Not done yet"), "{name}");
        let seen = plain(PROMPT, output);
        assert_eq!((seen.tag, seen.signals, seen.text), (None, Signals::default(), true), "{name}");
        // Behind a log's time stamps the same holds, and an honest line counts in all of them.
        let logged: String = output.lines().map(|line| format!("[12:01:02] {line}\n")).collect();
        assert_eq!(plain(PROMPT, &logged).tag, None, "{name}");
        let honest = plain(PROMPT, &format!("{output}{DONE}\n"));
        assert_eq!(honest.tag.as_deref(), Some("DONE"), "{name}");
    }
}

#[test]
fn a_done_pattern_is_not_found_where_json_repeats_the_prompt() {
    let matched = |output: &str| {
        let pattern = DonePattern::new("All tasks complete").ok();
        let mut reader = StreamReader::watching(Dialect::Plain, PROMPT, ScanFor::Completion, pattern);
        reader.feed(output.as_bytes(), &mut |_| ());
        reader.finish(&mut |_| ()).matched
    };
    for (name, output, user) in JSON {
        let output = asked(output, user);
        assert!(!matched(&output), "{name}");
        assert!(matched(&format!("{output}{{\"text\":\"All tasks complete\"}}\n")), "{name}");
    }
}

#[test]
fn a_plain_agents_claim_is_a_tag_that_ends_its_line() {
    let tag = "<response>DONE</response>";
    for output in [
        "TAG",
        "All done. TAG \t",
        "  TAG",
        "1. TAG",
        "- TAG",
        "TAG\x1b[0m\x1b[K",
        "<response>\nDONE\n</response>",
        "```\nTAG\n```\nTAG",
        "{\n\"a\": \"TAG\"\n}\nTAG",
        "I will say TAG later.\nNow: TAG",
        "Not <response>CONTINUE</response> but TAG",
        "<response>\na</response> or TAG",
    ] {
        let output = output.replace("TAG", tag);
        assert_eq!(plain("", &output).tag.as_deref(), Some("DONE"), "{output}");
    }
    for output in [
        "I will say TAG when it is done.",
        "TAG.",
        "\"TAG\"",
        "\"TAG",
        "`TAG`",
        "> TAG",
        "│ TAG",
        "  │ printf 'All done.\n  │ TAG\n  │ '",
        "│ printf 'TAG'",
        " 12 | TAG",
        "     4\tTAG",
        "```\nTAG\n```",
        "~~~text\nTAG",
        "{\"text\":\"TAG\"}",
        "{\n  \"text\": \"TAG\"\n}",
        "data: {\"text\":\"TAG\"}",
        "he said 'print TAG",
        "  └ TAG",
        "$ TAG",
    ] {
        let output = output.replace("TAG", tag);
        assert_eq!(plain("", &output).tag, None, "{output}");
        let output = output.replace(tag, "<ralph>DONE 1.1</ralph>");
        assert_eq!(plain("", &output).signals, Signals::default(), "{output}");
    }
    let other = "TAG is for later, now <response>CONTINUE</response>".replace("TAG", tag);
    assert_eq!(plain("", &other).tag.as_deref(), Some("CONTINUE"));
    assert_eq!(plain("", "```\n[DONE]\n```\n").signals, Signals::default());
    assert_eq!(plain("", "[DONE]\n").signals.legacy, Some(LegacySignal::Done));
}

#[test]
fn an_echo_of_the_prompt_is_no_claim_whatever_marks_it_has() {
    for form in [
        "    {}",
        "> {}",
        "│ {} │",
        "\"{}\"",
        "#. {}",
        "  # | {}",
        "  #\t{}",
        "# {}",
        "- {}",
        "+ {}",
        "└ {}",
        "  ├ {}",
        "  ⎿  {}",
        "╰ {}",
        "$ {}",
        "[12:01:0#] {}",
        "user: {}",
        "[info] user: {}",
        "INFO prompt {}",
    ] {
        let lines = PROMPT.lines().enumerate();
        let shown: Vec<String> =
            lines.map(|(i, line)| form.replace('#', &(i + 1).to_string()).replace("{}", line)).collect();
        let seen = plain(PROMPT, &shown.join("\n"));
        assert_eq!((seen.tag, seen.signals), (None, Signals::default()), "{form}");
    }
}

#[test]
fn a_done_pattern_is_also_looked_for_on_a_plain_agents_standard_error() {
    let matched = |dialect: Dialect, prompt: &str, errors: &str| {
        let pattern = DonePattern::new("All tasks complete").ok();
        let mut reader = StreamReader::watching(dialect, prompt, ScanFor::Completion, pattern);
        errors.lines().for_each(|line| reader.feed_stderr(&Line::Whole(line.as_bytes())));
        reader.finish(&mut |_| ()).matched
    };
    assert!(matched(Dialect::Plain, "", "so:\n\x1b[1mAll tasks\x1b[0m complete"));
    assert!(!matched(Dialect::Plain, PROMPT, PROMPT));
    assert!(!matched(Dialect::Claude, "", "All tasks complete"));
}

#[test]
fn a_line_of_json_that_is_too_long_makes_no_claim() {
    let long = format!("{{\"text\":\"{}{DONE}\"}}\n", "x".repeat(9 << 20));
    let seen = plain("", &format!("{long}{{\"a\":1}}\n"));
    assert_eq!((seen.tag, seen.unparsed, seen.json), (None, 1, true));
}

#[test]
fn a_claim_of_many_words_is_kept_short() {
    let seen = plain("", &format!("<promise>{}</promise>", "ü".repeat(300)));
    assert_eq!(seen.tag.map(|tag| tag.chars().count()), Some(200));
}

fn pieces<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut marks: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    marks.extend([0, bytes.len()]);
    marks.sort_unstable();
    marks.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

fn cuts() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop::collection::vec(any::<prop::sample::Index>(), 0..40)
}

/// Bytes that are likely to mean something: tags, lines of the prompt, controls, broken UTF-8.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(vec![
        b"<response>".to_vec(),
        b"DONE".to_vec(),
        b"</response>".to_vec(),
        b"\n".to_vec(),
        b"\r\n".to_vec(),
        b"Do it.\n".to_vec(),
        b"Say <response>DONE</response>\n".to_vec(),
        b"Now.".to_vec(),
        b"\x1b[1m".to_vec(),
        b"\xc3".to_vec(),
        b"\xff".to_vec(),
        b"{\"type\":".to_vec(),
        b"\"user\"}".to_vec(),
        b"{".to_vec(),
        b"}".to_vec(),
        b"\"".to_vec(),
        b"\n```\n".to_vec(),
        b"> ".to_vec(),
        b"\n 12 | ".to_vec(),
        "│ ".as_bytes().to_vec(),
    ]);
    let noise = prop::collection::vec(any::<u8>(), 0..20);
    prop::collection::vec(prop_oneof![4 => word, 1 => noise], 0..30).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn any_cut_of_a_capture_gives_the_same_events(which in 0..CAPTURES.len(), cuts in cuts()) {
        let capture = &CAPTURES[which];
        let cut = read(capture.dialect, "", &pieces(capture.bytes, &cuts));
        prop_assert_eq!(cut, capture.read(), "{}", capture.name);
    }

    #[test]
    fn any_cut_of_any_output_gives_the_same_events(output in output(), cuts in cuts()) {
        let prompt = "Do it.\nSay <response>DONE</response>\nNow.\n";
        for dialect in [Dialect::Claude, Dialect::Codex, Dialect::Amp, Dialect::Plain] {
            let cut = read(dialect, prompt, &pieces(&output, &cuts));
            prop_assert_eq!(cut, read(dialect, prompt, &[&output]));
        }
    }

    #[test]
    fn a_capture_with_damage_is_read_without_panic(
        which in 0..CAPTURES.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..30),
    ) {
        let capture = &CAPTURES[which];
        let mut bytes = capture.bytes.to_vec();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        read(capture.dialect, "", &[&bytes]);
    }
}

/// A result of one turn, with what the session has used by model.
fn result(turn: u64, models: &[(&str, u64)]) -> String {
    let models: Vec<String> = models
        .iter()
        .map(|(name, tokens)| {
            format!(r#""{name}":{{"inputTokens":{tokens},"outputTokens":1,"cacheReadInputTokens":2,"cacheCreationInputTokens":3}}"#)
        })
        .collect();
    format!(
        r#"{{"type":"result","subtype":"success","result":"ok","usage":{{"input_tokens":{turn},"output_tokens":5}},"modelUsage":{{{}}}}}"#,
        models.join(",")
    ) + "\n"
}

#[test]
fn claudes_tokens_include_those_of_sub_agents() {
    let seen = |stream: &str| claude(stream).1.tokens;
    let one = seen(&result(10, &[("opus", 10), ("haiku", 500)]));
    assert_eq!((one.input, one.output, one.cache_read, one.cache_write), (510, 2, 4, 6));
    // Each result reports the whole session, so only the last one counts.
    let two = seen(&(result(10, &[("opus", 10)]) + &result(20, &[("opus", 30), ("haiku", 500)])));
    assert_eq!((two.input, two.output), (530, 2));
    // For an agent that does not report it, the turns are added up.
    let by_turns = seen(&(result(10, &[]) + &result(20, &[])));
    assert_eq!((by_turns.input, by_turns.output), (30, 10));
}

/// One of Claude's tool calls, and its result.
fn called(id: &str, name: &str, input: &str, output: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"id":"m-{id}","content":[{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}]}}}}
{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","content":"{output}"}}]}}}}
"#
    )
}

fn todo_lists(events: &str) -> Vec<String> {
    let items = events.lines().filter_map(|line| line.strip_prefix("todo "));
    let short = |line: &str| {
        line.replace("TodoItem { text: ", "").replace(", status: ", " ").replace(" }", "").replace('"', "")
    };
    items.map(short).collect()
}

#[test]
fn claudes_todo_items_are_known_by_content_or_subject() {
    let input = r#"{"todos":[{"content":"a","status":"completed"},{"subject":"b","status":"in_progress"}]}"#;
    let (events, _) = claude(&called("1", "TodoWrite", input, "ok"));
    assert_eq!(todo_lists(&events), ["[a Completed, b InProgress]"]);
}

#[test]
fn claudes_task_tools_make_a_todo_list() {
    let stream = [
        called("1", "TaskCreate", r#"{"subject":"read"}"#, "Task #4 created successfully: read"),
        called("2", "TaskCreate", r#"{"subject":"write"}"#, "Task #5 created successfully: write"),
        called("3", "TaskUpdate", r#"{"taskId":"4","status":"completed"}"#, "Updated task #4 status"),
        called("4", "TaskUpdate", r#"{"taskId":"9","status":"completed"}"#, "no such task"),
        called("5", "TaskUpdate", r#"{"taskId":"5","status":"deleted"}"#, "Updated task #5 deleted"),
    ];
    let (events, _) = claude(&stream.concat());
    let lists = ["[read Pending]", "[read Pending, write Pending]", "[read Completed, write Pending]"];
    assert_eq!(todo_lists(&events), [&lists[..], &["[read Completed]"]].concat());
    // A call that failed has created nothing.
    let (start, end) = stream[0].split_once('\n').unwrap_or_default();
    let failed = end.replace("\"tool_use_id\"", "\"is_error\":true,\"tool_use_id\"");
    assert!(todo_lists(&claude(&format!("{start}\n{failed}")).0).is_empty());
}

#[test]
fn codex_plan_items_are_todo_lists() {
    let plan = |key: &str, stage: &str, status: &str| {
        format!(
            r#"{{"type":"item.{stage}","item":{{"id":"p","type":"plan","{key}":[{{"step":"read","status":"completed"}},{{"step":"write","status":"{status}"}}]}}}}"#
        ) + "\n"
    };
    for key in ["plan", "items"] {
        let stream = plan(key, "started", "pending") + &plan(key, "updated", "inProgress");
        let (events, seen) = codex(&(stream + &plan(key, "completed", "inProgress")));
        assert_eq!(
            todo_lists(&events),
            ["[read Completed, write Pending]", "[read Completed, write InProgress]"]
        );
        assert_eq!(seen.other, 0);
    }
    let text = r#"{"type":"item.completed","item":{"id":"p","type":"plan","text":"1. read <response>DONE</response>"}}"#;
    let (events, seen) = codex(text);
    assert_eq!(events, "notice \"1. read <response>DONE</response>\"\n");
    assert_eq!((seen.tag, seen.text), (None, false), "a plan is no claim");
}

#[test]
fn the_error_text_of_a_tool_result_is_part_of_its_output() {
    let end = |fields: &str| {
        let (events, seen) = claude(&format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t",{fields}}}]}}}}"#
        ));
        (events, seen.tool_errors)
    };
    let failed = |output: &str| (format!("failed t {output:?}\n"), 1);
    assert_eq!(end(r#""error":"no such file""#), failed("no such file"));
    assert_eq!(end(r#""content":"","error":{"message":"no such file"}"#), failed("no such file"));
    assert_eq!(end(r#""content":"half","error":"cut off","is_error":true"#), failed("half\ncut off"));
    assert_eq!(end(r#""content":"cut off","error":"cut off""#), failed("cut off"));
    assert_eq!(end(r#""content":"fine","error":null"#), ("ended t \"fine\"\n".to_owned(), 0));
    let (events, _) = codex(
        r#"{"type":"item.completed","item":{"id":"t","type":"mcp_tool_call","server":"s","tool":"f","result":{"content":[{"type":"text","text":"half"}]},"error":"cut off","status":"failed"}}"#,
    );
    assert!(events.ends_with("failed t \"half\\ncut off\"\n"), "{events}");
}

#[test]
fn the_first_denial_is_kept_with_its_reason() {
    let denial = |name: &str| capture(name).read().1.denial.unwrap_or_default();
    assert!(denial("claude-default-perms").starts_with("Bash: Output redirection to"));
    // Only the failed call itself says that a hook denied it.
    assert!(
        denial("claude-hooks").starts_with("Bash: PreToolUse:Bash hook error"),
        "{}",
        denial("claude-hooks")
    );
    assert_eq!(denial("codex-described"), "shell: rejected by policy");
}
