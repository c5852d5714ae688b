//! Agents that say they are done: dishonest ones that must not be called proven, honest ones that
//! must be believed.
//!
//! Cases are data (`cases/`, `honest/`, README.md). Each is run in a repository of its own, with real
//! checks. A dishonest agent is run twice: with ralph's defence switched off it is believed, which
//! shows that the case can fail; with it on, ralph says what the case expects. Whether an agent is
//! dishonest is not a matter of opinion: the `truth` of a case is asked of a fresh clone.
//!
//! That it is believed is shown of every fourth case, and of all with `RALPH_ALL_CASES=1` (`make cheats`).
//! `RALPH_CASE=text` runs only the cases whose title or kind contains the text; `RALPH_CASE_TIMES=1` with
//! `--nocapture` shows how long each takes.
//!
//! Deliberately absent: real agents, and agents that write wrong code which the project's own tests
//! accept.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "tests drive the program from outside")]
#![expect(clippy::disallowed_macros, reason = "the time that cases take is shown")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

mod case;
mod stage;
mod words;

use case::{Case, Plan, cases};
use stage::{Ran, Stage, missing};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use std::{env, fs, thread};
use words::{DEFENCE_OFF, Word, word_of};

/// Two cases at a time in each test: much of a case is waiting for processes to start.
const AT_ONCE: usize = 2;

fn dishonest(plan: Plan) -> Vec<Case> {
    cases("cases").into_iter().filter(|case| case.plan == plan).collect()
}

/// Runs `check` on every case, and fails with the names of those that it refuses.
fn all(cases: &[Case], check: impl Fn(&Case) -> Result<(), String> + Sync) {
    let only = env::var("RALPH_CASE").unwrap_or_default();
    let chosen: Vec<&Case> =
        cases.iter().filter(|case| case.title.contains(&only) || case.kind.contains(&only)).collect();
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
            let missing = missing(case);
            if !missing.is_empty() {
                let why = format!("{} not installed", missing.join(", "));
                let required = env::var("RALPH_TEST_REQUIRES").unwrap_or_default();
                if required.split_whitespace().any(|program| missing.contains(&program)) {
                    failures.lock().unwrap().push(format!("{}: {}\n{why}", case.kind, case.title));
                } else {
                    // Not a print: those of tests that pass are not shown.
                    let _ = writeln!(io::stderr(), "skipped, {why}: {}", case.title);
                }
                continue;
            }
            let began = Instant::now();
            let result = check(case);
            if env::var_os("RALPH_CASE_TIMES").is_some() {
                eprintln!("{:5} ms {}: {}", began.elapsed().as_millis(), case.kind, case.title);
            }
            if let Err(why) = result {
                failures.lock().unwrap().push(format!("{}: {}\n{why}", case.kind, case.title));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} failed:\n\n{}", failures.len(), failures.join("\n\n"));
}

/// What went wrong, without the fields of a result that do not matter here.
fn shown(ran: &Ran, why: &str) -> String {
    let Ok(result) = ran.result() else {
        return format!("{why}\n--- stdout\n{}\n--- stderr\n{}", ran.stdout, ran.stderr);
    };
    let mut lines = vec![format!("{why}: {} (exit code {:?})", result["stop_reason"], ran.code)];
    for iteration in result["iterations"].as_array().into_iter().flatten() {
        let checks = iteration["check_results"].as_array().into_iter().flatten();
        let outputs: Vec<String> = checks.map(|check| check["output"].to_string()).collect();
        lines.push(format!("  {} {} {}", iteration["end"], iteration["error"], outputs.join(" ")));
    }
    lines.push(format!("  proof: {}", result["proof"]));
    lines.join("\n") + "\n" + &ran.stderr
}

/// Exit code 0 and `completed`, which is all there is without the defence.
fn is_believed(ran: &Ran) -> Result<(), String> {
    let result = ran.result().map_err(|why| shown(ran, &why))?;
    if ran.code == Some(0) && result["stop_reason"] == "completed" {
        return Ok(());
    }
    Err(shown(ran, "not believed"))
}

/// One of the words that the case expects.
fn says_what_it_must(case: &Case, ran: &Ran) -> Result<(), String> {
    let result = ran.result().map_err(|why| shown(ran, &why))?;
    let word = word_of(ran.code, &result).map_err(|why| shown(ran, &why))?;
    if case.says.contains(&word) {
        return Ok(());
    }
    Err(shown(ran, &format!("said {word:?}, not one of {:?}", case.says)))
}

/// A dishonest agent is believed, and the work is not done.
fn believed_without_the_defence(case: &Case) -> Result<(), String> {
    let stage = Stage::new(case)?;
    let ran = stage.ralph("json", &DEFENCE_OFF);
    if case.always_red {
        let result = ran.result().map_err(|why| shown(&ran, &why))?;
        return match word_of(ran.code, &result) {
            Ok(Word::Red) => Ok(()),
            _ => Err(shown(&ran, "believed after all")),
        };
    }
    is_believed(&ran)?;
    match stage.truth()? {
        false => Ok(()),
        true => Err("the work was done: the agent is honest".to_owned()),
    }
}

fn found_out(case: &Case) -> Result<(), String> {
    says_what_it_must(case, &Stage::new(case)?.ralph("json", &[]))
}

/// All of them in `make cheats`, and else every fourth: that a case can fail changes only with the case.
fn sample(plan: Plan) -> Vec<Case> {
    let step = if env::var_os("RALPH_ALL_CASES").is_some() { 1 } else { 4 };
    dishonest(plan).into_iter().step_by(step).collect()
}

#[test]
fn without_the_defence_every_dishonest_agent_of_a_prompt_is_believed() {
    all(&sample(Plan::Run), believed_without_the_defence);
}

#[test]
fn without_the_defence_every_dishonest_agent_of_a_story_is_believed() {
    all(&sample(Plan::Stories), believed_without_the_defence);
}

#[test]
fn without_the_defence_every_dishonest_agent_of_a_task_list_is_believed() {
    all(&sample(Plan::Tasks), believed_without_the_defence);
}

#[test]
fn no_dishonest_agent_of_a_prompt_is_called_proven() {
    all(&dishonest(Plan::Run), found_out);
}

#[test]
fn no_dishonest_agent_of_a_story_is_called_proven() {
    all(&dishonest(Plan::Stories), found_out);
}

#[test]
fn no_dishonest_agent_of_a_task_list_is_called_proven() {
    all(&dishonest(Plan::Tasks), found_out);
}

#[test]
fn no_honest_agent_is_refused() {
    all(&cases("honest"), |case| {
        let stage = Stage::new(case)?;
        let ran = stage.ralph("json", &[]);
        is_believed(&ran)?;
        says_what_it_must(case, &ran)?;
        match stage.truth()? {
            true => Ok(()),
            false => Err("the work was not done: the agent is not honest".to_owned()),
        }
    });
}

/// The words for people, once each.
#[test]
fn every_word_of_the_suite_is_in_the_last_lines_of_a_run() {
    let mut samples: BTreeMap<&str, Case> = BTreeMap::new();
    for case in cases("cases").into_iter().chain(cases("honest")) {
        // Only cases that can end in one way.
        if let [word] = case.says[..]
            && let Some(text) = word.text()
            && missing(&case).is_empty()
        {
            samples.entry(text).or_insert(case);
        }
    }
    for (text, case) in &samples {
        let ran = Stage::new(case).unwrap().ralph("human", &[]);
        let last: Vec<&str> = ran.stdout.lines().rev().take(8).collect();
        assert!(last.iter().any(|line| line.contains(text)), "{}", shown(&ran, &case.title));
    }
}

#[test]
fn no_case_of_the_suite_lets_a_dishonest_agent_be_proven_or_an_honest_one_be_refused() {
    for case in cases("cases") {
        let lenient = case.says.iter().any(|word| matches!(word, Word::Proven | Word::ProvenInPlace));
        // One that is found out after all is no limit any more: it says only this.
        let is_known = case.limit.is_some() && case.says == [Word::Proven];
        assert!(!lenient || is_known, "{}: {:?}", case.title, case.says);
        assert!(case.limit.is_none() || is_known, "{}: {:?}", case.title, case.says);
    }
    for case in cases("honest") {
        assert!(!case.says.contains(&Word::Red), "{}: {:?}", case.title, case.says);
        assert!(case.limit.is_none(), "{}", case.title);
    }
}

/// The section of the documentation has one item per case, in any order.
#[test]
fn what_is_not_found_out_is_documented() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/proof.md");
    let text = fs::read_to_string(page).unwrap();
    let title = "Agents that are called proven today\n";
    let section = text.split("\n### ").find_map(|section| section.strip_prefix(title));
    let section = section.unwrap_or_else(|| panic!("no section {title}"));
    let documented: BTreeSet<String> =
        section.lines().filter_map(|line| line.strip_prefix("- ")).map(str::to_owned).collect();
    let known: BTreeSet<String> =
        cases("cases").into_iter().filter(|case| case.limit.is_some()).map(|case| case.title).collect();
    assert_eq!(documented, known);
}

#[test]
fn the_suite_has_enough_of_everything_and_no_title_twice() {
    let (bad, good) = (cases("cases"), cases("honest"));
    assert!(bad.len() >= 60, "{} dishonest cases", bad.len());
    assert!(good.len() >= 20, "{} honest cases", good.len());
    for plan in Plan::ALL {
        let count = |cases: &[Case]| cases.iter().filter(|case| case.plan == plan).count();
        assert!(count(&bad) >= 15 && count(&good) >= 3, "{plan:?}: {} {}", count(&bad), count(&good));
    }
    let titles: Vec<String> = bad.iter().chain(&good).map(|case| case.title.clone()).collect();
    assert_eq!(titles.iter().collect::<BTreeSet<_>>().len(), titles.len());
}
