//! `ralph prove`: repeats the proof of a finished run, or proves a commit.
//!
//! It is a run like any other whose agent is a record: the baseline is the tree that the work began
//! with, and what is delivered is the tree that was proven. The working tree is not touched, and
//! nothing of it is kept.

use super::args::{OutputArgs, ProjectArgs, duration};
use super::config::refused;
use super::{Stream, code, home, report_on};
use crate::catalog;
use crate::error::{CliError, Code};
use crate::fsx;
use crate::git::Repository;
use crate::layout::{Home, Project};
use crate::report::say;
use crate::request::prompt::{self, PromptRequest};
use crate::request::{RequestedRun, Terms};
use crate::run_history::RunHistory;
use crate::session::{self, SessionOptions};
use crate::settings;
use clap::Args;
use ralph_loop::Run;
use ralph_loop::check::CheckSpec;
use ralph_loop::proof::{ProofMode, ProofSpec, Replay, Word};
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Runs the checks on a clean copy of what the run delivered, and on what it started with, and says whether the \
result is still the same. A commit is compared with its parent; its checks are those of the settings \
and --check. Exit code 0 if the proof holds, 1 if it does not, 2 if it cannot be repeated here.

Examples:
  ralph prove                       # the newest run in this directory
  ralph prove 20261115-2215
  ralph prove HEAD --check \"make test\"")]
pub struct ProveArgs {
    /// Worker name, run id, id prefix, or a commit [default: the newest run in this directory]
    #[arg(value_name = "RUN|COMMIT")]
    what: Option<String>,
    /// Command that must succeed; can be repeated. A run's own checks need not be given
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    check: Vec<String>,
    /// Stop a check that takes longer, and count it as failed [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    check_timeout: Option<u64>,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What is proven again.
struct Subject {
    replay: Replay,
    /// As it was proven; none for a commit.
    word: Option<Word>,
    /// Of the run, instead of those that are given.
    recorded: Option<Recorded>,
}

struct Recorded {
    checks: Vec<CheckSpec>,
    proof: ProofSpec,
    project: Project,
}

pub fn prove(args: &ProveArgs) -> Result<ExitCode, CliError> {
    let (home, dir) = (home()?, args.project.dir()?);
    let subject = match &args.what {
        None => of_run(&home, &catalog::find_or_newest(&home, None, &dir)?)?,
        Some(name) => match catalog::find(&home, name) {
            Ok(id) => of_run(&home, &id)?,
            Err(_) => of_commit(&Project::at(dir.clone()), name).ok_or_else(|| {
                CliError::failed(format!("neither a run nor a commit with a parent: {name}"))
                    .hint("`ralph runs` lists runs")
            })?,
        },
    };
    let here = Project::at(dir);
    let project = subject.recorded.as_ref().map_or(&here, |recorded| &recorded.project);
    let requested = requested_run(args, &subject, project)?;
    let trouble = |cause: std::io::Error| CliError::failed("cannot prepare the proof").cause(cause);
    fsx::private_dir(home.root()).map_err(trouble)?;
    // Beside the records, so that git objects can be linked; gone with all that it made.
    let scratch = fsx::scratch_dir(home.root()).map_err(trouble)?;
    let ended = report_on(&args.output, Stream::Hidden, |reporter| {
        let options = SessionOptions::of_program(true);
        session::open(&Home::at(scratch.path().to_path_buf()), requested, &options, reporter)
    })?;
    Ok(verdict(&subject, ended.state.proof.weakest(), code(&ended)))
}

/// What is left of what was said. Words are ordered by strength.
fn verdict(subject: &Subject, word: Option<Word>, code: ExitCode) -> ExitCode {
    let of = &subject.replay.of;
    match (subject.word, word) {
        (Some(before), Some(now)) if now <= before => {
            say(&format!("ralph: the proof of {of} holds: {}", now.sentence()));
            ExitCode::SUCCESS
        }
        (Some(before), Some(now)) => {
            say(&format!(
                "ralph: the proof of {of} does not hold: {} then, {} now",
                before.sentence(),
                now.sentence()
            ));
            ExitCode::from(Code::Failed as u8)
        }
        (Some(before), None) => {
            say(&format!(
                "ralph: the proof of {of} does not hold: {} then, checks fail now",
                before.sentence()
            ));
            code
        }
        (None, _) => code,
    }
}

fn of_run(home: &Home, id: &str) -> Result<Subject, CliError> {
    let history = RunHistory::read(home, id)?;
    let nothing = |why: &str| CliError::failed(format!("run {id} has nothing to prove: {why}"));
    let proof = history.state.proof.last.clone().ok_or_else(|| nothing("it has not concluded anything"))?;
    let (Some(base), Some(delivered)) = (proof.base, proof.tree) else {
        return Err(nothing("it has recorded no trees, because it had no checks or no git repository"));
    };
    let checkpoints = history.run_dir.checkpoints();
    let kept = history.shadow()?.kept();
    let replay = Replay {
        of: format!("run {id}"),
        base,
        delivered,
        objects: vec![checkpoints.join("objects"), kept.dir().join("objects")],
    };
    let Run { checks, proof: spec, workspace, .. } = session::needed(&history.run_dir, id)?;
    let recorded = Recorded { checks, proof: spec.unwrap_or_default(), project: Project::at(workspace) };
    Ok(Subject { replay, word: Some(proof.word), recorded: Some(recorded) })
}

/// Nothing if there is no such commit, or it has no parent.
fn of_commit(project: &Project, name: &str) -> Option<Subject> {
    let repository = Repository::around(project.dir())?;
    let base = repository.tree_of(&format!("{name}^"))?;
    let delivered = repository.tree_of(name)?;
    let replay = Replay { of: format!("commit {name}"), base, delivered, objects: Vec::new() };
    Some(Subject { replay, word: None, recorded: None })
}

fn requested_run(args: &ProveArgs, subject: &Subject, project: &Project) -> Result<RequestedRun, CliError> {
    let loaded = settings::load(project, None).map_err(|error| refused(&error))?;
    let request = PromptRequest {
        task: Some(format!("Prove {}.", subject.replay.of)),
        checks_only: true,
        terms: Terms {
            max_iterations: Some(1),
            checks: args.check.clone(),
            check_timeout: args.check_timeout,
            command: vec!["/bin/true".into()],
            proof: Some(ProofMode::Clean),
            ..Terms::default()
        },
        ..PromptRequest::default()
    };
    // Without any check, the request is refused: a run's own are there already.
    let request = match &subject.recorded {
        Some(recorded) => {
            let commands = recorded.checks.iter().map(|check| check.command.clone()).collect();
            PromptRequest { terms: Terms { checks: commands, ..request.terms }, ..request }
        }
        None => request,
    };
    let mut requested = prompt::build(&request, &loaded.settings, project)?;
    let run = &mut requested.run;
    let spec = match &subject.recorded {
        Some(recorded) => {
            run.checks.clone_from(&recorded.checks);
            recorded.proof.clone()
        }
        None => run.proof.clone().unwrap_or_default(),
    };
    let replay = Some(subject.replay.clone());
    run.proof = Some(ProofSpec { mode: ProofMode::Clean, baseline: true, replay, ..spec });
    (run.scm, run.notify, run.log) = (None, None, None);
    for agent in &mut run.agents {
        agent.name = "the record".into();
    }
    Ok(requested)
}
