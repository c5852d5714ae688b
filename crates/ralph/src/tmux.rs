//! Windows onto workers, in a tmux server of ralph's own.
//!
//! A window runs `ralph logs NAME --follow --window` and nothing else: the log of its worker, and the terminal of an
//! interactive agent while there is one (`terminal`). Closing it, or killing the server, never hurts the work: the
//! agent's terminal is a pty of ralph's own. It closes when its worker ends, and the server ends with its last window.
//! The server is not the user's, so neither their sessions nor a `$TMUX`
//! that ralph is called from are touched; their configuration and keys apply.
//!
//! Deliberately absent: asking tmux how a worker is. Its journal says it.

use crate::layout::Home;
use crate::process::tool::{Tool, ToolError, ToolOutput};
use crate::process::{self, Exit};
use std::io;
use std::time::Duration;
use thiserror::Error;

/// The session that all windows are in.
pub const SESSION: &str = "ralph";

const TIMEOUT: Duration = Duration::from_secs(20);

/// What tmux sets in its panes, and takes as a reason to refuse.
const INSIDE: &[&str] = &["TMUX", "TMUX_PANE"];

/// Whatever the user's configuration says: nothing of a worker that has ended stays. `q`, as old versions do
/// not know all of these.
const NOTHING_STAYS: &[&str] =
    &[";", "set-option", "-gwq", "remain-on-exit", "off", ";", "set-option", "-sq", "exit-empty", "on"];

#[derive(Debug, Error)]
pub enum TmuxError {
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error("tmux: {0}")]
    Refused(String),
    #[error("cannot find the ralph program: {0}")]
    Own(io::Error),
    #[error("spawn needs tmux, which is not installed")]
    Missing,
    #[error(transparent)]
    Terminal(io::Error),
    #[error("cannot attach with tmux")]
    CannotAttach {
        worker: String,
        #[source]
        cause: Box<TmuxError>,
    },
}

pub struct Tmux<'h> {
    home: &'h Home,
    server: String,
}

/// Whether there is a tmux. What it can do shows when it is asked to: a window that an old one refuses is no reason to
/// refuse a worker.
pub fn check() -> Result<(), TmuxError> {
    Tool::new("tmux").arg("-V").timeout(TIMEOUT).run().map(drop).map_err(|_| TmuxError::Missing)
}

impl Tmux<'_> {
    pub fn of(home: &Home) -> Tmux<'_> {
        Tmux { home, server: home.tmux_server() }
    }

    /// Makes sure that a worker has a window.
    pub fn show(&self, name: &str) -> Result<(), TmuxError> {
        if self.window(name).is_some() {
            return Ok(());
        }
        let program = std::env::current_exe().map_err(TmuxError::Own)?;
        let program = program.to_string_lossy();
        let home = format!("RALPH_HOME={}", self.home.root().display());
        let follow = ["env", &home, &program, "logs", name, "--follow", "--window"];
        let target = format!("={SESSION}:");
        let window = [&["new-window", "-d", "-t", &target, "-n", name][..], &follow].concat();
        let session =
            [&["new-session", "-d", "-s", SESSION, "-n", name][..], &follow, NOTHING_STAYS].concat();
        // Two workers may be spawned at once: the second one finds the session.
        for args in [&window, &session, &window] {
            if self.tmux(args)?.success() {
                return Ok(());
            }
        }
        let output = self.tmux(&session)?;
        if output.success() {
            return Ok(());
        }
        Err(TmuxError::Refused(String::from_utf8_lossy(&output.stderr).trim().to_string()))
    }

    /// Closes a worker's window, if it has one.
    pub fn close(&self, name: &str) {
        if let Some(window) = self.window(name) {
            self.detach_from(name);
            // A window that stays open shows the end of the log.
            let _ = self.tmux(&["kill-window", "-t", &window]);
        }
    }

    /// Detaches the clients that show a worker's window: tmux would show them another worker once it closes.
    pub fn detach_from(&self, name: &str) {
        let Some(window) = self.window(name) else { return };
        let format = "#{window_id} #{client_name}";
        let Ok(listed) = self.tmux(&["list-clients", "-t", &format!("={SESSION}"), "-F", format]) else {
            return;
        };
        for line in String::from_utf8_lossy(&listed.stdout).lines() {
            if let Some((_, client)) = line.split_once(' ').filter(|(shown, _)| *shown == window) {
                // One that has gone meanwhile need not be detached.
                let _ = self.tmux(&["detach-client", "-t", client]);
            }
        }
    }

    /// Gives this terminal to tmux, showing a worker, until the user detaches.
    pub fn attach(&self, name: &str) -> Result<Exit, TmuxError> {
        let failed = |cause| TmuxError::CannotAttach { worker: name.to_string(), cause: Box::new(cause) };
        self.show(name).map_err(failed)?;
        let window = self.window(name).unwrap_or_default();
        let _ = self.tmux(&["select-window", "-t", &window]);
        let session = format!("={SESSION}");
        process::in_terminal("tmux", &["-L", &self.server, "attach-session", "-t", &session], INSIDE)
            .map_err(|cause| failed(TmuxError::Terminal(cause)))
    }

    /// By id: a name with a dot would be read as a window and a pane.
    fn window(&self, name: &str) -> Option<String> {
        let target = format!("={SESSION}");
        let listed = self.tmux(&["list-windows", "-t", &target, "-F", "#{window_id} #{window_name}"]).ok()?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let found =
            listed.lines().filter_map(|line| line.split_once(' ')).find(|(_, window)| *window == name);
        found.map(|(id, _)| id.to_string())
    }

    fn tmux(&self, args: &[&str]) -> Result<ToolOutput, TmuxError> {
        let tool = Tool::new("tmux").args(["-L", &self.server]).args(args).cwd("/").timeout(TIMEOUT);
        Ok(INSIDE.iter().fold(tool, Tool::env_remove).run()?)
    }
}
