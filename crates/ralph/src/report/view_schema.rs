//! The JSON schema of the view of a run: `ralph schema view`.
//!
//! A row per field, with its meaning. Later versions may add fields, so the schema allows others.

use ralph_loop::event::StopReason;
use serde_json::{Map, Value, json};

/// A field, what it can be, and what it means.
type Row = (&'static str, Value, &'static str);

pub fn schema() -> Value {
    let rows = [who(), how_far(), what_now(), what_it_took(), how_it_ends()].concat();
    let mut schema = object(rows);
    schema.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".into(), "ralph view".into());
    let about = "A run as it is now, or as it ended: the field `view` of each object that `ralph ls`, `ralph status` \
                 and `ralph runs` print with --format json or ndjson. Fields ending in `_at` are milliseconds since \
                 1970; fields ending in `_ms` are milliseconds, `since_ms` and `until_ms` on the run's own clock \
                 (`up_ms`), which stops while nothing of the run is alive.";
    schema.insert("description".into(), about.into());
    Value::Object(schema)
}

fn who() -> Vec<Row> {
    let text = || json!({"type": "string"});
    vec![
        ("id", text(), "The id of the run."),
        ("alive", json!({"type": "boolean"}), "The run is working, waiting or paused."),
        ("plan", json!({"type": "string", "enum": ["prompt", "stories", "tasks"]}), "What it works through."),
        ("asked", text(), "What was asked, in words, on one line."),
        ("assignment", assignment(), "The same for programs."),
        ("project", text(), "The directory that it was started in."),
        ("workspace", text(), "The directory that its agents work in."),
        ("place", place(), "Whether it works in the project or in a worktree of its own."),
        ("agents", texts(), "The names of its agents, in order."),
        ("checks", texts(), "The commands of its checks."),
        ("prompt_file", or_null(text()), "The prompt file, if the prompt is in one."),
        ("done_pattern", or_null(text()), "The pattern that ends the run."),
    ]
}

fn how_far() -> Vec<Row> {
    let progress = object(vec![("done", count(), "Stories that are done."), ("of", count(), "All stories.")]);
    vec![
        ("opened_at", json!({"type": "integer"}), "When it was started."),
        ("last_at", json!({"type": "integer"}), "When something was recorded last."),
        ("up_ms", count(), "How long it has run; of a live run, up to now."),
        ("iteration", count(), "The current iteration, or the last one."),
        ("agent_began_at", or_null(json!({"type": "integer"})), "When the last agent was started."),
        ("judged", count(), "Iterations that are over."),
        ("max_iterations", count(), "The limit for iterations."),
        ("progress", or_null(Value::Object(progress)), "Stories done; null for a prompt."),
        ("story", or_null(json!({"type": "string"})), "The current story, or the next one."),
        ("title", or_null(json!({"type": "string"})), "Its title."),
        ("begun", json!({"type": "boolean"}), "A step has begun."),
    ]
}

fn what_now() -> Vec<Row> {
    let boolean = || json!({"type": "boolean"});
    let tool = object(vec![
        ("name", json!({"type": "string"}), "The tool."),
        ("input", json!({"type": "string"}), "What it was called with, on one line."),
        ("since_ms", or_null(count()), "When it was called."),
    ]);
    let agent = object(vec![
        ("tool", or_null(Value::Object(tool)), "The tool that the agent is using."),
        ("words", or_null(json!({"type": "string"})), "The last words of the agent."),
    ]);
    let why = json!({"enum": ["not_ready", "permission", "question", "interrupted", "idle", null]});
    let person = object(vec![
        ("why", why, "What the person is needed for."),
        ("text", json!({"type": "string"}), "The question, or what else there is to do."),
        ("since_ms", count(), "Since when it waits."),
    ]);
    let check = object(vec![
        ("command", json!({"type": "string"}), "The command of the check."),
        ("outcome", outcome(), "How it ended."),
    ]);
    let low_disk = object(vec![
        ("free", count(), "Free bytes."),
        ("least", count(), "Bytes that the run requires (minFreeSpace)."),
        ("at", json!({"type": "string"}), "A path on that disk."),
    ]);
    vec![
        (
            "now",
            or_null(json!({"type": "string"})),
            "What it is doing and for how long, in words; null once it is over.",
        ),
        ("doing", doing(), "The same for programs."),
        (
            "agent_now",
            Value::Object(agent),
            "What the current agent is doing, as far as its output shows it.",
        ),
        (
            "waits_for_person",
            or_null(Value::Object(person)),
            "What an interactive agent waits for a person to do in its terminal: see docs/interactive.md.",
        ),
        (
            "check_results",
            json!({"type": "array", "items": check}),
            "Checks of the current iteration that have ended.",
        ),
        ("paused", boolean(), "The user has paused it."),
        ("leaving", boolean(), "It stops after the current step."),
        ("stops_asked", count(), "How often the user has asked it to stop."),
        ("low_disk", or_null(Value::Object(low_disk)), "The disk that is nearly full."),
        ("silence_ms", or_null(count()), "How long the agent may be silent."),
    ]
}

fn what_it_took() -> Vec<Row> {
    let dollars = || json!({"type": "number", "minimum": 0});
    let tokens = object(vec![
        ("input", count(), "Tokens read."),
        ("output", count(), "Tokens written."),
        ("cache_read", count(), "Tokens read from the cache."),
        ("cache_write", count(), "Tokens written to the cache."),
    ]);
    vec![
        ("spent", dollars(), "US dollars so far, the current agent included as far as its output shows it."),
        ("spent_estimated", json!({"type": "boolean"}), "Some of it is estimated from tokens."),
        ("max_cost", or_null(dollars()), "The limit in US dollars."),
        ("tokens", Value::Object(tokens), "Tokens so far."),
        ("consecutive_failures", count(), "Failed iterations in a row."),
        ("total_failures", count(), "Failed iterations."),
    ]
}

fn how_it_ends() -> Vec<Row> {
    let words = StopReason::ALL.map(|reason| Value::from(reason.word()));
    let reason = json!({"enum": words.into_iter().chain([Value::Null]).collect::<Vec<_>>()});
    let resumable = json!({"type": "string", "enum": ["now", "with_higher_limit", "never"]});
    vec![
        ("reason", reason, "Why it stopped; null while it has not."),
        ("note", or_null(json!({"type": "string"})), "More about that."),
        ("success", json!({"type": "boolean"}), "What was asked is done."),
        ("proof", or_null(json!({"type": "string"})), "What that is worth: see docs/proof.md."),
        ("resumable", resumable, "Whether `ralph resume` can continue it."),
    ]
}

fn assignment() -> Value {
    let text = || json!({"type": "string"});
    one_of(vec![
        ("text", object(vec![("hash", text(), "The name of the prompt in the run's texts/.")])),
        ("file", object(vec![("path", text(), "The prompt file.")])),
        (
            "stories",
            object(vec![
                ("count", count(), "How many."),
                ("first", or_null(text()), "The first one."),
                ("last", or_null(text()), "The last one."),
            ]),
        ),
        (
            "tasks",
            object(vec![
                ("dir", text(), "The directory of the task list."),
                ("project", or_null(text()), "The project that the list names."),
            ]),
        ),
    ])
}

fn place() -> Value {
    let text = || json!({"type": "string"});
    let worktree = object(vec![
        ("path", text(), "The worktree."),
        ("branch", text(), "Its branch."),
        ("origin", text(), "The directory that the run was started in."),
    ]);
    json!({"anyOf": [{"const": "here"}, one_of(vec![("worktree", worktree)])]})
}

fn doing() -> Value {
    let text = || json!({"type": "string"});
    let alone = ["checkpoint", "prepare_copy", "commit_message", "commit_worktree", "restore", "read_tasks"];
    let alone: Vec<&str> = alone.into_iter().chain(["look_for_uncommitted"]).collect();
    let work = json!({"anyOf": [
        {"type": "string", "enum": alone},
        one_of(vec![
            ("agent", object(vec![("name", text(), "The agent.")])),
            ("check", object(vec![("command", text(), "The command of the check.")])),
            ("scm", object(vec![("task", text(), "The source control task.")])),
        ]),
    ]});
    let waits_for = json!({"enum": ["space", "usage_limit", "service", "backoff", null]});
    one_of(vec![
        ("step", object(vec![("work", work, "The current step."), ("since_ms", count(), "When it began.")])),
        (
            "waiting",
            object(vec![
                ("until_ms", or_null(count()), "When the wait ends."),
                ("waits_for", waits_for, "What it waits for."),
            ]),
        ),
    ])
}

fn outcome() -> Value {
    let number = || json!({"type": "integer"});
    let exit = one_of(vec![("code", map(number())), ("signal", map(number()))]);
    json!({"anyOf": [
        {"const": "passed"},
        {"type": "object", "properties": {"failed": exit}, "required": ["failed"]},
        one_of(vec![("timed_out", object(vec![("after_ms", count(), "After so long.")]))]),
    ]})
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// An object with one of these keys.
fn one_of(kinds: Vec<(&str, Map<String, Value>)>) -> Value {
    let kind = |(name, shape): (&str, Map<String, Value>)| json!({"type": "object", "properties": {name: shape}, "required": [name]});
    json!({"anyOf": kinds.into_iter().map(kind).collect::<Vec<_>>()})
}

/// All of the fields are always there.
fn object(rows: Vec<Row>) -> Map<String, Value> {
    let required: Vec<&str> = rows.iter().map(|(name, ..)| *name).collect();
    let mut properties = Map::new();
    for (name, shape, doc) in rows {
        let mut shape = map(shape);
        shape.insert("description".into(), doc.into());
        properties.insert(name.into(), shape.into());
    }
    let mut object = Map::new();
    object.insert("type".into(), "object".into());
    object.insert("required".into(), required.into());
    object.insert("properties".into(), properties.into());
    object
}

fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn texts() -> Value {
    json!({"type": "array", "items": {"type": "string"}})
}

fn or_null(shape: Value) -> Value {
    let mut shape = map(shape);
    if let Some(kind) = shape.remove("type") {
        shape.insert("type".into(), json!([kind, "null"]));
    }
    shape.into()
}
