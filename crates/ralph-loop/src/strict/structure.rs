//! What keeps a list from being run at all, with the lines where it is.

use crate::review::{ReviewRules, standing};
use crate::task_list::{Story, TWICE, TaskList, Unreadable, dead_ends, story_lines};
use std::collections::HashMap;

/// An error of a list, strict or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListError {
    /// Where the story begins, or the text is no JSON any more.
    pub line: Option<usize>,
    pub story: Option<String>,
    pub text: String,
}

/// What a story without an id goes by, before its number.
const NUMBER: &str = "number ";

pub fn list_errors(
    list: &Result<TaskList, Unreadable>,
    text: &str,
    rules: &ReviewRules<'_>,
) -> Vec<ListError> {
    let error = |story: Option<String>, text| ListError { line: None, story, text };
    let standing = standing(list.as_ref(), rules);
    let mut errors: Vec<ListError> =
        standing.into_iter().map(|violation| error(violation.story, violation.message)).collect();
    let list = match list {
        Ok(list) => list,
        Err(why) => {
            let line = unreadable_line(why, text);
            errors.iter_mut().for_each(|error| error.line = line);
            return errors;
        }
    };
    if list.stories.is_empty() {
        errors.push(error(None, "The task list has no stories.".to_owned()));
    }
    let stuck = dead_ends(list, rules.skip_review);
    errors.extend(
        stuck
            .iter()
            .map(|stuck| error(Some(stuck.story.to_owned()), format!("Story {stuck}: it can never start."))),
    );
    let lines = StoryLines::of(list, text);
    for error in &mut errors {
        error.line = error.story.as_deref().and_then(|story| match error.text.ends_with(TWICE) {
            true => lines.last(story),
            false => lines.first(story),
        });
    }
    errors
}

fn unreadable_line(why: &Unreadable, text: &str) -> Option<usize> {
    match why {
        Unreadable::StoryNotAnObject { number, .. } => story_lines(text).get(number - 1).copied(),
        Unreadable::Syntax(why) => syntax_line(why),
        Unreadable::Missing
        | Unreadable::NotAnObject
        | Unreadable::NoStories
        | Unreadable::StoriesNotAList { .. }
        | Unreadable::Denied(_) => None,
    }
}

/// The parser's words end with ` at line 3 column 5`.
fn syntax_line(why: &str) -> Option<usize> {
    why.rsplit_once(" at line ")?.1.split(' ').next()?.parse().ok()
}

/// The lines of stories by what errors call them.
pub struct StoryLines<'l> {
    lines: Vec<usize>,
    first: HashMap<&'l str, usize>,
    last: HashMap<&'l str, usize>,
}

impl<'l> StoryLines<'l> {
    pub fn of(list: &'l TaskList, text: &str) -> StoryLines<'l> {
        let lines = story_lines(text);
        let stories = || list.stories.iter().map(Story::id).zip(lines.iter().copied());
        let (first, last) = (stories().rev().collect(), stories().collect());
        StoryLines { lines, first, last }
    }

    /// Of a story by its id, or by its number if it has none; of two with one id the first.
    pub fn first(&self, story: &str) -> Option<usize> {
        self.line(story, &self.first)
    }

    fn last(&self, story: &str) -> Option<usize> {
        self.line(story, &self.last)
    }

    fn line(&self, story: &str, by_id: &HashMap<&str, usize>) -> Option<usize> {
        match story.strip_prefix(NUMBER) {
            Some(number) => self.lines.get(number.parse::<usize>().ok()?.checked_sub(1)?).copied(),
            None => by_id.get(story).copied(),
        }
    }
}
