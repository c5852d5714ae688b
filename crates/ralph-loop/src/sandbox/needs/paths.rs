//! Paths in what programs print, and which of them are not there inside.

use super::table::WRITING;
use super::{Kind, Missing, Outside};

/// Directories that all users share, and that are empty inside.
const SHARED: &[&str] = &["/tmp", "/var/tmp", "/run", "/dev/shm"];

/// Files of the project that cannot be changed inside.
const PROTECTED: &[&str] =
    &[".git/hooks", ".ralph/settings.json", ".claude/settings.json", ".codex", ".vscode", ".idea", ".envrc"];

/// A path ends there, unless it is quoted.
const ENDS: &[char] = &[
    ' ', '\t', '"', '\'', '`', ':', ',', ';', '(', ')', '[', ']', '{', '}', '<', '>', '|', '=', '‘', '’',
    '“', '”',
];

pub(super) struct Places<'a> {
    outside: &'a Outside<'a>,
}

impl<'a> Places<'a> {
    pub(super) fn of(outside: &'a Outside<'a>) -> Places<'a> {
        Places { outside }
    }

    /// A path of the line that cannot be read inside.
    pub(super) fn read(&self, line: &str) -> Option<Missing> {
        let paths = self.paths(line);
        let hidden = paths.iter().filter(|path| self.is_hidden(path));
        hidden.filter_map(|path| self.missing(path)).next()
    }

    /// The same; one that is to be written, if the line says so.
    pub(super) fn used(&self, line: &str, lower: &str) -> Option<Missing> {
        let writes = WRITING.iter().any(|word| lower.contains(word));
        let written =
            || self.paths(line).iter().filter(|path| self.is_hidden(path)).find_map(|path| self.write(path));
        match self.read(line) {
            Some(Missing::Read(_)) | None if writes => written(),
            found => found,
        }
    }

    /// A path of the line that cannot be written inside, wherever it is.
    pub(super) fn written(&self, line: &str) -> Option<Missing> {
        let protected = PROTECTED.iter().find(|name| {
            let mut words = line.split(ENDS);
            words.any(|word| {
                let word = word.strip_prefix(self.outside.tree).unwrap_or(word).trim_start_matches('/');
                word.trim_start_matches("./").starts_with(**name)
            })
        });
        let anywhere = || self.paths(line).iter().find_map(|path| self.write(path));
        protected.map(|name| Missing::Write((*name).to_string())).or_else(anywhere)
    }

    pub(super) fn socket(&self, line: &str) -> Option<Missing> {
        let socket = |path: &String| self.is_hidden(path) && (self.outside.look)(path) == Some(Kind::Socket);
        self.paths(line).into_iter().find(socket).map(Missing::Socket)
    }

    /// The directory of a program that is found outside only: `sh: 1: tool: not found`.
    pub(super) fn program(&self, line: &str) -> Option<Missing> {
        let lower = line.to_lowercase();
        let end =
            ["command not found", "not found", "no such file"].iter().find_map(|words| lower.find(words))?;
        let before = line.get(..end)?.trim_end_matches([' ', ':']);
        let is_name = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c));
        // `zsh: command not found: tool`
        let after = lower.rfind("command not found: ").and_then(|at| line.get(at + 19..));
        let names = [before.rsplit([' ', ':', '`', '\'', '"']).find(|word| !word.is_empty()), after];
        let mut names =
            names.into_iter().flatten().map(|name| name.trim_matches(['`', '\'', '"'])).filter(is_name);
        let path = names.find_map(|name| (self.outside.program)(name))?;
        let dir = path.rsplit_once('/').map(|(dir, _)| dir).filter(|_| self.is_hidden(&path))?;
        (!self.is_broad(dir)).then(|| Missing::Read(self.spelled(dir)))
    }

    /// What it is that is not there inside.
    fn missing(&self, path: &str) -> Option<Missing> {
        if self.is_session(path) {
            return Some(if path.ends_with("/bus") { Missing::SessionBus } else { Missing::Session });
        }
        match (self.outside.look)(path)? {
            // A service that starts again makes another one in the same directory.
            Kind::Socket => {
                let dir = path.rsplit_once('/').map(|(dir, _)| dir).filter(|dir| !self.is_broad(dir));
                Some(Missing::Socket(self.spelled(dir.unwrap_or(path))))
            }
            Kind::File | Kind::Dir => (!self.is_broad(path)).then(|| Missing::Read(self.spelled(path))),
        }
    }

    /// The path, or the directory in which it is to be made.
    fn write(&self, path: &str) -> Option<Missing> {
        let mut at = path;
        while (self.outside.look)(at).is_none() {
            at = at.rsplit_once('/').map(|(above, _)| above).filter(|above| !above.is_empty())?;
        }
        let allowed = !self.is_broad(at) && !self.is_inside(at, self.outside.tree);
        (allowed && !self.is_inside(at, self.outside.records)).then(|| Missing::Write(self.spelled(at)))
    }

    /// In the home or in a directory that all share, and not in the work tree.
    fn is_hidden(&self, path: &str) -> bool {
        let Outside { home, tree, records, .. } = self.outside;
        let visible = self.is_inside(path, tree) || self.is_inside(path, records);
        let hides = |dir: &str| self.is_inside(path, dir);
        !visible && (home.is_some_and(hides) || SHARED.iter().any(|dir| hides(dir)))
    }

    fn is_inside(&self, path: &str, dir: &str) -> bool {
        path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// `/run/user/1000`, or the bus in it. Other sockets there are services like any.
    fn is_session(&self, path: &str) -> bool {
        let Some(rest) = path.strip_prefix("/run/user/") else { return false };
        let mut parts = rest.splitn(2, '/').skip(1);
        parts.next().is_none_or(|rest| matches!(rest, "" | "bus"))
    }

    /// To allow it would allow nearly everything.
    fn is_broad(&self, path: &str) -> bool {
        let contains = |inner: &str| self.is_inside(inner, path);
        path.is_empty()
            || SHARED.contains(&path)
            || self.outside.home.is_some_and(contains)
            || contains(self.outside.tree)
            || contains(self.outside.records)
            || self.is_session(path)
    }

    /// As settings have it.
    fn spelled(&self, path: &str) -> String {
        let below =
            self.outside.home.and_then(|home| path.strip_prefix(home)).filter(|rest| rest.starts_with('/'));
        below.map_or_else(|| path.to_string(), |rest| format!("~{rest}"))
    }

    /// All absolute paths of a line, in full.
    fn paths(&self, line: &str) -> Vec<String> {
        let mut paths = Vec::new();
        let (mut before, mut rest) = (None, line);
        while let Some(first) = rest.chars().next() {
            let begins = first == '/' || (first == '~' && rest[1..].starts_with('/'));
            if begins && before.is_none_or(|c: char| !c.is_alphanumeric() && !"./-_~".contains(c)) {
                let text = path_at(rest, before);
                paths.extend(self.in_full(text));
                if let Some(last) = text.chars().next_back() {
                    (before, rest) = (Some(last), &rest[text.len()..]);
                    continue;
                }
            }
            before = Some(first);
            rest = &rest[first.len_utf8()..];
        }
        paths
    }

    /// Without `~`, a doubled slash, and the old name of `/run`.
    fn in_full(&self, text: &str) -> Option<String> {
        let full = match text.strip_prefix('~') {
            Some(rest) => format!("{}{rest}", self.outside.home?),
            None => text.to_string(),
        };
        let parts: Vec<&str> = full.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        let path = format!("/{}", parts.join("/"));
        let path = path.strip_prefix("/var/run/").map_or_else(|| path.clone(), |rest| format!("/run/{rest}"));
        (!parts.is_empty() && !parts.contains(&"..")).then_some(path)
    }
}

/// The path at the beginning of a text: to the closing quote, if it is quoted.
fn path_at(text: &str, before: Option<char>) -> &str {
    let closing = match before {
        Some(quote @ ('"' | '\'' | '`')) => Some(quote),
        Some('‘') => Some('’'),
        Some('“') => Some('”'),
        _ => None,
    };
    let quoted = closing.and_then(|quote| text.find(quote));
    let end = quoted.unwrap_or_else(|| text.find(ENDS).unwrap_or(text.len()));
    text[..end].trim_end_matches(['.', '/', '!', '?'])
}
