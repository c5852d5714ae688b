//! One key and Enter at the end of a conversation.
//!
//! Without a thread of its own that reads lines, unlike `ask`: such a thread would go on reading the terminal
//! while the agent has it again.

use crate::process::Signals;
use crate::report::Out;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, retry_on_intr};
use std::io;
use std::time::Duration;
use tokio::time::timeout;

/// How often to look for a signal while nothing is typed.
const LOOK: Duration = Duration::from_millis(100);

/// What the user did at the question.
pub enum Typed {
    Line(String),
    /// Ctrl+D.
    End,
    /// Ctrl+C, or a signal.
    Stop,
}

pub fn line(question: &str) -> io::Result<Typed> {
    let mut out = Out::stdout();
    out.part(question);
    out.flush();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let within = runtime.enter();
    let mut signals = Signals::listen()?;
    drop(within);
    let mut is_stopped =
        || runtime.block_on(async { timeout(Duration::from_millis(1), signals.next()).await.is_ok() });
    let typed = loop {
        if is_stopped() {
            break Typed::Stop;
        }
        if is_typed()? {
            let mut bytes = [0; 1024];
            // A terminal that can be read has a whole line.
            let count = retry_on_intr(|| read(rustix::stdio::stdin(), &mut bytes[..]))?;
            break match count {
                // Ctrl+D, or a terminal that is gone, which comes with a signal.
                0 if is_stopped() => Typed::Stop,
                0 => Typed::End,
                _ => Typed::Line(String::from_utf8_lossy(&bytes[..count]).trim().to_owned()),
            };
        }
    };
    if !matches!(typed, Typed::Line(_)) {
        // The question is still on the last line.
        out.line("");
        out.flush();
    }
    Ok(typed)
}

fn is_typed() -> io::Result<bool> {
    let stdin = rustix::stdio::stdin();
    let wait = Timespec::try_from(LOOK).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&wait)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(cause) => Err(cause.into()),
    }
}
