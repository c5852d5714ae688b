//! Simple commands: assignments, then a function, a builtin or a program.

use super::Walk;
use super::output::Output;
use crate::guard::arg::{ANY_ONE, Arg, BRACKET, STAR, UNKNOWN};
use crate::guard::invocation::{Invocation, Stdin};
use crate::guard::shell::ast::{Assignment, Part, Simple, Word};
use std::path::Path;

impl Walk<'_> {
    pub(super) fn simple(&mut self, simple: &Simple, stdin: &Stdin) -> Output {
        let declares = !simple.words.is_empty() && simple.assignments.iter().any(|set| set.values.len() != 1);
        let mut own: Vec<(String, Arg)> = Vec::new();
        for assignment in &simple.assignments {
            let value = self.assigned(assignment);
            match simple.words.is_empty() || declares {
                true => self.note("<assign>", vec![Arg::new(assignment.name.as_str()), value]),
                false => own.push((assignment.name.clone(), value)),
            }
        }
        self.connect(simple);
        let stdin = self.redirected_stdin(&simple.redirects, stdin);
        let mut output = Output::nothing();
        if let Some((first, rest)) = simple.words.split_first() {
            let rest: Vec<Arg> = rest.iter().flat_map(|word| self.fields(word)).collect();
            for program in self.programs(first) {
                let mut argv = program;
                if let ([], [whole]) = (rest.as_slice(), argv.as_slice())
                    && whole.text().trim_matches(UNKNOWN).is_empty()
                    && self.is_made_here(first)
                {
                    self.note("<computed-code>", vec![Arg::new("sh")]);
                }
                argv.extend(rest.iter().cloned());
                output = self.run(argv, own.clone(), &stdin);
            }
        }
        self.redirected_output(&simple.redirects, output)
    }

    /// The first word, for each value that its variables may have: it is one program or another, not both.
    /// Whether a word is more than a name, a whole command: `$(cat commands.txt)`, or `$line` of what was read here. A
    /// variable of the environment is a program's name, such as `$EDITOR`.
    fn is_made_here(&self, word: &Word) -> bool {
        match word.0.as_slice() {
            [Part::Output(_)] => true,
            [Part::Parameter(parameter)] => self.scope.get(&parameter.name).is_some(),
            _ => false,
        }
    }

    fn programs(&mut self, word: &Word) -> Vec<Vec<Arg>> {
        match self.choices(&word.0) {
            0 | 1 => vec![self.fields(word)],
            _ => self.fields(word).into_iter().map(|field| vec![field]).collect(),
        }
    }

    /// Sets a variable, and returns its value as text.
    fn assigned(&mut self, assignment: &Assignment) -> Arg {
        let name = &assignment.name;
        if !self.may_go_on(0) {
            return Arg::unknown();
        }
        if let [word] = assignment.values.as_slice() {
            let choices = self.choices(&word.0).max(1);
            let mut values: Vec<Arg> = (0..choices).map(|choice| self.text_of(word, choice)).collect();
            values.dedup();
            self.bytes += values.iter().map(|value| value.text().len()).sum::<usize>();
            if assignment.appends {
                let before = self.scope.get(name).cloned();
                if let Some(super::scope::Value::Array(mut all)) = before {
                    all.extend(values.iter().cloned());
                    self.scope.set_array(name, all);
                    return values.pop().unwrap_or_default();
                }
                if let Some(super::scope::Value::OneOf(all)) = before {
                    let old = all.last().map_or("", Arg::text);
                    values = values.iter().map(|new| Arg::new(format!("{old}{}", new.text()))).collect();
                }
            }
            let shown = values.first().cloned().unwrap_or_default();
            self.scope.set_one_of(name, values);
            return shown;
        }
        let mut values: Vec<Arg> = assignment.values.iter().flat_map(|word| self.fields(word)).collect();
        if assignment.appends
            && let Some(super::scope::Value::Array(before)) = self.scope.get(name).cloned()
        {
            values = before.into_iter().chain(values).collect();
        }
        let shown = values.iter().map(Arg::text).collect::<Vec<_>>().join(" ");
        self.scope.set_array(name, values);
        Arg::new(shown)
    }

    /// Starts what a list of arguments names. What it prints.
    pub(super) fn run(&mut self, argv: Vec<Arg>, own: Vec<(String, Arg)>, stdin: &Stdin) -> Output {
        let bytes = argv.iter().chain(stdin.text.as_ref()).map(|arg| arg.text().len()).sum();
        if !self.may_go_on(bytes) {
            return Output::unknown();
        }
        let mut argv = argv.into_iter();
        let Some(program) = argv.next() else { return Output::nothing() };
        let args: Vec<Arg> = argv.map(|arg| self.through_links(&program, arg)).collect();
        if program.has_glob() {
            return self.globbed(&program, args, &own, stdin);
        }
        if let Some(name) = program.known() {
            if let Some(code) = self.scope.aliases.get(name).cloned()
                && !self.scope.calling.iter().any(|calling| calling == name)
            {
                self.scope.calling.push(name.to_owned());
                let rest: String = args.iter().map(|arg| format!(" {}", quoted(arg.text()))).collect();
                let output = self.code(&format!("{code}{rest}"), stdin);
                self.scope.calling.pop();
                return output;
            }
            if let Some(body) = self.scope.functions.get(name).cloned() {
                return self.call(name.to_owned(), &body, args, stdin);
            }
        }
        let mut variables: Vec<(String, Arg)> = Vec::new();
        for name in self.scope.exported.clone() {
            if let Some(super::scope::Value::OneOf(values)) = self.scope.get(&name) {
                variables.extend(values.first().map(|value| (name.clone(), value.clone())));
            }
        }
        for (name, value) in own.iter().filter(|(name, _)| HOLDS_CODE.contains(&name.as_str())) {
            self.step("looks into", name.clone());
            let code = value.text().to_owned();
            // A prompt is a text in which commands are substituted.
            let code = if name.starts_with("PS") { format!("echo \"{code}\"") } else { code };
            self.code_apart(&code, &Stdin::default(), |_| {});
        }
        variables.extend(own);
        let invocation = Invocation { program, args, variables, stdin: stdin.clone(), ..self.blank() };
        if let Some(output) = self.builtin(&invocation) {
            return output;
        }
        self.start(&invocation)
    }

    /// `/b?n/r?`: each program that it may be.
    fn globbed(&mut self, program: &Arg, args: Vec<Arg>, own: &[(String, Arg)], stdin: &Stdin) -> Output {
        let pattern = pattern_of(program.base_name());
        let mut argv = vec![Arg::default()];
        argv.extend(args);
        for name in GLOBBED.iter().filter(|name| is_like(&pattern, name)) {
            argv[0] = Arg::new(*name);
            self.run(argv.clone(), own.to_vec(), stdin);
        }
        // `./*.sh`
        if program.text().contains('/') {
            for (file, _) in self.scripts(program, &self.blank()) {
                argv[0] = file;
                self.run(argv.clone(), own.to_vec(), stdin);
            }
        }
        Output::unknown()
    }

    /// Notes a program and looks into what it starts.
    pub(super) fn start(&mut self, invocation: &Invocation) -> Output {
        if let Some(expanded) = self.git_alias(invocation) {
            return expanded;
        }
        let filled = self.with_file(invocation);
        let filled = self.in_repository(filled.as_ref().unwrap_or(invocation)).or(filled);
        let invocation = filled.as_ref().unwrap_or(invocation);
        self.add(invocation.clone());
        self.copy_files(invocation);
        let printed = self.printed(invocation);
        self.follow(invocation);
        self.through(invocation).unwrap_or(printed)
    }

    fn call(
        &mut self,
        name: String,
        body: &crate::guard::shell::ast::Command,
        args: Vec<Arg>,
        stdin: &Stdin,
    ) -> Output {
        if self.scope.calling.contains(&name) {
            return Output::unknown();
        }
        let outer = std::mem::replace(&mut self.scope.arguments, args);
        self.scope.calling.push(name);
        self.depth += 1;
        let output = self.one(body, stdin);
        self.depth -= 1;
        self.scope.calling.pop();
        self.scope.arguments = outer;
        output
    }

    /// `git p`, where `alias.p` was set by the same command.
    fn git_alias(&mut self, invocation: &Invocation) -> Option<Output> {
        if invocation.name() != "git" {
            return None;
        }
        let operands = invocation.operands();
        if let [config, key, value] = operands.as_slice()
            && config.text() == "config"
            && let Some(name) = key.text().strip_prefix("alias.")
        {
            self.scope.git_aliases.insert(name.to_owned(), value.text().to_owned());
        }
        let called = operands.first()?.text();
        let given = invocation.flag_values("-c");
        let given = given.iter().find_map(|set| {
            let (key, value) = set.text().split_once('=')?;
            (key.strip_prefix("alias.")? == called).then(|| value.to_owned())
        });
        let code = given.or_else(|| self.scope.git_aliases.get(called).cloned())?;
        let at = invocation.args.iter().position(|arg| arg.text() == called)?;
        let rest: String =
            invocation.args[at + 1..].iter().map(|arg| format!(" {}", quoted(arg.text()))).collect();
        self.add(invocation.clone());
        let code = match code.strip_prefix('!') {
            Some(code) => format!("{code}{rest}"),
            None => format!("git {code}{rest}"),
        };
        // An alias that names itself is git's own error.
        self.scope.git_aliases.remove(called);
        Some(self.code_apart(&code, &invocation.stdin, |_| {}))
    }

    /// A client of a database or of containers with the text of the file that it is told to run.
    fn with_file(&self, invocation: &Invocation) -> Option<Invocation> {
        const CLIENTS: [&str; 11] = [
            "psql",
            "mysql",
            "mariadb",
            "sqlcmd",
            "cqlsh",
            "clickhouse-client",
            "docker",
            "docker-compose",
            "podman",
            "kubectl",
            "oc",
        ];
        if !CLIENTS.contains(&invocation.name()) || invocation.stdin.text.is_some() {
            return None;
        }
        let file =
            ["-f", "--file", "--filename", "-i"].iter().find_map(|flag| invocation.flag_value(flag))?;
        let text = self.file_text(&file)?;
        let stdin = Stdin { text: Some(text.text), is_exact: text.is_exact, from: Vec::new() };
        Some(Invocation { stdin, ..invocation.clone() })
    }

    /// A path behind a link that this command has made.
    fn through_links(&self, program: &Arg, arg: Arg) -> Arg {
        if self.scope.links.is_empty() || arg.is_flag() || !arg.text().contains('/') {
            return arg;
        }
        // The hole of a glob is a name like others here.
        let absolute = match (arg.text().starts_with('/'), &self.scope.cwd) {
            (true, _) => super::normal(Path::new(arg.text())),
            (false, Some(cwd)) => super::normal(&cwd.join(arg.text())),
            (false, None) => return arg,
        };
        // These remove the link itself.
        let is_entry = matches!(program.base_name(), "rm" | "unlink" | "mv") && !arg.text().ends_with('/');
        let behind = self.scope.links.iter().rev().find_map(|(link, target)| {
            let rest = absolute.strip_prefix(link).ok()?;
            (!(is_entry && rest.as_os_str().is_empty())).then(|| target.join(rest))
        });
        behind.map_or(arg, |path| Arg::new(path.to_string_lossy()))
    }

    /// Remembers where a new link leads.
    fn link(&mut self, target: &Arg, name: Option<&Arg>) {
        let Some(target) = self.file_key(target) else { return };
        let last = target.file_name().map(|name| Arg::new(name.to_string_lossy()));
        let name = name.cloned().or(last).and_then(|name| self.file_key(&name));
        self.scope.links.extend(name.map(|name| (name, target)));
    }

    /// A copy or a link has the text of its source, and `tee` what it reads.
    fn copy_files(&mut self, invocation: &Invocation) {
        let words = invocation.words();
        if invocation.name() == "ln" && invocation.has_any_flag(&["-s", "--symbolic"]) {
            let (target, name) = (words.first().copied().cloned(), words.get(1).copied().cloned());
            if let Some(target) = target {
                self.link(&target, name.as_ref());
            }
        }
        let (from, to) = match (invocation.name(), words.as_slice()) {
            ("cp" | "mv" | "install" | "ln", [from, to]) => (self.file_text(from), vec![*to]),
            ("tee", files) => {
                let text = invocation.stdin.text.clone();
                (text.map(|text| Output { text, is_exact: invocation.stdin.is_exact }), files.to_vec())
            }
            ("curl" | "wget", _) => {
                let target = ["-o", "--output", "-O", "--output-document"]
                    .iter()
                    .find_map(|flag| invocation.flag_value(flag));
                let last = words.iter().rev().find(|word| word.text().contains("://")).map(|url| {
                    let path = url.text().split(['?', '#']).next().unwrap_or_default();
                    Arg::new(path.rsplit('/').next().unwrap_or_default())
                });
                let named = target.filter(|target| !target.is_flag() && !target.text().contains("://"));
                let keeps_name =
                    invocation.name() == "wget" || invocation.has_any_flag(&["-O", "--remote-name"]);
                let named = named.or(last.filter(|_| keeps_name));
                let key = named.and_then(|target| self.file_key(&target));
                if let Some(key) = key {
                    let fetched = self.printed(invocation);
                    self.scope.files.insert(key, fetched);
                }
                return;
            }
            _ => return,
        };
        let Some(text) = from else { return };
        for key in to.into_iter().filter_map(|path| self.file_key(path)).collect::<Vec<_>>() {
            self.scope.files.insert(key, text.clone());
        }
    }
}

/// Variables whose value programs run as a command.
const HOLDS_CODE: [&str; 15] = [
    "PS0",
    "PS1",
    "PS4",
    "PAGER",
    "GIT_PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "BROWSER",
    "LESSOPEN",
    "PROMPT_COMMAND",
];

/// Programs that a name with `?` and `*` is compared with.
const GLOBBED: [&str; 36] = [
    "rm", "mv", "cp", "dd", "ln", "sh", "bash", "dash", "zsh", "env", "cat", "tac", "curl", "wget", "nc",
    "ncat", "netcat", "socat", "ssh", "scp", "python", "python3", "perl", "ruby", "node", "php", "sudo",
    "su", "kill", "pkill", "chmod", "chown", "shred", "find", "xargs", "tee",
];

/// The characters of a glob. One with many stars is taken for `*`, so that comparing is quick.
pub(super) fn pattern_of(text: &str) -> Vec<char> {
    match text.matches(STAR).count() > 3 {
        true => vec![STAR],
        false => text.chars().collect(),
    }
}

/// Whether a name is covered by a glob of one name. A bracket is taken for any character.
pub(super) fn is_like(pattern: &[char], name: &str) -> bool {
    match (pattern.split_first(), name.chars().next()) {
        (None, first) => first.is_none(),
        (Some((&STAR, rest)), _) => {
            let mut cuts = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            cuts.any(|at| is_like(rest, &name[at..]))
        }
        (Some((&ANY_ONE, rest)), Some(c)) => is_like(rest, &name[c.len_utf8()..]),
        (Some((&BRACKET, rest)), Some(c)) => {
            let close = rest.iter().position(|c| *c == ']').map_or(rest.len(), |at| at + 1);
            is_like(&rest[close..], &name[c.len_utf8()..])
        }
        (Some((wanted, rest)), Some(c)) => *wanted == c && is_like(rest, &name[c.len_utf8()..]),
        (Some(_), None) => false,
    }
}

/// A word as shell reads it back; holes stay.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_covers_whole_characters() {
        for (glob, name, covers) in [
            ("*m", "rm", true),
            ("*", "é", true),
            ("*x", "\u{fffd}read x", true),
            ("a*é", "aüé", true),
            ("*m", "é", false),
        ] {
            let glob: String = glob.replace('*', &STAR.to_string());
            assert_eq!(is_like(&pattern_of(&glob), name), covers, "{glob} {name}");
        }
    }
}
