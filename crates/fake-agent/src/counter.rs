//! The number of this call, counted in a file beside the script.
//!
//! Agents may start at the same time, so the count advances under the file's own lock:
//! every call gets a number of its own, and none is left out.

use crate::failure::Failure;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Takes the next number, from 1.
pub(crate) fn next_call(script: &Path) -> Result<u64, Failure> {
    let path = counter_file(script);
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .and_then(advance)
        .map_err(Failure::file("count the calls in", &path))
}

fn counter_file(script: &Path) -> PathBuf {
    let mut name = script.as_os_str().to_owned();
    name.push(".calls");
    PathBuf::from(name)
}

/// Closing the file at the end gives the lock back.
fn advance(mut file: File) -> io::Result<u64> {
    file.lock()?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let calls: u64 = match text.trim() {
        "" => 0,
        number => number
            .parse()
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("not a number: {number:?}")))?,
    };
    let call = calls.saturating_add(1);
    // The count only grows, so the new text always covers the old one.
    file.rewind()?;
    file.write_all(format!("{call}\n").as_bytes())?;
    Ok(call)
}
