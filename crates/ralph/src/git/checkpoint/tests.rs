//! However a change was found, the tree is the one that `git status` leads to.
#![expect(clippy::disallowed_methods, reason = "tests write files")]

use super::*;
use crate::git::git;
use crate::git::shadow::FOR_A_PROMPT;
use crate::process::tool::Tool;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

const LARGEST: u64 = 10_000;

struct Bench {
    _dir: TempDir,
    top: PathBuf,
    taken: Checkpoints,
    /// Of the same tree, without any shortcut.
    plain: Shadow,
}

impl Bench {
    fn new() -> Bench {
        Bench::with_format("sha1")
    }

    fn with_format(format: &str) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let top = root.join("top");
        fs::create_dir_all(top.join("deep/er/down")).unwrap();
        for (name, text) in [("a", "one\n"), ("deep/b", "two\n"), ("deep/er/down/c", "three\n")] {
            fs::write(top.join(name), text).unwrap();
        }
        fs::write(top.join(".gitignore"), "*.log\nbuild/\n").unwrap();
        let format = format!("--object-format={format}");
        let init = ["init", "-q", "-b", "main", &format];
        for args in [&init[..], &["add", "."], &["commit", "-q", "-m", "begin"]] {
            let identity = ["-c", "user.name=x", "-c", "user.email=x@localhost"];
            assert!(git(&top).args(identity).args(args).run().unwrap().success());
        }
        let mut bench = Bench::over(dir, top);
        // The shortcuts begin with the third.
        bench.check("nothing yet");
        bench.check("nothing again");
        bench
    }

    fn over(dir: TempDir, top: PathBuf) -> Bench {
        let shadow =
            |name| Shadow::over(Repository::around(&top).unwrap(), top.with_file_name(name), LARGEST);
        let (own, plain) = (shadow("own"), shadow("plain"));
        plain.set_up(&top).unwrap();
        Bench { _dir: dir, top, taken: Checkpoints::of(own, None, true, 0), plain }
    }

    fn take(&mut self) -> Snapshot {
        let top = self.top.clone();
        let taken = self.taken.take(&top, true, None, &[]).unwrap();
        self.taken.prepare();
        taken
    }

    /// Takes a snapshot and compares it with the plain one.
    #[track_caller]
    fn check(&mut self, what: &str) {
        let taken = self.take();
        let changes = self.plain.changes().unwrap();
        let tree = self.plain.record(&changes).unwrap();
        if taken.end.tree.as_ref() != Some(&tree) {
            let listing = |git: Tool<'_>, tree: &str| {
                String::from_utf8(git.args(["ls-tree", "-r", "-t", tree]).run().unwrap().stdout).unwrap()
            };
            let found = listing(self.taken.shadow.git(), taken.end.tree.as_deref().unwrap());
            panic!("{what}: recorded\n{found}instead of\n{}", listing(self.plain.git(), &tree));
        }
        assert_eq!(taken.end.left_out, changes.left_out, "{what}");
        let head = Repository::around(&self.top).unwrap().head();
        assert_eq!(taken.end.head, Some(head), "{what}");
        let base = self.taken.base.clone().unwrap();
        let diff = self.taken.shadow.diff(&base, &tree, FOR_A_PROMPT, CONTEXT_BYTES).unwrap();
        assert_eq!(taken.diff.as_deref().unwrap_or_default().as_bytes(), diff, "{what}");
    }

    /// Whatever has been written can be read, and is what its name says.
    #[track_caller]
    fn fsck(&mut self) {
        self.taken.long_lived.dismiss();
        let fsck = ["fsck", "--strict", "--no-dangling", "--no-progress"];
        let answer = self.taken.shadow.git().args(fsck).run().unwrap();
        let said = [answer.stdout.clone(), answer.stderr.clone()].concat();
        assert!(answer.success() && said.is_empty(), "{}", String::from_utf8_lossy(&said));
    }

    /// From here on, what has not changed looks as if it had not for long.
    fn settle(&mut self) {
        next_tick(self.top.parent().unwrap());
        if let Some(scan) = &mut self.taken.outside.scan {
            scan.settle();
        }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.top.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.top.join(name), Permissions::from_mode(mode)).unwrap();
    }
}

#[test]
fn every_kind_of_change_is_found() {
    type Change = fn(&Bench);
    const CHANGES: &[(&str, Change)] = &[
        ("nothing", |_| {}),
        ("a file of the same size", |b| b.write("a", "won\n")),
        ("a file with its old time", |b| {
            let path = b.top.join("a");
            let old = fs::metadata(&path).unwrap().modified().unwrap();
            fs::write(&path, "owt\n").unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        }),
        ("a file deep down", |b| b.write("deep/er/down/c", "changed\n")),
        ("a new file deep down", |b| b.write("deep/er/down/new", "new\n")),
        ("a new directory", |b| b.write("deep/new/dir/file", "new\n")),
        ("a file in the new directory", |b| b.write("deep/new/dir/file", "newer\n")),
        ("only a mode", |b| b.mode("deep/b", 0o755)),
        ("the mode again", |b| b.mode("deep/b", 0o644)),
        ("a file that is gone", |b| fs::remove_file(b.top.join("deep/er/down/new")).unwrap()),
        ("a directory that is gone", |b| fs::remove_dir_all(b.top.join("deep/new")).unwrap()),
        ("a link", |b| symlink("a", b.top.join("link")).unwrap()),
        ("the link leads elsewhere", |b| {
            fs::remove_file(b.top.join("link")).unwrap();
            symlink("b", b.top.join("link")).unwrap();
        }),
        ("a file in the place of the link", |b| {
            fs::remove_file(b.top.join("link")).unwrap();
            b.write("link", "no more\n");
        }),
        ("a directory in the place of the file", |b| {
            fs::remove_file(b.top.join("link")).unwrap();
            b.write("link/file", "inside\n");
        }),
        ("a link in the place of the directory", |b| {
            fs::remove_dir_all(b.top.join("link")).unwrap();
            symlink("deep", b.top.join("link")).unwrap();
        }),
        ("an ignored file", |b| b.write("x.log", "ignored\n")),
        ("the ignored file changes", |b| b.write("x.log", "still ignored\n")),
        ("an ignored directory", |b| b.write("build/out", "ignored\n")),
        ("an ignored file that is ignored no more", |b| b.write(".gitignore", "build/\n")),
        ("that file changes", |b| b.write("x.log", "recorded\n")),
        ("a directory that is ignored no more", |b| b.write(".gitignore", "*.tmp\n")),
        ("a file in that directory", |b| b.write("build/out", "recorded\n")),
        ("a directory's own patterns", |b| b.write("deep/.gitignore", "*.o\n")),
        ("what they ignore", |b| b.write("deep/x.o", "ignored\n")),
        ("patterns that ignore themselves", |b| b.write("venv/.gitignore", "*\n")),
        ("what these ignore", |b| b.write("venv/file", "ignored\n")),
        ("they ignore nothing any more", |b| b.write("venv/.gitignore", "# nothing\n")),
        ("a file over the size", |b| b.write("big", &"x".repeat(20_000))),
        ("another one beside it", |b| b.write("a", "beside\n")),
        ("it is small now", |b| b.write("big", "small\n")),
        ("a known file over the size", |b| b.write("deep/b", &"x".repeat(20_000))),
        ("it is small again", |b| b.write("deep/b", "two\n")),
        ("local settings", |b| b.write("deep/.ralph/settings.local.json", "{}\n")),
        ("a file beside local settings", |b| b.write("deep/er/down/c", "beside\n")),
        ("no local settings", |b| fs::remove_dir_all(b.top.join("deep/.ralph")).unwrap()),
        ("a repository inside", |b| {
            b.write("inner/file", "inside\n");
            assert!(git(&b.top.join("inner")).args(["init", "-q"]).run().unwrap().success());
        }),
        ("a file beside it", |b| b.write("a", "beside the repository\n")),
        ("it is none any more", |b| fs::remove_dir_all(b.top.join("inner/.git")).unwrap()),
        ("many files", |b| (0..200).for_each(|n| b.write(&format!("many/{n}"), "one of many\n"))),
        ("a name with a newline and a star", |b| b.write("odd\n*dir/fi\tle", "odd\n")),
        ("a change there", |b| b.write("odd\n*dir/fi\tle", "even\n")),
        ("a name like an option", |b| b.write("--dir/-file", "odd\n")),
        ("a change there", |b| b.write("--dir/-file", "even\n")),
        ("a commit", |b| {
            let identity = ["-c", "user.name=x", "-c", "user.email=x@localhost"];
            let commit = ["commit", "-q", "-a", "-m", "more"];
            assert!(git(&b.top).args(identity).args(commit).run().unwrap().success());
        }),
        ("another branch", |b| {
            assert!(git(&b.top).args(["switch", "-q", "-c", "other", "HEAD~1"]).run().unwrap().success());
        }),
        ("a staged file", |b| {
            b.write("staged", "staged\n");
            assert!(git(&b.top).args(["add", "staged"]).run().unwrap().success());
        }),
        ("packed refs", |b| assert!(git(&b.top).args(["pack-refs", "--all"]).run().unwrap().success())),
        ("the branch before", |b| {
            assert!(git(&b.top).args(["switch", "-q", "main"]).run().unwrap().success());
        }),
        ("no branch", |b| {
            assert!(git(&b.top).args(["switch", "-q", "--detach", "HEAD~1"]).run().unwrap().success());
        }),
    ];
    // As if all changes were in the same tick, or as if each had been a long time after the other.
    for settled in [false, true] {
        let mut bench = Bench::new();
        for (what, change) in CHANGES {
            if settled {
                bench.settle();
            }
            change(&bench);
            bench.check(what);
            if settled {
                bench.settle();
            }
            bench.check(&format!("nothing after: {what}"));
        }
        bench.fsck();
    }
}

#[test]
fn a_submodule_that_is_not_there_stays_in_the_tree() {
    let Bench { _dir: dir, top, taken, .. } = Bench::new();
    let commit = taken.shadow.repository().commit().unwrap();
    let add = ["update-index", "--add", "--cacheinfo", &format!("160000,{commit},module")];
    assert!(git(&top).args(add).run().unwrap().success());
    for name in ["own", "plain"] {
        fs::remove_dir_all(top.with_file_name(name)).unwrap();
    }
    let mut bench = Bench::over(dir, top);
    for text in ["1\n", "22\n", "333\n", "4444\n"] {
        bench.write("a", text);
        bench.check("with a submodule");
    }
}

#[test]
fn a_file_changed_in_the_same_tick_and_of_the_same_size_is_found() {
    let mut bench = Bench::new();
    for number in 0..60 {
        bench.write("deep/b", &format!("{:03}\n", number % 7));
        let before = bench.take().end.tree;
        bench.write("deep/b", &format!("{:03}\n", number % 7 + 100));
        assert_ne!(bench.take().end.tree, before, "change {number}");
    }
    bench.check("after all");
}

#[test]
fn a_file_that_is_made_again_is_not_taken_for_the_ignored_one_it_was() {
    let mut bench = Bench::new();
    bench.write("deep/x.log", "ignored\n");
    bench.check("ignored");
    let ignored = bench.taken.outside.ignored.as_mut().unwrap();
    // What is found to be ignored is a matter of files that were there all the time.
    let scan = Scan::of(&bench.top, ignored).unwrap();
    fs::remove_file(bench.top.join("deep/b")).unwrap();
    assert!(!scan.still_holds(&bench.top, Path::new("deep/b")));
    bench.write("deep/b", "two\n");
    assert!(!scan.still_holds(&bench.top, Path::new("deep/b")));
    assert!(scan.still_holds(&bench.top, Path::new("deep/er/down/c")));
}

#[test]
fn after_a_failure_the_next_snapshot_is_whole() {
    let mut bench = Bench::new();
    bench.write("a", "changed\n");
    bench.check("a change");
    let (objects, aside) = (bench.taken.shadow.dir().join("objects"), bench.top.with_file_name("aside"));
    bench.write("a", "lost?\n");
    bench.write("deep/b", "failed\n");
    fs::rename(&objects, &aside).unwrap();
    let top = bench.top.clone();
    assert!(bench.taken.take(&top, true, None, &[]).is_err());
    fs::rename(&aside, &objects).unwrap();
    bench.check("after a failure");
}

/// Most changes are recorded without the index, which follows when it is needed.
#[test]
fn the_index_is_behind_and_catches_up() {
    let mut bench = Bench::new();
    bench.write("a", "1\n");
    bench.check("the gits are not there yet");
    bench.write("a", "22\n");
    bench.check("without the index");
    assert_eq!(bench.taken.index, Index::Older);
    // Back to what the index has: it must not be taken for the newest tree.
    bench.write("a", "1\n");
    bench.write(".gitignore", "*.log\n");
    bench.check("with the index");
    assert_eq!(bench.taken.index, Index::Newest);
    for (name, text) in [("a", "333\n"), ("deep/b", "4444\n"), ("deep/er/new", "new\n")] {
        bench.write(name, text);
        bench.check(name);
    }
    assert_eq!(bench.taken.index, Index::Older);
    let (newest, top) = (bench.taken.last.as_ref().unwrap().tree.clone(), bench.top.clone());
    bench.taken.tidy(&newest, None, TIDY_BYTES).unwrap();
    assert_eq!(bench.taken.index, Index::Newest);
    assert_eq!(bench.taken.shadow.write_tree().unwrap(), newest);
    // Another life of the run finds whatever index there is.
    bench.write("a", "55555\n");
    bench.check("after tidying");
    bench.write("a", "666666\n");
    bench.check("once more");
    let shadow =
        Shadow::over(Repository::around(&top).unwrap(), bench.taken.shadow.dir().to_path_buf(), LARGEST);
    bench.taken = Checkpoints::of(shadow, bench.taken.base.clone(), true, 0);
    bench.check("in another life");
}

#[cfg(target_os = "linux")]
#[test]
fn gits_that_die_are_not_missed() {
    let mut bench = Bench::new();
    for round in 0..4 {
        for text in ["1\n", "22\n", "333\n"] {
            bench.write("a", &text.repeat(round + 1));
            bench.check("a change");
        }
        assert_eq!(bench.taken.index, Index::Older, "{round}");
        let mut killed = 0;
        for pid in children_of(&bench.taken.shadow) {
            killed += 1;
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        assert_eq!(killed, 3);
        bench.write("deep/b", &"x\n".repeat(round + 1));
        bench.check("without them");
    }
}

/// Gits that stay would go on in the directory that was moved away.
#[test]
fn another_directory_in_the_place_of_the_project_is_seen() {
    let mut bench = Bench::new();
    for text in ["1\n", "22\n"] {
        bench.write("a", text);
        bench.check("a change");
    }
    assert_eq!(bench.taken.index, Index::Older);
    let old = bench.top.with_file_name("moved away");
    fs::rename(&bench.top, &old).unwrap();
    let copied = std::process::Command::new("cp").arg("-a").args([&old, &bench.top]).status().unwrap();
    assert!(copied.success());
    bench.write("a", "another one\n");
    bench.check("in the copy");
}

/// A log that is written to all the time may be there for a scan and not for the git before it.
#[test]
fn a_file_that_no_tree_has_is_not_taken_for_a_recorded_one() {
    let mut bench = Bench::new();
    for text in ["1\n", "22\n"] {
        bench.write("a", text);
        bench.check("a change");
    }
    bench.write("x.log", "ignored\n");
    bench.taken.outside.ignored = Some(Ignored::default());
    bench.taken.outside.scan = Scan::of(&bench.top, &Ignored::default()).ok();
    bench.write("x.log", "still ignored\n");
    bench.check("an ignored file that was never judged");
}

/// Gits that work on this shadow: others are of other tests.
#[cfg(target_os = "linux")]
fn children_of(shadow: &Shadow) -> Vec<rustix::process::Pid> {
    let dir = shadow.dir().display().to_string();
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let of_shadow = |entry: &fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&format!("--git-dir={dir}\0"))
    };
    let pids = entries.filter(of_shadow).filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(rustix::process::Pid::from_raw).collect()
}

/// Any changes in any order, with and without the gits that stay.
#[test]
fn random_changes_are_recorded_as_git_would() {
    for format in ["sha1", "sha256"] {
        random_changes(Bench::with_format(format));
    }
}

fn random_changes(mut bench: Bench) {
    const NAMES: [&str; 9] =
        ["a", "deep/b", "deep/er/down/c", "deep/er/d", "e.log", "deep/f.log", "g", "new/h", "new/er/i"];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % limit as u64).unwrap()
    };
    let mut without_index = 0;
    for round in 0..100 {
        for _ in 0..=below(3) {
            let (name, path) = {
                let name = NAMES[below(NAMES.len())];
                (name, bench.top.join(name))
            };
            match below(9) {
                0 if path.symlink_metadata().is_ok() => fs::remove_file(&path).unwrap(),
                1 if path.is_file() => bench.mode(name, if below(2) == 0 { 0o755 } else { 0o644 }),
                2 if path.symlink_metadata().is_err() && path.parent().unwrap().is_dir() => {
                    symlink(["a", "deep/b", "nowhere"][below(3)], &path).unwrap();
                }
                // Through a link it would be another file, or none.
                _ if path.is_symlink() => fs::remove_file(&path).unwrap(),
                3 => bench.write(name, &"long line\n".repeat(100 + below(800))),
                _ => bench.write(name, &"line\n".repeat(below(5))),
            }
        }
        if below(10) == 0 {
            bench.taken.long_lived.dismiss();
        }
        if below(3) == 0 {
            bench.settle();
        }
        bench.check(&format!("round {round}"));
        without_index += usize::from(bench.taken.index == Index::Older);
    }
    assert!(without_index > 50, "{without_index}");
    // Also by gits that are told nothing of it, while others use them.
    bench.taken.shadow.pack_all().unwrap();
    bench.write("a", "after packing\n");
    bench.check("after packing");
    bench.fsck();
}

/// Returns once the file system's clock shows another time than that of the last change.
fn next_tick(dir: &Path) {
    let probe = dir.join("tick");
    let now = || {
        fs::write(&probe, "").unwrap();
        let meta = probe.metadata().unwrap();
        (meta.ctime(), meta.ctime_nsec())
    };
    let (last_change, deadline) = (now(), SystemTime::now() + Duration::from_secs(20));
    while now() == last_change {
        assert!(SystemTime::now() < deadline, "the clock stands still");
        std::thread::sleep(Duration::from_millis(1));
    }
    fs::remove_file(&probe).unwrap();
}
