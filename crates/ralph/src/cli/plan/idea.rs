//! What the user wants, from the command line, a file or standard input.

use super::PlanArgs;
use crate::error::CliError;
use crate::fsx;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

/// More is no request: an agent would have to read all of it before it begins.
const LARGEST: u64 = 1 << 20;

/// Empty if nothing was said.
pub fn read(args: &PlanArgs) -> Result<String, CliError> {
    match (&args.task, &args.from) {
        (Some(task), _) if task.trim().is_empty() => {
            Err(CliError::usage("TASK is empty")
                .hint("say what you want: ralph plan \"log in with a passkey\""))
        }
        (Some(task), _) => Ok(task.clone()),
        (None, Some(from)) => from_file(from),
        (None, None) => Ok(String::new()),
    }
}

fn from_file(from: &Path) -> Result<String, CliError> {
    let is_stdin = from == Path::new("-");
    if is_stdin && io::stdin().is_terminal() {
        return Err(CliError::usage("--from - reads standard input, which is a terminal")
            .hint("pipe the text into it, or give it as TASK"));
    }
    let read = match is_stdin {
        true => from_stdin(),
        false => fsx::read_at_most(from, LARGEST),
    };
    let shown = if is_stdin { "standard input".to_owned() } else { from.display().to_string() };
    let bytes = read.map_err(|cause| match cause.kind() {
        io::ErrorKind::FileTooLarge => CliError::usage(format!("--from is too large: {shown}"))
            .cause("the limit is 1 MiB")
            .hint("shorten it, or name the file in TASK: the agent can read files of the project"),
        _ => CliError::usage(format!("cannot read --from: {shown}"))
            .cause(cause)
            .hint("pass a readable file, or - for standard input"),
    })?;
    let text = String::from_utf8(bytes).map_err(|_| {
        CliError::usage(format!("--from is not UTF-8 text: {shown}")).hint("pass a text or Markdown file")
    })?;
    match text.trim().is_empty() {
        true => Err(CliError::usage(format!("--from is empty: {shown}")).hint("write what you want in it")),
        false => Ok(text),
    }
}

fn from_stdin() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}
