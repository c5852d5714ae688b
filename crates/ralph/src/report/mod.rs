//! What people and programs get to see of a run.
//!
//! Reporters watch: they see the events, the state after each, and the agent's stream.
//! They decide nothing and cannot fail the run; a pipe that is closed is simply no longer
//! written to.

mod human;
mod ndjson;
mod out;
mod result;
mod status;
mod style;

pub use human::{Human, Loudness};
pub use ndjson::Ndjson;
pub use out::{Out, say};
pub use result::{ErrorReport, RunResult, Summary};
pub use style::{Style, fit};

use ralph_loop::dialect::AgentEvent;
use ralph_loop::event::{Event, Fact};
use ralph_loop::{Run, State};

pub trait Reporter {
    /// A fact of the run, already recorded and folded.
    fn event(&mut self, run: &Run, state: &State, event: &Event);
    /// A piece of the agent's stream, which lives only for this call.
    fn agent(&mut self, event: &AgentEvent<'_>);
    fn agent_stderr(&mut self, bytes: &[u8]);
    /// Something that went wrong without hurting the run.
    fn warn(&mut self, message: &str);
    /// Nothing more is coming for now: show what is held back.
    fn dry(&mut self);
    /// Whether time passing has to be shown.
    fn wants_ticks(&self) -> bool;
    fn tick(&mut self, run: &Run, state: &State, up_ms: u64);
}

/// The answer to a signal, whatever the format.
fn stop_asked(state: &State) -> &'static str {
    match state.stops_asked {
        1 => "Received signal, shutting down...\n(the current step is finished first; once more ends it now)",
        _ => "Received signal, ending everything now.",
    }
}

/// Shows nothing: for `--format json`, whose one object comes at the end.
pub struct Silent;

impl Reporter for Silent {
    fn event(&mut self, _: &Run, state: &State, event: &Event) {
        if let Fact::StopAsked = event.fact {
            say(stop_asked(state));
        }
    }
    fn agent(&mut self, _: &AgentEvent<'_>) {}
    fn agent_stderr(&mut self, _: &[u8]) {}
    fn warn(&mut self, message: &str) {
        say(&format!("ralph: warning: {message}"));
    }
    fn dry(&mut self) {}
    fn wants_ticks(&self) -> bool {
        false
    }
    fn tick(&mut self, _: &Run, _: &State, _: u64) {}
}
