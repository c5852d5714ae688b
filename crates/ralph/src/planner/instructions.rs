//! What the agent is told: the template, filled in. The template is the one source of the rules for planners.

use super::{Form, PlanScope, PlanSpec, PrdMode};
use crate::layout::PlanDir;
use crate::template::{self, TemplateError};
use minijinja::context;
use ralph_loop::planner::prd::{ASSUMPTIONS, QuestionAnswered};
use ralph_loop::strict::{Finding, repairs};
use ralph_loop::text::one_line;

/// How the user can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talk {
    Never,
    Asks,
    Conversation,
}

/// What the template needs to know besides the plan's spec.
pub struct Told<'a> {
    pub talk: Talk,
    /// In the user's words.
    pub idea: &'a str,
    /// There is a list or there are stories already.
    pub exists: bool,
    /// Commands that look like the project's checks.
    pub checks: &'a [String],
    /// The file that agents of this kind read in a project.
    pub guide: Option<&'a str>,
    /// What is known of the story that it is about.
    pub record: Option<&'a str>,
    /// What is wrong with the drafts so far.
    pub findings: &'a [Finding],
    /// What the user has answered to agents before.
    pub answers: &'a [QuestionAnswered],
}

pub fn text(spec: &PlanSpec, record: &PlanDir, told: &Told<'_>) -> Result<String, TemplateError> {
    let project = spec.project();
    let talk = match told.talk {
        Talk::Never => "none",
        Talk::Asks => "asks",
        Talk::Conversation => "conversation",
    };
    let form = match spec.form {
        Form::Tasks { .. } => "tasks",
        Form::Stories => "stories",
    };
    let scope = match spec.scope {
        PlanScope::New => "new",
        PlanScope::Add => "add",
        PlanScope::Split { .. } => "split",
        PlanScope::Reword { .. } => "reword",
    };
    let answer = |given: &QuestionAnswered| one_line(&format!("{} {}", given.question, given.answer));
    let answers: Vec<String> = told.answers.iter().map(answer).collect();
    let gaps = context! {
        project => project.dir().display().to_string(),
        drafts => record.drafts().display().to_string(),
        prd => spec.tasks().map(|dir| project.shown(&dir.prd()).display().to_string()),
        form,
        talk,
        scope,
        story => spec.scope.story(),
        keeps_prd => spec.prd == PrdMode::Keep,
        exists => told.exists,
        idea => told.idea.trim(),
        checks => told.checks.to_vec(),
        guide => told.guide,
        record => told.record,
        findings => repairs(told.findings),
        answers,
        assumptions => ASSUMPTIONS,
    };
    let text = template::render(template::PLAN, gaps)?;
    Ok(without_gaps(&text))
}

/// Parts that are left out leave empty lines.
fn without_gaps(text: &str) -> String {
    let mut out = String::new();
    let mut empty = false;
    for line in text.lines() {
        if line.trim().is_empty() {
            empty = true;
            continue;
        }
        if empty && !out.is_empty() {
            out.push('\n');
        }
        empty = false;
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Home;
    use crate::planner::check;
    use ralph_loop::strict::Rule;

    #[test]
    fn every_kind_of_plan_can_be_told() {
        let record = Home::at("/home".into()).plan("p");
        let story = || "US-007".to_owned();
        let idea = "Count the visitors.";
        for form in [Form::Tasks { dir: "ralph".into() }, Form::Stories] {
            for scope in [
                PlanScope::New,
                PlanScope::Add,
                PlanScope::Split { story: story() },
                PlanScope::Reword { story: story() },
            ] {
                for talk in [Talk::Never, Talk::Asks, Talk::Conversation] {
                    let spec = PlanSpec {
                        project: "/shop".into(),
                        form: form.clone(),
                        scope: scope.clone(),
                        prd: PrdMode::Write,
                    };
                    let told = Told {
                        talk,
                        idea,
                        exists: scope != PlanScope::New,
                        checks: &["make test".to_owned()],
                        guide: Some("AGENTS.md"),
                        record: scope.story().map(|_| "It failed."),
                        findings: &[check::fault(Rule::Valid, "no".to_owned(), "write it")],
                        answers: &[QuestionAnswered {
                            question: "Which store?".into(),
                            answer: "SQLite".into(),
                        }],
                    };
                    let text = text(&spec, &record, &told).unwrap();
                    for part in
                        ["/shop", "/home/plans/p/draft", idea, "- tasks.json:1: no", "- Which store? SQLite"]
                    {
                        assert!(text.contains(part), "{part}: {text}");
                    }
                    assert_eq!(text.contains("US-007"), scope.story().is_some(), "{text}");
                    assert!(!text.contains("{%") && !text.contains("\n\n\n"), "{text}");
                }
            }
        }
    }
}
