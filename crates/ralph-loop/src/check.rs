//! Checks: commands whose exit code says whether the work is right.
//!
//! A check is ralph's, not the agent's: it is fixed when the run begins, and its result
//! is a fact of its own.

use crate::dialect::Exit;
use crate::proof::{OnlyOutside, TestsSeen};
use crate::text;
use crate::time;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckSpec {
    pub command: String,
    pub timeout_ms: u64,
    /// How a failure enters the next prompt.
    pub fail_action: FailAction,
    pub hint: Option<String>,
    pub excerpt: Excerpt,
    pub origin: Origin,
}

/// Where the text about a failed check stands in the next prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum FailAction {
    Append,
    Prepend,
    Replace,
}

/// The part of a check's output that the agent gets to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Excerpt {
    Head { chars: usize },
    Tail { chars: usize },
}

impl Excerpt {
    pub fn of(self, output: &str) -> Cow<'_, str> {
        match self {
            Excerpt::Head { chars } => text::head(output, chars),
            Excerpt::Tail { chars } => text::tail(output, chars),
        }
    }
}

/// Who asked for the check; its name in messages follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// `guardrails` in the settings.
    Guardrail,
    /// `--check`.
    Flag,
}

impl Origin {
    pub fn noun(self) -> &'static str {
        match self {
            Origin::Guardrail => "Guardrail",
            Origin::Flag => "Check",
        }
    }
}

/// A name for each check's log, fit for a file: the slug of its command as it is shown, numbered
/// where two commands would share one.
pub fn log_names<C: AsRef<str>>(commands: impl IntoIterator<Item = C>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for command in commands {
        let slug = text::slug(command.as_ref());
        let mut name = slug.clone();
        let mut copy = 2;
        while names.contains(&name) {
            name = format!("{slug}_{copy}");
            copy += 1;
        }
        names.push(name);
    }
    names
}

/// How one check of one iteration ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckEnd {
    pub exit: Exit,
    pub duration_ms: u64,
    /// The whole output, relative to the workspace where it lies inside.
    pub log: PathBuf,
    /// The excerpt for the next prompt, by hash; none for a check that passed.
    pub excerpt: Option<String>,
    /// One line that says what is wrong.
    pub summary: Option<String>,
    /// Processes that the check left behind and that were ended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub swept: u32,
    /// The tests that it ran, as far as its output says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestsSeen>,
    /// Delivered files that it has changed, and new ones, the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Tests and checks that it has written to, whatever is in them now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touched: Vec<String>,
    /// Of one that ran outside because it is red in the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_outside: Option<Box<OnlyOutside>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// What a check has shown, with what ralph itself did to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckResult {
    pub index: usize,
    pub outcome: CheckOutcome,
    pub log: PathBuf,
    pub excerpt: Option<String>,
    pub summary: Option<String>,
    pub tests: Option<TestsSeen>,
    /// Delivered files that it has changed, and tests and checks that it has written to.
    pub changed: Vec<String>,
    pub touched: Vec<String>,
    /// It passes in the workspace and fails on a clean copy: ignored files that only the former has.
    pub only_on_copy: Option<Vec<String>>,
    /// Of one that ran outside because it is red in the sandbox.
    pub only_outside: Option<Box<OnlyOutside>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    Passed,
    Failed(Exit),
    TimedOut { after_ms: u64 },
}

impl CheckOutcome {
    pub fn of(exit: Exit) -> CheckOutcome {
        match exit {
            Exit::Code(0) => CheckOutcome::Passed,
            Exit::Code(_) | Exit::Signal(_) => CheckOutcome::Failed(exit),
        }
    }

    pub fn passed(self) -> bool {
        matches!(self, CheckOutcome::Passed)
    }
}

/// `passed`, `failed with exit code 1`, `timed out after 120s`.
impl std::fmt::Display for CheckOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CheckOutcome::Passed => f.write_str("passed"),
            CheckOutcome::Failed(Exit::Code(code)) => write!(f, "failed with exit code {code}"),
            CheckOutcome::Failed(Exit::Signal(signal)) => write!(f, "failed: killed by signal {signal}"),
            CheckOutcome::TimedOut { after_ms } => write!(f, "timed out after {}", time::seconds(*after_ms)),
        }
    }
}
