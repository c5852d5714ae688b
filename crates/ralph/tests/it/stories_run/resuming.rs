//! A run over stories that was stopped, taken up again.

use super::stage::Stage;
use crate::support::until;
use rustix::process::Signal;

#[test]
fn interrupted_in_an_attempt_the_tree_goes_back_first_and_the_same_story_comes_again() {
    for signals in [1, 2] {
        let stage = Stage::new("1.1 1.2");
        stage.sandbox.write("mine", "not committed\n");
        let script = "case $try in
            1.2#1) echo x > half; git add half; hold; exit 3 ;;
            *) ls > \"$at/ls-$try\"; DONE ;; esac";
        let running = stage.begin(&[], script);
        stage.until_held("1.2#1");
        stage.until_state("1.1 / 1.2 / 0");
        running.signal(Signal::INT);
        stage.sandbox.until_fact("a request to stop", |fact| fact == "stop_asked");
        if signals == 2 {
            running.signal(Signal::INT);
        } else {
            stage.let_go("1.2#1");
        }
        running.end().exits(130);
        // Asked once, the attempt is waited for, and fails; asked twice, it is not judged.
        let failed = u32::from(signals == 1);
        assert_eq!(stage.state(), format!("1.1 / 1.2 / {failed}"));
        stage.sandbox.ralph(&["resume"]).exits(0);
        assert!(!stage.note("ls-1.2#2").contains("half"));
        assert_eq!(stage.asked(), "1.1 1.2 1.2");
        assert_eq!(stage.sandbox.sh(&format!("git show {}:half", stage.kept(1))), "x\n");
        assert_eq!(stage.sandbox.read("mine"), "not committed\n");
        assert_eq!(stage.state(), "1.1 1.2 / - / 0");
    }
}

#[test]
fn killed_in_an_attempt_it_is_the_same() {
    let stage = Stage::new("1.1");
    let script =
        "case $try in 1.1#1) echo x > half; commit half; hold; sleep 600 ;; *) ls > \"$at/ls\"; DONE ;; esac";
    let running = stage.begin(&[], script);
    stage.until_held("1.1#1");
    running.kill();
    stage.sandbox.soon_nothing_is_left();
    let resumed = stage.sandbox.ralph(&["resume"]).exits(0);
    assert!(resumed.stdout.contains(&format!("git diff {}^-2", stage.kept(1))), "{}", resumed.stdout);
    assert!(!stage.note("ls").contains("half"));
    assert_eq!(
        stage.progress(),
        ["[DONE] Story 1.1 - Part 1 1 - TIME"],
        "an attempt that was not judged does not count"
    );
    assert!(stage.log().iter().any(|line| line.ends_with("resumed at iteration 1")), "{:?}", stage.log());
}

#[test]
fn halted_it_begins_at_0_from_the_tree_as_it_is() {
    let stage = Stage::new("1.1");
    let script = "case $try in
        1.1#6) git status --porcelain > \"$at/found\"; DONE ;;
        *) cat by-hand > \"$at/saw-$try\"; echo $try > left; commit $try; FAIL \"no $try\" ;; esac";
    stage.run(&[], script).exits(1);
    assert_eq!(stage.state(), " / 1.1 / 3");
    // A person sees to it.
    stage.sandbox.write("by-hand", "help\n");
    stage.sandbox.ralph(&["resume"]).exits(0);
    assert_eq!(stage.asked(), "1.1 1.1 1.1 1.1 1.1 1.1");
    assert_eq!(stage.note("saw-1.1#4"), "help\n");
    assert_eq!(stage.note("saw-1.1#5"), "help\n", "and back to there after each failure");
    assert_eq!(stage.commits(), "1.1#3", "the halted attempt was the person's to keep");
    assert_eq!(stage.sandbox.read("left"), "1.1#3\n");
    let prompt = stage.prompt("1.1#4");
    assert!(prompt.contains("attempt 1 of 3") && prompt.contains("It failed: no 1.1#3"), "{prompt}");
    assert!(!prompt.contains("put aside"), "the last attempt is in the tree\n{prompt}");
    let attempts: Vec<String> =
        stage.progress().iter().map(|line| line.split('(').next_back().unwrap().into()).collect();
    let of = |n: u32| format!("attempt {n}/3)");
    assert_eq!(attempts[..5], [of(1), of(2), of(3), of(1), of(2)]);
}

#[test]
fn a_single_story_that_halted_has_all_its_attempts_again() {
    let stage = Stage::new("1.1");
    stage.run(&["-s", "1.1"], "FAIL no").exits(1);
    let again = stage.sandbox.ralph(&["resume"]).exits(1);
    assert!(
        again.stdout.contains("MAX RETRIES EXCEEDED") && again.stdout.contains("Iteration 6/6"),
        "{}",
        again.stdout
    );
    assert_eq!(stage.asked().split(' ').count(), 6);
}

#[test]
fn a_run_that_is_all_done_is_over() {
    let stage = Stage::new("1.1");
    stage.run(&[], "DONE").exits(0);
    let again = stage.sandbox.ralph(&["resume", &stage.sandbox.only_run()]).exits(1);
    again.says("is already complete").says("start a new run with `ralph stories`");
}

#[test]
fn the_list_of_stories_is_that_of_the_beginning() {
    let stage = Stage::new("1.1 1.2");
    let running = stage.begin(&[], "hold; DONE");
    stage.until_held("1.1#1");
    stage.specs("1.0 1.3");
    for attempt in ["1.1#1", "1.2#1"] {
        stage.let_go(attempt);
    }
    running.end().exits(0);
    assert_eq!(stage.asked(), "1.1 1.2");
}

#[test]
fn lines_and_marks_that_a_kill_kept_from_being_written_are_written_by_the_next_life() {
    let stage = Stage::new("1.1 1.2");
    let running = stage.begin(&[], "case $try in 1.2#1) hold ;; esac; LEARN $try; DONE");
    stage.until_held("1.2#1");
    stage.until_state("1.1 / 1.2 / 0");
    running.kill();
    stage.sandbox.soon_nothing_is_left();
    // As if it had died before any of that.
    stage.sandbox.sh("rm progress.txt .ralph/state.json && git checkout -q specs");
    stage.let_go("1.2#2");
    stage.sandbox.ralph(&["resume"]).exits(0);
    assert_eq!(
        stage.progress(),
        [
            "[LEARN] 1.1#1",
            "[DONE] Story 1.1 - Part 1 1 - TIME",
            "[LEARN] 1.2#2",
            "[DONE] Story 1.2 - Part 1 2 - TIME",
        ]
    );
    assert_eq!(stage.state(), "1.1 1.2 / - / 0");
    assert_eq!(stage.sandbox.sh("grep -l 'status: done' specs/*/*").lines().count(), 2);
}

#[test]
fn stories_whose_work_is_undone_are_done_no_more() {
    for ignored in ["", ".ralph/\n"] {
        let stage = Stage::new("1.1 1.2 1.3");
        stage.sandbox.write(".gitignore", ignored);
        stage.run(&[], "echo it > \"$RALPH_STORY\"; DONE").exits(0);
        let id = stage.sandbox.only_run();
        assert_eq!(stage.state(), "1.1 1.2 1.3 / - / 0");
        let undone = stage.sandbox.ralph(&["undo", &id, "--to", "2"]).exits(0);
        assert!(stage.sandbox.has("1.1") && !stage.sandbox.has("1.2"));
        assert_eq!(stage.state(), "1.1 / - / 0", "{}", undone.stdout);
        stage
            .sandbox
            .ralph(&["undo", &id])
            .exits(0)
            .says(".ralph/state.json: 0 stories are done, as before.");
        assert_eq!(stage.state(), " / - / 0");
        // And forth again.
        let back = undone.stdout.split("--tree ").nth(1).unwrap().trim();
        stage.sandbox.ralph(&["undo", &id, "--tree", back]).exits(0);
        assert!(stage.sandbox.has("1.3"));
        assert_eq!(stage.state(), "1.1 1.2 1.3 / - / 0");
        // What the user has made of it stays.
        let theirs = r#"{"completed_stories": ["1.3"], "current_story": null, "retry_count": 0}"#;
        stage.sandbox.write(".ralph/state.json", theirs);
        let again = stage.sandbox.ralph(&["undo", &id]).exits(0);
        if !ignored.is_empty() {
            assert!(again.stdout.contains("has changed since this run"), "{}", again.stdout);
            assert_eq!(stage.state(), "1.3 / - / 0");
        }
    }
}

#[test]
fn a_story_that_changed_no_file_is_done_as_long_as_its_iteration_counts() {
    let stage = Stage::new("1.1 1.2 1.3");
    // Nor is it marked where a checkpoint looks: all trees but the last are alike.
    stage.sandbox.sh("printf 'specs/\\nprogress.txt\\n' > .gitignore; git rm -rq --cached specs; git add .gitignore; git commit -qm ignored");
    stage.run(&[], "[ $RALPH_STORY = 1.3 ] && echo it > it; DONE").exits(0);
    let id = stage.sandbox.only_run();
    for (to, state) in [("3", "1.1 1.2 / - / 0"), ("2", "1.1 / - / 0"), ("3", "1.1 1.2 / - / 0")] {
        stage.sandbox.ralph(&["undo", &id, "--to", to]).exits(0);
        assert_eq!(stage.state(), state, "--to {to}");
    }
}

/// A power cut takes the fact that there was an agent, and leaves what it did.
#[test]
fn an_agent_that_the_journal_has_lost_is_put_aside_like_any_other() {
    let stage = Stage::new("1.1");
    stage.sandbox.write("mine", "not committed\n");
    let script = "case $try in
        1.1#1) echo spoiled > mine; echo x > half; git add half; git commit -q -m half; hold; sleep 600 ;;
        *) ls > \"$at/ls\"; DONE ;; esac";
    let running = stage.begin(&[], script);
    stage.until_held("1.1#1");
    running.kill();
    stage.sandbox.soon_nothing_is_left();
    stage.sandbox.lose_from(|fact| fact["began"]["step"]["agent"].is_object());
    stage.sandbox.ralph(&["resume"]).exits(0);
    assert!(!stage.note("ls").contains("half"));
    assert_eq!(stage.sandbox.read("mine"), "not committed\n");
    assert_eq!(stage.sandbox.agents_begun(), 2);
}

/// A power cut takes the fact that a story is done, and leaves the line that records it.
#[test]
fn a_line_whose_fact_the_journal_has_lost_is_not_written_again() {
    let stage = Stage::new("1.1 1.2");
    let script = "case $try in 1.1#1) FAIL no ;; 1.2#1) hold; sleep 600 ;; *) DONE ;; esac";
    let running = stage.begin(&[], script);
    stage.until_held("1.2#1");
    stage.until_state("1.1 / 1.2 / 0");
    running.kill();
    stage.sandbox.soon_nothing_is_left();
    // The facts come again at other times.
    stage.sandbox.sh("sed -i 's/ - 20[0-9]*-/ - 2099-/' progress.txt");
    stage.sandbox.lose_from(|fact| fact["judged"].is_object());
    stage.sandbox.ralph(&["resume"]).exits(0);
    assert_eq!(
        stage.progress(),
        [
            "[FAIL] Story 1.1 - no - TIME (attempt 1/3)",
            "[DONE] Story 1.1 - Part 1 1 - TIME",
            "[DONE] Story 1.2 - Part 1 2 - TIME",
        ]
    );
}

#[test]
fn signals_are_heard_while_git_does_not_answer() {
    let stage = Stage::new("1.1");
    let at = |name: &str| stage.sandbox.root().join(name).display().to_string();
    let (shut, asked, open) = (at("shut"), at("asked"), at("open"));
    stage.sandbox.sh(&format!("mkfifo {open}"));
    // The first git after the agent is asked for the branch, and answers when the test lets it.
    let real = stage.sandbox.sh("command -v git");
    stage.sandbox.program(
        "git",
        &format!(
            "if rm '{shut}' 2>/dev/null; then : > '{asked}'; read _ < '{open}'; fi; exec {} \"$@\"",
            real.trim()
        ),
    );
    let script = format!("case $try in *#1) : > made; : > '{shut}' ;; esac; DONE");
    let running = stage.begin(&[], &script);
    until("git is asked", || std::path::Path::new(&asked).exists());
    running.signal(Signal::TERM);
    until("the first answer", || running.stderr().contains("Received signal"));
    running.signal(Signal::TERM);
    running.end().exits(130).says("stopping now");
    // Only now may git go on.
    stage.sandbox.sh(&format!("echo go <> '{open}' >&0"));
    stage.sandbox.soon_nothing_is_left();
    stage.sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", 1);
    assert_eq!((stage.asked().as_str(), stage.sandbox.has("made")), ("1.1 1.1", false), "it began again");
}
