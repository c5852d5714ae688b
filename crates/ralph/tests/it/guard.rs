//! `ralph hook guard`, as agents call it: what it reads, what it goes by, and what happens if it cannot answer.

use crate::hooks::call;
use crate::support::{RALPH, Ran, Sandbox};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// `ralph hook guard ARGS` in a person's session.
fn guard(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.command(RALPH);
    command.args(["hook", "guard"]).args(args);
    command
}

fn bash(sandbox: &Sandbox, shell: &str) -> Value {
    json!({
        "session_id": "s", "transcript_path": sandbox.root().join("transcript.jsonl"), "cwd": sandbox.project(),
        "hook_event_name": "PreToolUse", "permission_mode": "default", "tool_name": "Bash",
        "tool_input": {"command": shell, "description": "x"}, "tool_use_id": "t",
    })
}

/// What a person's session hears of a call.
fn ask(sandbox: &Sandbox, input: &Value) -> Ran {
    call(guard(sandbox, &["--always"]), input.to_string().as_bytes())
}

#[test]
fn what_cannot_be_read_is_denied_with_a_word() {
    let sandbox = Sandbox::git();
    let cwd = sandbox.project();
    let with = |changes: Value| {
        let mut input = bash(&sandbox, "ls");
        for (name, value) in changes.as_object().unwrap() {
            input[name] = value.clone();
        }
        input.to_string().into_bytes()
    };
    let deep = format!("{{\"cwd\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000)).into_bytes();
    let table: Vec<(&str, Vec<u8>, &str)> = vec![
        ("nothing", b"".to_vec(), "EOF"),
        ("no JSON", b"ls -l\n".to_vec(), "cannot read the call"),
        ("half", bash(&sandbox, "ls").to_string().into_bytes()[..40].to_vec(), "EOF"),
        ("two", [with(json!({})), with(json!({}))].concat(), "trailing characters"),
        ("bytes", vec![0xff, 0xfe, 0x00], "cannot read the call"),
        ("a list", b"[]".to_vec(), "cannot read the call"),
        ("a number", b"1".to_vec(), "invalid type"),
        ("null", b"null".to_vec(), "invalid type"),
        ("an empty object", b"{}".to_vec(), "missing field"),
        ("deep", deep, "cannot read the call"),
        ("no tool", with(json!({"tool_name": null})), "invalid type"),
        ("a nameless tool", with(json!({"tool_name": ""})), "names no tool"),
        ("a numbered tool", with(json!({"tool_name": 7})), "invalid type"),
        ("no input", with(json!({"tool_input": null})), "has no input"),
        ("input as text", with(json!({"tool_input": "ls"})), "has no input"),
        ("no directory", with(json!({"cwd": null})), "invalid type"),
        ("a relative directory", with(json!({"cwd": "project"})), "names no directory"),
        ("another event", with(json!({"hook_event_name": "Stop"})), "not called before a tool"),
    ];
    for (name, input, word) in table {
        let ran = call(guard(&sandbox, &["--always"]), &input);
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("ralph hook: denied, because the guard cannot judge it: "), "{name}");
        assert!(ran.stderr.contains(word), "{name}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{name}");
    }
    // A shell call without a command is understood, and there is nothing to judge it by.
    for input in [json!({}), json!({"command": 7}), json!({"command": ["ls", 7]})] {
        let ran = call(guard(&sandbox, &["--always"]), &with(json!({"tool_input": input})));
        assert_eq!(ran.code, Some(2), "{input}: {}", ran.stderr);
    }
    // What is new in a later version of an agent does no harm, and neither does what is missing without need.
    let least = json!({"cwd": cwd, "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let more = with(json!({"effort": {"level": "high"}, "agent_id": null, "transcript_path": null}));
    for input in [least.to_string().into_bytes(), more] {
        let ran = call(guard(&sandbox, &["--always"]), &input).exits(0);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    }
}

#[test]
fn a_large_file_is_judged_by_its_path_and_a_large_command_is_denied() {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"guard": {"deny": ["<write> *.lock"]}}));
    let large = "x".repeat(20 << 20);
    let write = |path: &str| {
        let mut input = bash(&sandbox, "");
        input["tool_name"] = "Write".into();
        input["tool_input"] = json!({"file_path": sandbox.project().join(path), "content": large});
        ask(&sandbox, &input)
    };
    write("notes.txt").exits(0);
    write("Cargo.lock").exits(2).says("guard.deny");
    ask(&sandbox, &bash(&sandbox, &format!("echo {}", &large[..2 << 20]))).exits(2);
}

#[test]
fn sessions_that_ralph_did_not_start_are_left_alone_unless_the_user_wants_it() {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"guard": {"deny": ["make deploy *"]}}));
    for input in [bash(&sandbox, "make deploy prod").to_string(), "nonsense".to_owned()] {
        let ran = call(guard(&sandbox, &[]), input.as_bytes()).exits(0);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    }
    let ran = ask(&sandbox, &bash(&sandbox, "cd sub; env A=b sh -c 'make deploy prod'")).exits(2);
    let told =
        "ralph hook: denied: make deploy prod (guard.deny): `guard.deny` has \"make deploy *\". Instead: ";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    ask(&sandbox, &bash(&sandbox, "make test")).exits(0);
    // They may steer runs, which agents of a run may not.
    ask(&sandbox, &bash(&sandbox, "ralph spawn --name night tasks -n 40; ralph kill night")).exits(0);
    // The project's settings count wherever in it the call is made.
    sandbox.write("sub/dir/file", "");
    let mut below = bash(&sandbox, "make deploy prod");
    below["cwd"] = json!(sandbox.project().join("sub/dir"));
    ask(&sandbox, &below).exits(2);
    let log = sandbox.ralph(&["guard", "log", "--all", "--format", "json"]).exits(0).json();
    let logged: Vec<&Value> = log.as_array().unwrap().iter().map(|entry| &entry["rule"]).collect();
    assert_eq!(logged, ["guard.deny", "guard.deny"]);
    assert_eq!((&log[0]["run"], &log[0]["outcome"]), (&Value::Null, &json!("block")));
}

#[test]
fn settings_that_cannot_be_read_deny() {
    let sandbox = Sandbox::git();
    sandbox.write(".ralph/settings.json", "{");
    ask(&sandbox, &bash(&sandbox, "ls")).exits(2).says("settings.json");
    sandbox.settings(&json!({"guard": {"ask": ["gti"]}}));
    ask(&sandbox, &bash(&sandbox, "ls")).exits(2).says("guard.ask: no such category: gti");
    // A run does not start with them.
    let ran = sandbox.run(&["-p", "x", "-n", "1"], &sandbox.sh_agent("true")).exits(2);
    assert!(ran.stderr.contains("no such category: gti") && ran.stderr.contains("hint: "), "{}", ran.stderr);
}

#[test]
fn an_agent_that_says_nothing_is_answered_in_time() {
    let sandbox = Sandbox::git();
    let mut command = guard(&sandbox, &["--always"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let began = Instant::now();
    let mut child = command.spawn().unwrap();
    // Held open, as by an agent that hangs.
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no answer within 8 seconds"));
}

/// In a thread other than the first, the clock fails once. Rust panics then.
const NO_CLOCK: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
    static int failed;
    if (!failed && syscall(SYS_gettid) != getpid()) {
        failed = 1;
        errno = EIO;
        return -1;
    }
    return syscall(SYS_clock_gettime, clock, time);
}
"#;

#[test]
fn a_panic_denies_and_is_counted() {
    let sandbox = Sandbox::git();
    let (source, library) = (sandbox.root().join("clock.c"), sandbox.root().join("clock.so"));
    fs::write(&source, NO_CLOCK).unwrap();
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status().unwrap();
    assert!(built.success());
    // What is denied is logged with its time.
    let input = bash(&sandbox, "git push --force").to_string();
    let mut command = guard(&sandbox, &["--always"]);
    command.env("LD_PRELOAD", &library);
    let ran = call(command, input.as_bytes()).exits(2);
    assert!(ran.stderr.contains("panicked at "), "{}", ran.stderr);
    assert!(
        ran.stderr.ends_with("denied, because the guard cannot judge it: internal error\n"),
        "{}",
        ran.stderr
    );
    let log = fs::read_to_string(sandbox.home().join("guard.jsonl")).unwrap();
    assert!(log.contains(r#""outcome":"failed""#) && !log.contains("force-push"), "{log}");
    // The same in a run, until it pauses.
    let preload = format!("export LD_PRELOAD='{}'", library.display());
    claude(&sandbox, &format!("{preload}; ask 'git push -f'; ask 'git push -f'; ask 'git push -f'"));
    let result = run(&sandbox, &["-n", "5", "--format", "json"]).json();
    assert_eq!(result["stop_reason"], "paused", "{result:#}");
    assert_eq!(sandbox.read("codes.txt"), "2 git push -f\n".repeat(3));
    assert!(sandbox.read("err.txt").contains("panicked at "), "{}", sandbox.read("err.txt"));
    let stopped = sandbox.facts().pop().unwrap();
    let note = "the guard could not answer 3 times in a row: internal error";
    assert_eq!(stopped["stopped"]["note"], note);
}

/// A `claude` that asks the guard it was given. `calls` are lines of shell with `ask COMMAND`.
fn claude(sandbox: &Sandbox, calls: &str) {
    let body = format!(
        r#"
echo "$*" >>args.txt
while [ $# -gt 0 ]; do [ "$1" = --settings ] && settings=$2; shift; done
cat >/dev/null
guard=$(sed "s/.*\/bin\/sh '\([^']*\)'.*/\1/" "$settings")
ask() {{
    printf '{{"session_id":"s","cwd":"%s","tool_name":"Bash","tool_input":{{"command":"%s"}}}}' "$PWD" "$1" |
        /bin/sh "$guard" >>out.txt 2>>err.txt
    echo "$? $1" >>codes.txt
}}
{calls}
echo '{{"type":"result","subtype":"success","is_error":false,"result":"that was all","session_id":"s"}}'"#
    );
    sandbox.program("claude", &body);
}

fn run(sandbox: &Sandbox, args: &[&str]) -> Ran {
    sandbox.ralph(&[&["run", "-p", "x"], args].concat())
}

#[test]
fn a_run_keeps_to_the_settings_that_it_began_with() {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"guard": {"deny": ["make deploy *"]}}));
    sandbox.write("ralph/allowed-commands.txt", "# none\n");
    claude(
        &sandbox,
        "ask 'make deploy 1'
         echo '{\"guard\": {\"allow\": [\"make deploy *\"]}}' >.ralph/settings.json
         echo 'make deploy *' >>ralph/allowed-commands.txt
         ask 'make deploy 2'; ask 'make test'; ask 'ralph kill night'",
    );
    let ran = run(&sandbox, &["-n", "2"]).exits(1).says("guard   on: dangerous commands are denied");
    assert!(!ran.stderr.contains("guard"), "{}", ran.stderr);
    let one = "2 make deploy 1\n2 make deploy 2\n0 make test\n2 ralph kill night\n";
    assert_eq!(sandbox.read("codes.txt"), one.repeat(2));
    assert!(sandbox.read("args.txt").contains("--settings"));
    let log = sandbox.ralph(&["guard", "log", "--format", "json"]).exits(0).json();
    let run = sandbox.only_run();
    let logged: Vec<(&Value, &Value)> =
        log.as_array().unwrap().iter().map(|entry| (&entry["run"], &entry["command"])).collect();
    let wanted = [json!("make deploy 1"), json!("make deploy 2"), json!("ralph kill night")];
    let wanted: Vec<(Value, &Value)> =
        wanted.iter().cycle().take(6).map(|command| (json!(run), command)).collect();
    assert_eq!(logged, wanted.iter().map(|(run, command)| (run, *command)).collect::<Vec<_>>());
    let opened = &sandbox.facts()[0]["opened"];
    assert_eq!(opened["guard"], json!({"deny": ["make deploy *"]}));
    assert_eq!(sandbox.ralph(&["show", "--format", "json"]).exits(0).json()["guard"], true);
    sandbox.ralph(&["show"]).exits(0).says("guard      on");
}

#[test]
fn a_run_pauses_when_ralph_is_gone_in_the_middle_of_it() {
    let sandbox = Sandbox::git();
    let program = sandbox.root().join("bin/our-ralph");
    fs::hard_link(RALPH, &program).or_else(|_| fs::copy(RALPH, &program).map(drop)).unwrap();
    let gone =
        format!("ask 'make test'; rm '{}'; ask 'echo 1'; ask 'echo 2'; ask 'echo 3'", program.display());
    claude(&sandbox, &gone);
    let mut command = sandbox.command(program.to_str().unwrap());
    command.args(["run", "-p", "x", "-n", "5", "--format", "json"]);
    let ran = sandbox.spawn(command).end();
    assert_eq!(sandbox.read("codes.txt"), "0 make test\n2 echo 1\n2 echo 2\n2 echo 3\n");
    let told = "denied, because the guard cannot judge it: ralph hook guard ended with exit code 127";
    assert!(sandbox.read("err.txt").contains(told), "{}", sandbox.read("err.txt"));
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(result["stop_reason"], "paused", "{}", ran.stderr);
    let stopped = sandbox.facts().pop().unwrap();
    let note = "the guard could not answer 3 times in a row: ralph hook guard ended with exit code 127";
    assert_eq!(stopped["stopped"], json!({"reason": "paused", "note": note}));
    assert_eq!(sandbox.agents_begun(), 1);
    sandbox.ralph(&["show"]).exits(0).says(note);
    // With a ralph that is there, it goes on.
    claude(&sandbox, "ask 'echo 4'");
    sandbox.ralph(&["resume", "-n", "2"]);
    assert!(
        sandbox.read("codes.txt").ends_with("2 echo 3\n0 echo 4\n0 echo 4\n"),
        "{}",
        sandbox.read("codes.txt")
    );
}

/// What a run says whose ralph is replaced by a program with this text before the first tool call.
fn replaced_by(program: &[u8]) -> Ran {
    let sandbox = Sandbox::git();
    let ours = sandbox.root().join("bin/our-ralph");
    fs::hard_link(RALPH, &ours).or_else(|_| fs::copy(RALPH, &ours).map(drop)).unwrap();
    sandbox.program("other", "");
    let other = sandbox.root().join("bin/other");
    fs::write(&other, program).unwrap();
    claude(&sandbox, &format!("mv '{}' '{}'; ask a; ask b; ask c", other.display(), ours.display()));
    let mut command = sandbox.command(ours.to_str().unwrap());
    command.args(["run", "-p", "x", "-n", "5"]);
    let ran = sandbox.spawn(command).end().exits(1);
    assert_eq!(sandbox.read("codes.txt"), "2 a\n2 b\n2 c\n");
    let told =
        "ralph hook: denied, because the guard cannot judge it: ralph hook guard ended with exit code ";
    assert_eq!(sandbox.read("err.txt").matches(told).count(), 3, "{}", sandbox.read("err.txt"));
    assert_eq!(sandbox.agents_begun(), 1);
    ran
}

#[test]
fn a_run_pauses_when_ralph_was_replaced_by_one_that_crashes() {
    replaced_by(b"#!/bin/sh\nkill -ABRT $$\n").says("ended with exit code 134");
}

#[test]
fn a_run_pauses_when_ralph_was_replaced_by_one_that_knows_no_guard() {
    // What an earlier ralph says to a word that it does not know: a denial by chance, with a usage text.
    let earlier = format!("#!/bin/sh\nexec '{RALPH}' hook watch --policy x\n");
    replaced_by(earlier.as_bytes()).says("ended with exit code 2");
}

#[test]
fn a_run_pauses_when_ralph_was_replaced_by_something_that_judges_nothing() {
    // As after an update on a full disk: a shell runs an empty file, and that succeeds.
    replaced_by(b"").says("ended with exit code 0");
    replaced_by(b"#!/bin/sh\ncat > /dev/null\n").says("ended with exit code 0");
}

#[test]
fn failures_that_are_not_in_a_row_pause_nothing() {
    let sandbox = Sandbox::git();
    // No call at all, twice; then one that is understood.
    claude(
        &sandbox,
        "fail() { echo nonsense | /bin/sh \"$guard\" 2>>err.txt; echo \"$? fail\" >>codes.txt; }
         fail; fail; ask ls; fail; fail; ask ls; fail",
    );
    let ran = run(&sandbox, &["-n", "2", "--format", "json"]);
    assert_eq!(ran.json()["stop_reason"], "max_iterations", "{}", ran.stderr);
    assert_eq!(sandbox.read("codes.txt").matches("2 fail").count(), 10);
    // Over two agents they are in a row as well: one of the first, two of the second.
    let sandbox = Sandbox::git();
    claude(&sandbox, "echo nonsense | /bin/sh \"$guard\" 2>>err.txt");
    let ran = run(&sandbox, &["-n", "5", "--format", "json"]);
    assert_eq!(
        (ran.json()["stop_reason"].as_str(), sandbox.agents_begun()),
        (Some("paused"), 3),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_policy_that_an_agent_has_broken_denies() {
    let sandbox = Sandbox::git();
    claude(&sandbox, "chmod +w \"${guard%.sh}.json\"; echo '{}' >\"${guard%.sh}.json\"; ask ls");
    run(&sandbox, &["-n", "1"]);
    assert_eq!(sandbox.read("codes.txt"), "2 ls\n");
    assert!(sandbox.read("err.txt").contains("cannot read the policy of the run"));
}

/// A `codex` that writes down its arguments.
fn codex(sandbox: &Sandbox, more: &str) {
    let end = r#"{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}"#;
    let said = r#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"that was all"}}"#;
    let body = format!("echo \"$*\" >>args.txt; cat >/dev/null\n{more}\necho '{said}'; echo '{end}'");
    sandbox.program("codex", &body);
}

#[test]
fn codex_with_hooks_of_the_projects_own_has_no_guard_and_that_is_said() {
    let sandbox = Sandbox::git();
    codex(&sandbox, "");
    sandbox.write(".codex/hooks.json", "{}");
    let ran = run(&sandbox, &["-n", "1", "--agent", "codex"]);
    ran.says("guard   no guard: Codex with hooks of its own in .codex/");
    assert!(!sandbox.read("args.txt").contains("hooks."), "{}", sandbox.read("args.txt"));
    let why = "Codex with hooks of its own in .codex/";
    assert_eq!(sandbox.facts()[0]["opened"]["guard"], json!({"unwatched": [{"agent": "codex", "why": why}]}));
    assert_eq!(sandbox.ralph(&["show", "--format", "json"]).exits(0).json()["guard"], false);
}

#[test]
fn hooks_that_appear_in_the_middle_of_a_run_do_not_turn_the_guard_off() {
    let sandbox = Sandbox::git();
    codex(&sandbox, "mkdir -p .codex; echo '{}' >.codex/hooks.json");
    let ran = run(&sandbox, &["-n", "3", "--agent", "codex", "--format", "json"]).exits(1);
    assert!(sandbox.read("args.txt").contains("hooks.PreToolUse="), "{}", sandbox.read("args.txt"));
    assert_eq!(sandbox.read("args.txt").lines().count(), 1, "the second agent does not start");
    let message = ran.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("hooks have appeared in .codex/"), "{message}");
}

#[test]
fn agents_without_hooks_have_no_guard_and_that_is_said() {
    let sandbox = Sandbox::git();
    sandbox
        .run(&["-p", "x", "-n", "1"], &sandbox.sh_agent("cat >/dev/null; echo hello"))
        .says("guard   no guard: sh has no hooks");
    claude(&sandbox, "");
    sandbox.settings(&json!({"agent": {"flags": ["--settings mine.json"]}}));
    run(&sandbox, &["-n", "1"]).says("guard   no guard: it has `--settings` of its own");
}

#[test]
fn a_warning_lets_the_tool_run_and_is_told_to_the_user() {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"guard": {"categories": {"cloud": "warn"}}}));
    let ran = ask(&sandbox, &bash(&sandbox, "terraform destroy")).exits(0);
    let message = ran.json()["systemMessage"].as_str().unwrap().to_owned();
    assert!(
        message.starts_with("ralph's guard warns:\nterraform destroy (cloud/infrastructure): "),
        "{message}"
    );
    assert!(
        ran.stderr.starts_with("ralph hook: warning: terraform destroy (cloud/infrastructure): "),
        "{}",
        ran.stderr
    );
    sandbox.settings(&json!({"guard": {"categories": {"cloud": "off"}}}));
    let ran = ask(&sandbox, &bash(&sandbox, "terraform destroy")).exits(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
}

#[test]
fn the_user_is_asked_only_where_there_is_one_and_the_client_can() {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"guard": {"ask": ["cloud", "paths"], "deny": ["make deploy *"]}}));
    let ran = ask(&sandbox, &bash(&sandbox, "terraform destroy")).exits(0);
    let answer = ran.json()["hookSpecificOutput"].clone();
    assert_eq!(
        (&answer["hookEventName"], &answer["permissionDecision"]),
        (&json!("PreToolUse"), &json!("ask"))
    );
    assert!(
        answer["permissionDecisionReason"].as_str().unwrap().contains("cloud/infrastructure"),
        "{answer}"
    );
    // Codex would run the tool.
    let mut codex = bash(&sandbox, "terraform destroy");
    codex["turn_id"] = "t-1".into();
    ask(&sandbox, &codex).exits(2);
    // Something else is dangerous as well, or denied by name.
    ask(&sandbox, &bash(&sandbox, "terraform destroy; sudo reboot")).exits(2);
    ask(&sandbox, &bash(&sandbox, "terraform destroy; make deploy x")).exits(2);
    // In a run there is no one.
    claude(&sandbox, "ask 'terraform destroy'");
    run(&sandbox, &["-n", "1"]);
    assert_eq!(sandbox.read("codes.txt"), "2 terraform destroy\n");
}

#[test]
fn scripts_are_looked_into_if_they_are_younger_than_the_session() {
    let sandbox = Sandbox::git();
    sandbox.write("old.sh", "terraform destroy\n");
    // Times are whole seconds.
    std::thread::sleep(Duration::from_millis(2100));
    fs::write(sandbox.root().join("transcript.jsonl"), "{}\n").unwrap();
    sandbox.write("new.sh", "terraform destroy\n");
    sandbox.write("Makefile", "test:\n\techo ok\nclean: down ; echo clean\ndown:\n\tterraform destroy\n");
    sandbox.write("package.json", r#"{"scripts":{"test":"echo ok","down":"terraform destroy"}}"#);
    ask(&sandbox, &bash(&sandbox, "sh old.sh")).exits(0);
    ask(&sandbox, &bash(&sandbox, "sh new.sh")).exits(2).says("terraform destroy (cloud/infrastructure)");
    ask(&sandbox, &bash(&sandbox, "sh no-such-file.sh")).exits(0);
    sandbox.write("new.mjs", "require('child_process').execSync('terraform destroy')\n");
    sandbox.write("tool/__main__.py", "import os; os.system('terraform destroy')\n");
    for command in [
        "for s in *.sh; do bash $s; done",
        "bash $(ls new.sh)",
        "deno run -A new.mjs",
        "bun new.mjs",
        "python3 -m tool",
        "make clean",
        "npm run down",
    ] {
        let ran = ask(&sandbox, &bash(&sandbox, command));
        assert_eq!(ran.code, Some(2), "{command}: {}", ran.stderr);
    }
    for command in [
        "for s in o*.sh; do bash $s; done",
        "node other.mjs new.mjs",
        "python3 -m other",
        "make",
        "make test",
        "npm test",
    ] {
        let ran = ask(&sandbox, &bash(&sandbox, command));
        assert_eq!(ran.code, Some(0), "{command}: {}", ran.stderr);
    }
}

#[test]
fn a_cd_that_would_fail_leaves_the_command_where_it_was() {
    let sandbox = Sandbox::git();
    sandbox.write("build/x", "");
    for (command, code) in [
        ("cd build; rm -rf *", 0),
        ("cd missing; rm -rf *", 2),
        ("cd missing && rm -rf *", 0),
        ("cd missing || exit; rm -rf *", 0),
        ("mkdir missing; cd missing; rm -rf *", 0),
        ("cd build/x; rm -rf ../*", 2),
    ] {
        let ran = ask(&sandbox, &bash(&sandbox, command));
        assert_eq!(ran.code, Some(code), "{command}: {}", ran.stderr);
    }
}

#[test]
fn removing_a_link_is_not_removing_what_it_leads_to() {
    let sandbox = Sandbox::git();
    let outside = sandbox.home().join("outside");
    fs::create_dir_all(&outside).unwrap();
    symlink(&outside, sandbox.project().join("result")).unwrap();
    for (command, code) in [
        ("rm result", 0),
        ("rm -rf result", 0),
        ("unlink ./result", 0),
        ("mv result result.old", 0),
        ("rm -rf result/", 2),
        ("rm -rf result/*", 2),
        ("rm -rf result/x", 2),
        ("find result/ -delete", 2),
        ("echo x > result/x", 2),
    ] {
        let ran = ask(&sandbox, &bash(&sandbox, command));
        assert_eq!(ran.code, Some(code), "{command}: {}", ran.stderr);
    }
}

#[test]
fn a_session_in_the_home_directory_does_not_own_all_of_it() {
    let sandbox = Sandbox::bare();
    let home = sandbox.root().join("person");
    for dir in ["Documents", ".ssh", "app/.git", "scratch"] {
        fs::create_dir_all(home.join(dir)).unwrap();
    }
    for (command, code) in [
        ("rm -rf Documents", 2),
        ("rm -rf .ssh", 2),
        ("rm -rf .config", 2),
        ("rm -rf app", 2),
        ("rm -rf app/target", 0),
        ("rm -rf scratch", 0),
        ("rm notes.txt", 0),
    ] {
        let mut input = bash(&sandbox, command);
        input["cwd"] = json!(home);
        let mut asked = guard(&sandbox, &["--always"]);
        asked.env("HOME", &home).env("CLAUDE_PROJECT_DIR", &home);
        let ran = call(asked, input.to_string().as_bytes());
        assert_eq!(ran.code, Some(code), "{command}: {}", ran.stderr);
    }
}

#[test]
fn an_agent_that_goes_elsewhere_takes_neither_its_workspace_nor_other_settings_along() {
    let sandbox = Sandbox::git();
    let elsewhere = sandbox.home().join("elsewhere");
    fs::create_dir_all(elsewhere.join(".ralph")).unwrap();
    fs::write(elsewhere.join(".ralph/settings.json"), r#"{"guard": {"categories": {"git": "off"}}}"#)
        .unwrap();
    let mut input = bash(&sandbox, "git push --force origin main");
    input["cwd"] = json!(elsewhere);
    let ask = |is_claude: bool| {
        let mut command = guard(&sandbox, &["--always"]);
        match is_claude {
            true => command.env("CLAUDE_PROJECT_DIR", sandbox.project()),
            false => command.env_remove("CLAUDE_PROJECT_DIR"),
        };
        call(command, input.to_string().as_bytes())
    };
    ask(false).exits(0);
    ask(true).exits(2).says("git push --force origin main (git/force-push)");
}

#[test]
fn a_run_further_down_may_change_the_repository_and_not_its_settings() {
    let sandbox = Sandbox::git();
    sandbox.write("app/file", "");
    sandbox.sh("git add . && git commit -q -m app");
    let top = sandbox.project();
    claude(
        &sandbox,
        &format!("ask 'rm -r {top}/build'; ask 'echo x > {top}/.git/hooks/post-commit'", top = top.display()),
    );
    sandbox.ralph_in(&top.join("app"), &["run", "-p", "x", "-n", "1"]);
    let codes: Vec<String> = sandbox
        .read("app/codes.txt")
        .lines()
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(codes, ["0", "2"], "{}", sandbox.read("app/codes.txt"));
}

#[test]
fn an_agent_of_a_run_may_throw_away_its_own_commits_and_no_others() {
    let sandbox = Sandbox::git();
    sandbox.sh("git checkout -q -b exp && git commit -q --allow-empty -m exp
         git checkout -q main && git commit -q --allow-empty -m main");
    claude(
        &sandbox,
        "ask 'git checkout exp && git reset --hard main'; ask 'git reset --hard HEAD~1'
         GIT_COMMITTER_DATE='2096-01-01 00:00:00 +0000' git commit -q --allow-empty -m mine
         ask 'git reset --hard HEAD~1'; ask 'git reset --hard HEAD~2'; git reset -q --hard HEAD~1",
    );
    run(&sandbox, &["-n", "2"]);
    let codes = sandbox.read("codes.txt");
    let codes: Vec<&str> = codes.lines().map(|line| &line[..1]).collect();
    // When the work began does not change with the second agent.
    assert_eq!(codes, ["2", "2", "0", "2"].repeat(2), "{}", sandbox.read("codes.txt"));
}

#[test]
fn a_task_list_of_ralphs_directory_can_be_written_and_its_settings_cannot() {
    let sandbox = Sandbox::git();
    for (file, code) in
        [("tasks.json", 0), ("progress.txt", 0), ("settings.json", 2), ("settings.local.json", 2)]
    {
        let path = sandbox.project().join(".ralph").join(file);
        let mut input = bash(&sandbox, "");
        input["tool_name"] = "Write".into();
        input["tool_input"] = json!({"file_path": path, "content": "{}"});
        ask(&sandbox, &input).exits(code);
        ask(&sandbox, &bash(&sandbox, &format!("echo x > .ralph/{file}"))).exits(code);
    }
}

#[test]
fn secrets_are_in_no_log() {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"guard": {"deny": ["make deploy *"]}}));
    let mut command = guard(&sandbox, &["--always"]);
    command.env("DEPLOY_TOKEN", "a-token-of-the-user");
    let input = bash(&sandbox, "make deploy TOKEN=a-token-of-the-user").to_string();
    let ran = call(command, input.as_bytes()).exits(2);
    assert!(!ran.stderr.contains("a-token-of-the-user"), "{}", ran.stderr);
    let log = fs::read_to_string(sandbox.home().join("guard.jsonl")).unwrap();
    assert!(log.contains("make deploy TOKEN=") && !log.contains("a-token-of-the-user"), "{log}");
}
