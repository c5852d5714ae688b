//! `ralph demo`: the whole loop, on a machine that has nothing.

use crate::support::Sandbox;
use std::fs;

#[test]
fn the_demo_shows_feedback_at_work_and_leaves_nothing() {
    let sandbox = Sandbox::bare();
    let ran = sandbox.ralph(&["demo"]).exits(0);
    for part in [
        "--- Iteration 3/10 ---",
        "The agent says it is done, but checks fail.",
        "The check says `double 4: expected 8, got 12`",
        "[OK] completed: proven: `./test.sh` was red and is green (3 iterations, cost: $0.0420, ",
    ] {
        assert!(ran.stdout.contains(part), "{part:?} is missing in:\n{}", ran.stdout);
    }
    // Its record is gone with it, so no command shows it.
    assert!(
        ran.stdout.contains("changed: 1 file, +2 -2") && !ran.stdout.contains("ralph diff"),
        "{}",
        ran.stdout
    );
    assert_eq!(ran.stderr, "");
    assert_eq!(fs::read_dir(sandbox.root().join("tmp")).unwrap().count(), 0, "the scratch is gone");
    assert!(!sandbox.home().exists(), "the user's record is not touched");
    sandbox.nothing_is_left();
}

#[test]
fn the_demo_can_be_read_by_programs_and_kept() {
    let sandbox = Sandbox::bare();
    let ran = sandbox.ralph(&["demo", "--format", "json", "--keep"]);
    let result = ran.stops(0, "completed", 3);
    let claims: Vec<_> = (0..3).map(|n| result["iterations"][n]["completion_tag_found"].clone()).collect();
    assert_eq!(claims, [false, true, true]);
    assert_eq!(result["iterations"][1]["check_results"][0]["passed"], false);
    let kept = fs::read_dir(sandbox.root().join("tmp")).unwrap().next().unwrap().unwrap().path();
    assert!(fs::read_to_string(kept.join("project/calc.sh")).unwrap().contains("$1 + $2"));
}
