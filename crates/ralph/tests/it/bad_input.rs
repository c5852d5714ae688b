//! Input that is wrong, or merely strange: a clear word, and nothing is lost.

use crate::support::Sandbox;
use serde_json::{Value, json};
use std::fs;

const DONE: &str = "<response>DONE</response>";

#[test]
fn an_agent_that_is_not_installed_is_refused_with_a_way_out() {
    let sandbox = Sandbox::bare();
    for args in [&["--agent", "no-such-agent"][..], &["--", "no-such-agent", "x"], &["--", "./nowhere"]] {
        sandbox
            .ralph(&[&["run", "-p", "x"], args].concat())
            .exits(2)
            .says("the agent is not installed: ")
            .says("hint: ");
    }
    assert!(!sandbox.home().exists() && !sandbox.has(".ralph"), "nothing was touched");
}

#[test]
fn a_check_that_does_not_exist_is_refused_unless_it_may_come_to_be() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.agent(&json!([
        [{"say": DONE}],
        [{"write": {"path": "lint.sh", "content": "exit 0"}}, {"say": DONE}],
    ]));
    for check in ["no-such-check", "no-such-check --all | tail"] {
        let ran = sandbox.run(&["-p", "x", "--check", check], &agent).exits(2);
        ran.says("the program of a check is not installed: no-such-check").says("hint: ");
    }
    let result = sandbox.run(&["-p", "x", "--format", "json", "--check", "sh ./lint.sh"], &agent).stops(
        0,
        "completed",
        2,
    );
    assert_eq!(result["iterations"][0]["check_results"][0]["passed"], false);
    for builtin in
        ["true", "test -d .", "! false", "X=1 true", "(cd . && true)", "if true; then true; fi", ": ok"]
    {
        sandbox.run(&["-p", "x", "--check", builtin], &agent).exits(0);
    }
}

#[test]
fn a_directory_without_git_works_and_says_so_once() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.agent(&json!([[{"say": "x"}]]));
    let args = ["-p", "x", "-n", "3", "--stall-after", "1", "--check", "false"];
    let ran = sandbox.run(&args, &agent).exits(1).says("max_iterations");
    assert_eq!(ran.stdout.matches("not a git repository").count(), 1, "{}", ran.stdout);
    assert_eq!(ran.stderr, "");
}

#[test]
fn uncommitted_work_is_left_as_it_is() {
    let sandbox = Sandbox::git();
    sandbox.write("stashed", "s");
    sandbox.sh("git add stashed && git stash -q");
    sandbox.write("staged", "a");
    sandbox.sh("git add staged");
    sandbox.write("staged", "b");
    sandbox.write("README", "changed\n");
    sandbox.write("untracked dir/ä", "u");
    sandbox.write(".gitignore", "*.o\n");
    sandbox.write("ignored.o", "o");
    let look = || {
        // Each command by itself: `git status` may refresh the index.
        let index = fs::read(sandbox.project().join(".git/index")).unwrap();
        let state = sandbox.sh(
            "cat .git/HEAD .git/config; git for-each-ref; git stash list; git diff --cached; \
             git ls-files -s; cat staged README 'untracked dir/ä' ignored.o; git status --porcelain --ignored",
        );
        (index, state)
    };
    sandbox.write(".ralph/settings.json", "{}");
    sandbox.sh("git add .ralph; git status > /dev/null; mkdir -p .ralph; touch .ralph/progress.md");
    sandbox.sh("printf '/.ralph/*\\n!/.ralph/settings.json\\n!/.ralph/settings.local.json\\n!/.ralph/templates/\\n/ralph.log\\n/.ralph-active\\n' > .git/info/exclude");
    let before = look();
    let agent = sandbox.agent(&json!([[{"say": "x"}], [{"say": DONE}]]));
    let ran = sandbox.run(&["-p", "x", "--check", "true"], &agent).exits(0);
    assert_eq!(ran.stderr, "");
    let after = look();
    assert!(before.0 == after.0, "the index is not even rewritten");
    let logs = |text: &str| {
        text.lines()
            .filter(|line| !line.starts_with("!! .ralph/"))
            .map(|l| format!("{l}\n"))
            .collect::<String>()
    };
    assert_eq!(logs(&before.1), logs(&after.1));
}

#[test]
fn a_repository_without_a_commit_works() {
    let sandbox = Sandbox::empty_repository();
    sandbox.write("first.txt", "there before\n");
    let agent = sandbox.agent(&json!([
        [{"write": {"path": "second.txt", "content": "from the agent\n"}}, {"say": "x"}],
        [{"save_prompt": "told"}, {"say": DONE}],
    ]));
    let ran = sandbox.run(&["-p", "x", "--check", "test -f told"], &agent).exits(0);
    assert_eq!(ran.stderr, "");
    assert!(!ran.stdout.contains("not a git repository"));
    let prompt = sandbox.read("told");
    assert!(prompt.contains("+from the agent") && !prompt.contains("+there before"), "{prompt}");
    sandbox.shell("git rev-parse HEAD").exits(128);
}

#[test]
fn bytes_that_are_no_text_are_kept_and_do_no_harm() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([
        [{"raw_hex": "ff00fec328"}, {"raw": "\r\n\0half a line"}, {"raw_hex": "e282"}],
        // A tag in a line that never ends, after a character that was cut in two.
        [{"raw_hex": "00ffe2"}, {"raw": format!("\n{DONE}")}],
    ]));
    let result = sandbox.run(&["-p", "x", "--format", "json"], &agent).stops(0, "completed", 2);
    assert!(result["iterations"][0]["error"].is_null());
    let raw = fs::read(sandbox.run_dir().join("streams/1-1.out")).unwrap();
    assert_eq!(raw, b"\xff\x00\xfe\xc3\x28\r\n\0half a line\xe2\x82");
    let ran = sandbox.ralph(&["show", &sandbox.only_run()]).exits(0);
    assert!(!ran.stdout.contains('\0'));
}

#[test]
fn lines_that_are_not_claudes_are_told_and_passed_over() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.claude(&json!([[
        {"raw": "{\"type\":\"assistant\",\"mess\n"}, {"raw": "warning: not json\n"}, {"raw_hex": "ff00fe0a"},
        {"raw": "{\"type\":\"from_the_future\",\"x\":[1]}\n[]\n\n"}, {"say": DONE}, {"cost": 0.5},
    ]]));
    let ran = sandbox.ralph(&["run", "-p", "x"]).exits(0).says("unknown output (");
    assert!(!ran.stdout.contains('\0'));
    assert_eq!(sandbox.listed()["cost"], 0.5);
    // A stream that ends in the middle of a line.
    let other = Sandbox::bare();
    other.plain_settings();
    other.claude(&json!([[{"say": DONE}, {"raw": "{\"type\":\"resu"}, {"exit": 0}]]));
    let result =
        other.ralph(&["run", "-p", "x", "-n", "1", "--format", "json"]).stops(1, "max_iterations", 1);
    assert_eq!(result["iterations"][0]["error"], "exited without a result");
}

#[test]
fn a_flood_is_kept_whole() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.claude(&json!([[{"print_mb": {"mb": 8, "shape": "events"}}, {"print_mb": {"mb": 4, "shape": "one_line"}}, {"say": DONE}]]));
    sandbox.ralph(&["run", "-p", "x", "--format", "json"]).stops(0, "completed", 1);
    let raw = fs::metadata(sandbox.run_dir().join("streams/1-1.out")).unwrap();
    assert!(raw.len() > 12 << 20, "{}", raw.len());
}

#[test]
fn a_prompt_file_that_is_deleted_in_mid_run_stops_the_run_until_it_is_back() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.write("PROMPT.md", "Mend it.");
    let agent = sandbox
        .agent(&json!([[{"delete": "PROMPT.md"}, {"say": "x"}], [{"save_prompt": "told"}, {"say": DONE}]]));
    let ran = sandbox.run(&["-f", "PROMPT.md", "--format", "json"], &agent);
    let result = ran.stops(1, "error", 1);
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("prompt file not found: ") && message.contains("PROMPT.md"), "{message}");
    assert_eq!(result["error"]["hint"], format!("continue with: ralph resume {}", sandbox.only_run()));
    sandbox.ralph(&["resume"]).exits(1).says("prompt file not found: ").says("continue with: ralph resume ");
    sandbox.write("PROMPT.md", "\n");
    sandbox.ralph(&["resume"]).exits(1).says("the prompt file is empty: ");
    sandbox.write("PROMPT.md", "Mend it now.");
    sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", 2);
    assert_eq!(sandbox.read("told"), "Mend it now.");
}

/// A crashed run beside a completed one.
fn two_runs() -> (Sandbox, String) {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([[{"exit": 1}], [{"say": DONE}]]));
    let first = sandbox.run(&["-p", "x", "--max-failures", "1", "--format", "json"], &agent).exits(1).json();
    sandbox.run(&["-p", "x"], &agent).exits(0);
    (sandbox, first["run"].as_str().unwrap().to_owned())
}

/// Rewrites a line of a run's journal, counted from 0.
fn rewrite(sandbox: &Sandbox, id: &str, number: usize, change: impl Fn(&str) -> String) {
    let path = sandbox.home().join("runs").join(id).join("journal.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let lines =
        text.lines().enumerate().map(|(n, line)| if n == number { change(line) } else { line.to_owned() });
    let text: String = lines.map(|line| line + "\n").collect();
    fs::write(path, text).unwrap();
}

#[track_caller]
fn is_told_everywhere(sandbox: &Sandbox, id: &str, status: &str, problem: &str) {
    let listed = sandbox.ralph(&["runs", "--format", "json"]).exits(0).json();
    let runs = listed.as_array().unwrap();
    let [bad, good] = [true, false].map(|bad| runs.iter().find(|run| (run["id"] == id) == bad).unwrap());
    assert_eq!(good["status"], "completed", "other runs are not hurt");
    assert_eq!((&bad["status"], &bad["resumable"]), (&json!(status), &json!(false)));
    assert!(bad["problem"].as_str().unwrap().contains(problem), "{bad:#}");
    sandbox.ralph(&["runs"]).exits(0).says(problem);
    sandbox.ralph(&["show", id]).exits(1).says(problem);
    sandbox.ralph(&["resume", id]).exits(1).says(problem);
    sandbox.ralph(&["resume"]).exits(1).says("no run to resume");
}

#[test]
fn a_journal_from_a_newer_version_is_shown_and_not_resumed() {
    let (sandbox, id) = two_runs();
    let newer = |line: &str| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        event["v"] = json!(99);
        event["fact"] = json!({"dreamt": {"of": "sheep"}});
        event.to_string()
    };
    rewrite(&sandbox, &id, 2, newer);
    is_told_everywhere(
        &sandbox,
        &id,
        "newer",
        "was written by a newer ralph (version 99, this one supports 9)",
    );
    sandbox.ralph(&["show", &id, "--format", "ndjson"]).exits(0).says("\"dreamt\"");
}

#[test]
fn a_journal_that_is_newer_only_in_its_last_line_is_not_taken_for_a_torn_one() {
    let (sandbox, id) = two_runs();
    let path = sandbox.home().join("runs").join(&id).join("journal.jsonl");
    let last = fs::read_to_string(&path).unwrap().lines().count() - 1;
    rewrite(&sandbox, &id, last, |_| "{\"v\":99,\"fact\":{\"dreamt\":1}}".to_owned());
    is_told_everywhere(&sandbox, &id, "newer", "newer ralph (version 99");
}

#[test]
fn a_damaged_journal_is_told_with_the_line() {
    let (sandbox, id) = two_runs();
    rewrite(&sandbox, &id, 2, |line| line[..line.len() / 2].to_owned());
    is_told_everywhere(&sandbox, &id, "damaged", "the journal is damaged at line 3");
}

#[test]
fn a_journal_that_contradicts_itself_is_told_with_the_line() {
    let (sandbox, id) = two_runs();
    rewrite(&sandbox, &id, 1, |line| line.replace("\"seq\":2", "\"seq\":7"));
    is_told_everywhere(&sandbox, &id, "damaged", "the journal is inconsistent at line 2");
}

#[test]
fn settings_that_are_wrong_are_refused_and_unknown_ones_are_told() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.agent(&json!([[{"say": DONE}]]));
    for (settings, message) in [
        ("{", ".ralph/settings.json: not valid JSON: "),
        ("{\"maximumIterations\": 0}", "maximumIterations: expected a whole number, 1 or more, found 0"),
        (
            "{\"guardrails\": [{\"command\": \"true\", \"failAction\": \"SHOUT\"}]}",
            "guardrails[0].failAction",
        ),
        ("{\"agent\": {\"command\": 3}}", "agent.command"),
    ] {
        sandbox.write(".ralph/settings.json", settings);
        sandbox.run(&["-p", "x"], &agent).exits(2).says(message);
    }
    sandbox.write(".ralph/settings.json", "{\"maximumIteration\": 3}");
    let ran = sandbox.run(&["-p", "x"], &agent).exits(0);
    assert!(
        ran.stderr.contains("warning: ") && ran.stderr.contains("unknown key: maximumIteration"),
        "{}",
        ran.stderr
    );
}
