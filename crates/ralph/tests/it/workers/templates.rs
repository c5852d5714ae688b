//! A prompt to begin with.

use super::Yard;
use crate::support::Sandbox;

#[test]
fn initialize_prompt_file() {
    let sandbox = Sandbox::bare();
    let ran = sandbox.ralph(&["init", "prompt"]).exits(0);
    assert_eq!(ran.stdout, "created PROMPT.md\n");
    assert_eq!(sandbox.read("PROMPT.md"), sandbox.ralph(&["template"]).exits(0).stdout);
}

#[test]
fn init_refuses_to_overwrite() {
    let sandbox = Sandbox::bare();
    sandbox.write("PROMPT.md", "mine");
    let ran = sandbox.ralph(&["init", "prompt"]).exits(1);
    assert_eq!(ran.stderr, "ralph: error: PROMPT.md already exists (use --force to overwrite)\n");
    assert_eq!(sandbox.read("PROMPT.md"), "mine");
}

#[test]
fn init_with_force_flag() {
    let sandbox = Sandbox::bare();
    sandbox.write("PROMPT.md", "mine");
    let ran = sandbox.ralph(&["init", "prompt", "--force"]).exits(0);
    assert_eq!(ran.stdout, "created PROMPT.md (overwritten)\n");
    assert_ne!(sandbox.read("PROMPT.md"), "mine");
    let fresh = Sandbox::bare();
    assert_eq!(fresh.ralph(&["init", "prompt", "--force"]).exits(0).stdout, "created PROMPT.md\n");
}

#[test]
fn output_template_to_stdout() {
    let sandbox = Sandbox::bare();
    let ran = sandbox.ralph(&["template"]).exits(0);
    for part in ["specs/", "CLAUDE.md", "IMPORTANT:", "IMPLEMENTATION_PLAN.md", "tests", "commit and push"] {
        assert!(ran.stdout.contains(part), "{part}\n{}", ran.stdout);
    }
    assert_eq!(ran.stderr, "");
    assert!(!sandbox.has("PROMPT.md") && !sandbox.home().exists());
}

#[test]
fn pipe_template_to_custom_file() {
    let yard = Yard::new();
    yard.0.sh("$RALPH template > BUILD_PROMPT.md");
    let args = ["--prompt-file", "BUILD_PROMPT.md", "-n", "1", "--wait"];
    yard.spawn_as("agent", &args, &yard.0.sh_agent("cat > got")).exits(0);
    assert_eq!(yard.0.read("got"), yard.0.read("BUILD_PROMPT.md"));
}
