//! The policy of ralph's loop.
//!
//! A run is a list of recorded facts ([`event`]). [`State::apply`] folds one of them,
//! [`next()`] names what follows; together they decide everything. Nothing in this crate
//! sees a clock, a disk, a process or a future: time and results arrive inside facts, so
//! a run that is replayed from its journal is the run that was lived.
//!
//! Deliberately absent: retries of an agent's own API calls (the agent owns those), and
//! any text for people beyond the prompt, the progress file and a sentence per stop reason.

pub mod ask;
pub mod check;
pub mod claim;
pub mod context;
pub mod dialect;
pub mod done_pattern;
pub mod echo;
pub mod event;
pub mod gates;
pub mod guard;
pub mod interactive;
pub mod limits;
pub mod low_disk;
pub mod money;
mod needed;
mod next;
pub mod plan;
pub mod planner;
pub mod price;
pub mod progress;
pub mod prompt;
pub mod proof;
mod quoting;
pub mod review;
pub mod run;
pub mod sandbox;
pub mod scm;
pub mod secrets;
pub mod signal;
pub mod state;
mod stop_reason;
pub mod story_id;
pub mod strict;
pub mod summary;
pub mod task_list;
pub mod test_report;
pub mod text;
pub mod time;
pub mod verdict;
pub mod view;

pub use needed::{needed_logs, needed_texts};
pub use next::{Action, GRACE_MS, Refused, WaitsFor, next, refusal, space_wanted, wake_at};
pub use run::Run;
pub use state::State;
