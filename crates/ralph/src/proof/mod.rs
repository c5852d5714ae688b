//! What the checks of a proof run on.

pub mod after_check;
mod carry;
pub mod copy;
mod gates;
pub mod mounts;
mod outside;
pub mod prepare;
