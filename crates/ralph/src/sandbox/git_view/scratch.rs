//! Git directories of ralph's own, through which its gits look at what agents have left.

use super::format::Format;
use crate::fsx;
use crate::git::apart_from_hooks;
use crate::process::tool::Tool;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Packing what an agent has committed may take a while; a disk that hangs never answers.
const TIMEOUT: Duration = Duration::from_secs(600);

/// What would lead a git elsewhere, beside what all gits of ralph's are kept from.
const ELSEWHERE: [&str; 7] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_NAMESPACE",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
];

/// A git on this git directory that runs no hook or monitor, and obeys only its configuration.
pub(super) fn git(git_dir: &Path) -> Tool<'static> {
    git_as_configured(git_dir).args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]).args([
        "-c",
        "gc.auto=0",
        "-c",
        "maintenance.auto=false",
    ])
}

/// One that is only asked for its configuration.
pub(super) fn git_as_configured(git_dir: &Path) -> Tool<'static> {
    let git = apart_from_hooks(Tool::new("git")).cwd("/").timeout(TIMEOUT);
    let git = ELSEWHERE.iter().fold(git, Tool::env_remove);
    let mut option = OsString::from("--git-dir=");
    option.push(git_dir);
    // In the language that its messages are looked at in.
    git.env("LC_ALL", "C")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_NO_LAZY_FETCH", "1")
        .arg(option)
}

/// A git directory with a configuration of ralph's own, and refs and objects of another one.
pub(super) struct Scratch {
    dir: PathBuf,
}

impl Scratch {
    /// Makes it in the place of one that was left. Refs are those of a git directory, live and
    /// under the same locks, and there are no reflogs.
    pub(super) fn make(
        dir: PathBuf,
        format: Format,
        refs_of: &Path,
        objects: &[PathBuf],
    ) -> io::Result<Scratch> {
        if dir.symlink_metadata().is_ok() {
            fsx::remove_tree(&dir)?;
        }
        fsx::dir(&dir.join("objects/info"))?;
        fsx::write_whole(&dir.join("objects/info/alternates"), &alternates_list(objects))?;
        fsx::write_whole(&dir.join("config"), format.config().as_bytes())?;
        fsx::write_whole(&dir.join("HEAD"), b"ref: refs/heads/.invalid\n")?;
        if format.reftable {
            fsx::dir(&dir.join("refs"))?;
            fsx::symlink(&refs_of.join("reftable"), &dir.join("reftable"))?;
        } else {
            fsx::symlink(&refs_of.join("refs"), &dir.join("refs"))?;
            fsx::symlink(&refs_of.join("packed-refs"), &dir.join("packed-refs"))?;
        }
        Ok(Scratch { dir })
    }

    /// A linked worktree of it, with refs of its own that are those of another one.
    pub(super) fn worktree(&self, refs_of: &Path) -> io::Result<PathBuf> {
        let dir = self.dir.join("worktrees/w");
        fsx::dir(&dir.join("refs"))?;
        for (name, content) in
            [("HEAD", "ref: refs/heads/.invalid\n"), ("commondir", "../..\n"), ("gitdir", "/nowhere/.git\n")]
        {
            fsx::write_whole(&dir.join(name), content.as_bytes())?;
        }
        fsx::symlink(&refs_of.join("reftable"), &dir.join("reftable"))?;
        Ok(dir)
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn git(&self) -> Tool<'static> {
        git(&self.dir)
    }
}

/// A list of alternates. A path that begins with a quote, or holds a newline, is quoted as in C.
pub(super) fn alternates_list(objects: &[PathBuf]) -> Vec<u8> {
    objects
        .iter()
        .flat_map(|objects| [quoted(objects.as_os_str().as_bytes()), b"\n".to_vec()].concat())
        .collect()
}

fn quoted(path: &[u8]) -> Vec<u8> {
    if !path.starts_with(b"\"") && !path.starts_with(b"#") && !path.contains(&b'\n') {
        return path.to_vec();
    }
    let mut quoted = vec![b'"'];
    for byte in path {
        match byte {
            b'\n' => quoted.extend_from_slice(b"\\n"),
            b'"' | b'\\' => quoted.extend_from_slice(&[b'\\', *byte]),
            _ => quoted.push(*byte),
        }
    }
    quoted.push(b'"');
    quoted
}
