//! The value of `$name` and `${name…}`.

use super::Walk;
use super::scope::{Value, bounded};
use crate::guard::arg::{Arg, SECRET, STAR, UNKNOWN};
use crate::guard::pattern::glob;
use crate::guard::shell::ast::{Change, Parameter};
use crate::sandbox::variables::looks_secret;

impl Walk<'_> {
    /// Several for an array and for `$@`.
    pub(super) fn parameter(&mut self, parameter: &Parameter, choice: usize) -> Vec<Arg> {
        let mut value = self.value(&parameter.name, choice);
        if let (Some(index), Some(all)) = (parameter.index, &value)
            && all.len() > 1
        {
            value = Some(all.get(index).cloned().into_iter().collect());
        }
        match &parameter.change {
            Change::None | Change::Demand => value.unwrap_or_else(|| vec![self.unset(&parameter.name)]),
            Change::Length => vec![Arg::new("1")],
            Change::Indirect => {
                let named = value.and_then(|values| values.into_iter().next());
                match named.as_ref().and_then(Arg::known) {
                    Some(name) => self.value(name, choice).unwrap_or_else(|| vec![self.unset(name)]),
                    None => vec![Arg::unknown()],
                }
            }
            Change::Default(word) => match value {
                Some(values) if values.iter().any(|value| !value.text().is_empty()) => values,
                // Not set here: it may be set in the environment all the same.
                _ => vec![self.text_of(word, choice)],
            },
            Change::Instead(word) => match value {
                Some(values) if values.iter().all(|value| value.text().is_empty()) => vec![],
                _ => vec![self.text_of(word, choice)],
            },
            Change::Strip { from_end, longest, pattern } => {
                let pattern = self.text_of(pattern, choice);
                self.each(value, |text| strip(text, pattern.text(), *from_end, *longest))
            }
            Change::Replace { all, old, new } => {
                let (old, new) = (self.text_of(old, choice), self.text_of(new, choice));
                let (old, new) = (old.text().to_owned(), new.text().to_owned());
                self.each(value, |text| match *all {
                    _ if old.is_empty() || old.contains(['*', '?', '[', STAR]) => None,
                    true => Some(text.replace(&old, &new)),
                    false => Some(text.replacen(&old, &new, 1)),
                })
            }
            Change::Slice { from, length } => self.each(value, |text| slice(text, from, length.as_deref())),
            Change::Upper => self.each(value, |text| Some(text.to_uppercase())),
            Change::Lower => self.each(value, |text| Some(text.to_lowercase())),
            Change::Other => vec![Arg::unknown()],
        }
    }

    /// Changes values that are known; others stay as unknown as they are.
    fn each(&self, values: Option<Vec<Arg>>, change: impl Fn(&str) -> Option<String>) -> Vec<Arg> {
        let values = values.unwrap_or_else(|| vec![Arg::unknown()]);
        let changed = |value: &Arg| match value.known() {
            Some(text) => change(text).map_or_else(Arg::unknown, Arg::new),
            None if value.has_secret() => value.clone(),
            // A part of an unknown path below a known one is still below it.
            None => value.clone(),
        };
        values.iter().map(changed).map(bounded).collect()
    }

    /// What the shell itself knows.
    fn value(&self, name: &str, choice: usize) -> Option<Vec<Arg>> {
        match name {
            "@" | "*" => return Some(self.scope.arguments.clone()),
            "0" => return Some(vec![self.scope.zero.clone()]),
            "?" | "#" | "-" => return Some(vec![Arg::new("0")]),
            "$" | "!" | "BASHPID" => return Some(vec![Arg::new("4242")]),
            "PPID" => return Some(vec![Arg::new("pid:parent")]),
            _ => {}
        }
        if let Ok(number) = name.parse::<usize>() {
            let argument = self.scope.arguments.get(number.wrapping_sub(1)).cloned();
            return Some(vec![argument.unwrap_or_else(Arg::unknown)]);
        }
        let name = self.scope.references.get(name).map_or(name, String::as_str);
        match self.scope.get(name) {
            Some(Value::OneOf(values)) => {
                let value = values.get(choice).or(values.last()).cloned();
                return Some(value.into_iter().collect());
            }
            Some(Value::Array(values)) => return Some(values.clone()),
            None => {}
        }
        let here = || self.scope.cwd.as_ref().map(|dir| dir.to_string_lossy().into_owned());
        let text = match name {
            "HOME" => Some(self.world.home.to_string_lossy().into_owned()),
            "PWD" => Some(here().unwrap_or_else(|| UNKNOWN.to_string())),
            "IFS" => Some(" \t\n".to_owned()),
            "RANDOM" | "SECONDS" | "LINENO" | "EPOCHSECONDS" | "UID" | "EUID" | "SRANDOM" => {
                Some("4242".to_owned())
            }
            "BASH_SOURCE" => Some("./script".to_owned()),
            "SHELL" | "BASH" => Some("/bin/bash".to_owned()),
            "USER" | "LOGNAME" | "HOSTNAME" => {
                Some((self.world.variable)(name).unwrap_or_else(|| "user".to_owned()))
            }
            "TMPDIR" => Some((self.world.variable)(name).unwrap_or_else(|| "/tmp/tmpdir".to_owned())),
            "PATH" => {
                Some((self.world.variable)(name).unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".to_owned()))
            }
            // What the shell is about to run, for a trap that watches it.
            "BASH_COMMAND" | "BASH_EXECUTION_STRING" => Some(SECRET.to_string()),
            _ if looks_secret(name) => Some(SECRET.to_string()),
            _ => (self.world.variable)(name).map(|text| crate::guard::arg::without_holes(&text).into_owned()),
        };
        text.map(|text| vec![Arg::new(text)])
    }

    /// A variable that is not known here. It may be set in the agent's shell.
    fn unset(&self, _name: &str) -> Arg {
        Arg::unknown()
    }
}

/// The text without the longest or shortest beginning or end that a pattern covers.
fn strip(text: &str, pattern: &str, from_end: bool, longest: bool) -> Option<String> {
    let pattern = pattern.replace(STAR, "*");
    if pattern.contains(['?', '[']) || text.len() > 4096 {
        return None;
    }
    let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let covered = |at: &usize| {
        let part = if from_end { &text[*at..] } else { &text[..*at] };
        glob(pattern.as_bytes(), part.as_bytes())
    };
    let found = match from_end == longest {
        true => cuts.iter().find(|at| covered(at)),
        false => cuts.iter().rev().find(|at| covered(at)),
    };
    Some(match found {
        Some(at) if from_end => text[..*at].to_owned(),
        Some(at) => text[*at..].to_owned(),
        None => text.to_owned(),
    })
}

fn slice(text: &str, from: &str, length: Option<&str>) -> Option<String> {
    let chars: Vec<char> = text.chars().collect();
    let from: i64 = from.parse().ok()?;
    let start =
        if from < 0 { chars.len().saturating_sub(from.unsigned_abs() as usize) } else { from as usize };
    let start = start.min(chars.len());
    let end = match length.map(str::parse::<i64>) {
        None => chars.len(),
        Some(Ok(length)) if length >= 0 => start.saturating_add(length as usize).min(chars.len()),
        Some(Ok(length)) => chars.len().saturating_sub(length.unsigned_abs() as usize).max(start),
        Some(Err(_)) => return None,
    };
    Some(chars[start..end].iter().collect())
}
