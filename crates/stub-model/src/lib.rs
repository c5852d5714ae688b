//! A model that says what a script tells it to, for real coding agents to talk to.
//!
//! Claude Code and Codex believe they talk to their vendor: the server speaks Anthropic's
//! Messages and OpenAI's Responses, as streams and as whole answers. What it says, which tools
//! it calls, when it fails, stalls or hangs up is in a [`Scenario`].
//!
//! Invariants: it listens on loopback only and opens no connection itself; a scenario gives the
//! same answers to the same requests; after a [`Server`] is dropped no thread of it is left.
//!
//! Deliberately absent: any thinking, and anything encrypted or compressed.

#![expect(
    clippy::disallowed_methods,
    reason = "a program of its own for tests: it prints its address and writes its log"
)]

mod anthropic;
mod ask;
mod director;
mod gate;
mod http;
mod log;
mod reply;
mod responses;
pub mod scenario;
mod server;
mod tools;

pub use log::Seen;
pub use scenario::{Scenario, ScenarioError};
pub use server::Server;
