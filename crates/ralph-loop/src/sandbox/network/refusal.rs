//! What is said about a connection that is not allowed: to the program that wanted it, to the agent, and to the
//! user, with the setting that would allow it.

use super::address::AddressKind;
use super::groups;
use super::host::Host;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// One connection that was not allowed, as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub host: String,
    pub port: u16,
    pub why: RefusedBecause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedBecause {
    NotAllowed,
    /// The host is allowed, at other ports.
    Port,
    /// The host is allowed, and leads to where it must not.
    Address {
        address: IpAddr,
        kind: AddressKind,
    },
}

impl Refusal {
    pub fn new(host: &Host, port: u16, why: RefusedBecause) -> Refusal {
        Refusal { host: host.to_string(), port, why }
    }

    /// `network: registry.npmjs.org is not allowed`
    pub fn sentence(&self) -> String {
        let Refusal { host, port, why } = self;
        match why {
            RefusedBecause::NotAllowed if is_usual(*port) => format!("network: {host} is not allowed"),
            RefusedBecause::NotAllowed => format!("network: {host}:{port} is not allowed"),
            RefusedBecause::Port => format!("network: {host} is allowed, but not at port {port}"),
            RefusedBecause::Address { address, kind } => {
                format!("network: {host} is not allowed, because it leads to {address}, {}", kind.words())
            }
        }
    }

    /// `sandbox.hosts: ["npm"]`; none for what no setting allows.
    pub fn setting(&self) -> Option<String> {
        let Refusal { host, port, why } = self;
        let hosts = |entry: &str| Some(format!("sandbox.hosts: [\"{entry}\"]"));
        let with_port = |host: &str| if is_usual(*port) { host.to_owned() } else { format!("{host}:{port}") };
        match why {
            RefusedBecause::NotAllowed => match groups::group_of_host(host) {
                Some(group) if is_usual(*port) => hosts(group.name),
                _ if Host::parse(host).is_ok_and(|host| host.is_local()) => forward(*port),
                Some(_) | None => hosts(&with_port(host)),
            },
            RefusedBecause::Port => hosts(&format!("{host}:{port}")),
            RefusedBecause::Address { kind, .. } => match kind {
                AddressKind::Loopback => forward(*port),
                AddressKind::Private => hosts(&with_port(host)),
                AddressKind::LinkLocal | AddressKind::Metadata | AddressKind::Reserved => {
                    let Self { why: RefusedBecause::Address { address, .. }, .. } = self else { return None };
                    hosts(&with_port(&Host::Address(*address).to_string()))
                }
                AddressKind::Public | AddressKind::Multicast | AddressKind::Unspecified => None,
            },
        }
    }

    /// Both, for people and agents.
    pub fn with_setting(&self) -> String {
        match self.setting() {
            Some(setting) => format!("{} ({setting})", self.sentence()),
            None => self.sentence(),
        }
    }
}

fn is_usual(port: u16) -> bool {
    matches!(port, 80 | 443)
}

/// Ports that cannot be opened inside have no setting.
fn forward(port: u16) -> Option<String> {
    super::forward::Forward::parse(&port.to_string()).ok()?;
    Some(format!("sandbox.forward: [\"{port}\"]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_setting_that_would_allow_it() {
        let address = |address: &str| {
            let address: IpAddr = address.parse().unwrap();
            RefusedBecause::Address { address, kind: super::super::address::kind(address) }
        };
        let not = RefusedBecause::NotAllowed;
        for (host, port, why, expected) in [
            (
                "example.org",
                443,
                not,
                "network: example.org is not allowed (sandbox.hosts: [\"example.org\"])",
            ),
            (
                "example.org",
                22,
                not,
                "network: example.org:22 is not allowed (sandbox.hosts: [\"example.org:22\"])",
            ),
            ("pypi.org", 443, not, "network: pypi.org is not allowed (sandbox.hosts: [\"pypi\"])"),
            ("127.0.0.1", 5432, not, "network: 127.0.0.1:5432 is not allowed (sandbox.forward: [\"5432\"])"),
            ("127.0.0.1", 80, not, "network: 127.0.0.1 is not allowed"),
            (
                "a.org",
                8443,
                RefusedBecause::Port,
                "network: a.org is allowed, but not at port 8443 (sandbox.hosts: [\"a.org:8443\"])",
            ),
            (
                "a.org",
                443,
                address("10.0.0.5"),
                "network: a.org is not allowed, because it leads to 10.0.0.5, a private address \
                 (sandbox.hosts: [\"a.org\"])",
            ),
            (
                "a.org",
                443,
                address("169.254.169.254"),
                "network: a.org is not allowed, because it leads to 169.254.169.254, the metadata service of a \
                 cloud (sandbox.hosts: [\"169.254.169.254\"])",
            ),
            (
                "a.org",
                8080,
                address("::1"),
                "network: a.org is not allowed, because it leads to ::1, this machine (sandbox.forward: [\"8080\"])",
            ),
            (
                "a.org",
                443,
                address("ff02::1"),
                "network: a.org is not allowed, because it leads to ff02::1, a multicast address",
            ),
        ] {
            assert_eq!(Refusal { host: host.into(), port, why }.with_setting(), expected);
        }
    }
}
