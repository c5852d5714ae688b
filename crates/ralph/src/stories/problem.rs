//! What is wrong with a story, and where.

use ralph_loop::story_id::StoryId;
use ralph_loop::strict::Rule;
use serde::Serialize;
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The story runs all the same.
    Warning,
    /// Nothing runs until this is fixed or these stories are skipped.
    Error,
}

impl Severity {
    pub fn word(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A line and a column of a file, both from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub line: u32,
    pub column: u32,
}

impl Place {
    /// For what is wrong with a file as a whole.
    pub const START: Place = Place { line: 1, column: 1 };
}

/// What is wrong with one spec, as far as it can be seen without the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecProblem {
    pub severity: Severity,
    pub at: Place,
    pub text: String,
    pub hint: String,
}

impl SpecProblem {
    pub fn warning(at: Place, text: impl Into<String>, hint: impl Into<String>) -> SpecProblem {
        SpecProblem { severity: Severity::Warning, at, text: text.into(), hint: hint.into() }
    }

    pub fn error(at: Place, text: impl Into<String>, hint: impl Into<String>) -> SpecProblem {
        SpecProblem { severity: Severity::Error, ..SpecProblem::warning(at, text, hint) }
    }

    pub fn of_file(self, file: PathBuf, stories: Vec<StoryId>) -> Problem {
        let SpecProblem { severity, at: Place { line, column }, text, hint } = self;
        Problem { severity, file, line, column, text, hint, stories, rule: None, unless_done: None }
    }
}

/// What is wrong with the stories of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub severity: Severity,
    /// Relative to the project.
    pub file: PathBuf,
    pub line: u32,
    pub column: u32,
    pub text: String,
    /// A way out.
    pub hint: String,
    /// The stories that cannot be run because of it, and those only.
    pub stories: Vec<StoryId>,
    /// Of `check --strict`, what it breaks.
    pub rule: Option<Rule>,
    /// It is no problem once this story is done, which then needs no spec.
    #[serde(skip)]
    pub unless_done: Option<StoryId>,
}
