//! As much of XML as reports need: tags, attributes, entities.
//!
//! Tolerant of what does not matter here (namespaces, text, unknown elements), strict about nesting.
//! Deliberately absent: entities of a document's own, so a small document stays small.

use std::borrow::Cow;

#[derive(Debug, PartialEq)]
pub(super) enum Tag<'a> {
    Open { name: &'a str, attributes: &'a str, is_empty: bool },
    Close { name: &'a str },
}

/// The tags of a document, in order. `None` inside of it means that it is torn or no XML.
pub(super) struct Tags<'a> {
    rest: &'a str,
}

impl<'a> Tags<'a> {
    pub fn new(text: &'a str) -> Tags<'a> {
        Tags { rest: text }
    }

    /// The next tag; `Ok(None)` at the end.
    pub fn next(&mut self) -> Result<Option<Tag<'a>>, Torn> {
        loop {
            let Some(at) = self.rest.find('<') else {
                self.rest = "";
                return Ok(None);
            };
            self.rest = &self.rest[at..];
            let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
            if let Some((begin, end)) = skipped.iter().find(|(begin, _)| self.rest.starts_with(begin)) {
                let inner = &self.rest[begin.len()..];
                let at = inner.find(end).ok_or(Torn)?;
                self.rest = &inner[at + end.len()..];
                continue;
            }
            let end = tag_end(self.rest).ok_or(Torn)?;
            let tag = &self.rest[1..end];
            self.rest = &self.rest[end + 1..];
            // A document type may be declared, entities may not.
            if tag.starts_with('!') {
                if tag.contains('[') {
                    return Err(Torn);
                }
                continue;
            }
            if let Some(name) = tag.strip_prefix('/') {
                return Ok(Some(Tag::Close { name: name.trim_end() }));
            }
            let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
            let end = tag.find(|c: char| c.is_ascii_whitespace()).unwrap_or(tag.len());
            let (name, attributes) = tag.split_at(end);
            if name.is_empty() {
                return Err(Torn);
            }
            return Ok(Some(Tag::Open { name, attributes, is_empty }));
        }
    }
}

/// The document ends inside of something.
#[derive(Debug)]
pub(super) struct Torn;

/// Where the tag at the beginning ends. A `>` in quotes does not end it.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => return Some(at),
            (None, _) => {}
        }
    }
    None
}

/// The value of an attribute.
pub(super) fn attribute<'a>(attributes: &'a str, name: &str) -> Option<Cow<'a, str>> {
    let mut rest = attributes;
    loop {
        let (key, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        let (value, after) = after[1..].split_once(quote)?;
        if key.trim() == name {
            return Some(unescaped(value));
        }
        rest = after;
    }
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let entity = rest[1..].split_once(';').and_then(|(name, after)| Some((character(name)?, after)));
        match entity {
            Some((c, after)) => {
                plain.push(c);
                rest = after;
            }
            None => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

fn character(entity: &str) -> Option<char> {
    match entity {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}
