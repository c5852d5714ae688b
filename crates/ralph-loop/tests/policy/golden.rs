//! What the policy did in random lives, as one number.
//!
//! A change that is not meant to change what runs do leaves it as it is. One that is meant to
//! replaces it, and its commit says what runs do differently. Reasons in words are left out.

use crate::life::deterministic_lives;
use serde_json::Value;

/// The digest of every event of the lives below.
const DIGEST: u64 = 9_101_126_686_575_497_572;

#[test]
fn random_lives_go_as_they_went() {
    // Another number shows the digest of so many, to compare two versions by hand.
    let lives = std::env::var("RALPH_LIVES").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000);
    let mut digest = Digest::default();
    for events in deterministic_lives(lives) {
        for event in &events {
            let mut event = serde_json::to_value(event).expect("an event can be written");
            leave_out_words(&mut event);
            digest.take(event.to_string().as_bytes());
        }
    }
    assert_eq!(digest.0, DIGEST, "{lives} lives");
}

fn leave_out_words(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| name != "why" && name != "note");
            fields.values_mut().for_each(leave_out_words);
        }
        Value::Array(items) => items.iter_mut().for_each(leave_out_words),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// FNV-1a.
struct Digest(u64);

impl Default for Digest {
    fn default() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
