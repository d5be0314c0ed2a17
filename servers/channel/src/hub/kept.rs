//! What queues of messages have given and may be asked for again: the rests of long messages, and
//! what became of calls that waited, until the thread makes its next one. A monitor between us and
//! who waits can take an answer to somebody who was cut off meanwhile.

use crate::mailbox::{OVERHEAD, PIECE};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Maximum number of results that are kept. Beyond it the oldest ends' results go first.
const MOST: usize = 4096;

/// An end, and a thread that uses it.
pub type Place = (u64, u64);

/// A message, or nothing for one that was sent.
#[derive(Debug)]
struct One {
    priority: u32,
    data: Vec<u8>,
    /// Number of bytes that have been fetched.
    from: usize,
    /// Set if the result is that of a call that waited.
    has_waited: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Kept {
    all: BTreeMap<Place, One>,
    bytes: usize,
}

impl Kept {
    /// Returns the number of bytes of the results.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the result that has to go before another one is kept.
    pub fn surplus(&self) -> Option<Place> {
        if self.all.len() >= MOST { self.all.keys().next().copied() } else { None }
    }

    /// Keeps what was given to a thread; what it has whole only if it has waited.
    pub fn keep(&mut self, place: Place, priority: u32, data: Vec<u8>, has_waited: bool) {
        self.forget(place);
        if !has_waited && data.len() <= PIECE {
            return;
        }
        self.bytes += data.len() + OVERHEAD;
        self.all.insert(place, One { priority, from: PIECE.min(data.len()), data, has_waited });
    }

    /// The thread makes another call.
    pub fn forget(&mut self, place: Place) {
        self.bytes -= self.all.remove(&place).map_or(0, |one| one.data.len() + OVERHEAD);
    }

    /// An end has gone.
    pub fn forget_end(&mut self, end: u64) {
        let gone = self.all.extract_if((end, 0)..=(end, u64::MAX), |_, _| true);
        self.bytes -= gone.map(|(_, one)| one.data.len() + OVERHEAD).sum::<usize>();
    }

    /// More of a message.
    pub fn rest(&mut self, place: Place) -> Option<Vec<u8>> {
        let one = self.all.get_mut(&place)?;
        let piece = one.data[one.from..one.data.len().min(one.from + PIECE)].to_vec();
        one.from += piece.len();
        if one.from == one.data.len() {
            self.forget(place);
        }
        Some(piece)
    }

    /// Returns priority and size of the message that the thread's waiting call received, and lets
    /// it be fetched from the start. `None`: there is no such result.
    pub fn ask(&mut self, place: Place) -> Option<(u32, usize)> {
        let one = self.all.get_mut(&place).filter(|one| one.has_waited)?;
        one.from = 0;
        Some((one.priority, one.data.len()))
    }
}
