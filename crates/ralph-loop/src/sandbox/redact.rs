//! Configuration of package managers without the credentials in it.
//!
//! A registry or a proxy that is configured there has to be known in a sandbox, or nothing can be
//! installed; the token for it has not. Whether a name is that of a secret is the same question as
//! for variables. What cannot be read as what it should be is not shown at all.
//!
//! Deliberately absent: values. A token under a harmless name is not recognized.

use super::variables::looks_secret;
use regex::Regex;
use std::sync::LazyLock;
use toml::{Table, Value};

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// A name and a value per line: `name=value`, `name = value` or `name: value`. Lines that are
    /// indented further belong to the one before.
    Lines,
    Toml,
    Xml,
}

/// The text without credentials, or nothing if it cannot be read. `passes` says whether a variable is
/// visible to the program: a value that only names it (`${NPM_TOKEN}`) is none in itself.
pub fn redact(text: &str, syntax: Syntax, passes: &dyn Fn(&str) -> bool) -> Option<String> {
    match syntax {
        Syntax::Lines => Some(lines(text, passes)),
        Syntax::Toml => {
            let mut table: Table = text.parse().ok()?;
            clean_table(&mut table);
            toml::to_string(&table).ok()
        }
        Syntax::Xml => Some(xml(text)),
    }
}

fn lines(text: &str, passes: &dyn Fn(&str) -> bool) -> String {
    let mut kept = String::new();
    // How far the line is indented that was taken out last, as long as others may belong to it.
    let mut taken_out: Option<usize> = None;
    let mut goes_on = false;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let belongs = goes_on || taken_out.is_some_and(|out| indent > out);
        goes_on = belongs && line.ends_with('\\');
        if belongs || line.trim().is_empty() {
            continue;
        }
        taken_out = None;
        let (line, is_comment) = (without_logins(line), line.trim_start().starts_with(['#', ';', '!']));
        // A token that is commented out is a token.
        if is_comment {
            continue;
        }
        if is_secret(&line, passes) {
            taken_out = Some(indent);
            goes_on = line.ends_with('\\');
            continue;
        }
        kept.push_str(&line);
        kept.push('\n');
    }
    kept
}

fn is_secret(line: &str, passes: &dyn Fn(&str) -> bool) -> bool {
    let at = [line.find('='), line.find(": "), line.strip_suffix(':').map(str::len)];
    let Some(at) = at.into_iter().flatten().min() else { return false };
    let (name, value) = (line[..at].trim(), line[at + 1..].trim());
    // `//registry.example/:_authToken`, `systemProp.https.proxyPassword`
    let name = name.rsplit(['/', ':', '.']).next().unwrap_or(name);
    is_secret_name(name) && !variable_of(value).is_some_and(passes)
}

/// Names that are secrets in such a file and would not be among variables.
fn is_secret_name(name: &str) -> bool {
    const OWN: &[&str] = &["key", "_key", "otp", "npmauthident"];
    let name = name.trim_matches(['"', '\'', ' ', '-']);
    looks_secret(name) || OWN.contains(&name.to_ascii_lowercase().as_str())
}

/// The variable that a value consists of: `$X`, `${X}`, `${X-}`, `"${X}"`.
fn variable_of(value: &str) -> Option<&str> {
    let value = value.trim_matches(['"', '\'']).strip_prefix('$')?;
    let name = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(value);
    let name = name.trim_end_matches(['-', ':', '?']);
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
    is_name.then_some(name)
}

fn clean_table(table: &mut Table) {
    table.retain(|name, _| !is_secret_name(name));
    table.iter_mut().for_each(|(_, value)| clean(value));
}

fn clean(value: &mut Value) {
    match value {
        Value::String(text) => *text = without_logins(text),
        Value::Array(values) => values.iter_mut().for_each(clean),
        Value::Table(table) => clean_table(table),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
    }
}

fn xml(text: &str) -> String {
    static COMMENT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?s)<!--.*?-->").ok());
    static ELEMENT: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?s)<([A-Za-z_][\w.-]*)>([^<]*)</").ok());
    let (Some(comment), Some(element)) = (&*COMMENT, &*ELEMENT) else { return String::new() };
    let text = comment.replace_all(text, "");
    let text = element.replace_all(&text, |found: &regex::Captures<'_>| {
        let name = &found[1];
        if is_secret_name(name) { format!("<{name}></") } else { found[0].to_owned() }
    });
    without_logins(&text)
}

/// Takes user and password out of addresses: `https://me:secret@host/`. A user called `git` is not
/// one who logs in.
fn without_logins(text: &str) -> String {
    static LOGIN: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"([A-Za-z][A-Za-z0-9+.-]*://)([^\s/@"'<>]*(?:@[^\s/@"'<>]*)*)@"#).ok());
    let Some(login) = &*LOGIN else { return String::new() };
    let replaced = login.replace_all(text, |found: &regex::Captures<'_>| match &found[2] {
        "git" => found[0].to_owned(),
        _ => found[1].to_owned(),
    });
    replaced.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(syntax: Syntax, text: &str, expected: &str) {
        assert_eq!(redact(text, syntax, &|name| name == "LET_IN").as_deref(), Some(expected), "{text}");
    }

    #[test]
    fn npm_keeps_its_registries_and_loses_its_tokens() {
        check(
            Syntax::Lines,
            "registry=https://me:pw@npm.example/\n@own:registry=https://own.example/npm/\n\
             //own.example/npm/:_authToken=abc\n//own.example/npm/:_password=\"eHg=\"\n_auth=eHg6eQ==\n\
             # //old.example/:_authToken=abc\n; secret\nfund=false\nusername=me\nprefix=~/.npm-global\n\
             //npm.example/:_authToken=${NPM_TOKEN}\n//x.example/:_authToken=${LET_IN}\nkey=\"-----BEGIN\"\n",
            "registry=https://npm.example/\n@own:registry=https://own.example/npm/\nfund=false\nusername=me\n\
             prefix=~/.npm-global\n//x.example/:_authToken=${LET_IN}\n",
        );
    }

    #[test]
    fn pip_keeps_its_index_and_loses_the_login_to_it() {
        check(
            Syntax::Lines,
            "[global]\nindex-url = https://__token__:pypi-abc@pypi.example/simple\nextra-index-url =\n    \
             https://a:b@one.example/simple\n    https://two.example/simple\npassword = x\n  and more\ntimeout = 9\n",
            "[global]\nindex-url = https://pypi.example/simple\nextra-index-url =\n    \
             https://one.example/simple\n    https://two.example/simple\ntimeout = 9\n",
        );
    }

    #[test]
    fn a_password_with_an_at_sign_leaves_nothing_behind() {
        check(Syntax::Lines, "proxy=http://me:p@ss@host:3128/\n", "proxy=http://host:3128/\n");
        check(Syntax::Lines, "url=ssh://git@host/x\n", "url=ssh://git@host/x\n");
        check(Syntax::Lines, "url=https://ghp_abc@host/x\n", "url=https://host/x\n");
    }

    #[test]
    fn properties_and_yaml_are_lines_as_well() {
        check(
            Syntax::Lines,
            "org.gradle.jvmargs=-Xmx2g\nnexusPassword=abc\\\n  def\nsigning.keyId=1\nsystemProp.https.proxyPassword=x\n",
            "org.gradle.jvmargs=-Xmx2g\nsigning.keyId=1\n",
        );
        check(
            Syntax::Lines,
            "npmRegistryServer: \"https://r.example\"\nnpmAuthToken: abc\nnpmScopes:\n  own:\n    npmAuthToken: \"x\"\n    npmRegistryServer: y\n",
            "npmRegistryServer: \"https://r.example\"\nnpmScopes:\n  own:\n    npmRegistryServer: y\n",
        );
    }

    #[test]
    fn cargo_keeps_its_registries_and_loses_its_tokens() {
        check(
            Syntax::Toml,
            "[registries.own]\nindex = \"sparse+https://me:pw@own.example/\"\ntoken = \"\"\"abc\ndef\"\"\"\n\
             [http]\nproxy = \"http://u:p@h:1\"\n[env]\nGITHUB_TOKEN = \"x\"\nNPM_TOKEN = { value = \"x\" }\nFOO = { value = \"a\", relative = true }\n",
            "[env.FOO]\nrelative = true\nvalue = \"a\"\n\n[http]\nproxy = \"http://h:1\"\n\n\
             [registries.own]\nindex = \"sparse+https://own.example/\"\n",
        );
        assert_eq!(redact("[a\nb", Syntax::Toml, &|_| true), None);
    }

    #[test]
    fn maven_keeps_its_mirrors_and_loses_its_passwords() {
        check(
            Syntax::Xml,
            "<settings><!-- <password>old</password> --><servers><server><id>a</id><password>x\ny</password>\
             <privateKey>k</privateKey></server></servers><url>https://u:p@m.example/</url></settings>",
            "<settings><servers><server><id>a</id><password></password><privateKey></privateKey></server>\
             </servers><url>https://m.example/</url></settings>",
        );
    }
}
