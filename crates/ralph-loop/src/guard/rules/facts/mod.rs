//! What rules ask of an invocation: small tests, named for what they test.
//!
//! A test says what a command would do. Which of that is dangerous is said by the rows that use it.

pub mod history;
pub mod net;
pub mod places;
pub mod repo;
pub mod secrets;
pub mod sql;
pub mod touch;
pub mod uploads;
pub mod variables;
