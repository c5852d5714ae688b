//! The journal is the truth: cut anywhere, the run is carried on to the same end.

use crate::support::Sandbox;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const CHECK: &str = "test -f fixed";

/// A finished run of two iterations, whose agents do the same whenever they are run.
fn finished(sandbox: &Sandbox) {
    sandbox.plain_settings();
    let script = sandbox.root().join("script.json");
    let calls = json!([
        [{"say": "Not yet."}, {"cost": 0.25}],
        [{"write": {"path": "fixed", "content": "1"}}, {"say": "<response>DONE</response>"}, {"cost": 0.5}],
    ]);
    let text = json!({"dialect": "claude", "by": "iteration", "after": "fail", "calls": calls}).to_string();
    fs::write(&script, text).unwrap();
    sandbox.program(
        "claude",
        &format!("exec '{}' __agent '{}' \"$@\"", crate::support::RALPH, script.display()),
    );
    let args = ["run", "-p", "x", "-n", "5", "--format", "json", "--check", CHECK, "--check", "echo fine"];
    let result = sandbox.ralph(&args).stops(0, "completed", 2);
    assert_eq!(result["total_cost"], 0.75);
}

/// Where each line ends.
fn line_ends(journal: &[u8]) -> Vec<usize> {
    journal.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect()
}

#[test]
fn a_journal_cut_anywhere_resumes_to_the_same_outcome() {
    // Half of the cuts each: the work of two processors.
    std::thread::scope(|scope| {
        for half in [0, 1] {
            scope.spawn(move || resume_cuts(half));
        }
    });
}

fn resume_cuts(half: usize) {
    let sandbox = Sandbox::bare();
    finished(&sandbox);
    let journal = fs::read(sandbox.journal_file()).unwrap();
    let ends = line_ends(&journal);
    let mut cuts: Vec<usize> = Vec::new();
    for pair in ends.windows(2) {
        // At a line's end, in the next line at its first byte, its middle, before its newline.
        cuts.extend([pair[0], pair[0] + 1, pair[0].midpoint(pair[1]), pair[1] - 1]);
    }
    assert!(cuts.len() > 40, "{}", cuts.len());
    for cut in cuts.into_iter().skip(half).step_by(2) {
        fs::write(sandbox.journal_file(), &journal[..cut]).unwrap();
        let begun = whole_lines(&journal[..cut]);
        // The tree as it was then: `fixed` comes from the second agent.
        let second_agent_ended =
            begun.iter().any(|fact| fact["ended"]["end"]["agent"]["seen"]["tag"] == "DONE");
        if !second_agent_ended {
            let _ = fs::remove_file(sandbox.project().join("fixed"));
        } else {
            sandbox.write("fixed", "1");
        }
        let result = sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", 2);
        assert_eq!(result["total_cost"], 0.75, "cut at {cut}: nothing is paid twice");
        let checks: Vec<_> =
            (0..2).map(|n| result["iterations"][n]["check_results"].as_array().unwrap().len()).collect();
        assert_eq!(checks, [2, 2], "cut at {cut}: no check is counted twice");
        let sections = sandbox.read(".ralph/progress.md").matches("## Iteration ").count();
        assert_eq!(sections, 2, "cut at {cut}");
    }
}

fn whole_lines(journal: &[u8]) -> Vec<Value> {
    let lines = journal.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()["fact"].take()).collect()
}

#[test]
fn every_prefix_of_a_journal_is_a_run() {
    let sandbox = Sandbox::bare();
    finished(&sandbox);
    let journal = fs::read(sandbox.journal_file()).unwrap();
    let first = line_ends(&journal)[0];
    let home = sandbox.root().join("prefixes");
    for length in 0..=journal.len() {
        let dir = home.join("runs").join(format!("{length:06}"));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("journal.jsonl"), &journal[..length]).unwrap();
    }
    let runs = in_home(&sandbox, &home, &["runs", "--format", "json"]);
    let mut listed: Vec<Value> = serde_json::from_str(&runs).unwrap();
    listed.sort_by_key(|run| run["id"].as_str().unwrap().to_owned());
    assert_eq!(listed.len(), journal.len() + 1 - first, "without its first line a run never began");
    let mut iterations = 0;
    for (length, run) in (first..).zip(&listed) {
        let status = run["status"].as_str().unwrap();
        let expected = if length < journal.len() { "crashed" } else { "completed" };
        assert_eq!(status, expected, "{length}: {run:#}");
        assert_eq!(run["resumable"], status == "crashed", "{length}");
        let now = run["iterations"].as_u64().unwrap();
        assert!(now >= iterations, "{length}: an iteration was lost");
        iterations = now;
    }
    assert_eq!(iterations, 2);
}

fn in_home(sandbox: &Sandbox, home: &Path, args: &[&str]) -> String {
    let mut command = sandbox.command(crate::support::RALPH);
    command.args(args).env("RALPH_HOME", home);
    sandbox.spawn(command).end().exits(0).stdout
}

#[test]
fn a_run_that_never_got_its_first_line_is_no_run_to_resume() {
    let sandbox = Sandbox::bare();
    finished(&sandbox);
    let journal = fs::read(sandbox.journal_file()).unwrap();
    for length in [0, 1, line_ends(&journal)[0] - 1] {
        fs::write(sandbox.journal_file(), &journal[..length]).unwrap();
        sandbox.ralph(&["resume", &sandbox.only_run()]).exits(1).says("the journal is empty");
        sandbox.ralph(&["resume"]).exits(1).says("no run to resume");
    }
}

#[test]
fn a_last_line_that_is_there_in_length_only_is_dropped() {
    let sandbox = Sandbox::bare();
    finished(&sandbox);
    let journal = fs::read(sandbox.journal_file()).unwrap();
    let ends = line_ends(&journal);
    let mut zeros = journal[..ends[6]].to_vec();
    zeros.extend(vec![0; 200]);
    fs::write(sandbox.journal_file(), &zeros).unwrap();
    sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", 2);
    let text = fs::read_to_string(sandbox.journal_file()).unwrap();
    assert!(!text.contains('\0'), "what was torn is cut off");
}

#[test]
fn the_journal_itself_can_be_shown() {
    let sandbox = Sandbox::bare();
    finished(&sandbox);
    let shown = sandbox.ralph(&["show", &sandbox.only_run(), "--format", "ndjson"]).exits(0);
    let events = |text: &str| {
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(events(&shown.stdout), events(&fs::read_to_string(sandbox.journal_file()).unwrap()));
    let result = sandbox.ralph(&["show", &sandbox.only_run(), "--format", "json"]);
    result.stops(0, "completed", 2);
}

/// Facts may be added, not changed: a change to one breaks every recorded run.
#[test]
fn a_journal_of_version_1_is_still_understood() {
    let sandbox = Sandbox::bare();
    let dir = sandbox.home().join("runs/20261115-000000-0001");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("journal.jsonl"), include_str!("fixtures/journal-v1.jsonl")).unwrap();
    let run = sandbox.listed();
    assert_eq!((run["status"].as_str(), run["iterations"].as_u64()), (Some("completed"), Some(3)), "{run:#}");
    let shown = sandbox.ralph(&["show", "20261115", "--format", "json"]).exits(0).json();
    assert_eq!(shown["iterations"][0]["error"], "exit code 1");
    assert_eq!(shown["iterations"][1]["check_results"][1]["passed"], false);
    assert_eq!(shown["iterations"][2]["all_checks_passed"], true);
}

#[test]
fn a_journal_of_the_second_version_still_tells_its_stories() {
    let sandbox = Sandbox::bare();
    let dir = sandbox.home().join("runs/20261116-000000-0002");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("journal.jsonl"), include_str!("fixtures/journal-v2.jsonl")).unwrap();
    let run = sandbox.listed();
    assert_eq!((run["status"].as_str(), run["iterations"].as_u64()), (Some("completed"), Some(3)), "{run:#}");
    let shown = sandbox.ralph(&["show", "20261116", "--format", "json"]).exits(0).json();
    let stories: Vec<&str> =
        shown["iterations"].as_array().unwrap().iter().map(|i| i["story"].as_str().unwrap()).collect();
    assert_eq!(stories, ["1.1", "1.1", "1.2"]);
    assert_eq!(shown["iterations"][0]["error"], "too hard");
    let journal = fs::read_to_string(sandbox.journal_file()).unwrap();
    assert!(journal.contains("/attempt-1\""), "a tree that was put back is part of it");
}

#[test]
fn a_journal_of_the_second_version_still_tells_its_tasks() {
    let sandbox = Sandbox::bare();
    let dir = sandbox.home().join("runs/20261116-000000-0003");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("journal.jsonl"), include_str!("fixtures/journal-v2-tasks.jsonl")).unwrap();
    let run = sandbox.listed();
    assert_eq!((run["status"].as_str(), run["iterations"].as_u64()), (Some("completed"), Some(5)), "{run:#}");
    let shown = sandbox.ralph(&["show", "20261116", "--format", "json"]).exits(0).json();
    assert_eq!(shown["iterations"][2]["all_checks_passed"], false);
    assert_eq!(shown["tasks"], serde_json::json!([{"id": "US-001", "done": true, "reviews": 2}]));
    let journal = fs::read_to_string(sandbox.journal_file()).unwrap();
    for part in ["\"violations\"", "amend_tasks", "compare_tasks", "\"committed\":true"] {
        assert!(journal.contains(part), "{part} is part of it");
    }
}

#[test]
fn a_journal_of_the_third_version_still_tells_of_its_waits_for_room() {
    let sandbox = Sandbox::bare();
    let dir = sandbox.home().join("runs/20261116-000000-0004");
    fs::create_dir_all(&dir).unwrap();
    let journal = include_str!("fixtures/journal-v3.jsonl");
    fs::write(dir.join("journal.jsonl"), journal).unwrap();
    let run = sandbox.listed();
    assert_eq!((run["status"].as_str(), run["iterations"].as_u64()), (Some("completed"), Some(2)), "{run:#}");
    // Cut off in the wait, it is a run that can go on.
    let cut: String = journal.lines().take(7).map(|line| format!("{line}\n")).collect();
    fs::write(dir.join("journal.jsonl"), cut).unwrap();
    let run = sandbox.listed();
    assert_eq!((&run["status"], &run["resumable"]), (&"crashed".into(), &true.into()), "{run:#}");
}

#[test]
fn a_journal_of_the_fourth_version_still_tells_of_an_agent_that_waited() {
    let sandbox = Sandbox::bare();
    let journal = include_str!("fixtures/journal-v4-blocked.jsonl");
    let first: Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
    let dir = sandbox.home().join("runs").join(first["fact"]["opened"]["id"].as_str().unwrap());
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("journal.jsonl"), journal).unwrap();
    let run = sandbox.listed();
    assert_eq!((&run["status"], &run["iterations"]), (&"outage".into(), &1.into()), "{run:#}");
    // Cut off in the wait, it is a run that can go on.
    let cut: String = journal.lines().take(8).map(|line| format!("{line}\n")).collect();
    fs::write(dir.join("journal.jsonl"), cut).unwrap();
    let run = sandbox.listed();
    assert_eq!((&run["status"], &run["resumable"]), (&"crashed".into(), &true.into()), "{run:#}");
}

#[test]
fn a_journal_of_the_fifth_version_still_tells_what_was_proven() {
    let sandbox = Sandbox::bare();
    let journal = include_str!("fixtures/journal-v5-proof.jsonl");
    let (id, dir) = recorded(&sandbox, journal);
    let run = sandbox.listed();
    assert_eq!((&run["status"], &run["iterations"]), (&"completed".into(), &2.into()), "{run:#}");
    let shown = sandbox.ralph(&["show", &id, "--format", "json"]).exits(0).json();
    let words: Vec<&Value> = (0..2).map(|n| &shown["iterations"][n]["proof"]["word"]).collect();
    assert_eq!(words, ["changed_tests", "proven"], "{shown:#}");
    for part in ["baseline_in_place", "start_gates", "\"refused\"", "\"gates\""] {
        assert!(journal.contains(part), "{part} is part of it");
    }
    can_go_on_after(&sandbox, &dir, journal, [5, 7, 13, 17, 19]);
}

/// A run of an earlier version; its id and its directory.
fn recorded(sandbox: &Sandbox, journal: &str) -> (String, PathBuf) {
    let first: Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
    let id = first["fact"]["opened"]["id"].as_str().unwrap().to_owned();
    let dir = sandbox.home().join("runs").join(&id);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("journal.jsonl"), journal).unwrap();
    (id, dir)
}

/// Cut off after any of these lines, it is a run that can go on.
fn can_go_on_after(sandbox: &Sandbox, dir: &Path, journal: &str, lines: [usize; 5]) {
    for lines in lines {
        let cut: String = journal.lines().take(lines).map(|line| format!("{line}\n")).collect();
        fs::write(dir.join("journal.jsonl"), cut).unwrap();
        let run = sandbox.listed();
        assert_eq!((&run["status"], &run["resumable"]), (&"crashed".into(), &true.into()), "{run:#}");
    }
}

#[test]
fn a_journal_of_the_sixth_version_still_tells_what_the_sandbox_broke() {
    let sandbox = Sandbox::bare();
    let journal = include_str!("fixtures/journal-v6-sandbox.jsonl");
    let (id, dir) = recorded(&sandbox, journal);
    let run = sandbox.listed();
    assert_eq!((&run["status"], &run["resumable"]), (&"sandbox_in_the_way".into(), &true.into()), "{run:#}");
    let shown = sandbox.ralph(&["show", &id, "--format", "json"]).exits(0).json();
    assert!(shown["error"]["hint"].as_str().unwrap().contains("\"read\": [\"~/.foo\"]"), "{shown:#}");
    for part in ["\"confinement\"", "baseline_outside", "\"named\":[\"home\"]", "\"needs\""] {
        assert!(journal.contains(part), "{part} is part of it");
    }
    can_go_on_after(&sandbox, &dir, journal, [6, 11, 14, 15, 17]);
}

#[test]
fn a_journal_of_the_ninth_version_still_tells_of_an_agent_that_waited_for_a_person() {
    let sandbox = Sandbox::bare();
    let journal = include_str!("fixtures/journal-v9-person.jsonl");
    let (_, dir) = recorded(&sandbox, journal);
    let run = sandbox.listed();
    assert_eq!((&run["status"], &run["iterations"]), (&"completed".into(), &1.into()), "{run:#}");
    assert!(
        journal.contains(r#""by":"person","text":"Which database? (SQLite, Postgres)","why":"question""#)
    );
    can_go_on_after(&sandbox, &dir, journal, [4, 5, 6, 7, 9]);
}

#[test]
fn a_journal_of_the_seventh_version_still_tells_what_the_network_was_used_for() {
    let sandbox = Sandbox::bare();
    let journal = include_str!("fixtures/journal-v7-network.jsonl");
    let (id, _) = recorded(&sandbox, journal);
    let shown = sandbox.ralph(&["show", &id, "--format", "json"]).exits(0).json();
    assert_eq!(shown["network"]["hosts"][0], "refused.example:80", "{shown:#}");
    let network = sandbox.ralph(&["show", &id, "--network", "--format", "json"]).exits(0).json();
    assert_eq!(network["hosts"][0]["host"], "pypi.org:443", "{network:#}");
    assert_eq!(network["hosts"][0]["connections"], 2, "{network:#}");
    for part in ["\"mode\":\"allowlist\"", "\"refused\"", "\"traffic\"", "not_allowed"] {
        assert!(journal.contains(part), "{part} is part of it");
    }
}

#[test]
fn a_journal_of_the_eighth_version_still_names_its_secrets_and_tells_of_a_guard_without_answers() {
    let sandbox = Sandbox::bare();
    let journal = include_str!("fixtures/journal-v8-secrets.jsonl");
    let (id, dir) = recorded(&sandbox, journal);
    let run = sandbox.listed();
    assert_eq!((&run["status"], &run["resumable"]), (&"paused".into(), &true.into()), "{run:#}");
    let shown = sandbox.ralph(&["show", &id]).exits(0);
    assert!(shown.stdout.contains("test \"$API_TOKEN\" = ***API_TOKEN***"), "{}", shown.stdout);
    assert!(shown.stdout.contains("the guard could not answer 3 times in a row"), "{}", shown.stdout);
    for part in ["***API_TOKEN#", "\"guard\":\"the guard could not answer"] {
        assert!(journal.contains(part), "{part} is part of it");
    }
    // A mark is not taken for a command.
    let project = sandbox.project().to_str().unwrap().to_owned();
    fs::write(dir.join("journal.jsonl"), journal.replace("/home/user/project", &project)).unwrap();
    sandbox.ralph(&["resume", &id]).exits(1).says("a secret that is not set: API_TOKEN");
    can_go_on_after(&sandbox, &dir, journal, [3, 5, 7, 8, 9]);
}

#[test]
fn what_an_agent_writes_into_the_journal_never_happened() {
    let sandbox = Sandbox::bare();
    let journal = "\"$RALPH_HOME/runs/$RALPH_RUN/journal.jsonl\"";
    let agent = sandbox.sh_agent(&format!(
        "tail -n 1 {journal} > line; cat line line >> {journal}; printf half >> {journal}; echo on it"
    ));
    sandbox.run(&["-p", "x", "-n", "2", "--format", "json"], &agent).stops(1, "max_iterations", 2);
    let id = sandbox.only_run();
    let shown = sandbox.ralph(&["show", &id, "--format", "json"]).exits(0).json();
    assert_eq!(shown["stop_reason"], "max_iterations");
    assert_eq!(whole_lines(&fs::read(sandbox.journal_file()).unwrap()).len(), sandbox.facts().len());
    // What is gone cannot be made up: the run stops, and says so.
    let agent = sandbox.sh_agent(&format!(": > {journal}; echo gone"));
    let ran = sandbox.run(&["-p", "x", "-n", "2"], &agent).exits(1);
    assert!(ran.stderr.contains("another process has truncated it"), "{}", ran.stderr);
}
