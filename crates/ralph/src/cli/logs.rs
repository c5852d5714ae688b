//! `ralph logs`: what a worker or a run and its agents say.

use super::args::ProjectArgs;
use super::home;
use crate::catalog;
use crate::error::CliError;
use crate::layout::{Home, OutputLog, RunDir};
use crate::lock::{NameLock, RunLock};
use crate::report::Out;
use crate::target::{self, Kind, Target};
use crate::tmux::Tmux;
use crate::worker::output;
use crate::worker::record::Record;
use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, PipeReader, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

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
    /// Print the start and end of iterations instead of the output
    #[arg(long)]
    events: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn logs(args: &LogsArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let target = asked_for(&home, args)?;
    let unreadable =
        |cause: io::Error| CliError::failed(format!("cannot read the log of {target}")).cause(cause);
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
    let watch = if args.follow { Some(Watch::over(dir, &target).map_err(unreadable)?) } else { None };
    let mut woken = Woken::Changed;
    loop {
        view.print(&mut out).map_err(unreadable)?;
        let Some(watch) = &watch else { break };
        // What was printed after the end is all there is.
        if woken != Woken::Changed || !out.is_heard() || !record.exists() {
            break;
        }
        woken = watch.wait();
    }
    if args.window {
        Tmux::of(&home).detach_from(&target.name);
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the end of what a worker or run and its agents said.
pub(super) fn print_last(target: &Target, lines: u64) -> io::Result<()> {
    let mut log = Log { source: Source::Output(target.output()), file: None, number: 0 };
    log.skip_to_last(lines)?;
    log.print(&mut Out::stdout())
}

/// The run that is named, the one that is running here, or the last one here.
fn asked_for(home: &Home, args: &LogsArgs) -> Result<Target, CliError> {
    if let Some(name) = &args.name {
        return target::find(home, name);
    }
    let dir = args.project.dir()?;
    match target::only(target::here(home, &dir)?)? {
        Some(target) => Ok(target),
        None => target::of_run(home, &catalog::find_or_newest(home, None, &dir)?),
    }
}

/// What is printed.
enum View {
    Log(Log),
    /// The events of a run in a terminal: they are in its journal, and in no file of their own.
    Journal {
        run: RunDir,
        lines: Option<u64>,
        printed: Option<usize>,
    },
}

impl View {
    fn of(target: &Target, args: &LogsArgs) -> io::Result<View> {
        let source = match &target.kind {
            Kind::Terminal if args.events => {
                let run = target.run_dir.clone();
                return Ok(View::Journal { run, lines: args.lines, printed: None });
            }
            Kind::Worker { dir, .. } if args.events => Source::Events(dir.iterations()),
            Kind::Worker { .. } | Kind::Terminal => Source::Output(target.output()),
        };
        let mut log = Log { source, file: None, number: 0 };
        if let Some(lines) = args.lines {
            log.skip_to_last(lines)?;
        }
        Ok(View::Log(log))
    }

    fn is_missing(&self) -> bool {
        matches!(self, View::Log(Log { source: Source::Output(log), .. }) if !log.newest().exists())
    }

    /// What was not printed yet.
    fn print(&mut self, out: &mut Out) -> io::Result<()> {
        let (run, lines, printed) = match self {
            View::Log(log) => return log.print(out),
            View::Journal { run, lines, printed } => (run, lines, printed),
        };
        let events = Record::events_of(run).map_err(io::Error::other)?;
        let from = printed.unwrap_or_else(|| {
            let mut left = lines.unwrap_or(u64::MAX);
            last_lines(events.as_bytes(), true, &mut left).unwrap_or(0)
        });
        out.bytes(events.as_bytes().get(from..).unwrap_or_default());
        out.flush();
        *printed = Some(events.len());
        Ok(())
    }
}

/// Where the last `left` lines of a text begin; if it has fewer, nothing, and `left` is what is missing.
/// A newline at the very end ends the last line and begins no other.
fn last_lines(text: &[u8], at_end: bool, left: &mut u64) -> Option<usize> {
    let body = if at_end { text.strip_suffix(b"\n").unwrap_or(text) } else { text };
    if *left == 0 {
        return Some(text.len());
    }
    for (at, _) in body.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n') {
        *left -= 1;
        if *left == 0 {
            return Some(at + 1);
        }
    }
    None
}

enum Source {
    Output(OutputLog),
    /// The events of a worker.
    Events(PathBuf),
}

/// A log that may be written on, go on in another file, be begun anew, or not be there yet.
struct Log {
    source: Source,
    file: Option<File>,
    /// Of the file that is read; 0 before the first.
    number: u32,
}

/// One of its files.
struct Part {
    file: File,
    /// Counted from 1; the newest has the highest.
    number: u32,
    newest: bool,
}

impl Log {
    /// Goes to where the last lines begin; stays before the first part if there are not as many.
    fn skip_to_last(&mut self, lines: u64) -> io::Result<()> {
        const PIECE: usize = 64 << 10;
        let (mut left, mut at_end, mut buffer) = (lines, true, vec![0; PIECE]);
        for part in self.parts()?.into_iter().rev() {
            let mut end = part.file.metadata()?.len();
            while end > 0 || left == 0 {
                let start = end.saturating_sub(PIECE as u64);
                let piece = &mut buffer[..(end - start) as usize];
                part.file.read_exact_at(piece, start)?;
                if let Some(at) = last_lines(piece, at_end, &mut left) {
                    let mut file = part.file;
                    file.seek(SeekFrom::Start(start + at as u64))?;
                    (self.file, self.number) = (Some(file), part.number);
                    return Ok(());
                }
                (end, at_end) = (start, false);
            }
        }
        Ok(())
    }

    fn print(&mut self, out: &mut Out) -> io::Result<()> {
        self.rest(out)?;
        while let Some((part, skips)) = self.next_part()? {
            // What was written there until it was full.
            self.rest(out)?;
            if skips {
                out.line("[ralph] older output is no longer kept (keepStreams)");
            }
            (self.file, self.number) = (Some(part.file), part.number);
            self.rest(out)?;
        }
        Ok(())
    }

    /// The file that comes after the one that is read, and whether some in between are gone.
    fn next_part(&self) -> io::Result<Option<(Part, bool)>> {
        let mut parts = self.parts()?;
        let inode = |file: &File| file.metadata().map(|meta| meta.ino());
        let read = self.file.as_ref().map(inode).transpose()?;
        let inodes: Vec<u64> = parts.iter().map(|part| inode(&part.file)).collect::<io::Result<_>>()?;
        let (next, found) = match inodes.iter().position(|inode| Some(*inode) == read) {
            Some(at) => (Some(at + 1).filter(|next| *next < parts.len()), true),
            None => {
                let later = parts.iter().position(|part| part.number > self.number);
                // Else it was begun anew; if there is no newest either, it is being removed.
                (later.or_else(|| parts.iter().position(|part| part.newest)), false)
            }
        };
        Ok(next.map(|at| {
            let part = parts.swap_remove(at);
            let skips = !found && part.number > self.number.saturating_add(1);
            (part, skips)
        }))
    }

    /// All that there is, oldest first.
    fn parts(&self) -> io::Result<Vec<Part>> {
        let newest = |file, number| Part { file, number, newest: true };
        let log = match &self.source {
            Source::Events(path) => {
                return Ok(open(path)?.map(|file| newest(file, 1)).into_iter().collect());
            }
            Source::Output(log) => log,
        };
        loop {
            let aside = output::put_aside(log);
            let mut parts = Vec::new();
            for (number, path) in &aside {
                parts.extend(open(path)?.map(|file| Part { file, number: *number, newest: false }));
            }
            let last = aside.last().map_or(0, |(number, _)| *number);
            parts.extend(open(&log.newest())?.map(|file| newest(file, last.saturating_add(1))));
            // One that was put aside meanwhile would be missing.
            if output::put_aside(log) == aside {
                return Ok(parts);
            }
        }
    }

    fn rest(&mut self, out: &mut Out) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        if file.metadata()?.len() < file.stream_position()? {
            file.seek(SeekFrom::Start(0))?;
        }
        let mut buffer = vec![0; 64 << 10];
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                n => out.bytes(&buffer[..n]),
            }
        }
        out.flush();
        Ok(())
    }
}

/// A file, if it is there.
fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(cause),
    }
}

/// Wakes up when something happens to a worker's files, when it ends, and when the reader is gone: two
/// hundred panes must cost nothing.
struct Watch {
    #[cfg(target_os = "linux")]
    inotify: rustix::fd::OwnedFd,
    /// Its other end is closed once the worker or run has ended.
    end: PipeReader,
}

/// Where the system cannot tell, or forgets to.
#[cfg(target_os = "linux")]
const LOOK: Duration = Duration::from_secs(30);
#[cfg(not(target_os = "linux"))]
const LOOK: Duration = Duration::from_millis(500);

impl Watch {
    fn over(dir: &Path, target: &Target) -> io::Result<Watch> {
        let end = end_of(target)?;
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
            let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            let changes = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::DELETE;
            add_watch(&inotify, dir, changes)?;
            Ok(Watch { inotify, end })
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = dir;
            Ok(Watch { end })
        }
    }

    /// A reader that has gone is noticed also while nothing is written.
    fn wait(&self) -> Woken {
        let limit = Timespec::try_from(LOOK).ok();
        let gone = PollFlags::ERR | PollFlags::HUP;
        let mut watched = vec![
            PollFd::from_borrowed_fd(rustix::stdio::stdout(), PollFlags::empty()),
            PollFd::new(&self.end, PollFlags::IN),
        ];
        #[cfg(target_os = "linux")]
        watched.push(PollFd::new(&self.inotify, PollFlags::IN));
        let _ = poll(&mut watched, limit.as_ref());
        let [reader, end] = [0, 1].map(|at| watched[at].revents().intersects(gone));
        #[cfg(target_os = "linux")]
        {
            let mut events = [0; 4096];
            while rustix::io::read(&self.inotify, &mut events).is_ok_and(|read| read > 0) {}
        }
        match (reader, end) {
            (true, _) => Woken::ReaderGone,
            (false, true) => Woken::Ended,
            (false, false) => Woken::Changed,
        }
    }
}

#[derive(PartialEq, Eq)]
enum Woken {
    Changed,
    Ended,
    ReaderGone,
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
