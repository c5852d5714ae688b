//! Who listens to the agent's own words, and what for.

use super::stream_summary::StreamSummary;
use crate::claim::TagScanner;
use crate::done_pattern::DonePattern;
use crate::signal::SignalScanner;
use crate::text::clip;

/// What an agent's words are searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanFor {
    /// A completion tag.
    Completion,
    /// A story's signals too.
    Signals,
}

/// A claim is a word or two. A longer one is recorded as cut, and then equals no wanted word.
const TAG_CHARS: usize = 200;

#[derive(Debug)]
pub(super) struct ClaimScanner {
    tags: TagScanner,
    signals: Option<SignalScanner>,
    pattern: Option<DonePattern>,
}

impl ClaimScanner {
    pub(super) fn new(listen: ScanFor, pattern: Option<DonePattern>) -> ClaimScanner {
        let signals = match listen {
            ScanFor::Completion => None,
            ScanFor::Signals => Some(SignalScanner::default()),
        };
        ClaimScanner { tags: TagScanner::new(), signals, pattern }
    }

    pub(super) fn feed(&mut self, text: &str) {
        self.tags.feed(text);
        if let Some(signals) = &mut self.signals {
            signals.feed(text);
        }
        if let Some(pattern) = &mut self.pattern {
            pattern.feed(text);
        }
    }

    pub(super) fn boundary(&mut self) {
        self.tags.boundary();
        if let Some(signals) = &mut self.signals {
            signals.boundary();
        }
        if let Some(pattern) = &mut self.pattern {
            pattern.boundary();
        }
    }

    /// Nothing that follows can change what was heard.
    pub(super) fn settled(&self) -> bool {
        let pattern = self.pattern.as_ref().is_none_or(DonePattern::matched);
        self.signals.is_none() && self.tags.tag().is_some() && pattern
    }

    pub(super) fn finish(mut self, seen: &mut StreamSummary) {
        self.boundary();
        seen.matched = self.pattern.is_some_and(|pattern| pattern.matched());
        seen.tag = self.tags.tag().map(|tag| clip(tag, TAG_CHARS).into_owned());
        seen.signals = self.signals.map(SignalScanner::finish).unwrap_or_default();
    }
}
