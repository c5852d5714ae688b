//! The files an agent touches. Missing parent directories are created.

use crate::failure::Failure;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    make_parent(path)?;
    fs::write(path, content).map_err(Failure::file("write the file", path))
}

/// Adds to the end in a single write, so that lines of several processes never mix.
pub(crate) fn append(path: &Path, content: &[u8]) -> Result<(), Failure> {
    make_parent(path)?;
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .and_then(|mut file| file.write_all(content))
        .map_err(Failure::file("append to the file", path))
}

/// An absent file is fine, because a script may play its last call again and again.
pub(crate) fn delete(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(Failure::file("delete the file", path)),
    }
}

fn make_parent(path: &Path) -> Result<(), Failure> {
    match path.parent() {
        Some(parent) => fs::create_dir_all(parent).map_err(Failure::file("create the directory", parent)),
        None => Ok(()),
    }
}
