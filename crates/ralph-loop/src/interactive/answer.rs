//! What has to be typed to give an agent the answer that it waits for.

use super::person::Person;
use crate::dialect::{NeedsPerson, Question, questions_of};

/// How an agent's dialogs are answered.
pub(super) struct Keys {
    /// The key that grants a permission.
    pub(super) grant: &'static str,
}

/// Other words would be taken for a key.
const YES_OR_NO: &str = "the agent asks for a permission: answer yes or no, or the number of a choice";

const ESCAPE: &str = "\x1b";
const PASTE: (&str, &str) = ("\x1b[200~", "\x1b[201~");

impl Person {
    /// The keys for an answer to what is waited for now, or why there are none.
    pub(super) fn keys_for(&self, text: &str, keys: &Keys) -> Result<Vec<u8>, &'static str> {
        let word = text.trim().to_lowercase();
        let is_number = word.len() == 1 && word.parse::<u8>().is_ok_and(|number| number > 0);
        let typed = match (self.waits(), self.first_request(), &*word) {
            (Some(NeedsPerson::Permission), _, "yes" | "y" | "allow" | "ok") => keys.grant.to_owned(),
            (Some(NeedsPerson::Permission), _, "no" | "n" | "deny") => ESCAPE.to_owned(),
            (Some(NeedsPerson::Permission | NeedsPerson::Question), _, _) if is_number => word,
            // The Enter behind any other text could grant it.
            (Some(NeedsPerson::Permission), ..) => return Err(YES_OR_NO),
            (Some(NeedsPerson::Question), Some((_, input)), _) => choice(&questions_of(input), text),
            _ => pasted(text),
        };
        Ok(typed.into_bytes())
    }

    /// Why nothing but an answer can be typed now.
    pub(super) fn wants_answer(&self) -> Option<&'static str> {
        match self.waits()? {
            NeedsPerson::Permission => Some(YES_OR_NO),
            NeedsPerson::Question => Some("the agent asks a question: use `ralph answer`"),
            NeedsPerson::NotReady | NeedsPerson::Interrupted | NeedsPerson::Idle => None,
        }
    }
}

/// Choices are numbered, and behind the last one is a place for something else.
fn choice(questions: &[Question], text: &str) -> String {
    let named = |question: &Question| {
        question.choices.iter().position(|choice| choice.label.eq_ignore_ascii_case(text.trim()))
    };
    match (questions.iter().find_map(named), questions.first()) {
        (Some(at), _) => (at + 1).to_string(),
        (None, Some(question)) => format!("{}{text}\r", question.choices.len() + 1),
        (None, None) => pasted(text),
    }
}

/// A text and Enter, whatever the text has in it.
fn pasted(text: &str) -> String {
    let (start, end) = PASTE;
    // What is left after one is taken out may be another.
    let mut text = text.to_owned();
    while text.contains(end) {
        text = text.replace(end, "");
    }
    format!("{start}{text}{end}\r")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const KEYS: Keys = Keys { grant: "1" };

    fn keys(why: NeedsPerson, text: &str) -> String {
        let mut person = Person::default();
        let input = json!({"questions": [
            {"question": "Which store?", "options": [{"label": "SQLite"}, {"label": "Postgres"}]},
        ]});
        person.asks(why, "Tool", &input, "asks".to_owned(), &mut Vec::new());
        person.keys_for(text, &KEYS).map_or_else(str::to_owned, |keys| String::from_utf8(keys).unwrap())
    }

    #[test]
    fn permissions_are_granted_and_refused_in_words() {
        assert_eq!(keys(NeedsPerson::Permission, "Yes"), "1");
        assert_eq!(keys(NeedsPerson::Permission, "no"), "\x1b");
        assert_eq!(keys(NeedsPerson::Permission, "2"), "2");
        assert_eq!(keys(NeedsPerson::Permission, "no thanks"), YES_OR_NO);
    }

    #[test]
    fn choices_are_taken_by_name_or_number_and_anything_else_is_typed() {
        assert_eq!(keys(NeedsPerson::Question, "postgres"), "2");
        assert_eq!(keys(NeedsPerson::Question, "1"), "1");
        assert_eq!(keys(NeedsPerson::Question, "a file"), "3a file\r");
    }

    #[test]
    fn without_a_question_a_text_is_pasted_and_sent() {
        let typed = Person::default().keys_for("go on\x1b[20\x1b[201~1~", &KEYS);
        assert_eq!(String::from_utf8(typed.unwrap()).unwrap(), "\x1b[200~go on\x1b[201~\r");
    }
}
