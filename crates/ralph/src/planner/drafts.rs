//! The drafts of a planning session: laid out for the agent, and read back.

use super::check;
use super::{Form, PlanScope, PlanSpec, PlannerError, PrdMode};
use crate::fsx;
use crate::layout::{PlanDir, Project, TasksDir};
use crate::stories::backlog;
use crate::tasks::fresh::{Fresh, is_untouched};
use ralph_loop::planner::prd::{self, QuestionAnswered};
use ralph_loop::planner::{Merged, PlannedStory, Scope, StoryChange, keep_fields, merge, summary};
use ralph_loop::strict::{self, Finding, Rule};
use ralph_loop::task_list::{TaskList, Unreadable};
use std::io;
use std::path::{Path, PathBuf};

/// No plan is larger, and no more of a draft is read.
const LARGEST: u64 = 4 << 20;

/// No plan has more stories.
const MOST_STORIES: usize = 1000;

/// What the agent has written.
#[derive(Debug)]
pub enum Draft {
    Tasks(Box<TasksDraft>),
    Stories(StoriesDraft),
}

#[derive(Debug)]
pub struct TasksDraft {
    /// The list as it is in the project, if it says anything.
    pub old: Option<TaskList>,
    pub merged: Merged,
    pub prd: String,
    /// Of which the faults have to be repaired before it can be put in place.
    pub findings: Vec<Finding>,
    pub stories: Vec<PlannedStory>,
    /// Why a story does not get done.
    pub why: Option<String>,
}

#[derive(Debug, Default)]
pub struct StoriesDraft {
    /// Specs that the project does not have, relative to it.
    pub new: Vec<(PathBuf, Vec<u8>)>,
    pub stories: Vec<PlannedStory>,
    pub assumptions: Vec<String>,
    pub findings: Vec<Finding>,
}

impl Draft {
    pub fn findings(&self) -> &[Finding] {
        match self {
            Draft::Tasks(draft) => &draft.findings,
            Draft::Stories(draft) => &draft.findings,
        }
    }

    pub fn stories(&self) -> &[PlannedStory] {
        match self {
            Draft::Tasks(draft) => &draft.stories,
            Draft::Stories(draft) => &draft.stories,
        }
    }

    /// Whether it can be put in place.
    pub fn is_valid(&self) -> bool {
        strict::is_good(self.findings())
    }
}

/// The list of a project, if it says anything.
pub fn list_of(project: &Project, dir: &TasksDir) -> Result<Option<TaskList>, PlannerError> {
    Ok(list_file(project, dir)?.filter(|list| !is_untouched(list)))
}

/// The same, also if it has no stories yet.
fn list_file(project: &Project, dir: &TasksDir) -> Result<Option<TaskList>, PlannerError> {
    let file = dir.list();
    let bytes = match fsx::read_at_most(&file, LARGEST) {
        Ok(bytes) => bytes,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(PlannerError::CannotRead { file, cause }),
    };
    let mut list = TaskList::parse_bytes(&bytes)
        .map_err(|why| PlannerError::InvalidList { file, why: why.to_string() })?;
    list.fill_missing(&project.name());
    Ok(Some(list))
}

/// The PRD of a project; empty if there is none.
pub fn prd_of(dir: &TasksDir) -> Result<String, PlannerError> {
    let file = dir.prd();
    match fsx::read_at_most(&file, LARGEST) {
        // With other bytes it could not be written again as it was.
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| {
            let cause = io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text");
            PlannerError::CannotRead { file, cause }
        }),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(cause) => Err(PlannerError::CannotRead { file, cause }),
    }
}

/// Copies what exists, for the agent to add to.
pub fn lay_out(spec: &PlanSpec, record: &PlanDir) -> Result<(), PlannerError> {
    let drafts = record.drafts();
    let failed = |cause| PlannerError::Record { dir: drafts.clone(), cause };
    fsx::private_dir(&drafts).map_err(failed)?;
    let project = spec.project();
    if let Some(dir) = spec.tasks() {
        let there = record.drafted_tasks();
        let prd = prd_of(&dir)?;
        fsx::write_private(&record.base_prd(), prd.as_bytes()).map_err(failed)?;
        if spec.prd == PrdMode::Keep {
            fsx::write_private(&there.prd(), prd.as_bytes()).map_err(failed)?;
        }
        if let Some(list) = list_of(&project, &dir)? {
            let text = list.to_text();
            fsx::write_private(&record.base_list(), text.as_bytes()).map_err(failed)?;
            fsx::write_private(&there.list(), text.as_bytes()).map_err(failed)?;
        }
        return Ok(());
    }
    put_back_specs(&project, record).map_err(failed)
}

/// Makes the drafts of stories that the project has what they are there.
fn put_back_specs(project: &Project, record: &PlanDir) -> io::Result<()> {
    for path in specs_of(project)? {
        let at = record.drafts().join(&path);
        if let Some(dir) = at.parent() {
            fsx::dir_inside(&record.drafts(), dir)?;
        }
        fsx::write_private(&at, &fsx::read_regular(&project.dir().join(&path))?)?;
    }
    Ok(())
}

/// The specs in a directory, relative to it.
fn specs_of(project: &Project) -> io::Result<Vec<PathBuf>> {
    match backlog::read(project, &[]) {
        Ok(backlog) => Ok(backlog.specs.into_iter().map(|spec| spec.path).collect()),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(cause) => Err(cause),
    }
}

/// What the agent has written; nothing if it has not.
pub fn read(
    spec: &PlanSpec,
    record: &PlanDir,
    answers: &[QuestionAnswered],
) -> Result<Option<Draft>, PlannerError> {
    match spec.form {
        Form::Tasks { .. } => Ok(tasks(spec, record, answers)?.map(Box::new).map(Draft::Tasks)),
        Form::Stories => {
            let unread = |cause| PlannerError::CannotRead { file: record.drafts(), cause };
            Ok(stories(spec, record).map_err(unread)?.map(Draft::Stories))
        }
    }
}

fn tasks(
    spec: &PlanSpec,
    record: &PlanDir,
    answers: &[QuestionAnswered],
) -> Result<Option<TasksDraft>, PlannerError> {
    let Some(dir) = spec.tasks() else { return Ok(None) };
    let (project, there) = (spec.project(), record.drafted_tasks());
    let drafted = match fsx::read_unlinked_at_most(&there.list(), LARGEST) {
        Ok(bytes) => TaskList::parse_bytes(&bytes),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => Err(Unreadable::Denied(cause.to_string())),
    };
    let why = text_of(&record.why());
    let file = list_file(&project, &dir)?;
    let old = file.clone().filter(|list| !is_untouched(list));
    let prd_now = prd_of(&dir)?;
    let mode = prd_mode(spec, record, &prd_now);
    let prd = prd_to_write(mode, &prd_now, text_of(&there.prd()).as_deref(), answers);
    let drafted = match drafted {
        Ok(list) if list.stories.len() > MOST_STORIES => Err(too_many(list.stories.len())),
        Ok(list) => Ok(list),
        Err(unreadable) => {
            Err(check::fault(Rule::Valid, unreadable.to_string(), "write it as one JSON object"))
        }
    };
    let mut list = match drafted {
        Ok(list) => list,
        Err(fault) => {
            let merged = Merged { list: TaskList::of(Vec::new()), dropped: Vec::new() };
            let findings = vec![fault];
            return Ok(Some(TasksDraft { old, merged, prd, findings, stories: Vec::new(), why }));
        }
    };
    list.fill_missing(&project.name());
    // A list may have come into being since.
    let scope = match (spec.scope.scope(), &old) {
        (Scope::New, Some(_)) => Scope::Add,
        (scope, _) => scope,
    };
    let base = base_list(record)?;
    // A list that the user has emptied meanwhile is one without stories: nothing of it comes back.
    let emptied = || {
        let mut emptied = file.clone().unwrap_or_else(|| TaskList::of(Vec::new()));
        emptied.stories.clear();
        emptied
    };
    let against = old.clone().or_else(|| base.is_some().then(emptied));
    let mut merged = merge(against.as_ref(), base.as_ref(), &list, scope);
    if let (Scope::New, Some(file), Ok(template)) =
        (scope, &file, TaskList::parse(&Fresh::of(&project, None).list()))
    {
        keep_fields(&mut merged.list, file, &template);
    }
    let is_unchanged = old.as_ref().is_some_and(|old| is_unchanged(old, &merged.list));
    if is_unchanged && merged.dropped.is_empty() && why.is_none() {
        return Ok(None);
    }
    let stories = summary::stories(old.as_ref(), &merged.list);
    let mut findings = check::of_tasks(&merged.list.to_text(), &stories, &prd);
    let is_split = stories.iter().any(|story| story.change == StoryChange::Added);
    if let (PlanScope::Split { story }, false) = (&spec.scope, is_split) {
        let what = format!("story {story} is not split");
        findings.push(check::fault(Rule::OneIteration, what, "add the parts as stories with new ids"));
    }
    if let PlanScope::Split { story } = &spec.scope
        && merged.dropped.iter().any(|dropped| dropped.story == *story)
    {
        let what = format!("story {story} was edited in the project meanwhile");
        findings.push(check::fault(Rule::Valid, what, "plan again, from the story as it is now"));
    }
    Ok(Some(TasksDraft { old, merged, prd, findings, stories, why }))
}

fn too_many(stories: usize) -> Finding {
    let what = format!("{stories} stories are too many; the limit is {MOST_STORIES}");
    check::fault(Rule::Valid, what, "plan the first part of the work")
}

/// The list as the agent found it, if there was one.
fn base_list(record: &PlanDir) -> Result<Option<TaskList>, PlannerError> {
    let file = record.base_list();
    match fsx::read_regular(&file) {
        Ok(bytes) => TaskList::parse_bytes(&bytes)
            .map(Some)
            .map_err(|why| PlannerError::CannotRead { file, cause: io::Error::other(why) }),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(PlannerError::CannotRead { file, cause }),
    }
}

fn is_unchanged(old: &TaskList, new: &TaskList) -> bool {
    let is_kept = |story: &PlannedStory| !matches!(story.change, StoryChange::Added | StoryChange::Changed);
    summary::stories(Some(old), new).iter().all(is_kept)
        && summary::removed(Some(old), new).is_empty()
        && old.verify_commands() == new.verify_commands()
}

/// A PRD that the user has written since the agent began is theirs.
fn prd_mode(spec: &PlanSpec, record: &PlanDir, now: &str) -> PrdMode {
    let is_as_before = || fsx::read_regular(&record.base_prd()).is_ok_and(|base| base == now.as_bytes());
    match now.trim().is_empty() || is_as_before() {
        true => spec.prd,
        false => PrdMode::Keep,
    }
}

fn prd_to_write(mode: PrdMode, old: &str, drafted: Option<&str>, answers: &[QuestionAnswered]) -> String {
    let drafted = drafted.unwrap_or_default();
    let prd = match mode {
        PrdMode::Write => drafted.to_owned(),
        PrdMode::Keep => prd::kept(old, drafted),
    };
    prd::with_answers(&prd, answers)
}

fn text_of(path: &Path) -> Option<String> {
    let bytes = fsx::read_unlinked_at_most(path, LARGEST).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned()).filter(|text| !text.trim().is_empty())
}

fn stories(spec: &PlanSpec, record: &PlanDir) -> io::Result<Option<StoriesDraft>> {
    let (project, drafted) = (spec.project(), record.drafted());
    let old = specs_of(&project)?;
    let is_changed = |path: &&PathBuf| {
        let [there, here] =
            [drafted.dir(), project.dir()].map(|dir| fsx::read_unlinked(&dir.join(path)).ok());
        there != here
    };
    let changed: Vec<&PathBuf> = old.iter().filter(is_changed).collect();
    if !changed.is_empty() {
        put_back_specs(&project, record)?;
    }
    let backlog = match backlog::read(&drafted, &[]) {
        Ok(backlog) => backlog,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(cause),
    };
    let specs: Vec<_> = backlog.specs.iter().filter(|spec| !old.contains(&spec.path)).collect();
    if specs.is_empty() {
        return Ok(None);
    }
    let mut draft = StoriesDraft::default();
    if specs.len() > MOST_STORIES {
        draft.findings.push(too_many(specs.len()));
        return Ok(Some(draft));
    }
    for spec in specs {
        let content = fsx::read_unlinked_at_most(&drafted.dir().join(&spec.path), LARGEST)?;
        let text = String::from_utf8_lossy(&content);
        draft.assumptions.extend(prd::assumptions(&text));
        draft.stories.push(PlannedStory {
            id: spec.id.to_string(),
            title: spec.title.clone(),
            depends_on: spec.depends_on.iter().map(ToString::to_string).collect(),
            criteria: prd::criteria(&text),
            change: StoryChange::Added,
        });
        draft.new.push((spec.path.clone(), content));
    }
    draft.findings =
        check::of_stories(&drafted, &draft.new.iter().map(|(path, _)| path.as_path()).collect::<Vec<_>>())?;
    Ok(Some(draft))
}
