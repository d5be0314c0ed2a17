//! By chance.

use super::{Choice, Policy, Standing, first_from};

/// A generator of numbers that are good enough for choices (xorshift64, Marsaglia 2003), the same
/// for the same seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Makes a policy whose choices follow from `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        ((self.number() >> 16) % limit.max(1) as u64) as usize
    }
}

impl Policy for Random {
    fn next(&mut self, count: usize, standing: &dyn Fn(usize) -> Standing) -> Option<Choice> {
        let hand = self.below(count);
        first_from(hand, count, standing).map(Choice::Leave)
    }
}
