//! Files that tell of a run inside its project, written from the facts.
//!
//! They are never read back as truth. What is due is written while the loop waits for the
//! next agent, not between two of them; a resumed run writes them anew from its journal.

use crate::fsx;
use crate::layout::Project;
use ralph_loop::Run;
use ralph_loop::event::Event;
use ralph_loop::history::History;
use ralph_loop::progress;
use ralph_loop::prompt::CONTEXT_CHARS;
use std::io;

#[derive(Default)]
pub struct Projections {
    history: History,
    /// Sections that are not in the file yet.
    due: String,
    /// The end of the progress file, for prompts; at least what they may carry.
    tail: String,
    whole: bool,
}

impl Projections {
    pub fn follow(&mut self, run: &Run, event: &Event) {
        let Some(iteration) = self.history.follow(run, event) else { return };
        let section = progress::section(&iteration);
        self.due.push_str(&section);
        self.tail.push_str(&section);
        // Four bytes a character at most; kept at twice that, so that cutting is rare.
        const ENOUGH: usize = CONTEXT_CHARS * 4;
        if self.tail.len() > 2 * ENOUGH {
            let cut = self.tail.ceil_char_boundary(self.tail.len() - ENOUGH);
            self.tail.drain(..cut);
        }
    }

    pub fn progress_tail(&self) -> &str {
        &self.tail
    }

    /// Writes what is due. The first time in a process the file is replaced as a whole:
    /// another run's, or one that a crash has torn.
    pub fn write(&mut self, project: &Project) -> io::Result<()> {
        if self.whole && self.due.is_empty() {
            return Ok(());
        }
        let path = project.progress();
        if self.whole {
            fsx::append(&path, self.due.as_bytes())?;
        } else {
            fsx::dir(&project.ralph_dir())?;
            fsx::write_whole(&path, self.due.as_bytes())?;
            self.whole = true;
        }
        self.due.clear();
        Ok(())
    }
}
