//! Amp's `--stream-json`: compatible with readers of Claude Code's.
//!
//! So it is: this is Claude's reader, told of the one thing that means something else. Amp says
//! the prompt again as a `user` text, where Claude Code puts what hooks and signals say.
//!
//! What else differs needs no telling apart, as each has its own name or place:
//! - Messages have no id, and each is whole.
//! - A failed result has its reason in `error`, often as `402 {…}`.
//! - The list is `todo_write`'s, with `todo` and `in-progress`; a command is in `cmd`.
//!
//! Deliberately absent: cost. Amp does not say what a run costs; `price` guesses it by tokens.

use super::claim_scanner::ClaimScanner;
use super::claude::{Claude, UserText};

pub(super) fn reader(scanner: ClaimScanner) -> Claude {
    Claude::new(UserText::Prompt, scanner)
}
