//! Bytes for `/dev/urandom` and for programs' start: ChaCha20 under a key from the host and the
//! processor.
//!
//! The key changes after [`RESEED`] bytes: the next one is made of the stream, of new bits of the
//! processor, and of the clock. So earlier bytes do not follow from the state.

use nacre_sys::random;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// Bytes of a key.
pub const KEY: usize = 32;
/// Bytes after which there is a new key.
const RESEED: usize = 1 << 20;

/// The generator.
#[derive(Clone, Debug)]
pub struct Random {
    stream: ChaCha20Rng,
    left: usize,
    is_fixed: bool,
}

/// Changes the words of a key by what `source` gives for each.
fn mix(key: &mut [u8; KEY], mut source: impl FnMut() -> Option<u64>) {
    for part in key.chunks_exact_mut(8) {
        let word = source().unwrap_or(0).to_le_bytes();
        part.iter_mut().zip(word).for_each(|(byte, new)| *byte ^= new);
    }
}

impl Random {
    /// A generator whose bytes follow from `seed` alone if `is_fixed`. Otherwise bits of the
    /// processor and `time` are mixed into them.
    pub fn new(seed: &[u8], is_fixed: bool, time: u64) -> Random {
        let mut key = [0; KEY];
        key.iter_mut().zip(seed).for_each(|(byte, new)| *byte = *new);
        if !is_fixed {
            mix(&mut key, random::word);
            mix(&mut key, || Some(time));
        }
        Random { stream: ChaCha20Rng::from_seed(key), left: RESEED, is_fixed }
    }

    fn reseed(&mut self) {
        let mut key = [0; KEY];
        self.stream.fill_bytes(&mut key);
        if !self.is_fixed {
            mix(&mut key, random::word);
        }
        *self = Random { stream: ChaCha20Rng::from_seed(key), left: RESEED, is_fixed: self.is_fixed };
    }

    /// Mixes bytes of a device in. Who chose them knows nothing of the new key: what was there
    /// before is in it, too. Of a generator with a fixed seed nothing changes.
    pub fn add(&mut self, bytes: &[u8]) {
        if self.is_fixed {
            return;
        }
        for part in bytes.chunks(KEY) {
            let mut key = [0; KEY];
            self.stream.fill_bytes(&mut key);
            key.iter_mut().zip(part).for_each(|(byte, new)| *byte ^= new);
            self.stream = ChaCha20Rng::from_seed(key);
        }
        self.reseed();
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        if self.left < bytes.len() {
            self.reseed();
        }
        self.left = self.left.saturating_sub(bytes.len());
        self.stream.fill_bytes(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(random: &mut Random, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        random.fill(&mut bytes);
        bytes
    }

    #[test]
    fn the_stream_is_that_of_chacha20() {
        // RFC 8439, A.1, test vector 1: a key of zeros.
        let expected = [0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90];
        assert_eq!(bytes(&mut Random::new(&[0; KEY], true, 0), 8), expected);
        assert_eq!(bytes(&mut Random::new(&[], true, 7), 8), expected);
    }

    #[test]
    fn a_fixed_seed_repeats_and_others_do_not() {
        let long = |is_fixed| bytes(&mut Random::new(b"seed", is_fixed, 1), 3 * RESEED + 5);
        assert_eq!(long(true), long(true));
        assert_ne!(bytes(&mut Random::new(b"seed", false, 1), 32), bytes(&mut Random::new(b"seed", false, 2), 32));
        assert!(long(true).iter().filter(|&&byte| byte == 0).count() < RESEED / 40);
    }

    #[test]
    fn bytes_of_a_device_change_what_is_not_fixed() {
        let after = |is_fixed, added: &[u8]| {
            let mut random = Random { stream: ChaCha20Rng::from_seed([1; KEY]), left: RESEED, is_fixed };
            random.add(added);
            bytes(&mut random, 32)
        };
        assert_eq!(after(true, b"some"), after(true, b"others"));
        assert_ne!(after(false, b"some"), after(false, b"others"));
        // Also what lies behind the first key's size.
        assert_ne!(after(false, &[0; 64]), after(false, &[[0; 63].as_slice(), &[1]].concat()));
        // A device that gives nothing but zeros does not make the bytes known.
        assert_ne!(after(false, &[0; 64]), bytes(&mut Random::new(&[0; KEY], true, 0), 32));
    }

    #[test]
    fn a_new_key_follows_a_megabyte() {
        let mut random = Random::new(b"seed", true, 0);
        let before = random.clone();
        bytes(&mut random, RESEED);
        let after = random.clone();
        bytes(&mut random, 1);
        assert!(before.stream.get_seed() == after.stream.get_seed() && after.stream.get_seed() != random.stream.get_seed());
    }
}
