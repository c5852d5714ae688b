//! Seed 001, "Init Command", on a real pseudo-terminal.

use super::Project;
use super::terminal::{CTRL_C, END_OF_INPUT, Terminal};
use serde_json::{Value, json};

const AGENT: &str = "Agent command (claude, codex, amp or any other) [claude]: ";
const FLAGS: &str = "Agent flags (comma-separated) [none]: ";
const ITERATIONS: &str = "Maximum iterations [10]: ";
const RESPONSE: &str = "Completion response [DONE]: ";
const CHECK: &str = "Check command [none]: ";
const ANOTHER: &str = "Another check command [no more]: ";
const ACTION: &str = "  Fail action (APPEND, PREPEND or REPLACE) [APPEND]: ";
const HINT: &str = "  Hint [none]: ";
const SCM: &str = "Configure SCM? (y/N): ";
const SCM_COMMAND: &str = "  SCM command [git]: ";
const SCM_TASKS: &str = "  SCM tasks (comma-separated, such as commit,push) [commit]: ";
const SANDBOX: &str = "Sandbox (auto, bwrap, landlock, none) [auto]: ";
const WRITTEN: &str = "Settings written to .ralph/settings.json";

/// The flow of the seed, with an explanation and a default for each question; without the blanks at
/// the ends of lines.
const EXAMPLE: &str = "
Press Enter to take the answer in brackets.

The program that does the work. No known agent is installed here.
Agent command (claude, codex, amp or any other) [claude]: claude
Arguments to start the agent with, such as --model,opus.
Agent flags (comma-separated) [none]: --model,opus
Each iteration starts a fresh agent. The run stops after this many.
Maximum iterations [10]:
The agent says that it is done with this word: <response>DONE</response>.
Completion response [DONE]:
A check is a command that must succeed before the work counts as done.
Check command [none]: make lint
  If it fails, its output goes after your prompt, before it, or in its place.
  Fail action (APPEND, PREPEND or REPLACE) [APPEND]: APPEND
  Advice that the agent gets along with the output.
  Hint [none]: Fix lint errors only. Do not change behavior.
Another check command [no more]: make test
  Fail action (APPEND, PREPEND or REPLACE) [APPEND]: APPEND
  Hint [none]:
Another check command [no more]:
Source control (SCM): ralph can commit each iteration that passes the checks.
Configure SCM? (y/N): y
  The program that runs the tasks.
  SCM command [git]: git
  What it runs, in this order. For commit, the agent is asked for a message.
  SCM tasks (comma-separated, such as commit,push) [commit]: commit
A sandbox keeps agents and checks inside this project. auto takes the first that works.
Sandbox (auto, bwrap, landlock, none) [auto]:

Settings written to .ralph/settings.json
";

/// What was written, which `ralph` itself must be able to read.
fn written(project: &Project) -> Value {
    assert_eq!(project.ralph(&["config", "show"]).code, 0);
    serde_json::from_str(&project.read(".ralph/settings.json")).unwrap()
}

fn in_ralph_dir(project: &Project) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(project.dir().join(".ralph")) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn on_terminal(project: &Project, args: &[&str]) -> Terminal {
    Terminal::ralph(|program| project.command(program), args)
}

#[test]
fn the_example_flow_of_the_seed() {
    let project = Project::empty();
    let mut terminal = on_terminal(&project, &["init"]);
    for (question, answer) in [
        (AGENT, "claude"),
        (FLAGS, "--model,opus"),
        (ITERATIONS, ""),
        (RESPONSE, ""),
        (CHECK, "make lint"),
        (ACTION, "APPEND"),
        (HINT, "Fix lint errors only. Do not change behavior."),
        (ANOTHER, "make test"),
        (ACTION, "APPEND"),
        (HINT, ""),
        (ANOTHER, ""),
        (SCM, "y"),
        (SCM_COMMAND, "git"),
        (SCM_TASKS, "commit"),
        (SANDBOX, ""),
    ] {
        terminal.answer(question, answer);
    }
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0));
    let lines: Vec<&str> = screen.lines().map(str::trim_end).collect();
    assert_eq!(lines, EXAMPLE.lines().collect::<Vec<_>>());
    insta::assert_snapshot!(project.read(".ralph/settings.json"), @r#"
    {
      "maximumIterations": 10,
      "completionResponse": "DONE",
      "outputTruncateChars": 5000,
      "streamAgentOutput": true,
      "includeIterationCountInPrompt": false,
      "agent": {
        "command": "claude",
        "flags": [
          "--model",
          "opus"
        ]
      },
      "guardrails": [
        {
          "command": "make lint",
          "failAction": "APPEND",
          "hint": "Fix lint errors only. Do not change behavior."
        },
        {
          "command": "make test",
          "failAction": "APPEND"
        }
      ],
      "scm": {
        "command": "git",
        "tasks": [
          "commit"
        ]
      }
    }
    "#);
    assert_eq!(in_ralph_dir(&project), ["settings.json"]);
    written(&project);
}

#[test]
fn enter_takes_the_default_of_every_question() {
    let project = Project::empty();
    let mut terminal = on_terminal(&project, &["init"]);
    for question in [AGENT, FLAGS, ITERATIONS, RESPONSE] {
        terminal.answer(question, "");
    }
    terminal.answer(CHECK, "make");
    for question in [ACTION, HINT, ANOTHER] {
        terminal.answer(question, "");
    }
    terminal.answer(SCM, "y");
    terminal.answer(SCM_COMMAND, "");
    terminal.answer(SCM_TASKS, "");
    terminal.answer(SANDBOX, "");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.to_lowercase().contains("guardrail"), "{screen}");
    let settings = json!({
        "maximumIterations": 10,
        "completionResponse": "DONE",
        "outputTruncateChars": 5000,
        "streamAgentOutput": true,
        "includeIterationCountInPrompt": false,
        "agent": {"command": "claude", "flags": []},
        "guardrails": [{"command": "make", "failAction": "APPEND"}],
        "scm": {"command": "git", "tasks": ["commit"]},
    });
    assert_eq!(written(&project), settings);
}

#[test]
fn wrong_answers_are_asked_again() {
    let project = Project::empty();
    let mut terminal = on_terminal(&project, &["init", "settings"]);
    terminal.answer(AGENT, "\x1b[D");
    terminal.expect("control characters");
    terminal.answer(AGENT, " my-agent ");
    terminal.answer(FLAGS, " -v , ,--fast");
    for wrong in ["0", "-3", "many", "1.5", "99999999999"] {
        terminal.answer(ITERATIONS, wrong);
        terminal.expect("whole number");
    }
    terminal.answer(ITERATIONS, "3");
    terminal.answer(RESPONSE, "SHIPPED");
    terminal.answer(CHECK, "make");
    terminal.answer(ACTION, "nope");
    terminal.expect("Please enter APPEND, PREPEND or REPLACE.");
    terminal.answer(ACTION, "rePlace");
    terminal.answer(HINT, "");
    terminal.answer(ANOTHER, "");
    terminal.answer(SCM, "yes");
    terminal.answer(SCM_COMMAND, "jj");
    terminal.answer(SCM_TASKS, "commit, git push");
    terminal.answer(SANDBOX, "docker");
    terminal.answer(SANDBOX, "None");
    terminal.expect(WRITTEN);
    assert_eq!(terminal.end().0, Some(0));
    let settings = json!({
        "maximumIterations": 3,
        "completionResponse": "SHIPPED",
        "outputTruncateChars": 5000,
        "streamAgentOutput": true,
        "includeIterationCountInPrompt": false,
        "agent": {"command": "my-agent", "flags": ["-v", "--fast"]},
        "guardrails": [{"command": "make", "failAction": "REPLACE"}],
        "scm": {"command": "jj", "tasks": ["commit", "git push"]},
        "sandbox": "none",
    });
    assert_eq!(written(&project), settings);
}

#[test]
fn what_is_there_already_is_offered() {
    let project = Project::empty();
    project.install("codex");
    project.install("gemini");
    project.write("Makefile", "lint:\n\ttrue\ntest: lint\n\ttrue\n");
    project.write("go.mod", "module x\n");
    let mut terminal = on_terminal(&project, &["init"]);
    terminal.expect("Installed here: codex, gemini.");
    terminal.answer("[codex]: ", "");
    terminal.answer(FLAGS, "");
    terminal.answer(ITERATIONS, "");
    terminal.answer(RESPONSE, "");
    terminal.expect(
        "Found in this project (type a number to take it): 1) make lint  2) make test  3) go test ./...",
    );
    terminal.answer(CHECK, "2");
    terminal.answer(ACTION, "append");
    terminal.answer(HINT, "");
    terminal.answer(ANOTHER, "");
    terminal.answer(SCM, "");
    terminal.answer(SANDBOX, "");
    assert_eq!(terminal.end().0, Some(0));
    let settings = written(&project);
    assert_eq!(settings["agent"], json!({"command": "codex", "flags": []}));
    assert_eq!(settings["guardrails"], json!([{"command": "make test", "failAction": "APPEND"}]));
    assert_eq!(settings.get("scm"), None);
}

#[test]
fn settings_that_are_there_are_shown_and_kept_unless_told_otherwise() {
    let project = Project::empty();
    project.settings(r#"{"agent": {"command": "amp", "flags": ["--token", "abc"]}, "maximumIterations": 7}"#);
    for answer in ["", "n", "no", "x"] {
        let mut terminal = on_terminal(&project, &["init"]);
        terminal.answer("Overwrite? (y/N): ", answer);
        let (code, screen) = terminal.end();
        assert_eq!(code, Some(0), "{screen}");
        assert!(
            screen.contains("\"maximumIterations\": 7,\n  \"agent\": {\n    \"command\": \"amp\""),
            "{screen}"
        );
        assert!(screen.contains("Loaded from .ralph/settings.json\n"), "{screen}");
        assert!(!screen.contains("abc") && !screen.contains(AGENT), "{screen}");
    }
    assert!(project.read(".ralph/settings.json").contains("abc"));
}

#[test]
fn overwriting_shows_the_merged_settings_first() {
    let project = Project::empty();
    project.settings(r#"{"agent": {"command": "amp"}, "maximumIterations": 7}"#);
    project.write(".ralph/settings.local.json", r#"{"maximumIterations": 8}"#);
    let mut terminal = on_terminal(&project, &["init"]);
    terminal.expect("\"maximumIterations\": 8");
    terminal.expect("Loaded from .ralph/settings.json (with local overlay from settings.local.json)\n");
    terminal.answer("Overwrite? (y/N): ", "Y");
    terminal.answer(AGENT, "claude");
    for question in [FLAGS, ITERATIONS, RESPONSE, CHECK, SCM, SANDBOX] {
        terminal.answer(question, "");
    }
    terminal.expect(WRITTEN);
    assert_eq!(terminal.end().0, Some(0));
    assert_eq!(written(&project)["maximumIterations"], 10);
    assert_eq!(project.read(".ralph/settings.local.json"), r#"{"maximumIterations": 8}"#);
}

#[test]
fn the_end_of_input_and_ctrl_c_leave_everything_as_it_was() {
    for key in [END_OF_INPUT, CTRL_C] {
        for there in [None, Some("{\"maximumIterations\": 7}")] {
            let project = Project::empty();
            let mut terminal = {
                there.inspect(|content| project.settings(content));
                on_terminal(&project, &["init"])
            };
            if there.is_some() {
                terminal.answer("Overwrite? (y/N): ", "y");
            }
            terminal.answer(AGENT, "claude");
            terminal.answer(FLAGS, "");
            terminal.expect(ITERATIONS);
            terminal.key(key);
            let (code, screen) = terminal.end();
            assert_eq!(code, Some(130), "{screen}");
            assert!(screen.contains("nothing was written"), "{screen}");
            match there {
                None => assert!(in_ralph_dir(&project).is_empty()),
                Some(content) => {
                    assert_eq!(project.read(".ralph/settings.json"), content);
                    assert_eq!(in_ralph_dir(&project), ["settings.json"]);
                }
            }
        }
    }
}

#[test]
fn ctrl_c_counts_in_the_middle_of_a_line_and_at_the_first_question() {
    let project = Project::empty();
    project.settings("{}");
    let mut terminal = on_terminal(&project, &["init"]);
    terminal.expect("Overwrite? (y/N): ");
    terminal.key("ye");
    terminal.expect("ye");
    terminal.key(CTRL_C);
    assert_eq!(terminal.end().0, Some(130));
    assert_eq!(project.read(".ralph/settings.json"), "{}");
}

#[test]
fn without_a_terminal_nothing_is_asked() {
    let project = Project::empty();
    let answer = project.ralph(&["init"]);
    assert_eq!((answer.code, answer.out.as_str()), (2, ""));
    assert!(answer.err.contains("standard input is not a terminal"), "{}", answer.err);
    assert!(in_ralph_dir(&project).is_empty());
}

#[test]
fn settings_that_are_wrong_or_cannot_be_written_end_it_with_2() {
    let project = Project::empty();
    project.settings("{,}");
    let (code, screen) = on_terminal(&project, &["init"]).end();
    assert_eq!(code, Some(2), "{screen}");
    assert!(screen.contains(".ralph/settings.json: not valid JSON"), "{screen}");

    let project = Project::empty();
    project.write(".ralph", "in the way");
    let mut terminal = on_terminal(&project, &["init"]);
    terminal.answer(AGENT, "claude");
    for question in [FLAGS, ITERATIONS, RESPONSE, CHECK, SCM, SANDBOX] {
        terminal.answer(question, "");
    }
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(2), "{screen}");
    assert!(screen.contains("cannot write the settings: .ralph/settings.json"), "{screen}");
    assert_eq!(project.read(".ralph"), "in the way");
}
