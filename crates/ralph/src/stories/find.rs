//! Finds the specs of a project: `specs/epic-{N}/story-{N.M}-*.md`.
//!
//! What is named almost like this is reported, since it would be missed in silence; what is named
//! otherwise is ignored.

use super::problem::{Place, Problem, SpecProblem};
use super::spec::Spec;
use crate::layout::{Project, epic_number, spec_name};
use crate::similar;
use ralph_loop::story_id::StoryId;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
pub struct Found {
    /// By number, then by path.
    pub specs: Vec<Spec>,
    /// What was passed over and perhaps should not have been.
    pub strays: Vec<Problem>,
}

/// Fails if there is no directory of specs to read.
pub fn find(project: &Project) -> io::Result<Found> {
    let mut found = Found::default();
    for (name, path) in entries(&project.specs())? {
        // Follows links.
        let directory = path.is_dir();
        match epic_number(&name) {
            Some(epic) if directory => found.in_epic(project, epic, &path),
            Some(_) => found.stray(project, &path, "not a directory", "an epic is a directory of stories"),
            None if directory && begins_like(&name.to_lowercase(), "epic") => found.stray(
                project,
                &path,
                "not searched for stories: not named epic-N",
                "name it epic-N, like epic-8",
            ),
            None if !directory && is_like_a_spec(&name) => found.stray(
                project,
                &path,
                "not a story: outside an epic directory",
                "move it into specs/epic-N",
            ),
            None => {}
        }
    }
    found.specs.sort_by(|a, b| (a.id, &a.path).cmp(&(b.id, &b.path)));
    Ok(found)
}

impl Found {
    fn in_epic(&mut self, project: &Project, epic: u32, dir: &Path) {
        let entries = match entries(dir) {
            Ok(entries) => entries,
            Err(cause) => {
                let text = format!("cannot read the epic's directory: {cause}");
                let problem = SpecProblem::error(Place::START, text, "make it readable");
                self.strays.push(problem.of_file(project.shown(dir), Vec::new()));
                return;
            }
        };
        for (name, path) in entries {
            match spec_name(&name) {
                Some((id, slug)) => {
                    let mut spec = Spec::read(project, &path, id, slug);
                    spec.problems.extend(wrong_epic(project, id, epic));
                    self.specs.push(spec);
                }
                None if is_like_a_spec(&name) => {
                    self.stray(
                        project,
                        &path,
                        "not a story: not named story-N.M-slug.md",
                        &format!("name it story-{epic}.M-slug.md, where M is its number"),
                    );
                }
                None => {}
            }
        }
    }

    fn stray(&mut self, project: &Project, path: &Path, text: &str, hint: &str) {
        let problem = SpecProblem::warning(Place::START, text, hint);
        self.strays.push(problem.of_file(project.shown(path), Vec::new()));
    }
}

fn wrong_epic(project: &Project, id: StoryId, epic: u32) -> Option<SpecProblem> {
    let right = project.shown(&project.epic(id.epic));
    (id.epic != epic).then(|| {
        SpecProblem::error(
            Place::START,
            format!("story {id} is in the directory of epic {epic}"),
            format!("move it to {}, or give it a number of epic {epic}", right.display()),
        )
    })
}

/// By name, so that every machine reports the same in the same order.
fn entries(dir: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut entries = Vec::new();
    for entry in fs_err::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        entries.push((name, path));
    }
    entries.sort();
    Ok(entries)
}

fn is_like_a_spec(name: &str) -> bool {
    let name = name.to_lowercase();
    begins_like(&name, "story") && (name.ends_with(".md") || name.ends_with(".markdown"))
}

/// With the word, or with a slip of the finger in it before a number: `stroy-3.5-x.md`.
fn begins_like(name: &str, word: &str) -> bool {
    let slipped = |(first, rest): (&str, &str)| {
        rest.starts_with(|c: char| c.is_ascii_digit())
            && similar::slips(first, word).is_some_and(|slips| slips <= 1)
    };
    name.starts_with(word) || name.split_once('-').is_some_and(slipped)
}
