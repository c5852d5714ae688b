//! Any command's output, as text.
//!
//! Each line is an event as soon as it is whole. Invariant: what counts as the agent's own
//! words is the output as a person would read it, without control sequences and without the
//! prompt's echo. A claim or a signal is a tag that ends its line, outside quotes, code fences and
//! JSON. A done pattern is looked for in all of its words, on standard error too.
//!
//! Deliberately absent: tools, costs, limits. To find those in prose is to guess.

use crate::claim::ending_its_line;
use crate::dialect::Sink;
use crate::dialect::claim_scanner::{ClaimScanner, ScanFor};
use crate::dialect::event::AgentEvent;
use crate::dialect::lines::Line;
use crate::dialect::stream_summary::StreamSummary;
use crate::done_pattern::DonePattern;
use crate::echo::EchoFilter;
use crate::quoting::{JsonOnly, Manner, Surroundings, json_strings};
use crate::text::printable;
use std::borrow::Cow;

#[derive(Debug)]
pub(in crate::dialect) struct Plain {
    echo: EchoFilter,
    words: Words,
    json: JsonOnly,
    errors: Option<Errors>,
}

/// The agent's own words, as far as claims and signals need them.
#[derive(Debug)]
struct Words {
    any: bool,
    scanner: ClaimScanner,
    surroundings: Surroundings,
    matcher: Option<Matcher>,
}

/// What it prints on standard error, which only a done pattern is looked for in.
#[derive(Debug)]
struct Errors {
    echo: EchoFilter,
    surroundings: Surroundings,
    matcher: Matcher,
}

/// Looks for a done pattern.
#[derive(Debug)]
struct Matcher {
    pattern: DonePattern,
    /// For the strings of a JSON line: many agents print the prompt back in one.
    echo: EchoFilter,
}

impl Plain {
    pub(in crate::dialect) fn new(prompt: &str, listen: ScanFor, pattern: Option<&DonePattern>) -> Plain {
        let echo = || EchoFilter::new(prompt);
        let matcher = || pattern.map(|pattern| Matcher { pattern: pattern.clone(), echo: echo() });
        let surroundings = Surroundings::default;
        let words = Words {
            any: false,
            scanner: ClaimScanner::new(listen, None),
            surroundings: surroundings(),
            matcher: matcher(),
        };
        let errors = matcher().map(|matcher| Errors { echo: echo(), surroundings: surroundings(), matcher });
        Plain { echo: echo(), words, json: JsonOnly::default(), errors }
    }

    pub(in crate::dialect) fn line(&mut self, line: Line<'_>, seen: &mut StreamSummary, sink: Sink<'_>) {
        match line {
            Line::Whole(bytes) => {
                let text = text_of(bytes);
                if !self.words.settled() {
                    let line = printable(&text);
                    self.json.follow(&line);
                    self.echo.feed_line(&line, &mut |line| self.words.hear(line));
                }
                sink(AgentEvent::Text { text, parent: None });
            }
            // It could not be read, but it was said.
            Line::TooLong { bytes } => {
                self.words.any = true;
                self.words.scanner.boundary();
                self.words.surroundings.skip();
                seen.unparsed = seen.unparsed.saturating_add(1);
                sink(AgentEvent::Unparsed { bytes, sample: Cow::Borrowed("") });
            }
        }
    }

    pub(in crate::dialect) fn error_line(&mut self, line: &Line<'_>) {
        if let (Some(errors), Line::Whole(bytes)) = (&mut self.errors, line)
            && !errors.matcher.pattern.matched()
        {
            let Errors { echo, surroundings, matcher } = errors;
            echo.feed_line(&printable(&text_of(bytes)), &mut |line| {
                matcher.line(line, surroundings.follow(line));
            });
        }
    }

    pub(in crate::dialect) fn finish(mut self, seen: &mut StreamSummary) {
        self.echo.finish(&mut |line| self.words.hear(line));
        seen.text = self.words.any;
        seen.steps = u32::from(self.words.any);
        seen.json = self.json.is_json();
        self.words.scanner.finish(seen);
        seen.matched = self.words.matcher.is_some_and(|matcher| matcher.pattern.matched());
        if let Some(Errors { echo, mut surroundings, mut matcher }) = self.errors {
            echo.finish(&mut |line| matcher.line(line, surroundings.follow(line)));
            seen.matched = seen.matched || matcher.pattern.matched();
        }
    }
}

/// The plain check is several times faster than the one that also replaces.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

impl Words {
    fn hear(&mut self, line: &str) {
        self.any = self.any || !line.trim().is_empty();
        let manner = self.surroundings.follow(line);
        let ending = Some(line).filter(|_| manner == Manner::Own).and_then(ending_its_line);
        if ending.is_none_or(|ending| ending.len() < line.trim_end().len()) {
            self.scanner.boundary();
        }
        if let Some(ending) = ending {
            self.scanner.feed(ending);
            self.scanner.feed("\n");
        }
        if let Some(matcher) = &mut self.matcher {
            matcher.line(line, manner);
        }
    }

    /// Nothing that follows can change what was heard.
    fn settled(&self) -> bool {
        let matched = self.matcher.as_ref().is_none_or(|matcher| matcher.pattern.matched());
        self.any && self.scanner.settled() && matched
    }
}

impl Matcher {
    /// A line of the agent's own words.
    fn line(&mut self, line: &str, manner: Manner) {
        let echoed = match manner {
            Manner::Json => json_strings(line).any(|text| self.echo.is_in(&text)),
            Manner::Own | Manner::Quoted => false,
        };
        if !echoed {
            self.pattern.feed(line);
            self.pattern.boundary();
        }
    }
}
