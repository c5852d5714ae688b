//! An agent of an interactive run: what the host of its terminal is told, and what the agent finds in its environment.

use super::{Shared, StartError};
use crate::fsx;
use crate::handed::HandedFile;
use crate::process;
use crate::sandbox::{Role, Sandbox};
use crate::terminal::claude_config::{self, CONFIG_DIR};
use crate::terminal::{self, Agent, ScreenSpec, TURN, TerminalSpec};
use ralph_loop::dialect::{CommandLine, Dialect, PromptVia};
use ralph_loop::interactive::Expects;
use ralph_loop::run::{AgentSpec, Interactive};
use std::fs::File;
use std::io::{self, Seek};
use std::path::PathBuf;

/// What a terminal is called for programs, where the one that ralph was started from has no name.
const TERM: &str = "xterm-256color";

/// Variables of a terminal that is not the agent's.
pub(super) const OTHER_TERMINALS: [&str; 3] = ["TMUX", "TMUX_PANE", "STY"];

/// A program that gets a terminal of its own.
pub(super) struct OnTerminal {
    agent: Agent,
    stdin: Option<String>,
    /// Where files are that it sees at another path.
    moved: Vec<(PathBuf, PathBuf)>,
}

impl OnTerminal {
    /// `done` is what the words of a plain program are matched with.
    pub(super) fn of(interactive: &Interactive, line: &CommandLine, done: Option<&str>) -> OnTerminal {
        let Interactive { ready_within_ms, permissions, max_context, .. } = *interactive;
        let handed_over = line.handed_over.clone().unwrap_or_default();
        let via = |via| Some(handed_over.text.clone()).filter(|_| line.stdin == via);
        let stdin = via(PromptVia::Stdin);
        let agent = match line.output {
            Dialect::Plain | Dialect::Amp => Agent::Plain(ScreenSpec {
                prompt: via(PromptVia::Typed),
                ready: interactive.ready_patterns.clone(),
                done: done.map(String::from),
                done_at_once: interactive.check_done_continuously,
                ready_within_ms,
            }),
            dialect @ (Dialect::Claude | Dialect::Codex) => Agent::Known {
                dialect,
                expects: Expects {
                    prompt: handed_over.text,
                    lead_in: handed_over.lead_in.to_owned(),
                    ready_within_ms,
                    permissions,
                    end_at_context: max_context,
                },
            },
        };
        OnTerminal { agent, stdin, moved: Vec::new() }
    }

    /// In a sandbox, in which some files are at other paths.
    pub(super) fn within(self, sandbox: Option<&Sandbox>, role: Role) -> OnTerminal {
        OnTerminal { moved: sandbox.map(|sandbox| sandbox.moved(role)).unwrap_or_default(), ..self }
    }

    /// The command that starts the terminal's host in the place of this one, and what the host is told.
    pub(super) fn command(
        self,
        command: process::Command,
        shared: &Shared,
    ) -> io::Result<(process::Command, File)> {
        let spec = TerminalSpec {
            argv: command.argv,
            wrapper: command.wrapper,
            stdin: self.stdin,
            moved: self.moved,
            run_dir: shared.run_dir.dir().to_path_buf(),
            agent: self.agent,
        };
        let mut told = fsx::nameless(shared.run_dir.dir())?;
        serde_json::to_writer(&mut told, &spec)?;
        told.rewind()?;
        let argv = vec![shared.keeper_program.again()?.into(), terminal::TERMINAL.into()];
        Ok((process::Command { argv, wrapper: None, ..command }, told))
    }
}

/// What an agent on a terminal is given.
#[derive(Default)]
pub(super) struct Given {
    pub(super) env: Vec<(&'static str, String)>,
    /// A configuration of its own, for as long as it works.
    pub(super) config: Option<HandedFile>,
}

pub(super) fn given(agent: &AgentSpec, shared: &Shared) -> Result<Given, StartError> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (mut env, mut config) = (Vec::new(), None);
    if variable("TERM").is_none_or(|term| term == "dumb") {
        env.push(("TERM", TERM.to_owned()));
    }
    if agent.dialect != Dialect::Plain {
        env.push((TURN, shared.run_dir.turn_socket().display().to_string()));
    }
    if agent.dialect == Dialect::Claude {
        // The user trusts a directory by having started a run there.
        env.push(("CLAUDE_CODE_SANDBOXED", "1".to_owned()));
        if !shared.sandbox.as_ref().is_some_and(|sandbox| sandbox.has_own_config())
            && let Some((dir, file)) = claude_config::prepare(&shared.run_dir.home(), &variable)?
        {
            env.push((CONFIG_DIR, dir.display().to_string()));
            config = Some(file);
        }
    }
    Ok(Given { env, config })
}
