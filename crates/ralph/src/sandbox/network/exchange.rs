//! One connection of a program inside: requests to the proxy, one after another.

use super::Policy;
use super::connect::{ConnectError, Connected, connect};
use super::ledger::Counter;
use super::relay;
use ralph_loop::sandbox::network::Host;
use ralph_loop::sandbox::network::http::{self, BadRequest, Forwarded, LONGEST_HEAD, RequestHead, Target};
use ralph_loop::sandbox::network::upstream::Purpose;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a server that has stopped reading may take to say why, and a client that was refused to stop writing.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A server that takes another request.
struct Kept {
    host: Host,
    port: u16,
    connected: Connected,
}

/// Until the client has no more requests, or one of them ends the connection.
pub async fn serve(client: &TcpStream, policy: &Policy) -> io::Result<()> {
    let mut read = Vec::new();
    let mut kept: Option<Kept> = None;
    let mut patience = policy.patience.first;
    loop {
        let head = match timeout(patience, next_head(client, &mut read)).await {
            Ok(Ok(Some(length))) => read.drain(..length).collect::<Vec<u8>>(),
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(HeadError::TooLong)) => {
                let bad = BadRequest::TooLong;
                return answer(client, bad.status(), &bad.to_string(), None).await;
            }
            Ok(Err(HeadError::Io(error))) => return Err(error),
            // Between two requests there is nothing to say.
            Err(_) if kept.is_some() && read.is_empty() => return Ok(()),
            Err(_) => return answer(client, 408, "the request took too long", None).await,
        };
        let head = match http::request(&head) {
            Ok(head) => head,
            Err(bad) => return answer(client, bad.status(), &bad.to_string(), None).await,
        };
        match head.target {
            Target::Connect => return tunnel(client, policy, &head, &read).await,
            Target::Plain { .. } => match plain(client, policy, head, &mut read, kept.take()).await? {
                Some(next) => kept = Some(next),
                None => return Ok(()),
            },
        }
        patience = policy.patience.next;
    }
}

enum HeadError {
    TooLong,
    Io(io::Error),
}

/// The length of the next head in what was read; none if the client is done.
async fn next_head(from: &TcpStream, read: &mut Vec<u8>) -> Result<Option<usize>, HeadError> {
    let mut seen: usize = 0;
    loop {
        // The end may be across what was read before.
        let start = seen.saturating_sub(3);
        if let Some(length) = http::head_length(&read[start..]) {
            return Ok(Some(start + length));
        }
        seen = read.len();
        if seen > LONGEST_HEAD {
            return Err(HeadError::TooLong);
        }
        if !relay::read_more(from, read).await.map_err(HeadError::Io)? {
            return match read.is_empty() {
                true => Ok(None),
                false => Err(HeadError::Io(io::ErrorKind::UnexpectedEof.into())),
            };
        }
    }
}

async fn tunnel(client: &TcpStream, policy: &Policy, head: &RequestHead, early: &[u8]) -> io::Result<()> {
    let server = match connect(policy, head, Purpose::Tunnel).await {
        Ok(connected) => connected.stream,
        Err(error) => return refuse(client, policy, &error).await,
    };
    let counter = counter(policy, head);
    relay::write(client, b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    relay::write(&server, early).await?;
    counter.add_sent(early.len());
    let sent = |bytes| counter.add_sent(bytes);
    relay::both_ways(client, &server, sent, |bytes| counter.add_received(bytes)).await
}

fn counter(policy: &Policy, head: &RequestHead) -> Arc<Counter> {
    let counter = policy.ledger.counter(&head.host, head.port);
    counter.connected();
    counter
}

/// One plain request and its response. The server is returned if it, and the client, take another one.
async fn plain(
    client: &TcpStream,
    policy: &Policy,
    head: RequestHead,
    read: &mut Vec<u8>,
    kept: Option<Kept>,
) -> io::Result<Option<Kept>> {
    // Settings can have changed since the last request.
    let still = kept.filter(|kept| {
        (&kept.host, kept.port) == (&head.host, head.port)
            && policy.allowed().check(&head.host, head.port).is_ok()
            && is_quiet(&kept.connected.stream)
    });
    let counter = policy.ledger.counter(&head.host, head.port);
    let connected = match still {
        Some(kept) => kept.connected,
        None => match connect(policy, &head, Purpose::Plain).await {
            Ok(connected) => {
                counter.connected();
                connected
            }
            Err(error) => return refuse(client, policy, &error).await.map(|()| None),
        },
    };
    let to = match &connected.proxy {
        Some(proxy) => Forwarded::Proxy { authorization: proxy.authorization.as_deref() },
        None => Forwarded::Server,
    };
    let server = &connected.stream;
    let passed = head.passed_on(to);
    if let Err(error) = relay::write(server, &passed).await {
        let text = format!("{} has ended the connection: {error}", head.host);
        return answer(client, 502, &text, None).await.map(|()| None);
    }
    counter.add_sent(passed.len());
    let (response, all_sent) = both(client, server, &head, read, &counter).await?;
    match response {
        Response::Over { keeps_alive: true } if all_sent && head.keeps_alive => {
            let RequestHead { host, port, .. } = head;
            Ok(Some(Kept { host, port, connected }))
        }
        Response::Over { .. } => Ok(None),
        Response::Unreadable => {
            let text = format!("{} has given no readable answer", head.host);
            answer(client, 502, &text, None).await.map(|()| None)
        }
        Response::Switched => {
            relay::write(server, read).await?;
            counter.add_sent(read.len());
            let sent = |bytes| counter.add_sent(bytes);
            relay::both_ways(client, server, sent, |bytes| counter.add_received(bytes)).await?;
            Ok(None)
        }
    }
}

/// Passes on the body of a request while the response comes: a server may answer before it has all of the request.
async fn both(
    client: &TcpStream,
    server: &TcpStream,
    head: &RequestHead,
    read: &mut Vec<u8>,
    counter: &Counter,
) -> io::Result<(Response, bool)> {
    let mut body = head.body.clone();
    let up = relay::body(client, server, read, &mut body, |bytes| counter.add_sent(bytes));
    let down = response(client, server, head, counter);
    tokio::pin!(up, down);
    tokio::select! {
        biased;
        sent = &mut up => match sent {
            Ok(()) => Ok((down.await?, true)),
            // The answer may say why the server takes no more.
            Err(error) => match timeout(LAST_WORDS, down).await {
                Ok(response) => Ok((response?, false)),
                Err(_) => Err(error),
            },
        },
        response = &mut down => Ok((response?, false)),
    }
}

/// It has neither ended nor sent anything that belongs to no request.
fn is_quiet(server: &TcpStream) -> bool {
    let mut byte = [0];
    server.try_read(&mut byte).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

enum Response {
    Over {
        keeps_alive: bool,
    },
    /// Nothing of it was passed on.
    Unreadable,
    /// From now on it is another protocol, as that of websockets.
    Switched,
}

async fn response(
    client: &TcpStream,
    server: &TcpStream,
    head: &RequestHead,
    counter: &Counter,
) -> io::Result<Response> {
    let mut read = Vec::new();
    loop {
        let length = match next_head(server, &mut read).await {
            Ok(Some(length)) => length,
            Ok(None) | Err(_) => return Ok(Response::Unreadable),
        };
        let Some(mut response) = http::response(&read[..length], &head.method) else {
            return Ok(Response::Unreadable);
        };
        relay::write(client, &read[..length]).await?;
        counter.add_received(length);
        read.drain(..length);
        if response.is_interim() {
            continue;
        }
        if response.status == 101 {
            relay::write(client, &read).await?;
            counter.add_received(read.len());
            return Ok(Response::Switched);
        }
        let count = |bytes| counter.add_received(bytes);
        relay::body(server, client, &mut read, &mut response.body, count).await?;
        return Ok(Response::Over { keeps_alive: response.keeps_alive && read.is_empty() });
    }
}

/// Records what was refused, and says so to the client.
async fn refuse(client: &TcpStream, policy: &Policy, error: &ConnectError) -> io::Result<()> {
    let setting = match error {
        ConnectError::Refused(refusal) => {
            policy.ledger.refuse(refusal);
            refusal.setting()
        }
        ConnectError::Unresolved { .. } | ConnectError::Unreachable { .. } | ConnectError::Proxy(_) => None,
    };
    answer(client, error.status(), &error.to_string(), setting).await
}

/// An answer of the proxy itself, which ends the connection. Most clients print the first line and nothing else.
async fn answer(client: &TcpStream, status: u16, text: &str, setting: Option<String>) -> io::Result<()> {
    let phrase: String = text.chars().map(|c| if c.is_ascii_graphic() { c } else { ' ' }).collect();
    let hint = setting.map(|setting| format!("The user can allow it in the settings of ralph: {setting}\n"));
    let body = format!("ralph: {text}\n{}", hint.unwrap_or_default());
    let head = format!(
        "HTTP/1.1 {status} {phrase}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    relay::write(client, head.as_bytes()).await?;
    relay::write(client, body.as_bytes()).await?;
    let _ = rustix::net::shutdown(client, rustix::net::Shutdown::Write);
    // Closed with bytes that were not read, a connection is reset, and the client may never see the answer.
    let _ = timeout(LAST_WORDS, relay::discard(client)).await;
    Ok(())
}
