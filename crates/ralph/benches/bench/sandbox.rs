//! What a sandbox adds to the start of a program: an iteration of a trivial agent inside, against the same
//! without a sandbox, and against bubblewrap alone.

use crate::checkpoint::git;
use crate::lab::{BARE, Lab, Outcome, median, millis, timed};
use crate::table::{Goal, Table};
use std::fs;
use std::io;
use std::process::{Command, Stdio};
use std::time::Instant;

const ROUNDS: usize = 7;
/// So many that what a run does once does not count.
const ITERATIONS: u32 = 100;
const STARTS: u32 = 20;
const AGENT: [&str; 2] = ["/bin/echo", "hi"];

pub fn measure(lab: &Lab, table: &mut Table) -> Outcome<()> {
    lab.settings(BARE)?;
    fs::write(lab.project().join("file"), "text\n")?;
    for args in [&["init", "-q"][..], &["add", "."]] {
        if !git(&lab.project(), args).status()?.success() {
            return Err(format!("git {} failed", args.join(" ")).into());
        }
    }
    let [mut none, mut bwrap, mut landlock, mut bare] = [const { Vec::new() }; 4];
    let [mut short, mut short_bwrap] = [const { Vec::new() }; 2];
    for _ in 0..ROUNDS {
        bare.push(bare_bwrap()?);
        none.push(iteration(lab, "none", ITERATIONS)?);
        bwrap.push(iteration(lab, "bwrap", ITERATIONS)?);
        landlock.push(iteration(lab, "landlock", ITERATIONS)?);
        short.push(iteration(lab, "none", 1)?);
        short_bwrap.push(iteration(lab, "bwrap", 1)?);
    }
    let [none, bwrap, landlock, bare] = [none, bwrap, landlock, bare].map(median);
    let once = median(short_bwrap) - median(short) - (bwrap - none);
    let most = Goal::AtMost(20.0);
    table.value("a start in bwrap, above bare bwrap", bwrap - none - bare, Some(bare), "ms", &most);
    table.value("a start with Landlock, above none", landlock - none, None, "ms", &Goal::AtMost(5.0));
    table.value("a run in bwrap, what is done once", once, None, "ms", &Goal::None);
    Ok(())
}

/// Milliseconds of one iteration, in a run of so many.
fn iteration(lab: &Lab, sandbox: &str, iterations: u32) -> Outcome<f64> {
    let mut command = lab.run(iterations, &AGENT)?;
    let took = millis(timed(command.env("RALPH_SANDBOX", sandbox))?) / f64::from(iterations);
    let report = fs::read_to_string(lab.path("report"))?;
    if !report.contains(&format!("sandbox {sandbox}")) {
        return Err(format!("no run in {sandbox}: {}", report.lines().next().unwrap_or("no report")).into());
    }
    Ok(took)
}

/// Milliseconds of bubblewrap with namespaces of its own and nothing mounted for the project.
fn bare_bwrap() -> io::Result<f64> {
    let start = Instant::now();
    for _ in 0..STARTS {
        let mut command = Command::new("bwrap");
        command.args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--"]);
        command.args(AGENT).stdin(Stdio::null()).output()?;
    }
    Ok(millis(start.elapsed()) / f64::from(STARTS))
}
