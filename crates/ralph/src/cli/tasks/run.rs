//! `ralph tasks`: implement, review, fix, until every story of the list is approved.

use crate::cli::loops::LoopArgs;
use crate::error::CliError;
use crate::request::tasks::{self, TasksRequest};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub struct RunArgs {
    /// Where the task list is (ralph)
    #[arg(long, value_name = "DIR")]
    ralph_dir: Option<PathBuf>,
    /// No reviews: whoever implements a story sets passes, and the checks decide
    #[arg(long, conflicts_with_all = ["review_cap", "review_agent"])]
    skip_review: bool,
    /// Reviews of one story before it is approved as it is (5)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    review_cap: Option<u32>,
    /// Another agent for reviews
    #[arg(long, value_name = "NAME")]
    review_agent: Option<String>,
    /// Stay on this branch, whatever branchName says
    #[arg(long)]
    stay: bool,
    /// Must run in a sandbox, or not at all; offered once there is one
    #[arg(long, hide = true, conflicts_with = "no_sandbox")]
    sandbox: bool,
    /// Run here, without a sandbox, as it is always done
    #[arg(long, hide = true)]
    no_sandbox: bool,
    #[command(flatten)]
    pub common: LoopArgs,
}

pub fn run(args: &RunArgs) -> Result<ExitCode, CliError> {
    if args.sandbox {
        return Err(CliError::usage("there is no sandbox to run in")
            .cause("this version runs agents here only")
            .hint("leave --sandbox out; the banner says where the agent works"));
    }
    let project = args.common.project()?;
    let settings = args.common.settings(&project)?;
    let asked = tasks::build(&args.request(), &settings, &project)?;
    args.common.live(asked, &settings)
}

impl RunArgs {
    fn request(&self) -> TasksRequest {
        TasksRequest {
            dir: self.ralph_dir.clone(),
            skip_review: self.skip_review,
            review_cap: self.review_cap,
            review_agent: self.review_agent.clone(),
            stay: self.stay,
            terms: self.common.terms(),
        }
    }
}
