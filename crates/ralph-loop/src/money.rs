//! Money as whole billionths of a dollar, and what is known of a cost.
//!
//! Agents report costs as floating numbers. Sums of those depend on their order and
//! do not survive a round trip through text, and a replayed run must equal the live one.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// An amount in US dollars, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usd(u64);

const NANOS_PER_DOLLAR: f64 = 1e9;

impl Usd {
    pub const ZERO: Usd = Usd(0);

    /// What an agent reported. Negative and undefined amounts count as nothing.
    pub fn from_dollars(dollars: f64) -> Usd {
        // A float-to-integer cast saturates and sends NaN to zero, which is what is wanted.
        Usd((dollars * NANOS_PER_DOLLAR).round() as u64)
    }

    pub fn dollars(self) -> f64 {
        self.0 as f64 / NANOS_PER_DOLLAR
    }
}

impl Usd {
    /// What is left of an amount; nothing where more is taken than there is.
    pub fn less(self, other: Usd) -> Usd {
        Usd(self.0.saturating_sub(other.0))
    }

    /// What so many cost, if this is the price of a million.
    pub fn per_million(self, count: u64) -> Usd {
        const MILLION: u128 = 1_000_000;
        let nanos = (u128::from(self.0) * u128::from(count) + MILLION / 2) / MILLION;
        Usd(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl Add for Usd {
    type Output = Usd;
    fn add(self, other: Usd) -> Usd {
        Usd(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Usd) {
        *self = *self + other;
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Usd>>(amounts: I) -> Usd {
        amounts.fold(Usd::ZERO, Add::add)
    }
}

/// Two digits from a dollar up, four below it: `$1.50`, `$0.0234`.
impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.dollars();
        if self.0 == 0 || dollars >= 1.0 { write!(f, "${dollars:.2}") } else { write!(f, "${dollars:.4}") }
    }
}

/// What something cost, and whether that is known or partly guessed. People see a `~` before
/// what is not known for sure, which is why costs are shown by this type only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    #[serde(rename = "cost", serialize_with = "as_dollars")]
    pub usd: Usd,
    /// Some of it is no agent's report, but an estimate by tokens.
    #[serde(rename = "cost_estimated")]
    pub estimated: bool,
}

impl Cost {
    /// What an agent reported counts, else the estimate; none where neither is there.
    pub fn known(reported: Option<Usd>, estimate: Option<Usd>) -> Option<Cost> {
        let reported = reported.map(|usd| Cost { usd, estimated: false });
        reported.or_else(|| estimate.map(|usd| Cost { usd, estimated: true }))
    }
}

fn as_dollars<S: serde::Serializer>(amount: &Usd, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(amount.dollars())
}

impl AddAssign for Cost {
    fn add_assign(&mut self, more: Cost) {
        self.usd += more.usd;
        self.estimated |= more.estimated;
    }
}

impl Cost {
    /// Whole cents, for a line that is redrawn: `~$0.84`.
    pub fn rounded(&self) -> String {
        format!("{}${:.2}", if self.estimated { "~" } else { "" }, self.usd.dollars())
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.estimated { "~" } else { "" }, self.usd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_reports_count_as_nothing() {
        assert_eq!(Usd::from_dollars(-3.0), Usd::ZERO);
        assert_eq!(Usd::from_dollars(f64::NAN), Usd::ZERO);
        assert_eq!(Usd::from_dollars(f64::INFINITY) + Usd::from_dollars(1.0), Usd(u64::MAX));
    }

    #[test]
    fn small_amounts_keep_their_digits() {
        assert_eq!(Usd::from_dollars(0.0234).to_string(), "$0.0234");
        assert_eq!(Usd::from_dollars(5.756).to_string(), "$5.76");
        assert_eq!(Usd::ZERO.to_string(), "$0.00");
    }
    #[test]
    fn a_price_by_the_million_is_exact_to_the_billionth_and_never_overflows() {
        assert_eq!(Usd::from_dollars(1.25).per_million(1_000_000), Usd::from_dollars(1.25));
        assert_eq!(Usd::from_dollars(0.125).per_million(4), Usd(500));
        assert_eq!(Usd(1).per_million(500_000), Usd(1));
        assert_eq!(Usd(1).per_million(499_999), Usd(0));
        assert_eq!(Usd(u64::MAX).per_million(u64::MAX), Usd(u64::MAX));
    }

    #[test]
    fn a_sum_with_an_estimate_in_it_is_one() {
        let reported = Cost::known(Some(Usd::from_dollars(0.5)), Some(Usd::from_dollars(9.0))).unwrap();
        let guessed = Cost::known(None, Some(Usd::from_dollars(0.25))).unwrap();
        assert_eq!(Cost::known(None, None), None);
        assert_eq!((reported.to_string(), guessed.to_string()), ("$0.5000".into(), "~$0.2500".into()));
        let mut sum = reported;
        sum += reported;
        assert_eq!(sum.to_string(), "$1.00");
        sum += guessed;
        sum += reported;
        assert_eq!(sum.to_string(), "~$1.75");
        let json = serde_json::to_string(&sum).unwrap();
        assert_eq!(json, r#"{"cost":1.75,"cost_estimated":true}"#);
    }
}
