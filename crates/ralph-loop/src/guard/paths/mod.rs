//! Where a path leads, and what that place is worth.

mod known;

pub use known::{Removed, has_secrets, is_persons_own, is_protected, is_secret, is_startup};

use crate::guard::arg::{ANY_ONE, Arg, BRACKET, REMOTE, SECRET, STAR, UNKNOWN};
use crate::guard::invocation::{Invocation, Site};
use crate::guard::world::World;
use known::names;
use std::path::{Path, PathBuf};

/// A place, by what a change there would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// Inside the workspace, and not all of it.
    Workspace,
    /// The workspace itself, or everything in it.
    WholeWorkspace,
    /// Temporary directories.
    Temp,
    /// Caches of package managers and build tools in the user's home: they can be made again.
    Cache,
    /// `/dev/null` and the like.
    Sink,
    /// A disk or another device.
    Device,
    /// What the machine runs on: `/`, `/etc`, `/usr`, `/boot`, …
    System,
    /// In the user's home, outside the workspace.
    Home,
    /// Anywhere else.
    Outside,
    /// It begins with something that cannot be known.
    Unknown,
}

impl Zone {
    /// Whether ordinary work may delete and overwrite there.
    pub fn is_ours(self) -> bool {
        match self {
            Zone::Workspace | Zone::Temp | Zone::Cache | Zone::Sink => true,
            Zone::WholeWorkspace
            | Zone::Device
            | Zone::System
            | Zone::Home
            | Zone::Outside
            | Zone::Unknown => false,
        }
    }
}

/// A path as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub zone: Zone,
    /// Absolute, without `..` and links, with holes for globs. Empty if it cannot be known.
    pub path: PathBuf,
}

impl Place {
    fn unknown() -> Place {
        Place { zone: Zone::Unknown, path: PathBuf::new() }
    }
}

/// Where an argument of an invocation leads if it is a path.
pub fn locate(arg: &Arg, invocation: &Invocation, world: &World<'_>) -> Place {
    placed(arg, Last::Followed, invocation, world)
}

/// The same for programs such as `rm`, which remove a link and not what it leads to. With a slash behind it, it is
/// what it leads to.
pub fn locate_entry(arg: &Arg, invocation: &Invocation, world: &World<'_>) -> Place {
    placed(arg, Last::Entry, invocation, world)
}

/// What a link at the end of a path stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Followed,
    /// The link itself.
    Entry,
}

fn placed(arg: &Arg, last: Last, invocation: &Invocation, world: &World<'_>) -> Place {
    let text = arg.text().trim_end_matches('\n');
    let (known, rest) = match text.find([UNKNOWN, SECRET, REMOTE]) {
        Some(at) => (&text[..at], Some(&text[at..])),
        None => (text, None),
    };
    // Something that cannot be known, right at the beginning, can be any path.
    if rest.is_some() && (known.is_empty() || known == "~") {
        return Place::unknown();
    }
    let is_absolute = known.starts_with('/');
    let base = match (is_absolute, &invocation.cwd) {
        (true, _) => PathBuf::from("/"),
        (false, Some(cwd)) => cwd.clone(),
        (false, None) => return Place::unknown(),
    };
    let mut path = base;
    // The names from the first glob on.
    let mut behind = PathBuf::new();
    let mut reach = Reach::Itself;
    for part in known.split('/') {
        match part {
            "" | "." => {}
            part if reach != Reach::Itself => behind.push(part),
            ".." => {
                path.pop();
            }
            part if part.contains([STAR, ANY_ONE, BRACKET]) => {
                // `**/*.orig` is not everything.
                let last = known.rsplit('/').next().unwrap_or(part);
                let is_all = is_everything(part) && is_everything(last);
                reach = if is_all { Reach::Everything } else { Reach::Some };
                behind.push(part);
            }
            part => path.push(part),
        }
    }
    if rest.is_some() && reach == Reach::Itself {
        reach = Reach::Some;
        // `/home/dev/x$UNKNOWN`: a neighbor of what is known.
        if !known.ends_with('/') {
            path.pop();
        }
    }
    let zone = match invocation.site {
        Site::Here => {
            let name = known.rsplit('/').next().unwrap_or(known);
            let is_entry = last == Last::Entry && reach == Reach::Itself && !matches!(name, "" | "." | "..");
            path = match (path.parent(), path.file_name()) {
                (Some(dir), Some(name)) if is_entry => (world.resolve)(dir).join(name),
                _ => (world.resolve)(&path),
            };
            match zone_here(&path, reach, world) {
                // `../other`: a neighbor of a workspace that is itself in a temporary directory.
                Zone::Temp
                    if climbs(known)
                        && invocation.cwd.as_ref().is_some_and(|cwd| cwd.starts_with(&world.workspace)) =>
                {
                    Zone::Outside
                }
                zone => zone,
            }
        }
        Site::Remote => zone_remote(&path, reach),
        Site::Container => zone_in_container(&path, reach),
    };
    path.extend(&behind);
    Place { zone, path }
}

/// `../other`
fn climbs(path: &str) -> bool {
    !path.starts_with('/') && path.split('/').any(|part| part == "..")
}

/// How much of the directory a path stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Itself,
    /// `dir/name*`, `dir/$UNKNOWN`: something in it.
    Some,
    /// `dir/*`: all of it.
    Everything,
}

/// Whether a pattern of one name leaves nothing out: `*`, `.*`, `.[!.]*`, `??*`.
fn is_everything(part: &str) -> bool {
    let rest = part.trim_start_matches(['.', ANY_ONE, STAR]);
    rest.is_empty() || (part.starts_with(['.', BRACKET]) && part.ends_with(STAR) && rest.starts_with(BRACKET))
}

const SYSTEM: [&str; 24] = [
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/snap",
    "/srv",
    "/sys",
    "/usr",
    "/var",
    "/System",
    "/Library",
    "/Applications",
    "/private",
    "/mnt",
    "/media",
];
const TEMP: [&str; 6] = ["/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/private/var/tmp", "/var/folders"];
const SINKS: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/tty",
    "/dev/random",
    "/dev/urandom",
];
/// In the user's home. Deleting them costs time, nothing else.
const CACHES: [&str; 13] = [
    // An agent's own plans.
    ".claude/plans",
    ".cache",
    ".npm",
    ".yarn/cache",
    ".pnpm-store",
    ".local/share/pnpm/store",
    ".cargo/registry",
    ".cargo/git",
    ".gradle/caches",
    ".m2/repository",
    "go/pkg/mod",
    "Library/Caches",
    ".nuget/packages",
];

fn zone_here(path: &Path, reach: Reach, world: &World<'_>) -> Zone {
    if path.starts_with(&world.workspace) && !is_too_wide(world) {
        return match path == world.workspace && reach != Reach::Some {
            true => Zone::WholeWorkspace,
            false => Zone::Workspace,
        };
    }
    // The workspace, or home, is inside of what it names.
    let is_around = world.workspace.starts_with(path) || world.home.starts_with(path);
    if reach != Reach::Some && is_around && path != world.home {
        return Zone::System;
    }
    if world.writable.iter().any(|dir| path.starts_with(dir)) {
        return Zone::Temp;
    }
    if let Some(zone) = device(path) {
        return zone;
    }
    // Before temporary directories: a home can be in one.
    if path.starts_with(&world.home) && world.home != Path::new("/") {
        let is_cache = CACHES.iter().any(|cache| path.starts_with(world.home.join(cache)));
        return if is_cache || is_memory(path, world) { Zone::Cache } else { Zone::Home };
    }
    if is_temp(path, reach) {
        return Zone::Temp;
    }
    if SYSTEM.iter().any(|dir| path.starts_with(dir)) { Zone::System } else { Zone::Outside }
}

/// A session can be anywhere. Started in `/`, it does not own the machine.
fn is_too_wide(world: &World<'_>) -> bool {
    let workspace = &world.workspace;
    let is_around_home = world.home.starts_with(workspace) && world.home != *workspace;
    let is_system = SYSTEM.iter().any(|dir| workspace == Path::new(dir)) && world.home != *workspace;
    workspace.parent().is_none() || is_around_home || is_system
}

/// What an agent writes down for itself: `.claude/projects/NAME/memory`.
fn is_memory(path: &Path, world: &World<'_>) -> bool {
    let inside = path.strip_prefix(world.home.join(".claude/projects"));
    inside.is_ok_and(|inside| names(inside).get(1) == Some(&"memory"))
}

/// Whatever is elsewhere belongs to other people, but for temporary files.
fn zone_remote(path: &Path, reach: Reach) -> Zone {
    match (device(path), is_temp(path, reach)) {
        (Some(zone), _) => zone,
        (None, true) => Zone::Temp,
        (None, false) if path.parent().is_none() || SYSTEM.iter().any(|dir| path.starts_with(dir)) => {
            Zone::System
        }
        (None, false) => Zone::Outside,
    }
}

/// The files of a container are made again with it, but for its volumes, which are data.
fn zone_in_container(path: &Path, reach: Reach) -> Zone {
    const DATA: [&str; 7] = ["/bin", "/boot", "/etc", "/lib", "/sbin", "/usr", "/var/lib"];
    match device(path) {
        Some(zone) => zone,
        None if is_temp(path, reach) || path.starts_with("/var/lib/apt") => Zone::Temp,
        None if path.parent().is_none() => Zone::System,
        None if DATA.iter().any(|dir| path.starts_with(dir)) => Zone::System,
        None => Zone::Workspace,
    }
}

fn device(path: &Path) -> Option<Zone> {
    if !path.starts_with("/dev") || path.starts_with("/dev/shm") {
        return None;
    }
    let is_sink = SINKS.iter().any(|sink| path == Path::new(sink)) || path.starts_with("/dev/fd");
    Some(if is_sink { Zone::Sink } else { Zone::Device })
}

/// Something in a temporary directory; all of one belongs to others as well.
fn is_temp(path: &Path, reach: Reach) -> bool {
    TEMP.iter().any(|dir| path.starts_with(dir) && (path != Path::new(dir) || reach == Reach::Some))
}

#[cfg(test)]
mod tests;
