//! Where a task list is between ralph, the agents and people.

use super::{Amend, Amendment, Known, TasksEnd};
use crate::plan::{Advance, Item, Pick, PlanEnd, PlanFact, PlanStep};
use crate::review::Reworded;
use crate::task_list::{self, Story, Stuck, TaskList};
use crate::verdict::{Judgement, Settlement, Verdict};
use std::collections::HashSet;

#[derive(Clone, Debug, PartialEq)]
pub struct TasksState {
    skip_review: bool,
    review_cap: u32,
    /// The list before the agent of the current iteration; none before it was first read.
    pub known: Option<Known>,
    pub(super) situation: Situation,
    commits: Commits,
    /// Why a person has to help.
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

/// Who may have changed the file since ralph last read or wrote it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Situation {
    /// No agent has begun since the last one was judged; what is due before the next may begin.
    Between(Due),
    /// An agent is at work, or has ended and was not compared.
    WithAgent(Watched),
    Compared(Compared),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Due {
    /// `known` equals the file.
    Nothing,
    Read,
    Amend(Amendment),
}

/// Whether ralph has watched the list since the agent began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watched {
    Always,
    /// It waited or was down for a while: a person may have changed the list.
    NotAlways,
}

/// What the agent has made of the list is known, and what it may not do is undone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Compared {
    pub after: Known,
    /// The list as it was found after a wait: the checks that follow are held against it.
    pub found: Option<Known>,
    pub since: Since,
    watched: Watched,
}

/// What has happened since the list was last compared or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    Nothing,
    /// A check has ended, which runs what the agent has written.
    Checks,
    /// Nothing of the run was at work for a while.
    Downtime,
    ChecksThenDowntime,
}

/// Commits, and the agent that only names one: not sent to change the list, but their hooks and
/// filters may be an agent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Commits {
    /// None since the list was last read.
    None,
    Made,
    /// One is no longer waited for, and may still run.
    Running,
}

impl Compared {
    /// The list as it was last found or left.
    fn latest(&self) -> &Known {
        self.found.as_ref().unwrap_or(&self.after)
    }
}

impl Since {
    fn with_checks(self) -> Since {
        match self {
            Since::Nothing | Since::Checks => Since::Checks,
            Since::Downtime | Since::ChecksThenDowntime => Since::ChecksThenDowntime,
        }
    }

    fn with_downtime(self) -> Since {
        match self {
            Since::Nothing | Since::Downtime => Since::Downtime,
            Since::Checks | Since::ChecksThenDowntime => Since::ChecksThenDowntime,
        }
    }
}

impl TasksState {
    pub(super) fn new(skip_review: bool, review_cap: u32) -> TasksState {
        TasksState {
            skip_review,
            review_cap,
            known: None,
            situation: Situation::Between(Due::Read),
            commits: Commits::None,
            stuck: None,
            violations: Vec::new(),
            undone_before: Vec::new(),
            rewording: Vec::new(),
            reworded: Vec::new(),
        }
    }

    fn compared(&self) -> Option<&Compared> {
        match &self.situation {
            Situation::Compared(compared) => Some(compared),
            Situation::Between(_) | Situation::WithAgent(_) => None,
        }
    }

    /// What was undone after the agent of this iteration, if it was compared.
    pub fn undone(&self) -> &[String] {
        if self.compared().is_some() { &self.violations } else { &[] }
    }

    /// What the agent of this iteration has reworded, if it was compared.
    pub fn rewording(&self) -> &[Reworded] {
        if self.compared().is_some() { &self.rewording } else { &[] }
    }

    /// Whether a commit may have changed the list since it was last read.
    pub(in crate::plan) fn after_commits(&self) -> bool {
        self.commits != Commits::None
    }

    /// Whether a person may have changed the list since the agent or the last check ended.
    pub(super) fn after_downtime(&self) -> bool {
        match &self.situation {
            Situation::Between(_) => false,
            Situation::WithAgent(watched) => *watched == Watched::NotAlways,
            Situation::Compared(Compared { since, .. }) => {
                matches!(since, Since::Downtime | Since::ChecksThenDowntime)
            }
        }
    }

    /// The list as it was last found or left.
    pub(super) fn last_known(&self) -> Option<&Known> {
        self.compared().map(Compared::latest).or(self.known.as_ref())
    }

    /// The texts of all lists that something may still be compared with, by hash.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let compared = self.compared();
        let after = compared.map(|compared| &compared.after);
        let found = compared.and_then(|compared| compared.found.as_ref());
        [self.known.as_ref(), after, found].into_iter().flatten().map(|known| known.text.as_str())
    }

    pub(in crate::plan) fn pick(&self) -> Pick {
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
                let reasons: Vec<String> = blocked.iter().map(ToString::to_string).collect();
                Pick::Stuck(reasons.join("; "))
            }
        }
    }

    /// What has to be done to the file before anything else; `over`: an agent has ended and is
    /// to be judged.
    pub(in crate::plan) fn wants(&self, over: bool) -> Option<PlanStep> {
        let after_agent = if over { PlanStep::CompareTasks } else { PlanStep::PutBackTasks };
        match &self.situation {
            Situation::Between(Due::Amend(amendment)) if !over => {
                Some(PlanStep::AmendTasks(amendment.clone()))
            }
            Situation::Between(Due::Read) if !over => Some(PlanStep::ReadTasks),
            Situation::Between(_) => None,
            Situation::WithAgent(_) => Some(after_agent),
            Situation::Compared(Compared { since, watched, .. }) => match since {
                Since::Checks | Since::ChecksThenDowntime => Some(after_agent),
                Since::Downtime => Some(PlanStep::ReadTasks),
                // What a person may have changed is for another iteration to begin with.
                Since::Nothing => (!over && *watched == Watched::NotAlways).then_some(PlanStep::ReadTasks),
            },
        }
    }

    pub(in crate::plan) fn judge(&self, verdict: &Verdict) -> Settlement {
        let complete = |compared: &Compared| compared.latest().list.is_complete(self.skip_review);
        match verdict.is_green() && self.compared().is_some_and(complete) {
            true => Settlement::Settled,
            false => Settlement::Continue,
        }
    }

    /// Whether the agent has set a story to be right that was not.
    pub(in crate::plan) fn approves(&self) -> bool {
        self.compared().is_some_and(|compared| !self.newly_passing(&compared.after.list).is_empty())
    }

    /// Whether what an agent sets to be right was implemented by another one.
    pub(in crate::plan) fn has_reviews(&self) -> bool {
        !self.skip_review
    }

    pub(in crate::plan) fn advance(&self) -> Advance {
        let (Some(before), Some(Compared { after, .. })) = (&self.known, self.compared()) else {
            return Advance::Unknown;
        };
        if before.list != after.list {
            Advance::Made
        } else if !self.violations.is_empty() && self.violations == self.undone_before {
            Advance::NothingAgain
        } else {
            Advance::Nothing
        }
    }

    pub(in crate::plan) fn apply(&mut self, fact: &PlanFact<'_>) {
        match fact {
            PlanFact::Began(_) => self.situation = Situation::WithAgent(Watched::Always),
            PlanFact::Checked => {
                if let Situation::Compared(compared) = &mut self.situation {
                    compared.since = compared.since.with_checks();
                }
            }
            PlanFact::Judged(judgement) => self.judged(judgement),
            PlanFact::Done(step, PlanEnd::Tasks(end)) => self.done(step, end),
            PlanFact::Changed(_) => {}
            PlanFact::Committing => {
                if self.commits == Commits::None {
                    self.commits = Commits::Made;
                }
                self.look_again();
            }
            PlanFact::CommitAbandoned => self.commits = Commits::Running,
            // Long enough for a person to have changed it.
            PlanFact::Waited => {
                self.look_again();
                if let Situation::Compared(Compared { since: since @ Since::Nothing, .. }) =
                    &mut self.situation
                {
                    *since = Since::Downtime;
                }
            }
            PlanFact::Resumed { had_stopped } => self.resumed(*had_stopped),
        }
    }

    /// The file may not be what is known of it any more.
    fn look_again(&mut self) {
        match &mut self.situation {
            Situation::Between(due @ Due::Nothing) => *due = Due::Read,
            Situation::Compared(compared) => compared.watched = Watched::NotAlways,
            Situation::Between(_) | Situation::WithAgent(_) => {}
        }
    }

    fn resumed(&mut self, had_stopped: bool) {
        self.look_again();
        if self.commits == Commits::Running {
            self.commits = Commits::Made;
        }
        match &mut self.situation {
            Situation::Between(_) => {}
            Situation::WithAgent(watched) => *watched = Watched::NotAlways,
            // What a check has left there is looked at first, by the rules of checks.
            Situation::Compared(compared) => compared.since = compared.since.with_downtime(),
        }
        if had_stopped {
            self.stuck = None;
        }
    }

    fn done(&mut self, step: &PlanStep, end: &TasksEnd) {
        match step {
            PlanStep::CompareTasks => self.compare(end),
            PlanStep::PutBackTasks => self.situation = Situation::Between(Due::Read),
            PlanStep::AmendTasks(_) => {
                self.known = Some(end.known.clone());
                self.situation = Situation::Between(Due::Read);
            }
            PlanStep::ReadTasks => {
                self.violations.extend(end.violations.iter().cloned());
                for reworded in end.reworded.clone() {
                    reworded.enter(&mut self.reworded);
                }
                if self.commits == Commits::Made {
                    self.commits = Commits::None;
                }
                match &mut self.situation {
                    Situation::Compared(compared) => {
                        (compared.found, compared.since) = (Some(end.known.clone()), Since::Nothing);
                    }
                    Situation::Between(_) | Situation::WithAgent(_) => {
                        self.known = Some(end.known.clone());
                        self.situation = Situation::Between(Due::Nothing);
                    }
                }
            }
        }
    }

    fn compare(&mut self, end: &TasksEnd) {
        if self.compared().is_none() {
            self.violations.clear();
            self.rewording.clear();
        }
        self.violations.extend(end.violations.iter().cloned());
        self.rewording.extend(end.reworded.iter().cloned());
        match &mut self.situation {
            Situation::Compared(compared) => {
                match &mut compared.found {
                    Some(found) => *found = end.known.clone(),
                    None => compared.after = end.known.clone(),
                }
                compared.since = Since::Nothing;
            }
            Situation::Between(_) | Situation::WithAgent(_) => {
                let watched = match self.situation {
                    Situation::WithAgent(watched) => watched,
                    Situation::Between(_) | Situation::Compared(_) => Watched::Always,
                };
                let after = end.known.clone();
                self.situation =
                    Situation::Compared(Compared { after, found: None, since: Since::Nothing, watched });
            }
        }
    }

    fn judged(&mut self, judgement: &Judgement) {
        let was = std::mem::replace(&mut self.situation, Situation::Between(Due::Read));
        let Situation::Compared(Compared { after, found, .. }) = was else { return };
        self.undone_before.clone_from(&self.violations);
        for reworded in std::mem::take(&mut self.rewording) {
            reworded.enter(&mut self.reworded);
        }
        let claimed = self.newly_passing(&after.list);
        let amend = |how| Situation::Between(Due::Amend(Amendment { stories: claimed.clone(), how }));
        match &judgement.verdict {
            _ if claimed.is_empty() => {}
            Verdict::Green { .. } => {}
            Verdict::Red { .. } | Verdict::Refused { .. } => {
                self.situation = amend(Amend::RequestChanges);
                let reviews = |id: &String| after.list.story(id).and_then(Story::review_count);
                let capped = |id: &&String| reviews(id) >= Some(u64::from(self.review_cap));
                if !self.skip_review
                    && let Some(id) = claimed.iter().find(capped)
                {
                    self.stuck = Some(format!(
                        "{id} reached its review cap of {} and its checks still fail: a person has to look at it",
                        self.review_cap
                    ));
                }
            }
            Verdict::AgentFailed { .. } => self.situation = amend(Amend::Unsay),
        }
        self.known = Some(found.unwrap_or(after));
    }

    /// The stories that pass now, by the agent's word, and did not before.
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
    use crate::plan::tasks::TasksPlan;
    use crate::plan::{Plan, PlanState};
    use crate::task_list::Mode;
    use std::sync::Arc;

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
    fn what_is_no_longer_waited_for_is_read_again_when_the_run_is_resumed() {
        let list = Arc::new(TaskList::of(vec![Story::new("A", "a", &["c"], 1)]));
        let end = PlanEnd::Tasks(TasksEnd::of(Known { text: String::new(), list }));
        let read = PlanFact::Done(&PlanStep::ReadTasks, &end);
        let resumed = PlanFact::Resumed { had_stopped: true };
        let mut state = plan().start();
        for (fact, after_commits, wants) in [
            (&PlanFact::Committing, true, Some(PlanStep::ReadTasks)),
            (&PlanFact::CommitAbandoned, true, Some(PlanStep::ReadTasks)),
            (&read, true, None),
            (&resumed, true, Some(PlanStep::ReadTasks)),
            (&read, false, None),
        ] {
            state.apply(fact);
            assert_eq!((state.after_commits(), state.wants(false)), (after_commits, wants), "{fact:?}");
        }
    }
}
