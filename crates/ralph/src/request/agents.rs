//! The agents of a run, from flags, environment and settings.

use super::{RequestError, Terms};
use crate::settings::{self, AgentSettings, Settings};
use ralph_loop::dialect::{Dialect, named_model, stated_model, without_model};
use ralph_loop::price;
use ralph_loop::run::AgentSpec;
use std::env;
use std::path::Path;

/// The agent that was asked for, and those that stand in for it.
pub(super) fn agents(asked: &Terms, settings: &Settings, dir: &Path) -> Result<Vec<AgentSpec>, RequestError> {
    let mut agents = vec![agent(asked, settings, dir)?];
    for name in &asked.fallback_agents {
        agents.push(stand_in(name, settings, dir)?);
    }
    Ok(agents)
}

/// An agent beside the first one, by its name.
pub(super) fn stand_in(name: &str, settings: &Settings, dir: &Path) -> Result<AgentSpec, RequestError> {
    // The model is the first agent's.
    let asked = Terms { agent: Some(name.to_string()), ..Terms::default() };
    let own = Settings { agent: AgentSettings { model: None, ..settings.agent.clone() }, ..settings.clone() };
    agent(&asked, &own, dir)
}

/// The agent that plans: the one that would work, unless another one is named.
pub fn planner(
    name: Option<&str>,
    model: Option<&str>,
    settings: &Settings,
    dir: &Path,
) -> Result<AgentSpec, RequestError> {
    let [name, model] = [name, model].map(|word| word.map(String::from));
    agent(&Terms { agent: name, model, ..Terms::default() }, settings, dir)
}

fn agent(asked: &Terms, settings: &Settings, dir: &Path) -> Result<AgentSpec, RequestError> {
    let AgentSettings { command, flags, model, autonomous } = &settings.agent;
    let named = asked.agent.clone().filter(|name| name != settings::DEFAULT_AGENT);
    let (program, flags, model) = match (&asked.command[..], named.or_else(settings::agent_of_environment)) {
        ([program, rest @ ..], _) => {
            // Written by the user now, so above the settings.
            let theirs = named_model(Dialect::of_program(program), rest);
            (program.clone(), rest.to_vec(), model.clone().filter(|_| theirs.is_none()))
        }
        // The settings' flags are for the settings' agent.
        ([], Some(name)) if name != *command => (name, Vec::new(), model.clone()),
        ([], _) if asked.model.is_some() => {
            (command.clone(), without_model(Dialect::of_program(command), flags), None)
        }
        ([], _) => (command.clone(), flags.clone(), model.clone()),
    };
    let Ok(path) = which::which_in(&program, env::var_os("PATH"), dir) else {
        return Err(RequestError::AgentMissing { program });
    };
    let dialect = Dialect::of_program(&program);
    let model = asked.model.clone().or(model);
    let has_place = flags.iter().any(|flag| flag.contains("{model}"));
    if dialect == Dialect::Plain && has_place && model.is_none() {
        return Err(RequestError::NoModel { program });
    }
    if let (Dialect::Plain, Some(model)) = (dialect, &model)
        && !has_place
    {
        return Err(RequestError::ModelWithoutPlace { program, model: model.clone() });
    }
    // A path is the project's, wherever the agent will work.
    let program = match path.to_str() {
        Some(path) if program.contains('/') => path.to_string(),
        _ => program,
    };
    let name = program.rsplit('/').next().unwrap_or(&program).to_string();
    let stated = stated_model(dialect, &flags, model.as_deref());
    let price = price::resolve(&settings.own_prices(), dialect, stated.as_deref());
    Ok(AgentSpec { name, dialect, program, args: flags, model, autonomous: *autonomous, price })
}
