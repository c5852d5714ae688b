//! `$'…'`: the escapes of C.

/// The text up to the closing quote, and the length of what was read with that quote.
pub fn ansi_c(source: &str) -> Option<(String, usize)> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut at = 0;
    let source_bytes = source.as_bytes();
    while at < source_bytes.len() {
        match source_bytes[at] {
            b'\'' => return Some((String::from_utf8_lossy(&bytes).into_owned(), at + 1)),
            b'\\' => at += 1 + escape(&source_bytes[at + 1..], &mut bytes),
            byte => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
    None
}

/// A text in which backslashes are read as `printf` and `echo -e` do.
pub fn unescaped(text: &str) -> String {
    let mut bytes: Vec<u8> = Vec::new();
    let source = text.as_bytes();
    let mut at = 0;
    while at < source.len() {
        match source[at] {
            b'\\' => at += 1 + escape(&source[at + 1..], &mut bytes),
            byte => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Adds what an escape stands for; the length of it without the backslash.
fn escape(rest: &[u8], to: &mut Vec<u8>) -> usize {
    let Some(&first) = rest.first() else {
        to.push(b'\\');
        return 0;
    };
    let simple = match first {
        b'a' => Some(7),
        b'b' => Some(8),
        b'e' | b'E' => Some(27),
        b'f' => Some(12),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b't' => Some(b'\t'),
        b'v' => Some(11),
        b'\\' | b'\'' | b'"' | b'?' => Some(first),
        _ => None,
    };
    if let Some(byte) = simple {
        to.push(byte);
        return 1;
    }
    match first {
        b'x' => match number(&rest[1..], 16, 2) {
            Some((value, length)) => {
                to.extend(u8::try_from(value));
                1 + length
            }
            None => literal(b'x', to),
        },
        b'u' | b'U' => match number(&rest[1..], 16, if first == b'u' { 4 } else { 8 }) {
            Some((value, length)) => {
                let mut buffer = [0; 4];
                let c = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
                to.extend(c.encode_utf8(&mut buffer).bytes());
                1 + length
            }
            None => literal(first, to),
        },
        b'0'..=b'7' => number(rest, 8, if first == b'0' { 4 } else { 3 }).map_or(0, |(value, length)| {
            to.extend(u8::try_from(value & 0xff));
            length
        }),
        b'c' if rest.len() > 1 => {
            to.push(rest[1] & 0x1f);
            2
        }
        other => literal(other, to),
    }
}

fn literal(byte: u8, to: &mut Vec<u8>) -> usize {
    to.extend([b'\\', byte]);
    1
}

fn number(digits: &[u8], radix: u32, most: usize) -> Option<(u32, usize)> {
    let length = digits.iter().take(most).take_while(|byte| char::from(**byte).is_digit(radix)).count();
    let text = std::str::from_utf8(&digits[..length]).ok()?;
    Some((u32::from_str_radix(text, radix).ok()?, length))
}
