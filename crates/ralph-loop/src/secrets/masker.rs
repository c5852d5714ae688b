//! Finds secrets in a text and replaces them.

use super::{Secret, forms};
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use serde_json::Value;
use std::borrow::Cow;
use std::ops::Range;

/// Knows all forms of all secrets. One that knows none masks nothing, and costs nothing.
#[derive(Default)]
pub struct Masker {
    /// What a secret is replaced with, by its number.
    marks: Vec<String>,
    names: Vec<String>,
    /// The number of a secret and its value.
    values: Vec<(usize, String)>,
    /// Sorted, each of them once.
    patterns: Vec<Pattern>,
    automaton: Option<AhoCorasick>,
    /// Whether a pattern begins with a byte.
    begins: Vec<bool>,
    /// Bytes of the longest pattern.
    longest: usize,
}

pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) secret: usize,
    /// Which form of its secret it is.
    pub(super) form: usize,
}

/// Without values: it may end up in a message.
impl std::fmt::Debug for Masker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Masker").field("names", &self.names).finish_non_exhaustive()
    }
}

/// A pattern, found in a text.
pub(super) struct Found {
    pub(super) at: Range<usize>,
    /// The number of the pattern.
    pub(super) pattern: usize,
}

impl Masker {
    pub fn new(secrets: &[Secret]) -> Masker {
        let mut masker = Masker::default();
        for secret in secrets {
            let number = masker.names.iter().position(|name| *name == secret.name);
            let number = number.unwrap_or_else(|| {
                masker.names.push(secret.name.clone());
                masker.marks.push(format!("***{}***", secret.name));
                masker.names.len() - 1
            });
            masker.values.push((number, secret.value.clone()));
        }
        for number in 0..masker.names.len() {
            let forms = masker.forms(number).into_iter().enumerate();
            masker.patterns.extend(forms.map(|(form, text)| Pattern { text, secret: number, form }));
        }
        // The first of equal ones stays, whatever the order in which they were given.
        masker.patterns.sort_by(|a, b| (&a.text, a.secret, a.form).cmp(&(&b.text, b.secret, b.form)));
        masker.patterns.dedup_by(|later, earlier| later.text == earlier.text);
        let texts = || masker.patterns.iter().map(|pattern| &pattern.text);
        if masker.patterns.is_empty() {
            return Masker::default();
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(texts());
        masker.longest = texts().map(String::len).max().unwrap_or(0);
        masker.begins = vec![false; 256];
        for byte in masker.patterns.iter().filter_map(|pattern| pattern.text.bytes().next()) {
            masker.begins[usize::from(byte)] = true;
        }
        // It fails where there are more states than a number can count, which no environment has room for.
        masker.automaton = automaton.ok();
        masker
    }

    /// Whether there is nothing that it would mask.
    pub fn is_idle(&self) -> bool {
        self.automaton.is_none()
    }

    /// The names of the secrets, in the order in which they were given.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The text with marks in place of secrets.
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(first) = self.find(text.as_bytes(), 0) else { return Cow::Borrowed(text) };
        let (bytes, mut masked, mut at) = (text.as_bytes(), Vec::with_capacity(text.len()), 0);
        let mut next = Some(first);
        while let Some(found) = next {
            masked.extend_from_slice(&bytes[at..found.at.start]);
            masked.extend_from_slice(self.mark(found.pattern).as_bytes());
            (at, next) = self.region(bytes, &found.at);
        }
        masked.extend_from_slice(&bytes[at..]);
        Cow::Owned(text_of(masked))
    }

    /// Every text in a value, or nothing if there is no secret in it. Names stay as they are.
    pub fn mask_value(&self, value: &mut Value) -> bool {
        self.change_texts(value, &|text| match self.mask(text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(masked) => Some(masked),
        })
    }

    pub(super) fn change_texts(&self, value: &mut Value, change: &dyn Fn(&str) -> Option<String>) -> bool {
        match value {
            Value::String(text) => match change(text) {
                Some(changed) => {
                    *text = changed;
                    true
                }
                None => false,
            },
            Value::Array(items) => {
                items.iter_mut().fold(false, |any, item| self.change_texts(item, change) | any)
            }
            Value::Object(entries) => {
                entries.values_mut().fold(false, |any, item| self.change_texts(item, change) | any)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Whether a secret is in a text.
    pub fn finds(&self, text: &str) -> bool {
        self.find(text.as_bytes(), 0).is_some()
    }

    pub(super) fn mark(&self, pattern: usize) -> &str {
        &self.marks[self.patterns[pattern].secret]
    }

    pub(super) fn pattern(&self, number: usize) -> &Pattern {
        &self.patterns[number]
    }

    pub(super) fn name(&self, secret: usize) -> &str {
        &self.names[secret]
    }

    pub(super) fn number_of(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// All forms of a secret.
    pub(super) fn forms(&self, secret: usize) -> Vec<String> {
        let values = self.values.iter().filter(|(number, _)| *number == secret);
        values.flat_map(|(_, value)| forms::patterns(value)).collect()
    }

    /// The first pattern from there on; of those that begin there, the longest.
    pub(super) fn find(&self, text: &[u8], from: usize) -> Option<Found> {
        let found = self.automaton.as_ref()?.find(Input::new(text).span(from..text.len()))?;
        Some(Found { at: found.range(), pattern: found.pattern().as_usize() })
    }

    /// The end of everything that overlaps with what was found, and what is found after that.
    pub(super) fn region(&self, text: &[u8], first: &Range<usize>) -> (usize, Option<Found>) {
        let (mut start, mut end) = (first.start, first.end);
        loop {
            match self.find(text, start + 1) {
                Some(next) if next.at.start < end => (start, end) = (next.at.start, end.max(next.at.end)),
                next => return (end, next),
            }
        }
    }

    /// Where the longest end of a text begins that a pattern could go on from: its length if there is none.
    pub(super) fn open_end(&self, text: &[u8]) -> usize {
        let from = text.len().saturating_sub(self.longest.saturating_sub(1));
        let could_go_on =
            |at: &usize| self.begins[usize::from(text[*at])] && self.goes_on(&text[*at..]).is_some();
        (from..text.len()).find(could_go_on).unwrap_or(text.len())
    }

    #[cfg(test)]
    pub(super) fn longest_for_tests(&self) -> usize {
        self.longest
    }

    /// A longer pattern that begins with these bytes.
    pub(super) fn goes_on(&self, end: &[u8]) -> Option<usize> {
        let at = self.patterns.partition_point(|pattern| pattern.text.as_bytes() <= end);
        self.patterns.get(at).filter(|pattern| pattern.text.as_bytes().starts_with(end)).map(|_| at)
    }
}

/// Patterns are whole characters, so that what is left of a text is one.
pub(super) fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|torn| String::from_utf8_lossy(torn.as_bytes()).into_owned())
}
