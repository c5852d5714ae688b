//! The plan of `ralph tasks`: a list that the agent may edit and ralph believes only after it
//! has looked.
//!
//! Before an iteration the list is read: what changed since is a person's and counts. After
//! the agent it is compared with what was there before, and what the mode does not allow is
//! undone. An approval counts only with green checks: what is red goes back with their output,
//! and at the review cap a person is asked for instead. An agent that was not judged has not
//! changed the list.

use super::{Advance, Item, Pick, PlanEnd, PlanFact, PlanStep};
use crate::review::{Reworded, Terms};
use crate::task_list::{self, Mode, Story, Stuck, TaskList, field};
use crate::text::clip;
use crate::verdict::{Judgement, Settlement, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

/// What an agent says when it thinks that all is done. Whether it is, the list tells.
pub const COMPLETE: &str = "COMPLETE";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TasksPlan {
    /// The directory of the list, its progress and its prompt; relative to the workspace.
    pub dir: PathBuf,
    /// Implement iterations set `passes` themselves; there are no reviews.
    pub skip_review: bool,
    /// Reviews of one story before it is approved as it is.
    pub review_cap: u32,
    /// Commit what an agent has left uncommitted.
    pub commit_left: bool,
    /// Hand hooks to agents that take them.
    #[serde(default = "yes")]
    pub hooks: bool,
}

fn yes() -> bool {
    true
}

impl TasksPlan {
    pub fn terms<'a>(&self, mode: Mode, story: &'a str) -> Terms<'a> {
        Terms { mode, story: Some(story), skip_review: self.skip_review, review_cap: self.review_cap }
    }

    /// For what was not sent to change the list. It may only do what any mode may: add stories, and
    /// write what decides over nothing.
    pub fn terms_of_errands(&self) -> Terms<'static> {
        Terms { mode: Mode::Implement, story: None, skip_review: false, review_cap: self.review_cap }
    }

    pub(super) fn start(&self) -> TasksState {
        TasksState {
            skip_review: self.skip_review,
            review_cap: self.review_cap,
            known: None,
            fresh: false,
            touched: false,
            errand: false,
            abandoned: false,
            after: None,
            open: false,
            reopened: None,
            amendment: None,
            stuck: None,
            violations: Vec::new(),
            undone_before: Vec::new(),
            rewording: Vec::new(),
            reworded: Vec::new(),
        }
    }
}

/// A list as ralph knows it: what is picked from, and the whole text by hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Known {
    pub text: String,
    /// Only what is needed to choose and to tell: see [`outline`].
    pub list: Arc<TaskList>,
}

/// The list without its long texts.
pub fn outline(list: &TaskList) -> TaskList {
    const KEPT: [&str; 5] =
        [field::PRIORITY, field::PASSES, field::REVIEW_STATUS, field::REVIEW_COUNT, field::DEPENDS_ON];
    /// No banner shows more, and every fact about the list carries all of them.
    const TITLE_CHARS: usize = 200;
    let short = |story: &Story| {
        let mut short = Story::new(story.id(), &clip(story.title(), TITLE_CHARS), &[], 0);
        for name in KEPT {
            short.take_field(story, name);
        }
        short
    };
    TaskList::of(list.stories.iter().map(short).collect())
}

/// What came of reading, comparing or writing the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TasksEnd {
    pub known: Known,
    /// What the agent may not have changed, and what was undone, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// What the agent has changed of what is asked of a story. It may, and a person is told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reworded: Vec<Reworded>,
    /// Changed by someone other than the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// What stood there and was written over, by hash: it may be a person's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub displaced: Option<String>,
    /// Fields that were missing in a person's list and were added, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filled: Vec<String>,
}

impl TasksEnd {
    /// The list stands as it is known, and there is nothing to tell.
    pub fn of(known: Known) -> TasksEnd {
        TasksEnd {
            known,
            violations: Vec::new(),
            reworded: Vec::new(),
            edited: false,
            displaced: None,
            filled: Vec::new(),
        }
    }
}

/// What ralph itself changes in the list after an iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amendment {
    pub stories: Vec<String>,
    pub how: Amend,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amend {
    /// Said to be right, and the checks are red: back, with their output.
    RequestChanges,
    /// Said to be right by an agent that failed: as if it had not been said.
    Unsay,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TasksState {
    skip_review: bool,
    review_cap: u32,
    /// None before it was first read.
    pub known: Option<Known>,
    /// It is what stands on the disk.
    fresh: bool,
    /// An agent has been at it since, or a check.
    touched: bool,
    /// Something was at work that is not there to change it.
    errand: bool,
    /// It may still be running: its end was not awaited.
    abandoned: bool,
    /// What the agent has made of it, as far as it may.
    after: Option<Known>,
    /// Nothing ran for a while since the agent ended: the user may have edited the list.
    open: bool,
    /// What was found there then: the checks that follow are held against it.
    pub reopened: Option<Known>,
    amendment: Option<Amendment>,
    /// A person is asked for.
    stuck: Option<String>,
    /// What was undone after the last agent that was compared, for the prompt of the next: it is
    /// composed when that one has begun.
    pub violations: Vec<String>,
    /// What was undone in the last iteration that is over.
    undone_before: Vec<String>,
    /// What the agent of this iteration has reworded.
    rewording: Vec<Reworded>,
    /// What agents have reworded in the iterations that are over.
    pub reworded: Vec<Reworded>,
}

impl TasksState {
    /// What was undone after the agent of this iteration, if that was found out already.
    pub fn undone(&self) -> &[String] {
        if self.after.is_some() { &self.violations } else { &[] }
    }

    /// Whether the file may have been changed by something that must not change it.
    pub fn on_errand(&self) -> bool {
        self.errand
    }

    /// Whether a person may have been at it since the agent ended.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// The list as it was last found or left.
    pub fn last_known(&self) -> Option<&Known> {
        self.reopened.as_ref().or(self.after.as_ref()).or(self.known.as_ref())
    }

    /// The texts of all lists that something may still be compared with, by hash.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        [&self.known, &self.after, &self.reopened].into_iter().flatten().map(|known| known.text.as_str())
    }

    /// What the agent of this iteration has reworded, if that was found out already.
    pub fn rewording(&self) -> &[Reworded] {
        if self.after.is_some() { &self.rewording } else { &[] }
    }

    pub(super) fn pick(&self) -> Pick {
        if let Some(why) = &self.stuck {
            return Pick::Stuck(why.clone());
        }
        let Some(known) = &self.known else { return Pick::Stuck("the task list has not been read".into()) };
        match task_list::pick(&known.list, self.skip_review) {
            task_list::Pick::Work { mode, story } => {
                Pick::Work(Item::Task { id: story.id().to_string(), mode })
            }
            task_list::Pick::Done => Pick::Done,
            task_list::Pick::Stuck(Stuck::Empty) => Pick::Stuck("the task list has no stories".into()),
            task_list::Pick::Stuck(Stuck::Blocked(blocked)) => {
                let told: Vec<String> = blocked.iter().map(ToString::to_string).collect();
                Pick::Stuck(told.join("; "))
            }
        }
    }

    /// What has to be done to the file before anything else; `over`: an agent has ended and is
    /// to be judged.
    pub(super) fn wants(&self, over: bool) -> Option<PlanStep> {
        match (self.touched, over) {
            (true, true) => Some(PlanStep::CompareTasks),
            (true, false) => Some(PlanStep::PutBackTasks),
            (false, true) => self.open.then_some(PlanStep::ReadTasks),
            (false, false) => match &self.amendment {
                Some(amendment) => Some(PlanStep::AmendTasks(amendment.clone())),
                None => (!self.fresh).then_some(PlanStep::ReadTasks),
            },
        }
    }

    pub(super) fn judge(&self, verdict: &Verdict) -> Settlement {
        let Some(after) = self.reopened.as_ref().or(self.after.as_ref()) else { return Settlement::Continue };
        if verdict.is_green() && after.list.is_complete(self.skip_review) {
            Settlement::Settled
        } else {
            Settlement::Continue
        }
    }

    pub(super) fn advance(&self) -> Advance {
        let (Some(before), Some(after)) = (&self.known, &self.after) else { return Advance::Untold };
        if before.list != after.list {
            Advance::Made
        } else if !self.violations.is_empty() && self.violations == self.undone_before {
            Advance::NothingAgain
        } else {
            Advance::Nothing
        }
    }

    pub(super) fn apply(&mut self, fact: &PlanFact<'_>) {
        match fact {
            PlanFact::Began(_) => {
                (self.touched, self.open) = (true, false);
                (self.after, self.reopened) = (None, None);
            }
            PlanFact::Checked => self.touched |= self.after.is_some(),
            PlanFact::Judged(judgement) => self.judged(judgement),
            PlanFact::Done(step, PlanEnd::Tasks(end)) => self.done(step, end),
            PlanFact::Changed(_) => {}
            PlanFact::Errand => (self.errand, self.fresh) = (true, false),
            PlanFact::Abandoned => self.abandoned = true,
            // Long enough for a person to have changed it.
            PlanFact::Waited => {
                self.fresh = false;
                self.open |= self.after.is_some() && !self.touched;
            }
            PlanFact::Resumed { had_stopped } => {
                (self.fresh, self.abandoned) = (false, false);
                // What a check has left there is looked at first, by the terms of checks.
                self.open = self.touched || self.after.is_some();
                if *had_stopped {
                    self.stuck = None;
                }
            }
        }
    }

    fn done(&mut self, step: &PlanStep, end: &TasksEnd) {
        match step {
            PlanStep::CompareTasks => {
                if self.after.is_none() {
                    self.violations.clear();
                    self.rewording.clear();
                }
                self.violations.extend(end.violations.iter().cloned());
                self.rewording.extend(end.reworded.iter().cloned());
                match &mut self.reopened {
                    Some(reopened) => *reopened = end.known.clone(),
                    None => self.after = Some(end.known.clone()),
                }
                (self.touched, self.open) = (false, false);
            }
            PlanStep::PutBackTasks => (self.touched, self.fresh) = (false, false),
            PlanStep::AmendTasks(_) => {
                self.known = Some(end.known.clone());
                (self.amendment, self.fresh) = (None, false);
            }
            PlanStep::ReadTasks => {
                self.violations.extend(end.violations.iter().cloned());
                for reworded in end.reworded.clone() {
                    reworded.enter(&mut self.reworded);
                }
                self.errand = self.abandoned;
                if self.after.is_some() {
                    (self.reopened, self.open) = (Some(end.known.clone()), false);
                } else {
                    (self.known, self.fresh) = (Some(end.known.clone()), true);
                }
            }
        }
    }

    fn judged(&mut self, judgement: &Judgement) {
        (self.touched, self.open) = (false, false);
        let reopened = self.reopened.take();
        let Some(after) = self.after.take() else { return };
        self.undone_before.clone_from(&self.violations);
        for reworded in std::mem::take(&mut self.rewording) {
            reworded.enter(&mut self.reworded);
        }
        let said = self.newly_passing(&after.list);
        self.amendment = match &judgement.verdict {
            _ if said.is_empty() => None,
            Verdict::Green { .. } => None,
            Verdict::Red { .. } => {
                let at_cap = |id: &String| after.list.story(id).and_then(Story::review_count);
                let capped = |id: &&String| at_cap(id) >= Some(u64::from(self.review_cap));
                if !self.skip_review
                    && let Some(id) = said.iter().find(capped)
                {
                    self.stuck = Some(format!(
                        "{id} reached its review cap of {} and its checks still fail: a person has to look at it",
                        self.review_cap
                    ));
                }
                Some(Amendment { stories: said, how: Amend::RequestChanges })
            }
            Verdict::AgentFailed { .. } => Some(Amendment { stories: said, how: Amend::Unsay }),
        };
        self.known = Some(reopened.unwrap_or(after));
        self.fresh = false;
    }

    /// The stories that the agent says are right, and that were not before.
    fn newly_passing(&self, after: &TaskList) -> Vec<String> {
        let before = self.known.iter().flat_map(|known| &known.list.stories);
        let passed: HashSet<&str> = before.filter(|story| story.passes()).map(Story::id).collect();
        let new = after.stories.iter().filter(|story| story.passes() && !passed.contains(story.id()));
        new.map(|story| story.id().to_string()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, PlanState};

    fn plan() -> TasksPlan {
        TasksPlan { dir: "ralph".into(), skip_review: false, review_cap: 5, commit_left: true, hooks: true }
    }

    #[test]
    fn what_was_undone_is_known_until_the_next_agent_is_compared() {
        let mut state = Plan::Tasks(plan()).start();
        let list = Arc::new(TaskList::of(vec![Story::new("A", "a", &["c"], 1)]));
        let mut done = |step: PlanStep, violations: &[&str]| {
            let violations = violations.iter().map(ToString::to_string).collect();
            let known = Known { text: String::new(), list: Arc::clone(&list) };
            let end = PlanEnd::Tasks(TasksEnd { violations, ..TasksEnd::of(known) });
            state.apply(&PlanFact::Done(&step, &end));
            let item = Item::Task { id: "A".into(), mode: Mode::Implement };
            state.apply(&PlanFact::Began(&item));
            let PlanState::Tasks(tasks) = &state else { return Vec::new() };
            tasks.violations.clone()
        };
        assert_eq!(done(PlanStep::CompareTasks, &["not so"]), ["not so"]);
        // The next agent was lost, and another one begins in its place.
        assert_eq!(done(PlanStep::PutBackTasks, &[]), ["not so"]);
        assert!(done(PlanStep::CompareTasks, &[]).is_empty());
    }

    #[test]
    fn what_is_no_longer_waited_for_is_looked_at_again_by_whoever_resumes() {
        let list = Arc::new(TaskList::of(vec![Story::new("A", "a", &["c"], 1)]));
        let end = PlanEnd::Tasks(TasksEnd::of(Known { text: String::new(), list }));
        let read = PlanFact::Done(&PlanStep::ReadTasks, &end);
        let resumed = PlanFact::Resumed { had_stopped: true };
        let mut state = plan().start();
        for (fact, on_errand, wants) in [
            (&PlanFact::Errand, true, Some(PlanStep::ReadTasks)),
            (&PlanFact::Abandoned, true, Some(PlanStep::ReadTasks)),
            (&read, true, None),
            (&resumed, true, Some(PlanStep::ReadTasks)),
            (&read, false, None),
        ] {
            state.apply(fact);
            assert_eq!((state.on_errand(), state.wants(false)), (on_errand, wants), "{fact:?}");
        }
    }
}
