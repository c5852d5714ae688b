//! Stories on disk: specs, the state of a project, and the record of what was done.
//!
//! Nothing here decides what runs next. What a user wrote is read as it is, what is wrong with
//! it is data ([`Problem`]), and of a spec only the one word is ever changed that says whether it
//! is done.

pub mod added;
pub mod backlog;
mod cycle;
mod find;
mod frontmatter;
pub mod mark;
mod new;
mod node;
pub mod own_changes;
mod problem;
pub mod progress_txt;
mod spec;
pub mod state_file;
pub mod strict;

pub use backlog::Backlog;
pub use new::{NewStory, NewStoryError};
pub use problem::{Problem, Severity};
pub use spec::Spec;
