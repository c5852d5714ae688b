//! A task list and the people around it: their edits, branches, prompts, agents and crashes.

use crate::support::{Running, Sandbox};
use crate::tasks_support::{
    Act, agent, back, begin, fields, items, list, new, now, project, prompt, right, run, seen, text,
    verified, waiting, with,
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;

/// What the run recorded of edits by others than its agents.
fn edits(sandbox: &Sandbox) -> usize {
    let edited = |fact: &&Value| fact["ended"]["end"]["plan"]["tasks"]["edited"] == true;
    sandbox.facts().iter().filter(edited).count()
}

/// Begins a run whose first agent fails, and changes the list while the run waits before the next.
/// Pausing ends the wait, whose hour no machine is too slow for, and the list is read.
fn edited_in_a_wait(sandbox: &Sandbox, format: &str, content: &str, acts: &[Act]) -> Running {
    sandbox.settings(&json!({"backoff": {"base": 3600, "cap": 3600}}));
    let agent = agent(sandbox, acts);
    let running = sandbox.start(&[&["tasks", "--format", format, "--"], &agent.words()[..]].concat());
    // The list is read once more before the wait begins.
    sandbox.until_facts("the wait", |facts| {
        let ended = |kind: &str| facts.iter().rposition(|fact| fact["ended"]["end"][kind].is_object());
        ended("left").is_some_and(|left| ended("plan") > Some(left))
    });
    sandbox.write("ralph/tasks.json", content);
    sandbox.ralph(&["pause", &sandbox.only_run()]).exits(0);
    running
}

#[test]
fn an_invalid_edit_stops_the_run_with_file_and_reason_and_it_goes_on_after_mending() {
    let wrong = text(&list(&[with(new("US-001"), &json!({"priority": "high"}))]));
    for (edited, why) in [
        (wrong.as_str(), "Story US-001: priority must be a number, not \"high\""),
        ("{ not json", "the task list is not valid JSON"),
        ("{\"userStories\": [], \"userStories\": []}", "duplicate key: userStories"),
    ] {
        let sandbox = project(&list(&[new("US-001")]));
        let acts = [Act::shell("exit 1"), Act::makes(&list(&[right("US-001", 1)]))];
        let result = edited_in_a_wait(&sandbox, "json", edited, &acts).end().stops(1, "error", 1);
        let message = result["error"]["message"].as_str().unwrap();
        let file = sandbox.project().join("ralph/tasks.json").display().to_string();
        assert!(
            message.starts_with(&file)
                && message.contains(why)
                && message.ends_with("then run `ralph resume`"),
            "{message}"
        );
        assert_eq!(sandbox.read("ralph/tasks.json"), edited, "it is theirs to mend");
        // Still wrong: still refused.
        sandbox.ralph(&["resume", "--format", "json"]).stops(1, "error", 1);
        sandbox.write("ralph/tasks.json", text(&list(&[waiting("US-001", 0)])));
        sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", 2);
        assert_eq!(fields(&now(&sandbox), "US-001"), json!([true, "approved", 1]));
    }
}

#[test]
fn what_a_person_changes_while_a_run_is_down_counts() {
    let sandbox = project(&list(&[new("US-001")]));
    let acts = [
        Act::makes(&list(&[waiting("US-001", 0)]))
            .then("echo up > up; until [ -e ../go ]; do sleep 0.02; done"),
        Act::makes(&list(&[right("US-001", 0), waiting("US-002", 0)])),
    ];
    let agent = agent(&sandbox, &acts);
    let running = begin(&sandbox, &["-n", "2"], &agent);
    sandbox.until_file("up");
    sandbox.interrupt_and_go(&running, Signal::INT);
    running.end().exits(130);
    sandbox.write("ralph/tasks.json", text(&list(&[right("US-001", 0), new("US-002")])));
    sandbox.ralph(&["resume", "--format", "json"]).stops(1, "max_iterations", 2);
    assert_eq!(items(&sandbox), ["implement US-001", "implement US-002"]);
    assert_eq!(edits(&sandbox), 1);
}

#[test]
fn what_a_person_changes_while_the_loop_waits_counts_and_is_recorded() {
    let sandbox = project(&list(&[new("US-001")]));
    // Rules that bind agents do not bind people: this one approves a story by hand.
    let by_hand = text(&list(&[right("US-001", 0), new("US-002")]));
    let acts = [
        Act::shell("exit 1"),
        Act::makes(&list(&[right("US-001", 0), waiting("US-002", 0)])),
        Act::makes(&list(&[right("US-001", 0), right("US-002", 1)])),
    ];
    let running = edited_in_a_wait(&sandbox, "human", &by_hand, &acts);
    sandbox.ralph(&["resume", &sandbox.only_run()]).exits(0);
    let ran = running.end().exits(0);
    assert_eq!(items(&sandbox), ["implement US-001", "implement US-002", "review US-002"]);
    assert_eq!(edits(&sandbox), 1);
    let line = "the task list was edited between iterations; using the new version";
    assert!(ran.stdout.contains(line), "{}", ran.stdout);
}

/// An agent that is at work on the list when the run ends.
fn at_work(sandbox: &Sandbox) -> Running {
    let agent = agent(
        sandbox,
        &[
            Act::leaves(&list(&[waiting("US-001", 0)])).then("echo up > ../up; sleep 600"),
            Act::makes(&list(&[waiting("US-001", 0), new("US-002")])),
        ],
    );
    let running = begin(sandbox, &["-n", "1"], &agent);
    sandbox.until_file("../up");
    running
}

#[test]
fn what_a_person_adds_after_an_agent_was_ended_is_there_when_the_run_goes_on() {
    let sandbox = project(&list(&[new("US-001")]));
    let running = at_work(&sandbox);
    running.signal(Signal::INT);
    sandbox.until_fact("the first signal", |fact| fact == "stop_asked");
    running.signal(Signal::INT);
    running.end().exits(130);
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, null, 0]), "that agent was not judged");
    sandbox.write("ralph/tasks.json", text(&list(&[new("US-001"), new("US-002")])));
    sandbox.ralph(&["resume", "--format", "json"]).stops(1, "max_iterations", 1);
    assert_eq!(fields(&seen(&sandbox, 2), "US-002"), json!([false, null, 0]));
    assert_eq!(edits(&sandbox), 1);
}

#[test]
fn what_a_person_adds_after_a_crash_is_kept_and_told_of() {
    let sandbox = project(&list(&[new("US-001")]));
    at_work(&sandbox).kill();
    sandbox.soon_nothing_is_left();
    let theirs = text(&list(&[waiting("US-001", 0), new("US-002")]));
    sandbox.write("ralph/tasks.json", &theirs);
    let stderr = sandbox.ralph(&["resume"]).exits(1).stderr;
    let kept = stderr.lines().find_map(|line| line.split_once("the version it replaced is kept: "));
    let (_, path) = kept.unwrap_or_else(|| panic!("{stderr}"));
    assert_eq!(fs::read_to_string(path).unwrap(), theirs);
}

/// A power cut takes the fact that there was an agent, and leaves what it wrote.
#[test]
fn what_an_agent_wrote_is_no_persons_even_if_the_journal_has_lost_that_agent() {
    let sandbox = project(&list(&[new("US-001")]));
    let cheat = Act::leaves(&list(&[right("US-001", 1)])).then("echo up > ../up; sleep 600");
    let agent = agent(&sandbox, &[cheat, Act::makes(&list(&[waiting("US-001", 0)]))]);
    let running = begin(&sandbox, &["-n", "1"], &agent);
    sandbox.until_file("../up");
    running.kill();
    sandbox.soon_nothing_is_left();
    sandbox.lose_from(|fact| fact["began"]["step"]["agent"].is_object());
    sandbox.ralph(&["resume", "--format", "json"]).stops(1, "max_iterations", 1);
    assert_eq!(fields(&seen(&sandbox, 2), "US-001"), json!([false, null, 0]));
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, "needs_review", 0]));
    assert_eq!((edits(&sandbox), sandbox.agents_begun()), (0, 2));
}

/// The file was written, and the loop died before it could say so.
#[test]
fn an_approval_is_taken_back_once_however_often_the_loop_dies_at_it() {
    let sandbox = project(&list(&[waiting("US-001", 3)]));
    let approves_and_fails = Act::makes(&list(&[right("US-001", 4)])).then("exit 1");
    run(&sandbox, &["-n", "1"], &[approves_and_fails]).stops(1, "max_iterations", 1);
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, "needs_review", 3]));
    let begun = |fact: &Value| fact["began"]["step"]["plan"]["what"]["amend_tasks"].is_object();
    let facts = sandbox.facts();
    let step = &facts.iter().find(|fact| begun(fact)).unwrap()["began"]["id"];
    sandbox.lose_from(|fact| fact["ended"]["id"] == *step);
    sandbox.ralph(&["resume", "--format", "json"]).stops(1, "max_iterations", 1);
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, "needs_review", 3]));
}

/// Kills the loop while its agent is at work on the list in this mode, and resumes.
fn killed_in(before: &Value, dirty: &Value, after: &[Value], wanted: &[&str]) {
    let sandbox = project(&list(std::slice::from_ref(before)));
    let half_done = Act::leaves(&list(std::slice::from_ref(dirty))).then("echo up > ../up; sleep 600");
    let mut acts = vec![half_done];
    acts.extend(after.iter().map(|story| Act::makes(&list(std::slice::from_ref(story)))));
    let agent = agent(&sandbox, &acts);
    let running = begin(&sandbox, &[], &agent);
    sandbox.until_file("../up");
    running.kill();
    sandbox.soon_nothing_is_left();
    let iterations = after.len() as u64;
    sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", iterations);
    // What the killed agent wrote was not judged: the next one finds the list as it was.
    assert_eq!(
        fields(&seen(&sandbox, 2), "US-001"),
        json!([before["passes"], before["reviewStatus"], before["reviewCount"]])
    );
    assert_eq!(items(&sandbox), wanted);
    let reviews = wanted[1..].iter().filter(|item| item.starts_with("review ")).count() as u64;
    let count = before["reviewCount"].as_u64().unwrap() + reviews;
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([true, "approved", count]));
    assert!(!sandbox.has(".ralph-active"));
}

#[test]
fn a_kill_in_implement_mode_leaves_the_list_and_the_counts_whole() {
    killed_in(
        &new("US-001"),
        &waiting("US-001", 0),
        &[waiting("US-001", 0), right("US-001", 1)],
        &["implement US-001", "implement US-001", "review US-001"],
    );
}

#[test]
fn a_kill_in_review_mode_leaves_the_list_and_the_counts_whole() {
    killed_in(
        &waiting("US-001", 1),
        &right("US-001", 2),
        &[right("US-001", 2)],
        &["review US-001", "review US-001"],
    );
}

#[test]
fn a_kill_in_review_fix_mode_leaves_the_list_and_the_counts_whole() {
    killed_in(
        &back("US-001", 1),
        &waiting("US-001", 1),
        &[waiting("US-001", 1), right("US-001", 2)],
        &["review-fix US-001", "review-fix US-001", "review US-001"],
    );
}

#[test]
fn the_branch_of_the_list_is_made_and_checked_out() {
    let mut tasks = list(&[new("US-001")]);
    tasks["branchName"] = json!("ralph/login");
    let sandbox = project(&tasks);
    let done = |status: Value| {
        let mut tasks = list(&[status]);
        tasks["branchName"] = json!("ralph/login");
        tasks
    };
    let ran = run(&sandbox, &["-n", "1"], &[Act::makes(&done(waiting("US-001", 0)))]);
    assert!(ran.stderr.contains("ralph: switched to branch ralph/login\n"), "{}", ran.stderr);
    ran.stops(1, "max_iterations", 1);
    assert_eq!(sandbox.sh("git branch --show-current"), "ralph/login\n");
    assert_eq!(sandbox.sh("git log --format=%s main..ralph/login"), "work\n");
    // It is there now, and is gone back to.
    sandbox.sh("git switch -q main");
    run(&sandbox, &[], &[Act::makes(&done(waiting("US-001", 0))), Act::makes(&done(right("US-001", 1)))])
        .stops(0, "completed", 2);
    assert_eq!(sandbox.sh("git branch --show-current"), "ralph/login\n");
    assert_eq!(sandbox.sh("git rev-list --count main"), "2\n");
}

#[test]
fn the_list_on_the_branch_decides_and_not_the_one_that_is_left() {
    let on_branch = |commands: &[&str]| {
        let mut tasks = verified(&[waiting("US-001", 0)], commands);
        tasks["branchName"] = json!("ralph/login");
        tasks
    };
    let sandbox = project(&on_branch(&["true"]));
    sandbox.sh("git switch -q -c ralph/login");
    sandbox.write("ralph/tasks.json", text(&on_branch(&["test -e proof"])));
    sandbox.sh("git commit -qam proof; git switch -q main");
    let mut approved = verified(&[right("US-001", 1)], &["test -e proof"]);
    approved["branchName"] = json!("ralph/login");
    run(&sandbox, &["-n", "1"], &[Act::makes(&approved)]).stops(1, "max_iterations", 1);
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, "changes_requested", 1]));
    // One that is wrong is reported before anything is begun.
    sandbox.write("ralph/tasks.json", "{");
    sandbox.sh("git commit -qam broken; git switch -q main");
    let refused = sandbox.ralph(&["tasks", "--", "true"]).exits(2);
    refused.says("the task list on branch ralph/login is invalid");
    assert_eq!(sandbox.sh("git branch --show-current"), "main\n");
}

#[test]
fn a_dirty_tree_is_not_taken_to_another_branch() {
    let mut tasks = list(&[new("US-001")]);
    tasks["branchName"] = json!("ralph/login");
    let sandbox = project(&tasks);
    sandbox.write("theirs", "not committed");
    let refused = sandbox.ralph(&["tasks", "--", "true"]).exits(2);
    for part in ["cannot switch to branch ralph/login: there are uncommitted changes", "--stay"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    assert_eq!(sandbox.sh("git branch --show-current; git branch --list 'ralph/*'"), "main\n");
    assert!(sandbox.runs().is_empty());
    run(&sandbox, &["--stay", "-n", "1"], &[Act::shell("echo idle")]).stops(1, "max_iterations", 1);
    assert_eq!(sandbox.sh("git branch --show-current"), "main\n");
    // A name that git refuses, and nothing that was begun.
    sandbox.sh("rm theirs; git clean -fdq");
    let mut tasks = now(&sandbox);
    tasks["branchName"] = json!("no..name");
    sandbox.write("ralph/tasks.json", text(&tasks));
    sandbox.sh("git commit -qam branch");
    sandbox.ralph(&["tasks", "--", "true"]).exits(2).says("fix branchName in tasks.json, or pass --stay");
}

#[test]
fn other_eyes_review_and_other_hands_fix() {
    let sandbox = project(&list(&[new("US-001")]));
    let states = [
        list(&[waiting("US-001", 0)]),
        list(&[back("US-001", 1)]),
        list(&[waiting("US-001", 1)]),
        list(&[right("US-001", 2)]),
    ];
    let play = agent(&sandbox, &states.each_ref().map(Act::makes)).words()[2].to_string();
    let who = |name: &&str| {
        sandbox.program(name, &format!("echo {name} >> '{}/who'\n{play}", sandbox.root().display()));
    };
    ["maker", "critic", "mender"].iter().for_each(who);
    sandbox.settings(&json!({"agents": {"review": "maker", "fix": "mender"}}));
    sandbox.sh("git commit -qam settings");
    let args = ["tasks", "--format", "json", "--agent", "maker", "--review-agent", "critic"];
    sandbox.ralph(&args).stops(0, "completed", 4);
    let order = fs::read_to_string(sandbox.root().join("who")).unwrap();
    assert_eq!(order, "maker\ncritic\nmender\ncritic\n", "the flag wins over the setting");
    sandbox
        .ralph(&["tasks", "--review-agent", "nobody", "--", "true"])
        .exits(2)
        .says("not installed: nobody");
}

#[test]
fn variables_in_a_users_prompt_are_filled_in_each_iteration() {
    let sandbox = project(&list(&[new("US-001")]));
    sandbox.write("ralph/prompt.md", "Round $RALPH_ITERATION of $RALPH_MAX_ITERATIONS. Keep $HOME.\n");
    sandbox.sh("git add . && git commit -q -m prompt");
    let acts = [Act::makes(&list(&[waiting("US-001", 0)])), Act::makes(&list(&[right("US-001", 1)]))];
    run(&sandbox, &["-n", "7"], &acts).stops(0, "completed", 2);
    for call in [1, 2] {
        let prompt = prompt(&sandbox, call);
        assert!(prompt.ends_with(&format!("\nRound {call} of 7. Keep $HOME.\n")), "{prompt}");
    }
}

#[test]
fn a_tree_made_for_the_plugin_works_unchanged() {
    let sandbox = Sandbox::git();
    // As `ralph-init.sh` and the plan skill left it: keys in their order, no dependsOn, own fields.
    let tasks = r#"{
  "project": "Shop",
  "branchName": "ralph/cart",
  "description": "A cart",
  "verifyCommands": ["true"],
  "userStories": [
    {"id": "US-001", "title": "Cart", "description": "As a buyer …", "acceptanceCriteria": ["Total is right"],
     "priority": 1, "passes": false, "reviewStatus": null, "reviewCount": 0, "reviewFeedback": "", "notes": "",
     "estimatedComplexity": "M"}
  ]
}"#;
    sandbox.write("ralph/tasks.json", tasks);
    sandbox.write("ralph/prd.md", "# PRD\n");
    sandbox.write("ralph/progress.txt", "# Ralph Progress Log\nStarted: 2025-06-15\n\n---\n");
    sandbox.write(
        "ralph/prompt.md",
        "# Iteration $RALPH_ITERATION of $RALPH_MAX_ITERATIONS\nRead ralph/tasks.json.\n",
    );
    sandbox.write(".gitignore", ".ralph-active\n");
    sandbox.sh("git add . && git commit -q -m plugin");
    // A crash of the old loop left its marker.
    sandbox.write(".ralph-active", "{\"pid\": 1, \"iterationMode\": \"implement\"}");
    let acts = [
        Act::shell(
            "sed -i 's/\"reviewStatus\": null/\"reviewStatus\": \"needs_review\"/; s/\"notes\": \"\"/\"notes\": \"did it\"/' ralph/tasks.json; echo '## US-001 implement' >> ralph/progress.txt; git commit -qam 'feat: [US-001] - Cart'",
        ),
        Act::shell(
            "sed -i 's/\"needs_review\"/\"approved\"/; s/\"passes\": false/\"passes\": true/; s/\"reviewCount\": 0/\"reviewCount\": 1/' ralph/tasks.json; git commit -qam 'review: [US-001] - approved'; echo '<promise>COMPLETE</promise>'",
        ),
    ];
    let result = run(&sandbox, &[], &acts).stops(0, "completed", 2);
    assert_eq!(result["iterations"][1]["completion_tag_found"], true);
    assert_eq!(sandbox.sh("git branch --show-current"), "ralph/cart\n");
    let expected = tasks
        .replace("\"reviewStatus\": null", "\"reviewStatus\": \"approved\"")
        .replace("\"notes\": \"\"", "\"notes\": \"did it\"")
        .replace("\"passes\": false", "\"passes\": true")
        .replace("\"reviewCount\": 0", "\"reviewCount\": 1");
    assert_eq!(sandbox.read("ralph/tasks.json"), expected, "ralph has not touched a byte of it");
    assert_eq!(sandbox.sh("git log --format=%s main..").lines().count(), 2);
    assert!(!sandbox.has(".ralph-active"));
}

#[test]
fn a_worktree_keeps_the_list_of_the_project_as_it_was() {
    let mut tasks = verified(&[new("US-001")], &["true"]);
    tasks["branchName"] = json!("ralph/login");
    let sandbox = project(&tasks);
    let states = [verified(&[waiting("US-001", 0)], &["true"]), verified(&[right("US-001", 1)], &["true"])];
    let result = run(&sandbox, &["--worktree"], &states.each_ref().map(Act::makes)).stops(0, "completed", 2);
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, null, 0]));
    assert_eq!(sandbox.sh("git branch --show-current"), "main\n");
    let tree = result["worktree_path"].as_str().unwrap();
    let there: Value =
        serde_json::from_slice(&fs::read(format!("{tree}/ralph/tasks.json")).unwrap()).unwrap();
    assert_eq!(fields(&there, "US-001"), json!([true, "approved", 1]));
    assert!(!std::path::Path::new(tree).join(".ralph-active").exists());
    let listed = sandbox.ralph(&["tasks", "list", "--format", "json"]).exits(0).json();
    assert_eq!(listed[0]["iterations"], 2, "what a worktree took is the project's");
}

#[test]
fn a_list_elsewhere_in_the_project_is_worked_on_there() {
    let sandbox = Sandbox::git();
    sandbox.write("docs/loop/tasks.json", text(&list(&[waiting("US-001", 0)])));
    sandbox.sh("git add . && git commit -q -m tasks");
    let approve = format!(
        "cat > docs/loop/tasks.json <<'END'\n{}END\ngit commit -qam ok",
        text(&list(&[right("US-001", 1)]))
    );
    run(&sandbox, &["--ralph-dir", "docs/loop"], &[Act::shell(&approve)]).stops(0, "completed", 1);
    assert!(prompt(&sandbox, 1).contains("The task list is docs/loop/tasks.json"));
}
