//! What `progress.txt` says: which stories were done, and what was learned.
//!
//! People write into that file too, so only what stands at the beginning of a line counts; what
//! an agent gave as its reason for a failure may well hold a `[DONE]`.

use jiff::Timestamp;
use ralph_loop::story_id::StoryId;

const DONE: &str = "[DONE] Story ";
const FAIL: &str = "[FAIL] Story ";
const LEARN: &str = "[LEARN]";

/// The stories of the `[DONE]` lines, each once, in the order in which they were done first; and
/// what cannot be understood of these lines.
pub fn done(progress_txt: &str) -> (Vec<StoryId>, Vec<String>) {
    let (mut done, mut notes) = (Vec::new(), Vec::new());
    for (number, line) in lines(progress_txt).enumerate() {
        let Some(rest) = line.strip_prefix(DONE) else { continue };
        let word = rest.split_whitespace().next().unwrap_or_default().trim_end_matches([':', ',']);
        match word.parse::<StoryId>() {
            Ok(id) if done.contains(&id) => {}
            Ok(id) => done.push(id),
            Err(cause) => notes.push(format!("progress.txt, line {}: {cause}", number + 1)),
        }
    }
    (done, notes)
}

/// What the `[LEARN]` lines say, newest last.
pub fn learned(progress_txt: &str) -> Vec<String> {
    let said = lines(progress_txt).filter_map(|line| line.strip_prefix(LEARN)).map(str::trim);
    said.filter(|said| !said.is_empty()).map(String::from).collect()
}

/// Whether a line is of a form that ralph writes. People note down what they learned in the same
/// form, and nothing else.
pub fn is_ralphs(line: &str) -> bool {
    if line.starts_with(LEARN) {
        return true;
    }
    let Some(rest) = line.strip_prefix(DONE).or_else(|| line.strip_prefix(FAIL)) else { return false };
    let id = rest.split(' ').next().unwrap_or_default();
    id.parse::<StoryId>().is_ok() && timeless(line).is_some()
}

/// A line about a story in two: without its time, and that.
pub fn timeless(line: &str) -> Option<((&str, &str), Timestamp)> {
    let (head, rest) = line.rsplit_once(" - ")?;
    let (time, attempt) = rest.split_once(' ').unwrap_or((rest, ""));
    Some(((head, attempt), time.parse().ok()?))
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.trim_start_matches('\u{feff}').lines().map(str::trim_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn done_lines_count_once_and_in_their_order() {
        let text = "\u{feff}[DONE] Story 1.10 - Ten - 2026-01-30 10:00:00\r\n\
                    started by hand\n\
                    [FAIL] Story 1.2 - said [DONE] Story 1.3 - 2026-01-30 (attempt 1/3)\n\
                    \x20 [DONE] Story 1.9: nine\n\
                    [DONE] Story 1.10 - again\n\
                    [LEARN] [DONE] Story 1.4\n\
                    [DONE] Story 2.1";
        let (done, notes) = done(text);
        assert_eq!(done.iter().map(StoryId::to_string).collect::<Vec<_>>(), ["1.10", "1.9", "2.1"]);
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn only_lines_as_ralph_writes_them_are_its_own() {
        for own in [
            "[DONE] Story 1.1 - Log in - with a key - 2026-11-15T22:15:01Z",
            "[FAIL] Story 1.1 - a check failed: x - y - 2026-11-15T22:15:01Z (attempt 1/3)",
            "[LEARN] use the fake clock",
        ] {
            assert!(is_ralphs(own), "{own}");
        }
        for other in [
            "started by hand",
            "[DONE] Story 1.1",
            "[DONE] Story 1.1 - by hand - yesterday",
            "[FAIL] Story one - x - 2026-11-15T22:15:01Z",
            " [LEARN] indented",
        ] {
            assert!(!is_ralphs(other), "{other}");
        }
    }

    #[test]
    fn done_lines_with_ids_like_these_are_told_of() {
        for bad in ["../x", "8", "08.3", "8.3.1", ""] {
            let (done, notes) = done(&format!("\n[DONE] Story {bad} - x\n[DONE] Story 1.1\n"));
            assert_eq!(done.len(), 1, "{bad}");
            assert!(
                notes.len() == 1 && notes[0].starts_with("progress.txt, line 2: not a story id"),
                "{notes:?}"
            );
        }
    }

    #[test]
    fn learnings_are_the_learn_lines_newest_last() {
        let text = "[LEARN] first \n[DONE] Story 1.1\nno [LEARN] this\n[LEARN]\n[LEARN] second\r\n";
        assert_eq!(learned(text), ["first", "second"]);
    }
}
