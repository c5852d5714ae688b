//! `ralph undo` finds out what would stop it before it changes the first file.

use crate::disk::with_mounts;
use crate::support::{Ran, Sandbox};
use crate::terminal::skip;

const DONE: &str = "echo '<response>DONE</response>'";

/// A run that has replaced one file, removed another and made a third.
fn changed() -> (Sandbox, String) {
    let sandbox = Sandbox::git();
    sandbox.sh("mkdir a z; echo 1 > a/first; echo 1 > z/last; git add . && git commit -q -m files");
    let agent = sandbox.sh_agent(&format!("echo 2 > a/first; echo 2 > z/last; echo 2 > new; {DONE}"));
    sandbox.run(&["-p", "x", "-q"], &agent).exits(0);
    let id = sandbox.only_run();
    (sandbox, id)
}

/// Nothing was put back, and nothing removed.
fn untouched(sandbox: &Sandbox) {
    for name in ["a/first", "z/last", "new"] {
        assert_eq!(sandbox.read(name), "2\n", "{name}");
    }
}

#[test]
fn a_file_that_cannot_be_replaced_changes_nothing() {
    for name in ["z/last", "new"] {
        let (sandbox, id) = changed();
        if sandbox.shell(&format!("chattr +i {name}")).code != Some(0) {
            skip("files cannot be made immutable here");
            return;
        }
        let ran = sandbox.ralph(&["undo", &id]);
        sandbox.sh(&format!("chattr -i {name}"));
        ran.exits(1).says("neither replaced nor removed").says(name);
        untouched(&sandbox);
        // One that may only grow, and a directory that keeps its files.
        let dir = if name == "new" { "." } else { "z" };
        for fixed in [name, dir] {
            sandbox.sh(&format!("chattr +a {fixed}"));
            let ran = sandbox.ralph(&["undo", &id]);
            sandbox.sh(&format!("chattr -a {fixed}"));
            ran.exits(1).says("neither replaced nor removed").says(name);
            untouched(&sandbox);
        }
        sandbox.ralph(&["undo", &id]).exits(0);
        assert_eq!((sandbox.read("z/last"), sandbox.has("new")), ("1\n".into(), false));
    }
}

#[test]
fn neither_does_a_file_that_something_is_mounted_on() {
    let (sandbox, id) = changed();
    let script = format!("mount --bind z/last z/last || exit 99; \"$RALPH\" undo {id}");
    let Some(ran) = with_mounts(&sandbox, &script) else { return };
    ran.exits(1).says("neither replaced nor removed").says("z/last");
    untouched(&sandbox);
    sandbox.ralph(&["undo", &id]).exits(0);
}

#[test]
fn a_disk_without_room_changes_nothing_and_what_goes_first_makes_room() {
    let sandbox = Sandbox::bare();
    // A disk of 8 MiB with three files of 1 MiB: an agent has removed two of them and replaced the last,
    // and then the user fills the disk with a file that no checkpoint holds.
    let script = "mount -t tmpfs -o size=8m tmpfs . && cd \"$PWD\" || exit 99
         git init -q -b main . && git config user.name A && git config user.email a@b && echo filler > .gitignore
         for n in 1 2 3; do head -c 1048576 /dev/urandom > part$n; done
         mkdir .ralph; echo '{\"minFreeSpace\": 0}' > .ralph/settings.json; git add . && git commit -q -m parts
         \"$RALPH\" run -p x -q -- sh -c \"rm part1 part2; head -c 1048576 /dev/zero > part3; echo new > new
             echo '<response>DONE</response>'\" > /dev/null || exit 98
         dd if=/dev/zero of=filler bs=64k 2>/dev/null
         \"$RALPH\" undo; echo \"undo: $?\"; ls; cmp -n 1000 part3 /dev/zero && echo 'as it was'
         truncate -s -1500000 filler; \"$RALPH\" undo; echo \"undo: $?\"; ls
         truncate -s -1000000 filler; git checkout -q part1 part2; dd if=/dev/zero of=filler oflag=append conv=notrunc bs=4k 2>/dev/null
         \"$RALPH\" undo; echo \"undo: $?\"; git status --porcelain";
    let Some(ran) = with_mounts(&sandbox, script) else { return };
    let stdout = ran.exits(0).says("not enough space").stdout;
    let kept = "undo: 1\nfiller\nnew\npart3\n";
    assert!(stdout.starts_with(&format!("{kept}as it was\n{kept}")), "{stdout}");
    let (_, last) = stdout.rsplit_once("undo: ").unwrap();
    assert_eq!(last, "0\n", "{stdout}");
}

#[test]
fn one_that_fails_all_the_same_names_the_way_back() {
    let (sandbox, id) = changed();
    let real = sandbox.sh("command -v git");
    let git = sandbox.program(
        "git",
        &format!(
            "case \"$*\" in *'checkout-index -f'*) echo broken >&2; exit 1;; esac; exec {} \"$@\"",
            real.trim()
        ),
    );
    let ran: Ran = sandbox.ralph(&["undo", &id]).exits(1).says("kept what was replaced; back to it: ");
    std::fs::remove_file(git).unwrap();
    let (_, back) = ran.stderr.split_once("back to it: ralph ").unwrap();
    assert!(!sandbox.has("new"), "it failed after the first change");
    let back: Vec<&str> = back.lines().next().unwrap().split(' ').collect();
    sandbox.ralph(&back).exits(0);
    untouched(&sandbox);
}

/// As an agent leaves it that is killed between two commands.
#[test]
fn empty_directories_in_the_place_of_a_file_are_not_in_the_way() {
    let (sandbox, id) = changed();
    sandbox.sh("rm a/first && mkdir -p a/first/in/deep");
    sandbox.ralph(&["undo", &id]).exits(0);
    assert_eq!((sandbox.read("a/first"), sandbox.read("z/last")), ("1\n".into(), "1\n".into()));
    // With a file that no checkpoint holds, they are left, and named.
    let sandbox = Sandbox::git();
    sandbox.sh("mkdir a; echo 1 > a/first; echo in/ > .gitignore; git add . && git commit -q -m files");
    let agent =
        sandbox.sh_agent(&format!("rm a/first; mkdir -p a/first/in; echo mine > a/first/in/x; {DONE}"));
    sandbox.run(&["-p", "x", "-q"], &agent).exits(0);
    sandbox.ralph(&["undo", &sandbox.only_run()]).says("a/first");
    assert_eq!(sandbox.read("a/first/in/x"), "mine\n");
}
