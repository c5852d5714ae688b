//! The loop's end.

use super::{Address, Answering, Asking, Command, CommandResult, LINE_MAX, Line, Sender, VERSION, address};
use crate::fsx;
use crate::layout::RunDir;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// So many may be talking at once.
const CONNECTIONS: usize = 16;

/// A client sends its request at once, and gets the answer as soon as it is recorded.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the end of a loop waits for answers to be heard.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Something that was asked, and where the answer goes.
pub struct Request {
    pub command: Command,
    pub sender: Sender,
    pub answer: oneshot::Sender<CommandResult>,
}

/// The socket of a loop; gone when it is dropped.
pub struct Control {
    requests: mpsc::Receiver<Request>,
    accepting: JoinHandle<()>,
    places: Arc<Semaphore>,
    run: RunDir,
}

impl Control {
    /// To be called within a runtime, by the holder of the run's lock: a socket that is there
    /// already was left by a life that is over.
    pub fn listen(run: &RunDir) -> io::Result<Control> {
        let _ = fsx::remove(&run.control());
        let address = address(run)?;
        let listener = UnixListener::bind(&address.path)?;
        fsx::only_for_user(&run.control())?;
        let (sender, requests) = mpsc::channel(CONNECTIONS);
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let accepting = tokio::spawn(accept(listener, address, sender, Arc::clone(&places), run.clone()));
        Ok(Control { requests, accepting, places, run: run.clone() })
    }

    pub async fn next(&mut self) -> Request {
        match self.requests.recv().await {
            Some(request) => request,
            None => std::future::pending().await,
        }
    }
}

impl Control {
    /// The loop is about to end: no new client is accepted, and clients still get their answers.
    pub async fn close(&mut self) {
        self.accepting.abort();
        self.requests.close();
        while let Ok(request) = self.requests.try_recv() {
            drop(request);
        }
        let all = self.places.acquire_many(CONNECTIONS as u32);
        let _ = timeout(LAST_WORDS, all).await;
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.accepting.abort();
        // What cannot be removed is removed by the next life.
        let _ = fsx::remove(&self.run.control());
    }
}

async fn accept(
    listener: UnixListener,
    _address: Address,
    sender: mpsc::Sender<Request>,
    places: Arc<Semaphore>,
    run: RunDir,
) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, for instance: not to be tried again in a hurry.
            tokio::time::sleep(Duration::from_millis(200)).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let (sender, run) = (sender.clone(), run.clone());
        tokio::spawn(async move {
            serve(stream, &sender, &run).await;
            drop(place);
        });
    }
}

async fn serve(mut stream: UnixStream, requests: &mpsc::Sender<Request>, run: &RunDir) {
    let Ok(peer) = stream.peer_cred() else { return };
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return;
    }
    let pid = peer.pid().and_then(rustix::process::Pid::from_raw);
    let sender = pid.map_or(Sender::User, |pid| Sender::of(pid, &run.home(), Some(&run.id())));
    let Ok(line) = timeout(PATIENCE, read_line(&mut stream)).await else { return };
    let refused = |why: &str| CommandResult::Refused { why: why.to_string() };
    let answer = match serde_json::from_slice::<Line<Asking>>(&line) {
        Ok(Line { v: VERSION, body }) => match ask(requests, body.command, sender).await {
            Some(answer) => answer,
            None => refused("the run does not answer"),
        },
        Ok(Line { v, .. }) => refused(&format!("unsupported protocol version: {v}")),
        Err(_) => refused("invalid request"),
    };
    if let Ok(mut text) = serde_json::to_vec(&Line { v: VERSION, body: Answering { answer } }) {
        text.push(b'\n');
        let _ = timeout(PATIENCE, stream.write_all(&text)).await;
    }
}

async fn ask(requests: &mpsc::Sender<Request>, command: Command, sender: Sender) -> Option<CommandResult> {
    let (answer, heard) = oneshot::channel();
    timeout(PATIENCE, requests.send(Request { command, sender, answer })).await.ok()?.ok()?;
    timeout(PATIENCE, heard).await.ok()?.ok()
}

async fn read_line(stream: &mut UnixStream) -> Vec<u8> {
    let (mut line, mut piece) = (Vec::new(), [0; 4096]);
    while line.len() <= LINE_MAX {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => break,
            Ok(n) => line.extend_from_slice(&piece[..n]),
        }
        if let Some(end) = line.iter().position(|byte| *byte == b'\n') {
            line.truncate(end);
            break;
        }
    }
    line
}
