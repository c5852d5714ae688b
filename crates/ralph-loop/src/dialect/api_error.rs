//! The model service's complaint, out of an agent's words about it.
//!
//! Codex and Amp hand on what the service answered: an HTTP status somewhere in the text, a JSON
//! body, or both. Invariant: what cannot be told apart stays in the text as it is.
//!
//! Deliberately absent: guesses. A kind of error that several statuses share gives no status.

use super::loose::{Object, loose};
use serde::Deserialize;
use std::borrow::Cow;

#[derive(Debug, PartialEq)]
pub(super) struct ApiError<'a> {
    pub(super) status: Option<u16>,
    /// The service's own word: `invalid_request_error`. Empty if there is none.
    pub(super) kind: Cow<'a, str>,
    pub(super) text: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body<'a> {
    #[serde(borrow, deserialize_with = "loose")]
    error: Detail<'a>,
    #[serde(borrow, deserialize_with = "loose")]
    message: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    detail: Cow<'a, str>,
    #[serde(deserialize_with = "loose")]
    status: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Detail<'a> {
    #[serde(borrow, deserialize_with = "loose")]
    message: Cow<'a, str>,
    #[serde(borrow, rename = "type", deserialize_with = "loose")]
    kind: Cow<'a, str>,
}

impl<'de: 'a, 'a> Object<'de> for Detail<'a> {}

impl<'a> ApiError<'a> {
    /// Reads `402 {"error":{…}}`, a bare body, or a sentence.
    pub(super) fn read(text: &'a str) -> ApiError<'a> {
        let text = text.trim();
        let (status, rest) = match (leading_status(text), text.get(3..)) {
            (Some(status), Some(rest)) => (Some(status), rest.trim_start()),
            _ => (None, text),
        };
        if rest.starts_with('{')
            && let Ok(body) = serde_json::from_str::<Body<'a>>(rest)
        {
            let messages = [body.error.message, body.message, body.detail];
            if let Some(text) = messages.into_iter().find(|text| !text.trim().is_empty()) {
                let in_body = body.status.map(|status| status as u16).filter(|status| is_failure(*status));
                return ApiError { status: status.or(in_body), kind: body.error.kind, text };
            }
        }
        let status = status.or_else(|| status_within(text));
        ApiError { status, kind: Cow::Borrowed(""), text: Cow::Borrowed(text) }
    }
}

/// `unexpected status 401 Unauthorized`, `last status: 429 Too Many Requests`.
fn status_within(text: &str) -> Option<u16> {
    text.match_indices("status").find_map(|(at, word)| {
        let after = &text[at + word.len()..];
        leading_status(after.strip_prefix(':').unwrap_or(after).trim_start())
    })
}

/// Three digits that name a failure, and no more digits.
fn leading_status(text: &str) -> Option<u16> {
    let (digits, rest) = text.split_at_checked(3)?;
    let alone = !rest.starts_with(|next: char| next.is_alphanumeric());
    // Not left to `parse`, which also takes a sign.
    let digits = Some(digits).filter(|digits| alone && digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok().filter(|status| is_failure(*status))
}

fn is_failure(status: u16) -> bool {
    (400..600).contains(&status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_only_where_it_is_called_one() {
        for (text, status, kind, message) in [
            (r#"402 {"type":"error","error":{"type":"out","message":"pay"}}"#, Some(402), "out", "pay"),
            (r#"{"error": {"message": "too long", "type": "invalid"}}"#, None, "invalid", "too long"),
            (r#"{"type":"error","status":400,"error":{"message":"no"}}"#, Some(400), "", "no"),
            (r#"{"detail":"not supported"}"#, None, "", "not supported"),
            (r#"{"error":{}}"#, None, "", r#"{"error":{}}"#),
            (r#"{"error":"#, None, "", r#"{"error":"#),
            (
                "unexpected status 401 Unauthorized: bad",
                Some(401),
                "",
                "unexpected status 401 Unauthorized: bad",
            ),
            ("last status: 429 Too Many", Some(429), "", "last status: 429 Too Many"),
            ("503 ", Some(503), "", "503"),
            ("status 200 OK", None, "", "status 200 OK"),
            ("status 4290", None, "", "status 4290"),
            ("failed after 500 lines", None, "", "failed after 500 lines"),
            ("statüs: 4ü9", None, "", "statüs: 4ü9"),
            ("", None, "", ""),
        ] {
            let expected = ApiError { status, kind: kind.into(), text: message.into() };
            assert_eq!(ApiError::read(text), expected, "{text}");
        }
    }
}
