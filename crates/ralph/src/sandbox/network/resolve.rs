//! Names to addresses.
//!
//! The system's resolver blocks and may take half a minute, so each lookup has a thread of its own for as long as
//! it takes, and is not waited for longer than [`LONGEST`].

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How a name is looked up; tests have their own.
pub type Lookup = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// So many at once; others wait.
pub const MOST_LOOKUPS: usize = 32;

pub const LONGEST: Duration = Duration::from_secs(10);

pub fn by_system() -> Lookup {
    Arc::new(|name| Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect()))
}

pub async fn resolve(lookup: &Lookup, name: &str, longest: Duration) -> io::Result<Vec<IpAddr>> {
    let (lookup, name) = (Arc::clone(lookup), name.to_owned());
    match timeout(longest, spawn_blocking(move || lookup(&name))).await {
        Ok(Ok(found)) => found,
        Ok(Err(failed)) => Err(io::Error::other(failed)),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
