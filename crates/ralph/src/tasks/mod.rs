//! A task list between runs: laid out, and put away once it is done with.
//!
//! What happens to it during a run is the engine's affair.

pub mod added;
pub mod archive;
pub mod fresh;
pub mod import;
