//! Planning: what an agent that writes a task list may change, and what came of it.
//!
//! The agent works on drafts. [`merge`] makes the list that is put in place from a draft: whatever the
//! agent did to stories that are begun or done, they stay as they were. [`prd`] does the same for the
//! PRD, and [`summary`] says what changed. All of it is data; nothing here sees a disk.
//!
//! Deliberately absent: what makes a list a good one. That is checked like any other list.

pub mod merge;
pub mod prd;
pub mod proposal;
pub mod spent;
pub mod summary;

pub use merge::{Dropped, DroppedChange, Merged, Scope, has_begun, keep_fields, merge};
pub use proposal::{FieldChange, Proposal};
pub use spent::Spent;
pub use summary::{CheckOutcome, PlanSummary, PlannedStory, StoryChange, TriedCheck};
