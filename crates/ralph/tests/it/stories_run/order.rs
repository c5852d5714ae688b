//! Which story comes next, and what is refused before any does.

use super::stage::{Stage, spec_path};
use serde_json::json;
use std::fs;

#[test]
fn numbers_are_compared_as_numbers() {
    let stage = Stage::new("10.1 1.10 2.1 1.9");
    stage.run(&[], "DONE").exits(0);
    assert_eq!(stage.asked(), "1.9 1.10 2.1 10.1");
}

#[test]
fn always_the_lowest_number_among_those_whose_dependencies_are_done() {
    let stage = Stage::new("1.1<2.2 1.2 1.3<1.1 2.1<1.2 2.2<2.1 2.3");
    stage.run(&[], "DONE").exits(0);
    assert_eq!(stage.asked(), "1.2 2.1 2.2 1.1 1.3 2.3");
}

#[test]
fn the_settings_can_name_another_order_and_then_only_those_run() {
    let stage = Stage::new("1.1 1.2<1.3 1.3 1.4");
    stage.sandbox.settings(&json!({"stories": {"order": ["1.4", "1.2", "1.3"]}}));
    stage.run(&[], "DONE").exits(0);
    assert_eq!(stage.asked(), "1.4 1.3 1.2", "and a dependency still comes first");
    stage.sandbox.settings(&json!({"stories": {"order": ["1.4", "1.2", "1.3", "1.1"]}}));
    stage.run(&["-r", "1.3"], "DONE").exits(0);
    assert_eq!(stage.asked(), "1.4 1.3 1.2 1.1");
}

/// What is refused, with its words, and what `--keep-going` runs instead.
#[track_caller]
fn check_refused(stage: &Stage, said: &[&str], kept_going: &str) {
    let refused = stage.run(&[], "DONE").exits(2);
    for said in said {
        assert!(refused.stderr.contains(said), "{said}\n{}", refused.stderr);
    }
    assert!(refused.stderr.contains("hint: "), "{}", refused.stderr);
    assert_eq!((stage.asked().as_str(), stage.sandbox.runs().len()), ("", 0), "nothing has begun");
    assert!(!stage.sandbox.has("progress.txt"));
    let ran = stage.run(&["--keep-going"], "DONE");
    assert!(ran.stderr.contains("warning: skipped: "), "{}", ran.stderr);
    assert_eq!(stage.asked(), kept_going);
}

#[test]
fn a_cycle_is_refused_before_anything_runs() {
    let stage = Stage::new("1.1<1.2 1.2<1.1 1.3");
    check_refused(&stage, &["stories depend on each other: 1.1 -> 1.2 -> 1.1"], "1.3");
}

#[test]
fn an_unknown_dependency_is_refused_before_anything_runs() {
    let stage = Stage::new("1.1 1.2<9.9");
    check_refused(
        &stage,
        &["specs/epic-1/story-1.2-part-1-2.md:3:14: story 1.2 depends on 9.9, which has no spec"],
        "1.1",
    );
}

#[test]
fn two_files_for_one_story_are_refused_before_anything_runs() {
    let stage = Stage::new("1.1 1.2");
    stage.sandbox.write("specs/epic-1/story-1.2-again.md", "---\nstatus: pending\n---\n");
    check_refused(&stage, &["two files for story 1.2", &spec_path("1.2")], "1.1");
}

#[test]
fn a_story_of_the_order_without_a_file_is_refused_before_anything_runs() {
    let stage = Stage::new("1.1 1.2");
    stage.sandbox.settings(&json!({"stories": {"order": ["1.2", "7.7", "1.1"]}}));
    check_refused(&stage, &["stories.order has 7.7, which has no spec"], "1.2 1.1");
}

#[test]
fn wrong_types_are_refused_and_missing_or_broken_frontmatter_is_only_warned_about() {
    let stage = Stage::new("1.1");
    stage.sandbox.write("specs/epic-1/story-1.2-x.md", "---\nstatus: [pending]\n---\n");
    check_refused(&stage, &["specs/epic-1/story-1.2-x.md:2:9: "], "1.1");
    let stage = Stage::new("");
    stage.sandbox.write("specs/epic-1/story-1.1-x.md", "# no frontmatter\n");
    stage.sandbox.write("specs/epic-1/story-1.2-x.md", "---\ntitle: a: b\n---\n");
    let ran = stage.run(&[], "DONE").exits(0);
    assert!(
        ran.stderr.contains("warning: specs/epic-1/story-1.1-x.md:1:1: no frontmatter"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("warning: specs/epic-1/story-1.2-x.md:2:"), "{}", ran.stderr);
    assert_eq!(stage.asked(), "1.1 1.2");
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let stage = Stage::new("1.1<1.2 1.2<1.1 1.3<9.9");
    let refused = stage.run(&[], "DONE").exits(2);
    for said in ["2 problems", "1.1 -> 1.2 -> 1.1", "9.9", "`ralph stories check`", "--keep-going"] {
        assert!(refused.stderr.contains(said), "{said}\n{}", refused.stderr);
    }
}

#[test]
fn a_story_whose_dependency_is_not_done_is_not_started() {
    // 1.1 is wrong and skipped; what waits for it can never begin.
    let stage = Stage::new("1.1<9.9 1.2<1.1 1.3");
    let ran = stage.run(&["--keep-going"], "DONE").exits(1);
    assert_eq!(stage.asked(), "1.3");
    assert!(ran.stdout.contains("halted: story 1.2 depends on 1.1, which is not done"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("MAX RETRIES EXCEEDED"), "{}", ran.stdout);
}

#[test]
fn what_waits_is_not_called_failed_because_it_failed_before() {
    let stage = Stage::new("1.1<9.9 1.2<1.1");
    stage.write_state(&[], Some("1.2"), 2);
    let ran = stage.run(&["--keep-going"], "DONE").exits(1);
    assert!(!ran.stdout.contains("MAX RETRIES EXCEEDED"), "{}", ran.stdout);
}

#[test]
fn a_dependency_that_is_done_needs_no_spec() {
    let stage = Stage::new("1.2<1.1");
    stage.write_state(&["1.1"], None, 0);
    stage.run(&[], "DONE").exits(0);
    assert_eq!(stage.asked(), "1.2");
}

#[test]
fn asking_for_a_story_overrides_its_dependencies_with_a_warning() {
    let warning = "ralph: warning: story 1.2 starts although 1.1 is not done";
    for (args, asked) in [(&["-s", "1.2"][..], "1.2"), (&["-r", "1.2"], "1.2 1.3")] {
        let stage = Stage::new("1.1 1.2<1.1 1.3<1.2");
        let ran = stage.run(args, "DONE").exits(0);
        assert!(ran.stderr.contains(warning), "{}", ran.stderr);
        assert!(!ran.stderr.contains("story 1.3 starts although"), "1.2 is done by then\n{}", ran.stderr);
        assert_eq!(stage.asked(), asked);
    }
    let stage = Stage::new("1.1 1.2<1.1");
    stage.write_state(&["1.1"], None, 0);
    assert!(!stage.run(&["-s", "1.2"], "DONE").exits(0).stderr.contains(warning));
}

#[test]
fn a_spec_that_goes_away_in_the_middle_ends_the_run_with_its_name() {
    let stage = Stage::without_git("1.1 1.2");
    let ran = stage.run(&[], "rm -f specs/epic-1/story-1.2-*; DONE").exits(1);
    assert!(ran.stdout.contains(&spec_path("1.2")), "{}", ran.stdout);
    assert_eq!(stage.state(), "1.1 / 1.2 / 0");
    // What an agent takes away of its own story is not missed.
    let stage = Stage::without_git("1.1");
    stage.run(&[], "rm specs/epic-1/story-1.1-*; DONE").exits(0);
    assert_eq!(fs::read_dir(stage.sandbox.project().join("specs/epic-1")).unwrap().count(), 0);
}
