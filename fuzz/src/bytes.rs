//! Choices out of bytes: numbers, words, stretches. When the bytes are over, everything is zero.

/// Bytes that are left.
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// Returns true if no bytes are left.
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    /// A number below `limit`, which is at most 256.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    /// Returns one of `choices`.
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A word: small numbers, edges and powers of two are made of two bytes, any other of nine.
    pub fn word(&mut self) -> u64 {
        let kind = self.byte();
        match kind % 8 {
            0..3 => u64::from(self.byte()),
            3 => 1u64 << self.below(64),
            4 => (1u64 << self.below(64)).wrapping_sub(1),
            5 => (1u64 << self.below(64)).wrapping_neg(),
            6 => u64::from(self.byte()) * 4096,
            _ => (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte())),
        }
    }

    /// Six words.
    pub fn words(&mut self) -> [u64; 6] {
        std::array::from_fn(|_| self.word())
    }

    /// A stretch of at most 255 bytes.
    pub fn some(&mut self) -> &'a [u8] {
        let size = usize::from(self.byte()).min(self.0.len());
        let (some, rest) = self.0.split_at(size);
        self.0 = rest;
        some
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}
