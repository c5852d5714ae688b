//! A program on a pseudo-terminal, and its screen as a person would see it.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Far more than any of it takes, and still an end.
const PATIENCE: Duration = Duration::from_secs(180);

/// A program and the screen that it draws on.
pub struct Screen {
    pub master: File,
    pub child: Closed,
    pub screen: vt100::Parser,
    /// All that was written to it.
    pub raw: Vec<u8>,
    before: Termios,
}

/// A program without its terminal.
pub struct Closed(pub Child);

impl Drop for Closed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn winsize(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

impl Screen {
    /// `words` are run with the terminal as their own; `setsid` makes the command of that program, in the surroundings
    /// of the test.
    pub fn start(mut setsid: Command, words: &[&str], (columns, rows): (u16, u16)) -> Screen {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        tcsetwinsize(&master, winsize(columns, rows)).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let side = || Stdio::from(OpenOptions::new().read(true).write(true).open(&name).unwrap());
        let before = tcgetattr(&master).unwrap();
        // `setsid --ctty` becomes the program, with the terminal as its own.
        setsid.arg("--ctty").args(words).env("TERM", "xterm-256color");
        let child = setsid.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
        Screen {
            master: File::from(master),
            child: Closed(child),
            screen: vt100::Parser::new(rows, columns, 1000),
            raw: Vec::new(),
            before,
        }
    }

    pub fn text(&self) -> String {
        let lines: Vec<String> =
            self.screen.screen().contents().lines().map(|l| l.trim_end().to_string()).collect();
        lines.join("\n")
    }

    /// Whether a screen has come to its end: each begins and ends with a mark. A program that was killed leaves one
    /// without an end.
    fn is_drawn(&self) -> bool {
        let last = |mark: &[u8]| self.raw.windows(mark.len()).rposition(|window| window == mark);
        last(b"\x1b[?2026h") <= last(b"\x1b[?2026l")
    }

    /// Waits until the screen is like this.
    #[track_caller]
    pub fn until(&mut self, what: &str, fits: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !self.is_drawn() || !fits(&self.text()) {
            assert!(self.more(deadline), "waited in vain for {what}; the screen:\n{}", self.text());
        }
    }

    #[track_caller]
    pub fn shows(&mut self, text: &str) {
        self.until(text, |screen| screen.contains(text));
    }

    pub fn keys(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Presses these keys, one after another as a person does, and again until the screen shows something: tmux takes
    /// keys that come at once for a paste.
    #[track_caller]
    pub fn press_until(&mut self, keys: &[&str], text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.is_drawn() || !self.text().contains(text) {
            assert!(Instant::now() < deadline, "waited in vain for {text}; the screen:\n{}", self.text());
            for key in keys {
                self.keys(key);
                std::thread::sleep(Duration::from_millis(20));
            }
            let soon = Instant::now() + Duration::from_millis(500);
            while self.more(soon) && !self.text().contains(text) {}
        }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child.0)
    }

    /// Reads what is there; `false` at the end of it.
    fn more(&mut self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut ready = [PollFd::new(&self.master, PollFlags::IN)];
        if poll(&mut ready, Some(&Timespec::try_from(left).unwrap())).unwrap() == 0 {
            return false;
        }
        let mut bytes = [0; 4096];
        let Ok(count @ 1..) = self.master.read(&mut bytes) else { return false };
        self.raw.extend_from_slice(&bytes[..count]);
        self.screen.process(&bytes[..count]);
        true
    }

    /// Waits for the end, and that the terminal is as it was.
    #[track_caller]
    pub fn restored(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + PATIENCE;
        while self.more(deadline) {}
        let status = loop {
            if let Some(status) = self.child.0.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "it did not end:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(5));
        };
        let screen = self.screen.screen();
        assert!(!screen.alternate_screen(), "still on the other screen");
        assert!(!screen.hide_cursor(), "the cursor is hidden");
        assert!(!screen.bracketed_paste(), "pastes are still marked");
        let (after, before) = (tcgetattr(&self.master).unwrap(), &self.before);
        assert_eq!(after.local_modes, before.local_modes);
        assert_eq!(after.input_modes, before.input_modes);
        assert_eq!(after.output_modes, before.output_modes);
        (status.code(), self.text())
    }
}
