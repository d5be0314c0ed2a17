//! Numbers that differ from program to program: what a program finds at its start, made of what its
//! first maker found. They are not for secrets, which are asked of the system.

/// Makes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Random {
    state: [u64; 2],
}

/// The finish of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
/// 2014): each bit changes half of all.
fn mixed(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

impl Random {
    /// Makes a generator that begins with these words.
    pub fn of(state: [u64; 2]) -> Random {
        Random { state }
    }

    fn next(&mut self) -> u64 {
        let [count, key] = self.state;
        self.state[0] = count.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.state[0] ^ mixed(key))
    }

    /// Two words: enough for another one to begin with.
    pub fn words(&mut self) -> [u64; 2] {
        [self.next(), self.next()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_and_its_maker_go_apart() {
        let mut maker = Random::of([1, 2]);
        let mut child = Random::of(maker.words());
        let mut other = Random::of(maker.words());
        let all = [maker.words(), child.words(), other.words(), maker.words()];
        assert!((0..4).all(|one| (0..one).all(|before| all[one] != all[before])));
    }
}
