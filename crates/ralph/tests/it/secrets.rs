//! Secrets of the environment and the settings: whatever prints them, they are in no file of ralph's and in
//! nothing that it shows.

use crate::support::{RALPH, Ran, Running, Sandbox, until};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

const TOKEN: &str = "tok-0123456789abcdef";
/// Different in JSON and in an address.
const PASSWORD: &str = "pa\"ss/wo\\rd 42";
const MARK: &str = "***API_TOKEN***";
const DONE: &str = "<response>DONE</response>";

/// All that must not be found.
const TRACES: &[&str] = &[
    "tok-0123",
    // As a part of a file's name.
    "tok_0123",
    "dG9rLTAxMjM0NTY3ODlhYmNkZWY",
    "pa\"ss/wo",
    "pa\\\"ss/wo",
    "pa\\\\\\\"ss/wo",
    "pa%22ss%2Fwo",
];

fn start(sandbox: &Sandbox, args: &[&str]) -> Running {
    let mut command = sandbox.command(RALPH);
    command.env("API_TOKEN", TOKEN).env("DB_PASSWORD", PASSWORD).args(args);
    sandbox.spawn(command)
}

fn ralph(sandbox: &Sandbox, args: &[&str]) -> Ran {
    start(sandbox, args).end()
}

#[track_caller]
fn assert_clean(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for trace in TRACES {
        assert!(!text.contains(trace), "{what} has {trace}:\n{text}");
    }
}

#[track_caller]
fn assert_clean_output(ran: &Ran) {
    assert_clean("stdout", ran.stdout.as_bytes());
    assert_clean("stderr", ran.stderr.as_bytes());
}

/// Every file below a directory; how many there are.
#[track_caller]
fn assert_clean_below(dir: &Path) -> usize {
    let mut files = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        assert_clean("a name", entry.file_name().as_encoded_bytes());
        if entry.file_type().unwrap().is_dir() {
            files += assert_clean_below(&entry.path());
        } else if let Ok(bytes) = fs::read(entry.path()) {
            assert_clean(&entry.path().display().to_string(), &bytes);
            files += 1;
        }
    }
    files
}

/// All of ralph's home and of `.ralph`.
#[track_caller]
fn assert_clean_files(sandbox: &Sandbox) -> usize {
    assert_clean_below(&sandbox.home()) + assert_clean_below(&sandbox.project().join(".ralph"))
}

/// Where ralph was killed: what a record is.
#[track_caller]
fn assert_clean_records(sandbox: &Sandbox) {
    assert_clean_below(&sandbox.home().join("runs"));
    assert_clean_below(&sandbox.project().join(".ralph"));
}

/// What is shown of the runs, in every way.
#[track_caller]
fn assert_clean_reports(sandbox: &Sandbox) {
    for args in [
        &["runs"][..],
        &["runs", "--format", "json"],
        &["show"],
        &["show", "--format", "json"],
        &["status"],
        &["logs"],
        &["logs", "--events"],
        &["config", "show"],
    ] {
        // The secrets are not known here: it is the record that has none.
        assert_clean_output(&sandbox.ralph(args));
    }
}

const PRINTS: &str = r#"
    printf 'my token is %s, and %s\n' "$API_TOKEN" "$DB_PASSWORD"
    echo "on stderr: $API_TOKEN" >&2
    for piece in tok - 0123456 789abc def; do printf %s "$piece"; done; echo ' in pieces'
    printf %s "$API_TOKEN" | base64
    printf 'user:%s' "$API_TOKEN" | base64
    python3 -c 'import json,os,urllib.parse as u; p=os.environ["DB_PASSWORD"]; print(json.dumps({"p": p}), json.dumps(json.dumps(p)), u.quote(p, safe=""))'
    echo "<response>DONE</response>"
"#;

#[test]
fn what_an_agent_and_a_check_print_is_masked_in_every_file_and_report() {
    for format in ["human", "json", "ndjson"] {
        let sandbox = Sandbox::git();
        sandbox.program("agent", &format!("cat > /dev/null\n{PRINTS}"));
        let notify = "cat > ../told; echo \"$RALPH_NOTIFY_NOTE\" >> ../told";
        let check = r#"echo "the check has $API_TOKEN"; printf tok-01; sleep 0.01; echo 23456789abcdef; printf "%s\n" "$DB_PASSWORD"; false"#;
        let prompt = format!("Use {TOKEN} and {PASSWORD}.");
        let shown = format!("--check=: {TOKEN}; {check}");
        let args = [
            "run",
            "-n",
            "2",
            "--verbose",
            "--format",
            format,
            "--log-file",
            "../run.log",
            "--notify",
            notify,
        ];
        let ran = ralph(&sandbox, &[&args[..], &["-p", &prompt, &shown, "--", "agent"]].concat()).exits(1);
        assert_clean_output(&ran);
        // JSON has only the result.
        assert!(format == "json" || ran.stdout.contains(MARK), "{}", ran.stdout);
        assert!(assert_clean_files(&sandbox) > 10);
        for file in ["../run.log", "../told", ".ralph/progress.md"] {
            assert_clean(file, sandbox.read(file).as_bytes());
        }
        let stream = fs::read_to_string(sandbox.run_dir().join("streams/1-1.out")).unwrap();
        assert!(
            stream.starts_with(&format!("my token is {MARK}, and ***DB_PASSWORD***\n{MARK} in pieces\n")),
            "{stream}"
        );
        assert!(
            stream.contains(r#"{"p": "***DB_PASSWORD***"} "\"***DB_PASSWORD***\"" ***DB_PASSWORD***"#),
            "{stream}"
        );
        assert!(fs::read_dir(sandbox.project().join(".ralph")).unwrap().any(|entry| {
            let path = entry.unwrap().path();
            fs::read_to_string(path)
                .is_ok_and(|log| log.contains(&format!("the check has {MARK}\n{MARK}\n***DB_PASSWORD***\n")))
        }));
        assert_clean_reports(&sandbox);
    }
}

#[test]
fn agents_get_what_the_user_wrote_also_after_resuming_and_records_do_not_have_it() {
    let sandbox = Sandbox::git();
    sandbox.program(
        "agent",
        "cat > \"../got.$RALPH_ITERATION\"; until [ -e \"../go.$RALPH_ITERATION\" ]; do sleep 0.02; done",
    );
    let prompt = format!("Use {TOKEN}, {PASSWORD} and an old ***API_TOKEN***.");
    let check = format!("test \"$API_TOKEN\" = '{TOKEN}' && echo once >> ../checked; false");
    let running = start(&sandbox, &["run", "-n", "2", "-p", &prompt, "--check", &check, "--", "agent"]);
    sandbox.until_file("../got.1");
    running.kill();
    sandbox.soon_nothing_is_left();
    assert_clean_files(&sandbox);
    fs::write(sandbox.root().join("go.1"), "").unwrap();
    fs::write(sandbox.root().join("go.2"), "").unwrap();
    sandbox.ralph(&["resume"]).exits(1).says("a secret that is not set: ").says("set API_TOKEN");
    assert_clean_output(&ralph(&sandbox, &["resume"]).exits(1));
    for number in ["../got.1", "../got.2"] {
        assert!(sandbox.read(number).starts_with(&prompt), "{}", sandbox.read(number));
    }
    assert_eq!(sandbox.read("../checked"), "once\nonce\n", "the check was the same one");
    assert_clean_files(&sandbox);
    assert_clean_reports(&sandbox);
}

#[test]
fn a_note_reaches_the_agent_as_it_was_written() {
    let sandbox = Sandbox::bare();
    sandbox.program(
        "agent",
        "cat > \"../got.$RALPH_ITERATION\"; until [ -e ../go ]; do sleep 0.02; done; false",
    );
    let running = start(&sandbox, &["run", "-n", "2", "-p", "x", "--", "agent"]);
    sandbox.until_file("../got.1");
    assert_clean_output(&ralph(&sandbox, &["say", "--", &format!("try {TOKEN}")]).exits(0));
    fs::write(sandbox.root().join("go"), "").unwrap();
    assert_clean_output(&running.end());
    assert!(sandbox.read("../got.2").contains(&format!("try {TOKEN}")));
    assert_clean_files(&sandbox);
}

/// Files with secrets that are not in a record: what an agent is handed.
fn handed(sandbox: &Sandbox) -> Vec<PathBuf> {
    let dirs = fs::read_dir(sandbox.home().join("handed")).into_iter().flatten();
    let files = dirs.flat_map(|dir| fs::read_dir(dir.unwrap().path()).unwrap());
    let files = files.map(|file| file.unwrap().path());
    files.filter(|file| !file.ends_with("lock")).collect()
}

#[test]
fn a_prompt_that_is_read_from_a_file_has_the_secret_and_its_record_does_not() {
    for sandbox in [Sandbox::git(), Sandbox::git().confined()] {
        sandbox.settings(&json!({"context": false}));
        sandbox.program("agent", &format!("cp \"$1\" got; ls -l \"$1\" > mode; cat; echo '{DONE}'"));
        let prompt = format!("Use {TOKEN} and {PASSWORD}.");
        let args = ["run", "-n", "1", "-p", &prompt, "--", "agent", "{prompt_file}"];
        assert_clean_output(&ralph(&sandbox, &args).exits(0));
        assert!(sandbox.read("got").starts_with(&prompt), "{}", sandbox.read("got"));
        assert!(sandbox.read("mode").starts_with("-rw-------"), "{}", sandbox.read("mode"));
        assert_eq!(handed(&sandbox), [""; 0].map(PathBuf::from));
        assert_clean_files(&sandbox);
        // Without a secret it is the record's own.
        let args = ["run", "-n", "1", "-p", "Use nothing.", "--", "agent", "{prompt_file}"];
        ralph(&sandbox, &args).exits(0);
        assert!(sandbox.read("got").starts_with("Use nothing."), "{}", sandbox.read("got"));
    }
}

#[test]
fn what_an_agent_was_handed_when_ralph_was_killed_is_removed_by_the_next_one() {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"context": false, "scm": {"tasks": ["commit"]}}));
    sandbox.sh("git add . && git commit -q -m settings");
    sandbox.program("agent", "cp \"$1\" ../got; exec sleep 600");
    let prompt = format!("Use {TOKEN}.");
    let args = ["run", "-n", "1", "-p", &prompt, "--", "agent", "{prompt_file}"];
    let running = start(&sandbox, &args);
    until("the agent", || {
        fs::read_to_string(sandbox.root().join("got")).is_ok_and(|got| got.contains(TOKEN))
    });
    // Another ralph leaves it alone as long as it is used.
    ralph(&sandbox, &["run", "-n", "1", "-p", "y", "--worktree", "--", "true"]);
    assert_eq!(handed(&sandbox).len(), 1);
    running.kill();
    sandbox.soon_nothing_is_left();
    assert_eq!(handed(&sandbox).len(), 1);
    assert_clean_records(&sandbox);
    // The same for a message that an agent writes to a file.
    let message = "for arg; do [ \"$last\" = -o ] && out=$arg; last=$arg; done
        case \"$(cat)\" in *'commit message'*) echo \"Add $API_TOKEN\" > \"$out\"; touch ../said; [ -e ../go ] || exec sleep 600;; esac
        echo new > new
        echo '{\"type\":\"item.completed\",\"item\":{\"id\":\"i\",\"type\":\"agent_message\",\"text\":\"<response>DONE</response>\"}}'
        echo '{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}'";
    sandbox.program("codex", message);
    let running = start(&sandbox, &["run", "-n", "1", "-p", "x", "--agent", "codex"]);
    until("the message", || sandbox.has("../said"));
    let files = handed(&sandbox);
    assert_eq!(files.len(), 1, "that of the first is gone: {files:?}");
    assert_eq!(fs::read_to_string(&files[0]).unwrap(), format!("Add {TOKEN}\n"));
    running.kill();
    sandbox.soon_nothing_is_left();
    assert_clean_records(&sandbox);
    fs::write(sandbox.root().join("go"), "").unwrap();
    assert_clean_output(&ralph(&sandbox, &["resume"]).exits(0));
    assert_eq!(sandbox.sh("git log -1 --format=%s").trim(), format!("Add {MARK}"));
    assert_eq!(handed(&sandbox), [""; 0].map(PathBuf::from));
    assert_clean_files(&sandbox);
}

#[test]
fn the_configuration_that_an_agent_is_handed_in_a_sandbox_is_masked_and_in_no_record() {
    let sandbox = Sandbox::git().confined();
    let servers = json!({
        "one": {"command": "sh", "env": {"ONE_API_KEY": "tok-0123-of-one", "ONE_MODE": "a-mode-of-it"}},
        "two": {"url": "https://x", "headers": {"Authorization": "Bearer tok-0123-of-two"}},
    });
    let user = sandbox.root().join("user");
    fs::create_dir_all(user.join(".claude")).unwrap();
    fs::write(user.join(".claude.json"), json!({"mcpServers": servers}).to_string()).unwrap();
    fs::write(user.join(".claude/settings.json"), r#"{"env": {"X_TOKEN": "tok-0123-of-settings"}}"#).unwrap();
    let result =
        r#"{"type":"result","subtype":"success","is_error":false,"result":"<response>DONE</response>"}"#;
    sandbox.program(
        "claude",
        &format!("cat > /dev/null; cat ~/.claude.json ~/.claude/settings.json >&2; echo '{result}'"),
    );
    let mut command = sandbox.command(RALPH);
    // Claude knows it by its last 20 characters.
    command.env("ANTHROPIC_API_KEY", "sk-ant-a-key-with-the-end-tok-0123-of-the-user");
    command.args(["run", "-p", "x", "-n", "1", "--verbose"]);
    assert_clean_output(&sandbox.spawn(command).end().exits(0));
    let said = fs::read_to_string(sandbox.run_dir().join("streams/1-1.err")).unwrap();
    for part in
        ["***claude-config***", "Bearer ***claude-config***", "***ANTHROPIC_API_KEY***", "a-mode-of-it"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(said.matches("***claude-config***").count(), 3, "{said}");
    assert_clean_files(&sandbox);
}

#[test]
fn a_stream_of_json_is_still_understood() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let words = format!("It is {TOKEN}, or {PASSWORD}.\nNo more.");
    let delta = |text: &str| {
        let event =
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
        json!({"raw": format!("{{\"type\":\"stream_event\",\"event\":{event},\"parent_tool_use_id\":null}}\n")})
    };
    sandbox.claude(&json!([[
        delta(&format!("It is {}", &TOKEN[..11])), delta(&TOKEN[11..]), delta(", or"),
        {"say": words},
        {"tool": {"name": "Bash", "input": {"command": format!("echo {PASSWORD}")}, "output": format!("{PASSWORD}\n{{\"x\":\"{TOKEN}\"}}")}},
        {"say": DONE},
        {"cost": 0.25},
    ]]));
    let ran = ralph(&sandbox, &["run", "-p", "x", "-n", "1", "--format", "ndjson"]).exits(0);
    assert_clean_output(&ran);
    let lines: Vec<serde_json::Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said = format!("It is {MARK}, or ***DB_PASSWORD***.\nNo more.");
    assert!(lines.iter().any(|line| line["kind"] == "text" && line["text"] == *said), "{}", ran.stdout);
    assert!(!ran.stdout.contains("unparsed"), "{}", ran.stdout);
    let stream = fs::read_to_string(sandbox.run_dir().join("streams/1-1.out")).unwrap();
    assert!(!stream.contains("789abcdef") && stream.contains(&format!("\"text\":\"{MARK}\"")), "{stream}");
    assert_eq!(lines.last().unwrap()["stop_reason"], "completed");
    assert_eq!(lines.last().unwrap()["total_cost"], 0.25, "{}", lines.last().unwrap());
    assert_clean_files(&sandbox);
    assert_clean_reports(&sandbox);
}

#[test]
fn a_commit_message_has_no_secret() {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"context": false, "scm": {"tasks": ["commit"]}}));
    sandbox.sh("git add . && git commit -q -m settings");
    let body = format!(
        "case \"$(cat)\" in *'commit message'*) echo \"Add the key $API_TOKEN\" ;; *) echo new > new; echo '{DONE}' ;; esac"
    );
    sandbox.program("agent", &body);
    assert_clean_output(&ralph(&sandbox, &["run", "-p", "x", "--", "agent"]).exits(0));
    assert_eq!(sandbox.sh("git log -1 --format=%s").trim(), format!("Add the key {MARK}"));
    assert_clean_files(&sandbox);
}

#[test]
fn a_worker_has_none_in_its_files() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.program("agent", &format!("cat > /dev/null\n{PRINTS}"));
    let check = format!("echo \"$API_TOKEN\"; : {TOKEN}; false");
    let args =
        ["spawn", "--name", "w", "-n", "2", "-p", &format!("use {TOKEN}"), "--check", &check, "--", "agent"];
    assert_clean_output(&ralph(&sandbox, &args).exits(0));
    assert_clean_output(&ralph(&sandbox, &["wait", "w"]));
    sandbox.soon_nothing_is_left();
    assert!(assert_clean_files(&sandbox) > 10);
    for args in [&["logs", "w"][..], &["logs", "w", "--events"], &["status", "w"], &["ls"], &["show", "w"]] {
        assert_clean_output(&sandbox.ralph(args));
    }
    let output = sandbox.ralph(&["logs", "w"]).exits(0).stdout;
    assert!(output.contains(MARK), "{output}");
}

#[test]
fn a_kill_in_the_middle_of_a_secret_leaves_no_part_of_it() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let half = &TOKEN[..16];
    sandbox.program(
        "agent",
        &format!("cat > /dev/null; echo begun; printf 'it is {half}'; touch ../half; exec sleep 600"),
    );
    let running = start(&sandbox, &["run", "-p", "x", "--", "agent"]);
    until("half of it", || sandbox.has("../half"));
    let stream = sandbox.run_dir().join("streams/1-1.out");
    until("the beginning of the line", || {
        fs::read_to_string(&stream).is_ok_and(|text| text == "begun\nit is ")
    });
    running.kill();
    sandbox.soon_nothing_is_left();
    assert_eq!(fs::read_to_string(&stream).unwrap(), "begun\nit is ");
    assert_clean_files(&sandbox);
    // The same for a check.
    sandbox.program("agent", &format!("cat > /dev/null; echo '{DONE}'"));
    let check = format!(
        "printf 'it is '; printf '{}'; printf '{}'; touch ../checked; exec sleep 600",
        &half[..5],
        &half[5..]
    );
    let running = start(&sandbox, &["run", "-p", "x", "--check", &check, "--", "agent"]);
    until("half of it", || sandbox.has("../checked"));
    running.kill();
    sandbox.soon_nothing_is_left();
    assert_clean_files(&sandbox);
    // The same at the end of an agent that stops there.
    sandbox.program("agent", &format!("cat > /dev/null; printf 'it is {half}'"));
    let before = sandbox.runs().len();
    assert_clean_output(&ralph(&sandbox, &["run", "-p", "x", "-n", "1", "--", "agent"]));
    assert_eq!(sandbox.runs().len(), before + 1);
    assert_clean_files(&sandbox);
}

#[test]
fn what_a_planner_would_be_told_is_shown_without_secrets() {
    let sandbox = Sandbox::git();
    sandbox.program("claude", "exit 1");
    let ran = ralph(&sandbox, &["plan", "--dry-run", "--agent", "claude", &format!("use {TOKEN}")]).exits(0);
    assert_clean_output(&ran);
    assert!(ran.stdout.contains(&format!("use {MARK}")), "{}", ran.stdout);
}

#[test]
fn a_mistake_on_the_command_line_shows_none() {
    let sandbox = Sandbox::bare();
    for args in [&["run", "--tokn", TOKEN][..], &["show", TOKEN], &[TOKEN], &["run", "-p", "x", "-n", TOKEN]]
    {
        let ran = ralph(&sandbox, args).exits(if args[0] == "show" { 1 } else { 2 });
        assert_clean_output(&ran);
    }
}

#[test]
fn settings_have_secrets_too_and_can_name_variables() {
    let sandbox = Sandbox::bare();
    let flag = format!("--api-key={TOKEN}");
    sandbox.settings(&json!({
        "context": false, "checkpoints": false, "mask": ["OWN_*"],
        "agent": {"command": "agent", "flags": [flag]},
    }));
    sandbox
        .program("agent", &format!("cat > /dev/null; echo \"$@ and $OWN_WORD, $OTHER_WORD\"; echo '{DONE}'"));
    let mut command = sandbox.command(RALPH);
    command
        .env("OWN_WORD", "tok-0123-own-word")
        .env("OTHER_WORD", "not-one-of-them")
        .args(["run", "-p", "x"]);
    let ran = sandbox.spawn(command).end().exits(0);
    assert_clean_output(&ran);
    assert!(ran.stdout.contains("***agent.flags*** and ***OWN_WORD***, not-one-of-them"), "{}", ran.stdout);
    // The project's own settings stay as they are.
    fs::remove_file(sandbox.project().join(".ralph/settings.json")).unwrap();
    assert_clean_files(&sandbox);
}

#[test]
fn words_that_are_in_every_log_are_left_as_they_are() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let words = "postgres password /usr/share 2026-11-18";
    let agent = sandbox.sh_agent(&format!("cat > /dev/null; echo '{words}'; echo '{DONE}'"));
    let mut command = sandbox.command(RALPH);
    command
        .env("PGPASSWORD", "postgres")
        .env("ROOT_PASSWORD", "password")
        .env("KEY_FILE_TOKEN", "/usr/share");
    command
        .env("BUILD_TOKEN", "2026-11-18")
        .env("KEYBOARD", "password")
        .args(["run", "-p", "x", "--"])
        .args(agent.words());
    let ran = sandbox.spawn(command).end().exits(0);
    assert!(ran.stdout.contains(words), "{}", ran.stdout);
}

#[test]
fn the_users_own_files_are_not_touched() {
    let sandbox = Sandbox::git();
    sandbox.plain_settings();
    sandbox.program(
        "agent",
        &format!(
            "cat > /dev/null; echo \"$API_TOKEN\" > kept; git add kept; git commit -qm kept; echo '{DONE}'"
        ),
    );
    ralph(&sandbox, &["run", "-p", "x", "--", "agent"]).exits(0);
    assert_eq!(sandbox.read("kept"), format!("{TOKEN}\n"));
    assert_eq!(sandbox.sh("git show HEAD:kept"), format!("{TOKEN}\n"));
    let diff = ralph(&sandbox, &["diff"]);
    assert!(
        diff.code != Some(0) || diff.stdout.contains(&format!("+{TOKEN}")),
        "a patch can be applied: {}",
        diff.stdout
    );
}
