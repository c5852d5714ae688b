//! Shows a run to a person as it happens.

use super::plans::{self, IterationTitle};
use super::proof;
use super::screen::Screen;
use super::status::{doing, status};
use super::status_line::StatusLine;
use super::stream::{Detail, StreamView};
use super::style::{Style, Tone, count, fit, fold};
use super::{EDITED, Reporter, Summary, filled_in, left, low_disk, stop_asked, style};
use crate::guard;
use crate::layout::{Home, RunDir};
use crate::place;
use crate::sandbox;
use jiff::Zoned;
use ralph_loop::check::{CheckEnd, CheckOutcome, CheckSpec, FailAction};
use ralph_loop::dialect::{AgentEvent, Answer, Dialect};
use ralph_loop::event::{AgentEnd, RestoreEnd, SnapshotEnd, Why};
use ralph_loop::plan::tasks::TasksEnd;
use ralph_loop::plan::{Item, Plan};
use ralph_loop::proof::Round;
use ralph_loop::scm::{MessageOutcome, TaskOutcome};
use ralph_loop::task_list::Estimate;
use ralph_loop::text::{counted, printable};
use ralph_loop::time::{seconds, span};
use ralph_loop::verdict::{Judgement, Settlement, Verdict};
use ralph_loop::view::{Moment, RunView, Update, Wait, items};
use ralph_loop::{Run, State};
use std::io::Write;
use std::time::Duration;

/// What is shown of a run.
#[derive(Clone, Debug)]
pub struct HumanOptions {
    pub display: Display,
    /// What the agent does, while it does it.
    pub stream: bool,
    /// `[HH:MM:SS]` before each line.
    pub timestamps: bool,
    pub agents_terminals: AgentsTerminals,
}

/// Where people see the terminal of an interactive agent.
#[derive(Clone, Debug)]
pub enum AgentsTerminals {
    /// In the terminal of this process; the runs are in this directory.
    Here(Home),
    /// In the window of this worker.
    Worker(&'static str),
    /// In none: there is no interactive agent.
    Nowhere,
}

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Display {
    Full,
    /// The agent's words, and a line for each tool.
    Compact,
    /// The result only.
    Quiet,
}

pub struct Human {
    screen: Screen,
    stream: StreamView,
    style: Style,
    options: HumanOptions,
    /// The line with the marks of the plan, as it was shown last.
    marks: Option<String>,
    lending: Lending,
}

/// Whose the terminal is.
#[derive(Debug)]
enum Lending {
    Own,
    /// An agent of this run is about to start, and will get it.
    Promised(RunDir),
    Lent,
}

/// Columns that `[HH:MM:SS] ` takes.
const TIMESTAMP: usize = 11;

/// How often the terminal's status line is redrawn. Without one, a line now and then shows that the run is
/// alive.
const REDRAW: Duration = Duration::from_secs(1);
const SIGN_OF_LIFE: Duration = Duration::from_secs(60);

impl HumanOptions {
    fn is_quiet(&self) -> bool {
        self.display == Display::Quiet
    }
}

impl Human {
    pub fn new(mut style: Style, options: HumanOptions) -> Human {
        if options.timestamps {
            style.width = style.width.saturating_sub(TIMESTAMP).max(40);
        }
        let status = if options.is_quiet() { None } else { StatusLine::on_terminal() };
        Human::on(Screen::new(status, options.timestamps), style, options)
    }

    /// Everything, within each call.
    pub fn to_writer(writer: Box<dyn Write>, style: Style) -> Human {
        let options = HumanOptions {
            display: Display::Full,
            stream: true,
            timestamps: false,
            agents_terminals: AgentsTerminals::Nowhere,
        };
        Human::on(Screen::to_writer(writer), style, options)
    }

    fn on(screen: Screen, style: Style, options: HumanOptions) -> Human {
        let detail = match options.display {
            Display::Full | Display::Quiet => Detail::Full,
            Display::Compact => Detail::Lines,
        };
        Human {
            screen,
            stream: StreamView::new(style, detail),
            style,
            options,
            marks: None,
            lending: Lending::Own,
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

    fn show_status(&mut self, view: &RunView, up_ms: u64) {
        // The terminal may have another size by now.
        let width = style::columns(rustix::stdio::stderr());
        self.screen.show_status(status(view, up_ms, &Zoned::now(), width.saturating_sub(1)));
    }

    /// The agent is over, and so is its terminal.
    fn take_back(&mut self) {
        if let Lending::Lent = std::mem::replace(&mut self.lending, Lending::Own) {
            self.screen.agent_ended();
        }
    }

    fn is_lent(&self) -> bool {
        matches!(self.lending, Lending::Lent)
    }

    fn line(&mut self, text: &str) {
        if !self.options.is_quiet() {
            self.screen.line(&fold(text, self.style.edge()));
        }
    }

    fn opened(&mut self, run: &Run, state: &State) {
        let style = self.style;
        let field = |name: &str, text: &str| {
            format!("  {name:<7} {}", fit(&printable(text), style.edge().saturating_sub(10)))
        };
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
        if let Some(place) = place::description(&run.place) {
            self.line(&field("place", &place));
        }
        if run.interactive.is_some() {
            let lines = match &self.options.agents_terminals {
                AgentsTerminals::Here(_) => vec![
                    ("screen", "interactive: the agent gets this terminal, and Ctrl+C".to_string()),
                    ("stop", format!("from another terminal: ralph pause, or ralph kill {}", run.id)),
                ],
                AgentsTerminals::Worker(name) => {
                    vec![("screen", format!("interactive: watch it and type with ralph attach {name}"))]
                }
                AgentsTerminals::Nowhere => Vec::new(),
            };
            for (name, text) in lines {
                self.line(&field(name, &text));
            }
        }
        self.line(&field("sandbox", &sandbox::description(&run.confinement)));
        if let Some(guard) = guard::description(run) {
            self.line(&field("guard", &guard));
        }
        if !run.git {
            self.line(&field("note", "not a git repository: no checkpoints and no stall detection"));
        }
    }

    fn agent_began(&mut self, update: &Update<'_>, named: &IterationTitle<'_>) {
        let title = plans::title(update.run, update.state, named, self.style);
        let rule = self.style.rule().repeat(3);
        let title = self.style.paint(Tone::Strong, &format!("{rule} {title} {rule}"));
        self.line("");
        self.line(&title);
        let marks = plans::marks(&items(update.run, update.state), self.style);
        if marks != self.marks {
            marks.iter().for_each(|marks| self.line(marks));
            self.marks = marks;
        }
    }

    fn agent_ended(&mut self, update: &Update<'_>, end: &AgentEnd, cancelled: Option<Why>) {
        let agent = printable(update.agent_or("Agent")).into_owned();
        let mut parts: Vec<String> = update.agent_name().map(|_| agent.clone()).into_iter().collect();
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
        let ended = cancelled.and_then(|why| ended_by_ralph(&agent, why));
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
            let asks = update.agent().is_some_and(|agent| !agent.autonomous);
            self.line(&denied(end.seen.denied, end.seen.denial.as_deref(), asks));
        }
        if end.swept > 0 {
            let what = counted(end.swept.into(), "process");
            self.line(&format!("  killed what it left running: {what}"));
        }
    }

    /// `is_told`: the agent learns what has failed.
    fn check_ended(&mut self, check: &CheckSpec, is_told: bool, outcome: CheckOutcome, end: &CheckEnd) {
        let (name, took) = (printable(&check.command), span(end.duration_ms));
        if !is_told {
            // It proves something, and is nothing that the agent has to put right.
            let line = format!("  check: {name} {outcome} ({took})");
            return self.line(&self.style.paint(Tone::Quiet, &line));
        }
        match outcome {
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

    fn checkpoint(&mut self, end: &SnapshotEnd, problem_is_new: bool, left_out_is_new: bool) {
        if let Some(problem) = end.problem.as_ref().filter(|_| problem_is_new) {
            self.warn(&format!("cannot take a checkpoint: {problem}"));
        }
        if left_out_is_new {
            let names = format!("  left out of checkpoints: {}", printable(&end.left_out.join(", ")));
            self.line(&names);
        }
    }

    fn judged(&mut self, update: &Update<'_>, judgement: &Judgement) {
        let (run, state) = (update.run, update.state);
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
                let agent = printable(update.agent_or("The agent"));
                let but = match proof::fails_only_on_copy(state) {
                    true => "checks fail on a clean copy; they pass in the working tree",
                    false => "checks fail",
                };
                self.line(&format!("  {agent} says it is done, but {but}."));
            }
            (Verdict::Green { checks }, Settlement::Continue)
                if *checks > 0 && judgement.item == Item::Prompt =>
            {
                let agent = printable(update.agent_or("the agent"));
                self.line(&format!("  All checks pass, but {agent} has not said it is done."));
            }
            (Verdict::Refused { word }, _) => {
                self.line(&format!("  Not accepted (--proof strict): {}.", word.sentence()));
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

    fn tasks_read(&mut self, run: &Run, state: &State, end: &TasksEnd, is_first: bool) {
        let Plan::Tasks(plan) = &run.plan else { return };
        let (list, skip) = (&end.known.list, plan.skip_review);
        if is_first {
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

    fn worktree_committed(&mut self, outcome: &TaskOutcome) {
        match outcome {
            TaskOutcome::Done => self.line("  committed the remaining changes in the worktree"),
            TaskOutcome::NothingToCommit => {}
            TaskOutcome::Failed { why } => {
                self.warn(&format!("cannot commit the remaining changes in the worktree: {why}"));
            }
        }
    }

    fn scm_ended(&mut self, task: &str, outcome: &TaskOutcome) {
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

    fn moment(&mut self, update: &Update<'_>, moment: &Moment<'_>) {
        let (run, state) = (update.run, update.state);
        if let Moment::AgentEnded { .. } | Moment::StepLost { .. } | Moment::StepImpossible { .. } = moment {
            self.take_back();
        }
        match moment {
            Moment::Opened => self.opened(run, state),
            Moment::Resumed => {
                self.opened(run, state);
                let (iteration, spent) = (state.iteration(), state.ledger.spent);
                self.line(&format!("  resumed at iteration {iteration}, {spent} spent so far"));
            }
            &Moment::AgentBegan { iteration, attempt, item, .. } => {
                let agent = update.agent_name();
                self.agent_began(update, &IterationTitle { iteration, attempt, item, agent });
                if let (AgentsTerminals::Here(home), Some(_)) =
                    (&self.options.agents_terminals, &run.interactive)
                {
                    self.lending = Lending::Promised(home.run(&run.id));
                }
            }
            Moment::CheckBegan { check, round } => {
                let on = proof::runs_on(state, *round).map_or_else(String::new, |on| format!(" {on}"));
                let line = format!("  running check{on}: {}", printable(&check.command));
                self.line(&self.style.paint(Tone::Quiet, &line));
            }
            // Said once it is known that there is a copy.
            Moment::PrepareBegan(_) => {}
            Moment::SetupBegan { command } => {
                let line = format!("  installing dependencies into the copy: {}", printable(command));
                self.line(&self.style.paint(Tone::Quiet, &line));
            }
            Moment::SetupEnded(end) => {
                let outcome = CheckOutcome::of(end.exit);
                if !outcome.passed() {
                    let summary = end.summary.as_ref().map_or_else(String::new, |line| format!(": {line}"));
                    self.warn(&format!("the setup {outcome}{summary}; the checks run in place"));
                }
            }
            Moment::Prepared { round, prepared } => {
                if let Some(why) = proof::in_place(state, *round, prepared) {
                    self.line(&format!("  {}", printable(&why)));
                }
            }
            Moment::BaselineKnown => {
                let line = format!("  {}", printable(&proof::baseline(state)));
                self.line(&line);
                if let Some(why) = proof::falls_back(state) {
                    self.warn(&why);
                }
            }
            Moment::MessageAsked => self.line("  asking the agent for a commit message"),
            Moment::AgentEnded { end, cancelled, .. } => {
                self.stream.reset();
                self.agent_ended(update, end, *cancelled);
            }
            Moment::RetryAfter { wait_ms } => {
                let wait = span(*wait_ms);
                self.line(&format!("  waiting {wait}, then retrying the same iteration (it does not count)"));
            }
            Moment::CheckEnded { check, round, outcome, end } => {
                let is_told = matches!(round, Round::Workspace | Round::Delivered);
                let is_told = is_told && !proof::explains(state, *round);
                self.check_ended(check, is_told, *outcome, end);
            }
            Moment::Checkpoint { end, problem_is_new, left_out_is_new, .. } => {
                self.checkpoint(end, *problem_is_new, *left_out_is_new);
            }
            Moment::MessageEnded(outcome) => self.message_ended(outcome),
            Moment::ScmEnded { task, outcome } => self.scm_ended(task, outcome),
            Moment::WorktreeCommitted(outcome) => self.worktree_committed(outcome),
            Moment::Restored(end) => self.restored(end),
            Moment::TasksRead { end, is_first } => self.tasks_read(run, state, end, *is_first),
            Moment::Uncommitted(end) => {
                if let Some(text) = left(run, end) {
                    self.line(&format!("  {}", printable(&text)));
                }
            }
            Moment::StepLost { why } if state.asked.stops == 0 => {
                self.warn(&format!("running the step again: {why}"));
            }
            Moment::IterationEnded { judgement, .. } => self.judged(update, judgement),
            Moment::StopAsked => self.screen.aside(stop_asked(state)),
            Moment::Cancelled { why: Why::Answered, .. } => {
                let agent = printable(update.agent_or("the agent"));
                self.line(&format!("  {agent} answered but did not exit: killing it, its answer is kept"));
            }
            Moment::WaitBegan(Wait::Disk(shortage)) => {
                let line = format!("{} {}", self.style.bad(), printable(&low_disk(shortage)));
                self.line(&line);
                self.line("  waiting; the run continues on its own once there is enough space");
            }
            Moment::EnoughSpace => self.line("  enough disk space again"),
            // Shown elsewhere: by what the agent's end says, by the answer to who asked, and by the
            // closing lines.
            Moment::Cancelled { .. }
            | Moment::ScmBegan { .. }
            | Moment::CheckCutShort(_)
            | Moment::StepLost { .. }
            | Moment::StepImpossible { .. }
            | Moment::Asked(_)
            | Moment::Paused
            | Moment::Silent
            | Moment::Blocked(_)
            | Moment::WaitBegan(_)
            | Moment::Stopped { .. } => {}
        }
    }
}

impl Reporter for Human {
    fn update(&mut self, update: &Update<'_>) {
        for moment in &update.moments {
            self.moment(update, moment);
        }
        if self.screen.has_status() && !self.is_lent() {
            self.show_status(&update.view(), update.event.up_ms);
        }
    }

    /// What there is to say about the start of an agent is on the screen before the agent is.
    fn prompt(&mut self, _: &str) {
        if let Lending::Promised(run) = std::mem::replace(&mut self.lending, Lending::Own) {
            self.screen.lend_to_agent(run);
            self.lending = Lending::Lent;
        }
    }

    fn agent(&mut self, event: &AgentEvent<'_>) {
        if self.options.stream && !self.options.is_quiet() && !self.is_lent() {
            self.stream.show(&mut self.screen, event);
        }
    }

    fn agent_stderr(&mut self, line: &str) {
        if self.options.stream && !self.options.is_quiet() && !self.is_lent() {
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
        match (self.screen.has_status(), self.options.is_quiet()) {
            _ if self.is_lent() => None,
            (true, _) => Some(REDRAW),
            (false, true) => None,
            (false, false) => Some(SIGN_OF_LIFE),
        }
    }

    fn tick(&mut self, view: &RunView, up_ms: u64) {
        if self.screen.has_status() {
            self.show_status(view, up_ms);
        } else {
            let line = format!("  still running: {}", doing(view, up_ms, &Zoned::now()));
            self.line(&self.style.paint(Tone::Quiet, &line));
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
        // Its answer says more.
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
