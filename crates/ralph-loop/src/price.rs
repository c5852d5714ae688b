//! What tokens cost, for agents that count them and name no dollars.
//!
//! An estimate, and shown as one: list prices change, and ralph does not know discounts, of a
//! subscription, or of what a long context costs on top. Users who know better set prices in the
//! settings, which stand above this table. Where only the model is unknown, its agent's dearest
//! usual one is assumed: a limit in dollars should hold too early rather than too late.
//!
//! Deliberately absent: agents that report dollars. Their own word is never corrected.

use crate::dialect::{Dialect, StreamSummary, Tokens};
use crate::money::Usd;
use serde::{Deserialize, Serialize};

/// What a million tokens of each kind cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    pub input: Usd,
    /// Input that was read from a cache.
    pub cached_input: Usd,
    /// Input that was written to one.
    pub cache_write: Usd,
    pub output: Usd,
}

/// What an agent probably cost, where it reports tokens and no dollars.
pub fn estimate(price: Option<Price>, seen: &StreamSummary) -> Option<Usd> {
    match seen.cost {
        Some(_) => None,
        None => price?.of(seen.tokens),
    }
}

/// The price of a model as far as it is known by name, else that of the agent's usual one; none
/// for agents that count no tokens. `own` are the user's prices by the beginning of a model's
/// name. They stand above the built-in ones, and among each the longest beginning counts.
pub fn resolve(own: &[(String, Price)], dialect: Dialect, model: Option<&str>) -> Option<Price> {
    let usual = dialect.spec().usual_model?;
    model.and_then(|model| look_up(own, model)).or_else(|| look_up(own, usual))
}

/// The built-in prices by the beginning of a model's name.
pub fn built_in() -> impl Iterator<Item = (&'static str, Price)> {
    BUILT_IN.iter().map(|family| (family.prefix, family.price()))
}

impl Price {
    /// The kinds of tokens do not overlap (see [`Tokens`]), so none is counted twice. Nothing is
    /// known where no token was counted.
    pub(crate) fn of(self, tokens: Tokens) -> Option<Usd> {
        (tokens != Tokens::default()).then(|| {
            self.input.per_million(tokens.input)
                + self.cached_input.per_million(tokens.cache_read)
                + self.cache_write.per_million(tokens.cache_write)
                + self.output.per_million(tokens.output)
        })
    }
}

fn look_up(own: &[(String, Price)], model: &str) -> Option<Price> {
    let model = model.trim().to_lowercase();
    // `openai/gpt-5` is a `gpt-5`, whichever provider serves it.
    let bare = model.rsplit('/').next().unwrap_or_default();
    let fits = |prefix: &str| model.starts_with(prefix) || bare.starts_with(prefix);
    let own = own.iter().map(|(prefix, price)| (prefix.trim().to_lowercase(), *price));
    let own = own.filter(|(prefix, _)| fits(prefix)).max_by_key(|(prefix, _)| prefix.len());
    own.map(|(_, price)| price).or_else(|| {
        let families = BUILT_IN.iter().filter(|family| fits(family.prefix));
        families.max_by_key(|family| family.prefix.len()).map(Family::price)
    })
}

/// Models whose names begin alike and that cost the same, in dollars a million tokens.
struct Family {
    prefix: &'static str,
    input: f64,
    cached_input: f64,
    cache_write: f64,
    output: f64,
}

/// As the services listed them in the middle of 2026.
const BUILT_IN: &[Family] = &[
    openai("gpt-5", 1.25, 0.125, 10.0),
    openai("gpt-5-codex", 1.25, 0.125, 10.0),
    openai("gpt-5-mini", 0.25, 0.025, 2.0),
    openai("gpt-5-nano", 0.05, 0.005, 0.4),
    // Releases that are not listed here are newer, and those were never cheaper.
    openai("gpt-5.", 5.0, 0.5, 30.0),
    openai("gpt-5.1", 1.25, 0.125, 10.0),
    openai("gpt-5.1-codex-mini", 0.25, 0.025, 2.0),
    openai("gpt-5.2", 1.75, 0.175, 14.0),
    openai("gpt-5.3", 1.75, 0.175, 14.0),
    openai("gpt-5.4", 2.5, 0.25, 15.0),
    openai("gpt-5.4-mini", 0.75, 0.075, 4.5),
    openai("gpt-5.4-nano", 0.2, 0.02, 1.25),
    openai("gpt-5.5", 5.0, 0.5, 30.0),
    openai("gpt-4.1", 2.0, 0.5, 8.0),
    openai("gpt-4.1-mini", 0.4, 0.1, 1.6),
    openai("gpt-4.1-nano", 0.1, 0.025, 0.4),
    openai("o3", 2.0, 0.5, 8.0),
    openai("o4-mini", 1.1, 0.275, 4.4),
    claude("claude-opus", 5.0, 25.0),
    claude("claude-opus-4-0", 15.0, 75.0),
    claude("claude-opus-4-1", 15.0, 75.0),
    claude("claude-opus-4-2025", 15.0, 75.0),
    claude("claude-sonnet", 3.0, 15.0),
    claude("claude-haiku", 1.0, 5.0),
    // The short names that Claude Code takes.
    claude("opus", 5.0, 25.0),
    claude("sonnet", 3.0, 15.0),
    claude("haiku", 1.0, 5.0),
    gemini("gemini-2.5-pro", 1.25, 10.0),
    gemini("gemini-2.5-flash", 0.3, 2.5),
    gemini("gemini-2.5-flash-lite", 0.1, 0.4),
    gemini("gemini-3-pro", 2.0, 12.0),
    gemini("gemini-3.1-pro", 2.0, 12.0),
    gemini("gemini-3-flash", 0.5, 3.0),
];

/// Writing to the cache is not charged for beyond the input itself.
const fn openai(prefix: &'static str, input: f64, cached_input: f64, output: f64) -> Family {
    Family { prefix, input, cached_input, cache_write: input, output }
}

/// A tenth for reading from the cache, a quarter more for writing to it.
const fn claude(prefix: &'static str, input: f64, output: f64) -> Family {
    Family { prefix, input, cached_input: input / 10.0, cache_write: input * 1.25, output }
}

const fn gemini(prefix: &'static str, input: f64, output: f64) -> Family {
    Family { prefix, input, cached_input: input / 10.0, cache_write: input, output }
}

impl Family {
    fn price(&self) -> Price {
        Price {
            input: Usd::from_dollars(self.input),
            cached_input: Usd::from_dollars(self.cached_input),
            cache_write: Usd::from_dollars(self.cache_write),
            output: Usd::from_dollars(self.output),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{ScanFor, StreamReader};

    fn price(input: f64, cached_input: f64, cache_write: f64, output: f64) -> Price {
        Family { prefix: "", input, cached_input, cache_write, output }.price()
    }

    fn usd(dollars: f64) -> Option<Usd> {
        Some(Usd::from_dollars(dollars))
    }

    fn seen(dialect: Dialect, stream: &str) -> StreamSummary {
        let mut reader = StreamReader::new(dialect, "", ScanFor::Completion);
        reader.feed(stream.as_bytes(), &mut |_| {});
        reader.finish(&mut |_| {})
    }

    #[test]
    fn every_kind_of_token_has_its_own_price() {
        let tokens =
            |input, cache_read, cache_write, output| Tokens { input, cache_read, cache_write, output };
        let price = price(1.0, 0.1, 1.25, 10.0);
        assert_eq!(price.of(tokens(1_000_000, 0, 0, 0)), usd(1.0));
        assert_eq!(price.of(tokens(0, 1_000_000, 0, 0)), usd(0.1));
        assert_eq!(price.of(tokens(0, 0, 1_000_000, 0)), usd(1.25));
        assert_eq!(price.of(tokens(0, 0, 0, 1_000_000)), usd(10.0));
        assert_eq!(price.of(tokens(10, 100, 8, 2)), usd(0.00005));
        assert_eq!(price.of(tokens(0, 0, 0, 0)), None, "no tokens were reported");
        let most = price.of(tokens(u64::MAX, u64::MAX, u64::MAX, u64::MAX)).unwrap();
        assert!(most > Usd::from_dollars(1e9), "{most}");
    }

    /// Codex counts cached input as input and reasoning as output; neither is paid twice.
    #[test]
    fn what_codex_counts_within_is_not_added_to_it() {
        let summary = seen(
            Dialect::Codex,
            r#"{"type":"turn.completed","usage":{"input_tokens":7500,"cached_input_tokens":2300,"cache_write_input_tokens":200,"output_tokens":165,"reasoning_output_tokens":64}}"#,
        );
        let price = price(1.0, 0.1, 2.0, 10.0);
        assert_eq!(estimate(Some(price), &summary), usd((5_000.0 + 230.0 + 400.0 + 1_650.0) / 1e6));
    }

    /// Claude and Amp count what the cache holds beside their input.
    #[test]
    fn what_amp_counts_beside_its_input_is_added_to_it() {
        let summary = seen(
            Dialect::Amp,
            r#"{"type":"result","subtype":"success","result":"x","usage":{"input_tokens":5000,"cache_read_input_tokens":2300,"cache_creation_input_tokens":200,"output_tokens":165}}"#,
        );
        let price = price(1.0, 0.1, 2.0, 10.0);
        assert_eq!(estimate(Some(price), &summary), usd((5_000.0 + 230.0 + 400.0 + 1_650.0) / 1e6));
    }

    #[test]
    fn who_reports_dollars_or_no_tokens_gets_no_estimate() {
        let price = Some(price(1.0, 1.0, 1.0, 1.0));
        let tokens = Tokens { input: 1_000_000, ..Tokens::default() };
        let summary = StreamSummary { tokens, ..StreamSummary::default() };
        assert_eq!(estimate(price, &summary), usd(1.0));
        assert_eq!(estimate(price, &StreamSummary { cost: Some(Usd::ZERO), ..summary.clone() }), None);
        assert_eq!(estimate(price, &StreamSummary::default()), None);
        assert_eq!(estimate(None, &summary), None);
    }

    #[track_caller]
    fn costs_like(model: &str, family: &str) {
        let expected = built_in().find(|(prefix, _)| *prefix == family).unwrap().1;
        assert_eq!(resolve(&[], Dialect::Codex, Some(model)), Some(expected), "{model}");
    }

    #[test]
    fn the_longest_beginning_of_a_models_name_counts() {
        costs_like("gpt-5", "gpt-5");
        costs_like("gpt-5-2025-08-07", "gpt-5");
        costs_like("gpt-5-mini-2025-08-07", "gpt-5-mini");
        costs_like("GPT-5-Nano", "gpt-5-nano");
        costs_like("gpt-5.4-mini", "gpt-5.4-mini");
        costs_like("gpt-5.9", "gpt-5.");
        costs_like("openai/o4-mini-high", "o4-mini");
        costs_like("claude-opus-4-1-20250805", "claude-opus-4-1");
        costs_like("claude-opus-4-5", "claude-opus");
        costs_like("sonnet[1m]", "claude-sonnet");
        costs_like("gemini-2.5-flash-lite", "gemini-2.5-flash-lite");
    }

    #[test]
    fn an_unknown_model_costs_what_the_agents_usual_one_does() {
        for model in [None, Some("m1"), Some("")] {
            assert_eq!(resolve(&[], Dialect::Codex, model), look_up(&[], "gpt-5.5"), "{model:?}");
            assert_eq!(resolve(&[], Dialect::Amp, model), look_up(&[], "claude-opus"), "{model:?}");
            assert_eq!(resolve(&[], Dialect::Plain, model), None, "{model:?}");
        }
        for dialect in [Dialect::Claude, Dialect::Codex, Dialect::Amp] {
            assert!(resolve(&[], dialect, None).is_some(), "{}", dialect.name());
        }
    }

    #[test]
    fn the_users_prices_stand_above_the_built_in_ones() {
        let (cheap, dear) = (price(1.0, 1.0, 1.0, 1.0), price(2.0, 2.0, 2.0, 2.0));
        let own = [("GPT-5".to_string(), cheap), ("gpt-5-codex-x".to_string(), dear)];
        let of = |model| resolve(&own, Dialect::Codex, Some(model)).unwrap();
        assert_eq!(of("gpt-5-mini"), cheap, "also above a longer one of ours");
        assert_eq!(of("gpt-5-codex-x2"), dear);
        assert_eq!(of("o3"), look_up(&[], "o3").unwrap());
        assert_eq!(resolve(&own, Dialect::Codex, None), Some(cheap), "for the usual model too");
    }

    #[test]
    fn no_family_is_listed_twice_and_reading_a_cache_is_never_dearer() {
        let mut prefixes: Vec<&str> = built_in().map(|(prefix, _)| prefix).collect();
        prefixes.sort_unstable();
        assert!(prefixes.windows(2).all(|pair| pair[0] != pair[1]), "{prefixes:?}");
        assert!(prefixes.iter().all(|prefix| prefix.to_lowercase() == **prefix));
        for (prefix, price) in built_in() {
            assert!(price.cached_input < price.input && price.input < price.output, "{prefix}");
        }
    }
}
