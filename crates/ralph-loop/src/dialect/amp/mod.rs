//! Amp, whose `--stream-json` is compatible with readers of Claude Code's.
//!
//! So it is: this is Claude's reader, told of the one thing that means something else. Amp says
//! the prompt again as a `user` text, where Claude Code puts what hooks and signals say.
//!
//! What else differs needs no telling apart, as each has its own name or place:
//! - Messages have no id, and each is whole.
//! - A failed result has its reason in `error`, often as `402 {…}`.
//! - The list is `todo_write`'s, with `todo` and `in-progress`; a command is in `cmd`.
//!
//! Deliberately absent: cost. Amp does not say what a run costs; `price` guesses it by tokens.

mod command;

use super::claude::{Claude, UserText};
use super::spec::{DialectSpec, Listener, OutputKind};
use super::{Reader, command as by};

pub(super) const SPEC: DialectSpec = DialectSpec {
    name: "amp",
    install: "npm install -g @sourcegraph/amp",
    log_in: "log in or set its API key",
    prompt: "argument",
    output: OutputKind::Stream,
    autonomous: Some("--dangerously-allow-all"),
    reports_tokens: true,
    reports_cost: false,
    verified: None,
    works: "untested; written from its documentation",
    cannot_verify: Some("amp only talks to its own service"),
    instructions: "AGENTS.md",
    usual_model: Some("claude-opus"),
    complaints: &[],
    command_line: command::command_line,
    model: by::model_of_flag,
    model_flags: &["--model"],
    model_in_config: None,
    skips_permissions: None,
    can_commit: None,
    planning: None,
    reader,
};

fn reader(listener: Listener<'_>) -> Reader {
    Reader::Claude(Claude::new(UserText::Prompt, listener.scanner()))
}
