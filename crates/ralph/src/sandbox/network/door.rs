//! How the proxy gets to listen inside of a sandbox with a network of its own.
//!
//! A socket belongs to the network that it was made in, whichever process holds it. So the process that becomes a
//! program inside ([`hand_over`], in `ralph __enter`) opens the ports on its loopback and hands them to ralph over a
//! unix socket that is mounted there, the door. ralph accepts and answers connections outside: no process of ralph's
//! runs inside, nothing has to be copied twice, and when ralph is gone, nothing listens any more.
//!
//! A program inside can use the door itself, and gains nothing: what is handed over has to be a socket that
//! listens on loopback at one of the ports of the run, and it can only be of its own network.

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, bind, listen, recvmsg, sendmsg, socket_with,
    sockopt,
};
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How many connections may wait to be accepted.
pub const BACKLOG: i32 = 1024;

/// So many sockets fit into one message of the kernel; there are never so many ports.
pub const MOST_PORTS: usize = 64;

/// ralph is busy with other things for no longer than this.
const ANSWER: Duration = Duration::from_secs(10);

/// What is said of sockets that were taken.
const TAKEN: u8 = b'+';

/// Opens ports on the loopback of this process and hands them to ralph, outside. Returns when they are served.
pub fn hand_over(door: &Path, ports: &[u16]) -> io::Result<()> {
    let mut sockets = Vec::new();
    for port in ports {
        sockets.push(listen_at(SocketAddr::from((Ipv4Addr::LOCALHOST, *port)))?);
        // `localhost` is often looked for there first. A system without IPv6 has no such address.
        sockets.extend(listen_at(SocketAddr::from((Ipv6Addr::LOCALHOST, *port))).ok());
    }
    let mut stream = UnixStream::connect(door)?;
    stream.set_read_timeout(Some(ANSWER))?;
    for few in sockets.chunks(2) {
        let fds: Vec<BorrowedFd<'_>> = few.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&fds));
        sendmsg(&stream, &[IoSlice::new(&[TAKEN])], &mut ancillary, SendFlags::NOSIGNAL)?;
        let mut answer = [0];
        stream.read_exact(&mut answer)?;
        if answer[0] != TAKEN {
            return Err(io::Error::other("ralph does not serve this port"));
        }
    }
    Ok(())
}

fn listen_at(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// What came through the door: sockets, or nothing at the end of the connection.
pub fn receive(from: BorrowedFd<'_>) -> io::Result<Vec<OwnedFd>> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut sockets = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            sockets.extend(rights);
        }
    }
    Ok(sockets)
}

/// A socket that listens on loopback, and its port. Anything else is no socket of ours.
pub fn listener(socket: OwnedFd) -> Option<(TcpListener, u16)> {
    let family = sockopt::socket_domain(&socket).ok()?;
    let stream = sockopt::socket_type(&socket).ok()? == SocketType::STREAM;
    let listens = sockopt::socket_acceptconn(&socket).ok()?;
    if !matches!(family, AddressFamily::INET | AddressFamily::INET6) || !stream || !listens {
        return None;
    }
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().ok().filter(|address| address.ip().is_loopback())?;
    listener.set_nonblocking(true).ok()?;
    Some((listener, address.port()))
}

/// The answer to what was received.
pub fn answer(taken: bool) -> u8 {
    if taken { TAKEN } else { b'-' }
}
