//! What a run has changed, shown and taken back: `ralph diff`, `ralph undo`, `ralph show`.

use crate::support::{RALPH, Ran, Sandbox};
use crate::terminal::skip;
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

const DONE: &str = "echo '<response>DONE</response>'";

/// One run whose only iteration does this, or one for each script.
#[track_caller]
fn changed_by(sandbox: &Sandbox, scripts: &[&str]) -> String {
    let ran = run(sandbox, scripts, &["--format", "json"]).exits(0);
    ran.json()["run"].as_str().unwrap().to_owned()
}

fn run(sandbox: &Sandbox, scripts: &[&str], args: &[&str]) -> Ran {
    let arms: String =
        scripts.iter().zip(1..).map(|(script, n)| format!("{n})\n{script}\necho said {n}\n;;\n")).collect();
    let last = scripts.len();
    let body = format!("case $RALPH_ITERATION in\n{arms}esac\n[ $RALPH_ITERATION -lt {last} ] || {DONE}");
    sandbox.program("agent", &body);
    sandbox.ralph(&[&["run", "-p", "x"], args, &["--", "agent"]].concat())
}

/// Everything in the project but git's and ralph's own: kind, mode and content by path.
fn tree(sandbox: &Sandbox) -> BTreeMap<Vec<u8>, (u32, Vec<u8>)> {
    fn walk(dir: &Path, top: &Path, found: &mut BTreeMap<Vec<u8>, (u32, Vec<u8>)>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(top).unwrap().as_os_str().as_bytes().to_vec();
            if name == b".git" || name == b".ralph" {
                continue;
            }
            let meta = path.symlink_metadata().unwrap();
            let content = if meta.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_vec()
            } else if meta.is_file() && meta.len() < 1 << 20 {
                fs::read(&path).unwrap_or_default()
            } else {
                Vec::new()
            };
            found.insert(name, (meta.mode(), content));
            if meta.is_dir() {
                walk(&path, top, found);
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&sandbox.project(), &sandbox.project(), &mut found);
    found
}

/// The command that a printed undo gives for the way back, carried out.
fn back(sandbox: &Sandbox, undone: &Ran) -> Ran {
    sandbox.program("ralph", &format!("exec '{RALPH}' \"$@\""));
    let command =
        undone.stdout.split("to get them back: ").nth(1).unwrap_or_else(|| panic!("{}", undone.stdout));
    sandbox.shell(command.trim())
}

#[test]
fn a_diff_has_new_files_and_can_be_of_one_iteration() {
    let sandbox = Sandbox::git();
    sandbox.write("untracked", "mine\n");
    let id = changed_by(
        &sandbox,
        &["echo one > first; git add first", "echo two >> README; rm untracked", "true"],
    );
    let diff = |args: &[&str]| sandbox.ralph(&[&["diff", &id], args].concat()).exits(0).stdout;
    let all = diff(&[]);
    for line in ["+++ b/first", "+one", "+two", "-mine"] {
        assert!(all.lines().any(|found| found == line), "{line}\n{all}");
    }
    assert!(!all.contains(".ralph") && !all.contains('\u{1b}'), "{all}");
    assert!(diff(&["1"]).contains("+one") && !diff(&["1"]).contains("+two"));
    assert!(diff(&["2"]).contains("+two") && !diff(&["2"]).contains("+one"));
    assert_eq!(diff(&["3"]), "");
    let stat = diff(&["--stat"]);
    assert!(stat.contains("3 files changed") && stat.contains("first") && !stat.contains("+one"), "{stat}");
    assert!(diff(&["2", "--stat"]).contains("2 files changed"));
    sandbox.write("README", "changed since\n");
    assert_eq!(diff(&[]), all, "what came after the run is not the run's");

    sandbox.ralph(&["diff", &id, "5"]).exits(1).says("has no iteration 5");
    sandbox.ralph(&["diff", &id, "4"]).exits(1).says("has no iteration 4").says("iterations so far: 3");
    sandbox.ralph(&["diff", &id, "0"]).exits(2);
    sandbox.ralph(&["diff", "no-such-run"]).exits(1).says("no such run");
    let slip = format!("{}x", &id[..id.len() - 1]);
    sandbox.ralph(&["diff", &slip]).exits(1).says(&format!("did you mean {id}?"));
    sandbox.ralph(&["diff", &slip[..slip.len() - 3]]).exits(0);
}

#[test]
fn a_look_at_a_run_at_work_does_not_change_what_it_records() {
    let sandbox = Sandbox::git();
    let wait = "echo 1 > made; echo 1 > up; while ! [ -e ../go ]; do sleep 0.01; done";
    sandbox.program("agent", &format!("[ $RALPH_ITERATION = 2 ] && {DONE} || {{ {wait}; echo x; }}"));
    let running = sandbox.start(&["run", "-p", "x", "--", "agent"]);
    sandbox.until_file("up");
    let id = sandbox.only_run();
    let now = sandbox.ralph(&["diff", &id]).exits(0).stdout;
    assert!(now.contains("+++ b/made"), "{now}");
    sandbox.ralph(&["show", &id]).exits(0);
    fs::write(sandbox.root().join("go"), "").unwrap();
    running.end().exits(0);
    let recorded = sandbox.ralph(&["diff", &id, "1"]).exits(0).stdout;
    assert!(recorded.contains("+++ b/made"), "{recorded}");
    assert!(sandbox.ralph(&["show", &id]).exits(0).stdout.contains("made, up"));
    let left = fs::read_dir(sandbox.run_dir().join("checkpoints.git")).unwrap();
    let left =
        left.filter(|entry| entry.as_ref().unwrap().file_name().as_bytes().starts_with(b"index.")).count();
    assert_eq!(left, 0, "a look leaves nothing");
}

/// Files, modes, links and names of every kind.
const HOARD: &str = "printf 'tracked\\n' > tracked; printf '#!/bin/sh\\n' > script; chmod +x script; ln -s tracked link; \
    mkdir -p d/e; echo 1 > d/e/f; echo 2 > d/g; echo 3 > was-a-file; ln -s d was-a-link; \
    touch -- 'a name' '-n' \"$(printf 'new\\nline')\" \"$(printf 'latin-\\351')\" '*' ':(top)x' 'quo\"te'";

const HAVOC: &str = "echo changed > tracked; chmod -x script; ln -sf script link; rm -rf d; echo 'a file' > d; \
    rm was-a-file; mkdir was-a-file; echo 4 > was-a-file/inside; rm was-a-link; mkdir was-a-link; echo 5 > was-a-link/x; \
    rm 'a name' ./-n \"$(printf 'new\\nline')\"; echo 6 > \"$(printf 'latin-\\351')\"; echo 7 > '*'; rm ':(top)x'; \
    mkdir -p made/deep; echo 8 > \"$(printf 'made/deep/new\\n\\377')\"; ln -s /nowhere made/dangling; echo 9 > .hidden; \
    chmod +x 'quo\"te'; printf 'a\\0b' > binary";

#[test]
fn undo_brings_every_kind_of_file_back_and_can_be_undone() {
    for setup in ["git add . && git commit -q -m hoard", "true", "git add ."] {
        let sandbox = Sandbox::git();
        sandbox.sh(HOARD);
        sandbox.sh(setup);
        let (before, index) = (tree(&sandbox), sandbox.sh("git ls-files -s; git rev-parse HEAD"));
        let id = changed_by(&sandbox, &[HAVOC]);
        let after = tree(&sandbox);
        assert_ne!(before, after);
        let undone = sandbox.ralph(&["undo", &id]).exits(0).says("Restored the files to before iteration 1");
        assert_eq!(tree(&sandbox), before, "{setup}");
        assert_eq!(
            sandbox.sh("git ls-files -s; git rev-parse HEAD"),
            index,
            "{setup}: the index is the user's"
        );
        sandbox.ralph(&["undo", &id]).exits(0).says("Nothing to undo");

        back(&sandbox, &undone).exits(0).says("Restored the saved files");
        assert_eq!(tree(&sandbox), after, "{setup}");
        assert_eq!(sandbox.sh("git ls-files -s; git rev-parse HEAD"), index);
    }
}

#[test]
fn without_a_name_the_newest_run_of_this_directory_is_meant() {
    let sandbox = Sandbox::git();
    for command in ["show", "diff"] {
        sandbox.ralph(&[command]).exits(1).says("no runs in this directory");
    }
    let first = changed_by(&sandbox, &["echo first > a"]);
    let second = changed_by(&sandbox, &["echo second > a"]);
    assert_ne!(first, second);
    sandbox.ralph(&["show"]).exits(0).says(&second);
    let diff = sandbox.ralph(&["diff"]).exits(0);
    assert_eq!(diff.stdout, sandbox.ralph(&["diff", &second]).exits(0).stdout);
    assert!(diff.stdout.contains("+second"), "{}", diff.stdout);
    let elsewhere = sandbox.root();
    sandbox.ralph(&["show", "-C", elsewhere.to_str().unwrap()]).exits(1).says("no runs in this directory");
}

#[test]
fn undo_goes_back_to_any_iteration_and_forth() {
    let sandbox = Sandbox::git();
    let id = changed_by(&sandbox, &["echo 1 > a", "echo 2 > a; echo 2 > b", "rm a"]);
    let undo = |to: &str| sandbox.ralph(&["undo", &id, "--to", to]).exits(0);
    undo("3");
    assert_eq!((sandbox.read("a"), sandbox.read("b")), ("2\n".into(), "2\n".into()));
    undo("2");
    assert!(sandbox.read("a") == "1\n" && !sandbox.has("b"));
    undo("4");
    assert!(!sandbox.has("a") && sandbox.has("b"), "the tree at the end is recorded as well");
    undo("1");
    assert!(!sandbox.has("a") && !sandbox.has("b"));
    sandbox.ralph(&["undo", &id, "--to", "5"]).exits(1).says("there are checkpoints for iterations 1 to 4");
    sandbox.ralph(&["undo", &id, "--to", "0"]).exits(2);
}

#[test]
fn the_users_own_work_is_put_back_as_it_was() {
    let sandbox = Sandbox::git();
    sandbox.write(".gitignore", "ignored*\nhuge/\n");
    sandbox.sh("git add . && git commit -q -m ignore");
    sandbox.write("staged", "staged\n");
    sandbox.sh("git add staged && echo 'changed since' > staged && echo mine >> README && git rm -q --cached .gitignore");
    sandbox.write("untracked", "mine\n");
    sandbox.write("ignored", "mine\n");
    let state = || sandbox.sh("git status --porcelain; git diff; git diff --cached");
    let (before, state_before) = (tree(&sandbox), state());
    let id = changed_by(
        &sandbox,
        &[
            "echo x > staged; echo x > README; rm untracked; echo x > made; echo theirs > ignored; echo 1 > ignored-2",
        ],
    );
    sandbox.ralph(&["undo", &id]).exits(0);
    let mut expected = before;
    // No checkpoint holds what is ignored, so undo neither restores nor removes it.
    expected.get_mut(&b"ignored"[..]).unwrap().1 = b"theirs\n".to_vec();
    expected.insert(b"ignored-2".to_vec(), (0o100_644, b"1\n".to_vec()));
    assert_eq!(tree(&sandbox), expected);
    assert_eq!(state(), state_before);
}

#[test]
fn what_changed_since_the_run_is_kept_first() {
    let sandbox = Sandbox::git();
    let id = changed_by(&sandbox, &["echo agent > README"]);
    sandbox.write("README", "mine, since\n");
    sandbox.write("later", "mine too\n");
    let after = tree(&sandbox);
    let undone = sandbox.ralph(&["undo", &id]).exits(0).says("Saved the replaced files");
    assert_eq!(sandbox.read("README"), "a project\n");
    assert!(!sandbox.has("later"), "the tree is as it was");
    back(&sandbox, &undone).exits(0);
    assert_eq!(tree(&sandbox), after);
}

#[test]
fn undo_without_a_run_means_the_last_one_here() {
    let sandbox = Sandbox::git();
    sandbox.ralph(&["undo"]).exits(1).says("no runs in this directory");
    run(&sandbox, &["echo 1 > first"], &[]).exits(0);
    let first = sandbox.only_run();
    run(&sandbox, &["echo 1 > second"], &[]).exits(0);
    let second = sandbox.runs().into_iter().find(|run| *run != first).unwrap();
    let undone = sandbox.ralph(&["undo"]).exits(0).says(&format!("ralph undo {second} --tree "));
    assert!(sandbox.has("first") && !sandbox.has("second"));
    back(&sandbox, &undone).exits(0);
    assert!(sandbox.has("second"));
    sandbox.sh("mkdir ../other");
    sandbox.ralph(&["undo", "-C", "../other"]).exits(1).says("no runs in this directory");
}

#[test]
fn an_undo_elsewhere_or_of_a_run_at_work_is_refused() {
    let sandbox = Sandbox::git();
    let id = changed_by(&sandbox, &["echo 1 > made"]);
    sandbox.sh("mkdir ../other sub");
    let ran = sandbox.ralph(&["undo", &id, "-C", "../other"]).exits(1).says("worked in another directory");
    ran.says(&format!("pass -C {}", sandbox.project().display()));
    assert!(sandbox.has("made"));
    sandbox.ralph(&["undo", &id, "-C", "sub"]).exits(0);
    assert!(!sandbox.has("made"));

    let agent = sandbox.agent(&json!([[{"write": {"path": "up", "content": "1"}}, {"hang": true}]]));
    let running = sandbox.begin(&["-p", "x"], &agent);
    sandbox.until_file("up");
    let alive = sandbox.runs().into_iter().find(|run| *run != id).unwrap();
    sandbox.ralph(&["undo", &alive]).exits(1).says(&format!("run {alive} is still running")).says("hint: ");
    sandbox.ralph(&["undo", &id]).exits(2).says(&alive);
    assert!(sandbox.has("up"));
    running.kill();
    sandbox.soon_nothing_is_left();
    sandbox.ralph(&["undo", &alive]).exits(0);
    assert!(!sandbox.has("up"), "what a run that crashed has done can be taken back");
}

#[test]
fn only_the_whole_name_of_a_tree_is_taken_for_one() {
    let sandbox = Sandbox::git();
    let id = changed_by(&sandbox, &["echo 1 > made"]);
    let undone = sandbox.ralph(&["undo", &id]).exits(0);
    let kept = undone.stdout.split("--tree ").nth(1).unwrap().trim().to_owned();
    sandbox.write("mine", "1");
    for bad in [
        "--output=mine",
        "HEAD",
        "",
        &kept[..39],
        &format!("{kept}0"),
        "refs/heads/main",
        &kept.replace(&kept[..1], "g"),
    ] {
        sandbox.ralph(&["undo", &id, &format!("--tree={bad}")]).exits(2).says("--tree");
    }
    let nothing = "0123456789".repeat(4);
    sandbox.ralph(&["undo", &id, "--tree", &nothing]).exits(1);
    sandbox.ralph(&["undo", &id, "--tree", &kept, "--to", "1"]).exits(2);
    assert_eq!(sandbox.read("mine"), "1");
    assert!(!sandbox.has("made"));
    sandbox.ralph(&["undo", &id, "--tree", &kept]).exits(0);
    assert!(sandbox.has("made"));
}

#[test]
fn what_no_checkpoint_holds_is_named_and_never_touched() {
    let sandbox = Sandbox::git();
    sandbox.sh(
        "git init -q ../lib && git -C ../lib -c user.name=a -c user.email=a@b commit -q --allow-empty -m lib && \
         git -c protocol.file.allow=always submodule --quiet add ../lib lib && git commit -q -m lib && \
         git init -q inner && echo 1 > inner/file && truncate -s 300M big && \
         for n in 1 2 3; do truncate -s 11M a-file-with-a-name-as-long-as-a-title-$n; done",
    );
    let scripts =
        ["echo 1 > made; echo 2 > inner/file; echo 1 > inner/new; echo 1 > lib/new; echo x >> big; \
                    git init -q inner-2; echo 1 > inner-2/file; truncate -s 11M big-2"];
    let ran = run(&sandbox, &scripts, &[]).exits(0);
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
    let line = ran.stdout.lines().find(|line| line.contains("left out of checkpoints")).unwrap();
    assert!((1..=3).all(|n| line.contains(&format!("a-title-{n}"))), "whole, however long: {line}");
    assert!(line.contains("big") && line.contains("inner/"), "{line}");
    let id = sandbox.only_run();
    let size: u64 =
        sandbox.sh(&format!("du -sk '{}' | cut -f1", sandbox.run_dir().display())).trim().parse().unwrap();
    assert!(size < 4096, "{size} KiB");
    let diff = sandbox.ralph(&["diff", &id]).exits(0).says("not in the checkpoints: ");
    assert!(diff.stdout.contains("+++ b/made") && !diff.stdout.contains("inner"), "{}", diff.stdout);

    sandbox.ralph(&["undo", &id]).exits(0);
    assert!(!sandbox.has("made"));
    for (name, content) in
        [("inner/file", "2\n"), ("inner/new", "1\n"), ("lib/new", "1\n"), ("inner-2/file", "1\n")]
    {
        assert_eq!(sandbox.read(name), content, "{name}");
    }
    assert_eq!(fs::metadata(sandbox.project().join("big")).unwrap().len(), (300 << 20) + 2);
    assert!(sandbox.has("big-2"));
}

#[test]
fn what_has_grown_too_large_or_stands_in_the_way_is_spared() {
    let sandbox = Sandbox::git();
    sandbox.write(".gitignore", "*.o\n");
    sandbox.write("was-a-file", "1");
    sandbox.write("dir/file", "1");
    sandbox.write("grows", "1");
    sandbox.sh("git add . && git commit -q -m more");
    let first = "echo 2 > grows; echo 1 > new; echo 1 > plain";
    let second = "truncate -s 11M grows new; rm was-a-file; mkdir was-a-file; echo 1 > was-a-file/x.o; \
                  rm -r dir; truncate -s 11M dir";
    let id = changed_by(&sandbox, &[first, second]);
    let undone =
        sandbox.ralph(&["undo", &id]).exits(0).says("Not touched, because they are in no checkpoint");
    let line = undone.stdout.lines().find(|line| line.starts_with("Not touched")).unwrap();
    for name in ["grows", "new", "was-a-file", "dir/file"] {
        assert!(line.contains(name), "{name}: {line}");
    }
    for name in ["grows", "new", "dir"] {
        assert_eq!(fs::metadata(sandbox.project().join(name)).unwrap().len(), 11 << 20, "{name}");
    }
    assert!(sandbox.has("was-a-file/x.o") && !sandbox.has("plain"));
}

/// Runs ralph as a user who may not read everything.
fn as_nobody(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let mut command = sandbox.command("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", RALPH]).args(args);
    sandbox.spawn(command).end()
}

#[test]
fn unreadable_files_and_directories_are_left_out_and_left_alone() {
    let sandbox = Sandbox::git();
    sandbox.write("locked/tracked", "1");
    sandbox.sh("git add . && git commit -q -m locked");
    for name in ["secret", "closed/file"] {
        sandbox.write(name, "1");
    }
    sandbox.program("agent", &format!("echo 1 > made; echo x > README; {DONE}"));
    let mode = |name: &str, mode| {
        fs::set_permissions(sandbox.project().join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let modes = |bits: [u32; 3]| {
        ["secret", "closed", "locked"].iter().zip(bits).for_each(|(name, bits)| mode(name, bits));
    };
    modes([0, 0, 0]);
    let root = rustix::process::geteuid().is_root();
    if root {
        sandbox.sh("chown -R 65534:65534 ..");
    }
    let ralph = |args: &[&str]| if root { as_nobody(&sandbox, args) } else { sandbox.ralph(args) };
    if root && ralph(&["--version"]).code != Some(0) {
        skip("the program cannot be run as another user here");
        return;
    }
    let ran = ralph(&["run", "-p", "x", "--", "agent"]).exits(0);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    let ran = ran.says("left out of checkpoints: ");
    assert!(
        ran.stdout.lines().any(|line| line.contains("left out of checkpoints") && line.contains("secret"))
    );
    let id = sandbox.only_run();
    ralph(&["diff", &id]).exits(0).says("+++ b/made");
    ralph(&["undo", &id]).exits(0);
    modes([0o644, 0o755, 0o755]);
    assert!(!sandbox.has("made"));
    assert_eq!(sandbox.read("README"), "a project\n");
    for name in ["secret", "closed/file", "locked/tracked"] {
        assert_eq!(sandbox.read(name), "1", "{name}");
    }
}

/// How many objects the only run's checkpoints hold.
fn objects(sandbox: &Sandbox) -> usize {
    let dir = sandbox.run_dir().join("checkpoints.git/objects");
    sandbox
        .sh(&format!("find '{}' -type f -not -path '*/info/*' | wc -l", dir.display()))
        .trim()
        .parse()
        .unwrap()
}

#[test]
fn nothing_is_written_where_nothing_changes_and_nothing_of_what_is_ignored() {
    let count = |scripts: &[&str]| {
        let sandbox = Sandbox::git();
        sandbox.write(".gitignore", "huge/\n");
        sandbox.write("untracked", "1");
        sandbox.sh(
            "git add .gitignore && git commit -q -m ignore && mkdir huge && cd huge && seq 500 | xargs touch",
        );
        changed_by(&sandbox, scripts);
        objects(&sandbox)
    };
    let once = count(&["true"]);
    assert_eq!(count(&["true", "true", "true", "true"]), once);
    assert!(once < 10, "{once} objects");
    assert_eq!(count(&["true", "echo 1 > made", "true"]), once + 2, "a file and a tree");
}

#[test]
fn a_repository_without_a_commit_has_a_history_too() {
    let sandbox = Sandbox::empty_repository();
    sandbox.write("mine", "1");
    let before = tree(&sandbox);
    let id = changed_by(&sandbox, &["echo 2 > mine; echo 1 > made"]);
    assert!(sandbox.ralph(&["diff", &id]).exits(0).stdout.contains("+++ b/made"));
    sandbox.ralph(&["undo", &id]).exits(0);
    assert_eq!(tree(&sandbox), before);
    assert_eq!(sandbox.shell("git rev-parse -q --verify HEAD").code, Some(1), "and still none");
}

#[test]
fn repositories_of_every_make_have_a_history() {
    for make in [
        "git init -q -b main --object-format=sha256 .",
        "git init -q -b main . && git config index.version 4 && git config core.splitIndex true",
        "git init -q -b main . && git config core.autocrlf true",
    ] {
        let sandbox = Sandbox::bare();
        sandbox.sh(&format!(
            "{make}; git config user.name a; git config user.email a@b; echo 1 > file; echo 2 > other"
        ));
        sandbox.sh("git add . 2>&1; git commit -q -m begin; git update-index --refresh");
        let before = tree(&sandbox);
        let id = changed_by(&sandbox, &["echo 3 > file; rm other; echo 1 > made"]);
        sandbox.ralph(&["undo", &id]).exits(0);
        assert_eq!(tree(&sandbox), before, "{make}");
    }
}

#[test]
fn without_checkpoints_diff_and_undo_say_why_not() {
    let sandbox = Sandbox::bare();
    let id = changed_by(&sandbox, &["echo 1 > made"]);
    for command in ["diff", "undo"] {
        sandbox
            .ralph(&[command, &id])
            .exits(1)
            .says(&format!("run {id} has no checkpoints"))
            .says("not a git repository");
    }
    assert!(sandbox.has("made"));
    let sandbox = Sandbox::git();
    sandbox.plain_settings();
    let id = changed_by(&sandbox, &["echo 1 > made"]);
    for command in ["diff", "undo"] {
        sandbox.ralph(&[command, &id]).exits(1).says("has no checkpoints");
    }
    assert!(sandbox.has("made"));
}

#[test]
fn nothing_that_an_agent_can_edit_runs_in_a_checkpoint() {
    let sandbox = Sandbox::git();
    let trap = "for name in pre-commit post-index-change post-checkout; do \
                printf '#!/bin/sh\\ntouch ../pwned\\n' > .git/hooks/$name; chmod +x .git/hooks/$name; done; \
                git config core.fsmonitor 'touch ../pwned; false'; git config filter.x.clean 'touch ../pwned; cat'; \
                git config filter.x.smudge 'touch ../pwned; cat'; git config diff.x.textconv 'touch ../pwned; cat'; \
                echo '* filter=x diff=x' > .gitattributes";
    sandbox.program("trap", trap);
    let id = changed_by(&sandbox, &["true", "trap; echo 1 > made; echo x >> README", "echo 2 > made"]);
    sandbox.ralph(&["diff", &id]).exits(0);
    sandbox.ralph(&["undo", &id]).exits(0);
    assert_eq!(sandbox.read("README"), "a project\n");
    assert!(!sandbox.root().join("pwned").exists());
}

#[test]
fn show_tells_what_was_asked_said_changed_checked_and_spent() {
    let sandbox = Sandbox::git();
    sandbox.claude(&json!([
        [{"write": {"path": "first", "content": "1"}}, {"say": "Half of it\nis there."}, {"cost": 0.25}],
        [{"write": {"path": "second", "content": "1"}}, {"write": {"path": "third", "content": "1"}},
         {"say": "<response>DONE</response>"}, {"cost": 0.5}],
    ]));
    sandbox.ralph(&["run", "-p", "Mend it.", "--check", "test -f second"]).exits(0);
    let id = sandbox.only_run();
    let shown = sandbox.ralph(&["show", &id]).exits(0).stdout;
    let parts: Vec<&str> = shown.split("\niteration ").collect();
    assert_eq!(parts.len(), 3, "{shown}");
    for (part, words) in [
        (0, ["agent      claude", "check      test -f second", &sandbox.project().display().to_string()]),
        (1, ["1: checks failed", "said     Half of it is there.", "changed  first"]),
        (2, ["2: done", "changed  2 files: second, third", "said     <response>DONE</response>"]),
    ] {
        for word in words {
            assert!(parts[part].contains(word), "{word:?} in\n{}", parts[part]);
        }
    }
    assert!(
        parts[1].contains("$0.25") && parts[2].contains("$0.50") && shown.contains("cost: $0.75"),
        "{shown}"
    );
    assert!(
        parts[1].lines().any(|line| line.trim_start().starts_with("check    test -f second: ")),
        "{shown}"
    );
    assert!(shown.lines().last().unwrap().starts_with("completed"), "{shown}");
    for (part, asked) in [(1, "Mend it."), (2, "Check \"test -f second\" failed with exit code 1.")] {
        let path = parts[part].lines().find_map(|line| line.trim().strip_prefix("prompt")).unwrap().trim();
        let prompt = fs::read_to_string(path).unwrap();
        assert!(prompt.contains(asked), "{prompt}");
    }
}

#[test]
fn names_that_would_speak_to_the_terminal_do_not() {
    let sandbox = Sandbox::git();
    let name = OsStr::from_bytes(b"big-\x1b]0;title\x07");
    fs::File::create(sandbox.project().join(name)).unwrap().set_len(11 << 20).unwrap();
    let small = PathBuf::from(OsStr::from_bytes(b"small-\x1b[31m"));
    let id = changed_by(&sandbox, &["touch \"$(printf 'small-\\033[31m')\"; truncate -s 12M big-*"]);
    assert!(sandbox.project().join(small).exists());
    for args in [&["diff", &id][..], &["diff", &id, "--stat"], &["show", &id], &["undo", &id]] {
        let ran = sandbox.ralph(args).exits(0);
        assert!(
            !ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'),
            "{args:?}\n{}{}",
            ran.stdout,
            ran.stderr
        );
    }
}

#[test]
fn showing_many_iterations_starts_as_many_programs_as_showing_few() {
    let gits = |iterations: u32| {
        let sandbox = Sandbox::git();
        sandbox.settings(&json!({"context": false, "stallAfter": 0}));
        let agent = sandbox.sh_agent(
            "echo $RALPH_ITERATION > a; [ $RALPH_ITERATION = 2 ] || touch b$RALPH_ITERATION; echo on it",
        );
        sandbox.run(&["-p", "x", "-n", &iterations.to_string(), "-q"], &agent).exits(1);
        let git = sandbox.sh("command -v git");
        let counting = sandbox.root().join("counting");
        fs::create_dir(&counting).unwrap();
        let script =
            format!("#!/bin/sh\necho . >> '{}/calls'\nexec {} \"$@\"\n", counting.display(), git.trim());
        fs::write(counting.join("git"), script).unwrap();
        fs::set_permissions(counting.join("git"), PermissionsExt::from_mode(0o755)).unwrap();
        let path = format!("PATH='{}':$PATH", counting.display());
        let shown = sandbox.sh(&format!("{path} '{}' show {}", RALPH, sandbox.only_run()));
        assert_eq!(shown.matches("  changed  ").count(), iterations as usize, "{shown}");
        assert!(shown.contains("  changed  2 files: a, b1\n") && shown.contains("  changed  a\n"), "{shown}");
        fs::read_to_string(counting.join("calls")).unwrap().lines().count()
    };
    assert_eq!(gits(3), gits(12));
}
