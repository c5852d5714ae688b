//! Settings: what a project and its user want of every run.
//!
//! Layers, later ones winning: built-in defaults, the user's file, the project's
//! `.ralph/settings.json`, its `.ralph/settings.local.json`, `--config`, the environment, and last
//! the flags (in `cli/`). Objects merge key by key, everything else replaces, and `null` stands
//! for the default. A model in `agent.flags` is `agent.model` in other words: the higher layer wins.
//!
//! Files are held against one table of keys ([`table`]) before they are merged, so that a
//! message names the file, and all problems are reported at once. The rest of the program
//! sees the typed [`Settings`] only.

mod architect;
mod check;
mod effective;
mod environment;
mod file;
pub mod mask;
mod merge;
mod model;
#[cfg(test)]
mod reference;
mod schema;
mod strict;
mod table;
#[cfg(test)]
mod tests;

pub use architect::DEFAULT_AGENT;
pub use effective::{Effective, InOrder};
pub use environment::{SANDBOX, agent as agent_of_environment};
pub use file::{Layers, Problem};
pub use merge::merge;
pub use schema::schema;
pub use table::{FAIL_ACTIONS, MOST};

use crate::layout::{self, Project};
use crate::secrets;
use file::{Role, Source};
use ralph_loop::check::FailAction;
use ralph_loop::guard::{Category, Level};
use ralph_loop::interactive::Permissions;
use ralph_loop::money::Usd;
use ralph_loop::price::Price;
use ralph_loop::proof::ProofMode;
use ralph_loop::sandbox::EnvRule;
use ralph_loop::sandbox::network::NetworkMode;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What each key means is described in [`table`], which also has the defaults.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    pub maximum_iterations: u32,
    pub completion_response: String,
    pub output_truncate_chars: usize,
    pub stream_agent_output: bool,
    pub include_iteration_count_in_prompt: bool,
    pub agent: AgentSettings,
    pub guardrails: Vec<Guardrail>,
    pub scm: ScmSettings,
    /// US dollars.
    pub max_cost: Option<f64>,
    /// By the beginning of a model's name.
    pub prices: BTreeMap<String, PriceSettings>,
    /// Seconds.
    pub max_time: Option<f64>,
    /// Seconds.
    pub timeout: Option<f64>,
    /// Seconds.
    pub check_timeout: f64,
    pub max_failures: u32,
    pub stall_after: u32,
    pub proof: ProofSettings,
    pub sandbox: SandboxSettings,
    pub guard: GuardSettings,
    pub backoff: BackoffSettings,
    pub context: bool,
    pub checkpoints: bool,
    /// MiB.
    pub largest_file: f64,
    /// MiB.
    pub min_free_space: f64,
    pub keep_runs: usize,
    /// MiB, as the next.
    pub keep_checkpoints: f64,
    pub keep_streams: f64,
    pub stories: StoriesSettings,
    pub tasks: TasksSettings,
    pub workers: WorkersSettings,
    pub agents: AgentsSettings,
    /// A command.
    pub notify: Option<String>,
    /// Names of variables, which may end with `*`.
    pub mask: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSettings {
    pub command: String,
    pub flags: Vec<String>,
    pub model: Option<String>,
    pub autonomous: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Guardrail {
    pub command: String,
    pub fail_action: FailAction,
    pub hint: Option<String>,
    /// Seconds; `check_timeout` where missing.
    pub timeout: Option<f64>,
}

/// US dollars a million tokens.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PriceSettings {
    pub input: f64,
    pub output: f64,
    /// As input where missing, like the next.
    pub cached_input: Option<f64>,
    pub cache_write: Option<f64>,
}

/// Without tasks there is nothing to do.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScmSettings {
    pub command: String,
    pub tasks: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoriesSettings {
    /// Ids; empty is no order of the user's own.
    pub order: Vec<String>,
    pub rules: Vec<String>,
    pub verify: Vec<String>,
    pub max_retries: u32,
    pub commit: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TasksSettings {
    pub commit_left: bool,
    pub hooks: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkersSettings {
    pub interactive: bool,
    /// Seconds.
    pub ready_timeout: f64,
    pub permissions: Permissions,
}

/// Programs that do one kind of work only.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentsSettings {
    pub review: Option<String>,
    pub fix: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProofSettings {
    pub mode: ProofMode,
    pub baseline: bool,
    pub carry: Vec<String>,
    pub setup: Vec<String>,
    pub pin: Vec<String>,
    pub junit: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxSettings {
    /// One of [`SandboxChoice::NAMES`](ralph_loop::sandbox::SandboxChoice::NAMES).
    pub kind: String,
    pub read: Vec<String>,
    pub write: Vec<String>,
    pub tools: Vec<String>,
    pub env: EnvRule,
    pub variables: Vec<String>,
    pub network: NetworkMode,
    pub hosts: Vec<String>,
    pub forward: Vec<String>,
    pub processes: u64,
    /// MiB, as the next.
    pub memory: f64,
    pub file_size: f64,
    pub tmp_size: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GuardSettings {
    pub allow: Vec<String>,
    pub deny: Vec<String>,
    /// Names of categories.
    pub ask: Vec<String>,
    pub writable: Vec<String>,
    pub categories: BTreeMap<Category, Level>,
}

/// Seconds to wait after a first failure, and at most.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackoffSettings {
    pub base: f64,
    pub cap: f64,
}

impl Settings {
    pub fn largest_file_bytes(&self) -> u64 {
        mebibytes(self.largest_file)
    }

    pub fn keep_checkpoints_bytes(&self) -> u64 {
        mebibytes(self.keep_checkpoints)
    }

    pub fn keep_streams_bytes(&self) -> u64 {
        mebibytes(self.keep_streams)
    }

    pub fn min_free_bytes(&self) -> u64 {
        mebibytes(self.min_free_space)
    }

    pub fn own_prices(&self) -> Vec<(String, Price)> {
        self.prices.iter().map(|(prefix, price)| (prefix.clone(), price.price())).collect()
    }
}

/// In bytes.
pub fn mebibytes(n: f64) -> u64 {
    (n * f64::from(1 << 20)) as u64
}

impl PriceSettings {
    fn price(&self) -> Price {
        Price {
            input: Usd::from_dollars(self.input),
            cached_input: Usd::from_dollars(self.cached_input.unwrap_or(self.input)),
            cache_write: Usd::from_dollars(self.cache_write.unwrap_or(self.input)),
            output: Usd::from_dollars(self.output),
        }
    }
}

/// Everything that is wrong with the settings, file by file.
#[derive(Debug, Error)]
#[error("{}", listed(problems))]
pub struct SettingsError {
    pub problems: Vec<Problem>,
}

fn listed(problems: &[Problem]) -> String {
    match problems {
        [problem] => problem.to_string(),
        problems => {
            let mut list = format!("the settings have {} problems", problems.len());
            for problem in problems {
                list.push_str(&format!("\n  {problem}"));
            }
            list
        }
    }
}

/// The merged settings, which files they came from, and what to warn about.
#[derive(Debug)]
pub struct Loaded {
    pub settings: Settings,
    /// The files that were there, lowest layer first, as messages name them.
    pub files: Vec<PathBuf>,
    pub warnings: Vec<String>,
    /// For showing them.
    pub effective: Effective,
}

pub fn load(project: &Project, config: Option<&Path>) -> Result<Loaded, SettingsError> {
    let user = layout::user_settings();
    let user = user.map(|path| Source { shown: path.clone(), path, role: Role::Optional });
    let config = config.map(|path| Source { shown: path.into(), path: path.into(), role: Role::Config });
    let sources = user.into_iter().chain(project_sources(project)).chain(config);
    let mut layers = Layers::read(sources)?;
    let files = layers.list.iter().map(|layer| layer.file.clone()).collect();
    let mut shown = layers.clone();
    for layers in [&mut layers, &mut shown] {
        environment::add_sandbox(layers)?;
    }
    environment::add_model(&mut layers);
    environment::add_agent(&mut shown);
    environment::add_model(&mut shown);
    let effective = resolve(shown)?.effective;
    let loaded = Loaded { files, effective, ..resolve(layers)? };
    secrets::learn_settings(&loaded);
    Ok(loaded)
}

/// The settings of a user and a project without any.
pub fn defaults() -> Result<Settings, SettingsError> {
    Ok(resolve(Layers::default())?.settings)
}

/// What the project's own files say, without defaults.
pub fn of_project(project: &Project) -> Result<Layers, SettingsError> {
    Layers::read(project_sources(project))
}

fn project_sources(project: &Project) -> impl Iterator<Item = Source> {
    [project.settings(), project.local_settings()].into_iter().map(|path| {
        let shown = path.strip_prefix(project.dir()).unwrap_or(&path).to_path_buf();
        Source { path, shown, role: Role::Optional }
    })
}

fn resolve(layers: Layers) -> Result<Loaded, SettingsError> {
    let mut value = table::complete(layers.merged(), table::KEYS);
    let stated = model::settle(&mut value["agent"], &layers.list);
    let settings = Settings::deserialize(&value).map_err(|cause| {
        // The table lets nothing through that the types do not take; a property test holds it.
        let problem = Problem { file: "settings".into(), at: String::new(), what: cause.to_string() };
        SettingsError { problems: vec![problem] }
    })?;
    let files = layers.list.iter().map(|layer| layer.file.clone()).collect();
    let effective = Effective::of(value, layers.list, stated);
    Ok(Loaded { settings, files, warnings: layers.warnings, effective })
}
