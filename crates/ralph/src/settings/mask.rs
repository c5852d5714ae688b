//! Hides secrets in what is shown: values behind names like `--api-key`, `TOKEN=` or
//! `password:`, and words that look like tokens of well-known services.
//!
//! A guess by its nature: it is for displays, never for deciding anything.

use super::table::GUARD_LEVELS;
use serde_json::Value;

pub const MASK: &str = "***";

/// Words of a name that say that its value is a secret.
const SECRET_WORDS: &[&str] = &[
    "key",
    "keys",
    "token",
    "secret",
    "secrets",
    "password",
    "passphrase",
    "pass",
    "pwd",
    "credential",
    "credentials",
    "auth",
    "authorization",
    "cookie",
];
/// The same at the end of a word, as in `PGPASSWORD`.
const SECRET_ENDINGS: &[&str] = &["password", "passwd", "apikey", "secret", "token"];

/// How the tokens of well-known services begin.
const TOKENS: &[&str] = &[
    "sk-",
    "sk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "eyJ",
    "hf_",
    "npm_",
];
const SHORTEST_TOKEN: usize = 12;

/// What stands between a secret's name and the secret: `Authorization: Bearer …`.
const SCHEMES: &[&str] = &["bearer", "basic", "token"];

/// A command or any other text.
pub fn text(text: &str) -> String {
    Masker::default().text(text)
}

/// Arguments, where a secret may stand one after its name.
pub fn words<S: AsRef<str>>(words: &[S]) -> Vec<String> {
    let mut masker = Masker::default();
    words.iter().map(|word| masker.text(word.as_ref())).collect()
}

/// Every text in a value, and everything below a key that names a secret.
pub fn value(value: &Value) -> Value {
    match value {
        Value::String(words) => text(words).into(),
        Value::Array(items) => {
            let mut masker = Masker::default();
            let one = |item: &Value| match item {
                Value::String(words) => masker.text(words).into(),
                other => self::value(other),
            };
            items.iter().map(one).collect()
        }
        Value::Object(entries) => {
            let one = |(name, inner): (&String, &Value)| {
                let hidden = hides(name, inner);
                (name.clone(), if hidden { MASK.into() } else { self::value(inner) })
            };
            entries.iter().map(one).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Whether the value of a key is a secret. The guard has a category of that name.
fn hides(name: &str, value: &Value) -> bool {
    let is_level = value.as_str().is_some_and(|text| GUARD_LEVELS.contains(&text));
    names_a_secret(name) && !value.is_null() && !is_level
}

/// What [`value`] hides, each with the setting that it is in.
pub fn hidden(value: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    find_hidden("", value, &mut Masker::default(), &mut found);
    found
}

fn find_hidden(at: &str, value: &Value, masker: &mut Masker, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => {
            for word in text.split_whitespace() {
                let masked = masker.word(word);
                let Some((before, after)) = masked.split_once(MASK).filter(|_| masked != word) else {
                    continue;
                };
                let secret = word.get(before.len()..word.len() - after.len()).unwrap_or_default();
                // A variable is not its value.
                if !secret.trim_matches(['"', '\'']).starts_with('$') {
                    found.push((at.to_owned(), secret.to_owned()));
                }
            }
        }
        Value::Array(items) => {
            let mut masker = Masker::default();
            items.iter().for_each(|item| find_hidden(at, item, &mut masker, found));
        }
        Value::Object(entries) => {
            for (name, inner) in entries {
                let at = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                match inner {
                    Value::String(secret) if hides(name, inner) => found.push((at, secret.clone())),
                    inner => find_hidden(&at, inner, &mut Masker::default(), found),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A value in a message: masked, on one line, cut.
pub fn excerpt(value: &Value) -> String {
    const CHARS: usize = 60;
    let text = self::value(value).to_string();
    match text.char_indices().nth(CHARS) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

#[derive(Clone, Copy, Default)]
enum Masker {
    #[default]
    Open,
    /// The next word is a secret.
    Secret,
    /// A secret goes on until this quote.
    Quoted(char),
}

impl Masker {
    fn text(&mut self, text: &str) -> String {
        let mut masked = String::with_capacity(text.len());
        for piece in text.split_inclusive(char::is_whitespace) {
            let word = piece.trim_end_matches(char::is_whitespace);
            if !word.is_empty() {
                masked.push_str(&self.word(word));
            }
            masked.push_str(&piece[word.len()..]);
        }
        masked
    }

    fn word(&mut self, word: &str) -> String {
        match *self {
            Masker::Quoted(quote) => {
                if word.contains(quote) {
                    *self = Masker::Open;
                }
                return MASK.into();
            }
            Masker::Secret if SCHEMES.contains(&word.to_lowercase().as_str()) => return word.into(),
            Masker::Secret if !word.starts_with('-') => {
                *self = Masker::after(word);
                return MASK.into();
            }
            Masker::Secret | Masker::Open => *self = Masker::Open,
        }
        if let Some(at) = word.find(['=', ':']).filter(|at| !word[*at..].starts_with("://")) {
            let (name, secret) = word.split_at(at + 1);
            let bare = secret.trim_matches(['"', '\'']);
            if names_a_secret(name) {
                *self = if bare.is_empty() { Masker::Secret } else { Masker::after(secret) };
                return if bare.is_empty() { word.into() } else { format!("{name}{MASK}") };
            }
            if is_token(bare) {
                return format!("{name}{MASK}");
            }
        }
        let bare = word.trim_matches(['"', '\'']);
        if SCHEMES[0].eq_ignore_ascii_case(bare) || (bare.starts_with('-') && names_a_secret(bare)) {
            *self = Masker::Secret;
            return word.into();
        }
        if is_token(bare) { MASK.into() } else { without_password(word) }
    }

    /// Whether a secret that begins with this word goes on behind it.
    fn after(word: &str) -> Masker {
        match word.chars().next() {
            Some(quote @ ('"' | '\'')) if !word[1..].contains(quote) => Masker::Quoted(quote),
            _ => Masker::Open,
        }
    }
}

fn is_token(word: &str) -> bool {
    word.len() >= SHORTEST_TOKEN && TOKENS.iter().any(|token| word.starts_with(token))
}

fn names_a_secret(name: &str) -> bool {
    let mut words = vec![String::new()];
    let mut last_was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && last_was_lower) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        last_was_lower = c.is_lowercase();
    }
    words.iter().any(|word| {
        SECRET_WORDS.contains(&word.as_str()) || SECRET_ENDINGS.iter().any(|ending| word.ends_with(ending))
    })
}

/// `https://user:password@host` without the password.
fn without_password(word: &str) -> String {
    let hidden = word.split_once("://").and_then(|(scheme, rest)| {
        let (login, host) = rest.split_once('@').filter(|(login, _)| !login.contains('/'))?;
        let (user, _) = login.split_once(':')?;
        Some(format!("{scheme}://{user}:{MASK}@{host}"))
    });
    hidden.unwrap_or_else(|| word.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(shown: &str, masked: &str) {
        assert_eq!(text(shown), masked, "{shown}");
    }

    #[test]
    fn values_behind_names_of_secrets_are_hidden() {
        check("--api-key abc --model opus", "--api-key *** --model opus");
        check("--api-key=abc", "--api-key=***");
        check("ANTHROPIC_API_KEY=abc make test", "ANTHROPIC_API_KEY=*** make test");
        check("PGPASSWORD=x psql", "PGPASSWORD=*** psql");
        check("PASSWORD=\"two words\" make", "PASSWORD=*** *** make");
        check("curl -H 'Authorization: Bearer abc' host", "curl -H 'Authorization: Bearer *** host");
        check("authToken:abc", "authToken:***");
        check("git clone https://me:pw@host/x", "git clone https://me:***@host/x");
        check("--x=ghp_0123456789abcdef", "--x=***");
        check("sk-ant-0123456789", "***");
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for plain in [
            "--max-tokens 100",
            "--author=Bob",
            "make  test\t&& cargo test",
            "MONKEY=1 https://host/a:b@c",
            "--key",
            "a=b c:d",
            "",
        ] {
            check(plain, plain);
        }
    }

    #[test]
    fn a_secret_may_stand_one_argument_after_its_name() {
        assert_eq!(words(&["--token", "abc", "-v"]), ["--token", "***", "-v"]);
        assert_eq!(words(&["--token", "-v", "abc"]), ["--token", "-v", "abc"]);
    }

    #[test]
    fn what_is_hidden_is_known_with_its_setting() {
        let settings = json!({
            "agent": {"command": "claude", "flags": ["--api-key", "abc-1", "--model=x"]},
            "guardrails": [{"command": "PGPASSWORD=two psql postgres://me:three@db", "hint": "Bearer $TOKEN"}],
            "apiKey": "four", "notify": null,
        });
        let mut found = hidden(&settings);
        found.sort();
        let wanted = [
            ("agent.flags", "abc-1"),
            ("apiKey", "four"),
            ("guardrails.command", "three"),
            ("guardrails.command", "two"),
        ];
        assert_eq!(found, wanted.map(|(at, secret)| (at.to_owned(), secret.to_owned())));
    }

    #[test]
    fn the_level_of_a_category_of_the_guard_is_no_secret() {
        let settings = json!({"categories": {"credentials": "warn"}, "credentials": "hunter2hunter2"});
        assert_eq!(value(&settings), json!({"categories": {"credentials": "warn"}, "credentials": "***"}));
        assert_eq!(hidden(&settings), [("credentials".to_owned(), "hunter2hunter2".to_owned())]);
    }

    #[test]
    fn objects_hide_what_their_keys_name() {
        let shown = value(&json!({"apiKey": {"x": 1}, "flags": ["--token", "abc"], "n": null, "pass": null}));
        assert_eq!(shown, json!({"apiKey": "***", "flags": ["--token", "***"], "n": null, "pass": null}));
    }
}
