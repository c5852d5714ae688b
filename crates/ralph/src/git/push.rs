//! Pushes of a run whose agents are in a sandbox.
//!
//! They need the user's keys, so they run outside, and so nothing may be run that an agent could have
//! written: no hook, and no git in a repository below this one.

use super::{GitError, Repository, checked};
use crate::process::tool::Tool;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

/// A push over a slow line may take a while; one that waits for a password never ends.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Never asked by a push outside, however the user has configured it.
const WITHOUT_SUBMODULES: &str = "--recurse-submodules=no";

impl Repository {
    /// Pushes without hooks, large files first. `args` are what follows `git push`; `held` stays open
    /// for as long as a program works on it.
    pub fn push_without_hooks(&self, args: &[&str], held: Option<&OwnedFd>) -> Result<(), GitError> {
        let git = || {
            let git = self.quiet().args(["-c", "core.fsmonitor=false"]).timeout(TIMEOUT);
            let held = held.and_then(|held| held.try_clone().ok());
            held.into_iter().fold(git, Tool::holding).env("GIT_TERMINAL_PROMPT", "0")
        };
        if self.uses_lfs() {
            checked("lfs push", git().args(self.lfs_push(args)))?;
        }
        let push = git().args(["push", "--no-verify"]);
        // Of two such options the last one counts, and nothing after `--` is an option.
        let push = match args.iter().position(|arg| *arg == "--") {
            Some(end) => push.args(&args[..end]).arg(WITHOUT_SUBMODULES).args(&args[end..]),
            None => push.args(args).arg(WITHOUT_SUBMODULES),
        };
        checked("push", push).map(drop)
    }

    /// The user's hook that such a push leaves out.
    pub fn pre_push_hook(&self) -> Option<PathBuf> {
        let answer = self.git().args(["rev-parse", "--git-path", "hooks/pre-push"]).run().ok()?;
        let hook = self.top.join(super::one_path(&answer)?);
        let is_program =
            hook.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
        // That of git-lfs does what is done here as well.
        let is_lfs = std::fs::read(&hook)
            .is_ok_and(|text| String::from_utf8_lossy(&text).contains("git lfs pre-push"));
        (is_program && !is_lfs).then_some(hook)
    }

    /// Whether files of the last commit are kept by git-lfs.
    fn uses_lfs(&self) -> bool {
        let look = ["grep", "--no-recurse-submodules", "-q", "-F", "filter=lfs", "HEAD", "--"];
        self.succeeds(&[&look[..], &[".gitattributes", "**/.gitattributes"]].concat())
    }

    /// What git-lfs is to be told for a push.
    fn lfs_push(&self, args: &[&str]) -> Vec<String> {
        let mut words = vec!["lfs".to_string(), "push".to_string()];
        let mut named = args.iter().filter(|arg| !arg.starts_with('-'));
        let remote = named.next().map_or_else(|| self.push_remote(), ToString::to_string);
        if args.iter().any(|arg| matches!(*arg, "--all" | "--mirror" | "--tags" | "--branches")) {
            return words.into_iter().chain(["--all".to_string(), remote]).collect();
        }
        words.push(remote);
        // What is pushed from: `+main:main`. An empty one deletes a branch.
        let from = |refspec: &&str| {
            refspec.trim_start_matches('+').split(':').next().unwrap_or_default().to_string()
        };
        let mut refs: Vec<String> = named.map(from).filter(|name| !name.is_empty()).collect();
        if refs.is_empty() {
            refs.push("HEAD".to_string());
        }
        words.into_iter().chain(refs).collect()
    }

    /// Where git pushes to by itself.
    fn push_remote(&self) -> String {
        let branch = self.answer(&["symbolic-ref", "-q", "--short", "HEAD"]).unwrap_or_default();
        let keys = [
            format!("branch.{branch}.pushRemote"),
            "remote.pushDefault".into(),
            format!("branch.{branch}.remote"),
        ];
        let configured = keys.iter().find_map(|key| self.answer(&["config", "--get", key]));
        configured.unwrap_or_else(|| "origin".to_string())
    }
}
