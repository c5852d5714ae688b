//! Random trees, and random damage by checks: after a refresh the directory is what plain git makes of
//! the tree in an empty one.
#![expect(clippy::disallowed_methods, reason = "tests write files")]

use super::tests::{Bench, run};
use super::*;
use crate::git::git;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

/// Few, so that they are often in each other's way.
const PATHS: [&str; 14] = [
    "a",
    "a/under",
    "b",
    "deep/c",
    "deep/er/d",
    "deep/er",
    "new/x",
    "new/y/z",
    "x.log",
    "build/out",
    "run.sh",
    "link",
    "odd \u{e9} name",
    "deep/\u{1}\n",
];
const TEXTS: [&str; 4] = ["", "one\n", "eno\n", "something longer\n"];
const TARGETS: [&str; 3] = ["a", "deep/er", "/etc"];
const PATTERNS: [&str; 4] = ["*.log\nbuild/\n", "*.log\n", "b*\n!build/out\n", ""];
const MODES: [u32; 5] = [0o644, 0o755, 0o600, 0o444, 0o000];

/// What an agent does to the work tree, or a check to the directory.
#[derive(Clone, Debug)]
enum Change {
    Write(usize, usize),
    /// With the time that the file has.
    WriteUnseen(usize, usize),
    Remove(usize),
    Mode(usize, usize),
    Link(usize, usize),
    /// A second name for a file.
    SecondName(usize, usize),
    Rename(usize, usize),
    Dir(usize),
    Pipe(usize),
    Ignore(usize, bool),
}

/// What an agent does to the user's repository.
#[derive(Clone, Debug)]
enum Work {
    Files(Vec<Change>),
    Commit,
    Tag,
    Branch,
    Reset,
}

/// What a check does to the repository of the directory.
#[derive(Clone, Debug)]
enum Damage {
    Nothing,
    Commit,
    Untrack(usize),
    HideChange(usize),
    Replace(usize, usize),
    Inside,
    NoRepository,
    FileForRepository,
    Unwritable,
}

const REPOSITORY_FILES: [&str; 8] = [
    "HEAD",
    "config",
    "index",
    "index.lock",
    "info/exclude",
    "info/attributes",
    "hooks/post-checkout",
    "objects/info/alternates",
];

fn change() -> impl Strategy<Value = Change> {
    let (path, text) = (0..PATHS.len(), 0..TEXTS.len());
    prop_oneof![
        4 => (path.clone(), text.clone()).prop_map(|(path, text)| Change::Write(path, text)),
        2 => (path.clone(), text).prop_map(|(path, text)| Change::WriteUnseen(path, text)),
        2 => path.clone().prop_map(Change::Remove),
        1 => (path.clone(), 0..MODES.len()).prop_map(|(path, mode)| Change::Mode(path, mode)),
        1 => (path.clone(), 0..TARGETS.len()).prop_map(|(path, target)| Change::Link(path, target)),
        1 => (path.clone(), path.clone()).prop_map(|(path, other)| Change::SecondName(path, other)),
        1 => (path.clone(), path.clone()).prop_map(|(path, other)| Change::Rename(path, other)),
        1 => path.clone().prop_map(Change::Dir),
        1 => path.prop_map(Change::Pipe),
        1 => (0..PATTERNS.len(), any::<bool>()).prop_map(|(patterns, deep)| Change::Ignore(patterns, deep)),
    ]
}

fn work() -> impl Strategy<Value = Work> {
    prop_oneof![
        6 => prop::collection::vec(change(), 0..6).prop_map(Work::Files),
        1 => Just(Work::Commit),
        1 => Just(Work::Tag),
        1 => Just(Work::Branch),
        1 => Just(Work::Reset),
    ]
}

fn damage() -> impl Strategy<Value = Damage> {
    let path = 0..PATHS.len();
    prop_oneof![
        4 => Just(Damage::Nothing),
        1 => Just(Damage::Commit),
        1 => path.clone().prop_map(Damage::Untrack),
        1 => path.prop_map(Damage::HideChange),
        3 => (0..REPOSITORY_FILES.len(), 0..TEXTS.len()).prop_map(|(file, text)| Damage::Replace(file, text)),
        1 => Just(Damage::Inside),
        1 => Just(Damage::NoRepository),
        1 => Just(Damage::FileForRepository),
        1 => Just(Damage::Unwritable),
    ]
}

/// Removes what is at a path, and files that are in the way of its directory.
fn clear(top: &Path, path: &str) -> PathBuf {
    let place = top.join(path);
    let mut above: Vec<&Path> = place.ancestors().skip(1).take_while(|dir| *dir != top).collect();
    above.reverse();
    for dir in above {
        if dir.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
            fs::remove_file(dir).unwrap();
        }
    }
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    match place.symlink_metadata() {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(&place).unwrap(),
        Ok(_) => fs::remove_file(&place).unwrap(),
        Err(_) => {}
    }
    place
}

fn is_file(top: &Path, path: &str) -> bool {
    let real = fsx::is_inside(top, &top.join(path));
    real && top.join(path).symlink_metadata().is_ok_and(|meta| meta.is_file())
}

fn apply(top: &Path, change: &Change) {
    match *change {
        Change::Write(path, text) => fs::write(clear(top, PATHS[path]), TEXTS[text]).unwrap(),
        Change::WriteUnseen(path, text) if is_file(top, PATHS[path]) => {
            let place = top.join(PATHS[path]);
            let time = fs::metadata(&place).unwrap().modified().unwrap();
            let _ = fs::set_permissions(&place, Permissions::from_mode(0o644));
            fs::write(&place, TEXTS[text]).unwrap();
            let file = File::options().write(true).open(&place).unwrap();
            file.set_times(FileTimes::new().set_modified(time)).unwrap();
        }
        Change::Remove(path) => drop(clear(top, PATHS[path])),
        Change::Mode(path, mode) if is_file(top, PATHS[path]) => {
            fs::set_permissions(top.join(PATHS[path]), Permissions::from_mode(MODES[mode])).unwrap();
        }
        Change::Link(path, target) => symlink(TARGETS[target], clear(top, PATHS[path])).unwrap(),
        Change::SecondName(path, other) if path != other && is_file(top, PATHS[path]) => {
            let aside = top.join("aside.log");
            fs::hard_link(top.join(PATHS[path]), &aside).unwrap();
            fs::rename(&aside, clear(top, PATHS[other])).unwrap();
        }
        Change::Rename(path, other) if path != other && is_file(top, PATHS[path]) => {
            let aside = top.join("aside.log");
            fs::rename(top.join(PATHS[path]), &aside).unwrap();
            fs::rename(&aside, clear(top, PATHS[other])).unwrap();
        }
        Change::Dir(path) => fs::create_dir(clear(top, PATHS[path])).unwrap(),
        Change::Pipe(path) => {
            let place = clear(top, PATHS[path]);
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, &place, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        }
        Change::Ignore(patterns, deep) => {
            let path = if deep { "deep/.gitignore" } else { ".gitignore" };
            fs::write(clear(top, path), PATTERNS[patterns]).unwrap();
        }
        Change::WriteUnseen(..) | Change::Mode(..) | Change::SecondName(..) | Change::Rename(..) => {}
    }
}

fn work_in(top: &Path, work: &Work) {
    let attempt = |args: &[&str]| {
        let identity = ["-c", "user.name=x", "-c", "user.email=x@localhost"];
        // An agent's git may fail.
        let _ = git(top).args(identity).args(args).run().unwrap();
    };
    match work {
        Work::Files(changes) => changes.iter().for_each(|change| apply(top, change)),
        Work::Commit => {
            attempt(&["add", "-A"]);
            attempt(&["commit", "-q", "--allow-empty", "-m", "agent's"]);
        }
        Work::Tag => attempt(&["tag", "-f", "agents"]),
        Work::Branch => attempt(&["branch", "-f", "dir/agents"]),
        Work::Reset => attempt(&["reset", "-q", "--soft", "v1"]),
    }
}

fn do_damage(copy: &Path, damage: &Damage) {
    let dir = copy.join(".git");
    let attempt = |args: &[&str]| {
        let identity = ["-c", "user.name=x", "-c", "user.email=x@localhost"];
        let _ = git(copy).args(identity).args(args).run().unwrap();
    };
    match *damage {
        Damage::Nothing => {}
        Damage::Commit => attempt(&["commit", "-q", "-a", "--allow-empty", "-m", "check's"]),
        Damage::Untrack(path) => attempt(&["rm", "-q", "-r", "--cached", "--", PATHS[path]]),
        Damage::HideChange(path) => {
            attempt(&["update-index", "--assume-unchanged", "--", PATHS[path]]);
            apply(copy, &Change::WriteUnseen(path, 2));
        }
        Damage::Replace(file, text) => {
            fs::write(clear(&dir, REPOSITORY_FILES[file]), TEXTS[text]).unwrap();
        }
        Damage::Inside => {
            let inside = clear(copy, "inside");
            fs::create_dir(&inside).unwrap();
            run(&inside, &["init", "-q"]);
            fs::write(inside.join("file"), "x").unwrap();
        }
        Damage::NoRepository => drop(clear(copy, ".git")),
        Damage::FileForRepository => fs::write(clear(copy, ".git"), "gitdir: /nowhere\n").unwrap(),
        Damage::Unwritable => {
            fs::set_permissions(dir.join("HEAD"), Permissions::from_mode(0o400)).unwrap();
            fs::set_permissions(dir.join("refs"), Permissions::from_mode(0o500)).unwrap();
        }
    }
}

/// Every file by its path: its mode and its content, or where it leads to.
fn files(top: &Path) -> BTreeMap<PathBuf, (u32, String)> {
    let (mut found, mut ahead) = (BTreeMap::new(), vec![top.to_path_buf()]);
    while let Some(dir) = ahead.pop() {
        for entry in fs::read_dir(&dir).unwrap().map(Result::unwrap) {
            let (path, meta) = (entry.path(), entry.metadata().unwrap());
            if meta.is_dir() {
                ahead.push(path);
                continue;
            }
            let content = match meta.is_symlink() {
                true => path.read_link().unwrap().into_os_string().into_encoded_bytes(),
                false if meta.is_file() => fs::read(&path).unwrap(),
                false => b"special".to_vec(),
            };
            let content = String::from_utf8_lossy(&content).into_owned();
            found.insert(path.strip_prefix(top).unwrap().to_path_buf(), (meta.mode(), content));
        }
    }
    found
}

/// What differs by its nature: times are in commits and in the index.
fn is_of_this_copy(path: &Path) -> bool {
    path == Path::new(".git/index") || path.starts_with(".git/objects/pack") || path.starts_with(".git/refs")
}

/// Compares with what plain git makes of the tree in an empty directory.
fn compare(bench: &mut Bench, tree: &str) {
    let root = bench.place.dir.parent().unwrap().join("fresh");
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(root.join("tree")).unwrap();
    let mut fresh = CheckedOut::at(root.join("tree"), root.join("index"));
    bench.shadow.check_out(&fresh, tree).unwrap();
    fresh.make_repository(&mut bench.objects, tree, &mut bench.shadow.at_start()).unwrap();
    let (copy, fresh) = (bench.place.dir.clone(), fresh.dir);
    let said = |dir: &Path, args: &[&str]| String::from_utf8_lossy(&run(dir, args)).into_owned();
    let (mut here, mut there) = (files(&copy), files(&fresh));
    let is_ignored = |path: &Path| git(&copy).args(["check-ignore", "-q"]).arg(path).run().unwrap().success();
    here.retain(|path, _| !is_of_this_copy(path) && (there.contains_key(path) || !is_ignored(path)));
    there.retain(|path, _| !is_of_this_copy(path));
    assert_eq!(here, there);
    let refs = ["for-each-ref", "--format=%(refname) %(tree) %(*objectname) %(parent)"];
    for args in [
        &["status", "--porcelain", "-uall"][..],
        &["rev-parse", "HEAD^{tree}", "--symbolic-full-name", "HEAD"],
        &["rev-list", "--skip=1", "HEAD"],
        &refs,
        &["ls-files", "-s"],
        &["fsck", "--full", "--strict", "--no-progress"],
    ] {
        assert_eq!(said(&copy, args), said(&fresh, args), "{args:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn after_a_refresh_the_directory_is_what_git_makes_of_the_tree(
        rounds in prop::collection::vec((work(), prop::collection::vec(change(), 0..4), damage()), 1..5)
    ) {
        let mut bench = Bench::new();
        for (work, changes, damage) in &rounds {
            work_in(&bench.top, work);
            let copy = bench.place.dir.clone();
            changes.iter().for_each(|change| apply(&copy, change));
            do_damage(&copy, damage);
            bench.refresh("random");
            let tree = bench.record();
            compare(&mut bench, &tree);
        }
    }
}
