//! Agents that want something to be run or written outside.

use super::*;

/// What the user does in the project while or after an agent works.
const USER: &str = "git status; git diff; git add -A; git commit -q -m mine; git log -1; git checkout -q HEAD~1; \
                    git checkout -q -; git stash; git stash pop; git branch x; git branch -D x; git checkout -- .; \
                    git switch -q -c y; git switch -q main; git gc -q; git rebase HEAD~1; git submodule status";

impl Bench {
    /// Whatever was planted, nothing of it runs or is written outside.
    fn nothing_happens_outside(&self) {
        self.try_outside(&USER.replace("; ", " || :; "));
        assert_eq!(self.outside("ls -d ../PWNED* 2>/dev/null || :"), "");
    }

    /// A program that leaves a mark, for a configuration.
    fn mark(&self, name: &str) -> String {
        format!("touch '{}'", self.path(&format!("PWNED-{name}")).display())
    }
}

#[test]
fn an_attack_succeeds_where_it_is_not_prevented() {
    let bench = Bench::new();
    let mark = bench.mark("fsmonitor");
    bench.outside(&format!("git config core.fsmonitor \"{mark}\""));
    bench.try_outside("git status");
    assert!(bench.path("PWNED-fsmonitor").exists());
}

#[test]
fn hooks_can_be_neither_written_nor_replaced_inside() {
    for made in ["", "rm -rf .git/hooks"] {
        let mut bench = Bench::new();
        bench.outside(&format!("{made} :"));
        let hook = format!("printf '#!/bin/sh\\n{}\\n' ", bench.mark("hook").replace('\'', "\\047"));
        for attack in [
            "$HOOK >.git/hooks/post-checkout",
            "mv .git/hooks .git/old",
            "rm -rf .git/hooks",
            "ln -s /tmp .git/hooks/x",
            "rmdir .git/hooks",
            "mkdir /tmp/h && mv -T /tmp/h .git/hooks",
            "mount -o remount,rw .git/hooks",
            "umount .git/hooks",
            "umount -l .git",
            "mv .git x",
            "rm -rf .git && mkdir .git/hooks",
            "mount --bind /tmp .git/hooks",
            "unshare -Urm mount -o remount,rw \"$TOP/.git/hooks\"",
        ] {
            let ran = bench.try_inside(&attack.replace("$HOOK", &hook));
            assert!(!ran.success(), "{attack}");
            bench.view().after_step();
            bench.view().before_step().unwrap();
        }
        bench.nothing_happens_outside();
    }
}

#[test]
fn nothing_of_a_configuration_inside_is_obeyed_outside() {
    let mut bench = Bench::new();
    let mark = |name: &str| bench.mark(name);
    let script = format!(
        "git config core.fsmonitor \"{}\"
         git config filter.f.clean \"{}\"
         git config filter.f.smudge \"{}\"
         git config diff.d.textconv \"{}\"
         git config alias.status \"!{}\"
         git config core.pager \"{}\"
         git config core.sshCommand \"{}\"
         mkdir evil
         printf '#!/bin/sh\\n{}\\n' >evil/post-checkout
         cp evil/post-checkout evil/pre-commit; cp evil/post-checkout evil/reference-transaction
         chmod +x evil/*
         echo '* filter=f diff=d' >.gitattributes
         echo x >>file
         git -c core.fsmonitor=false add . && git -c core.fsmonitor=false commit -q -m evil
         git config core.hooksPath \"$TOP/evil\"
         cp .git/config .git/config.worktree",
        mark("fsmonitor"),
        mark("clean"),
        mark("smudge"),
        mark("textconv"),
        mark("alias"),
        mark("pager"),
        mark("ssh"),
        mark("hook").replace('\'', "\\047"),
    );
    bench.step(&script);
    bench.nothing_happens_outside();
    assert_eq!(
        bench.outside("git config --list | grep -ci 'filter\\|fsmonitor\\|alias\\|hookspath' || :"),
        "0"
    );
}

/// Git obeys more in a git directory than `config` and `hooks`.
#[test]
fn other_files_of_the_git_directory_lead_nowhere() {
    let mut bench = Bench::new();
    let evil = format!("printf '[core]\\n\\tfsmonitor = \"{}\"\\n' >evil/config", bench.mark("commondir"));
    let script = format!(
        "mkdir evil && cp -r .git/refs .git/objects evil/ && {evil}
         echo \"$TOP/evil\" >.git/commondir
         echo ref: refs/heads/x >evil/HEAD
         printf 'gitdir: ../evil\\n' >.git/gitdir
         mkdir -p .git/worktrees/w && cp .git/HEAD .git/worktrees/w/ && echo \"$TOP/evil\" >.git/worktrees/w/commondir
         echo \"$TOP/evil/.git\" >.git/worktrees/w/gitdir && cp evil/config .git/worktrees/w/config.worktree",
    );
    bench.step(&script);
    bench.nothing_happens_outside();
    assert!(!bench.top.join(".git/commondir").exists() && !bench.top.join(".git/gitdir").exists());
    let worktree = bench.top.join(".git/worktrees/w");
    assert_ne!(
        fs::read(worktree.join("commondir")).unwrap_or_default(),
        bench.top.join("evil").as_os_str().as_bytes()
    );
    assert!(!worktree.join("config.worktree").exists());
}

#[test]
fn a_file_staged_in_the_git_directory_is_not_staged_outside() {
    let mut bench = Bench::new();
    let script = "
        hook=$(printf '#!/bin/sh\\ntouch ../PWNED-index\\n' | git hash-object -w --stdin)
        printf 'import hashlib, struct, sys\\n\
        entry = struct.pack(\">10I\", 0, 0, 0, 0, 0, 0, 0o100755, 0, 0, 0) + bytes.fromhex(sys.argv[1])\\n\
        path = b\".git/hooks/post-checkout\"\\n\
        entry += struct.pack(\">H\", len(path)) + path\\n\
        entry += bytes(8 - len(entry) %% 8)\\n\
        index = b\"DIRC\" + struct.pack(\">II\", 2, 1) + entry\\n\
        open(\".git/index\", \"wb\").write(index + hashlib.sha1(index).digest())\\n' >/tmp/make.py
        python3 /tmp/make.py $hook";
    let told = bench.told(script);
    assert_eq!(told, "the index was not carried over: no file may be staged as .git/hooks/post-checkout");
    bench.nothing_happens_outside();
    bench.is_same();
}

#[test]
fn a_damaged_head_is_not_carried_over() {
    let mut bench = Bench::new();
    let before = bench.outside("cat .git/HEAD");
    for (attack, expected) in [
        ("echo nonsense >.git/HEAD", "HEAD was damaged inside, and is as it was"),
        ("echo 'ref: ../../../../etc/passwd' >.git/HEAD", "HEAD was damaged inside, and is as it was"),
        ("echo 'ref: refs/remotes/x' >.git/HEAD", "HEAD was damaged inside, and is as it was"),
        ("echo 0123456789012345678901234567890123456789 >.git/HEAD", "not carried over: objects are missing"),
        ("tree=$(git rev-parse HEAD:) && echo $tree >.git/HEAD", "HEAD was damaged inside, and is as it was"),
        ("head -c 10000000 /dev/zero >.git/HEAD", "the repository was removed or damaged inside"),
        ("rm .git/HEAD && mkdir .git/HEAD", "the repository was removed or damaged inside"),
        ("ln -sf /etc/passwd .git/HEAD", "the repository was removed or damaged inside"),
        ("ln -sf refs/heads/main .git/HEAD", "the repository was removed or damaged inside"),
        ("rm .git/HEAD && mkfifo .git/HEAD", "the repository was removed or damaged inside"),
        ("rm .git/HEAD", "the repository was removed or damaged inside"),
    ] {
        let told = bench.told(attack);
        assert!(told.contains(expected), "{attack}: {told}");
        assert_eq!(bench.outside("cat .git/HEAD"), before, "{attack}");
        // Inside it is usable again.
        assert_eq!(bench.inside("git status --porcelain"), "", "{attack}");
    }
}

#[test]
fn damaged_refs_are_not_carried_over() {
    let mut bench = Bench::new();
    bench.outside("git branch side && git pack-refs --all && git branch loose && mkdir ../secret && echo x >../secret/y");
    let before = bench.outside("git for-each-ref");
    for attack in [
        "echo nonsense >.git/refs/heads/main",
        "ln -sf /etc/passwd .git/refs/heads/loose",
        "rm -r .git/refs && ln -s /etc .git/refs",
        "rm -r .git/refs && echo x >.git/refs",
        "ln -sf /etc/passwd .git/packed-refs",
        "git update-ref -d refs/heads/main",
        "echo 0123456789012345678901234567890123456789 >.git/refs/heads/side",
        "tree=$(git rev-parse HEAD:) && echo $tree >.git/refs/heads/side",
        "git replace HEAD $(git commit-tree -m other HEAD:)",
    ] {
        let told = bench.told(attack);
        assert!(told.contains("not carried over") || told.contains("as it was"), "{attack}: {told}");
        assert_eq!(bench.outside("git for-each-ref --exclude=refs/ralph"), before, "{attack}");
        bench.inside("git status");
    }
}

#[test]
fn links_inside_lead_no_write_and_no_read_outside() {
    let mut bench = Bench::new();
    bench.outside("mkdir ../secret && cd ../secret && git init -q -b main . && echo key >key && git add . && git commit -q -m secret");
    let secret = bench.outside("git -C ../secret rev-parse HEAD");
    let path = bench.path("secret");
    let (secrets, own) = (path.display().to_string(), bench.top.display().to_string());
    for attack in [
        format!(
            "echo '{secrets}/.git/objects' >.git/objects/info/alternates; echo {secret} >.git/refs/heads/s"
        ),
        format!(
            "rm -rf .git/objects; ln -s '{secrets}/.git/objects' .git/objects; echo {secret} >.git/refs/heads/s"
        ),
        format!(
            "rm -rf .git/logs; ln -s '{secrets}' .git/logs; git -c core.logAllRefUpdates=false update-ref refs/heads/s HEAD"
        ),
        format!(
            "ln -sf '{secrets}/key' .git/COMMIT_EDITMSG; ln -sf '{secrets}/key' .git/FETCH_HEAD; touch .git/index"
        ),
        format!("mkdir .git/rebase-merge; ln -s '{secrets}/key' .git/rebase-merge/message"),
        format!("rm .git/config; ln -s '{secrets}/key' .git/config"),
        format!(
            "rm -rf .git/info; ln -s '{secrets}' .git/info; mkdir .git/rr-cache; ln -s '{secrets}' .git/rr-cache/x"
        ),
        format!("mkdir -p .git/modules; ln -s '{secrets}/.git' .git/modules/x; ln -s '{own}' .git/worktrees"),
    ] {
        let before = bench.outside("cd ../secret && find . -type f | xargs sha256sum; find .");
        let ran = bench.try_inside(&attack);
        assert!(ran.success(), "{attack}: {}", String::from_utf8_lossy(&ran.stderr));
        bench.view().after_step();
        bench.view().before_step().unwrap();
        let objects = bench.try_outside(&format!("git cat-file -e {secret}"));
        assert!(!objects.success(), "{attack}");
        assert_eq!(bench.try_inside("grep -rq key .git").exit, crate::process::Exit::Code(1), "{attack}");
        assert_eq!(
            bench.outside("cd ../secret && find . -type f | xargs sha256sum; find ."),
            before,
            "{attack}"
        );
        bench.is_sound();
    }
    bench.nothing_happens_outside();
}

#[test]
fn a_repository_that_is_removed_or_replaced_inside_is_whole_outside() {
    let mut bench = Bench::new();
    bench.outside("git branch side && git tag v1");
    let before = bench.outside("git for-each-ref && git ls-files -s && git log --format=%H");
    let told = bench.told("rm -rf .git 2>/dev/null || :");
    assert_eq!(told, "the repository was removed or damaged inside; the real one is as it was");
    let told = bench
        .told("rm -rf .git 2>/dev/null || :; git init -q -b main . && git add . && git commit -q -m new");
    assert!(told.contains("the branches of the other one are at refs/ralph/run/replaced/"), "{told}");
    assert_eq!(
        bench.outside("git for-each-ref --exclude=refs/ralph && git ls-files -s && git log --format=%H"),
        before
    );
    assert_eq!(bench.outside("git log --format=%s refs/ralph/run/replaced/heads/main"), "new");
    bench.is_same();
}

#[test]
fn real_objects_can_be_neither_written_nor_removed() {
    let mut bench = Bench::new();
    let object = bench.outside("git rev-parse HEAD | sed 's|..|&/|'");
    let seen = format!("/run/ralph/git/objects/{object}");
    bench.inside(&format!("test -e {seen}"));
    for attack in ["rm -f", "chmod 666", "truncate -s 0", "touch"] {
        assert!(!bench.try_inside(&format!("{attack} {seen}")).success(), "{attack}");
    }
    bench.step("find .git/objects -type f -delete; git gc -q --prune=now || :");
    bench.is_sound();
    bench.step("rm -rf .git/objects");
    bench.is_same();
    // An object under the name of another one.
    let told = bench.told(
        "id=$(echo evil | git hash-object -w --stdin); wanted=$(echo good | git hash-object --stdin)
         mkdir -p .git/objects/$(echo $wanted | cut -c1-2)
         cp .git/objects/$(echo $id | sed 's|..|&/|') .git/objects/$(echo $wanted | sed 's|..|&/|')
         git update-index --add --cacheinfo 100644,$wanted,fake; echo x >x; git add x",
    );
    assert!(told.contains("the index was damaged inside") || told.contains("not carried over"), "{told}");
    bench.is_same();
}

/// A repository that runs a program for every git that enters it.
fn armed(at: &str) -> String {
    format!(
        "git init -q -b main {at} && git -C {at} commit -q --allow-empty -m x && \
         git -C {at} config core.fsmonitor 'touch \"'\"$PWD\"'/PWNED\"; :'"
    )
}

#[test]
fn a_repository_that_git_would_enter_is_moved_away() {
    // Staged, committed, on another branch, below a directory, in a linked place, one step after the link.
    for script in [
        format!("{} && git add inner 2>/dev/null", armed("inner")),
        format!("{} && git add inner 2>/dev/null && git commit -q -m inner", armed("inner")),
        format!("mkdir dir && {} && git add dir 2>/dev/null && git commit -q -m inner", armed("dir/inner")),
        format!(
            "{} && mv inner/.git kept && printf 'gitdir: ../kept\\n' >inner/.git && git add inner && git commit -q -m x",
            armed("inner")
        ),
        format!(
            "{} && mv inner/.git kept && ln -s ../kept inner/.git && git add inner && git commit -q -m x",
            armed("inner")
        ),
    ] {
        let mut bench = Bench::new();
        let told = bench.told(&script);
        assert!(told.contains("inner/.git was made inside"), "{script}: {told}");
        bench.outside("git status && git diff && git commit -qam mine || : && test ! -e PWNED");
    }
    // The same without a sandbox.
    let bench = Bench::new();
    bench.outside(&format!("{} && git add inner 2>/dev/null && git status && test -e PWNED", armed("inner")));
}

#[test]
fn a_repository_for_a_link_of_another_branch_or_of_an_earlier_step_is_moved_away() {
    let mut bench = Bench::new();
    let other = format!(
        "{} && git checkout -q -b other && git add inner 2>/dev/null && git commit -q -m inner && git checkout -q main",
        armed("inner")
    );
    assert!(bench.told(&other).contains("inner/.git was made inside"));
    bench.outside("git checkout -q other && git status && test ! -e PWNED && git checkout -q main");
    // Nothing of git changes in this step.
    assert!(bench.told(&armed("inner")).contains("inner/.git was made inside"));
    // A run that was killed after the step.
    bench.view().before_step().unwrap();
    succeeded("arm", &bench.try_inside(&armed("inner")));
    bench.view = None;
    bench.prepare().unwrap();
    let told = bench.view().before_step().unwrap().join("\n");
    assert!(told.contains("inner/.git was made inside"), "{told}");
    bench.outside("git checkout -q other && git status && test ! -e PWNED");
}

#[test]
fn a_repository_that_no_link_leads_to_stays() {
    let mut bench = Bench::new();
    bench.outside("echo /vendor >.git/info/exclude");
    bench.inside("git init -q vendor && git -C vendor commit -q --allow-empty -m x");
    bench.inside("git -C vendor log -1");
    bench.outside("git -C vendor log -1 && git status");
}
