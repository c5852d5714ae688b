//! A task list between runs: created, and archived once it is done.
//!
//! What happens to it during a run is the engine's affair.

pub mod added;
pub mod archive;
pub mod fresh;
pub mod import;
