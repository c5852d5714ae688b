//! Who listens to the agent's own words, and what for.

use super::seen::Seen;
use crate::claim::TagScanner;
use crate::signal::SignalScanner;
use crate::text::clip;

/// What an agent's words are searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A completion tag.
    Completion,
    /// A story's signals too.
    Signals,
}

/// A claim is a word or two. A longer one is recorded as cut, and then equals no wanted word.
const TAG_CHARS: usize = 200;

#[derive(Debug)]
pub(super) struct Ear {
    tags: TagScanner,
    signals: Option<SignalScanner>,
}

impl Ear {
    pub(super) fn new(listen: Listen) -> Ear {
        let signals = match listen {
            Listen::Completion => None,
            Listen::Signals => Some(SignalScanner::default()),
        };
        Ear { tags: TagScanner::new(), signals }
    }

    pub(super) fn feed(&mut self, text: &str) {
        self.tags.feed(text);
        if let Some(signals) = &mut self.signals {
            signals.feed(text);
        }
    }

    pub(super) fn boundary(&mut self) {
        self.tags.boundary();
        if let Some(signals) = &mut self.signals {
            signals.boundary();
        }
    }

    /// Nothing that follows can change what was heard.
    pub(super) fn settled(&self) -> bool {
        self.signals.is_none() && self.tags.tag().is_some()
    }

    pub(super) fn finish(self, seen: &mut Seen) {
        seen.tag = self.tags.tag().map(|tag| clip(tag, TAG_CHARS).into_owned());
        seen.signals = self.signals.map(SignalScanner::finish).unwrap_or_default();
    }
}
