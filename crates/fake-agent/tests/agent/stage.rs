//! A directory with a script, and the agent playing it as a real process.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

pub(crate) struct Stage {
    dir: TempDir,
}

impl Stage {
    pub(crate) fn with(script: &str) -> Stage {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("script.json"), script).unwrap();
        Stage { dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fake-agent"));
        command
            .arg("script.json")
            .current_dir(self.dir.path())
            .env_remove("RALPH_ITERATION")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn start(&self) -> Child {
        self.command().spawn().unwrap()
    }

    /// Plays to the end and gives what was printed.
    pub(crate) fn run(&self) -> Output {
        self.command().output().unwrap()
    }

    pub(crate) fn run_with_prompt(&self, prompt: &[u8]) -> Output {
        let mut child = self.command().stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(prompt).unwrap();
        child.wait_with_output().unwrap()
    }
}

pub(crate) fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

pub(crate) fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}
