//! The short flags, with the meanings they have always had.

use super::stage::Stage;

#[test]
fn n_counts_attempts_and_reaching_it_is_success() {
    let stage = Stage::new("1.1 1.2 1.3");
    let ran = stage
        .run(&["-n", "2", "--format", "json"], "case $try in 1.1#1) FAIL no ;; *) DONE ;; esac")
        .exits(0);
    assert_eq!(stage.asked(), "1.1 1.1");
    let result = ran.json();
    assert_eq!(
        (result["stop_reason"].as_str(), result["success"].as_bool()),
        (Some("max_iterations"), Some(true))
    );
    stage.run(&["-n", "1"], "DONE").exits(0).says("ran all requested iterations");
    assert_eq!(stage.state(), "1.1 1.2 / - / 0");
}

#[test]
fn n_reached_is_no_success_if_the_last_attempt_failed() {
    let failed = "reached the iteration limit, the last attempt at story 1.1 failed";
    for (script, check) in [("DONE", "false"), ("FAIL no", "true"), ("exit 3", "true")] {
        let stage = Stage::new("1.1 1.2");
        stage.run(&["-n", "1", "--check", check], script).exits(1).says(failed);
        assert_eq!(stage.state(), " / 1.1 / 1");
        let ran = stage.run(&["-n", "1", "--check", check, "--format", "json"], script);
        ran.stops(1, "max_iterations", 1);
    }
    // One that was done in the end is none that failed.
    let stage = Stage::new("1.1 1.2 1.3");
    stage.run(&["-n", "3"], "case $try in 1.2#1) FAIL no ;; *) DONE ;; esac").exits(0);
    stage.run(&["-n", "1"], "FAIL no").exits(1);
}

#[test]
fn all_is_complete_only_if_no_story_is_left_in_the_specs() {
    let stage = Stage::new("1.1 1.2 1.3");
    let outcome = |args: &[&str], script: &str| {
        let ran = stage.run(args, script).exits(0);
        let line = ran.stdout.lines().find(|line| line.starts_with("  stories: ")).map(String::from);
        (ran.stdout.contains("ALL COMPLETE!"), line)
    };
    let line = |text: &str| (false, Some(format!("  stories: {text}")));
    assert_eq!(outcome(&["-s", "1.2"], "DONE"), line("1 of 1 done; not in this run: 1.1 1.3"));
    assert_eq!(outcome(&["-r", "1.3"], "DONE"), line("1 of 1 done; not in this run: 1.1"));
    assert_eq!(outcome(&["-r", "1.3"], "DONE"), line("none to do; not in this run: 1.1"));
    assert!(!stage.run(&["-r", "1.3", "-d"], "DONE").exits(0).stdout.contains("ALL COMPLETE!"));
    // A spec that an agent writes is for the next run.
    let writes = "cp specs/epic-1/story-1.1-part-1-1.md specs/epic-1/story-1.4-more.md; DONE";
    assert_eq!(outcome(&[], writes), line("1 of 1 done; not in this run: 1.4"));
    assert_eq!(outcome(&[], "DONE"), (true, None));
}

#[test]
fn n_reached_is_no_success_if_a_story_has_failed_for_good() {
    let stage = Stage::new("1.1 1.2");
    stage.run(&["-n", "3"], "FAIL no").exits(1).says("MAX RETRIES EXCEEDED");
    let stage = Stage::new("1.1");
    let ran = stage.run(&["-n", "1"], "DONE").exits(0);
    assert!(ran.stdout.contains("ALL COMPLETE!"), "the last one counts\n{}", ran.stdout);
}

#[test]
fn t_is_seconds_or_a_time_and_what_it_ends_leaves_no_process() {
    let stage = Stage::new("1.1");
    stage.run(&["-t", "1", "-n", "1"], "sleep 600 & setsid sleep 600 & sleep 600").exits(1);
    assert_eq!(stage.progress(), ["[FAIL] Story 1.1 - timed out after 1s - TIME (attempt 1/3)"]);
    stage.sandbox.nothing_is_left();
    for (given, shown) in [("2h", "2h0m each"), ("1800", "30m0s each")] {
        stage.run(&["-t", given, "-n", "1", "-s", "1.1"], "DONE").exits(0).says(shown);
    }
    stage.run(&["-s", "1.1"], "DONE").exits(0).says("30m0s each");
}

#[test]
fn l_names_the_log_which_outlives_every_attempt() {
    let stage = Stage::new("1.1");
    stage.sandbox.write("logs/old.log", "older\n");
    stage.run(&["-l", "logs/old.log"], "case $try in *#2) DONE ;; *) commit all; FAIL no ;; esac").exits(0);
    let log = stage.sandbox.read("logs/old.log");
    assert!(log.starts_with("older\n["), "{log}");
    for said in ["story 1.1 failed: no (attempt 1/3)", &stage.kept(1), "story 1.1 is done"] {
        assert!(log.contains(said), "{said}\n{log}");
    }
    assert!(!stage.sandbox.has("ralph.log"));
    let ran = stage.run(&["-s", "1.1", "-l", "."], "DONE").exits(0);
    assert_eq!(ran.stderr.matches("cannot write the log").count(), 1, "{}", ran.stderr);
}

#[test]
fn s_and_r_exclude_each_other_and_take_ids_only() {
    let stage = Stage::new("8.3");
    stage.run(&["-s", "8.3", "-r", "8.3"], "DONE").exits(2);
    for bad in ["../x", "8", "08.3", "8.3.1", "8.x", ""] {
        for flag in ["-s", "-r"] {
            let refused = stage.run(&[flag, bad], "DONE").exits(2);
            assert!(refused.stderr.contains("8.3"), "tells what an id looks like: {}", refused.stderr);
        }
    }
    stage.run(&["-r", "9.1"], "DONE").exits(2).says("no such story: 9.1");
    assert_eq!(stage.asked(), "");
}

#[test]
fn h_prints_help() {
    let stage = Stage::new("");
    for said in ["-n", "-d", "-s", "-r", "-t", "-l", "-v"] {
        assert!(stage.sandbox.ralph(&["stories", "-h"]).exits(0).stdout.contains(said), "{said}");
    }
}
