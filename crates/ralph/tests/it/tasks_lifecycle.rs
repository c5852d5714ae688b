//! Implement, review, fix: whole loops over a task list. The seed's verification lines 6, 9 and 11
//! are here, and so are its exit codes.

use crate::support::Sandbox;
use crate::tasks_support::{
    Act, agent, back, begin, fields, items, list, new, now, project, prompt, right, run, run_human, seen,
    text, verified, waiting, with,
};
use serde_json::{Value, json};
use std::fs;

#[test]
fn a_one_story_list_is_implemented_then_approved_by_the_first_review() {
    let sandbox = project(&list(&[new("US-001")]));
    let acts = [
        Act::makes(&list(&[waiting("US-001", 0)])).then("cat .ralph-active > ../marker-1"),
        Act::makes(&list(&[right("US-001", 1)])).then("cat .ralph-active > ../marker-2"),
    ];
    let result = run(&sandbox, &[], &acts).stops(0, "completed", 2);
    assert_eq!(items(&sandbox), ["implement US-001", "review US-001"]);
    // Iteration 1: needs_review, passes stays false, reviewCount stays 0.
    assert_eq!(fields(&seen(&sandbox, 2), "US-001"), json!([false, "needs_review", 0]));
    // Iteration 2: counted, approved.
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([true, "approved", 1]));
    assert_eq!(result["tasks"], json!([{"id": "US-001", "done": true, "reviews": 1}]));
    assert_eq!(result["plan"], "tasks");
    // No tag was needed.
    assert!(result["iterations"].as_array().unwrap().iter().all(|i| i["completion_tag_found"] == false));
    // The marker that hooks of earlier times know, gone when the run is over.
    let marker = |number: u32| {
        let text = fs::read(sandbox.root().join(format!("marker-{number}"))).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()
    };
    let first = marker(1);
    assert_eq!((&first["iterationMode"], &first["mode"]), (&json!("implement"), &json!("direct")));
    assert_eq!(
        (&first["skipReview"], &first["reviewCap"], &first["max_iterations"]),
        (&json!(false), &json!(5), &json!(15))
    );
    assert_eq!(
        first["preIterationSnapshot"],
        json!({"US-001": {"passes": false, "reviewStatus": null, "reviewCount": 0}})
    );
    assert!(first["pid"].is_u64() && first["timestamp"].as_str().unwrap().ends_with('Z'), "{first}");
    assert_eq!(marker(2)["iterationMode"], "review");
    assert!(!sandbox.has(".ralph-active"));
    assert_eq!(sandbox.sh("git status --porcelain"), "");
}

#[test]
fn changes_requested_twice_are_fixed_twice_and_only_reviews_count() {
    let sandbox = project(&list(&[new("US-001")]));
    let acts = [
        list(&[waiting("US-001", 0)]),
        list(&[back("US-001", 1)]),
        list(&[waiting("US-001", 1)]),
        list(&[back("US-001", 2)]),
        list(&[waiting("US-001", 2)]),
        list(&[right("US-001", 3)]),
    ];
    let ran = run_human(&sandbox, &[], &acts.each_ref().map(Act::makes)).exits(0);
    assert_eq!(
        items(&sandbox),
        [
            "implement US-001",
            "review US-001",
            "review-fix US-001",
            "review US-001",
            "review-fix US-001",
            "review US-001"
        ]
    );
    assert_eq!(fields(&seen(&sandbox, 3), "US-001"), json!([false, "changes_requested", 1]));
    assert_eq!(fields(&seen(&sandbox, 4), "US-001"), json!([false, "needs_review", 1]));
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([true, "approved", 3]));
    for line in ["stories: 1 of 1 done", "reviews: US-001 3", "3 or more reviews, worth a look: US-001"] {
        assert!(ran.stdout.contains(line), "{line}\n{}", ran.stdout);
    }
    // Each agent is told what it is there for.
    let modes = [1, 2, 3].map(|call| prompt(&sandbox, call).lines().next().unwrap().to_string());
    assert_eq!(
        modes,
        ["implement", "review", "review-fix"]
            .map(String::from)
            .iter()
            .zip(1..)
            .map(|(mode, n)| format!(
                "This is iteration {n} of 15. Mode: **{mode}**. Story US-001: Do US-001"
            ))
            .collect::<Vec<_>>()[..]
    );
}

#[test]
fn review_counts_are_accurate_after_completion() {
    let sandbox = project(&list(&[new("US-001"), new("US-002")]));
    let acts = [
        list(&[waiting("US-001", 0), new("US-002")]),
        list(&[right("US-001", 1), new("US-002")]),
        list(&[right("US-001", 1), waiting("US-002", 0)]),
        list(&[right("US-001", 1), back("US-002", 1)]),
        list(&[right("US-001", 1), waiting("US-002", 1)]),
        list(&[right("US-001", 1), right("US-002", 2)]),
    ];
    let result = run(&sandbox, &[], &acts.each_ref().map(Act::makes)).stops(0, "completed", 6);
    let items = items(&sandbox);
    for (id, reviews) in [("US-001", 1), ("US-002", 2)] {
        let happened = items.iter().filter(|item| **item == format!("review {id}")).count();
        assert_eq!((happened, &fields(&now(&sandbox), id)[2]), (reviews, &json!(reviews)), "{id}");
    }
    assert_eq!(
        result["tasks"],
        json!([{"id": "US-001", "done": true, "reviews": 1}, {"id": "US-002", "done": true, "reviews": 2}])
    );
    // Each says what it was about, as JSON and to people.
    let word = |value: &Value| value.as_str().unwrap().to_string();
    let iterations = result["iterations"].as_array().unwrap();
    let listed: Vec<String> =
        iterations.iter().map(|i| format!("{} {}", word(&i["mode"]), word(&i["story"]))).collect();
    assert_eq!(listed, items);
    let shown = sandbox.ralph(&["show", &sandbox.only_run()]).exits(0).stdout;
    assert!(shown.contains("\niteration 4: review US-002, "), "{shown}");
}

#[test]
fn with_a_review_cap_of_1_the_first_review_that_finds_issues_auto_approves() {
    let sandbox = project(&list(&[new("US-001")]));
    let acts = [Act::makes(&list(&[waiting("US-001", 0)])), Act::makes(&list(&[back("US-001", 1)]))];
    let ran = run_human(&sandbox, &["--review-cap", "1"], &acts).exits(0);
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([true, "approved", 1]));
    assert_eq!(now(&sandbox)["userStories"][0]["reviewFeedback"], "[AUTO-APPROVED AT CAP] line 3 is wrong");
    assert!(ran.stdout.contains("reached the review cap of 1: US-001"), "{}", ran.stdout);
    assert!(prompt(&sandbox, 2).contains("The review cap is 1."));
}

#[test]
fn at_the_cap_with_red_checks_the_run_halts_and_asks_for_a_person() {
    let sandbox = project(&verified(&[waiting("US-001", 1)], &["test -e good"]));
    let approved = verified(&[right("US-001", 2)], &["test -e good"]);
    let acts = [
        Act::makes(&approved),
        Act::makes(&verified(&[waiting("US-001", 2)], &["test -e good"])).then("touch good"),
        Act::makes(&verified(&[right("US-001", 3)], &["test -e good"])),
    ];
    let result = run(&sandbox, &["--review-cap", "2"], &acts).stops(1, "halted", 1);
    let why = "US-001 reached its review cap of 2 and its checks still fail: a person has to look at it";
    assert_eq!(result["error"]["message"], why);
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, "changes_requested", 2]));
    // A user who resumes has looked at it: one more fix, one more review.
    let resumed = sandbox.ralph(&["resume", "--format", "json"]);
    resumed.stops(0, "completed", 3);
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([true, "approved", 3]));
}

#[test]
fn an_approval_with_red_checks_becomes_changes_requested_with_their_output() {
    let check = "test -e good || { echo the till is open; exit 3; }";
    let sandbox = project(&verified(&[waiting("US-001", 0)], &[check]));
    let acts = [
        Act::makes(&verified(&[right("US-001", 1)], &[check])),
        Act::makes(&verified(&[waiting("US-001", 1)], &[check])).then("touch good"),
        Act::makes(&verified(&[right("US-001", 2)], &[check])),
    ];
    let ran = run_human(&sandbox, &[], &acts).exits(0);
    assert!(ran.stdout.contains("was approved, but checks fail"), "{}", ran.stdout);
    let sent_back = &seen(&sandbox, 2)["userStories"][0];
    assert_eq!(
        (&sent_back["reviewStatus"], &sent_back["passes"], &sent_back["reviewCount"]),
        (&json!("changes_requested"), &json!(false), &json!(1))
    );
    let feedback = sent_back["reviewFeedback"].as_str().unwrap();
    assert!(feedback.contains("the till is open") && feedback.contains("exit code 3"), "{feedback}");
}

#[test]
fn what_a_person_adds_while_the_checks_run_survives_their_being_red() {
    let sandbox = project(&list(&[waiting("US-001", 0)]));
    let theirs = sandbox.root().join("theirs");
    fs::write(&theirs, text(&list(&[right("US-001", 1), new("US-002")]))).unwrap();
    let check = format!("cp {} ralph/tasks.json; false", theirs.display());
    run(&sandbox, &["-n", "1", "--check", &check], &[Act::makes(&list(&[right("US-001", 1)]))]).stops(
        1,
        "max_iterations",
        1,
    );
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, "changes_requested", 1]));
    assert_eq!(fields(&now(&sandbox), "US-002"), json!([false, null, 0]));
}

#[test]
fn skip_review_lets_the_implementer_set_passes_and_reviews_nothing() {
    let stories = [new("US-001"), new("US-002")];
    let sandbox = project(&verified(&stories, &["test -e good"]));
    let passing = |id: &str| with(new(id), &json!({"passes": true, "notes": "did it"}));
    let acts = [
        // Red: it does not count.
        Act::makes(&verified(&[passing("US-001"), new("US-002")], &["test -e good"])),
        Act::makes(&verified(&[passing("US-001"), new("US-002")], &["test -e good"])).then("touch good"),
        Act::makes(&verified(&[passing("US-001"), passing("US-002")], &["test -e good"])),
    ];
    let ran = run_human(&sandbox, &["--skip-review"], &acts).exits(0);
    assert_eq!(items(&sandbox), ["implement US-001", "implement US-001", "implement US-002"]);
    assert_eq!(fields(&seen(&sandbox, 2), "US-001"), json!([false, null, 0]));
    for id in ["US-001", "US-002"] {
        assert_eq!(fields(&now(&sandbox), id), json!([true, null, 0]));
    }
    assert!(
        ran.stdout.contains("stories: 2 of 2 done") && !ran.stdout.contains("reviews:"),
        "{}",
        ran.stdout
    );
    assert!(prompt(&sandbox, 1).contains("This loop has no reviews"), "{}", prompt(&sandbox, 1));
    sandbox.ralph(&["tasks", "--skip-review", "--review-cap", "2", "--", "true"]).exits(2);
}

#[test]
fn a_tag_alone_ends_nothing() {
    let sandbox = project(&list(&[new("US-001"), new("US-002")]));
    let says = "echo '<promise>COMPLETE</promise>'";
    let acts = [
        Act::makes(&list(&[waiting("US-001", 0), new("US-002")])).then(says),
        Act::makes(&list(&[right("US-001", 1), new("US-002")])).then(says),
        Act::shell(says),
    ];
    let result = run(&sandbox, &["-n", "3"], &acts).stops(1, "max_iterations", 3);
    let claimed: Vec<_> =
        result["iterations"].as_array().unwrap().iter().map(|i| &i["completion_tag_found"]).collect();
    assert_eq!(claimed, [true, true, true]);
    assert_eq!(result["tasks"][1], json!({"id": "US-002", "done": false, "reviews": 0}));
}

#[test]
fn direct_mode_with_one_iteration_works_and_says_that_there_is_no_sandbox() {
    let sandbox = project(&list(&[new("US-001")]));
    let acts = [Act::makes(&list(&[waiting("US-001", 0)]))];
    let ran = run_human(&sandbox, &["--no-sandbox", "--max-iterations", "1"], &acts).exits(1);
    for part in
        ["sandbox none: agents have your rights", "US-001 needs review", "max_iterations", "left: US-001"]
    {
        assert!(ran.stdout.contains(part), "{part}\n{}", ran.stdout);
    }
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([false, "needs_review", 0]));
}

#[test]
fn a_list_that_is_done_needs_no_agent() {
    let sandbox = project(&list(&[right("US-001", 1)]));
    run(&sandbox, &[], &[]).stops(0, "completed", 0);
}

#[test]
fn exit_codes_are_those_of_the_seed() {
    let sandbox = project(&list(&[new("US-001")]));
    // 1: not done within the iterations; an agent that does nothing makes no progress.
    run(&sandbox, &["-n", "2"], &[Act::shell("echo one"), Act::shell("echo two")]).stops(
        1,
        "max_iterations",
        2,
    );
    // 2: what cannot begin.
    sandbox.ralph(&["tasks", "--review-cap", "0", "--", "true"]).exits(2);
    sandbox.write("ralph/tasks.json", "{}");
    sandbox.ralph(&["tasks", "--", "true"]).exits(2).says("the task list has no `userStories`");
    sandbox.sh("rm -r ralph");
    let refused = sandbox.ralph(&["tasks", "--", "true"]).exits(2);
    assert!(refused.stderr.contains("`ralph init tasks` creates one"), "{}", refused.stderr);
    // 1: none of the remaining work can be started.
    let stuck = project(&list(&[with(new("US-001"), &json!({"dependsOn": ["US-002"]}))]));
    let result = run(&stuck, &[], &[]).stops(1, "halted", 0);
    assert_eq!(result["error"]["message"], "US-001 depends on US-002, which does not exist");
    // 130: interrupted.
    let sandbox = project(&list(&[new("US-001")]));
    let agent = agent(&sandbox, &[Act::shell("echo up > up; until [ -e ../go ]; do sleep 0.02; done")]);
    let running = begin(&sandbox, &[], &agent);
    sandbox.until_file("up");
    sandbox.interrupt_and_go(&running, rustix::process::Signal::INT);
    running.end().exits(130);
}

#[test]
fn the_estimate_is_told_at_the_start_with_a_warning_when_it_cannot_be_enough() {
    let stories = [new("US-001"), new("US-002"), right("US-003", 1)];
    let run_with = |args: &[&str]| {
        let sandbox = project(&list(&stories));
        run_human(&sandbox, args, &[Act::shell("exit 1")])
    };
    let ran = run_with(&["-n", "1"]);
    assert!(ran.stdout.contains("2 stories × ~3 iterations each = ~6 iterations needed"), "{}", ran.stdout);
    assert!(ran.stderr.contains("1 iteration may not be enough"), "{}", ran.stderr);
    let sandbox: Sandbox = project(&list(&[right("US-001", 1)]));
    let ran = run_human(&sandbox, &[], &[]).exits(0);
    assert!(!ran.stderr.contains("hardly"), "{}", ran.stderr);
    assert!(ran.stdout.contains("needs   nothing: all stories are done"), "{}", ran.stdout);
}

#[test]
fn an_empty_answer_is_asked_for_again() {
    let sandbox = project(&list(&[waiting("US-001", 0)]));
    let root = sandbox.root().display().to_string();
    // Says nothing at all the first time.
    let script = format!(
        "cat > /dev/null; test -e '{root}/second' || {{ touch '{root}/second'; exit 0; }}
         cat > ralph/tasks.json <<'END'\n{}END\ngit commit -qam done; echo approved",
        text(&list(&[right("US-001", 1)]))
    );
    let result = begin(&sandbox, &[], &sandbox.sh_agent(&script)).end().stops(0, "completed", 1);
    assert_eq!(result["iterations"].as_array().unwrap().len(), 1);
    assert_eq!(sandbox.agents_begun(), 2);
}
