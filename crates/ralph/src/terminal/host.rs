//! `ralph __terminal`: an agent on its terminal, from its start to its end.

#![expect(clippy::disallowed_methods, reason = "its standard output is the agent's stream")]

use super::people::{self, Act, Frame, Given, Viewers, Want};
use super::pty::Pty;
use super::screen::Screen;
use super::spec::{Agent, ScreenSpec, TerminalSpec};
use super::tail::Tail;
use super::turn::{self, Told};
use super::{COLUMNS, ROWS};
use crate::fsx;
use crate::layout::RunDir;
use crate::process::{Exit, OnTerminal, Signals};
use ralph_loop::interactive::{Effect, Input, LAST_LINES, Listener, Patterns, ScreenEffect, Watcher};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep_until};

/// How often a transcript is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// How often the screen of a plain program is looked at.
const CAPTURE: Duration = Duration::from_secs(2);

/// How long an agent may take to end once it was asked to. The keeper ends it then.
const ENDING: Duration = Duration::from_secs(5);

/// So much is read of what was printed before the end.
const MOST_AFTER_END: usize = 8 << 20;

/// SIGKILL
const KILLED: i32 = 9;

/// What cannot be run, as shells have it.
const CANNOT_START: u8 = 127;

/// The body of the hidden subcommand. On standard input it is told what to run, as no file: a prompt may have secrets.
/// Standard output is the agent's stream.
pub fn main() -> ExitCode {
    let spec = serde_json::from_reader::<_, TerminalSpec>(io::stdin().lock());
    let exit = spec.map_err(io::Error::from).and_then(|spec| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async { Host::start(spec)?.run().await })
    });
    match exit {
        Ok(Exit::Code(code)) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        // As a shell does.
        Ok(Exit::Signal(signal)) => ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)),
        Err(cause) => {
            let _ = writeln!(io::stderr(), "ralph: error: the agent's terminal: {cause}");
            ExitCode::from(CANNOT_START)
        }
    }
}

/// How the agent is heard.
enum Ear {
    Hooks { listener: Listener, transcript: Option<Tail> },
    Screen { watcher: Watcher, prompt: Option<String> },
}

struct Host {
    run: RunDir,
    moved: Vec<(PathBuf, PathBuf)>,
    agent: OnTerminal,
    pty: Pty,
    screen: Screen,
    viewers: Viewers,
    ear: Ear,
    told: mpsc::Receiver<Told>,
    acts: mpsc::Receiver<Act>,
    signals: Signals,
    started: Instant,
    /// The same by the clock that files go by.
    began: SystemTime,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Working,
    /// Its turn is over, and it was asked to end.
    Ending {
        by: Instant,
        as_if: Option<Exit>,
    },
}

impl Host {
    fn start(spec: TerminalSpec) -> io::Result<Host> {
        let began = SystemTime::now();
        let run = RunDir::at(spec.run_dir);
        let (told, acts) = (turn::listen(&run)?, people::listen(&run)?);
        let signals = Signals::listen()?;
        let ear = match spec.agent {
            Agent::Known { dialect, expects } => match Listener::new(dialect, expects) {
                Some(listener) => Ear::Hooks { listener, transcript: None },
                None => return Err(io::Error::other("this agent has no hooks to be heard by")),
            },
            Agent::Plain(spec) => eye(spec)?,
        };
        let (pty, program) = Pty::open(ROWS, COLUMNS)?;
        let stdin = spec.stdin.map(|text| in_file(&text, &run)).transpose()?;
        let agent = OnTerminal::start(&spec.argv, spec.wrapper.as_deref(), &program, stdin.map(Into::into))?;
        Ok(Host {
            run,
            moved: spec.moved,
            agent,
            pty,
            screen: Screen::new(ROWS, COLUMNS),
            viewers: Viewers::default(),
            ear,
            told,
            acts,
            signals,
            started: Instant::now(),
            began,
            stage: Stage::Working,
        })
    }

    async fn run(mut self) -> io::Result<Exit> {
        let (mut looks, mut captures) = (every(LOOK), every(CAPTURE));
        let mut buffer = vec![0; 64 << 10];
        let mut open = true;
        let exit = loop {
            let wake = self.wake_at();
            tokio::select! {
                exit = self.agent.ended() => break exit?,
                read = self.pty.read(&mut buffer), if open => match read {
                    Ok(read) if read > 0 => self.printed(&buffer[..read]),
                    // No process has the terminal open any more.
                    Ok(_) | Err(_) => open = false,
                },
                Some(told) = self.told.recv() => self.hook(told)?,
                Some(act) = self.acts.recv() => self.act(act),
                _ = looks.tick() => {
                    self.look()?;
                    let screen = &self.screen;
                    self.viewers.catch_up(|| screen.repaint());
                }
                _ = captures.tick() => self.capture()?,
                () = self.signals.next() => self.end_agent(None),
                () = sleep_until(wake.unwrap_or_else(Instant::now).into()), if wake.is_some() => {
                    match self.stage {
                        Stage::Working => drop(self.hear(Input::Time)?),
                        // It does not end by itself: the keeper ends what the host leaves.
                        Stage::Ending { .. } => break Exit::Signal(KILLED),
                    }
                }
            }
        };
        // What it wrote last.
        self.read_rest(&mut buffer);
        self.look()?;
        self.last_capture()?;
        if self.stage == Stage::Working && exit != Exit::Code(0) {
            self.say_why();
        }
        let exit = match self.stage {
            Stage::Ending { as_if: Some(exit), .. } => exit,
            Stage::Working | Stage::Ending { as_if: None, .. } => exit,
        };
        self.close().await;
        Ok(exit)
    }

    /// What was printed before the end, and is still on its way. What the program has left behind may print on.
    fn read_rest(&mut self, buffer: &mut [u8]) {
        let mut left = MOST_AFTER_END;
        while left > 0 {
            match self.pty.read_now(buffer) {
                0 => return,
                read => {
                    self.printed(&buffer[..read]);
                    left = left.saturating_sub(read);
                }
            }
        }
    }

    /// Lets everyone go who looks. Nothing can be reached any more before they know: who asks again finds nothing.
    async fn close(mut self) {
        remove_sockets(&self.run);
        let (viewers, last) = (std::mem::take(&mut self.viewers), self.screen.below());
        viewers.end(last, &mut self.acts).await;
    }

    /// What is on the screen of an agent that has ended by itself is why.
    fn say_why(&self) {
        let lines = self.screen.lines();
        let last = lines.iter().skip(lines.len().saturating_sub(LAST_LINES)).filter(|line| !line.is_empty());
        for line in last {
            let _ = writeln!(io::stderr(), "{line}");
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn wake_at(&self) -> Option<Instant> {
        match (self.stage, &self.ear) {
            (Stage::Ending { by, .. }, _) => Some(by),
            (Stage::Working, Ear::Hooks { listener, .. }) => {
                listener.wake_at().map(|ms| self.started + Duration::from_millis(ms))
            }
            (Stage::Working, Ear::Screen { .. }) => None,
        }
    }

    fn printed(&mut self, bytes: &[u8]) {
        let answers = self.screen.take(bytes);
        if !self.viewers.can_answer() {
            self.pty.type_in(&answers);
        }
        let screen = &self.screen;
        self.viewers.show(bytes, || screen.repaint());
    }

    fn hook(&mut self, told: Told) -> io::Result<()> {
        let Told { text, answer } = told;
        // What a hook reports may refer to what was written before it.
        self.look()?;
        // Only a call of the status line names no event.
        let input = match text.contains("\"hook_event_name\"") {
            true => Input::Hook(&text),
            false => Input::StatusLine(&text),
        };
        let answered = self.hear(input)?;
        // A hook that has gone needs no answer.
        let _ = answer.send(answered.map(|value| value.to_string()).unwrap_or_default());
        Ok(())
    }

    /// Reads what is new in the transcript.
    fn look(&mut self) -> io::Result<()> {
        let Ear::Hooks { transcript: Some(tail), .. } = &mut self.ear else { return Ok(()) };
        for line in tail.read()? {
            self.hear(Input::Transcript(&line))?;
        }
        Ok(())
    }

    /// Returns the answer for the hook.
    fn hear(&mut self, input: Input<'_>) -> io::Result<Option<serde_json::Value>> {
        let now = self.now_ms();
        let Ear::Hooks { listener, transcript } = &mut self.ear else { return Ok(None) };
        let (mut answer, mut is_over) = (None, false);
        for effect in listener.hear(now, input) {
            match effect {
                Effect::Print(line) => print(&line)?,
                Effect::Follow(path) => {
                    let path = outside(&self.moved, path);
                    if transcript.as_ref().is_none_or(|tail| *tail.path() != path) {
                        *transcript = Some(Tail::of(path, self.began));
                    }
                }
                Effect::Answer(value) => answer = Some(value),
                Effect::End => is_over = true,
            }
        }
        if is_over {
            self.end_agent(Some(Exit::Code(0)));
        }
        Ok(answer)
    }

    fn capture(&mut self) -> io::Result<()> {
        let now = self.now_ms();
        let Ear::Screen { watcher, prompt } = &mut self.ear else { return Ok(()) };
        let lines = self.screen.text();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let mut is_over = false;
        for effect in watcher.look(now, &lines) {
            match effect {
                ScreenEffect::TypePrompt => {
                    if let Some(prompt) = prompt.take() {
                        self.pty.type_in(&self.screen.pasted(&prompt));
                        self.pty.type_in(b"\r");
                    }
                }
                ScreenEffect::Print(line) => print(&line)?,
                ScreenEffect::End => is_over = true,
            }
        }
        if is_over {
            self.end_agent(Some(Exit::Code(0)));
        }
        Ok(())
    }

    /// What came on the screen since the last look at it.
    fn last_capture(&mut self) -> io::Result<()> {
        let Ear::Screen { watcher, .. } = &mut self.ear else { return Ok(()) };
        let lines = self.screen.text();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        watcher.last_lines(&lines).iter().try_for_each(|line| print(line))
    }

    /// `as_if` is what its end counts as.
    fn end_agent(&mut self, as_if: Option<Exit>) {
        self.agent.terminate();
        if self.stage == Stage::Working {
            self.stage = Stage::Ending { by: Instant::now() + ENDING, as_if };
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Came { viewer, size: (rows, columns), output } => {
                self.resize(rows, columns);
                self.viewers.add(viewer, output, self.screen.repaint());
            }
            Act::Left { viewer } => self.viewers.remove(viewer),
            Act::Sent { frame: Frame::Typed(bytes) } => self.pty.type_in(&bytes),
            Act::Sent { frame: Frame::Size { rows, columns } } => self.resize(rows, columns),
            Act::Asked { want, answer } => {
                let given = self.give(want);
                let _ = answer.send(given);
            }
        }
    }

    fn give(&mut self, want: Want) -> Given {
        match want {
            Want::Screen => return Given::Screen(self.screen.lines()),
            Want::Keys { bytes } => self.pty.type_in(&bytes),
            Want::Paste { text, submit } => {
                if let Ear::Hooks { listener, .. } = &self.ear
                    && let Some(why) = listener.wants_answer()
                {
                    return Given::Refused(why.to_owned());
                }
                let pasted = self.screen.pasted(&text);
                self.pty.type_in(&pasted);
                if submit {
                    self.pty.type_in(b"\r");
                }
            }
            Want::Answer { text } => match &self.ear {
                Ear::Hooks { listener, .. } => match listener.keys_for(&text) {
                    Ok(keys) => self.pty.type_in(&keys),
                    Err(why) => return Given::Refused(why.to_owned()),
                },
                Ear::Screen { .. } => self.pty.type_in(format!("{text}\r").as_bytes()),
            },
            Want::View { .. } => return Given::Refused("invalid request".to_owned()),
        }
        Given::Done
    }

    fn resize(&mut self, rows: u16, columns: u16) {
        // A size that the system refuses changes nothing.
        if self.pty.resize(rows, columns).is_ok() {
            self.screen.resize(rows.max(1), columns.max(1));
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        remove_sockets(&self.run);
    }
}

/// Nothing of a terminal can be reached any more. A host that was killed has not done this itself.
pub fn remove_sockets(run: &RunDir) {
    // What cannot be removed is removed by the next host.
    let _ = fsx::remove(&run.turn_socket());
    let _ = fsx::remove(&run.terminal_socket());
}

/// How a program is heard that is known by its screen alone.
fn eye(spec: ScreenSpec) -> io::Result<Ear> {
    let ScreenSpec { prompt, ready, done, done_at_once, ready_within_ms } = spec;
    let patterns = Patterns::new(&ready, done.as_deref()).map_err(io::Error::other)?;
    let patterns = Patterns { done_at_once, ready_within_ms: Some(ready_within_ms), ..patterns };
    let watcher = Watcher::new(patterns, prompt.as_deref());
    Ok(Ear::Screen { watcher, prompt })
}

/// Where a file of the agent's is for this process.
fn outside(moved: &[(PathBuf, PathBuf)], path: PathBuf) -> PathBuf {
    let below = moved.iter().filter_map(|(inside, there)| Some((path.strip_prefix(inside).ok()?, there)));
    match below.min_by_key(|(rest, _)| rest.components().count()) {
        Some((rest, there)) => there.join(rest),
        None => path,
    }
}

/// A text in a file without a name.
fn in_file(text: &str, run: &RunDir) -> io::Result<File> {
    let mut file = fsx::nameless(run.dir())?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

fn every(period: Duration) -> Interval {
    let mut interval = interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

fn print(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}
