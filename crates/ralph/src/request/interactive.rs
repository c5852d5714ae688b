//! Whether the agents of a run can work on a terminal, and which of its flags mean nothing to them.

use super::RequestError;
use ralph_loop::Run;
use ralph_loop::dialect::{CommandLineError, Dialect, Invocation, PromptAs, Terminal, Wants, command_line};
use ralph_loop::run::{AgentSpec, Interactive};

/// An error if an agent could not be started: better now than after the first checks.
pub(super) fn check(run: &Run) -> Result<(), RequestError> {
    let Some(interactive) = &run.interactive else { return Ok(()) };
    for agent in &run.agents {
        // What depends on the prompt or the model is known when the agent starts.
        if let Err(
            cause @ (CommandLineError::NotInTerminal { .. } | CommandLineError::NoSystemPrompt { .. }),
        ) = trial(agent, interactive)
        {
            return Err(RequestError::NotInteractive { program: agent.name.clone(), cause });
        }
    }
    Ok(())
}

fn trial(agent: &AgentSpec, interactive: &Interactive) -> Result<(), CommandLineError> {
    let prompt_as = if interactive.as_system_prompt { PromptAs::SystemPrompt } else { PromptAs::Question };
    let invocation = Invocation {
        program: &agent.program,
        args: &agent.args,
        model: agent.model.as_deref(),
        autonomous: agent.autonomous,
        sandboxed: false,
        wants: Wants::Terminal(Terminal { workspace: "/", prompt_as }),
        session: None,
        budget: None,
        hooks: None,
    };
    command_line(agent.dialect, &invocation, "/prompt", "prompt").map(drop)
}

/// Flags that no agent of the run has a use for.
pub(super) fn warnings(run: &Run) -> Vec<String> {
    let Some(interactive) = &run.interactive else { return Vec::new() };
    let is_known = |agent: &AgentSpec| matches!(agent.dialect, Dialect::Claude | Dialect::Codex);
    let (some_known, all_known) = (run.agents.iter().any(is_known), run.agents.iter().all(is_known));
    let given = [
        ("--ready-pattern", !interactive.ready_patterns.is_empty() && all_known),
        ("--check-done-continuous", interactive.check_done_continuously && all_known),
        ("--max-context", interactive.max_context.is_some() && !some_known),
    ];
    let why = match all_known {
        true => "ralph hears claude and codex without looking at their screen",
        false => "ralph sees only the screen of this agent",
    };
    let useless = given.into_iter().filter(|(_, useless)| *useless);
    useless.map(|(flag, _)| format!("{flag} has no effect: {why}")).collect()
}
