//! The PRD that planning leaves: whole where there was none, and otherwise the user's own words with
//! what was assumed or answered under headings of its own.

/// What a planner decided without asking.
pub const ASSUMPTIONS: &str = "Assumptions";

/// What the user was asked by ralph, and said.
pub const ANSWERS: &str = "Questions and answers";

/// A question and what the user said.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct QuestionAnswered {
    pub question: String,
    pub answer: String,
}

/// The PRD that existed, with the assumptions of the draft. Nothing else of the draft counts.
pub fn kept(old: &str, draft: &str) -> String {
    match section(draft, ASSUMPTIONS) {
        Some(body) => with_section(old, ASSUMPTIONS, body),
        None => old.to_owned(),
    }
}

/// The same PRD with these answers behind those that it has.
pub fn with_answers(prd: &str, answers: &[QuestionAnswered]) -> String {
    if answers.is_empty() {
        return prd.to_owned();
    }
    let mut body = section(prd, ANSWERS).unwrap_or_default().trim_end().to_owned();
    for QuestionAnswered { question, answer } in answers {
        let item = format!("- {} **{}**", one_line(question), one_line(answer));
        if !body.contains(&item) {
            body = if body.is_empty() { item } else { format!("{body}\n{item}") };
        }
    }
    with_section(prd, ANSWERS, &body)
}

/// What is assumed, one thing each.
pub fn assumptions(prd: &str) -> Vec<String> {
    items(prd, ASSUMPTIONS)
}

/// The acceptance criteria of a spec, ticked or not.
pub fn criteria(spec: &str) -> Vec<String> {
    let without_box = |item: String| {
        let boxes = ["[ ]", "[x]", "[X]"];
        let rest =
            boxes.iter().find_map(|ticked| item.strip_prefix(ticked)).map(|rest| rest.trim().to_owned());
        rest.unwrap_or(item)
    };
    items(spec, "Acceptance criteria").into_iter().map(without_box).collect()
}

/// The items of the list under a heading.
fn items(text: &str, heading: &str) -> Vec<String> {
    let Some(body) = section(text, heading) else { return Vec::new() };
    let mut items: Vec<String> = Vec::new();
    for line in body.lines().filter(|line| !line.trim().is_empty()) {
        let text = line.trim();
        let item = text.strip_prefix("- ").or_else(|| text.strip_prefix("* "));
        match (item, items.last_mut()) {
            (Some(item), _) => items.push(item.trim().to_owned()),
            // A line that goes on with the one before is indented, or follows an item.
            (None, Some(last)) => *last = format!("{last} {text}"),
            (None, None) => items.push(text.to_owned()),
        }
    }
    items
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text under a heading, up to the next one of its level or above.
pub fn section<'t>(text: &'t str, heading: &str) -> Option<&'t str> {
    let (start, end) = place(text, heading)?;
    let body = &text[start..end];
    let body = body.split_once('\n').map_or("", |(_, body)| body);
    Some(body.trim_matches('\n'))
}

/// Replaces the text under a heading, which is added at the end if there is none.
fn with_section(text: &str, heading: &str, body: &str) -> String {
    let body = body.trim_matches('\n');
    match place(text, heading) {
        Some((start, end)) => {
            let title = text[start..end].lines().next().unwrap_or_default();
            let after = &text[end..];
            let gap = if after.is_empty() { "" } else { "\n" };
            format!("{}{title}\n\n{body}\n{gap}{after}", &text[..start])
        }
        None => {
            let text = text.trim_end();
            let gap = if text.is_empty() { "" } else { "\n\n" };
            format!("{text}{gap}## {heading}\n\n{body}\n")
        }
    }
}

/// Where a section begins, heading included, and ends.
fn place(text: &str, heading: &str) -> Option<(usize, usize)> {
    let mut found: Option<(usize, usize)> = None;
    let mut at = 0;
    let mut in_code = false;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if let Some((level, title)) = heading_of(line).filter(|_| !in_code) {
            match found {
                None if title.eq_ignore_ascii_case(heading) => found = Some((at, level)),
                Some((start, own)) if level <= own => return Some((start, at)),
                None | Some(_) => {}
            }
        }
        at += line.len();
    }
    found.map(|(start, _)| (start, text.len()))
}

/// The level and the title of a heading, without its number.
fn heading_of(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    let is_heading = (1..=6).contains(&level) && title.starts_with([' ', '\t']);
    let title = title.trim();
    let number = title.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    let title = if number > 0 { title[number..].trim_start_matches('.').trim() } else { title };
    is_heading.then_some((level, title))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRD: &str = "# PRD: shop\n\n## 1. Summary\n\nA shop.\n";

    #[test]
    fn only_the_assumptions_of_a_draft_get_into_a_prd_that_exists() {
        let draft = "# Another\n\n## 11. Assumptions\n\n- One currency\n\n## 12. More\n\nx\n";
        let kept_once = kept(PRD, draft);
        assert_eq!(kept_once, format!("{PRD}\n## Assumptions\n\n- One currency\n"));
        assert_eq!(
            kept(&kept_once, "## Assumptions\n\n- Two\n"),
            format!("{PRD}\n## Assumptions\n\n- Two\n")
        );
        assert_eq!(kept(PRD, "# Nothing assumed\n"), PRD);
        let followed = "## Assumptions\n\n- a\n\n## After\n\nrest\n";
        assert_eq!(kept(followed, "# Assumptions\n- b"), "## Assumptions\n\n- b\n\n## After\n\nrest\n");
    }

    #[test]
    fn assumptions_are_told_one_by_one() {
        let prd = "## Assumptions\n\n- One\n  goes on\n* Two\n\n### Detail\n\n- Three\n## Next\n- no\n";
        assert_eq!(assumptions(prd), ["One goes on", "Two ### Detail", "Three"]);
        assert_eq!(assumptions("```\n## Assumptions\n- in code\n```\n"), Vec::<String>::new());
        assert_eq!(assumptions("## Assumptions\nIn prose.\n"), ["In prose."]);
        assert_eq!(assumptions(PRD), Vec::<String>::new());
    }

    #[test]
    fn criteria_are_told_without_their_boxes() {
        let spec = "## Acceptance criteria\n\n- [ ] One\n- [x] Two\n* Three\n\n## Tests\n- no\n";
        assert_eq!(criteria(spec), ["One", "Two", "Three"]);
    }

    #[test]
    fn answers_are_kept_and_not_repeated() {
        let answer = |question: &str, answer: &str| QuestionAnswered {
            question: question.to_owned(),
            answer: answer.to_owned(),
        };
        let once = with_answers(PRD, &[answer("Which\nstore?", "SQLite")]);
        assert_eq!(once, format!("{PRD}\n## Questions and answers\n\n- Which store? **SQLite**\n"));
        let twice = with_answers(&once, &[answer("Which store?", "SQLite"), answer("Why?", "Fast")]);
        assert_eq!(twice, format!("{once}- Why? **Fast**\n"));
        assert_eq!(with_answers(PRD, &[]), PRD);
    }
}
