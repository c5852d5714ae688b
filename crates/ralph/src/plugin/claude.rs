//! Claude Code: `claude plugin …`.
//!
//! It reads a plugin of a local marketplace where that is, so new files count from the next session on. A marketplace that is
//! added under a name that is taken replaces the other one without a question, so that is looked at first.

use super::agent::{Caller, Listed, ListedPlugin};
use super::{ID, MARKETPLACE, PluginError};
use crate::fsx;
use crate::layout;
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Marketplace {
    name: String,
    /// Of one in a directory.
    path: Option<String>,
    /// Where it comes from otherwise.
    repo: Option<String>,
    url: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Plugin {
    id: String,
    scope: Option<String>,
    version: Option<String>,
    #[serde(default)]
    enabled: bool,
    install_path: Option<PathBuf>,
    read_from_folder: Option<PathBuf>,
    folder_version: Option<String>,
    #[serde(default)]
    errors: Vec<String>,
}

pub(super) fn listed(caller: &Caller<'_>) -> Result<Listed, PluginError> {
    let marketplaces = caller.ask(&["plugin", "marketplace", "list", "--json"])?;
    let plugins = caller.ask(&["plugin", "list", "--json"])?;
    Ok(of(marketplaces, plugins))
}

fn of(marketplaces: Vec<Marketplace>, plugins: Vec<Plugin>) -> Listed {
    let ours = marketplaces.into_iter().find(|marketplace| marketplace.name == MARKETPLACE);
    // A plugin is listed once for each scope that it is installed in; ralph installs it for the user.
    let is_ours =
        |plugin: &Plugin| plugin.id == ID && plugin.scope.as_deref().is_none_or(|scope| scope == "user");
    Listed {
        marketplace: ours.map(|ours| {
            ours.path.or(ours.repo).or(ours.url).unwrap_or_else(|| "a place that it does not name".to_owned())
        }),
        plugin: plugins.into_iter().find(is_ours).map(|plugin| ListedPlugin {
            enabled: plugin.enabled,
            version: plugin.folder_version.or(plugin.version),
            dir: plugin.read_from_folder.or(plugin.install_path),
            errors: plugin.errors,
        }),
    }
}

pub(super) fn install(caller: &Caller<'_>, dir: &Path) -> Result<(), PluginError> {
    caller.tell(&["plugin", "marketplace", "add", "--scope", "user", &dir.to_string_lossy()])?;
    caller.tell(&["plugin", "install", "--scope", "user", ID])?;
    // Of one that was installed before, it otherwise keeps showing the old version.
    caller.tell(&["plugin", "update", "--scope", "user", ID])?;
    Ok(())
}

pub(super) fn uninstall(caller: &Caller<'_>, listed: &Listed) -> Result<(), PluginError> {
    if listed.plugin.is_some() {
        caller.tell(&["plugin", "uninstall", "--scope", "user", ID])?;
    }
    if listed.marketplace.is_some() {
        caller.tell(&["plugin", "marketplace", "remove", "--scope", "user", MARKETPLACE])?;
    }
    Ok(())
}

/// The settings file that turns off the hooks of plugins, if one does.
pub(super) fn hooks_off(project: &Path) -> Option<PathBuf> {
    off_by(layout::CLAUDE_MANAGED_SETTINGS.into(), layout::claude_settings(project))
}

/// The first that has a say decides.
fn off_by(managed: PathBuf, others: Vec<PathBuf>) -> Option<PathBuf> {
    let says = |file: &Path, key: &str| {
        let settings = fsx::read_regular(file).ok()?;
        serde_json::from_slice::<Value>(&settings).ok()?[key].as_bool()
    };
    if says(&managed, "allowManagedHooksOnly") == Some(true) {
        return Some(managed);
    }
    let files = std::iter::once(managed).chain(others);
    let mut said = files.filter_map(|file| says(&file, "disableAllHooks").map(|off| (file, off)));
    said.next().filter(|(_, off)| *off).map(|(file, _)| file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(marketplaces: &str, plugins: &str) -> Listed {
        of(serde_json::from_str(marketplaces).unwrap(), serde_json::from_str(plugins).unwrap())
    }

    #[test]
    fn what_it_prints_says_where_the_plugin_is_read_from() {
        let found = listed(
            r#"[{"name": "other", "source": "github", "repo": "a/b"},
                {"name": "ralph", "source": "directory", "path": "/data/plugin", "installLocation": "/data/plugin"}]"#,
            r#"[{"id": "ralph@other", "version": "9"},
                {"id": "ralph@ralph", "version": "0.0.1", "scope": "project", "enabled": true},
                {"id": "ralph@ralph", "version": "0.1.0", "scope": "user", "enabled": true, "installPath": "/cache",
                 "readFromFolder": "/data/plugin/ralph", "folderVersion": "0.2.0", "new": {}}]"#,
        );
        let plugin = ListedPlugin {
            enabled: true,
            version: Some("0.2.0".into()),
            dir: Some("/data/plugin/ralph".into()),
            errors: vec![],
        };
        assert_eq!(found, Listed { marketplace: Some("/data/plugin".into()), plugin: Some(plugin) });
    }

    #[test]
    fn a_plugin_without_its_marketplace_has_errors() {
        let found = listed(
            r#"[{"name": "ralph", "source": "github", "repo": "someone/ralph"}]"#,
            r#"[{"id": "ralph@ralph", "version": "0.1.0", "enabled": true, "errors": ["failed to load"]}]"#,
        );
        assert_eq!(found.marketplace.as_deref(), Some("someone/ralph"));
        assert_eq!(found.plugin.unwrap().errors, ["failed to load"]);
        assert_eq!(listed("[]", "[]"), Listed::default());
        let projects = r#"[{"id": "ralph@ralph", "version": "0.1.0", "scope": "project", "enabled": true}]"#;
        assert_eq!(listed("[]", projects), Listed::default());
    }

    #[test]
    fn the_nearest_settings_decide_whether_there_are_hooks() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        let write = |name: &str, text: &str| fsx::write_whole(&file(name), text.as_bytes()).unwrap();
        let off = || off_by(file("managed"), ["local", "shared", "user"].map(file).to_vec());
        assert_eq!(off(), None);
        write("user", r#"{"disableAllHooks": true}"#);
        assert_eq!(off(), Some(file("user")));
        write("shared", "not JSON");
        write("local", r#"{"disableAllHooks": false, "allowManagedHooksOnly": true}"#);
        assert_eq!(off(), None);
        write("managed", r#"{"allowManagedHooksOnly": true}"#);
        assert_eq!(off(), Some(file("managed")));
    }
}
