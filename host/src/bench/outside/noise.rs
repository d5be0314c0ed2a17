//! Bytes for files, the same each time.

/// Generator of numbers without a pattern (xorshift).
pub struct Noise(pub u64);

impl Noise {
    fn word(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Bytes that no compression makes smaller.
    pub fn bytes(&mut self, size: u64) -> Vec<u8> {
        (0..size / 8).flat_map(|_| self.word().to_le_bytes()).collect()
    }

    /// Text that compresses like a program's source.
    pub fn text(&mut self, size: usize) -> String {
        let mut text = String::with_capacity(size + 32);
        while text.len() < size {
            text += &format!("let value_{} = {};\n", self.word() % 97, self.word() % 100_003);
        }
        text
    }
}
