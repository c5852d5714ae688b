//! The server: a thread that accepts, and one for each connection.

use crate::ask::{Ask, Protocol};
use crate::director::{Director, Turn};
use crate::gate::Gate;
use crate::http::{Connection, Request};
use crate::log::{Log, Seen};
use crate::reply::{self, Reply};
use crate::scenario::{ErrorSpec, Scenario, Step};
use serde_json::{Map, Value, json};
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// A scripted model, answering on loopback until it is dropped.
pub struct Server {
    url: String,
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    director: Mutex<Director>,
    log: Log,
    gate: Gate,
    replies: AtomicU64,
    open: Mutex<Vec<Open>>,
}

/// A connection that is to be ended with the server.
struct Open {
    peer: SocketAddr,
    /// The server's own copy; none once the thread has nothing more to say.
    stream: Option<TcpStream>,
    thread: JoinHandle<()>,
}

impl Server {
    pub fn start(scenario: Scenario) -> io::Result<Server> {
        Server::listen(scenario, Log::default())
    }

    /// Also appends each request to a file, one JSON object a line.
    pub fn start_with_log(scenario: Scenario, file: &Path) -> io::Result<Server> {
        Server::listen(scenario, Log::to_file(file)?)
    }

    fn listen(scenario: Scenario, log: Log) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            director: Mutex::new(Director::new(scenario)),
            log,
            gate: Gate::default(),
            replies: AtomicU64::new(0),
            open: Mutex::default(),
        });
        let theirs = Arc::clone(&shared);
        let acceptor = thread::Builder::new().spawn(move || theirs.accept(&listener))?;
        Ok(Server { url: format!("http://{address}"), address, shared, acceptor: Some(acceptor) })
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> &str {
        &self.url
    }

    /// All requests so far, those that are still being answered too.
    pub fn requests(&self) -> Vec<Seen> {
        self.shared.log.entries()
    }

    /// The requests that were answered by a run of the scenario.
    pub fn turns(&self) -> Vec<Seen> {
        self.requests().into_iter().filter(|seen| seen.protocol.is_some() && !seen.side).collect()
    }

    /// Blocks for good.
    pub fn serve_forever(&self) {
        self.shared.gate.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.gate.stop();
        // The acceptor sees the gate once it has something to accept.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        let open = std::mem::take(&mut *self.shared.open.lock().unwrap_or_else(PoisonError::into_inner));
        for connection in open {
            if let Some(stream) = connection.stream {
                let _ = stream.shutdown(Shutdown::Both);
            }
            let _ = connection.thread.join();
        }
    }
}

impl Shared {
    fn accept(self: &Arc<Shared>, listener: &TcpListener) {
        for stream in listener.incoming() {
            if self.gate.stopped() {
                return;
            }
            let Ok(stream) = stream else { continue };
            let (Ok(ours), Ok(peer)) = (stream.try_clone(), stream.peer_addr()) else { continue };
            let shared = Arc::clone(self);
            // Held until the thread is listed, so that it finds itself there.
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.retain(|connection| !connection.thread.is_finished());
            if let Ok(thread) = thread::Builder::new().spawn(move || shared.serve(stream, peer)) {
                open.push(Open { peer, stream: Some(ours), thread });
            }
        }
    }

    fn serve(&self, stream: TcpStream, peer: SocketAddr) {
        let Ok(mut connection) = Connection::new(stream) else { return };
        let ended = loop {
            match connection.request() {
                Ok(None) => break Ok(()),
                Ok(Some(request)) => match self.answer(&mut connection, &request) {
                    Ok(Next::Keep) => {}
                    Ok(Next::Close) => break Ok(()),
                    Err(error) => break Err(error),
                },
                Err(error) => break Err(error),
            }
        };
        if let Err(error) = ended
            && error.kind() == io::ErrorKind::InvalidData
        {
            self.log.add(Seen { note: Some(error.to_string()), ..Seen::default() });
        }
        self.forget(peer);
    }

    /// The server's own copy would keep an ended connection open.
    fn forget(&self, peer: SocketAddr) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for connection in open.iter_mut().filter(|connection| connection.peer == peer) {
            connection.stream = None;
        }
    }

    fn answer(&self, connection: &mut Connection, request: &Request) -> io::Result<Next> {
        let mut seen = Seen { method: request.method.clone(), path: request.path.clone(), ..Seen::default() };
        let last = request.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let plain = match (request.method.as_str(), last, Protocol::of_path(&request.path)) {
            ("POST", _, Some(protocol)) => return self.model(connection, request, protocol, seen),
            ("POST", "count_tokens", _) => (200, json!({"input_tokens": request.body.len() / 4})),
            ("GET", "models", _) => (200, models()),
            _ => (404, json!({"error": {"message": format!("stub: nothing here: {}", request.path)}})),
        };
        seen.status = plain.0;
        self.log.add(seen);
        if request.method == "HEAD" {
            connection.respond_empty(plain.0)?;
        } else {
            connection.respond(plain.0, &Map::new(), &plain.1)?;
        }
        Ok(Next::Keep)
    }

    fn model(
        &self,
        connection: &mut Connection,
        request: &Request,
        protocol: Protocol,
        mut seen: Seen,
    ) -> io::Result<Next> {
        let body: Value = match serde_json::from_slice(&request.body) {
            Ok(body) => body,
            Err(error) => {
                let why = format!("stub: the body is no JSON: {error}");
                let encoding = request.header("content-encoding").unwrap_or("none");
                (seen.status, seen.note) = (400, Some(format!("{why}; its encoding: {encoding}")));
                self.log.add(seen);
                connection.respond(400, &Map::new(), &reply::error(protocol, &ErrorSpec::of(400, &why)))?;
                return Ok(Next::Keep);
            }
        };
        let ask = Ask::of(protocol, request, &body);
        let turn = self.director.lock().unwrap_or_else(PoisonError::into_inner).turn(&ask);
        note_ask(&mut seen, &ask, &turn);
        let answer = self.decide(&turn, &ask);
        match &answer {
            Answer::Error(spec, note) => (seen.status, seen.note) = (spec.status, note.clone()),
            Answer::Reset => {}
            Answer::Reply(reply) => {
                seen.status = 200;
                seen.said.clone_from(&reply.text);
                seen.called = reply.calls.iter().map(|call| call.name.clone()).collect();
            }
        }
        self.log.add(seen);
        self.gate.wait_ms(turn.step.delay_ms);
        let mut headers = turn.step.headers.clone();
        match answer {
            Answer::Error(spec, _) => {
                headers.extend(spec.headers.clone());
                if let Some(seconds) = spec.retry_after {
                    headers.insert("retry-after".into(), json!(seconds));
                }
                connection.respond(spec.status, &headers, &reply::error(protocol, &spec))?;
                Ok(Next::Keep)
            }
            Answer::Reset => {
                connection.hang_up()?;
                Ok(Next::Close)
            }
            Answer::Reply(reply) if ask.stream => {
                connection.begin_stream(&headers)?;
                self.stream(connection, &turn.step, protocol, &reply)
            }
            Answer::Reply(reply) => {
                connection.respond(200, &headers, &reply.whole(protocol))?;
                Ok(Next::Keep)
            }
        }
    }

    fn decide(&self, turn: &Turn, ask: &Ask) -> Answer {
        if let Some(spec) = &turn.step.error {
            return Answer::Error(spec.clone(), None);
        }
        if turn.step.drop.is_some_and(|drop| drop.after_chunks == 0) {
            return Answer::Reset;
        }
        match Reply::of(turn, ask, self.replies.fetch_add(1, Ordering::Relaxed)) {
            Ok(reply) => Answer::Reply(reply),
            Err(why) => Answer::Error(ErrorSpec::of(400, &format!("stub: {why}")), Some(why)),
        }
    }

    fn stream(
        &self,
        connection: &mut Connection,
        step: &Step,
        protocol: Protocol,
        reply: &Reply,
    ) -> io::Result<Next> {
        for (sent, (name, data)) in reply.events(protocol).into_iter().enumerate() {
            if step.drop.is_some_and(|drop| sent == drop.after_chunks) {
                connection.hang_up()?;
                return Ok(Next::Close);
            }
            if let Some(stall) = step.stall.filter(|stall| sent == stall.after_chunks) {
                self.gate.wait_ms(stall.ms);
            }
            if let Some(error) = step.stream_error.as_ref().filter(|error| sent == error.after_chunks) {
                let (name, data) = reply::stream_error(protocol, &error.spec());
                connection.send_event(name, &data)?;
                break;
            }
            connection.send_event(name, &data)?;
            self.gate.wait_ms(step.chunk_delay_ms);
        }
        connection.end_stream()?;
        Ok(Next::Keep)
    }
}

enum Answer {
    /// With what went wrong here, if it is none that the scenario asks for.
    Error(ErrorSpec, Option<String>),
    Reset,
    Reply(Reply),
}

/// What becomes of a connection after an answer.
enum Next {
    Keep,
    Close,
}

fn note_ask(seen: &mut Seen, ask: &Ask, turn: &Turn) {
    seen.protocol = Some(ask.protocol.word());
    (seen.run, seen.step, seen.side) = (turn.run, turn.at, ask.side);
    seen.session.clone_from(&ask.session);
    seen.model.clone_from(&ask.model);
    seen.stream = ask.stream;
    seen.tools = ask.tools.iter().map(|tool| tool.name.clone()).collect();
    seen.opening.clone_from(&ask.opening);
    seen.last_user.clone_from(&ask.last_user);
    seen.heard.clone_from(&ask.heard);
    seen.assistant_turns = ask.assistant_turns;
}

fn models() -> Value {
    let model = json!({
        "id": "stub-model", "object": "model", "type": "model", "display_name": "Stub",
        "created": 0, "created_at": "2025-01-01T00:00:00Z", "owned_by": "stub",
    });
    json!({"object": "list", "data": [model], "models": [], "has_more": false})
}
