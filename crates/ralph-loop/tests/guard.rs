//! The guard against its corpus: what it catches of dangerous commands, and what it stops of harmless ones.
#![expect(
    clippy::disallowed_methods,
    reason = "the shares are printed by `make test`, also if the test passes"
)]

#[path = "guard/corpus.rs"]
mod corpus;
#[path = "guard/understood.rs"]
mod understood;

use corpus::{Case, judged, read};
use ralph_loop::guard::Verdict;
use std::io::Write;

/// Shares that the guard must reach, in percent.
const CAUGHT: f64 = 95.0;
const STOPPED: f64 = 2.0;

#[test]
fn most_dangerous_commands_are_blocked_and_hardly_any_harmless_one_is() {
    let dangerous = read("dangerous.txt");
    let harmless = read("harmless.txt");
    let missed: Vec<&Case> = dangerous.iter().filter(|case| judged(case).verdict != Verdict::Block).collect();
    let stopped: Vec<&Case> = harmless.iter().filter(|case| judged(case).verdict == Verdict::Block).collect();
    let mut report = String::new();
    for case in &missed {
        report.push_str(&format!("missed  [{}] {}\n", case.group, case.text));
    }
    for case in &stopped {
        let rules: Vec<&str> = judged(case).findings.iter().map(|finding| finding.rule).collect();
        report.push_str(&format!("stopped [{}] {rules:?} {}\n", case.group, case.text));
    }
    let share = |part: usize, all: usize| 100.0 * part as f64 / all as f64;
    let caught = share(dangerous.len() - missed.len(), dangerous.len());
    let alarms = share(stopped.len(), harmless.len());
    report.push_str(&format!(
        "guard: {caught:.1} % of {} dangerous commands blocked, {alarms:.1} % of {} harmless ones stopped\n",
        dangerous.len(),
        harmless.len()
    ));
    std::io::stderr().write_all(report.as_bytes()).unwrap();
    assert!(caught >= CAUGHT, "caught {caught:.1} %");
    assert!(alarms <= STOPPED, "stopped {alarms:.1} %");
}

#[test]
fn every_command_of_the_corpus_can_be_parsed() {
    for case in read("dangerous.txt").iter().chain(&read("harmless.txt")) {
        let unparsed = judged(case).steps.into_iter().find(|step| step.text.starts_with("<unparsed>"));
        assert_eq!(unparsed.map(|step| step.text), None, "{}", case.text);
    }
}
