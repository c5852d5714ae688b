//! The agent as others see it: every test runs the real program.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests start programs and prepare files, and the helpers of tests may fail like tests"
)]

mod claude;
// Sessions and parents of foreign processes are read from /proc.
#[cfg(target_os = "linux")]
mod leftovers;
mod playing;
mod stage;
