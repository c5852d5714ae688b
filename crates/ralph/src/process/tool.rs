//! Short programs of ralph's own, run to their end: git, `agent --version`.
//!
//! Invariant: `run` returns when the program has ended, even if a daemon that it left
//! behind (gpg-agent, a credential cache) still holds its output open.
//!
//! Deliberately absent: sweeping. Such daemons are the user's. Agents and checks go through
//! a keeper. There is no terminal either: a tool has a process group of its own, so a
//! program that asks questions there is stopped; callers tell it not to ask.
#![expect(clippy::disallowed_methods, reason = "process/ is the one place that spawns")]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{self, Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use super::{Command, Exit, is_told_to_stop, told, trusted_path, wrapped_exit};
use crate::place;
use crate::sandbox::{Inside, Role, Sandbox};
use std::sync::Arc;

/// How often to look for the program's end where the system has no descriptor for it.
const LOOK: Duration = Duration::from_millis(10);
const CHUNK: usize = 64 * 1024;
/// How long a program that is no longer wanted may take to end by itself.
const NOT_WANTED: Duration = Duration::from_secs(10);
/// How long one may take that is told to end.
const TOLD: Duration = Duration::from_secs(3);
/// The most that a pipe holds, unless the administrator allows more.
const PIPE: usize = 1024 * 1024;

/// A program to run.
#[derive(Debug)]
pub struct Tool<'a> {
    command: Command,
    /// What it is started in, if it works for a run that has one.
    sandbox: Option<(Arc<Sandbox>, Role)>,
    stdin: Option<&'a [u8]>,
    timeout: Option<Duration>,
    keep: usize,
    held: Option<OwnedFd>,
    signals: OnSignals,
}

/// What becomes of a program when ralph is told to stop. Ctrl+C does not reach it: it is in a group of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnSignals {
    /// It outlives ralph, or ralph goes on until it has ended.
    Stays,
    /// It is told to end, and killed if it does not.
    Ends,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    pub exit: Exit,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl ToolOutput {
    pub fn success(&self) -> bool {
        self.exit == Exit::Code(0)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error("cannot start the program: {}", program.display())]
    NotStarted { program: OsString, source: io::Error },
    #[error("cannot communicate with the program: {}", program.display())]
    Broken { program: OsString, source: io::Error },
    #[error("killed after {} s without an answer: {}", after.as_secs_f32(), program.display())]
    TimedOut { program: OsString, after: Duration },
    /// Because ralph was told to stop.
    #[error("ended: {}", program.display())]
    Stopped { program: OsString },
}

impl<'a> Tool<'a> {
    /// In ralph's own directory, unless it is given another one.
    pub fn new(program: impl AsRef<OsStr>) -> Tool<'a> {
        let command = Command {
            argv: vec![program.as_ref().to_owned()],
            cwd: PathBuf::from("."),
            ..Command::default()
        };
        Tool::of(command)
    }

    pub fn of(command: Command) -> Tool<'a> {
        Tool {
            command,
            sandbox: None,
            stdin: None,
            timeout: None,
            keep: usize::MAX,
            held: None,
            signals: OnSignals::Stays,
        }
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.argv.push(arg.as_ref().to_owned());
        self
    }

    pub fn args(self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        args.into_iter().fold(self, Tool::arg)
    }

    pub fn cwd(mut self, directory: impl AsRef<Path>) -> Self {
        self.command.cwd = directory.as_ref().to_path_buf();
        self
    }

    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self = self.without(name.as_ref());
        self.command.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self = self.without(name.as_ref());
        self.command.env_remove.push(name.as_ref().to_owned());
        self
    }

    /// What was said of a variable before no longer counts.
    fn without(mut self, variable: &OsStr) -> Self {
        self.command.env.retain(|(name, _)| name != variable);
        self.command.env_remove.retain(|name| name != variable);
        self
    }

    /// For programs that an agent of the run could have had a hand in.
    pub fn inside(mut self, sandbox: Option<&Arc<Sandbox>>, role: Role) -> Self {
        self.sandbox = sandbox.map(|sandbox| (Arc::clone(sandbox), role));
        self
    }

    /// What the program reads; without it, nothing.
    pub fn stdin(mut self, bytes: &'a [u8]) -> Self {
        self.stdin = Some(bytes);
        self
    }

    /// Gives the program a descriptor as its standard input, to hold for as long as it lives: a
    /// lock that must not be free before the program has ended, whether or not ralph waits for it.
    pub fn holding(mut self, descriptor: OwnedFd) -> Self {
        self.held = Some(descriptor);
        self
    }

    /// Keeps only so much of the beginning of its standard output. A program that writes
    /// more finds its reader gone, and has succeeded however it takes that.
    pub fn keep(mut self, bytes: usize) -> Self {
        self.keep = bytes;
        self
    }

    /// After this time the program's group is killed.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Ends with ralph: Ctrl+C, SIGTERM and SIGHUP to ralph end the program, and its caller is told. From then on
    /// these signals do not end ralph by themselves.
    pub fn ends_on_signals(mut self) -> Self {
        self.signals = OnSignals::Ends;
        self
    }

    pub fn run(mut self) -> Result<ToolOutput, ToolError> {
        let stdin = match (self.stdin, self.held.take()) {
            (Some(_), _) => Stdio::piped(),
            (None, Some(held)) => Stdio::from(held),
            (None, None) => Stdio::null(),
        };
        let input = self.stdin.unwrap_or_default();
        self.spawn(stdin, Stdio::piped())?.finish(input)
    }

    /// Starts a program that waits for its input. Its timeout begins with each question. Nothing reads what
    /// it says beside its answers.
    pub(super) fn start(self) -> Result<Waiting, ToolError> {
        self.spawn(Stdio::piped(), Stdio::null())
    }

    fn spawn(self, stdin: Stdio, stderr: Stdio) -> Result<Waiting, ToolError> {
        let Tool { command, sandbox, keep, timeout, signals, .. } = self;
        // Before it is started, so that no signal is missed.
        let told = match signals {
            OnSignals::Stays => &None,
            OnSignals::Ends => told::listen(),
        };
        let program = command.argv.first().cloned().unwrap_or_default();
        let role = sandbox.as_ref().map_or(Role::Commit, |(_, role)| *role);
        let sandbox = sandbox.as_ref().map(|(sandbox, _)| &**sandbox);
        let mut command = command;
        let names_path = command.env.iter().any(|(name, _)| name == "PATH");
        if let Some(path) = trusted_path::get().filter(|_| sandbox.is_none() && !names_path) {
            command.env.push(("PATH".into(), path));
        }
        let command = place::command(sandbox, &Inside::of(role), command);
        let wrapped = command.wrapper.is_some();
        let mut command = to_start(command);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(stderr).process_group(0);
        match spawn(&mut command) {
            Ok(child) => Ok(Waiting { program, child: Some(child), wrapped, keep, timeout, told }),
            Err(source) => Err(ToolError::NotStarted { program, source }),
        }
    }
}

fn to_start(command: Command) -> process::Command {
    let Command { argv, cwd, env, env_remove, wrapper: _ } = command;
    let mut argv = argv.into_iter();
    let mut command = process::Command::new(argv.next().unwrap_or_default());
    command.args(argv).current_dir(cwd);
    for name in env_remove {
        command.env_remove(name);
    }
    command.envs(env);
    command
}

/// A program that runs and has not been given its input. If it is dropped, it finds that there is
/// none, and has ended.
#[derive(Debug)]
pub struct Waiting {
    program: OsString,
    /// None once it has ended.
    child: Option<Child>,
    wrapped: bool,
    keep: usize,
    timeout: Option<Duration>,
    /// Readable once it has to end.
    pub(super) told: &'static Option<File>,
}

impl Waiting {
    /// Its input and its output.
    pub(super) fn take_pipes(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        let child = self.child.as_mut()?;
        Some((child.stdin.take()?, child.stdout.take()?))
    }

    /// When a question that is asked now is no longer waited for.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.timeout.map(|limit| Instant::now() + limit)
    }

    /// Whether it has to end, with ralph.
    pub(super) fn is_told(&self) -> bool {
        self.told.is_some() && is_told_to_stop()
    }

    pub(super) fn stopped(&self) -> ToolError {
        ToolError::Stopped { program: self.program.clone() }
    }

    pub(super) fn broken(&self, source: io::Error) -> ToolError {
        ToolError::Broken { program: self.program.clone(), source }
    }

    fn finish(mut self, input: &[u8]) -> Result<ToolOutput, ToolError> {
        self.end(input, self.timeout)
    }

    fn end(&mut self, input: &[u8], timeout: Option<Duration>) -> Result<ToolOutput, ToolError> {
        let program = std::mem::take(&mut self.program);
        let Some(mut child) = self.child.take() else {
            return Err(ToolError::Broken { program, source: io::ErrorKind::NotConnected.into() });
        };
        let started = Instant::now();
        let talked = talk(&mut child, input, self.keep, timeout.map(|limit| started + limit), self.told);
        if !matches!(talked, Ok(Talked::Ended(_))) {
            // Not reaped yet, so the number is still the group's.
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            let _ = child.wait();
        }
        forget(&child);
        if self.is_told() {
            return Err(ToolError::Stopped { program });
        }
        match talked {
            Ok(Talked::Ended(output)) if self.wrapped => {
                Ok(ToolOutput { exit: wrapped_exit(output.exit), ..output })
            }
            Ok(Talked::Ended(output)) => Ok(output),
            Ok(Talked::Late) => Err(ToolError::TimedOut { program, after: started.elapsed() }),
            Err(source) => Err(ToolError::Broken { program, source }),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.child.is_some() {
            // Not by a signal: git leaves a lock behind if one comes just after it has made it.
            let _ = self.end(&[], Some(NOT_WANTED));
        }
    }
}

enum Talked {
    Ended(ToolOutput),
    /// At the deadline it has not.
    Late,
}

/// Feeds and reads the program until it ends. Once `told` can be read, it is told to end, and its deadline is near.
fn talk(
    child: &mut Child,
    input: &[u8],
    keep: usize,
    mut deadline: Option<Instant>,
    mut told: &Option<File>,
) -> io::Result<Talked> {
    let mut stdin = Feed::of(pipe(child.stdin.take())?, input);
    let mut stdout = Drain::of(pipe(child.stdout.take())?, keep);
    let mut stderr = Drain::of(pipe(child.stderr.take())?, usize::MAX);
    let end = pidfd(child);
    let mut buffer = vec![0; CHUNK];
    loop {
        // Asked before the last reading, so that nothing it wrote is missed.
        let status = child.try_wait()?;
        stdin.write()?;
        stdout.read(&mut buffer)?;
        stderr.read(&mut buffer)?;
        if let Some(status) = status {
            let exit = if stdout.is_cut() { Exit::Code(0) } else { exit_of(status) };
            return Ok(Talked::Ended(ToolOutput { exit, stdout: stdout.bytes, stderr: stderr.bytes }));
        }
        if told.is_some() && is_told_to_stop() {
            told = &None;
            deadline = Some(Instant::now() + TOLD);
            // One that is gone meanwhile is reaped in the next round.
            let _ = kill_process_group(Pid::from_child(child), Signal::TERM);
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Ok(Talked::Late);
        }
        let look = if end.is_some() { None } else { Some(LOOK) };
        sleep([&end, &stdout.pipe, &stderr.pipe, told], &stdin.pipe, left.into_iter().chain(look).min());
    }
}

/// Sleeps until something can be read or written. What it is does not matter: trying all of
/// them is cheap, because none blocks.
pub(super) fn sleep(readable: [&Option<File>; 4], writable: &Option<File>, limit: Option<Duration>) {
    let readable = readable.into_iter().flatten().map(|file| PollFd::new(file, PollFlags::IN));
    let writable = writable.iter().map(|file| PollFd::new(file, PollFlags::OUT));
    let mut descriptors: Vec<PollFd<'_>> = readable.chain(writable).collect();
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    // An interruption is as good a reason to look as any other.
    let _ = poll(&mut descriptors, limit.as_ref());
}

/// Input on its way; closed when all is written or the program wants no more.
pub(super) struct Feed<'a> {
    pub(super) pipe: Option<File>,
    pub(super) left: &'a [u8],
}

impl<'a> Feed<'a> {
    pub(super) fn of(pipe: Option<File>, left: &'a [u8]) -> Feed<'a> {
        Feed { pipe, left }
    }

    fn write(&mut self) -> io::Result<()> {
        self.write_open()?;
        if self.left.is_empty() {
            self.pipe = None;
        }
        Ok(())
    }

    /// The same for an input that stays open.
    pub(super) fn write_open(&mut self) -> io::Result<()> {
        while let Some(pipe) = self.pipe.as_mut().filter(|_| !self.left.is_empty()) {
            match pipe.write(self.left) {
                Ok(written) => self.left = &self.left[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    (self.left, self.pipe) = (&[], None);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Output so far; closed at its end.
pub(super) struct Drain {
    pub(super) pipe: Option<File>,
    pub(super) bytes: Vec<u8>,
    keep: usize,
}

impl Drain {
    pub(super) fn of(pipe: Option<File>, keep: usize) -> Drain {
        Drain { pipe, bytes: Vec::new(), keep }
    }

    /// Reads what there is, but no more than a pipe holds: a daemon that the program left
    /// may write for ever.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        for _ in 0..PIPE / CHUNK {
            let Some(pipe) = &mut self.pipe else { break };
            match pipe.read(buffer) {
                Ok(0) => self.pipe = None,
                Ok(read) => {
                    let wanted = read.min(self.keep - self.bytes.len());
                    self.bytes.extend_from_slice(&buffer[..wanted]);
                    if self.is_cut() {
                        self.pipe = None;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(super) fn is_cut(&self) -> bool {
        self.bytes.len() >= self.keep
    }
}

/// Our end of a pipe, not blocking.
pub(super) fn pipe(end: Option<impl Into<OwnedFd>>) -> io::Result<Option<File>> {
    let Some(end) = end else { return Ok(None) };
    let end = end.into();
    rustix::io::ioctl_fionbio(&end, true)?;
    Ok(Some(File::from(end)))
}

fn exit_of(status: ExitStatus) -> Exit {
    status.code().map_or_else(|| Exit::Signal(status.signal().unwrap_or(0)), Exit::Code)
}

#[cfg(target_os = "linux")]
fn pidfd(child: &Child) -> Option<File> {
    let flags = rustix::process::PidfdFlags::empty();
    rustix::process::pidfd_open(Pid::from_child(child), flags).ok().map(File::from)
}

#[cfg(not(target_os = "linux"))]
fn pidfd(_: &Child) -> Option<File> {
    None
}

#[cfg(target_os = "linux")]
fn spawn(command: &mut process::Command) -> io::Result<Child> {
    super::ours::spawn(command, super::ours::Kind::Tool)
}

#[cfg(not(target_os = "linux"))]
fn spawn(command: &mut process::Command) -> io::Result<Child> {
    command.spawn()
}

/// For a child that has been waited for.
#[cfg(target_os = "linux")]
fn forget(child: &Child) {
    super::ours::forget(child);
    super::ours::note_adopted();
}

#[cfg(not(target_os = "linux"))]
fn forget(_: &Child) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Tool<'_> {
        Tool::new("sh").arg("-c").arg(script).timeout(Duration::from_secs(20))
    }

    fn check(script: &str, exit: Exit, stdout: &str, stderr: &str) {
        let output = sh(script).run().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(
            (output.exit, text(&output.stdout).as_str(), text(&output.stderr).as_str()),
            (exit, stdout, stderr),
            "{script}"
        );
    }

    #[test]
    fn a_tool_says_how_it_ended_and_what_it_printed() {
        check("echo out; echo err >&2; exit 3", Exit::Code(3), "out\n", "err\n");
        check("kill -KILL $$", Exit::Signal(9), "", "");
        check("cat", Exit::Code(0), "", "");
        check("exec >&- 2>&-; exit 4", Exit::Code(4), "", "");
    }

    #[test]
    fn more_than_a_pipe_holds_goes_through_in_both_directions() {
        let input = vec![b'x'; 3 << 20];
        let output = sh("tee /dev/stderr").stdin(&input).run().unwrap();
        assert!(output.success() && output.stdout == input && output.stderr == input);
    }

    #[test]
    fn a_tool_need_not_read_its_input() {
        assert!(sh("exit 0").stdin(&vec![b'x'; 1 << 20]).run().unwrap().success());
    }

    #[test]
    fn environment_and_directory_are_set() {
        let output = sh("echo $A $HOME; pwd").env("A", "a").env_remove("HOME").cwd("/").run().unwrap();
        assert_eq!(output.stdout, b"a\n/\n");
    }

    #[test]
    fn a_daemon_that_holds_the_output_is_not_waited_for() {
        let started = Instant::now();
        let output = sh("sleep 30 & echo $!").run().unwrap();
        assert!(started.elapsed() < Duration::from_secs(10));
        let daemon = str::from_utf8(&output.stdout).unwrap().trim().parse().unwrap();
        rustix::process::kill_process(Pid::from_raw(daemon).unwrap(), Signal::KILL).unwrap();
    }

    #[test]
    fn after_its_time_the_whole_group_is_killed() {
        let marked = "sleep 7654.25 & trap '' TERM; wait";
        let started = Instant::now();
        let error = sh(marked).timeout(Duration::from_millis(100)).run().unwrap_err();
        assert!(matches!(error, ToolError::TimedOut { .. }), "{error}");
        assert!(started.elapsed() < Duration::from_secs(10));
        check("sleep 0.1; pgrep -f '[s]leep 7654.25'", Exit::Code(1), "", "");
    }

    #[test]
    fn a_program_started_ahead_waits_for_its_input() {
        let waiting = sh("cat; echo end").start().unwrap();
        let output = waiting.finish(b"begin\n").unwrap();
        assert_eq!((output.success(), output.stdout.as_slice()), (true, &b"begin\nend\n"[..]));
    }

    #[test]
    fn a_program_that_is_not_wanted_has_ended_once_it_is_dropped() {
        let waiting = sh("cat").start().unwrap();
        let pid = Pid::from_child(waiting.child.as_ref().unwrap());
        let started = Instant::now();
        drop(waiting);
        assert!(rustix::process::test_kill_process(pid).is_err());
        assert!(started.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = Tool::new("no-such-program").run().unwrap_err();
        assert_eq!(error.to_string(), "cannot start the program: no-such-program");
        assert!(
            matches!(error, ToolError::NotStarted { source, .. } if source.kind() == io::ErrorKind::NotFound)
        );
    }
}
