//! ralph's plugin in the real programs: found valid, installed, its commands, skills and hooks used, and uninstalled.

use crate::guard::add_remote;
use crate::hooks::{is_blocked_once, lay_out, status, story, write_list};
use crate::screen::Screen;
use crate::stage::{DONE, Ran, Real, Stage, until};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// What a script of a plugin's command prints where nothing runs.
const NOTHING_RUNS: &str = "No workers and no active runs.";

/// Has the agent used before, and lets it have plugins.
fn stage(real: Real, runs: &Value) -> Option<Stage> {
    let stage = Stage::set(real, runs)?;
    settle(&stage);
    Some(stage)
}

fn settle(stage: &Stage) {
    let project = stage.path("").display().to_string();
    let claude = json!({
        "hasCompletedOnboarding": true,
        "customApiKeyResponses": {"approved": ["stub-key-0123"], "rejected": []},
        "projects": {project.trim_end_matches('/'): {"hasTrustDialogAccepted": true}},
    });
    fs::write(stage.user(".claude.json"), claude.to_string()).unwrap();
    fs::create_dir_all(stage.user(".claude")).unwrap();
    fs::write(stage.user(".claude/settings.json"), r#"{"cleanupPeriodDays": 99}"#).unwrap();
    let codex = fs::read_to_string(stage.user(".codex/config.toml")).unwrap();
    fs::write(stage.user(".codex/config.toml"), codex.replace("plugins = false", "plugins = true")).unwrap();
}

#[track_caller]
fn ralph(stage: &Stage, args: &[&str]) -> Ran {
    stage.start(&[&["plugin"], args].concat()).end()
}

fn name(stage: &Stage) -> &'static str {
    match stage.real {
        Real::Claude => "claude",
        Real::Codex => "codex",
    }
}

#[track_caller]
fn install(stage: &Stage, flags: &[&str]) {
    let ran = ralph(stage, &[&["install", "--agent", name(stage)], flags].concat());
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
}

/// What `ralph plugin status` says of the agent.
#[track_caller]
fn standing(stage: &Stage) -> Value {
    let ran = ralph(stage, &["status", "--format", "json"]);
    let all: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
    let found = all.as_array().unwrap().iter().find(|standing| standing["agent"] == name(stage));
    let found = found.unwrap().clone();
    // The other agent has no plugin.
    let well = found["installed"] == true && found["problems"] == json!([]);
    assert_eq!(ran.code, Some(if well { 0 } else { 1 }), "{found:#}");
    found
}

/// The configuration of an agent, without what stands for nothing.
fn configuration(stage: &Stage) -> String {
    let file = stage.user(match stage.real {
        Real::Claude => ".claude/settings.json",
        Real::Codex => ".codex/config.toml",
    });
    let text = fs::read_to_string(file).unwrap();
    match stage.real {
        Real::Claude => {
            let mut settings: Value = serde_json::from_str(&text).unwrap();
            settings.as_object_mut().unwrap().retain(|_, value| *value != json!({}));
            settings.to_string()
        }
        Real::Codex => {
            let lines = text.lines().filter(|line| !line.is_empty() && *line != "[hooks.state]");
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

#[test]
fn claude_finds_nothing_wrong_with_the_plugin() {
    let Some(stage) = stage(Real::Claude, &json!([])) else { return };
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugin");
    for dir in [repository.clone(), repository.join("ralph")] {
        let said = stage.person(&["plugin", "validate", "--strict", dir.to_str().unwrap()]);
        assert!(said.contains("Validation passed"), "{said}");
    }
    let ran = ralph(&stage, &["validate", "--format", "json"]);
    let checked: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(checked, json!({"checked_by": ["ralph", "claude"], "problems": []}), "{}", ran.stderr);
    assert_eq!(ran.code, Some(0));
    // What Claude would refuse is found by it, too.
    let printed = stage.path("printed");
    assert_eq!(ralph(&stage, &["print", printed.to_str().unwrap()]).code, Some(0));
    fs::write(printed.join("ralph/.claude-plugin/plugin.json"), r#"{"name": "ralph", "version": 1}"#)
        .unwrap();
    let ran = ralph(&stage, &["validate", printed.to_str().unwrap()]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout.contains("version: Invalid input: expected string, received number"),
        "{}",
        ran.stdout
    );
}

#[test]
fn claude_has_the_plugin_until_it_is_uninstalled() {
    has_the_plugin_until_it_is_uninstalled(Real::Claude);
}

#[test]
fn codex_has_the_plugin_until_it_is_uninstalled() {
    has_the_plugin_until_it_is_uninstalled(Real::Codex);
}

fn has_the_plugin_until_it_is_uninstalled(real: Real) {
    let Some(stage) = stage(real, &json!([])) else { return };
    let before = configuration(&stage);
    let none = standing(&stage);
    assert_eq!((&none["installed"], &none["hooks"]), (&json!(false), &json!("off")));
    install(&stage, &["--trust-hooks"]);
    let dir = stage.user(".local/share/ralph/plugin").join(name(&stage));
    let found = standing(&stage);
    let wanted = json!({
        "agent": name(&stage), "program": stage.program(), "installed": true, "enabled": true,
        "version": env!("CARGO_PKG_VERSION"), "ralph_version": env!("CARGO_PKG_VERSION"), "source": dir,
        "alerts": false, "hooks": "in_effect", "problems": [],
    });
    assert_eq!(found, wanted);

    // Of another version: known by its files, and brought up to date.
    let manifest = dir.join("ralph/.claude-plugin/plugin.json");
    let text = fs::read_to_string(&manifest).unwrap().replace(env!("CARGO_PKG_VERSION"), "0.0.1");
    fs::write(&manifest, text).unwrap();
    if real == Real::Codex {
        // It has copied the files.
        assert_eq!(standing(&stage), wanted);
        stage.person(&["plugin", "add", "ralph@ralph"]);
    }
    let old = standing(&stage);
    assert_eq!(old["version"], "0.0.1");
    let fix = format!("ralph plugin install --agent {}", name(&stage));
    assert_eq!(old["problems"][0]["fix"], fix, "{old:#}");
    install(&stage, &["--trust-hooks"]);
    assert_eq!(standing(&stage), wanted);

    // Without its directory it does not work, and can still be uninstalled.
    fs::remove_dir_all(&dir).unwrap();
    let gone = standing(&stage);
    assert_ne!(gone["hooks"], "in_effect");
    assert_eq!(gone["problems"][0]["fix"], fix, "{gone:#}");

    let ran = ralph(&stage, &["uninstall", "--agent", name(&stage)]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), &*format!("{:<7} uninstalled", name(&stage))));
    assert_eq!(configuration(&stage), before);
    assert!(!stage.user(".local/share/ralph").exists());
    assert_eq!(standing(&stage)["installed"], false);
    let ran = ralph(&stage, &["uninstall", "--agent", name(&stage)]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), &*format!("{:<7} was not installed", name(&stage))));
}

#[test]
fn the_settings_of_a_project_are_left_alone() {
    let Some(stage) = stage(Real::Claude, &json!([])) else { return };
    let dir = stage.user(".local/share/ralph/plugin/claude");
    let source = json!({"source": "directory", "path": dir});
    let settings = json!({"enabledPlugins": {"ralph@ralph": true}, "extraKnownMarketplaces": {"ralph": {"source": source}}});
    fs::create_dir_all(stage.path(".claude")).unwrap();
    let file = stage.path(".claude/settings.json");
    fs::write(&file, settings.to_string()).unwrap();
    install(&stage, &[]);
    let ran = ralph(&stage, &["uninstall", "--agent", "claude"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), settings.to_string());
}

#[test]
fn a_marketplace_of_the_same_name_is_left_alone() {
    for real in [Real::Claude, Real::Codex] {
        let Some(stage) = stage(real, &json!([])) else { return };
        let other = stage.path("other");
        assert_eq!(ralph(&stage, &["print", other.to_str().unwrap()]).code, Some(0));
        stage.person(&["plugin", "marketplace", "add", other.to_str().unwrap()]);
        let before = configuration(&stage);
        for command in ["install", "uninstall"] {
            let ran = ralph(&stage, &[command, "--agent", name(&stage)]);
            assert_eq!(ran.code, Some(1), "{}", ran.stderr);
            assert!(
                ran.stderr.contains("has a marketplace named ralph from another place"),
                "{}",
                ran.stderr
            );
        }
        assert_eq!(configuration(&stage), before);
        assert!(!stage.user(".local/share/ralph/plugin").join(name(&stage)).exists());
    }
}

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// The environment of an agent of ralph's, as far as hooks look at it.
const OF_A_RUN: [(&str, &str); 2] =
    [("RALPH_RUN", "20261115-101500-4f2a"), ("CLAUDE_CONTEXT_WINDOW", "200000")];

/// A task list with a mistake, and a marker that says so is to be looked at.
fn with_a_mistake(stage: &Stage) {
    lay_out(stage);
    fs::write(stage.path("ralph/tasks.json"), story(&json!({"passes": true})).to_string()).unwrap();
    stage.git(&["commit", "-q", "-a", "-m", "mistake"]);
    let marker = json!({"iterationMode": "implement", "skipReview": false, "preIterationSnapshot": {}});
    fs::write(stage.path(".ralph-active"), marker.to_string()).unwrap();
    fs::write(stage.path(".git/info/exclude"), ".ralph\n.ralph-active\n").unwrap();
}

/// Uses a tool with a context that is more than half full, ends, and repairs the list when it is told to.
fn works() -> Value {
    let usage = json!({"input": 122_000, "output": 20});
    json!([{"steps": [
        {"text": "One.", "tools": [{"shell": "echo one"}], "usage": usage},
        {"text": "Two.", "tools": [{"shell": "echo two"}], "usage": usage},
        {"text": "That was all.", "usage": usage},
        {"text": "I see.", "tools": [write_list(&json!({}))], "usage": usage},
        {"text": "Now it is right.", "usage": usage}]}])
}

/// How often an agent was warned of its context, and how often it was kept from stopping.
fn told(stage: &Stage) -> (usize, usize) {
    let heard: String = stage.turns().into_iter().map(|turn| turn.heard).collect();
    // Claude says the same block twice.
    let blocks = (1..).take_while(|number| heard.contains(&format!("(Block {number} of 5.)"))).count();
    (heard.matches("of the context is used").count(), blocks)
}

/// A session starts, so that what is known of an older one with its name is forgotten.
fn warned_before(stage: &Stage) -> std::path::PathBuf {
    let mark = stage.home().join("hooks").join(format!("{SESSION}.context-60"));
    fs::create_dir_all(mark.parent().unwrap()).unwrap();
    fs::write(&mark, "").unwrap();
    mark
}

#[test]
fn claude_runs_the_status_command_without_asking() {
    let Some(stage) = stage(Real::Claude, &json!([{"steps": [{"text": "Nothing is running."}]}])) else {
        return;
    };
    lay_out(&stage);
    install(&stage, &[]);
    // Without a flag that skips permissions: what it runs is allowed by the command itself.
    let said = stage.person(&["-p", "/ralph:status"]);
    assert_eq!(said.trim(), "Nothing is running.");
    let heard = &stage.turns()[0].heard;
    for part in [NOTHING_RUNS, "Task list:", "0 of 1 done, next: US-001", "Say in a few sentences"] {
        assert!(heard.contains(part), "{part}: {heard}");
    }
    assert_eq!(stage.alive(), []);
}

#[test]
fn every_command_shows_its_overview_without_asking() {
    for (command, part) in [
        ("run", "Uncommitted changes:"),
        ("stop", NOTHING_RUNS),
        ("archive", "0 of 1 done"),
        ("install", "plugin 0.1.0, enabled, hooks in effect"),
        ("init", "ralph init tasks --name FEATURE"),
        ("plan", "Turn an idea or a PRD into"),
    ] {
        let Some(stage) = stage(Real::Claude, &json!([{"steps": [{"text": "I see."}]}])) else { return };
        lay_out(&stage);
        install(&stage, &[]);
        assert_eq!(
            stage.person(&["-p", &format!("/ralph:{command} something")]).trim(),
            "I see.",
            "{command}"
        );
        let heard = &stage.turns()[0].heard;
        assert!(heard.contains(part), "{command}: {heard}");
    }
}

#[test]
fn a_worker_that_claude_starts_goes_on_without_it() {
    let agent = format!("env > surroundings; touch done; echo '{DONE}'");
    let spawn = format!(r#"ralph spawn --name night run x --check "test -e done" -n 3 -- sh -c "{agent}""#);
    let Some(stage) = stage(
        Real::Claude,
        &json!([{"steps": [
            {"text": "I start it.", "tools": [{"shell": spawn}]}, {"text": "Watch it with: ralph attach night"}]}]),
    ) else {
        return;
    };
    install(&stage, &[]);
    let tmux = stage.user("tmux");
    fs::create_dir(&tmux).unwrap();
    let env = [("TMUX_TMPDIR", tmux.to_str().unwrap())];
    let said = stage.person_with(&["-p", "--dangerously-skip-permissions", "/ralph:run a prompt"], &env);
    assert_eq!(said.trim(), "Watch it with: ralph attach night");
    let ran = stage.start_with(&["wait", "night"], &env).end();
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    // It is an agent of ralph's, and no part of the session that it was started from.
    let surroundings = stage.read("surroundings");
    let has = |name: &str| surroundings.lines().any(|line| line.starts_with(&format!("{name}=")));
    assert!(has("RALPH_RUN") && has("CLAUDE_CODE_MAX_RETRIES"), "{surroundings}");
    assert!(!has("CLAUDECODE") && !has("CLAUDE_CODE_MESSAGING_TOKEN"), "{surroundings}");
    until("the end of all processes", || stage.alive().is_empty());
}

#[test]
fn claude_calls_the_hooks_in_an_agent_of_ralphs() {
    let Some(stage) = stage(Real::Claude, &works()) else { return };
    with_a_mistake(&stage);
    install(&stage, &[]);
    warned_before(&stage);
    let said = stage
        .person_with(&["-p", "--dangerously-skip-permissions", "--session-id", SESSION, "work"], &OF_A_RUN);
    assert_eq!(said.trim(), "Now it is right.");
    assert_eq!(told(&stage), (1, 1), "{:#?}", stage.turns());
}

#[test]
fn a_persons_own_claude_is_not_touched_by_the_plugin() {
    let Some(stage) = stage(Real::Claude, &works()) else { return };
    with_a_mistake(&stage);
    install(&stage, &[]);
    let mark = warned_before(&stage);
    let window = &OF_A_RUN[1..];
    let said =
        stage.person_with(&["-p", "--dangerously-skip-permissions", "--session-id", SESSION, "work"], window);
    assert_eq!(said.trim(), "That was all.");
    assert_eq!(told(&stage), (0, 0), "{:#?}", stage.turns());
    assert!(mark.exists());
}

#[test]
fn the_guard_of_the_plugin_watches_a_persons_own_sessions() {
    let tries = ["git push --force origin main", "echo harmless"].map(|command| {
        json!({"text": "I try.", "tools": [{"shell": format!("{command}; echo {command} >> ran.txt")}]})
    });
    let steps = json!([{"steps": [tries[0], tries[1], {"text": "That was all."}]}]);
    for real in [Real::Claude, Real::Codex] {
        let Some(stage) = stage(real, &steps) else { return };
        add_remote(&stage);
        install(&stage, &["--trust-hooks"]);
        match real {
            Real::Claude => drop(stage.person(&["-p", "--dangerously-skip-permissions", "work"])),
            Real::Codex => codex(&stage, "work", &[]),
        }
        assert_eq!(stage.read("ran.txt"), "echo harmless\n");
        let heard = &stage.turns()[1].heard;
        assert!(
            heard.contains("ralph hook: denied: git push --force origin main (git/force-push)"),
            "{heard}"
        );
        let log = stage.start(&["guard", "log", "--all", "--format", "json"]).end();
        let log: Value = serde_json::from_str(&log.stdout).unwrap();
        assert_eq!(
            (&log[0]["run"], &log[0]["rule"], log[1].is_null()),
            (&Value::Null, &json!("git/force-push"), true)
        );
    }
}

#[test]
fn a_person_who_asks_for_alerts_gets_nothing_but_them() {
    let Some(stage) = stage(Real::Claude, &works()) else { return };
    with_a_mistake(&stage);
    install(&stage, &["--alerts"]);
    assert_eq!(standing(&stage)["alerts"], true);
    warned_before(&stage);
    let window = &OF_A_RUN[1..];
    let said =
        stage.person_with(&["-p", "--dangerously-skip-permissions", "--session-id", SESSION, "work"], window);
    assert_eq!(said.trim(), "That was all.");
    assert_eq!(told(&stage), (1, 0), "{:#?}", stage.turns());
}

#[test]
fn without_ralph_the_plugin_is_silent() {
    let Some(stage) = stage(Real::Claude, &works()) else { return };
    with_a_mistake(&stage);
    install(&stage, &["--alerts"]);
    let path =
        stage.command("true").get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap().to_owned();
    let of_ralph = Path::new(Stage::ralph()).parent().unwrap();
    let path = std::env::join_paths(
        std::env::split_paths(&path).filter(|dir| dir != of_ralph && !dir.join("ralph").exists()),
    );
    let path = path.unwrap().into_string().unwrap();
    let env = [OF_A_RUN[0], OF_A_RUN[1], ("PATH", &*path)];
    let words = [
        "-p",
        "--dangerously-skip-permissions",
        "--output-format",
        "stream-json",
        "--verbose",
        "--include-hook-events",
        "work",
    ];
    let stream = stage.person_with(&words, &env);
    assert_eq!(told(&stage), (0, 0), "{:#?}", stage.turns());
    let events = stream.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let answers: Vec<Value> = events.filter(|event| event["subtype"] == "hook_response").collect();
    assert!(answers.len() >= 4, "a start, two tools and an end: {stream}");
    for answer in answers {
        let said = (&answer["exit_code"], &answer["stdout"], &answer["stderr"]);
        assert_eq!(said, (&json!(0), &json!(""), &json!("")), "{answer:#}");
    }
    // Status says so.
    let mut status = stage.command(Stage::ralph());
    let status = status.args(["plugin", "status", "--format", "json"]).env("PATH", &path).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status[0]["hooks"], "off");
    assert_eq!(status[0]["problems"][0]["fix"], "add the directory of ralph to PATH", "{status:#}");
}

#[test]
fn claude_in_a_terminal_runs_the_status_command_and_the_hooks() {
    let Some(stage) = stage(
        Real::Claude,
        &json!([{"steps": [
            {"text": "First words.", "usage": {"input": 122_000, "output": 20}},
            {"text": "Second words.", "tools": [write_list(&json!({}))], "usage": {"input": 122_000, "output": 20}},
            {"text": "Last words.", "usage": {"input": 122_000, "output": 20}}]}]),
    ) else {
        return;
    };
    with_a_mistake(&stage);
    install(&stage, &[]);
    let mut setsid = stage.command("setsid");
    setsid.envs(OF_A_RUN);
    let words = [
        "claude",
        "--dangerously-skip-permissions",
        "--settings",
        r#"{"skipDangerousModePermissionPrompt":true}"#,
    ];
    let mut screen = Screen::start(setsid, &words, (120, 40));
    screen.shows("bypass permissions on");
    screen.keys("/ralph:status");
    screen.shows("Show what ralph's runs and workers are doing");
    screen.keys("\r");
    screen.shows("Last words.");
    assert!(stage.turns()[0].heard.contains(NOTHING_RUNS), "{}", stage.turns()[0].heard);
    // The first answer was not enough for the Stop hook, and the tool in the second one made the context known.
    assert_eq!(told(&stage), (1, 1), "{:#?}", stage.turns());
    kill_process(screen.pid(), Signal::TERM).unwrap();
    let (code, seen) = screen.restored();
    assert_eq!(code, Some(143), "{seen}");
    until("the end of all processes", || stage.alive().is_empty());
}

#[test]
fn codex_uses_the_skills_of_the_plugin() {
    let Some(stage) = stage(Real::Codex, &json!([{"sticky": true, "steps": [{"text": "I see."}]}])) else {
        return;
    };
    install(&stage, &[]);
    for (prompt, part) in [
        ("$ralph:plan a feature", "There is no limit to the number of questions"),
        ("$ralph:runs what is running?", "| see what is running, in all projects or in this one |"),
    ] {
        codex(&stage, prompt, &[]);
        let turn = stage.turns().pop().unwrap();
        assert!(turn.heard.contains(part), "{}", turn.heard);
        // It knows of them by their descriptions where it is not told.
        assert!(turn.heard.contains("\"plan this feature for ralph\""), "{}", turn.heard);
    }
}

fn codex(stage: &Stage, prompt: &str, env: &[(&str, &str)]) {
    let words = ["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", prompt];
    stage.person_with(&words, env);
}

#[test]
fn codex_skips_hooks_that_are_not_trusted_and_status_finds_that() {
    let Some(stage) = stage(Real::Codex, &works()) else { return };
    with_a_mistake(&stage);
    install(&stage, &[]);
    let found = standing(&stage);
    assert_eq!(found["hooks"], "untrusted");
    let problem = &found["problems"][0];
    assert_eq!(problem["problem"], "the hooks do not run: Codex skips hooks that you have not trusted");
    let fix = "start `codex` and choose \"Trust all and continue\", or run: ralph plugin install --agent codex --trust-hooks";
    assert_eq!(problem["fix"], fix);
    codex(&stage, "work", &OF_A_RUN);
    assert_eq!(told(&stage), (0, 0), "{:#?}", stage.turns());
}

/// Codex in a terminal, in a project that it trusts.
fn codex_screen(stage: &Stage, prompt: &str) -> Screen {
    let mut command = stage.command("setsid");
    command.envs(OF_A_RUN);
    let (program, project) = (stage.program(), stage.path("").display().to_string());
    let trusted = format!("projects={{{:?}={{trust_level=\"trusted\"}}}}", project.trim_end_matches('/'));
    // For a model of its own it first advertises another one.
    let flags = ["-c", &trusted, "--model", "stub", "--dangerously-bypass-approvals-and-sandbox", prompt];
    Screen::start(command, &[&[program.to_str().unwrap()], &flags[..]].concat(), (120, 40))
}

#[test]
fn codex_asks_at_its_next_start_whether_to_trust_the_hooks_and_then_calls_them() {
    for (choice, last_words, hooks, calls) in [
        ("› 3. Continue without trusting", "That was all.", "untrusted", (0, 0)),
        // As `ralph plugin status` and the docs name it.
        ("› 2. Trust all and continue", "Now it is right.", "in_effect", (1, 1)),
    ] {
        let Some(stage) = stage(Real::Codex, &works()) else { return };
        with_a_mistake(&stage);
        install(&stage, &[]);
        let mut screen = codex_screen(&stage, "work");
        screen.shows("Hooks need review");
        screen.press_until(&["\x1b[B"], choice);
        screen.keys("\r");
        screen.shows(last_words);
        screen.keys("\x04");
        let (code, seen) = screen.restored();
        assert_eq!(code, Some(0), "{seen}");
        assert_eq!(told(&stage), calls, "{:#?}", stage.turns());
        assert_eq!(standing(&stage)["hooks"], hooks);
    }
}

#[test]
fn codex_calls_hooks_that_are_trusted() {
    let Some(stage) = stage(Real::Codex, &works()) else { return };
    with_a_mistake(&stage);
    install(&stage, &["--trust-hooks"]);
    assert_eq!(standing(&stage)["hooks"], "in_effect");
    codex(&stage, "work", &OF_A_RUN);
    assert_eq!(told(&stage), (1, 1), "{:#?}", stage.turns());
    // A changed hook is another one.
    let run = stage.user(".local/share/ralph/plugin/codex/ralph/hooks/run");
    fs::write(&run, fs::read_to_string(&run).unwrap() + "\n").unwrap();
    stage.person(&["plugin", "add", "ralph@ralph"]);
    let problems = standing(&stage)["problems"].take();
    assert!(
        problems[0]["problem"].as_str().unwrap().ends_with("differ from this ralph's: ralph/hooks/run"),
        "{problems:#}"
    );
    assert_eq!(problems[1]["problem"], "the hooks do not run: they have changed since you trusted them");
}

#[test]
fn claudes_hooks_are_called_once_although_the_plugin_has_them_too() {
    is_blocked_once("none", Real::Claude, |stage| {
        settle(stage);
        install(stage, &["--alerts"]);
    });
}

#[test]
fn codexs_hooks_are_called_once_although_the_plugin_has_them_too() {
    is_blocked_once("none", Real::Codex, |stage| {
        settle(stage);
        install(stage, &["--alerts", "--trust-hooks"]);
    });
}

#[test]
fn an_agent_in_a_sandbox_works_as_without_the_plugin() {
    for real in [Real::Claude, Real::Codex] {
        is_blocked_once("bwrap", real, |stage| {
            settle(stage);
            install(stage, &["--trust-hooks"]);
        });
    }
}

#[test]
fn the_plugins_hooks_take_the_place_of_those_that_cannot_be_passed() {
    is_blocked_once("none", Real::Claude, |stage| {
        settle(stage);
        install(stage, &[]);
        // Claude takes one file of settings, and this is the user's.
        stage.settings(json!({"agent": {"flags": ["--settings", "{}"]}}));
    });
}

#[test]
fn a_run_without_hooks_has_none_of_the_plugin_either() {
    let ready = write_list(&json!({"passes": true, "reviewStatus": "approved"}));
    let Some(stage) = stage(
        Real::Claude,
        &json!([{"steps": [{"text": "I do it.", "tools": [ready]}, {"text": "All is done."}]}]),
    ) else {
        return;
    };
    lay_out(&stage);
    install(&stage, &[]);
    stage.settings(json!({"tasks": {"hooks": false}}));
    let ran = stage.start(&["tasks", "--format", "json", "-n", "1"]).end();
    ran.stops(1, "max_iterations", 1);
    assert_eq!(told(&stage), (0, 0), "{:#?}", stage.turns());
    assert_eq!(status(&stage), Value::Null, "ralph itself has reverted it");
}
