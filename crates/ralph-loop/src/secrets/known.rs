//! Which values are secrets.
//!
//! A variable's name decides, as it does for a sandbox, or the user by naming it; then the value must look
//! like something that is worth hiding. A password inside an address is one under any name.

use super::{SHORTEST, Secret};
use crate::sandbox::agents::matches;
use crate::sandbox::variables::looks_secret;
use serde_json::Value;

/// What a value is compared with that is no secret, whatever the name.
#[derive(Clone, Copy)]
pub struct Harmless<'a> {
    /// The project's name, the user's name, and the like.
    pub words: &'a [String],
    /// Whether a text is the path of something.
    pub is_path: &'a dyn Fn(&str) -> bool,
}

/// Adds the secrets of an environment. `named` are further variables, which may end with `*`.
pub fn add_variables<'v>(
    variables: impl IntoIterator<Item = (&'v str, &'v str)>,
    named: &[String],
    harmless: Harmless<'_>,
    found: &mut Vec<Secret>,
) {
    for (name, value) in variables {
        if named.iter().any(|pattern| matches(pattern, name)) || looks_secret(name) {
            add(name, value, harmless, found);
        }
        for hidden in inside(value) {
            add(name, &hidden, harmless, found);
        }
    }
}

/// Adds a value under a name, if it is worth hiding.
pub fn add(name: &str, value: &str, harmless: Harmless<'_>, found: &mut Vec<Secret>) {
    let value = value.trim().trim_matches(['"', '\'']).trim();
    if value.starts_with(['{', '['])
        && let Ok(json) = serde_json::from_str::<Value>(value)
    {
        let before = found.len();
        add_named(name, &json, harmless, found);
        if found.len() > before {
            return;
        }
    }
    let is_known = found.iter().any(|secret| secret.value == value);
    if !is_known && is_worth_hiding(value, harmless) {
        found.push(Secret { name: shown_name(name), value: value.to_owned() });
    }
}

/// The values in JSON whose own names look secret, such as `private_key`, and passwords in addresses there.
pub fn add_named(name: &str, json: &Value, harmless: Harmless<'_>, found: &mut Vec<Secret>) {
    match json {
        Value::Array(items) => items.iter().for_each(|item| add_named(name, item, harmless, found)),
        Value::Object(entries) => {
            for (key, inner) in entries {
                match inner {
                    Value::String(value) if looks_secret(&spaced(key)) => add(name, value, harmless, found),
                    Value::String(value) if key.eq_ignore_ascii_case("authorization") => {
                        // After the scheme: `Bearer …`.
                        let (_, value) = value.rsplit_once(' ').unwrap_or(("", value));
                        add(name, value, harmless, found);
                    }
                    inner => add_named(name, inner, harmless, found),
                }
            }
        }
        Value::String(value) => {
            inside(value).iter().for_each(|hidden| add(name, hidden, harmless, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `accessToken` in the words that it consists of.
fn spaced(name: &str) -> String {
    let mut spaced = String::new();
    for c in name.chars() {
        // `API_KEY` is in words already.
        if c.is_ascii_uppercase() && spaced.ends_with(|before: char| before.is_ascii_lowercase()) {
            spaced.push('_');
        }
        spaced.push(c);
    }
    spaced
}

/// A name as it can stand in a mark.
fn shown_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' }).collect()
}

/// Secrets that are a part of a value: logins in addresses, `password=…` in the ways to a database.
fn inside(value: &str) -> Vec<String> {
    let mut hidden = Vec::new();
    for (at, _) in value.match_indices("://") {
        let rest = &value[at + 3..];
        let authority = &rest[..rest.find(['/', '?', '#', ' ', '"', '\'', ',']).unwrap_or(rest.len())];
        let Some((login, _)) = authority.rsplit_once('@') else { continue };
        let secret = match login.split_once(':') {
            Some((_, password)) => password,
            // A token in place of a user; the name of a user is shorter.
            None if login.len() >= 2 * SHORTEST => login,
            None => continue,
        };
        let decoded = decoded(secret);
        if decoded != secret {
            hidden.push(decoded);
        }
        hidden.push(secret.to_owned());
    }
    for (name, secret) in value.split([' ', '?', '&', ';']).filter_map(|part| part.split_once('=')) {
        if looks_secret(name) {
            hidden.push(secret.to_owned());
        }
    }
    hidden
}

/// `%40` is `@`.
fn decoded(text: &str) -> String {
    let (bytes, mut plain, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 3;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(plain).unwrap_or_else(|_| text.to_owned())
}

fn is_worth_hiding(value: &str, harmless: Harmless<'_>) -> bool {
    let chars = value.chars().count();
    let first = value.chars().next();
    // A number or a date is found in every log.
    let is_number = chars < 12 && value.chars().all(|c| c.is_ascii_digit() || ".:-_/".contains(c));
    chars >= SHORTEST
        && !is_number
        && !value.chars().all(|c| Some(c) == first)
        && !is_common(value)
        && !harmless.words.iter().any(|word| word.eq_ignore_ascii_case(value))
        && !(harmless.is_path)(value)
}

/// Words of eight and more letters that are the value of such a variable on many machines, and stand in many
/// texts that have nothing to do with it.
fn is_common(value: &str) -> bool {
    const COMMON: &str = "\
        password passw0rd password1 password123 changeme changeit postgres postgresql elasticsearch mongodb rabbitmq \
        minioadmin localhost development production testing staging insecure disabled required optional \
        undefined unlimited anonymous username administrator superuser default1 placeholder notasecret \
        not-needed notneeded not-used not-required not-set none-set redacted xxxxxxxx keychain keyring \
        interactive automatic token-here your-key your-token your-api-key your_api_key bearer-token basic-auth \
        certificate publickey hostbased kerberos negotiate testtest testpass testuser test-key test-token \
        test1234 dummy-key fake-key fake-token";
    COMMON.split(' ').any(|word| word.eq_ignore_ascii_case(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, value: &str) -> Vec<String> {
        let words = ["my-project".to_owned()];
        let harmless = Harmless { words: &words, is_path: &|text| text.starts_with("/exists/") };
        let named = ["OWN_*".to_owned()];
        let mut found = Vec::new();
        add_variables([(name, value)], &named, harmless, &mut found);
        found.into_iter().map(|secret| secret.value).collect()
    }

    #[test]
    fn the_name_of_a_variable_says_that_its_value_is_a_secret() {
        for name in [
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "CLIENT_SECRET",
            "PGPASSWORD",
            "DB_PASSWD",
            "X_CREDENTIALS",
            "REGISTRY_AUTH",
            "OWN_VALUE",
            "npm_config__authToken",
            "SLACK_WEBHOOK_URL",
        ] {
            assert_eq!(found(name, "v4lue-of-it"), ["v4lue-of-it"], "{name}");
        }
        for name in
            ["KEYBOARD_MAP", "TOKENIZERS_PARALLELISM", "PATH", "TOKEN_TTL", "MAX_TOKENS", "MONKEY_MODE"]
        {
            assert_eq!(found(name, "v4lue-of-it"), [""; 0], "{name}");
        }
    }

    #[test]
    fn values_that_stand_in_every_log_are_none() {
        for value in [
            "",
            "short12",
            "true",
            "12345678901",
            "2026-11-18",
            "xxxxxxxxxxxx",
            "postgres",
            "PASSWORD",
            "my-project",
            "/exists/key.pem",
            "changeme",
        ] {
            assert_eq!(found("SOME_TOKEN", value), [""; 0], "{value}");
        }
        for value in ["short123", "123456789012", "größe-12", "/not/a/path+x", "correct horse"] {
            assert_eq!(found("SOME_TOKEN", value), [value], "{value}");
        }
    }

    #[test]
    fn quotes_around_a_value_are_no_part_of_it() {
        assert_eq!(found("SOME_TOKEN", " \"abc-12345\"\n"), ["abc-12345"]);
    }

    #[test]
    fn a_password_in_an_address_is_a_secret_under_any_name() {
        for (value, hidden) in [
            ("postgres://me:s3cretpass@db:5432/x", vec!["s3cretpass"]),
            ("postgres://me:p%40ss%2Fword@db/x", vec!["p@ss/word", "p%40ss%2Fword"]),
            ("https://ghp_0123456789abcdef@host/x", vec!["ghp_0123456789abcdef"]),
            ("https://git@host/x", vec![]),
            ("https://host/a@b:c", vec![]),
            ("jdbc:postgresql://db/x?user=me&password=s3cretpass", vec!["s3cretpass"]),
            ("host=db password=s3cretpass dbname=x", vec!["s3cretpass"]),
            ("amqp://u:pa@ss-word@q/", vec!["pa@ss-word"]),
        ] {
            assert_eq!(found("DATABASE_URL", value), hidden, "{value}");
        }
    }

    #[test]
    fn of_json_only_what_is_secret_in_it_is_hidden() {
        let key = r#"{"type": "service_account", "private_key": "-----BEGIN\nabcdefghijk\n", "client_email": "me@host"}"#;
        assert_eq!(found("X_CREDENTIALS", key), ["-----BEGIN\nabcdefghijk"]);
        assert_eq!(
            found("DOCKER_AUTH_CONFIG", r#"{"auths":{"h":{"auth":"bWU6cHc0NTY="}}}"#),
            ["bWU6cHc0NTY="]
        );
        assert_eq!(found("X_TOKEN", r#"{"other": "abcdefghi"}"#), [r#"{"other": "abcdefghi"}"#]);
        assert_eq!(found("X_TOKEN", r#"{"accessToken": "abc-defghi"}"#), ["abc-defghi"]);
        assert_eq!(found("X_TOKEN", r#"{"env": {"MY_API_KEY": "abc-defghi"}}"#), ["abc-defghi"]);
        let headers =
            r#"{"headers": {"Authorization": "Bearer abc-defghi"}, "url": "https://me:p4ssw0rds@h/"}"#;
        assert_eq!(found("X_TOKEN", headers), ["abc-defghi", "p4ssw0rds"]);
    }
}
