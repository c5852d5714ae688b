//! Much output in one iteration: parsed, kept raw, rendered to a file, in little memory.

use crate::lab::{Lab, Outcome, journal, median, program};
use crate::proc::timed_with_peak;
use crate::table::{Goal, Table};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MEMORY_GOAL: Goal = Goal::AtMost(20.0);

/// All of it is to be kept, in one file.
const SETTINGS: &str = r#"{"context": false, "checkpoints": false, "keepStreams": 0}"#;

pub fn events(lab: &Lab, table: &mut Table) -> Outcome<()> {
    lab.settings(SETTINGS)?;
    for (mb, rounds) in [(200, 5), (1000, 1)] {
        let (mut speed, mut floor, mut peak) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let agent = agent(lab, mb, "events")?;
            floor.push(per_second(mb, copied(lab)?));
            let (took, memory) = timed_with_peak(&mut lab.run(1, &[&agent])?)?;
            speed.push(per_second(mb, took));
            peak.push(memory);
            kept_whole(lab, mb)?;
            lab.forget_runs()?;
        }
        let (speed, floor, peak) = (median(speed), Some(median(floor)), median(peak));
        table.value(&format!("{mb} MB of stream-json"), speed, floor, "MB/s", &Goal::AtLeast(200.0));
        table.value(&format!("{mb} MB of stream-json: memory"), peak, None, "MB", &MEMORY_GOAL);
    }
    Ok(())
}

pub fn one_line(lab: &Lab, table: &mut Table) -> Outcome<()> {
    const SIZES: [u64; 3] = [32, 64, 128];
    lab.settings(SETTINGS)?;
    let mut took = [const { Vec::new() }; SIZES.len()];
    let mut peaks = [const { Vec::new() }; SIZES.len()];
    let mut unparsed = true;
    for _ in 0..5 {
        for ((mb, took), peaks) in SIZES.iter().zip(&mut took).zip(&mut peaks) {
            let agent = agent(lab, *mb, "one_line")?;
            let (whole, memory) = timed_with_peak(&mut lab.run(1, &[&agent])?)?;
            took.push(whole.as_secs_f64() * 1e3);
            peaks.push(memory);
            kept_whole(lab, *mb)?;
            let events = journal(&lab.newest_run()?)?;
            unparsed &=
                events.iter().any(|event| event["fact"]["ended"]["end"]["agent"]["seen"]["unparsed"] == 1);
            lab.forget_runs()?;
        }
    }
    let [small, middle, large] = took.map(median);
    // The same slope on both halves is a straight line, whatever the start costs.
    let slopes = ((large - middle) / 64.0, (middle - small) / 32.0);
    table.value("one line of 64 MB", middle, None, "ms", &Goal::None);
    table.ratio("one line: ms per MB, 64 to 128 MB against 32 to 64", slopes, "ms", &Goal::AtMost(1.5));
    let [small, _, large] = peaks.map(median);
    table.ratio("one line: memory, 128 MB against 32", (large, small), "MB", &Goal::AtMost(1.1));
    let found = if unparsed { "both" } else { "not reported" };
    table.holds("one line: in the raw log, reported as not parsed", found, "both", unparsed);
    Ok(())
}

/// A `claude` that prints so many MiB of a shape.
fn agent(lab: &Lab, mb: u64, shape: &str) -> Outcome<String> {
    let script = script(lab);
    let play = format!(
        r#"{{"dialect": "claude", "calls": [[
            {{"say": "hi"}}, {{"print_mb": {{"mb": {mb}, "shape": "{shape}"}}}}]]}}"#
    );
    fs::write(&script, play)?;
    let claude = lab.path("claude");
    let text = format!("#!/bin/sh\nexec '{}' __agent '{}'\n", program().display(), script.display());
    fs::write(&claude, text)?;
    fs::set_permissions(&claude, fs::Permissions::from_mode(0o755))?;
    Ok(claude.to_string_lossy().into_owned())
}

fn script(lab: &Lab) -> PathBuf {
    lab.path("script.json")
}

/// Nothing may be fast because it was lost.
fn kept_whole(lab: &Lab, mb: u64) -> Outcome<()> {
    let log = lab.newest_run()?.join("streams/1-1.out");
    if log.metadata()?.len() < mb << 20 {
        return Err(format!("the raw log is not whole: {}", log.display()).into());
    }
    Ok(())
}

/// The floor: the same stream, read with the same reads and only written to a file.
fn copied(lab: &Lab) -> Outcome<Duration> {
    let start = Instant::now();
    let mut agent = Command::new(program());
    agent.arg("__agent").arg(script(lab)).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut agent = agent.spawn()?;
    let mut pipe = agent.stdout.take().ok_or("no pipe")?;
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&pipe, 1 << 20);
    let (mut file, mut buffer) = (File::create(lab.path("copy"))?, vec![0; 256 << 10]);
    loop {
        match pipe.read(&mut buffer)? {
            0 => break,
            n => file.write_all(&buffer[..n])?,
        }
    }
    agent.wait()?;
    let took = start.elapsed();
    fs::remove_file(lab.path("copy"))?;
    Ok(took)
}

fn per_second(mb: u64, took: Duration) -> f64 {
    (mb << 20) as f64 / 1e6 / took.as_secs_f64()
}
