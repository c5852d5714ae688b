//! Requests to a terminal: to type into it, or to say what it shows.

use super::people::{Given, Want};
use crate::control::address_of;
use crate::layout::{RunDir, TERMINAL_SOCKET};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use thiserror::Error;

const PATIENCE: Duration = Duration::from_secs(8);

#[derive(Debug, Error)]
pub enum TypeError {
    #[error("no agent has a terminal there now")]
    NoTerminal,
    #[error("{0}")]
    Refused(String),
    #[error("the terminal does not answer: {0}")]
    Broken(#[source] io::Error),
}

/// A connection, or nothing where no agent has a terminal.
pub(super) fn connect(run: &RunDir) -> io::Result<UnixStream> {
    UnixStream::connect(&address_of(run, TERMINAL_SOCKET)?.path)
}

/// Pastes a text, and sends it.
pub fn type_into(run: &RunDir, want: &Want) -> Result<(), TypeError> {
    match ask(run, want)? {
        Given::Refused(why) => Err(TypeError::Refused(why)),
        Given::Done | Given::Screen(_) => Ok(()),
    }
}

/// What the terminal shows, line by line.
pub fn ask_for_screen(run: &RunDir) -> Result<Vec<String>, TypeError> {
    match ask(run, &Want::Screen)? {
        Given::Screen(lines) => Ok(lines),
        Given::Refused(why) => Err(TypeError::Refused(why)),
        Given::Done => Ok(Vec::new()),
    }
}

fn ask(run: &RunDir, want: &Want) -> Result<Given, TypeError> {
    let stream = connect(run).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => TypeError::NoTerminal,
        _ => TypeError::Broken(cause),
    })?;
    exchange(stream, want).map_err(|cause| match cause.kind() {
        // It has ended in this moment.
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof => {
            TypeError::NoTerminal
        }
        _ => TypeError::Broken(cause),
    })
}

fn exchange(mut stream: UnixStream, want: &Want) -> io::Result<Given> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut text = serde_json::to_vec(want)?;
    text.push(b'\n');
    stream.write_all(&text)?;
    let mut line = String::new();
    if BufReader::new(stream).read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_str(&line)?)
}
