//! The socket over which people see the terminal and type into it.
//!
//! A client says in one line of JSON what it wants. A viewer then gets what the terminal shows as it is, and sends
//! [`Frame`]s; the others get one line of JSON as an answer.
//!
//! Invariant: a viewer that does not read is skipped, and gets the whole screen once it reads again.

use crate::control::{Sender, address_of};
use crate::fsx;
use crate::layout::{RunDir, TERMINAL_SOCKET};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// A client says what it wants at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest request: a text to be typed.
const LONGEST: u64 = 4 << 20;

/// Pieces of output that a viewer may lag behind.
const BACKLOG: usize = 64;

/// So long viewers may take to show the end of it.
const LAST_LOOK: Duration = Duration::from_millis(500);

/// So many can look at once.
const VIEWERS: usize = 32;

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    View {
        rows: u16,
        columns: u16,
    },
    /// To have a text pasted, and sent if it is to be.
    Paste {
        text: String,
        submit: bool,
    },
    /// To have an agent's question answered.
    Answer {
        text: String,
    },
    /// To have keys typed, as they are.
    Keys {
        bytes: Vec<u8>,
    },
    /// What is on the screen, as text.
    Screen,
}

/// The answer to everything but a view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Given {
    Done,
    Screen(Vec<String>),
    Refused(String),
}

/// What a viewer sends: a letter, the length, and that many bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    Typed(Vec<u8>),
    Size { rows: u16, columns: u16 },
}

/// More than a terminal sends at once.
const LONGEST_FRAME: u32 = 1 << 20;

impl Frame {
    pub fn encode(&self) -> Vec<u8> {
        let size;
        let (tag, body): (u8, &[u8]) = match self {
            Frame::Typed(bytes) => (b't', bytes),
            Frame::Size { rows, columns } => {
                size = [rows.to_le_bytes(), columns.to_le_bytes()].concat();
                (b's', &size)
            }
        };
        let len = u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes();
        [&[tag][..], &len, body].concat()
    }

    /// Nothing at the end, and for what is no frame.
    async fn read(from: &mut (impl AsyncReadExt + Unpin)) -> Option<Frame> {
        let tag = from.read_u8().await.ok()?;
        let len = from.read_u32_le().await.ok().filter(|len| *len <= LONGEST_FRAME)?;
        let mut body = vec![0; usize::try_from(len).ok()?];
        from.read_exact(&mut body).await.ok()?;
        match (tag, &body[..]) {
            (b't', _) => Some(Frame::Typed(body)),
            (b's', [a, b, c, d]) => Some(Frame::Size {
                rows: u16::from_le_bytes([*a, *b]),
                columns: u16::from_le_bytes([*c, *d]),
            }),
            _ => None,
        }
    }
}

/// What people do, as the host hears it.
pub enum Act {
    Came { viewer: u64, size: (u16, u16), output: mpsc::Sender<Vec<u8>> },
    Sent { frame: Frame },
    Left { viewer: u64 },
    Asked { want: Want, answer: oneshot::Sender<Given> },
}

/// Someone who looks at the terminal.
pub struct Viewer {
    id: u64,
    output: mpsc::Sender<Vec<u8>>,
    /// It has missed something.
    behind: bool,
}

/// Everyone who looks at the terminal.
#[derive(Default)]
pub struct Viewers(Vec<Viewer>);

impl Viewers {
    /// Whether a terminal is there that answers what programs ask of one. One that does not read does not answer.
    pub fn can_answer(&self) -> bool {
        self.0.iter().any(|viewer| !viewer.behind)
    }

    /// Gets the whole screen first.
    pub fn add(&mut self, id: u64, output: mpsc::Sender<Vec<u8>>, screen: Vec<u8>) {
        if self.0.len() < VIEWERS {
            let behind = output.try_send(screen).is_err();
            self.0.push(Viewer { id, output, behind });
        }
    }

    pub fn remove(&mut self, id: u64) {
        self.0.retain(|viewer| viewer.id != id);
    }

    /// Shows what was printed. `screen` is the whole of it, for those who have missed something.
    pub fn show(&mut self, printed: &[u8], screen: impl Fn() -> Vec<u8>) {
        for viewer in &mut self.0 {
            if !viewer.behind {
                viewer.behind = viewer.output.try_send(printed.to_vec()).is_err();
            }
        }
        self.catch_up(screen);
    }

    /// Shows the whole screen to those who have missed something and read again.
    pub fn catch_up(&mut self, screen: impl Fn() -> Vec<u8>) {
        // One that catches up has to have read everything before: what is on its way is older than the screen.
        let ready = |viewer: &&mut Viewer| viewer.behind && viewer.output.capacity() == BACKLOG;
        for viewer in self.0.iter_mut().filter(ready) {
            viewer.behind = viewer.output.try_send([b"\x1b[2J".as_slice(), &screen()].concat()).is_err();
        }
    }

    /// Nothing more is shown. Waits a moment until those who look have seen everything: each leaves then.
    pub async fn end(self, last: Vec<u8>, acts: &mut mpsc::Receiver<Act>) {
        let mut waiting = Vec::new();
        for viewer in self.0.into_iter().filter(|viewer| !viewer.behind) {
            if viewer.output.try_send(last.clone()).is_ok() {
                waiting.push(viewer.id);
            }
        }
        let all_left = async {
            while !waiting.is_empty() {
                match acts.recv().await {
                    Some(Act::Left { viewer }) => waiting.retain(|id| *id != viewer),
                    Some(Act::Came { .. } | Act::Sent { .. } | Act::Asked { .. }) => {}
                    None => break,
                }
            }
        };
        // One that does not read sees the rest never.
        let _ = timeout(LAST_LOOK, all_left).await;
    }
}

/// Listens for people, until the runtime ends.
pub fn listen(run: &RunDir) -> io::Result<mpsc::Receiver<Act>> {
    let path = run.terminal_socket();
    // Left by a host that was killed.
    let _ = fsx::remove(&path);
    let address = address_of(run, TERMINAL_SOCKET)?;
    let listener = UnixListener::bind(&address.path)?;
    fsx::only_for_user(&path)?;
    let (send, acts) = mpsc::channel(64);
    let run = run.clone();
    tokio::spawn(async move {
        let _address = address;
        for viewer in 0.. {
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            };
            tokio::spawn(serve(stream, viewer, send.clone(), run.clone()));
        }
    });
    Ok(acts)
}

async fn serve(stream: UnixStream, viewer: u64, acts: mpsc::Sender<Act>, run: RunDir) {
    let Ok(peer) = stream.peer_cred() else { return };
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return;
    }
    let pid = peer.pid().and_then(Pid::from_raw);
    let sender = pid.map_or(Sender::User, |pid| Sender::of(pid, &run.home(), Some(&run.id())));
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let mut line = String::new();
    let Ok(Ok(_)) = timeout(PATIENCE, (&mut read).take(LONGEST).read_line(&mut line)).await else { return };
    let want = serde_json::from_str::<Want>(&line);
    let given = match (sender.refusal(&run.id()), want) {
        (Some(why), _) => Given::Refused(why.to_owned()),
        (None, Err(_)) => Given::Refused("invalid request".to_owned()),
        (None, Ok(Want::View { rows, columns })) => {
            let (output, mut shown) = mpsc::channel::<Vec<u8>>(BACKLOG);
            if acts.send(Act::Came { viewer, size: (rows, columns), output }).await.is_err() {
                return;
            }
            let showing = tokio::spawn(async move {
                while let Some(piece) = shown.recv().await {
                    if write.write_all(&piece).await.is_err() {
                        break;
                    }
                }
            });
            while let Some(frame) = Frame::read(&mut read).await {
                if acts.send(Act::Sent { frame }).await.is_err() {
                    break;
                }
            }
            let _ = acts.send(Act::Left { viewer }).await;
            showing.abort();
            return;
        }
        (None, Ok(want)) => {
            let (answer, answered) = oneshot::channel();
            if acts.send(Act::Asked { want, answer }).await.is_err() {
                return;
            }
            answered.await.unwrap_or_else(|_| Given::Refused("the agent has ended".to_owned()))
        }
    };
    if let Ok(mut text) = serde_json::to_vec(&given) {
        text.push(b'\n');
        let _ = timeout(PATIENCE, write.write_all(&text)).await;
    }
}
