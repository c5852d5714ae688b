//! `ralph agents verify`: does the installed agent still do what ralph relies on?
//!
//! Each expectation is judged by what came out of a real `ralph run` and by what the scripted
//! model was asked. What could not be tried is reported as such, not as a failure of the agent.

use super::probe::{self, Agent, CONTENT, FILE, GOING, Leave, Observed, Probe, WORDS, short};
use super::{all, path, version};
use crate::cli::format::{Format, Shape};
use crate::cli::{print_json, print_lines};
use crate::error::{CliError, Code};
use crate::process::Exit;
use crate::report::Out;
use clap::Args;
use ralph_loop::dialect::Dialect;
use serde::Serialize;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args)]
#[command(after_help = "\
Runs the installed program with `ralph run` in a scratch directory, against a scripted model on \
localhost: no key, no network, no cost. Takes about 15 seconds. Prints `ok` for each expectation that \
holds, or BROKEN with what was expected and what happened.

Exit codes: 0 all expectations hold, 1 at least one is broken, 2 there is no such agent to verify.

Example:
  ralph agents verify claude")]
pub struct VerifyArgs {
    /// The agent: claude or codex
    #[arg(value_name = "NAME")]
    name: String,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

/// What became of one expectation.
#[derive(Debug, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
enum Verdict {
    Ok,
    Broken { expected: String, happened: String },
    NotTried { why: String },
}

#[derive(Debug, Serialize)]
struct Finding {
    expectation: &'static str,
    #[serde(flatten)]
    verdict: Verdict,
}

pub fn verify(args: &VerifyArgs) -> Result<ExitCode, CliError> {
    let (dialect, agent) = find(&args.name)?;
    let known = dialect.spec();
    let Some(path) = path(dialect) else {
        return Err(CliError::usage(format!("the agent is not installed: {}", known.name))
            .hint(format!("install it: {}", known.install)));
    };
    let version = version(&path);
    let mut verification = Verification { format: args.format, all: Vec::new() };
    let named = version.as_deref().unwrap_or("unknown version");
    let last = known.verified.unwrap_or("none");
    verification.line(&format!("{}: {}, last verified with {last}", path.display(), short(named)));
    hold_against(agent, &mut verification)?;
    let holds = !verification.all.iter().any(|finding| matches!(finding.verdict, Verdict::Broken { .. }));
    if args.format.shape() == Shape::Value {
        print_json(&json!({
            "agent": known.name, "path": path, "version": version, "verified_with": known.verified,
            "holds": holds, "expectations": verification.all,
        }));
    }
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::from(Code::Failed as u8) })
}

fn find(name: &str) -> Result<(Dialect, Agent), CliError> {
    let hint = "only claude and codex can be verified";
    let Some(known) = all().find(|known| known.name() == name) else {
        return Err(CliError::usage(format!("no such agent: {name}")).hint(hint));
    };
    let agent = Agent::ALL.into_iter().find(|agent| agent.name() == name);
    match (agent, known.spec().cannot_verify) {
        (Some(agent), None) => Ok((known, agent)),
        (_, why) => Err(CliError::usage(format!("cannot verify the agent: {name}"))
            .cause(why.unwrap_or("there is no scripted model for it"))
            .hint(hint)),
    }
}

/// Four runs: one that may write, one that may not, one that is asked to go, one that is ended.
fn hold_against(agent: Agent, verification: &mut Verification) -> Result<(), CliError> {
    let mut leave = Leave::Autonomous;
    let mut probe = Probe::that_writes(agent, leave)?;
    if agent == Agent::Codex && !probe.codex_has_a_sandbox() {
        leave = Leave::Unboxed;
        probe = Probe::that_writes(agent, leave)?;
        verification
            .line(&format!("codex cannot set up its sandbox here; running it with {}", probe::BYPASS));
    }
    let observed = probe.run();
    let starts = starts(&probe, &observed);
    let started = matches!(starts, Verdict::Ok);
    verification.report("starts", starts);
    // Of what does not start, everything else would be broken, too.
    let tried = |judge: &dyn Fn() -> Verdict| if started { judge() } else { not_started() };
    verification.report("streams", tried(&|| streams(&observed)));
    verification.report("writes a file", tried(&|| writes(&probe, &observed)));
    verification.report("finishes", tried(&|| finishes(&observed)));
    verification.report("reports tokens", tried(&|| reports_tokens(&observed)));
    if agent == Agent::Claude {
        verification.report("reports cost", tried(&|| reports_cost(&observed)));
    }
    drop(probe);

    const AUTONOMOUS: &str = "obeys the autonomous flag";
    match (started, leave) {
        (false, _) => verification.report(AUTONOMOUS, not_started()),
        (true, Leave::Unboxed) => {
            let why = "without its sandbox, codex refuses nothing".to_string();
            verification.report(AUTONOMOUS, Verdict::NotTried { why });
        }
        (true, Leave::Autonomous | Leave::None) => {
            let probe = Probe::that_writes(agent, Leave::None)?;
            let observed = probe.run();
            verification.report(AUTONOMOUS, refrains(&probe, &observed));
        }
    }

    let (term, signal) = ("obeys SIGTERM", "ends on a signal");
    if !started {
        verification.report(term, not_started());
        verification.report(signal, not_started());
        return Ok(());
    }
    let probe = Probe::that_thinks(agent, leave)?;
    let observed = probe.run_out_of_time();
    verification.report(term, obeys(&probe, &observed));
    let probe = Probe::that_thinks(agent, leave)?;
    let (observed, took) = probe.run_and_signal();
    verification.report(signal, ends(&probe, &observed, took));
    Ok(())
}

fn not_started() -> Verdict {
    Verdict::NotTried { why: "it does not start".to_string() }
}

fn broken(expected: impl Into<String>, happened: impl Into<String>) -> Verdict {
    Verdict::Broken { expected: expected.into(), happened: happened.into() }
}

fn starts(probe: &Probe, observed: &Observed) -> Verdict {
    if probe.server.turns().is_empty() {
        return broken("a request to the model", format!("there was none; {}", observed.last_words()));
    }
    Verdict::Ok
}

fn streams(observed: &Observed) -> Verdict {
    let session =
        observed.agent("session").any(|event| event["id"].as_str().is_some_and(|id| !id.is_empty()));
    let says = |event: &Value| event["text"].as_str().is_some_and(|text| text.contains(WORDS));
    let words = observed.agent("text").any(says);
    let missing = match (session, words) {
        (true, true) => return Verdict::Ok,
        (false, true) => "no session event",
        (true, false) => "the model's text is missing",
        (false, false) => "both are missing",
    };
    let expected = "a session event and the model's text";
    broken(expected, format!("{missing}; {}", observed.last_words()))
}

fn writes(probe: &Probe, observed: &Observed) -> Verdict {
    let expected = format!("{FILE} in the project, written by a tool");
    match probe.written() {
        Some(content) if content == CONTENT => Verdict::Ok,
        Some(content) => broken(expected, format!("it contains: {}", short(&content))),
        None => {
            let denied = || observed.agent("denied").next().map(|event| format!("denied: {}", event["why"]));
            let failed = || {
                let ended = observed.agent("tool_end").find(|event| event["is_error"] == true);
                ended
                    .and_then(|event| event["output"].as_str())
                    .map(|output| format!("the tool failed: {output}"))
            };
            let why = probe.note().or_else(denied).or_else(failed).unwrap_or_else(|| observed.last_words());
            broken(expected, format!("it does not exist; {}", short(&why)))
        }
    }
}

fn finishes(observed: &Observed) -> Verdict {
    if observed.exit == Some(Exit::Code(0)) {
        return Verdict::Ok;
    }
    let reason = observed.result().and_then(|result| result["stop_reason"].as_str()).unwrap_or("no result");
    broken("a completed run", format!("{reason}; {}", observed.last_words()))
}

fn reports_tokens(observed: &Observed) -> Verdict {
    let expected = "input and output tokens";
    let Some(result) = observed.agent("result").next_back() else {
        return broken(expected, "there was no result");
    };
    let counted = |name: &str| result["tokens"][name].as_u64().unwrap_or(0);
    if counted("input") + counted("cache_read") + counted("cache_write") > 0 && counted("output") > 0 {
        return Verdict::Ok;
    }
    broken(expected, format!("the result has: {}", result["tokens"]))
}

fn reports_cost(observed: &Observed) -> Verdict {
    let expected = "a cost above 0";
    let Some(result) = observed.agent("result").next_back() else {
        return broken(expected, "there was no result");
    };
    match result["cost"].as_f64() {
        Some(cost) if cost > 0.0 => Verdict::Ok,
        _ => broken(expected, format!("the result has: {}", result["cost"])),
    }
}

/// It tries, and it may not.
fn refrains(probe: &Probe, observed: &Observed) -> Verdict {
    if probe.written().is_some() {
        return broken("no write without the flag", format!("{FILE} was written"));
    }
    // It asked the model twice: it tried to write and reported the refusal.
    if probe.server.turns().len() < 2 {
        return broken(
            "a refused write",
            format!("the agent did not try to write; {}", observed.last_words()),
        );
    }
    Verdict::Ok
}

/// Ralph asks an agent whose time is over to go, and kills it only if it stays.
fn obeys(probe: &Probe, observed: &Observed) -> Verdict {
    let expected = "an exit on SIGTERM";
    if probe.server.turns().is_empty() {
        return broken("a request to the model", format!("there was none; {}", observed.last_words()));
    }
    match observed.cancels()[..] {
        ["ask"] => Verdict::Ok,
        [] => broken(expected, format!("it exited before that; {}", observed.last_words())),
        _ => broken(expected, "it had to be killed"),
    }
}

/// However the agent takes it, a run that gets two signals is over, and all of it.
fn ends(probe: &Probe, observed: &Observed, took: Option<Duration>) -> Verdict {
    let expected = format!("an exit within {} s of the second SIGTERM", GOING.as_secs());
    if probe.server.turns().is_empty() {
        return broken("a request to the model", format!("there was none; {}", observed.last_words()));
    }
    if took.is_none() {
        return broken(expected, format!("it did not exit; {}", observed.last_words()));
    }
    if observed.exit != Some(Exit::Code(130)) {
        let happened = format!("ralph exited with {:?}; {}", observed.exit, observed.last_words());
        return broken("an interrupted run, exit code 130", happened);
    }
    match probe.left() {
        0 => Verdict::Ok,
        left => broken("no processes left", format!("still running: {left}")),
    }
}

/// Prints each verdict as soon as it is known.
struct Verification {
    format: Format,
    all: Vec<Finding>,
}

impl Verification {
    fn report(&mut self, expectation: &'static str, verdict: Verdict) {
        self.line(&match &verdict {
            Verdict::Ok => format!("ok      {expectation}"),
            Verdict::Broken { expected, happened } => {
                format!("BROKEN: {expectation}: expected {expected}; happened: {happened}")
            }
            Verdict::NotTried { why } => format!("--      {expectation}: not tried: {why}"),
        });
        let finding = Finding { expectation, verdict };
        if self.format.shape() == Shape::Lines {
            print_lines([&finding]);
        }
        self.all.push(finding);
    }

    fn line(&self, text: &str) {
        if self.format.shape() == Shape::Text {
            let mut out = Out::stdout();
            out.line(text);
            out.flush();
        }
    }
}
