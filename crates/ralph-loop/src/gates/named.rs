//! Which files the commands of the checks name, and which ones those files name in turn.
//!
//! A file decides over a verdict if its exit status does: scripts that a check runs, and what they
//! run, to a depth of eight. A program whose output another command judges (`python app.py | grep -q
//! ok`, `test "$(./app)" = ok`) is what is being checked, not what checks, unless its name says
//! otherwise. The same holds for files that `test`, `grep`, compilers and linters are given, and for
//! files that a script reads into its shell ([`super::libraries`]).
//!
//! Deliberately absent: what a script in another language than shell does. Of such a script only
//! names of scripts and of files that look like checks are taken.

use std::collections::{BTreeMap, BTreeSet};

use super::GateKind;
use super::glob::{Glob, Path};
use super::libraries::{Libraries, Script};
use super::programs::{self, Program};
use super::words::{self, Output, Simple, joined};

const DEEPEST: usize = 8;
const MOST_FILES: usize = 100;
/// Words of a script in another language that are looked up.
const MOST_MENTIONS: usize = 300;
/// Longer files are not read for names.
pub(super) const LONGEST: usize = 256 * 1024;

/// What the checks name.
#[derive(Clone, Debug, Default)]
pub(super) struct Named {
    paths: BTreeMap<String, GateKind>,
    globs: Vec<(Glob, GateKind)>,
    /// Scripts of `package.json`; `lint:*` stands for all that fit.
    pub(super) scripts: BTreeSet<String>,
    /// Directories whose own `package.json` a check uses.
    pub(super) packages: BTreeSet<String>,
    /// Files that scripts read into their shells and that are being checked.
    pub(super) libraries: Libraries,
}

impl Named {
    pub(super) fn kind(&self, path: &str) -> Option<GateKind> {
        let folded = path.to_lowercase();
        let above = folded.match_indices('/').map(|(at, _)| &folded[..at]);
        let by_path = self.paths.get(&folded);
        // Only a directory that a test runner is given stands for all files in it.
        let by_dir = || above.filter_map(|dir| self.paths.get(dir)).find(|kind| **kind == GateKind::Test);
        let glob_path = Path::new(path);
        let by_glob = || self.globs.iter().find(|(glob, _)| glob.fits(&glob_path)).map(|(_, kind)| kind);
        by_path.or_else(by_dir).or_else(by_glob).copied()
    }

    /// Whether a check runs this script of a `package.json`.
    pub(super) fn runs_script(&self, name: &str) -> bool {
        let base = ["pre", "post"].iter().find_map(|hook| name.strip_prefix(hook));
        let runs = |name: &str| self.scripts.iter().any(|script| Glob::new(script).fits(&Path::new(name)));
        runs(name) || base.is_some_and(runs)
    }

    /// Whether a check uses the `package.json` of this directory.
    pub(super) fn uses_package(&self, dir: &str) -> bool {
        self.packages.contains(dir)
    }

    pub(super) fn add(&mut self, path: &str, kind: GateKind) {
        if path.contains(['*', '?']) {
            self.globs.push((Glob::new(&format!("/{path}")), kind));
        } else if !path.is_empty() {
            self.paths.entry(path.to_lowercase()).or_insert(kind);
        }
    }
}

/// Reads the commands; `read` gives the files of the tree at the start.
pub(super) fn named(checks: &[&str], read: &dyn Fn(&str) -> Option<String>) -> Named {
    let none = BTreeSet::new();
    let all = Finder::over(checks, read, &none);
    let libraries = Libraries::among(&all.scripts);
    if libraries.is_empty() {
        return all.named;
    }
    // What a library runs is its own affair, unless something else runs it too.
    let Finder { mut named, scripts, .. } = Finder::over(checks, read, &libraries);
    named.libraries = Libraries::new(libraries, &scripts);
    named
}

pub(super) struct Finder<'a> {
    pub(super) named: Named,
    pub(super) read: &'a dyn Fn(&str) -> Option<String>,
    /// What was followed already, so that scripts that call each other end.
    seen: BTreeSet<String>,
    /// Shell scripts that decide, and the one that is being read.
    pub(super) scripts: Vec<Script>,
    pub(super) script: usize,
    pub(super) libraries: &'a BTreeSet<String>,
}

/// One command, with what surrounds it.
pub(super) struct Call<'a> {
    pub(super) dir: &'a str,
    /// The directory of the script that it is in.
    pub(super) own: &'a str,
    pub(super) words: &'a [String],
    pub(super) judged: bool,
    pub(super) depth: usize,
}

impl<'a> Call<'a> {
    pub(super) fn with(&self, dir: &'a str, words: &'a [String]) -> Call<'a> {
        Call { dir, words, ..*self }
    }
}

impl<'a> Finder<'a> {
    fn over(
        checks: &[&str],
        read: &'a dyn Fn(&str) -> Option<String>,
        libraries: &'a BTreeSet<String>,
    ) -> Finder<'a> {
        let (named, seen, scripts) = (Named::default(), BTreeSet::new(), Vec::new());
        let mut finder = Finder { named, read, seen, scripts, script: 0, libraries };
        for check in checks {
            finder.file("", check, |finder| finder.script(check, "", "", 0));
        }
        finder
    }
}

impl Finder<'_> {
    pub(super) fn script(&mut self, text: &str, dir: &str, own: &str, depth: usize) {
        if depth > DEEPEST || text.len() > LONGEST {
            return;
        }
        let commands = words::commands(text, dir, own);
        for (at, command) in commands.iter().enumerate() {
            let judged = match command.output {
                Output::Shown => false,
                Output::Substituted => true,
                Output::Piped => commands[at..]
                    .windows(2)
                    .take_while(|pair| pair[0].output == Output::Piped)
                    .any(|pair| pair[1].words.first().is_some_and(|word| programs::judges(word))),
            };
            self.simple(command, own, judged, depth);
            self.text_run(&commands, at, own, depth);
        }
    }

    fn simple(&mut self, command: &Simple, own: &str, judged: bool, depth: usize) {
        let call = Call { dir: &command.dir, own, words: &command.words, judged, depth };
        for read in &command.reads {
            self.data(&call, read);
        }
        self.call(&call);
    }

    pub(super) fn call(&mut self, call: &Call<'_>) {
        self.variables(call);
        let words = programs::unwrapped(call.words);
        let Some((first, rest)) = words.split_first() else { return };
        let call = call.with(call.dir, rest);
        match programs::program(first) {
            Program::Shell => self.shell(&call),
            Program::Source => self.source(&call),
            Program::Interpreter => self.interpreter(&call),
            Program::Make => self.make(&call),
            Program::Just => self.recipes(&call, &["justfile", ".justfile", "Justfile"], rest),
            Program::Packages => self.package_script(&call, first),
            Program::Scripts => self.scripts(&call, operands(rest)),
            Program::Runner => self.runner(&call),
            Program::RunnerIf(word) if rest.iter().any(|given| given == word) => self.runner(&call),
            Program::RunnerIf(_) | Program::Looks => self.looks(&call),
            Program::Utility => {}
            Program::ReadsFrom(files) => {
                self.looks(&call);
                for path in files.iter().filter_map(|file| joined(call.dir, file)) {
                    if let Some(text) = (self.read)(&path).filter(|_| self.may_follow(&path)) {
                        self.mentions(&call.with(call.dir, &[]), &text, call.dir);
                    }
                }
            }
            Program::Compares => {
                for word in operands(rest).filter(|word| programs::is_expectation(word)) {
                    self.add(&call, word);
                }
            }
            Program::Other => self.other(&call, first),
        }
    }

    fn shell(&mut self, call: &Call<'_>) {
        let takes_script =
            |word: &&String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
        if let Some(at) = call.words.iter().position(|word| takes_script(&word))
            && let Some(text) = call.words.get(at + 1)
        {
            return self.script(text, call.dir, call.own, call.depth + 1);
        }
        self.run_first(call, Runs::Shell);
    }

    fn interpreter(&mut self, call: &Call<'_>) {
        for (at, word) in call.words.iter().enumerate() {
            match word.as_str() {
                // The rest is the command line of a module: pytest, unittest, a package of the project.
                "-m" => {
                    let rest = &call.words[(at + 1).min(call.words.len())..];
                    if let Some(module) = rest.first() {
                        self.module(call, module);
                    }
                    return self.call(&call.with(call.dir, rest));
                }
                "--test" => return self.runner(&call.with(call.dir, &call.words[at + 1..])),
                "-c" | "-e" | "--eval" | "-p" => return,
                "run" => {}
                // Options and their values, as far as these can be told from a file.
                word if word.starts_with('-') => {}
                word if word.contains(['.', '/']) || self.exists(call, word) => break,
                _ => {}
            }
        }
        let is_option_value = |at: usize| at > 0 && programs::takes_value(&call.words[at - 1]);
        for (at, word) in call.words.iter().enumerate() {
            if is_option_value(at) {
                self.named_option(call, word);
            } else if !word.starts_with('-') && word != "run" {
                self.run(call, word, Runs::Code);
                return self.looks(&call.with(call.dir, &call.words[at + 1..]));
            }
        }
    }

    /// `python -m module`. Python looks for a module in the directory first, so that a new file with
    /// the name of a tool replaces it.
    fn module(&mut self, call: &Call<'_>, module: &str) {
        let path = module.replace('.', "/");
        let is_tool = programs::program(module) != Program::Other;
        for file in [format!("{path}.py"), format!("{path}/__main__.py"), format!("{path}/__init__.py")] {
            match is_tool {
                true => self.add(call, &file),
                false => self.run(call, &file, Runs::ModuleOfProject),
            }
        }
    }

    /// Variables that choose what runs: directories of `PATH` inside of the tree, and scripts or
    /// configuration that exist.
    fn variables(&mut self, call: &Call<'_>) {
        for word in call.words.iter().filter(|word| words::is_assignment(word)) {
            let (name, value) = word.split_once('=').unwrap_or_default();
            if name == "PATH" {
                let inside = value.split(':').filter_map(|dir| {
                    joined(call.dir, dir.trim_start_matches(['$', '/'])).filter(|_| !dir.starts_with('/'))
                });
                for dir in inside.filter(|dir| !dir.is_empty()) {
                    self.named.add(&format!("{dir}/*"), GateKind::Check);
                }
            } else if (programs::is_data(value) || programs::is_shell_script(value))
                && self.exists(call, value)
            {
                self.add(call, value);
            }
        }
    }

    pub(super) fn run_first(&mut self, call: &Call<'_>, runs: Runs) {
        let mut words = call.words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-o" | "-O" | "--rcfile" | "--init-file" => _ = words.next(),
                word if word.starts_with(['-', '+']) => {}
                word => {
                    self.run(call, word, runs);
                    let rest: Vec<String> = words.cloned().collect();
                    return self.looks(&call.with(call.dir, &rest));
                }
            }
        }
    }

    /// A file that is executed.
    pub(super) fn run(&mut self, call: &Call<'_>, word: &str, runs: Runs) {
        let Some(path) = self.resolved(call, word) else { return };
        let text = (self.read)(&path);
        let says_so = programs::says_that_it_checks(&path);
        let counts = match runs {
            Runs::Shell => !call.judged || says_so,
            // Code that did not exist and does not call itself a check is the work, not its check.
            Runs::Code => says_so || (!call.judged && text.is_some()) || word.contains('*'),
            Runs::ModuleOfProject => text.is_some() && (!call.judged || says_so),
        };
        if counts {
            self.named.add(&path, GateKind::Check);
        }
        let Some(text) = text.filter(|_| self.may_follow(&path)) else { return };
        let own = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        match runs {
            Runs::Shell if !has_foreign_shebang(&text) => {
                let (dir, depth) = (call.dir, call.depth + 1);
                self.file(&path, &text, |finder| finder.script(&text, dir, own, depth));
            }
            Runs::Shell | Runs::Code | Runs::ModuleOfProject => {
                self.mentions(&call.with(call.dir, &[]), &text, own);
            }
        }
    }

    /// Files that a script in another language mentions, if their names say that they check.
    fn mentions(&mut self, call: &Call<'_>, text: &str, own: &str) {
        if call.depth >= DEEPEST || text.len() > LONGEST {
            return;
        }
        let call = Call { own, depth: call.depth + 1, ..*call };
        let is_path = |c: char| c.is_alphanumeric() || "._-/".contains(c);
        let tokens: BTreeSet<&str> =
            text.split(|c| !is_path(c)).filter(|token| token.len() < 200 && token.contains('.')).collect();
        let counts = |token: &&str| programs::is_shell_script(token) || programs::says_that_it_checks(token);
        for token in tokens.into_iter().filter(counts).take(MOST_MENTIONS) {
            let is_script = programs::is_shell_script(token);
            for dir in [call.dir, own] {
                let Some(path) = joined(dir, token) else { continue };
                if !self.seen.contains(&path) && (self.read)(&path).is_some() {
                    let runs = if is_script { Runs::Shell } else { Runs::Code };
                    self.run(&call.with("", &[]), &path, runs);
                }
            }
        }
    }

    /// What a test runner is given are tests, and files behind its options.
    pub(super) fn runner(&mut self, call: &Call<'_>) {
        for (at, word) in call.words.iter().enumerate() {
            if word.starts_with('-') {
                self.option(call, word, call.words.get(at + 1));
                continue;
            }
            // `tests/test_a.py::test_login` names a test of a file.
            let file = word.split("::").next().unwrap_or_default();
            let name = file.rsplit('/').next().unwrap_or_default();
            // A directory can be that of the sources, with their tests beside them.
            let says_so = programs::says_that_it_checks(file);
            let is_file = name.trim_start_matches('.').contains('.');
            let is_value = at > 0 && programs::takes_value(&call.words[at - 1]);
            if let Some(path) = self.resolved(call, file).filter(|_| says_so || (is_file && !is_value)) {
                self.named.add(&path, GateKind::Test);
            }
        }
    }

    /// Operands are what is looked at; only what options name counts. A short option has many meanings,
    /// so that its value has to look like configuration.
    fn looks(&mut self, call: &Call<'_>) {
        for (at, word) in call.words.iter().enumerate() {
            let next = call.words.get(at + 1);
            let is_short = word.starts_with('-') && !word.starts_with("--");
            if word.starts_with("--") || (is_short && next.is_some_and(|next| programs::is_data(next))) {
                self.option(call, word, next);
            }
        }
    }

    /// A program by its path, or one that is not known.
    fn other(&mut self, call: &Call<'_>, program: &str) {
        let is_path = program.contains('/');
        if is_path || programs::is_shell_script(program) {
            self.run(call, program, Runs::Shell);
        }
        for (at, word) in call.words.iter().enumerate() {
            if word.starts_with('-') {
                self.option(call, word, call.words.get(at + 1));
            } else if !is_path && programs::is_data(word) && self.exists(call, word) {
                // The file is read by a program that is no part of the tree: it says what is right.
                self.add(call, word);
            } else {
                self.data(call, word);
            }
        }
    }

    /// `--config=x`, or an option that takes the next word.
    fn option(&mut self, call: &Call<'_>, option: &str, next: Option<&String>) {
        match option.split_once('=') {
            Some((name, value)) if programs::takes_value(name) => self.named_option(call, value),
            Some(_) => {}
            None if programs::takes_value(option) => {
                if let Some(value) = next {
                    self.named_option(call, value);
                }
            }
            None => {}
        }
    }

    /// The value of an option that takes configuration, if it is a file.
    fn named_option(&mut self, call: &Call<'_>, value: &str) {
        if value.contains(['/', '.']) || self.exists(call, value) {
            self.add(call, value);
        }
    }

    /// A file that is read: it counts if its name says that something is compared with it, or that
    /// it is a script.
    fn data(&mut self, call: &Call<'_>, word: &str) {
        let is_script = programs::is_shell_script(word) && (word.contains('*') || self.exists(call, word));
        if is_script || programs::is_expectation(word) {
            self.add(call, word);
        }
    }

    fn add(&mut self, call: &Call<'_>, word: &str) {
        if let Some(path) = self.resolved(call, word) {
            self.named.add(&path, GateKind::Check);
        }
    }

    pub(super) fn exists(&self, call: &Call<'_>, word: &str) -> bool {
        joined(call.dir, word).is_some_and(|path| !path.is_empty() && (self.read)(&path).is_some())
    }

    /// A word as a path from the top. After a variable the rest is looked for where scripts mostly
    /// mean it: beside the script, where it runs, at the top.
    pub(super) fn resolved(&self, call: &Call<'_>, word: &str) -> Option<String> {
        let exists = |path: &String| !path.is_empty() && (self.read)(path).is_some();
        match word.rsplit_once('$') {
            None => {
                let usual = joined(call.dir, word);
                let beside = || joined(call.own, word).filter(exists);
                usual.clone().filter(exists).or_else(beside).or(usual)
            }
            Some((_, rest)) => {
                let rest = rest.trim_start_matches('/');
                [call.own, call.dir, ""].into_iter().filter_map(|dir| joined(dir, rest)).find(exists)
            }
        }
    }

    pub(super) fn may_follow(&mut self, what: &str) -> bool {
        self.seen.len() < MOST_FILES && self.seen.insert(what.to_string())
    }
}

/// How a file is executed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    Shell,
    Code,
    /// `python -m module`: mostly a module that is installed.
    ModuleOfProject,
}

fn operands(words: &[String]) -> impl Iterator<Item = &String> {
    words.iter().filter(|word| !word.starts_with('-'))
}

/// `#!/usr/bin/env python3`: not a shell script, whatever it is called.
fn has_foreign_shebang(text: &str) -> bool {
    let Some(line) = text.lines().next().and_then(|line| line.strip_prefix("#!")) else { return false };
    !line.split(['/', ' ']).any(|word| matches!(word, "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash"))
}
