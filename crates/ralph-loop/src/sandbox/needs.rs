//! What a check lacks in a sandbox, by what it printed there.
//!
//! A check that passes only outside has mostly named what it missed: a file, a variable, a service.
//! Rows ([`table`]) say what the words of programs mean. A path counts only if it exists outside, and
//! a variable only if it was not passed on: what is missing everywhere is not the sandbox's doing.
//!
//! Deliberately absent: certainty. It is the likely reason, shown with the line that it was read from.

mod paths;
mod table;

use crate::sandbox::network::Forward;
use crate::text::{clip, printable};
use paths::Places;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use table::{Means, ROWS};

/// Something that a check has outside and not inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    pub what: Missing,
    /// What the check printed.
    pub line: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// A path, as settings spell it: `~` is the home.
    Read(String),
    Write(String),
    Variable(String),
    /// A socket of a service, or the directory that it is in.
    Socket(String),
    /// `localhost:5432`
    Port(String),
    /// A host that the proxy of the sandbox refuses, or the group that it is in, as settings spell it.
    Host(String),
    SessionBus,
    /// The directory of the user's session, which leads to its bus and its keys.
    Session,
    Display,
    KeyAgent,
    /// Namespaces, mounts, or the rights of another user.
    Privileges,
    Memory,
    TemporarySpace,
    Processes,
    FileSize,
}

/// What there is outside, as far as it matters inside.
pub struct Outside<'a> {
    pub home: Option<&'a str>,
    /// The work tree. It is visible inside, apart from protected files in it.
    pub tree: &'a str,
    /// ralph's own records, which no check gets.
    pub records: &'a str,
    /// Variables that are not passed on.
    pub withheld: &'a [String],
    /// What is at a path.
    pub look: &'a dyn Fn(&str) -> Option<Kind>,
    /// Where a program is.
    pub program: &'a dyn Fn(&str) -> Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Dir,
    Socket,
}

/// More are not named.
const MOST: usize = 5;
/// Of a line, in characters.
const LINE_LONGEST: usize = 160;
/// Longer ones are no messages.
const LINE_READ: usize = 4096;
/// How far above its error a path can be: `failed to read X`, `Caused by:`, an empty line.
const LINES_BACK: usize = 3;

/// What the output of a check inside says is missing there; those that a setting allows first.
pub fn find(output: &str, outside: &Outside<'_>) -> Vec<Need> {
    let output = printable(output);
    let lines: Vec<&str> =
        output.lines().map(str::trim).filter(|line| !line.is_empty() && line.len() <= LINE_READ).collect();
    let places = Places::of(outside);
    let said = lines.iter().enumerate().filter_map(|(at, line)| {
        let before = &lines[at.saturating_sub(LINES_BACK)..at];
        Some((in_line(line, before, outside, &places)?, *line))
    });
    let mut needs = distinct(said);
    if needs.is_empty() {
        // No words that are known, but a path that is not there inside.
        needs = distinct(lines.iter().filter_map(|line| Some((places.read(line)?, *line))));
    }
    needs.sort_by_key(|need| need.what.setting().is_none());
    needs
}

fn distinct<'a>(found: impl Iterator<Item = (Missing, &'a str)>) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    for (what, line) in found {
        if needs.iter().all(|need| need.what != what) {
            needs.push(Need { what, line: clip(line, LINE_LONGEST).into_owned() });
        }
        if needs.len() == MOST {
            break;
        }
    }
    needs
}

/// The first row whose words are in the line, and that finds something.
fn in_line(line: &str, before: &[&str], outside: &Outside<'_>, places: &Places<'_>) -> Option<Missing> {
    let lower = line.to_lowercase();
    let said = ROWS.iter().filter(|row| row.says.iter().any(|words| lower.contains(words)));
    said.filter_map(|row| match &row.means {
        Means::Always(what) => Some(what()),
        Means::Docker => Some(places.socket(line).unwrap_or_else(|| Missing::Socket(table::DOCKER.into()))),
        Means::NoSuch => {
            let near = || before.iter().rev().find_map(|line| places.read(line));
            let found = places.used(line, &lower).or_else(near);
            found.or_else(|| places.program(line))
        }
        Means::Denied => places.used(line, &lower),
        Means::ReadOnly => {
            places.written(line).or_else(|| before.iter().rev().find_map(|line| places.written(line)))
        }
        Means::Port => table::local_port(&lower).map(Missing::Port),
        Means::Refused => table::refused_host(&lower),
    })
    .next()
    .or_else(|| variable(line, &lower, outside.withheld).map(Missing::Variable))
}

/// A variable that is not passed on, and that the line names. A name of one word can be any word.
fn variable(line: &str, lower: &str, withheld: &[String]) -> Option<String> {
    let words = || line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_unset = || table::UNSET.iter().any(|words| lower.contains(words));
    let named =
        |name: &&String| words().any(|word| word == name.as_str()) && (name.contains('_') || is_unset());
    withheld.iter().find(named).cloned()
}

impl Missing {
    /// The setting below `sandbox` that allows it, and what has to be in it.
    pub fn setting(&self) -> Option<(&'static str, &str)> {
        match self {
            Missing::Read(path) => Some(("read", path)),
            Missing::Write(path) | Missing::Socket(path) => Some(("write", path)),
            Missing::Variable(name) => Some(("variables", name)),
            Missing::Host(entry) => Some(("hosts", entry)),
            // Lower ports cannot be opened inside.
            Missing::Port(port) => {
                let port = port.rsplit(':').next()?;
                Forward::parse(port).is_ok().then_some(("forward", port))
            }
            Missing::SessionBus
            | Missing::Session
            | Missing::Display
            | Missing::KeyAgent
            | Missing::Privileges
            | Missing::Memory
            | Missing::TemporarySpace
            | Missing::Processes
            | Missing::FileSize => None,
        }
    }

    /// For people: what is wrong inside.
    pub fn sentence(&self) -> String {
        match self {
            Missing::Read(path) => format!("{path} cannot be read inside"),
            Missing::Write(path) => format!("{path} cannot be written inside"),
            Missing::Variable(name) => format!("the variable {name} is not passed on"),
            Missing::Socket(path) if path.contains("docker") || path.contains("podman") => {
                format!(
                    "the socket {path} is not there inside; a program that can use it controls this machine"
                )
            }
            Missing::Socket(path) => format!("the socket {path} is not there inside"),
            Missing::Port(port) => format!("nothing answers on {port} inside"),
            Missing::Host(entry) => format!("{entry} cannot be reached inside"),
            Missing::SessionBus => "the D-Bus of your session is not there inside".to_string(),
            Missing::Session => {
                "the directory of your session (XDG_RUNTIME_DIR) is not there inside".to_string()
            }
            Missing::Display => "there is no display inside".to_string(),
            Missing::KeyAgent => "the SSH agent is not there inside".to_string(),
            Missing::Privileges => {
                "programs inside get no further namespaces and no other user's rights".to_string()
            }
            Missing::Memory => "memory is limited inside".to_string(),
            Missing::TemporarySpace => "the space for temporary files is limited inside".to_string(),
            Missing::Processes => "the number of processes is limited inside".to_string(),
            Missing::FileSize => "the size of files is limited inside".to_string(),
        }
    }

    /// What to do where a setting with a name or a path does not help.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Missing::Read(_)
            | Missing::Write(_)
            | Missing::Variable(_)
            | Missing::Socket(_)
            | Missing::Host(_) => None,
            Missing::Port(_) if self.setting().is_some() => None,
            Missing::Port(_) => Some("start the service in the check itself"),
            Missing::SessionBus => Some("start one in the check: dbus-run-session -- COMMAND"),
            Missing::Session => Some("set XDG_RUNTIME_DIR to a directory of its own in the check"),
            Missing::Display => Some("start one in the check: xvfb-run COMMAND"),
            Missing::KeyAgent => Some("leave what needs your keys out of the check"),
            Missing::Privileges => Some("leave what needs them out of the check, or use --no-sandbox"),
            Missing::Memory => Some("raise sandbox.memory"),
            Missing::TemporarySpace => Some("raise sandbox.tmpSize"),
            Missing::Processes => Some("raise sandbox.processes"),
            Missing::FileSize => Some("raise sandbox.fileSize"),
        }
    }
}

/// What to add to the settings, as JSON: `{"sandbox": {"read": ["~/.foo"]}}`. Nothing if no setting helps.
pub fn settings<'a>(needs: impl IntoIterator<Item = &'a Need>) -> Option<String> {
    let mut keys = Map::new();
    for (key, value) in needs.into_iter().filter_map(|need| need.what.setting()) {
        let list = keys.entry(key).or_insert_with(|| json!([]));
        if let Value::Array(list) = list
            && !list.contains(&json!(value))
        {
            list.push(json!(value));
        }
    }
    let keys = keys.into_iter().map(|(key, list)| format!("\"{key}\": {}", spaced(&list)));
    let keys = keys.collect::<Vec<_>>().join(", ");
    (!keys.is_empty()).then(|| format!("{{\"sandbox\": {{{keys}}}}}"))
}

/// As people write a list: with a space after each comma.
fn spaced(list: &Value) -> String {
    let values = list.as_array().into_iter().flatten().map(Value::to_string);
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests;
