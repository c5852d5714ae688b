//! The gap between two agents: a whole iteration of a trivial agent, against starting the
//! same program and reading what it prints.

use crate::lab::{BARE, Lab, Outcome, median, millis, timed};
use crate::table::{Goal, Table};
use std::io;
use std::process::{Command, Stdio};
use std::time::Instant;

const ROUNDS: usize = 18;
const ITERATIONS: u32 = 250;
const AGENT: [&str; 2] = ["/bin/echo", "hi"];

pub fn measure(lab: &Lab, table: &mut Table) -> Outcome<()> {
    lab.settings(BARE)?;
    let (mut ralph, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        floor.push(bare_spawns()?);
        ralph.push(millis(timed(&mut lab.run(ITERATIONS, &AGENT)?)?) / f64::from(ITERATIONS));
        lab.new_home()?;
    }
    table.ratio("iteration of `echo hi`", (median(ralph), median(floor)), "ms", &Goal::AtMost(2.0));
    Ok(())
}

/// Milliseconds a call: the same three streams, read to their ends.
fn bare_spawns() -> io::Result<f64> {
    let start = Instant::now();
    for _ in 0..ITERATIONS {
        Command::new(AGENT[0]).args(&AGENT[1..]).stdin(Stdio::null()).output()?;
    }
    Ok(millis(start.elapsed()) / f64::from(ITERATIONS))
}
