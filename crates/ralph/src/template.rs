//! Texts with gaps: the prompts that a user can replace.
//!
//! A template is checked when a run is built, so that a slip in it costs no iteration.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, Value, context};
use ralph_loop::plan::stories::{StoriesPlan, Story};
use thiserror::Error;

/// What stands where the user has put none.
pub const STORY: &str = include_str!("../templates/story.md");

/// What the spec of a new story begins as, where the user has no template for it.
pub const SPEC: &str = include_str!("../templates/spec.md");

/// For a task list without a prompt of its own.
pub const TASKS_PROMPT: &str = include_str!("../templates/tasks/prompt.md");

/// Fills in the numbers of an iteration, as `$RALPH_ITERATION` or `{{RALPH_ITERATION}}`.
pub fn iteration_numbers(prompt: &str, iteration: &str, of: &str) -> String {
    // The longer name first: the shorter one is its beginning.
    [("RALPH_MAX_ITERATIONS", of), ("RALPH_ITERATION", iteration)].into_iter().fold(
        prompt.to_string(),
        |prompt, (name, number)| {
            prompt.replace(&format!("{{{{{name}}}}}"), number).replace(&format!("${name}"), number)
        },
    )
}

/// What a task list and its companions begin as. Their gaps are `{{DATE}}` and `{{PROJECT_NAME}}`.
pub const TASKS_PRD: &str = include_str!("../templates/tasks/prd.md");
pub const TASKS_LIST: &str = include_str!("../templates/tasks/tasks.json");
pub const TASKS_PROGRESS: &str = include_str!("../templates/tasks/progress.txt");

/// What an agent that plans is told.
pub const PLAN: &str = include_str!("../templates/plan.md");

#[derive(Debug, Error)]
#[error("{}{}", message, line.map(|line| format!(" (line {line})")).unwrap_or_default())]
pub struct TemplateError {
    message: String,
    line: Option<usize>,
}

impl From<minijinja::Error> for TemplateError {
    fn from(error: minijinja::Error) -> TemplateError {
        let what = error.detail().map_or_else(|| error.kind().to_string(), String::from);
        TemplateError { message: what, line: error.line() }
    }
}

/// What a story's prompt is made of, besides the plan.
pub struct StoryGaps<'a> {
    pub story: &'a Story,
    pub attempt: u32,
    pub last_failure: Option<&'a str>,
    /// What the attempt before did, and the ref under which it is kept.
    pub last_diff: Option<&'a str>,
    pub last_kept: Option<&'a str>,
    /// The command that shows it.
    pub last_diff_command: Option<&'a str>,
    pub spec: &'a str,
    pub verify: Vec<&'a str>,
    pub learnings: &'a [String],
    /// Whether there is a repository: then work is committed, and put back if it fails.
    pub git: bool,
}

pub fn story(template: &str, plan: &StoriesPlan, gaps: &StoryGaps<'_>) -> Result<String, TemplateError> {
    let Story { id, title, spec, depends_on } = gaps.story;
    let depends_on: Vec<String> = depends_on.iter().map(ToString::to_string).collect();
    let story = context! { id => id.to_string(), title, depends_on, spec => spec.display().to_string() };
    render(
        template,
        context! {
            story,
            spec => gaps.spec,
            attempt => gaps.attempt,
            max_attempts => plan.max_retries,
            last_failure => gaps.last_failure,
            last_diff => gaps.last_diff,
            last_kept => gaps.last_kept,
            last_diff_command => gaps.last_diff_command,
            verify => gaps.verify.iter().map(ToString::to_string).collect::<Vec<String>>(),
            rules => plan.rules.clone(),
            learnings => gaps.learnings.to_vec(),
            git => gaps.git,
            commits => plan.commit,
        },
    )
}

/// Whether a template can be filled in at all.
pub fn check_story(template: &str) -> Result<(), TemplateError> {
    let plan = StoriesPlan {
        todo: [].into(),
        done: Vec::new(),
        carried: None,
        max_retries: 3,
        rules: vec!["a rule".into()],
        template: None,
        commit: false,
    };
    let id = ralph_loop::story_id::StoryId { epic: 1, story: 1 };
    let example = Story { id, title: "A story".into(), spec: "specs/x.md".into(), depends_on: Vec::new() };
    let gaps = StoryGaps {
        story: &example,
        attempt: 2,
        last_failure: Some("it failed"),
        last_diff: Some("+ it"),
        last_kept: Some("refs/ralph/r/attempt-1"),
        last_diff_command: Some("git diff refs/ralph/r/attempt-1^-1"),
        spec: "the specification",
        verify: vec!["make test"],
        learnings: &["a thing".into()],
        git: true,
    };
    story(template, &plan, &gaps).map(drop)
}

/// Fills in a template of ralph's own.
pub fn render(template: &str, gaps: Value) -> Result<String, TemplateError> {
    Ok(environment()?.render_str(template, gaps)?)
}

/// How all templates are read.
pub fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    // An unknown name is a mistake, not empty text.
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(SyntaxConfig::builder().keep_trailing_newline(true).build()?);
    Ok(environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_an_iteration_are_filled_in_either_way() {
        for prompt in [
            "iteration $RALPH_ITERATION of $RALPH_MAX_ITERATIONS",
            "iteration {{RALPH_ITERATION}} of {{RALPH_MAX_ITERATIONS}}",
        ] {
            assert_eq!(iteration_numbers(prompt, "2", "15"), "iteration 2 of 15");
        }
        assert_eq!(iteration_numbers("{{OTHER}} $HOME", "2", "15"), "{{OTHER}} $HOME");
    }

    #[test]
    fn the_built_in_template_can_be_filled_in() {
        check_story(STORY).unwrap();
    }

    #[test]
    fn a_slip_is_told_with_its_line() {
        let refusal = |template| check_story(template).unwrap_err().to_string();
        assert!(refusal("a\n{{ stroy.id }}").ends_with("(line 2)"), "{}", refusal("a\n{{ stroy.id }}"));
        assert!(refusal("a\n\n{% for x in rules %}").ends_with("(line 3)"));
    }

    #[test]
    fn what_a_gap_is_filled_with_is_no_template_and_not_escaped() {
        let text = render("{{ spec }}\n", context! { spec => "{{ spec }} <b> & 'x'" }).unwrap();
        assert_eq!(text, "{{ spec }} <b> & 'x'\n");
    }
}
