//! `ralph __enter`: what a program that restricted itself can no longer do.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "the tests write files and start programs")]
#![expect(clippy::disallowed_macros, reason = "a test that cannot run here says so")]
#![expect(clippy::unwrap_used, reason = "clippy.toml allows it in tests, but not in helpers")]

use ralph::sandbox::cgroup::{CgroupLimits, Cgroups, remove_stale};
use ralph::sandbox::enter::{Entry, Keyrings, ProcessLimits};
use ralph::sandbox::rules::{Rules, Scope, file_rules_are_available, readable_but_not, scope_is_available};
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

/// `sh -c script` after an entry, in a directory.
fn sh(entry: &Entry, dir: &Path, script: &str) -> Output {
    program(entry, &["/bin/sh", "-c", script]).current_dir(dir).output().unwrap()
}

fn program(entry: &Entry, argv: &[&str]) -> Command {
    let argv = entry.command(Path::new(RALPH), argv.iter().map(OsString::from).collect()).unwrap();
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).stdin(Stdio::null());
    command
}

fn limits(limits: ProcessLimits) -> Entry {
    Entry { limits, ..Entry::default() }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// All of the system can be read, and `dir` can be written.
fn only(dir: &Path, hidden: &[PathBuf]) -> Entry {
    let read = readable_but_not(Path::new("/"), hidden);
    let write = vec![dir.to_path_buf(), "/dev/null".into(), "/no/such/path".into()];
    Entry { landlock: Some(Rules { read, write }), ..Entry::default() }
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

#[test]
fn the_process_becomes_the_program_with_its_environment_and_directory() {
    let dir = TempDir::new().unwrap();
    let mut command = program(&Entry::default(), &["sh", "-c", "echo $$ $0 $A; pwd; exit 3", "zero"]);
    let child = command.env("A", "a b").current_dir(dir.path()).stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    let pwd = dir.path().canonicalize().unwrap();
    assert_eq!(text(&output.stdout), format!("{pid} zero a b\n{}\n", pwd.display()));
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn rules_leave_root_without_its_other_rights_and_refused_keyrings_do_not_exist() {
    let dir = TempDir::new().unwrap();
    let status = |entry: &Entry| text(&sh(entry, dir.path(), "cat /proc/self/status").stdout);
    if file_rules_are_available() {
        let none = "0000000000000000";
        let status = status(&only(dir.path(), &[]));
        assert!(status.contains(&format!("CapPrm:\t{none}\nCapEff:\t{none}")), "{status}");
    }
    let filtered = |keyrings| status(&Entry { keyrings, ..Entry::default() }).contains("Seccomp:\t2");
    assert!(filtered(Keyrings::Refused));
    // Another filter may be around the test.
    let around = fs::read_to_string("/proc/self/status").unwrap().contains("Seccomp:\t2");
    assert_eq!(filtered(Keyrings::Shared), around);
}

#[test]
fn a_program_that_cannot_be_started_is_named_in_one_line() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    for (name, code) in [("no-such-program", 127), ("/no/such/program", 127), (file.to_str().unwrap(), 126)] {
        let output = program(&Entry::default(), &[name]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{name}: {said}");
        assert!(said.contains(name) && said.lines().count() == 1, "{said}");
    }
    for args in [&[][..], &["{}"], &["nonsense", "true"], &[r#"{"unknown":1}"#, "true"]] {
        let output = Command::new(RALPH).arg("__enter").args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn limits_are_lowered_and_never_raised() {
    let dir = TempDir::new().unwrap();
    let of = |processes, memory, file_size| ProcessLimits {
        processes: Some(processes),
        memory: Some(memory),
        file_size: Some(file_size),
        open_files: None,
    };
    let inner = limits(of(2_000_000, 200_000_000, 20_000_000));
    let inner = inner.command(Path::new(RALPH), vec!["cat".into(), "/proc/self/limits".into()]).unwrap();
    let inner: Vec<&str> = inner.iter().map(|arg| arg.to_str().unwrap()).collect();
    let outer = limits(of(1_000_000, 300_000_000, 10_000_000));
    let output = program(&outer, &inner).current_dir(dir.path()).output().unwrap();
    let table = text(&output.stdout);
    let row = |name: &str| {
        let row = table.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        row.split_whitespace().take(2).map(|limit| limit.parse::<u64>().unwrap()).collect::<Vec<_>>()
    };
    // What the test was started with may be lower.
    assert!(row("Max processes").iter().all(|limit| *limit <= 1_000_000), "{table}");
    assert_eq!(row("Max data size"), [200_000_000; 2], "{table}");
    assert_eq!(row("Max file size"), [10_000_000; 2], "{table}");
    assert_eq!(row("Max core file size"), [0; 2], "{table}");
}

#[test]
fn a_file_does_not_grow_past_its_limit() {
    const LIMIT: u64 = 100_000;
    let dir = TempDir::new().unwrap();
    let entry = limits(ProcessLimits { file_size: Some(LIMIT), ..ProcessLimits::default() });
    let written = sh(&entry, dir.path(), "exec head -c 1000000 /dev/zero > a");
    assert_eq!(written.status.signal(), Some(rustix::process::Signal::XFSZ.as_raw()), "{written:?}");
    let written = sh(&entry, dir.path(), "trap '' XFSZ; LC_ALL=C exec head -c 1000000 /dev/zero > b");
    assert!(text(&written.stderr).contains("File too large"), "{written:?}");
    for name in ["a", "b"] {
        assert_eq!(fs::metadata(dir.path().join(name)).unwrap().len(), LIMIT, "{name}");
    }
}

/// `tail` keeps the one line that it reads in memory.
#[test]
fn a_process_does_not_get_more_memory_than_its_limit() {
    let dir = TempDir::new().unwrap();
    let script = "head -c 200000000 /dev/zero | LC_ALL=C tail > out; wc -c < out";
    let entry = limits(ProcessLimits { memory: Some(50_000_000), ..ProcessLimits::default() });
    let output = sh(&entry, dir.path(), script);
    assert!(text(&output.stderr).contains("memory exhausted"), "{output:?}");
    assert_eq!(text(&output.stdout).trim(), "0");
    assert_eq!(text(&sh(&Entry::default(), dir.path(), script).stdout).trim(), "200000000");
}

/// Root is not limited, so this needs another user, one that has no other processes.
#[test]
fn a_user_does_not_get_more_processes_than_the_limit() {
    const LIMIT: usize = 20;
    if !is_root() || which::which("setpriv").is_err() {
        eprintln!("skipped: becoming another user needs root and setpriv");
        return;
    }
    let entry = limits(ProcessLimits { processes: Some(LIMIT as u64), ..ProcessLimits::default() });
    let user = (1_000_000 + std::process::id()).to_string();
    let user = user.as_str();
    // They must not hold the output open, the end of which is waited for.
    let many = "i=0; while [ $i -lt 200 ]; do sleep 1000 > /dev/null 2>&1 & echo $!; i=$((i+1)); done";
    let started =
        program(&entry, &["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "sh", "-c", many])
            .current_dir("/")
            .output();
    let output = started.unwrap();
    let pids: Vec<i32> = text(&output.stdout).lines().map(|pid| pid.parse().unwrap()).collect();
    for pid in &pids {
        let pid = rustix::process::Pid::from_raw(*pid).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    assert!((1..LIMIT).contains(&pids.len()), "{} started: {}", pids.len(), text(&output.stderr));
}

#[test]
fn only_named_directories_can_be_written_and_hidden_ones_not_even_read() {
    if !file_rules_are_available() {
        eprintln!("skipped: no Landlock for files here");
        return;
    }
    let dir = TempDir::new().unwrap();
    let tree = dir.path().join("tree");
    let run = |entry: &Entry, script: &str| {
        let _ = fs::remove_dir_all(&tree);
        for name in ["work", "work/sub", "open", "secret"] {
            fs::create_dir_all(tree.join(name)).unwrap();
            fs::write(tree.join(name).join("file"), "text").unwrap();
        }
        sh(entry, &tree, script)
    };
    assert!(run(&Entry::default(), ":").status.success());
    let entry = only(&tree.join("work"), &[tree.join("secret")]);
    let can = |script: &str| {
        let unrestricted = run(&Entry::default(), script);
        assert!(unrestricted.status.success(), "{script}: impossible anyway: {unrestricted:?}");
        run(&entry, script).status.success()
    };
    for script in [
        "cat open/file",
        "/bin/ls open /usr /etc",
        "echo more >> work/file",
        "echo other > work/file",
        "mv work/file work/sub/other",
        "ln -s ../secret work/link && mkfifo work/fifo && mkdir work/new",
        "ln work/file work/sub/hard",
        "echo > /dev/null",
        "cp /bin/true work/program && work/program",
    ] {
        assert!(can(script), "{script}");
    }
    for script in [
        "cat secret/file",
        "ls secret",
        "ln -s ../secret work/way && cat work/way/file",
        "echo more >> open/file",
        "truncate -s 0 open/file",
        "cat work/../secret/file",
        "rm open/file",
        "mv work/file open/other",
        "mv open/file work/other",
        "ln open/file work/hard && echo more >> work/hard",
        "mkdir open/new",
        "touch new",
        "cp /bin/true secret/new && secret/new",
    ] {
        assert!(!can(script), "{script}");
    }
}

#[test]
fn a_restricted_program_gains_no_privileges() {
    let privileges = |entry: &Entry| sh(entry, Path::new("/"), "grep NoNewPrivs /proc/self/status");
    let scoped = Entry { scope: Scope::IfAvailable, ..Entry::default() };
    assert_eq!(text(&privileges(&scoped).stdout), "NoNewPrivs:\t1\n");
    // bubblewrap may have the set-user-ID bit, and is started by an entry without rules.
    let before = fs::read_to_string("/proc/self/status").unwrap();
    let before = before.lines().find(|line| line.starts_with("NoNewPrivs")).unwrap();
    assert_eq!(text(&privileges(&Entry::default()).stdout).trim(), before);
}

/// The kernel stacks 16 sets of rules at most.
#[test]
fn a_program_whose_restriction_fails_is_not_started() {
    if !scope_is_available() {
        eprintln!("skipped: no Landlock scopes here");
        return;
    }
    let scoped = Entry { scope: Scope::Required, ..Entry::default() };
    let nested = (0..17).fold(vec![OsString::from("echo"), "started".into()], |argv, _| {
        scoped.command(Path::new(RALPH), argv).unwrap()
    });
    let output = Command::new(&nested[0]).args(&nested[1..]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(125), ""), "{said}");
    assert!(said.contains("Landlock") && said.lines().count() == 1, "{said}");
}

const ABSTRACT: &str = "RALPH_TEST_ABSTRACT_SOCKET";

/// The part of the next test that runs inside: connects, and fails if it cannot.
#[test]
fn connects_where_the_environment_says() {
    if let Ok(name) = std::env::var(ABSTRACT) {
        UnixStream::connect_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap();
    }
}

#[test]
fn with_a_scope_neither_abstract_sockets_nor_processes_outside_are_reached() {
    if !scope_is_available() {
        eprintln!("skipped: no Landlock scopes here");
        return;
    }
    let name = format!("ralph-test-{}", std::process::id());
    let _listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let this = std::env::current_exe().unwrap();
    let this = this.to_str().unwrap();
    let reaches = |scope| {
        let entry = Entry { scope, ..Entry::default() };
        let mut connect = program(&entry, &[this, "--exact", "connects_where_the_environment_says"]);
        let connected = connect.env(ABSTRACT, &name).output().unwrap();
        assert!(text(&connected.stdout).contains("running 1 test"), "{connected:?}");
        let signalled = sh(&entry, Path::new("/"), &format!("kill -0 {}", std::process::id()));
        (connected.status.success(), signalled.status.success())
    };
    assert_eq!(reaches(Scope::Open), (true, true));
    assert_eq!(reaches(Scope::Required), (false, false));
    assert_eq!(reaches(Scope::IfAvailable), (false, false));
    let below = Entry { scope: Scope::Required, ..Entry::default() };
    let own = sh(&below, Path::new("/"), "sleep 1000 & kill $!; wait $!; [ $? = 143 ]");
    assert!(own.status.success(), "its own processes can be ended: {own:?}");
}

/// The cgroups of a run, if the system lets us make all of them.
fn cgroups(name: &str, limits: CgroupLimits) -> Option<(String, Cgroups)> {
    let run = format!("test-{}-{name}", std::process::id());
    match limits.make(&run) {
        Ok(made) if made.unlimited().is_empty() => Some((run, made)),
        Ok(made) => {
            eprintln!("skipped: {:?}", made.unlimited());
            None
        }
        Err(why) => {
            eprintln!("skipped: {why}");
            None
        }
    }
}

fn inside(cgroups: &Cgroups) -> Entry {
    Entry { cgroups: cgroups.dirs().to_vec(), ..Entry::default() }
}

/// 2,000 sleeps are asked for, each of which outlives the shell.
#[test]
fn a_fork_bomb_stops_at_the_limit_and_goes_with_its_cgroup() {
    const LIMIT: usize = 60;
    let limits = CgroupLimits { processes: Some(LIMIT as u64), memory: None };
    let Some((_, mut cgroups)) = cgroups("bomb", limits) else { return };
    let many = "i=0; while [ $i -lt 2000 ]; do sleep 1000 > /dev/null 2>&1 & echo $!; i=$((i+1)); done";
    let output = sh(&inside(&cgroups), Path::new("/"), many);
    let pids: Vec<i32> = text(&output.stdout).lines().map(|pid| pid.parse().unwrap()).collect();
    let alive = || pids.iter().filter(|pid| is_alive(**pid)).count();
    let started = alive();
    let dirs = cgroups.dirs().to_vec();
    cgroups.remove().unwrap();
    assert_eq!(started, LIMIT - 1, "{output:?}");
    assert!(!output.status.success() && text(&output.stderr).contains("fork"), "{output:?}");
    assert!(!dirs.iter().any(|dir| dir.exists()), "{dirs:?}");
    assert_eq!(alive(), 0);
}

/// And not a zombie, which is for another process to reap.
fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with(['Z', 'X']))
}

/// `tail` keeps the one line that it reads in memory.
#[test]
fn what_uses_more_memory_than_the_limit_is_killed() {
    let limits = CgroupLimits { processes: Some(100), memory: Some(50_000_000) };
    let Some((_, cgroups)) = cgroups("memory", limits) else { return };
    let script = "head -c 200000000 /dev/zero | tail > /dev/null; echo $?";
    let output = sh(&inside(&cgroups), Path::new("/"), script);
    assert_eq!(text(&output.stdout), "137\n", "{output:?}");
    let output = sh(&Entry::default(), Path::new("/"), script);
    assert_eq!(text(&output.stdout), "0\n", "{output:?}");
}

#[test]
fn cgroups_that_a_killed_process_left_are_found_by_the_run() {
    let limits = CgroupLimits { processes: Some(100), memory: None };
    let Some((run, left)) = cgroups("stale", limits) else { return };
    let (dirs, entry) = (left.dirs().to_vec(), inside(&left));
    std::mem::forget(left);
    let mut sleep = program(&entry, &["sh", "-c", "echo; exec sleep 1000"]);
    let mut sleep = sleep.stdout(Stdio::piped()).spawn().unwrap();
    sleep.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    assert_eq!(remove_stale(&format!("{run}-other")), 0);
    assert_eq!(remove_stale(&run), dirs.len());
    assert!(!dirs.iter().any(|dir| dir.exists()), "{dirs:?}");
    assert_eq!(sleep.wait().unwrap().signal(), Some(9));
    let gone = sh(&entry, Path::new("/"), "echo started");
    assert_eq!((gone.status.code(), text(&gone.stdout).as_str()), (Some(125), ""), "{gone:?}");
    let again = limits.make(&run).unwrap();
    assert!(sh(&inside(&again), Path::new("/"), "true").status.success());
}
