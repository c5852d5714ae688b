//! What is wrong with a directory that is to be the plugin.
//!
//! These checks need no agent. They look for what an agent would only show when someone uses the plugin: a hook that this ralph
//! does not have, a file that a command names and that is missing, a command that needs approval.

use super::agent::Caller;
use super::agent::PluginAgent;
use super::files::{HOOKS, MANIFEST, MARKETPLACE, PLUGIN};
use super::{PluginError, VERSION};
use crate::fsx;
use crate::stories::{Block, find_frontmatter};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_saphyr::UserMessageFormatter;
use std::path::{Path, PathBuf};

/// A problem of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Below the directory.
    pub file: String,
    pub problem: String,
}

/// What the plugin's hooks call. They are those that ralph gives its agents: a test compares them.
const EVENTS: [(&str, &str); 4] = [
    ("PostToolUse", "context-monitor"),
    ("PreToolUse", "guard"),
    ("SessionStart", "session-start"),
    ("Stop", "stop"),
];

/// How the plugin's files name its own directory.
const ROOT: &str = "${CLAUDE_PLUGIN_ROOT}/";

pub fn check(dir: &Path) -> Vec<Finding> {
    let mut checked = Checked { dir, findings: Vec::new() };
    checked.manifests();
    checked.hooks();
    checked.texts();
    checked.findings
}

struct Checked<'a> {
    dir: &'a Path,
    findings: Vec<Finding>,
}

/// What commands and skills say about themselves.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct About {
    name: Option<String>,
    description: Option<String>,
    allowed_tools: Option<String>,
}

impl Checked<'_> {
    fn found(&mut self, file: &str, problem: impl Into<String>) {
        self.findings.push(Finding { file: file.to_owned(), problem: problem.into() });
    }

    fn text(&mut self, file: &str) -> Option<String> {
        let read = fsx::read_regular(&self.dir.join(file));
        match read.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()) {
            Ok(text) => Some(text),
            Err(cause) => {
                self.found(file, format!("cannot read it: {cause}"));
                None
            }
        }
    }

    fn json(&mut self, file: &str) -> Option<Value> {
        let text = self.text(file)?;
        match serde_json::from_str(&text) {
            Ok(value) => Some(value),
            Err(cause) => {
                self.found(file, format!("not JSON: {cause}"));
                None
            }
        }
    }

    fn field(&mut self, file: &str, value: &Value, field: &str, wanted: &str) {
        if value != wanted {
            self.found(file, format!("{field} is {value}, not \"{wanted}\""));
        }
    }

    fn manifests(&mut self) {
        if let Some(manifest) = self.json(MANIFEST) {
            self.field(MANIFEST, &manifest["name"], "name", PLUGIN);
            self.field(MANIFEST, &manifest["version"], "version", VERSION);
        }
        if let Some(marketplace) = self.json(MARKETPLACE) {
            self.field(MARKETPLACE, &marketplace["name"], "name", super::MARKETPLACE);
            let plugin = &marketplace["plugins"][0];
            self.field(MARKETPLACE, &plugin["name"], "plugins[0].name", PLUGIN);
            self.field(MARKETPLACE, &plugin["version"], "plugins[0].version", VERSION);
            self.field(MARKETPLACE, &plugin["source"], "plugins[0].source", &format!("./{PLUGIN}"));
        }
    }

    fn hooks(&mut self) {
        let Some(hooks) = self.json(HOOKS) else { return };
        for (event, hook) in EVENTS {
            let command = &hooks["hooks"][event][0]["hooks"][0]["command"];
            let call = command
                .as_str()
                .and_then(|command| command.strip_prefix(&format!("sh \"{ROOT}hooks/run\" ")));
            let called = call.and_then(|call| call.split_whitespace().next());
            if called != Some(hook) {
                self.found(HOOKS, format!("{event} does not call the hook {hook}"));
            }
        }
        for event in hooks["hooks"].as_object().into_iter().flat_map(serde_json::Map::keys) {
            if !EVENTS.iter().any(|(known, _)| known == event) {
                self.found(HOOKS, format!("{event} calls a hook that this ralph does not have"));
            }
        }
        self.own_files(HOOKS, &hooks.to_string());
    }

    fn texts(&mut self) {
        let commands = entries(&self.dir.join(PLUGIN).join("commands"));
        for name in commands {
            self.text_of(&format!("{PLUGIN}/commands/{name}"), None);
        }
        for name in entries(&self.dir.join(PLUGIN).join("skills")) {
            self.text_of(&format!("{PLUGIN}/skills/{name}/SKILL.md"), Some(&name));
        }
    }

    /// A command, or the skill of this name.
    fn text_of(&mut self, file: &str, skill: Option<&str>) {
        let Some(text) = self.text(file) else { return };
        let Block::At(range) = find_frontmatter(text.as_bytes()) else {
            return self.found(file, "no frontmatter");
        };
        let about = match serde_saphyr::from_str::<About>(&text[range.clone()]) {
            Ok(about) => about,
            Err(cause) => {
                let why = cause.render_with_formatter(&UserMessageFormatter);
                let why = why.lines().next().unwrap_or_default().trim_start_matches("error: ");
                return self.found(file, format!("the frontmatter is not valid YAML: {why}"));
            }
        };
        if about.description.unwrap_or_default().trim().is_empty() {
            self.found(file, "no description");
        }
        if about.name.as_deref() != skill {
            self.found(file, format!("name is {:?}, not {skill:?}", about.name));
        }
        let allowed = about.allowed_tools.unwrap_or_default();
        for command in inline(&text[range.end..]) {
            if command.contains(['&', ';', '|', '\n']) || command.contains("$ARGUMENTS") {
                self.found(file, format!("needs approval each time: {command}"));
            } else if !allowed.contains(&format!("Bash({command})")) {
                self.found(file, format!("not in allowed-tools: {command}"));
            }
        }
        self.own_files(file, &text);
    }

    /// Those that a text names are there.
    fn own_files(&mut self, file: &str, text: &str) {
        for rest in text.split(ROOT).skip(1) {
            let end =
                rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-_./".contains(c)).unwrap_or(rest.len());
            let named = self.dir.join(PLUGIN).join(&rest[..end]);
            if !named.is_file() {
                self.found(file, format!("names a file that is not there: {}", &rest[..end]));
            }
        }
    }
}

/// The commands whose output an agent puts in their place: an exclamation mark, then the command in backticks.
fn inline(text: &str) -> impl Iterator<Item = &str> {
    text.split("!`").skip(1).filter_map(|rest| rest.split('`').next())
}

/// The names in a directory, in order.
fn entries(dir: &Path) -> Vec<String> {
    let entries = fs_err::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// What `claude plugin validate` says of the marketplace and of its plugin.
pub fn check_by_claude(program: &Path, dir: &Path) -> Result<Vec<Finding>, PluginError> {
    let caller = Caller::new(PluginAgent::Claude, program, dir);
    let mut findings = Vec::new();
    for target in [dir.to_path_buf(), dir.join(PLUGIN)] {
        let args = ["plugin", "validate", "--strict", "--json", &target.to_string_lossy()];
        findings.extend(caller.report::<Report>(&args)?.findings(dir));
    }
    findings.dedup();
    Ok(findings)
}

#[derive(Deserialize)]
struct Report {
    success: bool,
    manifest: Option<FileReport>,
    #[serde(default)]
    contents: Vec<FileReport>,
}

#[derive(Deserialize)]
struct FileReport {
    file: PathBuf,
    #[serde(default)]
    errors: Vec<Remark>,
    #[serde(default)]
    warnings: Vec<Remark>,
}

#[derive(Deserialize)]
struct Remark {
    #[serde(default)]
    path: String,
    message: String,
}

impl Report {
    fn findings(self, dir: &Path) -> Vec<Finding> {
        let of_file = |report: FileReport| {
            let file = report.file.strip_prefix(dir).unwrap_or(&report.file).display().to_string();
            let remarks = report.errors.into_iter().chain(report.warnings);
            remarks.map(move |Remark { path, message }| Finding {
                file: file.clone(),
                problem: if path.is_empty() { message } else { format!("{path}: {message}") },
            })
        };
        let findings: Vec<Finding> =
            self.manifest.into_iter().chain(self.contents).flat_map(of_file).collect();
        match self.success || !findings.is_empty() {
            true => findings,
            false => vec![Finding { file: ".".into(), problem: "claude refuses it without a reason".into() }],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::{Alerts, write};
    use super::*;

    /// What is found after one file was changed.
    fn after(file: &str, change: impl Fn(&str) -> String) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), Alerts::InRuns).unwrap();
        let path = dir.path().join(file);
        let text = fs_err::read_to_string(&path).unwrap();
        let changed = change(&text);
        assert_ne!(changed, text, "{file}");
        fsx::write_whole(&path, changed.as_bytes()).unwrap();
        check(dir.path()).into_iter().map(|found| format!("{}: {}", found.file, found.problem)).collect()
    }

    #[test]
    fn what_ralph_installs_has_no_problems() {
        for alerts in [Alerts::InRuns, Alerts::Everywhere] {
            let dir = tempfile::tempdir().unwrap();
            write(dir.path(), alerts).unwrap();
            assert_eq!(check(dir.path()), []);
        }
    }

    #[test]
    fn each_problem_is_named_with_its_file() {
        let status = "ralph/commands/status.md";
        for (file, (from, to), wanted) in [
            (MANIFEST, (VERSION, "9.9.9"), "version is \"9.9.9\", not"),
            (MARKETPLACE, ("./ralph", "./elsewhere"), "plugins[0].source is \"./elsewhere\""),
            (MARKETPLACE, ("{", "("), "not JSON: "),
            (HOOKS, ("\"Stop\"", "\"Start\""), "Stop does not call the hook stop"),
            (HOOKS, ("\"Stop\"", "\"Start\""), "Start calls a hook that this ralph does not have"),
            (HOOKS, ("hooks/run", "hooks/gone"), "names a file that is not there: hooks/gone"),
            (status, ("---\n", ""), "no frontmatter"),
            (status, ("description:", "descriptions:"), "no description"),
            (status, ("argument-hint: \"", "argument-hint: \"\""), "the frontmatter is not valid YAML"),
            (status, ("!`sh", "!`echo"), "not in allowed-tools: echo"),
            (status, ("!`sh", "!`true && sh"), "needs approval each time: true && sh"),
            (status, ("scripts/overview", "scripts/none"), "names a file that is not there: scripts/none"),
            ("ralph/skills/plan/SKILL.md", ("name: plan", "name: plans"), "name is Some(\"plans\")"),
        ] {
            let found = after(file, |text| text.replace(from, to));
            assert!(
                found.iter().any(|found| found.starts_with(file) && found.contains(wanted)),
                "{wanted}: {found:?}"
            );
        }
    }

    #[test]
    fn files_that_are_missing_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let found: Vec<String> = check(dir.path()).into_iter().map(|found| found.file).collect();
        assert_eq!(found, [MANIFEST, MARKETPLACE, HOOKS]);
    }

    #[test]
    fn what_claude_says_is_told_of_files_below_the_directory() {
        let report: Report = serde_json::from_str(
            r#"{"success": false, "manifest": {"file": "/p/ralph/.claude-plugin/plugin.json", "errors":
                [{"path": "version", "message": "expected string", "code": null}], "warnings": []},
                "contents": [{"file": "/p/ralph/commands/stop.md", "warnings": [{"message": "No frontmatter"}]}]}"#,
        )
        .unwrap();
        let found = |file: &str, problem: &str| Finding { file: file.into(), problem: problem.into() };
        assert_eq!(
            report.findings(Path::new("/p")),
            [found(MANIFEST, "version: expected string"), found("ralph/commands/stop.md", "No frontmatter")]
        );
    }
}
