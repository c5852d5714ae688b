//! `ralph top` beside 200 live workers, on a run of 10,000 iterations whose last agent has printed 1 GB.

use crate::lab::{Ending, Lab, Outcome, median, millis, program};
use crate::proc::{anonymous_kib, cpu_seconds};
use crate::table::{Goal, Table};
use crate::workers::{Ended, WORKERS, spawn_all};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// All of a stream is kept.
const SETTINGS: &str = r#"{"context": false, "checkpoints": false, "keepStreams": 0}"#;
const ITERATIONS: u32 = 10_000;
const STREAM_BYTES: u64 = 1_000_000_000;
const LAST_WORDS: &str = "the last words";
const COLUMNS: u16 = 120;
const ROWS: u16 = 40;
/// The screen is watched for so long once it has come to rest.
const WATCHED: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(120);

pub fn measure(lab: &Lab, table: &mut Table) -> Outcome<()> {
    let ended = Ended(lab);
    let (run, _long) = long_run(lab)?;
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        alone.push(first_screen(lab, &[], "1 live")?);
    }
    spawn_all(lab)?;
    // Until the last of them has come to rest.
    thread::sleep(Duration::from_secs(3));
    let all = format!("{} live", WORKERS + 1);
    for _ in 0..5 {
        beside.push(first_screen(lab, &[], &all)?);
    }
    let goal = Goal::AtMost(100.0);
    table.value("`ralph top`: the first screen, one long run", median(alone), None, "ms", &goal);
    table.value("the same beside 200 live workers", median(beside), None, "ms", &goal);
    let mut top = Screen::open(lab, &[&run])?;
    let words = top.until(|text| text.contains(LAST_WORDS))?;
    let name = "that run: the end of its stream of 1 GB";
    table.value(name, millis(words), None, "ms", &Goal::None);
    top.until(|text| text.contains(&all))?;
    // Until all journals are read.
    top.drain(Duration::from_secs(3));
    let megabytes = anonymous_kib(top.pid()) as f64 * 1024.0 / 1e6;
    table.value("that run and 200 workers: memory", megabytes, None, "MB", &Goal::AtMost(40.0));
    let (before, start) = (cpu_seconds(top.pid()), Instant::now());
    top.drain(WATCHED);
    let percent = (cpu_seconds(top.pid()) - before) / start.elapsed().as_secs_f64() * 100.0;
    table.value("that run and 200 workers: processor", percent, None, "%", &Goal::AtMost(3.0));
    drop(top);
    drop(ended);
    Ok(())
}

/// A run in its last iteration, whose agent has printed all and waits; its id.
fn long_run(lab: &Lab) -> Outcome<(String, Ending)> {
    lab.settings(SETTINGS)?;
    let script = format!(
        "[ $RALPH_ITERATION -lt {ITERATIONS} ] && exec echo hi
         yes 'a line of an agent that has much to say, of about eighty characters in all' |
         head -c {STREAM_BYTES}; echo; echo {LAST_WORDS}; exec sleep 600"
    );
    let mut engine = Ending(lab.run(ITERATIONS, &["sh", "-c", &script])?.spawn()?);
    let deadline = Instant::now() + PATIENCE;
    let length = |run: &std::path::Path| {
        let stream = run.join(format!("streams/{ITERATIONS}-1.out"));
        fs::metadata(stream).map_or(0, |meta| meta.len())
    };
    loop {
        if let Ok(run) = lab.newest_run()
            && length(&run) > STREAM_BYTES + LAST_WORDS.len() as u64
        {
            let name = run.file_name().and_then(|name| name.to_str()).ok_or("the run has no name")?;
            return Ok((name.to_string(), engine));
        }
        if Instant::now() > deadline || engine.0.try_wait()?.is_some() {
            return Err("the run did not get to its last iteration".into());
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Milliseconds until a whole screen has this text.
fn first_screen(lab: &Lab, args: &[&str], text: &str) -> Outcome<f64> {
    Ok(millis(Screen::open(lab, args)?.until(|screen| screen.contains(text))?))
}

/// `ralph top` on a terminal of its own.
struct Screen {
    process: Ending,
    began: Instant,
    printed: Receiver<Vec<u8>>,
    screen: vt100::Parser,
}

impl Screen {
    fn open(lab: &Lab, args: &[&str]) -> Outcome<Screen> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        tcsetwinsize(&master, Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 })?;
        let name = ptsname(&master, Vec::new())?.into_string()?;
        let side =
            || Ok::<_, std::io::Error>(Stdio::from(OpenOptions::new().read(true).write(true).open(&name)?));
        let mut command = Command::new(program());
        command.arg("top").args(args).current_dir(lab.project()).env("RALPH_HOME", lab.path("home"));
        command.env("TERM", "xterm-256color").stdin(side()?).stdout(side()?).stderr(side()?);
        let (send, printed) = mpsc::channel();
        let mut master = File::from(master);
        thread::spawn(move || {
            let mut bytes = vec![0; 64 << 10];
            while let Ok(count @ 1..) = master.read(&mut bytes) {
                if send.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let began = Instant::now();
        let process = Ending(command.spawn()?);
        Ok(Screen { process, began, printed, screen: vt100::Parser::new(ROWS, COLUMNS, 0) })
    }

    fn pid(&self) -> u32 {
        self.process.0.id()
    }

    /// How long after its start the screen was like this.
    fn until(&mut self, fits: impl Fn(&str) -> bool) -> Outcome<Duration> {
        while !fits(&self.screen.screen().contents()) {
            let left = PATIENCE.saturating_sub(self.began.elapsed());
            let bytes = self
                .printed
                .recv_timeout(left)
                .map_err(|_| format!("the screen never showed it:\n{}", self.screen.screen().contents()))?;
            self.screen.process(&bytes);
        }
        Ok(self.began.elapsed())
    }

    /// Takes what is printed for so long.
    fn drain(&mut self, duration: Duration) {
        let end = Instant::now() + duration;
        loop {
            match self.printed.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}
