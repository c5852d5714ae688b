//! Names and addresses of hosts, and the patterns of `sandbox.hosts`.
//!
//! Invariant: a [`Host`] is an address, or a name in lower case that no resolver takes for an address: `127.1`
//! and `0x7f000001` are neither.
//!
//! Deliberately absent: the mapping of Unicode names to `xn--`. It takes tables of the Unicode standard, and a
//! mapping that differs from that of the client would allow another host than the user meant.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use thiserror::Error;

/// Where a connection goes, as the client or the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    Name(String),
    Address(IpAddr),
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum HostError {
    #[error("the name is empty")]
    Empty,
    #[error("the name is longer than 253 characters")]
    TooLong,
    #[error("names have to be ASCII: write it in its xn-- form")]
    NotAscii,
    #[error("names consist of letters, digits, hyphens and dots")]
    BadCharacter,
    #[error("each part between dots has 1 to 63 characters, and no hyphen at its ends")]
    BadLabel,
    #[error("an address has four numbers from 0 to 255, or eight groups in brackets")]
    BadAddress,
    #[error("the port has to be a number from 1 to 65535")]
    BadPort,
}

/// RFC 1035.
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

impl Host {
    /// A name, an IPv4 address, or an IPv6 address in brackets.
    pub fn parse(text: &str) -> Result<Host, HostError> {
        if let Some(inside) = text.strip_prefix('[') {
            let inside = inside.strip_suffix(']').ok_or(HostError::BadAddress)?;
            let address: Ipv6Addr = inside.parse().map_err(|_| HostError::BadAddress)?;
            return Ok(Host::Address(address.into()));
        }
        if !text.is_ascii() {
            return Err(HostError::NotAscii);
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        match name.len() {
            0 => return Err(HostError::Empty),
            1..=LONGEST_NAME => {}
            _ => return Err(HostError::TooLong),
        }
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
            return Err(HostError::BadCharacter);
        }
        let is_good = |label: &str| {
            (1..=LONGEST_LABEL).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-')
        };
        if !name.split('.').all(is_good) {
            return Err(HostError::BadLabel);
        }
        if !ends_in_number(&name) {
            return Ok(Host::Name(name));
        }
        let address: Ipv4Addr = name.parse().map_err(|_| HostError::BadAddress)?;
        Ok(Host::Address(address.into()))
    }

    /// `host:port`, with a port in any case.
    pub fn with_port(text: &str) -> Result<(Host, u16), HostError> {
        let (host, port) = split_port(text);
        Ok((Host::parse(host)?, port_number(port.ok_or(HostError::BadPort)?)?))
    }

    /// A name that every system has for itself.
    pub fn is_local(&self) -> bool {
        match self {
            Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
            Host::Address(address) => address.is_loopback(),
        }
    }

    /// As it is written before a port.
    pub fn authority(&self, port: u16) -> String {
        format!("{self}:{port}")
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// Whether resolvers take a name for an address: its last part is a number, hexadecimal ones included.
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let hexadecimal =
        last.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    hexadecimal || (!last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The part before the last colon that is not in brackets, and the part after it.
pub(super) fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        Some(_) | None => (text, None),
    }
}

/// Digits alone: neither a sign nor spaces.
pub(super) fn port_number(text: &str) -> Result<u16, HostError> {
    let digits = !text.is_empty() && text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse::<u16>().ok().filter(|port| digits && *port > 0);
    port.ok_or(HostError::BadPort)
}

/// The ports of a pattern that names none: plain and encrypted HTTP.
const USUAL_PORTS: [u16; 2] = [80, 443];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ports {
    Usual,
    One(u16),
    Any,
}

impl Ports {
    pub fn include(self, port: u16) -> bool {
        match self {
            Ports::Usual => USUAL_PORTS.contains(&port),
            Ports::One(one) => one == port,
            Ports::Any => true,
        }
    }
}

/// An entry of `sandbox.hosts`: `example.org`, `*.example.org`, `example.org:8443`, `10.0.0.7:*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    pub hosts: Hosts,
    pub ports: Ports,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hosts {
    One(Host),
    /// All names below this one, at any depth, but not the name itself.
    Below(String),
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PatternError {
    #[error("a host without scheme and path is expected, as in example.org or *.example.org:8443")]
    Url,
    #[error("to allow every host, set sandbox.network to \"open\"")]
    Everything,
    #[error("a star stands for what is before the first dot, as in *.example.org")]
    Star,
    #[error(transparent)]
    Host(#[from] HostError),
}

impl HostPattern {
    pub fn parse(text: &str) -> Result<HostPattern, PatternError> {
        let text = text.trim();
        if text.contains('/') || text.contains('@') {
            return Err(PatternError::Url);
        }
        // Without brackets it cannot have a port: its end would not be known.
        let bare: Option<Ipv6Addr> = text.parse().ok();
        let (host, port) = match bare {
            Some(_) => (text, None),
            None => split_port(text),
        };
        let ports = match port {
            None => Ports::Usual,
            Some("*") => Ports::Any,
            Some(port) => Ports::One(port_number(port)?),
        };
        let hosts = match (bare, host.strip_prefix("*.")) {
            (Some(address), _) => Hosts::One(Host::Address(address.into())),
            (None, None) if host == "*" => return Err(PatternError::Everything),
            (None, None) if host.contains('*') => return Err(PatternError::Star),
            (None, None) => Hosts::One(Host::parse(host)?),
            (None, Some(below)) if below.contains('*') => return Err(PatternError::Star),
            (None, Some(below)) => match Host::parse(below)? {
                Host::Name(name) => Hosts::Below(name),
                Host::Address(_) => return Err(HostError::BadAddress.into()),
            },
        };
        Ok(HostPattern { hosts, ports })
    }

    pub fn has_host(&self, host: &Host) -> bool {
        match (&self.hosts, host) {
            (Hosts::One(one), host) => one == host,
            (Hosts::Below(parent), Host::Name(name)) => name
                .strip_suffix(parent.as_str())
                .is_some_and(|before| before.len() > 1 && before.ends_with('.')),
            (Hosts::Below(_), Host::Address(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn absurd_names_are_refused_with_the_reason() {
        let long = format!("{}.org", "a".repeat(64));
        let longer = vec!["abcdefgh"; 40].join(".");
        for (text, error) in [
            ("", HostError::Empty),
            (".", HostError::Empty),
            ("a..b", HostError::BadLabel),
            (".a", HostError::BadLabel),
            ("-a.org", HostError::BadLabel),
            (long.as_str(), HostError::BadLabel),
            (longer.as_str(), HostError::TooLong),
            ("bücher.example", HostError::NotAscii),
            ("exam\u{200b}ple.org", HostError::NotAscii),
            ("a b", HostError::BadCharacter),
            ("a\0b", HostError::BadCharacter),
            ("a%2eb", HostError::BadCharacter),
            ("fe80::1%eth0", HostError::BadCharacter),
            ("256.1.1.1", HostError::BadAddress),
            ("127.1", HostError::BadAddress),
            ("2130706433", HostError::BadAddress),
            ("0x7f000001", HostError::BadAddress),
            ("0177.0.0.1", HostError::BadAddress),
            ("[::1", HostError::BadAddress),
            ("[fe80::1%eth0]", HostError::BadAddress),
            ("[example.org]", HostError::BadAddress),
        ] {
            assert_eq!(Host::parse(text), Err(error), "{text:?}");
        }
    }

    #[test]
    fn names_are_compared_without_case_and_without_the_dot_at_the_end() {
        let name = |text: &str| Host::parse(text).unwrap();
        assert_eq!(name("API.Example.ORG."), Host::Name("api.example.org".into()));
        assert_eq!(name("xn--bcher-kva.example").to_string(), "xn--bcher-kva.example");
        assert_eq!(name("[::1]").authority(80), "[::1]:80");
        assert!(name("127.0.0.1").is_local() && name("localhost").is_local() && !name("a.org").is_local());
    }

    #[test]
    fn ports_are_numbers_in_range() {
        for port in ["0", "65536", "-1", "+80", "", "80 ", "080000", "http"] {
            assert_eq!(Host::with_port(&format!("a.org:{port}")), Err(HostError::BadPort), "{port:?}");
        }
        assert_eq!(Host::with_port("a.org"), Err(HostError::BadPort));
        assert_eq!(Host::with_port("[::1]:443").unwrap().1, 443);
        assert_eq!(Host::with_port("[::1]"), Err(HostError::BadPort));
    }

    #[track_caller]
    fn matches(pattern: &str, target: &str) -> bool {
        let pattern = HostPattern::parse(pattern).unwrap();
        let (host, port) = Host::with_port(target).unwrap();
        pattern.has_host(&host) && pattern.ports.include(port)
    }

    #[test]
    fn a_pattern_means_one_host_or_all_below_a_name() {
        for (pattern, yes, no) in [
            (
                "example.org",
                "example.org:443 EXAMPLE.org:80",
                "a.example.org:443 example.org:8443 xexample.org:443",
            ),
            ("*.example.org", "a.example.org:443 a.b.example.org:80", "example.org:443 aexample.org:443"),
            ("example.org:8443", "example.org:8443", "example.org:443"),
            ("example.org:*", "example.org:22", "a.example.org:22"),
            ("10.0.0.7:5000", "10.0.0.7:5000", "10.0.0.8:5000"),
            ("::1", "[::1]:80", "127.0.0.1:80"),
            ("[::1]:9", "[::1]:9", "[::1]:80"),
        ] {
            assert!(yes.split(' ').all(|target| matches(pattern, target)), "{pattern}: {yes}");
            assert!(!no.split(' ').any(|target| matches(pattern, target)), "{pattern}: {no}");
        }
    }

    #[test]
    fn a_pattern_that_cannot_be_meant_is_refused() {
        for (text, words) in [
            ("https://example.org", "without scheme"),
            ("example.org/path", "without scheme"),
            ("me@example.org", "without scheme"),
            ("*", "open"),
            ("a.*.org", "star"),
            ("*a.org", "star"),
            ("*.*.org", "star"),
            ("*.127.0.0.1", "address"),
            ("exämple.org", "xn--"),
            ("example.org:0", "65535"),
            ("", "empty"),
        ] {
            let error = HostPattern::parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_host_is_parsed_as_what_it_prints(text in "\\PC{0,80}") {
            if let Ok(host) = Host::parse(&text) {
                prop_assert_eq!(Host::parse(&host.to_string()), Ok(host));
            }
        }

        #[test]
        fn no_name_is_taken_for_an_address_by_a_resolver(text in "[0-9a-fx.]{1,20}") {
            if let Ok(Host::Name(name)) = Host::parse(&text) {
                prop_assert!(name.parse::<IpAddr>().is_err());
                let last = name.rsplit('.').next().unwrap().to_string();
                prop_assert!(last.parse::<u64>().is_err());
            }
        }

        #[test]
        fn a_pattern_never_panics(text in "\\PC{0,60}") {
            let _ = HostPattern::parse(&text);
        }
    }
}
