//! Damage that depends on a seed alone: what the tests do to the corpus, without an engine.

/// A source of numbers.
pub struct Seed(u64);

impl Seed {
    /// The numbers of this seed.
    pub fn new(seed: u64) -> Seed {
        Seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }

    /// A byte: any, or one of the edges.
    fn byte(&mut self) -> u8 {
        match self.below(4) {
            0 => [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
            _ => self.below(256) as u8,
        }
    }
}

/// Does up to eight things to an input: a byte set, a stretch removed, repeated, or taken from
/// `other`, bytes added.
pub fn damage(seed: &mut Seed, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=seed.below(8) {
        let at = seed.below(bytes.len() + 1);
        let size = seed.below(16).min(bytes.len() - at);
        match seed.below(6) {
            0..2 if at < bytes.len() => bytes[at] = seed.byte(),
            2 => drop(bytes.drain(at..at + size)),
            3 => bytes.extend_from_within(at..at + size),
            4 if !other.is_empty() => {
                let from = seed.below(other.len());
                let end = (from + 1 + seed.below(64)).min(other.len());
                bytes.splice(at..at + size, other[from..end].iter().copied());
            }
            _ => {
                let more: Vec<u8> = (0..=seed.below(8)).map(|_| seed.byte()).collect();
                bytes.splice(at..at, more);
            }
        }
    }
    bytes.truncate(4096);
}
