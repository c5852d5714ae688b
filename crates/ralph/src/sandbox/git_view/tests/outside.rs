//! What changes outside meanwhile, and lives of a run that are cut short.

use super::*;
use std::os::unix::fs::MetadataExt;

#[test]
fn what_the_user_does_meanwhile_wins_and_nothing_is_lost() {
    let mut bench = Bench::new();
    bench.view().before_step().unwrap();
    succeeded(
        "",
        &bench
            .try_inside("echo a >a && git add a && git commit -q -m agent && git branch theirs && git tag t"),
    );
    bench.outside("echo u >u && git add u && git commit -q -m user && git branch mine");
    let told = bench.view().after_step().join("\n");
    assert_eq!(
        told,
        "the branch main was changed outside meanwhile, and stays as it is there; what it was inside is kept as \
         refs/ralph/run/inside/heads/main\n\
         the index was changed outside meanwhile, and stays as it is there; that of the agent is kept as "
            .to_string()
            + &bench.path("run/main/index.inside").display().to_string()
    );
    let log = "git log -1 --format=%s";
    assert_eq!(
        bench.outside(&format!("{log} main; {log} refs/ralph/run/inside/heads/main; {log} theirs; {log} t")),
        "user\nagent\nagent\nagent"
    );
    bench.is_same();
    assert_eq!(
        bench.inside(&format!("{log}; git branch --format='%(refname:short)'")),
        "user\nmain\nmine\ntheirs"
    );
    // Once is enough.
    bench.inside("git status");
}

#[test]
fn a_head_that_the_user_moved_stays_there() {
    let mut bench = Bench::new();
    bench.view().before_step().unwrap();
    succeeded("", &bench.try_inside("git checkout -q --detach && git commit -q --allow-empty -m lost"));
    bench.outside("git checkout -q -b mine");
    let told = bench.view().after_step().join("\n");
    assert!(
        told.starts_with("HEAD was moved outside meanwhile and stays at the branch mine; inside it was at "),
        "{told}"
    );
    assert_eq!(
        bench.outside("git symbolic-ref HEAD && git log -1 --format=%s refs/ralph/run/inside/HEAD"),
        "refs/heads/mine\nlost"
    );
    bench.is_same();
}

#[test]
fn a_status_outside_is_no_change_of_the_index() {
    let mut bench = Bench::new();
    bench.view().before_step().unwrap();
    succeeded("", &bench.try_inside("echo a >a && git add a"));
    // Git writes the index to note what it has learned of the file.
    bench.outside("touch -d '1 hour ago' file && git status >/dev/null");
    assert_eq!(bench.view().after_step(), [""; 0]);
    assert_eq!(bench.outside("git status --porcelain"), "A  a");
}

#[test]
fn commits_can_be_carried_over_while_the_agent_works() {
    let mut bench = Bench::new();
    bench.view().before_step().unwrap();
    for number in 1..4 {
        succeeded("", &bench.try_inside(&format!("echo {number} >file && git commit -q -am {number}")));
        assert_eq!(bench.view().after_step(), [""; 0]);
        assert_eq!(bench.outside("git log -1 --format=%s && git status --porcelain"), number.to_string());
    }
    assert_eq!(bench.outside("git reflog | wc -l"), "4");
    bench.is_same();
}

#[test]
fn a_step_that_did_nothing_with_git_writes_nothing_outside() {
    let mut bench = Bench::new();
    bench.inside("git status");
    let stamp = |path: PathBuf| path.symlink_metadata().map(|meta| (meta.ino(), meta.mtime_nsec())).unwrap();
    let stamps = |bench: &Bench| {
        ["HEAD", "index", "config", "logs/HEAD"].map(|name| stamp(bench.top.join(".git").join(name)))
    };
    let before = stamps(&bench);
    bench.inside("echo x >x && git status && git diff && git log");
    assert_eq!(stamps(&bench), before);
}

/// What is inside when a run is killed is carried over by the next life, at whatever point it died.
#[test]
fn a_life_that_was_cut_short_loses_nothing() {
    let work = "echo a >a && git add a && git checkout -q -b agent && git commit -q -m agent && echo b >b && git add b";
    let check = |bench: &mut Bench| {
        assert_eq!(
            bench.outside("git symbolic-ref HEAD && git log -1 --format=%s && git status --porcelain"),
            "refs/heads/agent\nagent\nA  b"
        );
        bench.is_sound();
        bench.is_same();
    };
    // Killed while the agent worked.
    let mut bench = Bench::new();
    bench.view().before_step().unwrap();
    succeeded("", &bench.try_inside(work));
    bench.view = None;
    bench.view();
    check(&mut bench);

    // The same, and the run is never continued.
    let mut bench = Bench::new();
    bench.view().before_step().unwrap();
    succeeded("", &bench.try_inside(work));
    assert_eq!(GitView::recover(&bench.path("run"), KEEP_UNDER), [""; 0]);
    assert_eq!(GitView::recover(&bench.path("run"), KEEP_UNDER), [""; 0]);
    bench.view = None;
    check(&mut bench);

    // Killed while that was carried over: the refs are outside, and nothing else.
    let mut bench = Bench::new();
    bench.view().before_step().unwrap();
    succeeded("", &bench.try_inside(work));
    let base = bench.path("run/main/base");
    bench.outside(&format!("cp -r '{}' ../base", base.display()));
    bench.view().after_step();
    let real = bench.top.join(".git");
    bench.outside(&format!("rm -r '{}' && mv ../base '{}'", base.display(), base.display()));
    fs::write(real.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    bench.outside("git read-tree HEAD");
    bench.view = None;
    bench.view();
    check(&mut bench);
    assert_eq!(bench.outside("git reflog | wc -l"), "3", "no line twice");

    // Killed between the two renames at the end, and while the copy is made.
    for left in [
        "mv base base.last",
        "mv base base.last; mv git git.last; mkdir git; cp git.last/HEAD git",
        "rm -r base; mv git git.last",
    ] {
        let mut bench = Bench::new();
        bench.inside(work);
        bench.inside("git config user.name agent");
        bench.outside(&format!("cd ../run/main && {left}"));
        bench.view = None;
        bench.view();
        check(&mut bench);
        assert_eq!(bench.inside("git config user.name"), "agent", "{left}");
    }
}

#[test]
fn locks_of_a_git_that_was_killed_inside_do_not_stop_the_next_one() {
    let mut bench = Bench::new();
    bench.told("touch .git/index.lock .git/HEAD.lock .git/refs/heads/main.lock .git/packed-refs.lock .git/config.lock");
    bench.inside("echo x >file && git commit -q -am x && git config a.b c && git pack-refs --all");
    bench.is_same();
}

#[test]
fn what_is_locked_outside_is_carried_over_later() {
    let mut bench = Bench::new();
    bench.view().before_step().unwrap();
    succeeded("", &bench.try_inside("echo x >file && git commit -q -am x"));
    bench.outside("touch .git/index.lock");
    let told = bench.view().after_step().join("\n");
    assert!(told.contains("not carried over yet") && told.contains("index.lock"), "{told}");
    // The agent goes on with what it has.
    let told = bench.view().before_step().unwrap().join("\n");
    assert!(told.contains("not carried over yet"), "{told}");
    succeeded(
        "",
        &bench.try_inside("git log -1 --format=%s | grep -qx x && echo y >file && git commit -q -am y"),
    );
    bench.outside("mv .git/index.lock .git/refs/heads/main.lock");
    let told = bench.view().after_step().join("\n");
    assert!(told.contains("not carried over yet") && told.contains("main.lock"), "{told}");
    bench.outside("rm .git/refs/heads/main.lock");
    assert_eq!(bench.view().after_step(), [""; 0]);
    assert_eq!(bench.outside("git log -1 --format=%s && git status --porcelain"), "y");
    bench.is_same();
}
