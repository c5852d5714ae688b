//! The keeper of systems without subreapers and pidfds (macOS): best effort.
//!
//! There is no keeper process. The engine starts processes itself, each in a group of its
//! own, and a thread waits for each. What an agent moves into another session escapes.
//!
//! Invariant: a group is signalled only while its leader has not been reaped, so its number
//! cannot belong to another process.
#![expect(clippy::disallowed_methods, reason = "process/ is the one place that spawns")]

use std::ffi::OsString;
use std::future::poll_fn;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::thread;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, waitid, waitpid};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{Command, Exit, KeeperEvent, KeeperProgram, KeptRun, ProcessError, Stdio3, exit_of};

#[derive(Debug)]
pub struct Keeper {
    env: Vec<(OsString, OsString)>,
    /// The group of the current process, for as long as it may be signalled.
    group: Arc<Mutex<Option<Pid>>>,
    sender: UnboundedSender<KeeperEvent>,
    events: UnboundedReceiver<KeeperEvent>,
}

impl Keeper {
    /// The run is not needed: it is the engine that holds its lock, and no keeper outlives that.
    pub fn start(
        _program: &KeeperProgram,
        _run: Option<KeptRun<'_>>,
        env: &[(OsString, OsString)],
    ) -> Result<Keeper, ProcessError> {
        let (sender, events) = unbounded_channel();
        Ok(Keeper { env: env.to_vec(), group: Arc::default(), sender, events })
    }

    pub fn pid(&self) -> u32 {
        std::process::id()
    }

    pub fn spawn(&mut self, command: &Command, stdio: Stdio3) -> Result<(), ProcessError> {
        let mut group = self.group.lock().unwrap_or_else(PoisonError::into_inner);
        if group.is_some() {
            return Err(ProcessError::Busy);
        }
        let started = match start(&self.env, command, stdio) {
            Ok(child) => {
                let pid = Pid::from_child(&child);
                *group = Some(pid);
                let (group, sender) = (Arc::clone(&self.group), self.sender.clone());
                // Sent before the thread exists, so that the end cannot overtake it.
                let _ = self.sender.send(KeeperEvent::Started { pid: child.id() });
                thread::spawn(move || sender.send(wait_for(pid, &group)));
                return Ok(());
            }
            Err(error) => KeeperEvent::NotStarted { kind: error.kind(), error: error.to_string() },
        };
        let _ = self.sender.send(started);
        Ok(())
    }

    pub fn terminate(&self) -> Result<(), ProcessError> {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
        Ok(())
    }

    /// There is no keeper apart from us; its group is what can be ended.
    pub fn kill(&self) -> Result<(), ProcessError> {
        self.sweep()
    }

    pub fn sweep(&self) -> Result<(), ProcessError> {
        self.signal(Signal::KILL);
        Ok(())
    }

    /// Waits for the next word. Nothing is lost when the future is dropped.
    pub async fn event(&mut self) -> KeeperEvent {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    /// Likewise, for a task that waits for several keepers at once.
    pub fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<KeeperEvent> {
        // The keeper itself holds a sender, so the channel does not end.
        self.events.poll_recv(cx).map(|event| event.unwrap_or(KeeperEvent::Gone { swept: 0 }))
    }

    pub fn finish(self) {}

    fn signal(&self, signal: Signal) {
        if let Some(group) = *self.group.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

fn start(env: &[(OsString, OsString)], command: &Command, stdio: Stdio3) -> io::Result<Child> {
    let Some((program, args)) = command.argv.split_first() else {
        return Err(io::Error::other("the command is empty"));
    };
    let mut spawned = std::process::Command::new(program);
    spawned.args(args).current_dir(&command.cwd).process_group(0);
    spawned.envs(env.iter().map(|(name, value)| (name, value)));
    for name in &command.env_remove {
        spawned.env_remove(name);
    }
    spawned.envs(command.env.iter().map(|(name, value)| (name, value)));
    spawned
        .stdin(Stdio::from(stdio.stdin))
        .stdout(Stdio::from(stdio.stdout))
        .stderr(Stdio::from(stdio.stderr))
        .spawn()
}

/// Waits for the end of the leader, kills the rest of its group, and only then reaps it.
fn wait_for(pid: Pid, group: &Mutex<Option<Pid>>) -> KeeperEvent {
    let _ =
        rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT));
    let mut group = group.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = kill_process_group(pid, Signal::KILL);
    *group = None;
    let status = rustix::io::retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()));
    let exit = status.ok().flatten().and_then(|(_, status)| exit_of(status));
    // How many the kill hit is not known.
    KeeperEvent::Ended { exit: exit.unwrap_or(Exit::Signal(0)), swept: 0 }
}

#[cfg(not(target_os = "linux"))]
pub fn keeper_main() -> std::process::ExitCode {
    std::process::ExitCode::FAILURE
}

#[cfg(not(target_os = "linux"))]
pub fn end_survivors(_run_dir: &std::path::Path) -> u32 {
    0
}

/// The system shows neither the parents nor the environment of other processes: nothing is known of one.
#[cfg(not(target_os = "linux"))]
pub struct Lineage;

#[cfg(not(target_os = "linux"))]
impl Lineage {
    pub fn of(_pid: Pid) -> Option<Lineage> {
        Some(Lineage)
    }

    pub fn keepers(&self) -> Vec<std::path::PathBuf> {
        Vec::new()
    }

    pub fn is_left_by_keeper(&self) -> bool {
        false
    }

    pub fn is_in_session_of(&self, _run_dir: &std::path::Path) -> bool {
        false
    }

    pub fn named_runs(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Not known without `/proc`.
#[cfg(not(target_os = "linux"))]
pub fn is_git_at_work(_: &std::path::Path) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
pub fn become_subreaper() -> Result<(), ProcessError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    fn null() -> Stdio3 {
        let open = || File::options().read(true).write(true).open("/dev/null").unwrap().into();
        Stdio3 { stdin: open(), stdout: open(), stderr: open() }
    }

    fn command(argv: &[&str]) -> Command {
        Command { argv: argv.iter().map(OsString::from).collect(), cwd: "/".into(), ..Command::default() }
    }

    async fn next(keeper: &mut Keeper) -> KeeperEvent {
        tokio::time::timeout(Duration::from_secs(20), keeper.event()).await.unwrap()
    }

    #[tokio::test]
    async fn a_group_starts_ends_and_is_swept() {
        let mut keeper = Keeper::start(&KeeperProgram::Own, None, &[("A".into(), "5".into())]).unwrap();
        keeper.spawn(&command(&["sh", "-c", "exit $A"]), null()).unwrap();
        assert!(matches!(next(&mut keeper).await, KeeperEvent::Started { .. }));
        assert_eq!(next(&mut keeper).await, KeeperEvent::Ended { exit: Exit::Code(5), swept: 0 });

        keeper.spawn(&command(&["sh", "-c", "trap '' TERM; sleep 60 & wait"]), null()).unwrap();
        assert!(matches!(keeper.spawn(&command(&["true"]), null()), Err(ProcessError::Busy)));
        assert!(matches!(next(&mut keeper).await, KeeperEvent::Started { .. }));
        keeper.sweep().unwrap();
        assert_eq!(next(&mut keeper).await, KeeperEvent::Ended { exit: Exit::Signal(9), swept: 0 });

        keeper.spawn(&command(&["no-such-program"]), null()).unwrap();
        assert!(matches!(
            next(&mut keeper).await,
            KeeperEvent::NotStarted { kind: io::ErrorKind::NotFound, .. }
        ));
        keeper.finish();
    }
}
