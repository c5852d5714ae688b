//! Which files, sockets and processes a program can reach, by Landlock rules.
//!
//! Landlock is a list of what is allowed, and a rule for a directory holds for all below it: nothing can be
//! denied inside of an allowed directory. "Everything but the home" is therefore spelled out as the
//! directories beside the home and beside its parents ([`readable_but_not`]).
//!
//! Deliberately absent: the right to connect to sockets in the file system, which Landlock has since ABI 9. A
//! right that is not tested on a kernel that knows it is not asked for. Landlock says nothing about `stat`,
//! `chmod` and `utime`; these are possible everywhere.

use super::enter::paths;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use thiserror::Error;

/// What is not named here can be neither read nor written. Paths that do not exist are no error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Files, and directories with all below them, that can be read and executed.
    #[serde(with = "paths")]
    pub read: Vec<PathBuf>,
    /// The same for any use.
    #[serde(with = "paths")]
    pub write: Vec<PathBuf>,
}

/// Whether abstract sockets and processes outside of the sandbox are out of reach: sockets cannot be
/// connected to, processes cannot be signalled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    #[default]
    Open,
    /// Where the system can do that (Landlock ABI 6, Linux 6.12).
    IfAvailable,
    Required,
}

#[derive(Debug, Error)]
pub enum RulesError {
    #[error("Landlock cannot restrict files here (needs Linux 6.2 or later, with Landlock enabled)")]
    NoFileRules,
    #[error("Landlock cannot close abstract sockets here (needs Linux 6.12 or later, with Landlock enabled)")]
    NoScope,
    #[error("cannot apply the Landlock rules")]
    Apply(#[source] io::Error),
}

#[cfg(target_os = "linux")]
pub use on_linux::{file_rules_are_available, port_rules_are_available, restrict, scope_is_available};

#[cfg(target_os = "linux")]
mod on_linux {
    use super::{Rules, RulesError, Scope};
    use landlock::{
        ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr,
        RulesetCreatedAttr, RulesetError, path_beneath_rules,
    };
    use std::io;

    /// Before it a file that cannot be written could still be emptied.
    const OLDEST_FOR_FILES: ABI = ABI::V3;
    /// With ioctl on devices; the newest that makes a difference for files and is tested.
    const NEWEST_FOR_FILES: ABI = ABI::V5;
    const SCOPES: ABI = ABI::V6;
    const PORTS: ABI = ABI::V4;

    /// Restricts this process, and sets `no_new_privs` if there is something to restrict. `connect` are the ports
    /// that TCP can be connected to, where the system can do that.
    pub fn restrict(rules: Option<&Rules>, connect: Option<&[u16]>, scope: Scope) -> Result<(), RulesError> {
        let mut ruleset = Ruleset::default();
        if rules.is_some() {
            ruleset = with_files(ruleset).map_err(|_| RulesError::NoFileRules)?;
        }
        if connect.is_some() {
            let handled = with_ports(ruleset, CompatLevel::BestEffort);
            ruleset = handled.map_err(|cause| RulesError::Apply(io::Error::other(cause)))?;
        }
        ruleset = match scope {
            Scope::Open if rules.is_none() && connect.is_none() => return Ok(()),
            Scope::Open => ruleset,
            Scope::IfAvailable => {
                with_scope(ruleset, CompatLevel::BestEffort).map_err(|_| RulesError::NoScope)?
            }
            Scope::Required => {
                with_scope(ruleset, CompatLevel::HardRequirement).map_err(|_| RulesError::NoScope)?
            }
        };
        apply(ruleset, rules, connect.unwrap_or_default())
            .map_err(|cause| RulesError::Apply(io::Error::other(cause)))
    }

    /// Whether [`Rules`] would hold here. Nothing is restricted.
    pub fn file_rules_are_available() -> bool {
        with_files(Ruleset::default()).and_then(Ruleset::create).is_ok()
    }

    /// Whether [`Scope::Required`] would hold here. Nothing is restricted.
    pub fn scope_is_available() -> bool {
        with_scope(Ruleset::default(), CompatLevel::HardRequirement).and_then(Ruleset::create).is_ok()
    }

    fn with_files(ruleset: Ruleset) -> Result<Ruleset, RulesetError> {
        ruleset
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(OLDEST_FOR_FILES))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(NEWEST_FOR_FILES))
    }

    fn with_scope(ruleset: Ruleset, level: CompatLevel) -> Result<Ruleset, RulesetError> {
        ruleset.set_compatibility(level).scope(landlock::Scope::from_all(SCOPES))
    }

    /// Whether the ports that a program can connect to would be restricted here. Nothing is restricted.
    pub fn port_rules_are_available() -> bool {
        with_ports(Ruleset::default(), CompatLevel::HardRequirement).and_then(Ruleset::create).is_ok()
    }

    fn with_ports(ruleset: Ruleset, level: CompatLevel) -> Result<Ruleset, RulesetError> {
        let connecting = AccessNet::from_all(PORTS) & AccessNet::ConnectTcp;
        ruleset.set_compatibility(level).handle_access(connecting)
    }

    fn apply(ruleset: Ruleset, rules: Option<&Rules>, connect: &[u16]) -> Result<(), RulesetError> {
        let mut created = ruleset.set_compatibility(CompatLevel::BestEffort).create()?;
        if let Some(Rules { read, write }) = rules {
            let some: BitFlags<AccessFs> = AccessFs::from_read(NEWEST_FOR_FILES);
            let all: BitFlags<AccessFs> = AccessFs::from_all(NEWEST_FOR_FILES);
            // What does not exist, or cannot be reached, is left out there.
            created = created.add_rules(path_beneath_rules(read, some))?;
            created = created.add_rules(path_beneath_rules(write, all))?;
        }
        let ports =
            connect.iter().map(|port| Ok::<_, RulesetError>(NetPort::new(*port, AccessNet::ConnectTcp)));
        created = created.add_rules(ports)?;
        created.restrict_self().map(drop)
    }
}

#[cfg(not(target_os = "linux"))]
pub fn restrict(rules: Option<&Rules>, _: Option<&[u16]>, scope: Scope) -> Result<(), RulesError> {
    match (rules, scope) {
        (Some(_), _) => Err(RulesError::NoFileRules),
        (None, Scope::Required) => Err(RulesError::NoScope),
        (None, Scope::Open | Scope::IfAvailable) => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
pub fn file_rules_are_available() -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
pub fn port_rules_are_available() -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
pub fn scope_is_available() -> bool {
    false
}

/// What of `root` can be read if some directories in it are not to be: the largest directories, and the
/// files, that do not contain a hidden one.
///
/// A directory that contains a hidden one cannot be listed. What is mounted a second time at another path
/// can be read there, and what appears later beside a hidden directory cannot be read.
pub fn readable_but_not(root: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    let hidden: Vec<PathBuf> = hidden.iter().map(|path| resolved(path)).collect();
    let mut readable = Vec::new();
    let mut left = vec![resolved(root)];
    while let Some(path) = left.pop() {
        if hidden.iter().any(|hidden| path.starts_with(hidden)) {
            continue;
        }
        if !hidden.iter().any(|hidden| hidden.starts_with(&path)) {
            readable.push(path);
            continue;
        }
        // What is in a directory that cannot be read is not readable either.
        let entries = fs::read_dir(&path).into_iter().flatten().flatten();
        // A rule for a link holds for its target, which may be hidden and otherwise has a rule already.
        let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
        left.extend(entries.map(|entry| entry.path()));
    }
    readable.sort();
    readable
}

/// Without links and `..`, as far as the path exists.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for existing in absolute.ancestors() {
        let (Ok(real), Ok(rest)) = (existing.canonicalize(), absolute.strip_prefix(existing)) else {
            continue;
        };
        return rest.components().fold(real, |mut path, component| {
            match component {
                Component::ParentDir => drop(path.pop()),
                Component::Normal(name) => path.push(name),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
            path
        });
    }
    absolute
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests make a tree")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    fn tree(dirs: &[&str]) -> TempDir {
        let root = TempDir::new().unwrap();
        for dir in dirs {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        root
    }

    #[track_caller]
    fn check(root: &TempDir, hidden: &[&str], readable: &[&str]) {
        let hidden: Vec<PathBuf> = hidden.iter().map(|path| root.path().join(path)).collect();
        let real = root.path().canonicalize().unwrap();
        let found = readable_but_not(root.path(), &hidden);
        let found: Vec<&Path> = found.iter().map(|path| path.strip_prefix(&real).unwrap()).collect();
        assert_eq!(found, readable.iter().map(Path::new).collect::<Vec<_>>());
    }

    #[test]
    fn all_but_a_home_is_what_is_beside_it_and_its_parents() {
        let root = tree(&["etc/ssl", "home/me/.ssh", "home/you", "usr/bin", "tmp/x"]);
        fs::write(root.path().join("vmlinuz"), "").unwrap();
        check(&root, &["home/me", "tmp"], &["etc", "home/you", "usr", "vmlinuz"]);
        check(&root, &["home/me", "home/me/.ssh"], &["etc", "home/you", "tmp", "usr", "vmlinuz"]);
        check(&root, &[], &[""]);
        check(&root, &[""], &[]);
    }

    #[test]
    fn a_link_neither_shows_what_is_hidden_nor_hides_only_itself() {
        let root = tree(&["data/home/me", "usr/bin"]);
        symlink("data/home", root.path().join("home")).unwrap();
        symlink("data/home/me/keys", root.path().join("keys")).unwrap();
        symlink("usr/bin", root.path().join("bin")).unwrap();
        check(&root, &["home/me"], &["usr"]);
        check(&root, &["home/me/../me"], &["usr"]);
    }

    #[test]
    fn what_does_not_exist_yet_stays_hidden_once_it_does() {
        let root = tree(&["home/me", "home/you"]);
        check(&root, &["home/me/.ralph/runs"], &["home/you"]);
    }
}
