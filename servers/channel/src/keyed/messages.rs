//! A queue of messages, each of a kind.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::flags::{MSG_EXCEPT, MSG_NOERROR};

/// Maximum size of a message in bytes.
pub const LONGEST: usize = 8192;
/// Default and maximum capacity of a queue in bytes.
const USUAL: u64 = 16_384;
const MOST: u64 = 1 << 20;
/// Bytes that a message takes beside its own.
pub const OVERHEAD: usize = 96;
/// Room for so many messages stays when all are taken.
const KEPT: usize = 64;

/// A queue.
#[derive(Debug)]
pub struct Queue {
    messages: VecDeque<(u64, Vec<u8>)>,
    bytes: usize,
    capacity: u64,
    /// Processes of the last send and the last receive; their times follow.
    sent: [u64; 2],
    received: [u64; 2],
    /// Index of the message that was taken last.
    taken_at: usize,
}

impl Queue {
    /// An empty one.
    pub fn new() -> Queue {
        Queue { messages: VecDeque::new(), bytes: 0, capacity: USUAL, sent: [0; 2], received: [0; 2], taken_at: 0 }
    }

    /// Bytes that its messages take.
    pub fn load(&self) -> usize {
        self.bytes + self.messages.len() * OVERHEAD
    }

    /// Bytes, messages, most bytes, last sender, last receiver, and when.
    pub fn state(&self) -> [u64; 7] {
        [self.bytes as u64, self.messages.len() as u64, self.capacity, self.sent[0], self.received[0], self.sent[1], self.received[1]]
    }

    /// Sets how many bytes it holds.
    pub fn set_capacity(&mut self, bytes: u64) -> Result<(), Errno> {
        if bytes == 0 || bytes > MOST {
            return Err(Errno::EINVAL);
        }
        self.capacity = bytes;
        Ok(())
    }

    /// Adds a message; `by`: who, and when. False: there is no room now.
    pub fn send(&mut self, kind: u64, data: &[u8], by: [u64; 2], room: usize) -> Result<bool, Errno> {
        if kind == 0 || kind > i64::MAX as u64 || data.len() > LONGEST {
            return Err(Errno::EINVAL);
        }
        if (self.bytes + data.len()) as u64 > self.capacity || self.messages.len() as u64 >= self.capacity {
            return Ok(false);
        }
        if data.len() + OVERHEAD > room || self.messages.try_reserve(1).is_err() {
            return Err(Errno::ENOMEM);
        }
        self.bytes += data.len();
        self.messages.push_back((kind, data.to_vec()));
        self.sent = by;
        Ok(true)
    }

    /// Takes the message that is wanted, whole.
    pub fn receive(&mut self, size: usize, kind: i64, flags: u64, by: [u64; 2]) -> Result<Option<(u64, Vec<u8>)>, Errno> {
        let Some(index) = self.find(kind, flags) else { return Ok(None) };
        if self.messages.get(index).is_some_and(|(_, data)| data.len() > size) && flags & MSG_NOERROR == 0 {
            return Err(Errno::E2BIG);
        }
        let Some(message) = self.messages.remove(index) else { return Ok(None) };
        self.bytes -= message.1.len();
        self.received = by;
        self.taken_at = index;
        if self.messages.is_empty() {
            self.messages.shrink_to(KEPT);
        }
        Ok(Some(message))
    }

    /// The message that was taken last did not arrive.
    pub fn put_back(&mut self, kind: u64, data: Vec<u8>) {
        self.bytes += data.len();
        self.messages.insert(self.taken_at.min(self.messages.len()), (kind, data));
    }

    /// The message that was sent last was not: how much of the load goes.
    pub fn take_last(&mut self) -> usize {
        let Some((_, data)) = self.messages.pop_back() else { return 0 };
        self.bytes -= data.len();
        data.len() + OVERHEAD
    }

    fn find(&self, kind: i64, flags: u64) -> Option<usize> {
        let wanted = kind.unsigned_abs();
        let mut all = self.messages.iter().map(|(kind, _)| *kind).enumerate();
        match kind {
            0 => all.next(),
            kind if kind < 0 => all.filter(|(_, kind)| *kind <= wanted).min_by_key(|(index, kind)| (*kind, *index)),
            _ if flags & MSG_EXCEPT != 0 => all.find(|(_, kind)| *kind != wanted),
            _ => all.find(|(_, kind)| *kind == wanted),
        }
        .map(|(index, _)| index)
    }
}
