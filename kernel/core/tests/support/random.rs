//! Where a test's choices come from: a seed, or the bytes of a fuzzer.

/// A source of choices.
pub struct Random<'a> {
    state: u64,
    bytes: Option<&'a [u8]>,
}

impl<'a> Random<'a> {
    /// Choices that depend on a seed alone, and never end.
    pub fn new(seed: u64) -> Self {
        Random { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, bytes: None }
    }

    /// Choices read from bytes; they end with those.
    pub fn from_bytes(bytes: &'a [u8]) -> Self {
        Random { state: 1, bytes: Some(bytes) }
    }

    /// Returns true if there are no more choices.
    pub fn is_over(&self) -> bool {
        self.bytes.is_some_and(<[u8]>::is_empty)
    }

    /// A word.
    pub fn word(&mut self) -> u64 {
        let Some(bytes) = &mut self.bytes else {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            return self.state.wrapping_mul(0x2545_f491_4f6c_dd1d);
        };
        (0..8).fold(0, |word, _| word << 8 | u64::from(bytes.split_off_first().copied().unwrap_or(0)))
    }

    /// A number below `limit`, which is at most 2^16.
    pub fn below(&mut self, limit: u64) -> u64 {
        let Some(bytes) = &mut self.bytes else { return (self.word() >> 16) % limit };
        let mut byte = || u64::from(bytes.split_off_first().copied().unwrap_or(0));
        if limit <= 256 { byte() % limit } else { (byte() << 8 | byte()) % limit }
    }

    /// Returns one of `choices`.
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}
