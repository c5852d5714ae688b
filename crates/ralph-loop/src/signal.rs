//! What an agent signals about a story, in its own words.
//!
//! `<ralph>DONE 8.3</ralph>`, `<ralph>FAIL 8.3: why</ralph>` and `<ralph>LEARN: x</ralph>`, and
//! where none of the first two came, an older `[DONE]` or `[FAIL]` on a line of its own. An agent
//! that says both has contradicted itself.
//! Invariant: how the text is cut into pieces changes nothing, and memory is bounded.
//!
//! Deliberately absent: which story was asked for. That is the plan's to compare.

use crate::claim::TagScanner;
use crate::text::clip;
use serde::{Deserialize, Serialize};

/// Everything that one agent has signalled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Signals {
    /// The id in the first DONE, as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<String>,
    /// The first FAIL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailSignal>,
    /// Every LEARN, once each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub learned: Vec<String>,
    /// The older signs; a DONE stands above a FAIL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legacy: Option<LegacySignal>,
    /// It says both DONE and FAIL, in whatever form and order.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub contradictory: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailSignal {
    pub id: String,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LegacySignal {
    Done,
    Fail,
}

const ID_CHARS: usize = 32;
const TEXT_CHARS: usize = 500;
/// Learnings of one agent that are kept.
const LEARNED_MOST: usize = 50;

impl Signals {
    /// The content of one `<ralph>` tag.
    fn hear(&mut self, content: &str) {
        let (word, rest) = content.split_once([' ', ':', '\n']).unwrap_or((content, ""));
        let rest = rest.trim_start_matches(':').trim();
        match word.to_ascii_uppercase().as_str() {
            "DONE" => {
                self.done.get_or_insert_with(|| clip(rest, ID_CHARS).into_owned());
            }
            "FAIL" => {
                let (id, why) = rest.split_once(':').unwrap_or((rest, ""));
                let (id, why) = (clip(id.trim(), ID_CHARS), clip(why.trim(), TEXT_CHARS));
                self.failed.get_or_insert_with(|| FailSignal { id: id.into_owned(), why: why.into_owned() });
            }
            "LEARN" => {
                let text = clip(rest, TEXT_CHARS).into_owned();
                if !text.is_empty() && !self.learned.contains(&text) && self.learned.len() < LEARNED_MOST {
                    self.learned.push(text);
                }
            }
            _ => {}
        }
    }

    fn hear_line(&mut self, line: &str) {
        match (line.trim(), self.legacy) {
            ("[DONE]", before) => {
                self.contradictory |= before == Some(LegacySignal::Fail);
                self.legacy = Some(LegacySignal::Done);
            }
            ("[FAIL]", Some(LegacySignal::Done)) => self.contradictory = true,
            ("[FAIL]", _) => self.legacy = Some(LegacySignal::Fail),
            _ => {}
        }
    }

    /// All has been heard.
    fn compare(mut self) -> Signals {
        let done = self.done.is_some() || self.legacy == Some(LegacySignal::Done);
        let failed = self.failed.is_some() || self.legacy == Some(LegacySignal::Fail);
        self.contradictory |= done && failed;
        self
    }
}

/// Listens to a text that arrives in pieces.
#[derive(Clone, Debug)]
pub struct SignalScanner {
    tags: TagScanner,
    /// The line so far, as long as it may yet be a sign of its own.
    line: String,
    line_is_prose: bool,
    signals: Signals,
}

/// A sign with white space around it is no longer.
const SIGN_BYTES: usize = 64;

impl Default for SignalScanner {
    fn default() -> SignalScanner {
        SignalScanner {
            tags: TagScanner::of_signals(),
            line: String::new(),
            line_is_prose: false,
            signals: Signals::default(),
        }
    }
}

impl SignalScanner {
    pub fn feed(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            rest = self.tags.scan(rest);
            if let Some(content) = self.tags.tag() {
                self.signals.hear(content);
                self.tags = TagScanner::of_signals();
            }
        }
        for piece in text.split_inclusive('\n') {
            self.line_is_prose = self.line_is_prose || self.line.len() + piece.len() > SIGN_BYTES;
            if !self.line_is_prose {
                self.line.push_str(piece);
            }
            if piece.ends_with('\n') {
                self.end_line();
            }
        }
    }

    /// A new message begins: neither a tag nor a line reaches across.
    pub fn boundary(&mut self) {
        self.tags.boundary();
        self.end_line();
    }

    pub fn finish(mut self) -> Signals {
        self.end_line();
        self.signals.compare()
    }

    fn end_line(&mut self) {
        if !std::mem::take(&mut self.line_is_prose) {
            self.signals.hear_line(&self.line);
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn heard(pieces: &[&str]) -> Signals {
        let mut scanner = SignalScanner::default();
        for piece in pieces {
            scanner.feed(piece);
        }
        scanner.finish()
    }

    fn done(id: &str) -> Signals {
        Signals { done: Some(id.into()), ..Signals::default() }
    }

    fn failed(id: &str, why: &str) -> Signals {
        Signals { failed: Some(FailSignal { id: id.into(), why: why.into() }), ..Signals::default() }
    }

    #[test]
    fn signals_are_read_from_their_tags() {
        assert_eq!(heard(&["so <ralph>DONE 8.3</ralph>."]), done("8.3"));
        assert_eq!(heard(&["<ralph> DONE  8.3 \n</ralph>"]), done("8.3"));
        assert_eq!(heard(&["<ralph>FAIL 8.3: no: network</ralph>"]), failed("8.3", "no: network"));
        assert_eq!(heard(&["<ralph>FAIL 8.3</ralph>"]), failed("8.3", ""));
        let learned = heard(&["<ralph>LEARN: a</ralph> <ralph>LEARN b</ralph><ralph>LEARN: a</ralph>"]);
        assert_eq!(learned.learned, ["a", "b"]);
        assert_eq!(
            heard(&["<ralph>HELLO 8.3</ralph><ralph></ralph><ralph>LEARN:</ralph>"]),
            Signals::default()
        );
    }

    #[test]
    fn the_first_of_each_kind_counts() {
        let both = heard(&["<ralph>FAIL 8.3: x</ralph><ralph>DONE 8.4</ralph><ralph>DONE 8.3</ralph>"]);
        assert_eq!(both.done.as_deref(), Some("8.4"));
        assert_eq!(both.failed.map(|failed| failed.why).as_deref(), Some("x"));
    }

    #[test]
    fn done_and_fail_contradict_each_other_in_any_form_and_order() {
        let signs = ["<ralph>DONE 8.3</ralph>", "[DONE]", "<ralph>FAIL 8.3: x</ralph>", "[FAIL]"];
        for (at, first) in signs.iter().enumerate() {
            for (with, second) in signs.iter().enumerate() {
                let opposed = (at < 2) != (with < 2);
                let both = heard(&[first, "\nso\n", second]);
                assert_eq!(both.contradictory, opposed, "{first} {second}");
            }
        }
    }

    #[test]
    fn older_signs_stand_on_a_line_of_their_own() {
        let legacy = |text: &str| heard(&[text]).legacy;
        assert_eq!(legacy("ok\n [DONE] \r\n"), Some(LegacySignal::Done));
        assert_eq!(legacy("[FAIL]"), Some(LegacySignal::Fail));
        assert_eq!(legacy("[FAIL]\n[DONE]\n[FAIL]"), Some(LegacySignal::Done));
        assert_eq!(legacy("I will print [DONE] later"), None);
        assert_eq!(legacy("[DONE] Story 8.3 - x"), None);
        assert_eq!(legacy(&format!("{}\n[DONE]", "x".repeat(500))), Some(LegacySignal::Done));
    }

    #[test]
    fn nothing_reaches_over_a_boundary() {
        let mut scanner = SignalScanner::default();
        scanner.feed("<ralph>DONE 8");
        scanner.boundary();
        scanner.feed(".3</ralph>[DO");
        scanner.boundary();
        scanner.feed("NE]");
        assert_eq!(scanner.finish(), Signals::default());
    }

    #[test]
    fn a_flood_of_learnings_is_bounded() {
        let flood: String =
            (0..200).map(|n| format!("<ralph>LEARN: {n} {}</ralph>", "x".repeat(900))).collect();
        let learned = heard(&[&flood]).learned;
        assert_eq!(learned.len(), LEARNED_MOST);
        assert!(learned.iter().all(|text| text.chars().count() <= TEXT_CHARS));
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_signals(
            words in proptest::collection::vec(prop_oneof![
                Just("<ralph>"), Just("</ralph>"), Just("DONE 1.2"), Just("FAIL 1.2: a"), Just("LEARN: b"),
                Just("\n"), Just("[DONE]"), Just("[FAIL]"), Just(" "), Just("ä"), Just("<"),
            ], 0..20),
            cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
        ) {
            let text = words.concat();
            let mut at: Vec<usize> =
                cuts.iter().map(|cut| cut.index(text.len() + 1)).filter(|at| text.is_char_boundary(*at)).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let pieces: Vec<&str> = at.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            prop_assert_eq!(heard(&pieces), heard(&[&text]));
        }
    }
}
