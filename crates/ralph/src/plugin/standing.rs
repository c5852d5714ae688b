//! Whether an agent has the plugin, and whether the plugin works there.

use super::agent::{Caller, Listed, ListedPlugin};
use super::claude;
use super::codex::{self, CodexHook, Trust};
use super::files::{Alerts, Copy, compare};
use super::{PluginAgent, VERSION};
use crate::error::with_causes;
use crate::layout;
use crate::process::tool::{Tool, ToolOutput};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// For each question: someone waits for the status.
const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub struct Standing {
    pub agent: PluginAgent,
    /// The agent's program.
    pub program: Option<PathBuf>,
    pub installed: bool,
    pub enabled: bool,
    pub version: Option<String>,
    /// Where its marketplace is read from.
    pub source: Option<String>,
    pub alerts: Alerts,
    pub hooks: HookState,
    pub problems: Vec<Problem>,
}

/// Whether the plugin's hooks are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookState {
    InEffect,
    /// The agent skips them until the user trusts them.
    Untrusted,
    /// They are turned off, or there is no plugin.
    Off,
    Unknown,
}

impl fmt::Display for HookState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HookState::InEffect => "hooks in effect",
            HookState::Untrusted => "hooks not trusted",
            HookState::Off => "hooks off",
            HookState::Unknown => "hooks unknown",
        })
    }
}

/// Why the plugin does not work as it should. Ways out belong to the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    NoProgram,
    NotInstalled,
    /// The agent's own commands fail.
    NoAnswer(String),
    /// They fail because the files that ralph has written are gone.
    NoFiles {
        dir: PathBuf,
    },
    NotLoaded(String),
    Disabled,
    OtherVersion {
        version: String,
    },
    Changed {
        dir: PathBuf,
        files: Vec<&'static str>,
    },
    /// What its hooks and commands call.
    NoRalph,
    OtherRalph {
        path: PathBuf,
        says: String,
    },
    HooksOff {
        by: PathBuf,
    },
    NoHooks,
    HooksUntrusted,
    HooksModified,
    HooksUnknown(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NoProgram => f.write_str("the agent is not installed"),
            Problem::NotInstalled => f.write_str("the plugin is not installed"),
            Problem::NoAnswer(why) => write!(f, "the agent cannot list its plugins: {why}"),
            Problem::NoFiles { dir } => {
                write!(
                    f,
                    "the agent cannot list its plugins: the plugin's files are missing: {}",
                    dir.display()
                )
            }
            Problem::NotLoaded(why) => write!(f, "the agent cannot load the plugin: {why}"),
            Problem::Disabled => f.write_str("the plugin is disabled"),
            Problem::OtherVersion { version } => {
                write!(f, "plugin {version}, ralph {VERSION}")
            }
            Problem::Changed { dir, files } => {
                write!(f, "files in {} differ from this ralph's: {}", dir.display(), files.join(", "))
            }
            Problem::NoRalph => f.write_str("ralph is not in PATH, so hooks and commands do nothing"),
            Problem::OtherRalph { path, says } => {
                write!(f, "hooks and commands call another ralph: {} ({says})", path.display())
            }
            Problem::HooksOff { by } => write!(f, "all hooks are turned off in {}", by.display()),
            Problem::NoHooks => f.write_str("the hooks do not run: they are turned off in Codex"),
            Problem::HooksUntrusted => {
                f.write_str("the hooks do not run: Codex skips hooks that you have not trusted")
            }
            Problem::HooksModified => {
                f.write_str("the hooks do not run: they have changed since you trusted them")
            }
            Problem::HooksUnknown(why) => write!(f, "cannot tell whether the hooks run: {why}"),
        }
    }
}

impl Problem {
    fn hooks(&self) -> Option<HookState> {
        match self {
            Problem::HooksUntrusted | Problem::HooksModified => Some(HookState::Untrusted),
            Problem::HooksUnknown(_) => Some(HookState::Unknown),
            Problem::NoAnswer(_) | Problem::NoFiles { .. } => Some(HookState::Unknown),
            Problem::NoProgram
            | Problem::NotInstalled
            | Problem::NotLoaded(_)
            | Problem::Disabled
            | Problem::NoRalph
            | Problem::HooksOff { .. }
            | Problem::NoHooks => Some(HookState::Off),
            Problem::OtherVersion { .. } | Problem::Changed { .. } | Problem::OtherRalph { .. } => None,
        }
    }
}

impl Standing {
    /// Asks the agent, as it is in a project.
    pub fn of(agent: PluginAgent, project: &Path) -> Standing {
        let Some(program) = agent.program() else { return judge(agent, None, Seen::default()) };
        let caller = Caller::new(agent, &program, project).patience(PATIENCE);
        let mut seen = Seen::default();
        match caller.listed() {
            Ok(listed) => seen.listed = listed,
            Err(error) => seen.no_answer = Some(no_answer(with_causes(&error), layout::plugin(agent.name()))),
        }
        if let Some(plugin) = seen.listed.plugin.as_ref().filter(|plugin| plugin.enabled) {
            seen.ralph = RalphInPath::find();
            match agent {
                PluginAgent::Claude => {
                    seen.hooks = SeenHooks::Claude { off: claude::hooks_off(project) };
                    seen.dir = plugin.dir.clone();
                }
                PluginAgent::Codex => {
                    let hooks = codex::hooks(&caller, project);
                    let first = hooks.as_ref().ok().and_then(|hooks| hooks.first());
                    seen.dir = first.and_then(CodexHook::plugin).map(Path::to_path_buf);
                    seen.hooks = SeenHooks::Codex(hooks.map_err(|error| with_causes(&error)));
                }
            }
            seen.copy = seen.dir.as_deref().map(compare);
        }
        judge(agent, Some(program), seen)
    }

    /// Whether the agent has the plugin, or cannot say.
    pub fn may_be_installed(&self) -> bool {
        self.installed || self.problems.iter().any(|problem| problem.hooks() == Some(HookState::Unknown))
    }

    /// Whether the plugin is there and works.
    pub fn is_well(&self) -> bool {
        self.installed && self.problems.is_empty()
    }
}

/// What was found out about an agent.
#[derive(Default)]
struct Seen {
    listed: Listed,
    no_answer: Option<Problem>,
    dir: Option<PathBuf>,
    copy: Option<Copy>,
    hooks: SeenHooks,
    ralph: RalphInPath,
}

#[derive(Default)]
enum SeenHooks {
    #[default]
    NotLookedAt,
    Claude {
        off: Option<PathBuf>,
    },
    Codex(Result<Vec<CodexHook>, String>),
}

/// The ralph that the plugin calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum RalphInPath {
    #[default]
    None,
    /// Of this version.
    Same,
    Other {
        path: PathBuf,
        says: String,
    },
}

impl RalphInPath {
    fn find() -> RalphInPath {
        let Ok(path) = which::which("ralph") else { return RalphInPath::None };
        let output = Tool::new(&path).arg("--version").timeout(Duration::from_secs(10)).run().ok();
        let text = output.filter(ToolOutput::success).map(|output| output.stdout).unwrap_or_default();
        let says = String::from_utf8_lossy(&text).lines().next().unwrap_or("no version").to_owned();
        match says == format!("ralph {VERSION}") {
            true => RalphInPath::Same,
            false => RalphInPath::Other { path, says },
        }
    }
}

fn judge(agent: PluginAgent, program: Option<PathBuf>, seen: Seen) -> Standing {
    let problems = problems(program.as_deref(), &seen);
    let hooks = problems.iter().find_map(Problem::hooks).unwrap_or(HookState::InEffect);
    let plugin = seen.listed.plugin;
    Standing {
        agent,
        program,
        installed: plugin.is_some(),
        enabled: plugin.as_ref().is_some_and(|plugin| plugin.enabled),
        version: plugin.and_then(|plugin| plugin.version),
        source: seen.listed.marketplace,
        alerts: seen.copy.map_or(Alerts::InRuns, |copy| copy.alerts),
        hooks,
        problems,
    }
}

/// Why an agent cannot list its plugins, given where ralph writes the plugin's files.
fn no_answer(why: String, own: Option<PathBuf>) -> Problem {
    match own.filter(|dir| why.contains(&*dir.to_string_lossy()) && !dir.exists()) {
        Some(dir) => Problem::NoFiles { dir },
        None => Problem::NoAnswer(why),
    }
}

/// All of them, the one that hides the others first.
fn problems(program: Option<&Path>, seen: &Seen) -> Vec<Problem> {
    if program.is_none() {
        return vec![Problem::NoProgram];
    }
    if let Some(problem) = &seen.no_answer {
        return vec![problem.clone()];
    }
    let Some(plugin) = &seen.listed.plugin else { return vec![Problem::NotInstalled] };
    if !plugin.errors.is_empty() {
        return vec![Problem::NotLoaded(plugin.errors.join("; "))];
    }
    if !plugin.enabled {
        return vec![Problem::Disabled];
    }
    let ralph = match &seen.ralph {
        RalphInPath::None => Some(Problem::NoRalph),
        RalphInPath::Same => None,
        RalphInPath::Other { path, says } => {
            Some(Problem::OtherRalph { path: path.clone(), says: says.clone() })
        }
    };
    [outdated(plugin, seen), ralph, hooks(&seen.hooks)].into_iter().flatten().collect()
}

fn outdated(plugin: &ListedPlugin, seen: &Seen) -> Option<Problem> {
    match (&plugin.version, &seen.copy, &seen.dir) {
        (Some(version), ..) if version != VERSION => Some(Problem::OtherVersion { version: version.clone() }),
        (_, Some(copy), Some(dir)) if !copy.differing.is_empty() => {
            Some(Problem::Changed { dir: dir.clone(), files: copy.differing.clone() })
        }
        _ => None,
    }
}

fn hooks(seen: &SeenHooks) -> Option<Problem> {
    match seen {
        SeenHooks::NotLookedAt | SeenHooks::Claude { off: None } => None,
        SeenHooks::Claude { off: Some(by) } => Some(Problem::HooksOff { by: by.clone() }),
        SeenHooks::Codex(Err(why)) => Some(Problem::HooksUnknown(why.clone())),
        SeenHooks::Codex(Ok(hooks)) => {
            let has = |trust| hooks.iter().any(|hook| hook.trust_status == trust);
            match hooks.is_empty() || hooks.iter().any(|hook| !hook.enabled) {
                true => Some(Problem::NoHooks),
                false if has(Trust::Untrusted) => Some(Problem::HooksUntrusted),
                false if has(Trust::Modified) => Some(Problem::HooksModified),
                false if has(Trust::Unknown) => {
                    Some(Problem::HooksUnknown("Codex says what this ralph does not know".to_owned()))
                }
                false => None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// An agent whose plugin works, but for what a test changes.
    fn standing(change: impl FnOnce(&mut Seen)) -> Standing {
        let plugin = ListedPlugin { enabled: true, version: Some(VERSION.into()), ..ListedPlugin::default() };
        let mut seen = Seen {
            listed: Listed { marketplace: Some("/data".into()), plugin: Some(plugin) },
            dir: Some("/data/ralph".into()),
            copy: Some(Copy { alerts: Alerts::InRuns, differing: vec![] }),
            hooks: SeenHooks::Claude { off: None },
            ralph: RalphInPath::Same,
            no_answer: None,
        };
        change(&mut seen);
        judge(PluginAgent::Claude, Some("/bin/claude".into()), seen)
    }

    fn hook(trust: &str, enabled: bool) -> CodexHook {
        let hook = json!({"key": "k", "pluginId": "ralph@ralph", "enabled": enabled, "trustStatus": trust,
            "currentHash": "h", "sourcePath": "/c/hooks/hooks.json"});
        serde_json::from_value(hook).unwrap()
    }

    #[test]
    fn a_plugin_that_is_there_enabled_and_current_is_well() {
        let well = standing(|_| ());
        assert!(well.is_well() && well.installed && well.enabled, "{well:?}");
        assert_eq!((well.hooks, well.version.as_deref()), (HookState::InEffect, Some(VERSION)));
    }

    #[test]
    fn what_hides_everything_else_is_the_only_problem() {
        let none = judge(PluginAgent::Codex, None, Seen::default());
        assert_eq!((&none.problems[..], none.hooks), (&[Problem::NoProgram][..], HookState::Off));
        let plugin = |change: fn(&mut ListedPlugin)| {
            standing(|seen| change(seen.listed.plugin.as_mut().unwrap())).problems
        };
        assert_eq!(plugin(|plugin| plugin.enabled = false), [Problem::Disabled]);
        assert_eq!(
            plugin(|plugin| plugin.errors = vec!["a".into(), "b".into()]),
            [Problem::NotLoaded("a; b".into())]
        );
        assert_eq!(standing(|seen| seen.listed = Listed::default()).problems, [Problem::NotInstalled]);
        let silent = standing(|seen| seen.no_answer = Some(no_answer("no".into(), None)));
        assert_eq!(
            (&silent.problems[..], silent.hooks),
            (&[Problem::NoAnswer("no".into())][..], HookState::Unknown)
        );
        assert!(silent.may_be_installed() && !silent.is_well() && !none.may_be_installed());
        let dir = PathBuf::from("/none/of/these");
        assert_eq!(
            no_answer("`ralph` at /none/of/these: no".into(), Some(dir.clone())),
            Problem::NoFiles { dir: dir.clone() }
        );
        assert_eq!(no_answer("other".into(), Some(dir)), Problem::NoAnswer("other".into()));
    }

    #[test]
    fn an_old_or_changed_plugin_is_named_and_its_hooks_still_run() {
        let old = standing(|seen| {
            seen.listed.plugin.as_mut().unwrap().version = Some("0.0.1".into());
            seen.copy = Some(Copy { alerts: Alerts::Everywhere, differing: vec!["ralph/hooks/run"] });
        });
        assert_eq!(old.problems, [Problem::OtherVersion { version: "0.0.1".into() }]);
        assert_eq!((old.hooks, old.alerts), (HookState::InEffect, Alerts::Everywhere));
        let changed = standing(|seen| seen.copy.as_mut().unwrap().differing = vec!["ralph/hooks/run"]);
        assert_eq!(
            changed.problems[0].to_string(),
            "files in /data/ralph differ from this ralph's: ralph/hooks/run"
        );
    }

    #[test]
    fn hooks_need_a_ralph_to_call() {
        let none = standing(|seen| seen.ralph = RalphInPath::None);
        assert_eq!((&none.problems[..], none.hooks), (&[Problem::NoRalph][..], HookState::Off));
        let other = standing(|seen| {
            seen.ralph = RalphInPath::Other { path: "/old/ralph".into(), says: "ralph 0.0.1".into() };
        });
        assert_eq!(other.hooks, HookState::InEffect);
        assert_eq!(
            other.problems[0].to_string(),
            "hooks and commands call another ralph: /old/ralph (ralph 0.0.1)"
        );
    }

    #[test]
    fn hooks_run_only_if_all_of_them_do() {
        for (hooks, wanted) in [
            (vec![hook("trusted", true), hook("managed", true)], None),
            (vec![hook("trusted", true), hook("untrusted", true)], Some(Problem::HooksUntrusted)),
            (vec![hook("modified", true)], Some(Problem::HooksModified)),
            (vec![hook("trusted", false)], Some(Problem::NoHooks)),
            (vec![], Some(Problem::NoHooks)),
        ] {
            let found = standing(|seen| seen.hooks = SeenHooks::Codex(Ok(hooks)));
            assert_eq!(found.problems, Vec::from_iter(wanted));
        }
        let unknown = standing(|seen| seen.hooks = SeenHooks::Codex(Ok(vec![hook("blessed", true)])));
        assert_eq!(unknown.hooks, HookState::Unknown);
        let off = standing(|seen| seen.hooks = SeenHooks::Claude { off: Some("/s.json".into()) });
        assert_eq!(
            (&off.problems[..], off.hooks),
            (&[Problem::HooksOff { by: "/s.json".into() }][..], HookState::Off)
        );
    }
}
