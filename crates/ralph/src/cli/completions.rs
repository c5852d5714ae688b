//! `ralph completions` and `ralph man`: for shells and for `man`.

use super::agents::AgentsArgs;
use super::config::ConfigArgs;
use super::guard::GuardArgs;
use super::hook::HookArgs;
use super::plugin::PluginArgs;
use super::sandbox::SandboxArgs;
use super::stories::StoriesArgs;
use super::tasks::TasksArgs;
use crate::error::CliError;
use crate::report::Out;
use clap::{Args, Command, CommandFactory};
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
    clap_complete::generate(args.shell, &mut with_nested(), "ralph", &mut script);
    print(&script);
    Ok(ExitCode::SUCCESS)
}

/// The command line with the commands inside commands, so that `ralph help tasks` is completed, too.
/// They are built late (`defer` on `Command`), after `help` has copied the names of all commands.
fn with_nested() -> Command {
    super::Cli::command().mut_subcommands(|command| {
        let augment = match command.get_name() {
            "agents" => AgentsArgs::augment_args,
            "config" => ConfigArgs::augment_args,
            "guard" => GuardArgs::augment_args,
            "hook" => HookArgs::augment_args,
            "plugin" => PluginArgs::augment_args,
            "sandbox" => SandboxArgs::augment_args,
            "stories" => StoriesArgs::augment_args,
            "tasks" => TasksArgs::augment_args,
            _ => return command,
        };
        // Nothing is left to be built late.
        augment(command).defer(|command| command)
    })
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

#[cfg(test)]
mod tests {
    use super::{Command, with_nested};

    fn names(command: &Command) -> Vec<&str> {
        command.get_subcommands().map(Command::get_name).filter(|name| *name != "help").collect()
    }

    #[test]
    fn help_is_completed_with_every_command_inside_a_command() {
        let mut ralph = with_nested();
        ralph.build();
        let help = ralph.find_subcommand("help").unwrap();
        assert_eq!(names(help), names(&ralph));
        for command in ralph.get_subcommands().filter(|command| command.get_name() != "help") {
            let copied = help.find_subcommand(command.get_name()).unwrap();
            assert_eq!(names(copied), names(command), "{}", command.get_name());
        }
    }
}
