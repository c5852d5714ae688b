//! `ralph schema`: the shapes of ralph's files, for editors and other programs.

use super::print_json;
use crate::error::CliError;
use crate::settings;
use clap::{Args, ValueEnum};
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Example:
  ralph schema settings > .ralph/settings.schema.json
  # then add to .ralph/settings.json: { \"$schema\": \"./settings.schema.json\" }")]
pub struct SchemaArgs {
    /// The file to describe
    #[arg(value_enum, value_name = "FILE")]
    of: Subject,
}

#[derive(Clone, Copy, ValueEnum)]
enum Subject {
    /// .ralph/settings.json
    Settings,
}

pub fn schema(args: &SchemaArgs) -> Result<ExitCode, CliError> {
    match args.of {
        Subject::Settings => print_json(&settings::schema()),
    }
    Ok(ExitCode::SUCCESS)
}
