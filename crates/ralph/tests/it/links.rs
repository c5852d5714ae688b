//! Directories that become links and the other way round: nothing is written, or removed, through
//! a link, and every checkpoint goes on to work.

use crate::stories_run::stage::Stage;
use crate::support::Sandbox;

const DONE: &str = "echo '<response>DONE</response>'";

const SWAP: &str = "mv lib ../moved; ln -s ../moved lib";

fn project() -> Sandbox {
    let sandbox = Sandbox::git();
    sandbox.sh(
        "mkdir -p lib/deep dir real; echo 1 > lib/a; echo 2 > lib/deep/b; echo 3 > dir/c; echo 4 > real/d
         echo 5 > file; ln -s real link; git add . && git commit -q -m more; echo 6 > lib/untracked",
    );
    sandbox
}

/// Links, files and what is in them, outside of the project as well.
fn everything(sandbox: &Sandbox) -> String {
    sandbox.sh(
        "find . \\( -name .git -o -name .ralph \\) -prune -o \\( -type f -o -type l -o -type d \\) -print | sort | \
         while read -r path; do if [ -L \"$path\" ]; then echo \"$path -> $(readlink \"$path\")\"; \
         elif [ -f \"$path\" ]; then echo \"$path: $(cat \"$path\")\"; else echo \"$path/\"; fi; done",
    )
}

fn outside(sandbox: &Sandbox) -> String {
    sandbox.sh("cd .. && for path in moved out; do [ ! -e $path ] || find $path -type f | sort | xargs grep -H .; done")
}

/// A run of two iterations, the second of which only adds a file.
#[track_caller]
fn swapped(script: &str) {
    let sandbox = project();
    let before = everything(&sandbox);
    let agent = sandbox.sh_agent(&format!(
        "if [ $RALPH_ITERATION = 1 ]; then {script}; echo on it; else echo x > added; {DONE}; fi"
    ));
    let ran = sandbox.run(&["-p", "x"], &agent).exits(0);
    assert!(!ran.stderr.contains("symbolic link"), "{}", ran.stderr);
    let id = sandbox.only_run();
    let (after, theirs) = (everything(&sandbox), outside(&sandbox));
    let diff = sandbox.ralph(&["diff", &id, "2"]).exits(0).stdout;
    assert!(diff.contains("+++ b/added") && diff.matches("diff --git").count() == 1, "{script}: {diff}");
    assert_ne!(sandbox.ralph(&["diff", &id, "1"]).exits(0).stdout, "", "{script}");
    let undone = sandbox.ralph(&["undo", &id]).exits(0).stdout;
    assert_eq!(everything(&sandbox), before, "{script}: {undone}");
    assert_eq!(outside(&sandbox), theirs, "{script}: what a link leads to is not ralph's");
    let kept = undone.split("--tree ").nth(1).unwrap().trim();
    sandbox.ralph(&["undo", &id, "--tree", kept]).exits(0);
    assert_eq!(everything(&sandbox), after, "{script}");
    assert_eq!(outside(&sandbox), theirs, "{script}");
}

#[test]
fn a_directory_that_becomes_a_link_and_all_its_kin() {
    for script in [
        SWAP,
        "mv lib moved; ln -s moved lib",
        "mv lib/deep ../moved; ln -s ../../moved lib/deep",
        "mv lib ../moved; mkdir ../out; echo theirs > ../out/a; ln -s ../out lib",
        "rm link; mkdir link; echo theirs > link/d",
        "rm link; mkdir -p link/x; echo theirs > link/x/y; rm -r real; ln -s link real",
        "rm file; mkdir -p file/in; echo theirs > file/in/x",
        "rm -r dir; echo theirs > dir",
        "rm -r lib; echo theirs > lib; rm file; ln -s lib file",
        "mv lib ../moved; ln -s ../moved lib; rm file; ln -s lib/a file; rm -r dir; ln -s /nowhere dir",
    ] {
        swapped(script);
    }
}

#[test]
fn it_may_happen_in_any_iteration_and_be_taken_back() {
    let sandbox = project();
    let agent = sandbox.sh_agent(&format!(
        "case $RALPH_ITERATION in 1) {SWAP} ;; 2) rm lib; mv ../moved lib ;; 3) rm -r lib; ln -s real lib ;; *) {DONE} ;; esac; echo on"
    ));
    sandbox.run(&["-p", "x"], &agent).exits(0);
    let id = sandbox.only_run();
    for (to, a) in [("2", None), ("3", Some("1\n")), ("4", None), ("1", Some("1\n"))] {
        sandbox.ralph(&["undo", &id, "--to", to]).exits(0);
        let link = sandbox.project().join("lib").is_symlink();
        assert_eq!(link, a.is_none(), "before iteration {to}");
        if let Some(a) = a {
            assert_eq!(sandbox.read("lib/a"), a);
        }
    }
}

#[test]
fn what_an_ignored_link_hides_is_named_and_not_written_through() {
    let sandbox = project();
    sandbox.sh("echo /lib > .gitignore && git add .gitignore && git commit -q -m ignore");
    sandbox.run(&["-p", "x"], &sandbox.sh_agent(&format!("{SWAP}; echo x > ../moved/a; {DONE}"))).exits(0);
    let id = sandbox.only_run();
    sandbox.ralph(&["undo", &id]).exits(0).says("Not touched").says("lib/a");
    assert_eq!(sandbox.read("../moved/a"), "x\n");
    sandbox.sh("rm lib");
    sandbox.ralph(&["undo", &id]).exits(0);
    assert_eq!((sandbox.read("lib/a"), sandbox.read("../moved/a")), ("1\n".into(), "x\n".into()));
}

#[test]
fn a_story_that_swaps_a_directory_for_a_link_is_put_back() {
    let stage = Stage::new("1.1 1.2");
    stage
        .sandbox
        .sh("mkdir -p lib/deep; echo 1 > lib/a; echo 2 > lib/deep/b; git add . && git commit -q -m lib");
    let script = format!(
        "case $try in
           1.1#1) {SWAP}; echo theirs >> ../moved/a; FAIL no ;;
           1.1#2) cat lib/a lib/deep/b > \"$at/found\"; [ -L lib ] || echo dir >> \"$at/found\"; rm -rf ../moved; {SWAP}; DONE ;;
           1.2#1) rm lib; mkdir lib; echo new > lib/a; git add -A; git commit -q -m dir; FAIL no ;;
           1.2#2) readlink lib > \"$at/found-2\"; DONE ;;
         esac"
    );
    let ran = stage.run(&[], &script).exits(0);
    assert!(!ran.stderr.contains("symbolic link"), "{}", ran.stderr);
    assert_eq!(stage.note("found"), "1\n2\ndir\n");
    assert_eq!(stage.note("found-2"), "../moved\n");
    assert_eq!(stage.sandbox.read("../moved/a"), "1\n");
}

#[test]
fn a_commit_of_what_is_left_takes_a_swapped_directory() {
    let sandbox = project();
    let agent = sandbox.sh_agent(&format!("{SWAP}; {DONE}"));
    let ran = sandbox.run(&["-p", "x", "--worktree"], &agent).exits(0);
    assert!(!ran.stderr.contains("symbolic link"), "{}", ran.stderr);
    let branch = sandbox.sh("git for-each-ref --format='%(refname)' refs/heads/ralph");
    assert_eq!(sandbox.sh(&format!("git ls-tree --name-only {} lib lib/", branch.trim())), "lib\n");
}

/// Ralph is in no sandbox, and an agent may be.
#[test]
fn nothing_is_written_through_a_link_in_the_place_of_ralphs_directory() {
    let sandbox = Sandbox::git();
    sandbox.settings(&serde_json::json!({"context": false}));
    let agent = sandbox.sh_agent(&format!(
        "if [ $RALPH_ITERATION = 1 ]; then mkdir ../theirs; mv .ralph/settings.json ../theirs; rm -r .ralph; ln -s ../theirs .ralph; echo on it; else {DONE}; fi"
    ));
    let ran = sandbox.run(&["-p", "x", "--check", "true"], &agent).exits(0);
    assert_eq!(sandbox.sh("ls ../theirs"), "settings.json\n");
    ran.says("points outside the project").says(".ralph.aside-1");
    assert_eq!(sandbox.sh("readlink .ralph.aside-1"), "../theirs\n");
    assert!(sandbox.read(".ralph/progress.md").contains("Iteration 2"));
    assert!(sandbox.has(".ralph/guardrail_2_true.log"));
    // At the start it is the user's own, and an error.
    sandbox.sh("rm -r .ralph; mv .ralph.aside-1 .ralph");
    sandbox.run(&["-p", "x"], &agent).exits(2).says("points outside the project");
    assert_eq!(sandbox.sh("ls ../theirs"), "settings.json\n");
    // A link that stays in the project is followed.
    sandbox.sh("rm .ralph; mkdir own; ln -s own .ralph");
    sandbox.run(&["-p", "x"], &sandbox.sh_agent(DONE)).exits(0);
    assert!(sandbox.has("own/progress.md"));
}

#[test]
fn stories_write_nothing_through_such_a_link_either() {
    let stage = Stage::new("1.1 1.2");
    let plant = "mkdir ../theirs; cp specs/epic-1/story-1.1-part.md ../theirs/ 2>/dev/null || cp specs/epic-1/*1.1* ../theirs; \
         rm -rf .ralph; ln -s ../theirs .ralph; rm specs/epic-1/*1.1*; ln -s \"$PWD/../theirs/$(ls ../theirs)\" specs/epic-1/";
    stage.run(&[], &format!("[ $try != 1.1#1 ] || {{ {plant}; }}; DONE")).exits(0);
    assert!(!stage.sandbox.sh("cat ../theirs/*").contains("status: done"));
    assert_eq!(stage.sandbox.sh("ls ../theirs | wc -l").trim(), "1");
    assert_eq!(stage.state(), "1.1 1.2 / - / 0");
}
