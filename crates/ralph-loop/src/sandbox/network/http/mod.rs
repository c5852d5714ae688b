//! The HTTP/1 that a proxy has to understand: the heads of requests and responses, and where bodies end ([`body`]).
//!
//! Invariant: a request that two programs could read differently is refused, so that what was checked is what the
//! server sees: two lengths, two hosts, spaces before a colon, folded lines. `Host` is always that of the target.
//!
//! Deliberately absent: HTTP/2, which goes through CONNECT.

pub mod body;
mod head;
mod response;

pub use head::{BadRequest, Forwarded, RequestHead, Target, request};
pub use response::{ResponseHead, response};

/// A head that is longer is refused.
pub const LONGEST_HEAD: usize = 64 << 10;
/// The same for the number of its lines.
pub const MOST_HEADERS: usize = 256;

/// The length of a head with the empty line after it, if that is there.
pub fn head_length(bytes: &[u8]) -> Option<usize> {
    let end = memchr::memmem::find(bytes, b"\r\n\r\n").map(|at| at + 4);
    let bare = memchr::memmem::find(bytes, b"\n\n").map(|at| at + 2);
    match (end, bare) {
        (Some(end), Some(bare)) => Some(end.min(bare)),
        (end, bare) => end.or(bare),
    }
}

/// Header lines: a name, which is compared without case, and a value without spaces around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, Vec<u8>)>);

impl Headers {
    fn parse(lines: &[&[u8]]) -> Option<Headers> {
        let mut headers = Vec::with_capacity(lines.len());
        for line in lines {
            let colon = memchr::memchr(b':', line)?;
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            // A control character in a value could begin another line for another parser.
            let is_clean = value.iter().all(|byte| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f));
            if !is_token(name) || !is_clean {
                return None;
            }
            headers.push((String::from_utf8_lossy(name).into_owned(), value.to_vec()));
        }
        Some(Headers(headers))
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.0
            .iter()
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_slice())
    }

    /// Whether a list in a header has a word, as `Connection: close`.
    fn lists(&self, name: &str, word: &str) -> bool {
        let has = |value: &[u8]| {
            value.split(|b| *b == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
        };
        self.all(name).any(has)
    }
}

/// Lines without their ends, the first one apart. Nothing for a head that is no text of lines.
fn lines(head: &[u8], strict: bool) -> Option<(&[u8], Vec<&[u8]>)> {
    let mut lines = Vec::new();
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        let line = match (line.strip_suffix(b"\r\n"), line.strip_suffix(b"\n")) {
            (Some(line), _) => line,
            (None, Some(line)) if !strict => line,
            (None, _) => return None,
        };
        if line.is_empty() {
            break;
        }
        if line.contains(&b'\r') || lines.len() > MOST_HEADERS {
            return None;
        }
        lines.push(line);
    }
    let (first, rest) = lines.split_first()?;
    Some((first, rest.to_vec()))
}

fn is_token(text: &[u8]) -> bool {
    !text.is_empty()
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}

/// The one length that all lines name; an error if they differ or are no numbers.
fn length(headers: &Headers) -> Result<Option<u64>, ()> {
    let mut found = None;
    for value in headers.all("content-length") {
        let digits = !value.is_empty() && value.len() <= 18 && value.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<u64>().ok());
        match number.filter(|_| digits) {
            Some(number) if found.is_none_or(|found| found == number) => found = Some(number),
            Some(_) | None => return Err(()),
        }
    }
    Ok(found)
}
