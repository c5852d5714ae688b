//! The prompt of one iteration, put together from what is known.
//!
//! Order, from the top: the iteration count, the failures that go before the base, the
//! base (or the failures that stand in its place), the failures that go after it, the
//! user's notes, and last the context. Parts are kept apart by an empty line.

use crate::check::{CheckOutcome, CheckResult, CheckSpec, FailAction};
use crate::plan::prompt::Completion;
use crate::proof::Proof;
use crate::text;
use std::fmt::Write;

pub struct Parts<'a> {
    pub base: &'a str,
    /// Checks that failed in the iteration before, or before the first one.
    pub failures: Vec<Failure<'a>>,
    /// Work that was not accepted although its checks pass.
    pub refused: Option<&'a Proof>,
    pub iteration: u32,
    pub of: u32,
    pub iteration_count: bool,
    /// What the user wants the agent to know.
    pub notes: Vec<String>,
    /// Hosts that could not be reached.
    pub network: Option<String>,
    pub context: Option<Context<'a>>,
}

pub struct Failure<'a> {
    pub spec: &'a CheckSpec,
    pub result: &'a CheckResult,
    pub excerpt: &'a str,
}

pub struct Context<'a> {
    pub completion: &'a Completion,
    pub checks: &'a [CheckSpec],
    /// What has changed since the run began.
    pub diff: Option<&'a str>,
    /// The progress file.
    pub progress: &'a str,
}

/// The most of the diff and of the progress file that a prompt carries, in characters.
pub const CONTEXT_CHARS: usize = 5_000;

pub fn compose(parts: &Parts<'_>) -> String {
    // What was red before the first agent is beside the task and never in its place.
    let action = |failure: &Failure<'_>| match parts.iteration {
        1 => FailAction::Append,
        _ => failure.spec.fail_action,
    };
    let texts = |wanted| parts.failures.iter().filter(move |f| action(f) == wanted).map(Failure::message);
    let mut blocks: Vec<String> = Vec::new();
    if parts.iteration_count {
        let left = parts.of.saturating_sub(parts.iteration);
        blocks.push(format!("Iteration {} of {}, {left} remaining.", parts.iteration, parts.of));
    }
    blocks.extend(texts(FailAction::Prepend));
    let before_base = blocks.len();
    blocks.extend(texts(FailAction::Replace));
    if blocks.len() == before_base {
        blocks.push(parts.base.to_string());
    }
    blocks.extend(texts(FailAction::Append));
    blocks.extend(parts.refused.map(refusal));
    blocks.extend(parts.notes.iter().map(|note| format!("A note from the user:\n{}", note.trim_end())));
    blocks.extend(parts.network.clone());
    blocks.extend(parts.context.as_ref().map(|context| context.block(parts)));
    blocks.join("\n\n")
}

/// What an agent is told about a check that fails only on a clean copy; nothing about others.
pub fn only_on_copy(result: &CheckResult) -> String {
    let Some(ignored) = &result.only_on_copy else { return String::new() };
    let mut out = String::from(
        "It passes in the working tree and fails on a clean copy of what is delivered: tracked and new \
         files, without ignored ones, with an empty /tmp.\n",
    );
    if !ignored.is_empty() {
        let _ = writeln!(out, "Ignored, and so not delivered: {}", ignored.join(", "));
    }
    out.push_str(
        "Deliver what it needs. If that is not possible, say in your answer what it needs: only the user \
         can allow that.\n",
    );
    out
}

/// Why green checks were not enough.
pub fn refusal(proof: &Proof) -> String {
    let gates = proof.changed_gates();
    let lost = proof.tests.as_ref().and_then(|tests| tests.changed.as_ref());
    let lost = lost.filter(|lost| !lost.named.is_empty()).map(|lost| lost.named.join(", "));
    let mut out = format!("The last answer was not accepted: {}.\n", proof.word.sentence());
    if !gates.is_empty() {
        let _ = writeln!(
            out,
            "The checks pass only with these changes to tests and checks: {gates}\n\
             Make them pass with the tests and checks as they were, and put these files back."
        );
    }
    if let Some(lost) = lost {
        let _ = writeln!(out, "Tests that passed before and did not run or pass now: {lost}");
    }
    out.trim_end().to_string()
}

impl Failure<'_> {
    fn message(&self) -> String {
        let CheckSpec { command, origin, hint, .. } = self.spec;
        let how = match self.result.outcome {
            CheckOutcome::TimedOut { .. } => format!("failed: {}", self.result.outcome),
            outcome @ (CheckOutcome::Failed(_) | CheckOutcome::Passed) => outcome.to_string(),
        };
        let mut out = format!("{} \"{command}\" {how}.\n", origin.noun());
        if let Some(hint) = hint {
            let _ = writeln!(out, "Hint: {hint}"); // writing to a String cannot fail
        }
        out.push_str(&only_on_copy(self.result));
        let _ = write!(
            out,
            "Output file: {}\nOutput (truncated):\n{}",
            self.result.log.display(),
            self.excerpt.trim_end()
        );
        out
    }
}

impl Context<'_> {
    fn block(&self, parts: &Parts<'_>) -> String {
        let mut out = format!(
            "---\nThis is iteration {} of {}. You start with a fresh context: the work of earlier iterations is in the files and \
             summarized here.\n",
            parts.iteration, parts.of
        );
        match (self.completion, self.checks.is_empty()) {
            (Completion::Response(word), no_checks) => {
                let _ = write!(
                    out,
                    "\nWhen the whole task is done, end your answer with this line:\n\
                     <response>{word}</response>\n{}",
                    if no_checks { "" } else { "It counts only if all checks pass after you exit.\n" }
                );
            }
            (Completion::Pattern(pattern), _) => {
                let _ = writeln!(
                    out,
                    "\nWhen the whole task is done, say so on a line of its own that matches: {pattern}"
                );
            }
            (Completion::Never, _) => {}
            (Completion::ChecksOnly, _) => out.push_str("\nThe task is done when all checks pass.\n"),
        }
        if !self.checks.is_empty() {
            out.push_str("\nChecks that run after you exit; each must exit with 0:\n");
            for check in self.checks {
                let _ = writeln!(out, "- {}", check.command);
            }
        }
        if let Some(diff) = self.diff.filter(|diff| !diff.is_empty()) {
            let _ = writeln!(out, "\nChanged since the run started:\n{}", text::head(diff, CONTEXT_CHARS));
        }
        if !self.progress.is_empty() {
            let progress = text::tail(self.progress, CONTEXT_CHARS);
            let _ = writeln!(out, "\nProgress so far:\n{}", progress.trim_end());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Excerpt, Origin};
    use crate::dialect::Exit;

    fn spec(command: &str, fail_action: FailAction, hint: Option<&str>) -> CheckSpec {
        CheckSpec {
            command: command.into(),
            timeout_ms: 120_000,
            fail_action,
            hint: hint.map(String::from),
            excerpt: Excerpt::Head { chars: 5_000 },
            origin: Origin::Guardrail,
        }
    }

    fn result(outcome: CheckOutcome) -> CheckResult {
        let log = ".ralph/guardrail_1_make.log".into();
        CheckResult {
            index: 0,
            outcome,
            log,
            excerpt: None,
            summary: None,
            tests: None,
            changed: vec![],
            touched: vec![],
            only_on_copy: None,
            only_outside: None,
        }
    }

    #[track_caller]
    fn check(actions: &[(&str, FailAction)], expected: &[&str]) {
        let specs: Vec<_> = actions.iter().map(|(name, action)| spec(name, *action, None)).collect();
        let failed = result(CheckOutcome::Failed(Exit::Code(1)));
        let failures = specs.iter().map(|spec| Failure { spec, result: &failed, excerpt: "boom" }).collect();
        let parts = Parts {
            base: "BASE",
            failures,
            refused: None,
            iteration: 2,
            of: 10,
            iteration_count: true,
            notes: vec![],
            network: None,
            context: None,
        };
        let prompt = compose(&parts);
        let heads: Vec<&str> = prompt
            .split("\n\n")
            .map(|block| block.lines().next().unwrap_or_default())
            .map(|line| line.split('"').nth(1).unwrap_or(line))
            .collect();
        assert_eq!(heads, expected);
    }

    #[test]
    fn notes_come_after_what_failed_whatever_stands_for_the_base() {
        let spec = spec("r", FailAction::Replace, None);
        let failed = result(CheckOutcome::Failed(Exit::Code(1)));
        let failures = vec![Failure { spec: &spec, result: &failed, excerpt: "boom" }];
        let notes = vec!["Mind the gap.\n".to_string()];
        let (iteration_count, context) = (false, None);
        let refused = None;
        let parts = Parts {
            base: "BASE",
            failures,
            refused,
            iteration: 2,
            of: 2,
            iteration_count,
            notes,
            network: None,
            context,
        };
        assert!(compose(&parts).ends_with("boom\n\nA note from the user:\nMind the gap."));
    }

    #[test]
    fn failed_checks_stand_where_their_action_says() {
        use FailAction::{Append, Prepend, Replace};
        let count = "Iteration 2 of 10, 8 remaining.";
        check(&[], &[count, "BASE"]);
        check(&[("a", Append)], &[count, "BASE", "a"]);
        check(&[("p", Prepend)], &[count, "p", "BASE"]);
        check(&[("r", Replace)], &[count, "r"]);
        check(
            &[
                ("a1", Append),
                ("r1", Replace),
                ("p1", Prepend),
                ("r2", Replace),
                ("a2", Append),
                ("p2", Prepend),
            ],
            &[count, "p1", "p2", "r1", "r2", "a1", "a2"],
        );
    }

    #[test]
    fn what_was_red_before_the_first_agent_never_stands_in_the_place_of_the_task() {
        let spec = spec("r", FailAction::Replace, None);
        let failed = result(CheckOutcome::Failed(Exit::Code(1)));
        let failures = vec![Failure { spec: &spec, result: &failed, excerpt: "boom" }];
        let (iteration_count, refused, notes, context) = (false, None, vec![], None);
        let parts = Parts {
            base: "BASE",
            failures,
            refused,
            iteration: 1,
            of: 2,
            iteration_count,
            notes,
            network: None,
            context,
        };
        assert!(compose(&parts).starts_with("BASE\n\nGuardrail \"r\" failed"));
    }

    #[test]
    fn a_failure_on_the_clean_copy_only_names_what_is_not_delivered() {
        let spec = spec("make test", FailAction::Append, None);
        let failed = result(CheckOutcome::Failed(Exit::Code(1)));
        let failed = CheckResult { only_on_copy: Some(vec!["build/gen.py".into()]), ..failed };
        let failure = Failure { spec: &spec, result: &failed, excerpt: "boom" };
        assert!(failure.message().contains("\nIgnored, and so not delivered: build/gen.py\n"));
    }

    #[test]
    fn a_failure_is_told_with_hint_log_and_output() {
        let spec = spec("make lint", FailAction::Append, Some("Fix lint errors only."));
        let failed = result(CheckOutcome::Failed(Exit::Code(2)));
        let failure = Failure { spec: &spec, result: &failed, excerpt: "x.rs:1: no\n" };
        assert_eq!(
            failure.message(),
            "Guardrail \"make lint\" failed with exit code 2.\nHint: Fix lint errors only.\n\
             Output file: .ralph/guardrail_1_make.log\nOutput (truncated):\nx.rs:1: no"
        );
        let slow = result(CheckOutcome::TimedOut { after_ms: 120_000 });
        let failure = Failure { spec: &spec, result: &slow, excerpt: "" };
        assert!(failure.message().starts_with("Guardrail \"make lint\" failed: timed out after 120s.\n"));
    }

    #[test]
    fn the_context_says_how_to_finish_and_comes_last() {
        let checks = [spec("make test", FailAction::Append, None)];
        let completion = Completion::Response("DONE".into());
        let context = Context {
            completion: &completion,
            checks: &checks,
            diff: Some("+new line"),
            progress: "## Iteration 1 — FAIL\n",
        };
        let parts = Parts {
            base: "BASE",
            failures: vec![],
            refused: None,
            iteration: 2,
            of: 3,
            iteration_count: false,
            notes: vec![],
            network: None,
            context: Some(context),
        };
        insta::assert_snapshot!(compose(&parts));
    }
}
