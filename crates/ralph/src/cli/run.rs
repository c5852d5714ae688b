//! `ralph run`: loop one prompt until it is proven done.

use super::habits;
use super::loops::LoopArgs;
use crate::error::CliError;
use crate::request::prompt::{self, PromptRequest};
use crate::settings::Settings;
use clap::{Args, Parser};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    /// What the agent should do
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// What the agent should do, as a flag instead of TASK
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// Read the prompt from this file; it is re-read every iteration
    #[arg(short = 'f', long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// Send this specification file instead of TASK
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,
    /// The word the agent says when it is done [default: DONE]
    #[arg(short, long, alias = "completion-tag", value_name = "WORD")]
    completion_response: Option<String>,
    /// Finish when a line the agent says matches this regular expression
    #[arg(long, value_name = "REGEX", conflicts_with = "completion_response", allow_hyphen_values = true)]
    done_pattern: Option<String>,
    /// Finish when the checks pass, whatever the agent says
    #[arg(long, conflicts_with_all = ["completion_response", "done_pattern"])]
    checks_only: bool,
    #[command(flatten)]
    pub common: LoopArgs,
}

const EXAMPLES: &str = "\
Examples:
  ralph run \"make the tests pass\" --check \"make test\"
  ralph run -f PROMPT.md --check \"cargo test\" --max-cost 5 --max-time 8h
  ralph run \"tidy up\" --checks-only --check ./lint.sh -- ./agent {prompt_file}

A run is done when all checks pass and the agent says <response>DONE</response>.";

/// Checks a prompt that is spawned without `run`, before anything else.
pub(super) fn check_spawned(words: &[OsString]) -> Result<(), CliError> {
    let words = [&["run".into()][..], words].concat();
    let Ok(parsed) = Spawned::try_parse_from(words) else { return Ok(()) }; // the worker says it
    let mut request = parsed.run.request();
    request.terms.unplanned = true;
    Ok(prompt::check_spawned(&request)?)
}

#[derive(Parser)]
struct Spawned {
    #[command(flatten)]
    run: RunArgs,
}

pub fn run(args: &RunArgs) -> Result<ExitCode, CliError> {
    habits::completion_response(args.completion_response.as_deref())?;
    let project = args.common.project()?;
    let settings = args.common.settings(&project)?;
    let build = |terms, settings: &Settings| {
        let request = PromptRequest { terms, ..args.request() };
        prompt::build(&request, settings, &project).map_err(CliError::from)
    };
    args.common.live(build(args.common.terms(), &settings)?, &settings, build)
}

impl RunArgs {
    /// Whether a worker could run this.
    pub fn check(&self, unplanned: bool) -> Result<(), CliError> {
        habits::completion_response(self.completion_response.as_deref())?;
        let project = self.common.project()?;
        let settings = self.common.quiet_settings(&project)?;
        let request = PromptRequest { terms: self.common.seated_terms(unplanned), ..self.request() };
        prompt::build(&request, &settings, &project)?;
        Ok(())
    }

    fn request(&self) -> PromptRequest {
        PromptRequest {
            task: self.task.clone(),
            prompt: self.prompt.clone(),
            prompt_file: self.prompt_file.clone(),
            spec: self.spec.clone(),
            completion_response: self.completion_response.clone(),
            done_pattern: self.done_pattern.clone(),
            checks_only: self.checks_only,
            terms: self.common.terms(),
        }
    }
}
