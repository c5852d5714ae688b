//! What kind of address a name has led to, and which kinds may be connected to.
//!
//! A name on the list of allowed hosts says nothing about where it leads: the owner of its domain can have it
//! lead to this machine. So every address that a name has is looked at.
//!
//! Invariant: an IPv6 address that stands for an IPv4 address is of the kind of that one.

use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AddressKind {
    Public,
    /// Of a network that is not the internet, those of carriers (100.64.0.0/10) included.
    Private,
    Loopback,
    LinkLocal,
    /// Where clouds hand out credentials to the machines in them.
    Metadata,
    Multicast,
    Unspecified,
    /// For tunnels, protocols and the future.
    Reserved,
}

impl AddressKind {
    pub const ALL: [AddressKind; 8] = [
        AddressKind::Public,
        AddressKind::Private,
        AddressKind::Loopback,
        AddressKind::LinkLocal,
        AddressKind::Metadata,
        AddressKind::Multicast,
        AddressKind::Unspecified,
        AddressKind::Reserved,
    ];

    /// After "leads to 10.0.0.1, …".
    pub fn words(self) -> &'static str {
        match self {
            AddressKind::Public => "a public address",
            AddressKind::Private => "a private address",
            AddressKind::Loopback => "this machine",
            AddressKind::LinkLocal => "a link-local address",
            AddressKind::Metadata => "the metadata service of a cloud",
            AddressKind::Multicast => "a multicast address",
            AddressKind::Unspecified => "an unspecified address",
            AddressKind::Reserved => "a reserved address",
        }
    }
}

/// How far a rule reaches beyond public addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    Public,
    /// The user has named the host, which may be one of their own network.
    Private,
    /// The user has named this machine, an address, or the endpoint of an agent.
    Any,
}

impl Reach {
    pub fn includes(self, kind: AddressKind) -> bool {
        match kind {
            AddressKind::Public => true,
            AddressKind::Private => self >= Reach::Private,
            AddressKind::Loopback
            | AddressKind::LinkLocal
            | AddressKind::Metadata
            | AddressKind::Reserved => self == Reach::Any,
            AddressKind::Multicast | AddressKind::Unspecified => false,
        }
    }
}

/// Some are in public ranges, some in private ones.
const METADATA_V4: [Ipv4Addr; 5] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
];
const METADATA_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254),
    Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254),
];

pub fn kind(address: IpAddr) -> AddressKind {
    match address {
        IpAddr::V4(address) => kind_v4(address),
        IpAddr::V6(address) => kind_v6(address),
    }
}

fn kind_v4(address: Ipv4Addr) -> AddressKind {
    if METADATA_V4.contains(&address) {
        return AddressKind::Metadata;
    }
    match address.octets() {
        [0, ..] => AddressKind::Unspecified,
        [127, ..] => AddressKind::Loopback,
        [169, 254, ..] => AddressKind::LinkLocal,
        [10, ..] | [192, 168, ..] | [172, 16..=31, ..] | [100, 64..=127, ..] => AddressKind::Private,
        [224..=239, ..] => AddressKind::Multicast,
        [192, 0, 0, _] | [192, 88, 99, _] => AddressKind::Reserved,
        [240..=255, ..] => AddressKind::Reserved,
        // Ranges for documentation and benchmarks are among them: VPNs and transparent proxies hand such addresses
        // out in place of the real ones, and no service of the user's is there otherwise.
        _ => AddressKind::Public,
    }
}

fn kind_v6(address: Ipv6Addr) -> AddressKind {
    if METADATA_V6.contains(&address) {
        return AddressKind::Metadata;
    }
    let parts = address.segments();
    match parts {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressKind::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressKind::Loopback,
        // IPv4-mapped, IPv4-translated, NAT64.
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x0064, 0xff9b, 0, 0, 0, 0, high, low] => kind_v4(embedded(high, low)),
        // IPv4-compatible: nothing uses it any more.
        [0, 0, 0, 0, 0, 0, high, low] => at_best_reserved(kind_v4(embedded(high, low))),
        // NAT64 of a network of its own leads into that network.
        [0x0064, 0xff9b, 1, ..] => AddressKind::Private,
        // 6to4.
        [0x2002, high, low, ..] => at_best_reserved(kind_v4(embedded(high, low))),
        // Teredo, and the other special purposes beside it; documentation; discarded.
        [0x2001, 0..=0x01ff, ..]
        | [0x2001, 0x0db8, ..]
        | [0x3fff, 0..=0x0fff, ..]
        | [0x0100, 0, 0, 0, ..] => AddressKind::Reserved,
        [0xff00..=0xffff, ..] => AddressKind::Multicast,
        [0xfe80..=0xfebf, ..] => AddressKind::LinkLocal,
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => AddressKind::Private,
        // ISATAP.
        [.., 0 | 0x0200, 0x5efe, high, low] => at_best_reserved(kind_v4(embedded(high, low))),
        [0x2000..=0x3fff, ..] => AddressKind::Public,
        _ => AddressKind::Reserved,
    }
}

fn embedded(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))
}

/// Of a tunnel that hardly any network has: what it leads to is not what its address says.
fn at_best_reserved(kind: AddressKind) -> AddressKind {
    match kind {
        AddressKind::Public => AddressKind::Reserved,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_range_has_its_kind() {
        use AddressKind::{LinkLocal, Loopback, Metadata, Multicast, Private, Public, Reserved, Unspecified};
        for (kind_expected, addresses) in [
            (
                Public,
                "192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 1.1.1.1 8.8.8.8 172.15.0.1 172.32.0.1 100.63.0.1 100.128.0.1 192.169.0.1 11.0.0.1",
            ),
            (Public, "2606:4700::1111 2a00:1450::8 ::ffff:1.1.1.1 64:ff9b::808:808"),
            (Private, "10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 100.127.0.1"),
            (Private, "fc00::1 fd12::1 fec0::1 ::ffff:10.0.0.1 64:ff9b::a00:1 64:ff9b:1::1 2002:a00:1::"),
            (Loopback, "127.0.0.1 127.255.255.254 ::1 ::ffff:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::1"),
            (Loopback, "::127.0.0.1 ::ffff:0:7f00:1 2606:4700::5efe:7f00:1"),
            (LinkLocal, "169.254.1.1 fe80::1 febf::1 ::ffff:169.254.1.1"),
            (Metadata, "169.254.169.254 ::ffff:169.254.169.254 2002:a9fe:a9fe:: 64:ff9b::a9fe:a9fe"),
            (Metadata, "168.63.129.16 100.100.100.200 169.254.170.2 fd00:ec2::254 fd20:ce::254"),
            (Multicast, "224.0.0.1 239.255.255.255 ff02::1 ::ffff:224.0.0.1"),
            (Unspecified, "0.0.0.0 0.1.2.3 :: ::ffff:0.0.0.0"),
            (Reserved, "255.255.255.255 240.0.0.1 192.0.0.1 192.88.99.1"),
            (Reserved, "2001::1 2001:db8::1 100::1 ::8.8.8.8 2002:808:808:: 4000::1"),
        ] {
            for address in addresses.split(' ') {
                assert_eq!(kind(address.parse().unwrap()), kind_expected, "{address}");
            }
        }
    }

    #[test]
    fn what_a_rule_reaches_grows_and_never_includes_multicast() {
        let of = |reach: Reach| AddressKind::ALL.into_iter().filter(|kind| reach.includes(*kind)).count();
        assert_eq!([Reach::Public, Reach::Private, Reach::Any].map(of), [1, 2, 6]);
        assert!(
            !Reach::Any.includes(AddressKind::Multicast) && !Reach::Any.includes(AddressKind::Unspecified)
        );
    }

    proptest! {
        #[test]
        fn an_ipv4_address_is_not_public_in_any_other_form_unless_it_is(number in any::<u32>()) {
            let v4 = Ipv4Addr::from(number);
            let (high, low) = ((number >> 16) as u16, (number & 0xffff) as u16);
            for v6 in [
                v4.to_ipv6_mapped(),
                v4.to_ipv6_compatible(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            ] {
                if kind(v6.into()) == AddressKind::Public {
                    prop_assert_eq!(kind(v4.into()), AddressKind::Public, "{}", v6);
                }
            }
        }

        #[test]
        fn what_the_standard_library_calls_special_is_not_public(number in any::<u128>(), v4 in any::<u32>()) {
            let v6 = Ipv6Addr::from(number);
            let special = v6.is_loopback() || v6.is_unspecified() || v6.is_multicast()
                || v6.is_unique_local() || v6.is_unicast_link_local();
            prop_assert!(!special || kind(v6.into()) != AddressKind::Public);
            let v4 = Ipv4Addr::from(v4);
            let special = v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_multicast()
                || v4.is_broadcast() || v4.is_unspecified();
            prop_assert!(!special || kind(v4.into()) != AddressKind::Public);
        }
    }
}
