//! What the policy did in random lives, as one number.
//!
//! A change that is not meant to change what runs do leaves it as it is. One that is meant to
//! replaces it, and its commit says what runs do differently.

use crate::life::deterministic_lives;

/// The digest of every event of the lives below.
const DIGEST: u64 = 15_210_682_348_488_877_596;

#[test]
fn random_lives_go_as_they_went() {
    let lives = std::env::var("RALPH_LIVES").ok().and_then(|n| n.parse().ok());
    let mut digest = Digest::default();
    for events in deterministic_lives(lives.unwrap_or(1_000)) {
        for event in &events {
            digest.take(&serde_json::to_vec(event).expect("an event can be written"));
        }
    }
    match lives {
        None => assert_eq!(digest.0, DIGEST),
        // More of them, to compare two versions by hand.
        Some(lives) => println!("{lives} lives: {}", digest.0),
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
