//! Checkpoints take up little space, and no more than they may.

use crate::support::Sandbox;
use serde_json::json;

/// What lies in the run's own git directory: files, and KiB on the disk.
fn objects(sandbox: &Sandbox) -> (usize, u64) {
    let at = sandbox.run_dir().join("checkpoints.git/objects");
    let counted = sandbox.sh(&format!("find '{0}' -type f | wc -l; du -sk '{0}' | cut -f1", at.display()));
    let mut numbers = counted.split_whitespace().map(|word| word.parse::<u64>().unwrap());
    (usize::try_from(numbers.next().unwrap()).unwrap(), numbers.next().unwrap())
}

/// Every object of a tree can be read.
fn is_whole(sandbox: &Sandbox, tree: &str) -> bool {
    let git = format!("git --git-dir='{}'", sandbox.run_dir().join("checkpoints.git").display());
    let script = format!(
        "names=$({git} rev-list --objects --no-object-names {tree}) || exit 1
         echo \"$names\" | {git} cat-file --batch | grep -a -c ' missing$'"
    );
    sandbox.shell(&script).stdout.trim() == "0"
}

fn trees(sandbox: &Sandbox) -> Vec<String> {
    let end = |fact: &serde_json::Value| Some(fact["ended"]["end"]["snapshot"]["tree"].as_str()?.to_owned());
    sandbox.facts().iter().filter_map(end).collect()
}

#[test]
fn many_small_files_are_packed_and_nothing_is_lost() {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"context": false}));
    let agent = sandbox.sh_agent(
        "mkdir -p d; i=0; while [ $RALPH_ITERATION = 1 ] && [ $i -lt 3000 ]; do echo $i > d/$i; i=$((i + 1)); done
         echo $RALPH_ITERATION > d/0; echo on it",
    );
    let ran = sandbox.run(&["-p", "x", "-n", "2", "-q"], &agent).exits(1);
    assert_eq!(ran.stderr, "");
    let (files, kib) = objects(&sandbox);
    assert!(files < 20 && kib < 1_000, "{files} files, {kib} KiB");
    let id = sandbox.only_run();
    assert!(trees(&sandbox).iter().all(|tree| is_whole(&sandbox, tree)));
    sandbox.ralph(&["diff", &id, "1", "--stat"]).exits(0).says("3000 files changed, 3000 insertions(+)");
    sandbox.ralph(&["undo", &id, "--to", "2"]).exits(0);
    assert_eq!((sandbox.read("d/0"), sandbox.read("d/2999")), ("1\n".into(), "2999\n".into()));
    sandbox.ralph(&["undo", &id]).exits(0);
    assert!(!sandbox.has("d"));
}

#[test]
fn beyond_the_cap_the_oldest_trees_go_and_the_newest_and_the_first_stay() {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"context": false, "keepCheckpoints": 3}));
    // Half a MiB that cannot be made smaller, in every iteration.
    let agent = sandbox
        .sh_agent("head -c 524288 /dev/urandom > blob; echo \"$RALPH_ITERATION\" > number; echo on it");
    let ran = sandbox.run(&["-p", "x", "-n", "20", "-q"], &agent).exits(1);
    let warning =
        "ralph: warning: checkpoints exceed their size limit (keepCheckpoints): removed the oldest\n";
    assert_eq!(ran.stderr, warning);
    let (_, kib) = objects(&sandbox);
    assert!(kib < 4_200, "{kib} KiB");
    let trees = trees(&sandbox);
    assert_eq!(trees.len(), 21);
    for kept in [0, 19, 20] {
        assert!(is_whole(&sandbox, &trees[kept]), "before iteration {}", kept + 1);
    }
    let id = sandbox.only_run();
    for args in [&["diff", &id, "5"][..], &["undo", &id, "--to", "5"]] {
        let ran = sandbox.ralph(args).exits(1);
        assert!(
            ran.stderr.contains("the checkpoint before iteration 5 of run ")
                && ran.stderr.contains(" was removed")
        );
        assert!(
            ran.stderr.contains("hint: the oldest one left is the one before iteration "),
            "{}",
            ran.stderr
        );
    }
    sandbox.ralph(&["show", &id]).exits(0).says("iteration 5: ");
    sandbox.ralph(&["diff", &id, "20", "--stat"]).exits(0).says("number");
    sandbox.ralph(&["undo", &id, "--to", "20"]).exits(0);
    assert_eq!(sandbox.read("number"), "19\n");
    sandbox.ralph(&["undo", &id]).exits(0);
    assert!(!sandbox.has("blob"));
}

#[test]
fn what_an_undo_has_kept_is_not_dropped() {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"context": false, "keepCheckpoints": 3}));
    let blob = "head -c 524288 /dev/urandom > blob; echo on it";
    let script = format!("{blob}; [ $RALPH_ITERATION != 3 ] || [ -e ../up ] || exit 1");
    let args = ["-p", "x", "-n", "20", "-q", "--max-failures", "1"];
    sandbox.run(&args, &sandbox.sh_agent(&script)).exits(1);
    let id = sandbox.only_run();
    let before = sandbox.sh("sha256sum blob");
    let stdout = sandbox.ralph(&["undo", &id]).exits(0).stdout;
    let back = stdout.lines().last().unwrap().rsplit(' ').next().unwrap().to_owned();
    std::fs::write(sandbox.root().join("up"), "").unwrap();
    sandbox.ralph(&["resume", &id, "-q"]).exits(1).says("keepCheckpoints");
    sandbox.ralph(&["undo", &id, "--tree", &back]).exits(0);
    assert_eq!(sandbox.sh("sha256sum blob"), before);
}

#[test]
fn where_a_story_began_stays_however_much_its_attempts_leave() {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"keepCheckpoints": 1, "stories": {"maxRetries": 8}}));
    sandbox.write("specs/epic-1/story-1.1-part.md", "---\nstatus: pending\n---\n# Build it\n\nIt works.\n");
    sandbox.sh("head -c 524288 /dev/urandom > mine; git add specs && git commit -q -m specs");
    let before = sandbox.sh("sha256sum mine");
    let agent = sandbox.sh_agent(
        "cat > /dev/null; sha256sum mine >> ../found; head -c 524288 /dev/urandom > mine; head -c 524288 /dev/urandom > more
         if [ $RALPH_ITERATION = 7 ]; then echo '<ralph>DONE 1.1</ralph>'; else echo '<ralph>FAIL 1.1: no</ralph>'; fi",
    );
    let ran = sandbox.ralph(&[&["stories", "-q", "--"], &agent.words()[..]].concat()).exits(0);
    assert!(ran.stderr.contains("keepCheckpoints"), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(sandbox.root().join("found")).unwrap(), before.repeat(7));
    let (_, kib) = objects(&sandbox);
    assert!(kib < 2_600, "{kib} KiB");
    assert_eq!(sandbox.sh("git for-each-ref refs/ralph").lines().count(), 6, "what they left is kept");
}

#[test]
fn packs_stay_few_and_hold_every_tree() {
    let sandbox = Sandbox::git();
    // So little is recorded before it is packed that every iteration leaves a pack.
    sandbox.settings(&json!({"context": false, "stallAfter": 0, "keepCheckpoints": 4}));
    let agent = sandbox.sh_agent("yes $RALPH_ITERATION | head -c 1200000 > big; echo on it");
    let ran = sandbox.run(&["-p", "x", "-n", "22", "-q"], &agent).exits(1);
    assert_eq!(ran.stderr, "");
    let packs = sandbox.run_dir().join("checkpoints.git/objects/pack");
    let named = |end: &str| sandbox.sh(&format!("find '{}' -name '*.{end}' | wc -l", packs.display()));
    assert_eq!(named("pack"), named("idx"));
    let count: usize = named("pack").trim().parse().unwrap();
    assert!((1..=8).contains(&count), "{count} packs");
    let trees = trees(&sandbox);
    assert_eq!(trees.len(), 23);
    assert!(trees.iter().all(|tree| is_whole(&sandbox, tree)));
    let id = sandbox.only_run();
    sandbox.ralph(&["undo", &id, "--to", "4"]).exits(0);
    assert!(sandbox.read("big").starts_with("3\n3\n"));
}

/// Every git that is started leaves its arguments in this file, and the agents theirs.
fn with_git_log(sandbox: &Sandbox) -> std::path::PathBuf {
    let log = sandbox.root().join("gits");
    let git = sandbox.sh("command -v git").trim().to_owned();
    sandbox.program("git", &format!("echo \"$@\" >> '{}'\nexec '{git}' \"$@\"", log.display()));
    log
}

/// The gits between the start of this agent and that of the next one.
fn gits_after(log: &str, agent: u32) -> Vec<&str> {
    let is_agent = |line: &&str, number: u32| *line == format!("agent {number}");
    let after = log.lines().skip_while(|line| agent > 0 && !is_agent(line, agent));
    after.skip(usize::from(agent > 0)).take_while(|line| !is_agent(line, agent + 1)).collect()
}

#[test]
fn no_git_is_started_between_agents_that_change_nothing() {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"stallAfter": 0}));
    sandbox.sh("mkdir -p src/deep && echo 1 > src/deep/file && git add . && git commit -q -m more");
    let log = with_git_log(&sandbox);
    // Files count as unchanged only if they have been for more than two seconds.
    let agent = sandbox.sh_agent(&format!(
        "echo agent $RALPH_ITERATION >> '{0}'; [ $RALPH_ITERATION != 2 ] || sleep 3
         [ $RALPH_ITERATION != 5 ] || echo 2 > src/deep/file; echo on it",
        log.display()
    ));
    sandbox.run(&["-p", "x", "-n", "8", "-q"], &agent).exits(1);
    let gits = std::fs::read_to_string(log).unwrap();
    let before = gits_after(&gits, 0);
    assert!(before.len() <= 11, "{} gits before the first agent: {before:#?}", before.len());
    for agent in [3, 4] {
        assert_eq!(gits_after(&gits, agent), Vec::<&str>::new(), "after agent {agent}");
    }
    assert!(!gits_after(&gits, 5).is_empty());
    let trees = trees(&sandbox);
    assert_eq!(trees[..5], [trees[0].as_str(); 5]);
    assert_ne!(trees[5], trees[4]);
    let id = sandbox.only_run();
    sandbox.ralph(&["diff", &id, "5", "--stat"]).exits(0).says("src/deep/file");
}

#[test]
fn what_people_and_agents_do_to_a_tree_is_in_its_checkpoints() {
    let sandbox = Sandbox::git();
    sandbox.write(".gitignore", "*.log\n");
    sandbox.write("run.sh", "#!/bin/sh\n");
    sandbox.write("count", "0000\n");
    sandbox.sh("git add . && git commit -q -m more");
    let agent = sandbox.sh_agent(
        "case $RALPH_ITERATION in
           3) mkdir -p a/b/c; echo new > a/b/c/file;;
           4) chmod +x run.sh;;
           5) echo log > a/b/x.log; echo '*.tmp' > .gitignore;;
           6) git switch -q -c other;;
           7) echo more > a/b/c/file; rm run.sh;;
           8) ln -s count link;;
         esac
         printf '%04d\\n' $RALPH_ITERATION > count; echo on it",
    );
    sandbox.run(&["-p", "x", "-n", "9", "-q"], &agent).exits(1);
    let id = sandbox.only_run();
    let changed = |iteration: &str| sandbox.ralph(&["diff", &id, iteration, "--stat"]).exits(0).stdout;
    for (iteration, file) in [
        ("3", "a/b/c/file"),
        ("4", "run.sh"),
        ("5", "a/b/x.log"),
        ("5", ".gitignore"),
        ("7", "a/b/c/file"),
        ("7", "run.sh"),
        ("8", "link"),
    ] {
        let stat = changed(iteration);
        assert!(stat.contains(file), "{file} in iteration {iteration}:\n{stat}");
    }
    for iteration in 1..=9 {
        let diff = sandbox.ralph(&["diff", &id, &iteration.to_string()]).exits(0).stdout;
        let count = format!("-{:04}\n+{iteration:04}\n", iteration - 1);
        assert!(diff.contains(&count), "iteration {iteration}:\n{diff}");
    }
    sandbox.ralph(&["undo", &id, "--to", "5"]).exits(0);
    assert_eq!(sandbox.sh("test -x run.sh && cat count a/b/c/file"), "0004\nnew\n");
    assert!(!sandbox.has("link") && !sandbox.has("a/b/x.log"));
}
