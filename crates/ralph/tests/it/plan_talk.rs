//! `ralph plan` in a terminal, with a scripted agent: what is asked when the user leaves it, and its hook.

use crate::plan::{list, story};
use crate::screen::Screen;
use crate::support::{RALPH, Sandbox, until};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

const PRD: &str = "# PRD: greeter\n\n## 1. Summary\n\nA script that greets people by name.\n";

/// Puts a `claude` into the path that does this in a conversation, and fails at all else. `$drafts` is where it writes,
/// `hook` calls the hook as Claude does.
fn claude(sandbox: &Sandbox, body: &str) {
    let root = sandbox.root().display();
    sandbox.program(
        "claude",
        &format!(
            r#"case "$*" in *--append-system-prompt-file*) ;; *) exit 7;; esac
for arg; do case "$arg" in --add-dir=*) drafts=${{arg#--add-dir=}};; esac; done
echo "$*" >> {root}/starts
hook() {{ echo "{{\"session_id\":\"s-1\",\"stop_hook_active\":$1}}" | {RALPH} hook plan-stop; echo; }}
cd {root}
{body}"#
        ),
    );
}

fn project(list: &Value) -> Sandbox {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"backoff": {"base": 0.01, "cap": 0.02}}));
    for (name, content) in [("prd.md", PRD.to_owned()), ("tasks.json", list.to_string())] {
        fs::write(sandbox.root().join(name), content).unwrap();
    }
    sandbox
}

fn start(sandbox: &Sandbox, args: &[&str]) -> Screen {
    Screen::start(sandbox.command("setsid"), &[&[RALPH, "plan"], args].concat(), (100, 40))
}

fn good() -> Value {
    list(&[story("US-001", "Hello")])
}

#[test]
fn the_plan_is_committed_and_run_if_the_user_says_so() {
    let sandbox = project(&good());
    claude(&sandbox, "cp prd.md tasks.json $drafts; hook false > /dev/null");
    sandbox.write("unrelated", "not mine to commit");
    sandbox.sh("git add -A && git commit -qm unrelated");
    let mut screen = start(&sandbox, &["greet people"]);
    screen.shows("What next? [l]:");
    screen.keys("r\n");
    let (code, seen) = screen.restored();
    assert_eq!(code, Some(1), "the agent of the run fails: {seen}");
    assert_eq!(sandbox.runs().len(), 1);
    assert_eq!(
        sandbox.sh("git log -1 --format=%s ralph/greeter"),
        "plan: what to build, as stories for ralph\n"
    );
    let committed = sandbox.sh("git show --format= --name-only ralph/greeter");
    for file in [".gitignore", "ralph/prd.md", "ralph/progress.txt", "ralph/prompt.md", "ralph/tasks.json"] {
        assert!(committed.contains(file), "{file}: {committed}");
    }
}

#[test]
fn the_agent_reads_the_idea_as_it_is_and_the_record_has_no_secret() {
    const TOKEN: &str = "tok-0123456789abcdef";
    let sandbox = project(&good());
    let told =
        "for arg; do [ \"$last\" = --append-system-prompt-file ] && cat \"$arg\" >> told; last=$arg; done";
    claude(&sandbox, &format!("{told}; cp prd.md tasks.json $drafts; hook false > /dev/null"));
    sandbox.sh("git add -A && git commit -qm settings");
    let mut command = sandbox.command("setsid");
    command.env("API_TOKEN", TOKEN);
    let idea = format!("greet people with {TOKEN}");
    let mut screen = Screen::start(command, &[RALPH, "plan", &idea], (100, 40));
    screen.shows("What next? [l]:");
    let plans = || fs::read_dir(sandbox.home().join("plans")).unwrap().map(|plan| plan.unwrap().path());
    let record = fs::read_to_string(plans().next().unwrap().join("instructions.md")).unwrap();
    assert!(record.contains("greet people with ***API_TOKEN***") && !record.contains(TOKEN), "{record}");
    let told = || fs::read_to_string(sandbox.root().join("told")).unwrap();
    assert_eq!(told(), record.replace("***API_TOKEN***", TOKEN));
    // The conversation goes on with the same, and what it was handed does not outlive it.
    screen.keys("c\n");
    screen.until("the question again", |screen| screen.matches("What next? [l]:").count() == 2);
    assert_eq!(told(), record.replace("***API_TOKEN***", TOKEN).repeat(2));
    let handed = || fs::read_dir(sandbox.home().join("handed")).unwrap().count();
    assert_eq!(handed(), 1);
    screen.keys("r\n");
    screen.restored();
    assert_eq!((handed(), sandbox.runs().len()), (0, 1));
}

#[test]
fn edits_of_the_user_are_not_committed_with_the_plan() {
    let sandbox = project(&good());
    sandbox.write(".gitignore", "target\n");
    sandbox.sh("git add -A && git commit -qm before");
    sandbox.write(".gitignore", "target\nmine\n");
    sandbox.write("ralph/prompt.md", "My own prompt: {{ story }}\n");
    claude(&sandbox, "cp prd.md tasks.json $drafts");
    let mut screen = start(&sandbox, &["greet people"]);
    screen.shows("What next? [l]:");
    screen.keys("r\n");
    screen.restored();
    let files =
        sandbox.sh("git show --format= --name-only $(git log --all --format=%h --grep='^plan: what' -1)");
    assert_eq!(files, "ralph/prd.md\nralph/progress.txt\nralph/tasks.json\n");
    assert!(sandbox.sh("git status --porcelain").contains(".gitignore"));
}

#[test]
fn the_same_conversation_goes_on_and_ctrl_c_at_the_question_changes_nothing() {
    let sandbox = project(&good());
    claude(&sandbox, "cp prd.md tasks.json $drafts; hook false > /dev/null");
    let mut screen = start(&sandbox, &["greet people"]);
    screen.shows("What next? [l]:");
    let before = sandbox.read("ralph/tasks.json");
    screen.keys("x\n");
    screen.shows("Please type one of: r, c, q, l");
    screen.keys("c\n");
    screen.until("the question again", |screen| screen.matches("What next? [l]:").count() == 3);
    screen.keys("\x03");
    let (code, seen) = screen.restored();
    assert_eq!(code, Some(130), "{seen}");
    assert!(seen.contains("stopped; no plan was put in place, created: ralph/prd.md"), "{seen}");
    assert_eq!(sandbox.read("ralph/tasks.json"), before);
    let starts = fs::read_to_string(sandbox.root().join("starts")).unwrap();
    let starts: Vec<&str> = starts.lines().filter(|line| line.contains("--settings")).collect();
    assert!(starts[0].contains("--session-id") && starts[1].contains("--resume s-1"), "{starts:?}");
}

#[test]
fn ctrl_d_at_the_question_keeps_the_plan() {
    let sandbox = project(&good());
    claude(&sandbox, "cp prd.md tasks.json $drafts");
    let mut screen = start(&sandbox, &["greet people"]);
    screen.shows("What next? [l]:");
    screen.keys("\x04");
    let (code, seen) = screen.restored();
    assert_eq!(code, Some(0), "{seen}");
    assert!(
        seen.contains("running the checks of the plan") && seen.contains("written: ralph/prd.md"),
        "{seen}"
    );
    assert!(sandbox.read("ralph/tasks.json").contains("\"Hello\""));
}

#[test]
fn a_conversation_goes_on_also_if_the_hook_was_never_called() {
    let sandbox = project(&good());
    claude(&sandbox, "cp prd.md tasks.json $drafts");
    let mut screen = start(&sandbox, &["greet people"]);
    screen.shows("What next? [l]:");
    screen.keys("c\n");
    screen.until("the question again", |screen| screen.matches("What next? [l]:").count() == 2);
    screen.keys("l\n");
    assert_eq!(screen.restored().0, Some(0));
    let starts = fs::read_to_string(sandbox.root().join("starts")).unwrap();
    let after = |flag: &str| {
        let words: Vec<&str> = starts.split_whitespace().collect();
        let at = words.iter().position(|word| *word == flag).unwrap();
        words[at + 1].to_owned()
    };
    assert_eq!(after("--session-id"), after("--resume"), "{starts}");
}

/// Puts a `claude` into the path that asks a question over its stream. The first one plans badly, the second well.
fn asking(sandbox: &Sandbox) {
    let root = sandbox.root().display();
    sandbox.program(
        "claude",
        &format!(
            r#"for arg; do case "$arg" in --add-dir=*) drafts=${{arg#--add-dir=}};; esac; done
cd {root}; n=$(($(cat calls 2>/dev/null || echo 0) + 1)); echo $n > calls
read -r line; printf '%s' "$line" > prompt-$n
echo '{{"type":"control_request","request_id":"r","request":{{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{{"questions":[{{"question":"Question '$n'?","options":[]}}]}}}}}}'
read -r line; printf '%s' "$line" > said-$n
cp prd.md $drafts; cp tasks-$n.json $drafts/tasks.json
echo '{{"type":"result","subtype":"success","is_error":false,"result":"I planned it."}}'"#
        ),
    );
}

#[test]
fn questions_of_a_second_agent_are_asked_too_and_it_knows_the_answers_to_the_first() {
    let mut vague = good();
    vague["userStories"][0]["acceptanceCriteria"] = json!(["works correctly"]);
    let sandbox = project(&good());
    for (name, list) in [("tasks-1.json", vague), ("tasks-2.json", good())] {
        fs::write(sandbox.root().join(name), list.to_string()).unwrap();
    }
    asking(&sandbox);
    let mut screen = start(&sandbox, &["--ask", "greet people"]);
    for (question, answer) in [("Question 1?", "in French\n"), ("Question 2?", "by name\n")] {
        screen.shows(question);
        screen.until("the prompt", |screen| screen.trim_end().ends_with("Your answer:"));
        screen.keys(answer);
    }
    let (code, seen) = screen.restored();
    assert_eq!(code, Some(0), "{seen}");
    let read = |name: &str| fs::read_to_string(sandbox.root().join(name)).unwrap();
    assert!(read("said-1").contains("in French") && read("said-2").contains("by name"));
    assert!(!read("prompt-1").contains("in French") && read("prompt-2").contains("Question 1? in French"));
    let prd = sandbox.read("ralph/prd.md");
    assert!(
        prd.contains("- Question 1? **in French**") && prd.contains("- Question 2? **by name**"),
        "{prd}"
    );
}

/// A project whose only story could be worded better, and an agent that does so.
fn with_unclear_story() -> (Sandbox, String) {
    let sandbox = project(&list(&[story("US-001", "Hello")]));
    sandbox.sh("mkdir ralph && cp ../prd.md ../tasks.json ralph");
    let better = list(&[story("US-001", "Hello, by name")]).to_string();
    for name in ["tasks.json", "tasks-1.json", "tasks-2.json"] {
        fs::write(sandbox.root().join(name), &better).unwrap();
    }
    let before = sandbox.read("ralph/tasks.json");
    (sandbox, before)
}

#[test]
fn a_proposed_change_is_made_only_if_the_user_says_yes() {
    let (sandbox, before) = with_unclear_story();
    asking(&sandbox);
    for (answer, is_changed) in [("\n", false), ("y\n", true)] {
        let mut screen = start(&sandbox, &["--ask", "--why", "US-001"]);
        screen.shows("Your answer:");
        screen.keys("by name\n");
        screen.shows("Change US-001 like this? [y/N]:");
        screen.keys(answer);
        let (code, seen) = screen.restored();
        assert_eq!(code, Some(0), "{seen}");
        assert!(seen.contains("- Hello") && seen.contains("+ Hello, by name"), "{seen}");
        assert_eq!(sandbox.read("ralph/tasks.json") != before, is_changed, "{seen}");
    }
    assert!(sandbox.read("ralph/tasks.json").contains("Hello, by name"));
}

#[test]
fn a_change_that_was_talked_about_is_shown_and_made() {
    let (sandbox, _) = with_unclear_story();
    claude(&sandbox, "cp tasks.json $drafts; echo 'It says nothing of names.' > $drafts/why.md");
    let mut screen = start(&sandbox, &["--why", "US-001"]);
    screen.shows("What next? [l]:");
    screen.shows("+ Hello, by name");
    screen.keys("l\n");
    let (code, seen) = screen.restored();
    assert_eq!(code, Some(0), "{seen}");
    assert!(sandbox.read("ralph/tasks.json").contains("Hello, by name"));
}

#[test]
fn the_time_limit_does_not_run_while_the_user_thinks() {
    const LIMIT: Duration = Duration::from_secs(8);
    let sandbox = project(&good());
    sandbox.settings(&json!({"timeout": LIMIT.as_secs()}));
    fs::write(sandbox.root().join("tasks-1.json"), good().to_string()).unwrap();
    asking(&sandbox);
    let mut screen = start(&sandbox, &["--ask", "greet people"]);
    screen.shows("Your answer:");
    std::thread::sleep(LIMIT);
    screen.keys("in French\n");
    let (code, seen) = screen.restored();
    assert_eq!(code, Some(0), "{seen}");
}

#[test]
fn an_agent_that_does_not_end_is_killed_when_ralph_is_told_again() {
    let sandbox = project(&good());
    claude(&sandbox, "trap ': > told' TERM; : > up; while :; do sleep 0.1; done");
    let screen = start(&sandbox, &["greet people"]);
    until("the agent", || sandbox.root().join("up").exists());
    kill_process(screen.pid(), Signal::TERM).unwrap();
    until("the first signal", || sandbox.root().join("told").exists());
    kill_process(screen.pid(), Signal::TERM).unwrap();
    let (code, seen) = screen.restored();
    assert_eq!(code, Some(130), "{seen}");
}

#[test]
fn ctrl_c_ends_an_agent_that_does_not_read_what_it_is_told() {
    let sandbox = project(&good());
    let root = sandbox.root().display();
    sandbox.program("claude", &format!(": > {root}/up; exec sleep 600"));
    // More than a pipe holds.
    fs::write(sandbox.root().join("idea.md"), "Greet people. ".repeat(50_000)).unwrap();
    let mut screen = start(&sandbox, &["--ask", "--from", "../idea.md"]);
    until("the agent", || sandbox.root().join("up").exists());
    screen.keys("\x03");
    let (code, seen) = screen.restored();
    assert_eq!(code, Some(130), "{seen}");
}

#[test]
fn an_agent_that_cannot_start_is_an_error_and_changes_nothing() {
    let sandbox = project(&good());
    claude(&sandbox, "echo 'not logged in' >&2; exit 1");
    let (code, seen) = start(&sandbox, &["greet people"]).restored();
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains("the agent failed: claude ended with exit code 1"), "{seen}");
}

#[test]
fn the_screen_is_restored_after_an_agent_that_fails() {
    let sandbox = project(&good());
    claude(&sandbox, r"printf '\033[?1049h\033[?25l\033[?2004h\033[?1h\033=\033[?2026h'; exit 1");
    let mut screen = start(&sandbox, &["greet people"]);
    screen.shows("the agent failed");
    assert!(!screen.screen.screen().application_cursor() && !screen.screen.screen().application_keypad());
    assert_eq!(screen.restored().0, Some(1));
}

#[test]
fn the_hook_blocks_a_few_times_in_a_row_and_names_a_valid_plan_once() {
    let mut vague = good();
    vague["userStories"][0]["acceptanceCriteria"] = json!(["works correctly"]);
    let sandbox = project(&vague);
    fs::write(sandbox.root().join("good.json"), good().to_string()).unwrap();
    claude(
        &sandbox,
        "{ hook false; cp prd.md tasks.json $drafts; hook false; hook true; hook true; hook true; hook true
           hook false; cp good.json $drafts/tasks.json; hook true; hook false; } > said",
    );
    let mut screen = start(&sandbox, &["greet people"]);
    screen.shows("What next? [l]:");
    screen.keys("q\n");
    let (code, seen) = screen.restored();
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains("dropped; no plan was put in place, created: ralph/prd.md"), "{seen}");
    let said = fs::read_to_string(sandbox.root().join("said")).unwrap();
    let kinds: Vec<&str> = said
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| match serde_json::from_str::<Value>(line).unwrap() {
            said if said["decision"] == "block"
                && said["reason"].as_str().unwrap().contains("works correctly") =>
            {
                "block"
            }
            said if said["systemMessage"].as_str().is_some_and(|text| text.contains("not valid yet")) => {
                "invalid"
            }
            said if said["systemMessage"].as_str().is_some_and(|text| text.contains("is valid")) => "valid",
            said => panic!("{said}"),
        })
        .collect();
    assert_eq!(kinds, ["block", "block", "block", "invalid", "invalid", "block", "valid"]);
    let outside = sandbox.shell("echo '{}' | \"$RALPH\" hook plan-stop").exits(0);
    assert_eq!((outside.stdout.as_str(), outside.stderr.as_str()), ("", ""));
}
