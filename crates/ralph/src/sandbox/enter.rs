//! The last thing before a program starts in a sandbox: a process that restricts itself and becomes it.
//!
//! `ralph __enter JSON PROGRAM ARGS…` is started by the keeper or by bubblewrap. Limits of processes and
//! Landlock rules can only be set by a process for itself, and last beyond `exec`. There is no fork: the
//! process that is started is the one that is waited for and signalled.
//!
//! Invariant: the program starts with everything that the entry asks for, or not at all. `no_new_privs` is set
//! only with rules or refused keyrings: an entry with nothing but cgroups and limits can start a bubblewrap that is
//! set-user-ID.
//!
//! Deliberately absent: mounts, namespaces and the environment, which bubblewrap takes care of.

use super::cgroup;
use super::keyrings::{self, KeyringsError};
use super::network::door;
use super::rules::{self, Rules, RulesError, Scope};
use crate::process::{self, Command};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What a process does to itself before it becomes the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Entry {
    /// Directories of cgroups to enter. Outside of a sandbox: inside they cannot be written.
    #[serde(with = "paths", skip_serializing_if = "Vec::is_empty")]
    pub cgroups: Vec<PathBuf>,
    /// The files that the program can reach; all of them without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub landlock: Option<Rules>,
    /// TCP ports that the program can connect to, where the system can hold it to that; all of them without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect: Option<Vec<u16>>,
    /// Ports of its loopback that ralph serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serve: Option<Serve>,
    pub scope: Scope,
    pub keyrings: Keyrings,
    pub limits: ProcessLimits,
}

/// Ports on the loopback of a network of its own, and the socket through which ralph gets them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Serve {
    pub door: PathBuf,
    pub ports: Vec<u16>,
}

/// Whether the program can use keys that the kernel keeps for the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keyrings {
    #[default]
    Shared,
    Refused,
}

/// Limits of each process; those of all together are a matter of cgroups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProcessLimits {
    /// Processes and threads of the user in this user namespace. Does not hold for root, not even in a user
    /// namespace where root is called something else.
    pub processes: Option<u64>,
    /// Bytes of data. Address space is no measure: V8 and Go reserve far more than they use.
    pub memory: Option<u64>,
    /// Bytes of a file.
    pub file_size: Option<u64>,
    /// Open files, as the user has it: ralph has raised its own limit, and only that can be raised again.
    pub open_files: Option<u64>,
}

/// Why a program was not started.
#[derive(Debug, Error)]
pub enum EnterError {
    #[error("cannot enter the cgroup: {}", dir.display())]
    Cgroup { dir: PathBuf, source: io::Error },
    #[error("cannot limit {what}")]
    Limit { what: &'static str, source: io::Error },
    #[error("cannot reach the network of the sandbox")]
    Network(#[source] io::Error),
    #[error(transparent)]
    Rules(#[from] RulesError),
    #[error(transparent)]
    Keyrings(#[from] KeyringsError),
    #[error("cannot give up the rights of root")]
    Capabilities(#[source] io::Error),
    #[error("cannot find the program: {}", program.display())]
    NotFound { program: OsString, source: io::Error },
    #[error("cannot execute the program: {}", program.display())]
    NotExecutable { program: OsString, source: io::Error },
}

impl Entry {
    /// The command that enters with the `ralph` at a path and then becomes the command `argv`.
    pub fn command(&self, ralph: &Path, argv: Vec<OsString>) -> serde_json::Result<Vec<OsString>> {
        let entry = serde_json::to_string(self)?;
        Ok([ralph.into(), super::ENTER.into(), entry.into()].into_iter().chain(argv).collect())
    }

    /// The same for a command with all that belongs to it.
    pub fn in_front_of(&self, ralph: &Path, mut command: Command) -> Command {
        // Nothing in it cannot be written as JSON.
        if let Ok(argv) = self.command(ralph, std::mem::take(&mut command.argv)) {
            command.argv = argv;
        }
        command
    }

    /// Restricts this process and becomes the program. Returns only if that fails.
    pub fn enter(&self, program: &OsStr, args: &[OsString]) -> EnterError {
        if let Err(error) = self.restrict() {
            return error;
        }
        let (program, source) = (program.to_owned(), process::exec(program, args));
        match source.kind() {
            io::ErrorKind::NotFound => EnterError::NotFound { program, source },
            _ => EnterError::NotExecutable { program, source },
        }
    }

    fn restrict(&self) -> Result<(), EnterError> {
        for dir in &self.cgroups {
            cgroup::enter(dir).map_err(|source| EnterError::Cgroup { dir: dir.clone(), source })?;
        }
        self.limits.apply()?;
        if let Some(Serve { door, ports }) = &self.serve {
            door::hand_over(door, ports).map_err(EnterError::Network)?;
        }
        // Last, because it takes away the access to files that the rest may need.
        rules::restrict(self.landlock.as_ref(), self.connect.as_deref(), self.scope)?;
        if self.landlock.is_some() {
            drop_capabilities().map_err(EnterError::Capabilities)?;
        }
        match self.keyrings {
            Keyrings::Shared => Ok(()),
            Keyrings::Refused => Ok(keyrings::refuse()?),
        }
    }
}

/// What only root can do is not about files alone: clocks, devices, the memory of other processes.
/// `no_new_privs`, which comes with rules, keeps `exec` from giving it back.
#[cfg(target_os = "linux")]
fn drop_capabilities() -> io::Result<()> {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}

#[cfg(not(target_os = "linux"))]
fn drop_capabilities() -> io::Result<()> {
    Ok(())
}

impl ProcessLimits {
    fn apply(self) -> Result<(), EnterError> {
        let limits = [
            ("the number of processes", Resource::Nproc, self.processes),
            ("the memory of processes", Resource::Data, self.memory),
            ("the size of files", Resource::Fsize, self.file_size),
            // Memory on disk, with all secrets in it.
            ("the size of core files", Resource::Core, Some(0)),
        ];
        for (what, resource, most) in limits {
            if let Some(most) = most {
                lower(resource, most).map_err(|source| EnterError::Limit { what, source })?;
            }
        }
        if let Some(open_files) = self.open_files {
            let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
            let current = Some(current.map_or(open_files, |current| current.min(open_files)));
            let limited = setrlimit(Resource::Nofile, Rlimit { current, maximum });
            let failed =
                |source: rustix::io::Errno| EnterError::Limit { what: "open files", source: source.into() };
            limited.map_err(failed)?;
        }
        Ok(())
    }
}

/// For the process and all that it starts; lower limits stay.
fn lower(resource: Resource, most: u64) -> io::Result<()> {
    let lower = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    let Rlimit { current, maximum } = getrlimit(resource);
    Ok(setrlimit(resource, Rlimit { current: lower(current), maximum: lower(maximum) })?)
}

/// Paths in JSON: text, or bytes where they are no UTF-8.
pub(super) mod paths {
    use super::PathBuf;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Spelled {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| match path.to_str() {
            Some(text) => Spelled::Text(text.to_owned()),
            None => Spelled::Bytes(path.as_os_str().as_bytes().to_vec()),
        }))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
        let spelled = Vec::<Spelled>::deserialize(deserializer)?;
        Ok(spelled.into_iter().map(path).collect())
    }

    fn path(spelled: Spelled) -> PathBuf {
        match spelled {
            Spelled::Text(text) => PathBuf::from(text),
            Spelled::Bytes(bytes) => PathBuf::from(OsString::from_vec(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn an_entry_survives_as_it_is_with_paths_that_are_no_text() {
        let odd = PathBuf::from(OsString::from_vec(b"/a b/\xff\n\"".to_vec()));
        let rules = Rules { read: vec!["/usr".into(), odd.clone()], write: vec![odd] };
        let limits = ProcessLimits { processes: Some(3), ..ProcessLimits::default() };
        let cgroups = rules.write.clone();
        let (scope, keyrings) = (Scope::Required, Keyrings::Refused);
        let serve = Some(Serve { door: "/run/x".into(), ports: vec![3128] });
        let connect = Some(vec![80, 443]);
        let entry = Entry { cgroups, landlock: Some(rules), connect, serve, scope, keyrings, limits };
        let text = serde_json::to_string(&entry).unwrap();
        assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry);
    }

    #[test]
    fn what_an_entry_leaves_out_is_not_restricted_and_what_is_misspelled_is_refused() {
        assert_eq!(serde_json::from_str::<Entry>("{}").unwrap(), Entry::default());
        assert!(serde_json::from_str::<Entry>(r#"{"landlocked":{}}"#).is_err());
    }
}
