//! Git's configuration inside: who the user is, and how lines end.
//!
//! What the user's own configuration has beside that starts programs (helpers, aliases, hooks, filters)
//! or has credentials, and is not taken over. The exception is Git LFS: without its filter, a commit would have
//! whole files where their pointers belong.

use crate::process::tool::Tool;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(5);

/// Keys as git prints them: section and name in lower case.
const HARMLESS: &[&str] = &[
    "user.name",
    "user.email",
    "author.name",
    "author.email",
    "committer.name",
    "committer.email",
    "init.defaultbranch",
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "core.quotepath",
    "core.longpaths",
    "core.precomposeunicode",
    "core.abbrev",
    "core.whitespace",
    "commit.cleanup",
    "pull.rebase",
    "pull.ff",
    "push.default",
    "push.autosetupremote",
    "merge.conflictstyle",
    "merge.ff",
    "rebase.autosquash",
    "rebase.autostash",
    "diff.algorithm",
    "diff.renames",
    "rerere.enabled",
    "safe.directory",
    "http.sslcainfo",
    "http.sslcapath",
    "feature.manyfiles",
    "index.version",
    "i18n.commitencoding",
];

/// Those whose values are files that have to be visible.
const FILES: &[&str] = &["core.excludesfile", "core.attributesfile"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitConfig {
    pub text: String,
    /// Files that it names, `~` as it is written there.
    pub files: Vec<String>,
}

/// The user's, as it counts in a repository: it may depend on where that is.
pub fn of_user(workspace: &Path) -> GitConfig {
    let git = Tool::new("git").cwd(workspace).timeout(TIMEOUT);
    // Only the user's own: what the repository has it keeps. Nothing is started for this.
    let listed = git.args(["config", "--global", "--includes", "--list", "-z"]).run();
    // Without git, or without a configuration, there is nothing to take over.
    listed.map_or_else(|_| GitConfig::default(), |listed| of(&String::from_utf8_lossy(&listed.stdout)))
}

fn of(listed: &str) -> GitConfig {
    let mut config = GitConfig::default();
    // The last value counts, but for those that are lists.
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in listed.split('\0') {
        // A key alone stands for `true`.
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        let is_lfs = key.starts_with("filter.lfs.") && (value.starts_with("git-lfs ") || value == "true");
        if !HARMLESS.contains(&key) && !FILES.contains(&key) && !is_lfs {
            continue;
        }
        let known = values.entry(key).or_default();
        if key != "safe.directory" {
            known.clear();
        }
        known.push(value);
    }
    for (key, values) in values {
        if FILES.contains(&key) {
            config.files.extend(values.iter().map(|value| (*value).to_owned()));
        }
        for value in values {
            config.add(key, value);
        }
    }
    config
}

impl GitConfig {
    fn add(&mut self, key: &str, value: &str) {
        let (Some((section, _)), Some((above, name))) = (key.split_once('.'), key.rsplit_once('.')) else {
            return;
        };
        let header = match above.strip_prefix(section).and_then(|sub| sub.strip_prefix('.')) {
            Some(subsection) => format!("[{section} \"{}\"]", quoted(subsection)),
            None => format!("[{section}]"),
        };
        // Writing to a text does not fail.
        let _ = writeln!(self.text, "{header}\n\t{name} = \"{}\"", quoted(value));
    }
}

fn quoted(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests write what they need")]
    use super::*;

    #[test]
    fn only_what_is_harmless_is_taken_over() {
        let listed = "user.name\nOld\0user.name\nA \"B\" \\ C\0user.email\na@b\0credential.helper\n!x\0\
            alias.co\n!rm\0core.hookspath\n/x\0core.fsmonitor\n/x\0core.editor\nvim\0core.sshcommand\nssh\0\
            commit.gpgsign\ntrue\0user.signingkey\nK\0url.https://t@h/.insteadof\ngit@h:\0http.proxy\nhttp://u:p@h\0\
            include.path\n~/more\0filter.lfs.process\ngit-lfs filter-process\0filter.lfs.required\ntrue\0\
            filter.lfs.clean\nevil\0filter.x.clean\nevil\0core.excludesfile\n~/.ignored\0safe.directory\n/a\0\
            safe.directory\n/b\0pull.rebase\0";
        let config = of(listed);
        assert_eq!(config.files, ["~/.ignored"]);
        assert_eq!(
            config.text,
            "[core]\n\texcludesfile = \"~/.ignored\"\n[filter \"lfs\"]\n\tprocess = \"git-lfs filter-process\"\n\
             [filter \"lfs\"]\n\trequired = \"true\"\n[pull]\n\trebase = \"true\"\n[safe]\n\tdirectory = \"/a\"\n\
             [safe]\n\tdirectory = \"/b\"\n[user]\n\temail = \"a@b\"\n[user]\n\tname = \"A \\\"B\\\" \\\\ C\"\n"
        );
        assert_eq!(of(""), GitConfig::default());
    }

    #[test]
    fn git_reads_what_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config");
        let name = "A\tB \"C\" \\ # ; é";
        std::fs::write(&file, of(&format!("user.name\n{name}\0")).text).unwrap();
        let read =
            Tool::new("git").args(["config", "-f"]).arg(&file).args(["-z", "user.name"]).run().unwrap();
        assert_eq!(String::from_utf8(read.stdout).unwrap().trim_end_matches('\0'), name);
    }
}
