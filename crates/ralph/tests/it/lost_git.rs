//! Checkpoints hold all they need: an agent can prune or delete the user's `.git`.

use crate::stories_run::stage::Stage;
use crate::support::{RALPH, Sandbox};
use crate::terminal::skip;
use std::fs;
use std::os::unix::fs::MetadataExt;

const DONE: &str = "echo '<response>DONE</response>'";

/// Everything that no commit and no ref reaches is gone from the repository.
const PRUNE: &str = "git -c user.name=a -c user.email=a@b commit -q --amend --allow-empty -m amended; \
    git reflog expire --expire=now --all; git gc -q --prune=now";

/// A history, work that is not committed, a file that is only staged, a stash, a tag, a branch.
fn repository() -> Sandbox {
    let sandbox = Sandbox::git();
    sandbox.sh(
        "mkdir -p src/deep; echo one > src/deep/one; echo two > two; git add . && git commit -q -m second
         git tag v1 && git branch side && git branch tmp_side && git branch objects/side && git branch info
         echo stashed > two && git stash -q
         echo third > third && echo newer > src/deep/one && git add . && git commit -q -m third
         echo staged > staged && git add staged && rm staged
         echo both > both && git add both && echo later > both
         echo mine >> README; echo untracked > untracked",
    );
    sandbox
}

fn files(sandbox: &Sandbox) -> String {
    sandbox.sh(
        "find . \\( -name .git -o -name .ralph \\) -prune -o -type f -print | sort | while read -r file; do \
         echo \"$file\"; cat \"$file\"; done",
    )
}

/// All that git shows of the repository.
fn repository_state(sandbox: &Sandbox) -> String {
    sandbox.sh(
        "git symbolic-ref HEAD; git for-each-ref; git log --format='%H %s' --all; git ls-files -s; git stash list
         git status --porcelain; git config --list --local; git diff --cached; git fsck --strict 2>&1 | grep -v dangling; true",
    )
}

fn run(sandbox: &Sandbox, script: &str) -> String {
    let ran = sandbox
        .run(&["-p", "x", "--format", "json"], &sandbox.sh_agent(&format!("{{ {script} ; }} >&2; {DONE}")));
    ran.exits(0).json()["run"].as_str().unwrap().to_owned()
}

#[test]
fn undo_and_diff_need_nothing_that_an_agent_can_prune() {
    let sandbox = repository();
    let before = files(&sandbox);
    let script = format!(
        "git reset -q --hard; echo theirs > README; rm -r src two third untracked; git add -A; {PRUNE}"
    );
    let id = run(&sandbox, &script);
    let diff = sandbox.ralph(&["diff", &id]).exits(0).stdout;
    for line in ["-newer", "-third", "-two", "-mine", "-later", "-untracked", "+theirs"] {
        assert!(diff.lines().any(|found| found == line), "{line}\n{diff}");
    }
    sandbox.ralph(&["undo", &id]).exits(0);
    assert_eq!(files(&sandbox), before);
    // As docs/undo.md says.
    sandbox.shell("git show :staged").exits(128);
    let kept = sandbox.run_dir().join("checkpoints.git/kept.git");
    assert_eq!(sandbox.sh(&format!("git --git-dir '{}' show :staged", kept.display())), "staged\n");
}

#[test]
fn a_deleted_repository_is_restored_when_it_is_asked_for_and_only_then() {
    let sandbox = repository();
    let (before, known) = (files(&sandbox), repository_state(&sandbox));
    let id = run(&sandbox, "git commit -q -m theirs; rm -rf .git src; echo theirs > README");
    sandbox.ralph(&["show", &id]).exits(0).says("README");
    let hint = format!("ralph undo {id} --restore-git");
    let diff = sandbox.ralph(&["diff", &id]).exits(0).says(&hint);
    assert!(diff.stdout.contains("+theirs") && diff.stdout.contains("-newer"), "{}", diff.stdout);
    sandbox.ralph(&["undo", &id]).exits(0).says(&hint);
    assert_eq!(files(&sandbox), before);
    assert!(!sandbox.has(".git"), "nothing is made without being asked for");

    let undone = sandbox.ralph(&["undo", &id, "--restore-git"]).exits(0);
    assert!(undone.stdout.contains("as it was when the run started"), "{}", undone.stdout);
    assert_eq!(files(&sandbox), before);
    assert_eq!(repository_state(&sandbox), known);
    assert_eq!(sandbox.sh("git show :staged"), "staged\n", "it was only staged");
    let left = fs::read_dir(sandbox.project()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with(".git.")));

    sandbox.sh("git commit -q -m mine");
    let head = sandbox.sh("git rev-parse HEAD");
    sandbox.ralph(&["undo", &id, "--restore-git"]).exits(1).says("a repository already exists");
    assert_eq!(sandbox.sh("git rev-parse HEAD"), head);
    // What was restored is the user's: to write there does not change what is kept.
    sandbox.sh("git gc -q --prune=now; rm -rf .git");
    sandbox.ralph(&["undo", &id, "--restore-git"]).exits(0);
    assert_eq!(repository_state(&sandbox), known);
}

#[test]
fn at_a_terminal_it_is_offered() {
    let sandbox = repository();
    if sandbox.shell("command -v script").code != Some(0) {
        skip("there is no `script` to make a terminal");
        return;
    }
    let known = repository_state(&sandbox);
    let id = run(&sandbox, "rm -rf .git");
    let answer = |word: &str| {
        sandbox.shell(&format!("echo {word} | script -qec \"$RALPH undo {id}\" /dev/null")).exits(0)
    };
    answer("n").says("Restore it as it was when the run started?");
    assert!(!sandbox.has(".git"));
    answer("y").says("Restore it as it was when the run started?");
    assert_eq!(repository_state(&sandbox), known);
}

#[test]
fn a_run_goes_on_without_its_repository_and_never_in_the_one_around_it() {
    let sandbox = Sandbox::git();
    sandbox.sh("git init -q -b main .. && git -C .. config user.name A && git -C .. config user.email a@b");
    sandbox.sh("cd .. && echo around > around && git add around && git commit -q -m around");
    let around = || sandbox.sh("cd .. && git for-each-ref && git ls-files -s && cat .git/info/exclude");
    let before = around();
    let script = "[ $RALPH_ITERATION = 1 ] && { rm -rf .git; echo 1 > made; exit 1; }; echo 2 > made";
    let agent = sandbox.sh_agent(&format!("{script}; {DONE}"));
    sandbox.run(&["-p", "x", "--max-failures", "1", "-q"], &agent).exits(1);
    let id = sandbox.only_run();
    // As after a crash: the second life finds no repository.
    sandbox.ralph(&["resume", &id, "-q"]).exits(0);
    sandbox.ralph(&["diff", &id, "2"]).exits(0).says("+2");
    sandbox.ralph(&["undo", &id, "--restore-git"]).exits(0);
    assert!(!sandbox.has("made"));
    assert_eq!(sandbox.sh("git log --format=%s"), "begin\n");
    assert_eq!(around(), before);
}

#[test]
fn a_deleted_directory_is_restored_with_its_repository() {
    let sandbox = repository();
    let (before, known) = (files(&sandbox), repository_state(&sandbox));
    let project = sandbox.project();
    let agent = sandbox.sh_agent(&format!("rm -rf '{}'; {DONE}", project.display()));
    sandbox.run(&["-p", "x", "-q"], &agent).exits(1);
    let id = sandbox.only_run();
    let command = format!("mkdir -p {0} && ralph undo {id} --restore-git -C {0}", project.display());
    let undo = |args: &[&str]| {
        let mut undo = sandbox.command(RALPH);
        undo.args(args).current_dir(sandbox.root());
        sandbox.spawn(undo).end()
    };
    undo(&["undo", &id]).exits(1).says(&command);
    fs::create_dir(&project).unwrap();
    undo(&["undo", &id, "--restore-git", "-C", project.to_str().unwrap()]).exits(0);
    assert_eq!(files(&sandbox), before);
    assert_eq!(repository_state(&sandbox), known);
}

#[test]
fn a_restore_that_cannot_finish_changes_nothing() {
    let sandbox = repository();
    let id = run(&sandbox, "echo theirs > README; echo theirs > src/deep/one; rm two; echo made > made");
    let before = files(&sandbox);
    // The content of one file is gone from the checkpoints, then damaged.
    let git = format!("git --git-dir='{}'", sandbox.run_dir().join("checkpoints.git").display());
    let blob = sandbox.sh("echo newer | git hash-object --stdin");
    let (dir, name) = blob.trim().split_at(2);
    let path = sandbox.sh(&format!(
        "find '{}' -path '*objects/{dir}/{name}'",
        sandbox.run_dir().join("checkpoints.git").display()
    ));
    let path = path.trim();
    assert_eq!(path.lines().count(), 1, "{path}");
    let content = fs::read(path).unwrap();
    for damage in [None, Some(&content[..content.len() - 4])] {
        let _ = fs::remove_file(path);
        if let Some(damaged) = damage {
            fs::write(path, damaged).unwrap();
        }
        sandbox.shell(&format!("{git} cat-file blob {blob}")).exits(128);
        sandbox.ralph(&["undo", &id]).exits(1).says("cannot read the checkpoint; nothing was changed");
        assert_eq!(files(&sandbox), before);
    }
    fs::remove_file(path).unwrap();
    fs::write(path, content).unwrap();
    sandbox.ralph(&["undo", &id]).exits(0);
    assert_eq!((sandbox.read("src/deep/one"), sandbox.has("made")), ("newer\n".into(), false));
}

#[test]
fn kept_objects_are_links_and_take_up_no_room() {
    let sandbox = repository();
    sandbox.sh("head -c 3000000 /dev/urandom > large; git add large; git commit -q -m large; git gc -q");
    let id = run(&sandbox, "true");
    let packs = sandbox.sh("ls -i .git/objects/pack/*.pack");
    let inode: u64 = packs.split_whitespace().next().unwrap().parse().unwrap();
    let kept = sandbox.run_dir().join("checkpoints.git/kept.git/objects/pack");
    let linked = fs::read_dir(kept).unwrap().any(|entry| entry.unwrap().metadata().unwrap().ino() == inode);
    assert!(linked, "{packs}");
    let stdout = sandbox.ralph(&["clean", "--runs", "--keep", "0", "--dry-run"]).exits(0).stdout;
    assert!(stdout.contains(&id) && !stdout.contains("MiB"), "{stdout}");
}

/// Another file system than the repository's, if there is one: no link leads from one to the other.
fn elsewhere(sandbox: &Sandbox) -> Option<tempfile::TempDir> {
    let dir = tempfile::TempDir::with_prefix_in("ralph-it-", "/dev/shm").ok()?;
    let here = fs::metadata(sandbox.project()).unwrap().dev();
    (fs::metadata(dir.path()).unwrap().dev() != here).then_some(dir)
}

#[test]
fn a_home_on_another_disk_keeps_a_small_repository_whole_and_of_a_large_one_the_last_commit() {
    for large in [false, true] {
        let sandbox = repository();
        let Some(home) = elsewhere(&sandbox) else { return };
        if large {
            sandbox.sh(
                "git stash -q && git stash drop -q; head -c 70000000 /dev/urandom > large && git add large &&
                 git commit -q -m large && git rm -q large && git commit -q -m less && git stash clear; echo s > staged && git add staged && rm staged",
            );
        }
        let ralph = |args: &str| {
            sandbox.shell(&format!("RALPH_HOME='{}' '{RALPH}' {args}", home.path().display())).exits(0)
        };
        let (before, known) = (files(&sandbox), repository_state(&sandbox));
        let head = sandbox.sh("git rev-parse HEAD; git ls-files -s; git status --porcelain");
        ralph(&format!(
            "run -p x -q -- sh -c '{{ {PRUNE}; rm -rf .git src; }} >&2; {}'",
            DONE.replace('\'', "\"")
        ));
        let id = fs::read_dir(home.path().join("runs")).unwrap().next().unwrap().unwrap().file_name();
        let id = id.to_str().unwrap();
        ralph(&format!("diff {id}")).says("-newer");
        let undone = ralph(&format!("undo {id} --restore-git"));
        assert_eq!(files(&sandbox), before);
        assert_eq!(sandbox.sh("git show :staged"), if large { "s\n" } else { "staged\n" });
        if large {
            assert!(undone.stdout.contains("without its history"), "{}", undone.stdout);
            assert_eq!(sandbox.sh("git log --format=%s"), "less\n");
            assert_eq!(sandbox.sh("git rev-parse HEAD; git ls-files -s; git status --porcelain"), head);
            sandbox.sh("git fsck --strict");
        } else {
            assert_eq!(repository_state(&sandbox), known);
        }
    }
}

#[test]
fn repositories_of_every_kind() {
    // Packed, borrowing, shallow, partial, in a worktree, with SHA-256, without a commit.
    let base = "git init -q -b main base && cd base && git config user.name A && git config user.email a@b
        mkdir d && echo one > d/one && git add . && git commit -q -m one && echo two > two && git add . && git commit -q -m two && git gc -q
        git config uploadpack.allowFilter true; cd ..";
    let kinds = [
        ("borrowing", "git clone -q --shared base it"),
        ("shallow", "git clone -q --depth 1 file://$PWD/base it"),
        ("partial", "git clone -q --filter=blob:none file://$PWD/base it"),
        ("sparse", "git clone -q --filter=blob:none --sparse file://$PWD/base it"),
        (
            "submodule",
            "git init -q -b main it && cd it && git -c protocol.file.allow=always submodule --quiet add ../base sub && echo 1 > two && git add . && git -c user.name=a -c user.email=a@b commit -q -m s",
        ),
        (
            "sha256",
            "git init -q --object-format=sha256 it && cp -r base/d base/two it && cd it && git add . && git -c user.name=a -c user.email=a@b commit -q -m s",
        ),
        ("unborn", "git init -q -b main it && cp -r base/d base/two it && cd it && git add two"),
        ("empty", "git init -q -b main it && cp -r base/d base/two it"),
    ];
    for (kind, make) in kinds {
        let sandbox = Sandbox::bare();
        sandbox.sh(base);
        sandbox.sh(make);
        let known = || {
            sandbox.sh("cd it && { git rev-parse HEAD; git ls-files -s; git status --porcelain; git for-each-ref; } 2>&1")
        };
        let before = known();
        let agent = format!(
            "'{RALPH}' run -C it -p x -q -- sh -c 'rm -rf .git ../base two; echo theirs > new; {}'",
            DONE.replace('\'', "\"")
        );
        let ran = sandbox.shell(&agent).exits(0);
        assert_eq!(ran.stderr, "", "{kind}");
        let id = sandbox.only_run();
        let diff = sandbox.ralph(&["diff", &id, "-C", "it"]).exits(0).stdout;
        assert!(diff.contains("+theirs") && diff.contains("two"), "{kind}: {diff}");
        sandbox.ralph(&["undo", &id, "-C", "it", "--restore-git"]).exits(0);
        assert_eq!(known(), before, "{kind}");
        assert!(sandbox.has("it/two") && !sandbox.has("it/new"), "{kind}");
    }
}

#[test]
fn a_worktrees_pointer_comes_back_if_its_repository_is_there() {
    let sandbox = Sandbox::git();
    sandbox.sh(
        "git worktree add -q ../tree -b tree && echo staged > ../tree/staged && git -C ../tree add staged",
    );
    let tree = sandbox.root().join("tree");
    let tree = tree.to_str().unwrap();
    let known =
        || sandbox.sh("cd ../tree && git symbolic-ref HEAD && git ls-files -s && git status --porcelain");
    let before = known();
    let lose = |what: &str| {
        let script = format!("rm -rf {what}; echo x > README; {DONE}");
        let ran =
            sandbox.ralph(&["run", "-C", tree, "-p", "x", "--format", "json", "--", "sh", "-c", &script]);
        ran.exits(0).json()["run"].as_str().unwrap().to_owned()
    };
    let id = lose(".git");
    sandbox.ralph(&["undo", &id, "-C", tree, "--restore-git"]).exits(0);
    assert_eq!(known(), before);
    let id = lose(".git ../project/.git");
    sandbox.ralph(&["undo", &id, "-C", tree, "--restore-git"]).exits(0);
    assert_eq!(known(), before);
    assert_eq!(
        sandbox.sh("git symbolic-ref HEAD; git status --porcelain"),
        "refs/heads/main\n",
        "its own HEAD"
    );
    // Its directory is gone as well: there is no place to put it.
    let id = lose(".git ../project");
    let ran = sandbox.ralph_in(sandbox.root(), &["undo", &id, "-C", tree, "--restore-git"]).exits(1);
    ran.says("is gone too").says("checkpoints.git/kept.git");
    sandbox.ralph_in(sandbox.root(), &["undo", &id, "-C", tree]).exits(0);
    let kept = sandbox.home().join("runs").join(&id).join("checkpoints.git/kept.git");
    let log = format!("git --git-dir='{}' log --format=%s tree", kept.display());
    fs::create_dir(sandbox.project()).unwrap();
    assert_eq!(sandbox.sh(&log), "begin\n");
}

#[test]
fn a_damaged_repository_is_moved_aside_and_restored() {
    for damage in [
        "rm -rf .git/HEAD .git/refs .git/objects",
        "rm -rf .git/objects/*",
        "echo nonsense > .git/HEAD",
        "rm -rf .git; mkdir .git",
        "rm -rf .git; echo nonsense > .git",
    ] {
        let sandbox = repository();
        let (before, known) = (files(&sandbox), repository_state(&sandbox));
        let id = run(&sandbox, &format!("{damage}; echo theirs > README"));
        let hint = format!("ralph undo {id} --restore-git");
        for command in ["diff", "undo"] {
            sandbox.ralph(&[command, &id]).exits(0).says("The repository is damaged").says(&hint);
        }
        assert!(sandbox.has(".git") && !sandbox.has(".git.aside-1"), "nothing is moved unasked: {damage}");
        let aside = format!("Moved the damaged {0}/.git to {0}/.git.aside-1\n", sandbox.project().display());
        sandbox.ralph(&["undo", &id, "--restore-git"]).exits(0).says(&aside);
        assert_eq!(repository_state(&sandbox), known, "{damage}");
        sandbox.sh("rm -rf .git.aside-1");
        assert_eq!(files(&sandbox), before, "{damage}");
    }
}

/// Git can read it at first glance. What is missing shows when it is asked for.
#[test]
fn so_is_one_that_lacks_old_objects() {
    let sandbox = repository();
    let known = repository_state(&sandbox);
    let script = "rm -f .git/objects/$(git rev-parse v1 | sed 's,^..,&/,')";
    let id = run(&sandbox, script);
    sandbox.ralph(&["undo", &id, "--restore-git"]).exits(0).says(".git.aside-1");
    assert_eq!(repository_state(&sandbox), known);
}

#[test]
fn the_repository_of_a_runs_worktree_is_restored_with_its_own_head() {
    for (lose, aside) in
        [("rm -rf ../../../.git", false), ("rm -rf ../../../.git/HEAD ../../../.git/refs", true)]
    {
        let sandbox = repository();
        let (before, known) = (files(&sandbox), repository_state(&sandbox));
        let agent = sandbox.sh_agent(&format!("{lose}; echo theirs > README; echo more; exit 1"));
        sandbox.run(&["-p", "x", "--worktree", "--max-failures", "1", "-q"], &agent);
        let id = sandbox.only_run();
        let hint = format!("ralph undo {id} --restore-git");
        sandbox.ralph(&["diff", &id]).exits(0).says("The repository is damaged").says(&hint);
        let ran = sandbox.ralph(&["undo", &id, "--restore-git"]).exits(0);
        let place = sandbox.project().join(".git");
        ran.says(&format!("Restored {} as it was when the run started.", place.display()));
        assert_eq!(sandbox.has(".git.aside-1"), aside, "{lose}");
        let inside = sandbox
            .sh(&format!("cd .ralph/worktrees/{id} && git symbolic-ref HEAD && git status --porcelain"));
        assert_eq!(inside, format!("refs/heads/ralph/{id}\n"), "{lose}");
        // But for the branch that the run has made.
        sandbox.sh(&format!(
            "rm -rf .git.aside-1; git worktree remove -f .ralph/worktrees/{id}; git branch -q -D ralph/{id}"
        ));
        assert_eq!(repository_state(&sandbox), known, "{lose}");
        assert_eq!(files(&sandbox), before, "{lose}");
    }
}

#[test]
fn a_story_is_put_back_although_its_commits_were_pruned() {
    let stage = Stage::new("1.1 1.2");
    stage.sandbox.write("mine", "mine\n");
    stage.sandbox.sh("echo staged > staged && git add staged && rm staged");
    let spoil = format!("echo bad >> README; git add -A; {PRUNE}");
    let script = format!(
        "case $try in
           1.1#1) {spoil}; FAIL no ;;
           1.1#2) cat README mine > \"$at/found\"; git show :staged >> \"$at/found\"; git log --format=%s >> \"$at/found\"
                  echo part >> README; git commit -q -m part README; DONE ;;
           1.2#1) git reset -q --hard; {spoil}; FAIL no ;;
           1.2#2) cat README > \"$at/found-2\"; git log --format=%s >> \"$at/found-2\"; DONE ;;
         esac"
    );
    stage.run(&[], &script).exits(0);
    assert_eq!(stage.note("found"), "a project\nmine\nstaged\nspecs\nbegin\n");
    assert_eq!(stage.note("found-2"), "a project\npart\npart\nspecs\nbegin\n");
    stage.sandbox.sh("git fsck --strict && git for-each-ref | grep attempt-1");
}

#[test]
fn a_story_without_its_repository_stops_and_says_how_to_get_it_back() {
    let stage = Stage::new("1.1");
    let ran = stage.run(&[], "case $try in *#1) rm -rf .git; echo bad > README; FAIL no ;; *) DONE ;; esac");
    ran.exits(1).says("--restore-git");
    let id = stage.sandbox.only_run();
    stage.sandbox.ralph(&["undo", &id, "--restore-git"]).exits(0);
    assert_eq!(stage.sandbox.sh("git status --porcelain -- README"), "");
    stage.sandbox.ralph(&["resume", &id, "-q"]).exits(0);
}

#[test]
fn an_earlier_runs_checkpoints_still_work() {
    let sandbox = repository();
    let before = files(&sandbox);
    let id = run(&sandbox, "echo theirs > README; rm two");
    // As earlier versions have left them: objects are borrowed from the user's.
    let dir = sandbox.run_dir().join("checkpoints.git");
    fs::remove_dir_all(dir.join("kept.git")).unwrap();
    fs::remove_file(dir.join("ralph-top")).unwrap();
    let objects = sandbox.project().join(".git/objects");
    fs::write(dir.join("objects/info/alternates"), format!("{}\n", objects.display())).unwrap();
    sandbox.ralph(&["diff", &id]).exits(0).says("+theirs");
    sandbox.ralph(&["undo", &id]).exits(0);
    assert_eq!(files(&sandbox), before);
    sandbox.sh("rm -rf .git");
    sandbox.ralph(&["undo", &id]).exits(1).says("has no checkpoints");
}
