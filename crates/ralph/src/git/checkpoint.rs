//! The tree before each iteration, recorded in a git directory of ralph's own.
//!
//! Its work tree is the user's, its objects borrow from the user's, its first index is a
//! copy of the user's, and no configuration, hook or filter that an agent can edit is
//! read. The user's branch, index and stash are never touched. Each snapshot is a git
//! tree; nothing is written when nothing has changed.
//!
//! Left out, and named: files over a size, unreadable files, repositories inside.

use super::{Repository, git, runtime_patterns};
use crate::fsx;
use crate::process::tool::{Tool, ToolError};
use ralph_loop::event::SnapshotEnd;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum CheckpointError {
    #[error("{0}")]
    Tool(#[from] ToolError),
    #[error("git {what} failed: {message}")]
    Git { what: &'static str, message: String },
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Larger files are not recorded.
const LARGEST_FILE: u64 = 10 << 20;

/// So many left-out paths are named; more would drown the record.
const NAMED_PATHS: usize = 20;

pub struct Checkpoints {
    dir: PathBuf,
    repository: Repository,
    /// The run's first tree; diffs are told from there.
    base: Option<String>,
    last: Option<String>,
}

pub struct Snapshot {
    pub end: SnapshotEnd,
    /// What has changed since the run's first snapshot.
    pub diff: Option<String>,
}

/// What comes back from the thread that takes a snapshot.
pub type Taken = (Checkpoints, Result<Snapshot, CheckpointError>);

impl Checkpoints {
    /// `base` is the run's first tree, if it has one already.
    pub fn of(dir: PathBuf, repository: Repository, base: Option<String>) -> Checkpoints {
        Checkpoints { dir, repository, base, last: None }
    }

    /// Records the tree. `project` is where ralph's own files lie.
    pub fn take(&mut self, project: &Path, with_diff: bool) -> Result<Snapshot, CheckpointError> {
        if self.last.is_none() {
            self.set_up(project)?;
        }
        let (changed, left_out) = self.changed_paths()?;
        let tree = match &self.last {
            Some(last) if changed.is_empty() => last.clone(),
            _ => self.record(&changed)?,
        };
        let base = self.base.get_or_insert_with(|| tree.clone()).clone();
        let diff = if with_diff && base != tree { Some(self.diff(&base, &tree)?) } else { None };
        self.last = Some(tree.clone());
        Ok(Snapshot { end: SnapshotEnd { tree: Some(tree), left_out, ..SnapshotEnd::default() }, diff })
    }

    fn set_up(&self, project: &Path) -> Result<(), CheckpointError> {
        if self.dir.join("HEAD").exists() {
            // Of a life of this run that was cut short: whoever held it is gone.
            let _ = fsx::remove(&self.dir.join("index.lock"));
            return Ok(());
        }
        output("init", git(&self.repository.top).args(["init", "-q", "--bare"]).arg(&self.dir))?;
        fsx::write_whole(&self.dir.join("config"), CONFIG.as_bytes())?;
        fsx::write_whole(&self.dir.join("info/exclude"), self.excluded(project).as_bytes())?;
        if let Some(objects) = self.repository.git_path("objects") {
            let mut line = objects.into_os_string();
            line.push("\n");
            fsx::write_whole(&self.dir.join("objects/info/alternates"), line.as_bytes())?;
        }
        // With the user's index git knows which files it need not read. Where that does
        // not work (none yet, a split one), everything is simply read once.
        if let Some(index) = self.repository.git_path("index")
            && let Ok(content) = fs_err::read(index)
        {
            fsx::write_whole(&self.dir.join("index"), &content)?;
            if output("ls-files", self.git().args(["ls-files", "--cached", "-z"])).is_err() {
                fsx::remove(&self.dir.join("index"))?;
            }
        }
        // A HEAD that equals the index keeps `status` down to what has changed.
        let tree = self.write_tree()?;
        let commit = output("commit-tree", self.git().args(["commit-tree", "-m", "base", &tree]))?;
        output("update-ref", self.git().args(["update-ref", "HEAD", trimmed(&commit).as_str()]))?;
        Ok(())
    }

    /// What the user ignores by ways that only the user's own git directory knows.
    fn excluded(&self, project: &Path) -> String {
        let mut patterns = String::new();
        let global = git(&self.repository.top).args(["config", "--path", "core.excludesFile"]).run().ok();
        let global = global.and_then(|answer| super::one_path(&answer));
        let default = || {
            let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
            Some(config.or_else(|| Some(std::env::home_dir()?.join(".config")))?.join("git/ignore"))
        };
        let own = self.repository.git_path("info/exclude");
        for path in [global.or_else(default), own].into_iter().flatten() {
            if let Ok(text) = fs_err::read(path) {
                patterns.push_str(&String::from_utf8_lossy(&text));
                patterns.push('\n');
            }
        }
        patterns + &runtime_patterns(&self.repository.top, project)
    }

    /// Paths that differ from the last snapshot, and those that cannot be recorded.
    fn changed_paths(&self) -> Result<(Vec<u8>, Vec<String>), CheckpointError> {
        let status = ["status", "--porcelain=v1", "-z", "-uall", "--no-renames", "--ignore-submodules=all"];
        let listing = output("status", self.git().args(status))?;
        let (mut changed, mut left_out) = (Vec::new(), Vec::new());
        // `XY path`; Y is the work tree against the index, `?` for a new file.
        let entries = listing.split(|byte| *byte == 0).filter(|entry| entry.len() > 3 && entry[1] != b' ');
        for path in entries.map(|entry| &entry[3..]) {
            if self.can_be_recorded(path) {
                changed.extend_from_slice(path);
                changed.push(0);
            } else if left_out.len() < NAMED_PATHS {
                left_out.push(String::from_utf8_lossy(path).into_owned());
            }
        }
        Ok((changed, left_out))
    }

    fn can_be_recorded(&self, path: &[u8]) -> bool {
        if path.ends_with(b"/") {
            return false; // a repository of its own
        }
        let path = self.repository.top.join(OsStr::from_bytes(path));
        match path.symlink_metadata() {
            Ok(meta) if meta.is_file() => meta.len() <= LARGEST_FILE && std::fs::File::open(&path).is_ok(),
            Ok(meta) => meta.is_symlink(),
            Err(_) => true, // deleted, which is a change
        }
    }

    fn record(&self, changed: &[u8]) -> Result<String, CheckpointError> {
        if !changed.is_empty() {
            let update = ["update-index", "-z", "--add", "--remove", "--stdin"];
            output("update-index", self.git().args(update).stdin(changed))?;
        }
        self.write_tree()
    }

    fn write_tree(&self) -> Result<String, CheckpointError> {
        Ok(trimmed(&output("write-tree", self.git().args(["write-tree"]))?))
    }

    fn diff(&self, from: &str, to: &str) -> Result<String, CheckpointError> {
        let diff = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", from, to];
        Ok(String::from_utf8_lossy(&output("diff", self.git().args(diff))?).into_owned())
    }

    fn git(&self) -> Tool<'static> {
        let mut dir = std::ffi::OsString::from("--git-dir=");
        dir.push(&self.dir);
        let mut tree = std::ffi::OsString::from("--work-tree=");
        tree.push(&self.repository.top);
        let tool = git(&self.repository.top).arg(dir).arg(tree);
        let tool = tool.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let tool = tool.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_ATTR_NOSYSTEM", "1");
        ["AUTHOR", "COMMITTER"].into_iter().fold(tool, |tool, who| {
            tool.env(format!("GIT_{who}_NAME"), "ralph").env(format!("GIT_{who}_EMAIL"), "ralph@localhost")
        })
    }
}

const CONFIG: &str = "\
[core]
\tbare = false
\trepositoryformatversion = 0
\tfsmonitor = false
\tlooseCompression = 1
\tautocrlf = false
\tsafecrlf = false
[gc]
\tauto = 0
[index]
\tversion = 4
\tskipHash = true
[feature]
\tmanyFiles = false
";

fn output(what: &'static str, tool: Tool<'_>) -> Result<Vec<u8>, CheckpointError> {
    let output = tool.run()?;
    let message = String::from_utf8_lossy(&output.stderr).trim().to_string();
    if output.success() { Ok(output.stdout) } else { Err(CheckpointError::Git { what, message }) }
}

fn trimmed(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim().to_string()
}
