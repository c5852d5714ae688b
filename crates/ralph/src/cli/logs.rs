//! `ralph logs`: what a worker and its agents say.

use super::home;
use crate::error::CliError;
use crate::layout::WorkerDir;
use crate::report::Out;
use crate::seat::output;
use crate::seat::workers::find;
use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args)]
#[command(after_help = "\
Examples:
  ralph logs agent --follow
  ralph logs agent --events | grep FAIL")]
pub struct LogsArgs {
    /// The worker
    name: String,
    /// Go on as more is written, over iterations and restarts, until Ctrl+C
    #[arg(short, long)]
    follow: bool,
    /// The starts and ends of iterations instead of the output
    #[arg(long)]
    events: bool,
}

pub fn logs(args: &LogsArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let worker = find(&home, &args.name)?;
    let unreadable = |cause: io::Error| {
        CliError::failed(format!("cannot read the log of worker '{}'", worker.name)).cause(cause)
    };
    let mut out = Out::stdout();
    let mut log = Log { dir: worker.dir.clone(), events: args.events, file: None, number: 0 };
    // Watched before it is read, so that nothing falls in between.
    let watch = if args.follow { Some(Watch::over(worker.dir.dir()).map_err(unreadable)?) } else { None };
    loop {
        log.print(&mut out).map_err(unreadable)?;
        let Some(watch) = &watch else { break };
        // Without its record a worker is gone for good.
        if !out.is_heard() || !worker.dir.record().exists() || watch.wait() == Reader::Gone {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A log that may be written on, go on in another file, be begun anew, or not be there yet.
struct Log {
    dir: WorkerDir,
    events: bool,
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
        if self.events {
            return Ok(open(&self.dir.iterations())?.map(|file| newest(file, 1)).into_iter().collect());
        }
        loop {
            let aside = output::put_aside(&self.dir);
            let mut parts = Vec::new();
            for (number, path) in &aside {
                parts.extend(open(path)?.map(|file| Part { file, number: *number, newest: false }));
            }
            let last = aside.last().map_or(0, |(number, _)| *number);
            parts.extend(open(&self.dir.output())?.map(|file| newest(file, last.saturating_add(1))));
            // One that was put aside meanwhile would be missing.
            if output::put_aside(&self.dir) == aside {
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

/// Wakes up when something happens to a worker's files: two hundred panes must cost nothing.
struct Watch {
    #[cfg(target_os = "linux")]
    inotify: rustix::fd::OwnedFd,
}

/// Where the system cannot tell, or forgets to.
#[cfg(target_os = "linux")]
const LOOK: Duration = Duration::from_secs(30);
#[cfg(not(target_os = "linux"))]
const LOOK: Duration = Duration::from_millis(500);

impl Watch {
    #[cfg(target_os = "linux")]
    fn over(dir: &Path) -> io::Result<Watch> {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let changes = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::DELETE;
        add_watch(&inotify, dir, changes)?;
        Ok(Watch { inotify })
    }

    #[cfg(not(target_os = "linux"))]
    fn over(_: &Path) -> io::Result<Watch> {
        Ok(Watch {})
    }

    /// A reader that has gone is noticed also while nothing is written.
    fn wait(&self) -> Reader {
        let limit = Timespec::try_from(LOOK).ok();
        let mut watched = vec![PollFd::from_borrowed_fd(rustix::stdio::stdout(), PollFlags::empty())];
        #[cfg(target_os = "linux")]
        watched.push(PollFd::new(&self.inotify, PollFlags::IN));
        let _ = poll(&mut watched, limit.as_ref());
        let gone = watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP);
        #[cfg(target_os = "linux")]
        {
            let mut events = [0; 4096];
            while rustix::io::read(&self.inotify, &mut events).is_ok_and(|read| read > 0) {}
        }
        if gone { Reader::Gone } else { Reader::There }
    }
}

#[derive(PartialEq, Eq)]
enum Reader {
    There,
    Gone,
}
