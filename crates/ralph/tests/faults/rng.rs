//! Splitmix64: small, and the same everywhere.

use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `end`, which is not reached.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub fn within(&mut self, first: u32, last: u32) -> u32 {
        first + u32::try_from(self.below(u64::from(last - first) + 1)).unwrap_or(0)
    }

    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub fn pause(&mut self, longest_ms: u64) -> Duration {
        Duration::from_micros(self.below(longest_ms * 1000))
    }

    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        let last = u32::try_from(choices.len().saturating_sub(1)).unwrap_or(0);
        choices[self.within(0, last) as usize]
    }
}
