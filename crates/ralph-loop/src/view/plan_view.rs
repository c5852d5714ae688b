//! The pieces of work of a plan at one moment, for people.

use crate::plan::tasks::TasksPlan;
use crate::plan::{Pick, Plan, PlanState};
use crate::run::Run;
use crate::state::State;
use crate::task_list::{self, ReviewStatus};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemView {
    pub id: String,
    pub title: String,
    pub mark: Mark,
    pub depends_on: Vec<String>,
    /// Reviews so far; none where there are no reviews.
    pub reviews: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    Done,
    /// At work, or next.
    AtWork,
    /// It was tried last, and failed.
    Failed,
    /// It is implemented and waits for its review.
    NeedsReview,
    /// A review asks for changes.
    NeedsChanges,
    Open,
}

/// In the order of the plan; empty for a prompt.
pub fn items(run: &Run, state: &State) -> Vec<ItemView> {
    let picked = match &state.work.pick {
        Pick::Work(item) => item.story(),
        Pick::Done | Pick::Stuck(_) => None,
    };
    let at_work = |id: &str| picked.as_deref() == Some(id) && state.stopped.is_none();
    match (&run.plan, &state.plan) {
        (Plan::Stories(plan), PlanState::Stories(stories)) => {
            let known = plan.todo.iter().map(|story| {
                let id = story.id.to_string();
                let mark = match () {
                    () if stories.done.contains(&story.id) => Mark::Done,
                    () if at_work(&id) => Mark::AtWork,
                    () if stories.current == Some(story.id) && stories.retries > 0 => Mark::Failed,
                    () => Mark::Open,
                };
                let depends_on = story.depends_on.iter().map(ToString::to_string).collect();
                ItemView { id, title: story.title.clone(), mark, depends_on, reviews: None }
            });
            known.collect()
        }
        (Plan::Tasks(plan), PlanState::Tasks(tasks)) => {
            let list = tasks.known.iter().flat_map(|known| &known.list.stories);
            list.map(|story| task(plan, story, at_work(story.id()))).collect()
        }
        (Plan::Prompt(_) | Plan::Stories(_) | Plan::Tasks(_), _) => Vec::new(),
    }
}

fn task(plan: &TasksPlan, story: &task_list::Story, at_work: bool) -> ItemView {
    let mark = match story.review_status() {
        _ if story.is_done(plan.skip_review) => Mark::Done,
        _ if at_work => Mark::AtWork,
        Some(ReviewStatus::NeedsReview) => Mark::NeedsReview,
        Some(ReviewStatus::ChangesRequested) => Mark::NeedsChanges,
        Some(ReviewStatus::Approved | ReviewStatus::Unreviewed) | None => Mark::Open,
    };
    ItemView {
        id: story.id().to_string(),
        title: story.title().to_string(),
        mark,
        depends_on: story.depends_on().into_iter().map(str::to_string).collect(),
        reviews: (!plan.skip_review).then(|| story.review_count().unwrap_or(0)),
    }
}
