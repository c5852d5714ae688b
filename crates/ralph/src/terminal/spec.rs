//! What a terminal host is to run.

use ralph_loop::dialect::Dialect;
use ralph_loop::interactive::Expects;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TerminalSpec {
    /// The command that starts the agent in its place.
    pub argv: Vec<OsString>,
    /// What of it only starts the agent, by its path: bubblewrap.
    pub wrapper: Option<PathBuf>,
    /// What the agent reads from its standard input. Without, it reads from the terminal.
    pub stdin: Option<String>,
    /// Where files are that the agent sees at another path, by that path.
    pub moved: Vec<(PathBuf, PathBuf)>,
    /// The directory of the run.
    pub run_dir: PathBuf,
    pub agent: Agent,
}

/// How the agent is heard.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agent {
    /// By its hooks and its transcript.
    Known { dialect: Dialect, expects: Expects },
    /// By what is on its screen.
    Plain(ScreenSpec),
}

/// What a program is known by that ralph does not know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScreenSpec {
    /// To be typed once it is ready; nothing if an argument has it.
    pub prompt: Option<String>,
    /// Regular expressions.
    pub ready: Vec<String>,
    pub done: Option<String>,
    /// The done pattern counts while the program works, and not only when it rests.
    pub done_at_once: bool,
    /// Without a ready screen for so long, a person has to look.
    pub ready_within_ms: u64,
}
