//! Bytes from one connection to another.
//!
//! A buffer is held only while there is something in it, so connections that wait cost next to nothing.

use ralph_loop::sandbox::network::http::body::Body;
use rustix::net::{Shutdown, shutdown};
use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::yield_now;
use tokio::time::timeout;

const BUFFER: usize = 64 << 10;

/// So many that are not used are kept for the next connection.
const MOST_KEPT: usize = 16;

/// After so many reads in a row the other connections get their turn.
const READS_IN_A_ROW: u32 = 16;

/// What is left of a connection that one side has ended is ended after so long without a byte.
const HALF_CLOSED: Duration = Duration::from_secs(300);

thread_local! {
    static KEPT: RefCell<Vec<Box<[u8]>>> = const { RefCell::new(Vec::new()) };
}

fn buffer() -> Box<[u8]> {
    KEPT.with_borrow_mut(Vec::pop).unwrap_or_else(|| vec![0; BUFFER].into_boxed_slice())
}

fn put_back(buffer: Box<[u8]>) {
    KEPT.with_borrow_mut(|kept| {
        if kept.len() < MOST_KEPT {
            kept.push(buffer);
        }
    });
}

/// Waits for bytes, and reads them into a buffer; none at the end.
async fn read(from: &TcpStream) -> io::Result<(Box<[u8]>, usize)> {
    loop {
        from.readable().await?;
        let mut bytes = buffer();
        match from.try_read(&mut bytes) {
            Ok(length) => return Ok((bytes, length)),
            Err(error) => {
                put_back(bytes);
                if error.kind() != io::ErrorKind::WouldBlock {
                    return Err(error);
                }
            }
        }
    }
}

/// Adds the next bytes to those that are there. Whether there were any.
pub async fn read_more(from: &TcpStream, into: &mut Vec<u8>) -> io::Result<bool> {
    let (bytes, length) = read(from).await?;
    into.extend_from_slice(&bytes[..length]);
    put_back(bytes);
    Ok(length > 0)
}

pub async fn write(to: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match to.try_write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => to.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads until the end, for nothing.
pub async fn discard(from: &TcpStream) -> io::Result<()> {
    loop {
        let (bytes, length) = read(from).await?;
        put_back(bytes);
        if length == 0 {
            return Ok(());
        }
    }
}

/// Carries bytes until `from` ends, and then says so to the other side.
async fn pump(from: &TcpStream, to: &TcpStream, count: impl Fn(usize)) -> io::Result<()> {
    let mut reads = 0;
    loop {
        let (bytes, length) = read(from).await?;
        if length == 0 {
            put_back(bytes);
            // The other side may have ended as well.
            let _ = shutdown(to, Shutdown::Write);
            return Ok(());
        }
        write(to, &bytes[..length]).await?;
        put_back(bytes);
        count(length);
        reads += 1;
        if reads % READS_IN_A_ROW == 0 {
            yield_now().await;
        }
    }
}

/// Carries bytes both ways until both sides have ended, or one has failed.
pub async fn both_ways(
    client: &TcpStream,
    server: &TcpStream,
    sent: impl Fn(usize),
    received: impl Fn(usize),
) -> io::Result<()> {
    let reads = AtomicU64::new(0);
    let up = pump(client, server, |bytes| {
        reads.fetch_add(1, Ordering::Relaxed);
        sent(bytes);
    });
    let down = pump(server, client, |bytes| {
        reads.fetch_add(1, Ordering::Relaxed);
        received(bytes);
    });
    tokio::pin!(up, down);
    let up_ended = tokio::select! {
        ended = &mut up => ended.map(|()| true)?,
        ended = &mut down => ended.map(|()| false)?,
    };
    loop {
        let before = reads.load(Ordering::Relaxed);
        let rest = match up_ended {
            true => timeout(HALF_CLOSED, &mut down).await,
            false => timeout(HALF_CLOSED, &mut up).await,
        };
        match rest {
            Ok(ended) => return ended,
            Err(_) if reads.load(Ordering::Relaxed) == before => return Err(io::ErrorKind::TimedOut.into()),
            Err(_) => {}
        }
    }
}

/// Carries the body of a message, of which `read` has the beginning. What comes after it stays there.
pub async fn body(
    from: &TcpStream,
    to: &TcpStream,
    read: &mut Vec<u8>,
    body: &mut Body,
    count: impl Fn(usize),
) -> io::Result<()> {
    let bad = |_| io::Error::from(io::ErrorKind::InvalidData);
    while !body.is_over() {
        if read.is_empty() && !read_more(from, read).await? {
            return match body.ends_with_connection() {
                true => Ok(()),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
        let taken = body.take(read).map_err(bad)?;
        write(to, &read[..taken]).await?;
        count(taken);
        read.drain(..taken);
        // Bodies can be long, and connections wait for a long time.
        if read.is_empty() {
            *read = Vec::new();
        }
    }
    Ok(())
}
