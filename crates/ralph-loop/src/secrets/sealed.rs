//! Texts that are recorded without their secrets and needed again with them: the commands and the prompt of a
//! run that is resumed.
//!
//! A sealed mark, `***NAME#RUN.0***`, also has the run and the form of the secret. A mark that stands in a text
//! for another reason, such as one from an older log, is not taken for one.

use super::Masker;
use super::masker::text_of;
use serde_json::Value;
use std::borrow::Cow;
use thiserror::Error;

/// A text needs a secret that is not there any more.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("the record refers to a secret that is not set: {name}")]
pub struct SealedMark {
    pub name: String,
}

impl Masker {
    /// The text with sealed marks in place of secrets.
    pub fn seal<'t>(&self, text: &'t str, run: &str) -> Cow<'t, str> {
        let (bytes, mut sealed, mut at) = (text.as_bytes(), Vec::new(), 0);
        while let Some(found) = self.find(bytes, at) {
            let pattern = self.pattern(found.pattern);
            sealed.extend_from_slice(&bytes[at..found.at.start]);
            let name = self.name(pattern.secret);
            sealed.extend_from_slice(format!("***{name}#{run}.{}***", pattern.form).as_bytes());
            at = found.at.end;
        }
        if at == 0 {
            return Cow::Borrowed(text);
        }
        sealed.extend_from_slice(&bytes[at..]);
        Cow::Owned(text_of(sealed))
    }

    /// The text with its secrets again.
    pub fn unseal<'t>(&self, text: &'t str, run: &str) -> Result<Cow<'t, str>, SealedMark> {
        let (mut unsealed, mut rest) = (String::new(), text);
        while let Some(mark) = next_mark(rest, run) {
            let value =
                self.number_of(mark.name).and_then(|secret| self.forms(secret).into_iter().nth(mark.form));
            unsealed.push_str(mark.before);
            unsealed.push_str(&value.ok_or_else(|| SealedMark { name: mark.name.to_owned() })?);
            rest = mark.after;
        }
        if rest.len() == text.len() {
            return Ok(Cow::Borrowed(text));
        }
        unsealed.push_str(rest);
        Ok(Cow::Owned(unsealed))
    }

    /// Every text in a value; whether there was a secret in it.
    pub fn seal_value(&self, value: &mut Value, run: &str) -> bool {
        self.change_texts(value, &|text| match self.seal(text, run) {
            Cow::Borrowed(_) => None,
            Cow::Owned(sealed) => Some(sealed),
        })
    }

    pub fn unseal_value(&self, value: &mut Value, run: &str) -> Result<(), SealedMark> {
        match value {
            Value::String(text) => {
                if let Cow::Owned(unsealed) = self.unseal(text, run)? {
                    *text = unsealed;
                }
                Ok(())
            }
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.unseal_value(item, run)),
            Value::Object(entries) => entries.values_mut().try_for_each(|item| self.unseal_value(item, run)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }
}

/// The text with plain marks in place of the sealed ones of a run, for people.
pub fn plain_marks<'t>(text: &'t str, run: &str) -> Cow<'t, str> {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(mark) = next_mark(rest, run) {
        plain.push_str(mark.before);
        plain.push_str(&format!("***{}***", mark.name));
        rest = mark.after;
    }
    if rest.len() == text.len() {
        return Cow::Borrowed(text);
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

struct Mark<'t> {
    before: &'t str,
    name: &'t str,
    form: usize,
    after: &'t str,
}

fn next_mark<'t>(text: &'t str, run: &str) -> Option<Mark<'t>> {
    let tag = format!("#{run}.");
    for (at, _) in text.match_indices(&tag) {
        let (head, tail) = (&text[..at], &text[at + tag.len()..]);
        let Some(begin) = head.rfind("***") else { continue };
        let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
        let Some(after) = tail[digits..].strip_prefix("***") else { continue };
        let Ok(form) = tail[..digits].parse() else { continue };
        return Some(Mark { before: &head[..begin], name: &head[begin + 3..], form, after });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::Secret;
    use super::*;

    fn masker(secrets: &[(&str, &str)]) -> Masker {
        let one = |(name, value): &(&str, &str)| Secret { name: (*name).into(), value: (*value).into() };
        Masker::new(&secrets.iter().map(one).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_sealed_is_the_same_again_and_shows_no_secret() {
        let known = masker(&[("TOKEN", "tok-12345678"), ("PASS", "p\"ss/word/ä"), ("OTHER", "tok-1234")]);
        for text in [
            "",
            "nothing here",
            "tok-12345678",
            "a tok-1234 b tok-12345678tok-1234",
            "in JSON p\\\"ss/word/ä, in an address p%22ss%2Fword%2F%C3%A4, dG9rLTEyMzQ1Njc4",
            "an old log: ***TOKEN***, another run's ***TOKEN#other.0***, *** #r1. ***",
        ] {
            let sealed = known.seal(text, "r1");
            assert!(!known.finds(&sealed), "{sealed}");
            assert_eq!(known.unseal(&sealed, "r1").unwrap(), text);
            assert_eq!(masker(&[]).seal(text, "r1"), text);
        }
    }

    #[test]
    fn a_secret_that_is_gone_is_named_and_one_that_was_renewed_is_used() {
        let sealed = masker(&[("TOKEN", "tok-12345678")]).seal("use tok-12345678", "r1").into_owned();
        assert_eq!(sealed, "use ***TOKEN#r1.0***");
        assert_eq!(masker(&[]).unseal(&sealed, "r1"), Err(SealedMark { name: "TOKEN".into() }));
        assert_eq!(masker(&[("TOKEN", "renewed-98")]).unseal(&sealed, "r1").unwrap(), "use renewed-98");
        assert_eq!(plain_marks(&sealed, "r1"), "use ***TOKEN***");
        assert_eq!(plain_marks(&sealed, "r2"), sealed);
    }
}
