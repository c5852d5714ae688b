//! The guard on this machine: what the user has decided, what there is to know about a tool call's surroundings, and
//! what has been denied.
//!
//! Whether a call may run is decided in `ralph_loop::guard`, which asks nothing but what [`world`] answers. The hook
//! that agents call is `hook/guard.rs`.

mod decided;
mod finding;
mod log;
mod orders;
mod standing;
mod world;

pub use decided::{DecidedError, decided};
pub use finding::{is_users_own, rule_name};
pub use log::{Entry, Failures, Outcome, append, read};
pub use orders::{Orders, OrdersError};
pub use standing::{can_be_watched, description, is_watched, unwatched};
pub use world::Surroundings;
