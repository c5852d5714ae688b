//! Directories seen at other paths: a mount namespace made by bubblewrap.
//!
//! Inside, processes outside cannot be seen where the system allows that; network and users are as
//! outside. A sandbox will use the same way in.

use crate::process::Command;
use crate::process::tool::Tool;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A command that is started with these mounts sees them, and so does all that it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts {
    bwrap: Bwrap,
    mounts: Vec<Mount>,
    /// Variables that programs inside get.
    pub env: Vec<(OsString, OsString)>,
}

/// The program, and what it can do here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bwrap {
    program: PathBuf,
    /// It can hide the processes outside. Inside of most containers it cannot.
    hides_processes: bool,
}

/// Later ones are seen through earlier ones; sources are always those outside.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mount {
    Bind {
        from: PathBuf,
        to: PathBuf,
        access: Access,
    },
    /// An empty directory in memory.
    Empty(PathBuf),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Write,
    Read,
}

/// A mount takes milliseconds.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

impl Mounts {
    pub fn by(bwrap: Bwrap) -> Mounts {
        Mounts { bwrap, ..Mounts::default() }
    }

    /// Both have to exist by the time of the command.
    pub fn bind(&mut self, from: PathBuf, to: PathBuf, access: Access) {
        self.mounts.push(Mount::Bind { from, to, access });
    }

    pub fn empty(&mut self, at: PathBuf) {
        self.mounts.push(Mount::Empty(at));
    }

    pub fn wrap(&self, command: Command) -> Command {
        let Command { argv, cwd, env, env_remove } = command;
        let mut words: Vec<OsString> = vec![self.bwrap.program.clone().into()];
        words.extend(["--dev-bind", "/", "/"].map(OsString::from));
        if self.bwrap.hides_processes {
            words.extend(["--unshare-pid", "--proc", "/proc"].map(OsString::from));
        }
        for mount in &self.mounts {
            match mount {
                Mount::Bind { from, to, access } => {
                    let flag = match access {
                        Access::Write => "--bind",
                        Access::Read => "--ro-bind",
                    };
                    words.extend([flag.into(), from.clone().into(), to.clone().into()]);
                }
                Mount::Empty(at) => words.extend(["--tmpfs".into(), at.clone().into()]),
            }
        }
        // The directory outside may be another one than that inside, or be gone.
        words.extend(["--chdir".into(), cwd.into(), "--".into()]);
        words.extend(argv);
        let env = env.into_iter().chain(self.env.iter().cloned()).collect();
        Command { argv: words, cwd: PathBuf::from("/"), env, env_remove }
    }
}

/// The program that can make mounts here, found by trying, or why there is none.
pub fn find(dir: &Path) -> Result<Bwrap, String> {
    let Ok(program) = which::which("bwrap") else {
        return Err("bwrap is not installed (package bubblewrap)".to_string());
    };
    let hiding = Bwrap { program: program.clone(), hides_processes: true };
    if attempt(&hiding, dir).is_ok() {
        return Ok(hiding);
    }
    let plain = Bwrap { program, hides_processes: false };
    attempt(&plain, dir).map(|()| plain)
}

fn attempt(bwrap: &Bwrap, dir: &Path) -> Result<(), String> {
    let mut mounts = Mounts::by(bwrap.clone());
    mounts.bind(dir.to_path_buf(), dir.to_path_buf(), Access::Write);
    let argv = vec![OsString::from("/bin/sh"), "-c".into(), ":".into()];
    let command = mounts.wrap(Command { argv, cwd: dir.to_path_buf(), ..Command::default() });
    let mut words = command.argv.into_iter();
    let tool = words.next().map(Tool::new);
    match tool.map(|tool| tool.args(words).timeout(PROBE_TIMEOUT).run()) {
        Some(Ok(answer)) if answer.success() => Ok(()),
        Some(Ok(answer)) => {
            let said = String::from_utf8_lossy(&answer.stderr);
            let said = said.lines().next().unwrap_or("no reason given").trim_start_matches("bwrap: ");
            Err(format!("bwrap cannot mount anything here: {said}"))
        }
        Some(Err(cause)) => Err(format!("bwrap cannot be used: {cause}")),
        None => Err("bwrap cannot be used".to_string()),
    }
}
