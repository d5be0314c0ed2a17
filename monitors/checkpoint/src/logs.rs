//! What copies have written to the console: it goes where the original's goes, and is kept for each
//! of them.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

/// Bytes that are kept of a copy.
const KEPT: usize = 64 << 10;
/// Number of copies that have ended of which they are kept.
const ENDED: usize = 32;

/// The last output of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log(VecDeque<u8>);

impl Log {
    /// Adds output. What is oldest goes for it, and all of it if there is no memory: a copy that
    /// writes much is no reason for anybody to end.
    pub fn add(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(KEPT)..];
        let over = (self.0.len() + bytes.len()).saturating_sub(KEPT);
        self.0.drain(..over);
        match self.0.try_reserve(bytes.len()) {
            Ok(()) => self.0.extend(bytes),
            Err(_) => self.0 = VecDeque::new(),
        }
    }

    /// All that is kept.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.iter().copied().collect()
    }
}

/// Logs of copies that have ended, the last ones, by their numbers.
#[derive(Debug, Default)]
pub struct Ended {
    logs: BTreeMap<u64, Log>,
    order: VecDeque<u64>,
}

impl Ended {
    /// Keeps the log of a copy. Numbers are used again: the last one counts.
    pub fn add(&mut self, copy: u64, log: Log) {
        self.forget(copy);
        if self.order.len() >= ENDED
            && let Some(oldest) = self.order.pop_front()
        {
            self.logs.remove(&oldest);
        }
        self.order.push_back(copy);
        self.logs.insert(copy, log);
    }

    /// Forgets a copy: there is a new one with its number.
    pub fn forget(&mut self, copy: u64) {
        self.order.retain(|known| *known != copy);
        self.logs.remove(&copy);
    }

    /// The log of a copy.
    pub fn get(&self, copy: u64) -> Option<&Log> {
        self.logs.get(&copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bytes_are_kept() {
        let mut log = Log::default();
        log.add(b"one");
        log.add(&[b'x'; KEPT - 1]);
        assert_eq!((log.bytes().len(), log.bytes()[0]), (KEPT, b'e'));
        log.add(&[b'y'; 2 * KEPT]);
        assert_eq!(log.bytes(), [b'y'; KEPT]);
    }

    #[test]
    fn the_last_copies_are_kept() {
        let mut ended = Ended::default();
        let log = |byte| {
            let mut log = Log::default();
            log.add(&[byte]);
            log
        };
        (0..ENDED as u64).for_each(|copy| ended.add(copy, log(1)));
        ended.add(0, log(2));
        assert_eq!(ended.get(0).map(Log::bytes), Some([2].to_vec()));
        ended.add(99, log(3));
        assert_eq!((ended.get(1), ended.order.len(), ended.logs.len()), (None, ENDED, ENDED));
        ended.forget(99);
        assert_eq!((ended.get(99), ended.order.len()), (None, ENDED - 1));
    }
}
