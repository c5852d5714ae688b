//! Runs in a sandbox, as a whole.

use crate::support::*;
use std::fs;

const DONE: &str = "<promise>DONE</promise>";

#[test]
fn an_agent_in_a_sandbox_does_its_work_and_reaches_nothing_beside_it() {
    let sandbox = Sandbox::git().confined();
    let secret = sandbox.root().join("user/secret");
    fs::write(&secret, "a word that is not to be read\n").unwrap();
    sandbox.write("test.sh", "test -f made\n");
    sandbox.sh("git add . && git commit -q -m test");
    let agent = sandbox.sh_agent(&format!(
        "cat > /dev/null; cat '{secret}'; ls '{records}'/*; echo x > '{root}/user/x'; echo x > '{root}/x'
         echo x > \"$TMPDIR/x\" && echo made > made && git -c user.name=A -c user.email=a@localhost \
         commit -q --allow-empty -m inside && echo '{DONE}'",
        secret = secret.display(),
        records = sandbox.home().join("runs").display(),
        root = sandbox.root().display(),
    ));
    let ran = sandbox.run(&["-p", "x", "-n", "1", "--check", "sh test.sh"], &agent).exits(0);
    let ran = ran.says("sandbox bwrap").says("proven: `sh test.sh` was red and is green");
    assert!(!ran.stdout.contains("killed what it left"), "{}", ran.stdout);
    let stream = fs::read_to_string(sandbox.run_dir().join("streams/1-1.out")).unwrap();
    assert!(!stream.contains("a word") && !stream.contains("journal"), "{stream}");
    for path in ["x", "user/x", "tmp/x"] {
        assert!(!sandbox.root().join(path).exists(), "{path}");
    }
    assert_eq!(sandbox.read("made"), "made\n");
    assert!(sandbox.sh("git log --oneline").contains("inside"));
}

#[test]
fn a_worktree_and_a_sandbox_go_together() {
    let sandbox = Sandbox::git().confined();
    let agent = sandbox.sh_agent(&format!("cat > /dev/null; echo made > made; echo '{DONE}'"));
    sandbox.run(&["-p", "x", "-n", "1", "--worktree", "--check", "test -f made"], &agent).exits(0);
    assert!(!sandbox.has("made"));
    let branch = sandbox.sh("git branch --list 'ralph/*' --format='%(refname)'");
    assert_eq!(sandbox.sh(&format!("git show '{}:made'", branch.trim())), "made\n");
}

#[test]
fn what_an_agent_does_with_git_inside_is_there_outside_and_its_configuration_is_not() {
    let sandbox = Sandbox::git().confined();
    let agent = sandbox.sh_agent(&format!(
        "cat > /dev/null; git config core.fsmonitor '{root}/user/run-me' && git config alias.x '!true'
         git checkout -q -b other && echo made > made && git add made && git commit -q -m inside && git tag v1
         echo later > later && git add later; echo '{DONE}'",
        root = sandbox.root().display()
    ));
    let ran = sandbox.run(&["-p", "x", "-n", "1", "--check", "test -f made"], &agent).exits(0);
    ran.says("core.fsmonitor").says("alias.x");
    assert_eq!(
        sandbox.sh("git log --format=%s -1 && git branch --show-current && git tag"),
        "inside\nother\nv1\n"
    );
    assert_eq!(sandbox.sh("git status --short"), "A  later\n");
    assert!(!sandbox.sh("git config --list").contains("fsmonitor"));
}

#[test]
fn the_records_of_ralph_are_never_inside_of_the_project() {
    let sandbox = Sandbox::git().confined();
    let agent = sandbox.sh_agent(&format!("echo '{DONE}'"));
    let below = sandbox.home().join("below/project");
    fs::create_dir_all(&below).unwrap();
    for (records, dir) in [(sandbox.project().join("records"), sandbox.project()), (sandbox.home(), below)] {
        for flags in [&["--sandbox"][..], &["--sandbox=bwrap"], &[]] {
            let mut command = sandbox.command(RALPH);
            command.env("RALPH_HOME", &records).current_dir(&dir);
            command.args(["run", "-p", "x", "-n", "1"]).args(flags).arg("--").args(agent.words());
            let ran = sandbox.spawn(command).end().exits(2);
            ran.says("inside of one another").says("set RALPH_HOME").says("--no-sandbox");
            assert!(!records.join("runs").exists());
        }
    }
}

#[test]
fn the_home_itself_is_no_workspace_of_a_sandbox() {
    let sandbox = Sandbox::git().confined();
    let (agent, user) =
        (sandbox.sh_agent(&format!("cat > /dev/null; echo '{DONE}'")), sandbox.root().join("user"));
    let run = |flags: &[&str]| {
        let mut command = sandbox.command(RALPH);
        command.current_dir(&user).args(["run", "-p", "x", "-n", "1"]).args(flags);
        command.arg("--").args(agent.words());
        sandbox.spawn(command).end()
    };
    run(&["--sandbox"])
        .exits(2)
        .says("the project contains your home directory")
        .says("a directory of its own");
    run(&[]).exits(0).says("no sandbox: the project contains your home directory");
}

#[test]
fn the_sandboxes_can_be_tried_and_looked_around_in() {
    let sandbox = Sandbox::git().confined();
    // As one that was killed while it looked has left it, yesterday and just now.
    sandbox.sh("mkdir -p ../user/.ralph-canary-old/work ../user/.ralph-canary-new && touch -d yesterday ../user/.ralph-canary-old");
    sandbox.ralph(&["sandbox", "check"]).exits(0).says("bwrap     works");
    sandbox.sh("rmdir ../user/.ralph-canary-new");
    let tried = sandbox.ralph(&["sandbox", "check", "--format", "json"]).exits(0).json();
    assert_eq!((&tried[0]["name"], &tried[0]["works"]), (&"bwrap".into(), &true.into()));
    let script = "pwd; echo made > made; echo x > ~/x; exit 7";
    let ran = sandbox.ralph(&["sandbox", "shell", "--", "sh", "-c", script]).exits(7);
    assert_eq!(ran.stdout, format!("{}\n", sandbox.project().display()));
    assert!(sandbox.has("made") && !sandbox.root().join("user/x").exists());
    sandbox.ralph(&["sandbox", "shell", "--sandbox", "none", "--", "true"]).exits(2).says("no sandbox");
    // What was tried leaves nothing in the home.
    let left: Vec<_> = fs::read_dir(sandbox.root().join("user")).unwrap().flatten().collect();
    assert!(left.iter().all(|entry| entry.file_name() == ".config"), "{left:?}");
}

#[test]
fn on_the_clean_copy_checks_see_history_and_nothing_of_the_home_or_of_services() {
    let sandbox = Sandbox::git().confined();
    fs::write(sandbox.root().join("user/secret"), "a word\n").unwrap();
    let _service = std::os::unix::net::UnixListener::bind(sandbox.root().join("tmp/service.sock")).unwrap();
    sandbox.write(
        "test.sh",
        format!(
            "git log --format=%s | grep begin > /dev/null && git fsck || exit 2
             ! cat '{root}/user/secret' && ! test -e '{root}/tmp/service.sock' && test -e made\n",
            root = sandbox.root().display()
        ),
    );
    let agent = sandbox.sh_agent("cat > /dev/null; echo made > made; echo '<response>DONE</response>'");
    let args = ["-p", "x", "-n", "1", "--check", "sh test.sh", "--format", "json"];
    let result = sandbox.run(&args, &agent).stops(0, "completed", 1);
    assert_eq!((&result["proof"]["level"], &result["proof"]["word"]), (&"clean".into(), &"proven".into()));
}

#[test]
fn what_the_users_own_tools_obey_is_as_before_and_what_was_tried_is_kept() {
    let sandbox = Sandbox::git().confined();
    sandbox.write(".claude/settings.json", "{}\n");
    sandbox.write(".envrc", "export A=1\n");
    sandbox.sh("git add . && git commit -q -m settings");
    let agent = sandbox.sh_agent(&format!(
        "cat > /dev/null; echo '{{\"hooks\":1}}' > .claude/settings.json; mv .claude moved; rm -f .envrc
         mkdir -p .vscode && echo x > .vscode/tasks.json; echo x > .claude/settings.local.json
         echo made > made; echo '{DONE}'"
    ));
    let ran = sandbox.run(&["-p", "x", "-n", "1", "--check", "test -f made"], &agent).exits(0);
    ran.says(".vscode").says(".claude/settings.local.json");
    assert_eq!(sandbox.read(".claude/settings.json"), "{}\n");
    assert_eq!(sandbox.read(".envrc"), "export A=1\n");
    assert!(!sandbox.has(".vscode") && !sandbox.has(".claude/settings.local.json"));
    assert_eq!(sandbox.sh("git status --short"), "?? made\n");
}
