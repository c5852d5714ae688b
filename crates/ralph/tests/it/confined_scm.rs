//! Source control in runs with a sandbox: what is committed inside, and what is done outside.

use crate::support::Sandbox;
use serde_json::json;
use std::fs;

/// A repository whose runs do these tasks inside a sandbox, with a remote.
fn with_tasks(tasks: &[&str]) -> Sandbox {
    let sandbox = Sandbox::git().confined();
    sandbox.settings(&json!({"context": false, "scm": {"tasks": tasks}, "backoff": {"base": 0.01}}));
    sandbox.sh("git add . && git commit -q -m settings");
    sandbox.sh(
        "git init -q --bare ../far.git && git remote add origin ../far.git && git push -q -u origin main",
    );
    sandbox
}

fn run(sandbox: &Sandbox, work: &str) -> crate::support::Ran {
    let body = format!(
        "case \"$(cat)\" in *'commit message'*)\necho message\n;;\n*)\n{work}\necho '<response>DONE</response>'\n;;\nesac"
    );
    sandbox.program("agent", &body);
    sandbox.ralph(&["run", "-p", "x", "-n", "1", "--", "agent"])
}

fn hook(sandbox: &Sandbox, name: &str, body: &str) {
    sandbox.write(&format!(".git/hooks/{name}"), format!("#!/bin/sh\n{body}\n"));
    sandbox.sh(&format!("chmod +x .git/hooks/{name}"));
}

fn far(sandbox: &Sandbox) -> String {
    sandbox.sh("git --git-dir=../far.git log --format=%s main -1")
}

#[test]
fn a_commit_runs_its_hooks_inside_and_a_push_runs_none() {
    let sandbox = with_tasks(&["commit", "push"]);
    let outside = sandbox.root().join("user/outside");
    hook(
        &sandbox,
        "pre-commit",
        &format!("echo hook > by-hook; git add by-hook; echo x > '{}' || :", outside.display()),
    );
    hook(&sandbox, "pre-push", &format!("echo x > '{}'; exit 1", outside.display()));
    let ran = run(&sandbox, "echo new > new").exits(0);
    ran.says("pushes from a sandbox run no hooks").says(".git/hooks/pre-push is skipped");
    assert_eq!((sandbox.sh("git show HEAD:by-hook").as_str(), outside.exists()), ("hook\n", false));
    assert_eq!((far(&sandbox).as_str(), sandbox.sh("git status --porcelain").as_str()), ("message\n", ""));
}

#[test]
fn nothing_that_an_agent_names_is_run_outside_by_a_commit_or_a_push() {
    // With a git of its own inside, an agent only keeps its own work from being committed.
    for (programs, pushed) in [("git-lfs ssh", "message\n"), ("git git-lfs ssh", "settings\n")] {
        let sandbox = with_tasks(&["commit", "push"]);
        let mark = sandbox.root().join("user/mark");
        let evil = format!("echo x > '{}'", mark.display());
        let body = format!(
            "case \"$(cat)\" in *'commit message'*)
            echo message
            ;;
            *)
            git config filter.f.clean \"{evil}; cat\"; git config core.fsmonitor \"{evil}; false\"
            git config core.sshCommand \"{evil}\"; echo '* filter=f' > .gitattributes; echo new > new
            mkdir sub; cd sub; git init -q; git config core.fsmonitor \"{evil}; false\"
            git commit -q --allow-empty -m x; cd ..; git add sub 2>/dev/null; mkdir -p bin
            for name in {programs}; do printf '#!/bin/sh\\n%s\\n' \"{evil}\" > bin/$name; chmod +x bin/$name; done
            echo '<response>DONE</response>'
            ;;
            esac"
        );
        let agent = sandbox.program("agent", &body);
        let mut command = sandbox.command(crate::support::RALPH);
        // As `direnv` and others set it.
        let dirs = [sandbox.project().join("bin"), sandbox.root().join("bin")];
        let dirs = dirs.map(|dir| dir.display().to_string()).join(":");
        command.env("PATH", format!("{dirs}:{}", std::env::var("PATH").unwrap()));
        command.args(["run", "-p", "x", "-n", "1", "--"]).arg(agent);
        sandbox.spawn(command).end().exits(0);
        assert!(!mark.exists(), "{programs}");
        assert_eq!(far(&sandbox), pushed, "{programs}");
    }
}

#[test]
fn a_commit_is_signed_outside() {
    let sandbox = with_tasks(&["commit", "push"]);
    let gpg = sandbox.root().join("user/gpg");
    let script = "#!/bin/sh\ncat >/dev/null; echo '[GNUPG:] SIG_CREATED D 1 8 00 0 0' >&2\n\
                  echo '-----BEGIN PGP SIGNATURE-----'; echo; echo signed; echo '-----END PGP SIGNATURE-----'\n";
    fs::write(&gpg, script).unwrap();
    sandbox.sh(&format!(
        "chmod +x '{0}' && git config gpg.program '{0}' && git config commit.gpgSign true",
        gpg.display()
    ));
    run(&sandbox, "echo new > new").exits(0);
    assert!(sandbox.sh("git --git-dir=../far.git cat-file commit main").contains("gpgsig -----BEGIN"));
    let id = sandbox.only_run();
    assert_eq!(sandbox.sh("git log -1 --format=%B"), format!("message\n\nRalph-Run: {id}/1\n\n"));
    assert_eq!(sandbox.sh("git status --porcelain"), "");
    // Without a key the commit stays, and is not pushed.
    fs::write(&gpg, "#!/bin/sh\necho 'no key' >&2; exit 2\n").unwrap();
    run(&sandbox, "echo newer > new").exits(0).says("committed, but not signed: ").says("no key");
    assert_eq!(sandbox.sh("git log --format=%s -3"), "message\nmessage\nsettings\n");
    assert_eq!(sandbox.sh("git log origin/main..main --oneline | wc -l").trim(), "1");
}

#[test]
fn an_iteration_that_changed_nothing_asks_for_no_message() {
    let sandbox = with_tasks(&["commit"]);
    run(&sandbox, "true").exits(0);
    assert_eq!(sandbox.sh("git log -1 --format=%s"), "settings\n");
}

#[test]
fn large_files_are_pushed_first_and_outside() {
    let sandbox = with_tasks(&["commit", "push"]);
    sandbox.write(".gitattributes", "*.bin filter=lfs\n");
    sandbox.sh("git add . && git commit -q -m attributes");
    hook(&sandbox, "pre-push", "git lfs pre-push \"$@\"");
    // What it is told can only be written outside.
    let log = sandbox.root().join("lfs.log");
    sandbox.program(
        "git-lfs",
        &format!("echo \"$*: $(git --git-dir=../far.git log --format=%s main -1)\" >> '{}'", log.display()),
    );
    let ran = run(&sandbox, "echo large > a.bin").exits(0);
    assert_eq!(fs::read_to_string(&log).unwrap(), "push origin HEAD: settings\n");
    assert_eq!(far(&sandbox), "message\n");
    assert!(!ran.stdout.contains("is skipped") && !ran.stderr.contains("is skipped"), "it does nothing else");
}
