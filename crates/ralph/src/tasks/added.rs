//! One writer of a task list at a time, and which stories were added to it lately.
//!
//! An agent that has read the list before a story was added overwrites the list without it, and a
//! list that is put back knows nothing of it. So additions are noted in the lock's own file, in
//! ralph's home, until the journal of a run has them.

use crate::layout::{Home, TasksDir};
use crate::lock::EditLock;
use ralph_loop::task_list::{Story, TaskList};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The stories that were added to a list and may be missing in it, and the lock on that list.
pub struct Added {
    /// Nothing if another process would not let go of it.
    lock: Option<EditLock>,
    stories: Vec<Story>,
}

impl Added {
    /// For a command: waits for other writers.
    pub fn wait(home: &Home, dir: &TasksDir) -> io::Result<Added> {
        Added::under(EditLock::wait(&home.task_list_lock(dir.dir()))?)
    }

    /// For a loop: nothing if another process has the lock right now.
    pub fn now(lock: &LockPath) -> io::Result<Option<Added>> {
        EditLock::try_now(&lock.0)?.map(Added::under).transpose()
    }

    /// Waits a while. Writers hold the lock for milliseconds; one that was stopped must not stop
    /// a loop as well.
    pub fn soon(lock: &LockPath) -> io::Result<Added> {
        const PATIENCE: Duration = Duration::from_secs(10);
        match EditLock::within(&lock.0, PATIENCE)? {
            Some(held) => Added::under(held),
            None => Ok(Added { lock: None, stories: noted(&EditLock::look(&lock.0)?) }),
        }
    }

    fn under(mut lock: EditLock) -> io::Result<Added> {
        let stories = noted(&lock.content()?);
        Ok(Added { lock: Some(lock), stories })
    }

    /// Without a lock, of a list without additions.
    pub fn nothing() -> Added {
        Added { lock: None, stories: Vec::new() }
    }

    pub fn stories(&self) -> &[Story] {
        &self.stories
    }

    pub fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// Before the list is written: of a writer that is killed in between the story is there as well.
    pub fn note(&mut self, story: Story) -> io::Result<()> {
        self.stories.push(story);
        self.write()
    }

    /// Forgets the stories that need not be looked after any more.
    pub fn retain(&mut self, wanted: impl Fn(&Story) -> bool) -> io::Result<()> {
        let before = self.stories.len();
        self.stories.retain(wanted);
        if self.stories.len() < before { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        let Some(lock) = &mut self.lock else { return Ok(()) };
        match self.stories.is_empty() {
            true => lock.set_content(b""),
            false => lock.set_content(TaskList::of(self.stories.clone()).to_text().as_bytes()),
        }
    }
}

/// What a writer that was killed has left half written does not count.
fn noted(content: &str) -> Vec<Story> {
    TaskList::parse(content).map(|list| list.stories).unwrap_or_default()
}

/// Where the lock of a list is.
#[derive(Clone, Debug)]
pub struct LockPath(PathBuf);

impl LockPath {
    pub fn of(home: &Home, dir: &TasksDir) -> LockPath {
        LockPath(home.task_list_lock(dir.dir()))
    }
}
