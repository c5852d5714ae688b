//! `ralph top`: the terminal of the screen with all runs.
//!
//! Invariant: the terminal is left as it was found, however this ends: a key, an error, a signal, a panic.
#![expect(clippy::disallowed_methods, reason = "it draws on the terminal")]

use super::args::TotalArgs;
use super::home;
use super::steer::{Came, end_one, pause_one, say_one, set_one};
use super::watch::attach_to;
use crate::catalog;
use crate::control::{Command, CommandResult, talk};
use crate::error::CliError;
use crate::layout::Home;
use crate::report::Style;
use crate::target::{self, Target};
use crate::top::{App, Effect, Steering};
use clap::{Args, Parser};
use ralph_loop::ask::Changes;
use ralph_loop::text::printable;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute, queue};
use std::io::{self, IsTerminal, Stdout};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Args)]
#[command(after_help = "\
Press ? for the keys. docs/top.md describes the tabs.

Examples:
  ralph top
  ralph top night")]
pub struct TopArgs {
    /// Worker name, run id or id prefix to begin with [default: the first live run]
    name: Option<String>,
}

/// How long the first screen may wait for the list.
const FIRST: Duration = Duration::from_millis(60);

pub fn top(args: &TopArgs) -> Result<ExitCode, CliError> {
    // A dumb one cannot be drawn on.
    if !rustix::stdio::stdin().is_terminal() || Style::screen().is_none() {
        return Err(CliError::usage("top needs a terminal")
            .hint("use `ralph status --watch` to follow runs without one, or `ralph ls` for a list"));
    }
    let home = home()?;
    let run = args.name.as_deref().map(|name| catalog::find(&home, name)).transpose()?;
    let failed = |cause: io::Error| CliError::failed("cannot use the terminal").cause(cause);
    let mut app = App::start(&home, run, Style::of_stdout(), steer).map_err(failed)?;
    let ended = Arc::new(AtomicU8::new(Why::NotYet as u8));
    watch_signals(&ended).map_err(failed)?;
    restore_on_panic(&ended);
    let mut screen = Screen::open().map_err(failed)?;
    if let Ok(size) = screen.terminal.size() {
        app.resize(size.width, size.height);
    }
    let done = show(app, &mut screen, &ended);
    // A terminal that is gone cannot be restored, and the user is gone with it.
    let closed = screen.close();
    match (done, Why::of(&ended)) {
        (_, Why::Panicked) => Err(CliError::failed("top has crashed").hint("the runs are not affected")),
        (Ok(()), _) | (Err(_), Why::Asked) => Ok(ExitCode::SUCCESS),
        (Err(cause), Why::NotYet) => Err(failed(closed.err().unwrap_or(cause))),
    }
}

/// Why it ends without a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    NotYet,
    /// By a signal.
    Asked,
    Panicked,
}

impl Why {
    fn of(ended: &AtomicU8) -> Why {
        match ended.load(Ordering::Relaxed) {
            0 => Why::NotYet,
            1 => Why::Asked,
            _ => Why::Panicked,
        }
    }
}

fn show(mut app: App, screen: &mut Screen, ended: &AtomicU8) -> io::Result<()> {
    app.await_list(FIRST);
    let mut is_due = true;
    let mut idle = true;
    loop {
        is_due |= app.refresh(idle)?;
        if is_due {
            screen.draw(&mut app)?;
        }
        is_due = false;
        idle = !has_input(app.patience())?;
        // What was typed or pasted meanwhile is one change of the screen.
        while Why::of(ended) == Why::NotYet && has_input(Duration::ZERO)? {
            is_due = true;
            match app.handle(&event::read()?)? {
                Effect::None | Effect::Steer { .. } => {}
                Effect::Quit => return Ok(()),
                Effect::Attach(name) => {
                    screen.close()?;
                    let attached = attach_to(&name);
                    *screen = Screen::open()?;
                    if let Err(error) = attached {
                        app.note(one_line(&error));
                    }
                }
            }
        }
        if Why::of(ended) != Why::NotYet {
            return Ok(());
        }
    }
}

/// A signal may interrupt the wait.
fn has_input(within: Duration) -> io::Result<bool> {
    match event::poll(within) {
        Err(cause) if cause.kind() == io::ErrorKind::Interrupted => Ok(false),
        other => other,
    }
}

/// The terminal, taken over.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    fn open() -> io::Result<Screen> {
        enable_raw_mode()?;
        let opened = execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste)
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match opened {
            Ok(terminal) => Ok(Screen { terminal }),
            Err(cause) => {
                let _ = restore();
                Err(cause)
            }
        }
    }

    /// All at once, where the terminal knows how.
    fn draw(&mut self, app: &mut App) -> io::Result<()> {
        queue!(io::stdout(), BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| app.draw(frame))?;
        execute!(io::stdout(), EndSynchronizedUpdate)
    }

    fn close(&mut self) -> io::Result<()> {
        restore()
    }
}

fn restore() -> io::Result<()> {
    let shown = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
    disable_raw_mode().and(shown)
}

/// A panic on any thread ends it: where panics do not abort, the others would draw on.
fn restore_on_panic(ended: &Arc<AtomicU8>) {
    let (before, ended) = (std::panic::take_hook(), Arc::clone(ended));
    std::panic::set_hook(Box::new(move |panic| {
        ended.store(Why::Panicked as u8, Ordering::Relaxed);
        let _ = restore();
        before(panic);
    }));
}

/// How long a terminal that has hung up may take to be restored, if it is still there.
const GOING: Duration = Duration::from_secs(2);

/// Sets the flag when this process is asked to end.
fn watch_signals(ended: &Arc<AtomicU8>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let within = runtime.enter();
    let mut signals =
        [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?];
    drop(within);
    let ended = Arc::clone(ended);
    thread::Builder::new().name("signals".into()).spawn(move || {
        let [interrupt, terminate, hangup] = &mut signals;
        let is_gone = runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => false,
                _ = terminate.recv() => false,
                _ = hangup.recv() => true,
            }
        });
        ended.store(Why::Asked as u8, Ordering::Relaxed);
        if is_gone {
            // Waiting for keys never returns where the terminal is gone, and nothing is left to be restored.
            thread::sleep(GOING);
            std::process::exit(1);
        }
    })?;
    Ok(())
}

/// Asks it of the run; what came of it, in a line.
fn steer(home: &Home, run: &str, what: &Steering) -> String {
    let done = target::of_run(home, run).map_err(CliError::from).and_then(|target| {
        let name = printable(&target.name).into_owned();
        match what {
            Steering::Pause => pause_one(home, &target).map(|came| match came {
                Came::Done => format!("{name} pauses after this iteration"),
                Came::Already => format!("{name} is already paused"),
            }),
            Steering::Resume => resume(home, &target),
            Steering::Kill => end_one(home, &target).map(|came| match came {
                Came::Done => format!("killed {name}"),
                Came::Already => format!("{name} is not running"),
            }),
            Steering::Say(text) => {
                say_one(home, &target, text).map(|_| format!("added to the next prompt of {name}"))
            }
            Steering::Limit(text) => {
                let changes = limit(text).map_err(CliError::usage)?;
                set_one(home, &target, &changes).map(|_| format!("set the limit of {name} to {text}"))
            }
        }
    });
    done.unwrap_or_else(|error| one_line(&error))
}

/// A run without a loop needs a terminal, or a worker, of its own.
fn resume(home: &Home, target: &Target) -> Result<String, CliError> {
    super::steer::refuse_agents(home, target)?;
    let name = &target.name;
    if !target.alive {
        return Err(CliError::failed(format!("{target} is not running"))
            .hint(format!("continue it with: ralph resume {name}")));
    }
    match talk(&target.run_dir, &Command::Continue) {
        Ok(CommandResult::Done) => Ok(format!("resumed {name}")),
        Ok(CommandResult::Already) => Ok(format!("{name} is not paused")),
        Ok(CommandResult::Refused { why }) => Err(CliError::failed(format!("{target} refused")).cause(why)),
        Err(cause) => Err(CliError::failed(format!("cannot reach {target}")).cause(cause)),
    }
}

#[derive(Parser)]
#[command(no_binary_name = true)]
struct Limit {
    #[command(flatten)]
    totals: TotalArgs,
}

/// `20` iterations, `$5` or `2h`, as `ralph set` understands them.
fn limit(text: &str) -> Result<Changes, String> {
    let words = match text.strip_prefix('$') {
        Some(dollars) => format!("--max-cost={dollars}"),
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => format!("--max-iterations={text}"),
        None => format!("--max-time={text}"),
    };
    let limit = Limit::try_parse_from([words]).map_err(|_| format!("not a limit: {text}"))?;
    Ok(Changes { totals: limit.totals.totals(), ..Changes::default() })
}

/// An error on one line.
fn one_line(error: &CliError) -> String {
    let text = error.to_string();
    let lines: Vec<&str> =
        text.lines().map(|line| line.trim().trim_start_matches("ralph: error: ")).collect();
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use super::limit;
    use ralph_loop::money::Usd;

    #[test]
    fn a_limit_is_a_number_dollars_or_a_time() {
        let totals = |text: &str| limit(text).unwrap().totals;
        assert_eq!(totals("20").max_iterations, Some(20));
        assert_eq!(totals("$2.50").max_cost.map(Usd::dollars), Some(2.5));
        assert_eq!(totals("2h").max_time_ms, Some(7_200_000));
        for text in ["", "x", "-1", "$", "$x", "20 --max-cost=1", "0"] {
            assert!(limit(text).is_err(), "{text}");
        }
    }
}
