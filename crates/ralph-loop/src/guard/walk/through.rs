//! Programs that start other programs: what they start is looked at like anything else.

use super::Walk;
use super::code::Language;
use super::output::{Output, found};
use super::programs::quoted;
use super::scope::Scope;
use super::shells::is_shell;
use super::wrappers::{CODE_FLAGS, CodeFlag, REMOTE_FLAGS, WRAPPERS};
use crate::guard::arg::{Arg, STAR};
use crate::guard::invocation::{Invocation, Site, Stdin};
use crate::guard::matches;
use crate::guard::repo::{Repo, global_values};
use crate::guard::tools::patched_files;
use crate::guard::value_flags::takes_value;
use std::path::PathBuf;

impl<'a> Walk<'a> {
    /// Looks into what an invocation starts. What that prints, if it is the same.
    pub(super) fn through(&mut self, invocation: &Invocation) -> Option<Output> {
        let name = invocation.name();
        if name == "git" {
            self.settings_of_git(invocation);
        }
        if is_shell(name) {
            return Some(self.shell(invocation));
        }
        if let Some(language) = Language::of(name) {
            return Some(self.interpreter(language, invocation));
        }
        match name {
            "env" => return self.env(invocation),
            "xargs" | "gxargs" => return Some(self.xargs(invocation)),
            "parallel" => return Some(self.parallel(invocation)),
            "find" => self.find(invocation),
            "ssh" | "mosh" | "autossh" | "dbclient" => return Some(self.ssh(invocation)),
            "watch" => {
                let rest = stripped(invocation, 0, "-n -d --interval")?;
                let code = joined(&rest);
                return Some(self.code_apart(&code, &Stdin::default(), |_| {}));
            }
            "make" | "gmake" => self.make(invocation),
            "npm" | "pnpm" | "yarn" | "bun" => self.package_script(invocation),
            "sed" | "gsed" => self.sed(invocation),
            "apply_patch" | "applypatch" => self.patch(invocation),
            "tmux" => self.tmux(invocation),
            "nix" if matches("nix develop|shell|env", invocation) => {
                let at = invocation.args.iter().position(|arg| matches!(arg.text(), "-c" | "--command"))?;
                let argv = invocation.args[at + 1..].to_vec();
                return Some(self.inner(&argv, Site::Here, invocation));
            }
            "git" if matches("git submodule foreach", invocation) => {
                let code = joined(&stripped(invocation, 2, "")?);
                let dir = self.scope.cwd.as_ref().map(|dir| dir.join("some-submodule"));
                return Some(self.code_apart(&code, &Stdin::default(), |scope| {
                    scope.repos.extend(dir.iter().map(|dir| (dir.clone(), Repo::unknown())));
                    scope.cwd = dir;
                }));
            }
            "rimraf" | "del" | "del-cli" | "trash" | "trash-put" | "gio" => self.as_removal(invocation),
            "sqlite3" => {
                for word in invocation.words() {
                    for command in [".shell ", ".system "] {
                        if let Some(code) = word.text().strip_prefix(command) {
                            let code = code.to_owned();
                            self.code_apart(&code, &Stdin::default(), |_| {});
                        }
                    }
                }
            }
            _ => {
                // A script that was written in this session.
                let program = invocation.program.text();
                // `uv run script.py` needs no directory.
                let is_file = program.contains('/') || program.ends_with(".py") || program.ends_with(".ts");
                if is_file && let Some(text) = self.file_text(&invocation.program) {
                    return Some(self.script(&invocation.program.clone(), &text, invocation));
                }
            }
        }
        for flag in CODE_FLAGS.iter().filter(|flag| matches(flag.pattern, invocation)) {
            for code in codes(flag, invocation) {
                self.code_apart(&code, &invocation.stdin, |_| {});
            }
        }
        for flag in REMOTE_FLAGS.iter().filter(|flag| matches(flag.pattern, invocation)) {
            for code in codes(flag, invocation) {
                self.code_apart(&code, &invocation.stdin, remote);
            }
        }
        let wrapper = WRAPPERS.iter().find(|wrapper| matches(wrapper.pattern, invocation))?;
        let inner = stripped(invocation, wrapper.skips, wrapper.valued)?;
        let inner: Vec<Arg> = match inner.iter().position(|arg| arg.text() == "--") {
            Some(0) => inner[1..].to_vec(),
            // `kubectl exec pod -c app -- command`
            Some(at) if wrapper.site == Site::Container => inner[at + 1..].to_vec(),
            _ => inner,
        };
        let inner = without_version(inner);
        if inner.is_empty() || (name == "command" && invocation.has_any_flag(&["-v", "-V"])) {
            return None;
        }
        Some(self.inner(&inner, wrapper.site, invocation))
    }

    /// A command within another, as words.
    fn inner(&mut self, argv: &[Arg], site: Site, around: &Invocation) -> Output {
        if self.depth >= crate::guard::shell::DEEPEST {
            self.refuse("<too-deep>", "commands in commands in commands");
            return Output::unknown();
        }
        let outer = self.kept_scope();
        if site == Site::Container {
            container(&mut self.scope);
        }
        let (set, argv) = assignments(argv);
        // A container does not get the variables of the program that starts it.
        let mut own = if site == Site::Container { Vec::new() } else { around.variables.clone() };
        own.extend(set);
        self.depth += 1;
        let output = self.run(argv, own, &around.stdin);
        self.depth -= 1;
        self.scope = outer.with_files_of(&mut self.scope);
        output
    }

    fn env(&mut self, invocation: &Invocation) -> Option<Output> {
        if let Some(code) = invocation.flag_value("-S").or_else(|| invocation.flag_value("--split-string")) {
            let code = code.text().to_owned();
            return Some(self.code_apart(&code, &invocation.stdin, |_| {}));
        }
        let rest = stripped(invocation, 0, "-u -C --unset --chdir -P")?;
        let (own, argv) = assignments(&rest);
        if argv.is_empty() {
            return None;
        }
        let outer = self.kept_scope();
        if let Some(dir) = invocation.flag_value("-C").or_else(|| invocation.flag_value("--chdir")) {
            self.scope.cwd = self.file_key(&dir);
            self.scope.stayed = None;
        }
        self.depth += 1;
        let output = self.run(argv, own, &invocation.stdin);
        self.depth -= 1;
        self.scope = outer.with_files_of(&mut self.scope);
        Some(output)
    }

    fn xargs(&mut self, invocation: &Invocation) -> Output {
        const VALUED: &str =
            "-I -L -n -P -s -d -a -E --max-args --max-procs --delimiter --arg-file --replace --max-lines";
        let Some(mut argv) = stripped(invocation, 0, VALUED) else { return Output::unknown() };
        if argv.is_empty() {
            return invocation
                .stdin
                .text
                .clone()
                .map_or_else(Output::unknown, |text| Output { text, is_exact: true });
        }
        let stdin = invocation.stdin.text.clone().unwrap_or_else(Arg::unknown);
        let given: Vec<Arg> =
            stdin.text().split(['\n', '\0']).filter(|line| !line.is_empty()).take(64).map(Arg::new).collect();
        let given = if given.is_empty() { vec![Arg::unknown()] } else { given };
        match invocation.flag_value("-I").or_else(|| invocation.flag_value("--replace")) {
            Some(mark) => {
                let first = given[0].text().to_owned();
                argv = argv.iter().map(|arg| Arg::new(arg.text().replace(mark.text(), &first))).collect();
            }
            None => argv.extend(
                given.iter().flat_map(|line| line.text().split(' ').map(Arg::new).collect::<Vec<_>>()),
            ),
        }
        let around = Invocation { stdin: Stdin::default(), ..invocation.clone() };
        self.inner(&argv, Site::Here, &around)
    }

    fn parallel(&mut self, invocation: &Invocation) -> Output {
        let Some(argv) = stripped(invocation, 0, "-j -P --jobs -N -n -a --delay --timeout -S") else {
            return Output::unknown();
        };
        let at = argv.iter().position(|arg| arg.text().starts_with(":::")).unwrap_or(argv.len());
        let (command, given) = argv.split_at(at);
        let mut given: Vec<Arg> =
            given.iter().filter(|arg| !arg.text().starts_with(":::")).cloned().collect();
        if given.is_empty() {
            let stdin = invocation.stdin.text.clone().unwrap_or_else(Arg::unknown);
            given = stdin.text().lines().take(64).map(Arg::new).collect();
        }
        let code = joined(command);
        let mut output = Output::nothing();
        for value in given.iter().take(64) {
            let filled = match code.contains("{}") {
                true => code.replace("{}", value.text()),
                false => format!("{code} {}", value.text()),
            };
            output.add(&self.code_apart(&filled, &Stdin::default(), |_| {}));
        }
        output
    }

    /// `find … -exec command {} ;`
    fn find(&mut self, invocation: &Invocation) {
        let names: Vec<Arg> = found(invocation).lines().map(Arg::new).collect();
        let args = &invocation.args;
        for (at, arg) in args.iter().enumerate() {
            if !matches!(arg.text(), "-exec" | "-execdir" | "-ok" | "-okdir") {
                continue;
            }
            let command: Vec<&Arg> =
                args[at + 1..].iter().take_while(|arg| !matches!(arg.text(), ";" | "+")).collect();
            let runs_files = command
                .first()
                .is_some_and(|program| is_shell(program.base_name()) || program.text() == "{}");
            let scripts = if runs_files { named(invocation) } else { Vec::new() };
            for name in names.iter().chain(&scripts) {
                let argv: Vec<Arg> =
                    command.iter().map(|arg| Arg::new(arg.text().replace("{}", name.text()))).collect();
                self.inner(&argv, Site::Here, &Invocation::default());
            }
        }
    }

    fn ssh(&mut self, invocation: &Invocation) -> Output {
        const VALUED: &str = "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B";
        let command = stripped(invocation, 1, VALUED).unwrap_or_default();
        let code = match command.is_empty() {
            // A script for the shell there.
            true => match &invocation.stdin.text {
                Some(text) if invocation.stdin.is_exact => text.text().to_owned(),
                _ => return Output::unknown(),
            },
            false => command.iter().map(Arg::text).collect::<Vec<_>>().join(" "),
        };
        let stdin = if command.is_empty() { Stdin::default() } else { invocation.stdin.clone() };
        self.code_apart(&code, &stdin, remote)
    }

    /// Codex carries out `apply_patch` itself, also if it is called in a shell.
    fn patch(&mut self, invocation: &Invocation) {
        let patch =
            invocation.args.first().or(invocation.stdin.text.as_ref()).map(|patch| patch.text().to_owned());
        for file in patched_files(&patch.unwrap_or_default()) {
            self.note("<write>", vec![Arg::new(file)]);
        }
    }

    /// `tmux new -d 'command'`, `tmux send-keys 'command' Enter`
    fn tmux(&mut self, invocation: &Invocation) {
        const STARTS: &str = "tmux new|new-session|neww|new-window|splitw|split-window|respawn-pane|respawn-window|run|run-shell|send|send-keys";
        if !matches(STARTS, invocation) {
            return;
        }
        let words = stripped(invocation, 1, "-s -n -c -e -t -x -y -F -l -N").unwrap_or_default();
        let words: Vec<Arg> =
            words.into_iter().filter(|word| !matches!(word.text(), "Enter" | "C-m")).collect();
        self.code_apart(&joined(&words), &Stdin::default(), |_| {});
    }

    /// The command `e` of a script: `1e date`.
    fn sed(&mut self, invocation: &Invocation) {
        let scripts =
            invocation.flag_values("-e").into_iter().chain(invocation.words().first().copied().cloned());
        let lines: Vec<String> = scripts
            .flat_map(|script| script.text().split(['\n', ';']).map(str::to_owned).collect::<Vec<_>>())
            .collect();
        for line in lines {
            let command = line.trim_start_matches(|c: char| c.is_ascii_digit() || "$, ".contains(c));
            if let Some(code) = command.strip_prefix("e ") {
                self.code_apart(code, &Stdin::default(), |_| {});
            }
        }
    }

    /// `git -c core.pager='command' log`
    fn settings_of_git(&mut self, invocation: &Invocation) {
        const CODE: [&str; 7] = [
            "core.editor",
            "core.pager",
            "sequence.editor",
            "core.fsmonitor",
            "core.sshcommand",
            "diff.external",
            "core.askpass",
        ];
        for setting in global_values(invocation, "-c") {
            let Some((key, code)) = setting.text().split_once('=') else { continue };
            let key = key.to_lowercase();
            if CODE.contains(&&*key) || key.starts_with("pager.") {
                self.step("looks into", key);
                self.code_apart(code, &Stdin::default(), |_| {});
            }
        }
    }

    /// Other programs that delete files, as `rm`.
    fn as_removal(&mut self, invocation: &Invocation) {
        let words = invocation.words().into_iter().filter(|word| word.text() != "trash").cloned();
        let args = [Arg::new("-rf")].into_iter().chain(words).collect();
        self.add(Invocation { program: Arg::new("rm"), args, ..invocation.clone() });
    }
}

/// The files right in the directory of a `find` that its patterns stand for: `-name '*.sh'`.
fn named(invocation: &Invocation) -> Vec<Arg> {
    let root = invocation.args.first().filter(|root| !root.is_flag()).map_or(".", Arg::text);
    let patterns = invocation.flag_values("-name");
    let path = |pattern: Arg| {
        Arg::new(format!("{}/{}", root.trim_end_matches('/'), pattern.text().replace('*', &STAR.to_string())))
    };
    patterns.into_iter().filter(|pattern| pattern.text() != "*").map(path).collect()
}

fn codes(flag: &CodeFlag, invocation: &Invocation) -> Vec<String> {
    let values = flag.flags.iter().flat_map(|name| invocation.flag_values(name));
    values.filter_map(|value| value.text().strip_prefix(flag.prefix).map(str::to_owned)).collect()
}

fn remote(scope: &mut Scope) {
    scope.site = Site::Remote;
    scope.stayed = None;
    scope.cwd = Some(PathBuf::from("/home/remote-user"));
}

fn container(scope: &mut Scope) {
    scope.site = Site::Container;
    scope.stayed = None;
    scope.cwd = Some(PathBuf::from("/app"));
}

/// What is left after flags and a number of words.
fn stripped(invocation: &Invocation, mut skips: usize, valued: &str) -> Option<Vec<Arg>> {
    let args = &invocation.args;
    let mut before: Vec<&str> = Vec::new();
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let text = arg.text();
        if text == "--" && skips == 0 {
            return Some(args[at + 1..].to_vec());
        }
        let is_valued = valued.split(' ').any(|flag| flag == text);
        if arg.is_flag() && (is_valued || takes_value(invocation.name(), &before, text)) {
            at += 2;
        } else if arg.is_flag() {
            at += 1;
        } else if skips > 0 {
            skips -= 1;
            at += 1;
            before.push(text);
        } else {
            return Some(args[at..].to_vec());
        }
    }
    (skips == 0).then(Vec::new)
}

/// `npx npm@10 publish` runs `npm`.
fn without_version(mut argv: Vec<Arg>) -> Vec<Arg> {
    if let Some(program) = argv.first_mut()
        && let Some(at) = program.text().rfind('@').filter(|at| *at > 0 && !program.text().contains("://"))
    {
        *program = Arg::new(&program.text()[..at]);
    }
    argv
}

/// `NAME=value` before a command.
fn assignments(argv: &[Arg]) -> (Vec<(String, Arg)>, Vec<Arg>) {
    let is_assignment = |arg: &Arg| {
        arg.text().split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    let count = argv.iter().take_while(|arg| is_assignment(arg)).count();
    let set = argv[..count].iter().filter_map(|arg| arg.text().split_once('='));
    (set.map(|(name, value)| (name.to_owned(), Arg::new(value))).collect(), argv[count..].to_vec())
}

/// Words as code: one word is code by itself, several are quoted where they must be.
fn joined(argv: &[Arg]) -> String {
    match argv {
        [one] => one.text().to_owned(),
        several => several
            .iter()
            .map(|arg| match arg.text().contains(['\'', '"', ' ', '\n', '$', '`', ';', '|', '&']) {
                true if several.len() > 1 && arg.text().contains(['\'', '"', ' ']) => quoted(arg.text()),
                _ => arg.text().to_owned(),
            })
            .collect::<Vec<_>>()
            .join(" "),
    }
}
