//! Text of a template that was not replaced: a story or PRD that does not say yet what to build.
//!
//! The templates are the only source of these texts, so rewording one needs no change here.
//!
//! Deliberately absent: templates of the user's own. What has to be replaced in those is not known.

use crate::template;

/// A section that must be written before an agent is started.
#[derive(Debug)]
struct Section {
    heading: &'static str,
    /// What to write there.
    write: &'static str,
    rule: Rule,
}

#[derive(Clone, Copy, Debug)]
enum Rule {
    /// No line of the template may be left: an agent would take it for a requirement.
    NoLine,
    /// The template's comments may stay, beside some text.
    NotOnlyTemplate,
}

const SPEC: [Section; 2] = [
    Section {
        heading: "Story",
        write: "write who needs this, what they want to do, and why",
        rule: Rule::NoLine,
    },
    Section {
        heading: "Acceptance criteria",
        write: "list what can be observed once the story is done",
        rule: Rule::NoLine,
    },
];

const PRD: [Section; 1] = [Section {
    heading: "1. Summary",
    write: "write what to build, for whom, and why",
    rule: Rule::NotOnlyTemplate,
}];

/// Where a template's text is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    /// From 1.
    pub line: usize,
    /// Which section it is in, and what to write there.
    pub text: String,
}

/// In the spec of a story; at most one per section.
pub fn in_spec(spec: &str) -> Vec<Placeholder> {
    unchanged(&SPEC, template::SPEC, spec)
}

/// In a PRD; at most one per section.
pub fn in_prd(prd: &str) -> Vec<Placeholder> {
    unchanged(&PRD, template::TASKS_PRD, prd)
}

fn unchanged(sections: &[Section], template: &str, text: &str) -> Vec<Placeholder> {
    let found = sections.iter().filter_map(|section| {
        let laid_out: Vec<&str> = lines_of(template, section.heading).map(|(_, line)| line).collect();
        let is_laid_out = |(_, line): &(usize, &str)| laid_out.contains(line);
        let mut lines = lines_of(text, section.heading);
        let (line, _) = match section.rule {
            Rule::NoLine => lines.find(is_laid_out)?,
            Rule::NotOnlyTemplate => {
                let lines: Vec<(usize, &str)> = lines.collect();
                lines.iter().all(is_laid_out).then(|| lines.last().copied())??
            }
        };
        let text = format!("\"{}\" still has the template's text: {}", section.heading, section.write);
        Some(Placeholder { line, text })
    });
    found.collect()
}

/// The lines of a section, with their numbers, as far as they say something.
fn lines_of<'t>(text: &'t str, heading: &str) -> impl Iterator<Item = (usize, &'t str)> {
    let is_heading = |line: &str| line.starts_with('#');
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    numbered
        .skip_while(move |(_, line)| !(is_heading(line) && line.trim_start_matches('#').trim() == heading))
        .skip(1)
        .take_while(move |(_, line)| !is_heading(line))
        .map(|(number, line)| (number, sentence(line)))
        .filter(|(_, line)| !line.is_empty())
}

/// A line without its place in a list, ticked or not.
fn sentence(line: &str) -> &str {
    let line = line.trim();
    let item = line.strip_prefix(['-', '*']).unwrap_or(line).trim_start();
    let boxes = ["[ ]", "[x]", "[X]"];
    boxes.iter().find_map(|ticked| item.strip_prefix(ticked)).unwrap_or(item).trim_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(found: &[Placeholder]) -> Vec<usize> {
        found.iter().map(|placeholder| placeholder.line).collect()
    }

    #[test]
    fn every_section_that_is_looked_for_is_in_its_template() {
        assert_eq!(in_spec(template::SPEC).len(), SPEC.len());
        assert_eq!(in_prd(template::TASKS_PRD).len(), PRD.len());
    }

    #[test]
    fn a_spec_is_a_placeholder_until_the_last_line_is_replaced() {
        let (_, story) = lines_of(template::SPEC, "Story").next().unwrap();
        let criteria: Vec<(usize, &str)> = lines_of(template::SPEC, "Acceptance criteria").collect();
        let [(first_line, first), (second_line, second)] = criteria[..] else { panic!("{criteria:?}") };
        let said = template::SPEC.replace(story, "People log in.");
        assert_eq!(lines(&in_spec(&said)), [first_line]);
        let half = said.replace(first, "A passkey logs in.");
        assert_eq!(lines(&in_spec(&half)), [second_line]);
        let ticked = half.replace("- [ ]", "* [x]").replace('\n', "\r\n");
        assert_eq!(lines(&in_spec(&ticked)), [second_line]);
        assert_eq!(in_spec(&half.replace(second, "")), []);
        assert_eq!(in_spec("# Build it\n\nIt works.\n"), []);
        assert_eq!(in_spec(&format!("## Notes\n{story}\n")), []);
    }

    #[test]
    fn a_prd_needs_a_summary_and_may_keep_its_comments() {
        let heading = "## 1. Summary\n";
        let said = template::TASKS_PRD.replace(heading, &format!("{heading}\nA shop, for people.\n"));
        assert_eq!(in_prd(&said), []);
        for fine in ["", "what to build\n", "# PRD\n\n## 1. Summary\n\n## 2. More\n"] {
            assert_eq!(in_prd(fine), [], "{fine}");
        }
        let found = in_prd(template::TASKS_PRD);
        assert!(found[0].text.starts_with("\"1. Summary\" still has the template's text"), "{found:?}");
    }
}
