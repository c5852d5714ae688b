//! Where a run's report goes, without the loop ever waiting for a reader.
//!
//! Everything is printed by a thread of its own: standard output, standard error and, on a
//! terminal, the status line below them. The loop only hands over what is to be shown. A
//! reader that stops reading (a pager, Ctrl+S, a dead connection) is waited for once, for a
//! moment; after that what does not fit is left out and counted, because a signal or a limit
//! must never wait for a reader. A slow reader holds the loop up no longer than that
//! between two looks for signals. The record of the run has everything.

use super::out::{Out, say, shown, shown_json};
use super::status_line::{Status, StatusLine};
use crate::layout::RunDir;
use crate::terminal::{self, Watched};
use jiff::Zoned;
use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub(super) struct Screen {
    /// Held back until there is enough of it: lines for standard output, or for standard error.
    /// One of the two is empty, so that they stay in order.
    buffer: Vec<u8>,
    asides: String,
    timestamps: bool,
    has_status: bool,
    outlet: Outlet,
}

/// The way from the loop to a reader.
enum Outlet {
    /// Beside the loop, which must never wait.
    Printer(Printer),
    /// Within the call: for a process that has nothing else to do.
    Writer(Box<dyn Write>),
}

struct Printer {
    queue: Arc<Queue>,
    /// What is left of the time for which a reader may hold the loop up.
    patience: Duration,
    /// The reader is stuck: do not wait until there is room again.
    stuck: bool,
    left_out: u64,
    thread: Option<JoinHandle<()>>,
}

enum Job {
    Out(Vec<u8>),
    Aside(String),
    Status(Status),
    ClearStatus,
    /// The terminal of this run's agent, until the agent ends. Everything else waits.
    AgentsTerminal(RunDir),
    /// That agent has ended, also if it never had a terminal.
    AgentEnded,
}

/// So much is handed over at once, and may wait to be printed.
const CHUNK: usize = 64 << 10;
const WAITING: usize = 2 << 20;

/// How long a reader may hold the loop up: between two rests, and at the end.
const PATIENCE: Duration = Duration::from_millis(200);
const LAST_PATIENCE: Duration = Duration::from_secs(2);

impl Screen {
    pub(super) fn new(status: Option<StatusLine>, timestamps: bool) -> Screen {
        let has_status = status.is_some();
        Screen::over(Outlet::Printer(Printer::start(status)), has_status, timestamps)
    }

    /// What cannot be written is lost.
    pub(super) fn to_writer(writer: Box<dyn Write>) -> Screen {
        Screen::over(Outlet::Writer(writer), false, false)
    }

    fn over(outlet: Outlet, has_status: bool, timestamps: bool) -> Screen {
        Screen { buffer: Vec::new(), asides: String::new(), timestamps, has_status, outlet }
    }

    /// One line, or several; each with its time if that was asked for.
    pub(super) fn line(&mut self, text: &str) {
        self.hand_over_asides();
        let text = &*shown(text);
        if self.timestamps {
            let time = Zoned::now().strftime("[%H:%M:%S] ").to_string();
            for line in text.split('\n') {
                self.buffer.extend_from_slice(time.as_bytes());
                self.buffer.extend_from_slice(line.as_bytes());
                self.buffer.push(b'\n');
            }
        } else {
            self.buffer.extend_from_slice(text.as_bytes());
            self.buffer.push(b'\n');
        }
        if self.buffer.len() >= CHUNK {
            self.flush();
        }
    }

    /// A line of JSON.
    pub(super) fn data(&mut self, json: &str) {
        self.hand_over_asides();
        self.buffer.extend_from_slice(shown_json(json).as_bytes());
        self.buffer.push(b'\n');
        if self.buffer.len() >= CHUNK {
            self.flush();
        }
    }

    /// Lines on standard error, after what was printed before them.
    pub(super) fn aside(&mut self, text: &str) {
        self.stderr_line(text);
        self.flush();
    }

    /// Likewise, held back as [`Screen::line`] does: an agent may have many of them.
    pub(super) fn stderr_line(&mut self, text: &str) {
        self.hand_over_lines();
        self.asides.push_str(&shown(text));
        self.asides.push('\n');
        if self.asides.len() >= CHUNK {
            self.flush();
        }
    }

    pub(super) fn flush(&mut self) {
        self.hand_over_lines();
        self.hand_over_asides();
    }

    /// The loop is about to look for signals and timers.
    pub(super) fn rest(&mut self) {
        self.flush();
        match &mut self.outlet {
            Outlet::Printer(printer) => printer.patience = PATIENCE,
            Outlet::Writer(writer) => drop(writer.flush()),
        }
    }

    fn hand_over_lines(&mut self) {
        if !self.buffer.is_empty() {
            let bytes = std::mem::take(&mut self.buffer);
            self.hand_over(Job::Out(bytes));
        }
    }

    fn hand_over_asides(&mut self) {
        // The last newline is added where it is printed.
        if self.asides.pop().is_some() {
            let text = std::mem::take(&mut self.asides);
            self.hand_over(Job::Aside(text));
        }
    }

    pub(super) fn has_status(&self) -> bool {
        self.has_status
    }

    pub(super) fn show_status(&mut self, status: Status) {
        self.flush();
        self.hand_over(Job::Status(status));
    }

    /// The last lines are about to come: the status line is over.
    pub(super) fn clear_status(&mut self) {
        self.flush();
        self.has_status = false;
        self.hand_over(Job::ClearStatus);
    }

    /// Gives the terminal to the agent that begins.
    pub(super) fn lend_to_agent(&mut self, run: RunDir) {
        self.flush();
        self.hand_over(Job::ClearStatus);
        self.hand_over(Job::AgentsTerminal(run));
    }

    pub(super) fn agent_ended(&mut self) {
        self.hand_over(Job::AgentEnded);
    }

    fn hand_over(&mut self, job: Job) {
        match &mut self.outlet {
            Outlet::Printer(printer) => printer.hand_over(job),
            Outlet::Writer(writer) => write(job, &mut **writer),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.flush();
    }
}

impl Printer {
    fn start(status: Option<StatusLine>) -> Printer {
        let queue = Arc::new(Queue::default());
        let theirs = Arc::clone(&queue);
        let thread = thread::Builder::new().name("printer".into());
        let thread = thread.spawn(move || print(&theirs, status));
        Printer { queue, patience: PATIENCE, stuck: false, left_out: 0, thread: thread.ok() }
    }

    fn hand_over(&mut self, job: Job) {
        let patience = if self.stuck { Duration::ZERO } else { self.patience };
        let asked = Instant::now();
        let put = self.queue.put(job, patience);
        self.patience = self.patience.saturating_sub(asked.elapsed());
        match put {
            Ok(()) => {
                self.stuck = false;
                if self.left_out > 0 {
                    let note = format!("(the terminal was not reading: {} bytes skipped)\n", self.left_out);
                    self.left_out = 0;
                    // If even this does not fit, the next one says it.
                    let _ = self.queue.put(Job::Out(note.into_bytes()), Duration::ZERO);
                }
            }
            Err(job) => {
                self.stuck = true;
                self.left_out += job.bytes() as u64;
            }
        }
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        self.queue.close();
        let deadline = Instant::now() + LAST_PATIENCE;
        let Some(thread) = self.thread.take() else { return };
        while !thread.is_finished() && Instant::now() < deadline {
            self.queue.wait_for_room(Duration::from_millis(20));
        }
        if thread.is_finished() {
            // It prints and cannot fail in another way than by not being there.
            let _ = thread.join();
        }
    }
}

impl Job {
    fn bytes(&self) -> usize {
        match self {
            Job::Out(bytes) => bytes.len(),
            Job::Aside(text) => text.len(),
            Job::Status(status) => status.line.len(),
            Job::ClearStatus | Job::AgentsTerminal(_) | Job::AgentEnded => 0,
        }
    }
}

/// What waits to be printed; bounded in bytes.
#[derive(Default)]
struct Queue {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    bytes: usize,
    closed: bool,
}

impl Queue {
    /// Gives the job back if there is no room for it in time.
    fn put(&self, job: Job, patience: Duration) -> Result<(), Job> {
        let full = |waiting: &mut Waiting| waiting.bytes > WAITING;
        let waiting = self.lock();
        let (mut waiting, timeout) =
            self.changed.wait_timeout_while(waiting, patience, full).unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() && waiting.bytes > WAITING {
            return Err(job);
        }
        waiting.bytes += job.bytes();
        waiting.jobs.push_back(job);
        self.changed.notify_all();
        Ok(())
    }

    /// The next job; none once everything is printed and nothing more comes.
    fn take(&self) -> Option<Job> {
        let idle = |waiting: &mut Waiting| waiting.jobs.is_empty() && !waiting.closed;
        let mut waiting = self.changed.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
        let job = waiting.jobs.pop_front()?;
        waiting.bytes -= job.bytes();
        self.changed.notify_all();
        Some(job)
    }

    /// Whether the agent that was to be shown has ended, or the run.
    fn has_agent_ended(&self) -> bool {
        let waiting = self.lock();
        waiting.closed || waiting.jobs.iter().any(|job| matches!(job, Job::AgentEnded))
    }

    fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn wait_for_room(&self, at_most: Duration) {
        let _ = self.changed.wait_timeout(self.lock(), at_most);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn print(queue: &Queue, mut line: Option<StatusLine>) {
    let mut out = Out::stdout();
    while let Some(job) = queue.take() {
        match (job, &mut line) {
            (Job::Out(bytes), Some(line)) => line.aside(|| out.now(&bytes)),
            (Job::Out(bytes), None) => out.now(&bytes),
            (Job::Aside(text), Some(line)) => line.aside(|| say(&text)),
            (Job::Aside(text), None) => say(&text),
            (Job::Status(status), Some(line)) => line.show(status),
            (Job::ClearStatus, Some(line)) => line.clear(),
            (Job::AgentsTerminal(run), _) => show_agent(&run, queue),
            (Job::Status(_) | Job::ClearStatus, None) | (Job::AgentEnded, _) => {}
        }
    }
}

/// How often it is looked whether the agent has a terminal by now.
const LOOK: Duration = Duration::from_millis(20);

/// Shows the agent's terminal here, from the moment that there is one.
fn show_agent(run: &RunDir, queue: &Queue) {
    while !queue.has_agent_ended() {
        match terminal::watch(run, || ()) {
            Ok(Watched::Nothing) => queue.wait_for_room(LOOK),
            Ok(Watched::ToTheEnd) | Ok(Watched::ViewerGone) => return,
            Err(cause) => return say(&format!("ralph: warning: cannot show the agent's terminal: {cause}")),
        }
    }
}

/// Everything to one writer.
fn write(job: Job, writer: &mut dyn Write) {
    let _ = match job {
        Job::Out(bytes) => writer.write_all(&bytes),
        Job::Aside(text) => writer.write_all(format!("{text}\n").as_bytes()),
        Job::Status(_) | Job::ClearStatus | Job::AgentsTerminal(_) | Job::AgentEnded => Ok(()),
    };
}
