//! What the proxy of a sandbox adds to a request, and how much it carries. It runs in this process, as it does in
//! ralph; clients and servers are threads, on loopback.

use crate::lab::{Lab, Outcome, median};
use crate::table::{Goal, Table};
use ralph::sandbox::network::Policy;
use ralph::sandbox::network::proxy::{Entrance, Proxy};
use ralph_loop::sandbox::network::endpoints::Endpoint;
use ralph_loop::sandbox::network::upstream::Upstream;
use ralph_loop::sandbox::network::{Allowlist, Host};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

const ROUNDS: usize = 7;
const REQUESTS: u32 = 500;
const BYTES: usize = 1 << 30;
const CHUNK: usize = 256 << 10;

pub fn measure(_: &Lab, table: &mut Table) -> Outcome<()> {
    let (small, large) = (server(answer)?, server(flood)?);
    let mut allowed = Allowlist::default();
    for port in [small, large] {
        let host = Host::Address(Ipv4Addr::LOCALHOST.into());
        allowed.add_endpoint(&Endpoint { host, port, from: String::new() });
    }
    let policy = Policy::new(allowed, Vec::new(), Ok(Upstream::default()));
    let proxy = Proxy::start(policy, &Entrance::Loopback)?;
    let port = proxy.port.ok_or("the proxy has no port")?;
    let [mut direct, mut plain, mut tunnelled, mut bare, mut carried] = [const { Vec::new() }; 5];
    for _ in 0..ROUNDS {
        direct.push(requests(&mut connect(small)?, "/")?);
        plain.push(requests(&mut connect(port)?, &format!("http://127.0.0.1:{small}/"))?);
        tunnelled.push(requests(&mut tunnel(port, small)?, "/")?);
        bare.push(download(&mut connect(large)?)?);
        carried.push(download(&mut tunnel(port, large)?)?);
    }
    let [direct, plain, tunnelled, bare, carried] = [direct, plain, tunnelled, bare, carried].map(median);
    let most = Goal::AtMost(0.3);
    table.value(
        "a request through the sandbox's proxy, above direct",
        plain - direct,
        Some(direct),
        "ms",
        &most,
    );
    table.value("the same in a tunnel", tunnelled - direct, Some(direct), "ms", &most);
    table.value("the proxy, one tunnel", carried, Some(bare), "MB/s", &Goal::AtLeast(500.0));
    Ok(())
}

fn server(serve: fn(TcpStream) -> io::Result<()>) -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream));
        }
    });
    Ok(port)
}

fn connect(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn tunnel(proxy: u16, port: u16) -> io::Result<TcpStream> {
    let mut stream = connect(proxy)?;
    write!(stream, "CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n")?;
    head(&mut stream)?;
    Ok(stream)
}

/// Reads a head that comes by itself.
fn head(stream: &mut TcpStream) -> io::Result<()> {
    let (mut bytes, mut length) = ([0; 4096], 0);
    while !bytes[..length].ends_with(b"\r\n\r\n") {
        match stream.read(&mut bytes[length..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => length += read,
        }
    }
    Ok(())
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        head(&mut stream)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
    }
}

/// Once it is asked to.
fn flood(mut stream: TcpStream) -> io::Result<()> {
    stream.read_exact(&mut [0])?;
    let chunk = vec![7; CHUNK];
    (0..BYTES / CHUNK).try_for_each(|_| stream.write_all(&chunk))
}

/// Milliseconds of one request, on a connection that is kept.
fn requests(stream: &mut TcpStream, target: &str) -> io::Result<f64> {
    let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let start = Instant::now();
    for _ in 0..REQUESTS {
        stream.write_all(request.as_bytes())?;
        head(stream)?;
    }
    Ok(start.elapsed().as_secs_f64() * 1000.0 / f64::from(REQUESTS))
}

/// Megabytes a second.
fn download(stream: &mut TcpStream) -> io::Result<f64> {
    let (mut chunk, mut left) = (vec![0; CHUNK], BYTES);
    let start = Instant::now();
    stream.write_all(b"x")?;
    while left > 0 {
        match stream.read(&mut chunk)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => left -= read.min(left),
        }
    }
    Ok(BYTES as f64 / 1e6 / start.elapsed().as_secs_f64())
}
