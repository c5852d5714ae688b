//! A pseudoterminal, without blocking.

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::{Receiver, Sender};

/// Keys that a program does not read. More than anyone types, and than a prompt has.
const MOST_UNREAD: usize = 8 << 20;

/// The side of a terminal that a person's window has.
pub struct Pty {
    /// The same descriptor twice. It is no pipe, but tokio waits for it as for one.
    output: Receiver,
    input: Sender,
    /// Typed, and not yet taken.
    typed: VecDeque<u8>,
}

impl Pty {
    /// The pty, and the side of its program. Within a runtime.
    pub fn open(rows: u16, columns: u16) -> io::Result<(Pty, OwnedFd)> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let program = rustix::fs::open(name, flags, rustix::fs::Mode::empty())?;
        fcntl_setfl(&master, OFlags::RDWR | OFlags::NONBLOCK)?;
        let (output, input) = (File::from(master.try_clone()?), File::from(master));
        let (output, input) = (Receiver::from_file_unchecked(output)?, Sender::from_file_unchecked(input)?);
        let pty = Pty { output, input, typed: VecDeque::new() };
        pty.resize(rows, columns)?;
        Ok((pty, program))
    }

    /// The program is told of it.
    pub fn resize(&self, rows: u16, columns: u16) -> io::Result<()> {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(&self.input, size)?)
    }

    /// To be read by the program when it likes.
    pub fn type_in(&mut self, bytes: &[u8]) {
        if self.typed.len() + bytes.len() <= MOST_UNREAD {
            self.typed.extend(bytes);
        }
    }

    /// What the program has printed next, while what was typed is passed on. An error once no process has it open any
    /// more.
    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.pass_on()?;
            tokio::select! {
                read = self.output.read(buffer) => return read,
                ready = self.input.writable(), if !self.typed.is_empty() => ready?,
            }
        }
    }

    /// What there is to read now; nothing if there is nothing.
    pub fn read_now(&mut self, buffer: &mut [u8]) -> usize {
        // Past the runtime, which says that there is nothing until it has looked.
        rustix::io::read(&self.output, buffer).unwrap_or(0)
    }

    fn pass_on(&mut self) -> io::Result<()> {
        while !self.typed.is_empty() {
            let (piece, _) = self.typed.as_slices();
            match self.input.try_write(piece) {
                Ok(taken) => drop(self.typed.drain(..taken)),
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => break,
                Err(cause) => return Err(cause),
            }
        }
        Ok(())
    }
}
