//! Flag beats environment beats `--config` beats local beats project beats user.

use super::{Answer, Project, RALPH};
use serde_json::{Value, json};
use std::path::Path;

/// The files, lowest layer first: where they lie, and how they are named.
const FILES: [(&str, &str); 4] = [
    ("../config/ralph/settings.json", "settings.json"),
    (".ralph/settings.json", ".ralph/settings.json"),
    (".ralph/settings.local.json", ".ralph/settings.local.json"),
    ("../config.json", "config.json"),
];

/// Every setting, with values of this layer's own.
fn settings(layer: usize) -> Value {
    let (n, text, on) = (layer + 11, format!("layer-{layer}"), layer.is_multiple_of(2));
    json!({
        "maximumIterations": n, "completionResponse": text, "outputTruncateChars": n,
        "streamAgentOutput": on, "includeIterationCountInPrompt": on,
        "agent": {"command": text, "flags": [text], "model": text, "autonomous": on},
        "guardrails": [{"command": text, "failAction": "APPEND", "hint": text, "timeout": n}],
        "scm": {"command": text, "tasks": [text]},
        "maxCost": n, "prices": {"m": {"input": n, "cachedInput": n, "cacheWrite": n, "output": n}},
        "maxTime": n, "timeout": n, "checkTimeout": n, "maxFailures": n, "stallAfter": n,
        "proof": {
            "mode": if on { "in-place" } else { "strict" }, "baseline": on,
            "carry": [text], "setup": [text], "pin": [text], "junit": [text],
        },
        "sandbox": {
            "kind": if on { "none" } else { "bwrap" }, "read": [text], "write": [text], "tools": [text],
            "env": if on { "only" } else { "most" }, "variables": [text],
            "network": if on { "off" } else { "open" }, "hosts": [text], "forward": [text],
            "processes": n, "memory": n, "fileSize": n, "tmpSize": n,
        },
        "guard": {
            "allow": [text], "deny": [text], "ask": [if on { "git" } else { "cloud" }], "writable": [text],
            "categories": categories(if on { "off" } else { "warn" }),
        },
        "backoff": {"base": n, "cap": n}, "context": on, "checkpoints": on,
        "largestFile": n, "minFreeSpace": n, "keepRuns": n, "keepCheckpoints": n, "keepStreams": n,
        "stories": {"order": [text], "rules": [text], "verify": [text], "maxRetries": n, "commit": on},
        "tasks": {"commitLeft": on, "hooks": on},
        "workers": {"interactive": on, "readyTimeout": n, "permissions": if on { "allow" } else { "ask" }},
        "agents": {"review": text, "fix": text}, "notify": text, "mask": [text],
    })
}

/// All categories of the guard, at one level.
fn categories(level: &str) -> Value {
    let names = ralph_loop::guard::Category::ALL.iter().map(|category| category.name());
    names.map(|name| (name.to_owned(), Value::from(level))).collect::<serde_json::Map<_, _>>().into()
}

fn show(project: &Project, environment: &[(&str, &str)]) -> Value {
    let config = project.dir().join(FILES[3].0);
    let mut command = project.command(Path::new(RALPH));
    command.args(["config", "show", "--format", "json"]).envs(environment.iter().copied());
    if config.exists() {
        command.arg("--config").arg(config);
    }
    Answer::of(command.output().unwrap()).json()
}

#[test]
fn every_setting_comes_from_the_higher_of_any_two_files() {
    let pairs = (1..FILES.len()).flat_map(|high| (0..high).map(move |low| (low, high)));
    for (low, high) in pairs {
        let project = Project::empty();
        for layer in [low, high] {
            project.write(FILES[layer].0, &settings(layer).to_string());
        }
        let shown = show(&project, &[]);
        assert_eq!(shown["settings"], settings(high), "{high} over {low}");
        let from = shown["from"].as_object().unwrap();
        // Every key of the table is among them: nothing is the default's.
        for (key, file) in from {
            assert!(file.as_str().unwrap().ends_with(FILES[high].1), "{high} over {low}: {key} from {file}");
        }
    }
}

const USER: usize = 0;
const PROJECT: usize = 1;
const LOCAL: usize = 2;
const CONFIG: usize = 3;

/// What the agent of a run is started as, with these files, environment and flags.
fn started(
    files: &[(usize, Value)],
    environment: &[(&str, &str)],
    args: &[&str],
) -> (Vec<String>, Option<String>) {
    let project = Project::empty();
    for program in ["claude", "codex", "gemini"] {
        project.install(program);
    }
    for (layer, settings) in files {
        project.write(FILES[*layer].0, &json!({ "agent": settings }).to_string());
    }
    let config = project.dir().join(FILES[CONFIG].0);
    let mut command = project.command(Path::new(RALPH));
    command.args(["run", "-p", "x", "-n", "1", "--max-failures", "1"]).envs(environment.iter().copied());
    if config.exists() {
        command.arg("--config").arg(&config);
    }
    let answer = Answer::of(command.args(args).output().unwrap());
    let opened = opened(&project).unwrap_or_else(|| panic!("{answer:?}"));
    let agent = &opened["agents"][0];
    let args = agent["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap().to_owned());
    (args.collect(), agent["model"].as_str().map(String::from))
}

#[test]
fn the_model_is_the_highest_layers_wherever_it_is_named() {
    let flags = |layer, flags: &[&str]| (layer, json!({"flags": flags}));
    let model = |layer, model: &str| (layer, json!({"model": model}));
    let named = |files: &[(usize, Value)], env: &[(&str, &str)], args: &[&str]| started(files, env, args);
    let own = |model: &str| (vec!["-d".to_owned()], Some(model.to_owned()));
    for low in [&["--model", "low", "-d"][..], &["--model low", "-d"], &["--model=low", "-d"]] {
        assert_eq!(named(&[flags(PROJECT, low)], &[], &["-m", "flag"]), own("flag"));
        assert_eq!(named(&[flags(CONFIG, low)], &[("RALPH_MODEL", "env")], &[]), own("env"));
        assert_eq!(named(&[flags(CONFIG, low)], &[("RALPH_MODEL", "env")], &["-m", "flag"]), own("flag"));
        assert_eq!(named(&[flags(PROJECT, low), model(LOCAL, "local")], &[], &[]), own("local"));
        assert_eq!(named(&[flags(USER, low), model(PROJECT, "project")], &[], &[]), own("project"));
        assert_eq!(named(&[flags(LOCAL, low), model(CONFIG, "config")], &[], &[]), own("config"));
        // Flags in a higher layer win over a model in a lower one.
        let low: Vec<String> = low.iter().map(|arg| (*arg).to_owned()).collect();
        let words: Vec<&str> = low.iter().map(String::as_str).collect();
        assert_eq!(named(&[model(USER, "user"), flags(PROJECT, &words)], &[], &[]), (low.clone(), None));
    }
    // Another program's own flag stays where it is, with another value.
    let gemini = (PROJECT, json!({"command": "gemini", "flags": ["--model", "low", "-y"]}));
    let placed = vec!["--model".to_owned(), "{model}".to_owned(), "-y".to_owned()];
    assert_eq!(named(std::slice::from_ref(&gemini), &[], &["-m", "flag"]), (placed, Some("flag".into())));
    assert_eq!(named(&[gemini], &[], &[]).1, None);
    // What is written after -- is a flag of this run.
    let after = ["--", "gemini", "--model", "mine"];
    assert_eq!(
        named(&[model(LOCAL, "local")], &[("RALPH_MODEL", "env")], &after),
        (vec!["--model".into(), "mine".into()], None)
    );
    let codex = (PROJECT, json!({"command": "codex", "flags": ["-c", "model=low"]}));
    assert_eq!(named(&[codex], &[], &["-m", "flag"]), (vec![], Some("flag".into())));
}

#[test]
fn the_agent_is_the_flags_then_the_environments_then_the_files() {
    let project = (PROJECT, json!({"command": "codex", "flags": ["-d"]}));
    let args = |env: &[(&str, &str)], args: &[&str]| started(std::slice::from_ref(&project), env, args).0;
    assert_eq!(args(&[], &[]), ["-d"]);
    assert_eq!(args(&[("RALPH_AGENT", "claude")], &[]), [""; 0]);
    assert_eq!(args(&[("RALPH_AGENT", "claude")], &["--agent", "codex"]), ["-d"]);
    assert_eq!(args(&[("RALPH_AGENT", "codex")], &["--agent", "claude"]), [""; 0]);
}

#[test]
fn the_shown_model_has_its_true_source() {
    let project = Project::empty();
    let of =
        |shown: &Value| (shown["settings"]["agent"]["model"].clone(), shown["from"]["agent.model"].clone());
    project.write(FILES[PROJECT].0, r#"{"agent": {"flags": ["--model", "opus"]}}"#);
    assert_eq!(of(&show(&project, &[])), (json!("opus"), json!(".ralph/settings.json")));
    assert_eq!(of(&show(&project, &[("RALPH_MODEL", "haiku")])), (json!("haiku"), json!("RALPH_MODEL")));
    project.write(FILES[LOCAL].0, r#"{"agent": {"model": "sonnet"}}"#);
    let shown = show(&project, &[]);
    assert_eq!(of(&shown), (json!("sonnet"), json!(".ralph/settings.local.json")));
    assert_eq!(shown["settings"]["agent"]["flags"], json!([]));
    let shown = show(&project, &[("RALPH_AGENT", "codex")]);
    assert_eq!(
        (&shown["settings"]["agent"]["command"], &shown["from"]["agent.command"]),
        (&json!("codex"), &json!("RALPH_AGENT"))
    );
}

#[test]
fn flags_win_over_the_files() {
    let project = Project::empty();
    project.install("claude");
    let settings = json!({
        "maximumIterations": 5, "completionResponse": "FILE", "maxCost": 5, "maxTime": 500, "timeout": 50,
        "maxFailures": 5, "stallAfter": 5, "notify": "file", "streamAgentOutput": true,
    });
    project.write(FILES[CONFIG].0, &settings.to_string());
    let flags = "run -p x -n 1 -c FLAG --max-cost 7 --max-time 700 -t 70 --max-failures 1 --stall-after 7 \
                 --notify flag --config ../config.json";
    project.ralph(&flags.split_whitespace().collect::<Vec<_>>());
    let opened = opened(&project).unwrap();
    let limits = &opened["limits"];
    for (name, value) in [
        ("iterations", json!(1)),
        ("max_cost", json!(7_000_000_000_u64)),
        ("max_time_ms", json!(700_000)),
        ("agent_timeout_ms", json!(70_000)),
        ("max_failures", json!(1)),
        ("stall_after", json!(7)),
    ] {
        assert_eq!(limits[name], value, "{name}");
    }
    assert_eq!(opened["plan"]["prompt"]["completion"]["response"], "FLAG");
    assert_eq!(opened["notify"], "flag");
}

/// The only run as it was asked for.
fn opened(project: &Project) -> Option<Value> {
    let mut runs = std::fs::read_dir(project.dir().join("../state/runs")).ok()?;
    let journal = std::fs::read_to_string(runs.next()?.ok()?.path().join("journal.jsonl")).ok()?;
    let first: Value = serde_json::from_str(journal.lines().next()?).ok()?;
    Some(first["fact"]["opened"].clone())
}
