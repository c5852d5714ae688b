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
    base: Base,
    mounts: Vec<Mount>,
    network: NetworkInside,
    /// Variables that programs inside get.
    pub env: Vec<(OsString, OsString)>,
}

/// Whether programs inside share the network outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum NetworkInside {
    #[default]
    Shared,
    /// Nothing but a loopback of their own.
    Own,
}

/// What is there before any mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Base {
    /// Everything, as it is.
    #[default]
    All,
    /// Everything, for reading; and processes, users and devices of its own.
    Confined,
    /// The same, and the terminal that it was started in.
    ConfinedInTerminal,
}

/// The program, and what it can do here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bwrap {
    program: PathBuf,
    /// It can hide the processes outside. Inside of most containers it cannot.
    hides_processes: bool,
    /// It can make a network with nothing but loopback.
    pub isolates_network: bool,
}

/// Later ones are seen through earlier ones; sources are always those outside.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mount {
    Bind {
        from: PathBuf,
        to: PathBuf,
        access: Access,
    },
    /// An empty directory in memory; at most so many bytes, or half of the memory.
    Empty {
        at: PathBuf,
        size: Option<u64>,
    },
    /// What is mounted there can only be read from now on; what is mounted in it stays as it is.
    Lock {
        at: PathBuf,
    },
    /// Nothing may be there yet.
    Link {
        target: PathBuf,
        at: PathBuf,
    },
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

    /// For programs that are to change nothing but what is mounted for them.
    pub fn confined(bwrap: Bwrap) -> Mounts {
        Mounts { bwrap, base: Base::Confined, ..Mounts::default() }
    }

    /// Programs inside can control the terminal, as a shell of the user's has to.
    pub fn keep_terminal(&mut self) {
        self.base = Base::ConfinedInTerminal;
    }

    /// Programs inside have a network of their own, with nothing but loopback.
    pub fn isolate_network(&mut self) {
        self.network = NetworkInside::Own;
    }

    /// On top of these.
    pub fn extend(&mut self, others: &Mounts) {
        self.mounts.extend(others.mounts.iter().cloned());
        self.env.extend(others.env.iter().cloned());
    }

    /// Both have to exist by the time of the command.
    pub fn bind(&mut self, from: PathBuf, to: PathBuf, access: Access) {
        self.mounts.push(Mount::Bind { from, to, access });
    }

    /// At its own path.
    pub fn bind_if_there(&mut self, path: PathBuf, access: Access) {
        if path.exists() {
            self.bind(path.clone(), path, access);
        }
    }

    pub fn empty(&mut self, at: PathBuf) {
        self.empty_of(at, None);
    }

    pub fn link(&mut self, target: PathBuf, at: PathBuf) {
        self.mounts.push(Mount::Link { target, at });
    }

    pub fn empty_of(&mut self, at: PathBuf, size: Option<u64>) {
        self.mounts.push(Mount::Empty { at, size });
    }

    pub fn lock(&mut self, at: PathBuf) {
        self.mounts.push(Mount::Lock { at });
    }

    /// Paths that something of the system outside is shown at.
    pub fn shown(&self) -> impl Iterator<Item = (&Path, Access)> {
        self.mounts.iter().filter_map(|mount| match mount {
            Mount::Bind { to, access, .. } => Some((to.as_path(), *access)),
            Mount::Empty { .. } | Mount::Lock { .. } | Mount::Link { .. } => None,
        })
    }

    pub fn wrap(&self, command: Command) -> Command {
        let Command { argv, cwd, env, env_remove, wrapper: _ } = command;
        let mut words: Vec<OsString> = vec![self.bwrap.program.clone().into()];
        words.extend(self.base.words(self.network).into_iter().map(OsString::from));
        if self.bwrap.hides_processes {
            words.extend(["--unshare-pid", "--proc", "/proc"].map(OsString::from));
            words.extend(self.base.read_only_of_proc().map(OsString::from));
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
                Mount::Empty { at, size } => {
                    words.extend(size.iter().flat_map(|size| ["--size".into(), size.to_string().into()]));
                    words.extend(["--tmpfs".into(), at.clone().into()]);
                }
                Mount::Lock { at } => words.extend(["--remount-ro".into(), at.clone().into()]),
                Mount::Link { target, at } => {
                    words.extend(["--symlink".into(), target.clone().into(), at.clone().into()]);
                }
            }
        }
        // The directory outside may be another one than that inside, or be gone.
        words.extend(["--chdir".into(), cwd.into(), "--".into()]);
        words.extend(argv);
        let env = env.into_iter().chain(self.env.iter().cloned()).collect();
        let wrapper = Some(self.bwrap.program.clone());
        Command { argv: words, cwd: PathBuf::from("/"), env, env_remove, wrapper }
    }
}

/// What root can write in `/proc` without any capability, and in a user namespace, too: settings of the
/// kernel, among them the programs that it starts. Bubblewrap hides some of it, but not `sys`.
const KERNEL: [&str; 7] =
    ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi"];

impl Base {
    /// In a `/proc` of its own; another one is read-only as a whole.
    fn read_only_of_proc(self) -> impl Iterator<Item = &'static str> {
        let kernel: &[&str] = match self {
            Base::All => &[],
            Base::Confined | Base::ConfinedInTerminal => &KERNEL,
        };
        kernel.iter().flat_map(|path| ["--ro-bind-try", path, path])
    }

    fn words(self, network: NetworkInside) -> Vec<&'static str> {
        match self {
            Base::All => vec!["--dev-bind", "/", "/"],
            Base::Confined | Base::ConfinedInTerminal => {
                let mut words = vec!["--ro-bind", "/", "/", "--dev", "/dev"];
                // Further namespaces could undo mounts.
                words.extend(["--unshare-all", "--unshare-user", "--disable-userns"]);
                if network == NetworkInside::Shared {
                    words.push("--share-net");
                }
                words.extend(["--cap-drop", "ALL", "--die-with-parent"]);
                if self == Base::Confined {
                    words.push("--new-session");
                }
                // Claude refuses to work unattended as root, and nothing inside needs to be root.
                if rustix::process::getuid().is_root() {
                    words.extend(["--uid", "1000", "--gid", "1000"]);
                }
                words
            }
        }
    }
}

impl Bwrap {
    /// The ways in which it may work here, the best first.
    pub fn variants(program: &Path) -> [Bwrap; 2] {
        let isolates_network = true;
        [true, false].map(|hides_processes| Bwrap {
            program: program.to_path_buf(),
            hides_processes,
            isolates_network,
        })
    }

    /// The same where it cannot make a network.
    pub fn sharing_network(self) -> Bwrap {
        Bwrap { isolates_network: false, ..self }
    }
}

/// The program that can make mounts here, found by trying, or why there is none.
pub fn find(dir: &Path) -> Result<Bwrap, String> {
    let Ok(program) = which::which("bwrap") else {
        return Err("bwrap is not installed (package bubblewrap)".to_string());
    };
    let [hiding, plain] = Bwrap::variants(&program);
    if attempt(&hiding, dir).is_ok() {
        return Ok(hiding);
    }
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
