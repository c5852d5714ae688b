//! The policy, shown from outside: `State::apply` and `next` as a shell uses them.
//!
//! `story` describes runs in words; `table` holds every standing against every fact; `iterations`
//! and `interventions` have a sentence for each promise of the loop; `life` holds properties of random lives.

#![expect(
    clippy::panic,
    clippy::expect_used,
    reason = "clippy.toml allows them in tests, but not in helpers"
)]

mod golden;
mod growth;
mod interventions;
mod iterations;
mod life;
mod low_disk;
mod moments;
mod proof;
mod services;
mod stories;
mod story;
mod table;
mod tasks;
mod workers;
