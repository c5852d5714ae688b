//! The sandbox of Landlock: the kernel's rules about which files a process can open.
//!
//! It can mount nothing: programs inside see all processes, share `/tmp` and use the user's own caches and
//! logins. Nothing can be denied inside of a directory that is allowed, so protected files of the
//! workspace are put back after each step.

use super::enter::Entry;
use super::layout;
use super::rules::{Rules, readable_but_not};
use super::{Inside, Sandbox};
use crate::proof::mounts::{Access, Bwrap, Mounts};
use std::path::{Path, PathBuf};

/// What all programs of the system share.
const WRITABLE: [&str; 2] = ["/tmp", "/var/tmp"];

/// Those that nearly every program uses. Others are disks, and the memory of the machine.
const DEVICES: [&str; 9] = [
    "/dev/full",
    "/dev/null",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/random",
    "/dev/shm",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];

/// What a process of this sandbox does to itself.
pub fn entry(sandbox: &Sandbox, inside: &Inside<'_>) -> Entry {
    // None of it is mounted.
    let mut mounts = Mounts::confined(Bwrap::default());
    layout::mount(&mut mounts, sandbox, &Inside { mounts: None, ..*inside });
    let around = &sandbox.around;
    let homes = around.home.iter().chain([&around.ralph_home]).cloned();
    let hidden: Vec<PathBuf> = homes.chain([PathBuf::from("/dev")]).collect();
    let writable = WRITABLE.iter().chain(&DEVICES).chain(of_processes());
    let mut rules = Rules {
        read: readable_but_not(Path::new("/"), &hidden),
        write: writable.map(PathBuf::from).collect(),
    };
    for (path, access) in mounts.shown() {
        match access {
            Access::Read => rules.read.push(path.to_path_buf()),
            Access::Write => rules.write.push(path.to_path_buf()),
        }
    }
    rules.read.push(around.ralph.clone());
    Entry { landlock: Some(rules), ..Entry::default() }
}

/// Where programs tell the kernel about themselves. Settings of the kernel are there as well, which root owns.
fn of_processes() -> Option<&'static &'static str> {
    match rustix::process::getuid().is_root() {
        true => None,
        false => Some(&"/proc"),
    }
}
