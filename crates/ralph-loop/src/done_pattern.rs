//! A pattern that ends a loop when the agent's own words match it.
//!
//! Words are matched line by line, so `^` and `$` are the ends of a line, and how the stream is
//! cut into reads changes nothing. Regexes are Rust's: they match in linear time whatever an
//! agent prints, which lookaround and backreferences would not.

use crate::text::first_bytes;
use regex::Regex;
use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DonePatternError {
    #[error("the done pattern is empty")]
    Empty,
    #[error("the done pattern uses {0}, which is not supported")]
    Unsupported(&'static str),
    #[error("the done pattern is not a valid regular expression: {0}")]
    Invalid(String),
}

/// Longer lines are matched by their beginning.
const LINE_MAX: usize = 64 << 10;

#[derive(Clone, Debug)]
pub struct DonePattern {
    regex: Regex,
    line: String,
    matched: bool,
}

impl DonePattern {
    pub fn new(pattern: &str) -> Result<DonePattern, DonePatternError> {
        if pattern.trim().is_empty() {
            return Err(DonePatternError::Empty);
        }
        let regex = Regex::new(pattern).map_err(|error| refusal(&error))?;
        Ok(DonePattern { regex, line: String::new(), matched: false })
    }

    pub fn feed(&mut self, text: &str) {
        if self.matched {
            return;
        }
        let mut lines = text.split('\n');
        // What comes before the first newline ends the line that is open.
        if let Some(rest) = lines.next() {
            self.add(rest);
        }
        for line in lines {
            self.boundary();
            self.add(line);
        }
    }

    /// The line is over.
    pub fn boundary(&mut self) {
        self.matched = self.matched || (!self.line.is_empty() && self.regex.is_match(&self.line));
        self.line.clear();
    }

    pub fn matched(&self) -> bool {
        self.matched
    }

    fn add(&mut self, piece: &str) {
        let room = LINE_MAX.saturating_sub(self.line.len());
        self.line.push_str(first_bytes(piece, room));
    }
}

/// The parser's report has several lines with a picture; its last one says what is wrong.
fn refusal(error: &regex::Error) -> DonePatternError {
    let text = error.to_string();
    if text.contains("look-around") {
        return DonePatternError::Unsupported("lookaround");
    }
    if text.contains("backreferences") {
        return DonePatternError::Unsupported("backreferences");
    }
    let last = text.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
    DonePatternError::Invalid(last.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &str, pieces: &[&str]) -> bool {
        let mut pattern = DonePattern::new(pattern).unwrap();
        pieces.iter().for_each(|piece| pattern.feed(piece));
        pattern.boundary();
        pattern.matched()
    }

    #[test]
    fn the_seeds_patterns_match() {
        assert!(matches("All tasks complete", &["so: All tasks complete."]));
        assert!(matches("IMPLEMENTATION_PLAN.md.*100%", &["IMPLEMENTATION_PLAN.md is at 100%\n"]));
        assert!(!matches("No remaining tasks", &["No remaining\ntasks"]));
        assert!(matches("^done$", &["not yet\ndone\nor so"]));
        assert!(!matches("^done$", &["not done"]));
    }

    #[test]
    fn what_rust_cannot_match_is_refused_with_that_reason() {
        let refused = |pattern| DonePattern::new(pattern).unwrap_err();
        assert_eq!(refused("(?=x)done"), DonePatternError::Unsupported("lookaround"));
        assert_eq!(refused("(?<!not )done"), DonePatternError::Unsupported("lookaround"));
        assert_eq!(refused(r"(a)\1"), DonePatternError::Unsupported("backreferences"));
        assert_eq!(refused(" "), DonePatternError::Empty);
        assert_eq!(refused("(done"), DonePatternError::Invalid("unclosed group".into()));
    }

    proptest! {
        #[test]
        fn how_the_text_is_cut_changes_nothing(text in "[ab\nü]{0,40}", cuts in prop::collection::vec(0..40_usize, 0..5)) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| first_bytes(&text, at).len()).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&str> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            let expected = text.lines().any(|line| line.contains("ab") && line.ends_with('b'));
            prop_assert_eq!(matches("ab(.*b)?$", &pieces), expected);
        }
    }
}
