//! What agents have left in the copy, copied out of their reach.

use super::copy::{MARK, git_dirs};
use super::root::Root;
use crate::fsx::{Taken, Wanted};
use std::io;
use std::path::{Component, Path, PathBuf};

/// Not even a large project has as many refs and new objects at once.
const MOST_FILES: usize = 1_000_000;

/// No ref, and nothing that names a directory, is longer.
const SHORT: u64 = 4 << 10;
const MIDDLE: u64 = 64 << 20;
const LONG: u64 = 4 << 30;

/// Copies what can be carried over; nothing may be at `to`. Returns what was left out because it is
/// no regular file, or too large.
pub(super) fn take(root: &Root, to: &Path) -> io::Result<Vec<PathBuf>> {
    let (copy, mut left_out) = (root.copy(), Vec::new());
    for below in git_dirs(&copy, &root.own) {
        let mut taken = Taken::of_at_most(MOST_FILES);
        taken.copy(&copy, &below, &to.join(&below), &wanted)?;
        left_out.extend(taken.left_out.iter().map(|path| below.join(path)));
    }
    Ok(left_out)
}

fn wanted(path: &Path) -> Wanted {
    let parts: Option<Vec<&str>> = path.components().map(name_of).collect();
    // A ref may have any name.
    let first = path.components().next().and_then(name_of);
    match (first, parts.as_deref()) {
        (Some("refs"), _) => refs(path),
        (Some("logs"), _) => tree(path, LONG),
        (_, Some(parts)) => in_git_dir(path, parts),
        (_, None) => Wanted::No,
    }
}

fn in_git_dir(path: &Path, parts: &[&str]) -> Wanted {
    match parts {
        ["packed-refs"] => Wanted::UpTo(LONG),
        ["config"] => Wanted::UpTo(super::config::MOST_BYTES),
        [MARK] => Wanted::UpTo(SHORT),
        ["objects", rest @ ..] => objects(rest),
        ["lfs", rest @ ..] => lfs(rest),
        ["worktrees"] | ["worktrees", _] => Wanted::UpTo(0),
        ["worktrees", _, "commondir" | "gitdir" | "locked"] => Wanted::UpTo(SHORT),
        ["worktrees", _, "refs", ..] => refs(path),
        ["worktrees", _, "logs", ..] => tree(path, LONG),
        ["worktrees", _, rest @ ..] => of_worktree(path, rest),
        ["shallow"] => Wanted::UpTo(MIDDLE),
        rest => of_worktree(path, rest),
    }
}

/// What each worktree has for itself.
fn of_worktree(path: &Path, parts: &[&str]) -> Wanted {
    match parts {
        ["HEAD"] => Wanted::UpTo(SHORT),
        ["index"] => Wanted::UpTo(LONG),
        [name] if name.starts_with("sharedindex.") && !name.ends_with(".lock") => Wanted::UpTo(LONG),
        [name] if is_message(name) => Wanted::UpTo(MIDDLE),
        ["reftable", ..] => tree(path, LONG),
        ["rebase-merge" | "rebase-apply" | "sequencer", ..] => tree(path, MIDDLE),
        _ => Wanted::No,
    }
}

/// `MERGE_HEAD`, `ORIG_HEAD`, `COMMIT_EDITMSG` and what else git keeps for a moment.
pub(super) fn is_message(name: &str) -> bool {
    name != "HEAD" && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

fn refs(path: &Path) -> Wanted {
    tree(path, SHORT)
}

fn tree(path: &Path, most: u64) -> Wanted {
    let is_lock = path.extension().is_some_and(|extension| extension == "lock");
    if is_lock { Wanted::No } else { Wanted::UpTo(most) }
}

/// No list of alternates: it would lead to objects that agents cannot read.
fn objects(parts: &[&str]) -> Wanted {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match parts {
        [] | ["pack"] => Wanted::UpTo(0),
        ["pack", name] if name.ends_with(".pack") || name.ends_with(".idx") => Wanted::UpTo(u64::MAX),
        [two] if two.len() == 2 && is_hex(two) => Wanted::UpTo(0),
        [two, name] if two.len() == 2 && is_hex(two) && is_hex(name) => Wanted::UpTo(u64::MAX),
        _ => Wanted::No,
    }
}

fn lfs(parts: &[&str]) -> Wanted {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match parts {
        [] | ["objects"] | ["objects", _] | ["objects", _, _] => Wanted::UpTo(0),
        ["objects", _, _, name] if name.len() == 64 && is_hex(name) => Wanted::UpTo(u64::MAX),
        _ => Wanted::No,
    }
}

fn name_of(part: Component<'_>) -> Option<&str> {
    part.as_os_str().to_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_carried_over_is_taken() {
        for yes in [
            "HEAD",
            "index",
            "refs/heads/a/b",
            "logs/HEAD",
            "MERGE_MSG",
            "rebase-merge/done",
            "objects/ab/cdef",
            "objects/pack/pack-1.pack",
            "worktrees/w/HEAD",
            "worktrees/w/gitdir",
            "lfs/objects/ab/cd/0000000000000000000000000000000000000000000000000000000000000000",
        ] {
            assert_ne!(wanted(Path::new(yes)), Wanted::No, "{yes}");
        }
        for no in [
            "hooks",
            "info",
            "commondir",
            "config.lock",
            "index.lock",
            "refs/heads/a.lock",
            "objects/info",
            "objects/info/alternates",
            "objects/pack/pack-1.keep",
            "worktrees/w/config.worktree",
            "modules",
            "lfs/hooks",
        ] {
            assert_eq!(wanted(Path::new(no)), Wanted::No, "{no}");
        }
        assert_eq!(wanted(Path::new("HEAD")), Wanted::UpTo(SHORT));
    }
}
