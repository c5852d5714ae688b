//! What a run may use up.
//!
//! A limit on the whole run is a field of [`Limits`], one of [`Totals`] and a row of [`TOTALS`].

use crate::dialect::{Dialect, OutputKind};
use crate::money::Usd;
use crate::state::State;
use crate::stop_reason::StopReason;
use crate::text::counted;
use crate::time::span;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    pub iterations: u32,
    /// So many are the work that was asked for: to reach them is success, unless the last failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub iterations_are_the_goal: bool,
    /// Of the whole run; time when nothing runs (a crash, a night off) does not count.
    pub max_time_ms: Option<u64>,
    pub max_cost: Option<Usd>,
    /// Failed agents in a row that end the run.
    pub max_failures: u32,
    /// Iterations in a row that changed nothing and failed alike, or brought the plan no further; 0
    /// is off.
    pub stall_after: u32,
    /// Of one agent.
    pub agent_timeout_ms: Option<u64>,
    pub backoff: Backoff,
    /// How long a service that is down is waited for.
    #[serde(default = "two_hours")]
    pub max_outage_ms: u64,
    /// How long an agent may show no sign of life, and how long while one of its tools runs.
    #[serde(default, skip_serializing_if = "Patience::is_endless")]
    pub patience: Patience,
    /// Bytes that have to be free where the run writes before work begins; 0 is off.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub min_free: u64,
}

/// New totals for the limits of a whole run; the rest stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Usd>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time_ms: Option<u64>,
}

/// A limit on the whole run.
pub struct TotalLimit {
    /// Of `ralph set` and `ralph resume`.
    flag: &'static str,
    /// Why a run stops that has reached it.
    pub reason: StopReason,
    /// Whether it leaves no room for another iteration.
    is_reached: fn(&State) -> bool,
    /// What a run has used that has reached it.
    pub used: fn(&State) -> String,
    /// The flag that allows as much again as the run has used.
    pub doubled: fn(&State) -> String,
    /// The new total, for people.
    shown: fn(&Totals) -> Option<String>,
    /// The new total as the value of its flag.
    value: fn(&Totals) -> Option<String>,
}

const TOTALS: &[TotalLimit] = &[
    TotalLimit {
        flag: "max-iterations",
        reason: StopReason::MaxIterations,
        is_reached: |state| state.ledger.judged >= state.ledger.limits.iterations,
        used: |state| format!("all of its {}", counted(state.ledger.limits.iterations.into(), "iteration")),
        doubled: |state| format!("-n {}", 2 * state.ledger.judged.max(1)),
        shown: |totals| totals.max_iterations.map(|most| most.to_string()),
        value: |totals| totals.max_iterations.map(|most| most.to_string()),
    },
    TotalLimit {
        flag: "max-cost",
        reason: StopReason::BudgetExhausted,
        is_reached: |state| {
            let (spent, usual) = (state.ledger.spent.usd, state.ledger.costs.median());
            state.ledger.limits.max_cost.is_some_and(|most| spent >= most || spent + usual > most)
        },
        used: |state| {
            format!("{} of {}", state.ledger.spent, state.ledger.limits.max_cost.unwrap_or_default())
        },
        doubled: |state| format!("--max-cost {:.2}", (2.0 * state.ledger.spent.usd.dollars()).max(0.01)),
        shown: |totals| totals.max_cost.map(|most| most.to_string()),
        value: |totals| totals.max_cost.map(|most| most.dollars().to_string()),
    },
    TotalLimit {
        flag: "max-time",
        reason: StopReason::Timeout,
        is_reached: |state| state.ledger.limits.max_time_ms.is_some_and(|most| state.position.up_ms >= most),
        used: |state| format!("all of its {}", span(state.ledger.limits.max_time_ms.unwrap_or_default())),
        doubled: |state| format!("--max-time {}", span(2 * state.position.up_ms)),
        shown: |totals| totals.max_time_ms.map(span),
        value: |totals| totals.max_time_ms.map(|most| (most as f64 / 1000.0).to_string()),
    },
];

impl Totals {
    /// The names of the flags, and the new totals for people.
    pub fn shown(&self) -> impl Iterator<Item = (&'static str, String)> {
        TOTALS.iter().filter_map(|limit| Some((limit.flag, (limit.shown)(self)?)))
    }

    /// The flags that set the same totals.
    pub fn flags(&self) -> impl Iterator<Item = String> {
        TOTALS.iter().filter_map(|limit| Some(format!("--{}={}", limit.flag, (limit.value)(self)?)))
    }
}

impl Limits {
    pub(crate) fn set(&mut self, totals: &Totals) {
        self.iterations = totals.max_iterations.unwrap_or(self.iterations);
        self.max_cost = totals.max_cost.or(self.max_cost);
        self.max_time_ms = totals.max_time_ms.or(self.max_time_ms);
    }
}

impl State {
    /// The limit on the whole run that leaves no room for another iteration: time before money, and
    /// that before iterations.
    pub fn limit_reached(&self) -> Option<&'static TotalLimit> {
        TOTALS.iter().rev().find(|limit| (limit.is_reached)(self))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
pub(crate) fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Silence that is endured; none is endless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patience {
    pub silence_ms: Option<u64>,
    pub tool_ms: Option<u64>,
    /// Of agents whose output is text, where that differs from `silence_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_ms: Option<u64>,
}

impl Patience {
    pub fn is_endless(&self) -> bool {
        *self == Patience::default()
    }

    /// How long an agent may be silent whose output is of this dialect.
    pub fn silence_ms(&self, dialect: Dialect) -> Option<u64> {
        match dialect.spec().output {
            OutputKind::Text => self.text_ms.or(self.silence_ms),
            OutputKind::Stream => self.silence_ms,
        }
    }
}

/// What workers get unless told otherwise. A stream of events is only silent while the service
/// is; a text may well be.
pub const WORKER_SILENCE_MS: u64 = 600_000;
pub const WORKER_TEXT_SILENCE_MS: u64 = 60_000;
pub const WORKER_TOOL_MS: u64 = 600_000;

fn two_hours() -> u64 {
    DEFAULT_MAX_OUTAGE_MS
}

pub const DEFAULT_MAX_OUTAGE_MS: u64 = 2 * 3_600_000;

/// A wait for a service that does not say when it will answer again grows up to this.
pub const LONGEST_SERVICE_WAIT_MS: u64 = 15 * 60_000;

/// An agent that waits for the network is given so long before another one stands in: what it has
/// begun is worth more than a short interruption.
pub const NETWORK_GRACE_MS: u64 = 15_000;

/// Clocks differ: a little more than the time that was named.
pub const LIMIT_MARGIN_MS: u64 = 5_000;

/// Waits after failures: `base`, twice that, four times … up to `cap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backoff {
    pub base_ms: u64,
    pub cap_ms: u64,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff { base_ms: 1_000, cap_ms: 300_000 }
    }
}

impl Backoff {
    pub fn wait_ms(self, failures_in_a_row: u32) -> u64 {
        let doublings = failures_in_a_row.saturating_sub(1).min(63);
        self.base_ms.saturating_mul(1 << doublings).min(self.cap_ms)
    }
}

/// An agent that answered with nothing is run again this often within one iteration.
pub const EMPTY_ANSWERS_RERUN: u32 = 3;

/// So many claims in a row that pass in the workspace and fail on the clean copy stop a run: what the
/// checks lack there is not for the agent to give.
pub const CLAIMS_ONLY_IN_PLACE: u32 = 3;

/// A setup command of the proof that takes longer has failed: it installs what is mostly there.
pub const SETUP_TIMEOUT_MS: u64 = 30 * 60 * 1000;
/// An agent that is asked for nothing but a commit message.
pub const MESSAGE_TIMEOUT_MS: u64 = 300_000;

/// An agent that has answered may take so long to end.
pub const ANSWER_GRACE_MS: u64 = 60_000;

/// Steps in a row whose machinery died under them before the run gives up.
pub const LOSSES_ENDURED: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap() {
        let waits: Vec<u64> = (1..=11).map(|n| Backoff::default().wait_ms(n) / 1000).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    }

    #[test]
    fn no_number_of_failures_overflows() {
        assert_eq!(Backoff::default().wait_ms(u32::MAX), 300_000);
        assert_eq!(Backoff { base_ms: u64::MAX, cap_ms: u64::MAX }.wait_ms(70), u64::MAX);
        assert_eq!(Backoff { base_ms: 0, cap_ms: 0 }.wait_ms(5), 0);
    }
}
