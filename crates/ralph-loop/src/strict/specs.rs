//! The rules applied to the specs of stories.
//!
//! A spec is free text. Its description is the section `Story` (or one that is called similarly),
//! else what comes before the first section; its criteria are the items of the section
//! `Acceptance criteria`.

use super::item::{Item, Placed, Stage, shared_rules};
use super::sentences::item as list_item;
use super::words::normal;
use super::{Finding, Rule, sorted};
use crate::story_id::StoryId;

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

/// Names of the section that says when it is done, apart from those with `acceptance`.
const CRITERIA: &[&str] =
    &["criteria", "definition of done", "done when", "requirements", "success criteria"];

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
        let named =
            self.sections.iter().find(|section| section.level > 1 && STORY.contains(&section.name.as_str()));
        let untitled = || {
            let before = self.sections.iter().take_while(|section| section.level < 2);
            before.filter(|section| section.lines.iter().any(says_something)).last()
        };
        let Some(section) = named.or_else(untitled) else { return Placed { text: String::new(), line: 1 } };
        let first = section.lines.iter().find(|line| says_something(line));
        let prose = section.lines.iter().filter(|(_, _, code)| !code).map(|(_, line, _)| *line);
        Placed {
            text: prose.collect::<Vec<_>>().join("\n").trim().to_owned(),
            line: first.map_or(section.line, |(number, ..)| *number),
        }
    }

    fn criteria(&self) -> Vec<Placed> {
        let is_criteria = |section: &Section<'_>| {
            section.level > 0
                && (section.name.contains("acceptance") || CRITERIA.contains(&section.name.as_str()))
        };
        let Some(at) = self.sections.iter().position(is_criteria) else { return Vec::new() };
        let within =
            self.sections[at + 1..].iter().take_while(|section| section.level > self.sections[at].level);
        std::iter::once(&self.sections[at]).chain(within).flat_map(criteria_of).collect()
    }
}

fn says_something(line: &(usize, &str, bool)) -> bool {
    !line.1.trim().is_empty()
}

/// The level and the normalized name of a heading.
fn heading(line: &str) -> Option<(usize, String)> {
    let name = line.trim_start_matches('#');
    let level = line.len() - name.len();
    (level > 0 && name.starts_with([' ', '\t'])).then(|| (level, normal(name)))
}

/// The items of a list with what is indented below them; without a list, each paragraph.
fn criteria_of(section: &Section<'_>) -> Vec<Placed> {
    let has_items = section.lines.iter().any(|(_, line, code)| !code && list_item(line).is_some());
    let mut criteria: Vec<Placed> = Vec::new();
    let mut open = false;
    for (number, line, code) in &section.lines {
        if line.trim().is_empty() {
            open &= has_items;
            continue;
        }
        match list_item(line).filter(|_| !code) {
            Some(text) => {
                criteria.push(Placed { text: without_box(text).trim_end().to_owned(), line: *number });
            }
            // What introduces a list is no criterion.
            None if has_items && criteria.is_empty() => continue,
            None if !open => criteria.push(Placed { text: line.trim().to_owned(), line: *number }),
            None => {
                if let Some(last) = criteria.last_mut() {
                    last.text.push(' ');
                    last.text.push_str(line.trim());
                }
            }
        }
        open = true;
    }
    criteria
}

/// Without `[ ]` or `[x]`.
fn without_box(item: &str) -> &str {
    ["[ ]", "[x]", "[X]"].iter().find_map(|ticked| item.strip_prefix(ticked)).unwrap_or(item).trim_start()
}
