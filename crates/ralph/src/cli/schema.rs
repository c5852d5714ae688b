//! `ralph schema`: the shapes of ralph's files and of its JSON, for editors and other programs.

use super::print_json;
use crate::error::CliError;
use crate::report::view_schema;
use crate::settings;
use clap::{Args, ValueEnum};
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Example:
  ralph schema settings > .ralph/settings.schema.json
  # then add to .ralph/settings.json: { \"$schema\": \"./settings.schema.json\" }")]
pub struct SchemaArgs {
    /// What to describe
    #[arg(value_enum, value_name = "SUBJECT")]
    of: Subject,
}

#[derive(Clone, Copy, ValueEnum)]
enum Subject {
    /// .ralph/settings.json
    Settings,
    /// The field `view` of what `ls`, `status` and `runs` print as JSON
    View,
}

pub fn schema(args: &SchemaArgs) -> Result<ExitCode, CliError> {
    match args.of {
        Subject::Settings => print_json(&settings::schema()),
        Subject::View => print_json(&view_schema()),
    }
    Ok(ExitCode::SUCCESS)
}
