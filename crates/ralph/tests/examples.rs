//! The examples, run as a reader would run them: in a project, with `ralph` in `PATH`.
#![expect(clippy::disallowed_methods, reason = "tests set the stage from outside")]
#![expect(clippy::unwrap_used, reason = "clippy.toml allows it in tests, but not in helpers")]

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

#[path = "../examples/function.rs"]
mod function;
#[path = "../examples/moments.rs"]
mod moments;
#[path = "../examples/prompt.rs"]
mod prompt;
#[path = "../examples/worktree.rs"]
mod worktree;

/// A process of this program runs the example. The tests below are that.
const AS_EXAMPLE: &str = "RUN_AS_EXAMPLE";

fn example(name: &str, main: fn() -> Result<(), ralph::Error>, prints: &[&str]) {
    if env::var_os(AS_EXAMPLE).is_some() {
        return main().unwrap();
    }
    let stage = tempfile::tempdir().unwrap();
    let project = stage.path().join("project");
    fs::create_dir_all(project.join(".ralph")).unwrap();
    // The agent that it would find in the settings, and the tests that it is to make pass.
    let agent =
        r#"{"agent": {"command": "sh", "flags": ["-c", "touch it; echo '<response>DONE</response>'"]}}"#;
    fs::write(project.join(".ralph/settings.json"), agent).unwrap();
    fs::write(project.join("Makefile"), "test:\n\ttest -e it\n").unwrap();
    let git = "git init -q && git -c user.name=x -c user.email=x@localhost commit -q --allow-empty -m begin";
    assert!(Command::new("sh").args(["-c", git]).current_dir(&project).status().unwrap().success());
    let bin = Path::new(env!("CARGO_BIN_EXE_ralph")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), env::var("PATH").unwrap());
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", &format!("the_example_{name}"), "--nocapture"])
        .env(AS_EXAMPLE, "1")
        .env("PATH", path)
        .env("RALPH_HOME", stage.path().join("home"))
        .env("RALPH_SANDBOX", "none")
        .current_dir(&project)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    for expected in prints {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
}

#[test]
fn the_example_prompt() {
    example("prompt", prompt::main, &["done, iterations: 1"]);
}

#[test]
fn the_example_function() {
    example("function", function::main, &["completed, iterations: 3"]);
}

#[test]
fn the_example_moments() {
    example("moments", moments::main, &["ralph show ", "1: sh", "make test: passed", "completed"]);
}

#[test]
fn the_example_worktree() {
    example("worktree", worktree::main, &["completed in ", "git merge ralph/"]);
}
