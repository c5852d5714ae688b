//! The terminal of an interactive agent.
//!
//! In the place of the agent the keeper starts `ralph __terminal`, the *terminal host*. It opens a pty, runs the agent
//! on it, and prints on standard output what the same agent would print without a terminal: from the agent's hooks and
//! its transcript, or, for a program that has neither, from its screen. So the engine reads, records and judges an
//! interactive agent as it does any other.
//!
//! People reach the terminal over a socket in the directory of the run: `ralph attach` shows it in a tmux window,
//! `ralph run --interactive` in the terminal that it was started from. A viewer that closes, or a tmux server that is
//! killed, never hurts the agent.
//!
//! Invariants: nothing that a viewer does or does not read holds up the agent; memory is bounded whatever the agent
//! prints; the host ends with the agent, and the agent with the host (the pty hangs up, the keeper sweeps).
//!
//! Deliberately absent: judgement. What a hook or a line of a transcript means is in `ralph_loop::interactive`.

pub mod claude_config;
mod client;
mod host;
mod people;
mod pty;
mod queries;
mod screen;
mod spec;
mod tail;
mod turn;
mod viewer;

pub use client::{TypeError, ask_for_screen, type_into};
pub use host::{main, remove_sockets};
pub use people::Want;
pub use spec::{Agent, ScreenSpec, TerminalSpec};
pub use turn::{TURN, tell};
pub use viewer::{Watched, watch};

/// The subcommand of a terminal host. Its [`TerminalSpec`] is on its standard input.
pub const TERMINAL: &str = "__terminal";

/// The size of a terminal that no one looks at: that of a tmux window without a client, so that most windows change
/// nothing when they come.
const ROWS: u16 = 24;
const COLUMNS: u16 = 80;
