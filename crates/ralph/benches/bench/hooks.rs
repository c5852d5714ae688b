//! Hooks, which run after every tool call of an agent, against the same logic as a Python 3
//! script. Python's own interpreter is called, not a version shim, which costs more.

use crate::lab::{Lab, Outcome, median, millis, program, timed};
use crate::table::{Goal, Table};
use ralph::hook::Assignment;
use ralph_loop::task_list::{Mode, TaskList};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROUNDS: usize = 8;
const CALLS: usize = 15;
const TRANSCRIPT_MB: usize = 100;
const STORIES: usize = 500;

const CONTEXT_MONITOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/bench/context_monitor.py");
const STOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/bench/stop.py");
const GUARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/bench/guard.py");

pub fn measure(lab: &Lab, table: &mut Table) -> Outcome<()> {
    let python = python()?;
    let transcript = transcript(lab)?;
    let input = lab.path("post-tool-use.json");
    let asked = json!({
        "session_id": "bench", "transcript_path": transcript, "cwd": lab.project(),
        "hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {"file_path": "src/lib.rs"},
        "tool_response": {"content": "a line of a file\n".repeat(500)},
    });
    fs::write(&input, asked.to_string())?;
    let monitor =
        Pair { lab, python: &python, hook: &["context-monitor"], script: CONTEXT_MONITOR, input: &input };
    // Both see what is there, and the first alert is behind them: as in most tool calls.
    monitor.both_say("of the context is used")?;
    let (ralph, script) = monitor.times()?;
    table.faster("`ralph hook context-monitor`, transcript of 100 MB", (ralph, script), 2.0, 15.0);

    let input = lab.path("stop.json");
    let asked = json!({"session_id": "bench", "cwd": lab.project(), "hook_event_name": "Stop"});
    fs::write(&input, asked.to_string())?;
    let stop = Pair { lab, python: &python, hook: &["stop"], script: STOP, input: &input };
    tasks(lab, json!("approved"))?;
    stop.both_say("block")?;
    tasks(lab, json!("needs_review"))?;
    let (ralph, script) = stop.times()?;
    table.faster("`ralph hook stop`, 500 stories", (ralph, script), 2.0, 15.0);

    // Written anew from end to end: no story is where it was, and both lists are read whole.
    let list = lab.project().join("ralph/tasks.json");
    let compact = TaskList::parse(&fs::read_to_string(&list)?)?;
    fs::write(&list, serde_json::to_string(&compact)?)?;
    let (ralph, script) = stop.times()?;
    let measure = "the same, the list rewritten without indentation";
    table.value(measure, ralph, Some(script), "ms", &Goal::None);
    guard(lab, &python, table)
}

/// Before every tool call: a usual command, and the same with a force push behind it.
fn guard(lab: &Lab, python: &Path, table: &mut Table) -> Outcome<()> {
    let usual = "cd crates && cargo test -p app --lib -- parser 2>&1 | tail -n 40 && git add -A && git commit -m 'fix: it'";
    let policy = lab.path("guard.json");
    let orders = json!({
        "spec": {}, "scope": "everything", "workspace": lab.project(), "writable": [], "protected": [lab.path("home")],
        "since": {"time": 0}, "started_at": "nothing",
    });
    fs::write(&policy, orders.to_string())?;
    let policy = policy.display().to_string();
    let input = lab.path("pre-tool-use.json");
    let hook = ["guard", "--policy", &policy];
    let guard = Pair { lab, python, hook: &hook, script: GUARD, input: &input };
    let ask = |command: &str| {
        let asked = json!({
            "session_id": "bench", "cwd": lab.project(), "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": command},
        });
        fs::write(&input, asked.to_string())
    };
    ask(&format!("{usual} && git push --force"))?;
    guard.both_say("denied: ")?;
    ask(usual)?;
    let (ralph, script) = guard.times()?;
    table.faster("`ralph hook guard`, a usual command", (ralph, script), 5.0, 5.0);
    Ok(())
}

/// The interpreter itself, whatever `python3` in the path is.
fn python() -> Outcome<PathBuf> {
    let told = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output()?;
    let path = PathBuf::from(String::from_utf8(told.stdout)?.trim());
    if path.is_file() { Ok(path) } else { Err("there is no python3 to compare with".into()) }
}

/// A hook and its script.
struct Pair<'a> {
    lab: &'a Lab,
    python: &'a Path,
    hook: &'a [&'a str],
    script: &'a str,
    input: &'a Path,
}

impl Pair<'_> {
    fn commands(&self) -> Outcome<[Command; 2]> {
        let mut ralph = Command::new(program());
        ralph.arg("hook").args(self.hook).env("RALPH_HOME", self.lab.path("home"));
        let mut script = Command::new(self.python);
        script.arg(self.script).env("RALPH_HOME", self.lab.path("home-of-python"));
        for command in [&mut ralph, &mut script] {
            command.env("RALPH_RUN", "bench").env("RALPH_REVIEW", self.lab.path("assignment.json"));
            command.env_remove("CLAUDE_CONTEXT_WINDOW").stdin(File::open(self.input)?);
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        Ok([ralph, script])
    }

    /// Nothing may be fast because it looks at nothing.
    fn both_say(&self, words: &str) -> Outcome<()> {
        for mut command in self.commands()? {
            let said = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
            let said = [said.stdout, said.stderr].concat();
            if !String::from_utf8_lossy(&said).contains(words) {
                return Err(format!("{command:?} does not say: {words}").into());
            }
        }
        Ok(())
    }

    /// Milliseconds of the hook and of the script, which take turns.
    fn times(&self) -> Outcome<(f64, f64)> {
        let (mut ralph, mut script) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            for _ in 0..CALLS {
                let [mut hook, _] = self.commands()?;
                ralph.push(millis(timed(&mut hook)?));
            }
            for _ in 0..CALLS {
                let [_, mut python] = self.commands()?;
                script.push(millis(timed(&mut python)?));
            }
        }
        Ok((median(ralph), median(script)))
    }
}

/// Answers and tool results, as a long session leaves them.
fn transcript(lab: &Lab) -> Outcome<PathBuf> {
    let path = lab.path("transcript.jsonl");
    let mut file = BufWriter::new(File::create(&path)?);
    let usage = json!({"input_tokens": 8, "cache_creation_input_tokens": 900,
                       "cache_read_input_tokens": 110_000, "output_tokens": 250});
    let answer = json!({"parentUuid": "p", "isSidechain": false, "type": "assistant", "uuid": "u",
                        "message": {"id": "m", "role": "assistant", "content": [{"type": "text",
                        "text": "I will read the file first. ".repeat(20)}], "usage": usage}});
    let result = json!({"parentUuid": "u", "isSidechain": false, "type": "user", "uuid": "v",
                        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t",
                        "content": "    let value = compute(input);\n".repeat(300)}]}});
    let pair = format!("{answer}\n{result}\n");
    for _ in 0..(TRANSCRIPT_MB << 20) / pair.len() + 1 {
        file.write_all(pair.as_bytes())?;
    }
    file.flush()?;
    Ok(path)
}

/// A list of which an implement iteration has changed one story, and the assignment for it.
fn tasks(lab: &Lab, status: Value) -> Outcome<()> {
    let story = |number: usize| {
        let done = number < STORIES / 2;
        json!({
            "id": format!("US-{number:03}"),
            "title": format!("The list of orders can be filtered by state {number}"),
            "description": "As a clerk I want to see only the orders that I have to do something about. ".repeat(2),
            "acceptanceCriteria": ["The dropdown has the options All, Open and Done",
                "The choice is part of the address of the page", "An empty list says that it is empty"],
            "priority": number, "passes": done,
            "reviewStatus": if done { json!("approved") } else { Value::Null },
            "reviewCount": u8::from(done), "reviewFeedback": "",
            "notes": if done { "Filter in orders/filter.rs, tests beside it; the state is in the query." } else { "" },
            "dependsOn": if number == 0 { json!([]) } else { json!([format!("US-{:03}", number - 1)]) },
        })
    };
    let mut list = json!({
        "project": "shop", "branchName": "ralph/orders", "description": "Orders can be filtered.",
        "verifyCommands": ["make test"], "userStories": (0..STORIES).map(story).collect::<Vec<_>>(),
    });
    let file = lab.project().join("ralph/tasks.json");
    let assignment = Assignment {
        mode: Mode::Implement,
        story: Some("US-250".into()),
        tasks_file: file.clone(),
        skip_review: false,
        review_cap: 5,
        check_commits: false,
    };
    let text = serde_json::to_string_pretty(&list)?;
    assignment.write(&lab.path("assignment.json"), &TaskList::parse(&text)?, &text)?;
    list["userStories"][STORIES / 2]["reviewStatus"] = status;
    list["userStories"][STORIES / 2]["notes"] = json!("The filter keeps its state in the query.");
    fs::create_dir_all(lab.project().join("ralph"))?;
    fs::write(file, serde_json::to_string_pretty(&list)?)?;
    Ok(())
}
