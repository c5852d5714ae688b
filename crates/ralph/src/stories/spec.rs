//! The spec of one story: a Markdown file that is given to the agent as it is.

use super::frontmatter;
use super::problem::{Place, SpecProblem};
use crate::fsx;
use crate::layout::Project;
use crate::placeholder;
use ralph_loop::story_id::StoryId;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    pub id: StoryId,
    /// Relative to the project.
    pub path: PathBuf,
    /// From the frontmatter, else the words of the file's name.
    pub title: String,
    pub depends_on: Vec<StoryId>,
    /// What the frontmatter says. Which stories are done, the state says.
    pub status: Option<String>,
    pub problems: Vec<SpecProblem>,
    /// Sections that still have the template's text. That is no problem once the story is done.
    pub placeholders: Vec<SpecProblem>,
    /// Where each of `depends_on` stands in the file.
    pub(super) dependency_places: Vec<Place>,
}

impl Spec {
    /// Reads a spec. One that cannot be read is a spec with an error, so that it is named with
    /// all else that is wrong.
    pub(super) fn read(project: &Project, path: &Path, id: StoryId, slug: &str) -> Spec {
        let content = fsx::read_regular(path);
        Spec::from_content(project.shown(path), id, slug, content)
    }

    /// What it depends on, with the lines that name them.
    pub(super) fn dependencies(&self) -> impl Iterator<Item = (StoryId, usize)> {
        let lines = self.dependency_places.iter().map(|at| at.line as usize);
        self.depends_on.iter().copied().zip(lines)
    }

    fn from_content(path: PathBuf, id: StoryId, slug: &str, content: io::Result<Vec<u8>>) -> Spec {
        let title = || title_of(id, slug);
        let content = match content {
            Ok(content) => content,
            Err(cause) => {
                let hint = "replace it with a readable file, or remove it";
                let problem =
                    SpecProblem::error(Place::START, format!("cannot read the spec: {cause}"), hint);
                return Spec {
                    id,
                    path,
                    title: title(),
                    depends_on: Vec::new(),
                    status: None,
                    problems: vec![problem],
                    placeholders: Vec::new(),
                    dependency_places: Vec::new(),
                };
            }
        };
        let read = frontmatter::read(&content);
        let (depends_on, dependency_places) = read.depends_on.into_iter().unzip();
        let mut problems = read.problems;
        problems.extend(no_text(&content));
        let placeholders = placeholder::in_spec(&String::from_utf8_lossy(&content));
        Spec {
            id,
            path,
            title: read.title.unwrap_or_else(title),
            depends_on,
            status: read.status,
            problems,
            placeholders: placeholders.into_iter().map(not_written).collect(),
            dependency_places,
        }
    }
}

#[cfg(test)]
impl Spec {
    pub fn for_tests(id: StoryId, depends_on: Vec<StoryId>) -> Spec {
        let spec = Spec::from_content(PathBuf::from("spec.md"), id, "", Ok(Vec::new()));
        Spec { depends_on, ..spec }
    }
}

/// `log-in-form` as `Log in form`.
fn title_of(id: StoryId, slug: &str) -> String {
    let words: Vec<&str> = slug.split(['-', '_', ' ']).filter(|word| !word.is_empty()).collect();
    let words = words.join(" ");
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => format!("Story {id}"),
    }
}

fn not_written(placeholder: placeholder::Placeholder) -> SpecProblem {
    let at = Place { line: u32::try_from(placeholder.line).unwrap_or(u32::MAX), column: 1 };
    SpecProblem::error(at, placeholder.text, "replace that line, or delete it if it does not apply")
}

/// Where a spec is no text.
fn no_text(content: &[u8]) -> Option<SpecProblem> {
    let cause = std::str::from_utf8(content).err()?;
    let (before, _) = content.split_at(cause.valid_up_to());
    let line_begin = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
    let at = Place {
        line: number(before.iter().filter(|byte| **byte == b'\n').count()),
        column: number(String::from_utf8_lossy(&before[line_begin..]).chars().count()),
    };
    Some(SpecProblem::warning(
        at,
        "not UTF-8 text from here on; the agent sees a replacement character",
        "save the file as UTF-8",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(slug: &str, content: &[u8]) -> Spec {
        let id = StoryId { epic: 8, story: 3 };
        Spec::from_content("specs/epic-8/x.md".into(), id, slug, Ok(content.to_vec()))
    }

    #[test]
    fn the_title_is_the_frontmatters_else_the_words_of_the_file_name() {
        for (slug, content, title) in [
            ("log-in-form", "---\ntitle: Logging in\n---\n", "Logging in"),
            ("log-in-form", "---\nstatus: pending\n---\n", "Log in form"),
            ("log-in-form", "# no frontmatter\n", "Log in form"),
            ("log-in-form", "---\ntitle: 5\n---\n", "Log in form"),
            ("über--uns_2", "", "Über uns 2"),
            ("", "", "Story 8.3"),
            ("--", "", "Story 8.3"),
        ] {
            assert_eq!(spec(slug, content.as_bytes()).title, title, "{slug} {content:?}");
        }
    }

    #[test]
    fn a_spec_of_5_mb_is_read_by_its_frontmatter() {
        let mut content = b"---\r\nstatus: pending\r\ndepends_on: 8.2\r\n---\r\n".to_vec();
        content.resize(5 << 20, b'x');
        let spec = spec("big", &content);
        assert_eq!(spec.status.as_deref(), Some("pending"));
        assert_eq!(spec.depends_on, [StoryId { epic: 8, story: 2 }]);
        assert!(spec.problems.is_empty());
    }

    #[test]
    fn bytes_that_are_no_text_are_a_warning_where_they_are() {
        let problems = spec("x", "---\n---\né\u{e9}".as_bytes()).problems;
        assert_eq!(problems, []);
        let problems = spec("x", b"---\n---\n\xc3\xa9a\xff\n").problems;
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].at, Place { line: 3, column: 3 });
    }
}
