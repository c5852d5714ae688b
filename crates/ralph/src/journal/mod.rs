//! The record of a run: one line a fact, appended before the next step begins.
//!
//! A fact counts once its line is whole; a torn last line never happened. What has been
//! written survives the end of the process at once and a power cut within a moment: the
//! disk is synced beside the loop, and awaited only where [`Journal::settle`] is called.

mod follow;
mod read;
mod sync;
mod view_file;

pub use follow::{FollowError, Follower};
pub use read::{Entry, JournalError, Reader, Replayed, UnreadableRun, has_lines, opened, replay, sealed};
pub use view_file::{fold, view, written};

use crate::layout::RunDir;
use ralph_loop::event::Event;
use ralph_loop::view::RunView;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use sync::Syncer;

pub struct Journal {
    file: File,
    /// The length up to the end of the last whole line.
    whole: u64,
    line: Vec<u8>,
    syncer: Syncer,
}

impl Journal {
    /// A journal that does not exist yet.
    #[expect(clippy::disallowed_methods, reason = "the journal writes state")]
    pub fn create(run: &RunDir) -> io::Result<Journal> {
        let file = fs_err::OpenOptions::new().append(true).create_new(true).open(run.journal())?;
        Journal::over(file.into_parts().0, 0)
    }

    /// Takes a journal up after its last whole line; a torn one is cut off.
    #[expect(clippy::disallowed_methods, reason = "the journal writes state")]
    pub fn reopen(run: &RunDir, whole: u64) -> io::Result<Journal> {
        let file = fs_err::OpenOptions::new().append(true).open(run.journal())?.into_parts().0;
        file.set_len(whole)?;
        Journal::over(file, whole)
    }

    fn over(file: File, whole: u64) -> io::Result<Journal> {
        let syncer = Syncer::start(file.try_clone()?);
        Ok(Journal { file, whole, line: Vec::new(), syncer })
    }

    pub fn append(&mut self, event: &Event) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, event)?;
        self.line.push(b'\n');
        self.drop_what_others_wrote()?;
        if let Err(cause) = self.file.write_all(&self.line) {
            // Half a line would be dropped on replay; take it back so that it is not even
            // there. If that fails too, replay still drops it.
            let _ = self.file.set_len(self.whole);
            let _ = self.file.seek(SeekFrom::End(0));
            return Err(cause);
        }
        self.whole += self.line.len() as u64;
        self.syncer.nudge();
        Ok(())
    }

    /// Only the loop writes here: what another process has added, such as an agent, never happened.
    fn drop_what_others_wrote(&self) -> io::Result<()> {
        match self.file.metadata()?.len() {
            length if length > self.whole => self.file.set_len(self.whole),
            length if length < self.whole => Err(io::Error::other("another process has truncated it")),
            _ => Ok(()),
        }
    }

    /// Writes what the run looks like beside the journal. A view that cannot be written is folded from
    /// the journal by its readers.
    pub fn write_view(&self, run: &RunDir, view: &RunView) {
        let _ = view_file::write(run, &self.file, view);
    }

    /// What returns once everything written so far is on the disk, wherever it is called.
    pub fn settling(&self) -> io::Result<impl FnOnce() -> io::Result<()> + Send + use<>> {
        let file = self.file.try_clone()?;
        Ok(move || file.sync_data())
    }

    /// Returns once everything written so far is on the disk.
    pub fn settle(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
