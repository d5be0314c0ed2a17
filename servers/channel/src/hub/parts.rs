//! Parts of messages whose last part has not come yet, and the count of what is kept outside of
//! queues.

use super::{CONTROL, Hub, Parts, Sending};
use crate::queue;
use alloc::vec::Vec;
use nacre_proto::Errno;

impl<R> Parts<R> {
    /// Bytes and number of references.
    pub(super) fn load(&self) -> (usize, usize) {
        (self.data.len(), self.references.len())
    }
}

impl<R> Hub<R> {
    /// Keeps a part of a message: the first has number 0 and forgets what was kept before.
    pub fn add_part(&mut self, key: u64, number: u64, sending: &Sending, references: Vec<R>) -> Result<usize, Errno> {
        if number == 0 {
            self.forget_parts(key);
        }
        let (used, account) = ((self.bytes, self.references), self.end(key)?.account());
        let is_full = self.loads.check(account, used, (sending.data.len(), references.len()));
        let end = self.end_mut(key)?;
        let parts = end.parts.get_or_insert(Parts { count: 0, data: Vec::new(), references: Vec::new(), control: Vec::new() });
        if parts.count != number || parts.references.len() + references.len() > queue::MAX_REFERENCES {
            return Err(Errno::EINVAL);
        }
        if parts.data.len() + sending.data.len() > queue::SOCKET || sending.control.len() > CONTROL - parts.control.len().min(CONTROL) {
            return Err(Errno::EMSGSIZE);
        }
        is_full?;
        parts.data.try_reserve(sending.data.len()).map_err(|_| Errno::ENOMEM)?;
        parts.count += 1;
        parts.data.extend(&sending.data);
        parts.control.extend(&sending.control);
        let added = references.len();
        parts.references.extend(references);
        self.hold(key, (sending.data.len(), added), false);
        Ok(sending.data.len())
    }

    /// The parts before number `count`, which is the last.
    pub fn take_parts(&mut self, key: u64, count: u64) -> Result<Parts<R>, Errno> {
        let parts = self.end_mut(key)?.parts.take().ok_or(Errno::EINVAL)?;
        self.let_go(key, parts.load());
        if parts.count == count { Ok(parts) } else { Err(Errno::EINVAL) }
    }

    pub(super) fn forget_parts(&mut self, key: u64) {
        if let Some(parts) = self.ends.get_mut(&key).and_then(|end| end.parts.take()) {
            self.let_go(key, parts.load());
        }
    }

    /// `ENOMEM`, `ETOOMANYREFS`: this many more bytes and references of an end are too many.
    pub fn check_load(&self, key: u64, load: (usize, usize)) -> Result<(), Errno> {
        self.loads.check(self.end(key)?.account(), (self.bytes, self.references), load)
    }

    /// Counts bytes and references of an end that are kept outside of queues. `waits_to_send`: it
    /// is touched when there may be room for a datagram.
    pub fn hold(&mut self, key: u64, load: (usize, usize), waits_to_send: bool) {
        self.count(self.ends.get(&key).map_or(0, |end| end.account()), (0, 0), load);
        if waits_to_send && self.datagrams.contains(&key) {
            self.held_senders.insert(key);
        }
    }

    /// Takes back what [`Hub::hold`] counted, before the end goes.
    pub fn let_go(&mut self, key: u64, load: (usize, usize)) {
        self.count(self.ends.get(&key).map_or(0, |end| end.account()), load, (0, 0));
    }
}
