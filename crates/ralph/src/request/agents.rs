//! The agents of a run, from flags, environment and settings.

use super::Terms;
use crate::error::CliError;
use crate::settings::{self, AgentSettings, Settings};
use ralph_loop::dialect::{Dialect, stated_model};
use ralph_loop::price;
use ralph_loop::run::AgentSpec;
use std::env;
use std::path::Path;

/// The agent that was asked for, and those that stand in for it.
pub(super) fn agents(asked: &Terms, settings: &Settings, dir: &Path) -> Result<Vec<AgentSpec>, CliError> {
    let mut agents = vec![agent(asked, settings, dir)?];
    for name in &asked.fallback_agents {
        agents.push(stand_in(name, settings, dir)?);
    }
    Ok(agents)
}

/// An agent beside the first one, by its name.
pub(super) fn stand_in(name: &str, settings: &Settings, dir: &Path) -> Result<AgentSpec, CliError> {
    // The model is the first agent's.
    let asked = Terms { agent: Some(name.to_string()), ..Terms::default() };
    let own = Settings { agent: AgentSettings { model: None, ..settings.agent.clone() }, ..settings.clone() };
    agent(&asked, &own, dir)
}

fn agent(asked: &Terms, settings: &Settings, dir: &Path) -> Result<AgentSpec, CliError> {
    let variable = |name| env::var(name).ok().filter(|value: &String| !value.trim().is_empty());
    let named = asked.agent.clone().filter(|name| name != settings::DEFAULT_AGENT);
    let (program, flags) = match &asked.command[..] {
        [program, rest @ ..] => (program.clone(), rest.to_vec()),
        [] => match named.or_else(|| variable("RALPH_AGENT")) {
            // The settings' flags are for the settings' agent.
            Some(name) if name != settings.agent.command => (name, Vec::new()),
            Some(_) | None => (settings.agent.command.clone(), settings.agent.flags.clone()),
        },
    };
    let found = which::which_in(&program, env::var_os("PATH"), dir);
    if found.is_err() {
        return Err(
            CliError::usage(format!("the agent is not installed: {program}")).hint(how_to_install(&program))
        );
    }
    let dialect = Dialect::of_program(&program);
    let model =
        asked.model.clone().or_else(|| variable("RALPH_MODEL")).or_else(|| settings.agent.model.clone());
    if let (Dialect::Plain, Some(model)) = (dialect, &model)
        && !flags.iter().any(|flag| flag.contains("{model}"))
    {
        return Err(CliError::usage(format!("the agent cannot be told its model: {program}"))
            .cause(format!("the model is {model}, and the command has no place for it"))
            .hint("write {model} where it belongs: -- COMMAND --model {model}"));
    }
    // A path is the project's, wherever the agent will work.
    let program = match found {
        Ok(path) if program.contains('/') => path.to_str().map_or(program, String::from),
        _ => program,
    };
    let name = program.rsplit('/').next().unwrap_or(&program).to_string();
    let told = stated_model(dialect, &flags, model.as_deref());
    let price = price::resolve(&settings.own_prices(), dialect, told.as_deref());
    let autonomous = settings.agent.autonomous;
    Ok(AgentSpec { name, dialect, program, args: flags, model, autonomous, price })
}

fn how_to_install(program: &str) -> String {
    match program {
        "claude" => "npm install -g @anthropic-ai/claude-code, or name another program after --".into(),
        "codex" => "npm install -g @openai/codex, or name another program after --".into(),
        "amp" => "npm install -g @sourcegraph/amp, or name another program after --".into(),
        "gemini" => "npm install -g @google/gemini-cli, or name another program after --".into(),
        _ => "install it, or name another program after --".into(),
    }
}
