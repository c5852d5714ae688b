//! Calls in the code of some language, without parsing it.
//!
//! Arguments are known as far as they are literals, joined ones and variables with a literal value among them.

use super::super::programs::quoted;
use super::Language;
use crate::guard::arg::{Arg, UNKNOWN};
use crate::guard::shell::{balanced, unescaped};
use std::collections::HashMap;

/// Calls that are looked at, and bytes of their arguments.
const MOST_CALLS: usize = 2_000;
const LONGEST_CALL: usize = 16 << 10;
/// Longer expressions are unknown. It bounds how deep they are nested.
const LONGEST_EXPRESSION: usize = 512;

/// A call and what is known of its arguments.
pub struct Call {
    pub name: String,
    pub args: Vec<Value>,
    /// What was called on the result: `Path("x").unlink()`.
    pub then: String,
}

#[derive(Clone, Debug)]
pub enum Value {
    Text(Arg),
    List(Vec<Arg>),
}

impl Value {
    pub fn text(&self) -> Option<Arg> {
        match self {
            Value::Text(text) => Some(text.clone()),
            Value::List(list) => list.first().cloned(),
        }
    }
}

/// Commands that are written without a call: backticks, `system "…"`, `do shell script "…"`.
pub fn commands(code: &str, language: Language) -> Vec<String> {
    let mut found = Vec::new();
    if language.runs_backticks() {
        found.extend(code.split('`').skip(1).step_by(2).map(str::to_owned));
    }
    if language == Language::Node {
        // zx and bun: $`command`
        found.extend(code.split("$`").skip(1).filter_map(|rest| rest.split('`').next()).map(str::to_owned));
    }
    const WORDS: [&str; 7] = ["system ", "exec ", "do shell script ", "qx ", "%x", "spawn ", "shell_exec "];
    for word in WORDS {
        for (at, _) in code.match_indices(word) {
            let rest = code[at + word.len()..].trim_start();
            if let Some((text, length)) = literal(rest) {
                found.push(with_further_words(text, &rest[length..]));
            }
        }
    }
    for open in ["qx(", "qx{", "qx/", "%x(", "%x{", "%x["] {
        let close = match open.chars().last() {
            Some('(') => ')',
            Some('{') => '}',
            Some('[') => ']',
            _ => '/',
        };
        found.extend(code.split(open).skip(1).filter_map(|rest| rest.split(close).next()).map(str::to_owned));
    }
    if language == Language::Awk {
        // `print … | "command"` and `"command" | getline`
        for (at, _) in code.match_indices('|') {
            if let Some((text, _)) = literal(code[at + 1..].trim_start()) {
                found.push(text.text().to_owned());
            }
        }
    }
    if language == Language::PowerShell {
        found.push(code.to_owned());
    }
    found
}

/// `system "rm", "-rf", "x"`: a program and its arguments, each in quotes.
fn with_further_words(first: Arg, mut rest: &str) -> String {
    let mut words = vec![first];
    while let Some((text, length)) = rest.trim_start().strip_prefix(',').and_then(|more| {
        let (text, length) = literal(more.trim_start())?;
        Some((text, more.len() - more.trim_start().len() + length + 1))
    }) {
        words.push(text);
        rest = &rest.trim_start()[length..];
    }
    match words.as_slice() {
        [code] => code.text().to_owned(),
        words => words.iter().map(|word| quoted(word.text())).collect::<Vec<_>>().join(" "),
    }
}

/// `from os import system as run`: names that stand for others.
fn renamed(code: &str, language: Language) -> HashMap<&str, &str> {
    if language != Language::Python {
        return HashMap::new();
    }
    let mut renamed = HashMap::new();
    for line in code.split(['\n', ';']).filter(|line| line.trim_start().starts_with("from ")) {
        let names: Vec<&str> = line.split([' ', ',', '(', ')']).filter(|word| !word.is_empty()).collect();
        for three in names.windows(3).filter(|three| three[1] == "as") {
            renamed.insert(three[2].trim(), three[0]);
        }
    }
    renamed
}

/// All calls of a code, in order.
pub fn calls(code: &str, language: Language) -> Vec<Call> {
    let bytes = code.as_bytes();
    let renamed = renamed(code, language);
    let mut constants: HashMap<String, Arg> = HashMap::new();
    let mut calls = Vec::new();
    let mut tried = 0;
    let mut at = 0;
    while at < bytes.len() && tried < MOST_CALLS {
        let byte = bytes[at];
        if byte == b'#'
            && matches!(language, Language::Python | Language::Perl | Language::Ruby)
            && (at == 0 || bytes[at - 1].is_ascii_whitespace())
        {
            at += code[at..].find('\n').unwrap_or(code.len() - at);
            continue;
        }
        if let Some((_, length)) = literal(&code[at..]) {
            at += length.max(1);
            continue;
        }
        if !(byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$') {
            at += code[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let length = code[at..]
            .find(|c: char| !(c.is_ascii_alphanumeric() || "_.:$?!".contains(c)))
            .unwrap_or(code.len() - at);
        let name = code[at..at + length].trim_end_matches(['.', ':']);
        let name = renamed.get(name).copied().unwrap_or(name);
        let after = code[at + length..].trim_start_matches([' ', '\t']);
        let gap = code[at + length..].len() - after.len();
        if let Some(value) = after.strip_prefix('=').filter(|rest| !rest.starts_with(['=', '~', '>'])) {
            if let Some((text, _)) = literal(value.trim_start()) {
                constants.insert(name.trim_start_matches('$').to_owned(), text);
            } else if let Some(known) = path_expression(first_statement(value), &constants) {
                constants.insert(name.trim_start_matches('$').to_owned(), known);
            }
        }
        tried += usize::from(after.starts_with('('));
        if after.starts_with('(')
            && let Some(close) = balanced(cut(after, LONGEST_CALL))
        {
            let args = values(&after[1..close - 1], &constants);
            let then = after[close..].strip_prefix('.').map_or("", |rest| {
                &rest[..rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len())]
            });
            let known = name.rsplit_once('.').and_then(|(of, method)| Some((constants.get(of)?, method)));
            calls.push(match known {
                // `p = Path("x")`, then `p.unlink()`.
                Some((path, method)) if ON_PATHS.contains(&method) => Call {
                    name: "Path".to_owned(),
                    args: vec![Value::Text(path.clone())],
                    then: method.to_owned(),
                },
                _ => Call { name: method_name(name, code, at), args, then: then.to_owned() },
            });
            // The arguments may have calls of their own.
            at += length + gap + 1;
            continue;
        }
        if has_statements(language)
            && STATEMENTS.contains(&name)
            && gap > 0
            && !after.starts_with(['=', ',', ')', ';'])
        {
            tried += 1;
            let args = values(statement(cut(after, LONGEST_CALL)), &constants);
            calls.push(Call { name: name.to_owned(), args, then: String::new() });
        }
        at += length.max(1);
    }
    calls
}

/// What is done with a path by its own methods.
const ON_PATHS: [&str; 8] =
    ["write_text", "write_bytes", "unlink", "rmdir", "touch", "read_text", "read_bytes", "symlink_to"];

/// Languages in which a call needs no parentheses.
fn has_statements(language: Language) -> bool {
    matches!(language, Language::Perl | Language::Ruby | Language::Php)
}

const STATEMENTS: [&str; 11] = [
    "open",
    "unlink",
    "rmtree",
    "kill",
    "rmdir",
    "chmod",
    "rename",
    "symlink",
    "FileUtils.rm_rf",
    "File.delete",
    "truncate",
];

/// The arguments of a call without parentheses: up to the end of the statement.
fn statement(text: &str) -> &str {
    let mut at = 0;
    while at < text.len() {
        if let Some((_, length)) = literal(&text[at..]) {
            at += length.max(1);
            continue;
        }
        let rest = &text[at..];
        if rest.starts_with([';', '\n', '}'])
            || [" or ", " if ", " while ", " unless ", "||"].iter().any(|word| rest.starts_with(word))
        {
            return &text[..at];
        }
        at += rest.chars().next().map_or(1, char::len_utf8);
    }
    text
}

/// What is before the end of the line or a semicolon.
fn first_statement(code: &str) -> &str {
    code.split(['\n', ';']).next().unwrap_or_default().trim()
}

/// At most so many bytes of the beginning.
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

/// `require("fs").rmSync`: the name before a dot that follows a parenthesis belongs to it.
fn method_name(name: &str, code: &str, at: usize) -> String {
    match code[..at].ends_with(").") {
        true if code[..at].contains("require(") => format!("fs.{name}"),
        _ => name.trim_start_matches('$').to_owned(),
    }
}

/// The arguments between parentheses.
fn values(text: &str, constants: &HashMap<String, Arg>) -> Vec<Value> {
    pieces(text).into_iter().take(16).map(|piece| value(piece.trim(), constants)).collect()
}

fn value(piece: &str, constants: &HashMap<String, Arg>) -> Value {
    let inner = piece.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(inner) = inner {
        return Value::List(
            pieces(inner).into_iter().map(|piece| expression(piece.trim(), constants)).collect(),
        );
    }
    Value::Text(expression(piece, constants))
}

/// A literal, literals that are joined, a variable with a known value, a number; else unknown.
fn expression(piece: &str, constants: &HashMap<String, Arg>) -> Arg {
    if piece.contains("ppid") {
        return Arg::new("pid:parent");
    }
    if let Some(known) = path_expression(piece, constants) {
        return known;
    }
    let mut text = String::new();
    let mut rest = piece;
    let mut is_known = false;
    while !rest.is_empty() {
        if let Some((literal, length)) = literal(rest) {
            text.push_str(literal.text());
            is_known = true;
            rest = rest[length..].trim_start().trim_start_matches(['+', '.', ' ']);
            continue;
        }
        let length = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$' || c == '-'))
            .unwrap_or(rest.len());
        let name = rest[..length].trim_start_matches('$');
        match constants.get(name) {
            Some(known) if length > 0 => text.push_str(known.text()),
            _ if length > 0
                && rest[..length].trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                text.push_str(&rest[..length]);
            }
            _ => text.push(UNKNOWN),
        }
        rest = &rest[length..];
        // Up to the next literal.
        let skip = rest.find(['\'', '"', '`']).unwrap_or(rest.len());
        if skip > 0
            && !rest[..skip].trim_matches([' ', '+', '.', ',']).is_empty()
            && !text.ends_with(UNKNOWN)
            && is_known
        {
            text.push(UNKNOWN);
        }
        // A quote that is never closed is skipped.
        let skip = if length + skip == 0 { rest.chars().next().map_or(0, char::len_utf8) } else { skip };
        rest = &rest[skip..];
    }
    Arg::new(text)
}

/// `os.path.expanduser("~/x")`, `os.path.join("a", "b")`, `Path.home() / "x"`, `os.homedir() + "/x"`.
fn path_expression(piece: &str, constants: &HashMap<String, Arg>) -> Option<Arg> {
    if piece.len() > LONGEST_EXPRESSION {
        return None;
    }
    for home in [
        "Path.home()",
        "os.homedir()",
        "require('os').homedir()",
        "Dir.home",
        "os.environ['HOME']",
        "os.environ[\"HOME\"]",
        "process.env.HOME",
        "ENV['HOME']",
        "pathlib.Path.home()",
    ] {
        if let Some(rest) = piece.strip_prefix(home) {
            let rest = rest.trim_start().trim_start_matches(['/', '+']).trim_start();
            let tail = literal(rest)
                .map_or_else(String::new, |(text, _)| text.text().trim_start_matches('/').to_owned());
            return Some(Arg::new(if tail.is_empty() { "~".to_owned() } else { format!("~/{tail}") }));
        }
    }
    for wrapper in [
        "os.path.expanduser(",
        "os.path.abspath(",
        "Path(",
        "pathlib.Path(",
        "File.expand_path(",
        "path.resolve(",
        "str(",
        "glob(",
        "glob.glob(",
        "Dir.glob(",
    ] {
        if let Some(rest) = piece.strip_prefix(wrapper) {
            let inner = rest.strip_suffix(')').unwrap_or(rest);
            return Some(expression(pieces(inner).first()?.trim(), constants));
        }
    }
    for join in ["os.path.join(", "path.join(", "File.join("] {
        if let Some(rest) = piece.strip_prefix(join) {
            let inner = rest.strip_suffix(')').unwrap_or(rest);
            let parts: Vec<String> = pieces(inner)
                .into_iter()
                .map(|piece| expression(piece.trim(), constants).text().to_owned())
                .collect();
            return Some(Arg::new(parts.join("/")));
        }
    }
    None
}

/// A text cut at the commas of its own level.
fn pieces(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut at, mut depth) = (0, 0, 0usize);
    while at < text.len() {
        if let Some((_, length)) = literal(&text[at..]) {
            at += length.max(1);
            continue;
        }
        match text.as_bytes()[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                found.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    found.push(&text[start..]);
    found.retain(|piece| !piece.trim().is_empty());
    found
}

/// The user's home within a literal.
const HOMES: [&str; 5] = ["$ENV{HOME}", "$ENV{'HOME'}", "#{ENV['HOME']}", "#{Dir.home}", "#{ENV[\"HOME\"]}"];

/// The string literal that begins a text, and its length. What is filled in (`{x}`, `${x}`) is unknown.
fn literal(text: &str) -> Option<(Arg, usize)> {
    // At most two letters before the quote: `rb"…"`.
    let prefix = text.bytes().take(3).position(|byte| matches!(byte, b'\'' | b'"' | b'`'))?;
    let is_prefix = |c: char| "rbfuRBFU".contains(c);
    if !text[..prefix].chars().all(is_prefix) {
        return None;
    }
    let is_filled = text[..prefix].contains(['f', 'F']);
    let body = &text[prefix..];
    let quote = body.chars().next()?;
    let long = body.starts_with("\"\"\"") || body.starts_with("'''");
    let mark: String = std::iter::repeat_n(quote, if long { 3 } else { 1 }).collect();
    let inner = &body[mark.len()..];
    let mut value = String::new();
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        if inner[at..].starts_with(&mark) {
            let value = unescaped(&value);
            let value = HOMES.iter().fold(value, |value, home| value.replace(home, "~"));
            return Some((Arg::new(value), prefix + mark.len() * 2 + at));
        }
        match c {
            '\\' => {
                value.push('\\');
                value.extend(chars.next().map(|(_, c)| c));
            }
            '\n' if !long && quote != '`' => return None,
            '{' if is_filled => {
                value.push(UNKNOWN);
                for (_, c) in chars.by_ref() {
                    if c == '}' {
                        break;
                    }
                }
            }
            '$' if quote == '`' && inner[at..].starts_with("${") => {
                value.push(UNKNOWN);
                for (_, c) in chars.by_ref() {
                    if c == '}' {
                        break;
                    }
                }
            }
            c => value.push(c),
        }
    }
    None
}
