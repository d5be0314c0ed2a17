//! What a poll would find, and how often that has changed.

use super::{ACCESS, Hub, Stage};
use crate::queue::Queue;
use nacre_proto::Errno;
use nacre_proto::flags::{O_RDONLY, O_WRONLY, POLLERR, POLLHUP, POLLIN, POLLOUT, POLLRDHUP, POLLRDNORM, POLLWRNORM, SOCK_DGRAM};

const READABLE: u64 = POLLIN | POLLRDNORM;
const WRITABLE: u64 = POLLOUT | POLLWRNORM;

impl<R> Hub<R> {
    fn side(&self, queue: Option<u64>) -> Option<&Queue<R>> {
        queue.and_then(|queue| self.queues.get(&queue))
    }

    /// Returns the events that a poll would find.
    pub fn events(&self, key: u64) -> Result<u64, Errno> {
        match self.end(key)? {
            end if end.terminal.is_some() => self.terminal_events(key),
            _ if self.is_mailbox(key) => self.mailbox_events(key),
            end if end.kind == 0 => self.pipe_events(key),
            _ => self.socket_events(key),
        }
    }

    fn pipe_events(&self, key: u64) -> Result<u64, Errno> {
        let end = self.end(key)?;
        let mut events = 0;
        if let Some(queue) = self.side(end.incoming).filter(|_| end.flags & ACCESS != O_WRONLY) {
            events |= if queue.has_some() { READABLE } else { 0 };
            events |= if queue.writers.is_empty() && queue.writers_ever != end.writers_before { POLLHUP } else { 0 };
        }
        if let Some(queue) = self.side(end.outgoing).filter(|_| end.flags & ACCESS != O_RDONLY) {
            events |= if queue.is_writable() { WRITABLE } else { 0 };
            events |= if queue.readers.is_empty() { POLLERR } else { 0 };
        }
        Ok(events)
    }

    fn socket_events(&self, key: u64) -> Result<u64, Errno> {
        let end = self.end(key)?;
        if let Stage::Listening(waiting, _) = &end.stage {
            return Ok(if waiting.is_empty() { 0 } else { READABLE });
        }
        if end.stage == Stage::Connecting {
            return Ok(0);
        }
        let (incoming, outgoing) = (self.side(end.incoming), self.side(end.outgoing));
        let is_connectionless = end.kind == SOCK_DGRAM;
        let is_over = incoming.is_some_and(|queue| queue.is_ended || queue.is_deaf || !is_connectionless && queue.writers.is_empty());
        let is_refused = end.is_mute || outgoing.is_some_and(|queue| queue.is_ended || queue.is_deaf || queue.readers.is_empty());
        let mut events = if end.error.is_some() { POLLERR } else { 0 };
        events |= if incoming.is_some_and(Queue::has_some) { READABLE } else { 0 };
        events |= if is_over { READABLE | POLLRDHUP } else { 0 };
        events |= if is_over && is_refused || !is_connectionless && incoming.is_none() { POLLHUP } else { 0 };
        let target = if is_connectionless { self.peer_queue(key) } else { outgoing.map(|queue| (queue, false)) };
        let is_held = end.stage == Stage::Outside && !self.has_room_outside();
        let has_room = !is_held && target.is_none_or(|(queue, is_foreign)| queue.is_writable() && !(is_foreign && queue.count() >= super::DATAGRAMS));
        Ok(events | if has_room { WRITABLE } else { 0 })
    }

    /// Returns the queue that the datagrams of an end go to, and true if its owner has another
    /// peer.
    fn peer_queue(&self, key: u64) -> Option<(&Queue<R>, bool)> {
        let Stage::Connected(peer) = self.ends.get(&key)?.stage else { return None };
        let other = self.ends.get(&peer)?;
        Some((self.side(other.incoming)?, peer != key && other.stage != Stage::Connected(key)))
    }

    /// Returns the number of times that something came which can be received, and that room came
    /// for what is sent.
    pub fn changes(&self, key: u64) -> Result<[u64; 2], Errno> {
        let end = self.end(key)?;
        let outgoing = if end.kind == SOCK_DGRAM { self.peer_queue(key).map(|(queue, _)| queue) } else { self.side(end.outgoing) };
        let arrivals = self.side(end.incoming).map_or(0, |queue| queue.all_changes()[0]);
        let departures = outgoing.map_or(0, |queue| queue.all_changes()[1]);
        Ok([arrivals.wrapping_add(end.changes), departures.wrapping_add(end.changes)])
    }
}
