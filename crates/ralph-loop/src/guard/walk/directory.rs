//! The directory that a shell is in, also where a `cd` may have failed.

use super::loops::is_plain;
use super::scope::Value;
use super::shells::looks_like_listing;
use super::{Walk, normal};
use crate::guard::arg::{Arg, STAR, UNKNOWN};
use crate::guard::invocation::{Invocation, Site};
use crate::guard::shell::ast::{Command, Compound, Item, Joint, Pipeline};
use std::path::{Path, PathBuf};

impl Walk<'_> {
    /// `cd`, `pushd`
    pub(super) fn change_directory(&mut self, to: Option<&Arg>) {
        let before = self.scope.cwd.take();
        let stayed = self.scope.stayed.take();
        let target = self.directory(to, before.as_ref());
        if let Some(before) = &before {
            self.scope.set("OLDPWD", Arg::new(before.to_string_lossy()));
        }
        let is_there = |dir: &PathBuf| self.is_there(dir);
        let may_fail = target.as_ref().is_some_and(|dir| !is_there(dir));
        let is_relative = to.is_some_and(|to| !to.text().starts_with('/'));
        let other = stayed.and_then(|stayed| match self.directory(to, Some(&stayed)).filter(is_there) {
            Some(there) => is_relative.then_some(there),
            None => Some(stayed),
        });
        if may_fail {
            self.scope.left = before;
        }
        self.scope.stayed = other.filter(|other| Some(other) != target.as_ref());
        self.scope.cwd = target;
    }

    /// Where `cd` leads from a directory.
    fn directory(&self, to: Option<&Arg>, from: Option<&PathBuf>) -> Option<PathBuf> {
        match to.map(Arg::text) {
            None => Some(self.world.home.clone()),
            Some("-") => match self.scope.get("OLDPWD") {
                Some(Value::OneOf(values)) => values.first().and_then(Arg::known).map(PathBuf::from),
                _ => None,
            },
            Some(text) if text.starts_with('/') || from.is_some() => {
                // What is unknown below a known directory stays below it: `cd build/$TARGET`.
                let end = text.find([UNKNOWN, STAR]).unwrap_or(text.len());
                let known = match end < text.len() {
                    true => text[..end].rsplit_once('/').map(|(dir, _)| format!("{dir}/some-directory")),
                    false => Some(text.to_owned()),
                };
                known.map(|known| match from {
                    Some(dir) => normal(&dir.join(known)),
                    None => normal(&PathBuf::from(known)),
                })
            }
            Some(_) => None,
        }
    }

    /// Whether a directory exists, or may have been made by this command.
    fn is_there(&self, dir: &Path) -> bool {
        let text = dir.to_string_lossy();
        let is_invented = looks_like_listing(&text) || text.contains("some-directory");
        self.scope.site != Site::Here
            || is_invented
            || (self.world.names)(dir).is_some()
            || self.scope.files.keys().any(|file| file.starts_with(dir))
            || self.invocations.iter().any(|known| may_make(known, dir))
    }

    /// Before a pipeline of a list of `&&` and `||`: which directory it runs in.
    pub(super) fn before_joined(&mut self, joint: Joint, pipeline: &Pipeline) {
        match joint {
            Joint::And => {}
            // `cd build || exit`
            Joint::Or if leaves(pipeline) => self.scope.left = None,
            Joint::Or => self.stay(),
        }
    }

    /// After such a list: what follows runs also if a `cd` in it has failed.
    pub(super) fn after_list(&mut self, item: &Item) {
        match self.scope.ends_on_failure && item.joints.is_empty() {
            true => self.scope.left = None,
            false => self.stay(),
        }
    }

    fn stay(&mut self) {
        let left = self.scope.left.take();
        // After one that has failed already, the shell is where that one left it.
        self.scope.stayed = self.scope.stayed.take().or(left);
    }
}

/// Whether a shell, or what it carries out, ends there.
fn leaves(pipeline: &Pipeline) -> bool {
    match pipeline.0.as_slice() {
        [Command::Simple(simple)] => {
            is_plain(simple, &["exit", "return", "break", "continue", "die", "exec"])
        }
        [Command::Compound(Compound::Braces(list), _)] => {
            list.0.last().and_then(|item| item.pipelines.last()).is_some_and(leaves)
        }
        _ => false,
    }
}

/// Whether a program may make a directory: it is named to one that makes such, or there is no telling.
fn may_make(invocation: &Invocation, dir: &Path) -> bool {
    const NAMED: [&str; 22] = [
        "mkdir",
        "cp",
        "mv",
        "ln",
        "install",
        "rsync",
        "scp",
        "svn",
        "hg",
        "gh",
        "npx",
        "bunx",
        "python",
        "python3",
        "virtualenv",
        "uv",
        "django-admin",
        "rails",
        "composer",
        "docker",
        "git",
        "hugo",
    ];
    const UNTOLD: [&str; 23] = [
        "tar", "bsdtar", "gtar", "unzip", "7z", "make", "gmake", "cmake", "meson", "ninja", "npm", "pnpm",
        "yarn", "bun", "cargo", "go", "gradle", "gradlew", "mvn", "mvnw", "dotnet", "nix", "bazel",
    ];
    const GIT: [&str; 8] =
        ["checkout", "switch", "pull", "merge", "restore", "submodule", "stash", "sparse-checkout"];
    let name = invocation.name();
    let is_named = || {
        invocation.args.iter().any(|arg| {
            let text = arg.text().trim_end_matches('/');
            let path = invocation.cwd.as_ref().map(|cwd| normal(&cwd.join(text)));
            let last = text.rsplit(['/', ':']).next().unwrap_or(text);
            path.is_some_and(|path| path.starts_with(dir))
                || dir.file_name().is_some_and(|name| name.to_str() == Some(last.trim_end_matches(".git")))
        })
    };
    UNTOLD.contains(&name)
        || (name == "git" && invocation.operand(0).is_some_and(|command| GIT.contains(&command.text())))
        || (NAMED.contains(&name) && is_named())
}
