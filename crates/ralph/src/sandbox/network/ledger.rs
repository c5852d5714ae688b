//! What has gone through the proxy, and what was refused.
//!
//! Invariant: bounded. A program inside can ask for any number of names, and costs no more than [`MOST_HOSTS`] of
//! them.

use ralph_loop::sandbox::network::{Host, NetworkUse, Refusal, Traffic};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many hosts are told apart, of those that were reached and of those that were refused.
pub const MOST_HOSTS: usize = 500;

/// What all other hosts are counted under.
const OTHERS: &str = "other hosts";

#[derive(Debug, Default)]
pub struct Ledger(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    known: BTreeSet<(String, u16)>,
    /// Not taken yet.
    refused: Vec<Refusal>,
    reached: BTreeMap<String, Arc<Counter>>,
}

/// Bytes to and from one host, since they were last taken.
#[derive(Debug, Default)]
pub struct Counter {
    connections: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Counter {
    pub fn connected(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub fn add_sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub fn add_received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Ledger {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn refuse(&self, refusal: &Refusal) {
        let mut entries = self.entries();
        if entries.known.len() < MOST_HOSTS && entries.known.insert((refusal.host.clone(), refusal.port)) {
            entries.refused.push(refusal.clone());
        }
    }

    pub fn counter(&self, host: &Host, port: u16) -> Arc<Counter> {
        let mut entries = self.entries();
        let name = host.authority(port);
        let name = match entries.reached.contains_key(&name) || entries.reached.len() < MOST_HOSTS {
            true => name,
            false => OTHERS.to_owned(),
        };
        Arc::clone(entries.reached.entry(name).or_default())
    }

    pub fn take(&self) -> NetworkUse {
        let mut entries = self.entries();
        let refused = std::mem::take(&mut entries.refused);
        let taken = entries.reached.iter().map(|(host, counter)| Traffic {
            host: host.clone(),
            connections: counter.connections.swap(0, Ordering::Relaxed),
            sent: counter.sent.swap(0, Ordering::Relaxed),
            received: counter.received.swap(0, Ordering::Relaxed),
        });
        let traffic = taken.filter(|of| of.connections + of.sent + of.received > 0).collect();
        NetworkUse { refused, traffic }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_loop::sandbox::network::RefusedBecause;

    fn host(name: &str) -> Host {
        Host::parse(name).unwrap()
    }

    #[test]
    fn each_refused_host_is_told_once_and_bytes_are_told_since_the_last_time() {
        let ledger = Ledger::default();
        let refusal = Refusal::new(&host("a.org"), 443, RefusedBecause::NotAllowed);
        ledger.refuse(&refusal);
        ledger.refuse(&refusal);
        let counter = ledger.counter(&host("b.org"), 443);
        counter.connected();
        counter.add_sent(3);
        ledger.counter(&host("b.org"), 443).add_received(4);
        let traffic = Traffic { host: "b.org:443".into(), connections: 1, sent: 3, received: 4 };
        assert_eq!(ledger.take(), NetworkUse { refused: vec![refusal.clone()], traffic: vec![traffic] });
        ledger.refuse(&refusal);
        assert_eq!(ledger.take(), NetworkUse::default());
    }

    #[test]
    fn any_number_of_names_costs_no_more_than_the_first_ones() {
        let ledger = Ledger::default();
        for number in 0..3 * MOST_HOSTS {
            let host = host(&format!("h{number}.org"));
            ledger.refuse(&Refusal::new(&host, 443, RefusedBecause::NotAllowed));
            ledger.counter(&host, 443).add_sent(1);
        }
        let news = ledger.take();
        assert_eq!(news.refused.len(), MOST_HOSTS);
        assert_eq!(news.traffic.len(), MOST_HOSTS + 1);
        assert_eq!(news.traffic.iter().map(|of| of.sent).sum::<u64>(), 3 * MOST_HOSTS as u64);
    }
}
