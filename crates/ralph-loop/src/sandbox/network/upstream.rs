//! The user's own proxy: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, and `NO_PROXY` for what does not go through it.
//!
//! What goes through it is resolved by it, so only names can be checked.

use super::endpoints::host_of_url;
use super::host::{Host, split_port};
use std::net::IpAddr;
use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyServer {
    pub host: Host,
    pub port: u16,
    /// The value of `Proxy-Authorization`, as the client of a proxy sends it.
    pub authorization: Option<String>,
}

/// A variable that cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("ralph cannot go through the proxy in {variable}: {why}")]
pub struct BadProxy {
    pub variable: &'static str,
    pub why: &'static str,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upstream {
    encrypted: Option<ProxyServer>,
    plain: Option<ProxyServer>,
    except: Vec<Except>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Except {
    Everything,
    /// A name with all below it, at a port or all.
    Name(String, Option<String>),
    Address(IpAddr),
    Network(IpAddr, u8),
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// CONNECT: bytes that the proxy does not read.
    Tunnel,
    /// A plain request.
    Plain,
}

impl Upstream {
    /// Lower case counts first, as most programs have it. `HTTP_PROXY` in upper case counts as well: this is
    /// not a CGI program, where a client could set it.
    pub fn of_variables(variable: &dyn Fn(&str) -> Option<String>) -> Result<Upstream, BadProxy> {
        let first = |names: [&'static str; 4]| {
            let mut set = names.into_iter().filter_map(|name| Some((name, variable(name)?)));
            set.find(|(_, value)| !value.trim().is_empty())
                .map(|(name, value)| server(name, value.trim()))
                .transpose()
        };
        let encrypted = first(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])?;
        let plain = first(["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])?;
        let except = variable("no_proxy").or_else(|| variable("NO_PROXY")).unwrap_or_default();
        let except = except.split([',', ' ']).filter_map(except_of).collect();
        Ok(Upstream { encrypted, plain, except })
    }

    /// The proxy to go through; none if the connection is made by ralph itself. This machine is never behind one.
    pub fn to(&self, host: &Host, port: u16, purpose: Purpose) -> Option<&ProxyServer> {
        if host.is_local() || self.except.iter().any(|except| except.covers(host, port)) {
            return None;
        }
        match purpose {
            Purpose::Tunnel => self.encrypted.as_ref(),
            Purpose::Plain => self.plain.as_ref(),
        }
    }

    pub fn is_used(&self) -> bool {
        self.encrypted.is_some() || self.plain.is_some()
    }
}

fn server(variable: &'static str, url: &str) -> Result<ProxyServer, BadProxy> {
    let bad = |why| BadProxy { variable, why };
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(bad("only http:// proxies are supported"));
    }
    let (host, port) = host_of_url(url).map_err(|_| bad("its address is not a host and a port"))?;
    let user = rest.split(['/', '?', '#']).next().and_then(|authority| authority.rsplit_once('@'));
    let authorization = user.map(|(user, _)| format!("Basic {}", base64(&percent_decoded(user))));
    Ok(ProxyServer { host, port, authorization })
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let code = bytes.get(at + 1..at + 3).filter(|_| byte == b'%');
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        decoded.push(code.unwrap_or(byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    decoded
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number = three.iter().fold(0u32, |number, byte| (number << 8) | u32::from(*byte))
            << (8 * (3 - three.len()));
        for place in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * place)) as usize & 63];
            text.push(if place > three.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

fn except_of(text: &str) -> Option<Except> {
    let text = text.trim();
    if text == "*" {
        return Some(Except::Everything);
    }
    if let Ok(address) = text.trim_matches(['[', ']']).parse() {
        return Some(Except::Address(address));
    }
    if let Some((network, bits)) = text.split_once('/') {
        return Some(Except::Network(network.parse().ok()?, bits.parse().ok()?));
    }
    let (name, port) = split_port(text);
    let name = name.trim_start_matches('*').trim_start_matches('.').to_ascii_lowercase();
    (!name.is_empty()).then(|| Except::Name(name, port.map(str::to_owned)))
}

impl Except {
    fn covers(&self, host: &Host, port: u16) -> bool {
        match (self, host) {
            (Except::Everything, _) => true,
            (Except::Name(name, at), Host::Name(host)) => {
                let below = host
                    .strip_suffix(name.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
                below && at.as_ref().is_none_or(|at| *at == port.to_string())
            }
            (Except::Address(address), Host::Address(host)) => address == host,
            (Except::Network(network, bits), Host::Address(host)) => is_in(*host, *network, *bits),
            (Except::Name(..), Host::Address(_))
            | (Except::Address(_) | Except::Network(..), Host::Name(_)) => false,
        }
    }
}

fn is_in(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    let same = |one: u128, other: u128, width: u8| {
        bits <= width && (bits == 0 || (one ^ other) >> (width - bits) == 0)
    };
    match (address, network) {
        (IpAddr::V4(one), IpAddr::V4(other)) => same(u32::from(one).into(), u32::from(other).into(), 32),
        (IpAddr::V6(one), IpAddr::V6(other)) => same(one.into(), other.into(), 128),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn upstream(set: &[(&str, &str)]) -> Result<Upstream, BadProxy> {
        let value =
            |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Upstream::of_variables(&value)
    }

    #[test]
    fn a_proxy_of_the_user_is_gone_through_but_for_what_is_excepted() {
        let set = [
            ("HTTPS_PROXY", "http://p.corp:3128"),
            ("no_proxy", "corp.example, .b.org,10.0.0.0/8,c.org:8080,*.d.org"),
        ];
        let upstream = upstream(&set).unwrap();
        let goes = |target: &str, purpose| {
            let (host, port) = Host::with_port(target).unwrap();
            upstream.to(&host, port, purpose).is_some()
        };
        for target in ["a.org:443", "xcorp.example:443", "11.0.0.1:443", "c.org:443"] {
            assert!(goes(target, Purpose::Tunnel), "{target}");
            assert!(!goes(target, Purpose::Plain), "{target}");
        }
        for target in [
            "corp.example:443",
            "x.corp.example:443",
            "a.b.org:443",
            "10.2.3.4:443",
            "c.org:8080",
            "a.d.org:443",
            "localhost:443",
            "127.0.0.1:1",
        ] {
            assert!(!goes(target, Purpose::Tunnel), "{target}");
        }
        assert!(upstream.is_used() && !Upstream::default().is_used());
    }

    #[test]
    fn the_user_of_a_proxy_is_sent_as_basic_authorization() {
        let upstream = upstream(&[("all_proxy", "http://me:p%40ss@p.corp:1")]).unwrap();
        let host = Host::parse("a.org").unwrap();
        let server = upstream.to(&host, 80, Purpose::Plain).unwrap();
        assert_eq!(server.authorization.as_deref(), Some("Basic bWU6cEBzcw=="));
        assert_eq!((server.host.to_string(), server.port), ("p.corp".into(), 1));
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_named() {
        for (url, words) in
            [("socks5://p:1", "http://"), ("https://p:1", "http://"), ("http://p:x", "host and a port")]
        {
            let error = upstream(&[("HTTPS_PROXY", url)]).unwrap_err().to_string();
            assert!(error.contains("HTTPS_PROXY") && error.contains(words), "{error}");
        }
        assert_eq!(upstream(&[("HTTPS_PROXY", " ")]), Ok(Upstream::default()));
        // What is set in lower case counts first.
        let both = upstream(&[("https_proxy", "p:1"), ("HTTPS_PROXY", "socks5://q:2")]);
        assert!(both.is_ok_and(|upstream| upstream.is_used()));
    }

    #[test]
    fn base64_is_padded() {
        for (text, expected) in
            [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj"), ("abcd", "YWJjZA==")]
        {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }

    proptest! {
        #[test]
        fn no_value_of_these_variables_panics(url in "\\PC{0,40}", except in "\\PC{0,40}", host in "[a-z.]{1,20}") {
            if let (Ok(upstream), Ok(host)) = (upstream(&[("https_proxy", &url), ("no_proxy", &except)]), Host::parse(&host)) {
                let _ = upstream.to(&host, 443, Purpose::Tunnel);
            }
        }
    }
}
