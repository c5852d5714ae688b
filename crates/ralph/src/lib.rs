//! Runs coding agents in a loop, each iteration with a fresh context, until the work is
//! proven done.
//!
//! The policy is the crate `ralph_loop`; this one carries it out. See CONTRIBUTING.md for
//! which module may do what.

pub mod cli;
pub mod engine;
mod error;
mod fsx;
mod git;
mod journal;
mod layout;
mod lock;
mod place;
pub mod process;
mod report;
mod session;
mod settings;
mod story;
mod texts;
