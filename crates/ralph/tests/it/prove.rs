//! `ralph prove`: a proof that is repeated; and dependencies that are installed for one.

use crate::support::{Agent, Sandbox};
use serde_json::{Value, json};

const DONE: &str = "echo '<response>DONE</response>'";

/// A project whose check is red until there is a file, on a machine that has what the check needs.
fn red() -> Sandbox {
    let sandbox = Sandbox::git();
    proving(&sandbox, &json!({}));
    sandbox.write("test.sh", "test -f \"$HOME/needed\" && grep -q done out.txt\n");
    sandbox.sh("git add . && git commit -q -m test; touch \"$HOME/needed\"");
    sandbox
}

/// Whatever the other tests do: on a clean copy, with a baseline.
fn proving(sandbox: &Sandbox, more: &Value) {
    let mut proof = json!({"mode": "auto", "baseline": true});
    proof.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    sandbox.settings(&json!({"proof": proof}));
}

fn works(sandbox: &Sandbox) -> Agent {
    sandbox.sh_agent(&format!("echo done > out.txt; {DONE}"))
}

const CHECK: [&str; 4] = ["-p", "x", "--check", "sh test.sh"];

#[test]
fn the_proof_of_a_run_is_repeated_from_its_record() {
    let sandbox = red();
    sandbox
        .run(&CHECK, &works(&sandbox))
        .exits(0)
        .says("completed: proven: `sh test.sh` was red and is green");
    // The work tree is of no interest any more.
    sandbox.sh("echo spoilt > out.txt");
    let ran = sandbox.ralph(&["prove"]);
    ran.exits(0).says("the proof of run").says("holds: proven");
    assert_eq!(sandbox.read("out.txt"), "spoilt\n");
    assert_eq!(sandbox.runs().len(), 1, "a proof leaves no record");
    let left: Vec<String> = std::fs::read_dir(sandbox.home())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("scratch"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn a_proof_that_no_longer_holds_says_so() {
    let sandbox = red();
    sandbox.run(&CHECK, &works(&sandbox)).exits(0);
    sandbox.sh("rm \"$HOME/needed\"");
    sandbox.ralph(&["prove"]).exits(1).says("does not hold: proven then, checks fail now");
}

#[test]
fn a_commit_is_proven_against_its_parent() {
    let sandbox = red();
    sandbox.sh("echo done > out.txt; git add . && git commit -q -m 'do it'");
    let json = sandbox.ralph(&["prove", "HEAD", "--check", "sh test.sh", "--format", "json"]).exits(0).json();
    assert_eq!(json["proof"]["word"], "proven", "{json}");
    assert_eq!(json["proof"]["fixed"], json!(["sh test.sh"]));
    sandbox.sh("git commit -q --allow-empty -m nothing");
    sandbox
        .ralph(&["prove", "HEAD", "--check", "sh test.sh"])
        .exits(0)
        .says("checks pass, but nothing changed");
    sandbox.ralph(&["prove", "HEAD~1", "--check", "false"]).exits(1).says("reached the iteration limit");
    sandbox.ralph(&["prove", "nothing"]).exits(1).says("neither a run nor a commit with a parent: nothing");
}

#[test]
fn a_run_that_has_concluded_nothing_has_nothing_to_prove() {
    let sandbox = red();
    sandbox.run(&[&CHECK[..], &["-n", "1"]].concat(), &sandbox.sh_agent("echo not yet")).exits(1);
    sandbox.ralph(&["prove"]).exits(1).says("has nothing to prove: it has not concluded anything");
}

/// The agent has changed what was installed.
fn with_dependencies(setup: &Value) -> Value {
    let sandbox = Sandbox::git();
    proving(&sandbox, setup);
    sandbox.write(".gitignore", "vendor/\n");
    sandbox.write("deps/lib.sh", "answer() { echo 42; }\n");
    sandbox.write("test.sh", ". vendor/lib.sh; test \"$(cat out.txt)\" = \"$(answer)\"\n");
    sandbox.sh("git add . && git commit -q -m test; mkdir vendor && cp deps/lib.sh vendor/");
    let agent = sandbox.sh_agent(&format!("echo 42 > out.txt; echo '# newer' >> vendor/lib.sh; {DONE}"));
    sandbox.run(&[&CHECK[..], &["--format", "json"]].concat(), &agent).exits(0).json()["proof"].clone()
}

#[test]
fn dependencies_that_the_agent_has_changed_are_named() {
    let proof = with_dependencies(&json!({}));
    assert_eq!((&proof["word"], &proof["carried"]), (&json!("proven_as_left"), &json!(["vendor"])));
}

#[test]
fn they_are_installed_again_where_the_user_says_how() {
    let setup = ["mkdir -p vendor", "cp deps/lib.sh vendor/"];
    let proof = with_dependencies(&json!({ "setup": setup }));
    assert_eq!((&proof["word"], &proof["carried"]), (&json!("proven"), &json!([])));
    let proof = with_dependencies(&json!({"setup": ["echo 'no network' >&2; exit 7"]}));
    assert_eq!((&proof["word"], &proof["level"]), (&json!("proven_in_place"), &json!("in_place")));
    assert_eq!(proof["in_place"], "proof.setup failed with exit code 7: no network");
}

#[test]
fn the_demo_of_a_cheat_shows_that_it_is_caught() {
    let sandbox = Sandbox::bare();
    let ran = sandbox.ralph(&["demo", "--cheat"]);
    ran.exits(0).says("completed: done, but green only with changed tests: test.sh (changed)");
}
