//! Agents' real output, read whole and in pieces.
//!
//! `captures/` holds what real agents printed. Each event is shown as one line, so that a
//! snapshot reads like the run it tells of.

use proptest::prelude::*;
use ralph_loop::dialect::{AgentEvent, Answer, Dialect, Exit, Seen, StreamReader, answer};
use ralph_loop::text::clip;
use std::fmt::Write;

const TOOL: &[u8] = include_bytes!("captures/claude-tool.ndjson");
const RATE_LIMITED: &[u8] = include_bytes!("captures/claude-err429-forever.ndjson");
const DENIED: &[u8] = include_bytes!("captures/claude-default-perms.ndjson");
const INTERRUPTED: &[u8] = include_bytes!("captures/claude-sig-INT.ndjson");
const OLD: &[u8] = include_bytes!("captures/claude-old-ratelimit.ndjson");
const BACKGROUND: &[u8] = include_bytes!("captures/claude-background.ndjson");
const MAX_TURNS: &[u8] = include_bytes!("captures/claude-max-turns.ndjson");
const CAPTURES: [&[u8]; 7] = [TOOL, RATE_LIMITED, DENIED, INTERRUPTED, OLD, BACKGROUND, MAX_TURNS];

/// The events, a line each, and what they came to.
fn read(dialect: Dialect, prompt: &str, reads: &[&[u8]]) -> (String, Seen) {
    let mut shown = String::new();
    let mut sink = |event: AgentEvent<'_>| shown.push_str(&show(&event));
    let mut reader = StreamReader::new(dialect, prompt);
    for bytes in reads {
        reader.feed(bytes, &mut sink);
    }
    let seen = reader.finish(&mut sink);
    (shown, seen)
}

fn claude(stream: &str) -> (String, Seen) {
    read(Dialect::Claude, "", &[stream.as_bytes()])
}

fn plain(prompt: &str, output: &str) -> Seen {
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
fn record(seen: &Seen) -> String {
    serde_json::to_string_pretty(seen).unwrap_or_default()
}

/// A capture as a page: its events, its record, and the judgement.
fn page(capture: &[u8], code: i32) -> String {
    let (mut page, seen) = read(Dialect::Claude, "", &[capture]);
    let _ = writeln!(page, "\n{}\n{:?}", record(&seen), answer(Dialect::Claude, Exit::Code(code), &seen));
    page
}

#[test]
fn a_run_with_tools_reads_as_it_went() {
    insta::assert_snapshot!("tool", page(TOOL, 0));
}

#[test]
fn a_rate_limit_is_a_failure_though_the_result_says_success() {
    insta::assert_snapshot!("err429-forever", page(RATE_LIMITED, 1));
}

#[test]
fn denied_writes_are_counted_once_each() {
    insta::assert_snapshot!("default-perms", page(DENIED, 0));
}

#[test]
fn an_interrupted_run_is_a_failure_though_it_exits_with_zero() {
    insta::assert_snapshot!("sig-INT", page(INTERRUPTED, 0));
}

#[test]
fn an_older_version_is_read_too() {
    insta::assert_snapshot!("old-ratelimit", page(OLD, 0));
}

#[test]
fn the_last_result_counts_and_its_cost_is_not_added() {
    let (_, seen) = read(Dialect::Claude, "", &[BACKGROUND]);
    assert_eq!(seen.cost.map(|cost| cost.to_string()).as_deref(), Some("$0.0150"));
    assert_eq!((seen.tokens.input, seen.tokens.output), (3000, 150));
    assert_eq!((seen.steps, seen.tools), (3, 1));
    assert_eq!(seen.tag.as_deref(), Some("DONE"));
}

#[test]
fn a_failure_that_is_no_api_error_keeps_its_reason() {
    let (_, seen) = read(Dialect::Claude, "", &[MAX_TURNS]);
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
    insta::assert_snapshot!("rare-kinds", format!("{events}\n{}", record(&seen)));
}

#[test]
fn a_line_with_broken_text_is_mended() {
    let line = br#"{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":"a\ud83d b\ud83d\ude00 \\ud83d c"#;
    let stream = [line.as_slice(), b"\xff", br#""}]}}"#].concat();
    let (events, seen) = read(Dialect::Claude, "", &[&stream]);
    assert_eq!(events, "text \"a\u{fffd} b\u{1f600} \\\\ud83d c\u{fffd}\"\n");
    assert_eq!(seen.unparsed, 0);
}

#[test]
fn a_line_that_is_too_long_is_told_and_not_kept() {
    let long = "x".repeat(9 << 20);
    for dialect in [Dialect::Claude, Dialect::Plain] {
        let (events, seen) = read(dialect, "", &[long.as_bytes(), b"\n"]);
        assert_eq!(events, format!("unparsed {} \"\"\n", 9 << 20));
        assert_eq!(seen.unparsed, 1);
    }
}

#[test]
fn a_plain_agents_text_is_its_claim() {
    let seen = plain("", "working\n\x1b[1m<resp\x1b[0monse>DONE</response>\n");
    assert_eq!((seen.tag.as_deref(), seen.text, seen.steps), (Some("DONE"), true, 1));
    assert_eq!(answer(Dialect::Plain, Exit::Code(0), &plain("", " \n\n")), Answer::Empty);
}

#[test]
fn a_plain_agent_that_echoes_its_prompt_claims_nothing() {
    let prompt = format!("Do the work.\nThen say:\n{DONE}\n");
    let echo = plain(&prompt, &prompt);
    assert_eq!((echo.tag, echo.text), (None, false));
    let honest = plain(&prompt, &format!("{prompt}\nDid it.\n{DONE}\n"));
    assert_eq!((honest.tag.as_deref(), honest.text), (Some("DONE"), true));
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
    ]);
    let noise = prop::collection::vec(any::<u8>(), 0..20);
    prop::collection::vec(prop_oneof![4 => word, 1 => noise], 0..30).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn any_cut_of_a_capture_gives_the_same_events(which in 0..CAPTURES.len(), cuts in cuts()) {
        let capture = CAPTURES[which];
        let cut = read(Dialect::Claude, "", &pieces(capture, &cuts));
        prop_assert_eq!(cut, read(Dialect::Claude, "", &[capture]));
    }

    #[test]
    fn any_cut_of_any_output_gives_the_same_events(output in output(), cuts in cuts()) {
        let prompt = "Do it.\nSay <response>DONE</response>\nNow.\n";
        for dialect in [Dialect::Claude, Dialect::Plain] {
            let cut = read(dialect, prompt, &pieces(&output, &cuts));
            prop_assert_eq!(cut, read(dialect, prompt, &[&output]));
        }
    }

    #[test]
    fn a_capture_with_damage_is_read_without_panic(
        which in 0..CAPTURES.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..30),
    ) {
        let mut capture = CAPTURES[which].to_vec();
        for (at, byte) in damage {
            let at = at.index(capture.len());
            capture[at] = byte;
        }
        read(Dialect::Claude, "", &[&capture]);
    }
}
