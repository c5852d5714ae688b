//! Secrets, and text without them.
//!
//! [`known`] says which values are secrets, [`forms`] in which shapes one can be printed, a [`Masker`]
//! replaces them in a text, and a [`MaskedStream`] in bytes that come in pieces. A secret becomes
//! `***NAME***`: it says which one was there, is valid inside a JSON string, and needs no quotes in a shell.
//!
//! Invariant: no byte of an occurrence is left, also where two overlap, and the result does not depend on
//! the pieces that a stream comes in.
//!
//! Deliberately absent: guesses by the looks of a word. What is masked in one run would not be in the next.

mod forms;
mod fragments;
pub mod known;
mod masker;
mod sealed;
mod stream;

pub use fragments::Fragments;
pub use masker::Masker;
pub use sealed::{SealedMark, plain_marks};
pub use stream::MaskedStream;

/// A value that must not be shown, and the name that is shown in its place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Secret {
    pub name: String,
    pub value: String,
}

/// Without the value: it may end up in a message.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Secret").field(&self.name).finish()
    }
}

/// Shorter values are not masked: they would be found in words that have nothing to do with them.
pub const SHORTEST: usize = 8;
