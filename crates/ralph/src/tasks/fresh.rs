//! The files of a task list as they begin.

use crate::layout::{Project, TasksDir};
use crate::template;
use jiff::Zoned;
use ralph_loop::task_list::{TaskList, field};
use std::path::PathBuf;

/// What the templates' gaps are filled with.
#[derive(Clone, Debug)]
pub struct Fresh {
    project_name: String,
    branch: Option<String>,
    date: String,
}

impl Fresh {
    /// Of a feature, or of the project as a whole.
    pub fn of(project: &Project, feature: Option<&str>) -> Fresh {
        Fresh {
            project_name: feature.map_or_else(|| project.name(), String::from),
            branch: feature.map(|feature| format!("ralph/{feature}")),
            date: Zoned::now().strftime("%Y-%m-%d").to_string(),
        }
    }

    pub fn prd(&self) -> String {
        self.filled(template::TASKS_PRD)
    }

    pub fn progress(&self) -> String {
        self.filled(template::TASKS_PROGRESS)
    }

    pub fn list(&self) -> String {
        // The template is ours, and a test reads it.
        let Ok(mut list) = TaskList::parse(template::TASKS_LIST) else { return String::new() };
        list.set_field(field::PROJECT, self.project_name.as_str().into());
        if let Some(branch) = &self.branch {
            list.set_field(field::BRANCH_NAME, branch.as_str().into());
        }
        list.to_text()
    }

    /// Everything that there is to lay out, in the order in which a person reads it.
    pub fn files(&self, dir: &TasksDir) -> [(PathBuf, String); 4] {
        [
            (dir.prd(), self.prd()),
            (dir.list(), self.list()),
            (dir.progress(), self.progress()),
            (dir.prompt(), template::TASKS_PROMPT.to_string()),
        ]
    }

    fn filled(&self, template: &str) -> String {
        template.replace("{{DATE}}", &self.date).replace("{{PROJECT_NAME}}", &self.project_name)
    }
}

/// Whether a list is still the template: it does not say what to do.
pub fn is_untouched(list: &TaskList) -> bool {
    list.stories.iter().all(|story| {
        story.title().trim().is_empty() && story.acceptance_criteria().is_empty() && !story.passes()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gaps_are_filled_in_and_the_list_can_be_read() {
        let project = Project::at("/somewhere/shop".into());
        let fresh = Fresh { date: "2026-11-15".into(), ..Fresh::of(&project, Some("login")) };
        let list = TaskList::parse(&fresh.list()).unwrap();
        assert_eq!((list.project(), list.branch_name()), ("login", "ralph/login"));
        assert!(is_untouched(&list));
        assert!(fresh.progress().starts_with("# Ralph Progress Log\nStarted: 2026-11-15\nPRD: login\n"));
        let whole = Fresh::of(&project, None);
        assert_eq!(TaskList::parse(&whole.list()).unwrap().branch_name(), "ralph/feature-name");
        assert!(whole.prd().starts_with("# PRD: shop\n"));
        for (path, text) in whole.files(&TasksDir::at("ralph".into())) {
            assert!(!text.contains("{{"), "{}", path.display());
        }
    }
}
