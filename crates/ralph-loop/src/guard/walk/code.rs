//! Code of other languages: the obvious calls that run commands, delete or write files.
//!
//! No language is parsed: [`calls`] finds calls by their names.

mod calls;
mod shown;
mod signs;

use super::Walk;
use super::output::Output;
use crate::guard::arg::{Arg, SECRET, UNKNOWN};
use crate::guard::invocation::{Invocation, Stdin};
use calls::{Call, Value, calls, commands};
use shown::Shown;

/// Longer code is refused.
const LONGEST: usize = 256 << 10;
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Python,
    Node,
    Perl,
    Ruby,
    Php,
    Lua,
    Awk,
    AppleScript,
    PowerShell,
    R,
}

impl Language {
    pub fn of(program: &str) -> Option<Language> {
        let base = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        match base {
            "python" | "pypy" | "ipython" => Some(Language::Python),
            "node" | "nodejs" | "deno" | "bun" | "ts-node" | "tsx" | "qjs" => Some(Language::Node),
            "perl" => Some(Language::Perl),
            "ruby" | "irb" | "jruby" => Some(Language::Ruby),
            "php" => Some(Language::Php),
            "lua" | "luajit" => Some(Language::Lua),
            "awk" | "gawk" | "mawk" | "nawk" => Some(Language::Awk),
            "osascript" => Some(Language::AppleScript),
            "pwsh" | "powershell" => Some(Language::PowerShell),
            "Rscript" => Some(Language::R),
            _ => None,
        }
    }

    /// Flags that are followed by code.
    pub fn code_flags(self) -> &'static [&'static str] {
        match self {
            Language::Python => &["-c"],
            Language::Node => &["-e", "-p", "--eval", "--print", "-pe"],
            Language::Perl => &["-e", "-E"],
            Language::Ruby | Language::Lua | Language::AppleScript | Language::R => &["-e"],
            Language::Php => &["-r"],
            Language::Awk => &[],
            Language::PowerShell => &["-c", "-Command", "-command", "-EncodedCommand"],
        }
    }

    /// Flags that are followed by something else than the script.
    pub fn valued_flags(self) -> &'static [&'static str] {
        match self {
            Language::Python => &["-W", "-X"],
            Language::Node => &[
                "-r",
                "--require",
                "--import",
                "--loader",
                "--experimental-loader",
                "--tsconfig",
                "-P",
                "--project",
                "-c",
                "--config",
                "--import-map",
                "--conditions",
                "-C",
                "--env-file",
                "--preload",
                "--cwd",
                "--filter",
            ],
            Language::Perl | Language::Ruby => &["-I", "-r", "-M"],
            Language::Php => &["-d", "-c", "-S", "-t"],
            Language::Lua => &["-l"],
            Language::Awk | Language::AppleScript | Language::R | Language::PowerShell => &[],
        }
    }

    pub fn takes_code_as_word(self) -> bool {
        self == Language::Awk
    }

    /// Whether backticks run a command.
    fn runs_backticks(self) -> bool {
        matches!(self, Language::Perl | Language::Ruby | Language::Php)
    }
}

impl Walk<'_> {
    /// Notes what the calls in a code would do.
    pub(super) fn scan(&mut self, language: Language, code: &str) -> Output {
        if code.len() > LONGEST {
            self.refuse("<too-long>", "more code than can be looked at");
            return Output::unknown();
        }
        let calls = calls(code, language);
        let mut reads_secret = signs::has(code, signs::ENVIRONMENT);
        for call in &calls {
            reads_secret |= self.call_in_code(call, code);
        }
        for file in signs::SECRET_FILES.iter().filter(|file| code.contains(**file)) {
            reads_secret = true;
            let path = if file.starts_with('/') { (*file).to_owned() } else { format!("~/{file}") };
            self.note("<read>", vec![self.tilde(Arg::new(path))]);
        }
        for command in commands(code, language) {
            self.code_apart(&command, &Stdin::default(), |_| {});
        }
        let has = |signs: &[&str]| signs::has(code, signs);
        if has(signs::CONNECTS) && has(signs::SHELLS) {
            self.note("<reverse-shell>", vec![Arg::new(code.chars().take(60).collect::<String>())]);
        }
        if has(signs::SENDS) && reads_secret {
            let args =
                vec![Arg::new("-d"), Arg::new(SECRET.to_string()), Arg::new("https://somewhere.example")];
            self.add(Invocation { program: Arg::new("curl"), args, ..self.blank() });
        }
        if has(signs::FORKS) || (has(signs::LOOPS) && has(signs::STARTS) && !has(signs::WAITS)) {
            self.note("<fork-bomb>", vec![Arg::new("a loop that starts processes")]);
        }
        for shown in shown::shown(code, false) {
            self.show_variable(shown);
        }
        if signs::loops_with(code, signs::FILLS) {
            self.note("<endless-write>", vec![Arg::new("a loop without end")]);
        }
        if has(signs::BECOMES_ROOT) {
            self.add(Invocation { program: Arg::new("setuid"), args: vec![Arg::new("0")], ..self.blank() });
        }
        if has(signs::CLOUD) && has(signs::DELETES) {
            let args = vec![Arg::new("sdk"), Arg::new("delete-resources")];
            self.add(Invocation { program: Arg::new("aws"), args, ..self.blank() });
        }
        if has(signs::FETCHES) && has(signs::EVALUATES) {
            self.note("<remote-code>", vec![Arg::new("eval")]);
        } else if has(signs::HIDES) && (has(signs::EVALUATES) || has(signs::RUNS)) {
            self.note("<computed-code>", vec![Arg::new("eval")]);
        }
        printed(&calls)
    }

    /// `node -p process.env.NAME`
    pub(super) fn show_printed(&mut self, code: &str) {
        for shown in shown::shown(code.trim(), true) {
            self.show_variable(shown);
        }
    }

    fn show_variable(&mut self, shown: Shown) {
        let (program, args) = match shown {
            Shown::Everything => ("env", Vec::new()),
            Shown::Variable(name) => ("printenv", vec![Arg::new(name)]),
        };
        self.add(Invocation { program: Arg::new(program), args, ..self.blank() });
    }

    /// Notes what a call does. Whether it reads a secret.
    fn call_in_code(&mut self, call: &Call, code: &str) -> bool {
        let first = call.args.first();
        let text = first.and_then(Value::text);
        let last_name = call.name.rsplit(['.', ':']).next().unwrap_or(&call.name);
        let mode = call.args.get(1).and_then(Value::text);
        match (call.name.as_str(), last_name) {
            (
                "os.system"
                | "os.popen"
                | "subprocess.getoutput"
                | "subprocess.getstatusoutput"
                | "os.execute"
                | "io.popen"
                | "IO.popen"
                | "Kernel.system",
                _,
            )
            | (
                _,
                "shell_exec" | "passthru" | "proc_open" | "execSync" | "popen" | "system" | "capture2"
                | "capture2e" | "capture3",
            ) => {
                self.started(call, code);
            }
            (
                _,
                "exec" | "spawn" | "spawnSync" | "execFile" | "execFileSync" | "execlp" | "execvp" | "execl"
                | "execv" | "Popen" | "run" | "call" | "check_call" | "check_output",
            ) if call.name != "re.exec" && !call.name.ends_with("asyncio.run") => {
                self.started(call, code);
            }
            (
                _,
                "rmtree"
                | "rmdir"
                | "rmdirSync"
                | "rmSync"
                | "rm"
                | "rm_rf"
                | "rm_r"
                | "rm_f"
                | "unlink"
                | "unlinkSync"
                | "removedirs"
                | "remove_tree"
                | "removeSync"
                | "emptyDirSync"
                | "emptyDir"
                | "remove_dir"
                | "remove_entry_secure",
            ) => {
                self.removed(call);
            }
            (
                "os.remove" | "os.unlink" | "File.delete" | "Dir.delete" | "fs.remove" | "fse.remove"
                | "os.rmdir" | "Deno.remove" | "Deno.removeSync" | "FileUtils.remove",
                _,
            ) => self.removed(call),
            (_, "Path" | "PurePath" | "PosixPath") => {
                let Some(path) = text else { return false };
                match call.then.as_str() {
                    "unlink" | "rmdir" => self.removed(call),
                    "write_text" | "write_bytes" | "touch" | "symlink_to" | "chmod" => {
                        self.note("<write>", vec![self.tilde(path)]);
                    }
                    "read_text" | "read_bytes" => return self.note_read(path),
                    _ => {}
                }
            }
            (_, "open" | "fopen" | "openSync" | "File.open" | "File.new") => {
                // Perl: a handle, then the mode and the path, in one text or two.
                let third = call.args.get(2).and_then(Value::text);
                let (path, mode) = match (&text, &mode) {
                    (Some(handle), Some(mode)) if handle.text().trim_matches(UNKNOWN).is_empty() => {
                        match third {
                            Some(path) => (Some(path), Some(mode.clone())),
                            None => (
                                Some(Arg::new(mode.text().trim_start_matches(['>', '<', '+', ' ']))),
                                Some(mode.clone()),
                            ),
                        }
                    }
                    _ => (text, mode),
                };
                let Some(path) = path else { return false };
                let writes = mode.is_some_and(|mode| {
                    mode.text().starts_with(['w', 'a', 'x', '>']) || mode.text().contains('+')
                });
                match writes {
                    true => self.note("<write>", vec![self.tilde(path)]),
                    false => return self.note_read(path),
                }
            }
            (
                _,
                "writeFileSync" | "writeFile" | "appendFileSync" | "appendFile" | "createWriteStream"
                | "file_put_contents" | "truncateSync" | "truncate",
            )
            | (
                "File.write" | "IO.write" | "Deno.writeTextFile" | "Deno.writeTextFileSync" | "Bun.write",
                _,
            ) => {
                if let Some(path) = text {
                    self.note("<write>", vec![self.tilde(path)]);
                }
            }
            (
                _,
                "copyfile" | "copy" | "copy2" | "copytree" | "move" | "rename" | "renameSync" | "symlink"
                | "symlinkSync" | "copyFileSync" | "cpSync" | "replace",
            ) if call.name.contains("shutil")
                || call.name.contains("os.")
                || call.name.contains("fs")
                || call.name.contains("File") =>
            {
                if let Some(target) = mode {
                    self.note("<write>", vec![self.tilde(target)]);
                }
                if let Some(source) = text {
                    if matches!(last_name, "move" | "rename" | "renameSync" | "replace") {
                        self.removed(call);
                    } else {
                        return self.note_read(source);
                    }
                }
            }
            (_, "readFileSync" | "readFile" | "file_get_contents" | "readlines")
            | ("File.read" | "IO.read" | "Deno.readTextFile" | "Deno.readTextFileSync", _) => {
                if let Some(path) = text {
                    return self.note_read(path);
                }
            }
            ("os.kill" | "process.kill" | "Process.kill" | "posix_kill" | "kill", _) => {
                // Ruby and Perl name the signal first.
                let target = if call.name.starts_with(['P', 'k']) { &mode } else { &text };
                let args = [Some(Arg::new("-9")), target.clone()].into_iter().flatten().collect();
                self.add(Invocation { program: Arg::new("kill"), args, ..self.blank() });
            }
            (_, "execute" | "executescript" | "executemany" | "query" | "exec_params" | "raw") => {
                self.sql(text, code);
            }
            ("os.chmod" | "fs.chmodSync" | "File.chmod", _) => {
                let args = [mode, text]
                    .into_iter()
                    .flatten()
                    .map(|arg| Arg::new(arg.text().trim_start_matches("0o").to_owned()))
                    .collect();
                self.add(Invocation { program: Arg::new("chmod"), args, ..self.blank() });
            }
            _ => {}
        }
        false
    }

    fn note_read(&mut self, path: Arg) -> bool {
        let path = self.tilde(path);
        let place = crate::guard::paths::locate(&path, &self.blank(), self.world);
        self.note("<read>", vec![path]);
        crate::guard::paths::is_secret(&place.path, self.world)
    }

    /// A command as one text, or as a list of its words.
    fn started(&mut self, call: &Call, code: &str) {
        match call.args.as_slice() {
            [Value::List(argv), ..] => {
                self.run(argv.clone(), Vec::new(), &Stdin::default());
            }
            [Value::Text(program), Value::List(args), ..] => {
                let argv = [program.clone()].into_iter().chain(args.iter().cloned()).collect();
                self.run(argv, Vec::new(), &Stdin::default());
            }
            [Value::Text(program), rest @ ..]
                if !rest.is_empty()
                    && !program.text().contains(' ')
                    && rest.iter().all(|arg| matches!(arg, Value::Text(text) if !text.has_unknown())) =>
            {
                let argv = call.args.iter().filter_map(Value::text).collect();
                self.run(argv, Vec::new(), &Stdin::default());
            }
            [Value::Text(sql), ..] if is_sql(sql.text()) => self.sql(Some(sql.clone()), code),
            [Value::Text(command), ..] => {
                let command = command.text().to_owned();
                if command.trim_matches(UNKNOWN).trim().is_empty() {
                    return;
                }
                self.code_apart(&command, &Stdin::default(), |_| {});
            }
            [] => {}
        }
    }

    /// A statement for a database that is none of a test.
    fn sql(&mut self, statement: Option<Arg>, code: &str) {
        let Some(statement) = statement.filter(|sql| sql.text().contains(' ')) else { return };
        if !signs::has(code, signs::TEST_DATABASE) {
            let args = vec![Arg::new("-c"), statement];
            self.add(Invocation { program: Arg::new("psql"), args, ..self.blank() });
        }
    }

    fn removed(&mut self, call: &Call) {
        let Some(path) = call.args.first().and_then(Value::text) else { return };
        let path = self.tilde(path);
        // A variable that cannot be known is as likely a test's own directory as anything.
        if path.has_unknown() && !path.text().starts_with('/') {
            return;
        }
        self.add(Invocation { program: Arg::new("rm"), args: vec![Arg::new("-rf"), path], ..self.blank() });
    }

    fn tilde(&self, path: Arg) -> Arg {
        match path.text().strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                Arg::new(format!("{}{rest}", self.world.home.display()))
            }
            _ => path,
        }
    }
}

fn is_sql(text: &str) -> bool {
    const VERBS: [&str; 8] =
        ["DROP ", "TRUNCATE ", "DELETE FROM ", "ALTER ", "UPDATE ", "INSERT ", "SELECT ", "CREATE "];
    let start: String = text.trim_start().chars().take(12).collect::<String>().to_uppercase();
    VERBS.iter().any(|verb| start.starts_with(verb))
}

/// What a code prints, if it is one literal.
fn printed(calls: &[Call]) -> Output {
    let prints: Vec<&Call> =
        calls.iter().filter(|call| matches!(call.name.as_str(), "print" | "console.log" | "puts")).collect();
    match prints.as_slice() {
        [only] => match only.args.as_slice() {
            [Value::Text(text)] if text.is_known() => Output::exact(&format!("{}\n", text.text())),
            _ => Output::unknown(),
        },
        _ => Output::unknown(),
    }
}
