//! `sandbox.forward`: services on the user's own machine that can be reached inside at the same port.

use super::host::port_number;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// `5432`, or `redis:6379` with a name for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forward {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub port: u16,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ForwardError {
    #[error("a port from 1 to 65535 is expected, as in \"5432\" or \"redis:6379\"")]
    Port,
    #[error("ports below 1024 cannot be opened inside: let the service listen at another one as well")]
    Privileged,
    #[error("port 3128 is the one that programs inside reach the network through")]
    Taken,
    #[error(
        "a name before the port is only for people, and begins with a letter: the port inside is the same"
    )]
    Name,
}

/// Programs inside have no rights to open lower ones.
const LOWEST: u16 = 1024;
const LONGEST_NAME: usize = 64;

impl Forward {
    pub fn parse(text: &str) -> Result<Forward, ForwardError> {
        let (name, port) = match text.trim().rsplit_once(':') {
            Some((name, port)) => (Some(name), port),
            None => (None, text.trim()),
        };
        let is_named = |name: &str| {
            (1..=LONGEST_NAME).contains(&name.len())
                && name.starts_with(|first: char| first.is_ascii_alphabetic())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        if name.is_some_and(|name| !is_named(name)) {
            return Err(ForwardError::Name);
        }
        match port_number(port).map_err(|_| ForwardError::Port)? {
            super::PROXY_PORT => Err(ForwardError::Taken),
            port if port < LOWEST => Err(ForwardError::Privileged),
            port => Ok(Forward { name: name.map(str::to_owned), port }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forward_is_a_port_with_or_without_a_name() {
        let of = |text: &str| Forward::parse(text).map(|forward| (forward.name, forward.port));
        assert_eq!(of("5432"), Ok((None, 5432)));
        assert_eq!(of("redis:6379"), Ok((Some("redis".into()), 6379)));
        for (text, error) in [
            ("", ForwardError::Port),
            ("redis", ForwardError::Port),
            ("70000", ForwardError::Port),
            ("0", ForwardError::Port),
            ("80", ForwardError::Privileged),
            ("3128", ForwardError::Taken),
            (":5432", ForwardError::Name),
            ("a b:5432", ForwardError::Name),
            ("10.0.0.1:5432", ForwardError::Name),
            ("5432:5433", ForwardError::Name),
        ] {
            assert_eq!(of(text), Err(error), "{text}");
        }
    }
}
