//! What "done" is worth, by default: the checks before the first agent, and on a clean copy.
//!
//! Agents that cheat are in `tests/cheats`.

use crate::support::{Agent, RALPH, Sandbox, until};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const DONE: &str = "<response>DONE</response>";

/// Makes the file that the check looks for.
const FIX: &str = "echo content > fixed; echo '<response>DONE</response>'";

fn git() -> Sandbox {
    Sandbox::git().proving()
}

fn fixer(sandbox: &Sandbox) -> Agent {
    sandbox.sh_agent(&format!("cat > ../prompt; {FIX}"))
}

fn word(result: &Value) -> &str {
    result["proof"]["word"].as_str().unwrap_or_else(|| panic!("{result:#}"))
}

/// The clean copy of the only run.
fn copy(sandbox: &Sandbox) -> PathBuf {
    sandbox.run_dir().join("proof")
}

fn is_check(fact: &Value, round: &str) -> bool {
    fact["began"]["step"]["check"]["round"] == round
}

#[test]
fn what_is_red_before_the_first_agent_is_in_its_prompt_and_above_its_banner() {
    let sandbox = git();
    let check = "test -e fixed || { echo 'error: not fixed yet'; exit 3; }";
    let ran = sandbox.run(&["-p", "x", "--check", check, "--check", "true"], &fixer(&sandbox)).exits(0);
    let at = |part: &str| {
        ran.stdout.find(part).unwrap_or_else(|| panic!("{part:?} is missing in:\n{}", ran.stdout))
    };
    let order = [
        at("running check before the first agent: test -e"),
        at("running check before the first agent: true"),
        at("running check before the first agent, in the working tree: test -e"),
        at("baseline: 1 of 2 checks fails"),
        at("--- Iteration 1/10 ---"),
        at("running check on what is delivered: test -e"),
        at("[OK] completed: proven: `test -e"),
        at("was red and is green (1 iteration"),
    ];
    assert!(order.is_sorted(), "{order:?}\n{}", ran.stdout);
    let prompt = sandbox.read("../prompt");
    assert!(
        prompt.contains("error: not fixed yet") && prompt.contains("failed with exit code 3"),
        "{prompt}"
    );
    sandbox.nothing_is_left();
}

#[test]
fn a_green_baseline_never_ends_a_run() {
    let sandbox = git();
    let ran = sandbox.run(&["-p", "x", "--check", "true"], &fixer(&sandbox)).exits(0);
    let ran = ran.says("baseline: all checks pass already");
    ran.says("[OK] completed: checks pass, as they did before (1 iteration");
    assert_eq!(sandbox.agents_begun(), 1);
    assert!(!sandbox.read("../prompt").contains("failed"), "nothing is wrong yet");
}

#[test]
fn a_baseline_that_takes_too_long_is_told_and_the_agent_starts() {
    let sandbox = git();
    let check = "test -e fixed || exec sleep 600";
    let args = ["-p", "x", "--check-timeout", "0.5", "--check", check, "--format", "json"];
    let result = sandbox.run(&args, &fixer(&sandbox)).stops(0, "completed", 1);
    assert_eq!(result["proof"]["baseline"], json!([{"check": check, "passed": null}]));
    assert_eq!(word(&result), "pass");
    assert!(!sandbox.read("../prompt").contains("timed out"), "it is not known to be red");
    sandbox.sh("rm fixed");
    let ran = sandbox.run(&args[..6], &fixer(&sandbox)).exits(0);
    ran.says("baseline: no check fails; 1 check took too long to tell");
}

#[test]
fn without_a_baseline_the_proof_still_runs_on_a_copy_made_at_the_start() {
    let sandbox = git();
    sandbox.write(".gitignore", "made\n");
    // What an agent leaves in an ignored file is not delivered.
    let agent = sandbox.sh_agent(&format!("date > made; {FIX}"));
    let args = ["-p", "x", "-n", "1", "--no-baseline", "--format", "json", "--check"];
    let result = sandbox.run(&[&args[..], &["test -e fixed"]].concat(), &agent).stops(0, "completed", 1);
    assert_eq!((word(&result), &result["proof"]["level"]), ("pass", &json!("clean")));
    assert!(!sandbox.facts().iter().any(|fact| is_check(fact, "baseline")));
    sandbox.sh("rm -rf ../home made fixed");
    let result = sandbox.run(&[&args[..], &["test -e made"]].concat(), &agent).stops(1, "max_iterations", 1);
    assert_eq!(result["iterations"][0]["all_checks_passed"], false);
}

#[test]
fn a_check_that_passes_only_in_the_working_tree_makes_the_proof_in_place_and_that_is_told() {
    let sandbox = git();
    // Temporary files of others are not to be seen on the copy.
    fs::write(sandbox.root().join("tmp/service"), "").unwrap();
    let service = sandbox.root().join("tmp/service");
    let check = format!("test -e {} || {{ echo 'no service'; exit 1; }}", service.display());
    let why = "the proof runs in place: a check passes in the working tree and fails on a clean copy: \
               no service";
    let ran = sandbox.run(&["-p", "x", "--check", &check], &fixer(&sandbox)).exits(0);
    let (before, after) = ran.stdout.split_once("--- Iteration 1/10").unwrap();
    assert!(before.contains(why) || ran.stderr.contains(why), "{before}\n{}", ran.stderr);
    assert!(before.contains("baseline: all checks pass already"), "{before}");
    assert!(after.contains("running check: test -e") && after.contains("as they did before"), "{after}");
    assert!(!sandbox.read("../prompt").contains("failed"), "the agent cannot do anything about it");
    for mode in ["clean", "strict"] {
        sandbox.sh("rm -rf ../home");
        let ran = sandbox.run(&["-p", "x", "--check", &check, "--proof", mode], &fixer(&sandbox));
        ran.exits(2).says("a check passes in the working tree and fails on a clean copy: no service");
        assert_eq!(sandbox.agents_begun(), 0);
    }
}

#[test]
fn a_check_that_comes_to_pass_only_in_the_working_tree_stops_the_run_and_the_user_learns_what_to_set() {
    let sandbox = git();
    let needed = sandbox.root().join("tmp/fixtures");
    let check =
        format!("test -e fixed && {{ test -e {} || {{ echo 'no fixtures'; exit 1; }}; }}", needed.display());
    // Everything that is asked for is delivered; what the check needs beside it cannot be.
    let agent = sandbox.sh_agent(&format!("cat > ../prompt; touch {}; {FIX}", needed.display()));
    let ran = sandbox.run(&["-p", "x", "--check", &check], &agent).exits(1);
    let ran = ran.says("says it is done, but checks fail on a clean copy; they pass in the working tree.");
    let ran = ran.says("stalled: `test -e fixed");
    let ran = ran.says("passes in the working tree and fails on a clean copy: no fixtures");
    ran.says(
        "  if a check needs what cannot be delivered: let it make that, add ignored paths to proof.carry, or \
         use --proof in-place\n",
    );
    assert_eq!(sandbox.agents_begun(), 3, "not more than that");
    let prompt = sandbox.read("../prompt");
    assert!(prompt.contains("It passes in the working tree and fails on a clean copy"), "{prompt}");
    assert!(prompt.contains("say in your answer what it needs: only the user can allow that."), "{prompt}");
    sandbox
        .ralph(&["show"])
        .exits(0)
        .says("failed with exit code 1: no fixtures (only on a clean copy: it passes in the working tree)\n");
    // Programs learn it as well, and whatever else ends the run first.
    sandbox.sh("rm -rf ../home ../tmp/fixtures fixed");
    let args = ["-p", "x", "--format", "json", "--check", &check];
    let result = sandbox.run(&args, &agent).stops(1, "stalled", 3);
    assert!(result["error"]["hint"].as_str().unwrap().contains("proof.carry"), "{result:#}");
    sandbox.sh("rm -rf ../home ../tmp/fixtures fixed");
    let ran = sandbox.run(&["-p", "x", "-n", "1", "--check", &check], &agent).exits(1);
    ran.says("  if a check needs what cannot be delivered:").says("max_iterations");
    // With that it is done.
    sandbox.sh("rm -rf ../home ../tmp/fixtures fixed");
    let args = [&args[..], &["--proof", "in-place"]].concat();
    let result = sandbox.run(&args, &agent).stops(0, "completed", 1);
    assert_eq!(word(&result), "proven_in_place");
}

#[test]
fn without_bwrap_the_proof_runs_in_place_and_that_is_told() {
    let sandbox = git();
    // Everything but bwrap.
    let bin = sandbox.root().join("without");
    fs::create_dir(&bin).unwrap();
    for dir in std::env::split_paths(&std::env::var_os("PATH").unwrap()) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.file_name() != "bwrap" {
                let _ = std::os::unix::fs::symlink(entry.path(), bin.join(entry.file_name()));
            }
        }
    }
    let run = |args: &[&str]| {
        let mut command = sandbox.command(RALPH);
        command.args(["run", "-p", "x", "--check", "test -e fixed"]).args(args).env("PATH", &bin);
        command.arg("--").args(fixer(&sandbox).words());
        sandbox.spawn(command).end()
    };
    let ran = run(&[]).exits(0);
    assert_eq!((ran.stderr.as_str(), ran.stdout.matches("in place: bwrap").count()), ("", 1), "told once");
    let (before, after) = ran.stdout.split_once("--- Iteration 1/10").unwrap();
    assert!(
        before.contains("the proof runs in place: bwrap is not installed (package bubblewrap)"),
        "{before}"
    );
    assert!(after.contains("completed: proven in place: `test -e fixed` was red and is green"), "{after}");
    sandbox.sh("rm -rf fixed ../home");
    run(&["--proof", "clean"]).exits(2).says("bwrap is not installed (package bubblewrap)");
    assert_eq!(sandbox.agents_begun(), 0);
}

#[test]
fn strict_sends_a_changed_test_back_to_the_agent() {
    let sandbox = git();
    sandbox.write("tests/run.sh", "test \"$(sh app.sh)\" = right\n");
    sandbox.write("app.sh", "echo wrong\n");
    sandbox.sh("git add . && git commit -q -m app");
    let agent = sandbox.sh_agent(&format!(
        "cat > ../prompt-$RALPH_ITERATION
         case $RALPH_ITERATION in
         1) echo true > tests/run.sh ;;
         *) git checkout -q tests; echo 'echo right' > app.sh ;;
         esac
         echo '{DONE}'"
    ));
    let args = ["-p", "x", "--check", "sh tests/run.sh", "--format", "json", "--proof"];
    let result = sandbox.run(&[&args[..], &["strict"]].concat(), &agent).stops(0, "completed", 2);
    assert_eq!(word(&result), "proven", "{result:#}");
    let told = sandbox.read("../prompt-2");
    assert!(
        told.contains("The last answer was not accepted: done, but green only with changed tests"),
        "{told}"
    );
    assert!(told.contains("tests/run.sh"), "{told}");
    // Otherwise it is accepted, and called what it is.
    sandbox.sh("git checkout -q . && rm -rf ../home");
    let result = sandbox.run(&[&args[..], &["clean"]].concat(), &agent).stops(0, "completed", 1);
    assert_eq!(word(&result), "changed_tests");
    assert_eq!(result["proof"]["gates"][0]["path"], "tests/run.sh");
    assert_eq!(result["proof"]["passes_with_start_gates"], false);
}

#[test]
fn a_tool_that_compares_whole_seconds_does_not_take_the_test_of_the_start_for_the_changed_one() {
    let sandbox = git();
    // It keeps its answer by the size and the second of a file, as some caches do.
    sandbox.write(
        "tests/run.sh",
        "mkdir -p build; key=build/$(stat -c %Y-%s tests/wanted)
         [ -e $key ] || { grep -q right tests/wanted; echo $? > $key; }
         exit $(cat $key)\n",
    );
    sandbox.write("tests/wanted", "wrong\n");
    sandbox.write(".gitignore", "build/\n");
    sandbox.sh("touch -d '1 hour ago' tests/*; git add . && git commit -q -m cache");
    let agent = sandbox.sh_agent(&format!("echo right > tests/wanted; date > notes; echo '{DONE}'"));
    let args = ["-p", "x", "--format", "json", "--check", "sh tests/run.sh"];
    let result = sandbox.run(&args, &agent).stops(0, "completed", 1);
    assert_eq!(word(&result), "changed_tests", "{result:#}");
}

/// A check that waits for `../go` in the round that is asked for, as it sees only what the tree holds.
fn waiting_check(sandbox: &Sandbox, in_baseline: bool) -> String {
    let go = sandbox.root().join("user/go");
    let here = sandbox.root().join("user/here");
    let when = if in_baseline { "! -e fixed" } else { "-e fixed" };
    let (go, here) = (go.display(), here.display());
    format!("if [ {when} ]; then echo $$ > {here}; until [ -e {go} ]; do sleep 0.02; done; fi; test -e fixed")
}

fn until_waiting(sandbox: &Sandbox) {
    let here = sandbox.root().join("user/here");
    until("the check", || fs::metadata(&here).is_ok_and(|meta| meta.len() > 0));
}

fn let_go(sandbox: &Sandbox) {
    fs::write(sandbox.root().join("user/go"), "").unwrap();
}

#[test]
fn a_run_killed_in_the_baseline_begins_it_again() {
    let sandbox = git();
    let check = waiting_check(&sandbox, true);
    let running = sandbox.begin(&["-p", "x", "--check", &check], &fixer(&sandbox));
    until_waiting(&sandbox);
    running.kill();
    sandbox.soon_nothing_is_left();
    assert_eq!(sandbox.agents_begun(), 0);
    let_go(&sandbox);
    let result = sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", 1);
    assert_eq!((word(&result), &result["proof"]["level"]), ("proven", &json!("clean")));
    let prepared =
        sandbox.facts().iter().filter(|f| f["began"]["step"]["prepare"]["round"] == "baseline").count();
    assert_eq!(prepared, 2);
}

#[test]
fn a_run_killed_in_the_proof_goes_on_with_the_copy_of_its_start() {
    let sandbox = git();
    sandbox.write(".gitignore", "made\n");
    sandbox.sh("git add . && git commit -q -m ignore");
    let check = format!("{} && ! test -e made", waiting_check(&sandbox, false));
    let agent = sandbox.sh_agent(&format!("date > made; {FIX}"));
    let running = sandbox.begin(&["-p", "x", "--check", &check], &agent);
    until_waiting(&sandbox);
    running.kill();
    sandbox.soon_nothing_is_left();
    let_go(&sandbox);
    let result = sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", 1);
    // What the agent has made before is ignored, and is not taken for something of the start.
    assert_eq!((word(&result), &result["proof"]["level"]), ("proven", &json!("clean")));
    assert_eq!(sandbox.agents_begun(), 1, "its work was kept");
}

#[test]
fn a_keeper_killed_in_the_proof_costs_nothing_but_the_check() {
    let sandbox = git();
    let check = waiting_check(&sandbox, false);
    let running = sandbox.begin(&["-p", "x", "--check", &check, "--format", "json"], &fixer(&sandbox));
    until_waiting(&sandbox);
    let_go(&sandbox);
    if let Some(keeper) = sandbox.keeper() {
        kill_process(keeper, Signal::KILL).unwrap();
    }
    let result = running.end().stops(0, "completed", 1);
    assert_eq!((word(&result), &result["proof"]["level"]), ("proven", &json!("clean")));
    sandbox.soon_nothing_is_left();
}

#[test]
fn ctrl_c_in_the_baseline_starts_no_agent_and_ends_the_check_if_it_is_pressed_again() {
    let sandbox = git();
    let check = waiting_check(&sandbox, true);
    let running = sandbox.begin(&["-p", "x", "--check", &check], &fixer(&sandbox));
    until_waiting(&sandbox);
    sandbox.interrupt(&running, Signal::INT);
    running.signal(Signal::INT);
    running.end().exits(130);
    sandbox.nothing_is_left();
    assert_eq!(sandbox.agents_begun(), 0);
    let_go(&sandbox);
    let result = sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", 1);
    assert_eq!(word(&result), "proven");
}

#[test]
fn processes_that_a_check_leaves_on_the_copy_are_ended() {
    let sandbox = git();
    let left = sandbox.root().join("user/left").display().to_string();
    let check = format!(
        "(setsid sh -c 'echo $$ > {left}; exec sleep 1000' &); until [ -s {left} ]; do sleep 0.01; done
         test -e fixed"
    );
    sandbox.run(&["-p", "x", "--check", &check], &fixer(&sandbox)).exits(0);
    sandbox.nothing_is_left();
}

#[test]
fn what_a_check_changes_of_the_delivered_files_is_in_the_result() {
    let sandbox = git();
    let args = ["-p", "x", "--format", "json", "--check", "test -e fixed && echo more >> README"];
    let result = sandbox.run(&args, &fixer(&sandbox)).stops(0, "completed", 1);
    assert_eq!(result["proof"]["changed_by_checks"], json!(["README"]), "{result:#}");
    assert_eq!(sandbox.read("README"), "a project\n", "only the copy was changed");
}

#[test]
fn what_a_check_does_to_the_copy_is_gone_at_the_next_claim() {
    let sandbox = git();
    sandbox.sh("mkdir -p dir/deep; echo 1 > dir/deep/file; echo 2 > same; echo 3 > gone; echo 4 > mode");
    sandbox.write(".gitignore", "*.out\n");
    sandbox.sh("git add . && git commit -q -m more");
    // Not to be seen on the copy.
    let here = sandbox.root().join("tmp/in-place");
    fs::write(&here, "").unwrap();
    let check = format!(
        "test ! -e {here} || exit 1
         test \"$(git log -1 --format=%s)\" = 'what is delivered' && test ! -e .git/evil &&
         test -z \"$(git status --porcelain)\" && test -d dir/deep && test ! -L dir && test ! -e new &&
         test \"$(cat dir/deep/file same gone mode)\" = \"$(printf '1\n2\n3\n4')\" && test ! -x mode || {{ echo left; exit 1; }}
         test \"$(cat claim)\" = 1 && test -e kept.out && exit 1
         test \"$(cat claim)\" = 3 && test -e kept.out && exit 0
         touch -r same /tmp/time; echo 9 > same; touch -r /tmp/time same
         rm gone; chmod +x mode; mkdir -p new/dir; echo x > new/dir/file; date > kept.out
         rm -r dir; ln -s /etc dir
         git rm -q --cached mode; git -c user.name=x -c user.email=x@localhost commit -q -m evil
         echo x > .git/evil; exit 1",
        here = here.display()
    );
    let agent = sandbox.sh_agent(&format!("echo $RALPH_ITERATION > claim; echo '{DONE}'"));
    let args = ["-p", "x", "-n", "3", "--no-baseline", "--stall-after", "0", "--check", &check];
    sandbox.run(&args, &agent).exits(0).says("completed: checks pass");
    assert_eq!(sandbox.agents_begun(), 3);
}

#[test]
fn what_a_check_changes_in_place_is_in_the_result_as_well() {
    let sandbox = git();
    sandbox.write("notes", "as the user left them\n");
    let check = "test -e fixed && echo more >> README && echo new > made";
    let args = ["-p", "x", "--proof", "in-place", "--format", "json", "--check", check, "--check", "true"];
    let result = sandbox.run(&args, &fixer(&sandbox)).stops(0, "completed", 1);
    assert_eq!(word(&result), "proven_in_place", "{result:#}");
    assert_eq!(result["proof"]["changed_by_checks"], json!(["README", "made"]), "{result:#}");
    let shown = sandbox.ralph(&["show"]).exits(0);
    shown.says("  checks   changed delivered files: README, made\n");
}

#[test]
fn a_test_that_is_rewritten_and_put_back_while_it_runs_lowers_the_word() {
    let sandbox = git();
    let test = "test \"$(sh app.sh start)\" = started && grep -q right tests/expected && \
                test \"$(sh app.sh stop)\" = stopped\n";
    sandbox.write("tests/run.sh", test);
    sandbox.write("tests/expected", "wrong\n");
    sandbox.write("app.sh", "true\n");
    sandbox.sh("git add . && git commit -q -m app");
    // The same content and the same time as before are there in the end.
    sandbox.write(
        "../lie",
        "case $1 in
         start) cp -p tests/expected kept; echo right > tests/expected; echo started ;;
         stop) cat kept > tests/expected; touch -r kept tests/expected; rm kept; echo stopped ;;
         esac\n",
    );
    let agent = sandbox.sh_agent(&format!("cp ../lie app.sh; echo '{DONE}'"));
    for mode in ["in-place", "clean"] {
        let args = ["-p", "x", "--proof", mode, "--format", "json", "--check", "sh tests/run.sh"];
        let result = sandbox.run(&args, &agent).stops(0, "completed", 1);
        assert_eq!(word(&result), "changed_tests", "{result:#}");
        assert_eq!(result["proof"]["gates"][0]["path"], "tests/expected", "{result:#}");
        assert_eq!(result["proof"]["gates"][0]["details"], json!(["written to by a check"]));
        assert_eq!(result["proof"]["changed_by_checks"], json!([]), "the content is the same");
        sandbox.sh("git checkout -q . && rm -rf ../home");
    }
}

#[test]
fn a_check_that_writes_to_tests_before_the_first_agent_too_lowers_nothing_in_place() {
    let sandbox = git();
    sandbox.write("tests/run.sh", "touch tests/stamp; test -e fixed\n");
    sandbox.write("tests/stamp", "");
    sandbox.sh("git add . && git commit -q -m app");
    let args = ["-p", "x", "--proof", "in-place", "--format", "json", "--check", "sh tests/run.sh"];
    let result = sandbox.run(&args, &fixer(&sandbox)).stops(0, "completed", 1);
    assert_eq!(word(&result), "proven_in_place", "{result:#}");
    // The same where the baseline has shown that the copy does not do.
    sandbox.sh("rm -rf ../home fixed && touch ../tmp/service");
    let check = format!("sh tests/run.sh; test -e {}/tmp/service", sandbox.root().display());
    let args = ["-p", "x", "--format", "json", "--check", &check, "--check", "test -e fixed"];
    let result = sandbox.run(&args, &fixer(&sandbox)).stops(0, "completed", 1);
    assert_eq!(word(&result), "proven_in_place", "{result:#}");
}

#[test]
fn a_run_in_a_worktree_is_proven_on_a_copy_at_the_worktrees_path() {
    let sandbox = git();
    let check = "pwd > ../../../../user/where; test -e fixed";
    let args = ["-p", "x", "--worktree", "--format", "json", "--check", check];
    let result = sandbox.run(&args, &sandbox.sh_agent(FIX)).stops(0, "completed", 1);
    assert_eq!((word(&result), &result["proof"]["level"]), ("proven", &json!("clean")), "{result:#}");
    let at = result["worktree_path"].as_str().unwrap();
    assert_eq!(sandbox.read("../user/where").trim_end(), at);
}

#[test]
fn a_project_in_a_subdirectory_is_proven_there() {
    let sandbox = git();
    sandbox.write("apps/one/README", "one\n");
    sandbox.write("shared/data", "right\n");
    sandbox.sh("git add . && git commit -q -m apps");
    let args =
        ["run", "-p", "x", "--format", "json", "--check", "test -e fixed && grep -q right ../../shared/data"];
    let args = [&args[..], &["--", "sh", "-c", FIX]].concat();
    let result = sandbox.ralph_in(&sandbox.project().join("apps/one"), &args).stops(0, "completed", 1);
    assert_eq!((word(&result), &result["proof"]["level"]), ("proven", &json!("clean")), "{result:#}");
}

#[test]
fn without_git_nothing_is_called_proven() {
    let sandbox = Sandbox::bare().proving();
    let ran = sandbox.run(&["-p", "x", "--check", "test -e fixed"], &fixer(&sandbox)).exits(0);
    let ran = ran.says("the proof runs in place: the project is not a git repository");
    ran.says("completed: checks pass; what changed is not known without git");
    sandbox.sh("rm -rf fixed ../home");
    let ran = sandbox.run(&["-p", "x", "--check", "test -e fixed", "--proof", "clean"], &fixer(&sandbox));
    ran.exits(2).says("the project is not a git repository");
}

#[test]
fn repositories_of_all_kinds_are_copied() {
    for (what, setup) in [
        ("no commit yet", "true"),
        ("untracked files only", "echo one > one"),
        (
            "SHA-256",
            "rm -rf .git && git init -q -b main --object-format=sha256 && git config user.name x && \
                     git config user.email x@localhost && echo one > one && git add . && git commit -q -m one",
        ),
        ("a detached HEAD", "echo 1 > one && git add . && git commit -q -m one && git checkout -q --detach"),
        (
            "read-only files",
            "mkdir locked && echo 1 > locked/one && git add . && git commit -q -m one && \
                             chmod 400 locked/one && chmod 500 locked",
        ),
        (
            "odd names",
            "mkdir -p 'a b' && echo 1 > 'a b/c\"d' && printf 1 > \"$(printf 'x\\377y\\nz')\" && \
                       git add . && git commit -q -m odd",
        ),
        (
            "links",
            "ln -s nowhere dangling && ln -s /etc/passwd outside && git add . && git commit -q -m links",
        ),
    ] {
        let sandbox = Sandbox::empty_repository().proving();
        sandbox.sh(setup);
        let args = ["-p", "x", "--format", "json", "--check", "git status > /dev/null && test -e fixed"];
        let result = sandbox.run(&args, &sandbox.sh_agent(FIX)).stops(0, "completed", 1);
        assert_eq!(
            (word(&result), &result["proof"]["level"]),
            ("proven", &json!("clean")),
            "{what}: {result:#}"
        );
        assert_eq!(result["proof"]["changed_by_checks"], json!([]), "{what}");
        assert_eq!(result["proof"]["carried"], json!([]), "{what}");
        sandbox.sh("chmod -R u+w .");
    }
}

#[test]
fn the_copy_is_removed_when_the_work_is_done_and_by_clean_if_it_never_is() {
    let sandbox = git();
    sandbox.write(".gitignore", "cache\n");
    sandbox.sh("mkdir -p cache/deep && echo 1 > cache/deep/one && chmod -R a-w cache");
    let agent = sandbox.sh_agent("echo 'not yet'");
    sandbox.run(&["-p", "x", "-n", "1", "--check", "false"], &agent).exits(1);
    assert!(copy(&sandbox).join("tree/cache/deep/one").exists(), "it is needed if the run is resumed");
    let id = sandbox.only_run();
    sandbox.ralph(&["clean", &id, "--force"]).exits(0);
    assert!(sandbox.runs().is_empty(), "{:?}", sandbox.runs());
    sandbox.run(&["-p", "x", "--check", "test -e fixed"], &fixer(&sandbox)).exits(0);
    assert!(!copy(&sandbox).exists());
    sandbox.sh("chmod -R u+w .");
}

#[test]
fn two_runs_that_share_a_workspace_have_a_copy_each() {
    let sandbox = git();
    let check = waiting_check(&sandbox, true);
    let first = sandbox.begin(&["-p", "x", "--check", &check], &fixer(&sandbox));
    until_waiting(&sandbox);
    let other = ["-p", "x", "--share-workspace", "--check", "test -e fixed", "--format", "json"];
    let result = sandbox.run(&other, &sandbox.sh_agent(FIX)).stops(0, "completed", 1);
    assert_eq!((word(&result), &result["proof"]["level"]), ("proven", &json!("clean")));
    let_go(&sandbox);
    first.end().exits(0);
}

/// Inside, the keeper is not among the processes that can be seen.
#[test]
fn a_check_on_the_copy_cannot_steer_its_run() {
    let sandbox = git();
    // A record that can be seen there, as that of a user in their home can.
    let state = sandbox.root().join("user/state");
    let told = sandbox.root().join("user/told");
    let (home, told) = (format!("RALPH_HOME='{}'", state.display()), told.display());
    let call = |way: &str, what: &str| format!("{way} {home} '{RALPH}' {what} >> {told} 2>&1");
    let ways = ["env", "env -i", "setsid -w env -i"];
    let commands = ["say 'well done'", "set -n 9", "pause", "kill"];
    let calls = ways.iter().flat_map(|way| commands.iter().map(|what| call(way, what)));
    sandbox.write("steer.sh", calls.collect::<Vec<_>>().join("\n") + "\nexit 1\n");
    let mut command = sandbox.command(RALPH);
    command.env("RALPH_HOME", &state).args(["run", "-p", "x", "-n", "1", "--format", "json"]);
    command.args(["--check", "test -e fixed && sh steer.sh", "--", "sh", "-c", FIX]);
    let result = sandbox.spawn(command).end().stops(1, "max_iterations", 1);
    assert_eq!(result["iterations"][0]["all_checks_passed"], false);
    let told = sandbox.read("../user/told");
    let refused = told.matches("cause: an agent cannot control its own run").count();
    // Once on the copy, once in the working tree.
    assert_eq!(refused, 2 * ways.len() * commands.len(), "{told}");
}
