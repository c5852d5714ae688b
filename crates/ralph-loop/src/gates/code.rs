//! Source text with its comments and strings blanked out, so that words in them are not taken for code.
//!
//! Invariant: the result has the length of the text, and its line ends where they were.
//!
//! Deliberately absent: grammars. A string ends with its line where the language says so, so that a
//! quote which was read wrongly does not blank out the rest of the file.

/// What comments and strings look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    Python,
    JavaScript,
    Go,
    /// Java, Kotlin, C, C#, Swift, PHP, Dart: comments as in C.
    LikeC,
    /// Shell, Elixir, Perl, R: comments from `#`.
    Hash,
    Ruby,
}

impl Language {
    pub(super) fn of(path: &str) -> Option<Language> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, end) = name.rsplit_once('.')?;
        Some(match end.to_ascii_lowercase().as_str() {
            "rs" => Language::Rust,
            "py" | "pyi" | "pyx" => Language::Python,
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" | "coffee" => {
                Language::JavaScript
            }
            "go" => Language::Go,
            "java" | "kt" | "kts" | "scala" | "groovy" | "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "cs"
            | "swift" | "php" | "dart" | "m" | "zig" | "sol" | "fs" => Language::LikeC,
            "rb" => Language::Ruby,
            "sh" | "bash" | "bats" | "ex" | "exs" | "pl" | "t" | "r" | "lua" | "jl" | "feature" => {
                Language::Hash
            }
            _ => return None,
        })
    }
}

pub(super) fn blanked(text: &str, language: Language) -> String {
    let bytes = text.as_bytes();
    let mut result = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match after_token(bytes, at, language) {
            Some(end) => end.clamp(at + 1, bytes.len()),
            None => {
                at += 1;
                continue;
            }
        };
        for byte in &mut result[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
    // Tokens begin and end with ASCII, so that no character was cut.
    String::from_utf8(result).unwrap_or_default()
}

/// Where the comment or string that begins at `at` ends.
fn after_token(bytes: &[u8], at: usize, language: Language) -> Option<usize> {
    let rest = &bytes[at..];
    let line_comment = match language {
        Language::Python | Language::Hash | Language::Ruby => &b"#"[..],
        Language::Rust | Language::JavaScript | Language::Go | Language::LikeC => b"//",
    };
    // `$#` and `${#x}` of a shell, `#{x}` of Ruby are no comments.
    let begins_comment = line_comment != b"#"
        || at == 0
        || bytes[at - 1].is_ascii_whitespace()
        || language == Language::Python;
    if rest.starts_with(line_comment) && begins_comment {
        return Some(at + memchr::memchr(b'\n', rest).unwrap_or(rest.len()));
    }
    let block = line_comment == b"//" && rest.starts_with(b"/*");
    if block {
        return Some(at + block_comment(rest, language == Language::Rust));
    }
    if language == Language::Python {
        for quote in [&b"\"\"\""[..], b"'''"] {
            if rest.starts_with(quote) {
                let end = memchr::memmem::find(&rest[3..], quote).map_or(rest.len(), |end| end + 6);
                return Some(at + end);
            }
        }
    }
    match (rest[0], language) {
        (b'r', Language::Rust)
            if at == 0 || !bytes[at - 1].is_ascii_alphanumeric() && bytes[at - 1] != b'_' =>
        {
            raw_string(rest).map(|end| at + end)
        }
        // A string of Rust can go on in the next line.
        (b'"', Language::Rust) => Some(at + string(rest, b'"', true)),
        (b'\'', Language::Rust) => char_literal(rest).map(|end| at + end),
        (b'`', Language::JavaScript | Language::Go) => Some(at + string(rest, b'`', true)),
        (b'"', _) => Some(at + string(rest, b'"', false)),
        (b'\'', Language::LikeC | Language::Go) => char_literal(rest).map(|end| at + end),
        (b'\'', _) => Some(at + string(rest, b'\'', false)),
        _ => None,
    }
}

fn block_comment(rest: &[u8], nested: bool) -> usize {
    let mut open = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with(b"*/") {
            open -= 1;
            at += 2;
            if open == 0 {
                return at;
            }
        } else if rest[at..].starts_with(b"/*") && (nested || open == 0) {
            open += 1;
            at += 2;
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn string(rest: &[u8], quote: u8, over_lines: bool) -> usize {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\n' if !over_lines => return at,
            byte if *byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `r"…"`, `r#"…"#`.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return None;
    }
    let end: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let from = hashes + 2;
    Some(memchr::memmem::find(&rest[from..], &end).map_or(rest.len(), |found| from + found + end.len()))
}

/// `'x'` or `'\n'`, but not the lifetime `'a`.
fn char_literal(rest: &[u8]) -> Option<usize> {
    let near = &rest[..rest.len().min(14)];
    match near.get(1)? {
        b'\\' => memchr::memchr(b'\'', near.get(3..)?).map(|end| end + 4),
        first => {
            let width = match first {
                0x00..=0x7f => 1,
                0x80..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xff => 4,
            };
            (near.get(1 + width) == Some(&b'\'')).then_some(width + 2)
        }
    }
}

/// Where the block that opens at or after `at` closes, in blanked text; a `;` before it ends the item.
pub(super) fn end_of_item(blanked: &str, at: usize) -> usize {
    let mut open = 0_usize;
    for (offset, byte) in blanked.as_bytes()[at.min(blanked.len())..].iter().enumerate() {
        match byte {
            b'{' => open += 1,
            b'}' if open <= 1 => return at + offset + 1,
            b'}' => open -= 1,
            b';' if open == 0 => return at + offset + 1,
            _ => {}
        }
    }
    blanked.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &str) {
        let blanked = blanked(text, Language::of(path).unwrap());
        assert_eq!(blanked.len(), text.len(), "{text:?}");
        let words: Vec<&str> = blanked.split_whitespace().collect();
        assert_eq!(words.join(" "), expected, "{text:?}");
    }

    #[test]
    fn comments_and_strings_are_no_code() {
        check("a.rs", "a // b\nc /* d /* e */ f */ g \"h \\\" \n i\" j 'k' l<'m>", "a c g j l<'m>");
        check("a.rs", "a r#\"b\" c\"# d r\"e\" var r1 '\\'' '\\u{1F600}' 'ü' f", "a d var r1 f");
        check("a.py", "a # b\n'c' \"d\" \"\"\"e\nf\"\"\" g '''h''' i", "a g i");
        check("a.js", "a // b\n'c' `d\n${e}` f /* g */ h \"i", "a f h");
        check("a.go", "a `b\nc` \"d\" 'e' f", "a f");
        check("a.rb", "a 'b' \"#{c}\" d # e", "a d");
        check("a.sh", "a $# b # c", "a $# b");
        check("a.js", "don't\nit.skip()", "don it.skip()");
        check("a.rs", "\"unclosed ü", "");
    }

    #[test]
    fn an_item_ends_with_its_braces() {
        assert_eq!(end_of_item("mod a { b { } } c", 0), 15);
        assert_eq!(end_of_item("mod a; c", 0), 6);
        assert_eq!(end_of_item("mod a {", 0), 7);
    }
}
