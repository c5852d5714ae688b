//! A run over a task list: what `ralph tasks` asks for.

use super::{RequestError, RequestedRun, Terms, agents, assemble, checks, limits, root};
use crate::fsx;
use crate::git::Repository;
use crate::guard;
use crate::layout::{Project, TasksDir};
use crate::placeholder;
use crate::settings::Settings;
use crate::tasks::import::{self, NoTaskList};
use ralph_loop::event::Branch;
use ralph_loop::limits::Limits;
use ralph_loop::plan::Plan;
use ralph_loop::plan::tasks::TasksPlan;
use ralph_loop::review::DEFAULT_REVIEW_CAP;
use ralph_loop::run::{AgentSpec, Roles};
use ralph_loop::task_list::{Problem, TaskList, Unreadable, Why, dead_ends, story_lines};
use std::io;
use std::path::{Component, Path, PathBuf};
use thiserror::Error;

/// What is wrong with a request for tasks, or with the list.
#[derive(Debug, Error)]
pub enum TasksError {
    #[error("cannot open the tasks directory: {}", dir.display())]
    CannotOpenDir {
        dir: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("cannot find the tasks directory: {}", dir.display())]
    CannotFindDir {
        dir: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("the tasks directory is outside the project: {}", .0.display())]
    OutsideProject(PathBuf),
    #[error(transparent)]
    NoTaskList(#[from] NoTaskList),
    #[error("cannot read the task list: {}", file.display())]
    CannotRead {
        file: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// It is no task list at all.
    #[error("invalid task list: {}", file.display())]
    Unreadable {
        file: PathBuf,
        #[source]
        cause: Unreadable,
    },
    /// It can be read, and says things that cannot be.
    #[error("invalid task list: {}", file.display())]
    Invalid {
        file: PathBuf,
        #[source]
        why: Reasons,
    },
    #[error("the task list on branch {branch} is invalid: {}", file.display())]
    InvalidOnBranch {
        branch: String,
        file: PathBuf,
        #[source]
        why: Reasons,
    },
    #[error("cannot run the tasks")]
    CannotRun {
        #[source]
        why: Reasons,
        /// Where the list is, if not on the branch that is checked out.
        branch: Option<String>,
    },
    #[error("not a valid branch name: {0}")]
    InvalidBranch(String),
    #[error("cannot switch to branch {branch}: there are uncommitted changes")]
    Uncommitted { branch: String },
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// What is wrong, one a line.
#[derive(Debug, Error)]
#[error("{}", .0.join("\n  "))]
pub struct Reasons(pub Vec<String>);

#[derive(Clone, Debug, Default)]
pub struct TasksRequest {
    /// Where the list is; `ralph/` by default.
    pub dir: Option<PathBuf>,
    pub skip_review: bool,
    pub review_cap: Option<u32>,
    pub review_agent: Option<String>,
    /// Work on the branch that is checked out.
    pub stay: bool,
    /// The list to begin with, where the project has none yet.
    pub imported: Option<TaskList>,
    pub terms: Terms,
}

/// The seed's number of iterations.
const ITERATIONS: u32 = 15;

pub fn build(
    request: &TasksRequest,
    settings: &Settings,
    project: &Project,
) -> Result<RequestedRun, TasksError> {
    let dir = dir(request.dir.as_deref(), project)?;
    let here = TasksDir::at(project.dir().join(&dir));
    let list = match &request.imported {
        Some(list) => in_order(list.clone(), "").map_err(|why| invalid(&here, why))?,
        None => read(project, &here)?,
    };
    let branch = (!request.stay && !request.terms.worktree)
        .then(|| list.branch_name().trim().to_owned())
        .filter(|name| !name.is_empty());
    let branch = branch.map(|branch| switching(project, &branch)).transpose()?.flatten();
    // What stands on the branch that is left may be older, and asks for other proof.
    let there = branch.as_deref().map(|branch| on_branch(project, branch, &here)).transpose()?.flatten();
    let list = match (there, &branch) {
        (Some(list), Some(branch)) => can_be_done(list, request, project, &here, |file| {
            Repository::around(project.dir())?.content_on(branch, file)
        })
        .map_err(|why| TasksError::CannotRun { why, branch: Some(branch.clone()) }),
        (None, _) | (_, None) => {
            can_be_done(list, request, project, &here, |file| fsx::read_regular(file).ok())
                .map_err(|why| TasksError::CannotRun { why, branch: None })
        }
    }?;
    let plan = Plan::Tasks(TasksPlan {
        dir,
        skip_review: request.skip_review,
        review_cap: request.review_cap.unwrap_or(DEFAULT_REVIEW_CAP),
        commit_left: settings.tasks.commit_left,
        hooks: settings.tasks.hooks,
    });
    let limits = Limits {
        iterations: request.terms.max_iterations.unwrap_or(ITERATIONS),
        ..limits(&request.terms, settings)
    };
    // The commands as they are now: no agent can soften them.
    let verify = list.verify_commands().into_iter().map(String::from);
    let commands: Vec<String> = verify.chain(request.terms.checks.iter().cloned()).collect();
    let checks = checks::checks(&commands, &request.terms, settings, project.dir())?;
    let specialist =
        |name: Option<&String>| name.map(|name| agents::stand_in(name, settings, project.dir())).transpose();
    let review = specialist(request.review_agent.as_ref().or(settings.agents.review.as_ref()))?;
    let fix = specialist(settings.agents.fix.as_ref())?;
    let mut run = assemble(plan, checks, limits, &request.terms, settings, project)?;
    let mut employ = |agent: Option<AgentSpec>| {
        run.agents.push(agent?);
        Some(run.agents.len() - 1)
    };
    run.roles = Roles { review: employ(review), fix: employ(fix) };
    if let Some(guard) = &mut run.guard {
        guard.unwatched = guard::unwatched(&run.agents, project.dir());
    }
    root::check_all(&run).map_err(RequestError::from)?;
    Ok(RequestedRun { run, texts: Vec::new(), branch })
}

/// Relative to the project, and without links: it is the same place in a worktree.
pub fn dir(asked: Option<&Path>, project: &Project) -> Result<PathBuf, TasksError> {
    let usual = project.usual_tasks_dir();
    let there = project.dir().join(&usual);
    let asked = match asked {
        Some(asked) => asked,
        None if there.is_symlink() => &there,
        None => return Ok(usual),
    };
    let absolute = asked
        .canonicalize()
        .map_err(|cause| TasksError::CannotOpenDir { dir: asked.to_path_buf(), cause })?;
    match absolute.strip_prefix(project.dir()) {
        Ok(inside) => Ok(inside.to_path_buf()),
        Err(_) => Err(TasksError::OutsideProject(absolute)),
    }
}

/// The same for a directory that need not exist yet.
pub fn new_dir(asked: Option<&Path>, project: &Project) -> Result<PathBuf, TasksError> {
    let Some(asked) = asked.filter(|asked| asked.symlink_metadata().is_err()) else {
        return dir(asked, project);
    };
    let cannot = |cause| TasksError::CannotFindDir { dir: asked.to_path_buf(), cause };
    let absolute = std::path::absolute(asked).map_err(cannot)?;
    let above = absolute.ancestors().find(|dir| dir.is_dir()).unwrap_or(Path::new("/"));
    let rest = absolute.strip_prefix(above).unwrap_or(Path::new(""));
    let below = above.canonicalize().map_err(cannot)?.join(rest);
    let is_plain = rest.components().all(|part| matches!(part, Component::Normal(_)));
    let relative = below.strip_prefix(project.dir()).ok().filter(|_| is_plain);
    relative.map(Path::to_path_buf).ok_or_else(|| TasksError::OutsideProject(absolute.clone()))
}

/// A list that a loop can begin with, or what is wrong with it.
fn read(project: &Project, dir: &TasksDir) -> Result<TaskList, TasksError> {
    let list = parse(project, dir)?;
    let text = fsx::read_regular(&dir.list()).unwrap_or_default();
    in_order(list, &String::from_utf8_lossy(&text)).map_err(|why| invalid(dir, why))
}

fn invalid(dir: &TasksDir, why: Reasons) -> TasksError {
    TasksError::Invalid { file: dir.list(), why }
}

fn in_order(list: TaskList, text: &str) -> Result<TaskList, Reasons> {
    let line = |problem: &Problem| line_of(&list, text, problem.story.as_deref()?);
    let with_line = |problem: &Problem| match line(problem) {
        Some(line) => format!("line {line}: {problem}"),
        None => problem.to_string(),
    };
    let problems: Vec<String> = list.problems().iter().map(with_line).collect();
    if problems.is_empty() { Ok(list) } else { Err(Reasons(problems)) }
}

/// The line that a story begins in.
fn line_of(list: &TaskList, text: &str, id: &str) -> Option<usize> {
    let at = list.stories.iter().position(|story| story.id() == id)?;
    story_lines(text).get(at).copied()
}

/// Refuses stories that depend on each other in a circle, and a PRD that does not say yet what to build.
/// `content` is that of a file where the run will find it.
fn can_be_done(
    list: TaskList,
    request: &TasksRequest,
    project: &Project,
    dir: &TasksDir,
    content: impl Fn(&Path) -> Option<Vec<u8>>,
) -> Result<TaskList, Reasons> {
    let text = |file: &Path| String::from_utf8_lossy(&content(file).unwrap_or_default()).into_owned();
    let shown = |file: &Path, line: Option<usize>| {
        let line = line.map_or_else(String::new, |line| format!(":{line}"));
        format!("{}{line}", project.shown(file).display())
    };
    let stuck = dead_ends(&list, request.skip_review).into_iter();
    let in_circles = stuck.filter(|stuck| matches!(stuck.why, Why::Cycle { .. })).map(|stuck| {
        let line = line_of(&list, &text(&dir.list()), stuck.story);
        format!("{}: story {stuck}: it can never start", shown(&dir.list(), line))
    });
    let unwritten = placeholder::in_prd(&text(&dir.prd())).into_iter();
    let unwritten = unwritten.map(|found| format!("{}: {}", shown(&dir.prd(), Some(found.line)), found.text));
    let why: Vec<String> = in_circles.chain(unwritten).collect();
    if why.is_empty() { Ok(list) } else { Err(Reasons(why)) }
}

/// The list as a branch has it, if there is that branch and it has one.
fn on_branch(project: &Project, branch: &str, dir: &TasksDir) -> Result<Option<TaskList>, TasksError> {
    let file = dir.list();
    let there = Repository::around(project.dir()).and_then(|found| found.content_on(branch, &file));
    let Some(bytes) = there else { return Ok(None) };
    let list = TaskList::parse_bytes(&bytes).map_err(|why| Reasons(vec![why.to_string()]));
    let text = String::from_utf8_lossy(&bytes);
    let list = list.map(|list| filled(list, &project.name()));
    list.and_then(|list| in_order(list, &text)).map(Some).map_err(|why| TasksError::InvalidOnBranch {
        branch: branch.to_string(),
        file,
        why,
    })
}

/// Whether a branch has a list of its own.
pub fn is_on_branch(project: &Project, branch: &str, dir: &TasksDir) -> bool {
    Repository::around(project.dir()).and_then(|found| found.content_on(branch, &dir.list())).is_some()
}

/// As a run fills it in when it reads it.
fn filled(mut list: TaskList, project: &str) -> TaskList {
    list.fill_missing(project);
    list
}

/// A list, whatever it contains, with the fields that a run would fill in.
pub fn parse(project: &Project, dir: &TasksDir) -> Result<TaskList, TasksError> {
    let file = dir.list();
    let bytes = fsx::read_regular(&file).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => import::missing(project, dir).into(),
        _ => TasksError::CannotRead { file: file.clone(), cause },
    })?;
    let list = TaskList::parse_bytes(&bytes).map_err(|cause| TasksError::Unreadable { file, cause })?;
    Ok(filled(list, &project.name()))
}

/// The branch to switch to, if it is not checked out already. Uncommitted changes
/// are not taken along.
fn switching(project: &Project, branch: &str) -> Result<Option<String>, TasksError> {
    let Some(repository) = Repository::around(project.dir()) else { return Ok(None) };
    if repository.branch() == Branch::Named(branch.to_string()) {
        return Ok(None);
    }
    if !repository.allows_branch(branch) {
        return Err(TasksError::InvalidBranch(branch.to_string()));
    }
    if repository.has_uncommitted().unwrap_or(true) {
        return Err(TasksError::Uncommitted { branch: branch.to_string() });
    }
    Ok(Some(branch.to_string()))
}
