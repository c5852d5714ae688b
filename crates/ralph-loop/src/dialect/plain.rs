//! Any command's output, as text.
//!
//! Each line is an event as soon as it is whole. Invariant: what counts as the agent's own
//! words, and is searched for a tag, is the output as a person would read it, without control
//! sequences and without the prompt's echo.
//!
//! Deliberately absent: tools, costs, limits. To find those in prose is to guess.

use super::Sink;
use super::ear::Ear;
use super::event::AgentEvent;
use super::lines::Line;
use super::seen::Seen;
use crate::echo::EchoFilter;
use crate::text::printable;
use std::borrow::Cow;

#[derive(Debug)]
pub(super) struct Plain {
    echo: EchoFilter,
    words: Words,
}

/// The agent's own words, as far as anyone needs to know them.
#[derive(Debug)]
struct Words {
    any: bool,
    ear: Ear,
}

impl Plain {
    pub(super) fn new(prompt: &str, ear: Ear) -> Plain {
        Plain { echo: EchoFilter::new(prompt), words: Words { any: false, ear } }
    }

    pub(super) fn line(&mut self, line: Line<'_>, seen: &mut Seen, sink: Sink<'_>) {
        match line {
            Line::Whole(bytes) => {
                // The plain check is several times faster than the one that also mends.
                let text =
                    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
                if !self.words.settled() {
                    self.echo.feed_line(&printable(&text), &mut |line| self.words.hear(line));
                }
                sink(AgentEvent::Text { text, parent: None });
            }
            // It could not be read, but it was said.
            Line::TooLong { bytes } => {
                self.words.any = true;
                self.words.ear.boundary();
                seen.unparsed = seen.unparsed.saturating_add(1);
                sink(AgentEvent::Unparsed { bytes, sample: Cow::Borrowed("") });
            }
        }
    }

    pub(super) fn finish(mut self, seen: &mut Seen) {
        self.echo.finish(&mut |line| self.words.hear(line));
        seen.text = self.words.any;
        seen.steps = u32::from(self.words.any);
        self.words.ear.finish(seen);
    }
}

impl Words {
    fn hear(&mut self, line: &str) {
        self.any = self.any || !line.trim().is_empty();
        self.ear.feed(line);
        self.ear.feed("\n");
    }

    /// Nothing that follows can change what was heard.
    fn settled(&self) -> bool {
        self.any && self.ear.settled()
    }
}
