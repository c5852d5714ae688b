//! The network of one sandbox: what its programs find, and what they are told about it.

use super::Policy;
use super::allowed::Wanted;
use super::proxy::{Entrance, Proxy};
use crate::process::Command;
use crate::proof::mounts::{Access, Mounts};
use crate::sandbox::canary::Works;
use crate::sandbox::enter::{Entry, Serve};
use ralph_loop::sandbox::network::upstream::Upstream;
use ralph_loop::sandbox::network::{NetworkMode, NetworkSpec, NetworkUse, PROXY_PORT, variables};
use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Where programs inside find the door, if it can be mounted.
const DOOR: &str = "/run/ralph/network";

/// Its name outside.
const DOOR_FILE: &str = "network.sock";

/// None of these for a network that is as outside.
#[derive(Debug)]
pub struct Network {
    how: How,
    wanted: Wanted,
    /// None where nothing can be reached.
    proxy: Option<Proxy>,
}

/// What keeps programs from the network outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// They have one of their own, with nothing but loopback.
    Own,
    /// They may connect to a few ports only.
    Ports,
}

impl How {
    fn of(works: &Works) -> How {
        match works {
            Works::Bwrap(bwrap) if bwrap.isolates_network => How::Own,
            Works::Bwrap(_) | Works::Landlock => How::Ports,
        }
    }
}

/// For whom a network is made.
pub struct NetworkRequest<'a> {
    pub spec: &'a NetworkSpec,
    pub works: &'a Works,
    /// A directory that only this user can reach.
    pub own: &'a Path,
    pub tree: &'a Path,
    pub programs: &'a [String],
}

impl Network {
    pub fn prepare(request: &NetworkRequest<'_>) -> io::Result<Option<Network>> {
        let NetworkRequest { spec, works, own, tree, programs } = *request;
        let how = How::of(works);
        match spec.mode {
            NetworkMode::Open => Ok(None),
            NetworkMode::Off => Ok(Some(Network::off(works))),
            NetworkMode::Allowlist => {
                let wanted = Wanted::of(spec, programs, tree);
                let upstream = Upstream::of_variables(&|name| env::var(name).ok());
                let policy = Policy::new(wanted.now(), wanted.forwards.clone(), upstream);
                let entrance = match how {
                    How::Own => Entrance::Door(own.join(DOOR_FILE)),
                    How::Ports => Entrance::Loopback,
                };
                let proxy = Some(Proxy::start(policy, &entrance)?);
                Ok(Some(Network { how, wanted, proxy }))
            }
        }
    }

    /// With nothing in it.
    pub fn off(works: &Works) -> Network {
        Network { how: How::of(works), wanted: Wanted::default(), proxy: None }
    }

    /// What the user should know at the start.
    pub fn notes(&self) -> Option<String> {
        let upstream = &self.proxy.as_ref()?.policy.upstream;
        upstream.as_ref().err().map(|bad| format!("{bad}; nothing outside can be reached"))
    }

    /// Before programs start: the project may have become another one.
    pub fn refresh(&self) {
        if let Some(proxy) = &self.proxy {
            proxy.policy.allow(self.wanted.now());
        }
    }

    /// When no program runs inside any more.
    pub fn after_step(&self) {
        if let Some(proxy) = &self.proxy {
            proxy.step_is_over();
        }
    }

    /// What has happened since this was last called.
    pub fn take_news(&self) -> NetworkUse {
        self.proxy.as_ref().map(|proxy| proxy.policy.ledger.take()).unwrap_or_default()
    }

    pub fn mount(&self, mounts: &mut Mounts) {
        if self.how == How::Own {
            mounts.isolate_network();
        }
        if let Some(door) = self.proxy.as_ref().and_then(Proxy::door) {
            mounts.bind(door.to_path_buf(), PathBuf::from(DOOR), Access::Read);
        }
    }

    /// What a process inside does before it becomes the program.
    pub fn enter(&self, mut entry: Entry) -> Entry {
        let forwards = &self.wanted.forwards;
        if let Some(proxy) = &self.proxy {
            entry.limits.open_files = proxy.open_files;
        }
        match (self.how, &self.proxy) {
            (How::Own, None) => {}
            (How::Own, Some(_)) => {
                let ports = [PROXY_PORT].iter().chain(forwards).copied().collect();
                entry.serve = Some(Serve { door: PathBuf::from(DOOR), ports });
            }
            (How::Ports, proxy) => {
                let own = proxy.as_ref().and_then(|proxy| proxy.port);
                entry.connect = Some(own.iter().chain(forwards).copied().collect());
            }
        }
        entry
    }

    /// A command that finds the proxy, and no other.
    pub fn told(&self, mut command: Command) -> Command {
        match &self.proxy {
            None => command.env_remove.extend(variables::REMOVED_INSIDE.map(OsString::from)),
            Some(proxy) => {
                let port = proxy.port.unwrap_or(PROXY_PORT);
                let set = variables::set_inside(port, &|name| env::var(name).ok());
                command.env.extend(set.into_iter().map(|(name, value)| (name.into(), value.into())));
            }
        }
        command
    }
}
