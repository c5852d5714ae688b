//! docs/first-night.md: every command of the tutorial, one after another, from an empty directory to a merged branch.

use crate::support::Sandbox;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// The lines of all `sh` blocks.
fn commands() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/first-night.md");
    let page = fs::read_to_string(page).unwrap();
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.flat_map(str::lines).map(String::from).collect()
}

fn story(id: &str, title: &str, criterion: &str, on: &[&str]) -> Value {
    json!({
        "id": id, "title": title, "description": format!("People who run the script want this: {title}."),
        "acceptanceCriteria": [criterion], "priority": 1, "passes": false, "reviewStatus": null, "reviewCount": 0,
        "reviewFeedback": "", "notes": "", "dependsOn": on,
    })
}

/// Plans at first; then implements and reviews, in turn, what the list has next.
const AGENT: &str = r##"import json, os, subprocess, sys
drafts = [arg.split("=", 1)[1] for arg in sys.argv if arg.startswith("--add-dir=")]
prompt = sys.stdin.read()
root = os.environ["HOME"] + "/.."
if drafts:
    for name in ["prd.md", "tasks.json"]:
        open(f"{drafts[0]}/{name}", "w").write(open(f"{root}/{name}").read())
else:
    path = "ralph/tasks.json"
    tasks = json.load(open(path))
    story = next(s for s in tasks["userStories"] if not s["passes"])
    if story["reviewStatus"] is None:
        with open("greet.sh", "a") as script:
            script.write({"US-001": "test $# -gt 0 || exit 2\n", "US-002": 'echo "Hello, $1"\n'}[story["id"]])
        open("test.sh", "w").write('sh greet.sh Ada && ! sh greet.sh\n')
        story.update(reviewStatus="needs_review", notes="written")
    else:
        story.update(reviewStatus="approved", passes=True, reviewCount=story["reviewCount"] + 1)
    json.dump(tasks, open(path, "w"), indent=2)
    subprocess.run(["git", "add", "-A"], check=True)
    subprocess.run(["git", "commit", "-qm", f"{story['id']}: {story['reviewStatus']}"], check=True)
print(json.dumps({"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "Done."}]}}))
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "total_cost_usd": 0.1}))
"##;

#[test]
fn every_command_of_the_first_night_works() {
    let sandbox = Sandbox::bare().proving();
    sandbox.sh("git config --global user.name Someone && git config --global user.email someone@localhost");
    fs::write(sandbox.root().join("prd.md"), "# PRD: greeter\n\n## 1. Summary\n\nA script that greets.\n")
        .unwrap();
    let list = json!({
        "project": "greeter", "branchName": "ralph/greeter", "description": "A script that greets.",
        "verifyCommands": ["sh test.sh"],
        "userStories": [
            story("US-001", "A name is needed", "`sh greet.sh` exits with 2", &[]),
            story("US-002", "A greeting", "`sh greet.sh Ada` prints \"Hello, Ada\"", &["US-001"]),
        ],
    });
    fs::write(sandbox.root().join("tasks.json"), list.to_string()).unwrap();
    fs::write(sandbox.root().join("agent.py"), AGENT).unwrap();
    let root = sandbox.root().display().to_string();
    sandbox.program("claude", &format!("exec python3 {root}/agent.py \"$@\""));
    std::os::unix::fs::symlink(crate::support::RALPH, sandbox.root().join("bin/ralph")).unwrap();

    let commands = commands();
    assert!(commands.len() > 15, "{commands:#?}");
    // One shell, as the reader has one; each command is named before it runs.
    let script: String = commands.iter().map(|command| format!("echo '$ {command}'\n{command}\n")).collect();
    let ran = sandbox.shell(&format!("set -e\n{script}"));
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("2 of 2 done"), "{}", ran.stdout);
    let there = |script: &str| sandbox.sh(&format!("cd greeter && {script}"));
    assert_eq!(there("sh greet.sh Ada"), "Hello, Ada\n");
    assert_eq!(there("git branch --show-current"), "main\n");
    assert_eq!(there("ls ralph-archive | wc -l").trim(), "1");
    sandbox.nothing_is_left();
}
