//! Objects: those that were made inside are packed by one git and unpacked by another, which gives
//! each the name that its content has. So no object outside is ever replaced.

use super::carry::CarryError;
use super::format::Format;
use super::root::{Root, remove};
use super::scratch::{self, Scratch};
use crate::fsx;
use crate::git::{GitError, checked};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The empty file and the empty directory, in both formats.
const EMPTY: [&str; 4] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
];

/// More are kept in a pack.
const FEW: usize = 1000;

pub(super) fn import(root: &Root, taken: &Path, below: &Path, format: Format) -> Result<(), CarryError> {
    let (real, objects) = (root.real.join(below), taken.join(below).join("objects"));
    carry_lfs(&taken.join(below).join("lfs/objects"), &real)?;
    if !has_files(&objects) {
        return Ok(());
    }
    let scratch = Scratch::make(root.scratch("import"), format, &real, &[]).map_err(GitError::Io)?;
    // These alone: nothing may be packed that agents could not read.
    let inside = || scratch.git().env("GIT_OBJECT_DIRECTORY", &objects);
    let list = ["cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname)"];
    let unreadable = |cause: GitError| CarryError::Refused(format!("objects cannot be read: {cause}"));
    let listed = checked("cat-file", inside().args(list)).map_err(unreadable)?;
    let listed = lines(&listed);
    let mut new = missing(&real, &listed)?;
    // Git claims to have these everywhere.
    new.extend(listed.into_iter().filter(|id| EMPTY.contains(&id.as_str())));
    if new.is_empty() {
        return Ok(());
    }
    let pack = root.scratch("import.pack");
    remove(&pack)?;
    fsx::private_dir(&pack)?;
    let asked = new.join("\n") + "\n";
    checked(
        "pack-objects",
        inside().args(["pack-objects", "-q"]).arg(pack.join("pack")).stdin(asked.as_bytes()),
    )
    .map_err(unreadable)?;
    for entry in fs::read_dir(&pack)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "pack") {
            let unpack = scratch::git(&real).holding(File::open(&path)?.into());
            let unpack = if new.len() < FEW {
                unpack.args(["unpack-objects", "-q"])
            } else {
                unpack.args(["index-pack", "--stdin"])
            };
            checked("unpack-objects", unpack)?;
        }
    }
    Ok(remove(&pack)?)
}

/// Which of these objects a repository has not got.
pub(super) fn missing(real: &Path, ids: &BTreeSet<String>) -> Result<Vec<String>, GitError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let asked: String = ids.iter().map(|id| format!("{id}\n")).collect();
    let check = ["cat-file", "--batch-check=%(objectname)"];
    let answer = checked("cat-file", scratch::git(real).args(check).stdin(asked.as_bytes()))?;
    let missing =
        lines(&answer).into_iter().filter_map(|line| line.strip_suffix(" missing").map(String::from));
    Ok(missing.collect())
}

/// Whether everything that these commits lead to is there.
pub(super) fn are_complete(real: &Path, ids: &BTreeSet<String>) -> Result<bool, GitError> {
    if ids.is_empty() {
        return Ok(true);
    }
    let asked: String = ids.iter().map(|id| format!("{id}\n")).collect();
    let walk = ["rev-list", "--objects", "--quiet", "--missing=allow-promisor", "--stdin", "--not", "--all"];
    Ok(scratch::git(real).args(walk).stdin(asked.as_bytes()).run()?.success())
}

/// Whether a commit would go with the next tidying up: nothing leads to it any more.
pub(super) fn is_lost(real: &Path, id: &str) -> bool {
    let walk = scratch::git(real).args(["rev-list", "-n", "1", id, "--not", "--all"]).run();
    walk.is_ok_and(|found| !found.stdout.is_empty())
}

fn lines(text: &[u8]) -> BTreeSet<String> {
    String::from_utf8_lossy(text).lines().map(String::from).collect()
}

fn has_files(dir: &Path) -> bool {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    entries.into_iter().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => has_files(&entry.path()),
        Ok(_) | Err(_) => true,
    })
}

/// Large files of git-lfs are named by their content as well.
fn carry_lfs(objects: &Path, real: &Path) -> io::Result<()> {
    for path in files(objects) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|name| name.len() == 64)
        else {
            continue;
        };
        let dir = real.join("lfs/objects").join(&name[..2]).join(&name[2..4]);
        let to = dir.join(name);
        if to.exists() || hash(&path)? != name {
            continue;
        }
        fsx::dir(&dir)?;
        let beside = dir.join(format!("{name}.ralph"));
        remove(&beside)?;
        fsx::copy(&path, &beside)?;
        fsx::rename(&beside, &to)?;
    }
    Ok(())
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn hash(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut HashWriter(&mut hash))?;
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
