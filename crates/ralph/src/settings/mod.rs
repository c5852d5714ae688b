//! Settings: what a project and its user want of every run.
//!
//! Layers, later ones winning: built-in defaults, the user's file, the project's
//! `.ralph/settings.json`, its `.ralph/settings.local.json`, `--config`, and last the
//! flags (in `cli/`). Objects merge key by key, everything else replaces.

mod merge;

pub use merge::merge;

use crate::layout::{self, Project};
use ralph_loop::check::FailAction;
use ralph_loop::limits::Backoff;
use serde::Deserialize;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Settings {
    pub maximum_iterations: u32,
    pub completion_response: String,
    pub output_truncate_chars: usize,
    pub include_iteration_count_in_prompt: bool,
    pub agent: AgentSettings,
    pub guardrails: Vec<Guardrail>,
    /// The context block of the prompt.
    pub context: bool,
    /// Record the tree before each iteration.
    pub checkpoints: bool,
    pub max_failures: u32,
    pub stall_after: u32,
    pub backoff: BackoffSettings,
    /// Seconds that a check may take.
    pub check_timeout: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            maximum_iterations: 10,
            completion_response: "DONE".into(),
            output_truncate_chars: 5_000,
            include_iteration_count_in_prompt: false,
            agent: AgentSettings::default(),
            guardrails: Vec::new(),
            context: true,
            checkpoints: true,
            max_failures: 5,
            stall_after: 5,
            backoff: BackoffSettings::default(),
            check_timeout: 120.0,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentSettings {
    pub command: String,
    pub flags: Vec<String>,
    pub model: Option<String>,
    pub autonomous: bool,
}

impl Default for AgentSettings {
    fn default() -> AgentSettings {
        AgentSettings { command: "claude".into(), flags: Vec::new(), model: None, autonomous: true }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Guardrail {
    pub command: String,
    pub fail_action: FailAction,
    pub hint: Option<String>,
    /// Seconds; `checkTimeout` where missing.
    pub timeout: Option<f64>,
}

/// Seconds to wait after a first failure, and at most.
#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BackoffSettings {
    pub base: f64,
    pub cap: f64,
}

impl Default for BackoffSettings {
    fn default() -> BackoffSettings {
        let Backoff { base_ms, cap_ms } = Backoff::default();
        BackoffSettings { base: base_ms as f64 / 1000.0, cap: cap_ms as f64 / 1000.0 }
    }
}

#[derive(Debug, Error)]
pub enum SettingsError {
    #[error("cannot read the settings: {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("the settings are not valid JSON: {}", path.display())]
    NotJson {
        path: PathBuf,
        #[source]
        cause: serde_json::Error,
    },
    #[error("{}: {at}: {cause}", path.display())]
    Wrong { path: PathBuf, at: String, cause: String },
}

/// The merged settings, which files they came from, and what to warn about.
#[derive(Debug)]
pub struct Loaded {
    pub settings: Settings,
    pub files: Vec<PathBuf>,
    pub warnings: Vec<String>,
}

pub fn load(project: &Project, config: Option<&Path>) -> Result<Loaded, SettingsError> {
    let mut merged = Value::Object(serde_json::Map::new());
    let (mut files, mut warnings) = (Vec::new(), Vec::new());
    let optional = [layout::user_settings(), Some(project.settings()), Some(project.local_settings())];
    let layers = optional.into_iter().flatten().map(|path| (path, false));
    for (path, required) in layers.chain(config.map(|path| (path.to_path_buf(), true))) {
        let Some(layer) = read(&path, required)? else { continue };
        // Each file is checked by itself, so that an error names the one it is in.
        typed(&path, layer.clone(), &mut warnings)?;
        merge(&mut merged, layer);
        files.push(path);
    }
    let settings = typed(Path::new("settings"), merged, &mut Vec::new())?;
    Ok(Loaded { settings, files, warnings })
}

fn read(path: &Path, required: bool) -> Result<Option<Value>, SettingsError> {
    let text = match fs_err::read(path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound && !required => return Ok(None),
        Err(cause) => return Err(SettingsError::Unreadable { path: path.to_path_buf(), cause }),
    };
    let value: Value = serde_json::from_slice(&text)
        .map_err(|cause| SettingsError::NotJson { path: path.to_path_buf(), cause })?;
    Ok(Some(value))
}

fn typed(path: &Path, value: Value, warnings: &mut Vec<String>) -> Result<Settings, SettingsError> {
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(value, &mut track);
    let mut unknown = |key: serde_ignored::Path<'_>| {
        warnings.push(format!("{}: unknown key: {key}", path.display()));
    };
    let settings = Settings::deserialize(serde_ignored::Deserializer::new(tracked, &mut unknown));
    let settings: Settings = settings.map_err(|cause| {
        let cause = cause.to_string();
        SettingsError::Wrong { path: path.to_path_buf(), at: track.path().to_string(), cause }
    })?;
    let wrong = |at: &str, cause: &str| {
        Err(SettingsError::Wrong { path: path.to_path_buf(), at: at.into(), cause: cause.into() })
    };
    if settings.maximum_iterations == 0 {
        return wrong("maximumIterations", "must be 1 or more");
    }
    if settings.max_failures == 0 {
        return wrong("maxFailures", "must be 1 or more");
    }
    if settings.completion_response.trim().is_empty() {
        return wrong("completionResponse", "must not be empty");
    }
    if settings.agent.command.trim().is_empty() {
        return wrong("agent.command", "must not be empty");
    }
    if let Some(at) = settings.guardrails.iter().position(|g| g.command.trim().is_empty()) {
        return wrong(&format!("guardrails[{at}].command"), "must not be empty");
    }
    Ok(settings)
}
