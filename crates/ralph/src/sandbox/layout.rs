//! What programs inside a sandbox find where: the system read-only, a home and temporary files of their
//! own, the workspace writable at its own path.
//!
//! Bubblewrap mounts it like this. Landlock cannot mount anything, and allows what would be mounted.

use super::canary::Works;
use super::surroundings::Surroundings;
use super::{Inside, Sandbox, sockets};
use crate::proof::mounts::{Access, Mounts};
use std::path::{Path, PathBuf};

/// Where programs inside find ralph if it can be mounted, whatever else is at its own path.
pub const RALPH: &str = "/run/ralph/ralph";

/// Where a ralph that is started inside keeps its records. They are gone with the step.
pub const RALPH_HOME: &str = "/run/ralph/home";

/// Directories below `/run` that programs need; the rest are sockets of the system and of the user.
const NEEDED_OF_RUN: [&str; 3] = ["/run/current-system", "/run/opengl-driver", "/run/wrappers"];

/// Directories that all users share: temporary files, and sockets of services.
pub const HIDDEN: [&str; 3] = ["/tmp", "/var/tmp", "/run"];

/// For files that are mounted in ralph's home one by one.
const NEARLY_NOTHING: u64 = 1 << 20;

/// What names are resolved with is often behind a link into `/run`.
const RESOLVER: &str = "/etc/resolv.conf";

/// Adds all of it to mounts without any.
pub fn mount(mounts: &mut Mounts, sandbox: &Sandbox, inside: &Inside<'_>) {
    if inside.on_terminal {
        mounts.keep_terminal();
    }
    system(mounts, sandbox);
    home(mounts, sandbox, inside);
    match inside.mounts {
        Some(copy) => mounts.extend(copy),
        None => workspace(mounts, sandbox),
    }
    for path in inside.reads {
        mounts.bind(path.clone(), path.clone(), Access::Read);
    }
    for path in inside.writes {
        mounts.bind(path.clone(), path.clone(), Access::Write);
    }
}

fn system(mounts: &mut Mounts, sandbox: &Sandbox) {
    let tmp_size = sandbox.spec.limits.tmp_size;
    // Programs share memory there; in the rest of `/dev` they would take it without a limit.
    mounts.empty_of(PathBuf::from("/dev/shm"), tmp_size);
    mounts.lock(PathBuf::from("/dev"));
    let session = sockets::session_dirs(&sandbox.around);
    let hidden: Vec<PathBuf> = HIDDEN.map(PathBuf::from).into_iter().chain(session).collect();
    let is_hidden = |path: &Path| hidden.iter().any(|hidden| path.starts_with(hidden));
    for dir in &hidden {
        mounts.empty_of(dir.clone(), tmp_size);
    }
    let Surroundings { home, ralph_home, .. } = &sandbox.around;
    let is_shown = |path: &PathBuf| {
        let private = home.iter().chain([ralph_home, &sandbox.tree]).any(|private| path.starts_with(private));
        !private && !is_hidden(path)
    };
    for socket in sockets::open(sandbox.spec.allowed()).into_iter().filter(is_shown) {
        mounts.bind(PathBuf::from("/dev/null"), socket, Access::Read);
    }
    let resolver = Path::new(RESOLVER).canonicalize().ok().filter(|path| path.starts_with("/run"));
    let needed = NEEDED_OF_RUN.map(PathBuf::from).into_iter().filter(|path| path.is_dir());
    for path in needed.chain(resolver) {
        mounts.bind(path.clone(), path, Access::Read);
    }
    // Programs that are started by their name.
    let path = std::env::var_os("PATH");
    let programs = path.iter().flat_map(std::env::split_paths);
    for dir in programs.filter(|dir| dir.is_absolute() && is_hidden(dir)) {
        mounts.bind_if_there(dir, Access::Read);
    }
    mounts.bind(sandbox.around.ralph.clone(), PathBuf::from(RALPH), Access::Read);
    if let Some(network) = &sandbox.network {
        network.mount(mounts);
    }
}

fn home(mounts: &mut Mounts, sandbox: &Sandbox, inside: &Inside<'_>) {
    let around = &sandbox.around;
    if let Some(home) = &around.home {
        mounts.empty_of(home.clone(), sandbox.spec.limits.tmp_size);
    }
    if let Some(private) = &sandbox.private {
        private.mount(mounts, inside.role);
    }
    mounts.empty_of(around.ralph_home.clone(), Some(NEARLY_NOTHING));
    for path in &sandbox.spec.read {
        mounts.bind_if_there(path.clone(), Access::Read);
    }
    for path in sandbox.spec.write.iter().filter(|path| path.is_absolute()) {
        mounts.bind_if_there(path.clone(), Access::Write);
    }
}

fn workspace(mounts: &mut Mounts, sandbox: &Sandbox) {
    mounts.bind(sandbox.tree.clone(), sandbox.tree.clone(), Access::Write);
    // What is not mounted has to be compared afterwards.
    if let (Works::Bwrap(_), Some(protected)) = (&sandbox.works, &sandbox.protected) {
        protected.mount(mounts);
    }
    if let Some(git) = &sandbox.git {
        git.mount(mounts);
    }
}
