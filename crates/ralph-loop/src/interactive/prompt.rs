//! Prompts as agents in a terminal receive them.

use super::{Effect, Expects};
use crate::dialect::{Dialect, OwnLine};
use std::borrow::Cow;

/// The characters of a prompt that an agent drops when it is handed over, each once, by name.
pub fn dropped_characters(dialect: Dialect, prompt: &str) -> Vec<&'static str> {
    let dropped: &[(char, &str)] = match dialect {
        Dialect::Claude => &[('\0', "NUL"), ('\u{1b}', "ESC")],
        // A prompt that cannot be an argument is a file, which has them all.
        Dialect::Codex | Dialect::Amp | Dialect::Plain => &[],
    };
    dropped.iter().filter(|(character, _)| prompt.contains(*character)).map(|(_, name)| *name).collect()
}

/// Tells the prompt that was handed over from what a person types.
#[derive(Debug)]
pub(super) enum Handover {
    Expected {
        prompt: String,
        lead_in: String,
    },
    /// Whatever comes now was typed.
    Done,
}

impl Handover {
    pub(super) fn new(expects: &Expects) -> Handover {
        match expects.prompt.is_empty() {
            true => Handover::Done,
            false => Handover::Expected { prompt: expects.prompt.clone(), lead_in: expects.lead_in.clone() },
        }
    }

    /// A prompt has reached the agent.
    pub(super) fn submitted(&mut self, prompt: &str, effects: &mut Vec<Effect>) {
        let line = match std::mem::replace(self, Handover::Done) {
            Handover::Expected { prompt: handed_over, lead_in } => {
                if !lead_in.is_empty() {
                    let text =
                        format!("the prompt was handed over with {lead_in:?} in front, to be taken as text");
                    effects.push(Effect::Print(OwnLine::Notice { text: text.into() }.write()));
                }
                OwnLine::Received { bytes: prompt.len() as u64, whole: prompt == handed_over }
            }
            Handover::Done => OwnLine::Typed { text: Cow::Borrowed(prompt) },
        };
        effects.push(Effect::Print(line.write()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_drops_is_named_once() {
        let prompt = "a\u{1b}[1mb\u{1b}[0m\tc\r\n";
        assert_eq!(dropped_characters(Dialect::Claude, prompt), ["ESC"]);
        assert_eq!(dropped_characters(Dialect::Claude, "a\0b\u{1b}\0"), ["NUL", "ESC"]);
        assert!(dropped_characters(Dialect::Codex, "a\0b\u{1b}").is_empty());
        assert!(dropped_characters(Dialect::Claude, "plain\n").is_empty());
    }
}
