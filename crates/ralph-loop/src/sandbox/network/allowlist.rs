//! Which hosts programs inside can reach, and at which addresses.
//!
//! Invariant: without a rule nothing is allowed, and what a name leads to is checked for itself: see [`Permit`].

use super::address::{self, Reach};
use super::endpoints::{AgentHosts, Endpoint};
use super::groups::{self, Group};
use super::host::{Host, HostPattern, Hosts, PatternError, Ports};
use super::refusal::{Refusal, RefusedBecause};
use std::net::IpAddr;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    pattern: HostPattern,
    reach: Reach,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowlist {
    rules: Vec<Rule>,
}

/// A host that is allowed. Where its name leads is still to be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permit {
    reach: Reach,
}

/// An entry of `sandbox.hosts`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Group(&'static Group),
    Hosts(HostPattern),
}

impl Entry {
    pub fn parse(text: &str) -> Result<Entry, PatternError> {
        match groups::group(text.trim()) {
            Some(group) => Ok(Entry::Group(group)),
            None => HostPattern::parse(text).map(Entry::Hosts),
        }
    }
}

impl Allowlist {
    /// What the user has named. A name alone can be one of their own network; this machine has to be named as such.
    pub fn add_entry(&mut self, entry: Entry) {
        match entry {
            Entry::Group(group) => self.add_group(group),
            Entry::Hosts(pattern) => {
                let reach = match &pattern.hosts {
                    Hosts::One(Host::Address(_)) => Reach::Any,
                    Hosts::One(host) if host.is_local() => Reach::Any,
                    Hosts::One(Host::Name(_)) => Reach::Private,
                    Hosts::Below(_) => Reach::Public,
                };
                self.rules.push(Rule { pattern, reach });
            }
        }
    }

    pub fn add_group(&mut self, group: &Group) {
        self.add_hosts(group.hosts.iter().copied());
    }

    pub fn add_agent(&mut self, agent: &AgentHosts) {
        self.add_hosts(agent.hosts.iter().copied());
    }

    /// From one of ralph's own tables.
    pub fn add_hosts<'a>(&mut self, hosts: impl IntoIterator<Item = &'a str>) {
        let patterns = hosts.into_iter().filter_map(|host| HostPattern::parse(host).ok());
        self.rules.extend(patterns.map(|pattern| Rule { pattern, reach: Reach::Public }));
    }

    pub fn add_endpoint(&mut self, endpoint: &Endpoint) {
        let hosts = Hosts::One(endpoint.host.clone());
        let pattern = HostPattern { hosts, ports: Ports::One(endpoint.port) };
        self.rules.push(Rule { pattern, reach: Reach::Any });
    }

    pub fn check(&self, host: &Host, port: u16) -> Result<Permit, Refusal> {
        let refused = |why| Refusal::new(host, port, why);
        let of_host: Vec<&Rule> = self.rules.iter().filter(|rule| rule.pattern.has_host(host)).collect();
        let at_port = of_host.iter().filter(|rule| rule.pattern.ports.include(port));
        let Some(reach) = at_port.map(|rule| rule.reach).max() else {
            let known = !of_host.is_empty();
            return Err(refused(if known { RefusedBecause::Port } else { RefusedBecause::NotAllowed }));
        };
        let permit = Permit { reach };
        match host {
            Host::Address(address) => permit.check(host, port, &[*address]).map(|()| permit),
            Host::Name(_) => Ok(permit),
        }
    }
}

impl Permit {
    /// All addresses that a name has. One that is not allowed is enough to refuse the name: no honest name leads
    /// to the internet and to this machine.
    pub fn check(self, host: &Host, port: u16, addresses: &[IpAddr]) -> Result<(), Refusal> {
        for &address in addresses {
            let kind = address::kind(address);
            if !self.reach.includes(kind) {
                return Err(Refusal::new(host, port, RefusedBecause::Address { address, kind }));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::endpoints::agent_hosts;
    use super::*;
    use proptest::prelude::*;

    fn list(entries: &[&str]) -> Allowlist {
        let mut list = Allowlist::default();
        entries.iter().for_each(|entry| list.add_entry(Entry::parse(entry).unwrap()));
        list
    }

    #[track_caller]
    fn check(list: &Allowlist, target: &str, addresses: &str) -> Result<(), String> {
        let (host, port) = Host::with_port(target).unwrap();
        let addresses: Vec<IpAddr> = addresses.split_whitespace().map(|text| text.parse().unwrap()).collect();
        let permit = list.check(&host, port).map_err(|refusal| refusal.sentence())?;
        permit.check(&host, port, &addresses).map_err(|refusal| refusal.sentence())
    }

    #[test]
    fn nothing_is_allowed_without_a_rule_and_a_rule_holds_for_its_ports() {
        let none = Allowlist::default();
        assert!(check(&none, "example.org:443", "").unwrap_err().ends_with("example.org is not allowed"));
        let some = list(&["example.org", "*.b.org:8443"]);
        assert_eq!(check(&some, "example.org:443", "1.1.1.1"), Ok(()));
        assert!(check(&some, "example.org:22", "").unwrap_err().ends_with("not at port 22"));
        assert!(check(&some, "a.b.org:443", "").unwrap_err().ends_with("not at port 443"));
        assert_eq!(check(&some, "a.b.org:8443", "1.1.1.1"), Ok(()));
    }

    #[test]
    fn one_bad_address_of_many_refuses_the_name() {
        let some = list(&["*.example.org"]);
        let twenty = vec!["1.1.1.1"; 19].join(" ");
        assert_eq!(check(&some, "a.example.org:443", &format!("{twenty} 8.8.8.8")), Ok(()));
        let refused = check(&some, "a.example.org:443", &format!("{twenty} ::ffff:127.0.0.1")).unwrap_err();
        assert!(refused.contains("this machine"), "{refused}");
    }

    #[test]
    fn what_the_user_names_decides_how_far_it_reaches() {
        for (entries, target, addresses, allowed) in [
            (&["*.corp.example"][..], "git.corp.example:443", "10.0.0.5", false),
            (&["git.corp.example"], "git.corp.example:443", "10.0.0.5", true),
            (&["git.corp.example"], "git.corp.example:443", "127.0.0.1", false),
            (&["git.corp.example"], "git.corp.example:443", "169.254.169.254", false),
            (&["localhost:8080"], "localhost:8080", "127.0.0.1 ::1", true),
            (&["127.0.0.1:8080"], "127.0.0.1:8080", "127.0.0.1", true),
            (&["127.0.0.1:8080"], "localhost:8080", "127.0.0.1", false),
            (&["0.0.0.0:8080"], "0.0.0.0:8080", "", false),
            (&["npm"], "registry.npmjs.org:443", "10.0.0.5", false),
            // The most that any rule for it allows.
            (&["npm", "registry.npmjs.org"], "registry.npmjs.org:443", "10.0.0.5", true),
        ] {
            assert_eq!(
                check(&list(entries), target, addresses).is_ok(),
                allowed,
                "{entries:?} {target} {addresses}"
            );
        }
    }

    #[test]
    fn an_endpoint_of_the_user_is_allowed_wherever_it_is_but_only_there() {
        let mut list = Allowlist::default();
        let host = Host::parse("models.example").unwrap();
        list.add_endpoint(&Endpoint { host, port: 4000, from: "ANTHROPIC_BASE_URL".into() });
        assert_eq!(check(&list, "models.example:4000", "127.0.1.1"), Ok(()));
        assert!(check(&list, "models.example:443", "").is_err());
        list.add_agent(agent_hosts("claude").unwrap());
        assert_eq!(check(&list, "api.anthropic.com:443", "1.1.1.1"), Ok(()));
        assert!(check(&list, "api.anthropic.com:443", "10.0.0.1").is_err());
    }

    proptest! {
        #[test]
        fn a_host_that_no_entry_ends_with_is_never_allowed(name in "[a-z]{1,8}(\\.[a-z]{1,8}){0,3}", port in 1u16..) {
            let list = list(&["example.org", "*.example.org:*", "crates"]);
            let host = Host::parse(&name).unwrap();
            if !name.ends_with("example.org") && !groups::GROUPS.iter().any(|group| group.hosts.contains(&name.as_str())) {
                prop_assert!(list.check(&host, port).is_err());
            }
        }
    }
}
