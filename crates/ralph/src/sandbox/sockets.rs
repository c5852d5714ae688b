//! Sockets that lead out of a sandbox, beside those in the directories that are hidden as a whole.
//!
//! A socket in the file system can be connected to even if that is read-only. Who is at the other end does
//! what it is asked with rights of its own: an SSH agent, a bus, a daemon that starts containers.
//!
//! Deliberately absent: sockets of other programs of the user in any directory, and those that are made after
//! the sandbox. A mount over a socket that is gone by then would keep the agent from starting.

use super::surroundings::Surroundings;
use ralph_loop::sandbox::variables::{Allowed, Pass, Who, passes};
use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Where services of the system keep their sockets; those in `/run` are hidden with it.
const OF_SERVICES: [&str; 3] = ["/var", "/opt", "/srv"];

/// All sockets of this network namespace, with their paths.
const LISTING: &str = "/proc/net/unix";

/// Variables that name directories with sockets and temporary files.
const DIRECTORIES: [&str; 3] = ["TMPDIR", "TMUX_TMPDIR", "XDG_RUNTIME_DIR"];

/// Directories of the user's session that are elsewhere than usual.
pub fn session_dirs(around: &Surroundings) -> Vec<PathBuf> {
    let dirs = DIRECTORIES.iter().filter_map(env::var_os).map(PathBuf::from);
    let dirs = dirs.filter(|dir| dir.is_absolute()).filter_map(|dir| dir.canonicalize().ok());
    // One that everything else is in cannot be hidden.
    let path = env::var_os("PATH");
    let programs: Vec<PathBuf> = path.iter().flat_map(env::split_paths).collect();
    let needed = |dir: &PathBuf| {
        let mut needed = around.home.iter().chain([&around.ralph]).chain(&programs);
        dir.is_dir() && !needed.any(|path| path.starts_with(dir))
    };
    dirs.filter(needed).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Sockets of services and of the user's session that are there now.
pub fn open(allowed: Allowed<'_>) -> BTreeSet<PathBuf> {
    let listing = std::fs::read_to_string(LISTING).unwrap_or_default();
    let of_services = listed(&listing).filter(|path| OF_SERVICES.iter().any(|dir| path.starts_with(dir)));
    let withheld =
        |name: &OsString| name.to_str().is_some_and(|name| passes(name, Who::Check, allowed) == Pass::Socket);
    let variables = env::vars_os().filter(|(name, _)| withheld(name));
    let named = variables.filter_map(|(_, value)| named(value.to_str()?));
    let all = of_services.map(Path::to_path_buf).chain(named);
    let real = all.filter_map(|path| path.canonicalize().ok());
    real.filter(|path| path.metadata().is_ok_and(|meta| meta.file_type().is_socket())).collect()
}

/// The paths in the kernel's list; the last of eight columns.
fn listed(listing: &str) -> impl Iterator<Item = &Path> {
    let paths = listing.lines().filter_map(|line| line.find(" /").map(|at| &line[at + 1..]));
    paths.map(Path::new)
}

/// The path in a variable's value: `/run/agent`, `unix:path=/run/bus,guid=1`, `unix:///run/docker.sock`.
fn named(value: &str) -> Option<PathBuf> {
    let address = ["unix:path=", "unix://", "unix:"].iter().find_map(|start| value.strip_prefix(start));
    let path = address.unwrap_or(value).split([',', ';']).next()?;
    path.starts_with('/').then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_in_every_spelling_of_an_address() {
        let check = |value, path: &str| assert_eq!(named(value), Some(PathBuf::from(path)), "{value}");
        check("/run/agent.1", "/run/agent.1");
        check("/tmp/tmux-0/default,12,0", "/tmp/tmux-0/default");
        check("unix:path=/run/user/1/bus,guid=ab;unix:abstract=x", "/run/user/1/bus");
        check("unix:///run/docker.sock", "/run/docker.sock");
        assert_eq!(named("tcp://localhost:2375"), None);
        assert_eq!(named(""), None);
    }

    #[test]
    fn only_sockets_with_a_path_are_listed() {
        let listing = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 20 /var/lib/a b/unix.socket\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 21\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 22 @/tmp/.X11-unix/X0\n";
        assert_eq!(listed(listing).collect::<Vec<_>>(), [Path::new("/var/lib/a b/unix.socket")]);
    }
}
