//! A round of `ralph tasks`: six stories, implemented, reviewed and mended through all deaths.
//!
//! The agent (`agent_tasks.sh`) does what a die says: it works, reviews, sends back, fails, and
//! cheats. Whatever dies meanwhile, in the end each story is approved by a review whose checks
//! were green, has as many reviews as took place, and nothing of a cheat has counted.

use crate::checks;
use crate::fault::Tally;
use crate::fold::Fold;
use crate::ordeal::Ordeal;
use crate::procs::until_none;
use crate::rng::Rng;
use crate::round::PATIENCE;
use crate::stage::{about, git, put};
use ralph_loop::event::{End, Fact, Step};
use ralph_loop::plan::tasks::{Amend, TasksEnd};
use ralph_loop::plan::{Item, PlanEnd, PlanStep};
use ralph_loop::task_list::{Mode, ReviewStatus, Story, TaskList};
use ralph_loop::verdict::{Judgement, Verdict};
use serde_json::json;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const AGENT: &str = include_str!("agent_tasks.sh");

/// Each with its priority and what it waits for.
const STORIES: [(&str, u32, &[&str]); 6] = [
    ("US-001", 2, &[]),
    ("US-002", 1, &["US-001"]),
    ("US-003", 1, &[]),
    ("US-004", 3, &["US-002", "US-003"]),
    ("US-005", 2, &["US-003"]),
    ("US-006", 1, &["US-004", "US-005"]),
];

const DICE: usize = 400;

pub fn play(seed: u64, sweep: Duration, tally: &mut Tally) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let mut ordeal = Ordeal::new(&mut rng, sweep)?;
    let begin = |ordeal: &Ordeal| ordered(ordeal, ordeal.ralph());
    endure(&mut ordeal, &mut rng, &begin, tally).map(drop).map_err(|why| ordeal.failed(&why))
}

/// All of it, with a run that is begun like this.
pub fn endure(
    ordeal: &mut Ordeal,
    rng: &mut Rng,
    begin: &dyn Fn(&Ordeal) -> Command,
    tally: &mut Tally,
) -> Result<Fold, String> {
    let commit_left = rng.percent(50);
    set_up(ordeal, rng, commit_left)?;
    let list = ordeal.path("repo/ralph/tasks.json");
    let folded = whole_at_every_look(&list, || ordeal.live(begin, tally))?;
    all_is_right(ordeal, &folded, commit_left)?;
    Ok(folded)
}

fn set_up(ordeal: &Ordeal, rng: &mut Rng, commit_left: bool) -> Result<(), String> {
    for name in ["agent", "repo/ralph"] {
        fs::create_dir(ordeal.path(name)).map_err(about(name))?;
    }
    put(&ordeal.path("agent.sh"), AGENT.as_bytes())?;
    let dice: String = (0..DICE).map(|_| format!("{}\n", rng.below(100))).collect();
    put(&ordeal.path("agent/dice"), dice.as_bytes())?;
    let settings = json!({
        "maxFailures": 100, "stallAfter": 0, "backoff": {"base": 0.002, "cap": 0.01},
        "tasks": {"commitLeft": commit_left},
    });
    put(&ordeal.path("settings.json"), settings.to_string().as_bytes())?;
    let story = |(id, priority, depends_on): &(&str, u32, &[&str])| {
        json!({
            "id": id, "title": format!("Part {id}"), "description": "", "acceptanceCriteria": ["It is there"],
            "priority": priority, "passes": false, "reviewStatus": null, "reviewCount": 0,
            "reviewFeedback": "", "notes": "", "dependsOn": depends_on,
        })
    };
    let list = json!({
        "project": "parts", "branchName": "", "description": "Six parts",
        "verifyCommands": ["sleep 0.02; ! grep -qs bad made-*"],
        "userStories": STORIES.iter().map(story).collect::<Vec<_>>(),
    });
    // As ralph writes it: one field a line, which is what the agent knows how to edit.
    let list: TaskList = serde_json::from_value(list).map_err(about("list"))?;
    put(&ordeal.path("repo/ralph/tasks.json"), list.to_text().as_bytes())?;
    put(&ordeal.path("repo/ralph/progress.txt"), b"")?;
    ordeal.first_commit()
}

/// `ralph tasks`, at the end of a command.
pub fn ordered(ordeal: &Ordeal, mut command: Command) -> Command {
    // Neither limit is the point here.
    command.args(["tasks", "--stay", "-n", "350", "--review-cap", "100", "--config"]);
    command.arg(ordeal.path("settings.json"));
    command.arg("--").arg("sh").arg(ordeal.path("agent.sh")).arg(ordeal.path("agent"));
    command
}

/// Reads the list all the time while something is done. It may be away, since agents remove it,
/// but what is there is whole.
fn whole_at_every_look<T>(file: &Path, what: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if let Ok(bytes) = fs::read(file)
                    && let Err(cause) = TaskList::parse_bytes(&bytes)
                {
                    return Err(format!("a list that is not whole: {cause}"));
                }
                thread::sleep(Duration::from_millis(2));
            }
            Ok(())
        });
        let done = what();
        over.store(true, Ordering::Relaxed);
        let looked = watch.join().unwrap_or_else(|_| Err("the watch over the list broke".into()));
        looked.and(done)
    })
}

fn all_is_right(ordeal: &Ordeal, folded: &Fold, commit_left: bool) -> Result<(), String> {
    let repo = ordeal.path("repo");
    if !folded.state.is_success(folded.state.stopped.as_ref().ok_or("not stopped")?.reason) {
        return Err(format!("the run did not succeed: {:?}", folded.state.stopped));
    }
    let list = fs::read(repo.join("ralph/tasks.json")).map_err(about("list"))?;
    let list = TaskList::parse_bytes(&list).map_err(about("list"))?;
    let history = History::of(folded)?;
    history.ends_in(&list)?;
    history.agrees_with(&fs::read_to_string(ordeal.path("agent/ledger")).map_err(about("ledger"))?)?;
    ordeal.users_work_is_intact()?;
    if commit_left && repo.join(".git/index.lock").exists() {
        return Err("the lock of a git that was killed is left".into());
    }
    if !commit_left {
        let status = git(&repo, "status --porcelain")?;
        for line in [" M tracked.txt", "?? mine.txt"] {
            if !status.lines().any(|found| found == line) {
                return Err(format!("the user's work was committed or staged: {status}"));
            }
        }
    }
    let progress = fs::read_to_string(repo.join("ralph/progress.txt")).map_err(about("progress"))?;
    let mut seen = HashSet::new();
    if let Some(twice) = progress.lines().find(|line| !seen.insert(*line)) {
        return Err(format!("twice in progress.txt: {twice}"));
    }
    let written = fs::read_to_string(repo.join(".ralph/progress.md")).map_err(about("progress.md"))?;
    if written != folded.progress {
        return Err(format!("progress.md:\n{written}\nthe journal:\n{}", folded.progress));
    }
    if repo.join(".ralph-active").exists() {
        return Err(".ralph-active is left".into());
    }
    checks::locks_are_free(&ordeal.path("home"))?;
    let again = ordered(ordeal, ordeal.ralph()).output().map_err(about("another run"))?;
    let left = until_none(PATIENCE, || ordeal.processes());
    match again.status.success() && left.is_empty() {
        true => Ok(()),
        false => Err(format!("another run: {}", String::from_utf8_lossy(&again.stderr))),
    }
}

/// A review that was judged.
struct Review {
    /// Its verdict stands.
    counted: bool,
    failed: bool,
}

/// What became of each story, by the journal, found legal step by step.
#[derive(Default)]
struct History {
    known: Option<Arc<TaskList>>,
    /// What the last agent has made of it, until it is judged.
    after: Option<Arc<TaskList>>,
    reviews: BTreeMap<String, u64>,
    /// By which iteration.
    approved: BTreeMap<String, u32>,
    judged: BTreeMap<u32, Review>,
    /// Said right by an agent that failed, in which iteration.
    unsaid: BTreeMap<String, u32>,
}

impl History {
    fn of(folded: &Fold) -> Result<History, String> {
        let (mut history, mut steps) = (History::default(), BTreeMap::new());
        for event in &folded.events {
            let at = |why: String| format!("fact {}: {why}", event.seq);
            match &event.fact {
                Fact::Began { step: Step::Agent { .. }, .. } => history.after = None,
                Fact::Began { id, step: Step::Plan { what, .. } } => drop(steps.insert(*id, what.clone())),
                Fact::Ended { id, end: End::Plan(end) } => {
                    let PlanEnd::Tasks(end) = end.as_ref();
                    let what = steps.get(id).ok_or_else(|| at("never begun".into()))?;
                    history.seen_to(what, end).map_err(at)?;
                }
                Fact::Judged(judgement) => history.judge(judgement).map_err(at)?,
                _ => {}
            }
        }
        Ok(history)
    }

    fn seen_to(&mut self, what: &PlanStep, end: &TasksEnd) -> Result<(), String> {
        let list = Arc::clone(&end.known.list);
        match what {
            PlanStep::CompareTasks => self.after = Some(list),
            PlanStep::ReadTasks | PlanStep::PutBackTasks => {
                // Read amid the checks of a run that was resumed, it is as its agent left it.
                let amid_checks = *what == PlanStep::ReadTasks && self.after.is_some();
                let before = if amid_checks { &self.after } else { &self.known };
                if end.edited || before.as_ref().is_some_and(|before| *before != list) {
                    return Err("the list was changed, but no step changed it".into());
                }
                if !amid_checks {
                    self.known = Some(list);
                }
            }
            PlanStep::AmendTasks(amendment) => {
                for id in &amendment.stories {
                    self.approved.remove(id);
                    let now = list.story(id).ok_or_else(|| format!("{id} is gone"))?;
                    let status = match amendment.how {
                        Amend::RequestChanges => ReviewStatus::ChangesRequested,
                        Amend::Unsay => {
                            *self.reviews.entry(id.clone()).or_default() -= 1;
                            let iteration = self.unsaid.remove(id).unwrap_or_default();
                            self.judged.entry(iteration).and_modify(|review| review.counted = false);
                            ReviewStatus::NeedsReview
                        }
                    };
                    if now.passes() || now.review_status() != Some(status) {
                        return Err(format!("{id} was not taken back"));
                    }
                }
                self.known = Some(list);
            }
        }
        Ok(())
    }

    fn judge(&mut self, judgement: &Judgement) -> Result<(), String> {
        let Item::Task { id, mode } = &judgement.item else { return Err("no task".into()) };
        let Some(after) = self.after.take() else { return Ok(()) };
        let before = self.known.replace(Arc::clone(&after)).ok_or("judged before it was read")?;
        if *mode == Mode::Review {
            let failed = matches!(judgement.verdict, Verdict::AgentFailed { .. });
            self.judged.insert(judgement.iteration, Review { counted: false, failed });
        }
        for was in &before.stories {
            let now = after.story(was.id()).ok_or_else(|| format!("{} is gone", was.id()))?;
            if fields(was) == fields(now) {
                continue;
            }
            let legal = was.id() == id
                && match (mode, fields(was), fields(now)) {
                    (
                        Mode::Implement,
                        (false, Some(ReviewStatus::Unreviewed), n),
                        (false, Some(ReviewStatus::NeedsReview), m),
                    )
                    | (
                        Mode::ReviewFix,
                        (false, Some(ReviewStatus::ChangesRequested), n),
                        (false, Some(ReviewStatus::NeedsReview), m),
                    ) => n == m,
                    (
                        Mode::Review,
                        (false, Some(ReviewStatus::NeedsReview), n),
                        (true, Some(ReviewStatus::Approved), m)
                        | (false, Some(ReviewStatus::ChangesRequested), m),
                    ) => n + 1 == m,
                    _ => false,
                };
            if !legal {
                return Err(format!("{mode:?} of {id} made {:?} of {:?}", fields(now), fields(was)));
            }
            if *mode != Mode::Review {
                continue;
            }
            *self.reviews.entry(id.clone()).or_default() += 1;
            self.judged.entry(judgement.iteration).and_modify(|review| review.counted = true);
            match &judgement.verdict {
                Verdict::Green { checks: 1 } if now.passes() => {
                    self.approved.insert(id.clone(), judgement.iteration);
                }
                Verdict::AgentFailed { .. } if now.passes() => {
                    self.unsaid.insert(id.clone(), judgement.iteration);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn ends_in(&self, list: &TaskList) -> Result<(), String> {
        let known = self.known.as_ref().ok_or("the list was never read")?;
        for (id, ..) in STORIES {
            let story = list.story(id).ok_or_else(|| format!("{id} is gone"))?;
            let reviews = self.reviews.get(id).copied().unwrap_or_default();
            if fields(story) != (true, Some(ReviewStatus::Approved), reviews) {
                return Err(format!("{id} ended as {:?}, with {reviews} reviews", fields(story)));
            }
            if !self.approved.contains_key(id) {
                return Err(format!("{id} was approved without a review"));
            }
            if known.story(id).map(fields) != Some(fields(story)) {
                return Err(format!("{id} is not what the journal tells"));
            }
        }
        match list.stories.len() == STORIES.len() {
            true => Ok(()),
            false => Err("there are stories that were not asked for".into()),
        }
    }

    /// The agent's own book: a review counts if its agent gave a verdict that it may give.
    fn agrees_with(&self, ledger: &str) -> Result<(), String> {
        let did: HashSet<&str> = ledger.lines().filter_map(|line| line.strip_suffix(" did")).collect();
        // The last agent of each iteration is the one that was judged.
        let mut last: BTreeMap<u32, (&str, &str)> = BTreeMap::new();
        for line in ledger.lines() {
            if let [call, iteration, "review", _, act] = line.split(' ').collect::<Vec<_>>()[..] {
                last.insert(iteration.parse().map_err(about("ledger"))?, (call, act));
            }
        }
        for (iteration, Review { counted, failed }) in &self.judged {
            let acted = last.get(iteration);
            let gave_a_verdict =
                acted.is_some_and(|(call, act)| did.contains(call) && ["approve", "send-back"].contains(act));
            let may_give = acted.is_some_and(|(_, act)| act.starts_with("approve") || *act == "send-back");
            // One that was killed may have got there, or not.
            if (gave_a_verdict && !counted && !failed) || (*counted && !may_give) {
                return Err(format!("the review of iteration {iteration}: {acted:?}, counted: {counted}"));
            }
        }
        Ok(())
    }
}

/// `passes`, `reviewStatus`, `reviewCount`.
fn fields(story: &Story) -> (bool, Option<ReviewStatus>, u64) {
    (story.passes(), story.review_status(), story.review_count().unwrap_or(u64::MAX))
}
