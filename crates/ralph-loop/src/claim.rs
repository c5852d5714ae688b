//! What the agent says about being done.
//!
//! [`TagScanner`] finds the first complete tag of its vocabulary, `<response>X</response>` or
//! `<promise>X</promise>` for a completion, in a text that arrives in pieces. Invariant: how the
//! text is cut into pieces changes nothing, and no more than a tag's length is ever kept.
//!
//! Of a plain agent, whose words cannot be told from what it shows, only a tag that ends its line
//! counts: [`ending_its_line`].
//!
//! Deliberately absent: whose text it is. Tool results, sub-agents and echoes of the prompt
//! are kept away by the dialects; what is fed here counts as the agent's own word.

use memchr::{memchr, memchr_iter};

/// A tag's content longer than this is no claim but prose with a stray tag in it.
const CONTENT_MAX: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Response,
    Promise,
    Ralph,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Open(Name),
    Close(Name),
}

/// The tags that a scanner looks for, as they are spelled.
type Vocabulary = &'static [(&'static [u8], Token)];

const COMPLETION: Vocabulary = &[
    (b"<response>", Token::Open(Name::Response)),
    (b"</response>", Token::Close(Name::Response)),
    (b"<promise>", Token::Open(Name::Promise)),
    (b"</promise>", Token::Close(Name::Promise)),
];

const SIGNAL: Vocabulary =
    &[(b"<ralph>", Token::Open(Name::Ralph)), (b"</ralph>", Token::Close(Name::Ralph))];

const TOKEN_MAX: usize = b"</response>".len();

/// What a line can claim or signal: nothing, if text follows its last tag, and otherwise what comes
/// after the last tag that text follows. Tags in a row count together, and the first one can have
/// been opened in an earlier line.
pub(crate) fn ending_its_line(line: &str) -> Option<&str> {
    let text = line.trim_end();
    let tag_end = |at: usize, closes: bool| {
        [COMPLETION, SIGNAL].into_iter().flatten().find_map(|(spelling, token)| {
            let found = text.as_bytes().get(at..at + spelling.len())?;
            (matches!(token, Token::Close(_)) == closes && found.eq_ignore_ascii_case(spelling))
                .then_some(at + spelling.len())
        })
    };
    let (mut from, mut last) = (0, None);
    for end in memchr_iter(b'<', text.as_bytes()).filter_map(|at| tag_end(at, true)) {
        let after = text.len() - text[end..].trim_start().len();
        if tag_end(after, false).is_none() && after < text.len() {
            from = end;
        }
        last = Some(end);
    }
    last.is_none_or(|end| end == text.len()).then(|| &text[from..])
}

/// Whether a tag is closed at the end of the line.
pub(crate) fn ends_with_tag(line: &str) -> bool {
    let text = line.trim_end().as_bytes();
    [COMPLETION, SIGNAL].into_iter().flatten().any(|(spelling, token)| {
        let end = text.len().checked_sub(spelling.len()).map(|at| &text[at..]);
        matches!(token, Token::Close(_)) && end.is_some_and(|end| end.eq_ignore_ascii_case(spelling))
    })
}

/// Looks for the first complete tag. Further ones are not looked at.
#[derive(Clone, Debug)]
pub struct TagScanner {
    vocabulary: Vocabulary,
    state: State,
    /// What has been read since a `<` and may yet become a token; always ASCII.
    token: Held,
    /// The content so far, or the whole of it once found.
    content: String,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Outside,
    Inside(Name),
    Found,
}

#[derive(Clone, Copy, Debug, Default)]
struct Held {
    bytes: [u8; TOKEN_MAX],
    len: usize,
}

enum Fit {
    None,
    Begun,
    Whole(Token),
}

impl Default for TagScanner {
    fn default() -> TagScanner {
        TagScanner::new()
    }
}

impl TagScanner {
    /// For `<response>` and `<promise>`.
    pub fn new() -> TagScanner {
        TagScanner::of(COMPLETION)
    }

    /// For `<ralph>`.
    pub(crate) fn of_signals() -> TagScanner {
        TagScanner::of(SIGNAL)
    }

    fn of(vocabulary: Vocabulary) -> TagScanner {
        TagScanner { vocabulary, state: State::default(), token: Held::default(), content: String::new() }
    }

    /// The next piece of the same text.
    pub fn feed(&mut self, text: &str) {
        self.scan(text);
    }

    /// The same; returns what comes after the tag in this piece, once one is found.
    pub(crate) fn scan<'a>(&mut self, text: &'a str) -> &'a str {
        let mut rest = text;
        while !rest.is_empty() {
            match (self.state, self.token.len) {
                (State::Found, _) => return rest,
                (_, 0) => rest = self.skip_to_tag(rest),
                (State::Outside | State::Inside(_), _) => rest = self.grow_token(rest),
            }
        }
        rest
    }

    /// A new message begins: no tag reaches across.
    pub fn boundary(&mut self) {
        if !matches!(self.state, State::Found) {
            *self = TagScanner::of(self.vocabulary);
        }
    }

    /// The content of the first complete tag, trimmed.
    pub fn tag(&self) -> Option<&str> {
        match self.state {
            State::Found => Some(self.content.trim()),
            State::Outside | State::Inside(_) => None,
        }
    }

    fn skip_to_tag<'a>(&mut self, text: &'a str) -> &'a str {
        let at = memchr(b'<', text.as_bytes()).unwrap_or(text.len());
        self.keep(&text[..at]);
        if at == text.len() {
            return "";
        }
        self.token.push(b'<');
        &text[at + 1..]
    }

    fn grow_token<'a>(&mut self, text: &'a str) -> &'a str {
        let mut longer = self.token;
        longer.push(text.as_bytes()[0]);
        match longer.fit(self.vocabulary) {
            // The byte is not consumed: it may be a `<` itself, or begin a longer character.
            Fit::None => {
                self.keep_token();
                return text;
            }
            Fit::Begun => self.token = longer,
            Fit::Whole(token) => {
                self.token = longer;
                self.take(token);
            }
        }
        &text[1..]
    }

    fn take(&mut self, token: Token) {
        match (token, self.state) {
            (Token::Open(name), _) => {
                self.state = State::Inside(name);
                self.content.clear();
                self.token = Held::default();
            }
            (Token::Close(name), State::Inside(open)) if name == open => self.state = State::Found,
            // The end of a tag that is not open is text like any other.
            (Token::Close(_), _) => self.keep_token(),
        }
    }

    fn keep_token(&mut self) {
        let held = std::mem::take(&mut self.token);
        self.keep(str::from_utf8(&held.bytes[..held.len]).unwrap_or_default());
    }

    fn keep(&mut self, text: &str) {
        if !matches!(self.state, State::Inside(_)) {
            return;
        }
        if self.content.len() + text.len() > CONTENT_MAX {
            self.state = State::Outside;
            self.content = String::new();
            return;
        }
        self.content.push_str(text);
    }
}

impl Held {
    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.len) {
            *slot = byte;
            self.len += 1;
        }
    }

    fn fit(&self, vocabulary: Vocabulary) -> Fit {
        let held = &self.bytes[..self.len];
        for (spelling, token) in vocabulary {
            if spelling.len() >= held.len() && spelling[..held.len()].eq_ignore_ascii_case(held) {
                return if spelling.len() == held.len() { Fit::Whole(*token) } else { Fit::Begun };
            }
        }
        Fit::None
    }
}

/// Whether a tag's content is the wanted word: trimmed, without regard to case, as a whole.
pub fn matches(tag: &str, wanted: &str) -> bool {
    tag.trim().to_lowercase() == wanted.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scan(pieces: &[&str]) -> Option<String> {
        let mut scanner = TagScanner::new();
        for piece in pieces {
            scanner.feed(piece);
        }
        scanner.tag().map(str::to_owned)
    }

    fn check(text: &str, tag: Option<&str>) {
        assert_eq!(scan(&[text]).as_deref(), tag, "{text:?}");
        let characters: Vec<String> = text.chars().map(String::from).collect();
        let pieces: Vec<&str> = characters.iter().map(String::as_str).collect();
        assert_eq!(scan(&pieces).as_deref(), tag, "{text:?} in single characters");
    }

    #[test]
    fn the_first_complete_tag_wins() {
        check("<response>DONE</response>", Some("DONE"));
        check("a <promise> a b\n </promise> <response>c</response>", Some("a b"));
        check("<RESPONSE>x</Response>", Some("x"));
        check("<response>x</promise></response>", Some("x</promise>"));
        check("<response>x<promise>y</promise>", Some("y"));
        check("<response>x<response>y</response>", Some("y"));
        check("<response></response><response>z</response>", Some(""));
        check("<<response>ä<b></response>", Some("ä<b>"));
        check("<response<response>x</response>", Some("x"));
        check("<response>x</respo</response>", Some("x</respo"));
    }

    #[test]
    fn a_tag_ends_its_line_or_is_only_mentioned() {
        for line in [
            "<response>x</response>",
            "a <promise>x</PROMISE>",
            "<ralph>LEARN: x</ralph><ralph>DONE 1.1</ralph>",
            "<response>a</response> <response>b</response>",
            "<response>",
            "x</response>",
            "a",
            "",
        ] {
            assert_eq!(ending_its_line(&format!("{line} \t")), Some(line));
        }
        for (line, end) in [
            ("<response>a</response>, then <response>b</response>", ", then <response>b</response>"),
            ("a</response> or <ralph>b</ralph> <ralph>c</ralph>", " or <ralph>b</ralph> <ralph>c</ralph>"),
        ] {
            assert_eq!(ending_its_line(line), Some(end));
        }
        for line in [
            "<response>x</response>.",
            "</response> x",
            "<ralph>DONE</ralph> <b>",
            "</promise>\"",
            "<response>a</response> <response>",
        ] {
            assert_eq!(ending_its_line(line), None, "{line}");
        }
    }

    #[test]
    fn half_a_tag_is_no_tag() {
        check("<response>DONE", None);
        check("DONE</response>", None);
        check("<response >DONE</response >", None);
        check("<response>x</promise>", None);
        check("if a < b { }", None);
    }

    #[test]
    fn an_endless_content_is_given_up_and_the_next_tag_found() {
        let long = "x".repeat(CONTENT_MAX + 1);
        check(&format!("<response>{long}</response><response>y</response>"), Some("y"));
        let fits = "x".repeat(CONTENT_MAX);
        check(&format!("<response>{fits}</response>"), Some(&fits));
    }

    #[test]
    fn no_tag_reaches_over_a_boundary() {
        let mut scanner = TagScanner::new();
        scanner.feed("<response>a");
        scanner.boundary();
        scanner.feed("b</response> <resp");
        scanner.boundary();
        scanner.feed("onse>c</response>");
        assert_eq!(scanner.tag(), None);
        scanner.feed("<response>d</response>");
        scanner.boundary();
        assert_eq!(scanner.tag(), Some("d"));
    }

    #[test]
    fn a_claim_is_compared_as_a_whole_and_without_case() {
        assert!(matches(" done\n", "DONE"));
        assert!(matches("ÄÖ", "äö"));
        assert!(!matches("DONE.", "DONE"));
        assert!(!matches("not DONE", "DONE"));
    }

    /// The same rule on the whole text at once, by repeated search.
    fn reference(text: &str) -> Option<String> {
        let lower = text.to_ascii_lowercase();
        let mut open: Option<(usize, &str)> = None;
        for (at, _) in lower.match_indices('<') {
            for name in ["response", "promise"] {
                if lower[at..].starts_with(&format!("<{name}>")) {
                    open = Some((at + name.len() + 2, name));
                }
                if let Some((start, opened)) = open
                    && lower[at..].starts_with(&format!("</{name}>"))
                    && opened == name
                    && at - start <= CONTENT_MAX
                {
                    return Some(text[start..at].trim().to_owned());
                }
            }
        }
        None
    }

    proptest! {
        #[test]
        fn pieces_change_nothing(
            words in prop::collection::vec(prop_oneof![
                Just("<response>"), Just("</response>"), Just("<promise>"), Just("</PROMISE>"), Just("<resp"),
                Just("onse>"), Just("</"), Just("<"), Just("x"), Just("ü\n"), Just("DONE"),
            ], 0..14),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let text = words.concat();
            let mut marks: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            marks.retain(|mark| text.is_char_boundary(*mark));
            marks.push(0);
            marks.push(text.len());
            marks.sort_unstable();
            let pieces: Vec<&str> = marks.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            prop_assert_eq!(scan(&pieces), reference(&text), "{:?}", text);
        }
    }
}
