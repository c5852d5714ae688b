//! A program that is known only by its screen.
//!
//! The screen is looked at every [`LOOK_EVERY_MS`]. Its text comes without escape sequences, line by line, and the last
//! [`LAST_LINES`] count. What is new on it is printed as plain text, so that an unchanged screen is silence.

use crate::dialect::{NeedsPerson, OwnLine};
use regex::Regex;
use std::borrow::Cow;

pub const LOOK_EVERY_MS: u64 = 2_000;
pub const LAST_LINES: usize = 20;

/// A screen that has stayed as it is for so long shows a program that is ready, or at rest.
const AT_REST_MS: u64 = 1_000;

/// What is on the screen of a known program that wants something else than a prompt.
const NOT_READY: &[&str] = &[
    "Choose the text style",
    "Select login method",
    "Paste code here",
    "Do you trust the files in this folder",
    "Trust this folder?",
    "Try new model",
    "Sign in with ChatGPT",
];

/// What a program's screen is read by.
#[derive(Debug, Default)]
pub struct Patterns {
    /// Any of them shows that a prompt can be typed. Without one, the first screen that stays as it is does.
    pub ready: Vec<Regex>,
    pub done: Option<Regex>,
    /// Also while it works, and not only at rest.
    pub done_at_once: bool,
    /// Without a ready screen for so long, a person has to look; never, without one.
    pub ready_within_ms: Option<u64>,
}

impl Patterns {
    /// Of regular expressions.
    pub fn new(ready: &[String], done: Option<&str>) -> Result<Patterns, regex::Error> {
        let ready = ready.iter().map(|pattern| Regex::new(pattern)).collect::<Result<_, _>>()?;
        Ok(Patterns { ready, done: done.map(Regex::new).transpose()?, ..Patterns::default() })
    }
}

/// What is to be done about a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScreenEffect {
    /// The prompt, and Enter.
    TypePrompt,
    /// A line that is new on the screen.
    Print(String),
    /// The done pattern is there: end the program.
    End,
}

/// Watches one program from its start.
#[derive(Debug)]
pub struct Watcher {
    patterns: Patterns,
    stage: Stage,
    screen: Vec<String>,
    /// Since when the screen is as it is.
    since_ms: Option<u64>,
    /// Lines with the done pattern that are still to come as the echo of the prompt.
    echoes: usize,
    is_done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Starting,
    /// A person was asked to look.
    Waiting,
    Working,
    Over,
}

impl Watcher {
    /// `prompt` is what will be typed; a program that has it already is at work from the start.
    pub fn new(patterns: Patterns, prompt: Option<&str>) -> Watcher {
        let lines = prompt.unwrap_or_default().lines();
        let echoes =
            patterns.done.as_ref().map_or(0, |done| lines.filter(|line| done.is_match(line)).count());
        Watcher {
            patterns,
            stage: if prompt.is_some() { Stage::Starting } else { Stage::Working },
            screen: Vec::new(),
            since_ms: None,
            echoes,
            is_done: false,
        }
    }

    /// Whether the prompt was typed.
    pub fn is_ready(&self) -> bool {
        !matches!(self.stage, Stage::Starting | Stage::Waiting)
    }

    /// The screen as it is now.
    pub fn look(&mut self, now_ms: u64, lines: &[&str]) -> Vec<ScreenEffect> {
        let lines = last(lines);
        let mut effects = Vec::new();
        if self.stage == Stage::Over {
            return effects;
        }
        if self.since_ms.is_none() || lines != self.screen {
            for line in new_lines(&self.screen, lines) {
                self.note(line);
                effects.push(ScreenEffect::Print(line.to_owned()));
            }
            self.screen = lines.iter().map(|line| (*line).to_owned()).collect();
            self.since_ms = Some(now_ms);
        }
        let rests = self.since_ms.is_some_and(|since| now_ms.saturating_sub(since) >= AT_REST_MS);
        match self.stage {
            Stage::Starting | Stage::Waiting if self.shows_ready(rests) => {
                if self.stage == Stage::Waiting {
                    effects.push(ScreenEffect::Print(OwnLine::Working.write()));
                }
                self.stage = Stage::Working;
                self.since_ms = Some(now_ms);
                effects.push(ScreenEffect::TypePrompt);
            }
            Stage::Starting if self.patterns.ready_within_ms.is_some_and(|most| now_ms >= most) => {
                self.stage = Stage::Waiting;
                let text = Cow::Borrowed("it does not show that it is ready");
                let waiting = OwnLine::Waiting { why: NeedsPerson::NotReady, text };
                effects.push(ScreenEffect::Print(waiting.write()));
            }
            Stage::Working if (rests || self.patterns.done_at_once) && self.is_done => {
                self.stage = Stage::Over;
                effects.push(ScreenEffect::End);
            }
            Stage::Starting | Stage::Waiting | Stage::Working | Stage::Over => {}
        }
        effects
    }

    /// What is new on the last screen: the program has ended.
    pub fn last_lines(&mut self, lines: &[&str]) -> Vec<String> {
        let lines = last(lines);
        let new = match self.stage {
            Stage::Over => Vec::new(),
            Stage::Starting | Stage::Waiting | Stage::Working => new_lines(&self.screen, lines),
        };
        let new = new.into_iter().map(String::from).collect();
        self.stage = Stage::Over;
        new
    }

    /// The prompt that was typed is on the screen too, and is no claim of the program's.
    fn note(&mut self, line: &str) {
        let matches = self.patterns.done.as_ref().is_some_and(|done| done.is_match(line));
        if self.stage != Stage::Working || !matches {
            return;
        }
        match self.echoes {
            0 => self.is_done = true,
            _ => self.echoes -= 1,
        }
    }

    fn shows_ready(&self, rests: bool) -> bool {
        let shows = |pattern: &Regex| self.screen.iter().any(|line| pattern.is_match(line));
        let in_the_way = self.screen.iter().any(|line| NOT_READY.iter().any(|dialog| line.contains(dialog)));
        match &self.patterns.ready[..] {
            _ if in_the_way => false,
            [] => rests && self.screen.iter().any(|line| !line.trim().is_empty()),
            patterns => patterns.iter().any(shows),
        }
    }
}

/// The last lines that have something on them.
fn last<'s, 'l>(lines: &'s [&'l str]) -> &'s [&'l str] {
    let end = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
    &lines[end.saturating_sub(LAST_LINES)..end]
}

/// What has come since: below what has scrolled up, or anywhere if the screen was drawn again.
fn new_lines<'l>(before: &[String], now: &[&'l str]) -> Vec<&'l str> {
    let scrolled = (0..before.len()).find(|from| {
        let kept = &before[*from..];
        kept.len() <= now.len() && kept.iter().zip(now).all(|(old, new)| old == new)
    });
    let candidates = match scrolled {
        Some(from) => &now[before.len() - from..],
        None => now,
    };
    let is_new = |line: &&&str| {
        !line.trim().is_empty() && (scrolled.is_some() || !before.iter().any(|old| old == **line))
    };
    candidates.iter().filter(is_new).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watcher(ready: &[&str], done: &str, done_at_once: bool, prompt: &str) -> Watcher {
        let ready = ready.iter().map(|pattern| Regex::new(pattern).unwrap()).collect();
        let done = (!done.is_empty()).then(|| Regex::new(done).unwrap());
        Watcher::new(Patterns { ready, done, done_at_once, ready_within_ms: None }, Some(prompt))
    }

    /// What is done at each moment: `type`, `end`, and the lines that are printed.
    #[track_caller]
    fn check(watcher: &mut Watcher, now_ms: u64, screen: &str, expected: &[&str]) {
        let lines: Vec<&str> = screen.split('\n').collect();
        let done: Vec<String> = watcher
            .look(now_ms, &lines)
            .into_iter()
            .map(|effect| match effect {
                ScreenEffect::TypePrompt => "<type>".to_owned(),
                ScreenEffect::End => "<end>".to_owned(),
                ScreenEffect::Print(line) => line,
            })
            .collect();
        assert_eq!(done, expected, "{screen}");
    }

    #[test]
    fn a_screen_that_stays_as_it_is_is_ready() {
        let mut watcher = watcher(&[], "", false, "go");
        check(&mut watcher, 0, "", &[]);
        check(&mut watcher, 5_000, "\n\n", &[]);
        check(&mut watcher, 6_000, "tool 1.0\n> ", &["tool 1.0", "> "]);
        check(&mut watcher, 6_999, "tool 1.0\n> ", &[]);
        check(&mut watcher, 7_000, "tool 1.0\n> ", &["<type>"]);
        check(&mut watcher, 9_000, "tool 1.0\n> ", &[]);
    }

    #[test]
    fn a_pattern_says_when_a_program_is_ready_and_a_dialog_when_it_is_not() {
        let mut plain = watcher(&["^> $", "^ready"], "", false, "go");
        check(&mut plain, 0, "loading", &["loading"]);
        check(&mut plain, 60_000, "loading", &[]);
        check(&mut plain, 62_000, "loading\nready", &["ready", "<type>"]);
        // As the real programs show them.
        for dialog in [
            "  Trust this folder? Codex can read, edit, and run files here, subject to",
            "\u{203a} 1. Try new model\n  2. Use existing model",
            "Paste code here if prompted >",
        ] {
            let mut waiting = watcher(&[], "", false, "go");
            waiting.look(0, &dialog.split('\n').collect::<Vec<_>>());
            check(&mut waiting, 60_000, dialog, &[]);
            assert!(!waiting.is_ready(), "{dialog}");
        }
    }

    #[test]
    fn a_done_pattern_counts_at_rest_or_at_once_and_never_in_the_echo_of_the_prompt() {
        let prompt = "Work.\nThen say ALL DONE\n";
        for (at_once, ends) in [(false, &["ALL DONE"][..]), (true, &["ALL DONE", "<end>"][..])] {
            let mut watcher = watcher(&["^> "], "ALL DONE", at_once, prompt);
            check(&mut watcher, 0, "ALL DONE earlier\n> ", &["ALL DONE earlier", "> ", "<type>"]);
            let echoed = "ALL DONE earlier\n> Work.\nThen say ALL DONE";
            check(&mut watcher, 2_000, echoed, &["> Work.", "Then say ALL DONE"]);
            check(&mut watcher, 10_000, echoed, &[]);
            let said = format!("{echoed}\nALL DONE");
            check(&mut watcher, 12_000, &said, ends);
            let at_rest: &[&str] = if at_once { &[] } else { &["<end>"] };
            check(&mut watcher, 14_000, &said, at_rest);
            check(&mut watcher, 16_000, "anything", &[]);
        }
    }

    #[test]
    fn only_what_is_new_is_printed() {
        let mut watcher = watcher(&["^never$"], "", false, "");
        let lines: Vec<String> = (0..40).map(|n| format!("line {n}")).collect();
        check(
            &mut watcher,
            0,
            &lines[..25].join("\n"),
            &lines[5..25].iter().map(String::as_str).collect::<Vec<_>>(),
        );
        // Scrolled by two, and once more drawn in another order.
        check(&mut watcher, 2_000, &lines[..27].join("\n"), &["line 25", "line 26"]);
        check(&mut watcher, 4_000, "new\nline 26\nline 25", &["new"]);
        check(&mut watcher, 6_000, "new\nline 26\nline 25\nnew", &["new"]);
    }
}
