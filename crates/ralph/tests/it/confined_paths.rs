//! Workspaces, homes and programs at unusual paths, in a sandbox.

use crate::support::*;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

const AGENT: &str = "cat > /dev/null; cat ~/secret; tool; echo made > made; echo '<promise>DONE</promise>'";

/// A home with something to hide, and a program in `~/.local/bin`.
fn furnish(home: &Path) {
    let bin = home.join(".local/bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(home.join("secret"), "SECRET\n").unwrap();
    fs::write(bin.join("tool"), "#!/bin/sh\necho tool works\n").unwrap();
    fs::set_permissions(bin.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
}

fn repository(sandbox: &Sandbox, dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    let mut command = sandbox.command("sh");
    let script = "git init -q -b main && git config user.name A && git config user.email a@localhost && \
                  echo x > f && git add . && git commit -q -m begin";
    command.current_dir(dir).args(["-c", script]);
    sandbox.spawn(command).end().exits(0);
}

/// A whole run there, with a check on the clean copy; its output, and whether anything of the home was seen.
#[track_caller]
fn works(sandbox: &Sandbox, dir: &Path, change: impl Fn(&mut Command)) {
    works_as("proven", sandbox, dir, change);
}

#[track_caller]
fn works_as(word: &str, sandbox: &Sandbox, dir: &Path, change: impl Fn(&mut Command)) {
    let mut command = sandbox.command(RALPH);
    let check = "tool | grep works && test -f made && git log -1 > /dev/null";
    command.current_dir(dir).args(["run", "-p", "x", "-n", "1", "--sandbox=bwrap", "--check", check]);
    command.args(["--format", "json", "--", "sh", "-c", AGENT]);
    change(&mut command);
    let ran = sandbox.spawn(command).end().exits(0);
    let result = ran.json();
    assert_eq!(result["proof"]["word"], word, "{}: {result:#}", dir.display());
    let run = sandbox.home().join("runs").join(result["run"].as_str().unwrap());
    let stream = fs::read_to_string(run.join("streams/1-1.out")).unwrap();
    assert!(stream.contains("tool works") && !stream.contains("SECRET"), "{}: {stream}", dir.display());
    assert_eq!(fs::read_to_string(dir.join("made")).unwrap(), "made\n");
}

fn with_tools_of(home: &Path) -> impl Fn(&mut Command) {
    let mut path = home.join(".local/bin").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let home = home.to_path_buf();
    move |command| {
        command.env("HOME", &home).env("PATH", &path);
    }
}

#[test]
fn a_workspace_in_the_home_in_tmp_on_another_mount_or_with_an_odd_name_works() {
    let sandbox = Sandbox::git().confined();
    let user = sandbox.root().join("user");
    furnish(&user);
    let shm = tempfile::TempDir::with_prefix_in("ralph-it-", "/dev/shm").unwrap();
    let tmp = tempfile::TempDir::with_prefix_in("ralph-it-", "/tmp").unwrap();
    for dir in [
        user.join("project"),
        user.join("with some space"),
        user.join("with a\nnewline, \"quotes\", $HOME and 日本"),
        user.join(".hidden/-rf"),
        shm.path().join("project"),
        tmp.path().join("project"),
    ] {
        repository(&sandbox, &dir);
        works(&sandbox, &dir, with_tools_of(&user));
    }
    // By way of a link.
    symlink(user.join("project"), sandbox.root().join("link")).unwrap();
    fs::remove_file(user.join("project/made")).unwrap();
    works(&sandbox, &sandbox.root().join("link"), with_tools_of(&user));
}

#[test]
fn homes_and_paths_need_not_be_text() {
    let sandbox = Sandbox::git().confined();
    let lines = sandbox.root().join("h o\nm e");
    furnish(&lines);
    works(&sandbox, &sandbox.project(), with_tools_of(&lines));
    let odd = sandbox.root().join(OsStr::from_bytes(b"h\xffome"));
    furnish(&odd);
    sandbox.sh("rm made");
    // The clean copy is described by a file of text.
    works_as("proven_in_place", &sandbox, &sandbox.project(), with_tools_of(&odd));
    // Nor need all of the search path exist, be absolute, or be a directory.
    sandbox.sh("rm made");
    works(&sandbox, &sandbox.project(), |command| {
        with_tools_of(&lines)(command);
        let path = command.get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap().to_owned();
        let mut odd = OsStr::from_bytes(b"bin::/nowhere/\xff:/etc/passwd:.:").to_owned();
        odd.push(path);
        command.env("PATH", odd);
    });
}

#[test]
fn a_workspace_whose_path_is_no_text_is_refused_with_what_to_do() {
    let sandbox = Sandbox::git().confined();
    let dir = sandbox.root().join(OsStr::from_bytes(b"user/odd\xff"));
    repository(&sandbox, &dir);
    let ran = sandbox.ralph_in(&dir, &["run", "-p", "x", "-n", "1", "--", "true"]).exits(2);
    ran.says("not valid UTF-8").says("rename the directory");
}
