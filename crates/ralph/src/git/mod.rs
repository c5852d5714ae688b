//! The user's repository, seen through the `git` program.
//!
//! Everything here works without git as well: a directory that is no repository simply
//! has no [`Repository`].

pub mod checkpoint;

use crate::fsx;
use crate::layout::RUNTIME_FILES;
use crate::process::tool::{Tool, ToolOutput};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Repository {
    /// The top of the work tree, canonical.
    pub top: PathBuf,
}

impl Repository {
    /// The repository that a directory belongs to, if it does and git is there.
    pub fn around(dir: &Path) -> Option<Repository> {
        let top = one_path(&git(dir).args(["rev-parse", "--show-toplevel"]).run().ok()?)?;
        Some(Repository { top: top.canonicalize().ok()? })
    }

    /// A file or directory of the repository itself, wherever git keeps it.
    fn git_path(&self, name: &str) -> Option<PathBuf> {
        let answer = git(&self.top).args(["rev-parse", "--git-path", name]).run().ok()?;
        Some(self.top.join(one_path(&answer)?))
    }

    /// Files that ralph writes into a project never count as the project's changes.
    pub fn exclude_runtime_files(&self, project: &Path) -> io::Result<()> {
        let Some(path) = self.git_path("info/exclude") else { return Ok(()) };
        let before = match fs_err::read(&path) {
            Ok(before) => before,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(cause) => return Err(cause),
        };
        let text = String::from_utf8_lossy(&before);
        let wanted = runtime_patterns(&self.top, project);
        let mut missing: String = wanted
            .lines()
            .filter(|line| !text.lines().any(|l| l == *line))
            .map(|line| format!("{line}\n"))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        if !text.is_empty() && !text.ends_with('\n') {
            missing.insert(0, '\n');
        }
        if let Some(dir) = path.parent() {
            fsx::dir(dir)?;
        }
        fsx::append(&path, missing.as_bytes())
    }
}

/// Patterns of ralph's own files, as seen from the top of the repository.
fn runtime_patterns(top: &Path, project: &Path) -> String {
    let below = project.strip_prefix(top).unwrap_or(Path::new(""));
    let prefix = if below.as_os_str().is_empty() { String::new() } else { format!("/{}", below.display()) };
    RUNTIME_FILES
        .iter()
        .map(|pattern| match pattern.strip_prefix('!') {
            Some(kept) => format!("!{prefix}{kept}\n"),
            None => format!("{prefix}{pattern}\n"),
        })
        .collect()
}

/// A git command in a directory, untouched by what the environment says of repositories.
fn git(dir: &Path) -> Tool<'static> {
    let git = Tool::new("git").cwd(dir);
    REPOSITORY_VARIABLES.iter().fold(git, Tool::env_remove)
}

/// Set inside hooks and by some tools; they would point git elsewhere.
const REPOSITORY_VARIABLES: &[&str] =
    &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX"];

/// The path that a successful command has printed.
fn one_path(output: &ToolOutput) -> Option<PathBuf> {
    let line = output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout);
    (output.success() && !line.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(line)))
}

/// Makes a directory a repository with one commit of what is in it; false without git.
pub fn scratch_repository(dir: &Path) -> bool {
    let identity =
        ["-c", "user.name=ralph", "-c", "user.email=ralph@localhost", "-c", "commit.gpgsign=false"];
    let commit = git(dir).args(identity).args(["commit", "-q", "-m", "begin"]);
    [git(dir).args(["init", "-q"]), git(dir).args(["add", "."]), commit]
        .into_iter()
        .all(|command| command.run().is_ok_and(|done| done.success()))
}
