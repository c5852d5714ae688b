//! The rules applied to the specs of stories.
//!
//! A spec is free text. Its description is the section `Story` (or one that is called similarly),
//! else the first paragraph; its criteria are the items of the section
//! `Acceptance criteria`, else whatever can be ticked.

use super::item::{Item, Placed, Stage, shared_rules};
use super::sentences::item as list_item;
use super::words::normal;
use super::{Finding, Rule, sorted};
use crate::story_id::StoryId;
use std::ops::Range;

/// A spec as it was read.
#[derive(Clone, Debug)]
pub struct Spec<'a> {
    pub file: &'a str,
    pub id: StoryId,
    pub title: &'a str,
    /// Each with the line that it is in.
    pub depends_on: Vec<(StoryId, usize)>,
    pub text: &'a str,
    pub done: bool,
}

/// What breaks the rules of good stories. In the order of the files; nothing for those that are
/// done. `specs` are in the order in which they would be run.
pub fn specs(specs: &[Spec<'_>]) -> Vec<Finding> {
    let items: Vec<Item> = specs.iter().map(item).collect();
    let mut found = shared_rules(&items);
    for item in items.iter().filter(|item| item.is_open() && item.criteria.is_empty()) {
        let fix = "add a section `## Acceptance criteria` with what can be observed once the story is done";
        found.push(item.fault(Rule::Criteria, item.line, "no acceptance criteria", fix));
    }
    sorted(found)
}

fn item(spec: &Spec<'_>) -> Item {
    let body = Body::of(spec.text);
    let depends_on = spec.depends_on.iter().map(|(id, line)| Placed { text: id.to_string(), line: *line });
    Item {
        file: spec.file.to_owned(),
        id: spec.id.to_string(),
        line: 1,
        title: Placed { text: spec.title.to_owned(), line: body.title_line },
        description: body.description(),
        criteria: body.criteria(),
        depends_on: depends_on.collect(),
        depends_on_field: "depends_on",
        priority: 0.0,
        stage: if spec.done { Stage::Done } else { Stage::Open },
    }
}

/// Names of the section that says what a story is.
const STORY: &[&str] = &[
    "description",
    "goal",
    "objective",
    "overview",
    "purpose",
    "story",
    "story statement",
    "summary",
    "user story",
    "what",
];

/// Names of the section that says when it is done.
const CRITERIA: &[&str] = &["definition of done", "done when", "requirements"];

/// Parts of such names.
const OF_CRITERIA: &[&str] = &["acceptance", "akzeptanz", "criteria", "criterios", "critères", "critérios"];

struct Section<'t> {
    /// How many `#`; 0 for what comes before the first heading.
    level: usize,
    name: String,
    line: usize,
    /// With their numbers, and whether they are part of a block of code.
    lines: Vec<(usize, &'t str, bool)>,
}

struct Body<'t> {
    title_line: usize,
    sections: Vec<Section<'t>>,
}

impl<'t> Body<'t> {
    fn of(text: &'t str) -> Body<'t> {
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line)).peekable();
        let mut title_line = None;
        if lines.next_if(|(_, line)| line.trim_start_matches('\u{FEFF}').trim_end() == "---").is_some() {
            for (number, line) in lines.by_ref().take_while(|(_, line)| line.trim_end() != "---") {
                if line.starts_with("title:") {
                    title_line = Some(number);
                }
            }
        }
        let first = Section { level: 0, name: String::new(), line: 1, lines: Vec::new() };
        let mut sections = vec![first];
        let (mut fence, mut comment) = (None, false);
        for (number, line) in lines {
            let is_fence = |mark: &&str| line.trim_start().starts_with(mark);
            let mark = ["```", "~~~"].into_iter().find(|mark| is_fence(mark));
            match (fence, mark) {
                (None, Some(mark)) => fence = Some(mark),
                (Some(open), Some(mark)) if open == mark => fence = None,
                _ => {}
            }
            if mark.is_some() {
                continue;
            }
            let hidden = comment || line.trim_start().starts_with("<!--");
            if fence.is_none() && hidden {
                comment = !line.contains("-->");
                continue;
            }
            match heading(line).filter(|_| fence.is_none()) {
                Some((level, name)) => {
                    title_line = title_line.or((level == 1).then_some(number));
                    sections.push(Section { level, name, line: number, lines: Vec::new() });
                }
                None => {
                    if let Some(section) = sections.last_mut() {
                        section.lines.push((number, line, fence.is_some()));
                    }
                }
            }
        }
        Body { title_line: title_line.unwrap_or(1), sections }
    }

    fn description(&self) -> Placed {
        let named = |section: &&Section<'_>| section.level > 1 && STORY.contains(&section.name.as_str());
        if let Some(section) = self.sections.iter().find(named) {
            return placed(section.prose(), section.line);
        }
        let criteria = self.criteria_sections();
        let others = self.sections.iter().enumerate().filter(|(number, _)| !criteria.contains(number));
        let begins_with_text = |section: &&Section<'_>| {
            section.prose().find(says_something).is_some_and(|(_, line)| list_item(line.trim()).is_none())
        };
        let Some(section) = others.map(|(_, section)| section).find(begins_with_text) else {
            return Placed { text: String::new(), line: 1 };
        };
        // Under another name, or none, the rest of a section may be about anything.
        let from_text = section.prose().skip_while(|line| !says_something(line));
        placed(from_text.take_while(says_something), section.line)
    }

    fn criteria(&self) -> Vec<Placed> {
        match self.criteria_sections() {
            sections if sections.is_empty() => self.sections.iter().flat_map(boxes).collect(),
            sections => self.sections[sections].iter().flat_map(criteria_of).collect(),
        }
    }

    /// The section with the criteria and those below it; empty if there is none.
    fn criteria_sections(&self) -> Range<usize> {
        let is_criteria = |section: &Section<'_>| {
            let name = section.name.as_str();
            CRITERIA.contains(&name) || OF_CRITERIA.iter().any(|part| name.contains(part))
        };
        let Some(start) = self.sections.iter().position(is_criteria) else { return 0..0 };
        let (first, after) = (&self.sections[start], &self.sections[start + 1..]);
        start..start + 1 + after.iter().take_while(|section| section.level > first.level).count()
    }
}

impl<'t> Section<'t> {
    /// Without blocks of code.
    fn prose(&self) -> impl Iterator<Item = (usize, &'t str)> {
        self.lines.iter().filter(|(_, _, code)| !code).map(|(number, line, _)| (*number, *line))
    }
}

fn says_something((_, line): &(usize, &str)) -> bool {
    !line.trim().is_empty()
}

/// Lines as one text, at the first of them that says something.
fn placed<'t>(lines: impl Iterator<Item = (usize, &'t str)>, otherwise: usize) -> Placed {
    let lines: Vec<(usize, &str)> = lines.collect();
    let first = lines.iter().find(|line| says_something(line));
    let text = lines.iter().map(|(_, line)| *line).collect::<Vec<_>>().join("\n");
    Placed { text: text.trim().to_owned(), line: first.map_or(otherwise, |(number, _)| *number) }
}

/// The level and the normalized name of a heading.
fn heading(line: &str) -> Option<(usize, String)> {
    let name = line.trim_start_matches('#');
    let level = line.len() - name.len();
    (level > 0 && name.starts_with([' ', '\t'])).then(|| (level, normal(name)))
}

/// The items of a list with what is indented below them; without a list, each paragraph.
fn criteria_of(section: &Section<'_>) -> Vec<Placed> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let items = section.prose().filter(|(_, line)| list_item(line.trim_start()).is_some());
    let outermost = items.map(|(_, line)| indent(line)).min();
    let mut criteria: Vec<Placed> = Vec::new();
    let mut open = false;
    for (number, line, code) in &section.lines {
        let text = line.trim();
        let item = list_item(text).filter(|_| !code && Some(indent(line)) == outermost);
        match (item, criteria.last_mut()) {
            _ if text.is_empty() => open &= outermost.is_some(),
            (Some(item), _) => {
                let text = in_box(item).unwrap_or(item).to_owned();
                criteria.push(Placed { text, line: *number });
                open = true;
            }
            (None, Some(last)) if open => last.text = format!("{} {text}", last.text),
            // What introduces a list is no criterion.
            (None, _) if outermost.is_some() => {}
            (None, _) => {
                criteria.push(Placed { text: text.to_owned(), line: *number });
                open = true;
            }
        }
    }
    criteria
}

/// What can be ticked is a criterion, wherever it is.
fn boxes(section: &Section<'_>) -> Vec<Placed> {
    let ticked = |line: &str| list_item(line).and_then(in_box).map(|text| text.trim().to_owned());
    section.prose().filter_map(|(line, text)| Some(Placed { text: ticked(text)?, line })).collect()
}

/// What follows `[ ]` or `[x]`.
fn in_box(item: &str) -> Option<&str> {
    ["[ ]", "[x]", "[X]"].iter().find_map(|ticked| item.strip_prefix(ticked)).map(str::trim_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, description: (&str, usize), criteria: &[(&str, usize)]) {
        let body = Body::of(text);
        let found = body.description();
        assert_eq!((found.text.as_str(), found.line), description, "{text}");
        let found = body.criteria();
        let found: Vec<(&str, usize)> =
            found.iter().map(|placed| (placed.text.as_str(), placed.line)).collect();
        assert_eq!(found, criteria, "{text}");
    }

    #[test]
    fn the_story_and_its_criteria_are_found_however_they_are_written() {
        check("", ("", 1), &[]);
        check("# Title\n\n\nOne\ntwo\n\nthree\n", ("One\ntwo", 4), &[]);
        check(
            "---\ntitle: x\n---\n## Context\nc\n## Story\n\na\n\nb\n## Acceptance Criteria\n\nAll of:\n- [ ] x\n  more\n\n- y",
            ("a\n\nb", 8),
            &[("x more", 14), ("y", 17)],
        );
        check(
            "What\n## Done when\n\nfirst\nand on\n\nsecond\n```\n# third\n```\n",
            ("What", 1),
            &[("first and on", 4), ("second # third", 7)],
        );
        check(
            "### AC\n## Criteria\n  1. a\n     - b\n  2. c\n### More\n- d\n## Notes\n- e",
            ("", 1),
            &[("a - b", 3), ("c", 5), ("d", 7)],
        );
        check("x\n- [x] a\n<!-- - [ ] b\n-->\n* [ ] c", ("x\n- [x] a\n* [ ] c", 1), &[("a", 2), ("c", 5)]);
    }
}
