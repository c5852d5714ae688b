//! What a worker's process prints, kept up to a cap.
//!
//! It goes to `output.log`. A file that has reached half of the cap is put aside as
//! `output.log.N`, and the one that was put aside before it is removed: so at least the newer
//! half is always there, nothing is copied, and whoever follows can go from one file to the next.

use crate::fsx;
use crate::layout::WorkerDir;
use rustix::fs::fstat;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// The files that were put aside, oldest first, with their numbers.
pub fn put_aside(dir: &WorkerDir) -> Vec<(u32, PathBuf)> {
    let Ok(entries) = fs_err::read_dir(dir.dir()) else { return Vec::new() };
    let number = |path: PathBuf| Some((dir.number_of_output(&path)?, path));
    let mut found: Vec<_> = entries.filter_map(|entry| number(entry.ok()?.path())).collect();
    found.sort_unstable();
    found
}

/// How much it takes up.
pub fn disk_usage(dir: &WorkerDir) -> u64 {
    let aside = put_aside(dir).into_iter().map(|(_, path)| path);
    aside.chain([dir.output()]).map(|path| fsx::disk_usage(&path)).sum()
}

/// All of it.
pub fn remove(dir: &WorkerDir) {
    let _ = fsx::remove(&dir.output());
    for (_, path) in put_aside(dir) {
        let _ = fsx::remove(&path);
    }
}

/// From here on this process prints there.
pub fn print_to(dir: &WorkerDir) -> io::Result<()> {
    let output: OwnedFd = fsx::appending(&dir.output())?.into();
    rustix::stdio::dup2_stdout(&output)?;
    rustix::stdio::dup2_stderr(&output)?;
    Ok(())
}

/// Begins a new file if this process has printed half of `most` bytes to its own; 0 is no limit.
pub fn trim(dir: &WorkerDir, most: u64) -> io::Result<()> {
    if most == 0 {
        return Ok(());
    }
    let printed = u64::try_from(fstat(rustix::stdio::stdout())?.st_size).unwrap_or(0);
    if printed < (most / 2).max(1) {
        return Ok(());
    }
    let before = put_aside(dir);
    let number = before.last().map_or(0, |(number, _)| *number).saturating_add(1);
    fsx::rename(&dir.output(), &dir.output_aside(number))?;
    print_to(dir)?;
    for (_, path) in before {
        fsx::remove(&path)?;
    }
    Ok(())
}
