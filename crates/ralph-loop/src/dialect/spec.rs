//! What ralph knows about a dialect and the program that speaks it.
//!
//! Each dialect has a directory of its own, with its row, its command line and its stream.
//! Elsewhere a dialect is named only to tell plain agents from known ones, and for what one program
//! alone has: Codex's own hooks, Claude's refusal to work for root.

use super::Reader;
use super::claim_scanner::{ClaimScanner, ScanFor};
use super::command::{Built, Flags, Invocation, Prompt};
use super::planning::PlanningSpec;
use super::refusal::Refusal;
use crate::done_pattern::DonePattern;

pub struct DialectSpec {
    /// Of the program and of the dialect.
    pub name: &'static str,
    /// The command that installs the program.
    pub install: &'static str,
    /// What the user does about a program that is not logged in.
    pub log_in: &'static str,
    /// How the prompt gets in.
    pub prompt: &'static str,
    /// What comes out.
    pub output: OutputKind,
    /// The flag with which it runs tools without asking.
    pub autonomous: Option<&'static str>,
    pub reports_tokens: bool,
    pub reports_cost: bool,
    /// The version that was last run through all tests.
    pub verified: Option<&'static str>,
    pub works: &'static str,
    /// Why `ralph agents verify` cannot run it.
    pub cannot_verify: Option<&'static str>,
    /// The file in a project that it reads by itself.
    pub instructions: &'static str,
    /// The model that it works with if none is named; none for programs that count no tokens.
    pub usual_model: Option<&'static str>,
    /// How the lines begin that it prints on standard error when it refuses to start.
    pub(super) complaints: &'static [(&'static str, Refusal)],
    pub(super) command_line: fn(&Invocation<'_>, &Prompt<'_>) -> Built,
    /// The model that the user's flags name.
    pub(super) model: fn(&Flags) -> Option<&str>,
    pub(super) model_flags: &'static [&'static str],
    /// The model in a line after `-c` or `--config`.
    pub(super) model_in_config: Option<fn(&str) -> Option<&str>>,
    /// Whether it starts in the mode that it refuses root; never, without a function.
    pub(super) skips_permissions: Option<fn(&Flags, bool) -> bool>,
    /// Whether it can commit with these flags, and in ralph's sandbox or not; always, without a function.
    pub(super) can_commit: Option<fn(&Flags, bool) -> bool>,
    /// How it plans; not at all, without one.
    pub(super) planning: Option<PlanningSpec>,
    pub(super) reader: fn(Listener<'_>) -> Reader,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// Events, one JSON object a line.
    Stream,
    Text,
}

impl OutputKind {
    pub fn word(self) -> &'static str {
        match self {
            OutputKind::Stream => "stream-json",
            OutputKind::Text => "text",
        }
    }
}

/// What a reader of an agent's output looks for.
pub(super) struct Listener<'a> {
    /// What the agent was sent.
    pub(super) prompt: &'a str,
    pub(super) listen: ScanFor,
    pub(super) pattern: Option<DonePattern>,
}

impl Listener<'_> {
    pub(super) fn scanner(self) -> ClaimScanner {
        ClaimScanner::new(self.listen, self.pattern)
    }
}
