//! Whatever a check has done there, the directory holds the next tree.
#![expect(clippy::disallowed_methods, reason = "tests write files")]

use super::*;
use crate::git::users_head::AtStart;
use crate::git::{Repository, git};
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use tempfile::TempDir;

pub(super) struct Bench {
    dir: TempDir,
    pub(super) top: PathBuf,
    pub(super) shadow: Shadow,
    pub(super) objects: Objects,
    start: AtStart,
    pub(super) place: CheckedOut,
}

/// What has brought the directory up to date.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum By {
    Ralph,
    Git,
}

pub(super) fn run(top: &Path, args: &[&str]) -> Vec<u8> {
    let identity = ["-c", "user.name=x", "-c", "user.email=x@localhost"];
    let ran = git(top).args(identity).args(args).run().unwrap();
    assert!(ran.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    ran.stdout
}

impl Bench {
    pub(super) fn new() -> Bench {
        Bench::with_format("sha1")
    }

    fn with_format(format: &str) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (top, copy) = (root.join("top"), root.join("copy/tree"));
        fs::create_dir_all(top.join("deep/er")).unwrap();
        fs::create_dir_all(&copy).unwrap();
        for (name, text) in [("a", "one\n"), ("b", "two\n"), ("deep/c", "three\n"), ("deep/er/d", "four\n")] {
            fs::write(top.join(name), text).unwrap();
        }
        fs::write(top.join("run.sh"), "true\n").unwrap();
        fs::set_permissions(top.join("run.sh"), Permissions::from_mode(0o755)).unwrap();
        symlink("a", top.join("link")).unwrap();
        fs::write(top.join(".gitignore"), "*.log\nbuild/\n").unwrap();
        run(&top, &["init", "-q", "-b", "main", &format!("--object-format={format}")]);
        run(&top, &["add", "."]);
        run(&top, &["commit", "-q", "-m", "begin"]);
        run(&top, &["tag", "-a", "-m", "first", "v1"]);
        let shadow = Shadow::over(Repository::around(&top).unwrap(), root.join("own"), 1 << 20);
        shadow.set_up(&top).unwrap();
        let place = CheckedOut::at(copy, root.join("copy/index"));
        let (objects, start) = (Objects::of(&shadow), shadow.at_start());
        let mut bench = Bench { dir, top, shadow, objects, start, place };
        let tree = bench.record();
        bench.shadow.check_out(&bench.place, &tree).unwrap();
        assert_eq!(bench.refresh("the first time"), By::Git);
        bench
    }

    pub(super) fn record(&self) -> String {
        self.shadow.record(&self.shadow.changes().unwrap()).unwrap()
    }

    fn in_copy(&self, name: &str) -> PathBuf {
        self.place.dir.join(name)
    }

    /// Puts the work tree, as it is now, into the directory.
    #[track_caller]
    pub(super) fn refresh(&mut self, what: &str) -> By {
        let tree = self.record();
        let looked = self.place.look();
        let (known, mut by) = (self.place.known.clone(), By::Git);
        if let (Some(known), Some(Looked(now))) = (known, self.place.look())
            && self.place.wanted(&known, &now, &mut self.objects, &tree).is_ok()
        {
            by = By::Ralph;
        }
        self.place.refresh(&mut self.objects, &tree, looked).unwrap();
        self.place.make_repository(&mut self.objects, &tree, &mut self.start).unwrap();
        self.check(what, &tree);
        assert!(self.place.is_untouched(), "{what}");
        by
    }

    /// Git finds the tree there, and nothing else.
    #[track_caller]
    fn check(&self, what: &str, tree: &str) {
        let copy = &self.place.dir;
        let said = |args: &[&str]| String::from_utf8(run(copy, args)).unwrap();
        assert_eq!(said(&["rev-parse", "HEAD^{tree}"]).trim(), tree, "{what}");
        assert_eq!(
            fs::read(copy.join(".git/index")).unwrap(),
            fs::read(&self.place.index).unwrap(),
            "{what}"
        );
        // Reads every file.
        fs::remove_file(copy.join(".git/index")).unwrap();
        run(copy, &["read-tree", "HEAD"]);
        assert_eq!(said(&["status", "--porcelain", "-uall"]), "", "{what}");
        fs::write(copy.join(".git/index"), fs::read(&self.place.index).unwrap()).unwrap();
        assert_eq!(said(&["diff", "--cached", "HEAD"]), "", "{what}: the index");
        assert_eq!(said(&["diff-files"]), "", "{what}: what the index knows of files");
        assert!(self.shadow.changed_in(&self.place).unwrap().is_empty(), "{what}");
        run(copy, &["fsck", "--full", "--no-dangling", "--no-progress"]);
        assert_eq!(
            said(&["rev-parse", "v1^{commit}"]),
            said(&["rev-list", "--max-parents=0", "HEAD"]),
            "{what}"
        );
        for dir in dirs_below(copy) {
            let is_empty = fs::read_dir(&dir).unwrap().next().is_none();
            let is_ignored =
                || git(copy).args(["check-ignore", "-q"]).arg(dir.join("x")).run().unwrap().success();
            assert!(!is_empty || is_ignored(), "{what}: {} is empty", dir.display());
        }
    }
}

fn dirs_below(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
    let dirs = entries.filter(|entry| entry.file_type().unwrap().is_dir() && entry.file_name() != ".git");
    dirs.flat_map(|entry| [vec![entry.path()], dirs_below(&entry.path())].concat()).collect()
}

#[test]
fn what_differs_between_two_trees_is_written_without_git() {
    for format in ["sha1", "sha256"] {
        let mut bench = Bench::with_format(format);
        let top = bench.top.clone();
        let steps: [(&str, &dyn Fn()); 9] = [
            ("nothing", &|| {}),
            ("a changed file", &|| fs::write(top.join("deep/er/d"), "five\n").unwrap()),
            ("a program", &|| fs::set_permissions(top.join("a"), Permissions::from_mode(0o755)).unwrap()),
            ("a new file in a new directory", &|| {
                fs::create_dir_all(top.join("new/dir")).unwrap();
                fs::write(top.join("new/dir/file"), "").unwrap();
            }),
            ("another link", &|| {
                fs::remove_file(top.join("link")).unwrap();
                symlink("deep/er", top.join("link")).unwrap();
            }),
            ("a file in the place of a link", &|| {
                fs::remove_file(top.join("link")).unwrap();
                fs::write(top.join("link"), "file").unwrap();
            }),
            ("a directory in the place of a file", &|| {
                fs::remove_file(top.join("b")).unwrap();
                fs::create_dir(top.join("b")).unwrap();
                fs::write(top.join("b/c"), "c").unwrap();
            }),
            ("a file in the place of directories", &|| {
                fs::remove_dir_all(top.join("deep")).unwrap();
                fs::write(top.join("deep"), "file").unwrap();
            }),
            ("nothing but one file", &|| {
                for name in ["a", "b/c", "new/dir/file", "link", "deep", "run.sh"] {
                    fs::remove_file(top.join(name)).unwrap();
                }
            }),
        ];
        for (what, step) in steps {
            step();
            assert_eq!(bench.refresh(what), By::Ralph, "{what}");
        }
    }
}

#[test]
fn what_a_check_has_done_to_delivered_files_is_put_right_without_git() {
    let mut bench = Bench::new();
    let [a, deep, link, program] = ["a", "deep", "link", "run.sh"].map(|name| bench.in_copy(name));
    let same_size_and_time = || {
        let time = fs::metadata(&a).unwrap().modified().unwrap();
        fs::write(&a, "eno\n").unwrap();
        File::options().write(true).open(&a).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
    };
    let steps: [(&str, &dyn Fn()); 8] = [
        ("deleted", &|| fs::remove_file(&a).unwrap()),
        ("longer", &|| fs::write(&a, "one\ntwo\n").unwrap()),
        ("the same size and time", &same_size_and_time),
        ("the same content, written again", &|| fs::write(&a, "one\n").unwrap()),
        ("a mode", &|| fs::set_permissions(&program, Permissions::from_mode(0o644)).unwrap()),
        ("nobody may read it", &|| fs::set_permissions(&a, Permissions::from_mode(0o000)).unwrap()),
        ("a link in the place of a file", &|| {
            fs::remove_file(&a).unwrap();
            symlink("b", &a).unwrap();
            fs::remove_file(&link).unwrap();
            fs::write(&link, "file").unwrap();
        }),
        ("a whole directory deleted", &|| fs::remove_dir_all(&deep).unwrap()),
    ];
    for (what, step) in steps {
        step();
        assert!(!bench.place.is_untouched(), "{what}");
        assert_eq!(bench.refresh(what), By::Ralph, "{what}");
    }
}

#[test]
fn what_ralph_does_not_know_is_put_right_by_git() {
    let mut bench = Bench::new();
    let copy = bench.place.dir.clone();
    let elsewhere = bench.dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("c"), "of another directory").unwrap();
    let steps: [(&str, &dyn Fn()); 8] = [
        ("a new file", &|| fs::write(copy.join("deep/new"), "x").unwrap()),
        ("a new directory", &|| {
            fs::create_dir(copy.join("new")).unwrap();
            fs::write(copy.join("new/file"), "x").unwrap();
        }),
        ("an empty directory", &|| fs::create_dir(copy.join("empty")).unwrap()),
        ("a link to elsewhere in the place of a directory", &|| {
            fs::remove_dir_all(copy.join("deep")).unwrap();
            symlink(&elsewhere, copy.join("deep")).unwrap();
        }),
        ("a directory in the place of a file", &|| {
            fs::remove_file(copy.join("a")).unwrap();
            fs::create_dir(copy.join("a")).unwrap();
            fs::write(copy.join("a/x"), "x").unwrap();
        }),
        ("other patterns", &|| {
            fs::write(copy.join(".gitignore"), "*\n").unwrap();
            fs::write(copy.join("hidden"), "x").unwrap();
        }),
        ("a repository inside", &|| {
            fs::create_dir(copy.join("inside")).unwrap();
            run(&copy.join("inside"), &["init", "-q"]);
            fs::write(copy.join("inside/file"), "x").unwrap();
        }),
        ("a pipe", &|| {
            assert!(git(&copy).args(["-c", "alias.p=!mkfifo pipe", "p"]).run().unwrap().success());
        }),
    ];
    for (what, step) in steps {
        step();
        assert!(!bench.place.is_untouched(), "{what}");
        assert_eq!(bench.refresh(what), By::Git, "{what}");
        assert_eq!(bench.refresh(what), By::Ralph, "{what}, and nothing since");
    }
    assert_eq!(fs::read_to_string(elsewhere.join("c")).unwrap(), "of another directory");
}

#[test]
fn what_a_check_does_to_the_repository_is_put_right() {
    let mut bench = Bench::new();
    let copy = bench.place.dir.clone();
    let steps: [(&str, &dyn Fn()); 7] = [
        ("a commit", &|| drop(run(&copy, &["commit", "-q", "--allow-empty", "-m", "x"]))),
        ("another HEAD", &|| fs::write(copy.join(".git/HEAD"), "ref: refs/heads/other\n").unwrap()),
        ("another index", &|| drop(run(&copy, &["rm", "-q", "--cached", "a"]))),
        ("a file that is said to be unchanged", &|| {
            run(&copy, &["update-index", "--assume-unchanged", "a"]);
            fs::write(copy.join("a"), "x").unwrap();
        }),
        ("patterns", &|| {
            fs::write(copy.join(".git/info/exclude"), "hidden\n").unwrap();
            fs::write(copy.join("hidden"), "x").unwrap();
        }),
        ("a filter", &|| {
            fs::write(copy.join(".git/info/attributes"), "* filter=x\n").unwrap();
            run(&copy, &["config", "filter.x.smudge", "echo evil"]);
            fs::write(copy.join("a"), "x").unwrap();
        }),
        ("nothing left", &|| fs::remove_dir_all(copy.join(".git")).unwrap()),
    ];
    for (what, step) in steps {
        step();
        bench.refresh(what);
        let of_start = ["HEAD", "config", "index", "info", "objects", "packed-refs", "refs"];
        let mut names: Vec<_> =
            fs::read_dir(copy.join(".git")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, of_start, "{what}");
        let config = fs::read_to_string(copy.join(".git/config")).unwrap();
        assert!(!config.contains("evil"), "{what}: {config}");
    }
}

#[test]
fn what_is_ignored_stays_until_the_patterns_change() {
    let mut bench = Bench::new();
    let (top, copy) = (bench.top.clone(), bench.place.dir.clone());
    fs::create_dir(copy.join("build")).unwrap();
    for name in ["build/out", "x.log", "deep/y.log"] {
        fs::write(copy.join(name), "x").unwrap();
    }
    assert_eq!(bench.refresh("new ignored files"), By::Git);
    fs::write(copy.join("build/out2"), "x").unwrap();
    fs::write(copy.join("x.log"), "xx").unwrap();
    assert!(bench.place.is_untouched());
    assert_eq!(bench.refresh("known ignored files"), By::Ralph);
    let is_there = |name: &str| copy.join(name).exists();
    assert!(["build/out", "build/out2", "x.log", "deep/y.log"].into_iter().all(is_there));
    // A file of the tree where something ignored was.
    fs::create_dir(top.join("build")).unwrap();
    fs::write(top.join("build/kept"), "of the tree").unwrap();
    let add = bench.shadow.git().args(["update-index", "--add", "build/kept"]);
    assert!(add.run().unwrap().success());
    assert_eq!(bench.refresh("a delivered file in an ignored directory"), By::Git);
    assert_eq!(fs::read_to_string(copy.join("build/kept")).unwrap(), "of the tree");
    assert!(is_there("build/out"));
    fs::write(top.join(".gitignore"), "build/\n").unwrap();
    assert_eq!(bench.refresh("other patterns"), By::Git);
    assert!(is_there("build/out") && !is_there("x.log") && !is_there("deep/y.log"));
}

#[test]
fn what_is_mounted_in_it_counts_as_nothing() {
    let mut bench = Bench::new();
    let copy = bench.place.dir.clone();
    fs::write(copy.join("large"), "").unwrap();
    fs::create_dir(copy.join("modules")).unwrap();
    assert!(!bench.place.is_untouched());
    bench.place.leave_out(Path::new("large"), false);
    bench.place.leave_out(Path::new("modules"), true);
    assert!(bench.place.is_untouched());
    fs::write(copy.join("a"), "x").unwrap();
    assert_eq!(bench.shadow.changed_in(&bench.place).unwrap(), ["a"]);
    // As the caller does before each refresh.
    fs::remove_file(copy.join("large")).unwrap();
    fs::remove_dir(copy.join("modules")).unwrap();
    assert_eq!(bench.refresh("nothing is mounted"), By::Ralph);
    fs::write(copy.join("large"), "").unwrap();
    assert!(!bench.place.is_untouched(), "what was left out once is looked at again");
    assert_eq!(bench.refresh("a file in that place"), By::Git);
}

#[test]
fn a_directory_of_another_process_or_a_broken_index_is_put_right_by_git() {
    let mut bench = Bench::new();
    fs::write(bench.in_copy("a"), "x").unwrap();
    fs::write(bench.in_copy("new"), "x").unwrap();
    bench.place = CheckedOut::at(bench.place.dir.clone(), bench.place.index.clone());
    assert_eq!(bench.refresh("a life that is over"), By::Git);
    for broken in [&b""[..], b"DIRC\0\0\0\x02\0\0\0\x09", b"nonsense"] {
        fs::write(&bench.place.index, broken).unwrap();
        fs::write(bench.in_copy("a"), "y").unwrap();
        bench.refresh("a broken index");
    }
}

#[test]
fn git_is_not_misled_by_a_change_within_the_second_of_the_last_refresh() {
    for _ in 0..3 {
        let mut bench = Bench::new();
        let a = bench.in_copy("a");
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        let set = || {
            File::options()
                .write(true)
                .open(&a)
                .unwrap()
                .set_times(FileTimes::new().set_modified(old))
                .unwrap();
        };
        set();
        bench.refresh("a file with an old time");
        fs::write(&a, "eno\n").unwrap();
        set();
        bench.place.distrust();
        assert_eq!(bench.refresh("the same size and time"), By::Git);
    }
}

#[test]
fn a_tree_that_leads_out_of_the_directory_is_refused() {
    let bench = Bench::new();
    for path in ["../x", "a/../../x", "/x", "a//b", "./x", ".git/config", "sub/.GIT/config", ""] {
        assert!(!is_plain(path.as_bytes()), "{path}");
    }
    assert!(is_plain(b"a/.github/x.git/..."));
    drop(bench);
}

#[test]
fn history_and_refs_of_the_user_are_there_and_nothing_else() {
    let mut bench = Bench::new();
    let (top, copy) = (bench.top.clone(), bench.place.dir.clone());
    let has = |id: &[u8]| {
        let id = String::from_utf8_lossy(id).trim().to_string();
        git(&copy).args(["cat-file", "-e", &id]).run().unwrap().success()
    };
    // An object that nothing names, and one that another branch has.
    fs::write(top.join("secret"), "the work").unwrap();
    let secret = run(&top, &["hash-object", "-w", "secret"]);
    run(&top, &["checkout", "-q", "-b", "other"]);
    run(&top, &["add", "secret"]);
    run(&top, &["commit", "-q", "-m", "other"]);
    run(&top, &["checkout", "-q", "main"]);
    bench.refresh("another branch");
    assert!(!has(&secret));
    // Delivered for a while.
    fs::write(top.join("secret"), "the work").unwrap();
    bench.refresh("a delivered file");
    assert!(has(&secret));
    fs::remove_file(top.join("secret")).unwrap();
    bench.refresh("no longer delivered");
    assert!(!has(&secret), "it is not left in the repository");
    // A commit and a tag of the agent's are delivered.
    fs::write(top.join("a"), "committed\n").unwrap();
    run(&top, &["commit", "-q", "-a", "-m", "agent's"]);
    run(&top, &["tag", "-a", "-m", "second", "v2"]);
    bench.refresh("a commit");
    let of = |dir: &Path, name: &str| run(dir, &["rev-parse", name]);
    assert_eq!((of(&copy, "HEAD"), of(&copy, "v2")), (of(&top, "HEAD"), of(&top, "v2")));
    fs::write(top.join("a"), "and more\n").unwrap();
    bench.refresh("on top of a commit");
    assert_eq!(of(&copy, "HEAD^"), of(&top, "HEAD"));
    run(&top, &["reset", "-q", "--hard", "v1"]);
    run(&top, &["tag", "-d", "v2"]);
    bench.refresh("as it was");
    assert_eq!(of(&copy, "HEAD"), of(&top, "HEAD"));
    assert!(!git(&copy).args(["rev-parse", "-q", "--verify", "v2"]).run().unwrap().success());
    // Without the user's repository, the one that was kept is enough.
    fs::remove_dir_all(top.join(".git")).unwrap();
    fs::write(top.join("a"), "without a repository\n").unwrap();
    let before = of(&copy, "HEAD");
    bench.refresh("no repository");
    assert_eq!(of(&copy, "HEAD^"), before);
}
