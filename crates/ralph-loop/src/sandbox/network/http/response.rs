//! The head of a response: how its body ends, and whether the connection lasts.

use super::body::Body;
use super::{Headers, length, lines};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    pub status: u16,
    pub body: Body,
    /// The server takes another request on the same connection.
    pub keeps_alive: bool,
}

impl ResponseHead {
    /// Another response follows.
    pub fn is_interim(&self) -> bool {
        (100..200).contains(&self.status) && self.status != 101
    }
}

/// The head of a response to a request of this method; nothing if it cannot be read. Servers may end lines with a
/// line feed alone.
pub fn response(head: &[u8], method: &str) -> Option<ResponseHead> {
    let (first, rest) = lines(head, false)?;
    let first = String::from_utf8_lossy(first);
    let (version, rest_of_first) = first.split_once(' ')?;
    let newer = match version {
        "HTTP/1.1" => true,
        "HTTP/1.0" => false,
        _ => return None,
    };
    let code = rest_of_first.split(' ').next().filter(|code| code.len() == 3)?;
    let status: u16 = code.parse().ok().filter(|status| *status >= 100)?;
    let headers = Headers::parse(&rest)?;
    let body = match (method, status) {
        ("HEAD", _) | (_, 100..200 | 204 | 304) => Body::none(),
        _ => response_body(&headers)?,
    };
    let said = match newer {
        true => !headers.lists("connection", "close"),
        false => headers.lists("connection", "keep-alive"),
    };
    let keeps_alive = said && !body.ends_with_connection();
    Some(ResponseHead { status, body, keeps_alive })
}

fn response_body(headers: &Headers) -> Option<Body> {
    let codings: Vec<&[u8]> = headers.all("transfer-encoding").collect();
    if let [coding] = codings[..]
        && coding.eq_ignore_ascii_case(b"chunked")
    {
        return Some(Body::chunked());
    }
    match (codings.is_empty(), length(headers).ok()?) {
        (true, Some(length)) => Some(Body::of_length(length)),
        (true, None) | (false, _) => Some(Body::until_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_body_ends_as_its_head_says() {
        for (text, method, body, keeps) in [
            ("HTTP/1.1 200 OK\nContent-Length: 5\n\n", "GET", Body::of_length(5), true),
            ("HTTP/1.1 200\nContent-Length: 5\n\n", "HEAD", Body::none(), true),
            ("HTTP/1.1 204 No Content\n\n", "GET", Body::none(), true),
            ("HTTP/1.1 304 Not Modified\nContent-Length: 5\n\n", "GET", Body::none(), true),
            (
                "HTTP/1.1 200 OK\nTransfer-Encoding: Chunked\nContent-Length: 5\n\n",
                "GET",
                Body::chunked(),
                true,
            ),
            ("HTTP/1.1 200 OK\nTransfer-Encoding: gzip\n\n", "GET", Body::until_end(), false),
            ("HTTP/1.1 200 OK\n\n", "GET", Body::until_end(), false),
            ("HTTP/1.1 200 OK\nContent-Length: 5\nConnection: close\n\n", "GET", Body::of_length(5), false),
            ("HTTP/1.0 200 OK\nContent-Length: 5\n\n", "GET", Body::of_length(5), false),
        ] {
            let head = response(text.as_bytes(), method).unwrap();
            assert_eq!((head.body, head.keeps_alive), (body, keeps), "{text}");
        }
        assert!(response(b"HTTP/1.1 100 Continue\r\n\r\n", "POST").unwrap().is_interim());
        assert!(!response(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "GET").unwrap().is_interim());
    }

    #[test]
    fn what_is_no_response_is_not_passed_on() {
        for text in
            ["", "SSH-2.0-x\r\n\r\n", "HTTP/1.1 2000 x\r\n\r\n", "HTTP/1.1 200 x\nContent-Length: a\n\n"]
        {
            assert_eq!(response(text.as_bytes(), "GET"), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = response(&[b"HTTP/1.1 200 OK\r\n", &bytes[..]].concat(), "GET");
        }
    }
}
