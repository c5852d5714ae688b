//! Check 2.5: what may become of a list in one iteration.

use super::{AT_CAP, ReviewRules, Rule, Violation};
use crate::task_list::{Json, Mode, ReviewStatus, Story, TaskList, field, kind};
use std::collections::HashMap;

/// The fields that a mode watches. Feedback is free text; check 2 asks for it where it must be.
const WATCHED: [&str; 3] = [field::PASSES, field::REVIEW_STATUS, field::REVIEW_COUNT];

/// Everything that changed from the one list to the other and may not in this mode.
pub fn transitions(before: &TaskList, after: &TaskList, rules: &ReviewRules<'_>) -> Vec<Violation> {
    let mut now = HashMap::with_capacity(after.stories.len());
    for story in named(after) {
        now.entry(story.id()).or_insert(story);
    }
    let mut missing = Vec::new();
    let mut changes = Vec::new();
    for (at, old) in named(before).enumerate() {
        match now.remove(old.id()) {
            Some(new) => changes.extend(Change::between(old, new)),
            None if old.is_done(rules.skip_review) => {}
            None => missing.push((at, old)),
        }
    }
    let mut found = Vec::new();
    if !missing.is_empty() {
        let mut first = HashMap::with_capacity(before.stories.len());
        for (at, old) in named(before).enumerate() {
            first.entry(old.id()).or_insert(at);
        }
        let missing = missing.into_iter().filter(|(at, old)| first.get(old.id()) == Some(at));
        found.extend(missing.map(|(_, old)| vanished(old)));
    }
    if rules.skip_review {
        return found;
    }
    found.extend(judged(&changes, rules));
    // What is left was not there before. Usually nothing is, and the list is not gone through.
    if !now.is_empty() {
        let added = named(after).filter(|story| now.remove(story.id()).is_some());
        found.extend(added.flat_map(not_initial));
    }
    found
}

/// Stories with an id. Of two with the same one, the first is the story: the schema minds the
/// other, as it minds those without.
fn named(list: &TaskList) -> impl Iterator<Item = &Story> {
    list.stories.iter().filter(|story| !story.id().is_empty())
}

/// What a review iteration has yet to do before it may end: give its verdict.
pub fn owed(before: &TaskList, after: &TaskList, rules: &ReviewRules<'_>) -> Option<Violation> {
    if rules.mode != Mode::Review || rules.skip_review {
        return None;
    }
    let given_out = rules.story.and_then(|id| before.story(id)).filter(waited);
    let story = given_out.or_else(|| before.stories.iter().find(waited))?;
    if gave_verdict(before, after) {
        return None;
    }
    let details = "review must increment reviewCount and either approve the story (reviewStatus \
                   \"approved\", passes true) or request changes (reviewStatus \"changes_requested\" and a \
                   reviewFeedback)";
    Some(Violation::of(Rule::NoVerdict, story.id(), in_review(story.id(), details)))
}

fn waited(story: &&Story) -> bool {
    story.review_status() == Some(ReviewStatus::NeedsReview)
}

/// Whether something was said of a story that waited for a review, rightly or not.
pub(super) fn gave_verdict(before: &TaskList, after: &TaskList) -> bool {
    // Of two with the same id the first is the story: it is entered last.
    let now: HashMap<&str, &Story> = after.stories.iter().rev().map(|story| (story.id(), story)).collect();
    let touched = |old: &Story| {
        let new = now.get(old.id());
        new.is_none_or(|new| WATCHED.iter().any(|name| old.field(name) != new.field(name)))
    };
    before.stories.iter().filter(waited).any(touched)
}

struct Change<'a> {
    old: &'a Story,
    new: &'a Story,
}

/// What a mode says of one story's change, whatever happened to the others.
enum Opinion {
    Legal,
    /// Legal but for one thing, which ralph puts right itself.
    Mended(Violation),
    Illegal(Vec<Violation>),
}

fn judged(changes: &[Change<'_>], rules: &ReviewRules<'_>) -> Vec<Violation> {
    let opinions: Vec<Opinion> = changes.iter().map(|change| change.judge(rules)).collect();
    let possible = |at: &usize| !matches!(opinions[*at], Opinion::Illegal(_));
    let given_out = (0..changes.len()).find(|at| possible(at) && rules.story == Some(changes[*at].id()));
    let chosen = given_out.or_else(|| (0..changes.len()).find(possible));
    let mut found = Vec::new();
    for (at, (change, opinion)) in changes.iter().zip(opinions).enumerate() {
        match opinion {
            Opinion::Illegal(why) => found.extend(why),
            Opinion::Legal | Opinion::Mended(_) if Some(at) != chosen => {
                found.push(change.one_too_many(rules));
            }
            Opinion::Legal => {}
            Opinion::Mended(why) => found.push(why),
        }
    }
    found
}

impl<'a> Change<'a> {
    fn between(old: &'a Story, new: &'a Story) -> Option<Change<'a>> {
        let change = Change { old, new };
        let changed = change.fields().next().is_some();
        changed.then_some(change)
    }

    fn id(&self) -> &'a str {
        self.old.id()
    }

    fn fields(&self) -> impl Iterator<Item = &'static str> {
        WATCHED.into_iter().filter(|name| self.old.field(name) != self.new.field(name))
    }

    fn judge(&self, rules: &ReviewRules<'_>) -> Opinion {
        let why = match rules.mode {
            Mode::Implement => self.illegal(
                (ReviewStatus::Unreviewed, ReviewStatus::NeedsReview),
                |id, field, change| match field {
                    field::REVIEW_COUNT => format!(
                        "Implement iterations cannot increment reviewCount. Only review iterations may. Story \
                         {id} had illegal transition: {change}."
                    ),
                    _ => format!(
                        "Implement iterations cannot set passes=true or approve stories. Only review \
                         iterations may approve. Story {id} had illegal transition: {change}."
                    ),
                },
            ),
            Mode::ReviewFix => self.illegal(
                (ReviewStatus::ChangesRequested, ReviewStatus::NeedsReview),
                |id, field, change| match field {
                    field::REVIEW_COUNT => format!(
                        "Review-fix iterations cannot increment reviewCount. Only review iterations may. Story \
                         {id} had illegal transition: {change}."
                    ),
                    _ => format!(
                        "Review-fix iterations cannot approve stories. Story {id} must go back to \
                         needs_review for re-review. Illegal transition: {change}."
                    ),
                },
            ),
            Mode::Review => return self.judge_review(rules.review_cap),
        };
        match (why.is_empty(), rules.mode) {
            (false, _) => Opinion::Illegal(why),
            (true, Mode::ReviewFix) => self.judge_feedback(),
            (true, Mode::Implement | Mode::Review) => Opinion::Legal,
        }
    }

    /// What a review asked for is dealt with, so the next one begins without it.
    fn judge_feedback(&self) -> Opinion {
        if self.new.review_feedback().trim().is_empty() {
            return Opinion::Legal;
        }
        let id = self.id();
        let message = format!(
            "Review-fix iterations must clear reviewFeedback. Story {id} goes back to needs_review, but its \
             reviewFeedback is not empty. Set it to \"\"."
        );
        Opinion::Mended(Violation::of(Rule::FeedbackLeft, id, message))
    }

    /// All changes but the one of `reviewStatus` that the mode is there for.
    fn illegal(
        &self,
        (from, to): (ReviewStatus, ReviewStatus),
        say: impl Fn(&str, &str, &str) -> String,
    ) -> Vec<Violation> {
        let meant = self.old.review_status() == Some(from) && self.new.review_status() == Some(to);
        let illegal = self.fields().filter(|name| *name != field::REVIEW_STATUS || !meant);
        let message = |name| say(self.id(), name, &self.transition_of(name));
        illegal.map(|name| Violation::of(Rule::IllegalTransition, self.id(), message(name))).collect()
    }

    fn judge_review(&self, review_cap: u32) -> Opinion {
        let mut details = Vec::new();
        let waited = self.old.review_status() == Some(ReviewStatus::NeedsReview);
        if !waited {
            details.push(format!(
                "it was not waiting for a review ({})",
                self.transition_of(field::REVIEW_STATUS)
            ));
        }
        let (before, after) = (self.old.review_count(), self.new.review_count());
        if before.and_then(|count| count.checked_add(1)) != after {
            details.push(format!(
                "review must increment reviewCount by 1 ({})",
                self.transition_of(field::REVIEW_COUNT)
            ));
        }
        match (self.new.review_status(), self.new.passes()) {
            (Some(ReviewStatus::Approved), true) | (Some(ReviewStatus::ChangesRequested), false) => {}
            _ => details.push(format!(
                "a review ends with reviewStatus \"approved\" and passes true, or with \
                 \"changes_requested\" and passes false ({}, {})",
                self.transition_of(field::REVIEW_STATUS),
                self.transition_of(field::PASSES)
            )),
        }
        if !details.is_empty() {
            let message = in_review(self.id(), &details.join("; "));
            return Opinion::Illegal(vec![Violation::of(Rule::IllegalTransition, self.id(), message)]);
        }
        match after {
            Some(count) if !self.new.passes() && count >= u64::from(review_cap) => {
                let details = format!(
                    "review {count} is the last one, as the review cap is {review_cap}. Approve the story \
                     (reviewStatus \"approved\", passes true) and start reviewFeedback with {AT_CAP}, so that the user sees what is left"
                );
                Opinion::Mended(Violation::of(Rule::AtCap, self.id(), in_review(self.id(), &details)))
            }
            _ => Opinion::Legal,
        }
    }

    fn one_too_many(&self, rules: &ReviewRules<'_>) -> Violation {
        let (id, change) = (self.id(), self.transition_of(field::REVIEW_STATUS));
        let message = match rules.mode {
            Mode::Implement => format!(
                "Implement iterations may send only one story to review. Story {id} had illegal transition: \
                 {change}."
            ),
            Mode::Review => in_review(id, &format!("review may only modify one story ({change})")),
            Mode::ReviewFix => {
                format!(
                    "Review-fix iterations may only modify one story. Illegal transition of story {id}: {change}."
                )
            }
        };
        Violation::of(Rule::OneStory, id, message)
    }

    /// `passes false → true`.
    fn transition_of(&self, name: &str) -> String {
        let value = |story: &Story| story.field(name).map_or_else(|| "missing".to_owned(), kind);
        format!("{name} {} → {}", value(self.old), value(self.new))
    }
}

fn in_review(id: &str, details: &str) -> String {
    format!("Review iteration made illegal transition on story {id}: {details}.")
}

fn vanished(story: &Story) -> Violation {
    let id = story.id();
    let message = format!(
        "Story {id} is gone and was not finished. Put it back; a story that is split keeps its id, and its parts get new ids."
    );
    Violation::of(Rule::Vanished, id, message)
}

fn not_initial(story: &Story) -> Option<Violation> {
    let initial = [
        (field::PASSES, Json::Bool(false)),
        (field::REVIEW_STATUS, Json::Null),
        (field::REVIEW_COUNT, Json::Number(0.into())),
    ];
    // A field that is missing or has no shape is the schema's affair.
    let other = initial.iter().find_map(|(name, value)| {
        let found = story.field(name)?;
        (found != value).then(|| format!("{name} {found}"))
    })?;
    let id = story.id();
    let message = format!(
        "New stories must start with passes=false, reviewStatus=null and reviewCount=0. New story {id} has \
         {other}."
    );
    Some(Violation::of(Rule::NotInitial, id, message))
}
