//! What programs print, as far as it can be known without running them.

use super::decode;
use super::scope::bounded;
use super::{Walk, scope};
use crate::guard::arg::{Arg, REMOTE, SECRET, STAR};
use crate::guard::hosts::{host_of, is_local};
use crate::guard::invocation::Invocation;
use crate::guard::paths::{is_secret, locate};
use crate::guard::repo::{Branch, CURRENT_BRANCH};
use crate::guard::shell::unescaped;
use crate::sandbox::variables::looks_secret;

/// A name that stands for all branches of a repository.
pub const EVERY_BRANCH: &str = "every-branch";

/// Every process, as `ps` lists them.
pub const ALL_PROCESSES: &str = "pid:everything";

/// Text that a command prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub text: Arg,
    /// Whether it is this text, and not only one like it, such as a name that `find` might print.
    pub is_exact: bool,
}

impl Output {
    pub fn nothing() -> Output {
        Output::exact("")
    }

    pub fn unknown() -> Output {
        Output { text: Arg::unknown(), is_exact: false }
    }

    pub fn exact(text: &str) -> Output {
        Output { is_exact: text.len() <= scope::LONGEST, text: bounded(Arg::new(text)) }
    }

    /// A text like the one that it would be.
    pub fn like(text: impl Into<String>) -> Output {
        Output { text: bounded(Arg::new(text.into())), is_exact: false }
    }

    pub fn add(&mut self, other: &Output) {
        if other.text.text().is_empty() {
            return;
        }
        let length = self.text.text().len() + other.text.text().len();
        self.is_exact &= other.is_exact && length <= scope::LONGEST;
        self.text = bounded(Arg::new(format!("{}{}", self.text.text(), other.text.text())));
    }
}

impl Walk<'_> {
    /// What an invocation prints. It runs nothing: what it starts is looked at elsewhere.
    pub(super) fn printed(&mut self, invocation: &Invocation) -> Output {
        let words = invocation.words();
        let word = |at: usize| words.get(at).map(|word| word.text().to_owned());
        let stdin = Output {
            text: invocation.stdin.text.clone().unwrap_or_default(),
            is_exact: invocation.stdin.is_exact,
        };
        match invocation.name() {
            "echo" => echo(invocation),
            "printf" => printf(invocation),
            "head" | "tail" => narrowed(self.files_or(stdin, invocation, &words)),
            "cat" | "tac" | "zcat" | "less" | "more" | "bat" | "strings" | "nl" => {
                self.files_or(stdin, invocation, &words)
            }
            "tee" | "sort" | "uniq" | "sponge" | "pv" | "column" | "fmt" | "shuf" | "iconv" | "dos2unix" => {
                stdin
            }
            "grep" | "egrep" | "rg" | "ag" | "fgrep" => self.searched(invocation, stdin),
            "awk" | "gawk" if stdin.text.text().starts_with("pid:") => {
                // `awk '/vite/ {print $2}'` chooses by name.
                let chosen = word(0).and_then(|program| program.split('/').nth(1).map(str::to_owned));
                chosen.map_or(stdin, |name| Output::like(format!("pid:{name}\n")))
            }
            "sed" | "awk" | "gawk" | "cut" | "perl" | "paste" | "jq" => match stdin.text.text() {
                "" if words.len() > 1 => Output::unknown(),
                // Of a listing some part is left; of a known text it cannot be known which.
                _ if stdin.is_exact => Output::unknown(),
                _ => stdin,
            },
            "tr" => match (invocation.has_flag("-d"), word(0), word(1)) {
                (true, Some(set), _) => apply(&stdin, |text| decode::without(text, &set)),
                (false, Some(from), Some(to)) => apply(&stdin, |text| decode::tr(text, &from, &to)),
                _ => Output::unknown(),
            },
            "rev" => apply(&stdin, |text| {
                Some(
                    text.lines()
                        .map(|line| line.chars().rev().collect::<String>())
                        .collect::<Vec<_>>()
                        .join("\n"),
                )
            }),
            "base64" | "base32" | "openssl" | "uudecode" => {
                let decodes = invocation.has_any_flag(&["-d", "-D", "--decode"]);
                let source = self.files_or(stdin, invocation, &words);
                match decodes && invocation.name() == "base64" {
                    true => apply(&source, |text| Some(decode::base64(text))),
                    // What was secret is secret in this form too.
                    false if source.text.has_secret() => source,
                    false
                        if invocation.name() == "openssl"
                            && word(0).as_deref() == Some("base64")
                            && decodes =>
                    {
                        apply(&source, |text| Some(decode::base64(text)))
                    }
                    false => Output::unknown(),
                }
            }
            "xxd" if invocation.has_flag("-r") => {
                let source = self.files_or(stdin, invocation, &words);
                apply(&source, |text| Some(decode::hex(text)))
            }
            "xxd" | "od" | "hexdump" | "gzip" | "zip" | "gpg" | "bzip2" | "xz" | "tar" => {
                let source = self.files_or(stdin, invocation, &words);
                if source.text.has_secret() { source } else { Output::unknown() }
            }
            "pwd" => Output::like(match &self.scope.cwd {
                Some(dir) => format!("{}\n", dir.display()),
                None => crate::guard::arg::UNKNOWN.to_string(),
            }),
            "basename" => changed(word(0), |text| {
                let text = text.trim_end_matches('/');
                text.rsplit('/').next().unwrap_or(text).to_owned()
            }),
            "dirname" => changed(word(0), |text| match text.trim_end_matches('/').rsplit_once('/') {
                Some(("", _)) => "/".to_owned(),
                Some((dir, _)) => dir.to_owned(),
                None => ".".to_owned(),
            }),
            "realpath" | "readlink" => changed(words.last().map(|word| word.text().to_owned()), |text| text),
            "mktemp" => self.temporary(invocation),
            "date" | "seq" | "nproc" | "wc" | "expr" | "bc" | "id" | "whoami" | "uname" | "hostname"
            | "arch" | "uuidgen" | "stat" | "du" | "df" | "sha256sum" | "md5sum" | "shasum" | "cksum"
            | "getconf" | "tput" | "logname" | "groups" | "free" | "uptime" => Output::like("4242\n"),
            "which" | "command" | "type" => match words.last().map(|word| word.text()) {
                Some(name) => Output::like(format!("{name}\n")),
                None => Output::unknown(),
            },
            "find" | "fd" | "fdfind" => Output::like(found(invocation)),
            "ls" => Output::like(self.listed(&words)),
            "git" => git_output(invocation, self.world),
            "ps" if invocation.args.iter().any(|arg| arg.text().contains("ppid")) => {
                Output::like("pid:parent\n")
            }
            "ps" if !invocation.has_any_flag(&["-p", "-C", "--pid", "-q"]) => {
                Output::like(format!("{ALL_PROCESSES}\n"))
            }
            "ps" | "pgrep" | "pidof" | "lsof" | "jobs" | "fuser" | "ss" | "netstat" => {
                let wanted = words.last().map_or("process", |word| word.text()).to_owned();
                Output::like(format!("pid:{wanted}\n"))
            }
            "docker" | "podman" | "kubectl" => match (word(0).as_deref(), invocation.has_flag("-q")) {
                (Some("ps" | "images"), _) | (Some("container" | "image" | "volume"), true)
                    if !invocation.has_any_flag(&["-f", "--filter"]) =>
                {
                    Output::like(format!("every-{}\n", word(0).unwrap_or_default()))
                }
                _ => Output::unknown(),
            },
            "curl" | "wget" | "http" | "https" | "fetch" | "lynx" | "aria2c" | "nc" | "ncat" | "netcat"
            | "socat" | "telnet" | "ftp" | "dig" => {
                // The value of a flag is no address: `-H 'Accept: text/plain'`.
                let urls = invocation.operands().into_iter().cloned().chain(invocation.flag_values("--url"));
                let is_local = urls.into_iter().any(|url| is_local(host_of(url.text())));
                if is_local { Output::unknown() } else { Output::like(REMOTE.to_string()) }
            }
            "env" | "printenv" | "set" | "export" | "declare" if words.is_empty() => {
                Output::like(SECRET.to_string())
            }
            "printenv" => match words.iter().any(|word| looks_secret(word.text())) {
                true => Output::like(SECRET.to_string()),
                false => Output::like("value"),
            },
            // They print variables for `eval`, as shells' own configuration does.
            "ssh-agent" | "direnv" | "pyenv" | "rbenv" | "nodenv" | "fnm" | "opam" | "mise" | "starship"
            | "zoxide" | "dircolors" | "lesspipe" | "gpg-agent" | "minikube" | "conda" | "asdf"
            | "keychain" | "brew" | "atuin" | "fzf" => Output::nothing(),
            "security" | "pass" | "op" | "vault" | "secret-tool" => Output::like(SECRET.to_string()),
            _ if self.asks_for_secret(invocation) => Output::like(SECRET.to_string()),
            _ => Output::unknown(),
        }
    }

    /// Programs whose answer is a secret.
    fn asks_for_secret(&self, invocation: &Invocation) -> bool {
        const SECRETS: [&str; 6] = [
            "gh auth token",
            "gcloud auth print-access-token|print-identity-token",
            "aws secretsmanager get-secret-value",
            "aws configure get",
            "kubectl get secret|secrets",
            "az account get-access-token",
        ];
        SECRETS.iter().any(|pattern| crate::guard::matches(pattern, invocation))
    }

    /// The text of the files that are named, or else of the standard input.
    fn files_or(&mut self, stdin: Output, invocation: &Invocation, words: &[&Arg]) -> Output {
        let mut output = Output::nothing();
        // `head -n 5 file`, `tail -n +6`: a number is no file.
        let is_number = |text: &str| text.trim_start_matches('+').bytes().all(|byte| byte.is_ascii_digit());
        let files = words.iter().filter(|word| word.text() != "-" && !is_number(word.text()));
        let mut has_files = false;
        for file in files {
            has_files = true;
            let place = locate(file, invocation, self.world);
            if is_secret(&place.path, self.world) {
                return Output::like(SECRET.to_string());
            }
            match self.file_text(file) {
                Some(text) => output.add(&text),
                None => output.add(&Output::unknown()),
            }
        }
        if has_files { output } else { stdin }
    }

    /// Lines that a search finds: names of files, or parts of a text.
    fn searched(&mut self, invocation: &Invocation, stdin: Output) -> Output {
        let words = invocation.words();
        if words.len() < 2 && !stdin.text.text().is_empty() {
            let pattern = words.first().map_or("", |word| word.text());
            // Processes are searched by name: `ps aux | grep vite`.
            if stdin.text.text().starts_with("pid:") && !invocation.has_flag("-v") {
                return Output::like(format!("pid:{}\n", pattern.replace(['[', ']'], "").replace(' ', "-")));
            }
            // One of all that were listed.
            if stdin.text.text().starts_with("every-") && !invocation.has_flag("-v") {
                return Output::like("some-match\n");
            }
            return if invocation.has_flag("-v") { stdin } else { narrowed(stdin) };
        }
        let is_listing = invocation.has_any_flag(&["-l", "-L", "--files-with-matches", "--files"]);
        match (is_listing, words.last()) {
            (true, Some(dir)) if words.len() > 1 => {
                Output::like(format!("{}/some-file\n", dir.text().trim_end_matches('/')))
            }
            (true, _) => Output::like("some-file\n"),
            (false, _) => {
                let files: Vec<&Arg> = words.into_iter().skip(1).collect();
                let text = self.files_or(Output::unknown(), invocation, &files);
                if text.text.has_secret() { text } else { Output::unknown() }
            }
        }
    }

    /// The names that `ls` prints: all of a directory, or what was named with a pattern, or a file.
    fn listed(&self, words: &[&Arg]) -> String {
        let line = |word: &&Arg| match word.text() {
            "." | "./" => format!("{STAR}\n"),
            pattern if word.has_glob() => format!("{pattern}\n"),
            file if self.file_text(word).is_some() => format!("{file}\n"),
            dir => format!("{}/{STAR}\n", dir.trim_end_matches('/')),
        };
        if words.is_empty() { format!("{STAR}\n") } else { words.iter().map(line).collect() }
    }

    fn temporary(&self, invocation: &Invocation) -> Output {
        let dir = invocation.flag_value("-p").or_else(|| invocation.flag_value("--tmpdir"));
        match (dir.filter(|dir| !dir.is_flag()), invocation.words().last()) {
            (Some(dir), _) => Output::like(format!("{}/tmp.4242\n", dir.text())),
            (None, Some(template)) if template.text().contains('/') => {
                Output::like(format!("{}\n", template.text().replace('X', "4")))
            }
            _ => Output::like("/tmp/tmp.4242\n"),
        }
    }
}

/// Changes a text that is exactly known.
fn apply(source: &Output, change: impl Fn(&str) -> Option<String>) -> Output {
    match source.text.known() {
        Some(text) if source.is_exact => {
            change(text).map_or_else(Output::unknown, |text| Output::exact(&text))
        }
        _ if source.text.has_secret() || source.text.is_remote() => source.clone(),
        // Letters of a listing that were changed are still a listing.
        Some(_) => source.clone(),
        None => Output::unknown(),
    }
}

/// The same for a word.
fn changed(word: Option<String>, change: impl Fn(String) -> String) -> Output {
    match word {
        Some(text) => Output::like(format!("{}\n", change(text))),
        None => Output::unknown(),
    }
}

fn echo(invocation: &Invocation) -> Output {
    let mut args = invocation.args.as_slice();
    let (mut escapes, mut newline) = (false, "\n");
    while let Some((first, rest)) = args.split_first() {
        let flags = first.text();
        if !(flags.len() > 1 && flags.starts_with('-') && flags[1..].chars().all(|c| "neE".contains(c))) {
            break;
        }
        escapes |= flags.contains('e');
        if flags.contains('n') {
            newline = "";
        }
        args = rest;
    }
    let text = args.iter().map(Arg::text).collect::<Vec<_>>().join(" ");
    let text = text.replace(STAR, "*");
    let text = if escapes { unescaped(&text) } else { text };
    Output::exact(&format!("{text}{newline}"))
}

fn printf(invocation: &Invocation) -> Output {
    let args: Vec<&Arg> = invocation.args.iter().skip_while(|arg| arg.text() == "--").collect();
    let Some((format, args)) = args.split_first() else { return Output::nothing() };
    let format = unescaped(format.text());
    let mut out = String::new();
    let mut args = args.iter();
    loop {
        let before = args.len();
        let mut chars = format.chars().peekable();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            if chars.peek() == Some(&'%') {
                chars.next();
                out.push('%');
                continue;
            }
            let mut kind = ' ';
            for c in chars.by_ref() {
                if c.is_ascii_alphabetic() {
                    kind = c;
                    break;
                }
            }
            let arg = args.next().map_or("", |arg| arg.text());
            match kind {
                'b' => out.push_str(&unescaped(arg)),
                _ => out.push_str(arg),
            }
        }
        // The format is used again for what is left.
        if args.len() == 0 || args.len() == before || out.len() > scope::LONGEST {
            return Output::exact(&out);
        }
    }
}

/// A path that `find` might print.
pub(super) fn found(invocation: &Invocation) -> String {
    let roots: Vec<&str> = match invocation.name() {
        "find" => invocation
            .args
            .iter()
            .map(Arg::text)
            .skip_while(|arg| matches!(*arg, "-H" | "-L" | "-P"))
            .take_while(|arg| !arg.starts_with('-') && !matches!(*arg, "(" | "!"))
            .collect(),
        _ => invocation.words().into_iter().skip(1).map(Arg::text).collect(),
    };
    const FILTERS: [&str; 16] = [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-regex",
        "-iregex",
        "-wholename",
        "-newer",
        "-mtime",
        "-mmin",
        "-ctime",
        "-size",
        "-empty",
        "-user",
        "-perm",
        "-inum",
    ];
    let is_filtered = invocation.name() != "find"
        || invocation.args.windows(2).enumerate().any(|(at, pair)| {
            // What is left out does not say what is found.
            let is_negated = at > 0 && matches!(invocation.args[at - 1].text(), "!" | "-not");
            FILTERS.contains(&pair[0].text()) && !matches!(pair[1].text(), "*" | "*.*") && !is_negated
        })
        || invocation.has_flag("-empty");
    let values = |flags: &[&str]| -> Vec<String> {
        let pairs = invocation.args.windows(2).filter(|pair| flags.contains(&pair[0].text()));
        pairs.map(|pair| pair[1].text().replace('*', &STAR.to_string())).collect()
    };
    let roots = if roots.is_empty() { vec!["."] } else { roots };
    let below = |leaf: &str| -> String {
        roots.iter().map(|root| format!("{}/{leaf}\n", root.trim_end_matches('/'))).collect()
    };
    if !is_filtered {
        return below(&STAR.to_string());
    }
    // What is chosen by a whole path or a whole name is known.
    let paths = values(&["-path", "-wholename", "-ipath"]);
    let names = values(&["-name", "-iname"]);
    let is_whole = |path: &&String| path.starts_with(['.', '/']) && !path.contains(&format!("/{STAR}/"));
    let mut found: String = match is_negated(invocation) {
        true => String::new(),
        false if paths.is_empty() => {
            names.iter().filter(|name| !name.contains(STAR)).map(|name| below(name)).collect()
        }
        false => paths
            .iter()
            .filter(is_whole)
            .map(|path| format!("{}\n", path.replace(STAR, "some-file")))
            .collect(),
    };
    if found.is_empty() || names.iter().any(|name| name.contains(STAR)) {
        found.push_str(&below("some-file"));
    }
    found
}

/// Some lines of a listing are not all of it.
fn narrowed(listing: Output) -> Output {
    match listing.is_exact {
        true => listing,
        false => Output::like(listing.text.text().replace(STAR, "some-file")),
    }
}

/// Whether `find` leaves out what its patterns name.
fn is_negated(invocation: &Invocation) -> bool {
    invocation.args.iter().any(|arg| matches!(arg.text(), "!" | "-not" | "-prune"))
}

/// Flags with which `git ls-files` prints some files, and not all.
const LISTS_SOME: [&str; 12] = [
    "-o",
    "--others",
    "-d",
    "--deleted",
    "-m",
    "--modified",
    "-i",
    "--ignored",
    "-u",
    "--unmerged",
    "-k",
    "--killed",
];

/// The branch that the repository has checked out.
fn current_branch(invocation: &Invocation) -> Output {
    match &invocation.repo.head.branch {
        Branch::Named(name) => Output::like(format!("{name}\n")),
        _ => Output::like(format!("{CURRENT_BRANCH}\n")),
    }
}

/// A commit by a name that stays its own when HEAD moves.
fn named_commit(invocation: &Invocation, words: &[&str]) -> Output {
    let commit = match words {
        [commit] if !commit.starts_with('-') => invocation.repo.resolve(commit),
        _ => None,
    };
    Output::like(match commit {
        Some(commit) => match commit.strip_prefix("HEAD").filter(|steps| !steps.starts_with('@')) {
            Some(steps) => format!("HEAD@{{0}}{steps}\n"),
            None => format!("{commit}\n"),
        },
        None => "4242abc\n".to_owned(),
    })
}

fn git_output(invocation: &Invocation, world: &crate::guard::World<'_>) -> Output {
    let words: Vec<&str> = invocation.words().into_iter().map(Arg::text).collect();
    match words.first() {
        Some(&"rev-parse") if invocation.has_flag("--show-toplevel") => {
            Output::like(format!("{}\n", world.workspace.display()))
        }
        Some(&"rev-parse") if invocation.has_flag("--git-path") => {
            Output::like(format!(".git/{}\n", words.last().copied().unwrap_or_default()))
        }
        Some(&"rev-parse") if invocation.has_any_flag(&["--git-dir", "--git-common-dir"]) => {
            Output::like(".git\n")
        }
        Some(&"branch") if invocation.has_flag("--show-current") => current_branch(invocation),
        Some(&"rev-parse") if invocation.has_flag("--abbrev-ref") && words[1..] == ["HEAD"] => {
            current_branch(invocation)
        }
        Some(&"symbolic-ref") if words[1..] == ["HEAD"] => current_branch(invocation),
        Some(&"rev-parse") => named_commit(invocation, &words[1..]),
        Some(&"merge-base") => match words[1..] {
            // What both have in common is what the other has of HEAD.
            ["HEAD" | "@", other] | [other, "HEAD" | "@"] => named_commit(invocation, &[other]),
            _ => Output::like("4242abc\n"),
        },
        Some(&("describe" | "rev-list" | "log" | "write-tree" | "hash-object")) => Output::like("4242abc\n"),
        // Deleting them loses nothing.
        Some(&("branch" | "for-each-ref")) if invocation.has_flag("--merged") => {
            Output::like("some-branch-that-is-merged\n")
        }
        Some(&("branch" | "for-each-ref")) => Output::like(format!("{EVERY_BRANCH}\n")),
        Some(&("symbolic-ref" | "tag" | "remote")) => Output::like("some-branch\n"),
        // Every file that is committed.
        Some(&"ls-files") if words.len() == 1 && !invocation.has_any_flag(&LISTS_SOME) => {
            Output::like(format!("{STAR}\n"))
        }
        Some(&("ls-files" | "diff" | "status" | "grep" | "diff-tree" | "ls-tree" | "check-ignore")) => {
            Output::like("some-file\n")
        }
        _ => Output::unknown(),
    }
}
