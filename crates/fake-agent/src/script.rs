//! What the agent does in which run: the script and its file format.
//!
//! A script is a JSON file. `calls` holds one entry a run of the agent, and an entry is
//! a list of actions, performed in order. Names that are not known are errors, because
//! a misspelt action that does nothing makes a test pass that should not.
//!
//! ```
//! use fake_agent::script::{Action, By, Dialect, Script};
//!
//! let script: Script = serde_json::from_str(r#"{
//!     "dialect": "claude",
//!     "by": "iteration",
//!     "after": "fail",
//!     "ledger": "runs.log",
//!     "calls": [
//!         [
//!             {"say": "Iteration {{iteration}}: I was told {{prompt}}"},
//!             {"write": {"path": "src/a.txt", "content": "first\n"}},
//!             {"tool": {"name": "Bash", "input": {"command": "make"}, "output": "red", "error": true}},
//!             {"leave": {"kind": "setsid", "ignore_term": true, "seconds": 60, "pid_file": "left.pid"}},
//!             {"cost": 0.0123},
//!             {"tokens": {"input": 1200, "output": 80}}
//!         ],
//!         {"do": [{"stderr": "panic: out of luck"}, {"exit": 1}]}
//!     ]
//! }"#)?;
//! assert_eq!(script.dialect, Dialect::Claude);
//! assert_eq!(script.by, By::Iteration);
//! assert_eq!(script.calls[1].0[1], Action::Exit(1));
//!
//! // What Rust code builds is written as the same JSON.
//! let json = serde_json::to_string(&script)?;
//! assert_eq!(serde_json::from_str::<Script>(&json)?, script);
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! `{{call}}`, `{{iteration}}` and `{{prompt}}` are replaced in every text and path of an
//! action except `raw`, `raw_hex` and the `input` of a tool. Relative paths are relative
//! to the current directory, and missing parent directories are created.

mod forms;

pub use forms::{Hex, SignalNumber, Yes};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// A whole script.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    #[serde(default)]
    pub dialect: Dialect,
    #[serde(default)]
    pub by: By,
    #[serde(default)]
    pub after: After,
    /// A file that gets the line `start ITERATION PID` when a run begins and
    /// `end ITERATION PID` when it ends by itself; `-` stands for no iteration.
    #[serde(default)]
    pub ledger: Option<PathBuf>,
    pub calls: Vec<Call>,
}

/// How output is dressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// Text, as it is.
    #[default]
    Plain,
    /// Claude's stream-json: one JSON event a line, from `system/init` to `result`.
    Claude,
}

/// What selects the entry of `calls`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The number of this run, counted in the file `SCRIPT.calls`.
    #[default]
    Call,
    /// The variable `RALPH_ITERATION`, from 1.
    Iteration,
}

/// What happens when `calls` has no entry left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum After {
    /// The last entry is played again.
    #[default]
    Last,
    /// The agent exits with 70.
    Fail,
}

/// One run: in JSON a list of actions, or the same list as `{"do": […]}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Call(pub Vec<Action>);

/// One thing the agent does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A line of text, or an assistant's text event.
    Say(String),
    /// Exactly this on stdout, in either dialect.
    Raw(String),
    /// The same for bytes that are no text, as hexadecimal digits.
    RawHex(Hex),
    /// A line on stderr.
    Stderr(String),
    /// Replaces a file; claude also shows the tool `Write`.
    Write(Content),
    /// Adds to a file; claude also shows the tool `Bash`.
    Append(Content),
    /// Removes a file, which may be absent; claude also shows the tool `Bash`.
    Delete(String),
    /// A tool that is only shown, never run. Plain prints `[tool] NAME`.
    Tool(Tool),
    SleepMs(u64),
    /// Waits until this file exists, for two minutes at most.
    WaitFor(String),
    /// The bytes of the prompt on stdout, in either dialect.
    EchoPrompt(Yes),
    /// The bytes of the prompt into a file.
    SavePrompt(String),
    /// The free arguments into a file, one a line.
    SaveArgs(String),
    /// Variables into a file, as `NAME=value` or `NAME unset`.
    SaveEnv(SaveEnv),
    /// Leaves a process behind that outlives the agent.
    Leave(Leave),
    /// Much output, fast.
    PrintMb(PrintMb),
    /// The total cost in dollars that the result event reports.
    Cost(f64),
    /// The tokens that the result event reports.
    Tokens(Tokens),
    /// From here on SIGTERM and SIGINT do nothing.
    IgnoreTerm(Yes),
    /// Ends at once with this code, without a result event of its own.
    Exit(u8),
    /// Sends this signal to itself.
    KillSelf(SignalNumber),
    /// A result event as given, in place of the one at the end. Plain has none.
    Result(Outcome),
    /// Does nothing for ten minutes, in order to be ended from outside.
    Hang(Yes),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    pub path: String,
    pub content: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    pub name: String,
    #[serde(default)]
    pub input: Map<String, Value>,
    #[serde(default)]
    pub output: String,
    #[serde(default)]
    pub error: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SaveEnv {
    pub path: String,
    pub names: Vec<String>,
}

/// A process that stays when the agent has gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leave {
    pub kind: LeaveKind,
    /// SIGTERM, SIGHUP and SIGINT do nothing to it.
    #[serde(default)]
    pub ignore_term: bool,
    /// It ends by itself after this time, and never later than after an hour.
    #[serde(default = "ten_minutes")]
    pub seconds: u64,
    /// It keeps the agent's stdout open. Otherwise it has /dev/null.
    #[serde(default)]
    pub hold_stdout: bool,
    /// It appends its process id as a line; `refork` does so in every generation.
    #[serde(default)]
    pub pid_file: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaveKind {
    /// A background child in the agent's process group.
    Child,
    /// A child in a session of its own.
    Setsid,
    /// An orphan from the start, in a session of its own: the process between has ended.
    DoubleFork,
    /// A moving target: every 5 ms a new process, in a new session, takes over.
    Refork,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrintMb {
    /// How many MiB, exactly.
    pub mb: u64,
    pub shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Claude's events as they come: texts, tools, and tool results of 1 to 8 KB.
    Events,
    /// One text event of that size on one line.
    OneLine,
    /// Lines of 80 characters.
    Text,
    /// Lines of a word.
    ShortLines,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    #[serde(default)]
    pub input: u64,
    #[serde(default)]
    pub output: u64,
    #[serde(default)]
    pub cache_read: u64,
    #[serde(default)]
    pub cache_creation: u64,
}

/// The words of a result event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Outcome {
    pub is_error: bool,
    pub subtype: String,
    pub api_error_status: Option<u16>,
    /// The last text that was said, when absent.
    pub text: Option<String>,
}

impl Default for Outcome {
    fn default() -> Outcome {
        Outcome { is_error: false, subtype: "success".to_owned(), api_error_status: None, text: None }
    }
}

impl From<Vec<Action>> for Call {
    fn from(actions: Vec<Action>) -> Call {
        Call(actions)
    }
}

impl Script {
    /// Reads a script, and makes sure that it has something to play.
    pub fn load(path: &Path) -> Result<Script, LoadError> {
        let fail = |what, cause| LoadError { what, path: path.to_owned(), cause };
        let text = fs::read_to_string(path).map_err(|e| fail("read the script", e.to_string()))?;
        let script: Script =
            serde_json::from_str(&text).map_err(|e| fail("understand the script", e.to_string()))?;
        if script.calls.is_empty() {
            return Err(fail("play the script", "it has no calls".to_owned()));
        }
        Ok(script)
    }
}

/// A script that cannot be used: which one, and what is wrong with it.
#[derive(Debug)]
pub struct LoadError {
    what: &'static str,
    path: PathBuf,
    cause: String,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}\n  cause: {}", self.what, self.path.display(), self.cause)
    }
}

impl std::error::Error for LoadError {}

fn ten_minutes() -> u64 {
    600
}

#[cfg(test)]
mod tests {
    use super::{Action, Script};

    fn check_error(json: &str, expected: &str) {
        let error = serde_json::from_str::<Script>(json).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn what_is_misspelt_is_named_with_its_place() {
        check_error(r#"{"calls": [], "dialekt": "plain"}"#, "unknown field `dialekt`");
        check_error(r#"{"calls": [[{"sya": "x"}]]}"#, "unknown variant `sya`");
        check_error(r#"{"calls": [{"od": []}]}"#, "unknown field `od`");
        check_error(r#"{"calls": [[{"leave": {"kind": "child", "x": 1}}]]}"#, "unknown field `x`");
        check_error(r#"{"calls": [[{"say": "x", "exit": 1}]]}"#, "line 1 column");
        check_error(r#"{"calls": ["x"]}"#, r#"expected a list of actions or {"do": [...]}"#);
    }

    #[test]
    fn values_that_mean_nothing_are_refused() {
        check_error(r#"{"calls": [[{"hang": false}]]}"#, "only true has a meaning here");
        check_error(r#"{"calls": [[{"raw_hex": "f"}]]}"#, "pairs of hexadecimal digits");
        check_error(r#"{"calls": [[{"raw_hex": "+1"}]]}"#, "pairs of hexadecimal digits");
        check_error(r#"{"calls": [[{"kill_self": 0}]]}"#, "no signal has the number 0");
    }

    #[test]
    fn both_forms_of_a_call_are_the_same() {
        let script: Script =
            serde_json::from_str(r#"{"calls": [[{"exit": 3}], {"do": [{"exit": 3}]}]}"#).unwrap();
        assert_eq!(script.calls[0], script.calls[1]);
        assert_eq!(script.calls[0].0, [Action::Exit(3)]);
    }
}
