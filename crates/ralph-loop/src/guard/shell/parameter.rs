//! `$name` and `${name…}`.

use super::ast::{Change, Parameter, Part, Word};
use super::parse::{Parser, enclosed};
use super::{ShellError, parse_text};

/// The length of the name after a dollar: a name, digits, or one special character.
pub fn name_length(rest: &str) -> usize {
    let Some(first) = rest.bytes().next() else { return 0 };
    match first {
        b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len())
        }
        b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => 1,
        _ => 0,
    }
}

pub fn plain(name: &str) -> Part {
    Part::Parameter(Parameter { name: name.to_owned(), index: None, change: Change::None })
}

impl Parser<'_> {
    /// `{name…}`
    pub(super) fn braced_parameter(&mut self) -> Result<Part, ShellError> {
        let length = enclosed(self.rest(), b'{', b'}').ok_or_else(|| self.unexpected("}"))?;
        let inner = &self.rest()[1..length - 1];
        self.at += length;
        let depth = self.depth;
        let name_of = |text: &str| text[..name_length_long(text)].to_owned();
        if let Some(rest) = inner.strip_prefix('#').filter(|rest| !rest.is_empty()) {
            return Ok(Part::Parameter(Parameter {
                name: name_of(rest),
                index: None,
                change: Change::Length,
            }));
        }
        if let Some(rest) = inner.strip_prefix('!') {
            return Ok(Part::Parameter(Parameter {
                name: name_of(rest),
                index: None,
                change: Change::Indirect,
            }));
        }
        let name = name_of(inner);
        let mut rest = &inner[name.len()..];
        let mut index = None;
        if let Some((inside, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            index = inside.trim().parse().ok();
            rest = after;
        }
        let change = change(rest, depth)?;
        Ok(Part::Parameter(Parameter { name, index, change }))
    }
}

fn change(rest: &str, depth: usize) -> Result<Change, ShellError> {
    let word = |text: &str| parse_text(text, depth + 1);
    let after = |prefixes: &[&str]| prefixes.iter().find_map(|prefix| rest.strip_prefix(prefix));
    if rest.is_empty() {
        return Ok(Change::None);
    }
    if let Some(text) = after(&[":-", ":=", "-", "="]) {
        return Ok(Change::Default(unquoted(word(text)?)));
    }
    if let Some(text) = after(&[":+", "+"]) {
        return Ok(Change::Instead(unquoted(word(text)?)));
    }
    if after(&[":?", "?"]).is_some() {
        return Ok(Change::Demand);
    }
    for (mark, from_end, longest) in
        [("##", false, true), ("#", false, false), ("%%", true, true), ("%", true, false)]
    {
        if let Some(text) = rest.strip_prefix(mark) {
            return Ok(Change::Strip { from_end, longest, pattern: word(text)? });
        }
    }
    if let Some(text) = rest.strip_prefix('/') {
        let (all, text) = match text.strip_prefix('/') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let (old, new) = text.split_once('/').unwrap_or((text, ""));
        return Ok(Change::Replace { all, old: word(old)?, new: word(new)? });
    }
    if let Some(text) = rest.strip_prefix(':') {
        let (from, length) = match text.split_once(':') {
            Some((from, length)) => (from, Some(length.trim().to_owned())),
            None => (text, None),
        };
        return Ok(Change::Slice { from: from.trim().to_owned(), length });
    }
    Ok(match rest {
        "^" | "^^" => Change::Upper,
        "," | ",," => Change::Lower,
        _ => Change::Other,
    })
}

/// The quotes in a default are quotes, and not a part of it.
fn unquoted(word: Word) -> Word {
    let clean = |part: Part| match part {
        Part::Double(parts) => Part::Double(
            parts
                .into_iter()
                .map(|part| match part {
                    Part::Quoted(text) => Part::Quoted(text.replace(['"', '\''], "")),
                    other => other,
                })
                .collect(),
        ),
        other => other,
    };
    Word(word.0.into_iter().map(clean).collect())
}

fn name_length_long(text: &str) -> usize {
    match text.as_bytes().first() {
        Some(b'0'..=b'9') => text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()),
        _ => name_length(text),
    }
}
