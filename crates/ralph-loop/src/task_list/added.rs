//! Stories that people add while agents work on the list.
//!
//! An agent writes the whole file, from a copy that it may have read before the story was added.

use super::{Story, TaskList, field};

impl TaskList {
    /// Whether a story that was added is there, be it reworded or under another id.
    pub fn holds(&self, added: &Story) -> bool {
        self.stories.iter().any(|story| {
            let title = story.title() == added.title();
            let criteria = story.acceptance_criteria() == added.acceptance_criteria();
            (title && criteria) || (story.id() == added.id() && (title || criteria))
        })
    }

    /// Takes in what is missing of the stories that were added. One whose id an agent has given to
    /// a story of its own gets the next. Returns whether anything was missing.
    pub fn take_in(&mut self, added: &[Story]) -> bool {
        let before = self.stories.len();
        for story in added {
            if self.holds(story) {
                continue;
            }
            let mut story = story.clone();
            if self.story(story.id()).is_some() {
                story.set_field(field::ID, self.next_id(&[]).as_str().into());
            }
            self.stories.push(story);
        }
        self.stories.len() > before
    }

    /// One above every number in use, also by `others`: an id of a story that was removed may
    /// still be in the log.
    pub fn next_id(&self, others: &[Story]) -> String {
        let stories = self.stories.iter().chain(others);
        let numbers = stories.filter_map(|story| story.id().strip_prefix("US-")?.parse::<u32>().ok());
        let next = numbers.max().unwrap_or(0).saturating_add(1);
        format!("US-{next:03}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn story(id: &str, title: &str) -> Story {
        Story::new(id, title, &[&format!("{title} works")], 1)
    }

    fn list(ids: &[&str]) -> TaskList {
        TaskList::of(ids.iter().map(|id| story(id, &format!("story {id}"))).collect())
    }

    #[test]
    fn the_next_id_is_above_all_that_are_there() {
        assert_eq!(list(&[]).next_id(&[]), "US-001");
        assert_eq!(list(&["US-002", "US-010", "LOGIN-99", "US-x"]).next_id(&[]), "US-011");
        assert_eq!(list(&["US-1234"]).next_id(&[]), "US-1235");
        assert_eq!(list(&["US-001"]).next_id(&list(&["US-005"]).stories), "US-006");
    }

    #[test]
    fn what_is_missing_is_taken_in_once() {
        let added = [story("US-002", "log in"), story("US-003", "log out")];
        let mut there = list(&["US-001"]);
        assert!(there.take_in(&added));
        assert!(!there.take_in(&added));
        let ids: Vec<&str> = there.stories.iter().map(Story::id).collect();
        assert_eq!(ids, ["US-001", "US-002", "US-003"]);
    }

    #[test]
    fn a_reworded_story_is_there() {
        let mut there = list(&["US-001"]);
        there.stories.push(story("US-002", "log in"));
        there.stories[1].set_field(field::TITLE, "log in with a passkey".into());
        assert!(!there.take_in(&[story("US-002", "log in")]));
    }

    #[test]
    fn an_id_that_an_agent_has_given_away_is_replaced() {
        let mut there = list(&["US-001", "US-002"]);
        let added = [story("US-002", "log in")];
        assert!(there.take_in(&added));
        assert_eq!((there.stories[2].id(), there.stories[2].title()), ("US-003", "log in"));
        assert!(!there.take_in(&added));
    }
}
