//! What the user has decided: levels of categories, commands that are allowed or denied.

use super::arg::Arg;
use super::category::{Category, Level};
use super::invocation::Invocation;
use super::pattern::glob;
use std::collections::BTreeMap;
use thiserror::Error;

/// The user's decisions. The default is the strictest: every category blocks.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    levels: BTreeMap<Category, Level>,
    allow: Vec<Entry>,
    deny: Vec<Entry>,
}

/// A command: words, where `*` is any text, and at the end any further words.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    text: String,
    words: Vec<String>,
    /// `git push *`
    is_open: bool,
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum PolicyError {
    #[error("an entry names no command: {0:?}")]
    Empty(String),
    #[error("an entry allows every command: {0:?}")]
    Everything(String),
    #[error("no such category: {0}")]
    NoCategory(String),
}

impl Policy {
    pub fn set_level(&mut self, category: &str, level: Level) -> Result<(), PolicyError> {
        let known =
            Category::by_name(category).ok_or_else(|| PolicyError::NoCategory(category.to_owned()))?;
        self.levels.insert(known, level);
        Ok(())
    }

    pub fn level(&self, category: Category) -> Level {
        self.levels.get(&category).copied().unwrap_or(Level::Block)
    }

    pub fn allow(&mut self, entry: &str) -> Result<(), PolicyError> {
        let entry = Entry::parse(entry)?;
        if entry.words.iter().all(|word| word.chars().all(|c| c == '*')) {
            return Err(PolicyError::Everything(entry.text));
        }
        self.allow.push(entry);
        Ok(())
    }

    pub fn deny(&mut self, entry: &str) -> Result<(), PolicyError> {
        self.deny.push(Entry::parse(entry)?);
        Ok(())
    }

    /// The entry that allows an invocation.
    pub fn allows(&self, invocation: &Invocation) -> Option<&str> {
        // What is not known cannot have been meant.
        if !invocation.program.is_known() || invocation.args.iter().any(Arg::has_unknown) {
            return None;
        }
        self.allow.iter().find(|entry| entry.matches(invocation)).map(|entry| &*entry.text)
    }

    /// The entry that denies it.
    pub fn denies(&self, invocation: &Invocation) -> Option<&str> {
        self.deny.iter().find(|entry| entry.matches(invocation)).map(|entry| &*entry.text)
    }
}

impl Entry {
    fn parse(text: &str) -> Result<Entry, PolicyError> {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let is_open = words.len() > 1 && words.last().is_some_and(|word| word == "*");
        if is_open {
            words.pop();
        }
        match words.is_empty() {
            true => Err(PolicyError::Empty(text.to_owned())),
            false => Ok(Entry { text: text.trim().to_owned(), words, is_open }),
        }
    }

    fn matches(&self, invocation: &Invocation) -> bool {
        let Some((program, args)) = self.words.split_first() else { return false };
        let given = &invocation.args;
        let fits = match self.is_open {
            true => given.len() >= args.len(),
            false => given.len() == args.len(),
        };
        let is_program = |name: &str| glob(program.as_bytes(), name.as_bytes());
        fits && (is_program(invocation.program.text()) || is_program(invocation.name()))
            && args
                .iter()
                .zip(given)
                .all(|(wanted, arg)| glob(wanted.as_bytes(), arg.as_written().as_bytes()))
    }
}
