//! How many sentences a text has.
//!
//! Rather too few than too many: a version number, an abbreviation or a file name must not make a
//! story too long.

/// Never the end of a sentence.
const WITHIN: &[&str] = &[
    "approx", "ca", "cf", "dr", "e.g", "eg", "excl", "fig", "i.e", "ie", "incl", "mr", "mrs", "ms", "resp",
    "st", "viz", "vs",
];

/// The end of a sentence only before a capital letter.
const MAYBE: &[&str] = &[
    "a.m", "al", "avg", "co", "corp", "etc", "inc", "ltd", "max", "min", "no", "nr", "p.m", "sec", "u.k",
    "u.s",
];

pub(super) fn sentences(text: &str) -> usize {
    blocks(text).iter().map(|block| in_block(block)).sum()
}

/// Paragraphs and items of lists. The first item belongs to the line that introduces the list.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            open = blocks.last().is_some_and(|block| block.ends_with(':'));
            continue;
        }
        let item = item(line);
        let introduced = blocks.last().is_some_and(|block| block.ends_with(':'));
        match blocks.last_mut() {
            Some(block) if (open && item.is_none()) || introduced => {
                block.push(' ');
                block.push_str(item.unwrap_or(line));
            }
            _ => blocks.push(item.unwrap_or(line).to_owned()),
        }
        open = true;
    }
    blocks
}

/// The text of a line that is an item of a list.
pub(super) fn item(line: &str) -> Option<&str> {
    let unnumbered = ["- ", "* ", "+ ", "• ", "– "].iter().find_map(|mark| line.strip_prefix(mark));
    let numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_number = rest.len() < line.len();
        is_number.then(|| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))).flatten()
    };
    unnumbered.or_else(numbered).map(str::trim_start)
}

fn in_block(block: &str) -> usize {
    let chars: Vec<char> = block.chars().collect();
    let (mut count, mut has_words) = (0, false);
    let mut quote: Option<char> = None;
    for (at, c) in chars.iter().copied().enumerate() {
        has_words |= c.is_alphanumeric();
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            // What is quoted may be a sentence of its own, but belongs to this one.
            (Some(_), _) => {}
            (None, '`' | '"') if chars[at + 1..].contains(&c) => quote = Some(c),
            (None, _) if has_words && ends(&chars, at) => {
                count += 1;
                has_words = false;
            }
            (None, _) => {}
        }
    }
    count + usize::from(has_words)
}

fn ends(chars: &[char], at: usize) -> bool {
    match chars[at] {
        '。' | '！' | '？' => return true,
        '.' | '!' | '?' => {}
        _ => return false,
    }
    let rest = chars[at + 1..].iter().skip_while(|c| matches!(c, ')' | '"' | '\'' | '”' | '’' | '*' | '_'));
    let mut rest = rest.copied();
    if rest.next().is_some_and(|c| !c.is_whitespace()) {
        return false;
    }
    let next = rest.find(|c| c.is_alphanumeric());
    if chars[at] != '.' {
        return true;
    }
    let word: Vec<char> = chars[..at].iter().rev().take_while(|c| !c.is_whitespace()).copied().collect();
    let word: String = word.into_iter().rev().collect::<String>().to_lowercase();
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    let before_capital = next.is_none_or(char::is_uppercase);
    match word {
        // An ellipsis, or the initial of a name.
        _ if word.ends_with('.') && !MAYBE.contains(&word.trim_end_matches('.')) => before_capital,
        _ if word.chars().count() == 1 && word.chars().all(char::is_alphabetic) => next.is_none(),
        _ if WITHIN.contains(&word) => next.is_none(),
        _ if MAYBE.contains(&word) => before_capital,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_counted_as_people_do() {
        for (count, text) in [
            (0, ""),
            (0, " … "),
            (1, "Add a column"),
            (1, "As a user,\nI want to log in,\nso that I see my own orders."),
            (2, "Add a column. Migrate it."),
            (2, "The price is 3.50 in v1.2.3 of Node.js. It is kept in tasks.json!"),
            (1, "Times (e.g. 10 a.m. or 3 p.m. local) and units, i.e. cm vs. inches, etc. are kept."),
            (2, "Keep names, dates, etc. Drop the rest."),
            (2, "Is it there? ralph says so."),
            (1, "It says \"Saved. Undo?\" and `a. B. c.` next to J. Doe."),
            (1, "Wait... then go on"),
            (2, "Wait... Then go on"),
            (2, "(It is optional.) Keep it."),
            (2, "第一句。第二句。"),
            (3, "First\n\nSecond\n\nThird"),
            (3, "It has:\n- a list\n- a form\n- a page"),
            (4, "1. one\n2. two\n3. three\n4. four"),
            (2, "One line\nand its end.\n\nAnother"),
        ] {
            assert_eq!(sentences(text), count, "{text}");
        }
    }
}
