//! The costs of doing nothing: starting up, and waiting for a silent agent.

use crate::lab::{BARE, Ending, Lab, Outcome, median, millis, program, timed};
use crate::proc::{keeper, switches};
use crate::table::{Goal, Table};
use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub fn version(_: &Lab, table: &mut Table) -> Outcome<()> {
    let quiet = |command: &OsStr, args: &[&str]| {
        timed(Command::new(command).args(args).stdin(Stdio::null()).stdout(Stdio::null()))
    };
    let own = program();
    let (mut ralph, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..300 {
        floor.push(millis(quiet("/bin/true".as_ref(), &[])?));
        ralph.push(millis(quiet(&own, &["--version"])?));
    }
    table.value("`ralph --version`", median(ralph), Some(median(floor)), "ms", &Goal::AtMost(2.0));
    Ok(())
}

/// Wake-ups of the engine and its keeper while an agent says nothing.
pub fn silent(lab: &Lab, table: &mut Table) -> Outcome<()> {
    lab.settings(BARE)?;
    let engine = Ending(lab.run(1, &["/bin/sh", "-c", "sleep 8; echo hi"])?.spawn()?);
    // The record of the agent's start is synced to the disk in this time.
    thread::sleep(Duration::from_millis(1500));
    let keeper = keeper(engine.0.id()).ok_or("the run has no keeper")?;
    let count = || switches(engine.0.id()) + switches(keeper);
    let (before, start) = (count(), Instant::now());
    thread::sleep(Duration::from_secs(5));
    let a_second = (count() - before) as f64 / start.elapsed().as_secs_f64();
    table.value("silent agent: wake-ups per second", a_second, None, "/s", &Goal::AtMost(1.0));
    Ok(())
}
