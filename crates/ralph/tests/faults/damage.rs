//! A round of `ralph run` with agents that damage what they work in: they prune the repository or
//! delete it, and swap directories, files and links for each other.
//!
//! Whatever dies meanwhile, each checkpoint holds everything by itself, and in the end `ralph undo`
//! brings back the user's files, and the repository if it is gone, without touching what a link
//! leads to.

use crate::fault::Tally;
use crate::fold::Fold;
use crate::ordeal::Ordeal;
use crate::rng::Rng;
use crate::stage::{about, git, put};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// `$1` is its own directory, outside of the project; `$2` the iteration that is done.
const AGENT: &str = r#"cat > /dev/null
echo x >> "$1/calls"
call=$(wc -l < "$1/calls" | tr -d ' ')
out="../out/$call"
echo "$RALPH_ITERATION" >> log.txt
swap() {
    if [ -L "$1" ]; then rm "$1"; mkdir "$1"; echo new > "$1/a"
    elif [ -d "$1" ]; then mv "$1" "$out"; ln -s "$out" "$1"
    else rm -f "$1"; mkdir -p "$1/in"; echo new > "$1/in/x"; fi
}
case $(sed -n "${call}p" "$1/dice") in
    0) git add -A; git -c user.name=a -c user.email=a@b commit -q --amend --allow-empty -m amended
       git reflog expire --expire=now --all; git gc -q --prune=now ;;
    1) rm -rf .git ;;
    2) swap lib ;;
    3) rm -rf lib/deep; ln -s "$PWD/../out" lib/deep ;;
    4) swap link ;;
    5) swap file.txt ;;
    6) rm -rf dir; echo new > dir ;;
    7) rm -rf .git/HEAD .git/refs .git/objects ;;
    *) echo "$call" > changed.txt; rm -f tracked.txt ;;
esac > "$1/said-$call" 2>&1
echo "call $call"
[ "$RALPH_ITERATION" -lt "$2" ] || echo '<response>DONE</response>'
"#;

const GIT_QUESTIONS: [&str; 6] = [
    "symbolic-ref HEAD",
    "for-each-ref",
    "log --all --format=%H",
    "ls-files -s",
    "stash list",
    "status --porcelain=v1 -uall",
];

pub fn play(seed: u64, sweep: Duration, tally: &mut Tally) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let mut ordeal = Ordeal::new(&mut rng, sweep)?;
    endure(&mut ordeal, &mut rng, tally).map_err(|why| ordeal.failed(&why))
}

fn endure(ordeal: &mut Ordeal, rng: &mut Rng, tally: &mut Tally) -> Result<(), String> {
    set_up(ordeal, rng)?;
    let repo = ordeal.path("repo");
    let (files, answers) = (files_in(&repo)?, asked(&repo)?);
    let done = rng.within(4, 7).to_string();
    let folded = ordeal.live(&|ordeal| ordered(ordeal, &done), tally)?;
    checkpoints_are_whole(ordeal, &folded)?;
    let outside = files_in(&ordeal.path("out"))?;
    // An agent that was killed while it deleted the repository has left some of it.
    let deleted = asked(&repo).is_err();
    let id = &folded.run.id;
    succeeds(ordeal, &["diff", id, "--stat"])?;
    let undo: &[&str] = if deleted { &["undo", id, "--restore-git"] } else { &["undo", id] };
    succeeds(ordeal, undo)?;
    let found = files_in(&repo)?;
    if found != files {
        return Err(format!("undo has left {found:?}\ninstead of {files:?}"));
    }
    if files_in(&ordeal.path("out"))? != outside {
        return Err("undo has changed what a link leads to".into());
    }
    match asked(&repo)? {
        now if deleted && now != answers => Err(format!("git tells {now:?}\ninstead of {answers:?}")),
        _ => Ok(()),
    }
}

fn ordered(ordeal: &Ordeal, done: &str) -> Command {
    let mut command = ordeal.ralph();
    command.args(["run", "work until done", "-n", "60", "--max-failures", "60"]);
    command.args(["--check", "sleep 0.02", "--config"]).arg(ordeal.path("settings.json"));
    command.arg("--").arg("sh").arg(ordeal.path("agent.sh")).arg(ordeal.path("agent")).arg(done);
    command
}

fn set_up(ordeal: &Ordeal, rng: &mut Rng) -> Result<(), String> {
    for dir in ["agent", "out", "repo/lib/deep", "repo/dir"] {
        fs::create_dir_all(ordeal.path(dir)).map_err(about(dir))?;
    }
    put(&ordeal.path("agent.sh"), AGENT.as_bytes())?;
    put(&ordeal.path("settings.json"), br#"{"backoff": {"base": 0.002, "cap": 0.01}}"#)?;
    let dice: String = (0..200).map(|_| format!("{}\n", rng.below(9))).collect();
    put(&ordeal.path("agent/dice"), dice.as_bytes())?;
    let repo = ordeal.path("repo");
    for name in ["lib/a", "lib/deep/b", "dir/c", "file.txt"] {
        put(&repo.join(name), name.as_bytes())?;
    }
    std::os::unix::fs::symlink("lib", repo.join("link")).map_err(about("link"))?;
    ordeal.first_commit()?;
    git(&repo, "stash push -q")?;
    put(&repo.join("file.txt"), b"second\n")?;
    git(&repo, "commit -q -a -m second")?;
    put(&repo.join("staged.txt"), b"only staged\n")?;
    git(&repo, "add staged.txt")?;
    fs::remove_file(repo.join("staged.txt")).map_err(about("staged"))?;
    put(&repo.join("lib/untracked.txt"), b"mine\n")?;
    put(&repo.join("tracked.txt"), b"not committed yet\n")
}

/// What each path is: a file's content, where a link leads, or a directory.
fn files_in(dir: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, String> {
    let (mut found, mut left) = (BTreeMap::new(), vec![dir.to_path_buf()]);
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(&next).map_err(about("directory"))? {
            let path = entry.map_err(about("entry"))?.path();
            if [".git", ".git.aside-1", ".ralph"].iter().any(|own| path == dir.join(own)) {
                continue;
            }
            let content = if path.is_symlink() {
                fs::read_link(&path).map_err(about("link"))?.as_os_str().as_bytes().to_vec()
            } else if path.is_dir() {
                left.push(path.clone());
                b"directory".to_vec()
            } else {
                fs::read(&path).map_err(about("file"))?
            };
            found.insert(path, content);
        }
    }
    Ok(found)
}

fn asked(repo: &Path) -> Result<Vec<String>, String> {
    let words = |question: &str| format!("--git-dir=.git --work-tree=. {question}");
    GIT_QUESTIONS.iter().map(|question| git(repo, &words(question))).collect()
}

/// Nothing is missing of any tree, and the user's git directory is not asked for it.
fn checkpoints_are_whole(ordeal: &Ordeal, folded: &Fold) -> Result<(), String> {
    if let Some(problem) = folded.snapshots.iter().find_map(|end| end.problem.as_ref()) {
        return Err(format!("a tree was not recorded: {problem}"));
    }
    let dir = ordeal.path("home/runs").join(&folded.run.id).join("checkpoints.git");
    for tree in folded.snapshots.iter().filter_map(|end| end.tree.as_ref()) {
        git(&dir, &format!("--git-dir=. rev-list --objects --quiet {tree}"))?;
    }
    let borrowed = fs::read_to_string(dir.join("objects/info/alternates")).map_err(about("alternates"))?;
    match borrowed.contains("repo") {
        false => Ok(()),
        true => Err(format!("checkpoints borrow objects from the user: {borrowed}")),
    }
}

fn succeeds(ordeal: &Ordeal, args: &[&str]) -> Result<(), String> {
    let output = ordeal.ralph().args(args).output().map_err(about("ralph"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("ralph {} failed: {said}", args.join(" "))) }
}
