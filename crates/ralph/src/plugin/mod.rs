//! The plugin for Claude Code and Codex: its files, and how the two are made to use it.
//!
//! Agents are only told by their own commands; ralph does not edit their configuration. What they answer is turned into
//! a [`Standing`] by pure functions.
//!
//! Deliberately absent: what the plugin's commands and hooks do. They call `ralph`.

mod agent;
mod app_server;
mod check;
mod claude;
mod codex;
mod files;
mod standing;

pub use agent::{PluginAgent, Uninstalled};
pub use check::{Finding, check, check_by_claude};
pub use files::{Alerts, write};
pub use standing::{HookState, Problem, Standing};

use crate::process::tool::ToolError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// As agents name it: the plugin and its marketplace.
const ID: &str = "ralph@ralph";
const MARKETPLACE: &str = "ralph";

/// The version of this program and of its plugin.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What an agent says about its own failure.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Complaint(String);

#[derive(Debug, Error)]
pub enum PluginError {
    #[error("{} is not installed", .0.name())]
    NoProgram(PluginAgent),
    #[error("neither Claude Code nor Codex is installed")]
    NoPrograms,
    #[error("{} has a marketplace named ralph from another place: {source_of}", agent.name())]
    OtherMarketplace { agent: PluginAgent, source_of: String },
    #[error("`{command}` failed")]
    Refused { agent: PluginAgent, command: String, source: Complaint },
    #[error("`{command}` did not answer within {seconds} s")]
    Slow { agent: PluginAgent, command: String, seconds: u64 },
    /// By Ctrl+C or a signal to ralph.
    #[error("`{command}` was ended")]
    Stopped { command: String },
    #[error("cannot read the answer of `{command}`")]
    Unclear { agent: PluginAgent, command: String, source: serde_json::Error },
    #[error("cannot ask {}", agent.name())]
    Unanswered { agent: PluginAgent, source: ToolError },
    #[error("cannot write the plugin: {}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("cannot remove the plugin: {}", path.display())]
    Unremovable { path: PathBuf, source: io::Error },
    #[error("a link is in the way of the plugin: {}", .0.display())]
    Linked(PathBuf),
    #[error("no home directory to keep the plugin in")]
    NoHome,
}
