//! How a run ended: as one object for programs, and as closing lines for people.

use super::proof::ProofReport;
use super::style::{Style, Tone};
use super::tasks_left::{TaskResult, TasksLeft, named};
use ralph_loop::event::{StopKind, StopReason};
use ralph_loop::money::{Cost, Usd};
use ralph_loop::sandbox::network::Refused;
use ralph_loop::story_id::StoryId;
use ralph_loop::text::{counted, printable};
use ralph_loop::time::span;
use ralph_loop::view::Iteration;
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

/// `--format json`: printed at every end, whatever the exit code.
#[derive(Debug, Serialize)]
pub struct RunResult {
    pub run: Option<String>,
    pub plan: Option<&'static str>,
    pub success: bool,
    pub stop_reason: StopReason,
    pub total_iterations: usize,
    /// US dollars, as far as they are known.
    pub total_cost: f64,
    /// Some of it is estimated by tokens, because an agent has reported no dollars.
    pub cost_estimated: bool,
    /// Seconds, downtime left out.
    pub total_duration: f64,
    pub iterations: Vec<Iteration>,
    /// The stories of a task list, as the run has left them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskResult>,
    pub worktree_path: String,
    /// The sandbox that it ran in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<&'static str>,
    /// All its agents asked the guard before they used a tool.
    pub guard: bool,
    /// Hosts that programs in the sandbox could not reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkReport>,
    /// What the result is worth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofReport>,
    pub error: Option<ErrorReport>,
}

/// What was refused to programs in a sandbox.
#[derive(Debug, Serialize)]
pub struct NetworkReport {
    /// How many hosts and ports.
    pub refused: u64,
    /// The first of them, each with its port.
    pub hosts: Vec<String>,
}

impl NetworkReport {
    /// Nothing where nothing was refused.
    pub fn of(refused: &Refused) -> Option<NetworkReport> {
        let hosts = refused.all().iter().map(|refusal| format!("{}:{}", refusal.host, refusal.port));
        (refused.count() > 0).then(|| NetworkReport { refused: refused.count(), hosts: hosts.collect() })
    }
}

#[derive(Debug, Serialize)]
pub struct ErrorReport {
    pub message: String,
    pub cause: Option<String>,
    pub hint: Option<String>,
}

impl RunResult {
    /// A run that could not start or continue.
    pub fn refused(run: Option<String>, error: ErrorReport) -> RunResult {
        RunResult {
            run,
            plan: None,
            success: false,
            stop_reason: StopReason::Error,
            total_iterations: 0,
            total_cost: 0.0,
            cost_estimated: false,
            total_duration: 0.0,
            iterations: Vec::new(),
            tasks: Vec::new(),
            worktree_path: String::new(),
            sandbox: None,
            guard: false,
            network: None,
            proof: None,
            error: Some(error),
        }
    }
}

/// What to do where the checks cannot run on a clean copy.
pub const WITHOUT_COPY: &str = "use --proof auto to run the checks in place instead";

/// What the closing lines are made of.
pub struct Summary {
    /// Of the worker; a run in a terminal goes by its id.
    pub name: String,
    pub reason: StopReason,
    /// The run did what was requested.
    pub success: bool,
    /// Stories, if that is what it was about.
    pub stories: Option<StoriesLeft>,
    /// The task list, if that is.
    pub tasks: Option<TasksLeft>,
    pub note: Option<String>,
    /// What to do about agents that refuse for good.
    pub refused: Option<String>,
    /// What to do about checks that fail only on the clean copy.
    pub only_on_copy: Option<String>,
    pub iterations: u32,
    pub cost: Cost,
    pub max_cost: Option<Usd>,
    pub up_ms: u64,
    /// What is different now, and how to see it; nothing if that is not known.
    pub changed: Option<ChangedLines>,
    /// What to do about a sandbox that breaks checks.
    pub in_the_way: Vec<String>,
    /// Hosts that could not be reached, and what would allow them.
    pub network: Vec<String>,
    /// The command that raises the limit that was reached.
    pub more: Option<String>,
    pub max_failures: u32,
    pub stall_after: u32,
    /// There were checks: without any, nothing is proven.
    pub checked: bool,
    /// What the result is worth, in words; runs of earlier versions do not know.
    pub proof: Option<String>,
    /// It is worth a look before it is used.
    pub doubtful: bool,
    /// Where the work is and what to do with it, if it is not here.
    pub place: Vec<String>,
}

/// What a run has changed, in words.
pub struct ChangedLines {
    /// `4 files, +120 -14, 2 commits`.
    pub what: String,
    /// The commands that show it and take it back, if there are any.
    pub see: Option<String>,
}

impl ChangedLines {
    fn lines(&self) -> impl Iterator<Item = String> {
        let see = self.see.iter().map(|see| format!("  see it: {see}"));
        std::iter::once(format!("  changed: {}", self.what)).chain(see)
    }
}

/// How far a run over stories has come.
pub struct StoriesLeft {
    /// The story whose last attempt failed.
    pub failed: Option<StoryId>,
    pub of: usize,
    /// Of those that were to be done.
    pub left: Vec<StoryId>,
    /// Not done either, and no part of this run.
    pub others: Vec<StoryId>,
    /// Each story is committed: another run would need a clean tree.
    pub commits: bool,
}

impl StoriesLeft {
    /// `None` if all are done: the banner says that.
    fn line(&self) -> Option<String> {
        let done = match self.of {
            0 => "none to do".to_string(),
            of => format!("{} of {of} done", of.saturating_sub(self.left.len())),
        };
        let ids = |ids: &[StoryId], what: &str| match ids {
            [] => String::new(),
            ids => format!("{what}{}", named(ids.iter().map(StoryId::to_string), " ")),
        };
        let (left, others) = (ids(&self.left, ", left: "), ids(&self.others, "; not in this run: "));
        (!self.is_complete()).then(|| format!("  stories: {done}{left}{others}"))
    }

    fn is_complete(&self) -> bool {
        self.left.is_empty() && self.others.is_empty()
    }
}

impl Summary {
    pub fn closing_lines(&self, style: Style) -> Vec<String> {
        let (mark, tone) = match (self.success, self.doubtful) {
            (true, false) => (style.ok(), Tone::Good),
            (true, true) => (style.doubt(), Tone::Warn),
            (false, _) => (style.bad(), Tone::Bad),
        };
        let word = style.paint(tone, self.reason.word());
        let iterations = counted(self.iterations.into(), "iteration");
        let mut lines = self.banner(style);
        let last = format!("{mark} {word}: {}", self.why());
        let budget = self.max_cost.map_or_else(String::new, |most| format!(" of {most}"));
        let took = format!("({iterations}, cost: {}{budget}, time: {})", self.cost, span(self.up_ms));
        lines.push(String::new());
        // Cost and time stay on one line.
        match printable(&last).width() + 1 + took.width() <= style.edge() {
            true => lines.push(format!("{last} {took}")),
            false => lines.extend([last, format!("  {took}")]),
        }
        lines.extend(self.stories.iter().filter_map(StoriesLeft::line));
        let tasks = self.tasks.iter().flat_map(TasksLeft::lines);
        lines.extend(tasks.map(|line| format!("  {line}")));
        lines.extend(self.changed.iter().flat_map(ChangedLines::lines));
        let about_copy = self.only_on_copy.iter().filter(|_| !self.success);
        let advice = self.advice();
        lines.extend(
            about_copy
                .chain(&advice)
                .chain(&self.network)
                .chain(&self.place)
                .map(|advice| format!("  {advice}")),
        );
        lines
    }

    /// What the user must not miss.
    fn banner(&self, style: Style) -> Vec<String> {
        let Some(stories) = &self.stories else { return Vec::new() };
        match (self.reason, stories.failed) {
            (StopReason::Halted, Some(id)) => {
                let way_on = match stories.commits {
                    true => format!("ralph resume {}", self.name),
                    false => format!("ralph stories -s {id}"),
                };
                vec![
                    String::new(),
                    style.paint(Tone::Bad, "MAX RETRIES EXCEEDED"),
                    "Human intervention required.".to_string(),
                    "The files are as the last attempt left them.".to_string(),
                    format!("When story {id} is unblocked: {way_on}"),
                ]
            }
            (StopReason::Completed, _) if stories.is_complete() => {
                vec![String::new(), style.paint(Tone::Good, "ALL COMPLETE!")]
            }
            _ => Vec::new(),
        }
    }

    fn why(&self) -> String {
        match &self.note {
            Some(note) => printable(note).into_owned(),
            None => self.in_detail().unwrap_or_else(|| self.reason.sentence().into()),
        }
    }

    /// More than the reason alone says.
    fn in_detail(&self) -> Option<String> {
        Some(match self.reason {
            StopReason::Completed if self.proof.is_some() => self.proof.clone()?,
            StopReason::Completed if !self.checked => "the agent says it is done; no checks were run".into(),
            StopReason::MaxIterations if self.success => "ran all requested iterations".into(),
            StopReason::MaxIterations => {
                let id = self.stories.as_ref().and_then(|stories| stories.failed)?;
                format!("reached the iteration limit, the last attempt at story {id} failed")
            }
            StopReason::TooManyFailures => {
                format!("the agent failed {} in a row", counted(self.max_failures.into(), "time"))
            }
            StopReason::Stalled if self.tasks.is_some() => {
                format!(
                    "no story made progress in the last {}",
                    counted(self.stall_after.into(), "iteration")
                )
            }
            StopReason::Stalled if self.stories.is_some() => {
                format!("{} in a row failed the same way", counted(self.stall_after.into(), "attempt"))
            }
            StopReason::Stalled => {
                let iterations = counted(self.stall_after.into(), "iteration");
                format!("{iterations} in a row changed nothing and failed the same way")
            }
            _ => return None,
        })
    }

    fn advice(&self) -> Vec<String> {
        match self.reason {
            StopReason::SandboxInTheWay => self.in_the_way.clone(),
            _ => self.way_on().into_iter().collect(),
        }
    }

    fn way_on(&self) -> Option<String> {
        let name = &self.name;
        match self.reason.kind() {
            StopKind::Limit if self.success => {
                self.more.as_ref().map(|command| format!("for more: {command}"))
            }
            _ if self.success => None,
            StopKind::Done => None,
            // A halted run is stuck on its work, not on its agents.
            StopKind::Failed if self.refused.is_some() && self.reason != StopReason::Halted => {
                self.refused.clone()
            }
            StopKind::Unusable => Some(WITHOUT_COPY.to_string()),
            StopKind::GaveUp
            | StopKind::Failed
            | StopKind::Paused
            | StopKind::Killed
            | StopKind::Interrupted => Some(format!("continue with: ralph resume {name}")),
            StopKind::Limit => {
                let more = self.more.as_ref().map(|command| format!("continue with: {command}"));
                Some(more.unwrap_or_else(|| format!("continue with: ralph resume {name}")))
            }
            StopKind::Stalled => {
                Some(format!("see what happened: ralph show {name}; continue with: ralph resume {name}"))
            }
        }
    }
}
