//! Texts that are hidden in others.

/// Base64, also without padding and for URLs; what is not of its alphabet is skipped.
pub fn base64(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let mut bits = 0u32;
    let mut count = 0u8;
    for byte in text.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => continue,
        };
        bits = (bits << 6) | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Pairs of hexadecimal digits; what is none is skipped.
pub fn hex(text: &str) -> String {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| (pair[0] << 4) | pair[1]).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `tr FROM TO` with ranges; nothing for classes and what else it can do.
pub fn tr(text: &str, from: &str, to: &str) -> Option<String> {
    let (from, to) = (set(from)?, set(to)?);
    let last = *to.last()?;
    let change = |c: char| match from.iter().position(|known| *known == c) {
        Some(at) => to.get(at).copied().unwrap_or(last),
        None => c,
    };
    Some(text.chars().map(change).collect())
}

/// `tr -d SET`
pub fn without(text: &str, chars: &str) -> Option<String> {
    let chars = set(chars)?;
    Some(text.chars().filter(|c| !chars.contains(c)).collect())
}

fn set(text: &str) -> Option<Vec<char>> {
    if text.contains("[:") {
        return None;
    }
    let text = crate::guard::shell::unescaped(text);
    let chars: Vec<char> = text.chars().collect();
    let mut set = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        if at + 2 < chars.len() && chars[at + 1] == '-' && chars[at] <= chars[at + 2] {
            set.extend((chars[at]..=chars[at + 2]).take(256));
            at += 3;
        } else {
            set.push(chars[at]);
            at += 1;
        }
    }
    Some(set)
}
