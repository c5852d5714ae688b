//! A round of `ralph stories`: twelve stories through all their deaths.
//!
//! Agents are a shell script that commits with git. The first attempts at some stories fail, and
//! spoil what the user has not committed yet; one prunes the repository, one swaps a directory for a
//! link. Whatever dies meanwhile, in the end each story is
//! done once: one `[DONE]` line, one commit, in an order that its dependencies allow.
//!
//! Left out: faults in git, which end a run by design.

use crate::fault::Tally;
use crate::fold::Fold;
use crate::ordeal::Ordeal;
use crate::procs::until_none;
use crate::rng::Rng;
use crate::round::PATIENCE;
use crate::stage::{about, git, put};
use std::collections::HashSet;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// Each with what it waits for.
const STORIES: [(&str, &[&str]); 12] = [
    ("1.1", &[]),
    ("1.2", &["1.1"]),
    ("1.3", &["2.1"]),
    ("1.9", &["1.2"]),
    ("1.10", &["1.9"]),
    ("2.1", &[]),
    ("2.2", &["2.1", "3.1"]),
    ("2.3", &[]),
    ("3.1", &["1.3"]),
    ("3.2", &["3.1"]),
    ("3.3", &["2.2"]),
    ("3.4", &[]),
];

/// `$1` is where it counts its calls, outside of the project.
const AGENT: &str = r#"cat > /dev/null
echo x >> "$1/$RALPH_STORY"
echo "$RALPH_STORY" > "$1.now"
case "$(wc -l < "$1/$RALPH_STORY" | tr -d ' ')/$RALPH_STORY" in
    1/1.2) echo spoiled > mine.txt; git add -A; git commit -q -m "story $RALPH_STORY"; echo "<ralph>FAIL 1.2: no</ralph>" ;;
    1/2.1) echo spoiled > tracked.txt; git rm -q --cached tracked.txt; exit 4 ;;
    1/3.1 | 2/3.1) rm mine.txt; git checkout -q -- .; echo "<ralph>DONE 9.9</ralph>" ;;
    1/2.3)
        git commit -q --amend --allow-empty -m amended; git reflog expire --expire=now --all; git gc -q --prune=now
        echo spoiled > lib/a; exit 4 ;;
    1/3.2) mv lib "$1/lib"; ln -s "$1/lib" lib; echo spoiled > mine.txt; echo "<ralph>FAIL 3.2: no</ralph>" ;;
    *)
        echo "$RALPH_STORY" > "made-$RALPH_STORY"
        git add "made-$RALPH_STORY" && git commit -q -m "story $RALPH_STORY" && echo "<ralph>DONE $RALPH_STORY</ralph>" ;;
esac
"#;

pub fn play(seed: u64, sweep: Duration, tally: &mut Tally) -> Result<(), String> {
    let mut ordeal = Ordeal::new(&mut Rng::new(seed), sweep)?;
    let begin = |ordeal: &Ordeal| ordered(ordeal, ordeal.ralph());
    endure(&mut ordeal, &begin, tally).map(drop).map_err(|why| ordeal.failed(&why))
}

/// All of it, with a run that is begun like this.
pub fn endure(
    ordeal: &mut Ordeal,
    begin: &dyn Fn(&Ordeal) -> Command,
    tally: &mut Tally,
) -> Result<Fold, String> {
    set_up(ordeal)?;
    let folded = ordeal.live(begin, tally)?;
    all_is_done(ordeal, &folded)?;
    Ok(folded)
}

/// `ralph stories`, at the end of a command.
pub fn ordered(ordeal: &Ordeal, mut command: Command) -> Command {
    // Each death of an agent is a failed attempt, and none of them the point here.
    // On a clean copy a check sees the home, and no temporary files.
    let check = format!("sleep 0.02; test -e \"made-$(cat '{}')\"", ordeal.path("user/calls.now").display());
    command.args(["stories", "--max-retries", "60", "--check", &check, "--"]);
    command.arg("sh").arg(ordeal.path("agent.sh")).arg(ordeal.path("user/calls"));
    command
}

fn set_up(ordeal: &Ordeal) -> Result<(), String> {
    fs::create_dir(ordeal.path("user/calls")).map_err(about("calls"))?;
    put(&ordeal.path("agent.sh"), AGENT.as_bytes())?;
    for (id, depends_on) in STORIES {
        let dir = ordeal.path("repo/specs").join(format!("epic-{}", epic(id)));
        fs::create_dir_all(&dir).map_err(about("specs"))?;
        let spec = format!("---\nstatus: pending\ndepends_on: {depends_on:?}\n---\n# Part {id}\n");
        put(&dir.join(format!("story-{id}-part.md")), spec.as_bytes())?;
    }
    fs::create_dir(ordeal.path("repo/lib")).map_err(about("lib"))?;
    put(&ordeal.path("repo/lib/a"), b"as committed\n")?;
    ordeal.first_commit()
}

fn all_is_done(ordeal: &Ordeal, folded: &Fold) -> Result<(), String> {
    let repo = ordeal.path("repo");
    let read = |name: &str| fs::read_to_string(repo.join(name)).map_err(about(name));
    let state: serde_json::Value =
        serde_json::from_str(&read(".ralph/state.json")?).map_err(about("state"))?;
    let mut done: Vec<&str> =
        state["completed_stories"].as_array().into_iter().flatten().filter_map(|id| id.as_str()).collect();
    for (at, id) in done.iter().enumerate() {
        let waits_for = STORIES.iter().find(|(story, _)| story == id).map_or(&[][..], |(_, ids)| ids);
        if !waits_for.iter().all(|needed| done[..at].contains(needed)) {
            return Err(format!("{id} was done too early: {done:?}"));
        }
    }
    let mut all = STORIES.map(|(id, _)| id);
    done.sort_unstable();
    all.sort_unstable();
    if done != all || !state["current_story"].is_null() || state["retry_count"] != 0 {
        return Err(format!("not all is done: {state}"));
    }
    let progress = read("progress.txt")?;
    let mut seen = HashSet::new();
    if let Some(twice) = progress.lines().map(timeless).find(|line| !seen.insert(line.clone())) {
        return Err(format!("twice in progress.txt: {twice}\n{progress}"));
    }
    let commits = git(&repo, "log --format=%s")?;
    for (id, _) in STORIES {
        let lines =
            progress.lines().filter(|line| line.starts_with(&format!("[DONE] Story {id} - "))).count();
        if lines != 1 {
            return Err(format!("{lines} lines say that {id} is done:\n{progress}"));
        }
        let made = commits.lines().filter(|line| **line == format!("story {id}")).count();
        if made != 1 {
            return Err(format!("{made} commits of {id}:\n{commits}"));
        }
        let spec = format!("specs/epic-{}/story-{id}-part.md", epic(id));
        if !read(&spec)?.contains("status: done\n") {
            return Err(format!("{spec} is not marked"));
        }
    }
    ordeal.users_work_is_intact()?;
    if repo.join("lib").is_symlink() || read("lib/a")? != "as committed\n" {
        return Err("a directory was not put back".into());
    }
    let staged = git(&repo, "diff --cached --name-only")?;
    if !staged.is_empty() || repo.join(".git/index.lock").exists() {
        return Err(format!("left in the user's index: {staged}"));
    }
    if !folded.state.is_success(folded.state.stopped.as_ref().ok_or("not stopped")?.reason) {
        return Err("the run did not succeed".into());
    }
    let again = ordered(ordeal, ordeal.ralph()).output().map_err(about("another run"))?;
    let left = until_none(PATIENCE, || ordeal.processes());
    match again.status.success() && left.is_empty() {
        true => Ok(()),
        false => Err(format!("another run: {}", String::from_utf8_lossy(&again.stderr))),
    }
}

fn epic(id: &str) -> &str {
    id.split('.').next().unwrap_or_default()
}

/// A line of `progress.txt` without the word that is its time.
fn timeless(line: &str) -> String {
    let is_time = |word: &&str| word.ends_with('Z') && word.contains('T');
    line.split(' ').filter(|word| !is_time(word)).collect::<Vec<_>>().join(" ")
}
