//! The seed's verification plan 3, for the Stop hook: each of its lines is a test of that name, with
//! the marker `.ralph-active` as the plan describes it.

use crate::hooks_stop::{Stage, new, story};
use serde_json::{Map, Value, json};

/// What the loop would have written before an iteration of this mode.
fn marker(mode: &str, before: &[Value]) -> Value {
    let snapshot: Map<String, Value> = before
        .iter()
        .map(|story| {
            let kept =
                ["passes", "reviewStatus", "reviewCount"].map(|name| (name.to_owned(), story[name].clone()));
            (story["id"].as_str().unwrap().to_owned(), Value::Object(kept.into_iter().collect()))
        })
        .collect();
    json!({
        "timestamp": "2025-06-15T10:30:00Z", "pid": 12345, "max_iterations": 15, "mode": "direct",
        "skipReview": false, "reviewCap": 5, "iterationMode": mode, "preIterationSnapshot": snapshot,
    })
}

#[track_caller]
fn blocks(mode: &str, before: &[Value], after: &[Value], why: &str) {
    let stage = Stage::new();
    let ran = stage.after(after).stop_by_marker(&marker(mode, before));
    stage.judge(&ran, Some(why));
}

#[track_caller]
fn passes(mode: &str, before: &[Value], after: &[Value]) {
    let stage = Stage::new();
    let ran = stage.after(after).stop_by_marker(&marker(mode, before));
    stage.judge(&ran, None);
}

/// The list is what it was: only its own state is judged.
#[track_caller]
fn state_blocks(after: &Value, why: &str) {
    blocks("implement", std::slice::from_ref(after), std::slice::from_ref(after), why);
}

fn waiting(count: i64) -> Value {
    story("US-001", "needs_review", false, count, "")
}

fn back(count: i64) -> Value {
    story("US-001", "changes_requested", false, count, "mend it")
}

fn approved(count: i64) -> Value {
    story("US-001", "approved", true, count, "")
}

mod review_integrity_enforcement {
    use super::*;

    #[test]
    fn passes_true_and_review_status_null_blocks_not_approved() {
        state_blocks(&story("US-001", "", true, 0, ""), "not 'approved'");
    }

    #[test]
    fn passes_true_and_needs_review_blocks_not_approved() {
        state_blocks(&story("US-001", "needs_review", true, 0, ""), "not 'approved'");
    }

    #[test]
    fn passes_true_and_changes_requested_blocks_not_approved() {
        state_blocks(&story("US-001", "changes_requested", true, 1, "x"), "not 'approved'");
    }

    #[test]
    fn passes_true_and_approved_passes() {
        passes("implement", &[approved(1)], &[approved(1)]);
    }

    #[test]
    fn changes_requested_and_empty_feedback_blocks_feedback_required() {
        state_blocks(&story("US-001", "changes_requested", false, 1, ""), "feedback required");
    }

    #[test]
    fn approved_and_passes_false_blocks_out_of_sync() {
        state_blocks(&story("US-001", "approved", false, 1, ""), "out of sync");
    }

    #[test]
    fn review_count_minus_1_blocks_invalid_negative_value() {
        state_blocks(&story("US-001", "", false, -1, ""), "non-negative integer, not -1");
    }

    #[test]
    fn skip_review_true_skips_checks_2_and_2_5_entirely() {
        let stage = Stage::new();
        let mut skipping = marker("implement", &[new("US-001")]);
        skipping["skipReview"] = json!(true);
        let ran = stage.after(&[story("US-001", "", true, 0, "")]).stop_by_marker(&skipping);
        stage.judge(&ran, None);
    }
}

mod transition_validation {
    use super::*;

    #[test]
    fn implement_passes_false_to_true_blocks() {
        let after = story("US-001", "", true, 0, "");
        blocks("implement", &[new("US-001")], &[after], "implement iterations cannot set passes=true");
    }

    #[test]
    fn implement_review_status_null_to_approved_blocks() {
        let after = story("US-001", "approved", false, 0, "");
        blocks("implement", &[new("US-001")], &[after], "reviewStatus null → \"approved\"");
    }

    #[test]
    fn implement_review_count_0_to_1_blocks() {
        let after = story("US-001", "", false, 1, "");
        blocks("implement", &[new("US-001")], &[after], "implement iterations cannot increment reviewCount");
    }

    #[test]
    fn implement_review_status_null_to_needs_review_passes() {
        passes("implement", &[new("US-001")], &[waiting(0)]);
    }

    #[test]
    fn implement_with_a_new_story_at_its_beginning_passes() {
        passes("implement", &[new("US-001")], &[new("US-001"), new("US-002")]);
    }

    #[test]
    fn implement_with_a_new_story_that_passes_blocks() {
        let added = story("US-002", "", true, 0, "");
        blocks(
            "implement",
            &[new("US-001")],
            &[new("US-001"), added],
            "New stories must start with passes=false",
        );
    }

    #[test]
    fn review_that_counts_and_approves_passes() {
        passes("review", &[waiting(1)], &[approved(2)]);
    }

    #[test]
    fn review_that_counts_and_requests_changes_with_feedback_passes() {
        passes("review", &[waiting(1)], &[back(2)]);
    }

    #[test]
    fn review_with_review_count_unchanged_blocks() {
        blocks("review", &[waiting(1)], &[approved(1)], "review must increment reviewCount");
    }

    #[test]
    fn review_of_two_stories_blocks() {
        let second = |status, passes, count| story("US-002", status, passes, count, "");
        let before = [waiting(1), second("needs_review", false, 0)];
        blocks(
            "review",
            &before,
            &[approved(2), second("approved", true, 1)],
            "review may only modify one story",
        );
    }

    #[test]
    fn review_fix_passes_false_to_true_blocks() {
        let after = story("US-001", "changes_requested", true, 1, "mend it");
        blocks("review-fix", &[back(1)], &[after], "Review-fix iterations cannot approve");
    }

    #[test]
    fn review_fix_changes_requested_to_needs_review_passes() {
        passes("review-fix", &[back(1)], &[waiting(1)]);
    }

    #[test]
    fn review_fix_review_count_changed_blocks() {
        blocks("review-fix", &[back(1)], &[waiting(2)], "review-fix iterations cannot increment reviewCount");
    }

    #[test]
    fn a_missing_pre_iteration_snapshot_skips_check_2_5_with_a_warning_and_check_2_still_holds() {
        let stage = Stage::new();
        let mut old = marker("implement", &[]);
        old.as_object_mut().unwrap().remove("preIterationSnapshot");
        let ran = stage.after(&[approved(1)]).stop_by_marker(&old);
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.contains("transitions are not checked"), "{}", ran.stderr);
        let ran = stage.after(&[story("US-001", "", true, 0, "")]).stop_by_marker(&old);
        stage.judge(&ran, Some("not 'approved'"));
    }
}
