//! Reads one file of settings, and finds what is wrong with it.

use super::SettingsError;
use super::architect;
use super::check::{Finding, Findings, check};
use super::strict::Strict;
use serde_json::Value;
use serde_saphyr::UserMessageFormatter;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file to read.
#[derive(Debug)]
pub struct Source {
    pub path: PathBuf,
    /// How messages name it.
    pub shown: PathBuf,
    pub role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// One of the places where settings may be; JSON.
    Optional,
    /// Named by the user, so it must be there; JSON or YAML, with architect's block.
    Config,
}

/// What one file says, checked.
#[derive(Clone, Debug)]
pub struct Layer {
    pub file: PathBuf,
    pub value: Value,
}

/// One thing that is wrong, and where.
#[derive(Debug)]
pub struct Problem {
    pub file: PathBuf,
    /// Empty if it is the file as a whole.
    pub at: String,
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file.display())?;
        if !self.at.is_empty() {
            write!(f, "{}: ", self.at)?;
        }
        f.write_str(&self.what)
    }
}

/// The files that are there, lowest layer first.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    pub list: Vec<Layer>,
    pub warnings: Vec<String>,
}

impl Layers {
    /// Reads every file before it gives up, so that all problems are reported at once.
    pub fn read(sources: impl IntoIterator<Item = Source>) -> Result<Layers, SettingsError> {
        let mut layers = Layers::default();
        let mut problems = Vec::new();
        for source in sources {
            let file = source.shown.clone();
            let findings = match read(&source) {
                Ok(None) => continue,
                Ok(Some((value, findings))) => {
                    layers.list.push(Layer { file: file.clone(), value });
                    findings
                }
                Err(what) => {
                    let whole = Finding { at: String::new(), what };
                    Findings { problems: vec![whole], warnings: Vec::new() }
                }
            };
            let warned =
                findings.warnings.into_iter().map(|warning| format!("{}: {warning}", file.display()));
            layers.warnings.extend(warned);
            let wrong = findings.problems.into_iter();
            problems.extend(wrong.map(|Finding { at, what }| Problem { file: file.clone(), at, what }));
        }
        if problems.is_empty() { Ok(layers) } else { Err(SettingsError { problems }) }
    }

    /// All of them as one, without defaults.
    pub fn merged(&self) -> Value {
        let mut merged = Value::Object(serde_json::Map::new());
        for layer in &self.list {
            super::merge(&mut merged, layer.value.clone());
        }
        merged
    }
}

fn read(source: &Source) -> Result<Option<(Value, Findings)>, String> {
    let bytes = match std::fs::read(&source.path) {
        Ok(bytes) => bytes,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound && source.role == Role::Optional => {
            return Ok(None);
        }
        Err(cause) => return Err(format!("cannot read the settings: {cause}")),
    };
    let text = String::from_utf8(bytes).map_err(|cause| format!("the file is not UTF-8 text: {cause}"))?;
    // Some editors begin a file with a byte order mark.
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err("the file is empty; write {} if you want no settings".to_string());
    }
    let mut value = match source.role {
        Role::Config if is_yaml(&source.path) => parse_yaml(text)?,
        Role::Config | Role::Optional => parse_json(text)?,
    };
    let mut findings = match source.role {
        Role::Config => architect::translate(&mut value),
        Role::Optional => Findings::default(),
    };
    let own = check(&mut value);
    findings.problems.extend(own.problems);
    findings.warnings.extend(own.warnings);
    Ok(Some((value, findings)))
}

fn parse_json(text: &str) -> Result<Value, String> {
    let Strict(value) = serde_json::from_str(text).map_err(|cause| format!("not valid JSON: {cause}"))?;
    Ok(value)
}

fn parse_yaml(text: &str) -> Result<Value, String> {
    // `completionResponse: yes` is a word, as YAML 1.2 has it.
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    let Strict(value) = serde_saphyr::from_str_with_options(text, options)
        .map_err(|cause| format!("not valid YAML: {}", cause.render_with_formatter(&UserMessageFormatter)))?;
    Ok(value)
}

fn is_yaml(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| matches!(&extension.to_ascii_lowercase()[..], "yaml" | "yml"))
}
