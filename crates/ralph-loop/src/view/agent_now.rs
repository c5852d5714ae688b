//! What an agent is doing right now, as far as its stream shows it.

use crate::dialect::{AgentEvent, Tokens};
use crate::money::{Cost, Usd};
use crate::price::Price;
use crate::text::{clip, printable};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentNow {
    /// The one that began last and has not ended.
    pub tool: Option<OpenTool>,
    /// Its last words, on one line.
    pub words: Option<String>,
    /// Of the turns that it has finished.
    finished: Tokens,
    /// Of the turn that it is in.
    turn: Tokens,
    /// Of the session, as it says itself.
    cost: Option<Usd>,
    /// Of the turn that it is in, as far as that cost includes it.
    #[serde(default)]
    paid: Tokens,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTool {
    id: String,
    pub name: String,
    /// What it is asked to do, on one line.
    pub input: String,
    /// In the run's own time, where it is known.
    pub since_ms: Option<u64>,
}

/// More words than this are not kept.
const WORDS: usize = 200;

impl AgentNow {
    /// `up_ms`: when it was printed, where that is known.
    pub fn follow(&mut self, event: &AgentEvent<'_>, up_ms: Option<u64>) {
        match event {
            AgentEvent::Text { text, parent: None } if !text.trim().is_empty() => {
                let words: Vec<&str> = text.split_whitespace().take(WORDS).collect();
                self.words = Some(clip(&printable(&words.join(" ")), WORDS).into_owned());
            }
            AgentEvent::ToolStart { id, name, input, .. } => {
                self.tool = Some(OpenTool {
                    id: id.to_string(),
                    name: printable(name).into_owned(),
                    input: input.summary(),
                    since_ms: up_ms,
                });
            }
            AgentEvent::ToolEnd { id, .. } if self.tool.as_ref().is_some_and(|open| open.id == **id) => {
                self.tool = None;
            }
            AgentEvent::Usage(tokens) => self.turn = *tokens,
            AgentEvent::Result(result) => {
                self.finished += result.tokens;
                (self.turn, self.paid) = (Tokens::default(), Tokens::default());
                self.cost = result.cost.or(self.cost);
            }
            AgentEvent::Cost(usd) => (self.cost, self.paid) = (Some(*usd), self.turn),
            _ => {}
        }
    }

    /// What it has used so far.
    pub fn tokens(&self) -> Tokens {
        let mut tokens = self.finished;
        tokens += self.turn;
        tokens
    }

    /// What it has probably cost so far, if its tokens have this price.
    pub fn cost(&self, price: Option<Price>) -> Option<Cost> {
        let unpaid = self.turn.beyond(self.paid);
        match (self.cost, unpaid == Tokens::default()) {
            (Some(usd), true) => Some(Cost { usd, estimated: false }),
            (known, _) => {
                let tokens = if known.is_some() { unpaid } else { self.tokens() };
                let usd = price?.of(tokens)? + known.unwrap_or_default();
                Some(Cost { usd, estimated: true })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::ResultInfo;

    #[test]
    fn a_cost_that_is_known_meanwhile_is_no_estimate_until_more_is_used() {
        let mut now = AgentNow::default();
        now.follow(&AgentEvent::Usage(tokens(1_000_000)), None);
        now.follow(&AgentEvent::Cost(Usd::from_dollars(7.0)), None);
        assert_eq!(now.cost(price()), Some(Cost { usd: Usd::from_dollars(7.0), estimated: false }));
        now.follow(&AgentEvent::Usage(tokens(1_000_001)), None);
        assert!(now.cost(price()).unwrap().estimated);
    }

    fn tokens(input: u64) -> Tokens {
        Tokens { input, ..Tokens::default() }
    }

    /// A dollar for a million tokens of any kind.
    fn price() -> Option<Price> {
        let dollar = Usd::from_dollars(1.0);
        Some(Price { input: dollar, cached_input: dollar, cache_write: dollar, output: dollar })
    }

    #[test]
    fn tokens_and_cost_grow_within_a_turn_and_are_what_the_agent_says_after_it() {
        let mut now = AgentNow::default();
        assert_eq!(now.cost(price()), None);
        now.follow(&AgentEvent::Usage(tokens(1_000_000)), None);
        now.follow(&AgentEvent::Usage(tokens(2_000_000)), None);
        assert_eq!((now.tokens(), now.cost(None)), (tokens(2_000_000), None));
        let estimated = |dollars| Some(Cost { usd: Usd::from_dollars(dollars), estimated: true });
        assert_eq!(now.cost(price()), estimated(2.0));

        let result = ResultInfo {
            tokens: tokens(2_500_000),
            cost: Some(Usd::from_dollars(0.5)),
            ..ResultInfo::default()
        };
        now.follow(&AgentEvent::Result(result), None);
        assert_eq!(now.tokens(), tokens(2_500_000));
        assert_eq!(now.cost(price()), Some(Cost { usd: Usd::from_dollars(0.5), estimated: false }));

        now.follow(&AgentEvent::Usage(tokens(1_000_000)), None);
        assert_eq!((now.tokens(), now.cost(price())), (tokens(3_500_000), estimated(1.5)));
    }

    #[test]
    fn a_tool_is_at_work_until_it_ends() {
        let mut now = AgentNow::default();
        let start = |id: &'static str, name: &'static str| AgentEvent::ToolStart {
            id: id.into(),
            name: name.into(),
            input: crate::dialect::ToolInput::new(r#"{"command":"cargo test"}"#),
            parent: None,
        };
        let end =
            |id: &'static str| AgentEvent::ToolEnd { id: id.into(), output: "".into(), is_error: false };
        let name = |now: &AgentNow| now.tool.as_ref().map(|tool| tool.name.clone());
        now.follow(&start("1", "Task"), Some(5));
        now.follow(&start("2", "Bash"), Some(7));
        assert_eq!(now.tool.as_ref().and_then(|tool| tool.since_ms), Some(7));
        now.follow(&end("1"), None);
        assert_eq!(name(&now).as_deref(), Some("Bash"));
        now.follow(&end("2"), None);
        assert_eq!(name(&now), None);
    }
}
