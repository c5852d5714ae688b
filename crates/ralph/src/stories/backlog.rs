//! All stories of a project, and what is wrong with them before anything runs.

use super::cycle::{Needs, cycles};
use super::find;
use super::problem::{Place, Problem, SpecProblem};
use super::spec::Spec;
use crate::layout::Project;
use ralph_loop::story_id::StoryId;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

#[derive(Clone, Debug, Default)]
pub struct Backlog {
    /// By number. Two specs of one number are both here, and a problem.
    pub specs: Vec<Spec>,
    /// Of the specs and of the whole, by file and line.
    pub problems: Vec<Problem>,
}

/// Reads every spec. `order` is the user's own order, empty if there is none. Fails if there is
/// no directory of specs.
pub fn read(project: &Project, order: &[StoryId]) -> io::Result<Backlog> {
    let found = find::find(project)?;
    let mut problems = found.strays;
    for spec in &found.specs {
        let own = spec.problems.iter().cloned();
        problems.extend(own.map(|problem| problem.of_file(spec.path.clone(), vec![spec.id])));
        problems.extend(spec.placeholders.iter().cloned().map(|problem| {
            let problem = problem.of_file(spec.path.clone(), vec![spec.id]);
            Problem { unless_done: Some(spec.id), ..problem }
        }));
    }
    let by_id = by_id(&found.specs);
    problems.extend(doubles(&by_id));
    problems.extend(unknown_dependencies(&found.specs, &by_id));
    problems.extend(waiting_for_each_other(&found.specs, &by_id));
    problems.extend(order_problems(project, order, &by_id));
    problems.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    Ok(Backlog { specs: found.specs, problems })
}

/// All stories that have a spec and are not among these, by number; none if there are no specs.
pub fn not_done(project: &Project, done: &[StoryId]) -> Vec<StoryId> {
    let found = find::find(project).map(|found| found.specs).unwrap_or_default();
    let ids: BTreeSet<StoryId> = found.iter().map(|spec| spec.id).collect();
    ids.into_iter().filter(|id| !done.contains(id)).collect()
}

impl Backlog {
    /// Forgets the problems that stories have no longer which are done: no agent needs their specs.
    pub fn forgive_done<'i>(&mut self, done: impl IntoIterator<Item = &'i StoryId>) {
        let done: BTreeSet<&StoryId> = done.into_iter().collect();
        self.problems.retain(|problem| problem.unless_done.is_none_or(|id| !done.contains(&id)));
    }

    pub fn contains(&self, id: StoryId) -> bool {
        self.specs.binary_search_by_key(&id, |spec| spec.id).is_ok()
    }
}

type ById<'s> = BTreeMap<StoryId, Vec<&'s Spec>>;

fn by_id(specs: &[Spec]) -> ById<'_> {
    let mut by_id = ById::new();
    for spec in specs {
        by_id.entry(spec.id).or_default().push(spec);
    }
    by_id
}

/// Reported at the second file, with the first one named.
fn doubles<'s>(by_id: &'s ById<'_>) -> impl Iterator<Item = Problem> + 's {
    by_id.iter().flat_map(|(id, specs)| {
        specs.iter().skip(1).map(move |spec| {
            let text = format!("two files for story {id}, the other one is {}", specs[0].path.display());
            let problem = SpecProblem::error(Place::START, text, "give one of them another number");
            problem.of_file(spec.path.clone(), vec![*id])
        })
    })
}

fn unknown_dependencies<'s>(specs: &'s [Spec], by_id: &'s ById<'_>) -> impl Iterator<Item = Problem> + 's {
    specs.iter().flat_map(|spec| {
        let placed = spec.depends_on.iter().zip(&spec.dependency_places);
        placed.filter(|(id, _)| !by_id.contains_key(id)).map(move |(id, at)| {
            let text = format!("story {} depends on {id}, which has no spec", spec.id);
            let hint = format!("write specs/epic-{}/story-{id}-slug.md, or drop the dependency", id.epic);
            let problem = SpecProblem::error(*at, text, hint).of_file(spec.path.clone(), vec![spec.id]);
            Problem { unless_done: Some(*id), ..problem }
        })
    })
}

/// Reported where the first story of the cycle names the second.
fn waiting_for_each_other(specs: &[Spec], by_id: &ById<'_>) -> Vec<Problem> {
    let mut needs = Needs::new();
    for spec in specs {
        needs.entry(spec.id).or_default().extend(&spec.depends_on);
    }
    let place = |first: &StoryId, second: &StoryId| {
        by_id.get(first).into_iter().flatten().find_map(|spec| {
            let place = spec.depends_on.iter().position(|id| id == second)?;
            Some((spec.path.clone(), *spec.dependency_places.get(place)?))
        })
    };
    let problems = cycles(&needs).into_iter().filter_map(|cycle| {
        let (file, at) = place(cycle.way.first()?, cycle.way.get(1)?)?;
        let way: Vec<String> = cycle.way.iter().map(StoryId::to_string).collect();
        let text = format!("stories depend on each other: {}", way.join(" -> "));
        let problem = SpecProblem::error(at, text, "drop one of these dependencies");
        Some(problem.of_file(file, cycle.stories))
    });
    problems.collect()
}

fn order_problems(project: &Project, order: &[StoryId], by_id: &ById<'_>) -> Vec<Problem> {
    let file = project.shown(&project.settings());
    let mut seen = BTreeSet::new();
    let mut problems = Vec::new();
    for id in order {
        if !seen.insert(*id) {
            let text = format!("stories.order has {id} twice; using the first");
            let problem = SpecProblem::warning(Place::START, text, "list each story once");
            problems.push(problem.of_file(file.clone(), vec![*id]));
        } else if !by_id.contains_key(id) {
            let text = format!("stories.order has {id}, which has no spec");
            let hint = format!("write specs/epic-{}/story-{id}-slug.md, or remove {id}", id.epic);
            let problem = SpecProblem::error(Place::START, text, hint).of_file(file.clone(), vec![*id]);
            problems.push(Problem { unless_done: Some(*id), ..problem });
        }
    }
    problems
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out projects")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use tempfile::TempDir;

    struct Stage(TempDir);

    impl Stage {
        /// Specs by path and frontmatter.
        fn with(specs: &[(&str, &str)]) -> Stage {
            let stage = Stage(tempfile::tempdir().unwrap());
            fs::create_dir(stage.path("specs")).unwrap();
            for (path, frontmatter) in specs {
                stage.write(path, &format!("---\n{frontmatter}\n---\n"));
            }
            stage
        }

        fn path(&self, path: &str) -> std::path::PathBuf {
            self.0.path().join(path)
        }

        fn write(&self, path: &str, content: &str) {
            fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
            fs::write(self.path(path), content).unwrap();
        }

        fn read(&self, order: &[&str]) -> Backlog {
            read(
                &Project::at(self.0.path().into()),
                &order.iter().map(|id| id.parse().unwrap()).collect::<Vec<_>>(),
            )
            .unwrap()
        }

        #[track_caller]
        fn check(&self, order: &[&str], ids: &[&str], expected: &[&str]) -> Backlog {
            let backlog = self.read(order);
            let found: Vec<String> = backlog.specs.iter().map(|spec| spec.id.to_string()).collect();
            assert_eq!(found, ids);
            assert_eq!(backlog.problems.iter().map(shown).collect::<Vec<_>>(), expected);
            backlog
        }
    }

    fn shown(problem: &Problem) -> String {
        let Problem { severity, file, line, column, text, stories, .. } = problem;
        let stories: Vec<String> = stories.iter().map(StoryId::to_string).collect();
        format!("{}:{line}:{column}: {}: {text} [{}]", file.display(), severity.word(), stories.join(" "))
    }

    #[test]
    fn stories_are_found_by_their_names_and_ordered_by_number() {
        let stage = Stage::with(&[
            ("specs/epic-1/story-1.10-ten.md", "depends_on: 1.9"),
            ("specs/epic-1/story-1.9-nine.md", ""),
            ("specs/epic-10/story-10.1-one.md", ""),
            ("specs/epic-2/story-2.1-one.md", ""),
            ("specs/epic-2/README.md", ""),
            ("specs/epic-2/.story-2.2-x.md.swp", ""),
            ("specs/epic-2/deeper/story-2.2-x.md", ""),
            ("specs/notes/story-3.1-x.md", ""),
            ("specs/overview.md", ""),
        ]);
        let backlog = stage.check(&[], &["1.9", "1.10", "2.1", "10.1"], &[]);
        assert_eq!(backlog.specs[1].path, std::path::Path::new("specs/epic-1/story-1.10-ten.md"));
        assert!(backlog.contains("1.10".parse().unwrap()) && !backlog.contains("2.2".parse().unwrap()));
    }

    #[test]
    fn a_cycle_is_named_where_it_begins() {
        let stage = Stage::with(&[
            ("specs/epic-1/story-1.1-a.md", "depends_on: [\"1.2\"]"),
            ("specs/epic-1/story-1.2-b.md", "title: x\ndepends_on: [\"1.1\"]"),
            ("specs/epic-1/story-1.3-c.md", "depends_on: [\"1.2\"]"),
        ]);
        stage.check(
            &[],
            &["1.1", "1.2", "1.3"],
            &["specs/epic-1/story-1.1-a.md:2:14: error: \
               stories depend on each other: 1.1 -> 1.2 -> 1.1 [1.1 1.2]"],
        );
    }

    #[test]
    fn an_unknown_dependency_is_an_error_unless_it_is_done() {
        let stage = Stage::with(&[
            ("specs/epic-1/story-1.1-a.md", "depends_on: [0.1, 1.2]"),
            ("specs/epic-1/story-1.2-b.md", ""),
        ]);
        let mut backlog = stage.check(
            &["0.1", "1.1"],
            &["1.1", "1.2"],
            &[
                ".ralph/settings.json:1:1: error: stories.order has 0.1, which has no spec [0.1]",
                "specs/epic-1/story-1.1-a.md:2:14: error: \
                 story 1.1 depends on 0.1, which has no spec [1.1]",
            ],
        );
        backlog.forgive_done(&["1.1".parse().unwrap()]);
        assert_eq!(backlog.problems.len(), 2);
        backlog.forgive_done(&["0.1".parse().unwrap()]);
        assert_eq!(backlog.problems, []);
    }

    #[test]
    fn an_id_in_the_order_twice_is_a_warning() {
        let stage = Stage::with(&[("specs/epic-1/story-1.1-a.md", "")]);
        let problem = ".ralph/settings.json:1:1: warning: stories.order has 1.1 twice; using the first [1.1]";
        stage.check(&["1.1", "1.1"], &["1.1"], &[problem]);
    }

    #[test]
    fn two_files_for_one_id_are_an_error() {
        let stage = Stage::with(&[("specs/epic-1/story-1.1-a.md", ""), ("specs/epic-1/story-1.1-b.md", "")]);
        let problem = "specs/epic-1/story-1.1-b.md:1:1: error: \
                    two files for story 1.1, the other one is specs/epic-1/story-1.1-a.md [1.1]";
        stage.check(&[], &["1.1", "1.1"], &[problem]);
    }

    #[test]
    fn a_story_in_the_wrong_epic_is_an_error() {
        let stage = Stage::with(&[("specs/epic-7/story-8.3-x.md", "")]);
        let problem = "specs/epic-7/story-8.3-x.md:1:1: error: story 8.3 is in the directory of epic 7 [8.3]";
        stage.check(&[], &["8.3"], &[problem]);
    }

    #[test]
    fn names_that_nearly_match_are_warnings() {
        let stage = Stage::with(&[
            ("specs/Epic-2/story-2.1-x.md", ""),
            ("specs/epic-03/story-3.1-x.md", ""),
            ("specs/epic-1/Story-1.1-x.md", ""),
            ("specs/epic-1/story-01.2-x.md", ""),
            ("specs/epic-1/story-1.3.md", ""),
            ("specs/epic-1/story-1.4-x.markdown", ""),
            ("specs/epic-1/stroy-1.6-x.md", ""),
            ("specs/epic-1/history-1.md", ""),
            ("specs/epic-9", ""),
            ("specs/epc-4/story-4.1-x.md", ""),
            ("specs/story-1.5-x.md", ""),
        ]);
        stage.check(
            &[],
            &[],
            &[
                "specs/Epic-2:1:1: warning: not searched for stories: not named epic-N []",
                "specs/epc-4:1:1: warning: not searched for stories: not named epic-N []",
                "specs/epic-03:1:1: warning: not searched for stories: not named epic-N []",
                "specs/epic-1/Story-1.1-x.md:1:1: warning: not a story: not named story-N.M-slug.md []",
                "specs/epic-1/story-01.2-x.md:1:1: warning: not a story: not named story-N.M-slug.md []",
                "specs/epic-1/story-1.3.md:1:1: warning: not a story: not named story-N.M-slug.md []",
                "specs/epic-1/story-1.4-x.markdown:1:1: warning: not a story: not named story-N.M-slug.md []",
                "specs/epic-1/stroy-1.6-x.md:1:1: warning: not a story: not named story-N.M-slug.md []",
                "specs/epic-9:1:1: warning: not a directory []",
                "specs/story-1.5-x.md:1:1: warning: not a story: outside an epic directory []",
            ],
        );
    }

    #[test]
    fn links_are_followed_and_what_cannot_be_read_is_an_error_of_its_story() {
        let stage = Stage::with(&[("elsewhere/spec.md", "title: Linked"), ("other/story-2.1-x.md", "")]);
        fs::create_dir_all(stage.path("specs/epic-1/story-1.2-dir.md")).unwrap();
        symlink("../../elsewhere/spec.md", stage.path("specs/epic-1/story-1.1-link.md")).unwrap();
        symlink("nowhere", stage.path("specs/epic-1/story-1.3-dangling.md")).unwrap();
        symlink("../other", stage.path("specs/epic-2")).unwrap();
        let backlog = stage.read(&[]);
        assert_eq!(backlog.specs[0].title, "Linked");
        let ids: Vec<String> = backlog.specs.iter().map(|spec| spec.id.to_string()).collect();
        assert_eq!(ids, ["1.1", "1.2", "1.3", "2.1"]);
        let problems: Vec<String> = backlog.problems.iter().map(shown).collect();
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert_eq!(
            problems[0],
            "specs/epic-1/story-1.2-dir.md:1:1: error: cannot read the spec: not a regular file [1.2]"
        );
        assert!(
            problems[1].contains("story-1.3-dangling.md:1:1: error: cannot read the spec"),
            "{problems:?}"
        );
    }

    #[test]
    fn a_file_without_permission_is_an_error_of_its_story() {
        let stage = Stage::with(&[("specs/epic-1/story-1.1-a.md", "")]);
        let file = stage.path("specs/epic-1/story-1.1-a.md");
        fs::set_permissions(&file, PermissionsExt::from_mode(0o000)).unwrap();
        // Root reads it all the same.
        if fs::read(&file).is_err() {
            assert!(shown(&stage.read(&[]).problems[0]).contains("cannot read the spec"));
        }
    }

    #[test]
    fn without_specs_there_is_no_backlog() {
        let dir = tempfile::tempdir().unwrap();
        let missing = read(&Project::at(dir.path().into()), &[]).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
