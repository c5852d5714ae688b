//! What the checks of a proof run on.

pub mod after_check;
mod carry;
pub mod copy;
mod gates;
mod mounted;
pub mod mounts;
pub mod only_outside;
mod outside;
pub mod prepare;
mod settings_outside;
pub mod test_data;
pub mod watched;
