//! What the shell does itself: directories, variables, code that it reads.

use super::Walk;
use super::output::Output;
use crate::guard::arg::Arg;
use crate::guard::invocation::Invocation;

impl Walk<'_> {
    /// Nothing if it is no builtin that matters here.
    pub(super) fn builtin(&mut self, invocation: &Invocation) -> Option<Output> {
        let words = invocation.words();
        match invocation.program.known()? {
            "cd" | "pushd" => self.change_directory(words.first().copied()),
            "popd" => {
                self.scope.cwd = None;
                self.scope.stayed = None;
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => self.declare(invocation),
            "unset" => {
                self.add(invocation.clone());
                for word in words {
                    self.scope.unset(word.text());
                }
            }
            "alias" => {
                self.add(invocation.clone());
                for word in words {
                    if let Some((name, code)) = word.text().split_once('=') {
                        self.scope.aliases.insert(name.to_owned(), code.to_owned());
                    }
                }
            }
            "unalias" => words.iter().for_each(|word| {
                self.scope.aliases.remove(word.text());
            }),
            "eval" => {
                let code = invocation.args.iter().map(Arg::text).collect::<Vec<_>>().join(" ");
                return Some(self.text_as_code("eval", &code, true, invocation, Self::code));
            }
            "source" | "." => {
                let file = words.first().copied()?.clone();
                let files = self.scripts(&file, invocation);
                if files.is_empty() {
                    self.add(invocation.clone());
                }
                let mut output = Output::nothing();
                for (file, Output { text, is_exact }) in files {
                    self.step("looks into", file.to_string());
                    output = self.text_as_code("source", text.text(), is_exact, invocation, Self::code);
                }
                return Some(output);
            }
            "trap" => {
                if let Some(code) = words.first().filter(|code| !matches!(code.text(), "-" | "")) {
                    self.scope.traps.push(code.text().to_owned());
                }
            }
            "set" => {
                if let Some(at) = invocation.args.iter().position(|arg| arg.text() == "--") {
                    self.scope.arguments = invocation.args[at + 1..].to_vec();
                    return Some(Output::nothing());
                }
                if invocation.args.is_empty() {
                    return None;
                }
                self.scope.ends_on_failure |= invocation.has_flag("-e");
                self.add(invocation.clone());
            }
            "shift" => {
                if !self.scope.arguments.is_empty() {
                    self.scope.arguments.remove(0);
                }
            }
            "read" | "mapfile" | "readarray" => self.read_variables(invocation),
            "printf" if invocation.has_flag("-v") => {
                let name = invocation.flag_value("-v")?;
                let rest = Invocation {
                    args: invocation.args.iter().skip(2).cloned().collect(),
                    ..invocation.clone()
                };
                let text = self.printed(&rest);
                self.scope.set(name.text(), text.text);
            }
            ":" | "true" | "false" | "return" | "exit" | "break" | "continue" | "wait" | "shopt"
            | "umask" | "getopts" | "test" | "[" | "let" => {}
            _ => return None,
        }
        Some(Output::nothing())
    }

    fn declare(&mut self, invocation: &Invocation) {
        if invocation.has_flag("-n") && invocation.name() != "export" {
            let named = invocation.words().into_iter().filter_map(|word| word.text().split_once('='));
            let named: Vec<(String, String)> =
                named.map(|(name, to)| (name.to_owned(), to.to_owned())).collect();
            self.scope.references.extend(named);
            return;
        }
        if invocation.has_flag("-f") {
            self.add(invocation.clone());
            return;
        }
        let exports = invocation.name() == "export" || invocation.has_flag("-x");
        for word in invocation.words() {
            let (name, value) = match word.text().split_once('=') {
                Some((name, value)) => (name.trim_end_matches('+'), Some(value)),
                None => (word.text(), None),
            };
            if let Some(value) = value {
                self.scope.set(name, Arg::new(value));
                self.note("<assign>", vec![Arg::new(name), Arg::new(value)]);
            }
            if exports && !self.scope.exported.iter().any(|known| known == name) {
                self.scope.exported.push(name.to_owned());
            }
        }
        if invocation.has_flag("-p") {
            self.add(invocation.clone());
        }
    }

    /// `read`: each line of the input is one value that the variable may have.
    fn read_variables(&mut self, invocation: &Invocation) {
        let mut skip = false;
        let mut names: Vec<String> = Vec::new();
        for arg in &invocation.args {
            match arg.text() {
                _ if skip => skip = false,
                "-d" | "-n" | "-N" | "-p" | "-t" | "-u" | "-i" | "-a" => skip = arg.text() != "-a",
                text if text.starts_with('-') => {}
                text => names.push(text.to_owned()),
            }
        }
        if names.is_empty() {
            names.push(if invocation.name() == "read" { "REPLY" } else { "MAPFILE" }.to_owned());
        }
        let text = invocation.stdin.text.clone().unwrap_or_else(Arg::unknown);
        let lines: Vec<Arg> = text.text().lines().filter(|line| !line.is_empty()).map(Arg::new).collect();
        for (at, name) in names.iter().enumerate() {
            let of = |line: &Arg| match names.len() {
                1 => line.clone(),
                _ => line.text().split_whitespace().nth(at).map_or_else(Arg::default, Arg::new),
            };
            self.scope.set_one_of(name, lines.iter().map(of).collect());
        }
    }
}
