//! What a shell remembers: variables, functions, its directory, the files that it has written.

use super::output::Output;
use crate::guard::arg::{Arg, UNKNOWN};
use crate::guard::invocation::Site;
use crate::guard::repo::Repo;
use crate::guard::shell::ast::Command;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

/// Values that a variable may have at once, after branches and loops.
const MOST_VALUES: usize = 64;
/// Longer texts become unknown at their end.
pub const LONGEST: usize = 64 << 10;

#[derive(Clone, Debug)]
pub struct Scope {
    variables: HashMap<String, Value>,
    /// `declare -n`: names that stand for others.
    pub references: HashMap<String, String>,
    /// Those that programs see.
    pub exported: Vec<String>,
    pub functions: HashMap<String, Rc<Command>>,
    pub aliases: HashMap<String, String>,
    pub git_aliases: HashMap<String, String>,
    /// `$0`
    pub zero: Arg,
    /// `$1`, `$2`, …
    pub arguments: Vec<Arg>,
    pub cwd: Option<PathBuf>,
    /// Where the shell is instead if a `cd` has failed, and it went on.
    pub stayed: Option<PathBuf>,
    /// The same of a `cd` in the list of `&&` and `||` that is being carried out.
    pub left: Option<PathBuf>,
    /// `set -e`
    pub ends_on_failure: bool,
    /// `trap`: what runs when the shell ends, with what is set then.
    pub traps: Vec<String>,
    pub site: Site,
    pub files: HashMap<PathBuf, Output>,
    /// Links that were made, and where they lead.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// What was done to repositories, by a directory in them.
    pub repos: Vec<(PathBuf, Repo)>,
    /// Functions that are being called, so that none is called within itself.
    pub calling: Vec<String>,
    /// Descriptors that `exec` has connected with another machine.
    pub connections: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// One of these.
    OneOf(Vec<Arg>),
    /// All of these.
    Array(Vec<Arg>),
}

impl Scope {
    pub fn new(cwd: PathBuf) -> Scope {
        Scope {
            variables: HashMap::new(),
            references: HashMap::new(),
            exported: Vec::new(),
            functions: HashMap::new(),
            aliases: HashMap::new(),
            git_aliases: HashMap::new(),
            zero: Arg::new("sh"),
            arguments: Vec::new(),
            cwd: Some(cwd),
            stayed: None,
            left: None,
            ends_on_failure: false,
            traps: Vec::new(),
            site: Site::Here,
            files: HashMap::new(),
            links: Vec::new(),
            repos: Vec::new(),
            calling: Vec::new(),
            connections: Vec::new(),
        }
    }

    /// About how many bytes a copy of it takes.
    pub fn size(&self) -> usize {
        let files: usize = self.files.values().map(|file| file.text.text().len() + 100).sum();
        let values = self.variables.values().map(|value| match value {
            Value::OneOf(values) | Value::Array(values) => {
                values.iter().map(|value| value.text().len() + 50).sum::<usize>()
            }
        });
        files + values.sum::<usize>() + 200 * (self.functions.len() + self.repos.len())
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.variables.get(name)
    }

    pub fn set(&mut self, name: &str, value: Arg) {
        self.variables.insert(name.to_owned(), Value::OneOf(vec![bounded(value)]));
    }

    pub fn set_one_of(&mut self, name: &str, mut values: Vec<Arg>) {
        if values.len() > MOST_VALUES {
            values.truncate(MOST_VALUES);
            values.push(Arg::unknown());
        }
        self.variables.insert(name.to_owned(), Value::OneOf(values.into_iter().map(bounded).collect()));
    }

    pub fn set_array(&mut self, name: &str, values: Vec<Arg>) {
        self.variables.insert(name.to_owned(), Value::Array(values.into_iter().take(MOST_VALUES).collect()));
    }

    pub fn unset(&mut self, name: &str) {
        self.variables.insert(name.to_owned(), Value::OneOf(vec![Arg::new("")]));
        self.functions.remove(name);
    }

    /// Takes over what another branch has done: a variable may have either value.
    pub fn merge(&mut self, other: Scope) {
        for (name, theirs) in other.variables {
            let merged = match (self.variables.remove(&name), theirs) {
                (Some(Value::OneOf(mut ours)), Value::OneOf(theirs)) => {
                    for value in theirs {
                        if !ours.contains(&value) && ours.len() < MOST_VALUES {
                            ours.push(value);
                        }
                    }
                    Value::OneOf(ours)
                }
                (_, theirs) => theirs,
            };
            self.variables.insert(name, merged);
        }
        self.functions.extend(other.functions);
        self.aliases.extend(other.aliases);
        self.files.extend(other.files);
        for name in other.exported {
            if !self.exported.contains(&name) {
                self.exported.push(name);
            }
        }
        // Whatever was checked out in a branch of the code counts.
        for (dir, repo) in other.repos {
            match self.repos.iter_mut().find(|(known, _)| *known == dir) {
                Some((_, known)) => *known = repo,
                None => self.repos.push((dir, repo)),
            }
        }
        self.stayed = self.stayed.take().or(other.stayed);
        for trap in other.traps {
            if !self.traps.contains(&trap) {
                self.traps.push(trap);
            }
        }
        // A branch that fails stays where it was.
        if self.cwd != other.cwd {
            self.cwd = other.cwd.or(self.cwd.take());
        }
    }

    /// This scope after a process that has ended: only the files and links that it made are left, and what it did to
    /// repositories.
    pub fn with_files_of(mut self, inner: &mut Scope) -> Scope {
        self.files = std::mem::take(&mut inner.files);
        self.links = std::mem::take(&mut inner.links);
        self.repos = std::mem::take(&mut inner.repos);
        self
    }
}

/// The text, cut to a length.
pub fn bounded(value: Arg) -> Arg {
    if value.text().len() <= LONGEST {
        return value;
    }
    let end = (0..=LONGEST).rev().find(|at| value.text().is_char_boundary(*at)).unwrap_or(0);
    Arg::new(format!("{}{UNKNOWN}", &value.text()[..end]))
}
