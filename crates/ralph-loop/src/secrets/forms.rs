//! The shapes in which programs print a value: as it is, escaped in JSON, in an address, in base64.

use super::SHORTEST;

/// Longer patterns are masked piece by piece, so that little of a stream has to be held back.
const LONGEST: usize = 1024;

/// Everything to look for, in an order that depends on the value alone.
pub(super) fn patterns(value: &str) -> Vec<String> {
    let mut texts = Vec::new();
    add_forms(value, &mut texts);
    if value.contains('\n') {
        let lines = value.lines().map(str::trim).filter(|line| is_line_of_secret(line));
        lines.for_each(|line| add_forms(line, &mut texts));
    }
    let mut patterns = Vec::new();
    for piece in texts.iter().flat_map(|text| pieces(text)) {
        if piece.chars().count() >= SHORTEST && !patterns.iter().any(|known| known == piece) {
            patterns.push(piece.to_owned());
        }
    }
    patterns
}

/// The frame of a key (`-----BEGIN …`) is no secret, and is found in many files.
fn is_line_of_secret(line: &str) -> bool {
    line.chars().count() >= SHORTEST && !line.starts_with("-----")
}

fn add_forms(value: &str, texts: &mut Vec<String>) {
    let json = in_json(value, false);
    let in_url = |plain: &str, upper: bool| in_url(value, plain, upper);
    texts.extend([
        value.to_owned(),
        json.clone(),
        in_json(value, true),
        json.replace('/', "\\/"),
        // A tool prints JSON, and the agent prints what the tool has printed.
        in_json(&json, false),
        in_url("", true),
        in_url("", false),
        // JavaScript's `encodeURIComponent` and Python's `quote` leave some characters as they are.
        in_url("!'()*", true),
        in_url("/", true),
    ]);
    for alphabet in [STANDARD, URL_SAFE] {
        let whole = base64(value.as_bytes(), alphabet);
        texts.push(whole);
        // In the middle of something longer, such as `user:password`, only what its neighbours have no
        // share in is known.
        for before in 0..3 {
            texts.push(base64_core(value.as_bytes(), before, alphabet));
        }
    }
}

/// A text as it is inside the quotes of a JSON string.
fn in_json(text: &str, ascii: bool) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    if !ascii || inner.is_ascii() {
        return inner.to_owned();
    }
    let mut escaped = String::new();
    for c in inner.chars() {
        if c.is_ascii() {
            escaped.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    escaped
}

/// A text as it is in an address; `plain` are further characters that are not escaped.
fn in_url(text: &str, plain: &str, upper: bool) -> String {
    let mut encoded = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || "-._~".contains(c) || plain.contains(c) {
            encoded.push(c);
            continue;
        }
        for byte in c.encode_utf8(&mut [0; 4]).bytes() {
            encoded.push_str(&if upper { format!("%{byte:02X}") } else { format!("%{byte:02x}") });
        }
    }
    encoded
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Without padding.
fn base64(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut encoded = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..=group.len() {
            encoded.push(char::from(alphabet[(bits >> (18 - 6 * at) & 63) as usize]));
        }
    }
    encoded
}

/// What is the same in every base64 text in which the value comes after `before` bytes, whatever they and
/// what follows are.
fn base64_core(value: &[u8], before: usize, alphabet: &[u8; 64]) -> String {
    let shifted: Vec<u8> = std::iter::repeat_n(0, before).chain(value.iter().copied()).collect();
    let encoded = base64(&shifted, alphabet);
    // A character carries six bits; those with a bit of a neighbour are left out.
    let (from, until) = ((before * 8).div_ceil(6), shifted.len() * 8 / 6);
    encoded.get(from..until).unwrap_or_default().to_owned()
}

/// The text in pieces that are not too long, cut between characters. The last is not too short either.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while rest.len() > LONGEST + SHORTEST * 4 {
        let (piece, after) = rest.split_at(super::super::text::first_bytes(rest, LONGEST).len());
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expected: &[&str]) {
        let found = patterns(value);
        for form in expected {
            assert!(found.iter().any(|known| known == form), "{form} is not among {found:?}");
        }
    }

    #[test]
    fn a_value_is_known_in_every_form_that_it_is_printed_in() {
        check("sk-simple-1", &["sk-simple-1", "c2stc2ltcGxlLTE"]);
        check("a\"b\\c/däé", &["a\\\"b\\\\c/däé", "a\\\"b\\\\c/d\\u00e4\\u00e9", "a\\\"b\\\\c\\/däé"]);
        check("a\"b\\c/däé", &["a\\\\\\\"b\\\\\\\\c/däé"]);
        check(
            "p@ss/w rd!",
            &["p%40ss%2Fw%20rd%21", "p%40ss%2fw%20rd%21", "p%40ss%2Fw%20rd!", "p%40ss/w%20rd%21"],
        );
    }

    #[test]
    fn base64_is_found_wherever_the_value_begins() {
        let value = "hunter2-hunter2";
        for before in ["", "u", "us", "user:", "someone:"] {
            for after in ["", "x", "yz", "\n"] {
                let text = base64(format!("{before}{value}{after}").as_bytes(), STANDARD);
                let longest =
                    patterns(value).iter().filter(|form| text.contains(*form)).map(String::len).max();
                // At most two characters at each end are shared with the neighbours.
                assert!(
                    longest >= Some(base64(value.as_bytes(), STANDARD).len() - 2),
                    "{before:?} {after:?}"
                );
            }
        }
        assert_eq!(base64(b"any carnal pleas", STANDARD), "YW55IGNhcm5hbCBwbGVhcw");
    }

    #[test]
    fn a_key_is_known_by_its_lines_and_not_by_its_frame() {
        let key = "-----BEGIN KEY-----\nMIIEvQIBADAN\nshort\nBgkqhkiG9w0B\n-----END KEY-----";
        check(
            key,
            &[
                key,
                "MIIEvQIBADAN",
                "BgkqhkiG9w0B",
                "-----BEGIN KEY-----\\nMIIEvQIBADAN\\nshort\\nBgkqhkiG9w0B\\n-----END KEY-----",
            ],
        );
        assert!(patterns(key).iter().all(|form| form != "-----BEGIN KEY-----" && form != "short"));
    }

    #[test]
    fn a_long_value_is_known_in_pieces() {
        let value: String = (0..5000).map(|n| format!("{n}ä")).collect();
        let found = patterns(&value);
        assert!(found.iter().all(|form| form.len() <= LONGEST + SHORTEST * 4));
        assert_eq!(pieces(&value).concat(), value);
        assert!(pieces(&value).iter().all(|piece| found.iter().any(|known| known == piece)));
    }
}
