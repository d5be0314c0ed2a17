//! A digest of what crossed, by which a divergence is noticed. It is no defence against a file that
//! somebody has changed on purpose.

/// FNV-1a in 64 bits, over the bytes of numbers and of texts with their sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest(u64);

const START: u64 = 0xcbf2_9ce4_8422_2325;
const FACTOR: u64 = 0x100_0000_01b3;

impl Default for Digest {
    fn default() -> Digest {
        Digest(START)
    }
}

impl Digest {
    /// Adds a number.
    pub fn add(&mut self, number: u64) {
        number.to_le_bytes().into_iter().for_each(|byte| self.byte(byte));
    }

    /// Adds bytes.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        self.add(bytes.len() as u64);
        bytes.iter().for_each(|byte| self.byte(*byte));
    }

    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(FACTOR);
    }

    /// The digest so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_count() {
        let of = |parts: &[&[u8]]| {
            let mut digest = Digest::default();
            parts.iter().for_each(|part| digest.add_bytes(part));
            digest.value()
        };
        assert_ne!(of(&[b"ab", b"c"]), of(&[b"a", b"bc"]));
        assert_ne!(of(&[b""]), of(&[]));
        let mut digest = Digest::default();
        b"a".iter().for_each(|byte| digest.byte(*byte));
        assert_eq!(digest.value(), 0xaf63_dc4c_8601_ec8c);
    }
}
