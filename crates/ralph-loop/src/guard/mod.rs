//! The guard: whether an agent's tool call may run.
//!
//! A command is parsed as shell ([`shell`]), carried out in the abstract ([`walk`]: variables, `cd`, functions,
//! files that it writes and then runs), and becomes the programs that it would start ([`Invocation`]). A table
//! of rules ([`rules`]) says which of those are dangerous. Nothing is run, and nothing is looked up
//! except what [`World`] answers.
//!
//! A guard is a seat belt. It sees text, not what programs do; the sandbox is what holds.
//!
//! Deliberately absent: reading the output of commands, and asking the network.

mod arg;
mod category;
mod hosts;
mod invocation;
mod paths;
mod pattern;
mod policy;
mod repo;
pub mod rules;
mod shell;
mod spec;
mod tools;
mod value_flags;
mod walk;
mod world;

pub use arg::Arg;
pub use category::{Category, Level};
pub use invocation::{End, Invocation, Site, Stdin, Stdout};
pub use paths::Zone;
pub use pattern::matches;
pub use policy::{Policy, PolicyError};
pub use spec::{GuardSpec, Scope, Unwatched};
pub use tools::{ToolCall, judge};
pub use world::{GitQuestion, World};

use serde::Serialize;

/// What may be done with a tool call, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    Warn,
    Block,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Allow => "allow",
            Verdict::Warn => "warn",
            Verdict::Block => "block",
        }
    }
}

/// The verdict on one tool call and what led to it.
#[derive(Clone, Debug, Serialize)]
pub struct Judgement {
    pub verdict: Verdict,
    pub findings: Vec<Finding>,
    /// What was parsed and looked through, in order, for `ralph guard check`.
    pub steps: Vec<Step>,
}

/// A rule that applies to a part of the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub rule: &'static str,
    pub category: Category,
    pub verdict: Verdict,
    /// The part that it applies to: an invocation or a path, as text.
    pub what: String,
    /// Why that is dangerous, in a few words.
    pub why: String,
    /// What to do instead.
    pub instead: &'static str,
    /// What allows it: an entry of `guard.allow`, or why nothing does.
    pub allowed_by: Option<String>,
}

/// One thing that the guard has understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// How deep inside of other commands it is.
    pub depth: usize,
    /// What it is: `runs`, `looks into`, `writes`, `unknown`.
    pub kind: &'static str,
    pub text: String,
}
