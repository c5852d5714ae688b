//! Shows a run to a person as it happens.

use super::at_work::AtWork;
use super::plans;
use super::screen::Screen;
use super::status::{StatusLine, describe, doing};
use super::stream::StreamView;
use super::style::{Style, Tone, fit, fold};
use super::{EDITED, Reporter, Summary, filled_in, left, low_disk, newly_low, stop_asked};
use ralph_loop::check::{CheckEnd, CheckOutcome, FailAction};
use ralph_loop::dialect::{AgentEvent, Answer, Dialect};
use ralph_loop::event::{AgentEnd, End, Event, Fact, RestoreEnd, SnapshotEnd, Step, Why};
use ralph_loop::plan::{Item, Plan, PlanEnd};
use ralph_loop::run::Place;
use ralph_loop::scm::{MessageOutcome, TaskOutcome};
use ralph_loop::state::Stage;
use ralph_loop::task_list::Estimate;
use ralph_loop::text::{counted, printable};
use ralph_loop::time::{seconds, span};
use ralph_loop::verdict::{Judgement, Settlement, Verdict};
use ralph_loop::{Run, State, next, wake_at};
use std::io::Write;
use std::time::Duration;

/// What is shown of a run.
#[derive(Clone, Copy, Debug)]
pub struct Telling {
    /// The result only.
    pub quiet: bool,
    /// What the agent does, while it does it.
    pub stream: bool,
    /// `[HH:MM:SS]` before each line.
    pub timestamps: bool,
}

pub struct Human {
    screen: Screen,
    stream: StreamView,
    style: Style,
    telling: Telling,
    told_once: ToldOnce,
    at_work: AtWork,
    /// The scm task that runs.
    task: String,
    /// Why ralph ends the step that runs.
    cancelled: Option<Why>,
}

#[derive(Default)]
struct ToldOnce {
    snapshot_problem: bool,
    estimate: bool,
    left_out: bool,
    /// Until work begins again.
    low_disk: bool,
}

/// Columns that `[HH:MM:SS] ` takes.
const TIMESTAMP: usize = 11;

/// How often the terminal's status line is redrawn: a silent agent is no reason to wake up
/// every second. Without a status line, a line now and then shows that the run is alive.
const REDRAW: Duration = Duration::from_secs(2);
const SIGN_OF_LIFE: Duration = Duration::from_secs(60);

impl Human {
    pub fn new(mut style: Style, telling: Telling) -> Human {
        if telling.timestamps {
            style.width = style.width.saturating_sub(TIMESTAMP).max(40);
        }
        let status = if telling.quiet { None } else { StatusLine::on_terminal() };
        Human::on(Screen::new(status, telling.timestamps), style, telling)
    }

    /// Everything, within each call.
    pub fn to_writer(writer: Box<dyn Write>, style: Style) -> Human {
        let telling = Telling { quiet: false, stream: true, timestamps: false };
        Human::on(Screen::to_writer(writer), style, telling)
    }

    fn on(screen: Screen, style: Style, telling: Telling) -> Human {
        Human {
            screen,
            stream: StreamView::new(style),
            style,
            telling,
            told_once: ToldOnce::default(),
            at_work: AtWork::default(),
            task: String::new(),
            cancelled: None,
        }
    }

    /// The closing lines: why it stopped, what it took, what to do next.
    pub fn close(&mut self, summary: &Summary) {
        self.screen.clear_status();
        for line in summary.closing_lines(self.style) {
            self.screen.line(&fold(&line, self.style.edge()));
        }
        self.screen.flush();
    }

    fn line(&mut self, text: &str) {
        if !self.telling.quiet {
            self.screen.line(&fold(text, self.style.edge()));
        }
    }

    fn opened(&mut self, run: &Run, state: &State) {
        let style = self.style;
        let field =
            |name: &str, text: &str| format!("  {name:<7} {}", fit(&printable(text), style.edge() - 10));
        self.line(
            &style.paint(Tone::Strong, &format!("ralph {} {}", plans::command_name(&run.plan), run.id)),
        );
        for agent in &run.agents {
            let mut text = agent.name.clone();
            if let Some(model) = &agent.model {
                text += &format!(" ({model})");
            }
            if agent.autonomous && agent.dialect != Dialect::Plain {
                text += ", runs tools without asking (agent.autonomous)";
            }
            self.line(&field("agent", &text));
        }
        for (name, text) in plans::fields(run, state) {
            self.line(&field(name, &text));
        }
        if let Some(log) = &run.log {
            self.line(&field("log", &log.display().to_string()));
        }
        for check in &run.checks {
            self.line(&field("check", &check.command));
        }
        if let Place::Worktree { branch, .. } = &run.place {
            self.line(&field("place", &format!("a worktree, branch {branch}")));
        }
        if !run.git {
            self.line(&field("note", "not a git repository: no checkpoints and no stall detection"));
        }
    }

    fn began(&mut self, run: &Run, state: &State, step: &Step) {
        self.cancelled = None;
        match step {
            Step::Agent { iteration, attempt, item, .. } => {
                if std::mem::take(&mut self.told_once.low_disk) {
                    self.line("  enough disk space again");
                }
                let title = plans::title(
                    run,
                    state,
                    (*iteration, *attempt),
                    (item, self.at_work.name(run)),
                    self.style,
                );
                let rule = self.style.rule().repeat(3);
                let title = self.style.paint(Tone::Strong, &format!("{rule} {title} {rule}"));
                self.line("");
                self.line(&title);
            }
            Step::Check { index, .. } => {
                let name = run.checks.get(*index).map_or("", |check| &check.command);
                self.line(&self.style.paint(Tone::Quiet, &format!("  running check: {}", printable(name))));
            }
            Step::Message { .. } => self.line("  asking the agent for a commit message"),
            Step::Scm { task, .. } => {
                let named = run
                    .scm
                    .as_ref()
                    .and_then(|scm| Some(format!("{} {}", scm.command, scm.tasks.get(*task)?)));
                self.task = named.unwrap_or_default();
            }
            Step::Snapshot { .. }
            | Step::CommitWorktree
            | Step::Restore { .. }
            | Step::Plan { .. }
            | Step::Uncommitted { .. } => {}
        }
    }

    fn agent_ended(&mut self, run: &Run, end: &AgentEnd) {
        let agent = printable(self.at_work.called(run, "Agent")).into_owned();
        let mut parts: Vec<String> = self.at_work.name(run).map(|_| agent.clone()).into_iter().collect();
        if let Some(cost) = end.cost() {
            parts.push(format!("cost: {cost}"));
        }
        let tokens = end.seen.tokens;
        let read = tokens.input.saturating_add(tokens.cache_read).saturating_add(tokens.cache_write);
        if read > 0 || tokens.output > 0 {
            let cached = match tokens.cache_read {
                0 => String::new(),
                cached => format!(" ({} cached)", count(cached)),
            };
            parts.push(format!("tokens: {} in{cached} / {} out", count(read), count(tokens.output)));
        }
        if end.seen.tools > 0 {
            parts.push(format!("tools: {}", end.seen.tools));
        }
        if end.seen.tool_errors > 0 {
            parts.push(format!("errors: {}", end.seen.tool_errors));
        }
        parts.push(format!("time: {}", span(end.duration_ms)));
        // Of an agent that ralph itself has ended, the signal is not what a person wants to know.
        let ended = self.cancelled.take().and_then(|why| ended_by_ralph(&agent, why));
        let complete = ended.is_none() && end.answer == Answer::Said;
        let mark = if complete { self.style.ok() } else { self.style.bad() };
        let word = ended.unwrap_or_else(|| match &end.answer {
            Answer::Said => "Complete".to_string(),
            Answer::Empty => format!("{agent} gave no answer"),
            Answer::Failed { why } => format!("{agent} failed: {}", printable(why)),
            Answer::Limited { why, .. } => format!("Usage limit: {}", printable(why)),
            Answer::Unavailable { why } => format!("Service unavailable: {}", printable(why)),
            Answer::Refused { why, .. } => format!("Refused: {}", printable(why)),
        });
        self.line(&format!("{mark} {word} ({})", parts.join(", ")));
        if end.seen.denied > 0 {
            let asks = self.at_work.spec(run).is_some_and(|agent| !agent.autonomous);
            self.line(&denied(end.seen.denied, end.seen.denial.as_deref(), asks));
        }
        if end.swept > 0 {
            let what = counted(end.swept.into(), "process");
            self.line(&format!("  killed what it left running: {what}"));
        }
    }

    /// Says how long the run waits when a service refuses; that is not a failure.
    fn refused(&mut self, run: &Run, state: &State, answer: &Answer) {
        let waits = matches!(answer, Answer::Limited { .. } | Answer::Unavailable { .. });
        if !waits || !next(run, state).is_empty() {
            return;
        }
        if let Some(at) = wake_at(run, state) {
            let wait = span(at.saturating_sub(state.position.up_ms));
            self.line(&format!("  waiting {wait}, then retrying the same iteration (it does not count)"));
        }
    }

    fn check_ended(&mut self, run: &Run, state: &State, end: &CheckEnd) {
        // The state has just learned of this check; it is the last of its results. One that
        // was cut short has shown nothing.
        let Stage::Answered { results, .. } = &state.work.stage else { return };
        let Some(result) = results.last().filter(|result| result.log == end.log) else { return };
        let Some(check) = run.checks.get(result.index) else { return };
        let (name, took) = (printable(&check.command), span(end.duration_ms));
        match result.outcome {
            CheckOutcome::Passed => {
                let line = format!("{} check: {name} passed ({took})", self.style.ok());
                self.line(&line);
            }
            outcome @ (CheckOutcome::Failed(_) | CheckOutcome::TimedOut { .. }) => {
                let then = match check.fail_action {
                    FailAction::Append => "  output goes into the next prompt",
                    FailAction::Prepend => "  output goes before the next prompt",
                    FailAction::Replace => "  output replaces the next prompt",
                };
                let line = format!("{} check: {name} {outcome} ({took})", self.style.bad());
                self.line(&line);
                if let Some(summary) = &end.summary {
                    let line = format!("{}{}", self.style.under(), fit(summary, self.style.edge() - 4));
                    self.line(&self.style.paint(Tone::Quiet, &line));
                }
                self.line(&self.style.paint(Tone::Quiet, then));
            }
        }
    }

    fn snapshot_ended(&mut self, end: &SnapshotEnd) {
        if let Some(problem) = &end.problem
            && !std::mem::replace(&mut self.told_once.snapshot_problem, true)
        {
            self.warn(&format!("cannot take a checkpoint: {problem}"));
        }
        if !end.left_out.is_empty() && !std::mem::replace(&mut self.told_once.left_out, true) {
            let names = format!("  left out of checkpoints: {}", printable(&end.left_out.join(", ")));
            self.line(&names);
        }
    }

    fn judged(&mut self, run: &Run, state: &State, judgement: &Judgement) {
        for line in plans::outcome(run, state, judgement, self.style) {
            self.line(&line);
        }
        if let Item::Story { .. } = judgement.item {
            return; // it is tried again at once
        }
        match (&judgement.verdict, &judgement.settlement) {
            _ if judgement.counts_as_failure() => {
                let failures = format!(
                    "  failure {} of {} in a row",
                    state.ledger.streaks.failures, run.limits.max_failures
                );
                let goes_on = state.ledger.streaks.failures < run.limits.max_failures
                    && state.ledger.judged < state.ledger.limits.iterations;
                let wait = run.limits.backoff.wait_ms(state.ledger.streaks.failures);
                self.line(&if goes_on {
                    format!("{failures}, retrying in {}", span(wait))
                } else {
                    failures
                });
            }
            (Verdict::Red { .. }, _) if judgement.claim.tag.is_some() => {
                let agent = printable(self.at_work.called(run, "The agent"));
                self.line(&format!("  {agent} says it is done, but checks fail."));
            }
            (Verdict::Green { checks }, Settlement::Continue)
                if *checks > 0 && judgement.item == Item::Prompt =>
            {
                let agent = printable(self.at_work.called(run, "the agent"));
                self.line(&format!("  All checks pass, but {agent} has not said it is done."));
            }
            (Verdict::Red { .. } | Verdict::Green { .. } | Verdict::AgentFailed { .. }, _) => {}
        }
    }

    fn message_ended(&mut self, outcome: &MessageOutcome) {
        match outcome {
            MessageOutcome::Text(text) => {
                let first = printable(text.lines().next().unwrap_or_default()).into_owned();
                self.line(&fit(&format!("  commit message: {first}"), self.style.edge()));
            }
            MessageOutcome::NothingToCommit => {}
            MessageOutcome::Failed { why } => {
                self.warn(&format!("no commit message, skipping the scm tasks: {why}"));
            }
        }
    }

    fn plan_seen_to(&mut self, run: &Run, state: &State, end: &PlanEnd) {
        let (PlanEnd::Tasks(end), Plan::Tasks(plan)) = (end, &run.plan) else { return };
        let (list, skip) = (&end.known.list, plan.skip_review);
        if !std::mem::replace(&mut self.told_once.estimate, true) {
            let estimate = Estimate::of(list, skip);
            let needs = match estimate.iterations() {
                0 => "nothing: all stories are done".to_string(),
                _ => estimate.to_string(),
            };
            self.line(&format!("  {:<7} {needs}", "needs"));
            let left = run.limits.iterations.saturating_sub(state.ledger.judged) as usize;
            if estimate.iterations() > left {
                let word = if left == 1 { "iteration" } else { "iterations" };
                self.warn(&format!("{left} {word} may not be enough: raise the limit with -n"));
            }
        }
        if !end.filled.is_empty() {
            self.line(&format!("  {}", filled_in(plan, &end.filled)));
        }
        if end.edited {
            self.line(&format!("  {EDITED}"));
        }
        for reworded in &end.reworded {
            let line = format!("  {}", printable(&reworded.to_string()));
            self.line(&self.style.paint(Tone::Warn, &line));
        }
        for violation in &end.violations {
            let line = format!("{} reverted in the task list: {}", self.style.bad(), printable(violation));
            self.line(&line);
        }
    }

    fn restored(&mut self, end: &RestoreEnd) {
        if let Some(command) = end.diff_command() {
            self.line("  files reset to where the story started; the attempt is kept:");
            self.line(&format!("  {command}"));
        }
        if !end.spared.is_empty() {
            let paths = printable(&end.spared.join(", ")).into_owned();
            self.warn(&format!("not reset, because no checkpoint has a copy: {paths}"));
        }
    }

    fn rest_ended(&mut self, outcome: &TaskOutcome) {
        match outcome {
            TaskOutcome::Done => self.line("  committed the remaining changes in the worktree"),
            TaskOutcome::NothingToCommit => {}
            TaskOutcome::Failed { why } => {
                self.warn(&format!("cannot commit the remaining changes in the worktree: {why}"));
            }
        }
    }

    fn task_ended(&mut self, outcome: &TaskOutcome) {
        let task = std::mem::take(&mut self.task);
        match outcome {
            TaskOutcome::Done => {
                let line = format!("{} scm: {task}", self.style.ok());
                self.line(&line);
            }
            TaskOutcome::NothingToCommit => {
                self.line(&format!("  scm: {task}: skipped, nothing to commit"));
            }
            TaskOutcome::Failed { why } => self.warn(&format!("scm: {task}: {why}")),
        }
    }
}

impl Reporter for Human {
    fn event(&mut self, run: &Run, state: &State, event: &Event) {
        self.at_work.follow(event);
        match &event.fact {
            Fact::Opened(run) => self.opened(run, state),
            Fact::Resumed { .. } => {
                self.opened(run, state);
                let (iteration, spent) = (state.iteration(), state.ledger.spent);
                self.line(&format!("  resumed at iteration {iteration}, {spent} spent so far"));
            }
            Fact::Began { step, .. } => self.began(run, state, step),
            Fact::Ended { end, .. } => match end {
                End::Agent(end) => {
                    self.stream.reset();
                    self.agent_ended(run, end);
                    self.refused(run, state, &end.answer);
                }
                End::Check(end) => self.check_ended(run, state, end),
                End::Snapshot(end) => self.snapshot_ended(end),
                End::Message(end) => self.message_ended(&end.outcome),
                End::Scm(outcome) => self.task_ended(outcome),
                End::CommitWorktree(outcome) => self.rest_ended(outcome),
                End::Restore(end) => self.restored(end),
                End::Plan(end) => self.plan_seen_to(run, state, end),
                End::Uncommitted(end) => {
                    if let Some(text) = left(run, end) {
                        self.line(&format!("  {}", printable(&text)));
                    }
                }
                End::Lost { why, .. } if state.asked.stops == 0 => {
                    self.warn(&format!("running the step again: {why}"));
                }
                End::Lost { .. } | End::Impossible { .. } => {}
            },
            Fact::Judged(judgement) => self.judged(run, state, judgement),
            Fact::StopAsked => self.screen.aside(stop_asked(state)),
            Fact::Cancelled { why, .. } if *why != Why::Answered => self.cancelled = Some(*why),
            Fact::Cancelled { .. } => {
                let agent = printable(self.at_work.called(run, "the agent"));
                self.line(&format!("  {agent} answered but did not exit: killing it, its answer is kept"));
            }
            Fact::LowDisk(_) => {
                if let Some(shortage) = newly_low(state, event) {
                    self.told_once.low_disk = true;
                    let told = printable(&low_disk(shortage)).into_owned();
                    let line = format!("{} {told}", self.style.bad());
                    self.line(&line);
                    self.line("  waiting; the run continues on its own once there is enough space");
                }
            }
            Fact::Answered { .. }
            | Fact::Asked(_)
            | Fact::Silent { .. }
            | Fact::Blocked { .. }
            | Fact::Woke
            | Fact::Stopped { .. } => {}
        }
        if self.screen.has_status() {
            self.screen.show_status(describe(run, state, event.up_ms));
        }
    }

    fn agent(&mut self, event: &AgentEvent<'_>) {
        if self.telling.stream && !self.telling.quiet {
            self.stream.show(&mut self.screen, event);
        }
    }

    fn agent_stderr(&mut self, line: &str) {
        if self.telling.stream && !self.telling.quiet {
            self.screen.stderr_line(&printable(line));
        }
    }

    fn aside(&mut self, text: &str) {
        self.screen.aside(text);
    }

    fn rest(&mut self) {
        self.screen.rest();
    }

    fn tick_every(&mut self) -> Option<Duration> {
        match (self.screen.has_status(), self.telling.quiet) {
            (true, _) => Some(REDRAW),
            (false, true) => None,
            (false, false) => Some(SIGN_OF_LIFE),
        }
    }

    fn tick(&mut self, run: &Run, state: &State, up_ms: u64) {
        if self.screen.has_status() {
            self.screen.show_status(describe(run, state, up_ms));
        } else {
            self.line(
                &self.style.paint(Tone::Quiet, &format!("  still running: {}", doing(run, state, up_ms))),
            );
            self.screen.flush();
        }
    }
}

/// Why ralph stopped an agent; `None` if the agent had answered.
fn ended_by_ralph(agent: &str, why: Why) -> Option<String> {
    match why {
        Why::Timeout { after_ms } => Some(format!("{agent} failed: timed out after {}", seconds(after_ms))),
        Why::MaxTime => Some(format!("{agent} stopped: the time limit of the run is reached")),
        Why::StopAsked | Why::Killed => Some(format!("{agent} stopped: as requested")),
        Why::Silent(silence) => Some(format!("{agent} stopped: {silence}")),
        // Its answer tells more.
        Why::Answered | Why::Blocked(_) => None,
    }
}

/// Tool calls that were denied, and what to do about it: a setting only if it is off.
fn denied(calls: u32, first: Option<&str>, asks: bool) -> String {
    let calls = match calls {
        1 => "1 tool call was denied".to_string(),
        n => format!("{n} tool calls were denied"),
    };
    match (asks, first) {
        (true, _) => format!("  {calls}; to allow them, set agent.autonomous to true"),
        (false, Some(first)) => format!("  {calls}: {}", printable(first).replace('\n', " ")),
        (false, None) => format!("  {calls} by a hook or a rule in the agent's own settings"),
    }
}

/// `950`, `45K`, `1.2M`.
fn count(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..10_000 => format!("{:.1}K", n as f64 / 1e3),
        10_000..1_000_000 => format!("{}K", n / 1_000),
        _ => format!("{:.1}M", n as f64 / 1e6),
    }
}
