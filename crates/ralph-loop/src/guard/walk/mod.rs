//! A command carried out in the abstract.
//!
//! Every branch is taken, every loop goes round once, every program that would start is noted as an
//! [`Invocation`] and does nothing. Texts are followed as far as they can be known without running anything: variables,
//! output of `echo` and the like through pipes, files that are written and then run.
//!
//! Invariant: bounded. There is a limit on commands, on their depth and on the length of every text; what goes beyond it is
//! refused.

mod builtins;
mod code;
mod connections;
mod decode;
mod directory;
mod expand;
mod loops;
mod output;
mod parameter;
mod programs;
mod recipes;
mod redirects;
mod repos;
mod scope;
mod scripts;
mod shells;
mod through;
mod wrappers;

use super::Step;
use super::arg::{Arg, without_holes};
use super::invocation::{Invocation, Stdin};
use super::shell::ast::{Command, Compound, Item, List, Pipeline};
use super::shell::{DEEPEST, ShellError, parse};
use super::world::World;
use loops::{counts_far, harm_of_many, harm_without_end, multiplies};
pub use output::EVERY_BRANCH;
use output::Output;
use scope::Scope;

/// Commands that are looked at in one call. Functions that call functions can multiply.
const MOST_COMMANDS: usize = 2_000;
/// Programs of a pipeline that are named for each other.
const MOST_LINKED: usize = 8;
/// Bytes that are copied for them.
const MOST_BYTES: usize = 16 << 20;

pub struct Walk<'a> {
    world: &'a World<'a>,
    scope: Scope,
    invocations: Vec<Invocation>,
    steps: Vec<Step>,
    /// How many codes inside of codes this is.
    depth: usize,
    commands: usize,
    bytes: usize,
}

impl<'a> Walk<'a> {
    pub fn new(world: &'a World<'a>) -> Walk<'a> {
        let scope = Scope::new(world.cwd.clone());
        Walk { world, scope, invocations: Vec::new(), steps: Vec::new(), depth: 0, commands: 0, bytes: 0 }
    }

    /// A command line of the agent.
    pub fn command(&mut self, text: &str) {
        self.code(&without_holes(text), &Stdin::default());
    }

    /// The directory of the call, if it is not that of the session.
    pub fn start_in(&mut self, dir: &str) {
        self.scope.cwd = Some(normal(&self.world.cwd.join(without_holes(dir).as_ref())));
    }

    /// What cannot be judged.
    pub fn refuse(&mut self, what: &'static str, why: &str) {
        self.note(what, vec![Arg::new(why)]);
    }

    /// A tool of the agent that writes a file.
    pub fn write(&mut self, path: &str) {
        self.note("<write>", vec![self.path(path)]);
    }

    pub fn read(&mut self, path: &str) {
        self.note("<read>", vec![self.path(path)]);
    }

    pub fn fetch(&mut self, url: &str) {
        self.note("<fetch>", vec![Arg::new(without_holes(url))]);
    }

    pub fn end(self) -> (Vec<Invocation>, Vec<Step>) {
        (self.invocations, self.steps)
    }

    /// Tools expand a tilde.
    fn path(&self, path: &str) -> Arg {
        let path = without_holes(path);
        match path.strip_prefix("~/") {
            Some(rest) => Arg::new(self.world.home.join(rest).to_string_lossy()),
            None => Arg::new(path),
        }
    }

    /// Notes something that is no program.
    fn note(&mut self, what: &str, args: Vec<Arg>) {
        self.add(Invocation { program: Arg::new(what), args, ..self.blank() });
    }

    /// An invocation here and now.
    fn blank(&self) -> Invocation {
        let Scope { cwd, stayed, site, .. } = &self.scope;
        Invocation { cwd: cwd.clone(), stayed: stayed.clone(), site: *site, ..Invocation::default() }
    }

    fn add(&mut self, invocation: Invocation) {
        let kind = if invocation.program.text().starts_with('<') { "finds" } else { "runs" };
        self.step(kind, invocation.to_string());
        self.invocations.push(invocation);
    }

    fn step(&mut self, kind: &'static str, text: String) {
        self.steps.push(Step { depth: self.depth, kind, text });
    }

    /// Shell code, in the scope of now. What it prints.
    fn code(&mut self, text: &str, stdin: &Stdin) -> Output {
        if self.depth >= DEEPEST {
            self.refuse("<too-deep>", "commands in commands in commands");
            return Output::unknown();
        }
        let list = match parse(text, self.depth) {
            Ok(list) => list,
            Err(why) => {
                let what = match why {
                    ShellError::TooDeep => "<too-deep>",
                    ShellError::Unexpected { .. } => "<unparsed>",
                };
                self.refuse(what, &why.to_string());
                return Output::unknown();
            }
        };
        self.depth += 1;
        let output = self.shell_list(&list, stdin);
        self.depth -= 1;
        output
    }

    /// All that a shell runs, and then what it was told to run at its end.
    fn shell_list(&mut self, list: &List, stdin: &Stdin) -> Output {
        let outer = std::mem::take(&mut self.scope.traps);
        let output = self.list(list, stdin);
        for code in std::mem::replace(&mut self.scope.traps, outer) {
            self.code_apart(&code, stdin, |_| {});
        }
        output
    }

    /// Shell code in a process of its own: what it sets is lost with it.
    fn code_apart(&mut self, text: &str, stdin: &Stdin, change: impl FnOnce(&mut Scope)) -> Output {
        let outer = self.kept_scope();
        change(&mut self.scope);
        let output = self.code(text, stdin);
        self.scope = outer.with_files_of(&mut self.scope);
        output
    }

    fn list(&mut self, list: &List, stdin: &Stdin) -> Output {
        let mut output = Output::nothing();
        // A `cd` before this list, joined with `&&`, has not failed in here.
        let left = self.scope.left.take();
        for item in &list.0 {
            output.add(&self.item(item, stdin));
        }
        self.scope.left = left;
        output
    }

    fn item(&mut self, item: &Item, stdin: &Stdin) -> Output {
        let mut output = Output::nothing();
        for (at, pipeline) in item.pipelines.iter().enumerate() {
            if let Some(joint) = at.checked_sub(1).and_then(|at| item.joints.get(at)) {
                self.before_joined(*joint, pipeline);
            }
            output.add(&self.pipeline(pipeline, stdin));
        }
        self.after_list(item);
        output
    }

    fn pipeline(&mut self, pipeline: &Pipeline, stdin: &Stdin) -> Output {
        let mut stdin = stdin.clone();
        let mut output = Output::nothing();
        let mut ends: Vec<usize> = Vec::new();
        let start = self.invocations.len();
        // Every command but a single one is in a process of its own; what it sets is kept all the same, because the
        // last one (`| while read x`) matters to what follows in its body only.
        for command in &pipeline.0 {
            let before = self.invocations.len();
            output = self.one(command, &stdin);
            let mut from = stdin.from;
            let started =
                self.invocations[before..].iter().filter(|new| !new.program.text().starts_with('<'));
            from.extend(
                started.rev().take(MOST_LINKED).map(Invocation::alone).collect::<Vec<_>>().into_iter().rev(),
            );
            from.drain(..from.len().saturating_sub(MOST_LINKED));
            stdin = Stdin { text: Some(output.text.clone()), is_exact: output.is_exact, from };
            ends.push(self.invocations.len());
        }
        self.link_outputs(start, &ends);
        output
    }

    fn one(&mut self, command: &Command, stdin: &Stdin) -> Output {
        if !self.may_go_on(0) {
            return Output::unknown();
        }
        let start = self.invocations.len();
        match command {
            Command::Simple(simple) => {
                let output = self.simple(simple, stdin);
                self.end_in_file(start, &simple.redirects);
                output
            }
            Command::Compound(compound, redirects) => {
                if let Some(harm) = harm_without_end(compound, redirects) {
                    self.note(harm.name(), vec![Arg::new("a loop without end")]);
                }
                let stdin = self.redirected_stdin(redirects, stdin);
                let output = self.compound(compound, &stdin);
                let output = self.redirected_output(redirects, output);
                self.end_in_file(start, redirects);
                output
            }
            Command::Function { name, body } => {
                if multiplies(name, body) {
                    self.note("<fork-bomb>", vec![Arg::new(name.as_str())]);
                }
                self.scope.functions.insert(name.clone(), body.clone());
                Output::nothing()
            }
        }
    }

    /// Whether another command may be looked at, for which so many bytes are copied.
    fn may_go_on(&mut self, bytes: usize) -> bool {
        let could = self.commands <= MOST_COMMANDS && self.bytes <= MOST_BYTES;
        self.commands += 1;
        self.bytes += bytes;
        let can = self.commands <= MOST_COMMANDS && self.bytes <= MOST_BYTES;
        if could && !can {
            self.refuse("<too-long>", "more commands than can be looked at");
        }
        can
    }

    /// The scope, to return to it.
    fn kept_scope(&mut self) -> Scope {
        self.bytes += self.scope.size();
        self.scope.clone()
    }

    fn compound(&mut self, compound: &Compound, stdin: &Stdin) -> Output {
        match compound {
            Compound::Braces(list) => self.list(list, stdin),
            Compound::Subshell(list) => {
                let outer = self.kept_scope();
                let output = self.shell_list(list, stdin);
                self.scope = outer.with_files_of(&mut self.scope);
                output
            }
            Compound::If { arms, otherwise } => {
                let mut output = Output::nothing();
                let mut ends = Vec::new();
                for arm in arms {
                    output.add(&self.list(&arm.condition, stdin));
                    let before = self.kept_scope();
                    output.add(&self.list(&arm.body, stdin));
                    ends.push(std::mem::replace(&mut self.scope, before));
                }
                if let Some(otherwise) = otherwise {
                    output.add(&self.list(otherwise, stdin));
                }
                ends.into_iter().for_each(|end| self.scope.merge(end));
                output
            }
            Compound::While { condition, body } => {
                self.list(condition, stdin);
                self.list(body, stdin)
            }
            Compound::For { variable, words, body } => {
                let start = self.invocations.len();
                let values: Vec<Arg> = match words {
                    Some(words) => words.iter().flat_map(|word| self.fields(word)).collect(),
                    None => self.scope.arguments.clone(),
                };
                let is_long = self.invocations[start..].iter().any(counts_far) || values.len() > 100;
                if let Some(harm) = harm_of_many(body).filter(|_| is_long) {
                    self.note(harm.name(), vec![Arg::new("a long loop that waits for nothing")]);
                }
                self.scope.set_one_of(variable, values);
                self.list(body, stdin)
            }
            Compound::Counted { body, .. } => self.list(body, stdin),
            Compound::Case { word, arms } => {
                self.fields(word);
                let before = self.kept_scope();
                let mut output = Output::nothing();
                for arm in arms {
                    output.add(&self.list(arm, stdin));
                    let end = std::mem::replace(&mut self.scope, before.clone());
                    self.scope.merge(end);
                }
                output
            }
            Compound::Test(words) => {
                for word in words {
                    self.fields(word);
                }
                Output::nothing()
            }
        }
    }

    /// The file that a path names, for what this command itself writes.
    fn file_key(&self, path: &Arg) -> Option<std::path::PathBuf> {
        let known = path.known()?;
        Some(match known.starts_with('/') {
            true => normal(std::path::Path::new(known)),
            false => normal(&self.scope.cwd.as_ref()?.join(known)),
        })
    }

    /// The same for a file that may be the standard input.
    fn input_file(&self, path: &Arg, invocation: &Invocation) -> Option<Output> {
        match path.text() {
            "/dev/stdin" | "/proc/self/fd/0" | "/dev/fd/0" => {
                let text = invocation.stdin.text.clone()?;
                Some(Output { text, is_exact: invocation.stdin.is_exact })
            }
            _ => self.file_text(path),
        }
    }

    /// The text of a file, if this command or this session has written it.
    fn file_text(&self, path: &Arg) -> Option<Output> {
        let key = self.file_key(path)?;
        if let Some(written) = self.scope.files.get(&key) {
            return Some(written.clone());
        }
        let text = (self.world.script)(&key)?;
        Some(Output::exact(&without_holes(&text)))
    }
}

/// A path without `.` and `..`.
fn normal(path: &std::path::Path) -> std::path::PathBuf {
    use std::path::Component;
    let mut normal = std::path::PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}
