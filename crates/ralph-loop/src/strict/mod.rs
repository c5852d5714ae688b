//! The rules of a good list: what `check --strict` finds in tasks and in the specs of stories.
//!
//! A list can be valid and still be a bad plan: stories too big for one iteration, criteria that
//! cannot be verified, checks that cannot fail. The rules read words, so they are cautious: a fault
//! is something that a reader would reject at once, everything else is a warning. Stories that are
//! done or in review are never faulted.
//!
//! Deliberately absent: whether the commands of a list exist and run. That needs the project.

mod commands;
mod criteria;
mod dependencies;
mod duplicates;
mod item;
mod order;
mod placeholder;
mod repairs;
mod sentences;
mod size;
mod specs;
mod structure;
mod tasks;
mod words;

pub use commands::no_check;
pub use repairs::repairs;
pub use specs::{Spec, specs};
pub use structure::{ListError, StoryLines, list_errors};
pub use tasks::{PLACEHOLDER_BRANCH, task_rules, tasks};

use serde::Serialize;
use std::fmt;

/// Something in a list that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// As the caller names it.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// Its id; nothing for the list as a whole.
    pub story: Option<String>,
    pub rule: Rule,
    pub level: Level,
    /// What is wrong, without the story's id.
    pub what: String,
    /// What to change.
    pub fix: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The list must not be run like this.
    Fault,
    /// Worth a look; it may be right.
    Warning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The list is malformed, contradicts itself, or has a story that can never start.
    Valid,
    /// A story fits into one iteration: its change can be described in two or three sentences.
    OneIteration,
    /// Acceptance criteria say what can be observed.
    Criteria,
    /// Schema, backend, API, frontend, integration; and dependencies come first.
    Order,
    /// A story depends explicitly on the stories that it needs.
    Dependencies,
    /// The list has checks, and they can fail.
    VerifyCommands,
    /// A story that has not been started has nothing done and nothing reviewed.
    InitialFields,
    /// No two stories are the same.
    Duplicates,
    /// Every text was written, none is left from a template.
    Placeholder,
}

impl Rule {
    pub const ALL: [Rule; 9] = [
        Rule::Valid,
        Rule::OneIteration,
        Rule::Criteria,
        Rule::Order,
        Rule::Dependencies,
        Rule::VerifyCommands,
        Rule::InitialFields,
        Rule::Duplicates,
        Rule::Placeholder,
    ];

    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Valid => "valid",
            Rule::OneIteration => "one-iteration",
            Rule::Criteria => "criteria",
            Rule::Order => "order",
            Rule::Dependencies => "dependencies",
            Rule::VerifyCommands => "verify-commands",
            Rule::InitialFields => "initial-fields",
            Rule::Duplicates => "duplicates",
            Rule::Placeholder => "placeholder",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a list with these findings may be run.
pub fn is_good(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.level == Level::Warning)
}

/// By place, faults first at the same line.
fn sorted(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by(|a, b| (&a.file, a.line, a.level, a.rule).cmp(&(&b.file, b.line, b.level, b.rule)));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story_id::StoryId;
    use proptest::prelude::*;

    /// Words that the rules look for, with whatever people type around them.
    fn text() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            Just("works"),
            Just("correctly."),
            Just("US-001"),
            Just("after"),
            Just("story 1.1"),
            Just("TODO:"),
            Just("e.g."),
            Just("ies"),
            Just("# Story"),
            Just("- [ ]"),
            Just("---"),
            Just("```"),
            Just("<!--"),
            Just("é…"),
            Just("(x"),
            Just("\n"),
            Just("||"),
            Just("'"),
            Just("\"a"),
            Just("…s"),
            Just("schema"),
            Just("page"),
            Just("is fast"),
        ];
        let words = proptest::collection::vec(prop_oneof![word.prop_map(str::to_owned), ".{0,6}"], 0..12);
        words.prop_map(|words| words.join(" "))
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd_for_a_task_list(one in text(), other in text(), command in text()) {
            let story = |id: &str, text: &str| serde_json::json!({
                "id": id, "title": text, "description": text, "acceptanceCriteria": [text, one], "dependsOn": [other],
            });
            let list = serde_json::json!({
                "verifyCommands": [command], "userStories": [story("US-001", &one), story("US-002", &other)],
            });
            let text = format!("{list:#}");
            let lines = text.lines().count();
            for finding in tasks("tasks.json", &text) {
                prop_assert!((1..=lines).contains(&finding.line), "{finding:?}");
            }
            tasks("tasks.json", &one);
        }

        #[test]
        fn no_text_is_too_odd_for_a_spec(one in text(), other in text()) {
            let spec = |story: u32, text| {
                let id = StoryId { epic: 1, story };
                Spec { file: "spec.md", id, title: text, depends_on: Vec::new(), text, done: false }
            };
            let lines = one.lines().count().max(other.lines().count()).max(1);
            for finding in specs(&[spec(1, &one), spec(2, &other)]) {
                prop_assert!((1..=lines).contains(&finding.line), "{finding:?}");
            }
        }
    }
}
