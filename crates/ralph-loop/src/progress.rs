//! The text of `.ralph/progress.md`: one section an iteration.
//!
//! A projection: the whole file is this function over the run's history, so it can be
//! written again from the journal at any time.

use crate::time;
use crate::view::Iteration;
use std::fmt::Write;

pub fn section(iteration: &Iteration) -> String {
    let passed = iteration.error.is_none() && iteration.all_checks_passed;
    let mut out = format!(
        "## Iteration {}{} — {}\n- Steps: {}\n- Cost: {}\n- Duration: {}\n",
        iteration.iteration,
        about(iteration),
        if passed { "PASS" } else { "FAIL" },
        iteration.steps_taken,
        iteration.cost,
        time::span(iteration.duration_ms),
    );
    if let Some(error) = &iteration.error {
        let _ = writeln!(out, "- Agent: FAIL — {}", one_line(error));
    }
    if !iteration.check_results.is_empty() {
        out.push_str("- Checks:\n");
    }
    for check in &iteration.check_results {
        // Writing to a String cannot fail.
        let _ = match check.passed {
            true => writeln!(out, "  - {}: PASS", one_line(&check.name)),
            false => writeln!(out, "  - {}: FAIL — {}", one_line(&check.name), one_line(&check.output)),
        };
    }
    out.push('\n');
    out
}

/// ` (story 1.2)`, ` (review US-001)`.
fn about(iteration: &Iteration) -> String {
    match (&iteration.story, iteration.mode) {
        (Some(id), Some(mode)) => format!(" ({mode} {id})"),
        (Some(id), None) => format!(" (story {id})"),
        (None, _) => String::new(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::{Cost, Usd};
    use crate::view::{CheckReport, EndKind};

    #[test]
    fn a_section_names_steps_cost_duration_and_checks() {
        let check = |name: &str, passed, output: &str| CheckReport {
            name: name.into(),
            passed,
            output: output.into(),
        };
        let iteration = Iteration {
            iteration: 1,
            story: None,
            mode: None,
            reworded: Vec::new(),
            steps_taken: 8,
            cost: Cost { usd: Usd::from_dollars(0.0234), estimated: false },
            duration_ms: 15_200,
            check_results: vec![
                check("pytest tests/", true, "passed"),
                check("ruff check src/", false, "failed with exit code 1: src/auth.py:42:1:\nF841"),
            ],
            all_checks_passed: false,
            completion_tag_found: false,
            denied_tool_calls: 0,
            end: EndKind::Answered,
            error: None,
            proof: None,
            settled: false,
        };
        assert_eq!(
            section(&iteration),
            "## Iteration 1 — FAIL\n- Steps: 8\n- Cost: $0.0234\n- Duration: 15.2s\n- Checks:\n  \
             - pytest tests/: PASS\n  \
             - ruff check src/: FAIL — failed with exit code 1: src/auth.py:42:1: F841\n\n"
        );
        let guessed = Iteration { cost: Cost { estimated: true, ..iteration.cost }, ..iteration };
        assert!(section(&guessed).contains("\n- Cost: ~$0.0234\n"), "{}", section(&guessed));
    }
}
