//! Claude Code.

mod command;
mod interactive;
mod planning;
mod stream;

pub(super) use stream::{Claude, UserText};

use super::refusal::Refusal;
use super::spec::{DialectSpec, Listener, OutputKind};
use super::{Reader, command as by};

pub(super) const SPEC: DialectSpec = DialectSpec {
    name: "claude",
    install: "npm install -g @anthropic-ai/claude-code",
    log_in: "log in (claude /login) or set its API key",
    prompt: "stdin",
    output: OutputKind::Stream,
    autonomous: Some("--dangerously-skip-permissions"),
    reports_tokens: true,
    reports_cost: true,
    verified: Some("2.1.325"),
    works: "loops, denials, limits, API errors, signals, resume",
    cannot_verify: None,
    instructions: "CLAUDE.md",
    usual_model: Some("claude-opus"),
    complaints: &[
        ("--dangerously-skip-permissions cannot be used with root", Refusal::Root),
        ("error: unknown option", Refusal::Flag),
        ("error: option '--model", Refusal::Model),
        ("error: option '-", Refusal::Flag),
    ],
    command_line: command::command_line,
    model: by::model_of_flag,
    model_flags: &["--model"],
    model_in_config: None,
    skips_permissions: Some(command::skips_permissions),
    can_commit: None,
    planning: Some(planning::SPEC),
    reader,
};

fn reader(listener: Listener<'_>) -> Reader {
    Reader::Claude(Claude::new(UserText::Notice, listener.scanner()))
}
