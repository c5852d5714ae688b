//! `ralph stories` from outside: a project of specs, an agent that is a shell script, and what
//! both have left afterwards.
//!
//! The first modules are named after the sections of the description that this loop is built to,
//! and their tests after its steps; the others after what was asked for beyond it.

mod commits;
mod failure_handling;
mod flags;
mod input;
mod main_loop;
mod mark_story_done;
mod order;
mod places;
mod prints;
mod prompts;
mod putting_back;
mod resuming;
mod signal_protocol;
pub mod stage;
mod startup_sequence;
mod state_machine;
mod twelve;
