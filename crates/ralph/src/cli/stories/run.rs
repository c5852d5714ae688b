//! `ralph stories`: works through specs/, a fresh agent per attempt.

use crate::cli::args::count;
use crate::cli::loops::{LoopArgs, preview};
use crate::error::{CliError, Code};
use crate::fsx;
use crate::layout::Project;
use crate::report::{Out, say};
use crate::request::stories::{self, RequestedStories, StoriesRequest};
use crate::stories::{backlog, progress_txt, state_file};
use crate::template::{self, StoryGaps};
use clap::Args;
use ralph_loop::Run;
use ralph_loop::plan::stories::{StoriesPlan, Story};
use ralph_loop::plan::{Item, Pick, Plan, PlanFact};
use ralph_loop::story_id::StoryId;
use ralph_loop::text::printable;
use ralph_loop::verdict::{Claim, Judgement, Settlement, Verdict};
use std::process::ExitCode;

#[derive(Args)]
pub struct RunArgs {
    /// Run only this story, even if it is done
    #[arg(short, long, value_name = "ID", conflicts_with = "resume_from")]
    story: Option<StoryId>,
    /// Skip all stories before this one
    #[arg(short, long, value_name = "ID")]
    resume_from: Option<StoryId>,
    /// Stop after this many failed attempts at a story [default: 3]
    #[arg(long, value_name = "N", value_parser = count)]
    max_retries: Option<u32>,
    /// Skip stories with errors
    #[arg(long)]
    keep_going: bool,
    /// Commit each story when it is done, on a branch for the run
    #[arg(long)]
    commit: bool,
    /// Work on this branch; create it if it does not exist
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    #[command(flatten)]
    pub common: LoopArgs,
}

pub fn run(args: &RunArgs) -> Result<ExitCode, CliError> {
    let project = args.common.project()?;
    let settings = args.common.settings(&project)?;
    let RequestedStories { requested, warnings } = stories::build(&args.request(), &settings, &project)?;
    // Only a run that begins may put a damaged state aside.
    let state = if args.common.dry_run { state_file::look(&project) } else { state_file::load(&project) };
    let notes = state.map_err(|cause| CliError::from_error(&cause, Code::Usage))?.notes;
    for warning in notes.iter().chain(&warnings) {
        say(&printable(&format!("ralph: warning: {warning}")));
    }
    if args.common.dry_run {
        return dry_run(&requested.run, requested.texts.first(), args.common.output.verbose);
    }
    if let Some(warning) = stories::uncommitted(&requested.run, &project)? {
        say(&printable(&format!("ralph: warning: {warning}")));
    }
    args.common.live(requested, &settings, |terms, settings| {
        let request = StoriesRequest { terms, ..args.request() };
        Ok(stories::build(&request, settings, &project)?.requested)
    })
}

impl RunArgs {
    /// Whether a worker could run this.
    pub fn check(&self) -> Result<(), CliError> {
        let project = self.common.project()?;
        let settings = self.common.quiet_settings(&project)?;
        let request = StoriesRequest { terms: self.common.seated_terms(false), ..self.request() };
        stories::build(&request, &settings, &project)?;
        Ok(())
    }

    fn request(&self) -> StoriesRequest {
        StoriesRequest {
            only: self.story,
            from: self.resume_from,
            max_retries: self.max_retries,
            keep_going: self.keep_going,
            commit: self.commit,
            branch: self.branch.clone().filter(|_| !self.common.dry_run),
            terms: self.common.terms(),
        }
    }
}

/// Goes through the plan as if every attempt were a success.
fn dry_run(run: &Run, template: Option<&String>, whole: bool) -> Result<ExitCode, CliError> {
    let Plan::Stories(plan) = &run.plan else { return Ok(ExitCode::FAILURE) };
    let template = template.map_or(template::STORY, String::as_str);
    let mut out = Out::stdout();
    let mut state = run.plan.start();
    for iteration in 1..=run.limits.iterations {
        let item = match state.pick() {
            Pick::Work(item) => item,
            Pick::Done => break,
            Pick::Stuck(why) => {
                out.flush();
                return Err(CliError::failed(why));
            }
        };
        if let Item::Story { id, attempt } = item
            && let Some(story) = plan.story(id)
        {
            let prompt = first_prompt(run, plan, story, attempt, template)?;
            out.line(&format!("--- {iteration}: story {id}, {}", printable(&story.title)));
            preview(&mut out, &prompt, whole);
        }
        state.apply(&PlanFact::Began(&item));
        let (claim, verdict, settlement) =
            (Claim::default(), Verdict::Green { checks: 0 }, Settlement::Settled);
        state.apply(&PlanFact::Judged(&Judgement {
            iteration,
            item,
            claim,
            verdict,
            settlement,
            silence: None,
            proof: None,
        }));
    }
    let others = backlog::not_done(&Project::at(run.workspace.clone()), &plan.done);
    out.line(match (plan.todo.len(), others.len()) {
        (0, 0) => "ALL COMPLETE! No stories to do.",
        (0, _) => "No stories to do.",
        (_, _) => "Nothing was started.",
    });
    out.flush();
    Ok(ExitCode::SUCCESS)
}

fn first_prompt(
    run: &Run,
    plan: &StoriesPlan,
    story: &Story,
    attempt: u32,
    template: &str,
) -> Result<String, CliError> {
    let path = run.workspace.join(&story.spec);
    let spec = fsx::read_regular(&path).map_err(|cause| {
        CliError::failed(format!("cannot read the spec: {}", path.display())).cause(cause)
    })?;
    let before = fsx::read_regular(&Project::at(run.workspace.clone()).progress_txt()).unwrap_or_default();
    let learnings = progress_txt::learned(&String::from_utf8_lossy(&before));
    let spec = String::from_utf8_lossy(&spec);
    let gaps = StoryGaps {
        story,
        attempt,
        last_failure: None,
        last_diff: None,
        last_kept: None,
        last_diff_command: None,
        spec: spec.trim_start_matches('\u{feff}'),
        verify: run.checks.iter().map(|check| check.command.as_str()).collect(),
        learnings: &learnings,
        git: run.git,
    };
    template::story(template, plan, &gaps).map_err(|cause| CliError::from_error(&cause, Code::Usage))
}
