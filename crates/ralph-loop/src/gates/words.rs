//! The simple commands of a shell script, as far as they can be told without running it.
//!
//! Knows quotes, escapes, comments, `cd`, subshells, pipes, redirects, here-documents, command
//! substitutions and variables that were assigned a literal before. Anything else that begins with
//! `$` becomes a single `$` in its word. Invariant: bounded in depth and number of commands, and
//! never fails; a script that no shell would accept gives some commands too.
//!
//! Deliberately absent: functions, conditions and loops. Their commands are found as if each was run.

use std::collections::BTreeMap;

const MOST_COMMANDS: usize = 2_000;
const DEEPEST: usize = 4;

/// A command with its words, quotes removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Simple {
    /// Where it runs, relative to the top of the tree.
    pub(super) dir: String,
    pub(super) words: Vec<String>,
    /// Files that it reads by `<`.
    pub(super) reads: Vec<String>,
    pub(super) output: Output,
}

/// Where a command's output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// To a file or the log.
    Shown,
    /// Into the next command of the list.
    Piped,
    /// Into a word of another command.
    Substituted,
}

/// The commands of a script that runs in `dir`; `own` is the script's own directory.
pub(super) fn commands(script: &str, dir: &str, own: &str) -> Vec<Simple> {
    let mut reader = Reader { found: Vec::new(), variables: BTreeMap::new(), own };
    reader.read(script, dir, Output::Shown, 0);
    reader.found
}

/// A path as seen from the top of the tree; `None` if it is outside of it. A leading `$` stands for
/// a variable, mostly the script's own directory.
pub(super) fn joined(dir: &str, path: &str) -> Option<String> {
    if path.starts_with(['/', '~']) {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for name in dir.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

struct Reader<'a> {
    found: Vec<Simple>,
    variables: BTreeMap<String, String>,
    own: &'a str,
}

/// The command that is being read.
#[derive(Default)]
struct Current {
    words: Vec<String>,
    reads: Vec<String>,
    word: Option<String>,
    redirect: Option<Redirect>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Redirect {
    In,
    Out,
    HereDocument,
}

impl Reader<'_> {
    fn read(&mut self, script: &str, dir: &str, output: Output, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        let chars: Vec<char> = script.chars().collect();
        let mut now = Current::default();
        let mut dirs = vec![dir.to_string()];
        let mut here: Vec<String> = Vec::new();
        let mut at = 0;
        while let Some(&c) = chars.get(at) {
            if self.found.len() >= MOST_COMMANDS {
                return;
            }
            at += 1;
            match c {
                ' ' | '\t' | '\r' => self.end_word(&mut now, &mut here),
                '#' if now.word.is_none() => at = end_of_line(&chars, at),
                '\\' if chars.get(at) == Some(&'\n') => at += 1,
                '\\' => {
                    if let Some(&next) = chars.get(at) {
                        now.word.get_or_insert_default().push(next);
                        at += 1;
                    }
                }
                '\'' => {
                    let end = position(&chars, at, '\'');
                    now.word.get_or_insert_default().extend(&chars[at..end]);
                    at = end + 1;
                }
                '"' => at = self.quoted(&chars, at, &mut now, &dirs, depth),
                '$' | '`' => at = self.expansion(&chars, at - 1, &mut now, &dirs, depth),
                // `<(command)` is a word, not a file to read.
                '<' | '>' if chars.get(at) == Some(&'(') => {
                    at = self.expansion(&chars, at - 1, &mut now, &dirs, depth);
                }
                '<' | '>' => at = self.redirect(&chars, at - 1, &mut now, &mut here),
                '\n' | ';' | '&' | '|' | '(' | ')' => {
                    let piped = c == '|' && chars.get(at) != Some(&'|');
                    let goes = if piped { Output::Piped } else { output.clone() };
                    self.end_word(&mut now, &mut here);
                    self.end_command(&mut now, &mut dirs, goes);
                    match c {
                        '(' => dirs.push(dirs.last().cloned().unwrap_or_default()),
                        ')' if dirs.len() > 1 => {
                            dirs.pop();
                        }
                        '\n' => {
                            for end in here.drain(..) {
                                at = after_here_document(&chars, at, &end);
                            }
                        }
                        _ => {}
                    }
                }
                c => now.word.get_or_insert_default().push(c),
            }
        }
        self.end_word(&mut now, &mut here);
        self.end_command(&mut now, &mut dirs, output);
    }

    /// What is between double quotes; returns where it ends.
    fn quoted(
        &mut self,
        chars: &[char],
        mut at: usize,
        now: &mut Current,
        dirs: &[String],
        depth: usize,
    ) -> usize {
        now.word.get_or_insert_default();
        while let Some(&c) = chars.get(at) {
            at += 1;
            match c {
                '"' => return at,
                '\\' => {
                    if let Some(&next) = chars.get(at).filter(|next| **next != '\n') {
                        now.word.get_or_insert_default().push(next);
                    }
                    at += 1;
                }
                '$' | '`' => at = self.expansion(chars, at - 1, now, dirs, depth),
                c => now.word.get_or_insert_default().push(c),
            }
        }
        at
    }

    /// `$x`, `${x}`, `$(command)` or backticks from `at`; returns where it ends.
    fn expansion(
        &mut self,
        chars: &[char],
        at: usize,
        now: &mut Current,
        dirs: &[String],
        depth: usize,
    ) -> usize {
        let inner = |from: usize, to: usize| chars[from.min(to)..to].iter().collect::<String>();
        let dir = dirs.last().cloned().unwrap_or_default();
        let (end, value) = match (chars[at], chars.get(at + 1)) {
            ('`', _) => {
                let end = position(chars, at + 1, '`');
                self.read(&inner(at + 1, end), &dir, Output::Substituted, depth + 1);
                (end + 1, None)
            }
            (_, Some('(')) if is_arithmetic(chars, at) => {
                // `$((a * b))` runs nothing but what is substituted in it.
                let end = closing(chars, at + 2);
                if depth <= DEEPEST {
                    let sum = chars[at + 3..end - 1].to_vec();
                    self.quoted(&sum, 0, &mut Current::default(), dirs, depth + 1);
                }
                (end + 1, None)
            }
            (_, Some('(')) => {
                let end = closing(chars, at + 2);
                self.read(&inner(at + 2, end), &dir, Output::Substituted, depth + 1);
                (end + 1, None)
            }
            (_, Some('{')) => {
                let end = position(chars, at + 2, '}');
                (end + 1, self.variables.get(&inner(at + 2, end)).cloned())
            }
            (_, Some(c)) if c.is_ascii_alphabetic() || *c == '_' => {
                let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
                let end = at + 1 + chars[at + 1..].iter().take_while(|c| is_name(c)).count();
                (end, self.variables.get(&inner(at + 1, end)).cloned())
            }
            (_, Some(c)) if c.is_ascii_digit() || "@*#?!-$".contains(*c) => (at + 2, None),
            _ => (at + 1, None),
        };
        now.word.get_or_insert_default().push_str(value.as_deref().unwrap_or("$"));
        end.min(chars.len())
    }

    fn redirect(&mut self, chars: &[char], at: usize, now: &mut Current, here: &mut Vec<String>) -> usize {
        // A number right before it is a file descriptor.
        if now.word.as_ref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
            now.word = None;
        }
        self.end_word(now, here);
        let signs = chars[at..].iter().take(3).take_while(|c| "<>&|-".contains(**c)).collect::<String>();
        let kind = match signs.as_str() {
            "<<<" => Redirect::Out,
            signs if signs.starts_with("<<") => Redirect::HereDocument,
            signs if signs.starts_with("<") && !signs.starts_with("<&") => Redirect::In,
            _ => Redirect::Out,
        };
        now.redirect = Some(kind);
        at + signs.len().max(1)
    }

    fn end_word(&mut self, now: &mut Current, here: &mut Vec<String>) {
        let Some(word) = now.word.take() else { return };
        match now.redirect.take() {
            Some(Redirect::In) => now.reads.push(word),
            Some(Redirect::Out) => {}
            Some(Redirect::HereDocument) => here.push(word),
            None => {
                if now.words.iter().all(|word| is_assignment(word))
                    && let Some((name, value)) = word.split_once('=').filter(|_| is_assignment(&word))
                {
                    self.variables.insert(name.to_string(), value.to_string());
                }
                now.words.push(word);
            }
        }
    }

    fn end_command(&mut self, now: &mut Current, dirs: &mut [String], output: Output) {
        let Current { words, reads, .. } = std::mem::take(now);
        let Some(dir) = dirs.last_mut() else { return };
        let words: Vec<String> = words.into_iter().skip_while(|word| is_keyword(word)).collect();
        if let [cd, to, ..] = &words[..]
            && matches!(cd.as_str(), "cd" | "pushd")
        {
            let to = words[1..].iter().find(|word| !word.starts_with('-')).unwrap_or(to);
            let inside = match to.strip_prefix('$') {
                Some(rest) => joined(self.own, rest.trim_start_matches('/')),
                None => joined(dir, to),
            };
            *dir = inside.unwrap_or_default();
            return;
        }
        if !words.is_empty() || !reads.is_empty() {
            self.found.push(Simple { dir: dir.clone(), words, reads, output });
        }
    }
}

/// `NAME=value` before a command.
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit())
    })
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "if" | "then" | "elif" | "else" | "while" | "until" | "do" | "!" | "{" | "}" | "fi" | "done"
    )
}

fn end_of_line(chars: &[char], at: usize) -> usize {
    position(chars, at, '\n')
}

fn position(chars: &[char], at: usize, wanted: char) -> usize {
    chars[at.min(chars.len())..].iter().position(|c| *c == wanted).map_or(chars.len(), |found| at + found)
}

/// The closing parenthesis of a substitution that opened before `at`.
fn closing(chars: &[char], mut at: usize) -> usize {
    let mut open = 1;
    while let Some(c) = chars.get(at) {
        match c {
            '\\' => at += 1,
            '\'' => at = position(chars, at + 1, '\''),
            '(' => open += 1,
            ')' if open == 1 => return at,
            ')' => open -= 1,
            _ => {}
        }
        at += 1;
    }
    chars.len()
}

/// Whether the `$` is that of `$((1 + 2))`, and not of `$((cd a; pwd); pwd)`.
fn is_arithmetic(chars: &[char], at: usize) -> bool {
    if chars.get(at + 2) != Some(&'(') {
        return false;
    }
    let end = closing(chars, at + 3);
    chars.get(end + 1) == Some(&')')
}

fn after_here_document(chars: &[char], mut at: usize, end: &str) -> usize {
    while at < chars.len() {
        let line_end = end_of_line(chars, at);
        let line: String = chars[at..line_end].iter().collect();
        at = line_end + 1;
        if line.trim_start_matches('\t') == end {
            break;
        }
    }
    at.min(chars.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each command as `dir: words`, with `|` or `$` behind it for where its output goes.
    #[track_caller]
    fn check(script: &str, expected: &[&str]) {
        let shown = |command: &Simple| {
            let end = match command.output {
                Output::Shown => "",
                Output::Piped => " |",
                Output::Substituted => " $",
            };
            let reads: String = command.reads.iter().map(|read| format!(" <{read}")).collect();
            format!("{}: {}{reads}{end}", command.dir, command.words.join(" "))
        };
        let found: Vec<String> = commands(script, "", "own").iter().map(shown).collect();
        assert_eq!(found, expected, "{script:?}");
    }

    #[test]
    fn a_script_is_split_into_its_commands() {
        check("./test.sh", &[": ./test.sh"]);
        check("a && b; c || d & e", &[": a", ": b", ": c", ": d", ": e"]);
        check("cd sub && make test", &["sub: make test"]);
        check("(cd sub; a); b", &["sub: a", ": b"]);
        check("cd a/b; cd ..; x", &["a: x"]);
        check("cd \"$(dirname \"$0\")/..\" && x", &[": dirname $ $", ": x"]);
        check("cd $HERE; x", &["own: x"]);
        check("cd /tmp; x", &[": x"]);
        check("sh -c 'a b; c'", &[": sh -c a b; c"]);
        check("X=1 Y='a b' pytest -k \"x y\"", &[": X=1 Y=a b pytest -k x y"]);
        check("D=ci; sh $D/test.sh ${D}/x \"$E/y\"", &[": D=ci", ": sh ci/test.sh ci/x $/y"]);
        check("a | grep x > out 2>&1", &[": a |", ": grep x"]);
        check("a 2>/dev/null < in.txt", &[": a <in.txt"]);
        check("test \"$(python a.py)\" = x", &[": python a.py $", ": test $ = x"]);
        check("test `a b` = x", &[": a b $", ": test $ = x"]);
        check("# a comment\na # b\n\\\nb\\\n c", &[": a", ": b c"]);
        check("if ! a; then b; fi", &[": a", ": b"]);
        check("cat <<EOF\nsh x.sh\nEOF\nb", &[": cat", ": b"]);
        check("cat <<'EOF' | sh\nx\nEOF\nb", &[": cat |", ": sh", ": b"]);
        check("diff <(a) b", &[": a $", ": diff $ b"]);
        check("'unclosed", &[": unclosed"]);
        check("$(unclosed", &[": unclosed $", ": $"]);
        check("\"$", &[": $"]);
        check("a\\", &[": a"]);
    }

    #[test]
    fn paths_are_seen_from_the_top() {
        for (dir, path, expected) in [
            ("", "./a", Some("a")),
            ("a/b", "../c", Some("a/c")),
            ("a", "../../b", None),
            ("a", "/b", None),
            ("", "~/b", None),
            ("a", ".", Some("a")),
        ] {
            assert_eq!(joined(dir, path).as_deref(), expected, "{dir} {path}");
        }
    }
}
