//! The login of an agent inside: a copy of its credentials that all runs share, and its
//! configuration.
//!
//! The directory of the agent is one of ralph's own. What is the user's configuration there is
//! mounted read-only, and what the agent keeps of its sessions is the run's. So nothing that one
//! run leaves there is read by another but the login, and the user's own history is neither seen
//! nor changed.
//!
//! Deliberately absent: logging in. Without a login of the user's the agent finds none.

mod pair;
#[cfg(test)]
mod tests;
mod watch;

pub use watch::Watch;

use super::private::Way;
use super::view::{Leads, View};
use super::visible::Visible;
use crate::fsx;
use crate::handed::HandedFile;
use crate::layout;
use crate::proof::mounts::Access;
use crate::secrets;
use pair::{Pair, Pairs};
use ralph_loop::sandbox::Places;
use ralph_loop::sandbox::agent_config::{self, Server};
use ralph_loop::sandbox::agents::AgentFiles;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Claude's own settings.
const CLAUDE_JSON: &str = ".claude.json";
/// Its end is in there.
const API_KEY: &str = "ANTHROPIC_API_KEY";
/// A user's `.claude.json` grows with each project.
const MOST_READ: u64 = 64 << 20;

pub struct LoginRequest<'a> {
    pub agent: &'static AgentFiles,
    pub view: &'a View,
    pub places: Places<'a>,
    /// Directories that the user trusts by having started a run there.
    pub workspaces: &'a [PathBuf],
    pub ralph: &'a layout::Home,
    /// Where the run keeps what is its own.
    pub own: &'a Path,
    pub way: Way,
}

#[derive(Debug)]
pub struct Login {
    agent: &'static AgentFiles,
    pub visible: Visible,
    /// Variables that the agent gets.
    pub env: Vec<(OsString, OsString)>,
    /// Variables that it takes keys from, beside those that are known.
    pub keys: Vec<String>,
    servers: Vec<Server>,
    /// What is mounted in the shared directory, by name, and whether that is a directory.
    mounted: Vec<(PathBuf, bool)>,
    shared: PathBuf,
    pairs: Pairs,
    /// It is mounted as long as the run lives.
    _claude_json: Option<HandedFile>,
    /// Shows other runs that this one uses the shared directory.
    _in_use: File,
}

impl Login {
    pub fn open(request: &LoginRequest<'_>) -> io::Result<Login> {
        let &LoginRequest { agent, view, places, ralph, .. } = request;
        let root = ralph.logins();
        let shared = root.join(agent.name);
        fsx::private_dir(&shared)?;
        let in_use = use_shared(&root, &shared, agent)?;
        let pairs = Pairs::at(&root, agent.name);
        let mut login = Login {
            agent,
            visible: Visible::default(),
            env: Vec::new(),
            keys: Vec::new(),
            servers: Vec::new(),
            mounted: Vec::new(),
            shared,
            pairs,
            _claude_json: None,
            _in_use: in_use,
        };
        if let Some(dir) = places.expand(agent.dir) {
            let dir = view.inside(&dir);
            match request.way {
                Way::Mounted => login.show(request, &dir)?,
                Way::Allowed => login.allow(request, &dir),
            }
        }
        login.ready();
        Ok(login)
    }

    pub fn agent(&self) -> &'static AgentFiles {
        self.agent
    }

    fn show(&mut self, request: &LoginRequest<'_>, dir: &Path) -> io::Result<()> {
        let (agent, view) = (self.agent, request.view);
        // In the workspace it is as it is, and ralph must not write where links can be put in its way.
        // Elsewhere something has to be there to mount on.
        if view.is_writable(dir) || view.is_too_much(dir) || !(view.is_hidden(dir) || dir.is_dir()) {
            self.visible.skipped.push(format!("{}: no login of {}", dir.display(), agent.name));
            return Ok(());
        }
        self.visible.bind(self.shared.clone(), dir.to_path_buf(), Access::Write);
        for credential in agent.credentials {
            let original = match view.follow(&dir.join(credential.file)) {
                Some(Leads::To(real)) => real,
                // Not there yet, or not any more.
                None => dir.join(credential.file),
                Some(Leads::IntoWritable(there)) => {
                    self.visible.skipped.push(format!("{} is inside the project", there.display()));
                    continue;
                }
            };
            self.pairs.add(Pair { credential, original, copy: self.shared.join(credential.file) });
        }
        for name in agent.config {
            self.show_config(request, dir, name)?;
        }
        for name in agent.own {
            self.give_own(request, dir, name, None)?;
        }
        for path in agent.config_elsewhere.iter().filter_map(|path| request.places.expand(path)) {
            self.visible.show_with_links(view, &path);
        }
        for (name, value) in agent.env {
            self.env.push((name.into(), value.replace("{dir}", &dir.to_string_lossy()).into()));
        }
        if agent.name == "claude" {
            self.give_claude_json(request, dir)?;
        }
        Ok(())
    }

    /// The user's own files, where nothing can be mounted.
    fn allow(&mut self, request: &LoginRequest<'_>, dir: &Path) {
        for path in [dir.to_path_buf(), request.view.home().join(CLAUDE_JSON)] {
            let is_claudes = path.ends_with(CLAUDE_JSON);
            if let Some(Leads::To(real)) = request.view.follow(&path)
                && (!is_claudes || self.agent.name == "claude")
            {
                self.visible.bind(real.clone(), real, Access::Write);
            }
        }
        for name in self.agent.config {
            self.read_config(name, &dir.join(name));
        }
        for path in self.agent.config_elsewhere.iter().filter_map(|path| request.places.expand(path)) {
            self.visible.show_with_links(request.view, &path);
        }
    }

    /// The user's, to read; else one of the run's own: in the shared directory, what an agent writes
    /// would be the configuration of others.
    fn show_config(&mut self, request: &LoginRequest<'_>, dir: &Path, name: &str) -> io::Result<()> {
        let (view, path) = (request.view, dir.join(name));
        match view.follow(&path) {
            Some(Leads::To(real)) if !view.is_too_much(&real) => {
                self.read_config(name, &real);
                self.mounted.push((name.into(), real.is_dir()));
                self.visible.show_links_in(view, &real);
                self.visible.bind(real, path, Access::Read);
                Ok(())
            }
            Some(_) | None => self.give_own(request, dir, name, AgentFiles::empty(name)),
        }
    }

    /// A directory of the run's own, or a file with something in it.
    fn give_own(
        &mut self,
        request: &LoginRequest<'_>,
        dir: &Path,
        name: &str,
        content: Option<&str>,
    ) -> io::Result<()> {
        let own = request.own.join(self.agent.name).join(name);
        match content {
            None => fsx::private_dir(&own)?,
            Some(_) if own.is_file() => {}
            Some(content) => {
                fsx::private_dir(own.parent().unwrap_or(request.own))?;
                fsx::write_private(&own, content.as_bytes())?;
            }
        }
        self.mounted.push((name.into(), content.is_none()));
        self.visible.bind(own, dir.join(name), Access::Write);
        Ok(())
    }

    /// What is said there of programs and variables.
    fn read_config(&mut self, name: &str, path: &Path) {
        let content = fsx::read_at_most(path, MOST_READ).unwrap_or_default();
        if name == "config.toml" {
            let content = String::from_utf8_lossy(&content);
            if let Some(config) = agent_config::toml_as_json(&content) {
                secrets::learn_config(self.agent.name, &config);
            }
            let config = agent_config::codex_config(&content);
            self.servers.extend(config.servers);
            self.keys.extend(config.keys);
        } else if let Ok(json) = serde_json::from_slice::<Value>(&content) {
            secrets::learn_config(self.agent.name, &json);
            self.servers.extend(agent_config::servers_in_json(&json));
        }
    }

    /// Claude changes them all the time; see [`agent_config::claude_json`]. They can have keys of MCP servers, and so are not
    /// in the record.
    fn give_claude_json(&mut self, request: &LoginRequest<'_>, dir: &Path) -> io::Result<()> {
        let variable = request.places.variable;
        let is_in_dir = variable("CLAUDE_CONFIG_DIR").is_some_and(|dir| !dir.is_empty());
        let path = if is_in_dir { dir.join(CLAUDE_JSON) } else { request.view.home().join(CLAUDE_JSON) };
        let users = match request.view.follow(&path) {
            Some(Leads::To(real)) => fsx::read_at_most(&real, MOST_READ).ok(),
            Some(Leads::IntoWritable(_)) | None => None,
        };
        let users: Option<Value> = users.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let workspaces: Vec<_> = request.workspaces.iter().map(|path| path.to_string_lossy()).collect();
        let workspaces: Vec<&str> = workspaces.iter().map(AsRef::as_ref).collect();
        let api_key = variable(API_KEY).and_then(|key| key.into_string().ok());
        let settings = agent_config::claude_json(users.as_ref(), &workspaces, api_key.as_deref());
        secrets::learn_config(self.agent.name, &settings);
        if let Some(key) = &api_key {
            secrets::learn_part(API_KEY, &agent_config::key_end(key));
        }
        self.servers.extend(agent_config::servers_in_json(&settings));
        let content = serde_json::to_vec_pretty(&settings).map_err(io::Error::other)?;
        let handed = HandedFile::instead_of(Path::new(CLAUDE_JSON), request.ralph, &content)?;
        if is_in_dir {
            self.mounted.push((CLAUDE_JSON.into(), false));
        }
        self.visible.bind(handed.path().to_path_buf(), path, Access::Write);
        self._claude_json = Some(handed);
        Ok(())
    }

    /// Before each step of the agent: what it logs in with is there, and all that is mounted in the
    /// shared directory can be. Returns what people should know.
    pub fn ready(&self) -> Vec<String> {
        for (name, is_dir) in &self.mounted {
            // An agent can have put anything there. Without it, the mount fails, and says so.
            let _ = make_mountable(&self.shared.join(name), *is_dir);
        }
        for credential in self.agent.credentials {
            let copy = self.shared.join(credential.file);
            // A directory could not be replaced by a file.
            if copy.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                let _ = fsx::remove_tree(&copy);
            }
        }
        self.pairs.settle()
    }

    /// Takes over what is new, on both sides. After each step, and whenever something changes. Returns what
    /// people should know.
    pub fn sync(&self) -> Vec<String> {
        self.pairs.sync()
    }

    /// The user's MCP servers whose programs cannot be started inside.
    pub fn missing_servers(&self, is_visible: impl Fn(&str) -> bool) -> BTreeSet<&str> {
        let missing = self.servers.iter().filter(|server| !is_visible(&server.command));
        missing.map(|server| server.name.as_str()).collect()
    }
}

/// Marks the shared directory as used, as long as the file is open. If no other run uses it, what runs
/// have left there beside the login is removed.
fn use_shared(root: &Path, shared: &Path, agent: &AgentFiles) -> io::Result<File> {
    let in_use = fsx::lock_file(&root.join(format!("{}.users", agent.name)))?;
    if in_use.try_lock().is_ok() {
        for entry in fs::read_dir(shared)?.flatten() {
            let name = entry.file_name();
            if agent.credentials.iter().any(|credential| name == credential.file) {
                continue;
            }
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            // What cannot be removed is in no one's way.
            let _ = if is_dir { fsx::remove_tree(&entry.path()) } else { fsx::remove(&entry.path()) };
        }
        in_use.unlock()?;
    }
    in_use.lock_shared()?;
    Ok(in_use)
}

/// Makes an empty file or directory where none is, or something else.
fn make_mountable(path: &Path, is_dir: bool) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() && is_dir || meta.is_file() && !is_dir => return Ok(()),
        Ok(meta) if meta.is_dir() => fsx::remove_tree(path)?,
        Ok(_) => fsx::remove(path)?,
        Err(_) => {}
    }
    if is_dir { fsx::private_dir(path) } else { fsx::write_new(path, b"") }
}
