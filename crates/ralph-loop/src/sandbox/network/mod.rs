//! What programs in a sandbox can reach of the network: nothing but the hosts that the work needs.
//!
//! Inside there is a loopback of its own, and one way out: a proxy of ralph's, which knows each host by its name
//! ([`allowlist`]), resolves it, and looks at where it leads ([`address`]). This module decides; the proxy carries
//! bytes.
//!
//! Deliberately absent: what is in encrypted connections. They are not opened, so a host that serves several names
//! behind one address can be asked for another one inside of an allowed connection.

pub mod address;
pub mod allowlist;
pub mod endpoints;
pub mod forward;
pub mod groups;
pub mod host;
pub mod http;
pub mod refusal;
mod seen;
pub mod upstream;
pub mod variables;

pub use allowlist::{Allowlist, Entry, Permit};
pub use forward::Forward;
pub use host::Host;
pub use refusal::{Refusal, RefusedBecause};
pub use seen::{NetworkUse, Refused, sum};

use serde::{Deserialize, Serialize};

/// Where programs inside find the proxy, on their own loopback.
pub const PROXY_PORT: u16 = 3128;

/// How much of the network there is inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkMode {
    Off,
    Allowlist,
    /// As outside. Runs of earlier versions knew nothing else.
    #[default]
    Open,
}

impl NetworkMode {
    /// As the settings spell them.
    pub const NAMES: [&str; 3] = ["off", "allowlist", "open"];

    pub fn name(self) -> &'static str {
        match self {
            NetworkMode::Off => "off",
            NetworkMode::Allowlist => "allowlist",
            NetworkMode::Open => "open",
        }
    }
}

/// The network of a run, as the user wants it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkSpec {
    pub mode: NetworkMode,
    /// Hosts and groups, each as [`Entry::parse`] takes it.
    pub hosts: Vec<String>,
    pub forward: Vec<Forward>,
}

impl NetworkSpec {
    pub fn is_default(&self) -> bool {
        *self == NetworkSpec::default()
    }
}

/// Bytes between programs inside and one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// With its port.
    pub host: String,
    pub connections: u64,
    pub sent: u64,
    pub received: u64,
}
