//! `ralph hook stop`, as an agent calls it. The seed's lines about enforcement are the names of
//! the tests; what the tables of `ralph_loop::review` show is not shown again.

use crate::hooks::{call, hook};
use crate::support::{Ran, Sandbox};
use ralph::hook::Assignment;
use ralph_loop::task_list::TaskList;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// A repository with a task list, committed, and an assignment of ralph's outside of it.
pub struct Stage {
    sandbox: Sandbox,
    session: &'static str,
}

/// An empty status is null.
pub fn story(id: &str, status: &str, passes: bool, count: i64, feedback: &str) -> Value {
    let status = if status.is_empty() { Value::Null } else { json!(status) };
    json!({
        "id": id, "title": "t", "description": "", "acceptanceCriteria": ["c"], "priority": 1,
        "passes": passes, "reviewStatus": status, "reviewCount": count, "reviewFeedback": feedback,
        "notes": "done so", "dependsOn": [],
    })
}

pub fn new(id: &str) -> Value {
    story(id, "", false, 0, "")
}

fn list(stories: &[Value]) -> Value {
    json!({"project": "p", "branchName": "b", "description": "", "verifyCommands": [], "userStories": stories})
}

impl Stage {
    pub fn new() -> Stage {
        let sandbox = Sandbox::git();
        sandbox.write(".gitignore", ".ralph-active\n");
        let stage = Stage { sandbox, session: "s" };
        stage.after(&[new("US-001")]);
        stage
    }

    /// The list as the agent leaves it, committed.
    pub fn after(&self, stories: &[Value]) -> &Stage {
        self.text(&list(stories).to_string())
    }

    fn text(&self, text: &str) -> &Stage {
        self.sandbox.write("ralph/tasks.json", text);
        self.commit()
    }

    fn commit(&self) -> &Stage {
        self.sandbox.sh("git add -A && git commit -q --allow-empty -m work");
        self
    }

    fn assignment(&self, mode: &str, before: &[Value]) -> Value {
        json!({
            "mode": mode, "story": "US-001", "before": list(before),
            "tasks_file": self.sandbox.project().join("ralph/tasks.json"),
            "skip_review": false, "review_cap": 5, "check_commits": true,
        })
    }

    /// The hook of an agent with this assignment.
    fn stop(&self, assignment: &Value) -> Ran {
        self.call(self.give(assignment).to_str(), &self.input())
    }

    fn give(&self, assignment: &Value) -> PathBuf {
        let path = self.sandbox.root().join("assignment.json");
        let before = assignment["before"].to_string();
        let list = TaskList::parse(&before).unwrap();
        let assignment: Assignment = serde_json::from_value(assignment.clone()).unwrap();
        assignment.write(&path, &list, &before).unwrap();
        path
    }

    /// The hook of an agent that only has `.ralph-active`.
    pub fn stop_by_marker(&self, marker: &Value) -> Ran {
        self.sandbox.write(".ralph-active", marker.to_string());
        self.call(None, &self.input())
    }

    fn input(&self) -> String {
        json!({"session_id": self.session, "cwd": self.sandbox.project(), "hook_event_name": "Stop",
               "stop_hook_active": false, "last_assistant_message": "done"})
        .to_string()
    }

    fn call(&self, assignment: Option<&str>, input: &str) -> Ran {
        let mut command = hook(&self.sandbox, &["stop"]);
        if let Some(path) = assignment {
            command.env("RALPH_REVIEW", path);
        }
        // Each call of a test is a session's first.
        let _ = fs::remove_dir_all(self.sandbox.home().join("hooks"));
        call(command, input.as_bytes()).exits(0)
    }

    /// One line of the plan: before, after, and a part of the reason if it is blocked.
    #[track_caller]
    fn check(&self, mode: &str, before: &[Value], after: &[Value], reason: Option<&str>) {
        let ran = self.after(after).stop(&self.assignment(mode, before));
        self.judge(&ran, reason);
    }

    #[track_caller]
    pub fn judge(&self, ran: &Ran, reason: Option<&str>) {
        match reason {
            None => assert_eq!((&*ran.stdout, &*ran.stderr), ("", "")),
            Some(part) => {
                let said = reason_of(ran);
                assert!(said.to_lowercase().contains(&part.to_lowercase()), "{said}");
            }
        }
    }
}

#[track_caller]
fn reason_of(ran: &Ran) -> String {
    let output = ran.json();
    assert_eq!(output["decision"], "block", "{}", ran.stdout);
    output["reason"].as_str().unwrap().to_owned()
}

#[test]
fn schema_validation_blocks_on_a_malformed_task_list_and_passes_on_a_valid_one() {
    let stage = Stage::new();
    let assignment = stage.assignment("implement", &[new("US-001")]);
    stage.judge(&stage.stop(&assignment), None);
    for (text, why) in [
        ("{", "not valid JSON"),
        ("{\"userStories\": [{\"passes\": false, \"passes\": true}]}", "duplicate key: passes at line 1"),
        ("[]", "must be an object"),
        ("{\"userStories\": []}", "description is missing"),
    ] {
        stage.judge(&stage.text(text).stop(&assignment), Some(why));
    }
    let mut odd = new("US-001");
    odd["acceptanceCriteria"] = json!([]);
    odd["priority"] = json!("high");
    stage.after(&[odd]);
    let said = reason_of(&stage.stop(&assignment));
    assert!(said.contains("acceptanceCriteria must be") && said.contains("priority must be"), "{said}");
    stage.sandbox.sh("git rm -q ralph/tasks.json && git commit -q -m gone");
    stage.judge(&stage.stop(&assignment), Some("the task list is missing"));
    // Neither a directory in its place nor a fifo is waited for.
    stage.sandbox.sh("mkdir -p ralph && mkfifo ralph/tasks.json");
    stage.judge(&stage.stop(&assignment), Some("not a regular file"));
}

#[test]
fn uncommitted_changes_return_a_block_decision() {
    let stage = Stage::new();
    let assignment = stage.assignment("implement", &[new("US-001")]);
    stage.sandbox.write("left", "over");
    let said = reason_of(&stage.stop(&assignment));
    for part in ["uncommitted changes", "ralph/progress.txt", "CLAUDE.md", "Commit ALL changes"] {
        assert!(said.contains(part), "{said}");
    }
    let mut lenient = assignment.clone();
    lenient["check_commits"] = json!(false);
    stage.judge(&stage.stop(&lenient), None);
    stage.judge(&stage.commit().stop(&assignment), None);
    // Both kinds of problems are reported at once.
    stage.sandbox.write("ralph/tasks.json", "{");
    let said = reason_of(&stage.stop(&assignment));
    assert!(said.contains("not valid JSON") && said.contains("uncommitted changes"), "{said}");
    // Where there is no repository, nothing can be committed.
    stage.sandbox.write("ralph/tasks.json", list(&[new("US-001")]).to_string());
    stage.sandbox.sh("rm -rf .git");
    stage.judge(&stage.stop(&assignment), None);
}

#[test]
fn review_integrity_is_enforced() {
    let stage = Stage::new();
    let cases = [
        (story("US-001", "", true, 0, ""), Some("not 'approved'")),
        (story("US-001", "needs_review", true, 0, ""), Some("not 'approved'")),
        (story("US-001", "changes_requested", true, 1, "x"), Some("not 'approved'")),
        (story("US-001", "approved", true, 1, ""), None),
        (story("US-001", "changes_requested", false, 1, ""), Some("feedback required")),
        (story("US-001", "approved", false, 1, ""), Some("out of sync")),
        (story("US-001", "", false, -1, ""), Some("reviewCount must be a non-negative integer, not -1")),
    ];
    for (after, reason) in cases {
        // A review, so that the approval is a legal change.
        let before = [story("US-001", "needs_review", false, 0, "")];
        stage.check("review", &before, &[after], reason);
    }
    let mut skipping = stage.assignment("implement", &[new("US-001")]);
    skipping["skip_review"] = json!(true);
    let passing = story("US-001", "", true, 0, "");
    stage.judge(&stage.after(&[passing]).stop(&skipping), None);
}

#[test]
fn transitions_are_validated_in_implement_iterations() {
    let stage = Stage::new();
    let before = [new("US-001")];
    let check = |after: &[Value], reason| stage.check("implement", &before, after, reason);
    check(&[story("US-001", "", true, 0, "")], Some("implement iterations cannot set passes=true"));
    check(
        &[story("US-001", "approved", false, 0, "")],
        Some(
            "approve stories. Only review iterations may approve. Story US-001 had illegal transition: reviewStatus null → \"approved\"",
        ),
    );
    // The end state is in order; that an implement iteration made it is not.
    check(&[story("US-001", "approved", true, 0, "")], Some("Implement iterations cannot set passes=true"));
    check(&[story("US-001", "", false, 1, "")], Some("implement iterations cannot increment reviewCount"));
    check(&[story("US-001", "needs_review", false, 0, "")], None);
    check(&[new("US-001"), new("US-002")], None);
    check(
        &[new("US-001"), story("US-002", "", true, 0, "")],
        Some("New stories must start with passes=false"),
    );
    check(&[new("US-002")], Some("Story US-001 is gone"));
}

#[test]
fn transitions_are_validated_in_review_iterations() {
    let stage = Stage::new();
    let waiting = |id| story(id, "needs_review", false, 1, "");
    let approved = |id, count| story(id, "approved", true, count, "");
    let before = [waiting("US-001"), waiting("US-002")];
    let check = |after: &[Value], reason| stage.check("review", &before, after, reason);
    check(&[approved("US-001", 2), waiting("US-002")], None);
    check(&[story("US-001", "changes_requested", false, 2, "mend it"), waiting("US-002")], None);
    check(&[approved("US-001", 1), waiting("US-002")], Some("review must increment reviewCount"));
    check(&[waiting("US-001"), waiting("US-002")], Some("review must increment reviewCount"));
    check(&[approved("US-001", 2), approved("US-002", 2)], Some("review may only modify one story"));
}

#[test]
fn transitions_are_validated_in_review_fix_iterations() {
    let stage = Stage::new();
    let before = [story("US-001", "changes_requested", false, 1, "mend it")];
    let check = |after: Value, reason| stage.check("review-fix", &before, &[after], reason);
    check(story("US-001", "approved", true, 1, ""), Some("Review-fix iterations cannot approve"));
    check(story("US-001", "needs_review", false, 1, ""), None);
    check(story("US-001", "needs_review", false, 1, "mend it"), Some("must clear reviewFeedback"));
    check(
        story("US-001", "needs_review", false, 2, ""),
        Some("review-fix iterations cannot increment reviewCount"),
    );
}

#[test]
fn review_cap_test_the_last_review_must_approve() {
    let stage = Stage::new();
    let mut assignment = stage.assignment("review", &[story("US-001", "needs_review", false, 0, "")]);
    assignment["review_cap"] = json!(1);
    stage.after(&[story("US-001", "changes_requested", false, 1, "not nice")]);
    stage.judge(&stage.stop(&assignment), Some("start reviewFeedback with [AUTO-APPROVED AT CAP]"));
    stage.after(&[story("US-001", "approved", true, 1, "[AUTO-APPROVED AT CAP] not nice")]);
    stage.judge(&stage.stop(&assignment), None);
}

#[test]
fn the_marker_of_earlier_hooks_is_understood() {
    let stage = Stage::new();
    let marker = json!({
        "timestamp": "2025-06-15T10:30:00Z", "pid": 12345, "max_iterations": 15, "mode": "sandbox",
        "skipReview": false, "reviewCap": 5, "iterationMode": "implement",
        "preIterationSnapshot": {"US-001": {"passes": false, "reviewStatus": null, "reviewCount": 0}},
    });
    stage.judge(&stage.stop_by_marker(&marker), None);
    let approved = story("US-001", "approved", true, 0, "");
    stage.after(&[approved]);
    stage.judge(&stage.stop_by_marker(&marker), Some("Implement iterations cannot set passes=true"));
    stage.after(&[new("US-002")]);
    stage.judge(&stage.stop_by_marker(&marker), Some("Story US-001 is gone"));
    let mut skipping = marker.clone();
    skipping["skipReview"] = json!(true);
    stage.after(&[story("US-001", "", true, 0, "")]);
    stage.judge(&stage.stop_by_marker(&skipping), None);
    stage.sandbox.write("left", "over");
    stage.judge(&stage.stop_by_marker(&skipping), Some("uncommitted changes"));
    stage.sandbox.sh("rm .ralph-active");
    stage.judge(&stage.call(None, &stage.input()), None);
}

#[test]
fn a_missing_snapshot_skips_transitions_with_a_warning_and_still_enforces_invariants() {
    let stage = Stage::new();
    let marker = json!({"skipReview": false, "reviewCap": 5});
    // An illegal transition to an end state that is in order.
    let ran = stage.after(&[story("US-001", "approved", true, 0, "")]).stop_by_marker(&marker);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("transitions are not checked"), "{}", ran.stderr);
    let ran = stage.after(&[story("US-001", "", true, 0, "")]).stop_by_marker(&marker);
    assert!(reason_of(&ran).contains("not 'approved'"));
    // A marker that is none is still one: the strict rules apply.
    stage.sandbox.write(".ralph-active", "{");
    let ran = stage.call(None, &stage.input());
    assert!(reason_of(&ran).contains("not 'approved'"));
    assert!(ran.stderr.contains("cannot read") && ran.stderr.contains(".ralph-active"), "{}", ran.stderr);
}

#[test]
fn the_marker_is_never_believed_where_ralph_has_given_an_assignment() {
    let stage = Stage::new();
    let approved = story("US-001", "approved", true, 1, "");
    let lie = json!({"skipReview": true, "iterationMode": "review", "preIterationSnapshot": {}});
    stage.sandbox.write(".ralph-active", lie.to_string());
    stage.check(
        "implement",
        &[new("US-001")],
        &[approved],
        Some("Implement iterations cannot set passes=true"),
    );
}

#[test]
fn what_decides_over_proof_may_not_change_beside_a_legal_step() {
    let stage = Stage::new();
    let assignment = stage.assignment("implement", &[new("US-001")]);
    let done = story("US-001", "needs_review", false, 0, "");
    stage.judge(&stage.after(std::slice::from_ref(&done)).stop(&assignment), None);
    for name in ["verifyCommands", "branchName"] {
        let mut after = list(std::slice::from_ref(&done));
        after[name] = if name == "branchName" { json!("other") } else { json!(["true"]) };
        stage.judge(&stage.text(&after.to_string()).stop(&assignment), Some("Only the user may change it"));
    }
}

#[test]
fn a_session_is_blocked_five_times_and_then_ralph_decides() {
    let stage = Stage::new();
    let path = stage.give(&stage.assignment("implement", &[new("US-001")]));
    stage.text("{");
    let stop = |session: &str, source: Option<&str>| {
        if let Some(source) = source {
            let start = json!({"session_id": session, "source": source});
            call(hook(&stage.sandbox, &["session-start"]), start.to_string().as_bytes()).exits(0);
        }
        let mut command = hook(&stage.sandbox, &["stop"]);
        command.env("RALPH_REVIEW", &path);
        call(command, json!({"session_id": session}).to_string().as_bytes()).exits(0)
    };
    for number in 1..=5 {
        let said = reason_of(&stop("s", None));
        assert!(said.contains(&format!("Block {number} of 5")), "{said}");
    }
    let ran = stop("s", None);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("blocked 5 times already; ralph decides"), "{}", ran.stderr);
    assert!(ran.stderr.contains("not valid JSON"), "{}", ran.stderr);
    // A context that was shortened is the same session; one that starts is not.
    assert_eq!(stop("s", Some("compact")).stdout, "");
    reason_of(&stop("s", Some("startup")));
    reason_of(&stop("another", None));
}

#[test]
fn a_guard_that_cannot_look_lets_nobody_pass() {
    let stage = Stage::new();
    let missing = stage.sandbox.root().join("nowhere.json");
    let ran = stage.call(Some(missing.to_str().unwrap()), &stage.input());
    assert!(reason_of(&ran).contains("ralph cannot read the assignment of this agent"));
    // What the agent says may be nonsense; the list is looked at all the same.
    let path = stage.give(&stage.assignment("implement", &[new("US-001")]));
    let ran = stage.call(path.to_str(), "no JSON");
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("cannot read the hook's input"), "{}", ran.stderr);
    stage.text("{");
    reason_of(&stage.call(path.to_str(), "no JSON"));
    // Blocks that cannot be counted could go on for ever.
    let stop = |active: bool| {
        let mut command = hook(&stage.sandbox, &["stop"]);
        command.env("RALPH_REVIEW", &path).env("RALPH_HOME", stage.sandbox.project().join("README"));
        let input = json!({"session_id": "s", "stop_hook_active": active});
        call(command, input.to_string().as_bytes()).exits(0)
    };
    assert!(stop(false).stderr.contains("cannot count how often this session was blocked"));
    reason_of(&stop(false));
    assert_eq!(stop(true).stdout, "");
}
