//! Bytes for `/dev/urandom` and for programs' start: SplitMix64, seeded with the time. Good enough to make programs differ, not for secrets:
//! there is no source of randomness that a machine under test is sure to have.

/// The generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator whose bytes follow from `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn next_word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.next_word().to_le_bytes()[..part.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_filled() {
        let mut bytes = [0; 1003];
        Random::new(1).fill(&mut bytes);
        assert!(bytes.iter().filter(|&&byte| byte == 0).count() < 20);
        assert_eq!(Random::new(0).next_word(), 0xe220_a839_7b1d_cdaf);
    }
}
