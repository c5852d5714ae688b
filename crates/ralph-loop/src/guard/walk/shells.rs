//! Shells and interpreters: code that they are given, read from a file or from their input.

use super::Walk;
use super::code::Language;
use super::output::Output;
use super::scripts::script_word;
use crate::guard::arg::{Arg, UNKNOWN};
use crate::guard::invocation::{Invocation, Stdin};

const SHELLS: [&str; 10] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "rbash", "mksh", "csh"];

pub fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

type RunCode<'a> = fn(&mut Walk<'a>, &str, &Stdin) -> Output;

impl<'a> Walk<'a> {
    /// `sh -c code`, `sh file`, `sh < code`.
    pub(super) fn shell(&mut self, invocation: &Invocation) -> Output {
        let name = invocation.name().to_owned();
        let mut args = invocation.args.iter().enumerate().peekable();
        let mut takes_code = false;
        while let Some((at, arg)) = args.next() {
            let text = arg.text();
            match text {
                "-o" | "-O" | "+o" | "+O" | "--rcfile" | "--init-file" => {
                    args.next();
                }
                "-s" => break,
                "-" | "--" if !takes_code => {}
                text if text.starts_with("--") => {}
                text if text.len() > 1 && text.starts_with(['-', '+']) => {
                    takes_code |= text.contains('c') && text.starts_with('-');
                }
                _ if takes_code => {
                    let code = arg.text().to_owned();
                    let arguments: Vec<Arg> = invocation.args.iter().skip(at + 1).cloned().collect();
                    return self.apart(&name, &code, true, invocation, arguments);
                }
                _ => {
                    let arguments: Vec<Arg> = invocation.args.iter().skip(at).cloned().collect();
                    let mut output = Output::unknown();
                    for (file, text) in self.scripts(arg, invocation) {
                        let code = text.text.text().to_owned();
                        output = self.once(&file, |walk| {
                            walk.apart(&name, &code, text.is_exact, invocation, arguments.clone())
                        });
                    }
                    return output;
                }
            }
        }
        match invocation.stdin.text.clone() {
            Some(text) => {
                let code = text.text().to_owned();
                let is_exact = invocation.stdin.is_exact;
                let without = Invocation { stdin: Stdin::default(), ..invocation.clone() };
                self.apart(&name, &code, is_exact, &without, Vec::new())
            }
            None => Output::unknown(),
        }
    }

    fn apart(
        &mut self,
        name: &str,
        code: &str,
        is_exact: bool,
        around: &Invocation,
        arguments: Vec<Arg>,
    ) -> Output {
        let outer = self.kept_scope();
        let mut arguments = arguments.into_iter();
        self.scope.zero = arguments.next().unwrap_or_else(|| Arg::new(name));
        self.scope.arguments = arguments.collect();
        for (name, value) in &around.variables {
            self.scope.set(name, value.clone());
        }
        let output = self.text_as_code(name, code, is_exact, around, Self::code);
        self.scope = outer.with_files_of(&mut self.scope);
        output
    }

    /// Runs a text as code, unless it comes from the network or cannot be known.
    pub(super) fn text_as_code(
        &mut self,
        interpreter: &str,
        text: &str,
        is_exact: bool,
        around: &Invocation,
        run: RunCode<'a>,
    ) -> Output {
        let code = Arg::new(text);
        if code.is_remote() {
            self.note("<remote-code>", vec![Arg::new(interpreter)]);
            return Output::unknown();
        }
        let known = text.trim_matches(|c: char| c == UNKNOWN || c.is_whitespace());
        if !known.is_empty() && (is_exact || !code.has_unknown() && !looks_like_listing(text)) {
            return run(self, text, &around.stdin);
        }
        if !text.trim().is_empty() {
            self.note("<computed-code>", vec![Arg::new(interpreter)]);
        }
        Output::unknown()
    }

    /// A file that is run: by its first line, a shell or an interpreter.
    pub(super) fn script(&mut self, path: &Arg, text: &Output, invocation: &Invocation) -> Output {
        self.once(path, |walk| walk.script_once(path, text, invocation))
    }

    /// Looks into a file, but not while it is already looked into: a script that starts itself makes more and more.
    fn once(&mut self, path: &Arg, look: impl FnOnce(&mut Self) -> Output) -> Output {
        let key = self.file_key(path).unwrap_or_default().to_string_lossy().into_owned();
        if self.scope.calling.contains(&key) {
            self.note("<fork-bomb>", vec![path.clone()]);
            return Output::unknown();
        }
        self.step("looks into", path.to_string());
        self.scope.calling.push(key);
        let output = look(self);
        self.scope.calling.pop();
        output
    }

    fn script_once(&mut self, path: &Arg, text: &Output, invocation: &Invocation) -> Output {
        let code = text.text.text().to_owned();
        let first = code.lines().next().unwrap_or_default();
        let interpreter = first.strip_prefix("#!").map(str::trim).unwrap_or("sh").to_owned();
        let named = interpreter.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
        match named.filter_map(Language::of).next() {
            Some(language) => self.text_in(language, &code, invocation),
            None => {
                let arguments = [path.clone()].into_iter().chain(invocation.args.iter().cloned()).collect();
                self.apart("sh", &code, text.is_exact, invocation, arguments)
            }
        }
    }

    fn text_in(&mut self, language: Language, code: &str, invocation: &Invocation) -> Output {
        if Arg::new(code).is_remote() {
            self.note("<remote-code>", vec![Arg::new(invocation.name())]);
            return Output::unknown();
        }
        self.depth += 1;
        let output = self.scan(language, code);
        self.depth -= 1;
        output
    }

    pub(super) fn interpreter(&mut self, language: Language, invocation: &Invocation) -> Output {
        let mut code: Vec<String> = Vec::new();
        for flag in language.code_flags() {
            code.extend(invocation.flag_values(flag).iter().map(|code| code.text().to_owned()));
        }
        if !code.is_empty() {
            let code = code.join("\n");
            if language == Language::Node && invocation.has_any_flag(&["-p", "--print", "-pe"]) {
                self.show_printed(&code);
            }
            return self.text_in(language, &code, invocation);
        }
        if invocation.has_flag("-m") {
            // `python -m http.server`: the module is the program.
            let at = invocation.args.iter().position(|arg| arg.text() == "-m");
            let module: Vec<Arg> = at.map(|at| invocation.args[at + 1..].to_vec()).unwrap_or_default();
            if !module.is_empty() {
                let inner = Invocation {
                    program: module[0].clone(),
                    args: module[1..].to_vec(),
                    ..invocation.clone()
                };
                self.add(inner);
                if let Some((file, text)) = self.module(&module[0]) {
                    let code = text.text.text().to_owned();
                    return self.once(&file, |walk| walk.text_in(language, &code, invocation));
                }
            }
            return Output::unknown();
        }
        let words = invocation.words();
        if let (true, Some(code)) = (language.takes_code_as_word(), words.first()) {
            let code = code.text().to_owned();
            let printed = self.printed(invocation);
            self.text_in(language, &code, invocation);
            return printed;
        }
        match script_word(language, invocation) {
            Some(word) if word.text() == "eval" => {
                let code = words.get(1).map(|code| code.text().to_owned());
                code.map_or_else(Output::unknown, |code| self.text_in(language, &code, invocation))
            }
            Some(word) if word.text() != "-" => {
                let mut output = Output::unknown();
                for (file, text) in self.scripts(word, invocation) {
                    let code = text.text.text().to_owned();
                    output = self.once(&file, |walk| walk.text_in(language, &code, invocation));
                }
                output
            }
            _ => self.code_from_stdin(language, invocation),
        }
    }

    fn code_from_stdin(&mut self, language: Language, invocation: &Invocation) -> Output {
        let Some(code) = invocation.stdin.text.as_ref().map(|text| text.text().to_owned()) else {
            return Output::unknown();
        };
        if code.trim_matches(|c: char| c == UNKNOWN || c.is_whitespace()).is_empty() {
            if !code.trim().is_empty() && !invocation.stdin.from.is_empty() {
                self.note("<computed-code>", vec![Arg::new(invocation.name())]);
            }
            return Output::unknown();
        }
        self.text_in(language, &code, invocation)
    }
}

/// Names of files, numbers and processes that stand for others.
pub(super) fn looks_like_listing(text: &str) -> bool {
    text.contains("some-file")
        || text.contains("4242")
        || text.contains("pid:")
        || text.contains("some-branch")
}
