//! What a run in a terminal shows, for `ralph logs`: complete, whatever that terminal shows.

use crate::journal::{FollowError, Follower, JournalError};
use crate::layout::RunDir;
use crate::report::{Human, Out, Reporter, Style};
use crate::session;
use ralph_loop::view::{Moment, Update};
use std::collections::VecDeque;
use std::io::{self, Write};

pub(super) struct RunLog {
    follower: Follower,
    human: WithClosingLines,
}

impl RunLog {
    /// With no more than so many lines of what there is at first.
    pub(super) fn open(run: &RunDir, lines: Option<u64>) -> Result<RunLog, JournalError> {
        let writer = LastLines::of(lines);
        let human = WithClosingLines(Human::to_writer(Box::new(writer), Style::of_stdout()));
        Ok(RunLog { follower: Follower::open(run)?, human })
    }

    /// What was not printed yet.
    pub(super) fn print(&mut self) -> Result<(), FollowError> {
        self.follower.read(&mut self.human)
    }
}

/// A life of a run ends with the lines that its terminal ends with.
struct WithClosingLines(Human);

impl Reporter for WithClosingLines {
    fn behind(&mut self) -> Option<&mut dyn Reporter> {
        Some(&mut self.0)
    }

    fn update(&mut self, update: &Update<'_>) {
        self.0.update(update);
        if let [Moment::Stopped { stopped, .. }] = update.moments[..] {
            self.0.close(&session::summary(update.run, update.state, stopped, &update.run.id));
        }
    }
}

/// Standard output, at first only the last lines of what is written until it is flushed.
struct LastLines {
    out: Out,
    held: Option<Held>,
}

struct Held {
    lines: VecDeque<Vec<u8>>,
    most: usize,
}

impl LastLines {
    fn of(lines: Option<u64>) -> LastLines {
        let most = lines.map(|lines| usize::try_from(lines).unwrap_or(usize::MAX));
        LastLines { out: Out::stdout(), held: most.map(|most| Held { lines: VecDeque::new(), most }) }
    }
}

impl Held {
    fn add(&mut self, bytes: &[u8]) {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            match self.lines.back_mut().filter(|last| !last.ends_with(b"\n")) {
                Some(last) => last.extend_from_slice(line),
                None => self.lines.push_back(line.to_vec()),
            }
            if self.lines.len() > self.most {
                self.lines.pop_front();
            }
        }
    }
}

impl Write for LastLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.held {
            Some(held) => held.add(bytes),
            None => self.out.bytes(bytes),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(held) = self.held.take() {
            held.lines.iter().for_each(|line| self.out.bytes(line));
        }
        self.out.flush();
        Ok(())
    }
}
