//! Questions on a terminal, a line at a time, that Ctrl+C, SIGTERM and the end of input stop.
//!
//! Lines are read by a thread of their own, because a read of a terminal cannot be called
//! off; the program ends without waiting for it.

use crate::process::Signals;
use crate::report::Out;
use rustix::termios::{QueueSelector, tcflush};
use std::io::{self, BufRead};
use std::thread;
use std::time::Instant;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

/// The user is gone, or wants to stop.
#[derive(Debug)]
pub struct Stopped;

pub type Answer<T> = Result<T, Stopped>;

/// Why there is no answer to a question that does not wait for ever.
#[derive(Debug)]
pub enum NoAnswer {
    Stopped,
    Late,
}

pub struct Asker {
    runtime: Runtime,
    lines: mpsc::UnboundedReceiver<Vec<u8>>,
    signals: Signals,
    out: Out,
}

impl Asker {
    pub fn new() -> io::Result<Asker> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let within = runtime.enter();
        let signals = Signals::listen()?;
        drop(within);
        let (send, lines) = mpsc::unbounded_channel();
        thread::Builder::new().name("lines".into()).spawn(move || {
            let mut stdin = io::stdin().lock();
            loop {
                let mut line = Vec::new();
                // An end in the middle of a line is an end, not an answer.
                let whole = matches!(stdin.read_until(b'\n', &mut line), Ok(1..)) && line.ends_with(b"\n");
                if !whole || send.send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Asker { runtime, lines, signals, out: Out::stdout() })
    }

    pub fn say(&mut self, line: &str) {
        self.out.line(line);
        self.out.flush();
    }

    /// One answer, without the blanks around it.
    pub fn line(&mut self, question: &str) -> Answer<String> {
        loop {
            self.out.part(question);
            self.out.flush();
            let line = self.next(None).map_err(|_| Stopped)?;
            match String::from_utf8(line) {
                Ok(line) if !line.trim().chars().any(char::is_control) => return Ok(line.trim().to_string()),
                _ => self.say("That line contains control characters. Please type it again."),
            }
        }
    }

    /// Forgets what was typed before there was a question.
    pub fn forget_typed(&mut self) {
        // What cannot be forgotten is taken for an answer.
        let _ = tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
        while self.lines.try_recv().is_ok() {}
    }

    /// One answer, without the blanks around it, if it comes in time.
    pub fn line_until(&mut self, question: &str, deadline: Instant) -> Result<String, NoAnswer> {
        self.out.part(question);
        self.out.flush();
        let line = self.next(Some(deadline))?;
        Ok(String::from_utf8_lossy(&line).trim().to_string())
    }

    /// Asks until there is an answer that can be read.
    pub fn until<T>(&mut self, question: &str, read: impl Fn(&str) -> Result<T, String>) -> Answer<T> {
        loop {
            match read(&self.line(question)?) {
                Ok(answer) => return Ok(answer),
                Err(why) => self.say(&why),
            }
        }
    }

    pub fn yes(&mut self, question: &str) -> Answer<bool> {
        Ok(matches!(self.line(question)?.to_lowercase().as_str(), "y" | "yes"))
    }

    fn next(&mut self, deadline: Option<Instant>) -> Result<Vec<u8>, NoAnswer> {
        let Asker { runtime, lines, signals, .. } = self;
        let late = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        runtime.block_on(async {
            tokio::select! {
                biased;
                () = signals.next() => Err(NoAnswer::Stopped),
                line = lines.recv() => line.ok_or(NoAnswer::Stopped),
                () = late => Err(NoAnswer::Late),
            }
        })
    }
}
