//! When a run is done, and who says so.

use crate::support::Sandbox;
use serde_json::json;

const JSON: [&str; 4] = ["-p", "Mend it.", "--format", "json"];
const DONE: &str = "<response>DONE</response>";

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    JSON.iter().copied().chain(more.iter().copied()).collect()
}

#[test]
fn three_iterations_mend_what_the_check_finds() {
    let sandbox = Sandbox::git();
    let agent = sandbox.agent(&json!([
        [{"say": "I look around."}],
        [{"say": DONE}],
        [{"write": {"path": "fixed", "content": "yes"}}, {"say": DONE}],
    ]));
    let result = sandbox.run(&with(&["--check", "test -f fixed"]), &agent).stops(0, "completed", 3);
    let iterations: Vec<_> = result["iterations"].as_array().unwrap().iter().collect();
    let column = |name: &str| iterations.iter().map(|i| i[name].as_bool().unwrap()).collect::<Vec<_>>();
    assert_eq!(column("all_checks_passed"), [false, false, true]);
    assert_eq!(column("completion_tag_found"), [false, true, true]);
    assert_eq!(iterations[1]["check_results"][0]["output"], "failed with exit code 1");
    assert_eq!(sandbox.agents_begun(), 3);
    sandbox.nothing_is_left();
}

#[test]
fn without_checks_nothing_is_called_proven() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.agent(&json!([[{"say": DONE}]]));
    let ran = sandbox.run(&["-p", "Mend it."], &agent).exits(0);
    let ran = ran.says("[!] completed: said to be done, no checks (1 iteration, ");
    assert!(!ran.stdout.contains("proven"), "{}", ran.stdout);
    sandbox
        .run(&["-p", "Mend it.", "--check", "true"], &agent)
        .exits(0)
        .says("completed: checks pass; what changed is not known without git (1 it");
}

#[test]
fn the_iterations_can_be_used_up() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.agent(&json!([[{"say": "Not yet."}]]));
    let result = sandbox.run(&with(&["-n", "3"]), &agent).stops(1, "max_iterations", 3);
    assert!(result["error"].is_null());
    assert_eq!(sandbox.agents_begun(), 3);
}

#[test]
fn a_claim_in_the_last_iteration_counts() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.agent(&json!([[{"say": "Not yet."}], [{"say": DONE}]]));
    sandbox.run(&with(&["-n", "2"]), &agent).stops(0, "completed", 2);
}

#[test]
fn the_word_and_the_tag_can_be_others_in_any_case() {
    for (word, said) in [
        ("SHIPPED", "<response>shipped</response>"),
        ("shipped", "<promise> SHIPPED\n</promise>"),
        ("all done", "so: <PROMISE>All Done</PROMISE>"),
    ] {
        let sandbox = Sandbox::bare();
        let agent = sandbox.agent(&json!([[{"say": DONE}], [{"say": said}], [{"say": "I said so."}]]));
        sandbox.run(&with(&["-n", "3", "-c", word]), &agent).stops(0, "completed", 2);
    }
}

#[test]
fn only_a_whole_word_in_the_first_tag_is_a_claim() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.agent(&json!([
        [{"say": "<response>NOT DONE</response>"}],
        [{"say": "DONE"}],
        [{"say": "<response>WAIT</response>\n<response>DONE</response>"}],
    ]));
    sandbox.run(&with(&["-n", "3"]), &agent).stops(1, "max_iterations", 3);
}

#[test]
fn an_echo_of_the_prompt_is_no_claim_and_an_honest_tag_beside_it_is() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.agent(&json!([
        [{"echo_prompt": true}, {"say": "I have read it."}],
        [{"echo_prompt": true}, {"say": "Now then."}, {"say": DONE}],
    ]));
    let prompt = format!("Mend it.\nThen say so:\n{DONE}\nNothing else.");
    let args = ["-p", &prompt, "--format", "json", "-n", "4"];
    sandbox.run(&args, &agent).stops(0, "completed", 2);
}

#[test]
fn a_tag_in_the_result_of_a_tool_is_no_claim() {
    let sandbox = Sandbox::bare();
    sandbox.claude(&json!([
        [{"tool": {"name": "Read", "input": {"file_path": "x"}, "output": DONE}}, {"say": "I see."}],
        [{"say": DONE}],
    ]));
    let args: Vec<&str> = ["run"].into_iter().chain(with(&["-n", "3"])).collect();
    sandbox.ralph(&args).stops(0, "completed", 2);
}

#[test]
fn the_checks_alone_can_decide() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.agent(&json!([
        [{"say": DONE}],
        [{"write": {"path": "fixed", "content": ""}}, {"say": "I say nothing of it."}],
    ]));
    let args = with(&["--checks-only", "--check", "test -f fixed"]);
    sandbox.run(&args, &agent).stops(0, "completed", 2);
}

#[test]
fn every_check_must_pass_in_the_same_iteration() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.agent(&json!([
        [{"write": {"path": "a", "content": "1"}}, {"say": DONE}],
        [{"delete": "a"}, {"write": {"path": "b", "content": "1"}}, {"say": DONE}],
        [{"write": {"path": "a", "content": "1"}}, {"say": DONE}],
    ]));
    let args = with(&["--check", "test -f a", "--check", "test -f b"]);
    let result = sandbox.run(&args, &agent).stops(0, "completed", 3);
    let passed = |iteration: usize| {
        let results = result["iterations"][iteration]["check_results"].as_array().unwrap();
        results.iter().map(|check| check["passed"].as_bool().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!([passed(0), passed(1), passed(2)], [[true, false], [false, true], [true, true]]);
}

/// An agent that prints its prompt back in a line of JSON, as gemini, copilot and pi do.
const JSON_AGENT: &str = r#"p=$(sed -e 's/\\/\\\\/g; s/"/\\"/g' | awk '{printf "%s\\n", $0}')
printf '{"type":"message","role":"user","content":"%s"}\n' "$p"
printf '{"type":"message","role":"assistant","content":"Not done yet."}\n'"#;

#[test]
fn an_agent_that_prints_json_alone_stops_the_run_and_is_told_what_to_do() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.sh_agent(JSON_AGENT);
    let result = sandbox.run(&with(&["-n", "3", "--check", "true"]), &agent).stops(1, "error", 1);
    let error = result["error"]["message"].as_str().unwrap();
    assert!(
        error.contains("JSON") && error.contains("print text") && error.contains("--checks-only"),
        "{error}"
    );
    assert_eq!(result["iterations"][0]["completion_tag_found"], false);
}

#[test]
fn where_the_checks_alone_decide_an_agent_may_print_json() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.sh_agent(&format!("{JSON_AGENT}\necho x >> count"));
    let args = with(&["-n", "3", "--checks-only", "--check", "test $(wc -l < count) -ge 2"]);
    sandbox.run(&args, &agent).stops(0, "completed", 2);
}

#[test]
fn an_echo_of_the_prompt_is_no_claim_however_it_is_shown() {
    for shown in
        ["sed 's/^/    /'", "sed 's/^/> /'", "sed 's/^/  │ /'", "cat -n", "nl -ba -s' | '", "nl -s'. '"]
    {
        let sandbox = Sandbox::bare();
        let agent = sandbox.sh_agent(&format!("{shown}; echo 'Not done yet.'"));
        sandbox.run(&with(&["-n", "1"]), &agent).stops(1, "max_iterations", 1);
    }
}

#[test]
fn a_done_pattern_on_standard_error_counts_whatever_the_exit_code() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.sh_agent("cat >/dev/null; echo x >> count; echo 'All tasks complete' >&2; exit 3");
    let args =
        with(&["-n", "3", "--done-pattern", "All tasks complete", "--check", "test $(wc -l < count) -ge 2"]);
    let result = sandbox.run(&args, &agent).stops(0, "completed", 2);
    assert!(result["iterations"][0]["error"].is_null());
}
