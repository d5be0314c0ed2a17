//! Bytes of a pipe or a stream socket where processes read and write them without asking: see
//! [`nacre_sys::ring`]. Whoever still asks is served from the same ring.

use crate::pages::PAGE;
use alloc::vec;
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_sys::ring::{self, ASK, LEFT, Ring, SEATS, Side, TROUBLE};

/// Number that the service takes the lock with.
const OWN: u64 = 1 << 62;
/// Attempts to take the lock.
const TRIES: usize = 4;

/// A ring, and who uses it.
#[derive(Debug)]
pub struct Shared {
    /// The bytes.
    pub ring: Ring,
    /// Number of the ring's memory.
    pub number: u64,
    /// The ends that have a word in it; 0: nobody.
    seats: [u64; SEATS],
    /// Sides whose waiters have to be called because of the service.
    called: [bool; 2],
    /// State of the ring.
    state: u64,
}

impl Shared {
    /// A ring that is empty.
    pub fn new(ring: Ring, number: u64) -> Shared {
        Shared { ring, number, seats: [0; SEATS], called: [false; 2], state: 0 }
    }

    /// Gives an end a word in the ring, if it has none yet.
    pub fn sit(&mut self, end: u64, flags: u64) -> Option<usize> {
        let seat = self.seats.iter().position(|holder| *holder == end).or_else(|| self.seats.iter().position(|holder| *holder == 0))?;
        self.seats[seat] = end;
        self.ring.set_seat(seat, flags);
        Some(seat)
    }

    /// The end has other flags.
    pub fn set_flags(&self, end: u64, flags: u64) {
        if let Some(seat) = self.seats.iter().position(|holder| *holder == end) {
            self.ring.set_seat(seat, flags);
        }
    }

    /// The end has gone.
    pub fn stand_up(&mut self, end: u64) {
        self.seats.iter_mut().filter(|holder| **holder == end).for_each(|holder| *holder = 0);
    }

    /// Sets the number of readers and writers.
    pub fn set_users(&mut self, readers: usize, writers: usize) {
        self.ring.set_users([readers, writers]);
        self.call_all();
    }

    /// Everybody looks again.
    pub fn call_all(&mut self) {
        self.call(Side::Arrival);
        self.call(Side::Departure);
    }

    fn call(&mut self, side: Side) {
        self.called[side as usize] |= self.ring.wants_call(side);
    }

    /// Returns the sides whose waiters have to be called, since this was asked last.
    pub fn called(&mut self) -> [bool; 2] {
        core::mem::take(&mut self.called)
    }

    /// Says if bytes that are not in the ring come first.
    pub fn come_first(&mut self, others: bool) {
        self.set_state(self.state & TROUBLE | if others { ASK } else { 0 });
    }

    /// Makes readers ask the service from now on, as an error comes behind the bytes.
    pub fn trouble(&mut self) {
        self.set_state(self.state | TROUBLE);
    }

    fn set_state(&mut self, state: u64) {
        self.state = state;
        self.ring.set_state(state);
        self.call(Side::Arrival);
    }

    /// Takes bytes; `None`: there are none.
    pub fn take(&mut self, size: usize) -> Option<Vec<u8>> {
        let mut data = vec![0; size.min(self.ring.places() as usize * PAGE)];
        // A ring that makes no sense has nothing for anybody.
        let (count, has_freed) = self.ring.take(&mut data).ok()??;
        data.truncate(count);
        if has_freed {
            self.call(Side::Departure);
        }
        Some(data)
    }

    /// The bytes that come first, from an offset on.
    pub fn look(&self, size: usize, offset: usize) -> Option<Vec<u8>> {
        let mut data = vec![0; size.min(self.ring.places() as usize * PAGE)];
        let count = self.ring.look(&mut data, offset).ok()??;
        data.truncate(count);
        Some(data)
    }

    /// Puts what there is room for; `None`: there is none, or somebody else is writing.
    pub fn put(&mut self, data: &[u8], is_packet: bool) -> Result<Option<usize>, Errno> {
        if !self.lock_at_last() {
            return Ok(None);
        }
        let put = self.ring.put(data, is_packet);
        self.ring.unlock();
        let count = put.map_err(|ring::Broken| Errno::EIO)?;
        if count.is_some() {
            self.call(Side::Arrival);
        }
        Ok(count)
    }

    /// Takes the lock; if somebody has it, he says when he gives it back.
    fn lock_at_last(&self) -> bool {
        for _ in 0..TRIES {
            if self.ring.lock(OWN) {
                return true;
            }
            if self.ring.want_lock() {
                return false;
            }
        }
        false
    }

    /// Takes all pages out, one by one, and nobody puts any in again. `EBUSY`: somebody is writing.
    pub fn close(&mut self, mut keep: impl FnMut(&[u8], bool)) -> Result<(), Errno> {
        self.end_writing(|shared| {
            let mut page = [0; PAGE];
            // There are no more than places, whatever the ring says.
            for _ in 0..shared.ring.places() {
                let Ok(Some((count, is_packet))) = shared.ring.take_page(&mut page) else { break };
                keep(&page[..count], is_packet);
            }
        })
    }

    fn end_writing(&mut self, take: impl FnOnce(&mut Shared)) -> Result<(), Errno> {
        if !self.lock_at_last() {
            return Err(Errno::EBUSY);
        }
        self.ring.set_state(LEFT);
        take(self);
        self.ring.unlock();
        for side in [Side::Arrival, Side::Departure] {
            self.ring.wants_call(side);
        }
        Ok(())
    }
}
