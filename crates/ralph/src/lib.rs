//! Runs coding agents in a loop, each iteration with a fresh context, until the work is
//! proven done.
//!
//! The policy is the crate `ralph_loop`; this one carries it out. See CONTRIBUTING.md for
//! which module may do what.
//!
//! As a library: fill in a [`Config`], [`run`](Config::run) it, look at the [`RunResult`].
//!
//! ```no_run
//! use ralph::{Config, StopReason};
//! use std::time::Duration;
//!
//! let mut config = Config::new("make the tests pass");
//! config.checks = vec!["cargo test".into()];
//! config.max_iterations = Some(5);
//! config.max_time = Some(Duration::from_secs(3600));
//!
//! let result = config.run()?;
//! for iteration in &result.iterations {
//!     println!("{}: {} checks, {:?}", iteration.iteration, iteration.check_results.len(), iteration.error);
//! }
//! match result.stop_reason {
//!     StopReason::Completed => println!("done for ${:.2}", result.total_cost),
//!     reason => println!("stopped: {reason}"),
//! }
//! # Ok::<(), ralph::Error>(())
//! ```
//!
//! [`Config::start`] gives a [`RunHandle`] instead, with the [`Moment`]s of the run as they happen and a
//! way to cancel it. [`Stories`] and [`Tasks`] are the other plans, [`Agent`] says who does the work: a
//! program, or a function. See docs/library.md and the examples.

mod catalog;
pub mod cli;
mod control;
mod engine;
mod error;
mod fsx;
mod git;
mod growing_log;
mod guard;
mod handed;
pub mod hook;
mod journal;
mod layout;
mod library;
mod lock;
mod notify;
mod place;
mod placeholder;
mod planner;
mod plugin;
pub mod process;
mod proof;
mod report;
mod request;
mod run_history;
pub mod sandbox;
mod secrets;
mod session;
mod settings;
mod similar;
mod stories;
mod tally;
mod target;
mod tasks;
mod template;
mod terminal;
mod texts;
mod tmux;
mod top;
mod worker;
mod worktree_removal;

pub use library::{
    Agent, AgentCall, AgentError, AgentFunction, Canceller, Config, Error, Kept, Moment, Plan, Prompt,
    Resume, RunHandle, Stories, Tasks, Unmerged,
};
pub use process::Exit;
pub use ralph_loop::event::StopReason;
pub use ralph_loop::proof::Round;
pub use ralph_loop::story_id::StoryId;
pub use ralph_loop::task_list::Mode;
pub use ralph_loop::view::{CheckReport, Iteration};
pub use report::{ErrorReport, RunResult, TaskResult};

/// The examples in the guide are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Guide;
