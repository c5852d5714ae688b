//! Settings from outside: layers, mistakes, `ralph config`, `ralph schema`, `ralph init`.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "tests drive the program from outside")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

mod files;
mod init;
mod precedence;
mod show;
mod terminal;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// An empty project, and a user without settings and without agents.
pub struct Project {
    root: TempDir,
}

impl Project {
    pub fn empty() -> Project {
        let root = tempfile::Builder::new().prefix("ralph-settings-").tempdir().unwrap();
        for dir in ["project", "config", "home", "bin"] {
            fs::create_dir(root.path().join(dir)).unwrap();
        }
        Project { root }
    }

    pub fn dir(&self) -> PathBuf {
        self.root.path().join("project")
    }

    /// Writes a file below the project, or beside it with `../`.
    pub fn write(&self, name: &str, content: &str) {
        let path = self.dir().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn settings(&self, content: &str) {
        self.write(".ralph/settings.json", content);
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.dir().join(name)).unwrap()
    }

    /// A program of that name on the `PATH`.
    pub fn install(&self, program: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.root.path().join("bin").join(program);
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Any program, in the project and its world; the `PATH` has nothing but what was installed.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.dir())
            .env_clear()
            .env("PATH", self.root.path().join("bin"))
            .env("HOME", self.root.path().join("home"))
            .env("XDG_CONFIG_HOME", self.root.path().join("config"))
            .env("RALPH_HOME", self.root.path().join("state"));
        command
    }

    pub fn ralph(&self, args: &[&str]) -> Answer {
        Answer::of(self.command(Path::new(RALPH)).args(args).output().unwrap())
    }
}

pub const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

#[derive(Debug)]
pub struct Answer {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Answer {
    fn of(output: Output) -> Answer {
        Answer {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub fn json(&self) -> serde_json::Value {
        assert_eq!(self.code, 0, "{}", self.err);
        serde_json::from_str(&self.out).unwrap()
    }
}
