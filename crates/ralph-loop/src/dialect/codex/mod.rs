//! Codex.

mod command;
mod interactive;
mod planning;
mod sentences;
mod stream;

pub(super) use stream::Codex;

use super::Reader;
use super::refusal::Refusal;
use super::spec::{DialectSpec, Listener, OutputKind};

pub(super) const SPEC: DialectSpec = DialectSpec {
    name: "codex",
    install: "npm install -g @openai/codex",
    log_in: "log in (codex login) or set its API key",
    prompt: "stdin",
    output: OutputKind::Stream,
    autonomous: Some("--sandbox workspace-write"),
    reports_tokens: true,
    reports_cost: false,
    verified: Some("0.166.0"),
    works: "loops, its sandbox, limits, API errors, signals, resume",
    cannot_verify: None,
    instructions: "AGENTS.md",
    usual_model: Some("gpt-5.5"),
    complaints: &[
        ("error: unexpected argument", Refusal::Flag),
        ("error: invalid value", Refusal::Flag),
        ("error: a value is required for", Refusal::Flag),
        ("Error: Model provider `", Refusal::Model),
    ],
    command_line: command::command_line,
    model: command::model,
    model_flags: &["--model", "-m"],
    model_in_config: Some(command::config_model),
    skips_permissions: None,
    can_commit: Some(command::can_commit),
    planning: Some(planning::SPEC),
    reader,
};

fn reader(listener: Listener<'_>) -> Reader {
    Reader::Codex(Codex::new(listener.scanner()))
}
