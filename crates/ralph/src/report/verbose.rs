//! What happens behind the scenes, as `[ralph] …` lines on standard error, in every format.

use super::{AtWork, Reporter};
use crate::settings::mask;
use ralph_loop::check::CheckEnd;
use ralph_loop::dialect::{Blocker, Exit, Invocation, Wants, command_line};
use ralph_loop::event::{End, Event, Fact, Step, Why};
use ralph_loop::run::AgentSpec;
use ralph_loop::state::Stage;
use ralph_loop::text::{counted, head, printable};
use ralph_loop::time::{seconds, span};
use ralph_loop::verdict::{Judgement, Settlement, Verdict};
use ralph_loop::{Run, State};

/// Adds more detail to another reporter.
pub struct Verbose<'r> {
    inner: &'r mut dyn Reporter,
    at_work: AtWork,
}

impl<'r> Verbose<'r> {
    pub fn new(inner: &'r mut dyn Reporter) -> Verbose<'r> {
        Verbose { inner, at_work: AtWork::default() }
    }
}

/// Characters of a prompt that are shown.
const PROMPT_CHARS: usize = 200;

impl Reporter for Verbose<'_> {
    fn behind(&mut self) -> Option<&mut dyn Reporter> {
        Some(&mut *self.inner)
    }

    fn event(&mut self, run: &Run, state: &State, event: &Event) {
        self.at_work.follow(event);
        self.inner.event(run, state, event);
        if let Some(line) = line(run, state, event, self.at_work) {
            self.inner.aside(&format!("[ralph] {}", printable(&line)));
        }
    }

    fn prompt(&mut self, text: &str) {
        self.inner.prompt(text);
        let shown = head(text, PROMPT_CHARS).replace('\n', " ");
        self.inner.aside(&format!("[ralph] Prompt: {}", printable(&shown)));
    }
}

fn line(run: &Run, state: &State, event: &Event, at_work: AtWork) -> Option<String> {
    let agent = at_work.called(run, "the agent");
    Some(match &event.fact {
        Fact::Began { step: Step::Agent { iteration, agent, .. }, .. } => {
            let agent = run.agents.get(*agent)?;
            format!(
                "Iteration {iteration}/{} starting\n[ralph] Agent command: {}",
                state.ledger.limits.iterations,
                command(agent)
            )
        }
        Fact::Began { step: Step::Check { index, .. }, .. } => {
            let check = run.checks.get(*index)?;
            format!("Running {}: {}", check.origin.noun().to_lowercase(), mask::text(&check.command))
        }
        Fact::Began { step: Step::Scm { task, .. }, .. } => {
            let scm = run.scm.as_ref()?;
            format!("Running scm task: {} {}", scm.command, scm.tasks.get(*task)?)
        }
        Fact::Cancelled { why, .. } => match why {
            Why::Timeout { after_ms } => {
                format!("Stopping the step: it took longer than {}", seconds(*after_ms))
            }
            Why::MaxTime => "Stopping the step: the time limit of the run is reached".to_string(),
            Why::StopAsked => "Stopping the step now".to_string(),
            Why::Answered => format!("Stopping {agent}: it answered but did not exit"),
            Why::Silent(silence) => format!("Stopping {agent}: {silence}"),
            Why::Blocked(Blocker::Login) => format!("Stopping {agent}: its API key was rejected"),
            Why::Blocked(Blocker::Network) => format!("Stopping {agent}: it is waiting for the network"),
            Why::Killed => "Stopping everything".to_string(),
        },
        Fact::Ended { end: End::Agent(end), .. } => {
            let tag = end.seen.tag.as_ref().map_or_else(|| "no tag".into(), |tag| format!("tag {tag:?}"));
            {
                let agent = at_work.called(run, "Agent");
                format!("{agent}: {} ({}), completion: {tag}", end.exit, span(end.duration_ms))
            }
        }
        Fact::Ended { end: End::Check(end), .. } => {
            let how = match end.exit {
                Exit::Code(code) => format!("exited with code {code}"),
                Exit::Signal(signal) => format!("killed by signal {signal}"),
            };
            format!("{} {how} ({})", noun(run, state, end), span(end.duration_ms))
        }
        Fact::Ended { end: End::Snapshot(end), .. } => {
            format!("Checkpoint: {}", end.tree.as_deref().unwrap_or("none"))
        }
        Fact::Judged(Judgement { iteration, verdict, settlement, silence, .. }) => {
            let found = match verdict {
                Verdict::Green { checks } => format!("{} passed", counted(*checks as u64, "check")),
                Verdict::Red { failed } => format!("{} failed", counted(failed.len() as u64, "check")),
                Verdict::AgentFailed { why } => format!("{agent} failed: {why}"),
            };
            let silent = silence.map(|silence| format!("{agent} was {silence}, ")).unwrap_or_default();
            let done = if *settlement == Settlement::Settled { "done" } else { "not done" };
            format!("Iteration {iteration} judged: {silent}{found}, {done}, {} spent", state.ledger.spent)
        }
        Fact::Ended { .. }
        | Fact::Began { .. }
        | Fact::Opened(_)
        | Fact::Answered { .. }
        | Fact::Resumed { .. }
        | Fact::StopAsked
        | Fact::Asked(_)
        | Fact::Silent { .. }
        | Fact::Blocked { .. }
        | Fact::LowDisk(_)
        | Fact::Woke
        | Fact::Stopped { .. } => return None,
    })
}

/// The whole command with what ralph adds to it; names stand where the prompt does.
fn command(agent: &AgentSpec) -> String {
    let AgentSpec { dialect, program, model, autonomous, .. } = agent;
    let args = mask::words(&agent.args);
    let invocation = Invocation {
        session: None,
        budget: None,
        hooks: None,
        program,
        args: &args,
        model: model.as_deref(),
        autonomous: *autonomous,
        wants: Wants::Events,
    };
    match command_line(*dialect, &invocation, "{prompt_file}", "{prompt}") {
        Ok(line) => line.argv.join(" "),
        // The step itself tells what is wrong.
        Err(_) => [vec![program.clone()], args.clone()].concat().join(" "),
    }
}

/// What the check that just ended is called; the state has it as the last of its results.
fn noun(run: &Run, state: &State, end: &CheckEnd) -> &'static str {
    let Stage::Answered { results, .. } = &state.work.stage else { return "Check" };
    let result = results.last().filter(|result| result.log == end.log);
    result.and_then(|result| run.checks.get(result.index)).map_or("Check", |check| check.origin.noun())
}
