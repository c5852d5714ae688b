//! A round of `ralph run` in a sandbox, with agents that commit, leave processes behind and try to write outside.
//!
//! Whatever dies meanwhile: nothing outlives the run, what agents committed inside is in the user's repository in
//! the end, the user's own work is as it was, and nothing outside of the project has changed.

use crate::fault::Tally;
use crate::ordeal::Ordeal;
use crate::rng::Rng;
use crate::stage::{about, git, put};
use std::fs;
use std::process::Command;
use std::time::Duration;

/// `$1` is a directory outside, `$2` the call that is the last one.
const AGENT: &str = r#"cat > /dev/null
mkdir -p agent
call=$(($(cat agent/calls 2> /dev/null || echo 0) + 1))
echo "$call" > agent/calls.new && mv agent/calls.new agent/calls
echo x > "$1/written"
git config alias.mine "!touch '$1/ran'"
(trap '' TERM; exec sleep 60) > /dev/null 2>&1 &
git add agent && git commit -q -m "call $call" -- agent && echo "committed $call"
echo later > agent/later
sleep "0.0$((call % 5))"
[ "$call" -lt "$2" ] || { echo ready > agent/state; git add agent; git commit -q -m last -- agent; echo '<response>DONE</response>'; }
"#;

pub fn play(seed: u64, sweep: Duration, tally: &mut Tally) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let mut ordeal = Ordeal::new(&mut rng, sweep)?.confined();
    endure(&mut ordeal, &mut rng, tally).map_err(|why| ordeal.failed(&why))
}

fn endure(ordeal: &mut Ordeal, rng: &mut Rng, tally: &mut Tally) -> Result<(), String> {
    let repo = ordeal.path("repo");
    put(&ordeal.path("settings.json"), br#"{"backoff": {"base": 0.002, "cap": 0.01}}"#)?;
    put(&repo.join("agent.sh"), AGENT.as_bytes())?;
    put(&ordeal.path("user/mine"), b"mine\n")?;
    ordeal.first_commit()?;
    let config = fs::read(repo.join(".git/config")).map_err(about("config"))?;
    let last = rng.within(3, 6).to_string();
    let folded = ordeal.live(&|ordeal| ordered(ordeal, &last), tally)?;
    if folded.run.confinement.sandbox().is_none() {
        return Err("the run had no sandbox".into());
    }
    ordeal.users_work_is_intact()?;
    if fs::read(repo.join(".git/config")).map_err(about("config"))? != config {
        return Err("the user's .git/config has changed".into());
    }
    git(&repo, "fsck --no-dangling --no-progress")?;
    git(&repo, "rev-parse --verify -q main")?;
    let (committed, made) = (git(&repo, "show main:agent/calls")?, read(ordeal, "repo/agent/calls")?);
    if committed != made || git(&repo, "show main:agent/state")? != "ready\n" {
        return Err(format!("the last call was {made}, and the last one that is committed {committed}"));
    }
    let left = find(ordeal, &repo.join(".git").display().to_string(), "*.lock")?;
    if !left.is_empty() {
        return Err(format!("locks are left: {left}"));
    }
    let mut outside: Vec<String> = names(ordeal, "user")?;
    outside.retain(|name| name != "mine");
    match outside.is_empty() {
        true => Ok(()),
        false => Err(format!("left in the user's home: {outside:?}")),
    }
}

fn ordered(ordeal: &Ordeal, last: &str) -> Command {
    let mut command = ordeal.ralph();
    command.args(["run", "work until done", "-n", "60", "--max-failures", "60", "--sandbox=bwrap"]);
    command.args(["--check", "sleep 0.02; grep -q ready agent/state", "--config"]);
    command.arg(ordeal.path("settings.json")).arg("--").args(["sh", "./agent.sh"]);
    command.arg(ordeal.path("user")).arg(last);
    command
}

fn read(ordeal: &Ordeal, name: &str) -> Result<String, String> {
    fs::read_to_string(ordeal.path(name)).map_err(about(name))
}

fn names(ordeal: &Ordeal, dir: &str) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(ordeal.path(dir)).map_err(about(dir))?;
    Ok(entries.filter_map(Result::ok).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

fn find(ordeal: &Ordeal, dir: &str, name: &str) -> Result<String, String> {
    let mut command = Command::new("find");
    let output = command.current_dir(ordeal.path("repo")).args([dir, "-name", name]).output();
    Ok(String::from_utf8_lossy(&output.map_err(about("find"))?.stdout).into_owned())
}
