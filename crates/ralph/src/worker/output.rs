//! What a worker's process prints, kept up to a cap.
//!
//! It goes to `output.log`. A file that has reached half of the cap is put aside as
//! `output.log.N`, and the one that was put aside before it is removed: so at least the newer
//! half is always there, nothing is copied, and a follower can go from one file to the next.

use crate::fsx;
use crate::layout::OutputLog;
use rustix::fs::fstat;
use std::fs::File;
use std::io;
use std::path::PathBuf;

/// The files that were put aside, oldest first, with their numbers.
pub fn put_aside(log: &OutputLog) -> Vec<(u32, PathBuf)> {
    let Ok(entries) = fs_err::read_dir(log.dir()) else { return Vec::new() };
    let number = |path: PathBuf| Some((log.number_of(&path)?, path));
    let mut found: Vec<_> = entries.filter_map(|entry| number(entry.ok()?.path())).collect();
    found.sort_unstable();
    found
}

/// How much it takes up.
pub fn disk_usage(log: &OutputLog) -> u64 {
    let aside = put_aside(log).into_iter().map(|(_, path)| path);
    aside.chain([log.newest()]).map(|path| fsx::disk_usage(&path)).sum()
}

/// All of it.
pub fn remove(log: &OutputLog) {
    let _ = fsx::remove(&log.newest());
    for (_, path) in put_aside(log) {
        let _ = fsx::remove(&path);
    }
}

/// From here on this process prints there.
pub fn print_to(log: &OutputLog) -> io::Result<()> {
    redirect(&fsx::appending(&log.newest())?)
}

/// Begins a new file if this process has printed half of `most` bytes to its own; 0 is no limit.
pub fn trim(log: &OutputLog, most: u64) -> io::Result<()> {
    let printed = u64::try_from(fstat(rustix::stdio::stdout())?.st_size).unwrap_or(0);
    if most > 0 && printed >= (most / 2).max(1) { next_part(log) } else { Ok(()) }
}

fn redirect(output: &File) -> io::Result<()> {
    rustix::stdio::dup2_stdout(output)?;
    rustix::stdio::dup2_stderr(output)?;
    Ok(())
}

/// Puts the newest part aside and removes the one before, once this process prints to the new file.
fn next_part(log: &OutputLog) -> io::Result<()> {
    let before = put_aside(log);
    let number = before.last().map_or(0, |(number, _)| *number).saturating_add(1);
    fsx::rename(&log.newest(), &log.aside(number))?;
    redirect(&fsx::appending(&log.newest())?)?;
    before.iter().try_for_each(|(_, path)| fsx::remove(path))
}
