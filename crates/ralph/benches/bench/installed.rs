//! What ralph adds to the time between two agents with the settings that it comes with: context and
//! checkpoints.
//!
//! The agent is the bench itself, which notes when it starts and ends. It works for a moment, as every
//! agent does: meanwhile ralph prepares the next snapshot. The floor starts the same program again and
//! again.

use crate::checkpoint::{append, file, tree};
use crate::lab::{Lab, Outcome, median, timed};
use crate::table::{Goal, Table};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub const ROLE: &str = "__bench_installed";

const FILES: u32 = 20;
const ITERATIONS: u32 = 60;
const ROUNDS: usize = 3;
const WORK: Duration = Duration::from_millis(20);

/// What the agent does, and the row.
const ROWS: [(&str, &str); 3] = [
    ("nothing", "added between two agents, as installed, 20 files"),
    ("change", "the same after a change"),
    ("new", "the same after a new file"),
];

pub fn measure(lab: &Lab, table: &mut Table) -> Outcome<()> {
    tree(&lab.project(), FILES)?;
    // Files that have just been written have to be read again.
    thread::sleep(Duration::from_secs(3));
    let own = std::env::current_exe()?;
    let own = own.to_str().ok_or("the bench has no name")?;
    let (log, mut all) = (lab.path("log"), [const { (Vec::new(), Vec::new()) }; ROWS.len()]);
    let told = log.to_string_lossy().into_owned();
    for _ in 0..ROUNDS {
        for ((what, _), (ralph, floor)) in ROWS.iter().zip(&mut all) {
            for number in 0..ITERATIONS {
                let mut agent = Command::new(own);
                agent.args([ROLE, what, &told]).current_dir(lab.path("")).stdin(Stdio::null());
                let agent = agent.env("RALPH_ITERATION", number.to_string()).env("RALPH_RUN", "floor");
                agent.output()?;
            }
            floor.extend(gaps(&log)?);
            timed(&mut lab.run(ITERATIONS, &[own, ROLE, what, &told])?)?;
            // Before the second snapshot ralph knows too little of the tree.
            ralph.extend(gaps(&log)?.into_iter().skip(2));
            lab.new_home()?;
        }
    }
    for ((_, row), (ralph, floor)) in ROWS.into_iter().zip(all) {
        let floor = median(floor);
        table.value(row, median(ralph) - floor, Some(floor), "ms", &Goal::AtMost(4.0));
    }
    Ok(())
}

/// Milliseconds from the end of each agent to the start of the next one. The log is used up.
fn gaps(log: &Path) -> Outcome<Vec<f64>> {
    let noted = fs::read_to_string(log)?;
    fs::remove_file(log)?;
    let times: Vec<u64> = noted.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let between = times.get(1..times.len() - 1).unwrap_or_default().chunks_exact(2);
    Ok(between.map(|pair| pair[1].saturating_sub(pair[0]) as f64 / 1e6).collect())
}

/// The agent: `nothing LOG`, `change LOG` or `new LOG`.
pub fn agent(args: &[String]) -> ExitCode {
    let start = now();
    let [what, log] = args else { return ExitCode::FAILURE };
    match act(what, Path::new(log), start) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn act(what: &str, log: &Path, start: u128) -> Outcome<()> {
    let here = std::env::current_dir()?;
    let (run, iteration) = (std::env::var("RALPH_RUN")?, std::env::var("RALPH_ITERATION")?);
    if run != "floor" {
        match what {
            "change" => append(&file(&here, FILES / 2), &format!("changed in iteration {iteration}"))?,
            "new" => append(&here.join(format!("dir0/{run}-{iteration}")), "new")?,
            _ => {}
        }
    }
    println!("hi");
    thread::sleep(WORK);
    append(log, &format!("{start} {}", now()))?;
    Ok(())
}

/// Nanoseconds.
fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}
