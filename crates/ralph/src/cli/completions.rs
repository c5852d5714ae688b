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
    /// Shell to generate the script for
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
    /// Command to print the page of, such as `run` or `tasks add` [default: ralph itself]
    command: Vec<String>,
}

pub fn man(args: &ManArgs) -> Result<ExitCode, CliError> {
    let mut ralph = super::Cli::command();
    ralph.build();
    // Built, a subcommand knows its whole name and usage.
    let mut page = &ralph;
    for name in &args.command {
        page = page.find_subcommand(name).ok_or_else(|| {
            CliError::usage(format!("no such command: {}", args.command.join(" ")))
                .hint(format!("`{} --help` lists the commands", page.get_bin_name().unwrap_or("ralph")))
        })?;
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(page.clone())
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
