//! The login of an agent in a sandbox, through whole runs.

use crate::support::*;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const OLD: &str = r#"{"claudeAiOauth":{"accessToken":"old","refreshToken":"r","expiresAt":5}}"#;
const NEW: &str = r#"{"claudeAiOauth":{"accessToken":"new","refreshToken":"s","expiresAt":9}}"#;

/// A user who is logged in, has a history, and configured Claude.
fn user(sandbox: &Sandbox) -> PathBuf {
    let dir = sandbox.root().join("user/.claude");
    fs::create_dir_all(dir.join("projects/other")).unwrap();
    fs::create_dir_all(dir.join("skills/mine")).unwrap();
    fs::write(dir.join("projects/other/talk.jsonl"), "HISTORY\n").unwrap();
    fs::write(dir.join("skills/mine/SKILL.md"), "a skill\n").unwrap();
    fs::write(dir.join("CLAUDE.md"), "my rules\n").unwrap();
    let login = dir.join(".credentials.json");
    fs::write(&login, OLD).unwrap();
    fs::set_permissions(&login, fs::Permissions::from_mode(0o600)).unwrap();
    let own = r#"{"oauthAccount":{"emailAddress":"me@localhost"},"history":["HISTORY"],"mcpServers":{"gone":{"command":"gone-mcp"}}}"#;
    fs::write(sandbox.root().join("user/.claude.json"), own).unwrap();
    login
}

/// Puts a `claude` into the path that runs this first, and then says that it is done.
fn claude(sandbox: &Sandbox, script: &str) {
    let result =
        r#"{"type":"result","subtype":"success","is_error":false,"result":"<response>DONE</response>"}"#;
    sandbox.program("claude", &format!("cat > /dev/null; {{ {script}\n}} >&2; echo '{result}'"));
}

#[test]
fn a_token_that_an_agent_refreshes_is_the_users_while_the_agent_still_runs() {
    let sandbox = Sandbox::git().confined();
    let login = user(&sandbox);
    let refresh = format!(
        "cd ~/.claude; cat .credentials.json CLAUDE.md skills/mine/SKILL.md; find . -name talk.jsonl; cat ~/.claude.json
         echo '{NEW}' > .new; chmod 600 .new; mv .new .credentials.json
         echo x >> ~/.claude.json; echo x > CLAUDE.md; echo x > projects/x && echo wrote; env | grep -c '^IS_SANDBOX=1'; cd - > /dev/null
         touch refreshed; while ! test -e go; do sleep 0.1; done"
    );
    claude(&sandbox, &refresh);
    let own = || fs::read_to_string(sandbox.root().join("user/.claude.json")).unwrap();
    let before = own();
    let running =
        sandbox.begin(&["-p", "x", "-n", "1", "--check", "! test -e ~/.claude"], &Agent::named("claude"));
    until("the token", || fs::read_to_string(&login).unwrap().trim() == NEW);
    sandbox.write("go", "");
    let ran = running.end().exits(0);
    let ran = ran.says("gone").says("the refreshed login was written");
    assert_eq!((ran.stdout + &ran.stderr).matches("MCP servers of claude: gone").count(), 1);
    let said = fs::read_to_string(sandbox.run_dir().join("streams/1-1.err")).unwrap();
    for line in [OLD, "my rules", "a skill", "me@localhost", "hasTrustDialogAccepted", "wrote", "1"] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(!said.contains("talk.jsonl") && !said.contains("HISTORY"), "{said}");
    let dir = login.parent().unwrap();
    assert_eq!(fs::read_to_string(dir.join("CLAUDE.md")).unwrap(), "my rules\n");
    assert!(!dir.join("projects/x").exists());
    assert_eq!(own(), before);
    assert_eq!(fs::metadata(&login).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_token_that_was_refreshed_before_a_crash_is_the_users_after_the_resume() {
    let sandbox = Sandbox::git().confined();
    let login = user(&sandbox);
    claude(&sandbox, "touch begun; while ! test -e go; do sleep 0.1; done");
    let running = sandbox.begin(&["-p", "x", "-n", "2"], &Agent::named("claude"));
    until("the agent", || sandbox.has("begun"));
    running.kill();
    // As if ralph had been killed right after this, before it saw anything.
    let shared = sandbox.home().join("sandbox/login/claude");
    fs::write(shared.join(".credentials.json"), NEW).unwrap();
    assert_eq!(fs::read_to_string(&login).unwrap(), OLD);
    claude(&sandbox, "cat ~/.claude/.credentials.json");
    sandbox.ralph(&["resume"]).exits(0);
    assert_eq!(fs::read_to_string(&login).unwrap().trim(), NEW);
}

#[test]
fn the_tokens_of_a_login_are_masked() {
    let sandbox = Sandbox::git().confined();
    let login = user(&sandbox);
    let tokens =
        r#"{"claudeAiOauth":{"accessToken":"sk-ant-oat-0123456789","refreshToken":"r","expiresAt":5}}"#;
    fs::write(&login, tokens).unwrap();
    claude(&sandbox, "cat ~/.claude/.credentials.json");
    sandbox.ralph(&["run", "-p", "x", "-n", "1", "--", "claude"]).exits(0);
    let said = fs::read_to_string(sandbox.run_dir().join("streams/1-1.err")).unwrap();
    let masked = tokens.replace("sk-ant-oat-0123456789", "***claude-login***");
    assert!(said.contains(&masked), "{said}");
    assert_eq!(fs::read_to_string(&login).unwrap(), tokens);
}

#[test]
fn keys_go_to_the_agent_that_they_are_for_and_secrets_to_none() {
    let sandbox = Sandbox::git().confined();
    claude(&sandbox, "env; cp ~/.claude.json made.json");
    let mut command = sandbox.command(RALPH);
    command.env("ANTHROPIC_API_KEY", "sk-anthropic").env("OPENAI_API_KEY", "sk-openai");
    command
        .env("GITHUB_TOKEN", "ghp")
        .env("SSH_AUTH_SOCK", "/run/agent")
        .env("TOKENIZERS_PARALLELISM", "false");
    let check = "env | grep TOKENIZERS && ! env | grep -E 'sk-|ghp|SSH_AUTH_SOCK'";
    command.args(["run", "-p", "x", "-n", "1", "--check", check, "--", "claude"]);
    sandbox.spawn(command).end().exits(0);
    let said = fs::read_to_string(sandbox.run_dir().join("streams/1-1.err")).unwrap();
    // It is masked, which shows that it is there.
    assert!(said.contains("=***ANTHROPIC_API_KEY***") && said.contains("TOKENIZERS_PARALLELISM"), "{said}");
    for hidden in ["sk-", "OPENAI_API_KEY", "ghp", "SSH_AUTH_SOCK"] {
        assert!(!said.contains(hidden), "{hidden}: {said}");
    }
    let made: Value = serde_json::from_str(&sandbox.read("made.json")).unwrap();
    assert_eq!(made["customApiKeyResponses"]["approved"][0], "sk-anthropic");
}
