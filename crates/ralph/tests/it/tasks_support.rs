//! Projects with a task list, and agents that do to it what they are told.

use crate::support::{Agent, Ran, Running, Sandbox};
use serde_json::{Value, json};
use std::fs;

/// A story with a criterion, as it begins.
pub fn new(id: &str) -> Value {
    json!({
        "id": id, "title": format!("Do {id}"), "description": "", "acceptanceCriteria": ["It is done"],
        "priority": 1, "passes": false, "reviewStatus": null, "reviewCount": 0, "reviewFeedback": "",
        "notes": "", "dependsOn": [],
    })
}

/// Implemented, to be looked at; so many reviews before.
pub fn waiting(id: &str, reviews: u32) -> Value {
    with(new(id), &json!({"reviewStatus": "needs_review", "reviewCount": reviews, "notes": "did it"}))
}

/// Sent back by its last review.
pub fn back(id: &str, reviews: u32) -> Value {
    let said = json!({"reviewStatus": "changes_requested", "reviewCount": reviews, "reviewFeedback": "line 3 is wrong"});
    with(waiting(id, reviews), &said)
}

/// Approved by its last review.
pub fn right(id: &str, reviews: u32) -> Value {
    with(waiting(id, reviews), &json!({"reviewStatus": "approved", "passes": true}))
}

pub fn with(mut story: Value, fields: &Value) -> Value {
    for (name, value) in fields.as_object().unwrap() {
        story[name] = value.clone();
    }
    story
}

pub fn list(stories: &[Value]) -> Value {
    verified(stories, &[])
}

pub fn verified(stories: &[Value], commands: &[&str]) -> Value {
    json!({
        "project": "shop", "branchName": "", "description": "A shop", "verifyCommands": commands,
        "userStories": stories,
    })
}

/// As a person or an agent writes it.
pub fn text(list: &Value) -> String {
    format!("{list:#}\n")
}

/// What an agent does, as shell, when it is called the first time, the second time …
pub struct Act(String);

impl Act {
    pub fn shell(script: &str) -> Act {
        Act(script.to_string())
    }

    /// Writes the list, and commits everything.
    pub fn makes(list: &Value) -> Act {
        Act::leaves(list).then("git add -A && git commit -q -m work")
    }

    /// Writes the list, and commits nothing.
    pub fn leaves(list: &Value) -> Act {
        Act(format!("cat > ralph/tasks.json <<'END'\n{}END\n", text(list)))
    }

    pub fn then(self, script: &str) -> Act {
        Act(format!("{}\n{script}", self.0))
    }
}

/// A repository with this list in `ralph/`, committed.
pub fn project(list: &Value) -> Sandbox {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"backoff": {"base": 0.01, "cap": 0.05}}));
    sandbox.write("ralph/tasks.json", text(list));
    sandbox.sh("git add . && git commit -q -m tasks");
    sandbox
}

/// An agent that plays these acts, one a call, and fails when there is none left. It keeps the
/// list and the prompt that it found as `seen-N.json` and `prompt-N` beside the project.
pub fn agent(sandbox: &Sandbox, acts: &[Act]) -> Agent {
    let root = sandbox.root();
    let dir = root.join("acts");
    fs::create_dir_all(&dir).unwrap();
    for (number, Act(script)) in acts.iter().enumerate() {
        fs::write(dir.join(format!("{}.sh", number + 1)), script).unwrap();
    }
    fs::write(dir.join("calls"), "0").unwrap();
    let root = root.to_str().unwrap();
    sandbox.sh_agent(&format!(
        "n=$(($(cat '{root}/acts/calls') + 1)); echo $n > '{root}/acts/calls'
         cat > '{root}/prompt-'$n; cp ralph/tasks.json '{root}/seen-'$n.json 2>/dev/null
         set -e; . '{root}/acts/'$n.sh; echo end of act $n"
    ))
}

/// `ralph tasks --format json ARGS -- AGENT`, still running.
pub fn begin(sandbox: &Sandbox, args: &[&str], agent: &Agent) -> Running {
    sandbox.start(&[&["tasks", "--format", "json"], args, &["--"], &agent.words()[..]].concat())
}

/// To its end.
pub fn run(sandbox: &Sandbox, args: &[&str], acts: &[Act]) -> Ran {
    begin(sandbox, args, &agent(sandbox, acts)).end()
}

/// With the output for people, to its end.
pub fn run_human(sandbox: &Sandbox, args: &[&str], acts: &[Act]) -> Ran {
    let agent = agent(sandbox, acts);
    sandbox.start(&[&["tasks"], args, &["--"], &agent.words()[..]].concat()).end()
}

/// The list that stands there.
#[track_caller]
pub fn now(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sandbox.read("ralph/tasks.json")).unwrap()
}

/// A story's review fields: passes, reviewStatus, reviewCount.
#[track_caller]
pub fn fields(list: &Value, id: &str) -> Value {
    let stories = list["userStories"].as_array().unwrap();
    let story =
        stories.iter().find(|story| story["id"] == id).unwrap_or_else(|| panic!("no {id} in {list:#}"));
    json!([story["passes"], story["reviewStatus"], story["reviewCount"]])
}

/// The list as the agent found it in its n-th call.
#[track_caller]
pub fn seen(sandbox: &Sandbox, call: usize) -> Value {
    let path = sandbox.root().join(format!("seen-{call}.json"));
    serde_json::from_slice(&fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))).unwrap()
}

/// What the agent was asked in its n-th call.
#[track_caller]
pub fn prompt(sandbox: &Sandbox, call: usize) -> String {
    fs::read_to_string(sandbox.root().join(format!("prompt-{call}"))).unwrap()
}

/// `mode story` of every agent that the only run has begun.
pub fn items(sandbox: &Sandbox) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let item = |fact: &Value| {
        let task = &fact["began"]["step"]["agent"]["item"]["task"];
        task.is_object().then(|| format!("{} {}", word(&task["mode"]), word(&task["id"])))
    };
    sandbox.facts().iter().filter_map(item).collect()
}
