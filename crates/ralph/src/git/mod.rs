//! The user's repository, seen through the `git` program.
//!
//! Everything here works without git as well: a directory that is no repository simply
//! has no [`Repository`].

pub mod asked;
pub mod changed;
pub mod checked_out;
pub mod checkpoint;
pub mod copied_repository;
mod copier;
mod edit_tree;
mod exchange;
mod feasible;
mod git_dir;
mod ignored;
mod index_file;
pub mod kept;
pub mod known_head;
mod known_refs;
mod left_out;
mod long_lived;
mod loose;
#[cfg(test)]
mod nested;
pub mod objects;
mod pack;
mod private;
mod push;
pub mod restore;
mod scan;
pub mod shadow;
mod sign;
mod stale_lock;
mod stamp;
#[cfg(test)]
mod test_support;
mod tidy;
pub mod tree_changes;
pub mod users_head;
mod worktrees;

use crate::fsx;
use crate::layout::{DAMAGED_REPOSITORIES, LINKED_RUNTIME_FILES, Project, RUNTIME_FILES};
use crate::process::tool::{Tool, ToolError, ToolOutput};
use git_dir::GitDir;
use private::Private;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

#[derive(Clone, Debug)]
pub struct Repository {
    /// The top of the work tree, canonical.
    pub top: PathBuf,
}

/// Why git finds no repository.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum NoRepository {
    #[error("not a git repository")]
    None,
    /// It belongs to another user; the command that makes git trust it.
    #[error("git refuses this repository: it belongs to another user")]
    Untrusted { trust: String },
    /// It says nothing about the repository.
    #[error("git does not answer: {0}")]
    Unanswered(String),
}

impl NoRepository {
    fn of_answer(answer: &ToolOutput) -> NoRepository {
        // The command is the same in every language that git speaks.
        let said = String::from_utf8_lossy(&answer.stderr);
        let mut lines = said.lines().map(str::trim);
        match lines.find(|line| line.starts_with("git config") && line.contains("safe.directory")) {
            Some(trust) => NoRepository::Untrusted { trust: trust.to_string() },
            None => NoRepository::None,
        }
    }
}

impl Repository {
    /// The repository that a directory belongs to, if it does and git can be asked.
    pub fn around(dir: &Path) -> Option<Repository> {
        Repository::find(dir).ok()
    }

    /// The same, or why there is none.
    pub fn find(dir: &Path) -> Result<Repository, NoRepository> {
        let git = apart_from_hooks(Tool::new("git").cwd(dir).timeout(TIMEOUT));
        let answer = git.args(["rev-parse", "--show-toplevel"]).run().map_err(|cause| match cause {
            // Without git there is no repository either.
            ToolError::NotStarted { .. } => NoRepository::None,
            ToolError::Broken { .. } | ToolError::TimedOut { .. } | ToolError::Stopped { .. } => {
                NoRepository::Unanswered(cause.to_string())
            }
        })?;
        let top = one_path(&answer).and_then(|top| top.canonicalize().ok());
        top.map(Repository::at).ok_or_else(|| NoRepository::of_answer(&answer))
    }

    /// One that was found before.
    pub fn at(top: PathBuf) -> Repository {
        Repository { top }
    }

    fn git(&self) -> Tool<'static> {
        git(&self.top)
    }

    /// A command that fetches nothing that a partial clone lacks.
    fn local(&self) -> Tool<'static> {
        self.git().env("GIT_NO_LAZY_FETCH", "1")
    }

    /// A command that runs no hooks and starts no housekeeping.
    fn quiet(&self) -> Tool<'static> {
        self.git().args(["-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false"])
    }

    /// A file or directory of the repository itself, wherever git keeps it.
    fn git_path(&self, name: &str) -> Option<PathBuf> {
        if let Some(path) = GitDir::of(&self.top).and_then(|dir| dir.path(name)) {
            return Some(path);
        }
        let answer = self.git().args(["rev-parse", "--git-path", name]).run().ok()?;
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

/// Where the user's repository keeps what an attempt of a run has left.
pub fn attempt_ref(run_id: &str, attempt: u32) -> String {
    format!("{}attempt-{attempt}", attempts_of(run_id))
}

/// Begins the names of all refs of a run.
pub fn attempts_of(run_id: &str) -> String {
    format!("refs/ralph/{run_id}/")
}

impl Repository {
    /// Forgets what the attempts of a run have left. The objects go when git next tidies up, unless
    /// something else has them.
    pub fn forget_attempts(&self, run_id: &str) -> Result<(), GitError> {
        let refs = attempts_of(run_id);
        let list = ["for-each-ref", "--format=delete %(refname)", &refs];
        let deletions = checked("for-each-ref", self.git().args(list))?;
        if deletions.is_empty() {
            return Ok(());
        }
        // No hook is asked: it would see refs that only ralph knows.
        let update = self.git().args(["-c", "core.hooksPath=/dev/null", "update-ref", "--stdin"]);
        checked("update-ref", update.stdin(&deletions)).map(drop)
    }
}

/// A git command on the user's repository that did not work.
#[derive(Debug, Error)]
pub enum GitError {
    #[error("{0}")]
    Tool(#[from] ToolError),
    #[error("git {what} failed: {message}")]
    Refused { what: String, message: String },
    #[error("unresolved merge conflict: {path}")]
    Unmerged { path: String },
    #[error("not a worktree any more: {}", .0.display())]
    NoWorktree(PathBuf),
    #[error("{0}")]
    Io(#[source] io::Error),
}

/// What is left of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// As far as a first look tells.
    Whole,
    Gone,
    /// There is a `.git`, and git cannot work with it.
    Damaged,
}

impl Repository {
    pub fn condition(&self) -> Condition {
        if self.top.join(".git").symlink_metadata().is_err() {
            return Condition::Gone;
        }
        match Repository::find(&self.top) {
            Err(NoRepository::Untrusted { .. } | NoRepository::Unanswered(_)) => Condition::Whole,
            // Another one may lie around it, and a commit that HEAD names may be missing.
            Ok(found) if found.top == self.top => {
                let names_commit = self.succeeds(&["rev-parse", "--verify", "-q", "HEAD"]);
                if names_commit && !self.has_commit() { Condition::Damaged } else { Condition::Whole }
            }
            Ok(_) | Err(NoRepository::None) => Condition::Damaged,
        }
    }

    /// Whether something is missing of what its refs, its logs and its index name.
    fn lacks_objects(&self) -> bool {
        let check = ["fsck", "--connectivity-only", "--no-dangling", "--no-progress"];
        // One that does not answer has found nothing missing.
        self.local().args(check).run().is_ok_and(|answer| !answer.success())
    }

    /// How its objects are named.
    fn object_format(&self) -> String {
        let asked = self.git().args(["rev-parse", "--show-object-format"]).run();
        let answer = asked.ok().filter(ToolOutput::success).map(|answer| answer.stdout).unwrap_or_default();
        match String::from_utf8_lossy(&answer).trim() {
            "" => "sha1".to_owned(),
            format => format.to_owned(),
        }
    }

    pub fn has_commit(&self) -> bool {
        self.succeeds(&["rev-parse", "--verify", "-q", "HEAD^{commit}"])
    }

    /// The tree of a commit, or of whatever else names one.
    pub fn tree_of(&self, revision: &str) -> Option<String> {
        let name = format!("{revision}^{{tree}}");
        let parse = ["rev-parse", "--verify", "-q", "--end-of-options", &name];
        let answer = self.git().args(parse).run().ok().filter(ToolOutput::success)?;
        let tree = answer.stdout.trim_ascii_end();
        is_object_id(tree).then(|| String::from_utf8_lossy(tree).into_owned())
    }

    /// How many commits the current one has on top of another.
    pub fn commits_since(&self, commit: &str) -> u64 {
        let count = self.git().args(["rev-list", "--count", &format!("{commit}..HEAD"), "--"]).run();
        let count = count.ok().filter(ToolOutput::success).map(|count| count.stdout).unwrap_or_default();
        String::from_utf8_lossy(&count).trim().parse().unwrap_or(0)
    }

    pub fn has_branch(&self, branch: &str) -> bool {
        self.succeeds(&["rev-parse", "--verify", "-q", &format!("refs/heads/{branch}")])
    }

    /// The commit that a branch is at, in short, if there is one of that name.
    pub fn commit_of(&self, branch: &str) -> Option<String> {
        let parse = ["rev-parse", "--verify", "-q", "--short", &format!("refs/heads/{branch}")];
        let answer = self.git().args(parse).run().ok().filter(ToolOutput::success)?;
        Some(String::from_utf8_lossy(&answer.stdout).trim().to_string())
    }

    /// What a branch has in the place of a file.
    pub fn content_on(&self, branch: &str, file: &Path) -> Option<Vec<u8>> {
        self.content_at(&format!("refs/heads/{branch}"), file)
    }

    /// What the last commit has in the place of a file.
    pub fn committed_content(&self, file: &Path) -> Option<Vec<u8>> {
        self.content_at("HEAD", file)
    }

    fn content_at(&self, revision: &str, file: &Path) -> Option<Vec<u8>> {
        let path = file.strip_prefix(&self.top).ok()?.to_str()?;
        let shown = self.git().args(["show", &format!("{revision}:{path}")]).run().ok()?;
        shown.success().then_some(shown.stdout)
    }

    /// Whether everything on a branch is also on another one whose name does not begin with
    /// `runs`: the branches of runs may all go at once. HEAD does not count. It may be the branch
    /// itself, or detached at its commit.
    pub fn is_merged(&self, branch: &str, runs: &str) -> bool {
        let own = format!("refs/heads/{branch}");
        let list = ["for-each-ref", "--format=%(refname:lstrip=2)", "--contains", &own, "refs/heads"];
        let holding = checked("for-each-ref", self.git().args(list)).unwrap_or_default();
        let mut holding = holding.split(|byte| *byte == b'\n').filter(|name| !name.is_empty());
        holding.any(|name| name != branch.as_bytes() && !name.starts_with(runs.as_bytes()))
    }

    pub fn allows_branch(&self, name: &str) -> bool {
        self.succeeds(&["check-ref-format", "--branch", name])
    }

    /// Paths that a commit of everything would take in, each ended by a zero byte.
    /// Repositories inside are not among them.
    pub fn changed_paths(&self) -> Result<Vec<u8>, GitError> {
        Ok(zero_ended(&self.status()?, |_| true))
    }

    /// Whether something is here that no commit of this repository holds, repositories
    /// inside included.
    pub fn has_uncommitted(&self) -> Result<bool, GitError> {
        Ok(!self.status()?.is_empty())
    }

    /// `XY path` of everything that differs from HEAD, each ended by a zero byte; without local
    /// settings that no commit holds.
    fn status(&self) -> Result<Vec<u8>, GitError> {
        let status = self.whole_status()?;
        let private = Private::among(&self.top, &status);
        let entries = status.split_inclusive(|byte| *byte == 0);
        Ok(entries.filter(|entry| !private.holds(entry)).flatten().copied().collect())
    }

    fn whole_status(&self) -> Result<Vec<u8>, GitError> {
        let status = ["status", "--porcelain=v1", "-z", "-uall", "--no-renames", "--ignore-submodules=dirty"];
        checked("status", self.git().args(status))
    }

    /// An agent may have staged local settings: `.gitignore` is a file like any other.
    pub fn unstage_private(&self) -> Result<(), GitError> {
        let status = self.whole_status()?;
        let private = Private::among(&self.top, &status);
        let staged = zero_ended(&status, |entry| entry[0] != b'?' && private.holds(entry));
        if staged.is_empty() {
            return Ok(());
        }
        let unstage = ["rm", "-q", "-f", "--cached", "--pathspec-from-file=-", "--pathspec-file-nul"];
        let unstage = self.git().env("GIT_LITERAL_PATHSPECS", "1").args(unstage);
        checked("rm --cached", unstage.stdin(&staged)).map(drop)
    }

    /// Stages every change, new files included, but for local settings that no commit holds. A
    /// conflict is not staged: that would commit its markers as its solution.
    pub fn stage_all(&self) -> Result<(), GitError> {
        self.unstage_private()?;
        let status = self.status()?;
        let conflicts = zero_ended(&status, is_unmerged);
        if let Some(first) = conflicts.split(|byte| *byte == 0).find(|path| !path.is_empty()) {
            return Err(GitError::Unmerged { path: String::from_utf8_lossy(first).into_owned() });
        }
        // First: a directory may have become a link, and git looks at nothing behind one.
        let deleted = zero_ended(&status, |entry| entry[1] == b'D');
        if !deleted.is_empty() {
            checked("update-index", self.git().args(FORGET).stdin(&deleted))?;
        }
        // What is staged already may be gone from both index and tree, and `add` would miss it.
        let unstaged = zero_ended(&status, |entry| !matches!(entry[1], b' ' | b'D'));
        if unstaged.is_empty() {
            return Ok(());
        }
        let add = ["add", "-A", "--pathspec-from-file=-", "--pathspec-file-nul"];
        checked("add", self.git().env("GIT_LITERAL_PATHSPECS", "1").args(add).stdin(&unstaged)).map(drop)
    }

    /// A commit without questions: no hook, no signature, an identity if there is none.
    pub fn commit_plainly(&self, message: &str) -> Result<(), GitError> {
        checked("commit", self.plain_commit().args(["-m", message])).map(drop)
    }

    fn plain_commit(&self) -> Tool<'static> {
        // `--no-verify` alone leaves some hooks on.
        let mut commit = self.git().args(["-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"]);
        if !self.succeeds(&["var", "GIT_COMMITTER_IDENT"]) {
            commit = commit.args(SCRATCH_IDENTITY);
        }
        commit.args(["commit", "-q", "--no-verify"])
    }

    /// A commit of what is changed at or below these paths; what else is changed or staged stays
    /// as it is. False if there is nothing that git would take.
    pub fn commit_only(&self, paths: &[PathBuf], message: &str) -> Result<bool, GitError> {
        let entries = self.status()?;
        let is_asked = |entry: &[u8]| {
            let path = self.top.join(OsStr::from_bytes(&entry[3..]));
            paths.iter().any(|asked| path.starts_with(asked))
        };
        let changed = zero_ended(&entries, is_asked);
        if changed.is_empty() {
            return Ok(false);
        }
        let from_stdin = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        let literally = |tool: Tool<'static>| tool.env("GIT_LITERAL_PATHSPECS", "1");
        // A new file has to be known before it can be committed by its name.
        checked("add", literally(self.git()).args(["add", "-A"]).args(from_stdin).stdin(&changed))?;
        let commit = literally(self.plain_commit()).args(["--only", "-m", message]);
        checked("commit", commit.args(from_stdin).stdin(&changed)).map(|_| true)
    }

    /// Whether files may have other bytes in the work tree than in the index.
    fn converts_files(&self, settings: &FileSettings) -> bool {
        let own = || self.git_path("info/attributes").is_some_and(|path| path.exists());
        let untracked = || self.top.join(".gitattributes").exists();
        let tracked = || {
            let list = ["ls-files", "--", ".gitattributes", "**/.gitattributes"];
            self.git().args(list).run().is_ok_and(|listing| !listing.stdout.is_empty())
        };
        settings.converts_files || own() || untracked() || tracked()
    }

    fn file_settings(&self) -> FileSettings {
        const KEYS: &str = r"^core\.(autocrlf|eol|attributesfile|excludesfile)$";
        let listed = self.git().args(["config", "-z", "--get-regexp", KEYS]).run();
        let listed = listed.map(|answer| answer.stdout).unwrap_or_default();
        let keys =
            listed.split(|byte| *byte == 0).filter_map(|entry| entry.split(|byte| *byte == b'\n').next());
        let (excludes, others): (Vec<&[u8]>, Vec<&[u8]>) =
            keys.filter(|key| !key.is_empty()).partition(|key| *key == b"core.excludesfile");
        // Git knows what a path in its settings means.
        let path = || one_path(&self.git().args(["config", "--path", "core.excludesFile"]).run().ok()?);
        let excludes_file = if excludes.is_empty() { None } else { path() };
        FileSettings { converts_files: !others.is_empty(), excludes_file }
    }

    /// Whether one of the newest commits has a line that says this.
    pub fn recent_commit_says(&self, line: &str) -> bool {
        let log = self.git().args(["log", "-20", "--format=%B"]).run();
        log.is_ok_and(|log| String::from_utf8_lossy(&log.stdout).lines().any(|said| said == line))
    }

    fn succeeds(&self, args: &[&str]) -> bool {
        self.git().args(args).run().is_ok_and(|answer| answer.success())
    }
}

/// What git's settings say of a user's files.
struct FileSettings {
    /// Line endings, or attributes elsewhere.
    converts_files: bool,
    /// Patterns of the user's own.
    excludes_file: Option<PathBuf>,
}

/// The paths of the entries of a status that fit, but for repositories inside.
fn zero_ended(status: &[u8], fits: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let entries = status.split(|byte| *byte == 0).filter(|entry| entry.len() > 3 && fits(entry));
    let paths = entries.map(|entry| &entry[3..]).filter(|path| !path.ends_with(b"/"));
    paths.flat_map(|path| path.iter().copied().chain([0])).collect()
}

fn is_unmerged(entry: &[u8]) -> bool {
    matches!(&entry[..2], b"DD" | b"AA" | [b'U', _] | [_, b'U'])
}

/// Removes paths from the index, whatever is in their place.
const FORGET: [&str; 4] = ["update-index", "-z", "--force-remove", "--stdin"];

pub fn checked(what: &str, tool: Tool<'_>) -> Result<Vec<u8>, GitError> {
    checked_output(what, tool.run()?)
}

fn checked_output(what: &str, output: ToolOutput) -> Result<Vec<u8>, GitError> {
    if output.success() {
        return Ok(output.stdout);
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_string();
    Err(GitError::Refused { what: what.to_string(), message })
}

const SCRATCH_IDENTITY: [&str; 4] = ["-c", "user.name=ralph", "-c", "user.email=ralph@localhost"];

/// Patterns of ralph's own files, as seen from the top of the repository.
fn runtime_patterns(top: &Path, project: &Path) -> String {
    let prefix = pattern_of(project.strip_prefix(top).unwrap_or(Path::new("")));
    let own = RUNTIME_FILES.iter().map(|pattern| match pattern.strip_prefix('!') {
        Some(kept) => format!("!{prefix}{kept}\n"),
        None => format!("{prefix}{pattern}\n"),
    });
    let ralph_dir = Project::at(project.to_path_buf()).ralph_dir();
    let linked = ralph_dir.is_symlink().then(|| ralph_dir.canonicalize().ok()).flatten();
    let linked = linked.and_then(|real| Some(pattern_of(real.strip_prefix(top).ok()?)));
    let behind_link =
        linked.iter().flat_map(|dir| LINKED_RUNTIME_FILES.iter().map(move |file| format!("{dir}{file}\n")));
    own.chain(behind_link).chain([format!("{DAMAGED_REPOSITORIES}\n")]).collect()
}

/// A directory in a pattern; nothing for the top itself. Its name is none.
fn pattern_of(below: &Path) -> String {
    let mut pattern = String::new();
    if !below.as_os_str().is_empty() {
        pattern.push('/');
        for c in below.to_string_lossy().chars() {
            if matches!(c, '*' | '?' | '[' | ']' | '\\') {
                pattern.push('\\');
            }
            pattern.push(c);
        }
    }
    pattern
}

/// A command on the user's repository in a directory, whatever program it is.
pub fn apart_from_hooks<'t>(tool: Tool<'t>) -> Tool<'t> {
    REPOSITORY_VARIABLES.iter().fold(tool, Tool::env_remove)
}

/// What tells the git of an agent to tidy up before it ends. Behind its back, it would be taken
/// for something that the agent has left running, and be ended half way, with its lock.
pub fn tidy_in_foreground() -> Vec<(String, String)> {
    const SETTINGS: [&str; 2] = ["gc.autoDetach", "maintenance.autoDetach"];
    // There may be some of the user's own.
    let before = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse::<usize>().ok());
    let before = before.unwrap_or(0);
    let settings = (before..).zip(SETTINGS).flat_map(|(number, name)| {
        [
            (format!("GIT_CONFIG_KEY_{number}"), name.to_string()),
            (format!("GIT_CONFIG_VALUE_{number}"), "false".to_string()),
        ]
    });
    let count = ("GIT_CONFIG_COUNT".to_string(), (before + SETTINGS.len()).to_string());
    settings.chain([count]).collect()
}

/// A git command at the top of a repository, untouched by what the environment says of repositories.
/// If an agent has deleted this one, another that lies around it is not taken for it.
fn git(top: &Path) -> Tool<'static> {
    let git = Tool::new("git").cwd(top).timeout(TIMEOUT);
    let above = top.parent().unwrap_or(Path::new("/"));
    apart_from_hooks(git).env("GIT_CEILING_DIRECTORIES", above)
}

/// A command whose commits are ralph's own.
fn by_ralph(tool: Tool<'_>) -> Tool<'_> {
    ["AUTHOR", "COMMITTER"].into_iter().fold(tool, |tool, who| {
        tool.env(format!("GIT_{who}_NAME"), "ralph").env(format!("GIT_{who}_EMAIL"), "ralph@localhost")
    })
}

/// A repository that answers no sooner is on a disk that hangs.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Set inside hooks and by some tools; they would point git elsewhere.
const REPOSITORY_VARIABLES: &[&str] =
    &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX"];

/// Whether this is the whole name of an object.
pub fn is_object_id(text: &[u8]) -> bool {
    matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit)
}

/// The path that a successful command has printed.
fn one_path(output: &ToolOutput) -> Option<PathBuf> {
    let line = output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout);
    (output.success() && !line.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(line)))
}

/// Makes a directory a repository with one commit of what is in it; false without git.
pub fn scratch_repository(dir: &Path) -> bool {
    let commit = git(dir).args(SCRATCH_IDENTITY).args(["-c", "commit.gpgsign=false"]);
    let commit = commit.args(["commit", "-q", "-m", "begin"]);
    [git(dir).args(["init", "-q"]), git(dir).args(["add", "."]), commit]
        .into_iter()
        .all(|command| command.run().is_ok_and(|done| done.success()))
}
