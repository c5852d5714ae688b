//! Agents that do to the task list what they may not: undone, reported, and never progress.

use crate::support::Sandbox;
use crate::tasks_support::{
    Act, agent, begin, fields, items, list, new, now, project, prompt, right, run, run_human, seen, text,
    verified, waiting, with,
};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use std::fs;

/// Plays one act in an implement iteration, then an idle one, and returns what was shown.
fn after(sandbox: &Sandbox, act: Act) -> String {
    let ran = run_human(sandbox, &["-n", "2"], &[act, Act::shell("echo idle")]).exits(1);
    ran.stdout
}

/// What the run recorded as undone.
fn violations(sandbox: &Sandbox) -> Vec<String> {
    let facts = sandbox.facts();
    let found =
        facts.iter().filter_map(|fact| fact["ended"]["end"]["plan"]["tasks"]["violations"].as_array());
    found.flatten().map(|violation| violation.as_str().unwrap().to_string()).collect()
}

#[test]
fn passes_and_approved_set_in_implement_mode_are_undone_recorded_shown_and_told_to_the_next_iteration() {
    let sandbox = project(&list(&[new("US-001")]));
    let output =
        after(&sandbox, Act::makes(&list(&[right("US-001", 0)])).then("echo '<promise>COMPLETE</promise>'"));
    assert_eq!(fields(&seen(&sandbox, 2), "US-001"), json!([false, null, 0]));
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, null, 0]));
    let message = "Implement iterations cannot set passes=true or approve stories. Only review iterations may \
                   approve. Story US-001 had illegal transition: passes false → true.";
    assert_eq!(violations(&sandbox)[0], message);
    assert!(output.contains(&format!("reverted in the task list: {message}")), "{output}");
    let next = prompt(&sandbox, 2);
    assert!(next.contains("The previous iteration broke these rules") && next.contains(message), "{next}");
    // What it may do is kept, and the mending is committed.
    assert_eq!(now(&sandbox)["userStories"][0]["notes"], "did it");
    assert_eq!(sandbox.sh("git status --porcelain"), "");
    let committed: Value = serde_json::from_str(&sandbox.sh("git show HEAD:ralph/tasks.json")).unwrap();
    assert_eq!(fields(&committed, "US-001"), json!([false, null, 0]));
}

#[test]
fn verify_commands_and_the_branch_stay_as_they_were() {
    let sandbox = project(&verified(&[new("US-001")], &["test -f proof"]));
    let mut weaker = list(&[waiting("US-001", 0)]);
    weaker["branchName"] = json!("elsewhere");
    let output = after(&sandbox, Act::makes(&weaker));
    for name in ["verifyCommands", "branchName"] {
        assert!(
            output.contains(&format!("reverted in the task list: The task list: {name} was changed")),
            "{output}"
        );
    }
    assert_eq!(now(&sandbox)["verifyCommands"], json!(["test -f proof"]));
    assert_ne!(now(&sandbox)["branchName"], "elsewhere");
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, "needs_review", 0]), "the legal part is kept");
}

#[test]
fn a_verdict_that_is_undone_is_not_said_to_be_missing() {
    // The list is looked at again after checks.
    for checks in [&[][..], &["true"]] {
        let sandbox = project(&verified(&[waiting("US-001", 0)], checks));
        let without_notes = with(right("US-001", 1), &json!({"notes": ""}));
        after(&sandbox, Act::makes(&verified(&[without_notes], checks)));
        let found = violations(&sandbox);
        assert!(found[0].contains("notes must not be empty"), "{found:?}");
        // The second is about the idle iteration.
        assert_eq!(found.len(), 2, "{found:?}");
    }
}

/// Commits run the hooks of the repository, and agents can write those.
#[test]
fn a_git_hook_approves_nothing_and_what_a_person_adds_meanwhile_stays() {
    let sandbox = project(&list(&[new("US-001")]));
    sandbox.settings(&json!({"scm": {"tasks": ["commit"]}}));
    let forged = list(&[right("US-001", 1), new("US-002")]);
    let hook = format!("printf '%s' '{forged}' > ralph/tasks.json");
    let install = format!(
        "printf '#!/bin/sh\n%s\n' \"{}\" > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit",
        hook.replace('"', "\\\"")
    );
    let acts = [Act::leaves(&list(&[waiting("US-001", 0)])).then(&install), Act::shell("echo looks good")];
    let ran = run_human(&sandbox, &["-n", "2"], &acts).exits(1);
    assert_eq!(fields(&seen(&sandbox, 2), "US-001"), json!([false, "needs_review", 0]), "{}", ran.stdout);
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, "needs_review", 0]));
    assert_eq!(fields(&now(&sandbox), "US-002"), json!([false, null, 0]), "{}", ran.stdout);
    assert!(violations(&sandbox)[0].contains("Story US-001 had illegal transition"), "{}", ran.stdout);
}

#[test]
fn reviewers_may_not_approve_two_stories_nor_skip_the_count() {
    let sandbox = project(&list(&[waiting("US-001", 0), waiting("US-002", 0)]));
    let both = list(&[right("US-001", 1), right("US-002", 1)]);
    let acts = [Act::makes(&both), Act::makes(&list(&[right("US-001", 1), right("US-002", 0)]))];
    run(&sandbox, &["-n", "2"], &acts).stops(1, "max_iterations", 2);
    assert_eq!(fields(&seen(&sandbox, 2), "US-001"), json!([true, "approved", 1]));
    assert_eq!(fields(&seen(&sandbox, 2), "US-002"), json!([false, "needs_review", 0]));
    assert_eq!(fields(&now(&sandbox), "US-002"), json!([false, "needs_review", 0]));
}

#[test]
fn a_marker_that_the_agent_edits_is_not_believed() {
    let sandbox = project(&list(&[new("US-001")]));
    let forged = json!({
        "iterationMode": "review", "skipReview": true, "reviewCap": 99,
        "preIterationSnapshot": {"US-001": {"passes": false, "reviewStatus": "needs_review", "reviewCount": 0}},
    });
    let act = Act::makes(&list(&[right("US-001", 1)])).then(&format!("echo '{forged}' > .ralph-active"));
    after(&sandbox, act);
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, null, 0]));
    assert!(!violations(&sandbox).is_empty());
}

#[test]
fn a_marker_that_cannot_be_written_ends_nothing() {
    let sandbox = project(&list(&[new("US-001")]));
    let acts = [
        Act::makes(&list(&[waiting("US-001", 0)]))
            .then("rm .ralph-active; mkdir .ralph-active; touch .ralph-active/x"),
        Act::makes(&list(&[right("US-001", 1)])),
    ];
    run(&sandbox, &[], &acts).stops(0, "completed", 2);
}

#[test]
fn a_deleted_list_comes_back_and_so_does_its_directory() {
    for (deed, gone) in [
        ("git rm -q ralph/tasks.json && git commit -q -m gone", "the task list is missing"),
        ("git rm -rq ralph && git commit -q -m gone", "the task list is missing"),
        (
            "rm ralph/tasks.json && mkdir ralph/tasks.json && touch ralph/tasks.json/x",
            "cannot read the task list",
        ),
        ("rm -r ralph && ln -s /nowhere/at/all ralph", "the task list is missing"),
        ("rm ralph/tasks.json && ln -s tasks.json ralph/tasks.json", "cannot read the task list"),
        ("rm ralph/tasks.json && mkfifo ralph/tasks.json", "cannot read the task list"),
        ("printf '\\377\\376' > ralph/tasks.json", "the task list is not valid JSON"),
    ] {
        let sandbox = project(&list(&[new("US-001"), right("US-002", 1)]));
        let before = now(&sandbox);
        let output = after(&sandbox, Act::shell(deed));
        assert!(output.contains(&format!("reverted in the task list: {gone}")), "{deed}\n{output}");
        assert_eq!(now(&sandbox), before, "{deed}");
        assert_eq!(seen(&sandbox, 2), before, "{deed}");
    }
}

#[test]
fn a_list_of_any_size_is_not_read_as_a_whole() {
    let sandbox = project(&list(&[new("US-001")]));
    let output = after(&sandbox, Act::shell("truncate -s 3G ralph/tasks.json"));
    assert!(output.contains("it is larger than 16 MiB"), "{output}");
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, null, 0]));
}

#[test]
fn an_unfinished_story_that_vanished_comes_back_and_new_ones_begin_at_the_beginning() {
    let sandbox = project(&list(&[new("US-001"), new("US-002"), right("US-003", 1)]));
    let cheat = with(right("US-005", 1), &json!({"notes": "done already"}));
    // US-003 is done and may go, US-004 is an honest part of US-001.
    after(&sandbox, Act::makes(&list(&[waiting("US-001", 0), new("US-004"), cheat])));
    let stories = now(&sandbox);
    let ids: Vec<&str> =
        stories["userStories"].as_array().unwrap().iter().map(|s| s["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["US-001", "US-002", "US-004", "US-005"]);
    assert_eq!(fields(&stories, "US-001"), json!([false, "needs_review", 0]), "the legal part is kept");
    assert_eq!(fields(&stories, "US-005"), json!([false, null, 0]));
    assert!(
        violations(&sandbox).iter().any(|violation| violation.contains("US-002")),
        "{:?}",
        violations(&sandbox)
    );
}

#[test]
fn a_key_that_is_there_twice_shows_nobody_two_lists() {
    let sandbox = project(&list(&[new("US-001")]));
    let twice = "sed -i 's/\"passes\": false/\"passes\": false, \"passes\": true/' ralph/tasks.json; git commit -qam x";
    let output = after(&sandbox, Act::shell(twice));
    assert!(output.contains("duplicate key: passes"), "{output}");
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, null, 0]));
}

#[test]
fn verify_commands_that_the_agent_empties_still_decide() {
    let sandbox = project(&verified(&[waiting("US-001", 0)], &["test -e good"]));
    let acts = [Act::makes(&list(&[right("US-001", 1)]))];
    let result = run(&sandbox, &["-n", "1"], &acts).stops(1, "max_iterations", 1);
    assert_eq!(result["iterations"][0]["check_results"][0]["passed"], false);
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, "changes_requested", 1]));
    // A new run reads the list anew, and finds them.
    assert_eq!(now(&sandbox)["verifyCommands"], json!(["test -e good"]));
}

#[test]
fn what_an_agent_writes_into_the_list_does_not_swell_the_record() {
    let sandbox = project(&list(&[new("US-001")]));
    let long = "x".repeat(1 << 20);
    let big = with(new("US-001"), &json!({"title": long, "reviewStatus": long, "reviewCount": long}));
    sandbox.write("../big.json", text(&list(&[big, new(&long)])));
    let act = || Act::shell("cp ../big.json ralph/tasks.json");
    run(&sandbox, &["-n", "2"], &[act(), act()]).stops(1, "max_iterations", 2);
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, null, 0]));
    let journal = fs::metadata(sandbox.run_dir().join("journal.jsonl")).unwrap().len();
    assert!(journal < 64 << 10, "{journal} bytes");
}

#[test]
fn a_check_that_the_agent_wrote_approves_nothing() {
    let sandbox = project(&verified(&[new("US-001")], &["sh test.sh"]));
    sandbox.write("../forged.json", text(&verified(&[right("US-001", 0)], &["sh test.sh"])));
    let acts = || Act::shell("echo 'cp ../forged.json ralph/tasks.json' > test.sh");
    run(&sandbox, &["-n", "2"], &[acts(), acts()]).stops(1, "max_iterations", 2);
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, null, 0]));
    let undone = violations(&sandbox).join("\n");
    assert!(undone.contains("Only review iterations may approve"), "{undone}");
    assert!(prompt(&sandbox, 2).contains("Only review iterations may approve"), "{}", prompt(&sandbox, 2));
}

/// A list with one new story, checks that an agent has written, and a list beside the project in
/// which the story is right.
fn with_checks_of_the_agents(checks: &[&str]) -> Sandbox {
    let sandbox = project(&verified(&[new("US-001")], checks));
    sandbox.write("../forged.json", text(&verified(&[right("US-001", 1)], checks)));
    sandbox
}

/// A resumed run runs the checks again, on a list that the user may have changed meanwhile.
#[test]
fn a_check_approves_nothing_when_it_runs_again_and_what_a_person_did_before_it_counts() {
    const CHECKS: [&str; 2] = ["sh test.sh", "true"];
    let sandbox = with_checks_of_the_agents(&CHECKS);
    let test = "if test -e ../up; then cp ../forged.json ralph/tasks.json; else echo up > ../up; until [ -e ../go ]; do sleep 0.02; done; fi";
    let wait = Act::makes(&verified(&[waiting("US-001", 0)], &CHECKS));
    let agent = agent(&sandbox, &[wait.then(&format!("echo '{test}' > test.sh"))]);
    let running = begin(&sandbox, &["-n", "1"], &agent);
    sandbox.until_file("../up");
    sandbox.interrupt_and_go(&running, Signal::INT);
    running.end().exits(130);
    let theirs = verified(&[waiting("US-001", 0), right("US-002", 0)], &CHECKS);
    sandbox.write("../forged.json", text(&verified(&[right("US-001", 1), right("US-002", 0)], &CHECKS)));
    sandbox.write("ralph/tasks.json", text(&theirs));
    sandbox.ralph(&["resume", "--format", "json"]).stops(1, "max_iterations", 1);
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, "needs_review", 0]));
    assert_eq!(fields(&now(&sandbox), "US-002"), json!([true, "approved", 0]));
    assert!(violations(&sandbox).join("\n").contains("US-001"), "{:?}", violations(&sandbox));
}

#[test]
fn a_check_approves_nothing_by_ending_the_loop() {
    let sandbox = with_checks_of_the_agents(&["sh test.sh"]);
    let test = "if test ! -e ../up; then cp ../forged.json ralph/tasks.json; echo up > ../up; sleep 600; fi";
    let agent = agent(&sandbox, &[Act::shell(&format!("echo '{test}' > test.sh"))]);
    let running = begin(&sandbox, &["-n", "1"], &agent);
    sandbox.until_file("../up");
    running.kill();
    sandbox.soon_nothing_is_left();
    let stderr = sandbox.ralph(&["resume"]).exits(1).stderr;
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, null, 0]));
    // It may have been a person's after all.
    let kept = stderr.lines().find_map(|line| line.split_once("the version it replaced is kept: "));
    let (_, path) = kept.unwrap_or_else(|| panic!("{stderr}"));
    let forged = fs::read_to_string(sandbox.root().join("forged.json")).unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), forged);
}

#[test]
fn a_check_approves_nothing_by_making_the_next_one_impossible() {
    let sandbox = with_checks_of_the_agents(&["sh test.sh", "true"]);
    let test = "if test ! -e ../up; then echo up > ../up; cp ../forged.json ralph/tasks.json; mv .ralph ../aside; touch .ralph; fi";
    let ran = run(&sandbox, &["-n", "1"], &[Act::shell(&format!("echo '{test}' > test.sh"))]);
    ran.stops(1, "error", 0);
    assert_eq!(
        fields(&now(&sandbox), "US-001"),
        json!([false, null, 0]),
        "before anybody takes it for theirs"
    );
    sandbox.sh("rm .ralph && mv ../aside .ralph");
    sandbox.ralph(&["resume", "--format", "json"]).stops(1, "max_iterations", 1);
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, null, 0]));
}

/// Git runs what the repository's configuration says, also where it is told to run no hook.
#[test]
fn a_git_filter_says_nothing_in_the_reviewers_place() {
    let sandbox = project(&list(&[new("US-001")]));
    sandbox.write("../forged.json", text(&list(&[right("US-001", 1)])));
    let forge = format!("cp {}/forged.json ralph/tasks.json; cat", sandbox.root().display());
    let plant =
        format!("git config filter.x.clean '{forge}'; echo '*.c filter=x' > .gitattributes; echo x > x.c");
    let acts = [Act::leaves(&list(&[waiting("US-001", 0)])).then(&plant), Act::shell("echo looks good")];
    run(&sandbox, &["-n", "2"], &acts).stops(1, "max_iterations", 2);
    assert_eq!(fields(&seen(&sandbox, 2), "US-001"), json!([false, "needs_review", 0]));
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, "needs_review", 0]));
}

/// A process that writes the list while the reviewer runs would pass for the reviewer.
#[test]
fn what_a_git_filter_has_started_does_not_live_to_see_the_reviewer() {
    let sandbox = project(&list(&[new("US-001")]));
    sandbox.write("../forged.json", text(&list(&[right("US-001", 1)])));
    let (root, project) = (sandbox.root().display(), sandbox.project());
    let forge = format!("cp {root}/forged.json {}/ralph/tasks.json", project.display());
    let ghost = sandbox.program(
        "ghost",
        &format!("echo $$ > {root}/pid; mv {root}/pid {root}/up; while :; do {forge}; sleep 0.01; done"),
    );
    let plant = format!(
        "git config filter.x.clean 'setsid {ghost} > /dev/null 2>&1 < /dev/null & until test -e {root}/up; do sleep 0.01; done; cat'
         echo '*.c filter=x' > .gitattributes; echo x > x.c"
    );
    let look = format!("kill -0 $(cat {root}/up) 2> /dev/null && echo lives > {root}/lives; echo looks good");
    let acts = [Act::leaves(&list(&[waiting("US-001", 0)])).then(&plant), Act::shell(&look)];
    run(&sandbox, &["-n", "2"], &acts).stops(1, "max_iterations", 2);
    assert!(sandbox.has("../up"), "the filter has run");
    assert!(!sandbox.has("../lives"), "and so does what it started");
    assert_eq!(fields(&seen(&sandbox, 2), "US-001"), json!([false, "needs_review", 0]));
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, "needs_review", 0]));
    sandbox.nothing_is_left();
}

#[test]
fn a_commit_of_what_is_left_that_was_ended_is_made_by_whoever_resumes() {
    let sandbox = project(&list(&[new("US-001")]));
    let plant = "git config filter.x.clean 'echo up > ../up; sleep 600; cat'
                 echo '*.c filter=x' > .gitattributes; echo x > x.c";
    let acts =
        [Act::leaves(&list(&[waiting("US-001", 0)])).then(plant), Act::makes(&list(&[right("US-001", 1)]))];
    let running = begin(&sandbox, &[], &agent(&sandbox, &acts));
    sandbox.until_file("../up");
    running.signal(Signal::INT);
    sandbox.until_fact("the first signal", |fact| fact == "stop_asked");
    running.signal(Signal::INT);
    running.end().exits(130);
    sandbox.nothing_is_left();
    sandbox.sh("test -e .git/index.lock && git config --unset filter.x.clean");
    sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", 2);
    let log = sandbox.sh("git log --format=%s");
    assert_eq!(log.lines().filter(|line| line.starts_with("wip: ")).count(), 1, "{log}");
    assert_eq!(
        sandbox.sh("git status --porcelain; git show --name-only --format= HEAD~1 | grep x.c"),
        "x.c\n"
    );
}

/// The machinery is not the run: what it left is committed once, however often it dies.
#[test]
fn what_is_left_is_committed_once_also_if_the_keeper_dies_meanwhile() {
    let sandbox = project(&list(&[new("US-001")]));
    let plant = "git config filter.x.clean 'test -e ../up || { echo up > ../up; sleep 600; }; cat'
                 echo '*.c filter=x' > .gitattributes; echo x > x.c";
    let acts =
        [Act::leaves(&list(&[waiting("US-001", 0)])).then(plant), Act::makes(&list(&[right("US-001", 1)]))];
    let running = begin(&sandbox, &[], &agent(&sandbox, &acts));
    sandbox.until_file("../up");
    kill_process(sandbox.keeper().unwrap(), Signal::KILL).unwrap();
    running.end().stops(0, "completed", 2);
    sandbox.nothing_is_left();
    let log = sandbox.sh("git log --format=%s");
    assert_eq!(log.lines().filter(|line| line.starts_with("wip: ")).count(), 1, "{log}");
    assert_eq!(sandbox.sh("git status --porcelain"), "");
}

#[test]
fn what_an_agent_never_commits_is_committed_as_work_in_progress() {
    let sandbox = project(&list(&[new("US-001")]));
    let acts = [
        Act::leaves(&list(&[waiting("US-001", 0)])).then("echo x > new-file"),
        Act::leaves(&list(&[right("US-001", 1)])),
    ];
    let ran = run_human(&sandbox, &[], &acts).exits(0);
    assert!(ran.stdout.contains("committed what the agent left: 2 files"), "{}", ran.stdout);
    let log = sandbox.sh("git log --format=%s");
    let wip: Vec<&str> = log.lines().filter(|line| line.starts_with("wip: [US-001]")).collect();
    assert_eq!(wip.len(), 2, "{log}");
    assert_eq!(sandbox.sh("git status --porcelain"), "");
    assert!(sandbox.sh("git show --stat HEAD~1").contains("new-file"));
}

#[test]
fn the_lock_of_a_git_that_was_killed_keeps_nobody_from_committing() {
    let sandbox = project(&list(&[waiting("US-001", 0)]));
    let acts = [
        Act::leaves(&list(&[waiting("US-001", 0)]))
            .then("echo x > new-file; : > .git/index.lock; kill -9 $$"),
        Act::makes(&list(&[right("US-001", 1)])),
    ];
    let ran = run_human(&sandbox, &[], &acts).exits(0);
    assert!(ran.stdout.contains("committed what the agent left: 1 file"), "{}", ran.stdout);
    assert_eq!(sandbox.sh("git status --porcelain; git log -1 --format=%s"), "work\n");
}

#[test]
fn what_an_agent_never_commits_is_only_told_if_the_setting_says_so() {
    let sandbox = project(&list(&[new("US-001")]));
    sandbox.settings(&json!({"tasks": {"commitLeft": false}}));
    sandbox.sh("git add . && git commit -q -m settings");
    let head = sandbox.sh("git rev-parse HEAD");
    let acts = [
        Act::leaves(&list(&[waiting("US-001", 0)])).then("echo x > new-file"),
        Act::leaves(&list(&[right("US-001", 1)])),
    ];
    let ran = run_human(&sandbox, &[], &acts).exits(0);
    assert!(ran.stdout.contains("uncommitted") && ran.stdout.contains("2 files"), "{}", ran.stdout);
    assert_eq!(sandbox.sh("git rev-parse HEAD"), head);
    assert_eq!(sandbox.sh("git status --porcelain"), " M ralph/tasks.json\n?? new-file\n");
}

#[test]
fn criteria_that_an_agent_weakens_are_kept_and_pointed_out_everywhere() {
    let asked = with(new("US-001"), &json!({"acceptanceCriteria": ["One", "Two", "Three"]}));
    let less = json!({"acceptanceCriteria": ["One"], "title": "Do less"});
    let sandbox = project(&verified(&[asked, new("US-002")], &["true"]));
    let acts = [
        Act::makes(&verified(&[with(waiting("US-001", 0), &less), new("US-002")], &["true"])),
        Act::makes(&verified(&[with(right("US-001", 1), &less), new("US-002")], &["true"])),
    ];
    let ran = run_human(&sandbox, &["-n", "2"], &acts).exits(1);
    // Once, when it happens, although the list is looked at again after the checks.
    let line = "  US-001: acceptance criteria were changed by the agent: 3 → 1\n";
    assert_eq!(ran.stdout.matches(line).count(), 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("  US-001: title was changed by the agent\n"), "{}", ran.stdout);
    // In the morning.
    let summary = "changed by agents: US-001 acceptance criteria (3 → 1), US-001 title\n";
    let (_, closing) = ran.stdout.split_once("max_iterations: ").unwrap();
    assert!(closing.contains(&format!("  {summary}")), "{closing}");
    let id = sandbox.only_run();
    sandbox.ralph(&["show", &id]).exits(0).says(&format!("  reworded {}", line.trim_start()));
    sandbox.ralph(&["tasks", "list"]).exits(0).says(summary);
    let shown = "  reworded      by agents: acceptance criteria (3 → 1), title\n";
    sandbox.ralph(&["tasks", "show", "US-001"]).exits(0).says(shown);
    assert!(!sandbox.ralph(&["tasks", "show", "US-002"]).exits(0).stdout.contains("reworded"));
    // For programs, and in the record.
    let what = json!([{"acceptance_criteria": {"before": 3, "after": 1}}, "title"]);
    assert_eq!(
        sandbox.ralph(&["show", &id, "--format", "json"]).exits(0).json()["tasks"][0]["reworded"],
        what
    );
    assert_eq!(sandbox.ralph(&["tasks", "list", "--format", "json"]).exits(0).json()[0]["reworded"], what);
    let facts = sandbox.facts();
    let recorded =
        facts.iter().filter_map(|fact| fact["ended"]["end"]["plan"]["tasks"]["reworded"].as_array());
    assert_eq!(recorded.flatten().count(), 2);
    // What it has made of them counts.
    assert_eq!(now(&sandbox)["userStories"][0]["acceptanceCriteria"], json!(["One"]));
}

#[test]
fn the_same_illegal_edit_in_every_iteration_does_not_use_them_all_up() {
    let sandbox = project(&list(&[new("US-001")]));
    // It also writes down what it did, as agents are asked to.
    let cheat = || Act::leaves(&list(&[right("US-001", 0)])).then("date +%s%N >> ralph/progress.txt");
    let acts: Vec<Act> = (0..15).map(|_| cheat()).collect();
    let ran = run_human(&sandbox, &[], &acts).exits(1);
    assert!(
        ran.stdout.contains("stalled: no story made progress in the last 5 iterations"),
        "{}",
        ran.stdout
    );
    // The first one could still have been progress.
    assert_eq!(items(&sandbox).len(), 6);
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, null, 0]));
}

#[test]
fn a_list_of_any_size_is_put_back_without_reading_it() {
    let sandbox = project(&list(&[new("US-001")]));
    let grows = Act::shell("truncate -s 3G ralph/tasks.json; echo up > ../up; sleep 600");
    let agent = agent(&sandbox, &[grows, Act::shell("echo idle")]);
    let running = begin(&sandbox, &["-n", "1"], &agent);
    sandbox.until_file("../up");
    running.kill();
    sandbox.soon_nothing_is_left();
    let resumed = sandbox.ralph(&["resume"]).exits(1);
    assert!(!resumed.stderr.contains("what stood there is kept"), "{}", resumed.stderr);
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, null, 0]));
}

#[test]
fn a_link_in_the_place_of_its_directory_leads_to_no_other_list() {
    for other in ["../other", "docs"] {
        let sandbox = project(&list(&[new("US-001")]));
        let theirs = text(&list(&[new("XX-001")]));
        sandbox.write(&format!("{other}/tasks.json"), &theirs);
        let output = after(&sandbox, Act::shell(&format!("rm -r ralph && ln -s {other} ralph")));
        assert!(output.contains("reverted in the task list: the task list is missing"), "{output}");
        assert_eq!(sandbox.read(&format!("{other}/tasks.json")), theirs);
        assert_eq!(fields(&seen(&sandbox, 2), "US-001"), json!([false, null, 0]));
        assert_eq!(sandbox.sh("git status --porcelain"), "", "what is left can be committed: {output}");
    }
}
