//! Repositories that are not a directory `.git` with files in it.

use super::*;

const START: &str = "echo one >file && git add . && git commit -q -m one";

/// What agents do all day, in short.
fn works(bench: &mut Bench) {
    let branch = bench.outside("git branch --show-current");
    bench.inside("echo two >file && git commit -q -am two && git checkout -q -b side && git commit -q --allow-empty -m s");
    bench.is_same();
    bench.inside(&format!(
        "git checkout -q {branch} && git stash -q && git stash pop -q || :; git merge -q side"
    ));
    bench.inside("git config a.b c && git tag v1 && git pack-refs --all && git branch -q -d side && echo x >x && git add x");
    bench.is_same();
    bench.outside("git commit -q -m mine");
    bench.inside("git checkout -q --detach HEAD~1");
    bench.is_same();
    assert_eq!(bench.outside("git config a.b || :"), "");
    assert_eq!(bench.inside("git config a.b"), "c");
}

#[test]
fn a_linked_worktree_works_and_leaves_the_main_one_alone() {
    let mut bench =
        Bench::with(&format!("git init -q -b main . && {START} && git worktree add -q -b run ../wt"));
    let main = std::mem::replace(&mut bench.top, PathBuf::new());
    bench.top = bench.path("wt");
    let state = |bench: &Bench| {
        bench.outside(&format!(
            "cd '{}' && cat .git/HEAD .git/logs/HEAD && git ls-files -s && git status",
            main.display()
        ))
    };
    let before = state(&bench);
    works(&mut bench);
    assert_eq!(state(&bench), before);
    // The file that leads to the git directory cannot be replaced.
    for attack in ["echo 'gitdir: /tmp' >.git", "mv .git x", "rm .git", "ln -sf /tmp .git"] {
        assert!(!bench.try_inside(attack).success(), "{attack}");
    }
    assert_eq!(bench.view().obeyed().files, [bench.top.join(".git")]);
}

#[test]
fn a_git_directory_elsewhere_works() {
    let mut bench =
        Bench::with(&format!("git init -q -b main --separate-git-dir ../elsewhere.git . && {START}"));
    works(&mut bench);
}

#[test]
fn a_repository_with_sha256_works() {
    let mut bench = Bench::with(&format!("git init -q -b main --object-format=sha256 . && {START}"));
    works(&mut bench);
}

#[test]
fn refs_in_tables_work() {
    if !Bench::with(":").try_outside("git init -q --ref-format=reftable .").success() {
        return; // Git is too old to have such a repository.
    }
    let mut bench = Bench::with(&format!("git init -q -b main --ref-format=reftable . && {START}"));
    works(&mut bench);
    let mut bench = Bench::with(&format!(
        "git init -q -b main --ref-format=reftable . && {START} && git worktree add -q -b run ../wt"
    ));
    bench.top = bench.path("wt");
    works(&mut bench);
    let told = bench.told("echo nonsense >\"$(git rev-parse --git-common-dir)/reftable/tables.list\"");
    assert!(told.contains("not carried over"), "{told}");
    bench.is_same();
}

#[test]
fn an_index_in_two_files_works() {
    let mut bench = Bench::with(&format!(
        "git init -q -b main . && {START} && git config core.splitIndex true && git update-index --split-index"
    ));
    bench.outside("ls .git/sharedindex.*");
    works(&mut bench);
    // Also where an agent wants one.
    bench.inside("git config core.splitIndex true && git checkout -q main && git update-index --split-index && echo y >y && git add y");
    bench.is_same();
}

#[test]
fn a_configuration_per_worktree_is_private_as_well() {
    let mut bench = Bench::with(&format!(
        "git init -q -b main . && git config extensions.worktreeConfig true && git config --worktree x.y z && {START}"
    ));
    let before = bench.outside("cat .git/config.worktree");
    bench.inside("git config --worktree core.fsmonitor evil && git config x.y && git config --worktree --unset core.fsmonitor && git config --worktree x.y w");
    assert_eq!(bench.outside("cat .git/config.worktree"), before);
    assert_eq!(bench.view().config_changes(), ["x.y: z → w"]);
    works(&mut bench);
}

#[test]
fn borrowed_objects_are_found_inside() {
    let mut bench = Bench::new();
    bench.outside("cd .. && git clone -q --shared 'a project' shared && git clone -q --shared shared twice");
    bench.top = bench.path("twice");
    works(&mut bench);
}

#[test]
fn a_shallow_clone_can_be_deepened_inside() {
    let mut bench = Bench::new();
    bench.outside("git commit -q --allow-empty -m two && git commit -q --allow-empty -m three");
    bench.outside("cd .. && git clone -q --depth 1 \"file://$PWD/a project\" shallow && cp -r 'a project/.git' shallow/origin.git");
    bench.top = bench.path("shallow");
    bench.outside("echo origin.git >.git/info/exclude && git remote set-url origin \"file://$PWD/origin.git\" && git log --oneline | wc -l | grep -qx 1");
    bench.inside("git fetch -q --unshallow");
    assert_eq!(
        bench.outside("git log --oneline | wc -l && git rev-parse --is-shallow-repository"),
        "3\nfalse"
    );
    bench.is_same();
}

#[test]
fn commits_in_submodules_are_carried_over() {
    let mut bench = Bench::with(&format!(
        "git init -q -b main ../lib && cd ../lib && {START} && cd - && git init -q -b main . && {START} && \
         git -c protocol.file.allow=always submodule --quiet add ../lib dir/lib && git commit -q -m lib"
    ));
    let config = bench.outside("cat .git/modules/dir/lib/config");
    bench.inside("git submodule status && cd dir/lib && echo x >file && git commit -q -am inner && git config core.fsmonitor evil; git config --unset core.fsmonitor");
    bench.inside("git add dir && git commit -q -m outer");
    assert_eq!(
        bench.outside(
            "git submodule status | cut -c1 && git -C dir/lib log -1 --format=%s && git status --porcelain"
        ),
        " \ninner"
    );
    bench.is_same();
    assert_eq!(bench.outside("cat .git/modules/dir/lib/config"), config);
    let obeyed = bench.view().obeyed();
    assert_eq!(obeyed.files, [bench.top.join("dir/lib/.git")]);
    // Hooks of a submodule are protected as well.
    assert!(!bench.try_inside("touch .git/modules/dir/lib/hooks/x").success());
    let told = bench.told("rm -rf .git/modules 2>/dev/null || :");
    assert_eq!(told, "modules/dir/lib: it was removed inside; the real one is as it was");
    bench.inside("git -C dir/lib status");
    bench.is_same();
}

#[test]
fn a_submodule_that_is_new_inside_has_a_harmless_configuration_outside() {
    let mut bench = Bench::with(&format!(
        "git init -q -b main . && {START} && git init -q -b main lib && cd lib && {START}"
    ));
    bench.outside("echo /lib >.git/info/exclude");
    bench.inside(
        "git -c protocol.file.allow=always submodule --quiet add ./lib sub && git commit -q -m sub && \
         git -C sub config core.fsmonitor 'touch ../PWNED' && git -C sub config core.hooksPath /tmp",
    );
    assert_eq!(
        bench.outside(
            "git submodule status | cut -c1 && git -C sub log -1 --format=%s && git status --porcelain"
        ),
        "-\none"
    );
    bench.outside("git -C sub status && test ! -e ../PWNED && ! git -C sub config core.hooksPath");
    bench.is_same();
    bench.inside("cd sub && echo x >file && git commit -q -am x");
    assert_eq!(bench.outside("git -C sub log -1 --format=%s"), "x");
}

#[test]
fn a_submodule_with_a_git_directory_of_its_own_is_protected() {
    let mut bench = Bench::with(&format!(
        "git init -q -b main . && {START} && git init -q -b main sub && cd sub && {START} && cd .. && git add sub 2>/dev/null && git commit -q -m sub"
    ));
    let config = bench.outside("cat sub/.git/config");
    bench.inside(
        "cd sub && echo x >file && git commit -q -am x && git config core.fsmonitor 'touch ../PWNED'",
    );
    assert_eq!(
        bench.outside("git -C sub log -1 --format=%s && git status --porcelain && cat sub/.git/config"),
        format!("x\n M sub\n{config}")
    );
    assert!(!bench.try_inside("mv sub/.git sub/x").success());
}

#[test]
fn files_of_the_work_tree_that_git_obeys_are_named() {
    let mut bench = Bench::with(&format!(
        "git init -q -b main . && {START} && mkdir conf && git config --file conf/git a.b c && \
         git config --add include.path ../conf/git && git config --add include.path ../conf/none && \
         git config --add include.path other && git config core.hooksPath .husky/_"
    ));
    let obeyed = bench.view().obeyed();
    assert_eq!(obeyed.files, [bench.top.join("conf/git"), bench.top.join("conf/none")]);
    assert_eq!(obeyed.hooks, Some(bench.top.join(".husky/_")));
    assert_eq!(bench.inside("git config a.b"), "c");
}

#[test]
fn what_cannot_be_protected_is_refused_with_the_reason() {
    let mut bench = Bench::new();
    bench.outside("mv .git ../real.git && ln -s ../real.git .git");
    assert!(matches!(bench.prepare(), Err(GitViewError::Linked(path)) if path == bench.top.join(".git")));
    bench.outside("rm .git");
    assert!(matches!(bench.prepare(), Err(GitViewError::Elsewhere(_))));
    assert!(GitView::prepare(&bench.path("run"), None, String::new()).unwrap().is_none());
    bench.outside("echo nonsense >.git");
    assert!(bench.prepare().is_err());
}

#[test]
fn directories_of_other_tools_are_seen_and_not_written() {
    let mut bench = Bench::new();
    bench.outside("mkdir -p .git/annex/objects && echo x >.git/annex/objects/x && touch .git/note");
    assert_eq!(bench.inside("cat .git/annex/objects/x"), "x");
    assert!(!bench.try_inside("touch .git/annex/y").success());
    bench.is_same();
}

#[test]
fn large_files_of_git_lfs_are_carried_over_if_they_are_what_their_names_say() {
    let mut bench = Bench::new();
    bench.inside(
        "store() { mkdir -p .git/lfs/objects/$1/$2 && echo $4 >.git/lfs/objects/$1/$2/$3; }
         good=$(echo good | sha256sum | cut -d' ' -f1); bad=$(echo bad | sha256sum | cut -d' ' -f1)
         store $(echo $good | cut -c1-2) $(echo $good | cut -c3-4) $good good
         store $(echo $bad | cut -c1-2) $(echo $bad | cut -c3-4) $bad evil
         git commit -q --allow-empty -m lfs",
    );
    assert_eq!(bench.outside("cd .git/lfs/objects && find . -type f | xargs cat"), "good");
    assert_eq!(bench.inside("find /run/ralph/git/lfs/objects -type f | xargs cat"), "good");
}
