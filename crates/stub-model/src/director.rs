//! Which step answers which request.

use crate::ask::Ask;
use crate::scenario::{ErrorSpec, OnExhausted, Scenario, Step, Text};
use std::collections::HashMap;

pub(crate) struct Director {
    scenario: Scenario,
    /// The steps of each run, repeated as often as they say.
    steps: Vec<Vec<Step>>,
    taken: Vec<bool>,
    conversations: HashMap<String, Conversation>,
}

struct Conversation {
    /// None was left.
    run: Option<usize>,
    next: usize,
    /// It had an answer without tool calls.
    finished: bool,
}

pub(crate) struct Turn {
    pub(crate) step: Step,
    pub(crate) run: Option<usize>,
    pub(crate) at: usize,
}

impl Director {
    pub(crate) fn new(scenario: Scenario) -> Director {
        let repeated = |step: &Step| vec![step.clone(); step.times.unwrap_or(1) as usize];
        let steps: Vec<Vec<Step>> =
            scenario.runs.iter().map(|run| run.steps.iter().flat_map(repeated).collect()).collect();
        Director { taken: vec![false; steps.len()], steps, scenario, conversations: HashMap::new() }
    }

    pub(crate) fn turn(&mut self, ask: &Ask) -> Turn {
        if ask.side {
            return Turn { step: self.scenario.side.clone(), run: None, at: 0 };
        }
        let key = ask.session.clone().unwrap_or_else(|| format!("opening: {}", ask.opening));
        // Without a session, an opening that is heard again after an end is someone new.
        let anew = ask.session.is_none() && ask.assistant_turns == 0;
        let mut conversation = match self.conversations.remove(&key) {
            Some(known) if !(anew && known.finished) => known,
            _ => Conversation { run: self.take_run(&ask.opening), next: 0, finished: false },
        };
        let turn = self.advance(&mut conversation, ask);
        conversation.finished |=
            turn.step.error.is_none() && turn.step.drop.is_none() && turn.step.tools.is_empty();
        self.conversations.insert(key, conversation);
        turn
    }

    fn advance(&mut self, conversation: &mut Conversation, ask: &Ask) -> Turn {
        let ended = |director: &Director, conversation: &Conversation| {
            conversation.run.is_some_and(|run| conversation.next >= director.steps[run].len())
        };
        if ended(self, conversation) {
            match self.scenario.on_exhausted {
                OnExhausted::RepeatLast => conversation.next = conversation.next.saturating_sub(1),
                OnExhausted::NextRun => {
                    conversation.run = self.take_run(&ask.opening);
                    conversation.next = 0;
                }
                OnExhausted::Final | OnExhausted::Error => {}
            }
        }
        let Conversation { run, next: at, .. } = *conversation;
        let scripted = run.and_then(|run| self.steps[run].get(at)).cloned();
        if scripted.is_some() {
            conversation.next += 1;
        }
        Turn { step: scripted.unwrap_or_else(|| self.beyond_the_end()), run, at }
    }

    fn beyond_the_end(&self) -> Step {
        if self.scenario.on_exhausted == OnExhausted::Error {
            let error = ErrorSpec::of(500, "stub: the scenario is exhausted");
            return Step { error: Some(error), ..Step::default() };
        }
        Step { text: Text::Words(self.scenario.exhausted_text.clone()), ..Step::default() }
    }

    /// A run that wants these words goes before one that takes any.
    fn take_run(&mut self, opening: &str) -> Option<usize> {
        let runs = &self.scenario.runs;
        let free = |at: &usize| !self.taken[*at] || runs[*at].sticky;
        let wants = |at: &usize| runs[*at].matches.as_ref().is_some_and(|words| opening.contains(words));
        let takes_any = |at: &usize| runs[*at].matches.is_none();
        let found = (0..runs.len())
            .filter(free)
            .find(wants)
            .or_else(|| (0..runs.len()).filter(free).find(takes_any))?;
        self.taken[found] = true;
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::Protocol;
    use serde_json::{Value, json};

    fn director(scenario: Value) -> Director {
        Director::new(Scenario::of(scenario).unwrap())
    }

    fn ask(session: &str, opening: &str, assistant_turns: usize) -> Ask {
        Ask {
            protocol: Protocol::Anthropic,
            model: String::new(),
            stream: false,
            tools: Vec::new(),
            opening: opening.into(),
            last_user: String::new(),
            heard: String::new(),
            told: String::new(),
            assistant_turns,
            session: Some(session.to_owned()).filter(|session| !session.is_empty()),
            side: false,
        }
    }

    /// Conversations are `session:opening`, answers are texts.
    #[track_caller]
    fn check(scenario: Value, asked: &[&str], answers: &[&str]) {
        let mut director = director(scenario);
        let answered: Vec<String> = asked
            .iter()
            .map(|who| {
                let (session, opening) = who.split_once(':').unwrap();
                let step = director.turn(&ask(session, opening, 0)).step;
                step.error.map_or_else(|| step.text.words(), |error| error.status.to_string())
            })
            .collect();
        assert_eq!(answered, answers);
    }

    #[test]
    fn each_conversation_has_a_run_and_each_request_a_step() {
        let scenario = json!({"runs": [
            {"steps": [{"text": "1"}, {"text": "2"}]}, {"steps": [{"text": "3"}]}], "exhausted_text": "no"});
        check(scenario, &["a:x", "b:x", "a:x", "a:x", "c:x"], &["1", "3", "2", "no", "no"]);
    }

    #[test]
    fn a_run_that_wants_the_words_goes_first() {
        let scenario = json!({"runs": [{"steps": [{"text": "any"}]}, {"match": "commit", "steps": [{"text": "it"}]}],
            "exhausted_text": "no"});
        check(scenario, &["a:a commit", "b:x", "c:a commit"], &["it", "any", "no"]);
        let sticky = json!({"runs": [{"match": "x", "sticky": true, "steps": [{"text": "s"}]}], "exhausted_text": "no"});
        check(sticky, &["a:x", "b:x", "c:y"], &["s", "s", "no"]);
    }

    #[test]
    fn after_the_last_step_comes_what_the_scenario_says() {
        let scenario = |word: &str| json!({"runs": [{"steps": [{"text": "1"}]}, {"steps": [{"text": "2"}]}], "on_exhausted": word});
        check(scenario("repeat_last"), &["a:x", "a:x", "a:x"], &["1", "1", "1"]);
        check(scenario("next_run"), &["a:x", "a:x"], &["1", "2"]);
        check(scenario("error"), &["a:x", "a:x", "b:x"], &["1", "500", "2"]);
    }

    #[test]
    fn a_step_is_repeated_as_often_as_it_says() {
        let scenario = json!({"runs": [{"steps": [{"text": "1", "times": 2}, {"text": "2"}]}]});
        check(scenario, &["a:x", "a:x", "a:x"], &["1", "1", "2"]);
    }

    #[test]
    fn without_a_session_an_opening_after_an_end_is_someone_new() {
        let scenario = json!({"runs": [{"steps": [{"error": {"status": 500}}, {"text": "1"}]}, {"steps": [{"text": "2"}]}]});
        check(scenario, &[":x", ":x", ":x"], &["500", "1", "2"]);
    }
}
