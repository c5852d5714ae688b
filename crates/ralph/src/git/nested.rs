//! Repositories that agents have made below the user's own: no git of ralph's runs what they name.
#![expect(clippy::disallowed_methods, reason = "tests write files")]

use super::checkpoint::Checkpoints;
use super::shadow::Shadow;
use super::{Condition, Repository, git};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

struct Bench {
    dir: TempDir,
    top: PathBuf,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join("top");
        fs::create_dir(&top).unwrap();
        let bench = Bench { dir, top };
        bench.sh("git init -q -b main . && git config user.name x && git config user.email x@localhost && \
                  echo 1 >file && git add . && git commit -q -m one");
        bench
    }

    fn sh(&self, script: &str) {
        let shell = crate::process::tool::Tool::new("sh").args(["-euc", script]).cwd(&self.top);
        let shell = shell.env("GIT_CONFIG_GLOBAL", "/dev/null").env("MARK", self.dir.path().join("PWNED"));
        let ran = shell.run().unwrap();
        assert!(ran.success(), "{script}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    fn is_marked(&self) -> bool {
        self.dir.path().join("PWNED").exists()
    }

    fn repository(&self) -> Repository {
        Repository::around(&self.top).unwrap()
    }
}

/// A repository in `evil` with a monitor, a filter, hooks and an external diff that leave a mark, in which a file is
/// changed, staged as a submodule.
const EVIL: &str = "mkdir evil && cd evil && git init -q -b main . && git config user.name x && git config user.email x@localhost
    echo 1 >file && echo '* filter=f diff=d' >.gitattributes && git add . && git commit -q -m one
    git config filter.f.clean \"touch '$MARK'; cat\" && git config filter.f.smudge \"touch '$MARK'; cat\"
    git config filter.f.process \"touch '$MARK'\" && git config filter.f.required true
    git config diff.d.textconv \"touch '$MARK'; cat\" && git config diff.d.command \"touch '$MARK'\"
    git config alias.status \"!touch '$MARK'\" && git config core.sshCommand \"touch '$MARK'\"
    mkdir hooks && printf '#!/bin/sh\\ntouch \"%s\"\\n' \"$MARK\" >hooks/pre-commit && chmod +x hooks/pre-commit
    cp hooks/pre-commit hooks/post-checkout && cp hooks/pre-commit hooks/pre-push && git config core.hooksPath \"$PWD/hooks\"
    cd .. && git add evil 2>/dev/null
    printf '[submodule \"evil\"]\\n\\tpath = evil\\n\\turl = ./evil\\n\\tignore = none\\n' >.gitmodules
    cd evil && echo 2 >file && touch -d '1 hour ago' file && git config core.fsmonitor \"touch '$MARK'; false\"";

/// The same, where a commit of it has changed.
const MOVED: &str = "cd evil && git update-ref HEAD $(git commit-tree -p HEAD -m two HEAD:)";

#[test]
fn a_git_of_the_users_runs_what_such_a_repository_names() {
    let bench = Bench::new();
    bench.sh(EVIL);
    assert!(!bench.is_marked());
    bench.sh("git status || :");
    assert!(bench.is_marked());
}

#[test]
fn no_git_of_ralphs_does() {
    for more in [
        ":",
        MOVED,
        "git rm -q -f --cached evil",
        "git commit -q -m evil --no-verify",
        "mv evil/.git .git/modules-evil && echo 'gitdir: ../.git/modules-evil' >evil/.git",
    ] {
        let bench = Bench::new();
        bench.sh(EVIL);
        bench.sh(more);
        fs::remove_file(bench.dir.path().join("PWNED")).ok();
        let check = |what: &str| assert!(!bench.is_marked(), "{what} after {more}");
        let repository = bench.repository();
        assert!(repository.has_uncommitted().is_ok());
        check("status");
        repository.changed_paths().unwrap();
        repository.unstage_private().unwrap();
        check("changed paths");
        assert_eq!(repository.condition(), Condition::Whole);
        assert!(!repository.lacks_objects());
        repository.head();
        repository.branch();
        repository.recent_commit_says("x");
        check("questions");
        repository.exclude_runtime_files(&bench.top).unwrap();
        let own = bench.dir.path().join("own");
        let shadow = Shadow::over(bench.repository(), own.clone(), 1 << 20);
        shadow.set_up(&bench.top).unwrap();
        shadow.record(&shadow.changes().unwrap()).unwrap();
        let mut checkpoints =
            Checkpoints::of(Shadow::over(bench.repository(), own, 1 << 20), None, true, 1 << 20);
        checkpoints.take(&bench.top, true, None, &[]).unwrap();
        check("checkpoints");
        fs::write(bench.top.join("new"), "").unwrap();
        assert!(repository.commit_only(&[bench.top.join("new")], "new").unwrap());
        check("commit of one file");
        let _ = repository.quiet().args(["update-index", "-q", "--refresh"]).run();
        check("refresh");
        fs::write(bench.top.join("file"), "2").unwrap();
        repository.stage_all().unwrap();
        check("staging");
        repository.commit_all("all").unwrap();
        check("commit");
        let read = ["read-tree", "--reset", "HEAD~1"];
        assert!(repository.quiet().args(read).run().unwrap().success());
        check("reset");
        let path = bench.dir.path().join("wt");
        repository.add_worktree(&path, "side", None).unwrap();
        repository.remove_worktree(&path).unwrap();
        check("worktree");
        push(&bench, &repository);
        check("push");
    }
}

fn push(bench: &Bench, repository: &Repository) {
    bench.sh("git init -q --bare ../far.git && git remote add origin ../far.git && git config push.recurseSubmodules on-demand");
    repository.push_without_hooks(&["-u", "origin", "main"], None).unwrap();
    let far = git(&bench.dir.path().join("far.git")).args(["rev-parse", "main"]).run().unwrap();
    let here = git(&bench.top).args(["rev-parse", "main"]).run().unwrap();
    assert_eq!(far.stdout, here.stdout);
}

#[test]
fn a_push_runs_no_hook_and_names_the_one_that_it_leaves_out() {
    let bench = Bench::new();
    let repository = bench.repository();
    assert_eq!(repository.pre_push_hook(), None);
    bench.sh("printf '#!/bin/sh\\ntouch \"%s\"\\nexit 1\\n' \"$MARK\" >.git/hooks/pre-push && chmod +x .git/hooks/pre-push");
    assert_eq!(repository.pre_push_hook(), Some(bench.top.join(".git/hooks/pre-push")));
    push(&bench, &repository);
    assert!(!bench.is_marked());
    bench.sh("mkdir hooks && cp .git/hooks/pre-push hooks/ && git config core.hooksPath hooks");
    assert_eq!(repository.pre_push_hook(), Some(bench.top.join("hooks/pre-push")));
    let why = repository.push_without_hooks(&["nowhere", "main"], None).unwrap_err().to_string();
    assert!(why.contains("nowhere"), "{why}");
}

/// In the place of git-lfs.
#[test]
fn large_files_are_pushed_first() {
    let bench = Bench::new();
    let repository = bench.repository();
    push(&bench, &repository);
    let words = bench.dir.path().join("words");
    bench.sh(&format!("git config alias.lfs '!f() {{ echo \"$@\" >>\"{}\"; }}; f'", words.display()));
    bench.sh("mkdir a && echo '*.bin filter=lfs' >a/.gitattributes");
    repository.push_without_hooks(&[], None).unwrap();
    assert!(!words.exists(), "nothing is committed yet");
    bench.sh("git add . && git commit -q -m lfs");
    for (args, expected) in [
        (&[][..], "push origin HEAD"),
        (&["origin", "+main:other", "--force"], "push origin main"),
        (&["--all", "origin"], "push --all origin"),
        (&["origin", "--", "main"], "push origin main"),
    ] {
        repository.push_without_hooks(args, None).unwrap();
        assert_eq!(read(&words), expected, "{args:?}");
    }
}

fn read(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    fs::remove_file(path).unwrap();
    text.trim_end().to_string()
}
