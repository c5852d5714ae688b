//! What the agents that plan have used, as far as their streams say it.

use crate::dialect::{StreamSummary, Tokens};
use crate::money::Cost;
use crate::price::{self, Price};
use std::ops::AddAssign;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Nothing if no agent has said it, and it cannot be estimated.
    pub cost: Option<Cost>,
    pub tokens: Tokens,
}

impl Spent {
    pub fn of(price: Option<Price>, seen: &StreamSummary) -> Spent {
        Spent { cost: Cost::known(seen.cost, price::estimate(price, seen)), tokens: seen.tokens }
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, more: Spent) {
        self.tokens += more.tokens;
        match (&mut self.cost, more.cost) {
            (Some(cost), Some(more)) => *cost += more,
            (cost @ None, more) => *cost = more,
            (Some(_), None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::Usd;

    fn seen(dollars: Option<f64>, output: u64) -> StreamSummary {
        let tokens = Tokens { output, ..Tokens::default() };
        StreamSummary { cost: dollars.map(Usd::from_dollars), tokens, ..StreamSummary::default() }
    }

    #[test]
    fn the_agents_of_a_plan_are_added_up_as_far_as_they_are_known() {
        let mut spent = Spent::of(None, &seen(None, 0));
        assert_eq!(spent, Spent::default());
        spent += Spent::of(None, &seen(Some(0.25), 100));
        spent += Spent::of(None, &seen(None, 20));
        spent += Spent::of(None, &seen(Some(0.5), 3));
        assert_eq!(spent.cost.map(|cost| cost.to_string()).as_deref(), Some("$0.7500"));
        assert_eq!(spent.tokens.total(), 123);
    }
}
