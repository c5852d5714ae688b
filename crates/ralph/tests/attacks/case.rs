//! Reads attacks. README.md explains the format.
//!
//! A file that is not understood is a failed test, with the file and the line.

use std::fs;
use std::path::{Path, PathBuf};

/// Where an agent runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// With `--no-sandbox`.
    Without,
    Bwrap,
    Landlock,
}

impl Place {
    /// In the order of the columns of the table in docs/sandbox.md.
    pub const ALL: [Place; 3] = [Place::Without, Place::Bwrap, Place::Landlock];

    pub fn name(self) -> &'static str {
        match self {
            Place::Without => "without",
            Place::Bwrap => "bwrap",
            Place::Landlock => "landlock",
        }
    }

    pub fn flag(self) -> &'static str {
        match self {
            Place::Without => "--no-sandbox",
            Place::Bwrap => "--sandbox=bwrap",
            Place::Landlock => "--sandbox=landlock",
        }
    }
}

/// What becomes of an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Stopped,
    Succeeds,
}

impl Outcome {
    /// As case files and the table spell it.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Stopped => "stopped",
            Outcome::Succeeds => "succeeds",
        }
    }
}

/// Which program of a run carries out the attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Agent,
    /// The check, which the agent has replaced by the attack.
    Check,
}

#[derive(Clone, Debug)]
pub struct Attack {
    /// Unique; a row of the table.
    pub title: String,
    /// The name of the file that the attack is in, without its extension.
    pub kind: String,
    pub by: By,
    /// The name of the agent's program: ralph gives those that it knows their login.
    pub agent: String,
    /// Programs, or `root`, without which the attack is skipped.
    pub needs: Vec<String>,
    /// A shell command that has to succeed outside; otherwise the attack is skipped.
    pub only_if: Option<String>,
    /// The user's settings, as JSON.
    pub settings: String,
    /// More arguments for ralph.
    pub args: Vec<String>,
    /// `NAME=value`, for ralph.
    pub env: Vec<String>,
    /// A command that ralph is started by.
    pub under: String,
    /// Whether ralph has a terminal.
    pub terminal: bool,
    /// Whether it would disturb others on the same system.
    pub alone: bool,
    outcomes: [Outcome; 3],
    /// Why it succeeds in a sandbox, for the table.
    pub note: String,
    /// Shell, outside, before the run.
    pub setup: String,
    /// Shell, inside.
    pub attack: String,
    /// Shell, outside, after the run: what the user does then.
    pub after: String,
    /// Shell, outside: succeeds if the attack did.
    pub seen: String,
    /// Shell, outside: succeeds if the attack was carried out, whatever became of it. By default it has
    /// printed a line.
    pub ran: String,
    /// Shell, at the end, whatever the result: removes what is outside the stage.
    pub cleanup: String,
}

impl Attack {
    /// What is to become of it in a place.
    pub fn outcome(&self, place: Place) -> Outcome {
        self.outcomes[place as usize]
    }
}

/// All attacks, in the order of their files.
pub fn attacks() -> Vec<Attack> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/attacks/cases");
    let entries = fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "case"));
    files.sort();
    files.iter().flat_map(|file| read(file)).collect()
}

fn read(file: &Path) -> Vec<Attack> {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let kind = file.file_stem().unwrap().to_str().unwrap();
    let mut attacks: Vec<Attack> = Vec::new();
    // The section that lines belong to; before the first one of an attack they are fields.
    let mut section: Option<&str> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let at = || format!("{}:{number}: {line}", file.display());
        if let Some(title) = line.strip_prefix("=== ") {
            attacks.push(empty(title, kind));
            section = None;
            continue;
        }
        // What comes before the first attack is a comment.
        let Some(attack) = attacks.last_mut() else { continue };
        if let Some(name) = line.strip_prefix("--- ") {
            section = Some(name);
        } else if let Some(name) = section {
            let script = script(attack, name).unwrap_or_else(|| panic!("{}: no section {name}", at()));
            script.push_str(line);
            script.push('\n');
        } else if !line.is_empty() {
            let (key, value) = line.split_once(':').unwrap_or_else(|| panic!("{}: not a field", at()));
            assert!(set(attack, key, value.trim()), "{}: no such field or value", at());
        }
    }
    for attack in &attacks {
        for (name, script) in [("attack", &attack.attack), ("seen", &attack.seen)] {
            assert!(!script.is_empty(), "{}: {}: no {name}", file.display(), attack.title);
        }
    }
    attacks
}

fn empty(title: &str, kind: &str) -> Attack {
    Attack {
        title: title.to_owned(),
        kind: kind.to_owned(),
        by: By::Agent,
        agent: "some-agent".to_owned(),
        needs: Vec::new(),
        only_if: None,
        settings: String::new(),
        args: Vec::new(),
        env: Vec::new(),
        under: String::new(),
        terminal: false,
        alone: false,
        outcomes: [Outcome::Succeeds, Outcome::Stopped, Outcome::Stopped],
        note: String::new(),
        setup: String::new(),
        attack: String::new(),
        after: String::new(),
        seen: String::new(),
        ran: String::new(),
        cleanup: String::new(),
    }
}

fn script<'a>(attack: &'a mut Attack, section: &str) -> Option<&'a mut String> {
    match section {
        "setup" => Some(&mut attack.setup),
        "attack" => Some(&mut attack.attack),
        "after" => Some(&mut attack.after),
        "seen" => Some(&mut attack.seen),
        "ran" => Some(&mut attack.ran),
        "cleanup" => Some(&mut attack.cleanup),
        _ => None,
    }
}

/// Whether there is such a field, and such a value.
fn set(attack: &mut Attack, key: &str, value: &str) -> bool {
    if let Some(place) = Place::ALL.into_iter().find(|place| place.name() == key) {
        let outcome = [Outcome::Stopped, Outcome::Succeeds].into_iter().find(|o| o.name() == value);
        outcome.inspect(|outcome| attack.outcomes[place as usize] = *outcome);
        return outcome.is_some();
    }
    let words = || value.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    match (key, value) {
        ("by", "check") => attack.by = By::Check,
        ("agent", _) => attack.agent = value.to_owned(),
        ("terminal", "yes") => attack.terminal = true,
        ("alone", "yes") => attack.alone = true,
        ("needs", _) => attack.needs = words(),
        ("if", _) => attack.only_if = Some(value.to_owned()),
        ("settings", _) => attack.settings = value.to_owned(),
        ("args", _) => attack.args = words(),
        ("env", _) => attack.env.push(value.to_owned()),
        ("under", _) => attack.under = value.to_owned(),
        ("note", _) => attack.note = value.to_owned(),
        _ => return false,
    }
    true
}
