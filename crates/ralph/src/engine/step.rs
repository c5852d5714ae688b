//! A step that runs a program, from its start to the fact that ends it.

use super::activity::Activity;
use super::check_log::{LogGuard, window};
use super::log_pipe::LogPipe;
use super::pipe::{self, Got};
use super::raw_log::RawLog;
use super::service;
use super::streams::Room;
use crate::fsx;
use crate::handed::HandedFile;
use crate::layout::Project;
use crate::report::{self, Reporter};
use crate::texts::Texts;
use jiff::Zoned;
use ralph_loop::Run;
use ralph_loop::ask::Silence;
use ralph_loop::check::{CheckEnd, CheckSpec, Excerpt};
use ralph_loop::dialect::{
    self, AgentEvent, Answer, Awaited, Blocker, Complaint, Dialect, Exit, Line, Lines, StreamReader,
    StreamSummary,
};
use ralph_loop::event::{AgentEnd, End};
use ralph_loop::price::{self, Price};
use ralph_loop::proof::Round;
use ralph_loop::secrets::{Fragments, MaskedStream};
use ralph_loop::summary;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};
use tokio::net::unix::pipe::Receiver;

/// How the program of a step has ended.
#[derive(Clone, Copy)]
pub(super) struct ProgramEnd {
    pub(super) exit: Exit,
    pub(super) by: EndedBy,
    /// Processes that it had left behind and that were ended.
    pub(super) swept: u32,
}

/// What made a program end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EndedBy {
    Itself,
    /// Ralph: the agent had answered, and did not exit.
    RalphAfterAnswer,
    Ralph,
}

/// An agent at work.
pub(super) struct AgentStep {
    pub(super) stdout: Option<Receiver>,
    pub(super) stderr: Option<Receiver>,
    /// What its output is read as.
    pub(super) dialect: Dialect,
    /// Which program it is.
    pub(super) program: Dialect,
    pub(super) reader: StreamReader,
    /// For a stream that has its text in fragments as well: what is kept of standard output.
    pub(super) fragments: Option<Fragments>,
    /// Everything passes here before it is read or kept.
    pub(super) masked_out: Option<MaskedStream>,
    pub(super) masked_err: Option<MaskedStream>,
    pub(super) stderr_lines: Lines,
    /// The first line there that refuses to start.
    pub(super) complaint: Option<Complaint>,
    pub(super) raw_out: RawLog,
    pub(super) raw_err: RawLog,
    pub(super) room: Room,
    /// The user was warned that not all of its output is kept.
    pub(super) gap_warned: bool,
    pub(super) prompt: String,
    /// Where it reads its prompt, if that is not in the record.
    pub(super) handed: Vec<HandedFile>,
    pub(super) price: Option<Price>,
    pub(super) started: Instant,
    pub(super) activity: Activity,
    pub(super) silence_recorded: bool,
    /// Answers in its stream, and how many of them are recorded.
    pub(super) answers: u32,
    pub(super) answers_recorded: u32,
    /// What keeps it from going on, as recorded.
    pub(super) hindrance_recorded: Hindrance,
    /// The first failure to keep what the agent printed.
    pub(super) problem: Option<io::Error>,
}

/// What keeps an agent from going on. A person may be needed for one thing after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hindrance {
    pub(super) by: Option<Blocker>,
    pub(super) awaited: Option<Awaited>,
}

/// How long one of an agent's pipes is read before the loop looks at anything else: long beside
/// what a look costs, short beside what a person notices.
const TURN: Duration = Duration::from_millis(20);

/// Which of an agent's pipes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Stdout,
    Stderr,
}

impl AgentStep {
    /// Reads what is there: kept as it is, shown as events. Stops when both pipes are dry, or
    /// after a moment, so that signals and timers get their turn. False if it could not be kept.
    pub(super) fn pump(&mut self, buffer: &mut [u8], reporter: &mut dyn Reporter) -> bool {
        for source in [Source::Stdout, Source::Stderr] {
            let began = Instant::now();
            while self.read(source, buffer, reporter) && began.elapsed() < TURN {}
        }
        reporter.rest();
        self.problem.is_none()
    }

    /// Ready when one of its pipes can be read.
    pub(super) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<()> {
        for pipe in [&self.stdout, &self.stderr].into_iter().flatten() {
            // An error shows again when the pipe is read, which ends it.
            if pipe.poll_read_ready(cx).is_ready() {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }

    /// When it will have been silent for too long.
    pub(super) fn silent_at(&self) -> Option<Instant> {
        // An agent that waits for its service is expected to be silent.
        let counts = !self.silence_recorded && self.hindrance_recorded.by.is_none();
        self.activity.deadline().filter(|_| counts)
    }

    /// The silence that is too long, if it is; returned once.
    pub(super) fn fell_silent(&mut self) -> Option<Silence> {
        let silence = self.activity.silent(Instant::now())?;
        self.silence_recorded = true;
        Some(silence)
    }

    /// False if there is nothing more for now.
    fn read(&mut self, source: Source, buffer: &mut [u8], reporter: &mut dyn Reporter) -> bool {
        let from = match source {
            Source::Stdout => &mut self.stdout,
            Source::Stderr => &mut self.stderr,
        };
        let Some(pipe) = from else { return false };
        match pipe::try_read(pipe, buffer) {
            Got::Bytes(n) => {
                self.take(source, &buffer[..n], reporter);
                true
            }
            Got::Dry => false,
            Got::End => {
                *from = None;
                false
            }
        }
    }

    /// Whether it has answered since this was last asked.
    pub(super) fn has_answered(&mut self) -> bool {
        std::mem::replace(&mut self.answers_recorded, self.answers) < self.answers
    }

    /// What keeps it from going on now, if that has changed since this was last asked.
    pub(super) fn newly_blocked(&mut self) -> Option<Hindrance> {
        let (by, awaited) = (self.reader.blocked(), self.reader.awaited());
        if (by, awaited) == (self.hindrance_recorded.by, self.hindrance_recorded.awaited.as_ref()) {
            return None;
        }
        self.hindrance_recorded = Hindrance { by, awaited: awaited.cloned() };
        Some(self.hindrance_recorded.clone())
    }

    fn take(&mut self, source: Source, bytes: &[u8], reporter: &mut dyn Reporter) {
        self.activity.heard(bytes, Instant::now());
        // Lent out: what is passed on may be in its own memory.
        let Some(mut stream) = self.masked(source).take() else { return };
        self.take_masked(source, stream.feed(bytes), reporter);
        *self.masked(source) = Some(stream);
    }

    /// Takes what was held back because it could have been the beginning of a secret.
    fn take_held(&mut self, source: Source, reporter: &mut dyn Reporter) {
        if let Some(mut stream) = self.masked(source).take() {
            self.take_masked(source, stream.finish(), reporter);
        }
    }

    fn masked(&mut self, source: Source) -> &mut Option<MaskedStream> {
        match source {
            Source::Stdout => &mut self.masked_out,
            Source::Stderr => &mut self.masked_err,
        }
    }

    fn take_masked(&mut self, source: Source, bytes: &[u8], reporter: &mut dyn Reporter) {
        if bytes.is_empty() {
            return;
        }
        match source {
            Source::Stdout => {
                let (answers, activity) = (&mut self.answers, &mut self.activity);
                self.reader.feed(bytes, &mut |event| {
                    activity.event(&event);
                    *answers += u32::from(matches!(event, AgentEvent::Result(_)));
                    reporter.agent(&event);
                });
            }
            Source::Stderr => {
                let AgentStep { reader, program, complaint, stderr_lines, .. } = self;
                stderr_lines.feed(bytes, &mut |line| {
                    reader.feed_stderr(&line);
                    hear_stderr(&line, *program, complaint, reporter);
                });
            }
        }
        match (source, self.fragments.take()) {
            (Source::Stdout, Some(mut fragments)) => {
                self.save(source, fragments.feed(bytes), reporter);
                self.fragments = Some(fragments);
            }
            (_, fragments) => {
                self.fragments = fragments;
                self.save(source, bytes, reporter);
            }
        }
    }

    fn save(&mut self, source: Source, bytes: &[u8], reporter: &mut dyn Reporter) {
        if let Err(cause) = self.keep(source, bytes, reporter) {
            self.problem.get_or_insert(cause);
        }
    }

    /// Keeps raw bytes: the beginning and the end, where there is not enough room for all.
    fn keep(&mut self, source: Source, bytes: &[u8], reporter: &mut dyn Reporter) -> io::Result<()> {
        let raw = match source {
            Source::Stdout => &mut self.raw_out,
            Source::Stderr => &mut self.raw_err,
        };
        self.room.beginning -= raw.add(bytes, self.room.beginning, self.room.tail_part)?;
        if raw.has_gap() && !std::mem::replace(&mut self.gap_warned, true) {
            let most = report::bytes(self.room.most);
            reporter.warn(&format!(
                "the agent's output exceeds {most} (keepStreams): keeping only its start and end"
            ));
        }
        Ok(())
    }

    /// Bytes of its output that are kept.
    pub(super) fn kept(&self) -> u64 {
        self.raw_out.kept() + self.raw_err.kept()
    }

    /// The agent is gone, and everything it had started.
    pub(super) fn finish(mut self, ended: ProgramEnd, buffer: &mut [u8], reporter: &mut dyn Reporter) -> End {
        let ProgramEnd { exit, by, swept } = ended;
        self.read_rest(buffer, reporter);
        let seen = self.reader.finish(&mut |event| reporter.agent(&event));
        reporter.rest();
        if let Some(cause) = self.problem {
            return End::Impossible { why: format!("cannot save the agent's output: {cause}") };
        }
        // The answer counts, however the agent had to be ended after it.
        let judged = if by == EndedBy::RalphAfterAnswer { Exit::Code(0) } else { exit };
        let answer = dialect::answer(self.dialect, judged, &seen, self.complaint.as_ref());
        let duration_ms = elapsed_ms(self.started);
        let retry_in_ms = service::retry_in_ms(&answer, &Zoned::now());
        let estimate = price::estimate(self.price, &seen);
        let prompt = self.prompt;
        End::Agent(Box::new(AgentEnd {
            exit,
            answer,
            seen,
            duration_ms,
            prompt,
            swept,
            retry_in_ms,
            branch: None,
            estimate,
            gone: None,
            guard: None,
        }))
    }

    /// Reads what is left of its output, of which the last line need not be a whole one.
    fn read_rest(&mut self, buffer: &mut [u8], reporter: &mut dyn Reporter) {
        self.drain(buffer, reporter);
        for source in [Source::Stdout, Source::Stderr] {
            self.take_held(source, reporter);
        }
        if let Some(mut fragments) = self.fragments.take() {
            self.save(Source::Stdout, fragments.finish(), reporter);
        }
        let AgentStep { reader, program, complaint, stderr_lines, .. } = self;
        stderr_lines.finish(&mut |line| {
            reader.feed_stderr(&line);
            hear_stderr(&line, *program, complaint, reporter);
        });
    }

    /// No process of the step is left to write: what is in the pipes is all there is. A process that
    /// was handed a descriptor can keep a pipe open and full, but cannot hold up the loop: no more is
    /// read than a pipe holds.
    fn drain(&mut self, buffer: &mut [u8], reporter: &mut dyn Reporter) {
        for source in [Source::Stdout, Source::Stderr] {
            let mut left = pipe::MOST_BYTES;
            loop {
                let pipe = match source {
                    Source::Stdout => &self.stdout,
                    Source::Stderr => &self.stderr,
                };
                let Some(pipe) = pipe else { break };
                match pipe::read_now(pipe, buffer) {
                    Got::Bytes(n) if n <= left => {
                        left -= n;
                        self.take(source, &buffer[..n], reporter);
                    }
                    Got::Bytes(_) | Got::Dry | Got::End => break,
                }
            }
        }
    }

    /// The agent is lost. What it had cost is known as far as its stream has said.
    pub(super) fn lost(mut self, why: String, buffer: &mut [u8], reporter: &mut dyn Reporter) -> End {
        self.read_rest(buffer, reporter);
        let seen = self.reader.finish(&mut |event| reporter.agent(&event));
        End::Lost { why, cost: seen.cost, estimate: price::estimate(self.price, &seen) }
    }

    /// The agent's program could not be started: the agent's failure, not ralph's.
    pub(super) fn not_started(self, error: &str) -> End {
        let why = format!("cannot start it: {error}");
        End::Agent(Box::new(AgentEnd {
            exit: Exit::Code(127),
            answer: Answer::Failed { why },
            seen: StreamSummary::default(),
            duration_ms: elapsed_ms(self.started),
            prompt: self.prompt,
            swept: 0,
            retry_in_ms: None,
            branch: None,
            estimate: None,
            gone: None,
            guard: None,
        }))
    }
}

fn hear_stderr(
    line: &Line<'_>,
    program: Dialect,
    complaint: &mut Option<Complaint>,
    reporter: &mut dyn Reporter,
) {
    if let (Line::Whole(bytes), None) = (line, &complaint) {
        *complaint = dialect::complaint(program, &String::from_utf8_lossy(bytes));
    }
    reporter.agent_stderr_line(line);
}

/// A check at work. It writes straight into its log, or through a pipe if there are secrets to mask.
pub(super) struct CheckStep {
    pub(super) index: usize,
    pub(super) log: PathBuf,
    /// What it writes to: at that name something else may stand once it has run.
    pub(super) output: File,
    pub(super) pipe: Option<LogPipe>,
    pub(super) guard: Option<LogGuard>,
    pub(super) started: Instant,
    /// The same by the clock that files go by.
    pub(super) began: SystemTime,
    pub(super) round: Round,
}

impl CheckStep {
    pub(super) fn finish(mut self, run: &Run, ended: ProgramEnd, texts: &mut Texts) -> End {
        let written = self.pipe.take().map_or(Ok(()), LogPipe::finish);
        let cut = self.guard.take().map(LogGuard::stop);
        let output = self.output.try_clone();
        let end = match written {
            Ok(()) => self.read(run, ended, texts),
            Err(cause) => unsaved(&cause),
        };
        // The log is for people: a longer one is no failure.
        if let (Some(cut), Ok(output)) = (cut, output) {
            let _ = cut.make(&output);
        }
        end
    }

    fn read(self, run: &Run, ended: ProgramEnd, texts: &mut Texts) -> End {
        let ProgramEnd { exit, by, swept } = ended;
        let duration_ms = elapsed_ms(self.started);
        let mut end = CheckEnd {
            exit,
            duration_ms,
            log: self.log,
            excerpt: None,
            summary: None,
            swept,
            tests: None,
            changed: Vec::new(),
            touched: Vec::new(),
            only_outside: None,
        };
        let Some(spec) = run.checks.get(self.index) else { return End::Check(end) };
        if exit == Exit::Code(0) && by == EndedBy::Itself {
            return End::Check(end);
        }
        let kept = tail(&self.output).and_then(|end_of_output| {
            end.summary = summary::line(&end_of_output);
            texts.put(&excerpt(spec, self.output)?)
        });
        match kept {
            Ok(hash) => {
                end.excerpt = Some(hash);
                End::Check(end)
            }
            Err(cause) => unsaved(&cause),
        }
    }
}

fn unsaved(cause: &io::Error) -> End {
    End::Impossible { why: format!("cannot save the output of a check: {cause}") }
}

/// A setup command at work. It writes as a check does.
pub(super) struct SetupStep {
    pub(super) log: PathBuf,
    pub(super) output: File,
    pub(super) pipe: Option<LogPipe>,
    pub(super) started: Instant,
}

impl SetupStep {
    pub(super) fn finish(mut self, ended: ProgramEnd) -> End {
        if let Err(cause) = self.pipe.take().map_or(Ok(()), LogPipe::finish) {
            return unsaved(&cause);
        }
        let ProgramEnd { exit, swept, .. } = ended;
        let summary = tail(&self.output).ok().and_then(|end_of_output| summary::line(&end_of_output));
        End::Setup(CheckEnd {
            exit,
            duration_ms: elapsed_ms(self.started),
            log: self.log,
            excerpt: None,
            summary,
            swept,
            tests: None,
            changed: Vec::new(),
            touched: Vec::new(),
            only_outside: None,
        })
    }
}

/// The log of a check, empty, and a descriptor for the check to write to.
pub(super) fn check_log(project: &Project, log: &Path) -> io::Result<File> {
    fsx::dir_inside(project.dir(), &project.ralph_dir())?;
    fsx::fresh(&project.dir().join(log))
}

/// Reads no more of the log than the excerpt can need.
fn excerpt(spec: &CheckSpec, mut output: File) -> io::Result<String> {
    let most = window(spec.excerpt);
    let from = match spec.excerpt {
        Excerpt::Head { .. } => 0,
        Excerpt::Tail { .. } => output.metadata()?.len().saturating_sub(most),
    };
    output.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    output.take(most).read_to_end(&mut bytes)?;
    Ok(spec.excerpt.of(&String::from_utf8_lossy(&bytes)).into_owned())
}

/// The end of a check's output, which says how it failed, whatever the agent gets to see.
fn tail(mut output: &File) -> io::Result<String> {
    const BYTES: u64 = 16 << 10;
    output.seek(SeekFrom::Start(output.metadata()?.len().saturating_sub(BYTES)))?;
    let mut bytes = Vec::new();
    output.take(BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
