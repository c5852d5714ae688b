//! `ralph logs`: what a worker or a run and its agents say.

use super::args::ProjectArgs;
use super::format::is_for_a_person;
use super::home;
use super::run_log::RunLog;
use crate::catalog;
use crate::error::CliError;
use crate::growing_log::{GrowingLog, Piece, Source, last_lines};
use crate::journal::{FollowError, JournalError};
use crate::layout::{Home, RunDir};
use crate::lock::{NameLock, RunLock};
use crate::report::Out;
use crate::target::{self, Kind, Target};
use crate::terminal;
use crate::tmux::Tmux;
use crate::worker::record::Record;
use clap::Args;
use ralph_loop::text::printable;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, PipeReader};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Args)]
#[command(after_help = "\
Examples:
  ralph logs --lines 50             # the run in this directory
  ralph logs agent --follow
  ralph logs agent --events | grep FAIL")]
pub struct LogsArgs {
    /// Worker name, run id or id prefix [default: the run in this directory, or the last
    /// one there]
    name: Option<String>,
    /// Keep printing new output until the worker or run ends
    #[arg(short, long)]
    follow: bool,
    /// For the tmux window of a worker: lets go of who watches it, at the end
    #[arg(long, hide = true, requires = "follow")]
    window: bool,
    /// Start with the last N lines
    #[arg(long, value_name = "N")]
    lines: Option<u64>,
    /// Show what is on the terminal of an interactive agent; with --follow, whenever it changes
    #[arg(long, conflicts_with_all = ["events", "window"])]
    live: bool,
    /// Print the start and end of iterations instead of the output
    #[arg(long)]
    events: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn logs(args: &LogsArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let target = asked_for(&home, args)?;
    if args.live {
        return live(&target, args);
    }
    let unreadable =
        |cause: ReadError| CliError::failed(format!("cannot read the log of {target}")).cause(cause);
    // Without its record it is gone for good.
    let (dir, record) = match &target.kind {
        Kind::Worker { dir, .. } => (dir.dir(), dir.record()),
        Kind::Terminal => (target.run_dir.dir(), target.run_dir.journal()),
    };
    let mut out = Out::stdout();
    let mut view = View::of(&target, args).map_err(unreadable)?;
    if !args.follow && !target.alive && view.is_missing() {
        return Err(CliError::failed(format!("no output is kept for {target}"))
            .hint(format!("see what happened: ralph show {}", target.run)));
    }
    // Watched before it is read, so that nothing falls in between.
    let watch = if args.follow {
        Some(
            Watch::over(dir, &target, if args.window { Shows::Terminals } else { Shows::Output })
                .map_err(|cause| unreadable(cause.into()))?,
        )
    } else {
        None
    };
    let mut woken = Woken::Changed;
    loop {
        view.print(&mut out).map_err(unreadable)?;
        let Some(watch) = &watch else { break };
        // What was printed after the end is all there is.
        if woken != Woken::Changed || !out.is_heard() || !record.exists() {
            break;
        }
        if args.window {
            view.give_way(&target).map_err(unreadable)?;
        }
        woken = watch.wait();
    }
    if args.window {
        Tmux::of(&home).detach_from(&target.name);
    }
    Ok(ExitCode::SUCCESS)
}

/// How often the terminal of an agent is shown again.
const REFRESH: Duration = Duration::from_secs(2);

/// The terminal of the agent at work.
fn live(target: &Target, args: &LogsArgs) -> Result<ExitCode, CliError> {
    let mut out = Out::stdout();
    let end =
        end_of(target).map_err(|cause| CliError::failed(format!("cannot follow {target}")).cause(cause))?;
    let mut shown: Vec<String> = Vec::new();
    loop {
        let lines = match terminal::ask_for_screen(&target.run_dir) {
            Ok(lines) => lines,
            // Between two agents there is none.
            Err(terminal::TypeError::NoTerminal) if args.follow => Vec::new(),
            Err(cause) => {
                return Err(CliError::failed(format!("cannot show the terminal of {target}: {cause}"))
                    .hint(format!("see what was printed: ralph logs {}", target.name)));
            }
        };
        let first = lines.len().saturating_sub(args.lines.map_or(usize::MAX, |lines| lines as usize));
        if lines != shown {
            lines.iter().skip(first).for_each(|line| out.line(&printable(line)));
            if args.follow {
                out.line("");
            }
            out.flush();
            shown = lines;
        }
        let limit = Timespec::try_from(REFRESH).ok();
        let ended =
            || poll(&mut [PollFd::new(&end, PollFlags::IN)], limit.as_ref()).is_ok_and(|ready| ready > 0);
        if !args.follow || !out.is_heard() || ended() {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// How following a worker from its start has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Followed {
    ToItsEnd,
    /// The user has pressed Ctrl+C, or what is printed is no longer read.
    Left,
}

/// What a worker and its agents say, until it ends. A person also sees the terminals of interactive agents.
pub(super) fn follow_worker(worker: &Target) -> Result<Followed, CliError> {
    let failed = |cause: ReadError| CliError::failed(format!("cannot follow {worker}")).cause(cause);
    let Kind::Worker { dir, .. } = &worker.kind else { return Ok(Followed::ToItsEnd) };
    let shows = if is_for_a_person() { Shows::Terminals } else { Shows::Output };
    let watch = Watch::over(dir.dir(), worker, shows).and_then(Watch::and_interrupts);
    let watch = watch.map_err(|cause| failed(cause.into()))?;
    let mut out = Out::stdout();
    let mut view = View::File(GrowingLog::of(Source::Output(dir.output())));
    let mut woken = Woken::Changed;
    loop {
        view.print(&mut out).map_err(failed)?;
        match woken {
            Woken::Changed if out.is_heard() => {}
            Woken::Ended => return Ok(Followed::ToItsEnd),
            Woken::Changed | Woken::ReaderGone | Woken::Interrupted => return Ok(Followed::Left),
        }
        if shows == Shows::Terminals {
            view.give_way(worker).map_err(failed)?;
        }
        woken = watch.wait();
    }
}

/// Prints the end of what a worker and its agents said.
pub(super) fn print_last(target: &Target, lines: u64) -> io::Result<()> {
    let Kind::Worker { dir, .. } = &target.kind else { return Ok(()) };
    let (mut log, mut out) = (GrowingLog::of(Source::Output(dir.output())), Out::stdout());
    log.skip_to_last(lines)?;
    print(&mut log, &mut out)?;
    out.flush();
    Ok(())
}

/// The run that is named, the one that is running here, or the last one here.
fn asked_for(home: &Home, args: &LogsArgs) -> Result<Target, CliError> {
    if let Some(name) = &args.name {
        return Ok(target::find(home, name)?);
    }
    let dir = args.project.dir()?;
    match target::only(target::here(home, &dir)?)? {
        Some(target) => Ok(target),
        None => Ok(target::of_run(home, &catalog::find_or_newest(home, None, &dir)?)?),
    }
}

/// What is printed.
enum View {
    /// What a worker's process has printed, or its events.
    File(GrowingLog),
    /// What a run shows, by its journal and its streams.
    Run(Box<RunLog>),
    /// The events of a run in a terminal: they are in its journal, and in no file of their own.
    Events { run: RunDir, lines: Option<u64>, printed: Option<usize> },
}

impl View {
    fn of(target: &Target, args: &LogsArgs) -> Result<View, ReadError> {
        let source = match &target.kind {
            Kind::Terminal if args.events => {
                let run = target.run_dir.clone();
                return Ok(View::Events { run, lines: args.lines, printed: None });
            }
            Kind::Terminal => {
                return Ok(View::Run(Box::new(RunLog::open(&target.run_dir, args.lines)?)));
            }
            Kind::Worker { dir, .. } if args.events => Source::File(dir.iterations()),
            Kind::Worker { dir, .. } => Source::Output(dir.output()),
        };
        let mut log = GrowingLog::of(source);
        if let Some(lines) = args.lines {
            log.skip_to_last(lines)?;
        }
        Ok(View::File(log))
    }

    /// Shows the terminal of the agent at work, if it has one, to its end. What the agent does meanwhile is then not
    /// printed as well.
    fn give_way(&mut self, target: &Target) -> Result<(), ReadError> {
        let mut skipped = Ok(());
        terminal::watch(&target.run_dir, || skipped = self.skip())?;
        skipped
    }

    /// Leaves out what was not printed yet.
    fn skip(&mut self) -> Result<(), ReadError> {
        match self {
            View::File(log) => Ok(log.skip_to_last(0)?),
            View::Run(_) | View::Events { .. } => Ok(()),
        }
    }

    fn is_missing(&self) -> bool {
        matches!(self, View::File(log) if !log.exists())
    }

    /// What was not printed yet.
    fn print(&mut self, out: &mut Out) -> Result<(), ReadError> {
        match self {
            View::File(log) => print(log, out)?,
            View::Run(log) => return Ok(log.print()?),
            View::Events { run, lines, printed } => {
                let events = Record::events_of(run)?;
                let from = printed.unwrap_or_else(|| {
                    let mut left = lines.unwrap_or(u64::MAX);
                    last_lines(events.as_bytes(), true, &mut left).unwrap_or(0)
                });
                out.foreign(events.as_bytes().get(from..).unwrap_or_default());
                *printed = Some(events.len());
            }
        }
        out.flush();
        Ok(())
    }
}

/// Why a log cannot be shown.
#[derive(Debug, Error)]
enum ReadError {
    #[error(transparent)]
    File(#[from] io::Error),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Run(#[from] FollowError),
}

fn print(log: &mut GrowingLog, out: &mut Out) -> io::Result<()> {
    log.read(&mut |piece| match piece {
        Piece::Bytes(bytes) => out.foreign(bytes),
        Piece::Gap => out.line("[ralph] older output is no longer kept (keepStreams)"),
    })
}

/// Wakes up when something happens to a worker's files, when it ends, and when the reader is gone: two
/// hundred panes must cost nothing.
struct Watch {
    #[cfg(target_os = "linux")]
    inotify: rustix::fd::OwnedFd,
    /// Its other end is closed once the worker or run has ended.
    end: PipeReader,
    /// Its other end is closed once the user has pressed Ctrl+C; without it, that ends this process.
    interrupt: Option<PipeReader>,
}

/// Where the system cannot report a change, or forgets to.
#[cfg(target_os = "linux")]
const LOOK: Duration = Duration::from_secs(30);
#[cfg(not(target_os = "linux"))]
const LOOK: Duration = Duration::from_millis(500);

impl Watch {
    fn over(dir: &Path, target: &Target, shows: Shows) -> io::Result<Watch> {
        let end = end_of(target)?;
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
            let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            let changes = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::DELETE;
            add_watch(&inotify, dir, changes)?;
            // Where the terminal of an agent appears.
            if shows == Shows::Terminals {
                add_watch(&inotify, target.run_dir.dir(), WatchFlags::CREATE)?;
            }
            if !target.is_worker() {
                add_watch(&inotify, target.run_dir.streams(), changes)?;
            }
            Ok(Watch { inotify, end, interrupt: None })
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = (dir, shows);
            Ok(Watch { end, interrupt: None })
        }
    }

    /// Ctrl+C is something to wake up for.
    fn and_interrupts(self) -> io::Result<Watch> {
        let (interrupt, waiting) = io::pipe()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // Before the first look: one that comes earlier ends this process.
        let mut pressed = {
            let _entered = runtime.enter();
            signal(SignalKind::interrupt())?
        };
        std::thread::Builder::new().spawn(move || {
            runtime.block_on(pressed.recv());
            drop(waiting);
        })?;
        Ok(Watch { interrupt: Some(interrupt), ..self })
    }

    /// A reader that has gone is noticed also while nothing is written.
    fn wait(&self) -> Woken {
        let limit = Timespec::try_from(LOOK).ok();
        let gone = PollFlags::ERR | PollFlags::HUP;
        let interrupt = self.interrupt.as_ref().unwrap_or(&self.end);
        let mut watched = vec![
            PollFd::from_borrowed_fd(rustix::stdio::stdout(), PollFlags::empty()),
            PollFd::new(&self.end, PollFlags::IN),
            PollFd::new(interrupt, PollFlags::IN),
        ];
        #[cfg(target_os = "linux")]
        watched.push(PollFd::new(&self.inotify, PollFlags::IN));
        let _ = poll(&mut watched, limit.as_ref());
        let [reader, end, interrupted] = [0, 1, 2].map(|at| watched[at].revents().intersects(gone));
        #[cfg(target_os = "linux")]
        {
            let mut events = [0; 4096];
            while rustix::io::read(&self.inotify, &mut events).is_ok_and(|read| read > 0) {}
        }
        match (reader, end, interrupted) {
            (true, ..) => Woken::ReaderGone,
            (false, true, _) => Woken::Ended,
            (false, false, true) => Woken::Interrupted,
            (false, false, false) => Woken::Changed,
        }
    }
}

/// What is shown of a worker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shows {
    /// What it prints.
    Output,
    /// The terminal of its agent as well, while there is one.
    Terminals,
}

#[derive(PartialEq, Eq)]
enum Woken {
    Changed,
    Ended,
    ReaderGone,
    Interrupted,
}

/// A pipe that hangs up at the end of a worker's process or of a run. A lock can only be waited for by a
/// thread of its own.
fn end_of(target: &Target) -> io::Result<PipeReader> {
    let (end, alive) = io::pipe()?;
    let (run, name, is_worker) = (target.run_dir.clone(), target.name.clone(), target.is_worker());
    std::thread::Builder::new().spawn(move || {
        // A lock that cannot be waited for is taken for free: following ends early, and nothing hangs.
        let _ = if is_worker { NameLock::wait(&run.home(), &name) } else { RunLock::wait(&run) };
        drop(alive);
    })?;
    Ok(end)
}
