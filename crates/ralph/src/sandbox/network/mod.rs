//! The network of a sandbox: a proxy that programs inside reach on their loopback, and that lets through what the
//! work needs.
//!
//! What is allowed is decided in [`ralph_loop::sandbox::network`]. The proxy runs on a thread of ralph's own, outside,
//! and dies with it. tokio carries the connections: hundreds of them, each of which waits for two sides with limits
//! of time, are what it is made for, and ralph has it already.
//!
//! Invariant: fails closed. Without the proxy nothing inside reaches anything.

mod allowed;
mod attached;
pub mod connect;
pub mod door;
mod exchange;
pub mod ledger;
mod project;
pub mod proxy;
mod relay;
pub mod resolve;
mod test_host;
#[cfg(test)]
mod tests;

pub use attached::{Network, NetworkRequest};
pub use test_host::{TestError, test};

use ledger::Ledger;
use ralph_loop::sandbox::network::Allowlist;
use ralph_loop::sandbox::network::upstream::{BadProxy, Upstream};
use resolve::Lookup;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// What the proxy of a run goes by.
pub struct Policy {
    allowed: RwLock<Arc<Allowlist>>,
    /// Ports of the user's loopback.
    pub forwards: Vec<u16>,
    /// The user's own proxy.
    pub upstream: Result<Upstream, BadProxy>,
    pub lookup: Lookup,
    pub longest_lookup: Duration,
    pub patience: Patience,
    pub ledger: Ledger,
}

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For the head of its first request.
    pub first: Duration,
    /// Until the head of the next one is there.
    pub next: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { first: Duration::from_secs(30), next: Duration::from_secs(300) }
    }
}

impl Policy {
    pub fn new(allowed: Allowlist, forwards: Vec<u16>, upstream: Result<Upstream, BadProxy>) -> Policy {
        Policy {
            allowed: RwLock::new(Arc::new(allowed)),
            forwards,
            upstream,
            lookup: resolve::by_system(),
            longest_lookup: resolve::LONGEST,
            patience: Patience::default(),
            ledger: Ledger::default(),
        }
    }

    pub fn allowed(&self) -> Arc<Allowlist> {
        Arc::clone(&self.allowed.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From the next connection on.
    pub fn allow(&self, allowed: Allowlist) {
        *self.allowed.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(allowed);
    }

    fn forwards(&self, port: u16) -> bool {
        self.forwards.contains(&port)
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy").field("allowed", &self.allowed()).finish_non_exhaustive()
    }
}
