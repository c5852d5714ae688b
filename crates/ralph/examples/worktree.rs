//! Runs an agent in a worktree of its own and removes it, unless work would be lost.
#![expect(clippy::disallowed_macros, reason = "an example prints")]

use ralph::{Agent, Config, Error, Kept, Unmerged};

pub fn main() -> Result<(), Error> {
    let mut config = Config::new("write a haiku to haiku.txt");
    config.agent = Agent::command("sh", ["-c", "echo spring > haiku.txt; echo '<response>DONE</response>'"]);
    config.checks = vec!["test -s haiku.txt".into()];
    config.use_worktree = true;

    let result = config.run()?;
    println!("{} in {}", result.stop_reason, result.worktree_path);

    let run = result.run.unwrap_or_default();
    match config.cleanup_worktree(&run, Unmerged::Keep) {
        Ok(_) => println!("removed"),
        Err(Error::WorktreeKept { why: Kept::Unmerged { branch, .. }, .. }) => println!("git merge {branch}"),
        Err(error) => return Err(error),
    }
    config.cleanup_progress()?;
    Ok(())
}
