//! Hosts in addresses, and which of them are near.

use super::arg::{SECRET, UNKNOWN};

/// The host of a URL, or of a word that curl takes for one.
pub fn host_of(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// This machine, its private network, or a service of a compose file.
pub fn is_local(host: &str) -> bool {
    let is_private_172 = host.strip_prefix("172.").is_some_and(|rest| {
        rest.split('.').next().and_then(|part| part.parse::<u8>().ok()).is_some_and(|n| (16..32).contains(&n))
    });
    host == "::1"
        || host == "0.0.0.0"
        || host == "host.docker.internal"
        || host.ends_with(".localhost")
        || host.ends_with(".local")
        || host.ends_with(".internal") && host.contains("docker")
        || host.starts_with("127.")
        || host.starts_with("10.") && is_address(host)
        || host.starts_with("192.168.")
        || is_private_172
        || (!host.contains(['.', ':', '<', UNKNOWN, SECRET])
            && !host.is_empty()
            && !host.bytes().all(|b| b.is_ascii_digit()))
}

pub fn is_address(host: &str) -> bool {
    !host.is_empty() && host.chars().all(|c| c.is_ascii_digit() || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_urls() {
        for (text, host, local) in [
            ("https://user:pw@example.com:8080/x?y", "example.com", false),
            ("http://localhost:3000/api", "localhost", true),
            ("http://[::1]:80/", "::1", true),
            ("127.0.0.1:9200", "127.0.0.1", true),
            ("http://api:8080", "api", true),
            ("http://172.17.0.2", "172.17.0.2", true),
            ("http://172.1.0.2", "172.1.0.2", false),
            ("http://10.evil.com", "10.evil.com", false),
            ("http://2852039166/", "2852039166", false),
        ] {
            assert_eq!(host_of(text), host, "{text}");
            assert_eq!(is_local(host), local, "{text}");
        }
    }
}
