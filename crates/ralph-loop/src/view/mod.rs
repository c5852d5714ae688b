//! What people want to know of a run: one fold over its events, for every report there is.
//!
//! [`Moments`] follows the same events as [`State`](crate::State) and says what each of them means
//! ([`Moment`]): which agent it was that ended, which check, whether a wait is news. Whatever an event
//! alone does not say is remembered here, and nowhere else: a format only formats. [`RunView`] is
//! the run at one moment; lists, the status line and files are made of it.
//!
//! Live and from a journal the moments are the same.

mod agent_now;
mod history;
mod moment;
mod moments;
mod plan_view;
mod run_view;

pub use agent_now::{AgentNow, OpenTool};
pub use history::{CheckReport, EndKind, Iteration};
pub use moment::{Moment, Update, Wait};
pub use moments::Moments;
pub use plan_view::{ItemView, Mark, items};
pub use run_view::{Assignment, CheckView, Doing, RunView, Totals, WaitsForPerson, Work};
