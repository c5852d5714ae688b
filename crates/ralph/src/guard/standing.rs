//! Which agents of a run ask the guard, and what is said of it.

use crate::hook;
use ralph_loop::Run;
use ralph_loop::dialect::{Dialect, Hooks, Invocation, Wants, command_line};
use ralph_loop::guard::{GuardSpec, Unwatched};
use ralph_loop::run::AgentSpec;
use std::path::Path;

/// The agents that the guard cannot watch in this directory.
pub fn unwatched(agents: &[AgentSpec], workspace: &Path) -> Vec<Unwatched> {
    agents
        .iter()
        .filter_map(|agent| {
            let why = why_not(agent, workspace)?;
            Some(Unwatched { agent: agent.name.clone(), why })
        })
        .collect()
}

fn why_not(agent: &AgentSpec, workspace: &Path) -> Option<String> {
    match agent.dialect {
        Dialect::Claude if !takes_hooks(agent) => Some("it has `--settings` of its own".to_owned()),
        Dialect::Claude => None,
        Dialect::Codex if hook::codex_has_own(workspace) => {
            Some("Codex with hooks of its own in .codex/".to_owned())
        }
        Dialect::Codex => None,
        Dialect::Amp | Dialect::Plain => Some(format!("{} has no hooks", agent.name)),
    }
}

/// Whether it is one of those that call hooks.
pub fn can_be_watched(agent: &AgentSpec) -> bool {
    match agent.dialect {
        Dialect::Claude | Dialect::Codex => true,
        Dialect::Amp | Dialect::Plain => false,
    }
}

/// Whether its command line would tell it of hooks.
fn takes_hooks(agent: &AgentSpec) -> bool {
    let hooks = Hooks { settings: "hooks", config: &["hooks".to_owned()] };
    let invocation = Invocation {
        program: &agent.program,
        args: &agent.args,
        model: None,
        autonomous: agent.autonomous,
        sandboxed: false,
        wants: Wants::Events,
        session: None,
        budget: None,
        hooks: Some(hooks),
    };
    command_line(agent.dialect, &invocation, "prompt", "").is_ok_and(|line| hooks.are_in(&line.argv))
}

/// Whether the guard was to watch this agent when the run began.
pub fn is_watched(spec: &GuardSpec, agent: &str) -> bool {
    !spec.unwatched.iter().any(|unwatched| unwatched.agent == agent)
}

/// What a run's banner says of its guard. Nothing is known of runs of earlier versions.
pub fn description(run: &Run) -> Option<String> {
    let spec = run.guard.as_ref()?;
    let without: Vec<String> =
        spec.unwatched.iter().map(|unwatched| format!("no guard: {}", unwatched.why)).collect();
    let watched = run.agents.iter().filter(|agent| is_watched(spec, &agent.name)).count();
    let on = match run.confinement.sandbox() {
        Some(_) => "on, for what a sandbox cannot know",
        None => "on: dangerous commands are denied",
    };
    Some(match (watched, without.is_empty()) {
        (0, _) => without.join("; "),
        (_, true) => on.to_owned(),
        (_, false) => format!("{on}; {}", without.join("; ")),
    })
}
