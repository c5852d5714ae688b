//! What an agent tells its hooks, on its way to the terminal host.

use crate::control::address_of;
use crate::fsx;
use crate::layout::{RunDir, TURN_SOCKET};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Where hooks find the socket of their agent's host.
pub const TURN: &str = "RALPH_TURN";

/// More than any agent tells a hook: a tool's output is a part of it.
const LONGEST: u64 = 32 << 20;

/// The host answers at once.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a hook was told, and where the answer goes: JSON, or nothing.
pub struct Told {
    pub text: String,
    pub answer: oneshot::Sender<String>,
}

/// Listens for hooks, until the runtime ends.
pub fn listen(run: &RunDir) -> io::Result<mpsc::Receiver<Told>> {
    let path = run.turn_socket();
    // Left by a host that was killed.
    let _ = fsx::remove(&path);
    let address = address_of(run, TURN_SOCKET)?;
    let listener = UnixListener::bind(&address.path)?;
    fsx::only_for_user(&path)?;
    let (send, told) = mpsc::channel(16);
    tokio::spawn(async move {
        let _address = address;
        loop {
            let Ok((mut stream, _)) = listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            };
            let send = send.clone();
            tokio::spawn(async move {
                let mut text = Vec::new();
                let mut limited = (&mut stream).take(LONGEST);
                let Ok(Ok(_)) = timeout(PATIENCE, limited.read_to_end(&mut text)).await else { return };
                let (answer, answered) = oneshot::channel();
                let told = Told { text: String::from_utf8_lossy(&text).into_owned(), answer };
                if send.send(told).await.is_ok()
                    && let Ok(answer) = answered.await
                {
                    let _ = timeout(PATIENCE, stream.write_all(answer.as_bytes())).await;
                }
            });
        }
    });
    Ok(told)
}

/// Passes on what a hook was told. Returns the answer for the agent, which may be empty.
pub fn tell(socket: &Path, text: &[u8]) -> io::Result<String> {
    let mut stream = connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(text)?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn connect(socket: &Path) -> io::Result<UnixStream> {
    let (Some(dir), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let address = address_of(&RunDir::at(PathBuf::from(dir)), &name.to_string_lossy())?;
    UnixStream::connect(&address.path)
}
