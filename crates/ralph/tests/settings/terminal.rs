//! A program on a pseudo-terminal, driven like a person would: wait for a text, type.
//!
//! Every wait ends after [`PATIENCE`]; the program is ended by its id when the terminal is
//! dropped.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(180);

pub const END_OF_INPUT: &str = "\x04";
pub const CTRL_C: &str = "\x03";

pub struct Terminal {
    master: File,
    child: Child,
    /// All that was on the screen, echoes included.
    seen: String,
    /// How much of it was waited for.
    read: usize,
}

impl Terminal {
    /// `ralph` with the terminal as its own, so that Ctrl+C reaches it. `command` makes the command of a program, in
    /// the surroundings of the test.
    pub fn ralph(command: impl FnOnce(&Path) -> Command, args: &[&str]) -> Terminal {
        Terminal::sized(80, 24, command, args)
    }

    /// The same with so many columns and rows.
    pub fn sized(columns: u16, rows: u16, command: impl FnOnce(&Path) -> Command, args: &[&str]) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let side = || Stdio::from(OpenOptions::new().read(true).write(true).open(&name).unwrap());
        // `setsid --ctty` of util-linux does what forbidden unsafe code would have to, and then becomes ralph.
        let setsid = which::which("setsid").unwrap();
        let mut command = command(&setsid);
        command.arg("--ctty").arg(env!("CARGO_BIN_EXE_ralph")).args(args);
        let child = command.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
        Terminal { master: File::from(master), child, seen: String::new(), read: 0 }
    }

    /// Waits until the text is there, behind what was waited for before.
    pub fn expect(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.seen[self.read..].find(text) {
                self.read += at + text.len();
                return;
            }
            assert!(self.more(deadline), "{text:?} did not come; there was:\n{}", self.seen);
        }
    }

    pub fn key(&mut self, key: &str) {
        self.master.write_all(key.as_bytes()).unwrap();
    }

    /// Waits for a question and answers it.
    pub fn answer(&mut self, question: &str, answer: &str) {
        self.expect(question);
        self.key(&format!("{answer}\n"));
    }

    /// The exit code, and all that was on the screen.
    pub fn end(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + PATIENCE;
        while self.more(deadline) {}
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status.code(), std::mem::take(&mut self.seen));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("it did not end; there was:\n{}", self.seen);
    }

    /// Reads what is there; `false` at the end of it, or when patience is at its own.
    fn more(&mut self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).unwrap();
        let mut ready = [PollFd::new(&self.master, PollFlags::IN)];
        if poll(&mut ready, Some(&timeout)).unwrap() == 0 {
            return false;
        }
        let mut bytes = [0; 4096];
        // A terminal whose program is gone answers with an error.
        let Ok(count @ 1..) = self.master.read(&mut bytes) else { return false };
        self.seen.push_str(&String::from_utf8_lossy(&bytes[..count]).replace('\r', ""));
        true
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Does nothing to a child that was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
