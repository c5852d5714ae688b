//! What the programs in a sandbox see of the user: a home of their own, package caches, logins, variables.
//!
//! Made ready once by each process of a run, before its first agent. What is shown stays the same
//! afterwards, whatever an agent puts in its workspace.

use super::caches::{Caches, CachesRequest};
use super::home::{Home, HomeRequest};
use super::login::{Login, LoginRequest, Watch};
use super::view::View;
use super::visible::Visible;
use super::{Role, layout};
use crate::layout as disk;
use crate::proof::mounts::Mounts;
use ralph_loop::sandbox::agents::{self, AgentFiles};
use ralph_loop::sandbox::tools::{self, Wanted};
use ralph_loop::sandbox::variables::{self, Pass, Who};
use ralph_loop::sandbox::{Places, SandboxSpec};
use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub struct PrivateRequest<'a> {
    pub spec: &'a SandboxSpec,
    pub ralph: &'a disk::Home,
    /// Where the run keeps what is its own.
    pub own: &'a Path,
    pub workspace: &'a Path,
    /// The top of the work tree, which can be written to.
    pub tree: &'a Path,
    /// The programs of the run's agents, as they are called.
    pub programs: &'a [String],
    pub way: Way,
}

/// How what is visible becomes so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Mounted,
    /// Nothing can be mounted: what would be is used as the user has it.
    Allowed,
}

#[derive(Debug)]
pub struct Private {
    view: View,
    home: Home,
    caches: Caches,
    logins: Vec<Arc<Login>>,
    /// What the user lets in.
    spec: SandboxSpec,
    said: Arc<Mutex<Vec<String>>>,
    watch: Watch,
}

/// What is not visible inside, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// MCP servers whose programs are missing: of which agent, and their names.
    pub servers: Vec<(&'static str, Vec<String>)>,
    /// Package caches that were filled from the user's.
    pub filled: Vec<String>,
    /// Paths that were asked for.
    pub skipped: Vec<String>,
    /// What is wrong with the way to the network.
    pub network: Option<String>,
}

impl Notes {
    /// A sentence each.
    pub fn lines(&self) -> Vec<String> {
        let servers = self.servers.iter().map(|(agent, names)| {
            format!("the sandbox does not show the programs of these MCP servers of {agent}: {} (sandbox.tools does)", names.join(", "))
        });
        let skipped = self.skipped.iter().map(|why| format!("not visible in the sandbox: {why}"));
        servers.chain(skipped).chain(self.network.clone()).collect()
    }
}

impl Private {
    /// Nothing where there is no home to hide.
    pub fn prepare(request: &PrivateRequest<'_>) -> io::Result<Option<Private>> {
        let PrivateRequest { spec, ralph, own, workspace, tree, programs, way } = *request;
        let Some(named) = env::home_dir() else { return Ok(None) };
        let writes = spec.write.iter().map(|path| tree.join(path));
        let writable: Vec<PathBuf> = writes.chain([tree.to_path_buf(), workspace.to_path_buf()]).collect();
        let Some(view) = View::new(named, &layout::HIDDEN.map(PathBuf::from), &writable) else {
            return Ok(None);
        };
        let variable = |name: &str| env::var_os(name);
        let places = Places { home: view.home(), variable: &variable };
        let passes = |name: &str| variables::passes(name, Who::Check, spec.allowed()) == Pass::Yes;
        let files = own.join("files");
        let home = Home::prepare(&HomeRequest {
            view: &view,
            places,
            tools: &spec.tools,
            programs,
            workspace,
            passes: &passes,
            files: &files,
        })?;
        let caches = Caches::prepare(&CachesRequest { view: &view, places, workspace, ralph, way })?;
        let workspaces = [workspace.to_path_buf(), tree.to_path_buf()];
        let logins = agents_of(programs, &spec.tools).into_iter().map(|agent| {
            Login::open(&LoginRequest {
                agent,
                view: &view,
                places,
                workspaces: &workspaces,
                ralph,
                own,
                way,
            })
        });
        let logins: Vec<Arc<Login>> = logins.map(|login| login.map(Arc::new)).collect::<io::Result<_>>()?;
        let said = Arc::<Mutex<Vec<String>>>::default();
        let heard = Arc::clone(&said);
        let watch = Watch::start(logins.clone(), move |words| keep(&heard, words));
        Ok(Some(Private { view, home, caches, logins, spec: spec.clone(), said, watch }))
    }

    /// Mounts what a program sees, in a home that is empty.
    pub fn mount(&self, mounts: &mut Mounts, role: Role) {
        let visible = self.visible(role);
        visible.mount(mounts);
        mounts.env.extend(self.home.env.iter().chain(&self.caches.env).cloned());
        for login in self.logins_of(role) {
            keep(&self.said, login.ready());
            mounts.env.extend(login.env.iter().cloned());
        }
        for name in ["TMP", "TEMP"] {
            if env::var_os(name).is_some() {
                mounts.env.push((name.into(), "/tmp".into()));
            }
        }
    }

    /// Where files and directories are that a program sees at another path, by that path.
    pub fn moved(&self, role: Role) -> Vec<(PathBuf, PathBuf)> {
        self.visible(role).moved()
    }

    fn visible(&self, role: Role) -> Visible {
        let mut visible = self.home.visible.clone();
        visible.extend(&self.caches.visible);
        self.logins_of(role).for_each(|login| visible.extend(&login.visible));
        visible
    }

    /// An agent has its own login, and those that the settings name. The user looks at all of them.
    fn logins_of(&self, role: Role) -> impl Iterator<Item = &Arc<Login>> {
        self.logins.iter().filter(move |login| match role {
            Role::Agent(agent) => agent == Some(login.agent()) || self.is_wanted(login.agent()),
            Role::Check | Role::Commit => false,
            Role::User => true,
        })
    }

    fn is_wanted(&self, agent: &AgentFiles) -> bool {
        self.spec.tools.iter().any(|name| name == agent.name)
    }

    /// Variables that the configuration of an agent names for its keys.
    pub fn keys(&self, role: Role) -> Vec<String> {
        self.logins_of(role).flat_map(|login| login.keys.iter().cloned()).collect()
    }

    /// To be said once, at the start of a run.
    pub fn notes(&self) -> Notes {
        let servers = self.logins.iter().filter_map(|login| {
            let visible = self.visible(Role::Agent(Some(login.agent())));
            let missing = login.missing_servers(|command| self.can_start(&visible, command));
            let missing: Vec<String> = missing.into_iter().map(str::to_owned).collect();
            (!missing.is_empty()).then(|| (login.agent().name, missing))
        });
        let servers = servers.collect();
        let logins = self.logins.iter().map(|login| &login.visible.skipped);
        let skipped = [&self.home.visible.skipped, &self.caches.visible.skipped].into_iter().chain(logins);
        let skipped = skipped.flatten().cloned().collect();
        Notes { servers, filled: self.caches.filled.clone(), skipped, network: None }
    }

    /// Whether a command is found in a directory of `PATH` that is visible inside.
    fn can_start(&self, visible: &Visible, command: &str) -> bool {
        let path = env::var_os("PATH");
        let found = which::which_in_all(command, path, "/");
        found.is_ok_and(|mut found| found.any(|program| visible.shows(&self.view, &program)))
    }

    /// After each step: what is new of the logins is taken over, beside the loop where that can be.
    pub fn after_step(&self) {
        if !self.watch.nudge() {
            self.sync();
        }
    }

    pub fn after_last_step(&self) -> Vec<String> {
        self.sync();
        self.take_said()
    }

    fn sync(&self) {
        for login in &self.logins {
            keep(&self.said, login.sync());
        }
    }

    /// What has happened to logins since this was last called, for people.
    pub fn take_said(&self) -> Vec<String> {
        self.said.lock().map(|mut said| std::mem::take(&mut *said)).unwrap_or_default()
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.sync();
    }
}

fn keep(said: &Mutex<Vec<String>>, words: Vec<String>) {
    if let Ok(mut said) = said.lock() {
        // The same trouble is not said each second.
        for word in words {
            if !said.contains(&word) {
                said.push(word);
            }
        }
    }
}

/// The agents whose logins are needed: those of the run, and those that the settings name.
fn agents_of(programs: &[String], tools: &[String]) -> Vec<&'static AgentFiles> {
    let named = tools.iter().filter_map(|entry| match tools::wanted(entry) {
        Ok(Wanted::Agent(agent)) => Some(agent),
        Ok(Wanted::Tool(_) | Wanted::Path(_)) | Err(_) => None,
    });
    let mut agents: Vec<&'static AgentFiles> = Vec::new();
    for agent in programs.iter().filter_map(|program| agents::agent(program)).chain(named) {
        if !agents.contains(&agent) {
            agents.push(agent);
        }
    }
    agents
}
