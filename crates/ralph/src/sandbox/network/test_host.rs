//! `ralph sandbox check --host`: whether programs inside could reach a host.

use super::Policy;
use super::allowed::Wanted;
use super::connect::{ConnectError, connect};
use super::resolve::MOST_LOOKUPS;
use ralph_loop::sandbox::network::http;
use ralph_loop::sandbox::network::upstream::{Purpose, Upstream};
use ralph_loop::sandbox::network::{Host, NetworkMode, NetworkSpec};
use std::env;
use std::io;
use std::path::Path;
use thiserror::Error;

/// Why a host cannot be reached.
#[derive(Debug, Error)]
pub enum TestError {
    #[error("network: {0} is not allowed, because the network is off")]
    Off(Host),
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

impl TestError {
    /// The setting that would allow it.
    pub fn setting(&self, mode: NetworkMode) -> Option<String> {
        match (self, mode) {
            (TestError::Off(_), _) => Some("sandbox.network: \"allowlist\"".to_owned()),
            (TestError::Connect(ConnectError::Refused(refusal)), NetworkMode::Allowlist) => refusal.setting(),
            (TestError::Connect(_), _) => None,
        }
    }
}

/// Connects as the proxy of a run would. An open network has none: whatever the system reaches is reached.
pub fn test(
    spec: &NetworkSpec,
    program: &str,
    tree: &Path,
    host: &Host,
    port: u16,
) -> io::Result<Result<(), TestError>> {
    let mut spec = spec.clone();
    match spec.mode {
        NetworkMode::Off => return Ok(Err(TestError::Off(host.clone()))),
        NetworkMode::Allowlist => {}
        NetworkMode::Open => spec.hosts.push(host.authority(port)),
    }
    let wanted = Wanted::of(&spec, &[program.to_owned()], tree);
    let upstream = Upstream::of_variables(&|name| env::var(name).ok());
    let policy = Policy::new(wanted.now(), wanted.forwards, upstream);
    let target = host.authority(port);
    let head =
        http::request(format!("CONNECT {target} HTTP/1.1\r\n\r\n").as_bytes()).map_err(io::Error::other)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MOST_LOOKUPS)
        .build()?;
    let connected = runtime.block_on(connect(&policy, &head, Purpose::Tunnel));
    runtime.shutdown_background();
    Ok(connected.map(drop).map_err(TestError::from))
}
