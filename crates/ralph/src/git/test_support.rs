//! Git as a user runs it, for tests.

use super::git;
use std::path::Path;

/// Runs git in a repository; it must succeed.
#[track_caller]
pub fn run(top: &Path, args: &[&str]) {
    let identity = ["-c", "user.name=x", "-c", "user.email=x@localhost"];
    let ran = git(top).args(identity).args(args).run().unwrap();
    assert!(ran.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
}
