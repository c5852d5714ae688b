//! What a run may reach: its settings, its agents, and the files of its project.

use super::project;
use ralph_loop::sandbox::Places;
use ralph_loop::sandbox::network::endpoints::{self, Endpoint, agent_hosts};
use ralph_loop::sandbox::network::{Allowlist, Entry, Forward, NetworkSpec};
use std::env;
use std::path::{Path, PathBuf};

/// What stays the same during a run.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    base: Allowlist,
    tree: PathBuf,
    /// Ports of the user's loopback that are reached at the same port inside.
    pub forwards: Vec<u16>,
}

impl Wanted {
    /// `programs` are those of the agents, as they are called.
    pub fn of(spec: &NetworkSpec, programs: &[String], tree: &Path) -> Wanted {
        let mut base = Allowlist::default();
        // Those that cannot be read were refused with the settings.
        spec.hosts
            .iter()
            .filter_map(|entry| Entry::parse(entry).ok())
            .for_each(|entry| base.add_entry(entry));
        let mut forwards: Vec<u16> = spec.forward.iter().map(|forward| forward.port).collect();
        for endpoint in programs.iter().flat_map(|program| endpoints_of(program)) {
            base.add_endpoint(&endpoint);
            // Programs go to their own loopback without a proxy.
            if endpoint.host.is_local() && Forward::parse(&endpoint.port.to_string()).is_ok() {
                forwards.push(endpoint.port);
            }
        }
        for agent in programs.iter().filter_map(|program| agent_hosts(program)) {
            base.add_agent(agent);
            base.add_hosts(endpoints::of_clouds(agent, &|name| env::var_os(name).is_some()));
        }
        forwards.sort_unstable();
        forwards.dedup();
        Wanted { base, tree: tree.to_path_buf(), forwards }
    }

    /// With the groups that the project needs now.
    pub fn now(&self) -> Allowlist {
        let mut allowed = self.base.clone();
        project::groups(&self.tree).into_iter().for_each(|group| allowed.add_group(group));
        allowed
    }
}

fn endpoints_of(program: &str) -> Vec<Endpoint> {
    let agent = agent_hosts(program);
    let mut found = endpoints::of_variables(agent, &|name| env::var(name).ok());
    let Some(home) = env::home_dir() else { return found };
    let variable = |name: &str| env::var_os(name);
    let places = Places { home: &home, variable: &variable };
    let text = |path: &str| fs_err::read_to_string(places.expand(path)?).ok();
    match agent.map(|agent| agent.name) {
        Some("claude") => {
            let settings = text("$CLAUDE_CONFIG_DIR/settings.json");
            let settings = settings.and_then(|text| serde_json::from_str(&text).ok());
            found.extend(settings.iter().flat_map(endpoints::of_claude_settings));
        }
        Some("codex") => {
            found.extend(
                text("$CODEX_HOME/config.toml").iter().flat_map(|text| endpoints::of_codex_config(text)),
            );
        }
        Some(_) | None => {}
    }
    found
}
