//! Control messages to the loop, as facts.

use super::RealHost;
use crate::control::{Command, CommandResult, LONGEST_NOTE, Request, Sender};
use ralph_loop::ask::{Ask, Changes, MOST_NOTES};
use ralph_loop::done_pattern::DonePattern;
use ralph_loop::event::Fact;
use ralph_loop::{Run, State};

impl RealHost<'_> {
    /// The fact that a request amounts to. The client is answered once it is recorded, or at once
    /// if there is nothing to record.
    pub(super) fn asked(&mut self, run: &Run, state: &State, request: Request) -> Option<Fact> {
        let Request { command, sender, answer } = request;
        let ask = match weigh(run, state, command, &sender) {
            Ok(Weighed::Ask(ask)) => Ok(ask),
            Ok(Weighed::Note(text)) => match self.shared.texts.put_sealed(&text) {
                Ok(hash) => Ok(Ask::Say { text: hash }),
                Err(cause) => Err(CommandResult::Refused { why: format!("cannot save the note: {cause}") }),
            },
            Err(answer) => Err(answer),
        };
        match ask {
            Ok(ask) => {
                self.inbox.answer_later(answer);
                Some(Fact::Asked(ask))
            }
            Err(refused) => {
                // A client that has left does not need the answer.
                let _ = answer.send(refused);
                None
            }
        }
    }

    /// Nothing more will be recorded by this process.
    pub async fn close_control(&mut self) {
        self.inbox.close().await;
    }

    /// Called for each fact that is recorded.
    pub(super) fn note_asked(&mut self, fact: &Fact) {
        let Fact::Asked(ask) = fact else { return };
        self.inbox.recorded();
        if let Ask::Continue = ask {
            // The silence of a pause does not count.
            self.lanes.excuse_silence();
        }
    }
}

enum Weighed {
    Ask(Ask),
    Note(String),
}

fn weigh(run: &Run, state: &State, command: Command, sender: &Sender) -> Result<Weighed, CommandResult> {
    let refused = |why: &str| Err(CommandResult::Refused { why: why.to_string() });
    if let Some(why) = sender.refusal(&run.id) {
        return refused(why);
    }
    match command {
        Command::Pause if state.asked.paused() => Err(CommandResult::Already),
        Command::Pause => Ok(Weighed::Ask(Ask::Pause)),
        Command::Continue if !state.asked.paused() => Err(CommandResult::Already),
        Command::Continue => Ok(Weighed::Ask(Ask::Continue)),
        Command::Kill => Ok(Weighed::Ask(Ask::Kill)),
        Command::Set(changes) => match why_not(run, &changes) {
            None => Ok(Weighed::Ask(Ask::Set(changes))),
            Some(why) => refused(&why),
        },
        Command::Say { .. } if state.asked.notes.len() >= MOST_NOTES => {
            refused("too many notes are waiting for the next prompt")
        }
        Command::Say { text } if text.len() > LONGEST_NOTE => refused("the note is too long"),
        Command::Say { text } => Ok(Weighed::Note(text)),
    }
}

/// Why a run cannot be changed like this.
pub fn why_not(run: &Run, changes: &Changes) -> Option<String> {
    let of_prompt = changes.prompt_file.is_some() || changes.done_pattern.is_some();
    if of_prompt && run.plan.as_prompt().is_none() {
        return Some(format!("{} runs have no prompt file and no done pattern", run.plan.name()));
    }
    let pattern = changes.done_pattern.as_deref().map(DonePattern::new)?;
    pattern.err().map(|cause| cause.to_string())
}
