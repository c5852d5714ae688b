//! A plan as it is shown.

use super::prepare::Prepared;
use crate::cli::format::{Format, Shape};
use crate::cli::{print_json, print_lines};
use crate::error::with_causes;
use crate::planner::drafts::{Draft, TasksDraft};
use crate::planner::{Form, PlanScope, PlannerError, tried};
use crate::report::{Out, Style, TokensJson, Tone, count, say};
use ralph_loop::planner::prd::{self, QuestionAnswered};
use ralph_loop::planner::{PlanSummary, PlannedStory, Proposal, Spent, StoryChange, TriedCheck, summary};
use ralph_loop::strict::{Finding, repairs};
use ralph_loop::text::{counted, one_line, printable};
use serde::Serialize;
use std::path::PathBuf;

#[derive(Debug, Serialize)]
pub struct Planned {
    /// Where everything about the session is.
    pub record: PathBuf,
    /// The files that were written, relative to the project.
    pub files: Vec<PathBuf>,
    #[serde(flatten)]
    pub summary: PlanSummary,
    pub warnings: Vec<Finding>,
    /// Why a story does not get done, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How that story could be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Proposal>,
    /// Nothing is known of a conversation.
    #[serde(flatten, serialize_with = "spent")]
    pub spent: Spent,
}

fn spent<S: serde::Serializer>(spent: &Spent, out: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct SpentJson {
        cost: Option<f64>,
        cost_estimated: bool,
        tokens: TokensJson,
    }
    let Spent { cost, tokens } = *spent;
    let cost_estimated = cost.is_some_and(|cost| cost.estimated);
    SpentJson { cost: cost.map(|cost| cost.usd.dollars()), cost_estimated, tokens: tokens.into() }
        .serialize(out)
}

/// Tries the checks. The draft is valid.
pub fn of(prepared: &Prepared, draft: &Draft, answers: &[QuestionAnswered]) -> Result<Planned, PlannerError> {
    let mut planned = Planned {
        record: prepared.record.dir().to_path_buf(),
        files: Vec::new(),
        summary: PlanSummary { stories: draft.stories().to_vec(), ..PlanSummary::default() },
        warnings: draft.findings().to_vec(),
        why: None,
        proposal: None,
        spent: Spent::default(),
    };
    planned.summary.answers = answers.to_vec();
    match draft {
        Draft::Tasks(draft) => {
            let list = &draft.merged.list;
            planned.summary.removed = summary::removed(draft.old.as_ref(), list);
            planned.summary.dropped.clone_from(&draft.merged.dropped);
            planned.summary.assumptions = prd::assumptions(&draft.prd);
            planned.why = draft.why.as_ref().map(|why| why.trim().to_owned());
            planned.proposal = proposal(prepared, draft);
            // With a proposal they are as before.
            if planned.proposal.is_none() {
                planned.summary.checks = tried(prepared, &list.verify_commands())?;
            }
        }
        Draft::Stories(draft) => {
            planned.summary.assumptions.clone_from(&draft.assumptions);
            let checks: Vec<&str> = prepared.settings.stories.verify.iter().map(String::as_str).collect();
            planned.summary.checks = tried(prepared, &checks)?;
        }
    }
    Ok(planned)
}

/// The checks that a run over the plan would use, each run once.
fn tried(prepared: &Prepared, commands: &[&str]) -> Result<Vec<TriedCheck>, PlannerError> {
    let Prepared { project, settings, home, record, .. } = prepared;
    if !commands.is_empty() {
        say("ralph: running the checks of the plan…");
    }
    match tried::try_checks(commands, project, settings, home) {
        Ok(Some(tried)) => Ok(tried),
        Ok(None) => Err(PlannerError::Interrupted { drafts: record.drafts() }),
        Err(error) => {
            say(&format!("ralph: warning: the checks were not tried: {}", with_causes(&error)));
            Ok(tried::untried(commands))
        }
    }
}

/// Where one story was asked about.
fn proposal(prepared: &Prepared, draft: &TasksDraft) -> Option<Proposal> {
    match &prepared.spec.scope {
        PlanScope::Reword { story } => Proposal::of(story, draft.old.as_ref()?, &draft.merged.list),
        PlanScope::New | PlanScope::Add | PlanScope::Split { .. } => None,
    }
}

/// In the format that was asked for.
pub fn print(prepared: &Prepared, planned: &Planned, format: Format) {
    #[derive(Serialize)]
    struct Event<'a> {
        r#type: &'static str,
        #[serde(flatten)]
        planned: &'a Planned,
    }
    match format.shape() {
        Shape::Text => show(prepared, planned),
        Shape::Value => print_json(planned),
        Shape::Lines => print_lines([Event { r#type: "plan", planned }]),
    }
}

/// What is printed, piece by piece. Words of agents never get control sequences to the terminal, and never begin a
/// line that looks like one of ralph's own.
struct Page {
    out: Out,
    style: Style,
}

impl Page {
    fn line(&mut self, text: &str) {
        self.out.text(&printable(text));
    }

    fn heading(&mut self, text: &str) {
        self.line("");
        self.out.text(&self.style.paint(Tone::Strong, text));
    }

    /// Nothing at all without items.
    fn list<T: AsRef<str>>(&mut self, heading: &str, items: impl IntoIterator<Item = T>) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_some() {
            self.heading(heading);
            items.for_each(|item| self.line(&format!("  - {}", one_line(item.as_ref()))));
        }
    }

    fn story(&mut self, number: usize, story: &PlannedStory) {
        let PlannedStory { id, title, depends_on, criteria, change } = story;
        let after = match depends_on.is_empty() {
            true => String::new(),
            false => format!("(after {})", depends_on.join(", ")),
        };
        let [id, title, after] = [id, title, &after].map(|text| one_line(text));
        let gap = if after.is_empty() { "" } else { " " };
        self.line(&format!("{number:>3}. {id}  {title}{gap}{after}{}", word(*change)));
        if matches!(change, StoryChange::Added | StoryChange::Changed) {
            criteria.iter().for_each(|criterion| self.line(&format!("       - {}", one_line(criterion))));
        }
    }

    fn proposal(&mut self, proposal: &Proposal) {
        let Proposal { story, changes } = proposal;
        if changes.is_empty() {
            self.heading(&format!("No change is proposed to {}", one_line(story)));
        } else {
            self.heading(&format!("Proposed change to {}", one_line(story)));
        }
        for change in changes {
            self.line(&format!("  {}", change.field));
            let (gone, new) = change.items();
            gone.iter().for_each(|item| self.line(&format!("    - {}", one_line(item))));
            new.iter().for_each(|item| self.line(&format!("    + {}", one_line(item))));
        }
    }

    fn stories(&mut self, summary: &PlanSummary) {
        self.heading(&format!("Plan: {}", counted(summary.stories.len() as u64, "story")));
        summary.stories.iter().enumerate().for_each(|(at, story)| self.story(at + 1, story));
        summary.removed.iter().for_each(|id| self.line(&format!("     {}  removed", one_line(id))));
    }
}

/// For people.
pub fn show(prepared: &Prepared, planned: &Planned) {
    let PlanSummary { dropped, checks, assumptions, answers, .. } = &planned.summary;
    let mut page = Page { out: Out::stdout(), style: Style::of_stdout() };
    if let Some(why) = &planned.why {
        page.heading("Why it is not done");
        why.lines().for_each(|line| page.line(&format!("  {line}")));
    }
    match &planned.proposal {
        Some(proposal) => page.proposal(proposal),
        None => page.stories(&planned.summary),
    }
    if !checks.is_empty() {
        page.heading("Checks, each run once");
        for TriedCheck { command, outcome } in checks {
            let mark = page.style.mark(outcome.works());
            page.out.text(&format!("  {mark} {}: {}", one_line(command), outcome.words()));
        }
    }
    page.list("Assumptions", assumptions);
    let answered = |answered: &QuestionAnswered| format!("{} {}", answered.question, answered.answer);
    page.list("Answers", answers.iter().map(answered));
    page.list("Ignored changes", dropped.iter().map(ToString::to_string));
    let warnings = repairs(&planned.warnings);
    page.list("Worth a look", warnings.lines().map(|line| line.trim_start_matches("- ")));
    if !planned.files.is_empty() {
        page.line("");
        page.line(&format!("Written: {}", shown(&planned.files)));
        page.line(&format!("Next: commit it, then run: {}", command(prepared).join(" ")));
    }
    if let Some(spent) = spent_line(&planned.spent) {
        page.line(&spent);
    }
    page.out.flush();
}

fn spent_line(spent: &Spent) -> Option<String> {
    let tokens = match spent.tokens.total() {
        0 => None,
        tokens => Some(format!("{} tokens", count(tokens))),
    };
    let parts: Vec<String> = spent.cost.map(|cost| cost.to_string()).into_iter().chain(tokens).collect();
    (!parts.is_empty()).then(|| format!("Planning cost: {}", parts.join(", ")))
}

/// Files on one line.
pub fn shown(files: &[PathBuf]) -> String {
    let files: Vec<String> = files.iter().map(|file| one_line(&file.to_string_lossy())).collect();
    files.join(", ")
}

fn word(change: StoryChange) -> &'static str {
    match change {
        StoryChange::Added => "",
        StoryChange::Changed => "  [changed]",
        StoryChange::Kept => "  [as before]",
        StoryChange::Begun => "  [begun, as before]",
        StoryChange::Done => "  [done]",
    }
}

/// The command that works through the plan.
pub fn command(prepared: &Prepared) -> Vec<String> {
    let mut words = vec!["ralph".to_owned()];
    match &prepared.spec.form {
        Form::Stories => words.push("stories".to_owned()),
        Form::Tasks { dir } => {
            words.push("tasks".to_owned());
            if *dir != prepared.project.usual_tasks_dir() {
                words.extend(["--ralph-dir".to_owned(), dir.display().to_string()]);
            }
        }
    }
    words
}
