//! Text for people: cut to a length, cleaned of terminal control, made into a file name.
//!
//! Lengths that people see are counted in characters, so that a limit means the same in every
//! language. No cut splits a character.
//!
//! Deliberately absent: display width and wrapping. Those need a terminal, and the
//! policy has none.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::iter::Peekable;
use std::str::CharIndices;

const SLUG_CHARS: usize = 50;

/// `1 iteration`, `2 iterations`, `0 stories`.
pub fn counted(n: u64, thing: &str) -> String {
    match (n, thing.strip_suffix('y')) {
        (1, _) => format!("1 {thing}"),
        (n, Some(stem)) => format!("{n} {stem}ies"),
        (n, None) if thing.ends_with('s') => format!("{n} {thing}es"),
        (n, None) => format!("{n} {thing}s"),
    }
}

/// The first `chars` characters, followed by `... [truncated]` if there were more.
pub fn head(text: &str, chars: usize) -> Cow<'_, str> {
    match byte_of_char(text, chars) {
        None => Cow::Borrowed(text),
        Some(end) => Cow::Owned(format!("{}... [truncated]", &text[..end])),
    }
}

/// The last `chars` characters, after `[truncated] ...` if there were more.
pub fn tail(text: &str, chars: usize) -> Cow<'_, str> {
    if text.len() <= chars {
        return Cow::Borrowed(text);
    }
    // The character just before the tail, seen from the end: without one nothing is cut.
    match text.char_indices().nth_back(chars) {
        None => Cow::Borrowed(text),
        Some((at, before)) => Cow::Owned(format!("[truncated] ...{}", &text[at + before.len_utf8()..])),
    }
}

/// At most `chars` characters in all; the last is `…` if something was cut.
///
/// For texts that are kept in a record, where the limit is a promise about size.
pub fn clip(text: &str, chars: usize) -> Cow<'_, str> {
    if byte_of_char(text, chars).is_none() {
        return Cow::Borrowed(text);
    }
    let end = byte_of_char(text, chars.saturating_sub(1)).unwrap_or(0);
    Cow::Owned(if chars == 0 { String::new() } else { format!("{}…", &text[..end]) })
}

/// As much of the beginning as fits into `bytes`, in whole characters.
pub fn first_bytes(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The text without control sequences: what may be shown on a terminal.
///
/// Removed are whole ANSI sequences with their payload (CSI, OSC, DCS, SOS, PM, APC,
/// and `ESC x`), in their 7-bit and 8-bit forms, all other C0 and C1 controls but for newline
/// and tab, DEL, and the bidirectional overrides that make a line read other than it is.
/// A sequence that never ends reaches to the end of its line, so a torn one hides no
/// further line.
pub fn printable(text: &str) -> Cow<'_, str> {
    without_controls(text, |_, _| {})
}

/// The same, but for colors: what a terminal may be sent that ralph itself has painted.
pub fn printable_or_painted(text: &str) -> Cow<'_, str> {
    let is_paint = |control: &str| {
        let parameters = control.strip_prefix("\x1b[").and_then(|rest| rest.strip_suffix('m'));
        parameters.is_some_and(|parameters| parameters.bytes().all(|b| matches!(b, b'0'..=b'9' | b';')))
    };
    without_controls(text, |control, clean| {
        if is_paint(control) {
            clean.push_str(control);
        }
    })
}

/// JSON that a terminal can be sent: it means the same. Controls can only be inside of its strings.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    // Each by itself: what belongs to a sequence is text for those who read JSON.
    let Some(first) = next_control(json, 0) else { return Cow::Borrowed(json) };
    let mut clean = json[..first].to_owned();
    for c in json[first..].chars() {
        match is_control(c) {
            true => clean.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => clean.push(c),
        }
    }
    Cow::Owned(clean)
}

/// `instead` gets each control with all that belongs to it, and may add something in its place.
fn without_controls(text: &str, instead: impl Fn(&str, &mut String)) -> Cow<'_, str> {
    let Some(first) = next_control(text, 0) else {
        return Cow::Borrowed(text);
    };
    let mut clean = String::with_capacity(text.len());
    clean.push_str(&text[..first]);
    let mut at = first;
    while at < text.len() {
        let end = at + control_len(&text[at..]);
        instead(&text[at..end], &mut clean);
        let until = next_control(text, end).unwrap_or(text.len());
        clean.push_str(&text[end..until]);
        at = until;
    }
    Cow::Owned(clean)
}

/// The same on a single line, for lists: words one space apart, without the marks that change the direction
/// of the text around them.
pub fn one_line(text: &str) -> String {
    const MARKS: [char; 3] = ['\u{61c}', '\u{200e}', '\u{200f}'];
    let words: Vec<String> = printable(text).split_whitespace().map(|word| word.replace(MARKS, "")).collect();
    words.join(" ")
}

/// The order in which people count: `w2` is before `w10`.
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (mut left, mut right) = (a, b);
    loop {
        let (l, r) = (digits(left), digits(right));
        let order = if l > 0 && r > 0 {
            let (one, other) = (left[..l].trim_start_matches('0'), right[..r].trim_start_matches('0'));
            (left, right) = (&left[l..], &right[r..]);
            one.len().cmp(&other.len()).then_with(|| one.cmp(other))
        } else {
            let (mut one, mut other) = (left.chars(), right.chars());
            let order = one.next().cmp(&other.next());
            (left, right) = (one.as_str(), other.as_str());
            order
        };
        match order {
            Ordering::Equal if left.is_empty() && right.is_empty() => return a.cmp(b),
            Ordering::Equal => {}
            different => return different,
        }
    }
}

/// A text as one word of a shell command.
pub fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A command as part of a file name: `./mvnw clean install -T 2C` is `mvnw_clean_install_T_2C`.
///
/// Only ASCII letters and digits are kept, as not every file system takes the others.
pub fn slug(command: &str) -> String {
    let mut slug = String::with_capacity(SLUG_CHARS);
    for word in command.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        if !slug.is_empty() {
            slug.push('_');
        }
        slug.push_str(word);
        if slug.len() >= SLUG_CHARS {
            break;
        }
    }
    slug.truncate(SLUG_CHARS);
    slug.truncate(slug.trim_end_matches('_').len());
    if slug.is_empty() { "check".to_owned() } else { slug }
}

/// Where the character number `chars` begins, if the text has that many.
fn byte_of_char(text: &str, chars: usize) -> Option<usize> {
    // A character is at least a byte: short texts need no counting.
    if text.len() <= chars {
        return None;
    }
    text.char_indices().nth(chars).map(|(at, _)| at)
}

/// Where the next character that [`printable`] removes begins, from `from` on.
fn next_control(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        at = next_suspect(bytes, at)?;
        if text[at..].chars().next().is_some_and(is_control) {
            return Some(at);
        }
        // Only lead bytes of longer characters are suspect without cause.
        at += if bytes[at] == 0xC2 { 2 } else { 3 };
    }
}

/// The next byte that is a control or may begin one. Blocks without any are passed over
/// with a branch-free test, which the compiler turns into vector code.
fn next_suspect(bytes: &[u8], from: usize) -> Option<usize> {
    const BLOCK: usize = 64;
    // A flood of controls, such as zero bytes, would have every block looked at once for each of them.
    if bytes.get(from).is_some_and(|byte| is_suspect(*byte)) {
        return Some(from);
    }
    let mut at = from;
    for block in bytes[from..].chunks(BLOCK) {
        if block.iter().fold(false, |any, byte| any | is_suspect(*byte)) {
            break;
        }
        at += block.len();
    }
    bytes[at..].iter().position(|byte| is_suspect(*byte)).map(|offset| at + offset)
}

/// `0xC2` leads the C1 controls, `0xE2` the bidirectional ones.
fn is_suspect(byte: u8) -> bool {
    ((byte < 0x20) & (byte != b'\n') & (byte != b'\t')) | (byte == 0x7F) | (byte == 0xC2) | (byte == 0xE2)
}

fn is_control(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => true,
        _ => c.is_control(),
    }
}

/// How many bytes the control at the start of `text` takes with all that belongs to it.
fn control_len(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    match chars.next() {
        None => return 0,
        Some((_, '\u{1B}')) => after_escape(&mut chars),
        Some((_, '\u{9B}')) => skip_csi(&mut chars),
        Some((_, '\u{90}' | '\u{98}' | '\u{9D}' | '\u{9E}' | '\u{9F}')) => skip_string(&mut chars),
        Some(_) => {}
    }
    chars.peek().map_or(text.len(), |(at, _)| *at)
}

fn after_escape(chars: &mut Peekable<CharIndices<'_>>) {
    match chars.peek() {
        Some((_, '[')) => {
            chars.next();
            skip_csi(chars);
        }
        Some((_, ']' | 'P' | 'X' | '^' | '_')) => {
            chars.next();
            skip_string(chars);
        }
        // Such as `ESC ( B`: intermediate characters, then one that ends it.
        _ => {
            while chars.next_if(|(_, c)| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|(_, c)| matches!(c, '0'..='~'));
        }
    }
}

/// Parameters, intermediates, and the final character. Anything else cuts the sequence short
/// and is left to be judged by itself.
fn skip_csi(chars: &mut Peekable<CharIndices<'_>>) {
    while chars.next_if(|(_, c)| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|(_, c)| matches!(c, '@'..='~'));
}

/// A payload up to BEL, ST, or whatever aborts it: CAN, SUB, another escape, the line's end.
/// Escape and newline are left to the caller, to whom `ESC \` is an escape like any other.
fn skip_string(chars: &mut Peekable<CharIndices<'_>>) {
    while let Some((_, c)) = chars.next_if(|(_, c)| !matches!(c, '\n' | '\u{1B}')) {
        if matches!(c, '\u{07}' | '\u{18}' | '\u{1A}' | '\u{9C}') {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_text_can_leave_its_quotes() {
        assert_eq!(shell_word("/a'; rm -rf $HOME #/ralph"), r"'/a'\''; rm -rf $HOME #/ralph'");
    }

    #[test]
    fn a_cut_is_marked_and_a_fitting_text_is_not() {
        assert_eq!(head("abcdef", 3), "abc... [truncated]");
        assert_eq!(head("abc", 3), "abc");
        assert_eq!(head("", 0), "");
        assert_eq!(head("äöü", 2), "äö... [truncated]");
        assert_eq!(tail("abcdef", 2), "[truncated] ...ef");
        assert_eq!(tail("äöü", 3), "äöü");
        assert_eq!(tail("äöü", 1), "[truncated] ...ü");
        assert_eq!(tail("abc", 0), "[truncated] ...");
        assert_eq!(clip("abcdef", 3), "ab…");
        assert_eq!(clip("äöü", 3), "äöü");
        assert_eq!(clip("äöü", 0), "");
    }

    #[test]
    fn bytes_are_cut_between_characters() {
        let cuts: Vec<&str> = (0..6).map(|bytes| first_bytes("aüb", bytes)).collect();
        assert_eq!(cuts, ["", "a", "a", "aü", "aüb", "aüb"]);
    }

    #[test]
    fn control_sequences_go_with_their_payload() {
        for (dirty, clean) in [
            ("plain — text · here\n\ttab", "plain — text · here\n\ttab"),
            ("\x1b[1;31mred\x1b[0m", "red"),
            ("\x1b]0;title\x07after", "after"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1bPq#0;payload\x1b\\after", "after"),
            ("\x1b_apc\u{9c}after", "after"),
            ("\x1b(Bx\x1b=y\x1bcz", "xyz"),
            ("a\x07b\rc\x7fd\u{85}e", "abcde"),
            ("\u{9b}2Jx\u{9d}0;t\u{9c}y", "xy"),
            ("\u{202e}evil\u{202c} \u{2066}x\u{2069}", "evil x"),
            ("torn\x1b[", "torn"),
            ("torn\x1b", "torn"),
            ("\x1b]0;never ends\nnext line", "\nnext line"),
            ("\x1b[3\x1b[1mx", "x"),
            ("\x1b[1ü", "ü"),
            ("\x1b]0;a\x1b[1mbold", "bold"),
        ] {
            assert_eq!(printable(dirty), clean, "{dirty:?}");
        }
    }

    #[test]
    fn only_colors_are_left_of_what_is_painted() {
        for (dirty, clean) in [
            ("plain", "plain"),
            ("\x1b[1;31mred\x1b[0m \x1b[m", "\x1b[1;31mred\x1b[0m \x1b[m"),
            ("\x1b[2J\x1b[1mx\x1b[?25l\x1b[>4;1m\x1b]0;t\x07\r", "\x1b[1mx"),
            ("\u{9b}31mx", "x"),
            ("torn\x1b[31", "torn"),
        ] {
            assert_eq!(printable_or_painted(dirty), clean, "{dirty:?}");
        }
    }

    #[test]
    fn json_means_the_same_without_controls() {
        let value = "\u{1b}[2J \u{9b}31m \u{7f} \u{202e}evil é — \n";
        let json = serde_json::to_string_pretty(&[value]).unwrap();
        let clean = printable_json(&json);
        assert!(!clean.chars().any(is_control), "{clean}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&clean).unwrap(), [value]);
        assert!(matches!(printable_json("{\"a\": \"é\"}\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_line_of_a_list_stays_one_line_and_in_its_own_direction() {
        for (text, line) in [
            ("  two\n\tlines \u{2028} here ", "two lines here"),
            ("\x1b[2J\u{202e}\u{200f}שלום\u{200e} x", "שלום x"),
            ("\u{61c}سلام", "سلام"),
            ("👩\u{200d}🚀 launch", "👩\u{200d}🚀 launch"),
            ("", ""),
        ] {
            assert_eq!(one_line(text), line, "{text:?}");
        }
    }

    #[test]
    fn numbers_in_names_are_counted() {
        let mut names = ["w10", "w2", "w", "w02", "a9b10", "a9b9", "99999999999999999999999", "x", "é2", "7"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(
            names,
            ["7", "99999999999999999999999", "a9b9", "a9b10", "w", "w02", "w2", "w10", "x", "é2"]
        );
    }

    #[test]
    fn clean_text_is_not_copied() {
        assert!(matches!(printable("“quotes” – and ünïcode\n"), Cow::Borrowed(_)));
        assert!(matches!(head("x", 5), Cow::Borrowed(_)));
    }

    #[test]
    fn a_command_becomes_a_file_name() {
        for (command, name) in [
            ("./mvnw clean install -T 2C", "mvnw_clean_install_T_2C"),
            ("cargo test", "cargo_test"),
            ("", "check"),
            ("--- !!", "check"),
            ("größe", "gr_e"),
            (&"x".repeat(80), &"x".repeat(50)),
            (&format!("{} tail", "x".repeat(49)), &"x".repeat(49)),
        ] {
            assert_eq!(slug(command), name, "{command:?}");
        }
    }

    proptest! {
        #[test]
        fn cuts_count_characters(text in any::<String>(), n in 0usize..40) {
            let all = text.chars().count();
            let first: String = text.chars().take(n).collect();
            let last: String = text.chars().skip(all.saturating_sub(n)).collect();
            let (more, less) = (all > n, all <= n);
            prop_assert_eq!(head(&text, n), if more { format!("{first}... [truncated]") } else { text.clone() });
            prop_assert_eq!(tail(&text, n), if more { format!("[truncated] ...{last}") } else { text.clone() });
            prop_assert!(clip(&text, n).chars().count() <= n);
            prop_assert_eq!(clip(&text, n) == text, less);
        }

        #[test]
        fn nothing_dangerous_is_left(text in "([\u{1b}\u{9b}\u{9d}\u{7}\u{202e}\\[\\];0-9mP\\\\\n\ta-z—·]|\\PC){0,80}") {
            let clean = printable(&text);
            prop_assert!(!clean.chars().any(is_control), "{:?}", clean);
            prop_assert_eq!(printable(&clean), clean.as_ref());
            prop_assert_eq!(clean.matches('\n').count(), text.matches('\n').count());
        }

        #[test]
        fn text_without_controls_is_kept(text in "([a-z \n\t]|—|·|\u{2068}?ü){0,200}") {
            let kept: String = text.chars().filter(|c| !is_control(*c)).collect();
            prop_assert_eq!(printable(&text), kept);
        }

        #[test]
        fn a_slug_is_a_safe_name(command in any::<String>()) {
            let slug = slug(&command);
            prop_assert!(!slug.is_empty() && slug.len() <= SLUG_CHARS);
            prop_assert!(slug.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
            prop_assert!(!slug.starts_with('_') && !slug.ends_with('_') && !slug.contains("__"));
        }
    }
}
