//! The plan of `ralph stories`: specs worked through, one fresh agent an attempt.
//!
//! The first story of the list whose dependencies are done comes next. An attempt that fails
//! is begun again from where the story started; after so many of them the run halts and asks
//! for a person.

use super::{Evidence, Item, Pick, PlanFact, Progress};
use crate::check::CheckSpec;
use crate::story_id::StoryId;
use crate::text;
use crate::verdict::{Judgement, Settlement, StorySignal, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoriesPlan {
    /// What is to be done; the first that can begin does.
    pub todo: Arc<[Story]>,
    /// Done before this run began, in the order in which that happened.
    pub done: Vec<StoryId>,
    /// The story that was being worked on when an earlier run stopped, and its failed attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<(StoryId, u32)>,
    /// Attempts at one story before the run halts.
    pub max_retries: u32,
    /// The project's own rules, for the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// The user's prompt template, by hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Each story that is done is committed; agents are asked to leave that to ralph.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub commit: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Story {
    pub id: StoryId,
    pub title: String,
    /// Relative to the workspace.
    pub spec: PathBuf,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<StoryId>,
}

pub const NO_SIGNAL: &str = "No completion signal in output";

impl StoriesPlan {
    pub(super) fn progress(&self, state: &StoriesState) -> Progress {
        let done = self.todo.iter().filter(|story| state.done.contains(&story.id)).count();
        Progress { done, of: self.todo.len() }
    }

    pub fn story(&self, id: StoryId) -> Option<&Story> {
        self.todo.iter().find(|story| story.id == id)
    }

    pub(super) fn start(&self) -> StoriesState {
        let (current, retries) = match self.carried {
            Some((id, retries)) if retries < self.max_retries => (Some(id), retries),
            Some(_) | None => (None, 0),
        };
        StoriesState {
            todo: Arc::clone(&self.todo),
            left: (0..self.todo.len()).collect(),
            done: self.done.clone(),
            max_retries: self.max_retries,
            current,
            retries,
            last_failure: None,
        }
    }

    pub(super) fn judge(&self, state: &StoriesState, evidence: &Evidence<'_>) -> Settlement {
        let Pick::Work(Item::Story { id, .. }) = state.pick() else { return Settlement::Continue };
        match failure(id, evidence) {
            None => Settlement::Settled,
            Some(why) => Settlement::Retry { why },
        }
    }
}

/// Why an attempt at a story has failed, if it has.
fn failure(id: StoryId, evidence: &Evidence<'_>) -> Option<String> {
    let Evidence { claim, verdict, silence, checks } = *evidence;
    if let Verdict::AgentFailed { why } = verdict {
        return Some(why.clone());
    }
    let mismatched = |said: &Option<String>| {
        let other = said.as_ref().filter(|said| **said != id.to_string())?;
        Some(if other.is_empty() { "no story".to_string() } else { other.clone() })
    };
    match &claim.story {
        StorySignal::None => {
            Some(silence.map_or(NO_SIGNAL.into(), |silence| format!("the agent was {silence}")))
        }
        StorySignal::Done(said) => match (mismatched(said), verdict) {
            (Some(other), _) => Some(format!("the agent reported DONE for {other} instead of {id}")),
            (None, Verdict::Green { .. }) => None,
            (None, Verdict::Red { failed }) => {
                let failures = match failed.len() {
                    1 => "1 check failed".into(),
                    n => format!("{n} checks failed"),
                };
                Some(format!("the agent reported DONE, but {failures}: {}", named(failed, checks)))
            }
            (None, Verdict::Refused { word }) => Some(format!("not accepted: {}", word.sentence())),
            (None, Verdict::AgentFailed { why }) => Some(why.clone()),
        },
        StorySignal::Failed { id: said, why } => Some(match mismatched(said) {
            Some(other) => format!("the agent reported FAIL for {other} instead of {id}: {why}"),
            None if why.is_empty() => "the agent reported FAIL without a reason".into(),
            None => why.clone(),
        }),
    }
}

/// The commands of checks, as far as they fit into a line.
fn named(failed: &[usize], checks: &[CheckSpec]) -> String {
    const NAMED: usize = 3;
    const LONGEST: usize = 60;
    let command = |index: &usize| {
        let command = checks.get(*index).map_or("?", |check| check.command.as_str());
        text::clip(&command.split_whitespace().collect::<Vec<_>>().join(" "), LONGEST).into_owned()
    };
    let named: Vec<String> = failed.iter().take(NAMED).map(command).collect();
    let more = match failed.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("{}{more}", named.join(", "))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoriesState {
    todo: Arc<[Story]>,
    /// Of `todo`, in its order.
    left: Vec<usize>,
    pub done: Vec<StoryId>,
    max_retries: u32,
    /// The story that was begun last and is not done.
    pub current: Option<StoryId>,
    /// Its failed attempts.
    pub retries: u32,
    /// What the last one came to, for the next prompt.
    pub last_failure: Option<String>,
}

impl StoriesState {
    pub(super) fn pick(&self) -> Pick {
        if let Some(id) = self.current.filter(|_| self.retries >= self.max_retries) {
            return Pick::Stuck(format!("story {id} failed {}", text::counted(self.retries.into(), "time")));
        }
        let mut left = self.left.iter().filter_map(|index| self.todo.get(*index));
        let Some(first) = left.clone().next() else { return Pick::Done };
        // The first dependency of a story that is not done.
        let done: BTreeSet<StoryId> = self.done.iter().copied().collect();
        let waits_for =
            |story: &Story| story.depends_on.iter().copied().find(|needed| !done.contains(needed));
        match left.find(|story| waits_for(story).is_none()) {
            Some(story) => Pick::Work(Item::Story { id: story.id, attempt: self.attempt(story.id) }),
            None => {
                let needed = waits_for(first).map_or_else(String::new, |id| id.to_string());
                Pick::Stuck(format!("story {} depends on {needed}, which is not done", first.id))
            }
        }
    }

    /// The story whose last attempt has failed.
    pub fn failed(&self) -> Option<StoryId> {
        self.current.filter(|_| self.last_failure.is_some())
    }

    pub(super) fn attempts_reset_by_resume(&self) -> u32 {
        if self.retries >= self.max_retries { self.retries } else { 0 }
    }

    fn attempt(&self, id: StoryId) -> u32 {
        if self.current == Some(id) { self.retries + 1 } else { 1 }
    }

    pub(super) fn apply(&mut self, fact: &PlanFact<'_>) {
        match fact {
            PlanFact::Began(Item::Story { id, .. }) => {
                if self.current != Some(*id) {
                    (self.current, self.retries, self.last_failure) = (Some(*id), 0, None);
                }
            }
            PlanFact::Judged(judgement) => self.judged(judgement),
            // The user has looked at it: the count of attempts starts again.
            PlanFact::Resumed { had_stopped: true } if self.attempts_reset_by_resume() > 0 => {
                self.retries = 0;
            }
            PlanFact::Began(_)
            | PlanFact::Done(..)
            | PlanFact::Resumed { .. }
            | PlanFact::Changed(_)
            | PlanFact::Waited
            | PlanFact::Committing
            | PlanFact::CommitAbandoned
            | PlanFact::Checked => {}
        }
    }

    fn judged(&mut self, judgement: &Judgement) {
        let Item::Story { id, .. } = judgement.item else { return };
        match &judgement.settlement {
            Settlement::Settled => {
                self.left.retain(|index| self.todo.get(*index).is_none_or(|story| story.id != id));
                if !self.done.contains(&id) {
                    self.done.push(id);
                }
                (self.current, self.retries, self.last_failure) = (None, 0, None);
            }
            Settlement::Retry { why } => {
                (self.current, self.last_failure) = (Some(id), Some(why.clone()));
                self.retries += 1;
            }
            Settlement::Continue => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::Silence;
    use crate::check::{Excerpt, FailAction, Origin};
    use crate::verdict::Claim;

    fn id(text: &str) -> StoryId {
        text.parse().unwrap()
    }

    /// `1.1`, `1.2<1.1` waits for it.
    fn plan(stories: &str, done: &str) -> StoriesPlan {
        let story = |word: &str| {
            let mut parts = word.split('<');
            let own = id(parts.next().unwrap());
            let depends_on = parts.map(id).collect();
            Story { id: own, title: own.to_string(), spec: "s.md".into(), depends_on }
        };
        StoriesPlan {
            todo: stories.split_whitespace().map(story).collect(),
            done: done.split_whitespace().map(id).collect(),
            carried: None,
            max_retries: 3,
            rules: vec![],
            template: None,
            commit: false,
        }
    }

    fn judged(state: &mut StoriesState, settlement: Settlement) {
        let Pick::Work(item) = state.pick() else { panic!("nothing to judge") };
        state.apply(&PlanFact::Began(&item));
        let (claim, verdict) = (Claim::default(), Verdict::Green { checks: 0 });
        state.apply(&PlanFact::Judged(&Judgement {
            iteration: 1,
            item,
            claim,
            verdict,
            settlement,
            silence: None,
            proof: None,
        }));
    }

    fn next_up(state: &StoriesState) -> String {
        match state.pick() {
            Pick::Work(Item::Story { id, attempt }) => format!("{id} attempt {attempt}"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn the_first_whose_dependencies_are_done_comes_next() {
        let mut state = plan("1.1<1.3 1.2 1.3<1.2", "").start();
        let mut order = Vec::new();
        while state.pick() != Pick::Done {
            order.push(next_up(&state));
            judged(&mut state, Settlement::Settled);
        }
        assert_eq!(order, ["1.2 attempt 1", "1.3 attempt 1", "1.1 attempt 1"]);
        assert_eq!(state.done, [id("1.2"), id("1.3"), id("1.1")]);
        assert_eq!(next_up(&plan("2.1<1.9", "1.9").start()), "2.1 attempt 1");
        assert_eq!(plan("", "1.1").start().pick(), Pick::Done);
    }

    #[test]
    fn what_can_never_begin_is_told_with_what_it_waits_for() {
        let stuck = Pick::Stuck("story 1.2 depends on 9.9, which is not done".into());
        assert_eq!(plan("1.2<9.9", "").start().pick(), stuck);
    }

    #[test]
    fn three_failures_halt_and_a_resumed_run_counts_from_0() {
        let retry = || Settlement::Retry { why: "x".into() };
        let mut state = plan("1.1 1.2", "").start();
        for attempt in 1..=3 {
            assert_eq!(next_up(&state), format!("1.1 attempt {attempt}"));
            judged(&mut state, retry());
        }
        assert_eq!((state.retries, state.current), (3, Some(id("1.1"))));
        assert_eq!(state.pick(), Pick::Stuck("story 1.1 failed 3 times".into()));
        state.apply(&PlanFact::Resumed { had_stopped: true });
        assert_eq!((state.retries, next_up(&state)), (0, "1.1 attempt 1".into()));
        judged(&mut state, retry());
        state.apply(&PlanFact::Resumed { had_stopped: true });
        assert_eq!(next_up(&state), "1.1 attempt 2");
        judged(&mut state, Settlement::Settled);
        assert_eq!((state.retries, state.current, next_up(&state)), (0, None, "1.2 attempt 1".into()));
    }

    #[test]
    fn attempts_of_an_earlier_run_count_unless_it_halted() {
        let carried = |retries| StoriesPlan { carried: Some((id("1.2"), retries)), ..plan("1.2 1.3", "1.1") };
        assert_eq!(next_up(&carried(1).start()), "1.2 attempt 2");
        assert_eq!(next_up(&carried(3).start()), "1.2 attempt 1");
        let elsewhere = StoriesPlan { carried: Some((id("1.3"), 2)), ..plan("1.2 1.3", "1.1") };
        let mut state = elsewhere.start();
        assert_eq!(next_up(&state), "1.2 attempt 1");
        judged(&mut state, Settlement::Settled);
        assert_eq!(next_up(&state), "1.3 attempt 1");
    }

    #[track_caller]
    fn check(signal: StorySignal, verdict: &Verdict, expected: Option<&str>) {
        let claim = Claim { story: signal, ..Claim::default() };
        let plan = plan("8.3", "");
        let expected = match expected {
            None => Settlement::Settled,
            Some(why) => Settlement::Retry { why: why.into() },
        };
        let checks = ["make test", "sh -c '\n  lint'", "c", "d"].map(|command| CheckSpec {
            command: command.into(),
            timeout_ms: 1,
            fail_action: FailAction::Append,
            hint: None,
            excerpt: Excerpt::Tail { chars: 1 },
            origin: Origin::Flag,
        });
        let evidence = Evidence { claim: &claim, verdict, silence: None, checks: &checks };
        assert_eq!(plan.judge(&plan.start(), &evidence), expected);
    }

    #[test]
    fn only_a_matching_done_with_green_checks_settles_a_story() {
        let green = || Verdict::Green { checks: 1 };
        let done = |id: Option<&str>| StorySignal::Done(id.map(String::from));
        let fail =
            |id: Option<&str>, why: &str| StorySignal::Failed { id: id.map(String::from), why: why.into() };
        check(done(Some("8.3")), &green(), None);
        check(done(Some("8.3")), &Verdict::Green { checks: 0 }, None);
        check(done(None), &green(), None);
        check(done(Some("8.4")), &green(), Some("the agent reported DONE for 8.4 instead of 8.3"));
        let red = Verdict::Red { failed: vec![0] };
        check(done(Some("8.3")), &red, Some("the agent reported DONE, but 1 check failed: make test"));
        let four = Verdict::Red { failed: vec![0, 1, 2, 3] };
        let why = "the agent reported DONE, but 4 checks failed: make test, sh -c ' lint', c and 1 more";
        check(done(Some("8.3")), &four, Some(why));
        check(fail(Some("8.3"), "no network"), &green(), Some("no network"));
        check(fail(None, "the agent reported [FAIL]"), &green(), Some("the agent reported [FAIL]"));
        check(fail(Some("8.4"), "x"), &green(), Some("the agent reported FAIL for 8.4 instead of 8.3: x"));
        check(StorySignal::None, &green(), Some(NO_SIGNAL));
        let dead = Verdict::AgentFailed { why: "timed out after 1800s".into() };
        check(done(Some("8.3")), &dead, Some("timed out after 1800s"));
    }

    #[test]
    fn an_agent_without_a_signal_may_have_been_ended_for_its_silence() {
        let plan = plan("8.3", "");
        let silence = Some(Silence { after_ms: 2_000, tool: true });
        let judge = |story| {
            let claim = Claim { story, ..Claim::default() };
            let verdict = Verdict::Green { checks: 1 };
            let evidence = Evidence { claim: &claim, verdict: &verdict, silence, checks: &[] };
            plan.judge(&plan.start(), &evidence)
        };
        let why = "the agent was silent for 2s while running a tool".to_string();
        assert_eq!(judge(StorySignal::None), Settlement::Retry { why });
        assert_eq!(judge(StorySignal::Done(None)), Settlement::Settled);
    }
}
