//! Money as whole billionths of a dollar.
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
}
