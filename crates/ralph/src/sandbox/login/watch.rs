//! Keeps logins up to date while agents run.
//!
//! A thread that sleeps until a file of a login is replaced, inside or outside, or until a step has ended.
//! It wakes up at most once a second, whatever else is written to the same directories. The system lets a
//! user watch from few processes only; in others it looks every two seconds.

use super::Login;
use std::sync::Arc;

/// Ends with this value.
#[derive(Debug)]
pub struct Watch {
    #[cfg(target_os = "linux")]
    thread: Option<linux::Thread>,
}

impl Watch {
    /// `report` is given what people should know. Without a login there is nothing to watch, and elsewhere than
    /// on Linux logins are brought up to date after each step only.
    pub fn start(logins: Vec<Arc<Login>>, report: impl Fn(Vec<String>) + Send + 'static) -> Watch {
        #[cfg(target_os = "linux")]
        return Watch { thread: linux::Thread::start(logins, report).ok() };
        #[cfg(not(target_os = "linux"))]
        {
            let _ = (logins, report);
            Watch {}
        }
    }
}

impl Watch {
    /// Looks at the logins soon. Returns whether it will.
    pub fn nudge(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.thread.as_ref().is_some_and(linux::Thread::nudge);
        #[cfg(not(target_os = "linux"))]
        false
    }
}

#[cfg(target_os = "linux")]
impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.end();
        }
    }
}

#[cfg(target_os = "linux")]
pub(super) mod linux {
    use super::Login;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
    use rustix::io::Errno;
    use rustix::pipe::{PipeFlags, pipe_with};
    use std::collections::BTreeSet;
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::thread::JoinHandle;

    /// Between two looks.
    const PAUSE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
    /// How often to look where nothing says that something has changed.
    const INTERVAL: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

    #[derive(Debug)]
    pub struct Thread {
        /// Written to for a look, and closed to end it.
        orders: OwnedFd,
        thread: JoinHandle<()>,
    }

    impl Thread {
        pub fn start(
            logins: Vec<Arc<Login>>,
            report: impl Fn(Vec<String>) + Send + 'static,
        ) -> io::Result<Thread> {
            if !files_of(&logins).any(|file| file.exists()) {
                return Err(io::ErrorKind::NotFound.into());
            }
            let changes = changes_of(&logins).ok();
            Thread::start_with(logins, changes, report)
        }

        /// Without `changes`, it looks again and again.
        pub fn start_with(
            logins: Vec<Arc<Login>>,
            changes: Option<OwnedFd>,
            report: impl Fn(Vec<String>) + Send + 'static,
        ) -> io::Result<Thread> {
            let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
            let (ordered, orders) = pipe_with(flags)?;
            let thread = std::thread::Builder::new().name("logins".to_owned());
            let thread = thread.spawn(move || watch(&logins, changes.as_ref(), &ordered, &report))?;
            Ok(Thread { orders, thread })
        }

        /// A pipe that is full has a nudge in it already.
        pub fn nudge(&self) -> bool {
            matches!(rustix::io::write(&self.orders, b"x"), Ok(_) | Err(Errno::AGAIN))
        }

        pub fn end(self) {
            drop(self.orders);
            // It only ever waits for this.
            let _ = self.thread.join();
        }
    }

    /// Tells of changes in the directories of logins.
    fn changes_of(logins: &[Arc<Login>]) -> io::Result<OwnedFd> {
        let changes = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        for dir in directories(logins) {
            let flags = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::DELETE;
            match inotify::add_watch(&changes, dir, flags | WatchFlags::ONLYDIR) {
                // Nothing can change in a directory that is not there.
                Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(cause) => return Err(cause.into()),
            }
        }
        Ok(changes)
    }

    fn directories(logins: &[Arc<Login>]) -> BTreeSet<PathBuf> {
        files_of(logins).filter_map(|file| file.parent().map(PathBuf::from)).collect()
    }

    /// On both sides.
    fn files_of(logins: &[Arc<Login>]) -> impl Iterator<Item = &PathBuf> {
        let pairs = logins.iter().flat_map(|login| login.pairs.iter());
        pairs.flat_map(|pair| [&pair.original, &pair.copy])
    }

    fn watch(
        logins: &[Arc<Login>],
        changes: Option<&OwnedFd>,
        ordered: &OwnedFd,
        report: &dyn Fn(Vec<String>),
    ) {
        loop {
            let mut both: Vec<PollFd<'_>> = [Some(ordered), changes]
                .into_iter()
                .flatten()
                .map(|fd| PollFd::new(fd, PollFlags::IN))
                .collect();
            let longest = if changes.is_none() { Some(&INTERVAL) } else { None };
            match poll(&mut both, longest) {
                Err(Errno::INTR) => continue,
                Err(_) => return,
                Ok(_) => {}
            }
            let order = read_orders(ordered);
            let changed = changes.is_none_or(|changes| names_login(logins, changes));
            if order == Order::End {
                return;
            }
            if changed || order == Order::Look {
                let said: Vec<String> = logins.iter().flat_map(|login| login.sync()).collect();
                if !said.is_empty() {
                    report(said);
                }
            }
            let mut orders = [PollFd::new(ordered, PollFlags::empty())];
            // Only the end is seen without asking for input.
            let _ = poll(&mut orders, Some(&PAUSE));
        }
    }

    #[derive(PartialEq, Eq)]
    enum Order {
        None,
        Look,
        End,
    }

    fn read_orders(ordered: &OwnedFd) -> Order {
        let mut order = Order::None;
        let mut buffer = [0; 64];
        loop {
            match rustix::io::read(ordered, &mut buffer) {
                Ok(0) => return Order::End,
                Ok(_) => order = Order::Look,
                Err(Errno::INTR) => {}
                Err(_) => return order,
            }
        }
    }

    /// Whether one of the files that changed is a login. Reads all changes.
    fn names_login(logins: &[Arc<Login>], changes: &OwnedFd) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(changes, &mut buffer);
        let mut found = false;
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| name.to_bytes().to_vec());
            // Too many changes to list them have no name.
            let is_login = |name: &[u8]| {
                let names = files_of(logins).filter_map(|file| file.file_name());
                names.into_iter().any(|file| file.as_encoded_bytes() == name)
            };
            found = found || name.is_none_or(|name| is_login(&name));
        }
        found
    }
}
