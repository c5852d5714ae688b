//! What happens behind the scenes, as `[ralph] …` lines on standard error, in every format.

use super::Reporter;
use crate::settings::mask;
use ralph_loop::check::CheckEnd;
use ralph_loop::dialect::{Blocker, Exit, Invocation, Wants, command_line};
use ralph_loop::event::Why;
use ralph_loop::run::AgentSpec;
use ralph_loop::text::{counted, head, printable};
use ralph_loop::time::{seconds, span};
use ralph_loop::verdict::{Judgement, Settlement, Verdict};
use ralph_loop::view::{Moment, Update};

/// Adds more detail to another reporter.
pub struct Verbose<'r> {
    inner: &'r mut dyn Reporter,
}

impl<'r> Verbose<'r> {
    pub fn new(inner: &'r mut dyn Reporter) -> Verbose<'r> {
        Verbose { inner }
    }
}

/// Characters of a prompt that are shown.
const PROMPT_CHARS: usize = 200;

impl Reporter for Verbose<'_> {
    fn behind(&mut self) -> Option<&mut dyn Reporter> {
        Some(&mut *self.inner)
    }

    fn update(&mut self, update: &Update<'_>) {
        self.inner.update(update);
        for line in update.moments.iter().filter_map(|moment| line(update, moment)) {
            self.inner.aside(&format!("[ralph] {}", printable(&line)));
        }
    }

    fn prompt(&mut self, text: &str) {
        self.inner.prompt(text);
        let shown = head(text, PROMPT_CHARS).replace('\n', " ");
        self.inner.aside(&format!("[ralph] Prompt: {}", printable(&shown)));
    }
}

fn line(update: &Update<'_>, moment: &Moment<'_>) -> Option<String> {
    let (run, agent) = (update.run, update.agent_or("the agent"));
    Some(match moment {
        Moment::AgentBegan { iteration, .. } => {
            let (of, command) = (update.state.ledger.limits.iterations, command(update.agent()?));
            format!("Iteration {iteration}/{of} starting\n[ralph] Agent command: {command}")
        }
        Moment::CheckBegan { check, .. } => {
            format!("Running {}: {}", check.origin.noun().to_lowercase(), mask::text(&check.command))
        }
        Moment::ScmBegan { task } => format!("Running scm task: {} {task}", run.scm.as_ref()?.command),
        Moment::Cancelled { why, .. } => match why {
            Why::Timeout { after_ms } => {
                format!("Stopping the step: it took longer than {}", seconds(*after_ms))
            }
            Why::MaxTime => "Stopping the step: the time limit of the run is reached".to_string(),
            Why::StopAsked => "Stopping the step now".to_string(),
            Why::Answered => format!("Stopping {agent}: it answered but did not exit"),
            Why::Silent(silence) => format!("Stopping {agent}: {silence}"),
            Why::Blocked(Blocker::Login) => format!("Stopping {agent}: its API key was rejected"),
            Why::Blocked(Blocker::Network) => format!("Stopping {agent}: it is waiting for the network"),
            Why::Blocked(Blocker::Person) => format!("Stopping {agent}: it is waiting for a person"),
            Why::Killed => "Stopping everything".to_string(),
        },
        Moment::AgentEnded { end, .. } => {
            let tag = end.seen.tag.as_ref().map_or_else(|| "no tag".into(), |tag| format!("tag {tag:?}"));
            let agent = update.agent_or("Agent");
            format!("{agent}: {} ({}), completion: {tag}", end.exit, span(end.duration_ms))
        }
        Moment::CheckEnded { check, end, .. } => check_ended(check.origin.noun(), end),
        Moment::CheckCutShort(end) => check_ended("Check", end),
        Moment::Checkpoint { end, .. } => format!("Checkpoint: {}", end.tree.as_deref().unwrap_or("none")),
        Moment::IterationEnded { judgement, .. } => {
            let Judgement { iteration, verdict, settlement, silence, .. } = judgement;
            let found = match verdict {
                Verdict::Green { checks } => format!("{} passed", counted(*checks as u64, "check")),
                Verdict::Red { failed } => format!("{} failed", counted(failed.len() as u64, "check")),
                Verdict::Refused { word } => format!("not accepted: {}", word.sentence()),
                Verdict::AgentFailed { why } => format!("{agent} failed: {why}"),
            };
            let silent = silence.map(|silence| format!("{agent} was {silence}, ")).unwrap_or_default();
            let done = if *settlement == Settlement::Settled { "done" } else { "not done" };
            let spent = update.state.ledger.spent;
            format!("Iteration {iteration} judged: {silent}{found}, {done}, {spent} spent")
        }
        _ => return None,
    })
}

fn check_ended(noun: &str, end: &CheckEnd) -> String {
    let how = match end.exit {
        Exit::Code(code) => format!("exited with code {code}"),
        Exit::Signal(signal) => format!("killed by signal {signal}"),
    };
    format!("{noun} {how} ({})", span(end.duration_ms))
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
        sandboxed: false,
        wants: Wants::Events,
    };
    match command_line(*dialect, &invocation, "{prompt_file}", "{prompt}") {
        Ok(line) => line.argv.join(" "),
        // The step itself says what is wrong.
        Err(_) => [vec![program.clone()], args.clone()].concat().join(" "),
    }
}
