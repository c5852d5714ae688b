#![expect(clippy::disallowed_methods, reason = "tests write files")]

use super::*;
use crate::process::tool::{Tool, ToolOutput};
use crate::sandbox::test_support::{self, succeeded};
use tempfile::TempDir;

struct Bench {
    dir: TempDir,
    top: PathBuf,
    workspace: PathBuf,
    protected: Protected,
}

const SETTINGS: &str = "mkdir -p .claude/rules .ralph .vscode .codex && echo 1 >.claude/settings.json && \
                        echo 1 >.claude/settings.local.json && echo 1 >.ralph/settings.json && \
                        echo 1 >.vscode/tasks.json && echo 1 >.codex/config.toml && echo 1 >.envrc";

const ALL: [&str; 6] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".ralph/settings.json",
    ".vscode/tasks.json",
    ".codex/config.toml",
    ".envrc",
];

impl Bench {
    fn new(script: &str) -> Bench {
        Bench::with(script, "", &[], &Obeyed::default())
    }

    fn with(script: &str, workspace: &str, allowed: &[&str], obeyed: &Obeyed) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join("a project");
        let workspace = if workspace.is_empty() { top.clone() } else { top.join(workspace) };
        fs::create_dir_all(&workspace).unwrap();
        outside(&top, script);
        let allowed: Vec<PathBuf> = allowed.iter().map(PathBuf::from).collect();
        let obeyed = Obeyed {
            files: obeyed.files.iter().map(|path| top.join(path)).collect(),
            hooks: obeyed.hooks.as_ref().map(|path| top.join(path)),
        };
        let protected =
            Protected::record(dir.path().join("run"), &top, &workspace, &allowed, &obeyed).unwrap();
        Bench { dir, top, workspace, protected }
    }

    fn inside(&self, script: &str) -> ToolOutput {
        let mut mounts = test_support::mounts(&self.top);
        self.protected.mount(&mut mounts);
        test_support::inside(&self.top, &mounts, script)
    }

    /// A step in a sandbox that mounts; what was said of it.
    fn step(&self, script: &str) -> String {
        assert_eq!(self.protected.before_step().unwrap(), [""; 0]);
        succeeded(script, &self.inside(script));
        self.protected.after_step().join("\n")
    }

    /// A step in one that does not.
    fn step_without_mounts(&self, script: &str) -> String {
        assert_eq!(self.protected.before_step().unwrap(), [""; 0]);
        outside(&self.top, script);
        self.protected.after_step().join("\n")
    }

    fn outside(&self, script: &str) -> String {
        outside(&self.top, script)
    }

    fn all(&self) -> String {
        self.outside("find . -type f -o -type l | sort | xargs -d '\\n' ls -l --time-style=+ && find . -type f | sort | xargs -d '\\n' cat")
    }
}

fn outside(top: &Path, script: &str) -> String {
    let shell = Tool::new("sh").args(["-euc", script]).cwd(top);
    succeeded(script, &test_support::as_user(shell).run().unwrap())
}

#[test]
fn settings_that_exist_cannot_be_changed_inside() {
    let bench = Bench::new(SETTINGS);
    let before = bench.all();
    bench.protected.before_step().unwrap();
    for path in ALL {
        for attack in [
            "echo 2 >$P",
            "rm -f $P",
            "mv $P x",
            "echo 2 >new; mv -f new $P",
            "ln -sf /tmp $P",
            "ln $P x",
            "chmod 777 $P",
            "mount -o remount,rw $P",
            "umount $P",
        ] {
            assert!(!bench.inside(&attack.replace("$P", path)).success(), "{attack}: {path}");
            bench.outside("rm -f new x");
        }
    }
    for dir in [".claude", ".ralph", ".vscode", ".codex"] {
        for attack in ["mv $P x", "rm -rf $P", "mkdir -p x; mv -T x $P"] {
            assert!(!bench.inside(&attack.replace("$P", dir)).success(), "{attack}: {dir}");
            bench.outside("rm -rf x");
        }
    }
    assert_eq!(bench.protected.after_step(), [""; 0]);
    assert_eq!(bench.all(), before);
}

#[test]
fn what_agents_are_meant_to_write_can_be_written() {
    let bench = Bench::new(SETTINGS);
    let script = "echo 2 >.claude/rules/a.md; echo 2 >CLAUDE.md; echo 2 >AGENTS.md; echo 2 >.ralph/progress.md; \
                  mkdir .claude/skills; echo 2 >.claude/skills/x; mv .claude/rules/a.md .claude/b.md; echo 2 >.env";
    assert_eq!(bench.step(script), "");
    assert_eq!(
        bench.outside("cat .claude/b.md CLAUDE.md AGENTS.md .ralph/progress.md .claude/skills/x .env"),
        "2\n2\n2\n2\n2\n2"
    );
}

#[test]
fn what_is_created_inside_is_moved_away_and_kept() {
    for step in [Bench::step, Bench::step_without_mounts] {
        let bench = Bench::new("mkdir .ralph");
        let told = step(
            &bench,
            "mkdir -p .claude .vscode && echo 2 | tee .claude/settings.local.json .vscode/tasks.json .envrc .ralph/settings.json && echo 3 >.claude/x",
        );
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), 4, "{told}");
        assert_eq!(
            lines[0],
            format!(
                ".claude/settings.local.json was created inside, and was moved away; what it was then is in {} \
                 (to allow it: \"sandbox\": {{\"write\": [\".claude/settings.local.json\"]}})",
                bench.dir.path().join("run/aside/1/settings.local.json").display()
            )
        );
        assert_eq!(bench.outside("find . -type f"), "./.claude/x");
        assert_eq!(
            bench.outside(
                "cat ../run/aside/*/* ../run/aside/*/.vscode/* ../run/aside/*/.envrc 2>/dev/null || :"
            ),
            "2\n2\n2\n2"
        );
        assert_eq!(step(&bench, "true"), "");
    }
}

#[test]
fn what_is_changed_where_nothing_is_mounted_is_put_back() {
    let bench = Bench::new(&format!("{SETTINGS}; ln -s ../x .claude/settings.link; chmod 600 .envrc"));
    let before = bench.all();
    for (attack, sentences) in [
        (
            "for f in .claude/s*.json .ralph/settings.json .vscode/tasks.json .codex/config.toml .envrc; do echo 2 >$f; done",
            6,
        ),
        ("rm -r .claude/settings.json .vscode .envrc", 3),
        ("mv .claude x && mkdir .claude && echo 2 >.claude/settings.json && rm -r x", 3),
        ("rm -r .claude && ln -s /etc .claude", 1),
        ("rm -r .vscode && ln -s /etc .vscode", 1),
        ("rm .envrc && mkdir .envrc && touch .envrc/x", 1),
        ("rm .envrc && mkfifo .envrc", 1),
        ("chmod +x .envrc", 1),
        ("ln -sfn /etc .claude/settings.link", 1),
        ("echo 2 >.vscode/new && echo 2 >.claude/settings.new", 2),
    ] {
        let told = bench.step_without_mounts(attack);
        assert_eq!(told.lines().count(), sentences, "{attack}: {told}");
        assert_eq!(bench.all(), before, "{attack}");
    }
}

/// Ralph, outside, must not move what agents cannot reach.
#[test]
fn a_link_to_elsewhere_is_moved_and_not_what_it_leads_to() {
    for step in [Bench::step, Bench::step_without_mounts] {
        let bench = Bench::new(
            "mkdir ../home && echo mine >../home/settings.json && cp ../home/settings.json ../home/.envrc",
        );
        for attack in [
            "ln -s \"$PWD/../home\" .claude",
            "ln -s ../home .ralph",
            "ln -s ../home .vscode",
            "ln -s ../home/.envrc .envrc",
        ] {
            let told = step(&bench, attack);
            assert_eq!(told.lines().count(), 1, "{attack}: {told}");
            assert_eq!(
                bench.outside("find . ! -name . ; cat ../home/settings.json ../home/.envrc"),
                "mine\nmine",
                "{attack}"
            );
        }
    }
}

#[test]
fn links_of_the_users_own_stay_and_what_they_lead_to_in_the_tree_is_protected() {
    let bench = Bench::new(
        "mkdir -p dot/claude ../home && echo 1 >dot/claude/settings.json && echo 1 >dot/envrc && echo 1 >../home/x && \
                            ln -s dot/claude .claude && ln -s dot/envrc .envrc && ln -s ../home .vscode",
    );
    let before = bench.all();
    bench.protected.before_step().unwrap();
    for attack in [
        "echo 2 >dot/envrc",
        "echo 2 >.envrc",
        "echo 2 >.claude/settings.json",
        "mv dot x",
        "mv dot/claude x",
    ] {
        assert!(!bench.inside(attack).success(), "{attack}");
        // A directory that cannot be renamed is copied.
        bench.outside("rm -rf x");
    }
    assert_eq!(bench.protected.after_step(), [""; 0]);
    for attack in
        ["rm .claude && mkdir .claude && echo 2 >.claude/settings.json", "ln -sfn /etc .vscode", "rm .envrc"]
    {
        let told = bench.step(attack);
        assert_eq!(told.lines().count(), 1, "{attack}: {told}");
        assert_eq!(bench.all(), before, "{attack}");
    }
}

#[test]
fn what_the_user_changes_stays() {
    let bench = Bench::new(SETTINGS);
    // Between two steps.
    bench.outside("echo 3 >.envrc && rm .codex/config.toml && echo 3 >.claude/settings.new");
    assert_eq!(bench.step("true"), "");
    // During one, in a file or a directory that is mounted.
    bench.protected.before_step().unwrap();
    succeeded("", &bench.inside("true"));
    bench.outside("echo 4 >.envrc && echo 4 >new && mv new .vscode/tasks.json && echo 4 >.vscode/more");
    assert_eq!(bench.protected.after_step(), [""; 0]);
    assert_eq!(bench.step("true"), "");
    assert_eq!(
        bench.outside("cat .envrc .vscode/tasks.json .vscode/more .claude/settings.new"),
        "4\n4\n4\n3"
    );
    // A file that is replaced is no longer mounted, and so may be the agent's.
    bench.protected.before_step().unwrap();
    succeeded("", &bench.inside("true"));
    bench.outside("echo 5 >new && mv new .envrc");
    let told = bench.protected.after_step().join("\n");
    assert!(
        told.starts_with(".envrc was changed inside, and is as it was; what it was then is in "),
        "{told}"
    );
    assert_eq!(bench.outside("cat .envrc ../run/aside/1/.envrc"), "4\n5");
}

#[test]
fn another_name_of_a_file_is_no_way_around() {
    let bench = Bench::new("echo 1 >.envrc && ln .envrc other");
    let told = bench.step("echo 2 >other");
    assert!(told.starts_with(".envrc was changed inside"), "{told}");
    assert_eq!(bench.outside("cat .envrc other"), "1\n2");
}

#[test]
fn what_the_user_allows_can_be_written() {
    let bench = Bench::with(
        SETTINGS,
        "",
        &[".envrc", ".claude/settings.local.json", ".vscode/launch.json", ".idea"],
        &Obeyed::default(),
    );
    bench.outside("echo 1 >.vscode/launch.json");
    let script = "echo 2 >.envrc; echo 2 >.claude/settings.local.json; echo 2 >.vscode/launch.json; mkdir .idea; echo 2 >.idea/x";
    assert_eq!(bench.step(script), "");
    assert_eq!(
        bench.outside("cat .envrc .claude/settings.local.json .vscode/launch.json .idea/x"),
        "2\n2\n2\n2"
    );
    assert!(!bench.inside("echo 2 >.vscode/tasks.json").success());
}

#[test]
fn a_workspace_below_the_top_is_protected_as_well() {
    let bench = Bench::with(
        "cd packages/app && mkdir .claude && echo 1 >.claude/settings.json",
        "packages/app",
        &[],
        &Obeyed::default(),
    );
    assert_eq!(bench.workspace, bench.top.join("packages/app"));
    bench.protected.before_step().unwrap();
    for attack in [
        "echo 2 >packages/app/.claude/settings.json",
        "mv packages x",
        "mv packages/app x",
        "mv packages/app/.claude x",
    ] {
        assert!(!bench.inside(attack).success(), "{attack}");
    }
    assert_eq!(bench.protected.after_step(), [""; 0]);
    let told = bench.step("echo 2 >packages/app/.envrc; mkdir packages/.vscode");
    assert!(told.starts_with("packages/app/.envrc was created inside"), "{told}");
    assert!(bench.top.join("packages/.vscode").exists());
}

#[test]
fn files_that_git_obeys_are_protected_and_hooks_may_be_written_again_as_they_were() {
    let obeyed = Obeyed { files: vec!["conf/git".into(), "conf/none".into()], hooks: Some("hooks".into()) };
    let bench =
        Bench::with("mkdir conf hooks && echo 1 >conf/git && echo 1 >hooks/pre-commit", "", &[], &obeyed);
    bench.protected.before_step().unwrap();
    for attack in ["echo 2 >conf/git", "mv conf x"] {
        assert!(!bench.inside(attack).success(), "{attack}");
    }
    assert_eq!(bench.protected.after_step(), [""; 0]);
    assert_eq!(bench.step("rm hooks/pre-commit; echo 1 >hooks/pre-commit"), "");
    let told = bench.step("echo 2 >hooks/pre-commit; echo 2 >conf/none");
    assert_eq!(told.lines().count(), 2, "{told}");
    assert_eq!(bench.outside("cat hooks/pre-commit; ls conf"), "1\ngit");
}

#[test]
fn a_step_that_was_cut_short_is_compared_by_the_next_life() {
    let bench = Bench::new(SETTINGS);
    let before = bench.all();
    let again = || {
        Protected::record(bench.dir.path().join("run"), &bench.top, &bench.top, &[], &Obeyed::default())
            .unwrap()
    };
    bench.protected.before_step().unwrap();
    bench.outside("echo 2 >.envrc && mkdir .idea");
    let next = again();
    assert_eq!(bench.all(), before);
    assert_eq!(next.before_step().unwrap().len(), 2);
    assert_eq!(next.after_step(), [""; 0]);
    // No step was running: it is the user's.
    bench.outside("echo 3 >.envrc");
    let next = again();
    assert_eq!((next.before_step().unwrap().len(), next.after_step().len()), (0, 0));
    assert_eq!(bench.outside("cat .envrc"), "3");
}

#[test]
fn a_directory_that_is_too_large_is_protected_by_its_mount() {
    let bench = Bench::new("mkdir .idea && truncate -s 100M .idea/cache && echo 1 >.idea/x");
    bench.protected.before_step().unwrap();
    assert!(!bench.inside("echo 2 >.idea/x").success());
    assert_eq!(bench.protected.after_step(), [""; 0]);
    assert_eq!(bench.outside("cat .idea/x; du -s ../run | cut -f1 | awk '{ print ($1 < 1000) }'"), "1\n1");
}
