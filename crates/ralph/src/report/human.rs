//! A run told to a person, as it happens.

use super::out::{Out, say};
use super::status::StatusLine;
use super::style::{Style, Tone, fit};
use super::{Reporter, Summary, stop_asked};
use ralph_loop::check::CheckOutcome;
use ralph_loop::dialect::{AgentEvent, TodoStatus};
use ralph_loop::event::{AgentEnd, End, Event, Fact, Step, Why};
use ralph_loop::plan::Plan;
use ralph_loop::plan::prompt::Completion;
use ralph_loop::scm::{MessageOutcome, TaskOutcome};
use ralph_loop::text::printable;
use ralph_loop::time::span;
use ralph_loop::verdict::{Judgement, Settlement, Verdict};
use ralph_loop::{Run, State};
use std::collections::HashMap;

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loudness {
    /// The result only.
    Quiet,
    Normal,
    /// Also what happens behind the scenes, on standard error.
    Verbose,
}

/// Lines and characters of a tool's output that are shown.
const TOOL_LINES: usize = 5;
const TOOL_CHARS: usize = 400;
/// So much of a line is cleaned to find those characters.
const TOOL_LINE_BYTES: usize = 4 << 10;

/// Tools whose end is still awaited and remembered by name; more are shown unnamed.
const OPEN_TOOLS: usize = 256;

pub struct Human {
    out: Out,
    style: Style,
    loudness: Loudness,
    status: Option<StatusLine>,
    open_tools: HashMap<String, String>,
    timed_out: Option<u64>,
    told_once: ToldOnce,
}

#[derive(Default)]
struct ToldOnce {
    snapshot_problem: bool,
    left_out: bool,
}

impl Human {
    pub fn new(style: Style, loudness: Loudness) -> Human {
        let status = if loudness == Loudness::Quiet { None } else { StatusLine::on_terminal() };
        Human {
            out: Out::stdout(),
            style,
            loudness,
            status,
            open_tools: HashMap::new(),
            timed_out: None,
            told_once: ToldOnce::default(),
        }
    }

    /// The closing lines: why it stopped, what it took, what to do next.
    pub fn close(&mut self, summary: &Summary) {
        if let Some(status) = self.status.take() {
            status.clear();
        }
        for line in summary.closing_lines(self.style) {
            self.out.line(&line);
        }
        self.out.flush();
    }

    fn line(&mut self, text: &str) {
        if self.loudness > Loudness::Quiet {
            self.out.line(text);
        }
    }

    /// A line for those who asked for everything.
    fn debug(&mut self, text: impl FnOnce() -> String) {
        if self.loudness == Loudness::Verbose {
            self.dry();
            let text = text();
            match &self.status {
                Some(status) => status.aside(|| say(&format!("[ralph] {text}"))),
                None => say(&format!("[ralph] {text}")),
            }
        }
    }

    fn opened(&mut self, run: &Run) {
        let style = self.style;
        self.line(&style.paint(Tone::Strong, &format!("ralph run {}", run.id)));
        for agent in &run.agents {
            let mut text = agent.name.clone();
            if let Some(model) = &agent.model {
                text += &format!(" ({model})");
            }
            if agent.autonomous && agent.dialect != ralph_loop::dialect::Dialect::Plain {
                text += ", acts without asking (agent.autonomous)";
            }
            self.line(&format!("  agent   {}", fit(&text, style.width - 10)));
        }
        let Plan::Prompt(plan) = &run.plan;
        let until = match &plan.completion {
            Completion::Response(word) if run.checks.is_empty() => format!("the agent says {word}"),
            Completion::Response(word) => format!("the checks pass and the agent says {word}"),
            Completion::ChecksOnly => "the checks pass".to_string(),
        };
        self.line(&format!("  until   {}, at most {} iterations", until, run.limits.iterations));
        for check in &run.checks {
            self.line(&format!("  check   {}", fit(&printable(&check.command), style.width - 10)));
        }
        if !run.git {
            self.line("  note    not a git repository: no checkpoints, and a stall is not noticed");
        }
    }

    fn began(&mut self, run: &Run, step: &Step) {
        self.timed_out = None;
        match step {
            Step::Agent { iteration, attempt, agent, .. } => {
                let mut title = format!("Iteration {iteration}/{}", run.limits.iterations);
                if *attempt > 1 {
                    title += &format!(" (attempt {attempt})");
                }
                let rule = self.style.rule().repeat(3);
                let title = self.style.paint(Tone::Strong, &format!("{rule} {title} {rule}"));
                self.line("");
                self.line(&title);
                self.debug(|| format!("Iteration {iteration}/{} starting", run.limits.iterations));
                self.debug(|| {
                    let agent = &run.agents[*agent];
                    format!(
                        "Agent command: {} {}",
                        agent.program,
                        crate::settings::mask::words(&agent.args).join(" ")
                    )
                });
            }
            Step::Check { index, .. } => {
                let command = printable(&run.checks[*index].command).into_owned();
                self.debug(|| format!("Running check: {command}"));
            }
            Step::Message { .. } => self.line("Asking for a commit message"),
            Step::Snapshot { .. } | Step::Scm { .. } => {}
        }
    }

    fn agent_ended(&mut self, end: &AgentEnd) {
        let mut parts = Vec::new();
        if let Some(cost) = end.seen.cost {
            parts.push(format!("cost: {cost}"));
        }
        let tokens = end.seen.tokens;
        if tokens.input + tokens.output + tokens.cache_read + tokens.cache_write > 0 {
            let read = tokens.input + tokens.cache_read + tokens.cache_write;
            let cached = if tokens.cache_read > 0 {
                format!(" ({} cached)", count(tokens.cache_read))
            } else {
                String::new()
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
        let (mark, word) = match &end.answer {
            ralph_loop::dialect::Answer::Said => (self.style.ok(), "Agent ended".to_string()),
            ralph_loop::dialect::Answer::Empty => (self.style.bad(), "Agent said nothing".to_string()),
            ralph_loop::dialect::Answer::Failed { why } => {
                (self.style.bad(), format!("Agent failed: {}", printable(why)))
            }
        };
        self.line(&format!("{mark} {word} ({})", parts.join(", ")));
        if end.swept > 0 {
            self.line(&format!("  ended what it left running: {}", processes(end.swept)));
        }
    }

    fn judged(&mut self, run: &Run, state: &State, judgement: &Judgement) {
        match (&judgement.verdict, judgement.settlement) {
            (Verdict::AgentFailed { .. }, _) => {
                let wait = run.limits.backoff.wait_ms(state.streaks.failures);
                let failures = format!("failure {} of {}", state.streaks.failures, run.limits.max_failures);
                if state.streaks.failures < run.limits.max_failures && state.judged < run.limits.iterations {
                    self.line(&format!("  {failures} in a row, next try in {}", span(wait)));
                } else {
                    self.line(&format!("  {failures} in a row"));
                }
            }
            (Verdict::Red { .. }, _) if judgement.claim.0.is_some() => {
                self.line("  The agent says it is done; the checks say it is not.");
            }
            (Verdict::Green { checks }, Settlement::Continue) if *checks > 0 => {
                self.line("  The checks pass; the agent does not say that it is done.");
            }
            (Verdict::Red { .. } | Verdict::Green { .. }, _) => {}
        }
    }

    fn message_ended(&mut self, outcome: &MessageOutcome) {
        match outcome {
            MessageOutcome::Text(text) => {
                self.line(&format!("  {}", fit(&printable(text), self.style.width - 2)))
            }
            MessageOutcome::NothingToCommit => {}
            MessageOutcome::Failed { why } => {
                self.warn(&format!("no commit message, so the scm tasks are left out: {why}"));
            }
        }
    }

    fn task_ended(&mut self, outcome: &TaskOutcome) {
        match outcome {
            TaskOutcome::Done => {
                let line = format!("{} scm task done", self.style.ok());
                self.line(&line);
            }
            TaskOutcome::NothingToCommit => self.line("  nothing to commit: the scm task is skipped"),
            TaskOutcome::Failed { why } => self.warn(&format!("an scm task failed: {why}")),
        }
    }

    /// The first lines of what a tool printed. No more of it is looked at than can be shown.
    fn tool_output(&mut self, output: &str) {
        let under = self.style.under();
        let mut left = TOOL_CHARS;
        for line in output.trim_end().lines().take(TOOL_LINES) {
            // A control sequence ends with its line at the latest, so a line can be cleaned alone.
            let clean = printable(&line[..line.floor_char_boundary(TOOL_LINE_BYTES)]);
            let shown = fit(&clean, (self.style.width - 4).min(left));
            left = left.saturating_sub(shown.chars().count());
            let text = self.style.paint(Tone::Quiet, &format!("{under}{shown}"));
            self.out.line(&text);
            if left == 0 {
                break;
            }
        }
    }
}

impl Reporter for Human {
    fn event(&mut self, run: &Run, state: &State, event: &Event) {
        match &event.fact {
            Fact::Opened(run) => self.opened(run),
            Fact::Resumed { .. } => {
                self.opened(run);
                self.line(&format!(
                    "  resumed at iteration {}, {} spent so far",
                    state.iteration(),
                    state.spent
                ));
            }
            Fact::Began { step, .. } => self.began(run, step),
            Fact::Cancelled { why, .. } => {
                let text = match why {
                    Why::Timeout { after_ms } => {
                        self.timed_out = Some(*after_ms);
                        format!("timed out after {}", ralph_loop::time::seconds(*after_ms))
                    }
                    Why::MaxTime => "the run is out of time".to_string(),
                    Why::StopAsked => "ended at once".to_string(),
                };
                self.debug(|| format!("Ending the current step: {text}"));
            }
            Fact::Ended { end: End::Agent(end), .. } => {
                self.open_tools.clear();
                self.agent_ended(end);
            }
            Fact::Ended { end: End::Check(end), .. } => {
                // The state has just learned of this check; it is the last of its results.
                let (index, outcome) = match &state.phase {
                    ralph_loop::state::Phase::Answered { results, .. } => match results.last() {
                        Some(result) => (result.index, result.outcome),
                        None => return,
                    },
                    _ => return,
                };
                let check = &run.checks[index];
                let name = printable(&check.command);
                let took = span(end.duration_ms);
                match outcome {
                    CheckOutcome::Passed => {
                        let line = format!("{} check: {name} ({took})", self.style.ok());
                        self.line(&line);
                    }
                    CheckOutcome::Failed(_) | CheckOutcome::TimedOut { .. } => {
                        let action = format!("{:?}", check.fail_action).to_uppercase();
                        let line = format!(
                            "{} check: {name} {outcome} ({took}), fail action: {action}",
                            self.style.bad()
                        );
                        self.line(&line);
                        if let Some(summary) = &end.summary {
                            let line =
                                format!("{}{}", self.style.under(), fit(summary, self.style.width - 4));
                            self.line(&self.style.paint(Tone::Quiet, &line));
                        }
                    }
                }
                self.debug(|| format!("Check exited with {} ({took})", end.exit));
            }
            Fact::Ended { end: End::Snapshot(end), .. } => {
                if let Some(problem) = &end.problem
                    && !std::mem::replace(&mut self.told_once.snapshot_problem, true)
                {
                    self.warn(&format!("the tree could not be recorded: {problem}"));
                }
                if !end.left_out.is_empty() && !std::mem::replace(&mut self.told_once.left_out, true) {
                    let names = end.left_out.join(", ");
                    self.line(&fit(
                        &format!("  not in the checkpoints: {}", printable(&names)),
                        self.style.width,
                    ));
                }
            }
            Fact::Ended { end: End::Message(end), .. } => self.message_ended(&end.outcome),
            Fact::Ended { end: End::Scm(outcome), .. } => self.task_ended(outcome),
            Fact::Ended { end: End::Lost { why }, .. } => self.warn(&format!("the step is run again: {why}")),
            Fact::Ended { end: End::Impossible { .. }, .. } | Fact::Woke | Fact::Stopped { .. } => {}
            Fact::Judged(judgement) => self.judged(run, state, judgement),
            Fact::StopAsked => {
                self.dry();
                let line = stop_asked(state);
                match &self.status {
                    Some(status) => status.aside(|| say(line)),
                    None => say(line),
                }
            }
        }
        if self.status.is_some() {
            self.dry();
            self.tick(run, state, event.up_ms);
        }
    }

    fn agent(&mut self, event: &AgentEvent<'_>) {
        if self.loudness == Loudness::Quiet {
            return;
        }
        match event {
            AgentEvent::Text { text, parent: None } => {
                self.out.bytes(printable(text).as_bytes());
                self.out.bytes(b"\n");
            }
            AgentEvent::ToolStart { id, name, input, .. } => {
                let name = printable(name).into_owned();
                let call = format!("{} {name}({})", self.style.tool(), input.summary());
                self.out.line(&fit(&call, self.style.width));
                if self.open_tools.len() < OPEN_TOOLS {
                    self.open_tools.insert(id.to_string(), name);
                }
            }
            AgentEvent::ToolEnd { id, output, is_error } => {
                let name = self.open_tools.remove(&**id).unwrap_or_else(|| "tool".into());
                let mark = if *is_error { self.style.bad() } else { self.style.ok() };
                let (lines, chars) = (line_count(output), output.chars().count());
                let arrow = if self.style.emoji { "←" } else { "<-" };
                self.out.line(&format!("{mark} Result {arrow} {name} ({lines} lines, {chars} chars)"));
                self.tool_output(output);
            }
            AgentEvent::Todo(items) => {
                let done = items.iter().filter(|item| item.status == TodoStatus::Completed).count();
                self.out.line(if self.style.emoji { "📋 Todo List" } else { "Todo List" });
                for item in items {
                    let (mark, tail) = match (item.status, self.style.emoji) {
                        (TodoStatus::Completed, true) => ("✅", ""),
                        (TodoStatus::Completed, false) => ("[x]", ""),
                        (TodoStatus::InProgress, true) => ("🔄", " ← ACTIVE"),
                        (TodoStatus::InProgress, false) => ("[>]", " <- ACTIVE"),
                        (TodoStatus::Pending, true) => ("⏸️", ""),
                        (TodoStatus::Pending, false) => ("[ ]", ""),
                    };
                    self.out
                        .line(&fit(&format!("  {mark} {}{tail}", printable(&item.text)), self.style.width));
                }
                let percent = (done * 100).checked_div(items.len()).unwrap_or(0);
                let chart = if self.style.emoji { "📊 " } else { "" };
                self.out.line(&format!("  {chart}Progress: {done}/{} ({percent}%)", items.len()));
            }
            AgentEvent::Retry { attempt, of, delay_ms, why } => {
                let line = format!("retry {attempt}/{of} in {}: {}", span(*delay_ms), printable(why));
                self.out.line(&self.style.paint(Tone::Warn, &line));
            }
            AgentEvent::RateLimit { status, kind, .. } if status != "allowed" => {
                let line = format!("rate limit ({}): {}", printable(kind), printable(status));
                self.out.line(&self.style.paint(Tone::Warn, &line));
            }
            AgentEvent::Denied { tool, why } => {
                let line = format!("permission denied: {} {}", printable(tool), printable(why));
                self.out.line(&self.style.paint(Tone::Warn, &line));
            }
            AgentEvent::Notice { text } => {
                let line = printable(text).into_owned();
                self.out.line(&self.style.paint(Tone::Quiet, &line));
            }
            AgentEvent::Unparsed { bytes, sample } => {
                let line = format!("not understood ({bytes} bytes): {}", printable(sample));
                self.out.line(&self.style.paint(Tone::Quiet, &fit(&line, self.style.width)));
            }
            AgentEvent::Text { parent: Some(_), .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::Session { .. }
            | AgentEvent::RateLimit { .. }
            | AgentEvent::Result(_) => {}
        }
    }

    fn agent_stderr(&mut self, bytes: &[u8]) {
        if self.loudness == Loudness::Quiet {
            return;
        }
        let text = String::from_utf8_lossy(bytes);
        let text = printable(text.trim_end_matches('\n')).into_owned();
        self.dry();
        match &self.status {
            Some(status) => status.aside(|| say(&text)),
            None => say(&text),
        }
    }

    fn warn(&mut self, message: &str) {
        self.dry();
        let line = format!("ralph: warning: {}", printable(message));
        match &self.status {
            Some(status) => status.aside(|| say(&line)),
            None => say(&line),
        }
    }

    fn dry(&mut self) {
        if self.out.is_empty() {
            return;
        }
        let out = &mut self.out;
        match &self.status {
            Some(status) => status.aside(|| out.flush()),
            None => out.flush(),
        }
    }

    fn wants_ticks(&self) -> bool {
        self.status.is_some()
    }

    fn tick(&mut self, run: &Run, state: &State, up_ms: u64) {
        if let Some(status) = &self.status {
            status.show(run, state, up_ms);
        }
    }
}

fn processes(n: u32) -> String {
    if n == 1 { "1 process".into() } else { format!("{n} processes") }
}

/// As `str::lines` counts. Sums of a byte, in blocks that cannot overflow one, become vector
/// code; tool results are most of what an agent prints.
fn line_count(text: &str) -> usize {
    let in_block = |block: &[u8]| block.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>();
    let newlines: usize = text.as_bytes().chunks(192).map(|block| usize::from(in_block(block))).sum();
    newlines + usize::from(!text.is_empty() && !text.ends_with('\n'))
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
