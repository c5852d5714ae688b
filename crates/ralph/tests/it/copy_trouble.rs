//! A clean copy where something is missing: room on the disk, the right to mount, a setup that works.

use crate::disk::with_mounts;
use crate::support::{RALPH, Sandbox};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const DONE: &str = "echo '<response>DONE</response>'";

fn proving(sandbox: &Sandbox, more: &Value) {
    let mut settings =
        json!({"context": false, "minFreeSpace": 0, "proof": {"mode": "auto", "baseline": true}});
    settings["proof"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    sandbox.settings(&settings);
}

fn proof(result: &Value) -> (&str, &str) {
    let text = |name: &str| result["proof"][name].as_str().unwrap_or_else(|| panic!("{result:#}"));
    (text("word"), text("level"))
}

/// The rounds that were made ready, in their order.
fn rounds(sandbox: &Sandbox) -> Vec<String> {
    let facts = sandbox.facts();
    let round = |fact: &Value| Some(fact["began"]["step"]["prepare"]["round"].as_str()?.to_string());
    facts.iter().filter_map(round).collect()
}

/// Dependencies that the agent changes, installed by a command that works so many times.
fn with_setup(works: u32) -> Sandbox {
    let sandbox = Sandbox::git();
    let setup = format!(
        "n=$(cat ~/setups 2> /dev/null || echo 0); echo $((n + 1)) > ~/setups
         [ $n -lt {works} ] || {{ echo 'no network' >&2; exit 7; }}
         mkdir -p vendor && cp deps/lib.sh vendor/"
    );
    proving(&sandbox, &json!({"setup": [setup]}));
    sandbox.write(".gitignore", "vendor/\n");
    sandbox.write("deps/lib.sh", "answer() { echo 42; }\n");
    sandbox.write("tests/run.sh", ". vendor/lib.sh; test \"$(cat out.txt)\" = \"$(answer)\"\n");
    sandbox.sh("git add . && git commit -q -m test; mkdir vendor && cp deps/lib.sh vendor/");
    sandbox
}

fn run(sandbox: &Sandbox, agent: &str, args: &[&str]) -> Value {
    let all = [&["-p", "x", "--format", "json", "--check", "sh tests/run.sh"], args].concat();
    let agent = format!("echo '# newer' >> vendor/lib.sh; {agent}; {DONE}");
    sandbox.run(&all, &sandbox.sh_agent(&agent)).exits(0).json()
}

#[test]
fn a_setup_that_fails_in_the_round_with_the_tests_of_the_start_shows_nothing_for_them() {
    let changed_test = "echo 42 > out.txt; echo '# longer' >> tests/run.sh";
    let sandbox = with_setup(2);
    let result = run(&sandbox, changed_test, &[]);
    assert_eq!(proof(&result), ("proven", "clean"), "{result:#}");
    assert_eq!(sandbox.read("../user/setups"), "2\n");
    let sandbox = with_setup(1);
    for args in [&[][..], &["--proof", "clean"]] {
        sandbox.sh("git checkout -q . && rm -rf out.txt ../home ~/setups && cp deps/lib.sh vendor/");
        let result = run(&sandbox, changed_test, args);
        assert_eq!(proof(&result), ("changed_tests", "clean"), "{result:#}");
        assert_eq!(result["proof"]["passes_with_start_gates"], false);
        assert_eq!(rounds(&sandbox), ["baseline", "delivered", "start_gates"]);
        sandbox.nothing_is_left();
    }
}

#[test]
fn a_setup_that_fails_at_the_second_claim_makes_that_one_in_place() {
    let sandbox = with_setup(1);
    let second = "[ -e out.txt ] && echo 42 > out.txt || echo 41 > out.txt";
    let result = run(&sandbox, second, &[]);
    assert_eq!(proof(&result), ("proven_in_place", "in_place"), "{result:#}");
    assert_eq!(result["proof"]["in_place"], "proof.setup failed with exit code 7: no network");
    assert_eq!(result["total_iterations"], 2);
    let sandbox = with_setup(1);
    let all = ["-p", "x", "--format", "json", "--proof", "clean", "--check", "sh tests/run.sh"];
    let agent = format!("echo '# newer' >> vendor/lib.sh; {second}; {DONE}");
    let result = sandbox.run(&all, &sandbox.sh_agent(&agent)).exits(2).json();
    assert_eq!(result["stop_reason"], "no_clean_copy", "{result:#}");
    assert_eq!(sandbox.agents_begun(), 2, "its work is not lost: the run can be resumed");
}

/// Runs ralph with its records on a disk of its own.
fn on_a_small_disk(sandbox: &Sandbox, size: &str, check: &str) -> Option<Value> {
    fs::create_dir(sandbox.home()).unwrap();
    sandbox.program("fix", &format!("echo content > fixed; {DONE}"));
    let script = format!(
        "mount -t tmpfs -o size={size},mode=700 tmpfs \"$RALPH_HOME\" || exit 99
         \"$RALPH\" run -p x --format json --check '{check}' -- fix; code=$?
         du -sk \"$RALPH_HOME\"/runs/*/proof/tree 2> /dev/null | cut -f 1 > ../left; exit $code"
    );
    Some(with_mounts(sandbox, &script)?.exits(0).json())
}

#[test]
fn a_copy_that_does_not_fit_is_removed_and_the_proof_runs_in_place() {
    let sandbox = Sandbox::git();
    proving(&sandbox, &json!({}));
    // What the run keeps of the repository fits, and a copy of its files beside that does not.
    sandbox.sh("head -c 6000000 /dev/urandom > data && git add . && git commit -q -m data");
    let Some(result) = on_a_small_disk(&sandbox, "10m", "test -e fixed") else { return };
    assert_eq!(proof(&result), ("proven_in_place", "in_place"), "{result:#}");
    let why = result["proof"]["in_place"].as_str().unwrap();
    assert!(why.starts_with("the copy cannot be made: "), "{why}");
    assert_eq!(sandbox.read("../left"), "", "nothing is left to fill the disk");
}

#[test]
fn ignored_files_that_do_not_fit_are_used_as_they_are() {
    let sandbox = Sandbox::git();
    proving(&sandbox, &json!({}));
    sandbox.write(".gitignore", "build/\n");
    sandbox.sh(
        "git add . && git commit -q -m ignore; mkdir build; head -c 6000000 /dev/urandom > build/big; echo 1 > build/small",
    );
    let Some(result) = on_a_small_disk(&sandbox, "20m", "test -s build/big && test -e fixed") else { return };
    assert_eq!(proof(&result), ("proven", "clean"), "{result:#}");
}

/// Everything on the `PATH` but the program that mounts.
fn without_bwrap(sandbox: &Sandbox) -> PathBuf {
    let bin = sandbox.root().join("without");
    fs::create_dir(&bin).unwrap();
    for dir in std::env::split_paths(&std::env::var_os("PATH").unwrap()) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.file_name() != "bwrap" {
                let _ = std::os::unix::fs::symlink(entry.path(), bin.join(entry.file_name()));
            }
        }
    }
    bin
}

fn run_without_bwrap(sandbox: &Sandbox, check: &str, agent: &str) -> Value {
    let mut command = sandbox.command(RALPH);
    command
        .env("PATH", without_bwrap(sandbox))
        .args(["run", "-p", "x", "--format", "json", "--check", check]);
    command.args(["--", "sh", "-c", &format!("{agent}; {DONE}")]);
    sandbox.spawn(command).end().exits(0).json()
}

#[test]
fn without_bwrap_a_setup_makes_a_copy_at_another_path() {
    let sandbox = with_setup(9);
    let check = "pwd >> ~/where; sh tests/run.sh";
    let agent = "date > vendor/made; echo 42 > out.txt; echo '# longer' >> tests/run.sh";
    let result = run_without_bwrap(&sandbox, check, agent);
    // Temporary files cannot be hidden there.
    assert_eq!(proof(&result), ("proven_as_left", "clean"), "{result:#}");
    let tmp = sandbox.root().join("tmp").display().to_string();
    assert_eq!(result["proof"]["carried"], json!(["/tmp", tmp]), "{result:#}");
    assert_eq!(rounds(&sandbox), ["baseline", "delivered", "start_gates"]);
    assert_eq!(sandbox.read("../user/setups"), "3\n", "once for each round");
    let copies = sandbox.home().display().to_string();
    let places = sandbox.read("../user/where");
    // What is red there is tried in the working tree before any agent.
    let (inside, outside): (Vec<&str>, Vec<&str>) = places.lines().partition(|at| at.starts_with(&copies));
    assert_eq!((inside.len(), outside.len()), (3, 1), "{places}");
    assert_eq!(result["proof"]["passes_with_start_gates"], true);
    sandbox.nothing_is_left();
}

#[test]
fn a_copy_at_another_path_has_nothing_that_only_the_agent_has_left() {
    let sandbox = with_setup(9);
    sandbox.write(".gitignore", "vendor/\nmade\n");
    sandbox.sh("git add . && git commit -q -m ignore");
    let mut command = sandbox.command(RALPH);
    let args = ["run", "-p", "x", "-n", "1", "--format", "json", "--check", "test -e made && test -e fixed"];
    command.env("PATH", without_bwrap(&sandbox)).args(args);
    command.args(["--", "sh", "-c", &format!("touch made fixed; {DONE}")]);
    sandbox.spawn(command).end().stops(1, "max_iterations", 1);
    // What changes outside is named there as well.
    let sandbox = with_setup(9);
    fs::create_dir_all(sandbox.root().join("user/.local/lib")).unwrap();
    let agent = "echo 42 > out.txt; echo x > ~/.npmrc; echo x > ~/.local/lib/x.pth";
    let result = run_without_bwrap(&sandbox, "sh tests/run.sh", agent);
    assert_eq!(proof(&result), ("changed_tests", "clean"), "{result:#}");
    assert_eq!(result["proof"]["gates"][0]["path"], "~/.npmrc");
    assert_eq!(result["proof"]["carried"][2], "~/.local/lib/x.pth", "{result:#}");
}
