//! A request to plan, validated: who plans what, and what exists already.

use super::super::config::refused;
use super::super::format::Format;
use super::super::home;
use super::super::init::{self, detect};
use super::summary::shown;
use super::{PlanArgs, idea};
use crate::cli::advice::how_to_install;
use crate::error::CliError;
use crate::fsx;
use crate::git::Repository;
use crate::layout::{Home, PlanDir, Project, TasksDir};
use crate::placeholder;
use crate::planner::instructions::{self, Talk, Told};
use crate::planner::{Form, PlanScope, PlanSpec, PlannerError, PrdMode, drafts, story_record};
use crate::report::say;
use crate::request::{RequestError, agents, new_run_id, tasks};
use crate::secrets;
use crate::settings::{self, Settings};
use crate::similar;
use crate::stories::backlog;
use crate::tasks::import;
use ralph_loop::dialect::{Dialect, can_ask, can_plan};
use ralph_loop::planner::prd::QuestionAnswered;
use ralph_loop::run::AgentSpec;
use ralph_loop::strict::Finding;
use ralph_loop::task_list::{Story, TaskList};
use rustix::termios::isatty;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

pub struct Prepared {
    pub project: Project,
    pub home: Home,
    pub settings: Settings,
    pub agent: AgentSpec,
    pub spec: PlanSpec,
    pub record: PlanDir,
    pub talk: Talk,
    pub idea: String,
    /// There is something that the plan adds to.
    exists: bool,
    /// The task list has to be laid out first.
    pub lays_out: bool,
    /// The files that were laid out, and nothing in them is the user's; relative to the project.
    pub created: Vec<PathBuf>,
    checks: Vec<String>,
    /// What is known of the story that it is about.
    story_record: Option<String>,
}

impl Prepared {
    pub fn of(args: &PlanArgs) -> Result<Prepared, CliError> {
        let project = args.project.project()?;
        let home = home()?;
        let loaded = settings::load(&project, None).map_err(|error| refused(&error))?;
        let settings = loaded.settings;
        let idea = idea::read(args)?;
        let agent = agents::planner(args.agent.as_deref(), args.model.as_deref(), &settings, project.dir())
            .map_err(|error| no_agent(&error))?;
        let talk = talk(args, &agent)?;
        let (form, lays_out) = match args.stories {
            true => (Form::Stories, false),
            false => {
                let dir = tasks::new_dir(args.ralph_dir.as_deref(), &project)?;
                let list = TasksDir::at(project.dir().join(&dir)).list();
                let lays_out = list.symlink_metadata().is_err();
                (Form::Tasks { dir }, lays_out)
            }
        };
        let mut prepared = Prepared {
            spec: PlanSpec {
                project: project.dir().to_path_buf(),
                form,
                scope: PlanScope::New,
                prd: PrdMode::Write,
            },
            record: home.plan(&new_run_id()),
            checks: detect::checks(project.dir()),
            project,
            home,
            settings,
            agent,
            talk,
            idea,
            exists: false,
            lays_out,
            created: Vec::new(),
            story_record: None,
        };
        prepared.look_at_project(args)?;
        prepared.has_something_to_plan()?;
        Ok(prepared)
    }

    /// Lays out a task list, and looks again at what there is.
    pub fn lay_out(&mut self, args: &PlanArgs) -> Result<(), CliError> {
        let Some(dir) = self.spec.tasks() else { return Ok(()) };
        let mut files = vec![dir.prd(), dir.list(), dir.progress(), dir.prompt()];
        files.retain(|file| file.symlink_metadata().is_err());
        let gitignore = self.project.gitignore();
        let committed = Repository::find(self.project.dir()).ok();
        let committed = committed.and_then(|repository| repository.committed_content(&gitignore));
        let ignored = fsx::read_regular(&gitignore).ok();
        let mut tell = |line: &str| say(&format!("  {line}"));
        init::tasks::create(&self.project, None, args.ralph_dir.as_deref(), false, &mut tell)?;
        // With edits that are not committed it is the user's.
        if ignored == committed && fsx::read_regular(&gitignore).ok() != ignored {
            files.push(gitignore);
        }
        files.retain(|file| file.exists());
        self.created = files.iter().map(|file| self.project.shown(file)).collect();
        self.look_at_project(args)
    }

    /// The list, as the user knows it.
    pub fn list_shown(&self) -> String {
        let list = self.spec.tasks().map(|dir| self.project.shown(&dir.list()));
        list.unwrap_or_default().display().to_string()
    }

    /// Says that there is no plan, and what there is instead.
    pub fn say_unplanned(&self, why: &str) {
        let what = match self.created.is_empty() {
            true => "nothing was changed".to_owned(),
            false => format!("no plan was put in place, created: {}", shown(&self.created)),
        };
        say(&format!("ralph: {why}; {what}; the drafts are in {}", self.record.drafts().display()));
    }

    /// What the plan adds to. Once more after a list was laid out: that may have imported stories.
    fn look_at_project(&mut self, args: &PlanArgs) -> Result<(), CliError> {
        match self.spec.tasks() {
            Some(dir) => self.look_at_tasks(args, &dir),
            None => self.look_at_stories(),
        }
    }

    fn look_at_tasks(&mut self, args: &PlanArgs, dir: &TasksDir) -> Result<(), CliError> {
        for file in [dir.prd(), dir.list()] {
            fsx::check_inside(self.project.dir(), &file).map_err(|cause| {
                CliError::usage(format!("cannot plan into {}", self.project.shown(&file).display()))
                    .cause(cause)
                    .hint("replace the link with a file")
            })?;
        }
        let list = drafts::list_of(&self.project, dir)?;
        let prd = drafts::prd_of(dir)?;
        let is_written = !prd.trim().is_empty() && placeholder::in_prd(&prd).is_empty();
        self.spec.prd = if is_written { PrdMode::Keep } else { PrdMode::Write };
        self.exists = list.is_some();
        let named = args.split.as_ref().or(args.why.as_ref());
        let Some(id) = named else {
            self.spec.scope = if self.exists { PlanScope::Add } else { PlanScope::New };
            return Ok(());
        };
        let Some(list) = list else { return Err(import::missing(&self.project, dir).into()) };
        let story = named_story(&list, id)?;
        self.story_record = Some(story_record::of(story, &self.home, &self.project)?);
        let story = story.id().to_owned();
        self.spec.scope = match &args.split {
            Some(_) => PlanScope::Split { story },
            None => PlanScope::Reword { story },
        };
        Ok(())
    }

    fn look_at_stories(&mut self) -> Result<(), CliError> {
        self.exists = match backlog::read(&self.project, &[]) {
            Ok(backlog) => !backlog.specs.is_empty(),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => false,
            Err(cause) => return Err(PlannerError::CannotRead { file: self.project.specs(), cause }.into()),
        };
        if self.exists {
            self.spec.scope = PlanScope::Add;
        }
        Ok(())
    }

    fn has_something_to_plan(&self) -> Result<(), CliError> {
        let is_told = !self.idea.trim().is_empty()
            || self.spec.prd == PrdMode::Keep
            || self.spec.scope.story().is_some()
            || self.talk == Talk::Conversation;
        match is_told {
            true => Ok(()),
            false => Err(CliError::usage("nothing to plan").hint(
                "say what you want: ralph plan \"log in with a passkey\", pass a file with --from, or write \
                 ralph/prd.md",
            )),
        }
    }

    /// Writes the record, and the drafts to begin with. Returns what the agent is told.
    pub fn begin(&self) -> Result<String, PlannerError> {
        let failed = |cause| PlannerError::Record { dir: self.record.dir().to_path_buf(), cause };
        self.spec.write(&self.record).map_err(failed)?;
        drafts::lay_out(&self.spec, &self.record)?;
        self.tell(&[], &[])
    }

    /// What the agent is told, which is also in the record, without secrets.
    pub fn tell(&self, findings: &[Finding], answers: &[QuestionAnswered]) -> Result<String, PlannerError> {
        let failed = |cause| PlannerError::Record { dir: self.record.dir().to_path_buf(), cause };
        let text = self.instructions(findings, answers).map_err(|error| failed(io::Error::other(error)))?;
        fsx::write_private(&self.record.instructions(), secrets::mask(&text).as_bytes()).map_err(failed)?;
        Ok(text)
    }

    pub fn instructions(
        &self,
        findings: &[Finding],
        answers: &[QuestionAnswered],
    ) -> Result<String, CliError> {
        let guide = Some(self.agent.dialect.spec().instructions);
        let guide = guide.filter(|guide| self.project.dir().join(guide).exists());
        let told = Told {
            talk: self.talk,
            idea: &self.idea,
            exists: self.exists,
            checks: &self.checks,
            guide,
            record: self.story_record.as_deref(),
            findings,
            answers,
        };
        instructions::text(&self.spec, &self.record, &told)
            .map_err(|cause| CliError::failed("cannot write the instructions").cause(cause))
    }
}

/// Another program cannot be given here.
fn no_agent(error: &RequestError) -> CliError {
    let refusal = CliError::from(error);
    match error {
        RequestError::AgentMissing { program } if can_plan(Dialect::of_program(program)) => {
            refusal.hint(format!("{}, or {}", how_to_install(program), able(can_plan)))
        }
        RequestError::AgentMissing { .. } => refusal.hint(able(can_plan)),
        _ => refusal,
    }
}

/// The agents that can do something.
fn able(able: fn(Dialect) -> bool) -> String {
    let names = Dialect::KNOWN.into_iter().filter(|dialect| able(*dialect)).map(Dialect::name);
    format!("use --agent {}", names.collect::<Vec<_>>().join(" or --agent "))
}

/// How the user is asked: as they want, if the agent can and someone is there.
fn talk(args: &PlanArgs, agent: &AgentSpec) -> Result<Talk, CliError> {
    if !can_plan(agent.dialect) {
        return Err(CliError::usage(format!("this agent cannot plan: {}", agent.name)).hint(able(can_plan)));
    }
    let is_terminal = io::stdin().is_terminal();
    if args.ask && !can_ask(agent.dialect) {
        let hint = format!("{}, or leave --ask out for a conversation", able(can_ask));
        return Err(CliError::usage(format!("this agent asks no questions over its stream: {}", agent.name))
            .hint(hint));
    }
    if args.ask && args.format != Format::Human {
        return Err(CliError::usage("--ask prints questions, which --format has no place for")
            .hint("leave one of them out, or use --yes"));
    }
    if args.ask && !is_terminal {
        return Err(CliError::usage("--ask asks questions, but standard input is not a terminal")
            .hint("run it in a terminal, or use --yes"));
    }
    let can_talk = is_terminal && isatty(rustix::stdio::stdout()) && args.format == Format::Human;
    Ok(match (args.ask, args.yes || !can_talk) {
        (true, _) => Talk::Asks,
        (false, true) => Talk::Never,
        (false, false) => Talk::Conversation,
    })
}

/// The story that is to be split or explained.
fn named_story<'l>(list: &'l TaskList, id: &str) -> Result<&'l Story, CliError> {
    let story = list.story(id).ok_or_else(|| {
        let meant = similar::nearest(id, list.stories.iter().map(Story::id));
        CliError::usage(format!("no such story: {id}"))
            .hint(similar::hint(meant, "`ralph tasks list` lists the stories"))
    })?;
    match story.passes() {
        true => Err(CliError::usage(format!("this story is done: {id}"))
            .hint("stories that are done stay as they are; plan another one for what is missing")),
        false => Ok(story),
    }
}
