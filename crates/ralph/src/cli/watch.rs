//! `ralph attach`, `wait`, `rm`: watching a worker, waiting for its end, removing it.

use super::home;
use super::logs::print_last;
use super::steer::{end, refuse_agents};
use super::workers::{end_of, forget};
use crate::error::CliError;
use crate::layout::is_safe_name;
use crate::process::Exit;
use crate::report::{Out, say};
use crate::target::{self, Target};
use crate::tmux::{self, Tmux};
use crate::worker::workers::{find, look_for};
use clap::Args;
use std::io::IsTerminal;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Detach with your tmux prefix and D (Ctrl+B D); the worker keeps running. Inside your own tmux, press the \
prefix twice.

The window closes when the worker ends. Its last lines are then printed here, as for a worker that has \
already ended.

Example:
  ralph attach night")]
pub struct AttachArgs {
    /// Name of the worker
    name: String,
}

#[derive(Args)]
#[command(after_help = "\
Waits for all of them, and exits with the first code that is not 0.

Example:
  ralph wait night && notify-send done")]
pub struct WaitArgs {
    /// Worker names, run ids or id prefixes
    #[arg(required = true)]
    name: Vec<String>,
}

#[derive(Args)]
#[command(after_help = "\
The record of its run stays; see `ralph runs` and `ralph clean`.

Example:
  ralph rm night")]
pub struct RmArgs {
    /// Names of the workers
    #[arg(required = true)]
    name: Vec<String>,
    /// Kill the worker first if it is running
    #[arg(long)]
    force: bool,
}

pub fn attach(args: &AttachArgs) -> Result<ExitCode, CliError> {
    attach_to(&args.name)
}

pub(super) fn attach_to(name: &str) -> Result<ExitCode, CliError> {
    let home = home()?;
    let worker = find(&home, name)?;
    if !worker.has_process() {
        return show_end(&worker);
    }
    let logs = format!("use `ralph logs {} --follow` instead", worker.name);
    if !rustix::stdio::stdout().is_terminal() || !rustix::stdio::stdin().is_terminal() {
        return Err(CliError::failed("attach needs a terminal").hint(logs));
    }
    tmux::check()?;
    let attached = Tmux::of(&home).attach(&worker.name)?;
    // Its window closes with it, so that its last lines were on the screen for a moment only.
    if !worker.has_process() {
        return show_end(&find(&home, name)?);
    }
    match attached {
        Exit::Code(0) => Ok(ExitCode::SUCCESS),
        Exit::Code(_) | Exit::Signal(_) => Err(CliError::failed("tmux could not attach").hint(logs)),
    }
}

/// About a screen.
const LAST_LINES: u64 = 20;

/// The end of the log of a worker that has no window any more, and how it ended.
fn show_end(worker: &Target) -> Result<ExitCode, CliError> {
    print_last(worker, LAST_LINES)
        .map_err(|cause| CliError::failed(format!("cannot read the log of {worker}")).cause(cause))?;
    let name = &worker.name;
    say(&format!(
        "ralph: {worker} is not running: {}; its whole log: ralph logs {name}",
        worker.status_line()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Exits with the first code that is not 0.
pub fn wait(args: &WaitArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let mut code = ExitCode::SUCCESS;
    for name in &args.name {
        let target = target::find(&home, name)?;
        let worker = target.is_worker().then_some(target.name.as_str());
        let ended = end_of(&home, &target.run, worker)?;
        if code == ExitCode::SUCCESS {
            code = ended;
        }
    }
    Ok(code)
}

pub fn rm(args: &RmArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    for name in &args.name {
        match look_for(&home, name) {
            Ok(Some(worker)) => {
                refuse_agents(&home, &worker)?;
                let goes_on = worker.alive && worker.state.reason.is_none();
                if goes_on && !args.force {
                    return Err(CliError::failed(format!(
                        "worker '{name}' is {}",
                        worker.state.status.word()
                    ))
                    .hint(format!("run `ralph kill {name}` first, or `ralph rm --force {name}`")));
                }
                if goes_on {
                    end(&home, &worker)?;
                }
            }
            // A record that cannot be read can still be removed.
            Ok(None) | Err(_) if is_safe_name(name) && home.worker(name).dir().exists() => {}
            Ok(None) | Err(_) => {
                find(&home, name)?;
            }
        }
        forget(&home, name)?;
        let mut out = Out::stdout();
        out.line(&format!("removed {name}"));
        out.flush();
    }
    Ok(ExitCode::SUCCESS)
}
