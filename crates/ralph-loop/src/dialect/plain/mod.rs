//! Any other program: its output is text, its exit code the only verdict.

mod command;
mod stream;

pub(super) use stream::Plain;

use super::Reader;
use super::spec::{DialectSpec, Listener, OutputKind};

pub(super) const SPEC: DialectSpec = DialectSpec {
    name: "plain",
    install: "any program: ralph run \"...\" -- COMMAND",
    log_in: "log in or set its API key",
    prompt: "stdin, or in place of {prompt} or {prompt_file}",
    output: OutputKind::Text,
    autonomous: None,
    reports_tokens: false,
    reports_cost: false,
    verified: None,
    works: "any program that reads a prompt; exit code 0 means success",
    cannot_verify: Some("a plain agent can be any program, and only its exit code matters"),
    instructions: "AGENTS.md",
    usual_model: None,
    complaints: &[],
    command_line: command::command_line,
    model: |_| None,
    model_flags: &["--model"],
    model_in_config: None,
    skips_permissions: None,
    can_commit: None,
    planning: None,
    reader,
};

fn reader(listener: Listener<'_>) -> Reader {
    let Listener { prompt, listen, pattern } = listener;
    Reader::Plain(Box::new(Plain::new(prompt, listen, pattern.as_ref())))
}
