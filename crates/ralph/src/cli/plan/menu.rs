//! One key and Enter at the end of a conversation.
//!
//! Without a thread of its own that reads lines, unlike `ask`: such a thread would go on reading the terminal
//! while the agent has it again.

use crate::report::Out;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, retry_on_intr};
use std::future::poll_fn;
use std::io;
use std::task::Poll;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// How often to look for a signal while nothing is typed.
const LOOK: Duration = Duration::from_millis(100);

/// The line that was typed; nothing if the user wants to stop.
pub fn line(question: &str) -> io::Result<Option<String>> {
    let mut out = Out::stdout();
    out.bytes(question.as_bytes());
    out.flush();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let within = runtime.enter();
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let mut signals = kinds.into_iter().map(signal).collect::<io::Result<Vec<_>>>()?;
    drop(within);
    let mut is_stopped = || {
        let heard = poll_fn(|cx| match signals.iter_mut().any(|signal| signal.poll_recv(cx).is_ready()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        });
        runtime.block_on(async { tokio::time::timeout(Duration::from_millis(1), heard).await.is_ok() })
    };
    let typed = loop {
        if is_stopped() {
            break None;
        }
        if is_typed()? {
            let mut bytes = [0; 1024];
            // A terminal that can be read has a whole line.
            let count = retry_on_intr(|| read(rustix::stdio::stdin(), &mut bytes[..]))?;
            break (count > 0).then(|| String::from_utf8_lossy(&bytes[..count]).trim().to_owned());
        }
    };
    if typed.is_none() {
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
