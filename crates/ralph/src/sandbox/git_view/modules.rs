//! Git directories of submodules that were made inside.

use super::config;
use super::format::Format;
use super::root::Root;
use super::scratch;
use crate::fsx;
use crate::git::{GitError, checked};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use thiserror::Error;

#[derive(Debug, Error)]
pub(super) enum ModuleError {
    #[error("{0}")]
    Git(#[from] GitError),
    #[error("its work tree is not in the project")]
    Elsewhere,
}

/// All that is taken over of a configuration that agents wrote.
const SETTINGS: [&str; 3] = ["core.filemode", "core.ignorecase", "core.precomposeunicode"];
const OF_BRANCH: [&str; 2] = ["remote", "merge"];
const OF_REMOTE: [&str; 2] = ["url", "fetch"];

/// Makes an empty git directory, to which the rest is carried over.
pub(super) fn make(root: &Root, taken: &Path, below: &Path) -> Result<(), ModuleError> {
    let settings = config::list(&taken.join(below).join("config"))?;
    let last =
        |key: &str| settings.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_slice());
    let real = root.real.join(below);
    let work_tree = last("core.worktree").map(|path| joined(&real, Path::new(OsStr::from_bytes(path))));
    if !work_tree.is_some_and(|path| path.starts_with(&root.top) && path != root.top) {
        return Err(ModuleError::Elsewhere);
    }
    let format = Format::of(&taken.join(below))?;
    let io = GitError::Io;
    // Not in its place: one that is half made would be taken for whole.
    let beside = root.scratch("module");
    super::root::remove(&beside).map_err(io)?;
    for dir in ["refs", "objects/info", "objects/pack", "hooks", "info"] {
        fsx::dir(&beside.join(dir)).map_err(io)?;
    }
    fsx::write_whole(&beside.join("HEAD"), b"ref: refs/heads/.invalid\n").map_err(io)?;
    let file = beside.join("config");
    let text = format
        .config()
        .replace("bare = true", "bare = false")
        .replace("logAllRefUpdates = false", "logAllRefUpdates = true");
    fsx::write_whole(&file, text.as_bytes()).map_err(io)?;
    for (key, value) in settings.iter().filter(|(key, _)| is_harmless(key) || key == "core.worktree") {
        let add = scratch::git(Path::new("/nowhere")).args(["config", "--file"]).arg(&file);
        checked("config", add.arg("--add").arg(key).arg(OsStr::from_bytes(value)))?;
    }
    fsx::dir(real.parent().unwrap_or(&root.real)).map_err(io)?;
    // It may be on another disk.
    let mut near = real.clone().into_os_string();
    near.push(".ralph");
    let near = PathBuf::from(near);
    super::root::remove(&near).map_err(io)?;
    fsx::TreeCopy::of_at_most(1 << 20).copy(&beside, &near).map_err(io)?;
    Ok(fsx::rename(&near, &real).map_err(io)?)
}

/// Nothing that names a program, and nothing that leads elsewhere but the remote.
fn is_harmless(key: &str) -> bool {
    let mut parts = key.splitn(2, '.');
    let (section, rest) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let (name, variable) = rest.rsplit_once('.').unwrap_or(("", rest));
    match section {
        "remote" => !name.is_empty() && OF_REMOTE.contains(&variable),
        "branch" => !name.is_empty() && OF_BRANCH.contains(&variable),
        _ => SETTINGS.contains(&key),
    }
}

/// A path relative to a directory, without `..`.
pub(super) fn joined(dir: &Path, path: &Path) -> PathBuf {
    let mut joined = PathBuf::new();
    for part in dir.join(path).components() {
        match part {
            Component::ParentDir => drop(joined.pop()),
            Component::CurDir => {}
            other => joined.push(other),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_names_a_program_is_taken_over() {
        for good in ["remote.origin.url", "remote.a.b.fetch", "branch.x.merge", "core.filemode"] {
            assert!(is_harmless(good), "{good}");
        }
        for bad in [
            "core.fsmonitor",
            "core.hookspath",
            "core.sshcommand",
            "filter.x.clean",
            "alias.x",
            "include.path",
            "remote.x.uploadpack",
            "remote.x.vcs",
            "remote.url",
            "diff.x.command",
            "credential.helper",
        ] {
            assert!(!is_harmless(bad), "{bad}");
        }
        assert_eq!(joined(Path::new("/a/.git/modules/x"), Path::new("../../../x")), Path::new("/a/x"));
        assert_eq!(joined(Path::new("/a/.git/modules/x"), Path::new("/etc")), Path::new("/etc"));
    }
}
