//! A run as any process can watch it: its journal, and what its agents print.
//!
//! What the loop's own reporter gets, another process gets from here, live or later: the facts
//! from the journal, the agents' words from the streams that are kept anyway, read by the same
//! dialect. The two are not timed against each other: of what came while an agent worked, facts
//! that are already written come first.

use super::read::{Fold, JournalError};
use crate::growing_log::{GrowingLog, Piece, Source};
use crate::layout::RunDir;
use crate::report::Reporter;
use ralph_loop::Run;
use ralph_loop::dialect::{Dialect, Invocation, Lines, ScanFor, StreamReader, Wants, command_line};
use ralph_loop::event::{Fact, Step, StepId};
use ralph_loop::run::AgentSpec;
use ralph_loop::view::{ItemView, Moments, RunView, items};
use std::io;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum FollowError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("cannot read what an agent has printed")]
    Stream(#[from] io::Error),
}

pub struct Follower {
    run_dir: RunDir,
    fold: Fold,
    moments: Moments,
    /// Of the agent at work.
    stream: Option<AgentStream>,
    /// The iterations whose streams are read.
    wanted: RangeInclusive<u32>,
    /// So much of a stream that has grown before it is read.
    most: u64,
    gone: Gone,
}

/// Streams that are no longer kept are mentioned once, until one is there again.
#[derive(Default)]
struct Gone {
    mentioned: bool,
}

impl Follower {
    pub fn open(run_dir: &RunDir) -> Result<Follower, JournalError> {
        let fold = Fold::open(run_dir)?;
        let moments = Moments::default();
        let (run_dir, wanted, gone) = (run_dir.clone(), 0..=u32::MAX, Gone::default());
        Ok(Follower { run_dir, fold, moments, stream: None, wanted, most: u64::MAX, gone })
    }

    /// Leaves out what the agents of other iterations have printed. Facts are all reported.
    pub fn with_streams_of(self, wanted: RangeInclusive<u32>) -> Follower {
        Follower { wanted, ..self }
    }

    /// Leaves out the beginning of a stream that is already longer than this. What the agent at work has used so
    /// far is then in [`written`](super::written), and not in the view of this follower.
    pub fn with_at_most(self, most: u64) -> Follower {
        Follower { most, ..self }
    }

    /// Reports everything that has come since this was last called.
    pub fn read(&mut self, reporter: &mut dyn Reporter) -> Result<(), FollowError> {
        while let Some((run, state, event)) = self.fold.next()? {
            // What an agent has printed is kept before its end is written.
            let over = |stream: &mut AgentStream| stream.is_ended_by(&event.fact);
            if let Some(mut stream) = self.stream.take_if(over) {
                stream.read(self.most, &mut self.moments, reporter)?;
                self.gone.note(stream.exists(), reporter);
                stream.finish(reporter);
            }
            reporter.update(&self.moments.follow(run, state, &event));
            if let Fact::Began { id, step } = &event.fact {
                let stream = AgentStream::of(run, &self.run_dir, *id, step);
                let stream = stream.filter(|stream| self.wanted.contains(&stream.iteration));
                self.stream = stream.or(self.stream.take());
            }
        }
        if let Some(stream) = &mut self.stream {
            stream.read(self.most, &mut self.moments, reporter)?;
        }
        reporter.rest();
        Ok(())
    }

    /// Goes to the end of the journal. Of what agents have printed, only the one at work is left to
    /// be read.
    pub fn skip_to_now(&mut self) -> Result<(), JournalError> {
        while let Some((run, state, event)) = self.fold.next()? {
            self.moments.follow(run, state, &event);
            self.stream.take_if(|stream| stream.is_ended_by(&event.fact));
            if let Fact::Began { id, step } = &event.fact {
                self.stream = AgentStream::of(run, &self.run_dir, *id, step).or(self.stream.take());
            }
        }
        Ok(())
    }

    /// The run as it is now, with what its agent is doing; nothing before its first event.
    pub fn view(&self) -> Option<RunView> {
        let (run, state) = self.fold.now()?;
        Some(self.moments.view(run, state))
    }

    /// The pieces of work of its plan.
    pub fn items(&self) -> Vec<ItemView> {
        self.fold.now().map_or_else(Vec::new, |(run, state)| items(run, state))
    }
}

impl Gone {
    fn note(&mut self, exists: bool, reporter: &mut dyn Reporter) {
        if !exists && !self.mentioned {
            reporter.aside("[ralph] older output is no longer kept (keepStreams)");
        }
        self.mentioned = !exists;
    }
}

/// What one agent prints.
struct AgentStream {
    step: StepId,
    iteration: u32,
    stdout: GrowingLog,
    stderr: GrowingLog,
    reader: StreamReader,
    stderr_lines: Lines,
    begun: bool,
}

impl AgentStream {
    /// Of a step that has an agent.
    fn of(run: &Run, run_dir: &RunDir, id: StepId, step: &Step) -> Option<AgentStream> {
        let (iteration, agent, wants, [stdout, stderr]) = match step {
            Step::Agent { iteration, attempt, agent, .. } => {
                let files = [run_dir.stdout(*iteration, *attempt), run_dir.stderr(*iteration, *attempt)];
                (iteration, agent, Wants::Events, files)
            }
            Step::Message { iteration, agent } => {
                let files = [run_dir.message(*iteration), run_dir.message_stderr(*iteration)];
                (iteration, agent, Wants::LastWords { file: "" }, files)
            }
            Step::Snapshot { .. }
            | Step::Check { .. }
            | Step::Prepare { .. }
            | Step::Setup { .. }
            | Step::Scm { .. }
            | Step::CommitWorktree
            | Step::Plan { .. }
            | Step::Uncommitted { .. }
            | Step::Restore { .. } => return None,
        };
        let dialect = run.agents.get(*agent).map_or(Dialect::Plain, |agent| output_of(agent, wants));
        let log = |path: PathBuf| GrowingLog::of(Source::Stream(path));
        Some(AgentStream {
            step: id,
            iteration: *iteration,
            stdout: log(stdout),
            stderr: log(stderr),
            // The prompt is only needed to tell claims from an echo of it.
            reader: StreamReader::new(dialect, "", ScanFor::Completion),
            stderr_lines: Lines::default(),
            begun: false,
        })
    }

    fn is_ended_by(&self, fact: &Fact) -> bool {
        match fact {
            Fact::Ended { id, .. } => *id == self.step,
            // What was in flight is gone.
            Fact::Resumed { .. } => true,
            _ => false,
        }
    }

    fn exists(&self) -> bool {
        self.stdout.exists()
    }

    /// `most`: of what is already there when it is read for the first time.
    fn read(&mut self, most: u64, moments: &mut Moments, reporter: &mut dyn Reporter) -> io::Result<()> {
        if !std::mem::replace(&mut self.begun, true) {
            if self.stdout.skip_to_last_bytes(most)? {
                reporter.aside("[ralph] earlier output of this iteration is left out; `ralph logs` has it");
            }
            self.stderr.skip_to_last_bytes(most)?;
        }
        let AgentStream { stdout, stderr, reader, stderr_lines, .. } = self;
        stdout.read(&mut |piece| match piece {
            Piece::Bytes(bytes) => reader.feed(bytes, &mut |event| {
                moments.agent_printed(&event, None);
                reporter.agent(&event);
            }),
            Piece::Gap => {
                reporter.aside("[ralph] some of the agent's output is no longer kept (keepStreams)");
            }
        })?;
        stderr.read(&mut |piece| {
            if let Piece::Bytes(bytes) = piece {
                stderr_lines.feed(bytes, &mut |line| reporter.agent_stderr_line(&line));
            }
        })
    }

    fn finish(mut self, reporter: &mut dyn Reporter) {
        self.stderr_lines.finish(&mut |line| reporter.agent_stderr_line(&line));
        self.reader.finish(&mut |event| reporter.agent(&event));
    }
}

/// What an agent's output is read as: its own arguments may have asked for text.
fn output_of(agent: &AgentSpec, wants: Wants<'_>) -> Dialect {
    let AgentSpec { dialect, program, args, model, autonomous, .. } = agent;
    let invocation = Invocation {
        session: None,
        budget: None,
        hooks: None,
        program,
        args,
        model: model.as_deref(),
        autonomous: *autonomous,
        sandboxed: false,
        wants,
    };
    command_line(*dialect, &invocation, "", "").map_or(Dialect::Plain, |line| line.output)
}
