//! Files about a run inside its project, written from the facts.
//!
//! They are never read back as truth. What is due is written while the loop waits for the
//! next agent, not between two of them; a resumed run rewrites them from its journal.

use super::story_files::StoryFiles;
use crate::fsx;
use crate::journal;
use crate::layout::{Project, RunDir};
use ralph_loop::dialect::AgentEvent;
use ralph_loop::event::Event;
use ralph_loop::progress;
use ralph_loop::prompt::CONTEXT_CHARS;
use ralph_loop::view::{Moment, Moments, RunView, Update};
use ralph_loop::{Run, State};
use std::io;

#[derive(Default)]
pub struct Projections {
    moments: Moments,
    /// Sections that are not in the file yet.
    due: String,
    /// The end of the progress file, for prompts.
    tail: String,
    /// The length of the file as it was left, once it was written.
    written: Option<u64>,
    /// A write has failed half way.
    torn: bool,
    stories: StoryFiles,
}

impl Projections {
    /// Returns what the event means, for reports of it.
    pub fn follow<'e>(&mut self, run: &'e Run, state: &'e State, event: &'e Event) -> Update<'e> {
        let update = self.moments.follow(run, state, event);
        for moment in &update.moments {
            self.stories.follow(&update, moment);
            if let Moment::IterationEnded { iteration, .. } = moment {
                self.add(&progress::section(iteration));
            }
        }
        update
    }

    /// The agent at work has printed something.
    pub fn agent_printed(&mut self, event: &AgentEvent<'_>, up_ms: u64) {
        self.moments.agent_printed(event, Some(up_ms));
    }

    fn add(&mut self, section: &str) {
        self.due.push_str(section);
        self.tail.push_str(section);
        // One character more than a prompt carries shows that there was more.
        if let Some((cut, _)) = self.tail.char_indices().rev().nth(CONTEXT_CHARS) {
            self.tail.drain(..cut);
        }
    }

    pub fn view(&self, run: &Run, state: &State) -> RunView {
        self.moments.view(run, state)
    }

    /// What earlier stories have taught, the newest last.
    pub fn learnings(&self) -> &[String] {
        self.stories.learned()
    }

    pub fn progress_tail(&self) -> &str {
        &self.tail
    }

    /// Writes what is due. The first time in a process the file is replaced as a whole:
    /// another run's, or one that a crash has torn. An agent that tidies up takes the file
    /// with it, or a part of it; then it is rewritten from `journal`.
    pub fn write(&mut self, project: &Project, journal: &RunDir) -> io::Result<()> {
        // A project that an agent has removed is not made again.
        if !project.dir().is_dir() {
            return Ok(());
        }
        self.stories.write(project)?;
        let path = project.progress();
        match self.written {
            Some(_) if self.due.is_empty() => return Ok(()),
            Some(length)
                if path.symlink_metadata().is_ok_and(|file| file.is_file() && file.len() == length) =>
            {
                fsx::check_inside(project.dir(), &project.ralph_dir())?;
                (self.written, self.torn) = (None, true); // until it is known to be whole again
                fsx::append_unlinked(&path, self.due.as_bytes())?;
                (self.written, self.torn) = (Some(length + self.due.len() as u64), false);
            }
            Some(_) => self.replace(project, &whole(journal)?)?,
            None if self.torn => self.replace(project, &whole(journal)?)?,
            None => {
                let due = std::mem::take(&mut self.due);
                self.replace(project, &due)?;
            }
        }
        self.due.clear();
        Ok(())
    }

    fn replace(&mut self, project: &Project, text: &str) -> io::Result<()> {
        // If it fails, the file is in an unknown state and the next attempt starts over.
        self.torn = true;
        self.written = None;
        fsx::dir_inside(project.dir(), &project.ralph_dir())?;
        fsx::write_whole(&project.progress(), text.as_bytes())?;
        self.written = Some(text.len() as u64);
        self.torn = false;
        Ok(())
    }
}

/// The whole file, from the journal.
fn whole(journal: &RunDir) -> io::Result<String> {
    let (mut moments, mut text) = (Moments::default(), String::new());
    let replayed = journal::replay(journal, |run, state, event| {
        if let Some(iteration) = moments.iteration(run, state, event) {
            text.push_str(&progress::section(&iteration));
        }
    });
    replayed.map(|_| text).map_err(io::Error::other)
}
