//! Talking to a run in a terminal from another one: by its id, or from its directory.

use crate::support::{Agent, RALPH, Running, Sandbox, until};
use crate::terminal::skip;
use rustix::process::Signal;
use serde_json::{Value, json};

struct Stage(Sandbox);

impl Stage {
    fn new() -> Stage {
        let sandbox = Sandbox::bare();
        sandbox.plain_settings();
        Stage(sandbox)
    }

    /// Keeps its prompt, says a line, and ends once the test says so.
    fn agent(&self) -> Agent {
        self.0.sh_agent(
            "cat > part.$RALPH_ITERATION; echo words of agent $RALPH_ITERATION; \
             mv part.$RALPH_ITERATION got.$RALPH_ITERATION; \
             until [ -e go.$RALPH_ITERATION ]; do sleep 0.02; done",
        )
    }

    /// A run whose first agent is at work.
    fn begin(&self, args: &[&str]) -> Running {
        let running = self.0.begin(&[&["-p", "Do task A"], args].concat(), &self.agent());
        self.0.until_file("got.1");
        running
    }

    fn go(&self, iteration: u32) {
        self.0.write(&format!("go.{iteration}"), "");
    }

    fn until_judged(&self, iteration: u32) {
        self.0.until_fact("the judgement", |fact| fact["judged"]["iteration"] == iteration);
    }

    fn status(&self, name: &str) -> Value {
        self.0.ralph(&["status", name, "--format", "json"]).exits(0).json()
    }
}

fn position(facts: &[Value], fits: impl Fn(&Value) -> bool) -> usize {
    facts.iter().position(fits).unwrap_or_else(|| panic!("{facts:#?}"))
}

#[test]
fn a_run_is_paused_and_continued_from_another_terminal() {
    let stage = Stage::new();
    let running = stage.begin(&["-n", "2"]);
    let id = stage.0.only_run();
    stage.0.ralph(&["pause"]).exits(0).says(&format!("paused ralph loop for {id}\n"));
    stage.0.ralph(&["pause", &id[..15]]).exits(0).says(&format!("warning: run {id} is already paused"));
    let line = format!("ralph: paused, after iteration 1; continue with: ralph resume {id}\n");
    until("the line in the terminal", || running.stderr().contains(&line));
    stage.go(1);
    stage.until_judged(1);
    assert_eq!(stage.status(&id)["status"], "paused");
    // It keeps its directory.
    stage
        .0
        .run(&["-p", "x", "-n", "1"], &stage.0.sh_agent("cat"))
        .exits(2)
        .says("is already working in this directory");
    stage.0.ralph(&["resume"]).exits(0).says(&format!("resumed ralph loop for {id}\n"));
    stage.go(2);
    running.end().exits(1).says("ralph: resumed\n");
    let facts = stage.0.facts();
    let second = position(&facts, |fact| fact["began"]["step"]["agent"]["iteration"] == 2);
    assert!(position(&facts, |fact| fact["asked"] == "continue") < second, "{facts:#?}");
    assert!(position(&facts, |fact| fact["judged"]["iteration"] == 1) < second);
}

#[test]
fn a_paused_run_that_gets_ctrl_c_is_interrupted_and_can_be_resumed() {
    let stage = Stage::new();
    let running = stage.begin(&["-n", "2"]);
    stage.0.ralph(&["pause"]).exits(0);
    stage.go(1);
    stage.until_judged(1);
    running.signal(Signal::INT);
    running.end().exits(130);
    assert_eq!(stage.0.listed()["status"], "interrupted");
    stage.go(2);
    stage.0.ralph(&["resume", "--format", "json"]).stops(1, "max_iterations", 2);
}

#[test]
fn resume_with_a_limit_continues_a_paused_run_with_it() {
    let stage = Stage::new();
    let running = stage.begin(&["-n", "1"]);
    let id = stage.0.only_run();
    stage.0.ralph(&["pause"]).exits(0);
    stage
        .0
        .ralph(&["resume", "-n", "2", &id])
        .exits(0)
        .says(&format!("set max-iterations of {id} to 2\nresumed ralph loop for {id}\n"));
    stage.go(1);
    stage.go(2);
    running.end().exits(1).says("ralph: max-iterations is now 2\n");
    assert_eq!(stage.0.agents_begun(), 2);
}

#[test]
fn a_run_is_killed_at_once() {
    let stage = Stage::new();
    let running = stage.begin(&["-n", "2"]);
    let id = stage.0.only_run();
    stage.0.ralph(&["kill"]).exits(0).says(&format!("killed {id}\n"));
    running.end().exits(1).says("killed: stopping everything now").says(&format!("ralph resume {id}"));
    stage.0.nothing_is_left();
    assert_eq!(stage.0.listed()["status"], "killed");
    stage.0.ralph(&["kill", &id]).exits(0).says(&format!("ralph: warning: run {id} is not running"));
}

#[test]
fn limits_and_notes_reach_a_run() {
    let stage = Stage::new();
    let running = stage.begin(&["-n", "9", "--format", "json"]);
    let id = stage.0.only_run();
    stage
        .0
        .ralph(&["set", "-n", "2", "--max-time", "1h"])
        .exits(0)
        .says(&format!("set max-iterations of {id} to 2\nset max-time of {id} to 1h0m\n"));
    stage.0.ralph(&["say", "mind the gap"]).exits(0).says(&format!("added to the next prompt of {id}"));
    stage.0.ralph(&["say", &id, "and the step"]).exits(0);
    stage.go(1);
    stage.go(2);
    let ran = running.end();
    assert!(ran.stderr.contains("ralph: received a note for the next iteration\n"), "{}", ran.stderr);
    ran.stops(1, "max_iterations", 2);
    assert!(!stage.0.read("got.1").contains("mind the gap"));
    let second = stage.0.read("got.2");
    assert!(second.contains("mind the gap") && second.contains("and the step"), "{second}");
}

#[test]
fn an_agent_cannot_control_its_own_run() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let commands = ["pause", "resume", "kill", "kill --all", "set -n 9", "say 'well done'"];
    let script: Vec<String> = commands
        .iter()
        .flat_map(|command| {
            [
                format!("{RALPH} {command} 2>> told.txt"),
                format!("env -u RALPH_RUN {RALPH} {command} 2>> told.txt"),
            ]
        })
        .collect();
    let agent = sandbox.sh_agent(&script.join("; "));
    sandbox.run(&["-p", "x", "-n", "1", "--format", "json"], &agent).stops(1, "max_iterations", 1);
    let stderr = sandbox.read("told.txt");
    // `resume` finds nothing that is paused, and nothing to resume.
    let refused = stderr.matches("cause: an agent cannot control its own run").count();
    assert_eq!(refused, 2 * (commands.len() - 2), "{stderr}");
    assert_eq!(stderr.matches("cannot kill all runs from here").count(), 2, "{stderr}");
    assert!(!sandbox.facts().iter().any(|fact| fact["asked"].is_object() || fact["asked"].is_string()));
}

#[test]
fn status_shows_runs_in_terminals_while_they_run() {
    let stage = Stage::new();
    stage.0.ralph(&["status"]).exits(0).says("No workers and no active runs.");
    let running = stage.begin(&["-n", "1"]);
    let id = stage.0.only_run();
    let dir = stage.0.project().display().to_string();
    let status = stage.0.ralph(&["status"]).exits(0);
    status.says(&format!("Ralph Loop: {id}\nStatus: running\n")).says(&format!("Directory: {dir}\n"));
    let all = stage.0.ralph(&["status", "--format", "json"]).exits(0).json();
    assert_eq!(all.as_array().unwrap().len(), 1, "{all:#}");
    let one = &all[0];
    assert_eq!((&one["name"], &one["run"], &one["status"]), (&json!(id), &json!(id), &json!("running")));
    assert_eq!((&one["loop_gone"], &one["tmux"]), (&json!(false), &Value::Null));
    assert_eq!((&one["metadata"]["ralph"], &one["workspace"]), (&json!(true), &json!(dir)));
    stage.0.ralph(&["ls"]).exits(0).says(&format!("\n{id} running iteration 1/1 sh "));
    stage.go(1);
    running.end().exits(1);
    assert_eq!(stage.0.ralph(&["status", "--format", "json"]).exits(0).json(), json!([]));
    assert_eq!(stage.status(&id)["reason"], "max_iterations");
}

#[test]
fn what_a_run_says_can_be_read_elsewhere_whatever_its_terminal_shows() {
    for flags in [&[][..], &["-q"], &["--format", "json"], &["--no-stream-agent-output"]] {
        let stage = Stage::new();
        let running = stage.begin(&[&["-n", "2"], flags].concat());
        let id = stage.0.only_run();
        let follower = stage.0.start(&["logs", "--follow"]);
        until("the words of the first", || follower.stdout().contains("words of agent 1\n"));
        stage.go(1);
        until("the words of the second", || follower.stdout().contains("words of agent 2\n"));
        stage.go(2);
        running.end().exits(1);
        // The last run here is meant once nothing runs.
        let all = stage.0.ralph(&["logs"]).exits(0).says("[ERR] max_iterations: ").stdout;
        until("the last lines", || follower.stdout() == all);
        assert!(all.starts_with(&format!("ralph run {id}\n")), "{all}");
        let last: Vec<&str> = all.lines().collect();
        let last = last[last.len() - 3..].join("\n") + "\n";
        assert_eq!(stage.0.ralph(&["logs", &id[..15], "--lines", "3"]).exits(0).stdout, last);
        assert_eq!(stage.0.ralph(&["logs", "--lines", "0"]).exits(0).stdout, "");
        assert_eq!(stage.0.ralph(&["logs", "--lines", "1000"]).exits(0).stdout, all);
    }
}

#[test]
fn the_events_of_a_run_are_those_of_its_journal() {
    let stage = Stage::new();
    let running = stage.begin(&["-n", "1"]);
    let follower = stage.0.start(&["logs", "--events", "-f"]);
    until("the start", || follower.stdout().contains("[START] iteration 1/1\n"));
    stage.go(1);
    running.end().exits(1);
    let all = stage.0.ralph(&["logs", "--events"]).exits(0).stdout;
    assert!(all.ends_with("[STOP] stopped after 1 iteration: max_iterations\n"), "{all}");
    until("the end", || follower.stdout() == all);
    let last = stage.0.ralph(&["logs", "--events", "--lines", "1"]).exits(0).stdout;
    assert!(last.lines().count() == 1 && all.ends_with(&last), "{last}");
}

#[test]
fn the_output_of_a_run_goes_on_when_it_is_resumed_and_is_capped() {
    let sandbox = Sandbox::bare();
    let flood = sandbox.sh_agent("cat > /dev/null; seq -f 'iteration '$RALPH_ITERATION' line %g' 1 3000");
    sandbox.settings(&json!({"context": false, "checkpoints": false, "keepStreams": 0.1}));
    sandbox.run(&["-p", "x", "-n", "4"], &flood).exits(1);
    sandbox.ralph(&["resume", "-n", "5"]).exits(1);
    let all = sandbox.ralph(&["logs"]).exits(0).stdout;
    // Iterations whose output was removed for later ones say so once.
    let gone = "--- Iteration 1/4 ---\n[ralph] older output is no longer kept (keepStreams)\n[OK] Complete";
    assert!(all.contains(gone), "{}", &all[..500]);
    assert_eq!(all.matches("no longer kept").count(), 1);
    assert!(all.contains("iteration 5 line 3000\n") && !all.contains("iteration 1 line 1\n"));
    let lives = ["[ERR] max_iterations: ", "  resumed at iteration 5, ", "[ERR] max_iterations: "];
    let mut rest = &all[..];
    for words in lives {
        rest = rest.split_once(words).unwrap_or_else(|| panic!("{words}")).1;
    }
    let last = sandbox.ralph(&["logs", "--lines", "3100"]).exits(0).stdout;
    assert!(all.ends_with(&last) && last.lines().count() == 3100, "over more than one agent");
}

#[test]
fn what_an_agent_prints_beyond_the_cap_is_shown_from_its_start_and_its_end() {
    let sandbox = Sandbox::bare();
    let flood = sandbox.sh_agent("cat > /dev/null; seq -f 'line %g' 1 50000; echo complaint >&2");
    sandbox.settings(&json!({"context": false, "checkpoints": false, "keepStreams": 0.1}));
    sandbox.run(&["-p", "x", "-n", "1"], &flood).exits(1);
    let all = sandbox.ralph(&["logs"]).exits(0).stdout;
    let order =
        ["\nline 1\n", "output in between was dropped", "\nline 50000\n", "\ncomplaint\n", "[OK] Complete"];
    let mut rest = &all[..];
    for words in order {
        rest = rest.split_once(words).unwrap_or_else(|| panic!("{words}: {}", &all[all.len() - 500..])).1;
    }
    assert!(!all.contains("\nline 25000\n"));
}

#[test]
fn several_runs_in_a_directory_have_to_be_named() {
    let stage = Stage::new();
    let first = stage.begin(&["-n", "1"]);
    let second = stage.0.begin(
        &["-p", "x", "-n", "1", "--share-workspace"],
        &stage.0.sh_agent("cat > /dev/null; echo 1 > second; until [ -e go.1 ]; do sleep 0.02; done"),
    );
    stage.0.until_file("second");
    let [one, other] = &stage.0.runs()[..] else { panic!("{:?}", stage.0.runs()) };
    let refused = format!("ralph: error: several runs are running in this directory: {one}, {other}\n");
    for command in [&["pause"][..], &["kill"], &["say", "x"], &["set", "-n", "2"], &["logs"]] {
        stage.0.ralph(command).exits(1).says(&refused);
    }
    stage.go(1);
    first.end().exits(1);
    second.end().exits(1);
}

#[test]
fn where_nothing_runs_that_is_said() {
    let stage = Stage::new();
    let nothing =
        format!("ralph: error: no run is running in this directory: {}\n", stage.0.project().display());
    for command in [&["pause"][..], &["kill"], &["say", "x"], &["set", "-n", "2"]] {
        stage.0.ralph(command).exits(1).says(&nothing);
    }
    stage.0.ralph(&["logs"]).exits(1).says("no runs in this directory");
    stage.0.ralph(&["pause", "20200101"]).exits(1).says("ralph: error: no such run: 20200101\n");
}

#[test]
fn the_terminal_of_a_paused_run_shows_how_to_continue() {
    let stage = Stage::new();
    if stage.0.shell("command -v script").code != Some(0) {
        skip("there is no `script` to make a terminal");
        return;
    }
    let agent = stage.agent().words()[2].replace('$', "\\$");
    stage.0.write("../run.sh", format!("exec {RALPH} run -p x -n 2 -- sh -c \"{agent}\"\n"));
    let mut command = stage.0.command("script");
    command.args(["-qec", "sh ../run.sh", "/dev/null"]).env("TERM", "xterm");
    let running = stage.0.spawn(command);
    stage.0.until_file("got.1");
    stage.0.ralph(&["pause"]).exits(0);
    until("the status line", || running.stdout().contains(", then paused"));
    stage.go(1);
    until("how to continue", || running.stdout().contains("paused, continue with: ralph resume"));
    stage.0.ralph(&["kill"]).exits(0);
    running.end();
}

#[test]
fn lists_read_the_view_and_fall_back_on_the_journal() {
    let stage = Stage::new();
    let running = stage.begin(&["-n", "2"]);
    let view = || stage.0.run_dir().join("view.json");
    // Written while an agent works, for the journal as it is then.
    until("the view", || view().exists());
    let during = stage.0.listed();
    assert_eq!((&during["status"], &during["iterations"]), (&json!("running"), &json!(0)));
    stage.go(1);
    stage.0.until_file("got.2");
    running.kill();
    stage.0.soon_nothing_is_left();
    // The view knows nothing of its loop's death, and the lock does.
    assert_eq!(stage.0.listed()["status"], "crashed");
    stage.go(2);
    stage.0.ralph(&["resume"]).exits(1);
    let ended = stage.0.listed();
    assert_eq!((&ended["status"], &ended["iterations"]), (&json!("max_iterations"), &json!(2)));
    let text = std::fs::read_to_string(view()).unwrap();
    // What the list shows comes from there, as long as it is as old as the journal.
    std::fs::write(view(), text.replace("\"judged\":2", "\"judged\":77")).unwrap();
    assert_eq!(stage.0.listed()["iterations"], 77);
    for other in [
        text.replace("\"bytes\":", "\"bytes\":1"),
        text.replace("\"nanoseconds\":", "\"nanoseconds\":1"),
        text.replace("\"version\":\"", "\"version\":\"9"),
        "{".into(),
    ] {
        std::fs::write(view(), other.replace("\"judged\":2", "\"judged\":77")).unwrap();
        assert_eq!(stage.0.listed(), ended, "{other}");
    }
    std::fs::remove_file(view()).unwrap();
    assert_eq!(stage.0.listed(), ended);
}

#[test]
fn status_says_what_the_agent_is_doing() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.claude(
        &json!([[{"say": "Looking around."}, {"write": {"path": "up", "content": "1"}}, {"hang": true}]]),
    );
    let running = sandbox.start(&["run", "-p", "x", "-n", "1"]);
    sandbox.until_file("up");
    until("the last words", || {
        let status = sandbox.ralph(&["status", &sandbox.only_run()]).exits(0).stdout;
        let now = status.lines().find(|line| line.starts_with("Now: ")).unwrap_or_default();
        now.starts_with("Now: claude ") && now.ends_with("s: Looking around.")
    });
    running.kill();
    sandbox.soon_nothing_is_left();
    let status = sandbox.ralph(&["status", &sandbox.only_run()]).exits(0).stdout;
    assert!(!status.contains("Now: "), "{status}");
}
