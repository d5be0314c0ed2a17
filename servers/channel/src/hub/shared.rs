//! Pipes and streams whose bytes processes share, and what else there is to know and to set of what
//! is in a pipe.

use super::{ACCESS, CHANGEABLE, Hub, MAX_CAPACITY, Stage};
use crate::pages::PAGE;
use crate::queue::{Queue, Received};
use crate::shared::Shared;
use alloc::collections::BTreeMap;
use nacre_proto::Errno;
use nacre_proto::flags::{SOCK_STREAM, WAY_OUT};
use nacre_sys::ring::Ring;

impl<R> Hub<R> {
    /// The bytes that come to the end of a stream, or leave it; those of a pipe, whichever end it
    /// is.
    fn stream_queue(&self, key: u64, way: u64) -> Result<u64, Errno> {
        let end = self.end(key)?;
        let queue = match end.kind {
            _ if end.terminal.is_some() => None,
            0 => end.incoming.or(end.outgoing),
            SOCK_STREAM if way == WAY_OUT => end.outgoing,
            SOCK_STREAM => end.incoming,
            _ => None,
        };
        queue.ok_or(Errno::ENODEV)
    }

    /// The rings of an end.
    fn rings_of(&self, key: u64) -> impl Iterator<Item = &Shared> {
        let queues = self.ends.get(&key).map(|end| [end.incoming, end.outgoing]).unwrap_or_default();
        queues.into_iter().flatten().filter_map(|queue| self.queues.get(&queue)?.shared.as_ref())
    }

    fn shared_mut(&mut self, queue: u64) -> Option<&mut Shared> {
        self.queues.get_mut(&queue)?.shared.as_mut()
    }

    /// The ring in which the bytes are, if processes share them.
    pub fn ring(&self, key: u64, way: u64) -> Result<Option<u64>, Errno> {
        let queue = self.stream_queue(key, way)?;
        Ok(self.queues.get(&queue).and_then(|queue| queue.shared.as_ref()).map(|shared| shared.number))
    }

    /// Returns the number of pages that a ring needs.
    pub fn places(&self, key: u64, way: u64) -> Result<u64, Errno> {
        let queue = self.stream_queue(key, way)?;
        Ok(self.queues.get(&queue).map_or(0, |queue| (queue.capacity / PAGE).next_power_of_two()) as u64)
    }

    /// The bytes are in this ring from now on.
    pub fn share(&mut self, key: u64, way: u64, ring: Ring, number: u64) -> Result<(), Errno> {
        let key = self.stream_queue(key, way)?;
        let queue = self.queues.get_mut(&key).ok_or(Errno::ENODEV)?;
        let (account, before) = (queue.account, queue.load());
        let is_signed = queue.readers.iter().any(|reader| self.ends.get(reader).is_some_and(|end| end.is_signed));
        if is_signed || queue.shared.is_some() || !queue.share(Shared::new(ring, number)) {
            return Err(Errno::ENODEV);
        }
        let after = queue.load();
        self.count(account, before, after);
        self.rings.insert(number, key);
        self.tell_users(key);
        self.tell_trouble(key);
        // Somebody may wait already.
        ring.want();
        Ok(())
    }

    /// The number of an end's word in the ring.
    pub fn sit(&mut self, key: u64, way: u64) -> Result<usize, Errno> {
        let (queue, flags) = (self.stream_queue(key, way)?, self.end(key)?.flags);
        self.shared_mut(queue).and_then(|shared| shared.sit(key, flags)).ok_or(Errno::ENODEV)
    }

    /// An end that reads a queue has an error to tell: who reads its ring asks.
    pub(super) fn tell_trouble(&mut self, queue: u64) {
        let readers = self.queues.get(&queue).map(|queue| &queue.readers);
        let is_troubled = readers.is_some_and(|readers| readers.iter().any(|reader| self.ends.get(reader).is_some_and(|end| end.error.is_some())));
        if let Some(shared) = self.shared_mut(queue).filter(|_| is_troubled) {
            shared.trouble();
            self.note_called(queue);
        }
    }

    /// Makes receivers of an end learn who sent from now on. Returns false while somebody writes.
    pub(super) fn sign(&mut self, key: u64) -> Result<bool, Errno> {
        let end = self.end_mut(key)?;
        end.is_signed = end.kind != 0;
        match end.incoming.filter(|_| end.is_signed) {
            Some(queue) => self.give_ring_up(queue),
            None => Ok(true),
        }
    }

    /// Adds the name of the other end to bytes that came out of a ring.
    pub(super) fn name_sender(&self, key: u64, received: &mut Received<R>) {
        let Some(end) = self.ends.get(&key).filter(|end| end.kind == SOCK_STREAM) else { return };
        let is_shared = end.incoming.and_then(|queue| self.queues.get(&queue)).is_some_and(|queue| queue.shared.is_some());
        if let (true, Stage::Connected(peer)) = (is_shared, &end.stage) {
            received.from.clone_from(self.ends.get(peer).map_or(&end.peer_name, |peer| &peer.name));
        }
    }

    /// An end has left a pipe that others still have.
    pub(super) fn stand_up(&mut self, queue: u64, key: u64) {
        if let Some(shared) = self.shared_mut(queue) {
            shared.stand_up(key);
        }
        self.tell_users(queue);
    }

    /// Says in the ring how many can read and write.
    pub(super) fn tell_users(&mut self, key: u64) {
        let Some(queue) = self.queues.get_mut(&key) else { return };
        let is_over = queue.is_ended || queue.is_deaf;
        let (readers, writers) = if is_over { (0, 0) } else { (queue.readers.len(), queue.writers.len()) };
        if let Some(shared) = &mut queue.shared {
            shared.set_users(readers, writers);
        }
        self.note_called(key);
    }

    /// Notes who is to be called because of what was done with a pipe.
    pub(super) fn note_called(&mut self, queue: u64) {
        let Some(shared) = self.shared_mut(queue) else { return };
        let (number, called) = (shared.number, shared.called());
        if called != [false; 2] {
            let known = self.called.entry(number).or_default();
            *known = [known[0] | called[0], known[1] | called[1]];
        }
    }

    /// Returns the sides of rings at which everybody is to be called.
    pub fn called(&mut self) -> BTreeMap<u64, [bool; 2]> {
        core::mem::take(&mut self.called)
    }

    /// Returns true if a ring has the bytes of a pipe.
    pub fn has_ring(&self, number: u64) -> bool {
        self.rings.contains_key(&number)
    }

    pub(super) fn forget_ring(&mut self, queue: u64) {
        if let Some(shared) = self.queues.get(&queue).and_then(|queue| queue.shared.as_ref()) {
            let number = shared.number;
            self.rings.remove(&number);
        }
    }

    /// Takes away a user of the ring with this number, who has gone. The others go on, and look
    /// again.
    pub fn leave_ring(&mut self, number: u64, user: u64) {
        let Some(queue) = self.rings.get(&number).copied() else { return };
        if let Some(shared) = self.shared_mut(queue) {
            shared.ring.break_lock(user);
            shared.call_all();
        }
        self.note_called(queue);
        self.touch_queue(queue);
    }

    /// Asks processes to say when they have changed the bytes of this end. Returns false if they
    /// share nothing.
    pub fn want(&self, key: u64) -> bool {
        self.rings_of(key).map(|shared| shared.ring.want()).count() != 0
    }

    /// Notes that processes have changed the bytes of this end.
    pub fn changed(&mut self, key: u64) -> Result<(), Errno> {
        let end = self.end(key)?;
        for queue in [end.incoming, end.outgoing].into_iter().flatten() {
            self.touch_queue(queue);
        }
        Ok(())
    }

    /// Returns true if somebody is writing, so that nobody else can.
    pub fn is_locked(&self, key: u64) -> bool {
        self.rings_of(key).any(|shared| shared.ring.is_locked())
    }

    pub(super) fn send_shared(&mut self, queue: u64, data: &[u8], is_packet: bool) -> Result<Option<usize>, Errno> {
        let shared = self.shared_mut(queue).ok_or(Errno::EIO)?;
        if data.is_empty() {
            return Ok(Some(0));
        }
        let sent = shared.put(data, is_packet)?;
        if sent.is_some() {
            self.note_called(queue);
            self.touch_queue(queue);
        }
        Ok(sent)
    }

    /// A pipe holds another number of pages. A ring that is too small for that is given up.
    fn set_capacity(&mut self, key: u64, size: usize) -> Result<(), Errno> {
        let queue = self.queues.get_mut(&key).ok_or(Errno::EIO)?;
        let pages = (size / PAGE) as u64;
        match &mut queue.shared {
            Some(shared) if pages <= shared.ring.places() => {
                shared.ring.set_limit(pages);
                shared.call_all();
            }
            Some(_) => return if self.give_ring_up(key)? { self.set_capacity(key, size) } else { Err(Errno::EBUSY) },
            None => {}
        }
        queue.capacity = size;
        self.note_called(key);
        Ok(())
    }

    /// The bytes of a queue are here again, if they were not; false: somebody is writing, who says
    /// when he has done so.
    pub(super) fn give_ring_up(&mut self, key: u64) -> Result<bool, Errno> {
        let queue = self.queues.get_mut(&key).ok_or(Errno::EIO)?;
        let (account, before) = (queue.account, queue.load());
        let Some(number) = queue.shared.as_ref().map(|shared| shared.number) else { return Ok(true) };
        if queue.unshare().is_err() {
            return Ok(false);
        }
        let after = queue.load();
        self.count(account, before, after);
        self.rings.remove(&number);
        // Whoever waits there goes on by messages.
        self.called.insert(number, [true; 2]);
        Ok(true)
    }

    /// Returns the number of bytes that can be received, as `FIONREAD` gives it.
    pub fn waiting(&self, key: u64) -> Result<usize, Errno> {
        let end = self.end(key)?;
        if end.terminal.is_some() {
            return self.terminal_waiting(key);
        }
        let queue = end.incoming.or(end.outgoing).and_then(|queue| self.queues.get(&queue));
        Ok(queue.map_or(0, Queue::first))
    }

    /// Returns the capacity of a pipe, after it was set to `size` unless that is 0.
    pub fn capacity(&mut self, key: u64, size: usize) -> Result<usize, Errno> {
        let end = self.end(key)?;
        let queue = end.incoming.or(end.outgoing).ok_or(Errno::EBADF)?;
        if end.kind != 0 {
            return Err(Errno::EBADF);
        }
        let queue_now = self.queues.get(&queue).ok_or(Errno::EIO)?;
        if size > 0 {
            let size = size.max(PAGE).checked_next_power_of_two().filter(|size| *size <= MAX_CAPACITY).ok_or(Errno::EPERM)?;
            if queue_now.count() > size / PAGE {
                return Err(Errno::EBUSY);
            }
            self.set_capacity(queue, size)?;
        }
        let capacity = self.queues.get(&queue).ok_or(Errno::EIO)?.capacity;
        self.touch_queue(queue);
        Ok(capacity)
    }

    /// Puts back bytes that did not reach their receiver. They are first again.
    pub fn put_back(&mut self, key: u64, received: Received<R>) {
        self.terminal_put_back(key, &received);
        let Some(incoming) = self.ends.get(&key).and_then(|end| end.incoming) else { return };
        if let Some(queue) = self.queues.get_mut(&incoming) {
            let (account, before) = (queue.account, queue.load());
            queue.put_back(received);
            let after = queue.load();
            self.count(account, before, after);
            self.touch_queue(incoming);
            self.note_called(incoming);
        }
    }

    /// Sets them.
    pub fn set_flags(&mut self, key: u64, flags: u64) -> Result<(), Errno> {
        let end = self.end_mut(key)?;
        end.flags = end.flags & ACCESS | flags & CHANGEABLE;
        let flags = end.flags;
        self.rings_of(key).for_each(|shared| shared.set_flags(key, flags));
        Ok(())
    }
}
