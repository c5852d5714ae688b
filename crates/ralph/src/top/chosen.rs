//! The chosen run, read by a thread of its own.
//!
//! The thread ends when the screen has let go of its [`Detail`]: what it still reads then goes nowhere.
//! Memory is bounded by the rows that are kept and by a small record for each iteration; streams are
//! read through.

use super::runs::LOOK_EVERY;
use super::text::{Row, RowWriter, Tail, rows};
use crate::fsx;
use crate::journal::{self, Follower};
use crate::layout::RunDir;
use crate::report::{Human, Reporter, Style, assignment, log_lines};
use ralph_loop::dialect::{AgentEvent, Line};
use ralph_loop::money::Cost;
use ralph_loop::view::{EndKind, ItemView, Iteration, Moment, RunView, Update};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

/// What is to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub run: String,
    /// None is the last one, and what comes.
    pub iteration: Option<u32>,
    /// Columns that rows may have.
    pub width: usize,
}

/// All that is known of a run.
#[derive(Debug, Default)]
pub struct Detail {
    /// Counts changes.
    pub version: u64,
    /// Its journal was read to the end.
    pub is_read: bool,
    pub view: Option<RunView>,
    /// What was asked of it, on one line.
    pub asked: String,
    pub items: Vec<ItemView>,
    pub iterations: Vec<Past>,
    pub stories: HashMap<String, Effort>,
    pub agents: BTreeMap<String, Cost>,
    pub checks: Vec<CheckHistory>,
    pub now: Tail,
    pub log: Tail,
    pub problem: Option<String>,
}

/// An iteration that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    pub iteration: u32,
    pub story: Option<String>,
    pub cost: Cost,
    pub duration_ms: u64,
    pub end: EndKind,
    pub green: bool,
    pub settled: bool,
}

/// What a story has taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    pub attempts: u32,
    pub cost: Cost,
}

/// A check and how it went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckHistory {
    pub command: String,
    /// The last results, oldest first.
    pub results: VecDeque<(u32, bool)>,
    pub runs: u32,
    pub failures: u32,
    /// How it ended last, on one line.
    pub last: String,
    pub log: Option<PathBuf>,
    /// The end of its output.
    pub output: Vec<Row>,
}

/// So much of a stream is read when it is chosen: more than enough for the rows that are kept.
const STREAM_BYTES: u64 = 8 << 20;
/// Results of a check that are kept.
const RESULTS: usize = 200;
/// Lines of its last output.
const OUTPUT_LINES: usize = 40;
const OUTPUT_BYTES: u64 = 16 << 10;

/// Columns that reports are made for.
const NARROWEST: usize = 40;
const WIDEST: usize = 200;

pub type Shared = Arc<Mutex<Detail>>;

pub fn lock(detail: &Shared) -> MutexGuard<'_, Detail> {
    detail.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a run for as long as what this returns is held.
pub fn follow(run_dir: RunDir, wanted: Wanted, style: Style) -> io::Result<Shared> {
    let detail = Shared::default();
    let theirs = Arc::downgrade(&detail);
    thread::Builder::new().name("run".into()).spawn(move || read(&run_dir, &wanted, style, &theirs))?;
    Ok(detail)
}

fn read(run_dir: &RunDir, wanted: &Wanted, mut style: Style, detail: &Weak<Mutex<Detail>>) {
    // Reports are made for this much; what is too wide for the screen goes on in the next row.
    style.width = wanted.width.clamp(NARROWEST, WIDEST);
    let last = || journal::view(run_dir).map_or(1, |view| view.iteration.max(1));
    let streams = wanted.iteration.map_or_else(|| last()..=u32::MAX, |only| only..=only);
    let mut follower = None;
    let writer = RowWriter::new(detail.clone(), |detail: &mut Detail| &mut detail.now, wanted.width);
    let mut collector = Collector {
        detail,
        now: Human::to_writer(Box::new(writer), style),
        only: wanted.iteration,
        at: 0,
        width: wanted.width,
        has_news: false,
    };
    loop {
        let problem = match &mut follower {
            None => match Follower::open(run_dir) {
                Ok(opened) => {
                    follower = Some(opened.with_streams_of(streams.clone()).with_at_most(STREAM_BYTES));
                    continue;
                }
                Err(cause) => Some(cause.to_string()),
            },
            Some(follower) => follower.read(&mut collector).err().map(|cause| cause.to_string()),
        };
        let removed = || "the record of this run was removed".to_string();
        let problem = if run_dir.journal().exists() { problem } else { Some(removed()) };
        // Nothing more can be read after a line that is not understood.
        let is_over = problem.is_some() && follower.is_some();
        // What its agent does now and has used so far is known best by its own loop.
        let written = journal::written(run_dir);
        let Some(detail) = detail.upgrade() else { return };
        let mut detail = lock(&detail);
        let is_other = written.is_some() && written != detail.view;
        if collector.has_news || is_other || !detail.is_read || problem != detail.problem {
            collector.has_news = false;
            detail.is_read = true;
            detail.version += 1;
            detail.problem = problem;
            if let Some(follower) = &follower {
                detail.view = written.or_else(|| follower.view()).or(detail.view.take());
                detail.items = follower.items();
            }
            if let Some(view) = &detail.view {
                detail.asked = assignment(&view.assignment, run_dir);
            }
            read_outputs(&mut detail, wanted.width);
        }
        drop(detail);
        if is_over {
            return;
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// The end of what each check has printed last, where that changed.
fn read_outputs(detail: &mut Detail, width: usize) {
    let Some(workspace) = detail.view.as_ref().map(|view| view.workspace.clone()) else { return };
    for check in &mut detail.checks {
        let Some(log) = check.log.take() else { continue };
        let text = end_of(&workspace.join(log)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let last = lines.iter().skip(lines.len().saturating_sub(OUTPUT_LINES));
        check.output = last.flat_map(|line| rows(line, width.saturating_sub(4))).collect();
    }
}

/// The end of a file that an agent may have replaced by anything.
fn end_of(path: &Path) -> io::Result<String> {
    let mut file = fsx::open_regular(path)?;
    let start = file.metadata()?.len().saturating_sub(OUTPUT_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(OUTPUT_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Puts what a run reports where the screen finds it.
struct Collector<'d> {
    detail: &'d Weak<Mutex<Detail>>,
    now: Human,
    only: Option<u32>,
    /// The iteration that began last.
    at: u32,
    width: usize,
    has_news: bool,
}

impl Collector<'_> {
    fn is_shown(&self) -> bool {
        self.only.is_none_or(|only| only == self.at)
    }
}

impl Reporter for Collector<'_> {
    fn update(&mut self, update: &Update<'_>) {
        self.has_news = true;
        for moment in &update.moments {
            if let Moment::AgentBegan { iteration, .. } = moment {
                self.at = *iteration;
            }
        }
        if self.is_shown() {
            self.now.update(update);
        }
        let Some(detail) = self.detail.upgrade() else { return };
        let mut detail = lock(&detail);
        if let Some(lines) = log_lines(update) {
            let rows = lines.lines().flat_map(|line| rows(line, self.width));
            rows.for_each(|row| detail.log.push(row));
        }
        update.moments.iter().for_each(|moment| detail.take(update, moment));
    }

    fn agent(&mut self, event: &AgentEvent<'_>) {
        self.has_news = true;
        self.now.agent(event);
    }

    fn agent_stderr_line(&mut self, line: &Line<'_>) {
        self.has_news = true;
        self.now.agent_stderr_line(line);
    }

    fn aside(&mut self, text: &str) {
        self.now.aside(text);
    }

    fn rest(&mut self) {
        self.now.rest();
    }
}

impl Detail {
    fn take(&mut self, update: &Update<'_>, moment: &Moment<'_>) {
        match moment {
            Moment::AgentEnded { agent, end, .. } => {
                let name = update.run.agents.get(*agent).map_or("agent", |agent| &agent.name);
                *self.agents.entry(name.to_string()).or_default() += end.cost().unwrap_or_default();
            }
            Moment::CheckEnded { check, outcome, end, .. } => {
                let history = self.check(&check.command);
                history.last = match &end.summary {
                    Some(summary) if !outcome.passed() => format!("{outcome}: {summary}"),
                    Some(_) | None => outcome.to_string(),
                };
                history.log = Some(end.log.clone());
            }
            Moment::IterationEnded { iteration, .. } => self.iteration_ended(iteration),
            _ => {}
        }
    }

    fn check(&mut self, command: &str) -> &mut CheckHistory {
        let at = self.checks.iter().position(|check| check.command == command);
        let at = at.unwrap_or_else(|| {
            self.checks.push(CheckHistory { command: command.to_string(), ..CheckHistory::default() });
            self.checks.len() - 1
        });
        &mut self.checks[at]
    }

    fn iteration_ended(&mut self, iteration: &Iteration) {
        for result in &iteration.check_results {
            let history = self.check(&result.name);
            history.runs += 1;
            history.failures += u32::from(!result.passed);
            history.results.push_back((iteration.iteration, result.passed));
            if history.results.len() > RESULTS {
                history.results.pop_front();
            }
        }
        if let Some(story) = &iteration.story {
            let effort = self.stories.entry(story.clone()).or_default();
            effort.attempts += 1;
            effort.cost += iteration.cost;
        }
        self.iterations.push(Past {
            iteration: iteration.iteration,
            story: iteration.story.clone(),
            cost: iteration.cost,
            duration_ms: iteration.duration_ms,
            end: iteration.end,
            green: iteration.all_checks_passed,
            settled: iteration.settled,
        });
    }
}
