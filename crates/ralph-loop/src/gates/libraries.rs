//! Shell files that a script reads into its own shell (`. ./lib.sh`): what is being checked, or a part of
//! the check.
//!
//! The same rule as for programs decides: a function whose output is judged (`test "$(f 1)" = 2`), or
//! that is called with plain words (`f 1 > out`), is the work; one that is given the result of others, or
//! their names, judges them (`same "$out" 2`, `run f`), and a file that has one is a gate. But a library
//! runs in the shell of its test, and can end it or replace what it compares with. [`acts`] names plain
//! ways to do so that are new. Invariant: in doubt a file is a gate.
//!
//! Deliberately absent: what a function's commands are made of when they run (`"$@"`, `$(echo exit)`).
//! Code that wants to hide it can.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::code::{Language, blanked};
use super::named::{Call, Finder, Runs};
use super::programs::{self, Program};
use super::words::{self, Output, Simple, is_assignment};

/// So many ways are named.
const MOST_NAMED: usize = 3;

static DEFINITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = r#"[^\s(){};&|<>$"'`=#]+"#;
    Regex::new(&format!(r"(?m)(?:^|[\s;&|{{(])({name})[ \t]*\([ \t]*\)|\bfunction[ \t]+({name})")).ok()
});

static VARIABLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\$\{?[#!]?([A-Za-z_]\w*)|(?m)(?:^|[\s;&|({])([A-Za-z_]\w*)\+?=").ok());

/// Variables that change how every command runs.
const SPECIAL: &[&str] = &["PATH", "ENV", "BASH_ENV", "IFS", "SHELLOPTS", "BASHOPTS", "LD_PRELOAD", "FPATH"];

/// Names of functions that judge others: the beginning, or the first word.
const JUDGING: &[&str] = &["assert", "expect", "should"];
const JUDGING_WORDS: &[&str] = &["fail", "pass", "skip", "ok", "run", "finish", "try"];

/// Commands of the shell itself beside those that [`programs`] knows.
const BUILTINS: &[&str] = &[
    ":", "alias", "bg", "break", "builtin", "cd", "command", "continue", "declare", "dirs", "enable", "eval",
    "exec", "fc", "fg", "getopts", "hash", "jobs", "let", "local", "popd", "print", "pushd", "pwd", "read",
    "readonly", "return", "shift", "shopt", "times", "type", "typeset", "ulimit", "umask", "unalias",
    "unset", "env", "xargs", "expr", "basename", "dirname", "mktemp", "seq", "date", "timeout", "which",
    "bc", "od", "xxd", "fold", "paste", "join", "nl", "rev", "tac", "column", "readlink", "realpath",
];

/// The libraries of a run's checks, and how the scripts that decide use them.
#[derive(Clone, Debug, Default)]
pub(super) struct Libraries {
    files: BTreeSet<String>,
    usage: Usage,
}

/// What the scripts of the start do, as far as it concerns the libraries that they read.
#[derive(Clone, Debug, Default)]
struct Usage {
    calls: Vec<Called>,
    /// Functions of their own.
    defined: BTreeSet<String>,
    /// Variables that they assign or read.
    variables: BTreeSet<String>,
}

#[derive(Clone, Debug)]
struct Called {
    name: String,
    /// In a process of its own, from where it can only print.
    contained: bool,
    /// It is given what others have printed, or their names.
    judges: bool,
}

/// A shell script that was followed, or the text of a check.
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    /// Empty for the text of a check.
    pub(super) path: String,
    pub(super) text: String,
    /// Files that it reads into its shell and that could be libraries.
    pub(super) sources: BTreeSet<String>,
}

impl Libraries {
    /// The libraries among files that scripts read into their shells.
    pub(super) fn among(scripts: &[Script]) -> BTreeSet<String> {
        let mut libraries: BTreeSet<String> =
            scripts.iter().flat_map(|script| script.sources.clone()).collect();
        // Each turn removes one at least.
        while !libraries.is_empty() {
            let usage = Usage::of(scripts, &libraries);
            let of_library = scripts.iter().filter(|script| libraries.contains(&script.path));
            let indirect: BTreeSet<&String> = of_library.flat_map(|script| &script.sources).collect();
            let is_library = |path: &String| {
                let text = scripts.iter().find(|script| script.path == *path).map(|script| &script.text);
                text.is_some_and(|text| usage.allows(&functions(text), indirect.contains(path)))
            };
            let kept: BTreeSet<String> = libraries.iter().filter(|path| is_library(path)).cloned().collect();
            if kept == libraries {
                break;
            }
            libraries = kept;
        }
        libraries
    }

    pub(super) fn new(files: BTreeSet<String>, scripts: &[Script]) -> Libraries {
        let usage = Usage::of(scripts, &files);
        Libraries { files, usage }
    }

    pub(super) fn contains(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    /// What a library has begun to do to the scripts that read it.
    pub(super) fn acts(&self, before: &str, after: &str) -> Vec<String> {
        let (old, new) = (functions(before), functions(after));
        let called = |name: &&String| self.usage.calls.iter().any(|call| call.name == **name);
        let gone = old.difference(&new).filter(called).map(|name| format!("{name}() is gone"));
        let replaces = |name: &&String| {
            let is_known = programs::program(name) != Program::Other || BUILTINS.contains(&name.as_str());
            let judges = |call: &Called| call.name == **name && call.judges;
            is_known || self.usage.defined.contains(*name) || self.usage.calls.iter().any(judges)
        };
        let replaced = new.difference(&old).filter(replaces).map(|name| format!("{name}()"));
        // What a function does in a process of its own does not reach the script.
        let is_exposed =
            |call: &Called| !call.contained && (old.contains(&call.name) || new.contains(&call.name));
        let exposed = self.usage.calls.iter().any(is_exposed);
        let (before, after) = (Effects::of(before, &old, exposed), Effects::of(after, &new, exposed));
        let commands = after
            .commands
            .iter()
            .filter(|(command, times)| before.commands.get(*command).is_none_or(|earlier| earlier < *times));
        let commands = commands.map(|(command, _)| command.clone());
        let counts =
            |name: &&String| SPECIAL.contains(&name.as_str()) || self.usage.variables.contains(*name);
        let assigned =
            after.assigned.difference(&before.assigned).filter(counts).map(|name| format!("{name}="));
        gone.chain(replaced).chain(commands).chain(assigned).take(MOST_NAMED).collect()
    }
}

impl Finder<'_> {
    /// Notes a script while it is being read.
    pub(super) fn file(&mut self, path: &str, text: &str, read: impl FnOnce(&mut Self)) {
        let script = Script { path: path.to_string(), text: text.to_string(), ..Script::default() };
        let outer = std::mem::replace(&mut self.script, self.scripts.len());
        self.scripts.push(script);
        read(self);
        self.script = outer;
    }

    /// A file that is read into the shell. One that a check itself reads is a part of it.
    pub(super) fn source(&mut self, call: &Call<'_>) {
        let path = call.words.first().and_then(|word| self.resolved(call, word));
        let script = self.scripts.get_mut(self.script).filter(|script| !script.path.is_empty());
        if let (Some(path), Some(script)) = (path, script) {
            let may_be_library = programs::is_shell_script(&path)
                && !path.contains(['*', '?'])
                && !programs::says_that_it_checks(&path);
            if may_be_library {
                script.sources.insert(path.clone());
            }
            if self.libraries.contains(&path) {
                return self.library(&path);
            }
        }
        self.run_first(call, Runs::Shell);
    }

    /// A library can read others, and nothing else of it is followed.
    fn library(&mut self, path: &str) {
        let text = (self.read)(path).filter(|_| self.may_follow(path));
        if let Some(text) = text {
            self.file(path, &text, |_| ());
        }
    }
}

impl Usage {
    fn of(scripts: &[Script], libraries: &BTreeSet<String>) -> Usage {
        let mut usage = Usage::default();
        let all: BTreeSet<String> = scripts.iter().flat_map(|script| functions(&script.text)).collect();
        for script in scripts.iter().filter(|script| !libraries.contains(&script.path)) {
            usage.defined.extend(functions(&script.text));
            usage.variables.extend(variables(&script.text));
            let commands = words::commands(&script.text, "", "");
            let calls = (0..commands.len()).filter_map(|at| Called::of(&commands, at, &all));
            usage.calls.extend(calls);
        }
        usage
    }

    /// Whether a file with these functions is what is being checked. One that only a library reads
    /// need not be called by the scripts themselves.
    fn allows(&self, functions: &BTreeSet<String>, is_indirect: bool) -> bool {
        let mut calls = self.calls.iter().filter(|call| functions.contains(&call.name)).peekable();
        let is_used = is_indirect || calls.peek().is_some();
        is_used && !calls.any(|call| call.judges) && self.defined.is_disjoint(functions)
    }
}

impl Called {
    fn of(commands: &[Simple], at: usize, functions: &BTreeSet<String>) -> Option<Called> {
        let command = commands.get(at)?;
        let words = programs::unwrapped(&command.words);
        let (name, given) = words.split_first()?;
        let contained = match command.output {
            Output::Shown => false,
            Output::Piped | Output::Substituted => true,
        };
        let is_other = |word: &String| {
            word.contains(['$', '/'])
                || functions.contains(word)
                || programs::program(word) != Program::Other
                || programs::is_shell_script(word)
        };
        let word = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let by_name =
            JUDGING.iter().any(|judging| name.starts_with(judging)) || JUDGING_WORDS.contains(&word);
        let judges = !contained && (by_name || given.is_empty() || given.iter().any(is_other));
        Some(Called { name: name.clone(), contained, judges })
    }
}

/// What commands do to the shell that they run in.
#[derive(Default)]
struct Effects {
    /// Commands that end it or change how it goes on, and how often.
    commands: BTreeMap<String, usize>,
    assigned: BTreeSet<String>,
}

impl Effects {
    /// Of the commands that run when a text is read; of all of them, if its functions are `exposed`.
    fn of(text: &str, functions: &BTreeSet<String>, exposed: bool) -> Effects {
        let mut effects = Effects::default();
        let text = without_definitions(text);
        let top_level = words::commands(&top_level(&text), "", "");
        for command in &top_level {
            // A command that cannot be told may be any.
            let runs = |first: &str| first.contains('$') || functions.contains(first);
            effects.add(command, |first, given| changes_the_shell(first, given) || runs(first));
        }
        if exposed {
            for command in words::commands(&text, "", "") {
                effects.add(&command, changes_the_shell);
            }
        }
        effects
    }

    fn add(&mut self, command: &Simple, counts: impl Fn(&str, &[&str]) -> bool) {
        let mut words = command.words.iter().peekable();
        while let Some(word) = words.next_if(|word| is_assignment(word)) {
            self.assigned.extend(assigned_name(word));
        }
        let rest: Vec<&str> = words.map(String::as_str).collect();
        let Some((first, given)) = rest.split_first() else { return };
        if matches!(*first, "export" | "readonly" | "declare" | "typeset") {
            self.assigned.extend(given.iter().filter_map(|word| assigned_name(word)));
        }
        if counts(first, given) {
            let shown = rest.iter().take(2).copied().collect::<Vec<_>>().join(" ");
            *self.commands.entry(shown).or_default() += 1;
        }
    }
}

fn assigned_name(word: &str) -> Option<String> {
    let (name, _) = word.split_once('=').filter(|_| is_assignment(word))?;
    Some(name.to_string())
}

/// Whether a command ends the shell, or changes how it reads what follows.
fn changes_the_shell(first: &str, given: &[&str]) -> bool {
    let is_failure = |code: &&str| code.parse::<u8>().is_ok_and(|code| code != 0);
    match first {
        "exit" => !given.first().is_some_and(is_failure),
        "exec" => !given.is_empty(),
        "trap" | "alias" | "unalias" | "eval" | "kill" | "enable" | "shopt" | "hash" | "builtin" | "."
        | "source" => true,
        "set" => given.iter().any(|word| {
            word.starts_with('+') || *word == "noexec" || (word.starts_with('-') && word.contains('n'))
        }),
        "unset" => given.contains(&"-f"),
        _ => false,
    }
}

/// The names of the functions that a text defines.
fn functions(text: &str) -> BTreeSet<String> {
    let code = blanked(text, Language::Hash);
    let found = DEFINITION.iter().flat_map(|definition| definition.captures_iter(&code));
    found.filter_map(|found| Some(found.get(1).or_else(|| found.get(2))?.as_str().to_string())).collect()
}

/// A text whose functions have bodies and no names: a name before its body looks like a command.
fn without_definitions(text: &str) -> String {
    let code = blanked(text, Language::Hash);
    let mut result = text.as_bytes().to_vec();
    for found in DEFINITION.iter().flat_map(|definition| definition.find_iter(&code)) {
        // Names begin and end with whole characters, so that none is cut.
        result[found.range()].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    String::from_utf8(result).unwrap_or_else(|_| text.to_string())
}

/// The names of the variables that a text assigns or reads.
fn variables(text: &str) -> BTreeSet<String> {
    let found = VARIABLE.iter().flat_map(|variable| variable.captures_iter(text));
    found.filter_map(|found| Some(found.get(1).or_else(|| found.get(2))?.as_str().to_string())).collect()
}

/// A text without the bodies of its functions. All of it, if its braces do not match.
fn top_level(text: &str) -> String {
    let code = blanked(text, Language::Hash);
    let mut open = 0_usize;
    let mut result = Vec::with_capacity(text.len());
    for (byte, shown) in code.bytes().zip(text.bytes()) {
        match byte {
            b'{' => open += 1,
            b'}' if open == 0 => return text.to_string(),
            b'}' => open -= 1,
            _ => {}
        }
        let is_outside = open == 0 || byte == b'{';
        result.push(if is_outside || shown == b'\n' { shown } else { b' ' });
    }
    if open == 0 { String::from_utf8_lossy(&result).into_owned() } else { text.to_string() }
}
