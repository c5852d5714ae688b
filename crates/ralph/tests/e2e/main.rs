//! Whole loops of the real Claude Code and the real Codex.
//!
//! Each test gives one of them a scripted model on loopback ([`stub_model`]), a home, a project
//! and an environment of its own, and runs it through the real `ralph`. `make e2e` installs the
//! two programs and names their directory in `RALPH_E2E_AGENTS`; without it the tests say so
//! and pass, so that `make test` stays fast.
//!
//! Nothing leaves the machine: what would go elsewhere is sent to the scripted model as to a
//! proxy, which refuses it and logs it. Nothing waits without an end, and what a test starts is
//! ended by its process id.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests drive the program from outside"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy.toml allows them in tests, but not in helpers"
)]

mod failures;
mod guard;
mod hooks;
mod interactive;
mod interactive_killed;
mod interactive_people;
mod interactive_prompts;
mod limits;
mod loops;
mod partial;
mod permissions;
mod plan;
mod plan_talk;
mod plugin;
mod processes;
#[path = "../it/screen.rs"]
mod screen;
mod stage;
mod verify;
mod worker;
