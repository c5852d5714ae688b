//! A file that an agent logs in with: the user's, and the copy that agents in sandboxes share.
//!
//! A token is refreshed by the first process that needs it, inside or outside, and the old one is of no use
//! any more. So each side takes over what is new on the other; what both have changed is the user's to
//! say. Pure: contents in, what to do with them out.

use serde_json::Value;

#[derive(Debug, PartialEq, Eq)]
pub struct Credential {
    pub file: &'static str,
    /// Whose login it is, as JSON pointers: it stays the same when a token is refreshed.
    pub(super) same: &'static [&'static str],
    /// What grows when a token is refreshed: a number, or a date as text.
    pub(super) grows: Option<&'static str>,
}

/// Both sides as they are, and what they were when they were last the same.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    pub original: Option<&'a [u8]>,
    pub copy: Option<&'a [u8]>,
    /// Whether each is what both were; with none, that is not known.
    pub unchanged: Option<Unchanged>,
}

#[derive(Clone, Copy, Debug)]
pub struct Unchanged {
    pub original: bool,
    pub copy: bool,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Nothing,
    /// Both are the same, which is not known yet.
    Agree,
    /// The copy becomes what the original is.
    Copy,
    /// The same, but it was refreshed inside as well.
    CopyOver,
    /// The original becomes what the copy is.
    WriteBack,
    /// The user has logged out.
    RemoveCopy,
    /// One is half written, or no login that may replace the other.
    Wait,
}

impl Credential {
    pub fn due(&self, sides: Sides<'_>) -> Due {
        let (original, copy) = match (sides.original, sides.copy) {
            (None, None) => return Due::Nothing,
            (None, Some(_)) => return Due::RemoveCopy,
            (Some(original), None) => return if is_whole(original) { Due::Copy } else { Due::Wait },
            (Some(original), Some(copy)) => (original, copy),
        };
        let unchanged = sides.unchanged.unwrap_or(Unchanged { original: false, copy: false });
        match unchanged {
            Unchanged { original: true, copy: true } => Due::Nothing,
            _ if original == copy => Due::Agree,
            Unchanged { original: true, copy: false } if self.may_replace(original, copy) => Due::WriteBack,
            Unchanged { original: true, copy: false } => Due::Wait,
            _ if !is_whole(original) => Due::Wait,
            Unchanged { copy: true, .. } => Due::Copy,
            Unchanged { copy: false, .. } if sides.unchanged.is_none() => Due::Copy,
            Unchanged { copy: false, .. } => Due::CopyOver,
        }
    }

    /// Whether what an agent has left in the place of `original` may replace it: a login of the same
    /// account that is at least as new, and has all that the other has. The agent can write anything
    /// there; this keeps it from taking the user's login away by accident, and from swapping it
    /// where the file says whose it is.
    fn may_replace(&self, original: &[u8], new: &[u8]) -> bool {
        let (Some(old), Some(new)) = (object(original), object(new)) else { return false };
        let has_all = old.as_object().is_some_and(|old| old.keys().all(|key| new.get(key).is_some()));
        let is_same = self.same.iter().all(|at| old.pointer(at) == new.pointer(at));
        has_all && is_same && self.grows.is_none_or(|at| grown(old.pointer(at), new.pointer(at)))
    }
}

/// Whether a file is complete. One that is being written is not.
pub fn is_whole(content: &[u8]) -> bool {
    object(content).is_some()
}

fn object(content: &[u8]) -> Option<Value> {
    serde_json::from_slice(content).ok().filter(Value::is_object)
}

fn grown(old: Option<&Value>, new: Option<&Value>) -> bool {
    match (old, new) {
        (None, _) => true,
        (Some(Value::Number(old)), Some(Value::Number(new))) => new.as_f64() >= old.as_f64(),
        (Some(Value::String(old)), Some(Value::String(new))) => new >= old,
        (Some(Value::Null), Some(_)) => true,
        (Some(_), _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::agents::agent;

    #[track_caller]
    fn check(name: &str, old: &str, new: &str, expected: bool) {
        let credential = &agent(name).unwrap().credentials[0];
        assert_eq!(credential.may_replace(old.as_bytes(), new.as_bytes()), expected, "{new}");
    }

    #[test]
    fn a_refreshed_token_replaces_the_one_before() {
        let old = r#"{"claudeAiOauth":{"accessToken":"a","refreshToken":"b","expiresAt":5}}"#;
        check(
            "claude",
            old,
            r#"{"claudeAiOauth":{"accessToken":"c","refreshToken":"d","expiresAt":9}}"#,
            true,
        );
        let old = r#"{"OPENAI_API_KEY":null,"tokens":{"account_id":"me"},"last_refresh":"2026-11-16T09"}"#;
        check("codex", old, &old.replace("16T09", "16T10"), true);
    }

    #[test]
    fn half_a_login_an_older_one_and_that_of_another_account_replace_nothing() {
        let old = r#"{"claudeAiOauth":{"expiresAt":5},"mcpOAuth":{}}"#;
        for bad in ["", "{", "[]", "null", "{}", r#"{"claudeAiOauth":{"expiresAt":9}}"#] {
            check("claude", old, bad, false);
        }
        check("claude", old, r#"{"claudeAiOauth":{"expiresAt":4},"mcpOAuth":{}}"#, false);
        check("claude", old, r#"{"claudeAiOauth":{},"mcpOAuth":{}}"#, false);
        let old = r#"{"tokens":{"account_id":"me"},"last_refresh":"2026"}"#;
        check("codex", old, &old.replace("me", "you"), false);
        check("codex", old, &old.replace("\"2026\"", "7"), false);
    }

    #[test]
    fn each_side_takes_over_what_is_new_on_the_other() {
        let credential = &agent("claude").unwrap().credentials[0];
        let [old, new, newer] = [5, 9, 12].map(|at| format!(r#"{{"claudeAiOauth":{{"expiresAt":{at}}}}}"#));
        // What both were last is `old`.
        let due = |original: Option<&str>, copy: Option<&str>| {
            let is_old = |side: Option<&str>| side == Some(old.as_str());
            let unchanged = Some(Unchanged { original: is_old(original), copy: is_old(copy) });
            let (original, copy) = (original.map(str::as_bytes), copy.map(str::as_bytes));
            credential.due(Sides { original, copy, unchanged })
        };
        let [old, new, newer] = [&old, &new, &newer].map(|text| Some(text.as_str()));
        for (original, copy, expected) in [
            (None, None, Due::Nothing),
            (old, old, Due::Nothing),
            (new, new, Due::Agree),
            (old, new, Due::WriteBack),
            (new, old, Due::Copy),
            (new, newer, Due::CopyOver),
            (newer, new, Due::CopyOver),
            (old, None, Due::Copy),
            (None, old, Due::RemoveCopy),
            (None, new, Due::RemoveCopy),
            (old, Some("{\"clau"), Due::Wait),
            (old, Some("{}"), Due::Wait),
            (Some("{\"clau"), old, Due::Wait),
            (Some(""), new, Due::Wait),
            (Some(""), None, Due::Wait),
        ] {
            assert_eq!(due(original, copy), expected, "{original:?} {copy:?}");
        }
        let [original, copy] = [new, newer].map(|side| side.map(str::as_bytes));
        assert_eq!(credential.due(Sides { original, copy, unchanged: None }), Due::Copy);
    }
}
