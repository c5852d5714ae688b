//! The files of the plugin, as they are in `plugin/` of the repository.
//!
//! They are part of the program, so that an installed ralph can write them. Agents read them where they are written, so
//! a directory is changed file by file and never missing in between.

use super::PluginError;
use crate::fsx;
use std::borrow::Cow;
use std::path::Path;

macro_rules! embedded {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../plugin/", $path)))),+]
    };
}

const FILES: &[(&str, &str)] = embedded![
    ".claude-plugin/marketplace.json",
    "ralph/.claude-plugin/plugin.json",
    "ralph/README.md",
    "ralph/commands/archive.md",
    "ralph/commands/init.md",
    "ralph/commands/install.md",
    "ralph/commands/run.md",
    "ralph/commands/status.md",
    "ralph/commands/stop.md",
    "ralph/hooks/hooks.json",
    "ralph/hooks/run",
    "ralph/scripts/overview",
    "ralph/skills/plan/SKILL.md",
    "ralph/skills/runs/SKILL.md",
];

/// The part of a marketplace's directory that is the plugin.
pub(super) const PLUGIN: &str = "ralph";
pub(super) const MARKETPLACE: &str = ".claude-plugin/marketplace.json";
pub(super) const MANIFEST: &str = "ralph/.claude-plugin/plugin.json";
pub(super) const HOOKS: &str = "ralph/hooks/hooks.json";

/// Hooks that a person can have in their own sessions, too.
const ADVISING: [&str; 2] = ["context-monitor", "session-start"];
const ALWAYS: &str = " --always";

/// Where the context alerts appear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alerts {
    /// In the agents of ralph.
    InRuns,
    /// In all sessions, because the user said so.
    Everywhere,
}

impl Alerts {
    /// What the plugin in a marketplace's directory is set to.
    pub fn in_dir(dir: &Path) -> Alerts {
        compare(&dir.join(PLUGIN)).alerts
    }

    /// What the hooks in a plugin's directory ask for.
    fn of(hooks: &str) -> Alerts {
        let is_everywhere = ADVISING.iter().any(|hook| hooks.contains(&format!("{hook}{ALWAYS}")));
        if is_everywhere { Alerts::Everywhere } else { Alerts::InRuns }
    }
}

/// The path of each file below the marketplace's directory, and its text.
pub fn files(alerts: Alerts) -> impl Iterator<Item = (&'static str, Cow<'static, str>)> {
    FILES.iter().map(move |(path, text)| match (alerts, *path) {
        (Alerts::Everywhere, HOOKS) => {
            let always =
                |text: String, hook| text.replace(&format!("{hook}\""), &format!("{hook}{ALWAYS}\""));
            (*path, ADVISING.iter().fold((*text).to_owned(), always).into())
        }
        (Alerts::Everywhere | Alerts::InRuns, _) => (*path, Cow::Borrowed(*text)),
    })
}

/// Writes the files to a directory of ralph's own. What else is in there is the user's and stays: a file that a later version
/// no longer has must be removed by its name.
pub fn write_own(dir: &Path, alerts: Alerts) -> Result<(), PluginError> {
    refuse_links(dir)?;
    write(dir, alerts)
}

/// Removes them again, and the directories that were made for them, if they are empty then.
pub fn remove_own(dir: &Path) -> Result<(), PluginError> {
    refuse_links(dir)?;
    for (path, _) in FILES {
        let path = dir.join(path);
        fsx::remove_if_there(&path)
            .map_err(|source| PluginError::Unremovable { path: path.clone(), source })?;
        let _ =
            path.ancestors().skip(1).take_while(|above| above.starts_with(dir)).all(fsx::remove_empty_dir);
    }
    if !dir.exists() {
        let _ = dir.ancestors().skip(1).take(2).all(fsx::remove_empty_dir);
    }
    Ok(())
}

/// Behind a link are files of the user.
pub fn refuse_links(dir: &Path) -> Result<(), PluginError> {
    let paths = FILES.iter().map(|(path, _)| dir.join(path)).collect::<Vec<_>>();
    let mut dirs =
        paths.iter().flat_map(|path| path.ancestors().skip(1).take_while(|above| above.starts_with(dir)));
    match dirs.find(|dir| dir.is_symlink()) {
        Some(link) => Err(PluginError::Linked(link.to_path_buf())),
        None => Ok(()),
    }
}

/// Writes all files, over those that are there.
pub fn write(dir: &Path, alerts: Alerts) -> Result<(), PluginError> {
    for (path, text) in files(alerts) {
        let path = dir.join(path);
        let write = |path: &Path| {
            path.parent().map_or(Ok(()), fsx::dir)?;
            fsx::write_whole(path, text.as_bytes())
        };
        write(&path).map_err(|source| PluginError::Unwritable { path: path.clone(), source })?;
    }
    Ok(())
}

/// A copy of the plugin, compared with this ralph's.
#[derive(Debug, PartialEq, Eq)]
pub struct Copy {
    pub alerts: Alerts,
    /// Files that are missing or other than they should be, below the marketplace's directory.
    pub differing: Vec<&'static str>,
}

/// Looks at the plugin itself, which an agent may have copied out of its marketplace.
pub fn compare(plugin: &Path) -> Copy {
    let below = |path: &str| path.strip_prefix(PLUGIN).map(|path| plugin.join(path.trim_start_matches('/')));
    let read = |path: &Path| fsx::read_regular(path).map(|text| String::from_utf8_lossy(&text).into_owned());
    let alerts = below(HOOKS).and_then(|path| read(&path).ok());
    let alerts = alerts.map_or(Alerts::InRuns, |hooks| Alerts::of(&hooks));
    let differs = |(path, wanted): (&'static str, Cow<'static, str>)| {
        let found = read(&below(path)?);
        (!found.is_ok_and(|found| found == wanted)).then_some(path)
    };
    Copy { alerts, differing: files(alerts).filter_map(differs).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::{self, HookCalls, HookSet};
    use crate::template;
    use ralph_loop::task_list::TaskList;
    use serde_json::Value;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    fn text(wanted: &str) -> String {
        files(Alerts::InRuns).find(|(path, _)| *path == wanted).unwrap().1.into_owned()
    }

    fn json(path: &str) -> Value {
        serde_json::from_str(&text(path)).unwrap()
    }

    /// All files in a directory, by their path in it.
    fn tree(dir: &Path) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut dirs = vec![dir.to_path_buf()];
        while let Some(next) = dirs.pop() {
            for path in fs_err::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
                match path.is_dir() {
                    true => dirs.push(path),
                    false => {
                        let text = fs_err::read_to_string(&path).unwrap();
                        found.insert(path.strip_prefix(dir).unwrap().to_path_buf(), text);
                    }
                }
            }
        }
        found
    }

    #[test]
    fn the_program_has_what_the_repository_has() {
        let embedded = files(Alerts::InRuns).map(|(path, text)| (path.into(), text.into_owned())).collect();
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin");
        assert_eq!(tree(&repository), embedded);
    }

    #[test]
    fn versions_are_this_programs() {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(json(MANIFEST)["version"], version);
        assert_eq!(json(MARKETPLACE)["plugins"][0]["version"], version);
    }

    /// What each event of a hook configuration calls, without the program.
    fn calls(hooks: &Value) -> BTreeMap<&str, String> {
        let call = |calls: &Value| {
            let command = calls[0]["hooks"][0]["command"].as_str().unwrap().to_owned();
            command.rsplit(' ').next().unwrap().to_owned()
        };
        let hooks = hooks.as_object().unwrap().iter();
        // ralph hands its agents a script of the run that asks the guard.
        let hooks = hooks.filter(|(event, _)| *event != "PreToolUse");
        hooks.map(|(event, calls)| (event.as_str(), call(calls))).collect()
    }

    #[test]
    fn the_guard_watches_all_sessions_and_blocks_if_it_fails() {
        let guard = &json(HOOKS)["hooks"]["PreToolUse"][0];
        assert_eq!(guard["matcher"], ".*");
        assert!(guard["hooks"][0]["command"].as_str().unwrap().ends_with("hooks/run\" guard --always"));
        assert_eq!(guard["hooks"][0]["onFailure"], "block");
    }

    #[test]
    fn its_hooks_are_those_that_ralph_gives_its_agents() {
        let ours = HookCalls {
            program: Path::new("ralph"),
            set: Some(HookSet::Tasks),
            guard: None,
            terminal: false,
        };
        let (ours, plugins) = (hook::claude_settings(&ours), json(HOOKS));
        assert_eq!(calls(&plugins["hooks"]), calls(&ours["hooks"]));
        assert_eq!(plugins["hooks"]["PostToolUse"][0]["matcher"], ".*");
    }

    #[test]
    fn alerts_everywhere_is_a_flag_of_the_hooks_that_only_advise() {
        let of = |alerts| {
            let (_, hooks) = files(alerts).find(|(path, _)| *path == HOOKS).unwrap();
            assert_eq!(Alerts::of(&hooks), alerts);
            serde_json::from_str::<Value>(&hooks).unwrap()
        };
        let (usual, always) = (of(Alerts::InRuns), of(Alerts::Everywhere));
        let command = |hooks: &Value, event: &str| {
            hooks["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap().to_owned()
        };
        for event in ["PostToolUse", "SessionStart"] {
            assert_eq!(command(&always, event), command(&usual, event) + " --always");
        }
        assert_eq!(command(&always, "Stop"), command(&usual, "Stop"));
    }

    #[test]
    fn planners_start_stories_as_init_does() {
        let skill = text("ralph/skills/plan/SKILL.md");
        // The skill, and what `ralph plan` tells its agent.
        for planner in [&skill, template::PLAN] {
            let example = planner.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
            assert_eq!(TaskList::parse(example).unwrap().stories.len(), 1);
            let [example, template] = [example, template::TASKS_LIST].map(|text| {
                let list: Value = serde_json::from_str(text).unwrap();
                list["userStories"][0].as_object().unwrap().clone()
            });
            assert!(example.keys().eq(template.keys()), "{example:?}");
            for field in ["passes", "reviewStatus", "reviewCount", "reviewFeedback", "notes"] {
                assert_eq!(example[field], template[field], "{field}");
            }
        }
        for trigger in ["plan this feature for ralph", "create a ralph prd", "generate tasks for ralph"] {
            let description = skill.lines().find(|line| line.starts_with("description: ")).unwrap();
            assert!(description.contains(trigger), "{trigger}");
        }
    }

    #[test]
    fn a_directory_is_brought_up_to_date_and_the_users_files_stay() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("deep/plugin");
        write_own(&dir, Alerts::Everywhere).unwrap();
        let plugin = dir.join(PLUGIN);
        assert_eq!(compare(&plugin), Copy { alerts: Alerts::Everywhere, differing: vec![] });
        for (path, text) in [("ralph/commands/mine.md", "mine"), ("ralph/hooks/run", "#!/bin/false")] {
            fsx::write_whole(&dir.join(path), text.as_bytes()).unwrap();
        }
        assert_eq!(compare(&plugin).differing, ["ralph/hooks/run"]);
        write_own(&dir, Alerts::InRuns).unwrap();
        assert_eq!(compare(&plugin), Copy { alerts: Alerts::InRuns, differing: vec![] });
        assert_eq!(tree(&dir).len(), FILES.len() + 1);
        assert_eq!(compare(&dir.join("none")).differing.len(), FILES.len() - 1);
        remove_own(&dir).unwrap();
        let left = BTreeMap::from([("ralph/commands/mine.md".into(), "mine".into())]);
        assert_eq!(tree(&dir), left);
        fsx::remove(&dir.join("ralph/commands/mine.md")).unwrap();
        write_own(&dir, Alerts::InRuns).unwrap();
        remove_own(&dir).unwrap();
        assert!(!dir.exists());
    }

    #[test]
    fn nothing_behind_a_link_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let (mine, linked) = (dir.path().join("mine"), dir.path().join("plugin"));
        fsx::dir(&mine.join("ralph/hooks")).unwrap();
        for path in ["notes.md", "ralph/hooks/run"] {
            fsx::write_whole(&mine.join(path), b"mine").unwrap();
        }
        let before = tree(&mine);
        let is_refused = |dir: &Path, link: &Path| {
            for done in [write_own(dir, Alerts::InRuns), remove_own(dir)] {
                assert!(matches!(&done, Err(PluginError::Linked(path)) if path == link), "{done:?}");
            }
            assert_eq!(tree(&mine), before);
        };
        fsx::symlink(&mine, &linked).unwrap();
        is_refused(&linked, &linked);
        fsx::remove(&linked).unwrap();
        fsx::dir(&linked).unwrap();
        fsx::symlink(&mine.join("ralph"), &linked.join("ralph")).unwrap();
        is_refused(&linked, &linked.join("ralph"));
    }
}
