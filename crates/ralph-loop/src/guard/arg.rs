//! A word of a command as far as it is known.
//!
//! Unknown parts are characters of their own in the text ("holes"), so that a word can be matched like any
//! string. Characters of the input that look like holes are replaced before anything is parsed.

use std::borrow::Cow;
use std::fmt;

/// A part that can be any text.
pub const UNKNOWN: char = '\u{F8F0}';
/// A part that holds a secret: the content of a key file, the value of `$API_TOKEN`.
pub const SECRET: char = '\u{F8F1}';
/// A part that comes from the network.
pub const REMOTE: char = '\u{F8F5}';
/// `*` that is not quoted, likewise `?` and `[`: they stand for names of files.
pub const STAR: char = '\u{F8F2}';
pub const ANY_ONE: char = '\u{F8F3}';
pub const BRACKET: char = '\u{F8F4}';

const HOLES: [char; 6] = [UNKNOWN, SECRET, REMOTE, STAR, ANY_ONE, BRACKET];

/// The text without characters that have a meaning of their own here.
pub fn without_holes(text: &str) -> Cow<'_, str> {
    match text.contains(HOLES) {
        true => Cow::Owned(text.replace(HOLES, "\u{FFFD}")),
        false => Cow::Borrowed(text),
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Arg(String);

impl Arg {
    pub fn new(text: impl Into<String>) -> Arg {
        Arg(text.into())
    }

    pub fn unknown() -> Arg {
        Arg(UNKNOWN.to_string())
    }

    /// With holes.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The text, if all of it is known.
    pub fn known(&self) -> Option<&str> {
        (!self.0.contains(HOLES)).then_some(&*self.0)
    }

    pub fn is_known(&self) -> bool {
        self.known().is_some()
    }

    pub fn has_unknown(&self) -> bool {
        self.0.contains([UNKNOWN, REMOTE])
    }

    pub fn is_remote(&self) -> bool {
        self.0.contains(REMOTE)
    }

    pub fn has_secret(&self) -> bool {
        self.0.contains(SECRET)
    }

    pub fn has_glob(&self) -> bool {
        self.0.contains([STAR, ANY_ONE, BRACKET])
    }

    /// With globs as the characters that they are written with.
    pub fn as_written(&self) -> String {
        self.0.replace(STAR, "*").replace(ANY_ONE, "?").replace(BRACKET, "[")
    }

    pub fn is_flag(&self) -> bool {
        self.0.len() > 1 && self.0.starts_with('-')
    }

    /// What is behind the last slash.
    pub fn base_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }
}

impl From<&str> for Arg {
    fn from(text: &str) -> Arg {
        Arg::new(text)
    }
}

/// Characters of a word that are shown.
const MOST_SHOWN: usize = 300;

/// As it may be shown to people.
impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.char_indices().nth(MOST_SHOWN).map_or(self.0.len(), |(at, _)| at);
        for c in self.0[..end].chars() {
            match c {
                UNKNOWN => f.write_str("<unknown>")?,
                SECRET => f.write_str("<secret>")?,
                REMOTE => f.write_str("<from the network>")?,
                STAR => f.write_str("*")?,
                ANY_ONE => f.write_str("?")?,
                BRACKET => f.write_str("[")?,
                c if c.is_control() => f.write_str(" ")?,
                c => write!(f, "{c}")?,
            }
        }
        if end < self.0.len() {
            f.write_str("…")?;
        }
        Ok(())
    }
}
