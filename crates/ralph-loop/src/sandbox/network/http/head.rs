//! The head of a request to a proxy, and what the server gets of it.

use super::super::host::{Host, HostError, port_number, split_port};
use super::body::Body;
use super::{Headers, LONGEST_HEAD, MOST_HEADERS, is_token, length, lines};
use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHead {
    pub method: String,
    pub target: Target,
    pub host: Host,
    pub port: u16,
    headers: Headers,
    pub body: Body,
    /// The client goes on with another request on the same connection.
    pub keeps_alive: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Bytes both ways.
    Connect,
    /// A plain request, with the path and query of its URI.
    Plain { path: String },
}

/// Why a request is refused whatever it is for.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum BadRequest {
    #[error(
        "the head of the request is longer than {LONGEST_HEAD} bytes or has more than {MOST_HEADERS} lines"
    )]
    TooLong,
    #[error("this is not an HTTP/1 request")]
    NotHttp,
    #[error("the header lines cannot be read")]
    Headers,
    #[error("this is a proxy: the request has to name its host")]
    NoHost,
    #[error("encrypted requests need CONNECT")]
    Encrypted,
    #[error("a proxy takes http:// URLs only")]
    Scheme,
    #[error("the URL of a request may not have a user")]
    User,
    #[error("bad host: {0}")]
    Host(#[from] HostError),
    #[error("the request has more than one length")]
    Length,
    #[error("the request has more than one Host")]
    Hosts,
}

impl BadRequest {
    pub fn status(self) -> u16 {
        match self {
            BadRequest::TooLong => 431,
            _ => 400,
        }
    }
}

/// The head, with the empty line at its end.
pub fn request(head: &[u8]) -> Result<RequestHead, BadRequest> {
    if head.len() > LONGEST_HEAD || head.iter().filter(|byte| **byte == b'\n').count() > MOST_HEADERS + 2 {
        return Err(BadRequest::TooLong);
    }
    let (first, rest) = lines(head, true).ok_or(BadRequest::NotHttp)?;
    let first = std::str::from_utf8(first).map_err(|_| BadRequest::NotHttp)?;
    let [method, uri, version] = first.split(' ').collect::<Vec<_>>()[..] else {
        return Err(BadRequest::NotHttp);
    };
    let newer = match version {
        "HTTP/1.1" => true,
        "HTTP/1.0" => false,
        _ => return Err(BadRequest::NotHttp),
    };
    if !is_token(method.as_bytes()) || !uri.bytes().all(|byte| byte.is_ascii_graphic()) {
        // Names that are not ASCII end here.
        return Err(if uri.is_ascii() { BadRequest::NotHttp } else { HostError::NotAscii.into() });
    }
    let headers = Headers::parse(&rest).ok_or(BadRequest::Headers)?;
    if headers.all("host").count() > 1 {
        return Err(BadRequest::Hosts);
    }
    let keeps_alive = match newer {
        true => !is_said(&headers, "close"),
        false => is_said(&headers, "keep-alive"),
    };
    if method == "CONNECT" {
        let (host, port) = Host::with_port(uri)?;
        let (target, body) = (Target::Connect, Body::none());
        return Ok(RequestHead { method: method.into(), target, host, port, headers, body, keeps_alive });
    }
    let (host, port, path) = absolute(uri)?;
    let body = request_body(&headers, newer)?;
    let target = Target::Plain { path };
    Ok(RequestHead { method: method.into(), target, host, port, headers, body, keeps_alive })
}

/// In either of the headers that clients of proxies use.
fn is_said(headers: &Headers, word: &str) -> bool {
    headers.lists("connection", word) || headers.lists("proxy-connection", word)
}

fn absolute(uri: &str) -> Result<(Host, u16, String), BadRequest> {
    let Some((scheme, rest)) = uri.split_once("://") else {
        return Err(BadRequest::NoHost);
    };
    match scheme.to_ascii_lowercase().as_str() {
        "http" => {}
        "https" => return Err(BadRequest::Encrypted),
        _ => return Err(BadRequest::Scheme),
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains('@') {
        return Err(BadRequest::User);
    }
    let (host, port) = match split_port(authority) {
        (host, Some(port)) => (Host::parse(host)?, port_number(port)?),
        (host, None) => (Host::parse(host)?, 80),
    };
    let path = path.split('#').next().unwrap_or(path);
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok((host, port, path))
}

fn request_body(headers: &Headers, newer: bool) -> Result<Body, BadRequest> {
    let length = length(headers).map_err(|()| BadRequest::Length)?;
    let codings: Vec<&[u8]> = headers.all("transfer-encoding").collect();
    match (&codings[..], length) {
        ([], None) => Ok(Body::none()),
        ([], Some(length)) => Ok(Body::of_length(length)),
        ([coding], None) if newer && coding.eq_ignore_ascii_case(b"chunked") => Ok(Body::chunked()),
        _ => Err(BadRequest::Length),
    }
}

/// Whom a request is passed on to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarded<'a> {
    /// The server itself.
    Server,
    /// The user's proxy, with what it wants to know of them.
    Proxy { authorization: Option<&'a str> },
}

/// What is between a client and its proxy, and what the proxy says for itself.
const NOT_PASSED_ON: [&str; 5] =
    ["host", "proxy-connection", "proxy-authorization", "proxy-authenticate", "keep-alive"];

impl RequestHead {
    /// The head that is passed on.
    pub fn passed_on(&self, to: Forwarded<'_>) -> Vec<u8> {
        let authority = match (&self.target, self.port) {
            (Target::Plain { .. }, 80) => self.host.to_string(),
            _ => self.host.authority(self.port),
        };
        let uri = match (&self.target, to) {
            (Target::Connect, _) => authority.clone(),
            (Target::Plain { path }, Forwarded::Server) => path.clone(),
            (Target::Plain { path }, Forwarded::Proxy { .. }) => format!("http://{authority}{path}"),
        };
        let mut head = format!("{} {uri} HTTP/1.1\r\nHost: {authority}\r\n", self.method).into_bytes();
        if let Forwarded::Proxy { authorization: Some(authorization) } = to {
            head.extend_from_slice(format!("Proxy-Authorization: {authorization}\r\n").as_bytes());
        }
        let passed = |name: &str| !NOT_PASSED_ON.iter().any(|known| name.eq_ignore_ascii_case(known));
        let connect = self.target == Target::Connect;
        for (name, value) in self.headers.0.iter().filter(|(name, _)| !connect && passed(name)) {
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value);
            head.extend_from_slice(b"\r\n");
        }
        // A server of HTTP/1.1 would wait for more of what a client of HTTP/1.0 does not send.
        if !connect && !self.keeps_alive && !self.headers.lists("connection", "close") {
            head.extend_from_slice(b"Connection: close\r\n");
        }
        head.extend_from_slice(b"\r\n");
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Result<RequestHead, BadRequest> {
        request(text.replace('\n', "\r\n").as_bytes())
    }

    #[test]
    fn a_target_is_a_host_and_a_port_or_a_url() {
        let connect = of("CONNECT a.org:443 HTTP/1.1\nHost: a.org:443\n\n").unwrap();
        assert_eq!(
            (connect.host.to_string(), connect.port, &connect.target),
            ("a.org".into(), 443, &Target::Connect)
        );
        for (uri, host, port, path) in [
            ("http://a.org", "a.org", 80, "/"),
            ("http://a.org:8080/x?y#z", "a.org", 8080, "/x?y"),
            ("HTTP://A.org?q", "a.org", 80, "/?q"),
            ("http://[::1]:1/", "[::1]", 1, "/"),
        ] {
            let head = of(&format!("GET {uri} HTTP/1.1\n\n")).unwrap();
            assert_eq!((head.host.to_string(), head.port), (host.to_string(), port));
            assert_eq!(head.target, Target::Plain { path: path.into() }, "{uri}");
        }
    }

    #[test]
    fn absurd_requests_are_refused_with_the_reason() {
        use BadRequest as B;
        let host = |error| B::Host(error);
        for (text, error) in [
            ("CONNECT a.org HTTP/1.1\n\n", host(HostError::BadPort)),
            ("CONNECT a.org:0 HTTP/1.1\n\n", host(HostError::BadPort)),
            ("CONNECT a.org:99999 HTTP/1.1\n\n", host(HostError::BadPort)),
            ("CONNECT :443 HTTP/1.1\n\n", host(HostError::Empty)),
            ("CONNECT http://a.org:443 HTTP/1.1\n\n", host(HostError::BadCharacter)),
            ("CONNECT a.org:443:443 HTTP/1.1\n\n", host(HostError::BadCharacter)),
            ("CONNECT 127.1:443 HTTP/1.1\n\n", host(HostError::BadAddress)),
            ("CONNECT bücher.example:443 HTTP/1.1\n\n", host(HostError::NotAscii)),
            ("CONNECT a.org:443  HTTP/1.1\n\n", B::NotHttp),
            ("GET / HTTP/1.1\nHost: a.org\n\n", B::NoHost),
            ("GET https://a.org/ HTTP/1.1\n\n", B::Encrypted),
            ("GET ftp://a.org/ HTTP/1.1\n\n", B::Scheme),
            ("GET http://a.org@b.org/ HTTP/1.1\n\n", B::User),
            ("GET http://a.org/ HTTP/2\n\n", B::NotHttp),
            ("GET http://a.org/ HTTP/1.1\nA : b\n\n", B::Headers),
            ("GET http://a.org/ HTTP/1.1\nA: b\n c\n\n", B::Headers),
            ("GET http://a.org/ HTTP/1.1\nHost: a.org\nhost: b.org\n\n", B::Hosts),
            ("POST http://a.org/ HTTP/1.1\nContent-Length: 1\nContent-Length: 2\n\n", B::Length),
            ("POST http://a.org/ HTTP/1.1\nContent-Length: +1\n\n", B::Length),
            ("POST http://a.org/ HTTP/1.1\nContent-Length: 1\nTransfer-Encoding: chunked\n\n", B::Length),
            ("POST http://a.org/ HTTP/1.1\nTransfer-Encoding: gzip, chunked\n\n", B::Length),
            ("POST http://a.org/ HTTP/1.0\nTransfer-Encoding: chunked\n\n", B::Length),
            ("", B::NotHttp),
            ("\n\n", B::NotHttp),
        ] {
            assert_eq!(of(text).unwrap_err(), error, "{text:?}");
        }
        // Lines that end with a line feed alone.
        assert_eq!(request(b"GET http://a.org/ HTTP/1.1\n\n"), Err(B::NotHttp));
        assert_eq!(request(b"GET http://a.org/ HTTP/1.1\r\nA: b\x00c\r\n\r\n"), Err(B::Headers));
        assert_eq!(request(b"\x16\x03\x01\x02\x00\x01\r\n\r\n"), Err(B::NotHttp));
        let flood = format!("GET http://a.org/ HTTP/1.1\n{}\n", "A: b\n".repeat(300));
        assert_eq!(of(&flood).unwrap_err().status(), 431);
        assert_eq!(
            of(&format!("GET http://a.org/{} HTTP/1.1\n\n", "x".repeat(70_000))).unwrap_err().status(),
            431
        );
    }

    #[test]
    fn the_server_gets_the_host_of_the_target_and_nothing_meant_for_the_proxy() {
        let head = of("GET http://a.org/x HTTP/1.1\nHost: evil.org\nProxy-Authorization: Basic x\n\
                       Proxy-Connection: keep-alive\nAccept: */*\n\n")
        .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        assert_eq!(
            text(head.passed_on(Forwarded::Server)),
            "GET /x HTTP/1.1\r\nHost: a.org\r\nAccept: */*\r\n\r\n"
        );
        let proxied = text(head.passed_on(Forwarded::Proxy { authorization: Some("Basic y") }));
        assert!(
            proxied.starts_with(
                "GET http://a.org/x HTTP/1.1\r\nHost: a.org\r\nProxy-Authorization: Basic y\r\n"
            )
        );
        let connect = of("CONNECT a.org:443 HTTP/1.1\nHost: b.org\nUser-Agent: x\n\n").unwrap();
        let proxied = text(connect.passed_on(Forwarded::Proxy { authorization: None }));
        assert_eq!(proxied, "CONNECT a.org:443 HTTP/1.1\r\nHost: a.org:443\r\n\r\n");
    }

    #[test]
    fn a_connection_is_kept_unless_one_side_says_otherwise() {
        for (text, keeps) in [
            ("GET http://a.org/ HTTP/1.1\n\n", true),
            ("GET http://a.org/ HTTP/1.1\nConnection: x, Close\n\n", false),
            ("GET http://a.org/ HTTP/1.0\n\n", false),
            ("GET http://a.org/ HTTP/1.0\nProxy-Connection: keep-alive\n\n", true),
        ] {
            let head = of(text).unwrap();
            assert_eq!(head.keeps_alive, keeps, "{text}");
            let passed = String::from_utf8(head.passed_on(Forwarded::Server)).unwrap().to_lowercase();
            assert_eq!(passed.contains("close"), !keeps, "{passed}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = request(&bytes);
        }

        #[test]
        fn what_is_passed_on_is_read_as_the_same_request(
            method in "[A-Z]{3,7}", host in "[a-z]{1,9}\\.org", path in "/[a-z0-9/?=]{0,20}",
            headers in proptest::collection::vec(("[A-Za-z-]{1,10}", "[ -~]{0,20}"), 0..6),
        ) {
            let lines: String = headers.iter().map(|(name, value)| format!("x-{name}: {value}\r\n")).collect();
            let text = format!("{method} http://{host}{path} HTTP/1.1\r\n{lines}\r\n");
            if let Ok(head) = request(text.as_bytes()) {
                let again = request(&head.passed_on(Forwarded::Proxy { authorization: None })).unwrap();
                prop_assert_eq!((again.host, again.port, again.target), (head.host, head.port, head.target));
                prop_assert_eq!(again.body, head.body);
            }
        }
    }
}
