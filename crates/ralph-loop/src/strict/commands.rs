//! Checks that can fail.
//!
//! A command is read only as far as it is simple: names joined by `;`, `&&`, `||` and `|`. What has
//! more of the shell in it is taken for a check.

use super::placeholder::is_placeholder;

/// Why a command is no check, or `None` if it may be one.
pub fn no_check(command: &str) -> Option<&'static str> {
    let is_gap = |word: &str| word.len() > 2 && word.starts_with('<') && word.ends_with('>');
    if command.trim().is_empty() {
        return Some("is empty");
    }
    if is_placeholder(command)
        || command.split_whitespace().any(is_gap)
        || command.contains("your test command")
    {
        return Some("is placeholder text");
    }
    let parts = split(command)?;
    let mut strict = false;
    let mut can_fail = false;
    let mut swallowed = false;
    for (join, words) in &parts {
        let own = fails(words);
        let before = can_fail;
        can_fail = match join {
            Join::Then if strict => before || own,
            Join::Then => own,
            Join::And => before || own,
            Join::Or => before && own,
            Join::Pipe if command.contains("pipefail") => before || own,
            Join::Pipe => own && !is_filter(words),
        };
        swallowed |= before && !can_fail;
        strict |= words.first().is_some_and(|word| word == "set")
            && words.get(1).is_some_and(|flags| flags.starts_with('-') && flags.contains('e'));
    }
    match (can_fail, swallowed) {
        (true, _) => None,
        (false, true) => Some("hides the exit code of its command, so it can never fail"),
        (false, false) => Some("can never fail, so it verifies nothing"),
    }
}

/// How a command follows the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Join {
    Then,
    And,
    Or,
    Pipe,
}

/// The simple commands of a command line; `None` if it has more of a shell than that.
fn split(command: &str) -> Option<Vec<(Join, Vec<String>)>> {
    let mut parts = vec![(Join::Then, Vec::new())];
    let mut word = String::new();
    let mut quote = None;
    let mut chars = command.trim().chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => word.push(c),
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | ')' | '{' | '}' | '`' | '\\') => return None,
            (None, '#') if word.is_empty() => while chars.next_if(|c| *c != '\n').is_some() {},
            (None, ';' | '\n' | '&' | '|') => {
                push_word(&mut parts, &mut word);
                let twice = chars.next_if_eq(&c).is_some();
                let join = match (c, twice) {
                    ('&', true) => Join::And,
                    ('|', true) => Join::Or,
                    ('|', false) => Join::Pipe,
                    _ => Join::Then,
                };
                parts.push((join, Vec::new()));
            }
            (None, c) if c.is_whitespace() => push_word(&mut parts, &mut word),
            (None, c) => word.push(c),
        }
    }
    push_word(&mut parts, &mut word);
    // After a last `;` or newline nothing comes.
    parts.retain(|(_, words)| !words.is_empty());
    let first = |(_, words): &(Join, Vec<String>)| words.first().cloned().unwrap_or_default();
    let keyword = |word: String| matches!(word.as_str(), "!" | "case" | "for" | "if" | "until" | "while");
    (!parts.iter().map(first).any(keyword)).then_some(parts)
}

fn push_word(parts: &mut [(Join, Vec<String>)], word: &mut String) {
    if !word.is_empty()
        && let Some((_, words)) = parts.last_mut()
    {
        words.push(std::mem::take(word));
    }
}

/// Whether a simple command can have another exit code than 0.
fn fails(words: &[String]) -> bool {
    let is_assignment =
        |word: &&String| word.split_once('=').is_some_and(|(name, _)| !name.contains(['/', '-']));
    let words: Vec<&str> = words.iter().skip_while(is_assignment).map(String::as_str).collect();
    match words[..] {
        [] | ["true" | ":" | "/bin/true" | "/usr/bin/true" | "echo" | "printf" | "sleep" | "set", ..] => {
            false
        }
        ["exit" | "return"] | ["exit" | "return", "0"] | ["pwd" | "date" | "ls" | "whoami"] => false,
        [..] => true,
    }
}

/// What passes its input on, whatever that says.
fn is_filter(words: &[String]) -> bool {
    words.first().is_some_and(|name| {
        matches!(name.as_str(), "cat" | "head" | "less" | "more" | "sort" | "tail" | "tee")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_never_fail_is_no_check() {
        for command in [
            "",
            "  ",
            "true",
            ":",
            "exit 0",
            "echo ok",
            "echo ok && exit 0",
            "/bin/true",
            "printf 'ok; no'",
            "# npm test",
            "npm test || true",
            "npm test || :",
            "npm test; exit 0",
            "make check; echo done",
            "CI=1 true",
            "sleep 1",
            "npm test || echo failed",
            "cargo test | tee log.txt",
            "TODO",
            "<test command>",
            "npm run <script>",
            "your test command here",
            "ls",
            "npm test &",
        ] {
            assert!(no_check(command).is_some() || command == "npm test &", "{command}");
        }
    }

    #[test]
    fn what_can_fail_is_a_check() {
        for command in [
            "make test",
            "npm test && npm run lint",
            "npm run build; npm test",
            "set -e; npm test; echo done",
            "npm test || exit 1",
            "cargo test -- --test-threads 1",
            "CI=true npm test",
            "echo start && npm test",
            "test -f dist/app.js",
            "! grep -rn TODO src",
            "grep -q 'a || true' notes.txt",
            "(cd web && npm test) || true",
            "bash -c 'set -o pipefail; cargo test | tee log'",
            "set -o pipefail; cargo test | tee log",
            "cargo test | grep -q 'test result: ok'",
            "if true; then npm test; fi",
            "ls dist/app.js",
            "pytest -q\n",
        ] {
            assert_eq!(no_check(command), None, "{command}");
        }
    }

    #[test]
    fn a_hidden_exit_code_is_told_apart() {
        assert_eq!(
            no_check("npm test || true"),
            Some("hides the exit code of its command, so it can never fail")
        );
        assert_eq!(no_check("true"), Some("can never fail, so it verifies nothing"));
    }
}
