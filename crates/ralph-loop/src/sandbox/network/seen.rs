//! What a run has learned of its network.

use super::{Refusal, Traffic};
use serde::{Deserialize, Serialize};

/// What has happened on the network during a step, as it is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkUse {
    /// Each host and port once in a run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refusal>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<Traffic>,
}

impl NetworkUse {
    pub fn is_empty(&self) -> bool {
        self.refused.is_empty() && self.traffic.is_empty()
    }
}

/// Hosts that were refused, as far as a state keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    first: Vec<Refusal>,
    count: u64,
}

/// A state is bounded: others are counted.
const MOST_KEPT: usize = 100;

/// So many are in a prompt, or at the end of a run.
const MOST_TOLD: usize = 10;

impl Refused {
    pub(crate) fn add(&mut self, news: &NetworkUse) {
        for refusal in &news.refused {
            if self.has(refusal) {
                continue;
            }
            self.count += 1;
            if self.first.len() < MOST_KEPT {
                self.first.push(refusal.clone());
            }
        }
    }

    /// Whether it is known already; a process that takes a run up does not know.
    pub fn has(&self, refusal: &Refusal) -> bool {
        let same = |known: &Refusal| (&known.host, known.port) == (&refusal.host, refusal.port);
        self.first.iter().any(same)
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn all(&self) -> &[Refusal] {
        &self.first
    }

    /// A line each, and one about those that are left out.
    pub fn lines(&self) -> Vec<String> {
        let told = self.first.iter().take(MOST_TOLD).map(Refusal::with_setting);
        let more = self.count.saturating_sub(self.first.len().min(MOST_TOLD) as u64);
        let more = (more > 0).then(|| {
            format!("network: {more} more {} not allowed", if more == 1 { "host is" } else { "hosts are" })
        });
        told.chain(more).collect()
    }

    /// What an agent is told.
    pub fn prompt(&self) -> Option<String> {
        (self.count > 0).then(|| {
            let lines: Vec<String> = self.lines().into_iter().map(|line| format!("- {line}")).collect();
            format!(
                "The network is restricted. So far these hosts were refused:\n{}\nWork without them. Only the user can \
                 allow a host: if the work needs one, say so in your answer.",
                lines.join("\n")
            )
        })
    }
}

/// Traffic of many steps, a line per host, the most bytes first.
pub fn sum<'a>(steps: impl IntoIterator<Item = &'a Traffic>) -> Vec<Traffic> {
    let mut hosts: std::collections::BTreeMap<&str, Traffic> = std::collections::BTreeMap::new();
    for step in steps {
        let of = hosts
            .entry(&step.host)
            .or_insert_with(|| Traffic { host: step.host.clone(), ..Traffic::default() });
        of.connections = of.connections.saturating_add(step.connections);
        of.sent = of.sent.saturating_add(step.sent);
        of.received = of.received.saturating_add(step.received);
    }
    let mut hosts: Vec<Traffic> = hosts.into_values().collect();
    hosts.sort_by_key(|of| std::cmp::Reverse(of.sent.saturating_add(of.received)));
    hosts
}

#[cfg(test)]
mod tests {
    use super::super::{Host, RefusedBecause};
    use super::*;

    fn refusal(host: &str) -> Refusal {
        Refusal::new(&Host::parse(host).unwrap(), 443, RefusedBecause::NotAllowed)
    }

    #[test]
    fn a_host_is_told_once_and_many_hosts_are_counted() {
        let mut refused = Refused::default();
        assert_eq!(refused.prompt(), None);
        let use_of = |hosts: &[&str]| NetworkUse {
            refused: hosts.iter().map(|host| refusal(host)).collect(),
            ..NetworkUse::default()
        };
        refused.add(&use_of(&["a.org", "a.org"]));
        refused.add(&use_of(&["a.org"]));
        assert_eq!(refused.lines(), ["network: a.org is not allowed (sandbox.hosts: [\"a.org\"])"]);
        assert!(refused.prompt().unwrap().contains("- network: a.org is not allowed"));
        for number in 0..300 {
            refused.add(&use_of(&[&format!("h{number}.org")]));
        }
        assert_eq!((refused.count(), refused.all().len()), (301, MOST_KEPT));
        assert_eq!(refused.lines().len(), MOST_TOLD + 1);
        assert_eq!(refused.lines().last().unwrap(), "network: 291 more hosts are not allowed");
    }

    #[test]
    fn traffic_is_summed_by_host_with_the_most_first() {
        let of = |host: &str, sent, received| Traffic { host: host.into(), connections: 1, sent, received };
        let steps = [of("a:1", 1, 2), of("b:1", 50, 50), of("a:1", 10, 20)];
        let summed = sum(&steps);
        assert_eq!(
            summed,
            [of("b:1", 50, 50), Traffic { host: "a:1".into(), connections: 2, sent: 11, received: 22 }]
        );
    }
}
