//! What a stream came to, and whether that is an answer.
//!
//! [`StreamSummary`] is the whole of a stream that the policy knows: small, bounded, and written to the
//! journal as it is. [`answer`] is the one place that weighs it against the exit code.
//!
//! Deliberately absent: completion. `StreamSummary::tag` is what the agent claims; what the claim is
//! worth is decided where the checks are known.

use super::refusal::{self, Complaint, Refusal};
use super::{Dialect, OutputKind};
use crate::money::Usd;
use crate::signal::Signals;
use crate::text::clip;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::AddAssign;

/// The record of one agent's stream. Every field at its default is left out of the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamSummary {
    /// The agent said something: its own words, not blank, not the prompt's echo.
    #[serde(skip_serializing_if = "is_default")]
    pub text: bool,
    /// The content of the first completion tag, trimmed, at most 200 characters.
    #[serde(skip_serializing_if = "is_default")]
    pub tag: Option<String>,
    /// Its own words match the run's done pattern.
    #[serde(skip_serializing_if = "is_default")]
    pub matched: bool,
    /// All that a plain agent printed is JSON: whatever it said, nothing could be heard.
    #[serde(skip_serializing_if = "is_default")]
    pub json: bool,
    /// What it signals about a story, where that is listened for.
    #[serde(skip_serializing_if = "is_default")]
    pub signals: Signals,
    /// The agent's own messages, sub-agents' excluded. One for a plain agent that said anything.
    #[serde(skip_serializing_if = "is_default")]
    pub steps: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub tools: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub tool_errors: u32,
    /// What the session cost, as its last result says.
    #[serde(skip_serializing_if = "is_default")]
    pub cost: Option<Usd>,
    #[serde(skip_serializing_if = "is_default")]
    pub tokens: Tokens,
    /// The stream said that it is over.
    #[serde(skip_serializing_if = "is_default")]
    pub result: bool,
    /// What the stream reports as its failure, at most 500 characters.
    #[serde(skip_serializing_if = "is_default")]
    pub error: Option<String>,
    /// The agent's own word for that failure: `rate_limit`, `authentication_failed`, …, or ours
    /// where an agent says it only in a sentence.
    #[serde(skip_serializing_if = "is_default")]
    pub error_kind: Option<String>,
    /// The HTTP status behind that failure.
    #[serde(skip_serializing_if = "is_default")]
    pub api_status: Option<u16>,
    /// The service refuses until then (Unix seconds), if a limit was hit and not lifted.
    #[serde(skip_serializing_if = "is_default")]
    pub blocked_until: Option<i64>,
    /// Tool calls that were refused.
    #[serde(skip_serializing_if = "is_default")]
    pub denied: u32,
    /// The first of them and why, at most 250 characters: `Bash: needs approval`.
    #[serde(skip_serializing_if = "is_default")]
    pub denial: Option<String>,
    /// Lines that are not in the dialect.
    #[serde(skip_serializing_if = "is_default")]
    pub unparsed: u32,
    /// Events in the dialect's form that mean nothing to us.
    #[serde(skip_serializing_if = "is_default")]
    pub other: u32,
    #[serde(skip_serializing_if = "is_default")]
    pub session: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Without what was read from a cache or written to one, whatever the agent's own numbers mean.
    #[serde(skip_serializing_if = "is_default")]
    pub input: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub output: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub cache_read: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub cache_write: u64,
}

impl StreamSummary {
    /// Notes a tool call that was refused.
    pub(super) fn deny(&mut self, tool: &str, why: &str) {
        const DENIAL_CHARS: usize = 250;
        self.denied = self.denied.saturating_add(1);
        if self.denial.is_none() && !why.trim().is_empty() {
            self.denial = Some(clip(&format!("{tool}: {}", why.trim()), DENIAL_CHARS).into_owned());
        }
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

/// Whether an agent answered, failed or was refused, apart from what it claims.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Said,
    /// It ended well and said nothing.
    Empty,
    Failed {
        why: String,
    },
    /// A usage limit: the service refuses for now. Not a failure.
    Limited {
        why: String,
        /// Unix seconds, where the service has said.
        until: Option<i64>,
    },
    /// The service is overloaded or cannot be reached. Not a failure either.
    Unavailable {
        why: String,
    },
    /// No key, no such model, no credit, a flag that the program does not know: it will not
    /// change by itself.
    #[serde(rename = "unauthorized")]
    Refused {
        why: String,
        #[serde(default, skip_serializing_if = "Refusal::is_login")]
        about: Refusal,
    },
}

impl Answer {
    /// What went wrong, if anything did.
    pub fn problem(&self) -> Option<&str> {
        match self {
            Answer::Said | Answer::Empty => None,
            Answer::Failed { why }
            | Answer::Limited { why, .. }
            | Answer::Unavailable { why }
            | Answer::Refused { why, .. } => Some(why),
        }
    }
}

/// Judges the stream, the exit code and what the program complained of together.
///
/// The stream's own error comes first, because it says more than `exit code 1`. Words that match
/// the run's done pattern count whatever the exit code.
pub fn answer(dialect: Dialect, exit: Exit, seen: &StreamSummary, complaint: Option<&Complaint>) -> Answer {
    let failed = |why: String| Answer::Failed { why };
    let result_missing = match dialect.spec().output {
        OutputKind::Stream => !seen.result,
        OutputKind::Text => false,
    };
    if let Some(error) = &seen.error {
        refusal::of_stream(error, seen)
    } else if let Some(refused) = refusal::of_program(exit, seen, complaint) {
        refused
    } else if !exit.is_success() && seen.blocked_until.is_some() {
        Answer::Limited { why: exit.to_string(), until: seen.blocked_until }
    } else if matches!((exit, dialect), (Exit::Code(_), Dialect::Plain)) && seen.matched {
        Answer::Said
    } else if !exit.is_success() {
        failed(exit.to_string())
    } else if result_missing {
        failed("exited without a result".to_owned())
    } else if seen.text {
        Answer::Said
    } else {
        Answer::Empty
    }
}

impl Exit {
    pub fn is_success(self) -> bool {
        self == Exit::Code(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Signal(signal) => write!(f, "killed by signal {signal}"),
        }
    }
}

impl Tokens {
    /// Of all kinds.
    pub fn total(self) -> u64 {
        let Tokens { input, output, cache_read, cache_write } = self;
        [output, cache_read, cache_write].iter().fold(input, |sum, more| sum.saturating_add(*more))
    }

    /// What is in these and not in earlier ones.
    pub fn beyond(self, earlier: Tokens) -> Tokens {
        Tokens {
            input: self.input.saturating_sub(earlier.input),
            output: self.output.saturating_sub(earlier.output),
            cache_read: self.cache_read.saturating_sub(earlier.cache_read),
            cache_write: self.cache_write.saturating_sub(earlier.cache_write),
        }
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, more: Tokens) {
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
        self.cache_read = self.cache_read.saturating_add(more.cache_read);
        self.cache_write = self.cache_write.saturating_add(more.cache_write);
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(why: &str) -> Answer {
        Answer::Failed { why: why.to_owned() }
    }

    #[test]
    fn a_stream_is_believed_only_with_a_result_and_a_good_exit() {
        let said = StreamSummary { text: true, result: true, ..StreamSummary::default() };
        let error = StreamSummary { error: Some("API error 429: slow down".into()), ..said.clone() };
        let cut = StreamSummary { result: false, ..said.clone() };
        let empty = StreamSummary { text: false, ..said.clone() };
        for (exit, seen, expected) in [
            (Exit::Code(0), &said, Answer::Said),
            (Exit::Code(0), &empty, Answer::Empty),
            (Exit::Code(0), &cut, why("exited without a result")),
            (Exit::Code(0), &error, why("API error 429: slow down")),
            (Exit::Code(1), &error, why("API error 429: slow down")),
            (Exit::Code(3), &said, why("exit code 3")),
            (Exit::Signal(9), &cut, why("killed by signal 9")),
        ] {
            for dialect in [Dialect::Claude, Dialect::Codex, Dialect::Amp] {
                assert_eq!(answer(dialect, exit, seen, None), expected, "{}", dialect.name());
            }
        }
    }

    #[test]
    fn a_plain_agent_is_judged_by_its_exit_code() {
        let said = StreamSummary { text: true, ..StreamSummary::default() };
        assert_eq!(answer(Dialect::Plain, Exit::Code(0), &said, None), Answer::Said);
        assert_eq!(answer(Dialect::Plain, Exit::Code(0), &StreamSummary::default(), None), Answer::Empty);
        assert_eq!(answer(Dialect::Plain, Exit::Code(2), &said, None), why("exit code 2"));
        let matched = StreamSummary { matched: true, ..StreamSummary::default() };
        assert_eq!(answer(Dialect::Plain, Exit::Code(2), &matched, None), Answer::Said);
        assert_eq!(answer(Dialect::Plain, Exit::Signal(9), &matched, None), why("killed by signal 9"));
    }

    #[test]
    fn the_record_of_nothing_is_small_and_reads_back() {
        assert_eq!(serde_json::to_string(&StreamSummary::default()).unwrap(), "{}");
        let seen = StreamSummary {
            tag: Some("DONE".into()),
            tokens: Tokens { input: 3, ..Tokens::default() },
            ..StreamSummary::default()
        };
        let text = serde_json::to_string(&seen).unwrap();
        assert_eq!(text, r#"{"tag":"DONE","tokens":{"input":3}}"#);
        assert_eq!(serde_json::from_str::<StreamSummary>(&text).unwrap(), seen);
        assert_eq!(serde_json::to_string(&Exit::Signal(9)).unwrap(), r#"{"signal":9}"#);
    }
}
