//! The prompt's echo, taken out of what a plain agent prints.
//!
//! A plain agent has one output for everything, and many print the prompt they were given.
//! The prompt tells the agent which tag to print, so its echo would be a claim that no one
//! made. [`EchoFilter`] drops the prompt as a whole, or three or more consecutive lines of
//! it. Invariant: a line that alone, or with one neighbour, equals a line of the prompt is
//! kept, so an honest tag counts even if the prompt shows the very same line.
//!
//! How: lines are compared without indentation, quote marks and numbering, lines that are nothing
//! else not at all. All windows of three consecutive prompt lines are kept as hashes, and an output
//! line that is part of such a window is dropped. Only lines that occur in the prompt are held
//! back, two at most, so memory is a few bytes for each prompt line and three lines of output.
//!
//! Deliberately absent: echoes that were rewrapped. To find those means to guess, and a wrong
//! guess would swallow an honest claim.

use crate::quoting::bare;
use crate::text::printable;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// Consecutive lines that make an echo. A shorter prompt is compared as a whole.
const WINDOW: usize = 3;

/// Longer lines are not held back, unless the prompt has such lines itself.
const LINE_MAX: usize = 64 * 1024;

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
    window: usize,
    line_max: usize,
    held: VecDeque<Held>,
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
    /// The part that turned out to be the prompt's.
    echo: Option<Echo>,
    blank_lines_after: u32,
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
            lines: sorted(hashes),
            window,
            line_max: LINE_MAX.max(2 * longest),
            held: VecDeque::with_capacity(WINDOW),
        }
    }

    fn feed_line(&mut self, line: &str, out: &mut impl FnMut(&str)) {
        let text = bare(line);
        if text.is_empty() {
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
        let possible = first_at.is_some() || last_end.is_some() || self.lines.binary_search(&whole).is_ok();
        possible.then(|| Held {
            text: line.to_owned(),
            whole,
            first_at,
            last_end,
            echo: None,
            blank_lines_after: 0,
        })
    }

    /// Marks the held lines if together they are a window of the prompt. The line where an
    /// echo begins may have something before it (`> `), the one where it ends something after.
    fn mark_echo(&mut self) {
        if self.held.len() < self.window {
            return;
        }
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
