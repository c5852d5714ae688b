//! What has to be typed to give an agent the answer that it waits for.

use super::person::Person;
use crate::dialect::{NeedsPerson, Question, questions_of};

/// How an agent's dialogs are answered.
pub(super) struct Keys {
    /// The key that grants a permission.
    pub(super) grant: &'static str,
}

const ESCAPE: &str = "\x1b";
const PASTE: (&str, &str) = ("\x1b[200~", "\x1b[201~");

impl Person {
    /// The keys for an answer to what is waited for now.
    pub(super) fn keys_for(&self, text: &str, keys: &Keys) -> Vec<u8> {
        let word = text.trim().to_lowercase();
        let typed = match (self.first_request(), &*word) {
            (Some((NeedsPerson::Permission, _)), "yes" | "y" | "allow" | "ok") => keys.grant.to_owned(),
            (Some((NeedsPerson::Permission, _)), "no" | "n" | "deny") => ESCAPE.to_owned(),
            (Some((NeedsPerson::Permission | NeedsPerson::Question, _)), number)
                if number.len() == 1 && number.parse::<u8>().is_ok_and(|number| number > 0) =>
            {
                number.to_owned()
            }
            (Some((NeedsPerson::Question, input)), _) => choice(&questions_of(input), text),
            _ => pasted(text),
        };
        typed.into_bytes()
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
    format!("{start}{}{end}\r", text.replace(end, ""))
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
        String::from_utf8(person.keys_for(text, &KEYS)).unwrap()
    }

    #[test]
    fn permissions_are_granted_and_refused_in_words() {
        assert_eq!(keys(NeedsPerson::Permission, "Yes"), "1");
        assert_eq!(keys(NeedsPerson::Permission, "no"), "\x1b");
        assert_eq!(keys(NeedsPerson::Permission, "2"), "2");
    }

    #[test]
    fn choices_are_taken_by_name_or_number_and_anything_else_is_typed() {
        assert_eq!(keys(NeedsPerson::Question, "postgres"), "2");
        assert_eq!(keys(NeedsPerson::Question, "1"), "1");
        assert_eq!(keys(NeedsPerson::Question, "a file"), "3a file\r");
    }

    #[test]
    fn without_a_question_a_text_is_pasted_and_sent() {
        let typed = Person::default().keys_for("go on\x1b[201~", &KEYS);
        assert_eq!(String::from_utf8(typed).unwrap(), "\x1b[200~go on\x1b[201~\r");
    }
}
