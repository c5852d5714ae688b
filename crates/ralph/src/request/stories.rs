//! A run over the stories in `specs/`: what `ralph stories` asks for.

use super::{RequestError, RequestedRun, Terms, assemble, checks, limits};
use crate::catalog;
use crate::fsx;
use crate::git::{GitError, Repository};
use crate::layout::{self, Home, Project};
use crate::place::worktree;
use crate::settings::Settings;
use crate::stories::own_changes::OwnChanges;
use crate::stories::{Backlog, Problem, Severity, Spec, backlog, state_file};
use crate::template::{self, TemplateError};
use ralph_loop::Run;
use ralph_loop::dialect::Dialect;
use ralph_loop::event::Branch;
use ralph_loop::limits::{Backoff, Limits};
use ralph_loop::plan::Plan;
use ralph_loop::plan::stories::{StoriesPlan, Story};
use ralph_loop::story_id::{NoStoryId, StoryId};
use ralph_loop::text::counted;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::string::FromUtf8Error;
use thiserror::Error;

/// What is wrong with a request for stories, or with the stories.
#[derive(Debug, Error)]
pub enum StoriesError {
    #[error("--branch cannot be used with --worktree")]
    BranchWithWorktree,
    #[error("cannot tell which stories are done")]
    CannotReadState(#[source] io::Error),
    #[error("committing stories needs a git repository: {}", .0.display())]
    CommitOutsideRepository(PathBuf),
    #[error(transparent)]
    Git(GitError),
    /// They would become part of ralph's commits.
    #[error("cannot commit stories while there are uncommitted changes")]
    Uncommitted {
        /// Some of them, by name.
        changes: String,
        count: usize,
        /// The run that probably left them, if it can go on.
        left_by: Option<String>,
    },
    #[error("invalid stories.order in the settings: {0}")]
    InvalidOrder(NoStoryId),
    #[error("no specs: {}", .0.display())]
    NoSpecs(PathBuf),
    #[error("cannot read the specs: {}", specs.display())]
    CannotReadSpecs {
        specs: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("{}", all(.0))]
    Problems(Vec<Problem>),
    #[error("no such story: {0}")]
    Unknown(StoryId),
    #[error("cannot read the template: {}", file.display())]
    CannotReadTemplate {
        file: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("the template is not UTF-8 text: {}", file.display())]
    TemplateNotText {
        file: PathBuf,
        #[source]
        cause: FromUtf8Error,
    },
    #[error("cannot fill in the template: {}", file.display())]
    InvalidTemplate {
        file: PathBuf,
        #[source]
        cause: TemplateError,
    },
    #[error(transparent)]
    Request(#[from] RequestError),
}

fn all(problems: &[Problem]) -> String {
    let lines: String = problems.iter().map(|problem| format!("\n  {}", described(problem))).collect();
    match problems.len() {
        1 => format!("cannot run a story{lines}"),
        n => format!("cannot run the stories: {n} problems{lines}"),
    }
}

fn described(problem: &Problem) -> String {
    format!("{}:{}:{}: {}", problem.file.display(), problem.line, problem.column, problem.text)
}

#[derive(Clone, Debug, Default)]
pub struct StoriesRequest {
    /// This one alone, even if it is done.
    pub only: Option<StoryId>,
    /// None of those before it.
    pub from: Option<StoryId>,
    pub max_retries: Option<u32>,
    /// Skip stories that have something wrong with them.
    pub keep_going: bool,
    /// Commit each story that is done; also if the settings say so.
    pub commit: bool,
    /// Made, or switched to, before anything begins.
    pub branch: Option<String>,
    pub terms: Terms,
}

/// A run of stories as it was requested, and the warnings to show before it begins.
pub struct RequestedStories {
    pub requested: RequestedRun,
    pub warnings: Vec<String>,
}

/// The seed's half an hour for one agent.
const TIMEOUT_MS: u64 = 1_800_000;

pub fn build(
    request: &StoriesRequest,
    settings: &Settings,
    project: &Project,
) -> Result<RequestedStories, StoriesError> {
    if request.branch.is_some() && request.terms.worktree {
        return Err(StoriesError::BranchWithWorktree);
    }
    let mut warnings = Vec::new();
    let order = order(settings)?;
    let state = state_file::look(project).map_err(StoriesError::CannotReadState)?.state;
    let mut backlog = read_backlog(project, &order)?;
    // One that is asked for by its id runs again, and needs its spec.
    backlog.forgive_done(state.completed_stories.iter().filter(|id| request.only != Some(**id)));
    warnings.extend(sort_out(&mut backlog, request)?);
    let done = state.completed_stories;
    let todo = choose(&backlog, &order, &done, request, &mut warnings)?;
    let (template, texts) = match read_template(project)? {
        Some(text) => (Some(layout::hash(text.as_bytes())), vec![text]),
        None => (None, Vec::new()),
    };
    let commit = request.commit || settings.stories.commit;
    let max_retries = request.max_retries.unwrap_or(settings.stories.max_retries);
    let limits = Limits {
        iterations: request.terms.max_iterations.unwrap_or_else(|| most_attempts(todo.len(), max_retries)),
        iterations_are_the_goal: request.terms.max_iterations.is_some(),
        // Attempts are the plan's to count, and they follow each other without a wait.
        max_failures: request.terms.max_failures.unwrap_or(u32::MAX),
        stall_after: request.terms.stall_after.unwrap_or(0),
        backoff: Backoff { base_ms: 0, cap_ms: 0 },
        agent_timeout_ms: Some(limits(&request.terms, settings).agent_timeout_ms.unwrap_or(TIMEOUT_MS)),
        ..limits(&request.terms, settings)
    };
    let plan = Plan::Stories(StoriesPlan {
        todo: todo.into(),
        done,
        carried: state.current_story.map(|id| (id, state.retry_count)),
        max_retries,
        rules: settings.stories.rules.clone(),
        template,
        commit,
    });
    let commands: Vec<String> =
        settings.stories.verify.iter().chain(&request.terms.checks).cloned().collect();
    let checks = checks::checks(&commands, &request.terms, settings, project.dir())?;
    let mut run = assemble(plan, checks, limits, &request.terms, settings, project)?;
    run.log = run.log.or_else(|| Some(project.log()));
    warnings.extend(missing_instructions(run.agents.first().map(|agent| agent.dialect), project));
    if commit && !run.git {
        return Err(StoriesError::CommitOutsideRepository(project.dir().to_path_buf()));
    }
    let branch = request.branch.clone().or_else(|| own_branch(&run, project).filter(|_| commit));
    Ok(RequestedStories { requested: RequestedRun { run, texts, branch }, warnings })
}

/// The branch for the commits of a run that names none: not the user's own, and not another one
/// beside that of an earlier run.
fn own_branch(run: &Run, project: &Project) -> Option<String> {
    let of_a_run = match (run.place.own_tree(), Repository::around(project.dir())?.branch()) {
        (Some(_), _) => true,
        (None, Branch::Named(name)) => name.starts_with(worktree::BRANCHES),
        (None, Branch::Detached) => false,
    };
    (!of_a_run).then(|| worktree::branch(&run.id))
}

/// What becomes of changes that are not committed when the run begins; an error if they would
/// become part of ralph's commits. What earlier runs wrote by themselves is part of the next commit.
pub fn uncommitted(run: &Run, project: &Project) -> Result<Option<String>, StoriesError> {
    const NAMED: usize = 3;
    let Some(repository) = Repository::around(project.dir()).filter(|_| run.git) else { return Ok(None) };
    let paths = repository.changed_paths().map_err(StoriesError::Git)?;
    if paths.is_empty() {
        return Ok(None);
    }
    let own = run.place.own_tree().is_none().then(|| OwnChanges::of(project, &repository));
    let is_own = |path: &[u8]| {
        own.as_ref().is_some_and(|own| own.contain(&repository.top.join(OsStr::from_bytes(path))))
    };
    let paths: Vec<String> = paths
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty() && !is_own(path))
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect();
    if paths.is_empty() {
        return Ok(None);
    }
    let named = paths.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = match paths.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let changes = format!("{}: {named}{more}", counted(paths.len() as u64, "uncommitted change"));
    let them = if paths.len() == 1 { "it" } else { "them" };
    match (run.place.own_tree(), &run.plan) {
        (Some(_), _) => Ok(Some(format!("{changes}, not in the worktree"))),
        (None, Plan::Stories(StoriesPlan { commit: true, .. })) => {
            Err(StoriesError::Uncommitted { changes, count: paths.len(), left_by: left_by(project) })
        }
        (None, _) => {
            Ok(Some(format!("{changes}; every attempt starts with {them}, and an agent may commit {them}")))
        }
    }
}

/// The run over stories whose last attempt probably left what is changed here: the newest one, if it
/// can go on.
fn left_by(project: &Project) -> Option<String> {
    let lines = catalog::of_project(&Home::find()?, project.dir()).ok()?;
    let newest = lines.into_iter().find(|line| line.workspace.as_deref() == Some(project.dir()))?;
    (newest.plan.as_deref() == Some("stories") && newest.resumable).then_some(newest.id)
}

fn most_attempts(stories: usize, max_retries: u32) -> u32 {
    u32::try_from(stories).unwrap_or(u32::MAX).saturating_mul(max_retries).max(1)
}

/// The user's own order, from the settings.
pub fn order(settings: &Settings) -> Result<Vec<StoryId>, StoriesError> {
    let read = |id: &String| id.parse::<StoryId>();
    settings.stories.order.iter().map(read).collect::<Result<_, _>>().map_err(StoriesError::InvalidOrder)
}

pub fn read_backlog(project: &Project, order: &[StoryId]) -> Result<Backlog, StoriesError> {
    let specs = project.specs();
    backlog::read(project, order).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => StoriesError::NoSpecs(specs),
        _ => StoriesError::CannotReadSpecs { specs, cause },
    })
}

/// Warnings stay warnings; an error ends it here, or costs the stories that it concerns.
fn sort_out(backlog: &mut Backlog, request: &StoriesRequest) -> Result<Vec<String>, StoriesError> {
    let concerns = |problem: &&Problem| request.only.is_none_or(|id| problem.stories.contains(&id));
    let (errors, warnings): (Vec<_>, Vec<_>) =
        backlog.problems.iter().filter(concerns).partition(|problem| problem.severity == Severity::Error);
    if !errors.is_empty() && !request.keep_going {
        return Err(StoriesError::Problems(errors.into_iter().cloned().collect()));
    }
    let skipped: BTreeSet<StoryId> = errors.iter().flat_map(|problem| problem.stories.clone()).collect();
    let mut notes: Vec<String> = warnings.iter().map(|problem| described(problem)).collect();
    notes.extend(errors.iter().map(|problem| format!("skipped: {}", described(problem))));
    backlog.specs.retain(|spec| !skipped.contains(&spec.id));
    Ok(notes)
}

/// What is to be done, in the order in which it is looked at.
fn choose(
    backlog: &Backlog,
    order: &[StoryId],
    done: &[StoryId],
    request: &StoriesRequest,
    warnings: &mut Vec<String>,
) -> Result<Vec<Story>, StoriesError> {
    let (done, known): (BTreeSet<StoryId>, BTreeMap<StoryId, &Spec>) = (
        done.iter().copied().collect(),
        // Of two with the same number the first is the story: it is entered last.
        backlog.specs.iter().rev().map(|spec| (spec.id, spec)).collect(),
    );
    let spec = |id: &StoryId| known.get(id).copied();
    let mut specs: Vec<&Spec> = match order {
        [] => backlog.specs.iter().collect(),
        order => order.iter().filter_map(spec).collect(),
    };
    if let Some(id) = request.only {
        specs = vec![spec(&id).ok_or(StoriesError::Unknown(id))?];
    } else {
        if let Some(id) = request.from {
            let at = specs.iter().position(|spec| spec.id == id).ok_or(StoriesError::Unknown(id))?;
            specs.drain(..at);
        }
        specs.retain(|spec| !done.contains(&spec.id));
    }
    let chosen: BTreeSet<StoryId> = specs.iter().map(|spec| spec.id).collect();
    let overrides = request.only.is_some() || request.from.is_some();
    let story = |spec: &Spec| {
        let mut depends_on = spec.depends_on.clone();
        if overrides {
            // Those that this run will not do.
            depends_on.retain(|needed| {
                let met = done.contains(needed) || (request.only.is_none() && chosen.contains(needed));
                if !met {
                    warnings.push(format!("story {} starts although {needed} is not done", spec.id));
                }
                met
            });
        }
        Story { id: spec.id, title: spec.title.clone(), spec: spec.path.clone(), depends_on }
    };
    Ok(specs.into_iter().map(story).collect())
}

fn read_template(project: &Project) -> Result<Option<String>, StoriesError> {
    let path = project.template("story");
    if !path.exists() {
        return Ok(None);
    }
    let file = || project.shown(&path);
    let text =
        fsx::read_regular(&path).map_err(|cause| StoriesError::CannotReadTemplate { file: file(), cause })?;
    let text =
        String::from_utf8(text).map_err(|cause| StoriesError::TemplateNotText { file: file(), cause })?;
    template::check_story(&text).map_err(|cause| StoriesError::InvalidTemplate { file: file(), cause })?;
    Ok(Some(text))
}

/// The file that an agent reads by itself, where the project has none.
fn missing_instructions(dialect: Option<Dialect>, project: &Project) -> Option<String> {
    let name = dialect?.spec().instructions;
    let missing = !project.dir().join(name).exists();
    missing.then(|| format!("no {name}: the agent knows only what the specs say about the project"))
}
