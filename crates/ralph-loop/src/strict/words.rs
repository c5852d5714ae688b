//! The words of a text, for rules that read.

/// A word without the punctuation around it, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// Whether a clause ends after it.
    pub(super) ends: bool,
}

pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for token in text.split_whitespace() {
        let word = token.trim_matches(|c: char| !c.is_alphanumeric());
        let after = token.trim_end_matches(|c: char| !c.is_alphanumeric()).len();
        let ends = token[after..].contains(['.', ',', ';', ':', '!', '?', ')', '–', '—']);
        if word.is_empty() {
            // A dash between two clauses.
            if let Some(last) = words.last_mut() {
                last.ends = true;
            }
        } else {
            words.push(Word { text: word.to_lowercase(), ends });
        }
    }
    if let Some(last) = words.last_mut() {
        last.ends = true;
    }
    words
}

/// Just the texts of them.
pub(super) fn plain_words(text: &str) -> Vec<String> {
    words(text).into_iter().map(|word| word.text).collect()
}

/// A text for comparisons: its words, one space apart.
pub(super) fn normal(text: &str) -> String {
    plain_words(text).join(" ")
}

/// Where a phrase of several words begins.
pub(super) fn find(words: &[Word], phrase: &str) -> Option<usize> {
    let wanted: Vec<&str> = phrase.split(' ').collect();
    words
        .windows(wanted.len())
        .position(|window| window.iter().zip(&wanted).all(|(word, wanted)| word.text == *wanted))
}

/// Singular, roughly: enough to see that `orders` and `order` are the same thing.
pub(super) fn stem(word: &str) -> String {
    match word {
        _ if word.len() <= 3 || word.ends_with("ss") || word.ends_with("us") => word.to_owned(),
        _ if word.ends_with("ies") => format!("{}y", &word[..word.len() - 3]),
        _ => word.strip_suffix('s').unwrap_or(word).to_owned(),
    }
}

/// Words that say nothing about what a story is about.
const EMPTY: &[&str] = &[
    "a",
    "add",
    "all",
    "allow",
    "an",
    "and",
    "as",
    "at",
    "be",
    "build",
    "by",
    "can",
    "create",
    "define",
    "display",
    "do",
    "expose",
    "for",
    "from",
    "implement",
    "in",
    "into",
    "is",
    "it",
    "its",
    "make",
    "new",
    "of",
    "on",
    "or",
    "our",
    "provide",
    "render",
    "set",
    "show",
    "so",
    "support",
    "that",
    "the",
    "their",
    "them",
    "this",
    "to",
    "up",
    "update",
    "user",
    "use",
    "via",
    "we",
    "when",
    "which",
    "with",
    "write",
];

/// What a title is about: its words without those that every title has.
pub(super) fn subject(title: &str) -> Vec<String> {
    let mut subject: Vec<String> = plain_words(title).iter().map(|word| stem(word)).collect();
    subject.retain(|word| !EMPTY.contains(&word.as_str()));
    subject.sort();
    subject.dedup();
    subject
}

/// A text as a finding quotes it.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", crate::text::clip(&crate::text::one_line(text), 80))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_no_punctuation_and_know_where_clauses_end() {
        let found = words("It works, (mostly) – user-friendly!");
        let found: Vec<String> =
            found.iter().map(|word| format!("{}{}", word.text, if word.ends { "|" } else { "" })).collect();
        assert_eq!(found, ["it", "works|", "mostly|", "user-friendly|"]);
        assert!(words(" – ").is_empty());
    }

    #[test]
    fn a_subject_is_what_is_left_of_a_title() {
        assert_eq!(subject("Add the orders table"), ["order", "table"]);
        assert_eq!(subject("Show categories of an order, of orders"), ["category", "order"]);
    }
}
