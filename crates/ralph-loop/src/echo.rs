//! The prompt's echo, taken out of what a plain agent prints.
//!
//! A plain agent has one output for everything, and many print the prompt they were given.
//! The prompt tells the agent which tag to print, so its echo would be a claim that no one
//! made. [`EchoFilter`] drops the prompt as a whole, or three or more consecutive lines of
//! it, or the sentence that asks for a tag with the tag that follows it. Invariant: any other line
//! that alone, or with one neighbour, equals a line of the prompt is kept, so an honest tag counts
//! even if the prompt shows the very same line.
//!
//! How: lines are compared without indentation, quote marks and numbering, lines that are nothing
//! else not at all. All windows of three consecutive prompt lines are kept as hashes, and an output
//! line that is part of such a window is dropped. Lines of a window may all have the same label
//! before them, such as `[12:01:02] ` or `user: `. Only lines that occur in the prompt are held
//! back, two at most, so memory is a few bytes for each prompt line and three lines of output.
//!
//! Deliberately absent: echoes that were rewrapped. To find those means to guess, and a wrong
//! guess would swallow an honest claim.

use crate::claim::ends_with_tag;
use crate::quoting::bare;
use crate::text::printable;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// Consecutive lines that make an echo. A shorter prompt is compared as a whole.
const WINDOW: usize = 3;

/// Longer lines are not held back, unless the prompt has such lines itself.
const LINE_MAX: usize = 64 * 1024;

/// A shorter line that comes before a tag may be anything.
const REQUEST_MIN: usize = 16;

/// A longer beginning of a line is no label.
const LABEL_MAX: usize = 48;

/// Passes output lines on, without those that echo the prompt.
#[derive(Debug)]
pub struct EchoFilter(Kind);

#[derive(Debug)]
enum Kind {
    /// A blank prompt has no echo.
    Open,
    OneLine(String),
    Lines(LineFilter),
}

#[derive(Debug)]
struct LineFilter {
    first: String,
    last: String,
    /// Hashes, sorted.
    lines: Vec<u64>,
    windows: Vec<u64>,
    requests: Vec<Request>,
    window: usize,
    line_max: usize,
    held: VecDeque<Held>,
}

/// Two consecutive lines of the prompt: a sentence, and the tag that it asks for. Further tags
/// follow those before them.
#[derive(Debug)]
struct Request {
    before: Before,
    line: String,
    tag: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Sentence,
    /// A short line or a tag, which alone proves nothing.
    Other,
}

/// A line that may belong to an echo, until its neighbours are known.
#[derive(Debug)]
struct Held {
    text: String,
    whole: u64,
    /// Where the prompt's first line begins, if the text ends with it.
    first_at: Option<usize>,
    /// Where the prompt's last line ends, if the text begins with it.
    last_end: Option<usize>,
    labelled: Vec<Labelled>,
    /// The part that turned out to be the prompt's.
    echo: Option<Echo>,
    blank_lines_after: u32,
}

/// A line of the prompt with a label before it.
#[derive(Clone, Copy, Debug)]
struct Labelled {
    label: u64,
    line: u64,
}

#[derive(Clone, Copy, Debug)]
struct Echo {
    from: usize,
    to: usize,
}

impl EchoFilter {
    pub fn new(prompt: &str) -> EchoFilter {
        // Output is compared as it looks, so the prompt is too.
        let prompt = printable(prompt);
        let lines = prompt.lines().map(|line| &line[bare(line)]);
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        EchoFilter(match lines.as_slice() {
            [] => Kind::Open,
            [line] => Kind::OneLine((*line).to_owned()),
            [first, .., last] => Kind::Lines(LineFilter::new(&lines, first, last)),
        })
    }

    /// The next line of output, without its newline and without control sequences.
    pub fn feed_line(&mut self, line: &str, out: &mut impl FnMut(&str)) {
        match &mut self.0 {
            Kind::Open => out(line),
            Kind::OneLine(prompt) => without_prompt(line, prompt, out),
            Kind::Lines(filter) => filter.feed_line(line, out),
        }
    }

    /// Passes on what was held back.
    pub fn finish(mut self, out: &mut impl FnMut(&str)) {
        self.release(out);
    }

    /// Whether a text by itself has an echo in it.
    pub(crate) fn is_in(&mut self, text: &str) -> bool {
        let (mut given, mut kept) = (0, 0);
        for line in text.lines() {
            given += bare(line).len();
            self.feed_line(line, &mut |line| kept += bare(line).len());
        }
        self.release(&mut |line| kept += bare(line).len());
        kept < given
    }

    fn release(&mut self, out: &mut impl FnMut(&str)) {
        if let Kind::Lines(filter) = &mut self.0 {
            filter.release(0, out);
        }
    }
}

/// A prompt of one line is taken out wherever it stands.
fn without_prompt(line: &str, prompt: &str, out: &mut impl FnMut(&str)) {
    if &line[bare(line)] == prompt {
        return;
    }
    // A prompt without a tag cannot be mistaken for a claim, and taking a word like `fix` or
    // `DONE` out of every line would break honest ones.
    if !prompt.contains('<') || !line.contains(prompt) {
        return out(line);
    }
    for rest in line.split(prompt) {
        pass(rest, out);
    }
}

impl LineFilter {
    fn new(lines: &[&str], first: &str, last: &str) -> LineFilter {
        let window = WINDOW.min(lines.len());
        let hashes: Vec<u64> = lines.iter().map(hash).collect();
        let longest = lines.iter().map(|line| line.len()).max().unwrap_or(0);
        LineFilter {
            first: first.to_owned(),
            last: last.to_owned(),
            windows: sorted(hashes.windows(window).map(|w| hash(&w)).collect()),
            requests: requests(lines),
            lines: sorted(hashes),
            window,
            line_max: LINE_MAX.max(2 * longest),
            held: VecDeque::with_capacity(WINDOW),
        }
    }

    fn feed_line(&mut self, line: &str, out: &mut impl FnMut(&str)) {
        let text = bare(line);
        if text.is_empty() || self.is_label_alone(line) {
            match self.held.back_mut() {
                Some(held) => held.blank_lines_after = held.blank_lines_after.saturating_add(1),
                None => out(line),
            }
            return;
        }
        match self.candidate(line, text) {
            None => {
                self.release(0, out);
                out(line);
            }
            Some(held) => {
                self.held.push_back(held);
                self.mark_echo();
                self.release(self.window - 1, out);
            }
        }
    }

    /// The line, if it can be part of an echo.
    fn candidate(&self, line: &str, text: Range<usize>) -> Option<Held> {
        if line.len() > self.line_max {
            return None;
        }
        let bare = &line[text.clone()];
        let whole = hash(&bare);
        let first_at = bare.ends_with(&self.first).then(|| text.end - self.first.len());
        let last_end = bare.starts_with(&self.last).then_some(text.start + self.last.len());
        let labelled = self.labelled(line);
        let possible = first_at.is_some()
            || last_end.is_some()
            || self.lines.binary_search(&whole).is_ok()
            || !labelled.is_empty()
            || self.requests.iter().any(|of| bare.ends_with(&of.line) || bare.ends_with(&of.tag));
        possible.then(|| Held {
            text: line.to_owned(),
            whole,
            first_at,
            last_end,
            labelled,
            echo: None,
            blank_lines_after: 0,
        })
    }

    /// The line as one of the prompt after each of its labels.
    fn labelled(&self, line: &str) -> Vec<Labelled> {
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(end) = label_end(line, at) {
            at = end;
            let text = hash(&&line[at..][bare(&line[at..])]);
            if self.lines.binary_search(&text).is_ok() {
                found.push(Labelled { label: shape(&line[..at]), line: text });
            }
        }
        found
    }

    /// Whether the line is an empty one with the label of the line before it.
    fn is_label_alone(&self, line: &str) -> bool {
        let Some(held) = self.held.back().filter(|held| !held.labelled.is_empty()) else { return false };
        let label = shape(line);
        held.labelled.iter().any(|known| known.label == label)
    }

    fn mark_echo(&mut self) {
        self.mark_request();
        if self.held.len() < self.window {
            return;
        }
        self.mark_window();
        self.mark_labelled();
    }

    /// Marks a sentence that asks for a tag, and that tag, whatever comes before them: the same
    /// before both, or no word before the tag, which would make it a statement.
    fn mark_request(&mut self) {
        let [.., sentence, tag] = self.held.make_contiguous() else { return };
        let before = |text: &str, end: &str| {
            let text = &text[..bare(text).end];
            text.strip_suffix(end).map(str::to_owned)
        };
        let echoed = self.requests.iter().any(|request| {
            let asks = request.before == Before::Sentence || sentence.echo.is_some();
            match (before(&sentence.text, &request.line), before(&tag.text, &request.tag)) {
                (Some(one), Some(other)) if asks => {
                    !other.contains(char::is_alphabetic) || shape(&one) == shape(&other)
                }
                _ => false,
            }
        });
        if echoed {
            for held in [sentence, tag] {
                held.mark(Echo { from: 0, to: held.text.len() });
            }
        }
    }

    /// Marks the held lines if all have the same label and together are a window of the prompt.
    fn mark_labelled(&mut self) {
        let Some(first) = self.held.front() else { return };
        let echoed = first.labelled.iter().any(|begin| {
            let lines = self.held.iter().filter_map(|held| {
                held.labelled.iter().find(|found| found.label == begin.label).map(|found| found.line)
            });
            let lines: Vec<u64> = lines.collect();
            self.windows.binary_search(&hash(&lines.as_slice())).is_ok()
        });
        if echoed {
            for held in &mut self.held {
                held.mark(Echo { from: 0, to: held.text.len() });
            }
        }
    }

    /// Marks the held lines if together they are a window of the prompt. The line where an
    /// echo begins may have something before it (`> `), the one where it ends something after.
    fn mark_window(&mut self) {
        let mut hashes: Vec<u64> = self.held.iter().map(|held| held.whole).collect();
        let (begin, end) = (0, self.window - 1);
        for first in [None, self.held[begin].first_at] {
            for last in [None, self.held[end].last_end] {
                hashes[begin] = first.map_or(self.held[begin].whole, |_| hash(&self.first.as_str()));
                hashes[end] = last.map_or(self.held[end].whole, |_| hash(&self.last.as_str()));
                if self.windows.binary_search(&hash(&hashes.as_slice())).is_err() {
                    continue;
                }
                for (index, held) in self.held.iter_mut().enumerate() {
                    let from = first.filter(|_| index == begin).unwrap_or(0);
                    let to = last.filter(|_| index == end).unwrap_or(held.text.len());
                    held.mark(Echo { from, to });
                }
            }
        }
    }

    /// Passes on all but the newest `keep` lines.
    fn release(&mut self, keep: usize, out: &mut impl FnMut(&str)) {
        while self.held.len() > keep {
            let Some(held) = self.held.pop_front() else { return };
            match held.echo {
                None => out(&held.text),
                Some(echo) => {
                    pass(&held.text[..echo.from], out);
                    pass(&held.text[echo.to..], out);
                }
            }
            for _ in 0..held.blank_lines_after {
                out("");
            }
        }
    }
}

impl Held {
    /// What any window claims is the prompt's.
    fn mark(&mut self, echo: Echo) {
        self.echo = Some(
            self.echo
                .map_or(echo, |known| Echo { from: known.from.min(echo.from), to: known.to.max(echo.to) }),
        );
    }
}

/// The lines of a prompt that a tag follows.
fn requests(lines: &[&str]) -> Vec<Request> {
    let is_sentence = |line: &str| line.len() >= REQUEST_MIN && line.contains(' ') && !ends_with_tag(line);
    let pairs = lines.windows(2).filter(|pair| ends_with_tag(pair[1]));
    let request = |pair: &[&str]| Request {
        before: if is_sentence(pair[0]) { Before::Sentence } else { Before::Other },
        line: pair[0].to_owned(),
        tag: pair[1].to_owned(),
    };
    pairs.map(request).collect()
}

/// Where the label that begins at `from` ends: `[12:01:02]`, `12:01:02`, `user:` or `user>`, with
/// what is around it.
fn label_end(line: &str, from: usize) -> Option<usize> {
    let rest = &line[from..];
    let word = rest.trim_start();
    let word_at = rest.len() - word.len();
    let length = match word.strip_prefix('[') {
        Some(inside) => inside.find(']')? + 2,
        None => word.find(char::is_whitespace).unwrap_or(word.len()),
    };
    let label = &word[..length];
    let is_label = label.starts_with('[')
        || label
            .strip_suffix([':', '>'])
            .is_some_and(|name| name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)))
        || (label.contains(':') && label.starts_with(|c: char| c.is_ascii_digit()));
    let end = from + word_at + length;
    (is_label && end <= LABEL_MAX).then_some(end)
}

/// A label without regard to its digits and the space around it.
fn shape(label: &str) -> u64 {
    hash(&label.trim().chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect::<String>())
}

fn pass(rest: &str, out: &mut impl FnMut(&str)) {
    if !rest.trim().is_empty() {
        out(rest);
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn sorted(mut hashes: Vec<u64>) -> Vec<u64> {
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kept(prompt: &str, output: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let mut keep = |line: &str| lines.push(line.to_owned());
        let mut filter = EchoFilter::new(prompt);
        for line in output.lines() {
            filter.feed_line(line, &mut keep);
        }
        filter.finish(&mut keep);
        lines
    }

    #[track_caller]
    fn check(prompt: &str, output: &str, expected: &[&str]) {
        assert_eq!(kept(prompt, output), expected);
    }

    const TAG: &str = "<response>DONE</response>";
    const PROMPT: &str = "Fix the bug.\n\nWhen done, print:\n<response>DONE</response>\nNot before.\n";

    #[test]
    fn an_echo_of_the_whole_prompt_is_dropped() {
        check(PROMPT, PROMPT, &[""]);
        check(PROMPT, &format!("hello\n{PROMPT}working\n"), &["hello", "", "working"]);
    }

    #[test]
    fn three_consecutive_lines_of_it_are_dropped() {
        check(PROMPT, "When done, print:\n<response>DONE</response>  \nNot before.", &[]);
        check(
            PROMPT,
            "Fix the bug.\nWhen done, print:\n\n\n<response>DONE</response>\nbye",
            &["", "", "bye"],
        );
    }

    #[test]
    fn an_honest_tag_counts_though_the_prompt_has_that_line() {
        check(PROMPT, TAG, &[TAG]);
        check(PROMPT, &format!("All done.\n{TAG}\nNot before.\n"), &["All done.", TAG, "Not before."]);
        check(PROMPT, &format!("{PROMPT}{TAG}\n"), &["", TAG]);
        check(PROMPT, &format!("{PROMPT}Done.\n{TAG}\n"), &["", "Done.", TAG]);
    }

    /// The prompt as a program may show it, each line put into `{}`, its number into `#`.
    fn shown(form: &str) -> String {
        let lines = PROMPT.lines().enumerate();
        let shown = lines.map(|(i, line)| form.replace('#', &(i + 1).to_string()).replace("{}", line));
        shown.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn an_echo_is_known_whatever_marks_stand_around_its_lines() {
        for form in
            ["  {}", "> {}", "│ {}   │", "\"{}\"", "`{}`", "#. {}", "   # | {}", "  #\t{}", "# {}", "> #: {}"]
        {
            let own = |line: &String| !line[bare(line)].is_empty();
            let kept: Vec<String> =
                kept(PROMPT, &format!("{}\n{TAG}\n", shown(form))).into_iter().filter(own).collect();
            assert_eq!(kept, [TAG], "{form}");
        }
        let numbered = "1. Fix the bug.\n2. When done, print:\n3. <response>DONE</response>";
        check(numbered, "Fix the bug.\n> When done, print:\n<response>DONE</response>", &[]);
    }

    #[test]
    fn an_echo_is_known_by_a_label_that_all_of_its_lines_have() {
        let clock = |form: &str| shown(form).replace("0#", "01");
        for form in ["[12:01:0#] {}", "user: {}", "2026-11-17T02:00:0#Z {}", "[12:00] user> {}", "# log: {}"]
        {
            let shown = clock(form);
            let kept: Vec<String> = kept(PROMPT, &format!("hello\n{shown}\n{TAG}\n"));
            assert_eq!(kept.iter().filter(|line| line.contains(TAG)).count(), 1, "{form}: {kept:?}");
        }
        let prompt = "Note: be brief.\nReport: what you did.\nThen print\n<response>DONE</response>";
        let lines: Vec<String> = prompt.lines().map(|line| format!("user: {line}")).collect();
        check(prompt, &lines.join("\n"), &[]);
        // Lines with labels of their own are the agent's.
        let own = ["Bug: be brief.", "It: what you did.", "Then: Then print", TAG];
        check(prompt, &own.join("\n"), &own);
    }

    #[test]
    fn a_request_for_a_tag_is_an_echo_with_it_whatever_is_before_them() {
        const SENTENCE: &str = "When the whole task is done, end your answer with this line:";
        let prompt = format!("Fix it.\n\n---\n{SENTENCE}\n{TAG}\nIt is believed only if all checks pass.\n");
        for (one, other) in [
            ("", ""),
            ("~ ", "~ "),
            ("┊ You said: ", "┊ "),
            ("2026-11-17 02:33:40.123 INFO agent::prompt ", "2026-11-17 02:33:41.456 INFO agent::prompt "),
        ] {
            check(&prompt, &format!("{one}{SENTENCE}\n{other}{TAG}"), &[]);
            check(&prompt, &format!("{one}{SENTENCE}\n{other}{TAG}\n{TAG}"), &[TAG]);
        }
        let own = format!("All done. {TAG}");
        check(
            &prompt,
            &format!("I was told: {SENTENCE}\n{own}"),
            &[&format!("I was told: {SENTENCE}"), &own],
        );
        check(&prompt, &format!("{SENTENCE}\nDone.\n{TAG}"), &[SENTENCE, "Done.", TAG]);
    }

    #[test]
    fn a_fence_around_an_echo_is_kept_and_one_inside_it_is_dropped() {
        check(PROMPT, &format!("```\n{PROMPT}```\n{TAG}"), &["```", "", "```", TAG]);
        let prompt = "Run:\n```sh\nmake\n```\nThen print:\n<response>DONE</response>\n";
        check(prompt, &format!("{prompt}{TAG}"), &[TAG]);
    }

    #[test]
    fn an_echo_is_found_in_a_text_by_itself() {
        let mut filter = EchoFilter::new(PROMPT);
        assert!(filter.is_in(&format!("user: {PROMPT}")));
        assert!(!filter.is_in("Not before.\nI am done.\n"));
        assert!(!filter.is_in(TAG));
    }

    #[test]
    fn lines_in_another_order_are_no_echo() {
        let output = "Not before.\n<response>DONE</response>\nWhen done, print:";
        check(PROMPT, output, &output.lines().collect::<Vec<_>>());
    }

    #[test]
    fn what_stands_around_an_echo_on_its_own_lines_is_kept() {
        check(PROMPT, &format!("user: {}", PROMPT.trim_end()), &["user: ", ""]);
        check(PROMPT, &format!("{} {TAG}", PROMPT.trim_end()), &["", " <response>DONE</response>"]);
        check("a <b>\nc", "say a <b>\nc and d", &["say ", " and d"]);
    }

    #[test]
    fn a_short_prompt_is_compared_as_a_whole() {
        let two = "Do it.\nThen <response>DONE</response>";
        check(two, two, &[]);
        check(two, "Then <response>DONE</response>", &["Then <response>DONE</response>"]);
        let one = "Print <response>DONE</response> at the end";
        check(one, one, &[]);
        check(one, &format!("> {one}\nok {TAG}"), &[&format!("ok {TAG}")]);
        check(one, &format!("user: {one}\nok {TAG}"), &["user: ", &format!("ok {TAG}")]);
        check(one, &format!("{one}{TAG} x {one}"), &[&format!("{TAG} x ")]);
        check(" \n ", "anything\n\nat all", &["anything", "", "at all"]);
    }

    #[test]
    fn a_prompt_of_one_plain_word_breaks_no_tag() {
        check("DONE", TAG, &[TAG]);
        check("o", TAG, &[TAG]);
    }

    #[test]
    fn a_repeating_prompt_is_dropped_with_its_repetitions() {
        check("a\na\na\na", "a\na\na\na\na\nb", &["b"]);
        check("a\na\na", "a\na\nb", &["a", "a", "b"]);
    }

    #[test]
    fn a_very_long_line_parts_an_echo() {
        let long = "x".repeat(LINE_MAX + 1);
        check(PROMPT, &format!("When done, print:\n{long}\n{TAG}"), &["When done, print:", &long, TAG]);
        let prompt = format!("a\n{long}<response>DONE</response>\nb");
        check(&prompt, &prompt, &[]);
    }

    #[test]
    fn colors_in_the_prompt_do_not_hide_its_echo() {
        check("\x1b[1ma\x1b[0m\r\nb\r\nc", "a\nb\nc", &[]);
    }

    proptest! {
        #[test]
        fn only_windows_of_the_prompt_are_dropped(
            prompt in prop::collection::vec("[abc]", 3..8),
            output in prop::collection::vec("[abc]", 0..14),
        ) {
            let windows: Vec<&[String]> = prompt.windows(3).collect();
            // One-letter lines begin and end with themselves, so whole lines are all there is.
            let mut dropped = vec![false; output.len()];
            for (at, lines) in output.windows(3).enumerate() {
                if windows.contains(&lines) {
                    dropped[at..at + 3].fill(true);
                }
            }
            let expected: Vec<String> =
                output.iter().zip(&dropped).filter(|(_, dropped)| !**dropped).map(|(line, _)| line.clone()).collect();
            prop_assert_eq!(kept(&prompt.join("\n"), &output.join("\n")), expected);
        }
    }
}
