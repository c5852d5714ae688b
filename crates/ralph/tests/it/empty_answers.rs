//! Agents that end without a word: which are run again, and what is made of their work.

use crate::support::Sandbox;
use serde_json::json;

const ARGS: [&str; 5] = ["-p", "x", "-q", "-n", "2"];

#[test]
fn a_silent_agent_that_changed_files_is_run_once_an_iteration() {
    let sandbox = Sandbox::git();
    let agent = sandbox.sh_agent("cat >/dev/null; echo $RALPH_ITERATION >> work");
    sandbox.run(&ARGS, &agent).exits(1);
    assert_eq!((sandbox.agents_begun(), sandbox.read("work")), (2, "1\n2\n".into()));
    // The tree after the first agent is not taken for the one before it.
    let id = sandbox.only_run();
    sandbox.ralph(&["diff", &id, "1"]).exits(0).says("+1");
    sandbox.ralph(&["undo", &id, "--to", "2"]).exits(0);
    assert_eq!(sandbox.read("work"), "1\n");
    sandbox.ralph(&["undo", &id]).exits(0);
    assert!(!sandbox.has("work"));
}

#[test]
fn a_silent_agent_that_only_commits_is_run_once_an_iteration() {
    let sandbox = Sandbox::git();
    sandbox.write("work", "of another");
    let agent =
        sandbox.sh_agent("cat >/dev/null; git add -A; git commit -q --allow-empty -m $RALPH_ITERATION");
    sandbox.run(&ARGS, &agent).exits(1);
    assert_eq!((sandbox.agents_begun(), sandbox.sh("git log --format=%s").as_str()), (2, "2\n1\nbegin\n"));
}

#[test]
fn a_silent_agent_whose_work_no_checkpoint_holds_is_run_once_an_iteration() {
    for work in [
        // The second time as long as the first.
        "yes $RALPH_ITERATION | head -c 2000000 > model.bin",
        "[ -d lib ] || git init -q lib; echo $RALPH_ITERATION >> lib/src",
        "[ -d lib ] || git init -q lib; git -C lib -c user.name=x -c user.email=x commit -q --allow-empty -m $RALPH_ITERATION",
    ] {
        let sandbox = Sandbox::git();
        sandbox.settings(&json!({"largestFile": 1}));
        sandbox.run(&ARGS, &sandbox.sh_agent(&format!("cat >/dev/null; {work}"))).exits(1);
        assert_eq!(sandbox.agents_begun(), 2, "{work}");
        // As it was, however often it is looked at.
        let idle = sandbox.sh_agent("cat >/dev/null; git status > /dev/null; echo >> ../idle");
        sandbox.run(&["-p", "x", "-q", "-n", "1"], &idle).exits(1);
        assert_eq!(sandbox.sh("wc -l < ../idle"), "4\n", "{work}");
    }
}

#[test]
fn a_silent_agent_that_did_nothing_is_run_again() {
    let sandbox = Sandbox::git();
    let agent = sandbox.sh_agent("cat >/dev/null");
    sandbox.run(&["-p", "x", "-q", "-n", "1"], &agent).exits(1);
    assert_eq!(sandbox.agents_begun(), 4);
    // It may have worked the second time.
    let sandbox = Sandbox::git();
    let agent = sandbox.sh_agent("cat >/dev/null; [ ! -e ../seen ] || echo x >> work; touch ../seen");
    sandbox.run(&["-p", "x", "-q", "-n", "1"], &agent).exits(1);
    assert_eq!((sandbox.agents_begun(), sandbox.read("work")), (2, "x\n".into()));
}

#[test]
fn where_no_tree_is_recorded_a_plain_agent_is_not_run_again() {
    let agent = "cat >/dev/null; echo $RALPH_ITERATION >> work";
    let sandbox = Sandbox::bare();
    sandbox.run(&ARGS, &sandbox.sh_agent(agent)).exits(1);
    assert_eq!(sandbox.agents_begun(), 2);
    let sandbox = Sandbox::git();
    sandbox.plain_settings();
    sandbox.run(&ARGS, &sandbox.sh_agent(agent)).exits(1);
    assert_eq!(sandbox.agents_begun(), 2);
}

#[test]
fn a_claude_that_says_nothing_and_uses_no_tool_is_run_again_anywhere() {
    let sandbox = Sandbox::bare();
    sandbox.claude(&json!([[], [], [{"say": "<response>DONE</response>"}]]));
    sandbox.ralph(&["run", "-p", "x", "-q", "-n", "1"]).exits(0);
    assert_eq!(sandbox.agents_begun(), 3);
}
