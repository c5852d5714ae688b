//! Many workers at once, each with an agent that sleeps.

use crate::lab::{BARE, Lab, Outcome, median, millis, program, timed};
use crate::proc::{cpu_seconds, pss_kib};
use crate::table::{Goal, Table};
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub const WORKERS: usize = 200;
/// Idle workers are watched for so long.
const WATCHED: Duration = Duration::from_secs(10);

pub fn measure(lab: &Lab, table: &mut Table) -> Outcome<()> {
    let ended = Ended(lab);
    let spawned = median(spawn_all(lab)?);
    table.value("200 workers: `ralph spawn`", spawned, None, "ms", &Goal::None);
    // Until the last of them has come to rest.
    thread::sleep(Duration::from_secs(3));
    let listed = (0..11).map(|_| Ok(millis(timed(&mut ralph(lab, &["ls"]))?))).collect::<Outcome<_>>()?;
    table.value("200 workers: `ralph ls`", median(listed), None, "ms", &Goal::AtMost(50.0));
    let ours = processes(lab);
    let loops = ours.iter().filter(|(_, words)| words.contains("__worker")).count();
    if loops != WORKERS {
        return Err(format!("{loops} of {WORKERS} loops are there").into());
    }
    let kib: u64 = ours.iter().map(|(pid, _)| pss_kib(*pid)).sum();
    let each = kib as f64 * 1024.0 / 1e6 / WORKERS as f64;
    table.value("200 workers: memory per worker", each, None, "MB", &Goal::AtMost(15.0));
    let cpu = || ours.iter().map(|(pid, _)| cpu_seconds(*pid)).sum::<f64>();
    let (before, start) = (cpu(), Instant::now());
    thread::sleep(WATCHED);
    let percent = (cpu() - before) / start.elapsed().as_secs_f64() / WORKERS as f64 * 100.0;
    table.value("200 workers: processor per worker", percent, None, "%", &Goal::AtMost(0.1));
    drop(ended);
    Ok(())
}

/// Starts the workers, each in a project of its own; the milliseconds that each start took.
pub fn spawn_all(lab: &Lab) -> Outcome<Vec<f64>> {
    let mut spawned = Vec::new();
    for number in 0..WORKERS {
        let name = format!("w{number}");
        let project = lab.path(&name);
        fs::create_dir_all(project.join(".ralph"))?;
        fs::write(project.join(".ralph/settings.json"), BARE)?;
        let mut command = ralph(lab, &["spawn", "--name", &name, "-p", "x", "-n", "2", "-C"]);
        command.arg(&project).args(["--inactivity-timeout", "1h", "--", "sleep", "600"]);
        spawned.push(millis(timed(&mut command)?));
    }
    Ok(spawned)
}

/// Ralph with a tmux of its own.
fn ralph(lab: &Lab, args: &[&str]) -> Command {
    let mut command = Command::new(program());
    command
        .args(args)
        .current_dir(lab.project())
        .env("RALPH_HOME", lab.path("home"))
        .env("RALPH_SANDBOX", "none");
    command.env("TMUX_TMPDIR", lab.path("")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// The processes of this lab's ralph: loops, keepers and what runs in the panes.
fn processes(lab: &Lab) -> Vec<(u32, String)> {
    all(lab).into_iter().filter(|(_, words)| words.contains("ralph")).collect()
}

/// Every process of this lab, with its command line.
fn all(lab: &Lab) -> Vec<(u32, String)> {
    let marker = format!("RALPH_HOME={}", lab.path("home").display());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let of = |pid: u32, file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    pids.filter(|pid| of(*pid, "environ").split(|byte| *byte == 0).any(|entry| entry == marker.as_bytes()))
        .map(|pid| (pid, String::from_utf8_lossy(&of(pid, "cmdline")).replace('\0', " ")))
        .collect()
}

/// Ends every process of the lab, by its id.
pub struct Ended<'l>(pub &'l Lab);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        for _ in 0..50 {
            let left = all(self.0);
            if left.is_empty() {
                return;
            }
            for (pid, _) in left {
                let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
                if let Some(pid) = pid {
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                }
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}
