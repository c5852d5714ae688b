//! The installation of an agent: its program, what that belongs to, and the interpreter that runs it.

use super::view::{Leads, View};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A script is run by another script at most so often.
const DEEPEST: usize = 3;
/// The system reads no more of a script's first line.
const FIRST_LINE: u64 = 256;

/// What has to be visible for a program to run, which is called as in a command line.
pub fn files_of(program: &str, workspace: &Path, view: &View) -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(OsStr::new(program), workspace, view, DEEPEST, &mut files);
    files
}

fn collect(program: &OsStr, workspace: &Path, view: &View, depth: usize, files: &mut Vec<PathBuf>) {
    let Some(path) = find(program, workspace) else { return };
    let Some(Leads::To(real)) = view.follow(&path) else { return };
    files.extend(environment_of(&path));
    files.push(path);
    files.push(installation_of(&real, view.home()));
    if let (Some(deeper), Some(interpreter)) = (depth.checked_sub(1), interpreter_of(&real)) {
        collect(&interpreter, workspace, view, deeper, files);
    }
}

fn find(program: &OsStr, workspace: &Path) -> Option<PathBuf> {
    which::which_in(program, std::env::var_os("PATH"), workspace).ok()
}

/// The virtual environment that a program is in: Python finds its packages by it.
fn environment_of(program: &Path) -> Option<PathBuf> {
    let above = program.parent()?.parent()?;
    above.join("pyvenv.cfg").is_file().then(|| above.to_path_buf())
}

/// The directory of a program, with what belongs to it. A program that lies among the user's own files
/// is shown alone.
fn installation_of(program: &Path, home: &Path) -> PathBuf {
    let packages = program.ancestors().filter(|above| above.file_name() == Some(OsStr::new("node_modules")));
    if let Some(packages) = packages.last() {
        return packages.to_path_buf();
    }
    if let Some(environment) = environment_of(program) {
        return environment;
    }
    let dir = program.parent().unwrap_or(program);
    let is_hidden = |dir: &Path| dir.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
    let is_users = dir == home || (dir.parent() == Some(home) && !dir.ends_with("bin") && !is_hidden(dir));
    if is_users { program.to_path_buf() } else { dir.to_path_buf() }
}

/// The program in a script's first line: `#!/usr/bin/env -S node --flag`.
fn interpreter_of(script: &Path) -> Option<OsString> {
    let mut start = Vec::new();
    File::open(script).ok()?.take(FIRST_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let first = words.next()?;
    let is_env = Path::new(OsStr::from_bytes(first)).file_name() == Some(OsStr::new("env"));
    let named = if is_env {
        words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))
    } else {
        Some(first)
    };
    named.map(|word| OsString::from_vec(word.to_vec()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests write what they need")]
    use super::*;
    use std::fs;

    #[track_caller]
    fn check_interpreter(line: &[u8], expected: Option<&str>) {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("script");
        fs::write(&script, line).unwrap();
        assert_eq!(interpreter_of(&script), expected.map(OsString::from));
    }

    #[test]
    fn the_interpreter_is_in_the_first_line() {
        check_interpreter(b"#!/usr/bin/env node\nx", Some("node"));
        check_interpreter(b"#! /usr/bin/env -S A=b node --flag\n", Some("node"));
        check_interpreter(b"#!/home/me/venv/bin/python3 -I", Some("/home/me/venv/bin/python3"));
        check_interpreter(b"\x7fELF", None);
        check_interpreter(b"#!", None);
    }

    #[test]
    fn an_installation_is_what_belongs_together_and_never_the_home() {
        for (program, expected) in [
            ("/h/.nvm/v/lib/node_modules/@a/b/node_modules/c/cli.js", "/h/.nvm/v/lib/node_modules"),
            ("/h/tools/agent/bin/agent", "/h/tools/agent/bin"),
            ("/h/agent.sh", "/h/agent.sh"),
            ("/h/Documents/agent.sh", "/h/Documents/agent.sh"),
            ("/h/bin/agent", "/h/bin"),
            ("/h/.agent/agent", "/h/.agent"),
        ] {
            assert_eq!(
                installation_of(Path::new(program), Path::new("/h")),
                Path::new(expected),
                "{program}"
            );
        }
    }
}
