//! `ralph plugin` without the real agents, and the scripts of the plugin. The agents themselves are in tests/e2e.

use crate::support::{RALPH, Ran, Sandbox, is_ignored, until};
use rustix::process::Signal;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin")
}

/// `ralph plugin`, where nothing but `bin` of the sandbox is in PATH.
fn plugin(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let mut command = sandbox.command(RALPH);
    command.arg("plugin").args(args).env("PATH", sandbox.root().join("bin"));
    sandbox.spawn(command).end()
}

#[test]
fn print_writes_what_is_in_the_repository() {
    let sandbox = Sandbox::bare();
    plugin(&sandbox, &["print", "deep/here"]).exits(0).says("wrote deep/here");
    let (printed, wanted) = (sandbox.project().join("deep/here"), repository());
    sandbox.sh(&format!("diff -r '{}' '{}'", wanted.display(), printed.display()));
    // It does not write over what is there, unless it is told to.
    sandbox.write("deep/here/ralph/README.md", "mine");
    plugin(&sandbox, &["print", "deep/here"]).exits(1).says("the directory is not empty: deep/here");
    assert_eq!(sandbox.read("deep/here/ralph/README.md"), "mine");
    plugin(&sandbox, &["print", "deep/here", "--force"]).exits(0);
    sandbox.sh(&format!("diff -r '{}' '{}'", wanted.display(), printed.display()));
    plugin(&sandbox, &["print", "deep/here/ralph/README.md"]).exits(1).says("cannot write the plugin");
}

#[test]
fn without_agents_the_plugin_can_be_validated_but_not_installed() {
    let sandbox = Sandbox::bare();
    plugin(&sandbox, &["install"]).exits(2).says("neither Claude Code nor Codex is installed");
    plugin(&sandbox, &["install", "--agent", "codex"]).exits(2).says("hint: install it: npm install");
    plugin(&sandbox, &["uninstall", "--agent", "claude"]).exits(2).says("claude is not installed");
    let status = plugin(&sandbox, &["--format", "json"]).exits(1).json();
    for (found, agent) in status.as_array().unwrap().iter().zip(["claude", "codex"]) {
        assert_eq!((&found["agent"], &found["program"]), (&json!(agent), &json!(null)));
        assert_eq!((&found["installed"], &found["hooks"]), (&json!(false), &json!("off")));
        assert_eq!(found["problems"][0]["problem"], "the agent is not installed");
    }
    plugin(&sandbox, &["validate"]).exits(0).says("no problems (checked by ralph)");
    plugin(&sandbox, &["print", "mine"]).exits(0);
    sandbox
        .sh("sed -i 's/\"Stop\"/\"Start\"/' mine/ralph/hooks/hooks.json && rm mine/ralph/scripts/overview");
    let found = plugin(&sandbox, &["validate", "mine", "--format", "ndjson"]).exits(1).stdout;
    for part in ["Stop does not call the hook stop", "names a file that is not there: scripts/overview"] {
        assert!(found.contains(part), "{found}");
    }
    plugin(&sandbox, &["validate", "none"]).exits(2).says("cannot open the directory: none");
    assert!(!sandbox.root().join("user/.local").exists());
}

#[test]
fn an_agent_that_knows_no_plugins_is_named_and_nothing_is_left_behind() {
    let sandbox = Sandbox::bare();
    sandbox.program("claude", "echo \"error: unknown command '$1'\" >&2; exit 1");
    plugin(&sandbox, &["install"])
        .exits(1)
        .says("`claude plugin marketplace list --json` failed")
        .says("cause: error: unknown command 'plugin'");
    assert!(!sandbox.root().join("user/.local/share/ralph/plugin/claude").exists());
    plugin(&sandbox, &["status"]).exits(1).says("the agent cannot list its plugins");
    sandbox.program("codex", "echo '{\"marketplaces\": 3}'");
    plugin(&sandbox, &["install", "--agent", "codex"])
        .exits(1)
        .says("cannot read the answer of `codex plugin");
}

#[test]
fn a_signal_ends_the_command_of_an_agent_that_does_not_answer() {
    for (signal, body) in [
        (Signal::INT, "exec sleep 600"),
        (Signal::TERM, "sleep 600 & wait"),
        (Signal::HUP, "trap '' TERM; while :; do sleep 0.1; done"),
    ]
    .into_iter()
    .filter(|(signal, _)| !is_ignored(*signal))
    {
        let sandbox = Sandbox::bare();
        let up = sandbox.root().join("up");
        for agent in ["claude", "codex"] {
            sandbox.program(agent, &format!("echo {agent} >> {}; {body}", up.display()));
        }
        let running = sandbox.start(&["plugin", "install"]);
        until("the agent", || up.exists());
        let began = Instant::now();
        running.signal(signal);
        let ran = running.end().exits(130);
        // It would wait for a minute.
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        let said =
            "ralph: stopped: `claude plugin marketplace list --json` was ended; `ralph plugin status` shows";
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        assert_eq!(fs::read_to_string(&up).unwrap(), "claude\n", "the next agent is not asked");
        assert!(!sandbox.root().join("user/.local/share/ralph/plugin/claude").exists());
        sandbox.nothing_is_left();
    }
}

#[test]
fn a_signal_ends_a_command_that_keeps_a_dialog_open() {
    let sandbox = Sandbox::bare();
    let (up, dir) = (sandbox.root().join("up"), sandbox.root().join("user/.local/share/ralph/plugin/codex"));
    let marketplaces = json!({"marketplaces": [{"name": "ralph", "root": dir}]});
    sandbox.program(
        "codex",
        &format!(
            "case \"$*\" in\n*app-server*) : > {}; exec sleep 600 ;;\n*'marketplace list'*) echo '{marketplaces}' ;;\n*list*) echo '{{\"installed\": []}}' ;;\nesac",
            up.display()
        ),
    );
    let running = sandbox.start(&["plugin", "install", "--agent", "codex", "--trust-hooks"]);
    until("the agent", || up.exists());
    running.signal(Signal::INT);
    let ran = running.end().exits(130);
    assert!(ran.stderr.contains("ralph: stopped: `codex app-server` was ended"), "{}", ran.stderr);
    sandbox.nothing_is_left();
}

/// A Claude Code that has the plugin, and writes down where it is called with what.
fn fake_claude(sandbox: &Sandbox) {
    let dir = sandbox.root().join("user/.local/share/ralph/plugin/claude");
    let marketplaces = json!([{"name": "ralph", "source": "directory", "path": dir}]);
    let plugins = json!([{"id": "ralph@ralph", "version": "0.1.0", "scope": "user", "enabled": true}]);
    sandbox.program(
        "claude",
        &format!(
            "echo \"$PWD: $*\" >> {calls}\ncase \"$*\" in\n*'marketplace list'*) echo '{marketplaces}' ;;\n*'plugin list'*) echo '{plugins}' ;;\nesac",
            calls = sandbox.root().join("calls").display()
        ),
    );
}

#[test]
fn claude_is_told_for_the_user_and_outside_of_the_project() {
    let sandbox = Sandbox::bare();
    fake_claude(&sandbox);
    for command in ["install", "uninstall"] {
        plugin(&sandbox, &[command, "--agent", "claude"]).exits(0);
    }
    let calls = fs::read_to_string(sandbox.root().join("calls")).unwrap();
    let changes = calls.lines().filter(|call| !call.contains(" list --json"));
    let changes: Vec<&str> = changes.collect();
    assert_eq!(changes.len(), 5, "{calls}");
    for call in changes {
        let (cwd, args) = call.split_once(": ").unwrap();
        assert!(args.contains(" --scope user "), "{call}");
        assert!(!Path::new(cwd).starts_with(sandbox.project()) && !Path::new(cwd).exists(), "{call}");
    }
}

#[test]
fn a_link_to_the_users_files_is_refused_before_anything_is_done() {
    let sandbox = Sandbox::bare();
    fake_claude(&sandbox);
    sandbox.write("mine/notes.md", "mine");
    let dir = sandbox.root().join("user/.local/share/ralph/plugin/claude");
    fs::create_dir_all(dir.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(sandbox.project().join("mine"), &dir).unwrap();
    for command in ["install", "uninstall"] {
        plugin(&sandbox, &[command])
            .exits(1)
            .says(&format!("a link is in the way of the plugin: {}\n", dir.display()))
            .says("hint: ralph does not change files behind a link");
    }
    assert!(!sandbox.root().join("calls").exists());
    assert_eq!(sandbox.sh("ls mine").trim(), "notes.md");
}

#[test]
fn alerts_stay_as_they_are_until_they_are_turned_off() {
    let sandbox = Sandbox::bare();
    fake_claude(&sandbox);
    let hooks = sandbox.root().join("user/.local/share/ralph/plugin/claude/ralph/hooks/hooks.json");
    for (flag, wanted) in
        [(None, false), (Some("--alerts"), true), (None, true), (Some("--no-alerts"), false)]
    {
        plugin(&sandbox, &[&["install"][..], flag.as_slice()].concat()).exits(0);
        assert_eq!(
            fs::read_to_string(&hooks).unwrap().contains("context-monitor --always"),
            wanted,
            "{flag:?}"
        );
    }
    plugin(&sandbox, &["install", "--alerts", "--no-alerts"]).exits(2);
}

#[test]
fn an_agent_that_cannot_list_its_plugins_is_not_well_and_says_why() {
    let sandbox = Sandbox::bare();
    fake_claude(&sandbox);
    plugin(&sandbox, &["install"]).exits(0);
    let ralph = format!("exec {RALPH} \"$@\"");
    sandbox.program("ralph", &ralph);
    // The fake one does not say where it reads the plugin from, which is enough to be well.
    plugin(&sandbox, &["status"]).exits(0);
    sandbox.program("codex", "echo 'Error: invalid config: line 3' >&2; exit 1");
    plugin(&sandbox, &["status"])
        .exits(1)
        .says("codex   the agent cannot list its plugins: `codex plugin marketplace list --json` failed: invalid config: line 3\n")
        .says("run `codex plugin list` and fix what it reports\n");
}

#[test]
fn one_agents_failure_does_not_stop_the_other() {
    let sandbox = Sandbox::bare();
    sandbox.program("claude", "echo broken >&2; exit 1");
    let dir = sandbox.root().join("user/.local/share/ralph/plugin/codex");
    let listed = json!({"marketplaces": [{"name": "ralph", "root": dir}], "installed": []});
    sandbox.program(
        "codex",
        &format!("echo \"$*\" >> {}; echo '{listed}'", sandbox.root().join("calls").display()),
    );
    for (command, told) in
        [("install", "plugin add ralph@ralph"), ("uninstall", "plugin marketplace remove ralph")]
    {
        plugin(&sandbox, &[command])
            .exits(1)
            .says("ralph: error: `claude plugin marketplace list --json` failed\n  cause: broken\n");
        assert!(fs::read_to_string(sandbox.root().join("calls")).unwrap().contains(told), "{command}");
    }
    assert!(!dir.exists());
}

#[test]
fn uninstall_visits_an_agent_whose_program_is_gone_and_says_what_is_left() {
    let sandbox = Sandbox::bare();
    fake_claude(&sandbox);
    plugin(&sandbox, &["install"]).exits(0);
    fs::remove_file(sandbox.root().join("bin/claude")).unwrap();
    let dir = sandbox.root().join("user/.local/share/ralph/plugin/claude");
    fs::write(dir.join("notes.md"), "mine").unwrap();
    plugin(&sandbox, &["uninstall"])
        .exits(0)
        .says("claude  files removed; claude is not installed, so its configuration still names the plugin")
        .says(&format!("left: {}, with files that are not ralph's", dir.display()));
    let left: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["notes.md"]);
}

#[test]
fn the_overview_looks_at_the_project_of_the_session() {
    let sandbox = Sandbox::git();
    let script = repository().join("ralph/scripts/overview").display().to_string();
    sandbox.program("ralph", "pwd");
    let project = sandbox.project().display().to_string();
    let elsewhere = |env: &str| {
        sandbox.shell(&format!("mkdir -p deep && cd deep && {env} sh '{script}' stop")).exits(0).stdout
    };
    assert_eq!(elsewhere(&format!("CLAUDE_PROJECT_DIR='{project}'")).trim(), project);
    assert_eq!(elsewhere("env -u CLAUDE_PROJECT_DIR").trim(), format!("{project}/deep"));
}

#[test]
fn commands_approve_only_what_reads() {
    let sandbox = Sandbox::bare();
    let commands = repository().join("ralph").display().to_string();
    let approved = sandbox.shell(&format!("grep -rho 'Bash([^)]*)' '{commands}'")).exits(0).stdout;
    let reads = [
        "ls:*",
        "status:*",
        "show:*",
        "logs:*",
        "tasks check:*",
        "tasks list:*",
        "stories check:*",
        "stories list:*",
    ];
    for one in approved.lines().filter(|line| !line.contains("scripts/overview")) {
        let call = one.trim_start_matches("Bash(ralph ").trim_end_matches(')');
        assert!(reads.contains(&call) || call.ends_with(" --help"), "{one}");
    }
    assert!(approved.lines().count() > 15, "{approved}");
}

/// Runs the script that agents call, with a ralph that says what it is called with.
fn hook(sandbox: &Sandbox, ralph: &str, env: &[(&str, &str)]) -> Ran {
    sandbox.program("ralph", ralph);
    let script = repository().join("ralph/hooks/run");
    let mut command = sandbox.command("sh");
    command.arg("-c").arg(format!("yes | head -c 1000000 | sh '{}' stop --flag", script.display()));
    command.envs(env.iter().copied());
    sandbox.spawn(command).end()
}

#[test]
fn a_hook_is_passed_on_to_ralph_and_never_fails_as_a_block() {
    let sandbox = Sandbox::bare();
    let read = "echo \"$* $(wc -c)\"";
    hook(&sandbox, read, &[]).exits(0).says("hook stop --flag 1000000");
    // An older ralph may not know the hook, and says so as it says everything: with a code that means "block" to an agent.
    hook(&sandbox, "cat > /dev/null; echo unknown >&2; exit 2", &[]).exits(1).says("unknown");
    let off = hook(&sandbox, read, &[("RALPH_HOOKS", "off")]).exits(0);
    assert_eq!((off.stdout.as_str(), off.stderr.as_str()), ("", ""));
    let path = sandbox.root().join("none").display().to_string() + ":/usr/bin:/bin";
    assert!(!["/usr/bin/ralph", "/bin/ralph"].iter().any(|file| Path::new(file).exists()));
    let missing = hook(&sandbox, read, &[("PATH", &path)]).exits(0);
    assert_eq!((missing.stdout.as_str(), missing.stderr.as_str()), ("", ""));
}

#[test]
fn the_overview_says_what_to_do_without_ralph_and_never_fails() {
    let sandbox = Sandbox::git();
    let script = repository().join("ralph/scripts/overview").display().to_string();
    sandbox.program("ralph", &format!("exec {RALPH} \"$@\""));
    for part in ["status", "run", "stop", "archive", "install"] {
        let shown = sandbox.shell(&format!("sh '{script}' {part}")).exits(0);
        assert_eq!(shown.stderr, "", "{part}");
        assert!(
            !shown.stdout.is_empty() && !shown.stdout.contains("unrecognized"),
            "{part}: {}",
            shown.stdout
        );
    }
    sandbox
        .shell(&format!("PATH=/usr/bin:/bin sh '{script}' status"))
        .exits(0)
        .says("ralph is not installed");
}

#[test]
fn every_command_that_the_plugin_names_exists_with_its_flags() {
    let sandbox = Sandbox::bare();
    let texts = sandbox
        .shell(&format!("cat '{0}'/*.md '{0}'/*/*.md '{0}'/*/*/*.md", repository().join("ralph").display()));
    let quoted = texts.stdout.split('`').skip(1).step_by(2).filter_map(|words| words.strip_prefix("ralph "));
    let is_command = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase());
    let mut seen = 0;
    for words in quoted {
        let words: Vec<&str> = words.split_whitespace().collect();
        let mut command: Vec<&str> = words.iter().copied().take_while(is_command).take(2).collect();
        let Some(first) = command.first().copied() else { continue };
        // What follows these is not a command of theirs.
        if ["spawn", "init"].contains(&first) {
            command.truncate(1);
        }
        let mut help = sandbox.ralph(&[&command[..], &["--help"]].concat()).exits(0).stdout;
        assert!(help.contains(&format!("Usage: ralph {}", command.join(" "))), "{words:?}");
        if first == "spawn" {
            help += &sandbox.ralph(&["run", "--help"]).exits(0).stdout;
        }
        for flag in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(flag), "{words:?}: {flag}");
        }
        seen += 1;
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn the_list_that_the_planner_is_shown_is_a_good_one() {
    let sandbox = Sandbox::git();
    sandbox.ralph(&["init", "tasks", "--name", "login"]).exits(0);
    let skill = fs::read_to_string(repository().join("ralph/skills/plan/SKILL.md")).unwrap();
    let example = skill.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    sandbox.write("ralph/tasks.json", example);
    sandbox.write("ralph/prd.md", "# PRD\n\n## 1. Summary\n\nCustomers of the shop log in with a passkey.\n");
    sandbox.ralph(&["tasks", "check", "--strict"]).exits(0).says("1 story, 0 errors, 0 warnings");
}

#[test]
fn the_plugins_hooks_are_off_in_a_run_that_has_no_hooks() {
    let sandbox = Sandbox::git();
    sandbox.plain_settings();
    let agent = sandbox.sh_agent("cat > /dev/null; echo \"hooks: $RALPH_HOOKS\"");
    sandbox.run(&["-p", "x", "-n", "1"], &agent).exits(1).says("hooks: off");
}
