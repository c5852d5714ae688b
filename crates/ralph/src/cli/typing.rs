//! `ralph send` and `ralph answer`, and `ralph say --now`: typing into the terminal of an interactive agent.

use super::args::ProjectArgs;
use super::home;
use super::steer::refuse_agents;
use crate::error::CliError;
use crate::report::Out;
use crate::target::{Target, find_or_here};
use crate::terminal::{self, Want};
use clap::Args;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
A key is Enter, Escape, Tab, Space, BSpace, Up, Down, Left, Right, or C- and a letter; every other word is typed as \
it is.

Examples:
  ralph send night Escape                # interrupt the agent
  ralph send night /compact Enter
  ralph send night C-c C-c")]
pub struct SendArgs {
    /// Worker name, run id or id prefix
    name: String,
    /// Keys, in order
    #[arg(required = true, allow_hyphen_values = true)]
    keys: Vec<String>,
}

#[derive(Args)]
#[command(after_help = "\
`ralph status` shows what an agent waits for, and --notify is told. Answer a request for permission with yes or no, and \
a question with the number or the name of a choice; other text is typed and sent.

Examples:
  ralph answer night yes
  ralph answer night 2
  ralph answer night \"use SQLite\"")]
pub struct AnswerArgs {
    /// Worker name, run id or id prefix
    name: String,
    /// The answer
    text: String,
}

pub fn send(args: &SendArgs) -> Result<ExitCode, CliError> {
    let bytes = args.keys.iter().flat_map(|key| key_bytes(key)).collect();
    let target = type_to(&args.name, &Want::Keys { bytes })?;
    print(&format!("typed into {}", target.name));
    Ok(ExitCode::SUCCESS)
}

pub fn answer(args: &AnswerArgs) -> Result<ExitCode, CliError> {
    let target = type_to(&args.name, &Want::Answer { text: args.text.clone() })?;
    print(&format!("answered {}", target.name));
    Ok(ExitCode::SUCCESS)
}

fn type_to(name: &str, want: &Want) -> Result<Target, CliError> {
    let target = find_or_here(&home()?, Some(name), &ProjectArgs { project_dir: None }.dir()?)?;
    type_into(&target, want)?;
    Ok(target)
}

/// Types into the terminal of the agent at work.
pub(super) fn type_into(target: &Target, want: &Want) -> Result<(), CliError> {
    refuse_agents(&home()?, target)?;
    terminal::type_into(&target.run_dir, want).map_err(|cause| {
        let error = CliError::failed(format!("cannot type into {target}: {cause}"));
        match cause {
            terminal::TypeError::NoTerminal => error.hint(
                "only an agent that was started with --interactive has a terminal, and only while it works",
            ),
            terminal::TypeError::Refused(_) | terminal::TypeError::Broken(_) => error,
        }
    })
}

fn print(line: &str) {
    let mut out = Out::stdout();
    out.line(line);
    out.flush();
}

/// What a terminal sends for a key, by the names that tmux has for them.
fn key_bytes(key: &str) -> Vec<u8> {
    let named: &[u8] = match key {
        "Enter" => b"\r",
        "Escape" | "Esc" => b"\x1b",
        "Tab" => b"\t",
        "BTab" => b"\x1b[Z",
        "Space" => b" ",
        "BSpace" | "Backspace" => b"\x7f",
        "Up" => b"\x1b[A",
        "Down" => b"\x1b[B",
        "Right" => b"\x1b[C",
        "Left" => b"\x1b[D",
        _ => match key.strip_prefix("C-").map(str::as_bytes) {
            Some([letter]) if letter.is_ascii_alphabetic() => {
                return vec![letter.to_ascii_lowercase() & 0x1f];
            }
            _ => key.as_bytes(),
        },
    };
    named.to_vec()
}

#[cfg(test)]
mod tests {
    use super::key_bytes;

    #[test]
    fn keys_are_named_as_tmux_names_them() {
        for (key, bytes) in [
            ("Enter", "\r"),
            ("C-c", "\x03"),
            ("C-U", "\x15"),
            ("Escape", "\x1b"),
            ("C-", "C-"),
            ("yes", "yes"),
        ] {
            assert_eq!(key_bytes(key), bytes.as_bytes(), "{key}");
        }
    }
}
