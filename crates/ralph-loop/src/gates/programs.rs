//! What programs do with the files they are given, told by their names.
//!
//! Invariant: a program that is not known is `Other`, which is the strict reading: what it is given
//! counts if it is data that existed at the start.

use super::words::is_assignment;

/// How a program treats its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// Runs a script, or its text after `-c`.
    Shell,
    /// Runs a script in the same shell.
    Source,
    /// Runs code in another language.
    Interpreter,
    Make,
    Just,
    /// npm and its like: runs scripts of `package.json`.
    Packages,
    /// Its operands are scripts of `package.json`.
    Scripts,
    /// Its operands are tests.
    Runner,
    /// The same, after this subcommand.
    RunnerIf(&'static str),
    /// Runs what these files say, in a format that is not read as such.
    ReadsFrom(&'static [&'static str]),
    /// A tool of the shell: what it is given is what is checked.
    Utility,
    /// A compiler or linter: its operands are what is checked, its options can name configuration.
    Looks,
    /// The same, but one of them can be what is expected.
    Compares,
    Other,
}

pub(super) fn program(word: &str) -> Program {
    let name = base(word);
    match name {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "fish" => Program::Shell,
        "source" | "." => Program::Source,
        "make" | "gmake" | "bmake" | "remake" => Program::Make,
        "just" => Program::Just,
        "npm" | "pnpm" | "yarn" | "bun" => Program::Packages,
        "run-s" | "run-p" | "npm-run-all" | "npm-run-all2" | "wireit" => Program::Scripts,
        "pytest" | "py.test" | "unittest" | "nose2" | "trial" | "jest" | "vitest" | "mocha" | "ava"
        | "tap" | "jasmine" | "rspec" | "phpunit" | "pest" | "bats" | "prove" | "behave" | "cucumber"
        | "busted" | "minitest" | "kaocha" => Program::Runner,
        "deno" | "playwright" | "dart" | "flutter" | "mix" | "zig" | "forge" => Program::RunnerIf("test"),
        "cypress" => Program::RunnerIf("run"),
        // A variable: `$PYTHON check.py`.
        "$" => Program::Interpreter,
        "node" | "nodejs" | "ruby" | "perl" | "php" | "lua" | "luajit" | "Rscript" | "ts-node" | "tsx"
        | "julia" | "elixir" | "groovy" | "guile" | "tclsh" | "pwsh" | "awk" => Program::Interpreter,
        name if name.starts_with("python") || name.starts_with("pypy") => Program::Interpreter,
        "diff" | "cmp" | "comm" | "sha256sum" | "sha1sum" | "md5sum" | "shasum" | "grep" | "egrep"
        | "fgrep" | "rg" | "jq" | "cat" | "jsonschema" | "check-jsonschema" => Program::Compares,
        "test" | "[" | "[[" | "ls" | "head" | "tail" | "wc" | "find" | "stat" | "sed" | "cp" | "mv"
        | "rm" | "mkdir" | "touch" | "echo" | "printf" | "true" | "false" | "exit" | "export" | "set"
        | "sort" | "tee" | "git" | "chmod" | "ln" | "kill" | "sleep" | "cut" | "tr" | "uniq" | "trap"
        | "wait" | "curl" | "wget" => Program::Utility,
        "cc" | "gcc" | "g++" | "c++" | "clang" | "clang++" | "rustc" | "rustfmt" | "javac" | "java"
        | "kotlinc" | "ghc" | "cargo" | "tsc" | "vue-tsc" | "eslint" | "prettier" | "biome" | "oxlint"
        | "stylelint" | "standard" | "xo" | "ruff" | "mypy" | "pyright" | "basedpyright" | "ty"
        | "pylint" | "flake8" | "black" | "isort" | "bandit" | "vulture" | "coverage" | "shellcheck"
        | "shfmt" | "go" | "gotestsum" | "doctest" | "gofmt" | "goimports" | "golangci-lint"
        | "staticcheck" | "rubocop" | "markdownlint" | "markdownlint-cli2" | "mdl" | "vale" | "yamllint"
        | "hadolint" | "actionlint" | "codespell" | "typos" | "clang-format" | "clang-tidy" | "cppcheck"
        | "docker" | "podman" | "cmake" | "ctest" | "ninja" | "meson" | "pip" | "pip3" | "swift"
        | "dotnet" | "xcodebuild" => Program::Looks,
        "task" | "go-task" => {
            Program::ReadsFrom(&["Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "Taskfile.dist.yml"])
        }
        "tox" => Program::ReadsFrom(&["tox.ini", "tox.toml", "setup.cfg", "pyproject.toml"]),
        "nox" => Program::ReadsFrom(&["noxfile.py"]),
        "hatch" | "pdm" | "poe" | "poethepoet" => Program::ReadsFrom(&["pyproject.toml"]),
        "invoke" | "inv" => Program::ReadsFrom(&["tasks.py"]),
        "rake" => Program::ReadsFrom(&["Rakefile"]),
        "mise" => Program::ReadsFrom(&["mise.toml", ".mise.toml"]),
        "pre-commit" | "prek" => Program::ReadsFrom(&[".pre-commit-config.yaml"]),
        "lefthook" => Program::ReadsFrom(&["lefthook.yml"]),
        "composer" => Program::ReadsFrom(&["composer.json"]),
        "mvn" => Program::ReadsFrom(&["pom.xml"]),
        "gradle" => Program::ReadsFrom(&["build.gradle", "build.gradle.kts"]),
        "ant" => Program::ReadsFrom(&["build.xml"]),
        _ => Program::Other,
    }
}

/// Whether a program's result depends on what it is piped, so that the first one's status does not
/// decide alone.
pub(super) fn judges(word: &str) -> bool {
    matches!(
        base(word),
        "grep"
            | "egrep"
            | "fgrep"
            | "rg"
            | "diff"
            | "cmp"
            | "jq"
            | "awk"
            | "python"
            | "python3"
            | "node"
            | "test"
    ) || word.contains('/')
}

/// The words without assignments and programs that only start another one.
pub(super) fn unwrapped(mut words: &[String]) -> &[String] {
    // Bounded by the number of words: each turn removes one at least.
    while let Some((first, rest)) = words.split_first() {
        let skip = match (base(first), rest.first().map(String::as_str)) {
            _ if is_assignment(first) => 0,
            ("time" | "nohup" | "exec" | "command" | "builtin" | "eval" | "sudo" | "xvfb-run", _) => {
                options(rest)
            }
            ("env" | "nice" | "stdbuf" | "ionice" | "xargs" | "npx" | "bunx" | "setsid" | "doas", _) => {
                options(rest)
            }
            ("timeout" | "gtimeout", _) => after_duration(rest),
            ("uv" | "poetry" | "pipenv" | "pdm" | "hatch" | "rye" | "conda" | "dotenv", Some("run")) => {
                1 + options(&rest[1..])
            }
            ("coverage", Some("run")) => {
                // `coverage run -m pytest`, `coverage run script.py`: as Python would run it.
                let at = 1 + options(&rest[1..]);
                let module = at > 0 && rest.get(at - 1).is_some_and(|word| word == "-m");
                if module { at } else { return rest.get(at.saturating_sub(1)..).unwrap_or_default() }
            }
            ("bundle" | "pnpm" | "npm" | "yarn", Some("exec")) => 1 + options(&rest[1..]),
            ("cross-env" | "dotenvx", _) => options(rest),
            _ => return words,
        };
        words = rest.get(skip..).unwrap_or_default();
    }
    words
}

/// How many words at the beginning are options. Values of options cannot be told from operands;
/// those of the few wrappers that take some are numbers.
fn options(words: &[String]) -> usize {
    let is_number = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit()) && !word.is_empty();
    words.iter().take_while(|word| word.starts_with('-') || is_number(word)).count()
}

/// `timeout -k 5s 60 command`: the words up to the duration.
fn after_duration(words: &[String]) -> usize {
    let is_number = |word: &String| word.starts_with(|c: char| c.is_ascii_digit());
    let is_value = |at: usize| at > 0 && matches!(words[at - 1].as_str(), "-k" | "--kill-after");
    let duration = (0..words.len()).find(|at| is_number(&words[*at]) && !is_value(*at));
    duration.map_or(words.len(), |at| at + 1)
}

/// Options whose value is a file that decides: configuration, what is loaded first, what is allowed.
pub(super) fn takes_value(option: &str) -> bool {
    let name = option.trim_start_matches('-');
    if option == "-c" || option == "-r" || option == "-p" || option == "-f" || option == "-s" {
        return true;
    }
    option.starts_with("--")
        && (name.starts_with("config")
            || matches!(
                name,
                "rcfile"
                    | "conf"
                    | "cfg"
                    | "ini"
                    | "ini-file"
                    | "settings"
                    | "setup"
                    | "setup-file"
                    | "setupFiles"
                    | "globalSetup"
                    | "require"
                    | "import"
                    | "preload"
                    | "loader"
                    | "experimental-loader"
                    | "project"
                    | "rules"
                    | "rulesdir"
                    | "ruleset"
                    | "schema"
                    | "env-file"
                    | "baseline"
                    | "ignore-path"
                    | "bootstrap"
                    | "opts"
                    | "rootdir"
                    | "spec"
                    | "file"
                    | "plugin"
                    | "init-script"
                    | "build-file"
                    | "reporter"
            ))
}

/// Words that files which check others have in their names.
const CHECKING: &[&str] = &[
    "test", "check", "verif", "valid", "lint", "spec", "smoke", "e2e", "assert", "qa", "gate", "grade",
    "judge", "score", "guard", "audit", "compare", "ci",
];

/// Directories for scripts around the work.
const CHECKING_DIRS: &[&str] = &["scripts", "script", "ci", ".ci", "hack", "tools", "tool", "dev", "qa"];

/// Whether a path says that the file checks others.
pub(super) fn says_that_it_checks(path: &str) -> bool {
    let path = path.to_lowercase();
    let (dirs, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let parts = name.split(|c: char| !c.is_alphanumeric());
    // `ci` and `qa` are parts of many words; the others count as the beginning or end of one.
    let checks = |part: &str| {
        CHECKING.iter().any(|word| {
            part == *word
                || (word.len() > 3 && (part.starts_with(word) || part.ends_with(&format!("{word}s"))))
                || (*word == "test" && part.ends_with("test"))
        })
    };
    parts.into_iter().any(checks) || dirs.split('/').any(|dir| CHECKING_DIRS.contains(&dir) || checks(dir))
}

/// Whether a name says that something is compared with the file.
pub(super) fn is_expectation(word: &str) -> bool {
    let word = word.to_lowercase();
    let parts = || word.split(|c: char| !c.is_alphanumeric());
    let words = ["expect", "golden", "baseline", "snapshot", "reference", "approved", "checksum", "fixture"];
    let whole =
        ["want", "wanted", "ref", "answer", "answers", "correct", "solution", "sha256", "sha256sums", "md5"];
    word.contains(['.', '/'])
        && parts().any(|part| words.iter().any(|word| part.starts_with(word)) || whole.contains(&part))
}

pub(super) fn is_shell_script(word: &str) -> bool {
    let ends = [".sh", ".bash", ".zsh", ".ksh", ".bats"];
    let word = word.to_ascii_lowercase();
    ends.iter().any(|end| word.ends_with(end))
}

/// A file that is neither code nor prose: what a program outside the tree is given to go by.
pub(super) fn is_data(word: &str) -> bool {
    let Some((_, end)) = word.rsplit_once('/').map_or(word, |(_, name)| name).rsplit_once('.') else {
        return false;
    };
    matches!(
        end.to_ascii_lowercase().as_str(),
        "json"
            | "yaml"
            | "yml"
            | "toml"
            | "xml"
            | "ini"
            | "cfg"
            | "conf"
            | "rules"
            | "schema"
            | "xsd"
            | "rego"
            | "proto"
            | "sum"
            | "feature"
            | "robot"
            | "hurl"
            | "http"
    )
}

/// A program's name. One by a path inside of the tree is not the tool of that name: `./test` is a
/// script, but `node_modules/.bin/jest` and `/usr/bin/make` are what they are called.
fn base(word: &str) -> &str {
    let installed = ["node_modules/.bin/", "venv/bin/", "env/bin/", "vendor/bin/"];
    let is_own = !word.starts_with('/') && !installed.iter().any(|dir| word.contains(dir));
    if is_own { word } else { word.rsplit('/').next().unwrap_or(word) }
}
