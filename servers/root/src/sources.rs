//! What is read like a file and is none: counters that processes share (`eventfd`), and what
//! happens to files (`inotify`). Here is who waits for them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::flags::{POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM};
use nacre_sys::{OwnedReference, ipc};

/// Maximum number of requests that wait for one source.
const MOST: usize = 64;
/// Bytes of a counter.
const WORD: usize = 8;

/// A counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Value of the counter.
    pub value: u64,
    /// A read takes 1, and not all.
    pub takes_one: bool,
}

impl Counter {
    /// Returns the number that a read takes.
    fn next(&self) -> u64 {
        if self.takes_one { self.value.min(1) } else { self.value }
    }

    /// Returns the bytes that a read gets; `None`: nothing yet. [`Counter::consume`] takes them.
    pub fn look(&self, size: usize) -> Result<Option<Vec<u8>>, Errno> {
        match self.next() {
            _ if size < WORD => Err(Errno::EINVAL),
            0 => Ok(None),
            next => Ok(Some(next.to_le_bytes().to_vec())),
        }
    }

    /// Takes what a read gets.
    pub fn consume(&mut self) {
        self.value -= self.next();
    }

    /// Returns true if there is room for so much more.
    pub fn has_room(&self, by: u64) -> bool {
        self.value.checked_add(by).is_some_and(|sum| sum != u64::MAX)
    }

    /// Adds, if there is room. Returns true if there was.
    pub fn add(&mut self, by: u64) -> bool {
        let has_room = self.has_room(by);
        self.value += if has_room { by } else { 0 };
        has_room
    }

    /// The number that is written.
    pub fn number(bytes: &[u8]) -> Result<u64, Errno> {
        let number = bytes.first_chunk::<WORD>().map(|bytes| u64::from_le_bytes(*bytes));
        number.filter(|number| *number != u64::MAX).ok_or(Errno::EINVAL)
    }

    /// Returns the events that a poll finds.
    pub fn events(&self) -> u64 {
        let readable = if self.value != 0 { POLLIN | POLLRDNORM } else { 0 };
        readable | if self.value < u64::MAX - 1 { POLLOUT | POLLWRNORM } else { 0 }
    }
}

/// Kind of a source.
pub enum What {
    /// A counter.
    Counter(Counter),
    /// Events that a watcher has not read yet.
    Notices,
}

/// Somebody who wants to be told when there may be an event.
struct Watcher {
    events: u64,
    bits: u64,
    port: OwnedReference,
}

/// Source of bytes that is no file. The head of this module describes it.
pub struct Source {
    /// Kind of the source.
    pub what: What,
    /// Calls that would wait fail instead.
    pub is_nonblocking: bool,
    /// Requests that wait to read, and how much.
    pub readers: VecDeque<(OwnedReference, usize)>,
    /// Requests that wait to add, and how much.
    pub writers: VecDeque<(OwnedReference, u64)>,
    watchers: VecDeque<Watcher>,
    /// Number of waiting requests that its account is charged for.
    pub charged: usize,
}

impl Source {
    /// Number of those that wait, in any way.
    pub fn waiting(&self) -> usize {
        self.readers.len() + self.writers.len() + self.watchers.len()
    }

    /// Returns a source that nobody waits for.
    pub fn new(what: What) -> Source {
        Source { what, is_nonblocking: false, readers: VecDeque::new(), writers: VecDeque::new(), watchers: VecDeque::new(), charged: 0 }
    }

    /// Forgets requests at the heads of both queues whose callers have gone: nothing is taken or
    /// added for them.
    pub fn drop_gone(&mut self) {
        drop_gone_heads(&mut self.readers, is_gone);
        drop_gone_heads(&mut self.writers, is_gone);
    }

    /// Returns true if no further request may wait.
    pub fn is_full(&mut self) -> bool {
        self.readers.retain(|(reply, _)| !is_gone(reply));
        self.writers.retain(|(reply, _)| !is_gone(reply));
        self.readers.len() + self.writers.len() >= MOST
    }

    /// Notifies the port of the bits, once, when there may be one of the events.
    pub fn watch(&mut self, events: u64, bits: u64, port: OwnedReference) {
        if self.watchers.len() >= MOST
            && let Some(oldest) = self.watchers.pop_front()
        {
            let _ = ipc::notify(oldest.port.handle(), oldest.bits);
        }
        self.watchers.push_back(Watcher { events, bits, port });
    }

    /// Tells those who watch for one of these events.
    pub fn notify(&mut self, events: u64) {
        self.watchers.retain(|watcher| {
            let is_due = events & watcher.events != 0;
            if is_due {
                // One that has gone need not hear of it.
                let _ = ipc::notify(watcher.port.handle(), watcher.bits);
            }
            !is_due
        });
    }
}

/// Returns true if nobody waits for the reply any more.
fn is_gone(reply: &OwnedReference) -> bool {
    reply.is_null().unwrap_or(true)
}

/// Takes the first requests out whose callers have gone.
fn drop_gone_heads<R, T>(queue: &mut VecDeque<(R, T)>, is_gone: impl Fn(&R) -> bool) {
    while queue.front().is_some_and(|(reply, _)| is_gone(reply)) {
        queue.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_give_all_or_one() {
        let mut counter = Counter { value: 3, takes_one: false };
        assert_eq!(counter.look(7), Err(Errno::EINVAL));
        // A look takes nothing: whoever it was for may have gone.
        for _ in 0..2 {
            assert_eq!(counter.look(8), Ok(Some(3u64.to_le_bytes().to_vec())));
        }
        counter.consume();
        assert_eq!(counter.look(8), Ok(None));
        assert!(counter.add(u64::MAX - 1) && !counter.add(1));
        assert_eq!(counter.events(), POLLIN | POLLRDNORM);
        let mut counter = Counter { value: 2, takes_one: true };
        assert_eq!(counter.look(100), Ok(Some(1u64.to_le_bytes().to_vec())));
        counter.consume();
        assert_eq!((counter.value, Counter::number(&[0xff; 8]), Counter::number(&[1])), (1, Err(Errno::EINVAL), Err(Errno::EINVAL)));
    }

    #[test]
    fn those_who_have_gone_are_not_the_first() {
        let mut queue = VecDeque::from([(false, 1), (false, 2), (true, 3), (false, 4)]);
        drop_gone_heads(&mut queue, |waits| !waits);
        assert_eq!(queue, [(true, 3), (false, 4)]);
    }
}
