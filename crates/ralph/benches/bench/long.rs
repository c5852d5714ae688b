//! Long runs: the last iteration costs what the first did, and a run that was killed late
//! is taken up as quickly as one that was killed early.

use crate::lab::{BARE, Ending, Lab, Outcome, journal, median, millis, program, timed};
use crate::proc::{cpu_seconds, keeper};
use crate::table::{Goal, Table};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

const AGENT: [&str; 2] = ["/bin/echo", "hi"];
/// Iterations are timed in blocks, because the journal's clock counts milliseconds.
const BLOCK: usize = 50;

pub fn measure(lab: &Lab, table: &mut Table) -> Outcome<()> {
    lab.settings(BARE)?;
    let (mut wall, mut cpu) = (Pairs::default(), Pairs::default());
    let (mut resume, mut runs) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        cpu.add(run_and_kill(lab, [2, 1_002, 9_002, 10_002])?);
        wall.add(ends(lab, 0, 1_000)?);
        runs.push(millis(timed(&mut lab.ralph(&["runs"])?)?));
        resume.push(millis(resumed(lab)?));
        lab.new_home()?;
    }
    let goal = Goal::AtMost(1.1);
    table.ratio("iterations 9,001 to 10,000 against 1 to 1,000", wall.late_and_early(), "ms", &goal);
    table.ratio("the same, processor time of ralph and keeper", cpu.late_and_early(), "ms", &goal);
    let goal = Goal::AtMost(1000.0);
    table.value("resume after 10,000 iterations: next agent", median(resume), None, "ms", &goal);
    table.value("`ralph runs` with that journal", median(runs), None, "ms", &Goal::None);

    // The progress in the prompt grows until it is cut, which is before iteration 100.
    lab.settings(r#"{"checkpoints": false}"#)?;
    let (mut wall, mut cpu) = (Pairs::default(), Pairs::default());
    for _ in 0..3 {
        cpu.add(run_and_kill(lab, [102, 602, 1_502, 2_002])?);
        wall.add(ends(lab, 100, 500)?);
        lab.new_home()?;
    }
    let goal = Goal::AtMost(1.1);
    table.ratio("with context: 1,501 to 2,000 against 101 to 600", wall.late_and_early(), "ms", &goal);
    table.ratio("the same, processor time of ralph and keeper", cpu.late_and_early(), "ms", &goal);
    Ok(())
}

/// Milliseconds of an iteration early and late in the same run, of several runs.
#[derive(Default)]
struct Pairs(Vec<(f64, f64)>);

impl Pairs {
    fn add(&mut self, early_and_late: (f64, f64)) {
        self.0.push(early_and_late);
    }

    /// Of the run whose ratio is the median.
    fn late_and_early(mut self) -> (f64, f64) {
        self.0.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
        let (early, late) = self.0[self.0.len() / 2];
        (late, early)
    }
}

/// A run that is killed in the last of four iterations. Returns the processor time in
/// milliseconds of an iteration between the first two of them, and between the last two.
fn run_and_kill(lab: &Lab, iterations: [u32; 4]) -> Outcome<(f64, f64)> {
    let mut engine = Ending(lab.run(iterations[3] + 200, &AGENT)?.spawn()?);
    let deadline = Instant::now() + Duration::from_secs(180);
    let cpu = |engine: u32| cpu_seconds(engine) + keeper(engine).map_or(0.0, cpu_seconds);
    let mut marks = Vec::new();
    for mark in iterations {
        while !lab.newest_run().is_ok_and(|run| run.join(format!("streams/{mark}-1.out")).exists()) {
            if Instant::now() > deadline || engine.0.try_wait()?.is_some() {
                return Err(format!("the run did not get to iteration {mark}").into());
            }
            thread::sleep(Duration::from_millis(5));
        }
        marks.push(cpu(engine.0.id()));
    }
    engine.0.kill()?;
    engine.0.wait()?;
    let between = |a: usize, b: usize| (marks[b] - marks[a]) * 1e3 / f64::from(iterations[b] - iterations[a]);
    Ok((between(0, 1), between(2, 3)))
}

/// Milliseconds of an iteration among the first so many after some, and among the last: those
/// of the faster blocks, because a machine that is busy now and then only makes blocks slower.
fn ends(lab: &Lab, after: usize, span: usize) -> Outcome<(f64, f64)> {
    let judged: Vec<u64> = journal(&lab.newest_run()?)?
        .iter()
        .filter(|event| !event["fact"]["judged"].is_null())
        .filter_map(|event| event["up_ms"].as_u64())
        .collect();
    let marks: Vec<f64> = judged.iter().skip(after).step_by(BLOCK).map(|up_ms| *up_ms as f64).collect();
    let blocks: Vec<f64> = marks.windows(2).map(|pair| (pair[1] - pair[0]) / BLOCK as f64).collect();
    let count = span / BLOCK;
    if blocks.len() < 2 * count {
        return Err("the run was too short".into());
    }
    let fast = |blocks: &[f64]| {
        let mut blocks = blocks.to_vec();
        blocks.sort_by(f64::total_cmp);
        blocks[blocks.len() / 4]
    };
    Ok((fast(&blocks[..count]), fast(&blocks[blocks.len() - count..])))
}

/// From the start of `ralph resume` until it says that the next agent runs.
fn resumed(lab: &Lab) -> Outcome<Duration> {
    let id = lab.newest_run()?;
    let id = id.file_name().and_then(|name| name.to_str()).ok_or("the run has no name")?;
    let start = Instant::now();
    let mut command = lab.ralph(&["resume", id])?;
    let mut engine = Ending(command.stdout(Stdio::piped()).spawn()?);
    let report = engine.0.stdout.take().ok_or("no pipe")?;
    for line in BufReader::new(report).lines() {
        if line?.contains("- Iteration ") {
            return Ok(start.elapsed());
        }
    }
    Err(format!("no agent was started by {} resume {id}", program().display()).into())
}
