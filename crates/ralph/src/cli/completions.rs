//! `ralph completions` and `ralph man`: for shells and for `man`.

use crate::error::CliError;
use crate::report::Out;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Examples:
  ralph completions bash > ~/.local/share/bash-completion/completions/ralph
  ralph completions zsh > \"${fpath[1]}/_ralph\"
  ralph completions fish > ~/.config/fish/completions/ralph.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub fn completions(args: &CompletionsArgs) -> Result<ExitCode, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Cli::command(), "ralph", &mut script);
    print(&script);
    Ok(ExitCode::SUCCESS)
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ralph man | man -l -
  ralph man run > ~/.local/share/man/man1/ralph-run.1")]
pub struct ManArgs {
    /// A command; without it, the page of ralph itself
    command: Option<String>,
}

pub fn man(args: &ManArgs) -> Result<ExitCode, CliError> {
    let mut ralph = super::Cli::command();
    ralph.build();
    let page = match &args.command {
        None => ralph,
        Some(name) => {
            // Built, a subcommand knows its whole name and usage.
            ralph.find_subcommand(name).cloned().ok_or_else(|| {
                CliError::usage(format!("no such command: {name}")).hint("`ralph --help` lists them")
            })?
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut text)
        .map_err(|cause| CliError::failed("cannot write the manual page").cause(cause))?;
    print(&text);
    Ok(ExitCode::SUCCESS)
}

fn print(bytes: &[u8]) {
    let mut out = Out::stdout();
    out.bytes(bytes);
    out.flush();
}
