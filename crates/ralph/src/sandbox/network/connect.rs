//! A connection to a host that is allowed: by ralph itself, to an address that was checked, or through the user's
//! own proxy.

use super::Policy;
use super::resolve::resolve;
use ralph_loop::sandbox::network::http::{self, Forwarded, LONGEST_HEAD, RequestHead};
use ralph_loop::sandbox::network::upstream::{ProxyServer, Purpose};
use ralph_loop::sandbox::network::{Host, Permit, Refusal};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

/// One address of many.
const ONE_ADDRESS: Duration = Duration::from_secs(5);
/// All of them.
const ALL_ADDRESSES: Duration = Duration::from_secs(30);
/// The answer of the user's proxy to CONNECT.
const PROXY_ANSWER: Duration = Duration::from_secs(30);

/// A connection, and who is at its other end.
pub struct Connected {
    pub stream: TcpStream,
    /// The user's proxy, for plain requests.
    pub proxy: Option<ProxyServer>,
}

#[derive(Debug, Error)]
pub enum ConnectError {
    #[error("{}", .0.sentence())]
    Refused(Refusal),
    #[error("cannot resolve {host}: {why}")]
    Unresolved { host: Host, why: String },
    #[error("cannot connect to {host}:{port}: {why}")]
    Unreachable { host: Host, port: u16, why: String },
    #[error("{0}")]
    Proxy(String),
}

impl ConnectError {
    pub fn status(&self) -> u16 {
        match self {
            ConnectError::Refused(_) => 403,
            ConnectError::Unresolved { .. } | ConnectError::Unreachable { .. } | ConnectError::Proxy(_) => {
                502
            }
        }
    }
}

/// For a request that is allowed by the name of its host, or not.
pub async fn connect(
    policy: &Policy,
    head: &RequestHead,
    purpose: Purpose,
) -> Result<Connected, ConnectError> {
    let RequestHead { host, port, .. } = head;
    let permit = policy.allowed().check(host, *port).map_err(ConnectError::Refused)?;
    let upstream = policy.upstream.as_ref().map_err(|bad| ConnectError::Proxy(bad.to_string()))?;
    match upstream.to(host, *port, purpose) {
        None => {
            let addresses = checked(policy, permit, host, *port).await?;
            let stream = reach(&addresses, host, *port).await?;
            Ok(Connected { stream, proxy: None })
        }
        Some(proxy) => through(policy, proxy, head, purpose).await,
    }
}

/// All addresses of a host, each of them allowed.
async fn checked(
    policy: &Policy,
    permit: Permit,
    host: &Host,
    port: u16,
) -> Result<Vec<IpAddr>, ConnectError> {
    let name = match host {
        // It was checked with the host.
        Host::Address(address) => return Ok(vec![*address]),
        Host::Name(name) => name,
    };
    let addresses = addresses(policy, host, name).await?;
    permit.check(host, port, &addresses).map_err(ConnectError::Refused)?;
    Ok(addresses)
}

async fn addresses(policy: &Policy, host: &Host, name: &str) -> Result<Vec<IpAddr>, ConnectError> {
    let unresolved = |why: String| ConnectError::Unresolved { host: host.clone(), why };
    match resolve(&policy.lookup, name, policy.longest_lookup).await {
        Ok(addresses) if addresses.is_empty() => Err(unresolved("it has no address".to_owned())),
        Ok(addresses) => Ok(addresses),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            Err(unresolved(format!("no answer within {} s", policy.longest_lookup.as_secs())))
        }
        Err(error) => Err(unresolved(error.to_string())),
    }
}

/// The first address that answers.
async fn reach(addresses: &[IpAddr], host: &Host, port: u16) -> Result<TcpStream, ConnectError> {
    let end = Instant::now() + ALL_ADDRESSES;
    let mut why = "no answer".to_owned();
    for address in addresses {
        let by = end.min(Instant::now() + ONE_ADDRESS);
        match timeout_at(by, TcpStream::connect(SocketAddr::new(*address, port))).await {
            Ok(Ok(stream)) => {
                // Without it, what was written in two parts waits for the first one to be acknowledged.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => why = error.to_string(),
            Err(_) if Instant::now() >= end => break,
            Err(_) => {}
        }
    }
    Err(ConnectError::Unreachable { host: host.clone(), port, why })
}

/// By way of the user's proxy, which is theirs to choose, wherever it is.
async fn through(
    policy: &Policy,
    proxy: &ProxyServer,
    head: &RequestHead,
    purpose: Purpose,
) -> Result<Connected, ConnectError> {
    let addresses = match &proxy.host {
        Host::Address(address) => vec![*address],
        Host::Name(name) => addresses(policy, &proxy.host, name).await?,
    };
    let stream = reach(&addresses, &proxy.host, proxy.port).await?;
    match purpose {
        Purpose::Plain => Ok(Connected { stream, proxy: Some(proxy.clone()) }),
        Purpose::Tunnel => {
            let authorization = proxy.authorization.as_deref();
            let wanted = head.passed_on(Forwarded::Proxy { authorization });
            let asked = timeout(PROXY_ANSWER, ask_for_tunnel(&stream, &wanted)).await;
            let failed = |why: String| ConnectError::Proxy(format!("your proxy {}: {why}", proxy.host));
            match asked {
                Ok(Ok(200..300)) => Ok(Connected { stream, proxy: None }),
                Ok(Ok(status)) => Err(failed(format!("answered {status} for {}", head.host))),
                Ok(Err(error)) => Err(failed(error.to_string())),
                Err(_) => Err(failed("no answer".to_owned())),
            }
        }
    }
}

/// The status that it answers. The bytes after the answer are the server's, so none of them is read.
async fn ask_for_tunnel(stream: &TcpStream, wanted: &[u8]) -> io::Result<u16> {
    super::relay::write(stream, wanted).await?;
    let mut answer = Vec::new();
    loop {
        stream.readable().await?;
        let mut byte = [0];
        match stream.try_read(&mut byte) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => answer.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        }
        if http::head_length(&answer[answer.len().saturating_sub(4)..]).is_some() {
            let head = http::response(&answer, "CONNECT");
            return head.map(|head| head.status).ok_or_else(|| io::ErrorKind::InvalidData.into());
        }
        if answer.len() > LONGEST_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}
