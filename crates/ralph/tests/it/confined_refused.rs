//! Sandboxes that do not work: what is said, and what is tried again.

use crate::support::*;
use std::fs;

const DONE: &str = "cat > /dev/null; echo '<promise>DONE</promise>'";

/// What programs called `bwrap` do that are of no use, and what is said of each.
const USELESS: [(&str, &str); 6] = [
    (
        "echo 'bwrap: No permissions to create a new namespace, likely because of the kernel' >&2; exit 1",
        "No permissions to create a new namespace",
    ),
    ("echo 'bwrap: Unknown option --disable-userns' >&2; exit 1", "bubblewrap 0.8 or later is needed"),
    ("exit 0", "it ended without running anything"),
    ("exit 3", "it ended with exit code 3 and said nothing"),
    ("kill -SEGV $$", "it was killed by signal 11"),
    // It runs the program, and hides nothing from it.
    (
        "while test \"$1\" != --; do shift; done; shift; shift; exec \"$RALPH\" \"$@\"",
        "a program inside could",
    ),
];

fn run(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let mut command = sandbox.command(RALPH);
    command.env("RALPH", RALPH).args(["run", "-p", "x", "-n", "1"]).args(args);
    sandbox
        .spawn({
            command.args(["--", "sh", "-c", DONE]);
            command
        })
        .end()
}

#[test]
fn a_sandbox_that_does_not_hold_is_refused_by_name_and_reported_once_by_auto() {
    let sandbox = Sandbox::git().confined();
    for (body, said) in USELESS {
        sandbox.program("bwrap", body);
        run(&sandbox, &["--sandbox=bwrap"]).exits(2).says(said).says("`ralph sandbox check` tries each");
        // In these tests the home is in /tmp, which Landlock shares.
        run(&sandbox, &["--sandbox"]).exits(2).says("no sandbox works here").says(said);
        assert!(sandbox.runs().is_empty(), "{body}");
        let ran = run(&sandbox, &[]).exits(0).says(said).says("sandbox none: agents have your rights");
        let all = ran.stdout + &ran.stderr;
        assert_eq!(all.matches("no sandbox: none works here").count(), 1, "{all}");
        let active = sandbox.events()[0].to_string();
        assert!(active.contains(said.split('"').next().unwrap()), "the record says why: {active}");
        fs::remove_dir_all(sandbox.home().join("runs")).unwrap();
    }
}

#[test]
fn without_bwrap_auto_says_what_to_install() {
    let sandbox = Sandbox::git().confined();
    let bin = sandbox.root().join("bin");
    for program in ["sh", "cat", "git"] {
        let found = sandbox.sh(&format!("command -v {program}"));
        std::os::unix::fs::symlink(found.trim(), bin.join(program)).unwrap();
    }
    let mut command = sandbox.command(RALPH);
    command.env("PATH", &bin).args(["run", "-p", "x", "-n", "1", "--", "sh", "-c", DONE]);
    sandbox.spawn(command).end().exits(0).says("bwrap is not installed (package bubblewrap)");
}

#[test]
fn where_auto_takes_landlock_the_banner_says_what_that_does_not_stop() {
    let sandbox = Sandbox::git().confined();
    sandbox.program("bwrap", "exit 1");
    // Landlock shares /tmp, so it can only hide a home elsewhere.
    let home = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let command = |args: &[&str]| {
        let mut command = sandbox.command(RALPH);
        command.env("HOME", home.path()).env("RALPH_HOME", home.path().join("records")).args(args);
        sandbox.spawn(command).end()
    };
    if command(&["sandbox", "shell", "--sandbox", "landlock", "--", "true"]).code != Some(0) {
        return; // This kernel is too old for it.
    }
    let ran = command(&["run", "-p", "x", "-n", "1", "--", "sh", "-c", DONE]).exits(0);
    ran.says("sandbox landlock, network allowlist (shares /tmp, processes, caches and logins with you; does not protect .git");
    // A ralph that is started inside cannot write its records, and says where it could.
    let inner = format!("'{RALPH}' run -p y -n 1 -- sh -c \"{DONE}\"");
    let agent = format!(
        "cat > /dev/null; {inner} > refused.out 2>&1; RALPH_HOME=\"$(mktemp -d)\"; export RALPH_HOME; {inner} > inner.out 2>&1; \
         echo $? > inner.code; rm -rf \"$RALPH_HOME\"; echo '<promise>DONE</promise>'"
    );
    command(&["run", "-p", "x", "-n", "1", "--", "sh", "-c", &agent]).exits(0);
    let (refused, out) = (sandbox.read("refused.out"), sandbox.read("inner.out"));
    assert!(refused.contains("set RALPH_HOME to a writable directory"), "{refused}");
    assert!(out.contains("inside the sandbox of another ralph (landlock)"), "{out}");
    assert_eq!(sandbox.read("inner.code"), "0\n", "{out}");
}

#[test]
fn one_that_hangs_is_given_up_once() {
    let sandbox = Sandbox::git().confined();
    let calls = sandbox.root().join("calls");
    sandbox.program("bwrap", &format!("echo x >> '{}'; exec sleep 600", calls.display()));
    run(&sandbox, &["--sandbox=bwrap"]).exits(2).says("bwrap did not answer within 10 s");
    assert_eq!(fs::read_to_string(&calls).unwrap(), "x\n");
    sandbox.soon_nothing_is_left();
}

#[test]
fn what_works_is_tried_once_and_again_for_another_program_or_after_another_start_of_the_system() {
    let sandbox = Sandbox::git().confined();
    let calls = sandbox.root().join("calls");
    let real = sandbox.sh("command -v bwrap");
    let wrapped = format!(
        "case \"$*\" in *canary*) echo x >> '{}';; esac\nexec {} \"$@\"",
        calls.display(),
        real.trim()
    );
    let tried = || fs::read_to_string(&calls).unwrap_or_default().lines().count();
    sandbox.program("bwrap", &wrapped);
    run(&sandbox, &[]).exits(0).says("sandbox bwrap");
    assert_eq!(tried(), 1);
    run(&sandbox, &["--sandbox=bwrap"]).exits(0);
    assert_eq!(tried(), 1, "it is remembered");
    sandbox.program("bwrap", &format!("# another version\n{wrapped}"));
    run(&sandbox, &[]).exits(0);
    assert_eq!(tried(), 2, "another program");
    let file = sandbox.home().join("sandbox/bwrap.json");
    let remembered = fs::read_to_string(&file).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert!(remembered.contains(boot.trim()), "{remembered}");
    fs::write(&file, remembered.replace(boot.trim(), "00000000-0000-0000-0000-000000000000")).unwrap();
    run(&sandbox, &[]).exits(0);
    assert_eq!(tried(), 3, "another start of the system");
    // What was remembered is never the only reason to believe it.
    sandbox.program("bwrap", "exit 1");
    run(&sandbox, &["--sandbox=bwrap"]).exits(2);
}

#[test]
fn a_ralph_inside_of_ralph_works_and_says_that_it_is_inside() {
    let sandbox = Sandbox::git().confined();
    let inner = format!(
        "/run/ralph/ralph run -p y -n 1 --check 'test -f made' -- sh -c \"cat > /dev/null; echo made > made; echo '<promise>DONE</promise>'\" > inner.out 2>&1; echo $? > inner.code
         /run/ralph/ralph run -p y -n 1 --sandbox -- true > named.out 2>&1; echo $? > named.code; {DONE}"
    );
    sandbox.run(&["-p", "x", "-n", "1"], &sandbox.sh_agent(&inner)).exits(0);
    let (out, code) = (sandbox.read("inner.out"), sandbox.read("inner.code"));
    assert_eq!(code, "0\n", "{out}");
    assert!(
        out.contains("no sandbox: none works here: this is inside the sandbox of another ralph (bwrap)"),
        "{out}"
    );
    assert_eq!(sandbox.read("made"), "made\n");
    let (out, code) = (sandbox.read("named.out"), sandbox.read("named.code"));
    assert!(
        code == "2\n" && out.contains("inside the sandbox of another ralph") && out.contains("--no-sandbox"),
        "{out}"
    );
    assert_eq!(sandbox.runs().len(), 1, "the inner one has records of its own");
}
