//! Codex: `codex plugin …`, and its app server for what these commands do not tell.
//!
//! It copies a plugin when that is added, and silently skips hooks until the user trusts them: each by the hash of its
//! definition and of the plugin's files, so also after an update. While the directory of a marketplace is missing, its
//! commands fail for all plugins.

use super::agent::{Caller, Listed, ListedPlugin};
use super::app_server::AppServer;
use super::{ID, MARKETPLACE, PluginAgent, PluginError};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

const AGENT: PluginAgent = PluginAgent::Codex;

#[derive(Deserialize)]
struct Marketplaces {
    marketplaces: Vec<Marketplace>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Marketplace {
    name: String,
    root: Option<String>,
    marketplace_source: Option<MarketplaceSource>,
}

#[derive(Deserialize)]
struct MarketplaceSource {
    source: Option<String>,
}

#[derive(Deserialize)]
struct Plugins {
    installed: Vec<Plugin>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Plugin {
    plugin_id: String,
    version: Option<String>,
    #[serde(default)]
    enabled: bool,
}

pub(super) fn listed(caller: &Caller<'_>) -> Result<Listed, PluginError> {
    let marketplaces = caller.ask(&["plugin", "marketplace", "list", "--json"])?;
    let plugins = caller.ask(&["plugin", "list", "--json"])?;
    Ok(of(marketplaces, plugins))
}

fn of(marketplaces: Marketplaces, plugins: Plugins) -> Listed {
    let ours = marketplaces.marketplaces.into_iter().find(|marketplace| marketplace.name == MARKETPLACE);
    let plugin = plugins.installed.into_iter().find(|plugin| plugin.plugin_id == ID);
    Listed {
        marketplace: ours.map(|ours| {
            let source = ours.marketplace_source.and_then(|source| source.source);
            source.or(ours.root).unwrap_or_else(|| "a place that it does not name".to_owned())
        }),
        plugin: plugin.map(|Plugin { version, enabled, .. }| ListedPlugin {
            enabled,
            version,
            ..ListedPlugin::default()
        }),
    }
}

pub(super) fn install(caller: &Caller<'_>, dir: &Path) -> Result<(), PluginError> {
    caller.tell(&["plugin", "marketplace", "add", &dir.to_string_lossy()])?;
    caller.tell(&["plugin", "add", ID])?;
    Ok(())
}

pub(super) fn uninstall(caller: &Caller<'_>, listed: &Listed) -> Result<(), PluginError> {
    if listed.plugin.is_some() {
        forget_trust(caller)?;
        caller.tell(&["plugin", "remove", ID])?;
    }
    if listed.marketplace.is_some() {
        caller.tell(&["plugin", "marketplace", "remove", MARKETPLACE])?;
    }
    Ok(())
}

/// Whether Codex calls a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Trust {
    Trusted,
    /// By an administrator.
    Managed,
    Untrusted,
    /// It was trusted as it was before an update.
    Modified,
    #[serde(other)]
    Unknown,
}

/// A hook of the plugin.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodexHook {
    key: String,
    plugin_id: Option<String>,
    pub(super) enabled: bool,
    pub(super) trust_status: Trust,
    current_hash: String,
    /// The file that defines it, in the copy that Codex has made.
    source_path: PathBuf,
}

impl CodexHook {
    /// The directory of the plugin that it is a part of.
    pub(super) fn plugin(&self) -> Option<&Path> {
        self.source_path.ancestors().nth(2)
    }
}

/// The plugin's hooks, as they would be called in a project.
pub(super) fn hooks(caller: &Caller<'_>, project: &Path) -> Result<Vec<CodexHook>, PluginError> {
    plugins_hooks(&mut AppServer::start(caller)?, project)
}

fn plugins_hooks(server: &mut AppServer, project: &Path) -> Result<Vec<CodexHook>, PluginError> {
    let mut result = server.ask("hooks/list", &json!({"cwds": [project]}))?;
    let hooks: Vec<CodexHook> =
        serde_json::from_value(result["data"][0]["hooks"].take()).map_err(|source| PluginError::Unclear {
            agent: AGENT,
            command: "codex app-server: hooks/list".to_owned(),
            source,
        })?;
    Ok(hooks.into_iter().filter(|hook| hook.plugin_id.as_deref() == Some(ID)).collect())
}

/// Trusts the plugin's hooks as they are now, as the user could do in Codex.
pub(super) fn trust_hooks(caller: &Caller<'_>, project: &Path) -> Result<(), PluginError> {
    let mut server = AppServer::start(caller)?;
    let trusted: Map<String, Value> = plugins_hooks(&mut server, project)?
        .into_iter()
        .map(|hook| (hook.key, json!({"trusted_hash": hook.current_hash})))
        .collect();
    let edit = json!({"keyPath": "hooks.state", "value": trusted, "mergeStrategy": "upsert"});
    server.ask("config/batchWrite", &json!({"edits": [edit]})).map(|_| ())
}

/// Codex keeps what it knows of the hooks of a plugin that is gone.
fn forget_trust(caller: &Caller<'_>) -> Result<(), PluginError> {
    let mut server = AppServer::start(caller)?;
    let config = server.ask("config/read", &json!({}))?;
    let known = config["config"]["hooks"]["state"].as_object().into_iter().flat_map(Map::keys);
    let ours = known.filter(|key| key.starts_with(&format!("{ID}:")));
    let edits: Vec<Value> = ours
        .map(|key| json!({"keyPath": format!("hooks.state.{}", json!(key)), "value": null, "mergeStrategy": "replace"}))
        .collect();
    if !edits.is_empty() {
        server.ask("config/batchWrite", &json!({"edits": edits}))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_prints_says_what_is_installed() {
        let listed = |marketplaces, plugins| {
            of(serde_json::from_value(marketplaces).unwrap(), serde_json::from_value(plugins).unwrap())
        };
        let none = listed(json!({"marketplaces": []}), json!({"installed": [], "available": []}));
        assert_eq!(none, Listed::default());
        let found = listed(
            json!({"marketplaces": [{"name": "ralph", "root": "/data/plugin",
                "marketplaceSource": {"sourceType": "local", "source": "/data/plugin"}}]}),
            json!({"installed": [
                {"pluginId": "other@ralph", "version": "9", "installed": true, "enabled": true},
                {"pluginId": "ralph@ralph", "version": "0.1.0", "installed": true, "enabled": false}]}),
        );
        let plugin = ListedPlugin { version: Some("0.1.0".into()), ..ListedPlugin::default() };
        assert_eq!(found, Listed { marketplace: Some("/data/plugin".into()), plugin: Some(plugin) });
    }

    #[test]
    fn a_hook_names_the_plugin_that_it_is_a_part_of() {
        let hook: CodexHook = serde_json::from_value(json!({
            "key": "ralph@ralph:hooks/hooks.json:stop:0:0", "eventName": "stop", "pluginId": "ralph@ralph", "enabled": true,
            "trustStatus": "modified", "currentHash": "sha256:1/sha256:2", "sourcePath": "/cache/0.1.0/hooks/hooks.json"}))
        .unwrap();
        assert_eq!((hook.trust_status, hook.plugin()), (Trust::Modified, Some(Path::new("/cache/0.1.0"))));
    }
}
