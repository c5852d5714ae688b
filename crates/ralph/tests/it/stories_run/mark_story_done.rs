//! "mark_story_done", steps 1 to 7.

use super::stage::{Stage, spec_path};
use std::fs;

#[test]
fn steps_1_to_3_the_state_has_one_more_story_and_none_at_work() {
    let stage = Stage::new("8.1 8.2 8.10");
    stage.write_state(&["7.1"], Some("8.1"), 2);
    stage.run(&[], "DONE").exits(0);
    assert_eq!(stage.state(), "7.1 8.1 8.2 8.10 / - / 0");
}

#[test]
fn step_4_the_state_is_replaced_as_a_whole_and_leaves_no_other_file() {
    let stage = Stage::new("8.1 8.2");
    stage.write_state(&[], None, 0);
    let file = stage.sandbox.project().join(".ralph/state.json");
    // A name that shows whether the file was written into, or another put in its place.
    let other_name = stage.sandbox.root().join("as-it-was");
    fs::hard_link(&file, &other_name).unwrap();
    let before = fs::read(&file).unwrap();
    stage.run(&[], "DONE").exits(0);
    assert_eq!(fs::read(&other_name).unwrap(), before);
    assert_eq!(stage.state(), "8.1 8.2 / - / 0");
    let files = stage.sandbox.sh("ls -A .ralph");
    assert_eq!(files, "progress.md\nstate.json\n");
}

#[test]
fn step_4_the_state_is_written_also_if_the_progress_cannot_be() {
    let stage = Stage::without_git("8.1");
    stage.write_state(&[], None, 0);
    fs::create_dir(stage.sandbox.project().join("progress.txt")).unwrap();
    let ran = stage.run(&[], "DONE").exits(0);
    assert!(ran.stderr.contains("warning: cannot write"), "{}", ran.stderr);
    assert_eq!(stage.state(), "8.1 / - / 0");
    assert!(stage.sandbox.read(&spec_path("8.1")).contains("status: done"));
}

#[test]
fn step_5_one_word_of_the_spec_changes() {
    for spec in [
        "---\nstatus: pending\n---\n# A\n",
        "---\r\ntitle: A\r\nstatus: pending # soon\r\n---\r\nstatus: pending\r\n",
        "\u{feff}---\nstatus:   'pending'\ndepends_on: []\n---\nno newline at the end",
    ] {
        let stage = Stage::without_git("");
        stage.sandbox.write("specs/epic-8/story-8.3-x.md", spec);
        stage.run(&[], "DONE").exits(0);
        assert_eq!(stage.sandbox.read("specs/epic-8/story-8.3-x.md"), spec.replacen("pending", "done", 1));
    }
    // What has no status gets none.
    let stage = Stage::without_git("");
    stage.sandbox.write("specs/epic-8/story-8.3-x.md", "# A\nstatus: pending\n");
    stage.run(&[], "DONE").exits(0).says("warning: specs/epic-8/story-8.3-x.md:1:1: no frontmatter");
    assert_eq!(stage.sandbox.read("specs/epic-8/story-8.3-x.md"), "# A\nstatus: pending\n");
    assert_eq!(stage.state(), "8.3 / - / 0");
}

#[test]
fn steps_6_and_7_it_is_told_in_progress_txt_and_in_the_log() {
    let stage = Stage::new("8.3");
    stage.run(&[], "DONE").exits(0);
    assert_eq!(stage.progress(), ["[DONE] Story 8.3 - Part 8 3 - TIME"]);
    let log = stage.log();
    let run = stage.sandbox.only_run();
    assert_eq!(log[0], format!("run {run} started: 1 story to do"));
    assert_eq!(log[1], "iteration 1: sh works on story 8.3, Part 8 3 (attempt 1/3)");
    assert!(log[2].starts_with("the agent ended ("), "{log:?}");
    assert_eq!(log[3..], ["story 8.3 is done".to_string(), format!("run {run} ended: completed")]);
    let times = stage.sandbox.read("ralph.log");
    assert!(times.starts_with("[20") && times.as_bytes()[20] == b']', "{times}");
}

#[test]
fn a_story_that_is_done_again_stays_done_once() {
    let stage = Stage::new("8.3 8.4");
    stage.run(&["-n", "1"], "DONE").exits(0);
    stage.run(&["-s", "8.3"], "DONE").exits(0);
    assert_eq!(stage.asked(), "8.3 8.3");
    assert_eq!(stage.state(), "8.3 / - / 0");
    assert!(stage.sandbox.read(&spec_path("8.3")).contains("status: done\n"));
    // Failing, it is still the story that was done.
    stage.run(&["-s", "8.3", "--max-retries", "1"], "FAIL no").exits(1);
    assert_eq!(stage.state(), "8.3 / 8.3 / 1");
}
