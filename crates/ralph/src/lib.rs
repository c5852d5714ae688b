//! Runs coding agents in a loop, each iteration with a fresh context, until the work is
//! proven done.
//!
//! The policy is the crate `ralph_loop`; this one carries it out. See CONTRIBUTING.md for
//! which module may do what.
//!
//! As a library: fill in a [`Config`], [`run`](Config::run) it, look at the [`RunResult`].
//!
//! ```no_run
//! use ralph::Config;
//!
//! let mut config = Config::new("make the tests pass");
//! config.checks = vec!["cargo test".into()];
//! config.max_iterations = Some(5);
//! config.max_cost = Some(2.0);
//!
//! let result = config.run()?;
//! for iteration in &result.iterations {
//!     println!("{}: {} checks, {:?}", iteration.iteration, iteration.check_results.len(), iteration.error);
//! }
//! assert!(result.success, "{}", result.stop_reason);
//! # Ok::<(), ralph::Error>(())
//! ```

mod catalog;
pub mod cli;
mod control;
mod engine;
mod error;
mod fsx;
mod git;
mod growing_log;
pub mod hook;
mod journal;
mod layout;
mod library;
mod lock;
mod notify;
mod place;
mod placeholder;
pub mod process;
mod report;
mod request;
mod run_history;
mod session;
mod settings;
mod similar;
mod stories;
mod tally;
mod target;
mod tasks;
mod template;
mod texts;
mod tmux;
mod worker;

pub use error::{CliError as Error, Code};
pub use library::Config;
pub use ralph_loop::view::{CheckReport, Iteration};
pub use report::{ErrorReport, RunResult, TaskResult};
