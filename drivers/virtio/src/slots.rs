//! Requests of a disk that are on their way, each in a slot: a head, a buffer, a status.
//!
//! Invariant: which slots the disk has is known here alone. What it answers is one of them, or the
//! disk is at fault.

use crate::block::{MOST, SECTOR};
use crate::memory::{Memory, Shared};
use crate::transport::Transport;
use crate::Fault;

/// Number of slots.
pub const SLOTS: usize = 8;
/// Entries of the rings.
const ENTRIES: u64 = 32;
/// Descriptors of a slot: its head, its buffer, its status.
const PARTS: u64 = 3;
/// Offsets of the rings in the first page, which has the descriptors before them.
const AVAILABLE: u64 = 16 * ENTRIES;
const USED: u64 = 2048;
/// Offsets of the heads and of the statuses, in the second page.
const HEADS: u64 = PAGE;
const STATUSES: u64 = HEADS + HEAD * SLOTS as u64;
/// Offset of the buffers.
const BUFFERS: u64 = 2 * PAGE;
const PAGE: u64 = 4096;
/// Bytes of a request's head, and of its status.
const HEAD: u64 = 16;
const STATUS: u64 = 1;
/// Flags of descriptors: there is a next one; the device writes there.
const NEXT: u64 = 1;
const DEVICE_WRITES: u64 = 2;
/// Flag of the ring: no interrupts.
const NO_INTERRUPT: u64 = 1;

/// Use of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The bytes come.
    Read,
    /// The bytes go.
    Write,
    /// Bytes that were written are brought to where they last.
    Flush,
}

impl Use {
    /// Number of the request, as the disk counts.
    fn kind(self) -> u64 {
        match self {
            Use::Read => 0,
            Use::Write => 1,
            Use::Flush => 4,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unused,
    /// The disk has it. Bytes of a read that nobody wants any more are dropped.
    Busy { what: Use, is_wanted: bool },
    /// The bytes were read.
    Read,
}

/// A slot: its state, and its sectors, from the first to that behind the last.
#[derive(Clone, Copy, Debug)]
struct Slot {
    state: State,
    range: (u64, u64),
    /// Number of requests before this one.
    number: u16,
}

/// All slots. The head of this module describes them.
pub struct Slots<M> {
    shared: Shared<M>,
    slots: [Slot; SLOTS],
    /// Number of requests given so far, and of answers taken, as the rings count.
    given: u16,
    taken: u16,
    notify_at: u64,
}

/// Returns true if two ranges of sectors have one in common.
fn meet(one: (u64, u64), other: (u64, u64)) -> bool {
    one.0 < other.1 && other.0 < one.1
}

impl<M: Memory> Slots<M> {
    /// Bytes of memory that the disk shares with the driver.
    pub const MEMORY: u64 = BUFFERS + SLOTS as u64 * MOST;

    /// Makes the disk's queue in `shared`.
    pub fn new(shared: Shared<M>, transport: &Transport<M>) -> Result<Slots<M>, Fault> {
        let parts = [shared.address, shared.address + AVAILABLE, shared.address + USED];
        // A driver before this one may have left something there.
        [AVAILABLE + 2, USED, USED + 2].into_iter().for_each(|at| shared.memory.write(at, 2, 0));
        shared.memory.write(AVAILABLE, 2, NO_INTERRUPT);
        let notify_at = transport.announce(0, ENTRIES, parts)?;
        let slots = [Slot { state: State::Unused, range: (0, 0), number: 0 }; SLOTS];
        Ok(Slots { shared, slots, given: 0, taken: 0, notify_at })
    }

    fn buffer(slot: usize) -> u64 {
        BUFFERS + slot as u64 * MOST
    }

    fn status(slot: usize) -> u64 {
        STATUSES + slot as u64
    }

    fn find(&self, is_it: impl Fn(&Slot) -> bool) -> Option<usize> {
        self.slots.iter().position(is_it)
    }

    /// Returns the slot that reads, or has read, a sector.
    pub fn reading(&self, sector: u64) -> Option<usize> {
        self.find(|slot| slot.is_read() && slot.range.0 <= sector && sector < slot.range.1)
    }

    /// Returns the first sector at or behind this one that a slot reads or has read.
    pub fn next_read(&self, sector: u64) -> u64 {
        let starts = self.slots.iter().filter(|slot| slot.is_read()).map(|slot| slot.range.0);
        starts.filter(|start| *start >= sector).min().unwrap_or(u64::MAX)
    }

    /// Returns a slot that writes to some of these sectors.
    pub fn writing(&self, range: (u64, u64)) -> Option<usize> {
        self.find(|slot| matches!(slot.state, State::Busy { what: Use::Write, .. }) && meet(slot.range, range))
    }

    /// Returns true if the disk has the slot.
    pub fn is_busy(&self, slot: usize) -> bool {
        matches!(self.slots[slot].state, State::Busy { .. })
    }

    /// Returns the sectors whose bytes the slot has.
    pub fn has_read(&self, slot: usize) -> Option<(u64, u64)> {
        let slot = &self.slots[slot];
        (slot.state == State::Read).then_some(slot.range)
    }

    /// Returns the sectors of a slot.
    pub fn range(&self, slot: usize) -> (u64, u64) {
        self.slots[slot].range
    }

    /// Returns a slot for a new request: an unused one, or that with the oldest bytes that were
    /// read and are not of these sectors.
    pub fn unused(&self, but: (u64, u64)) -> Option<usize> {
        let age = |slot: &usize| self.given.wrapping_sub(self.slots[*slot].number);
        let is_old = |slot: &usize| self.slots[*slot].state == State::Read && !meet(self.slots[*slot].range, but);
        self.find(|slot| slot.state == State::Unused).or_else(|| (0..SLOTS).filter(is_old).max_by_key(age))
    }

    /// Forgets the bytes of a slot.
    pub fn free(&mut self, slot: usize) {
        self.slots[slot].state = State::Unused;
    }

    /// Forgets bytes of sectors that are about to be written.
    pub fn drop_reads(&mut self, range: (u64, u64)) {
        for slot in self.slots.iter_mut().filter(|slot| slot.is_read() && meet(slot.range, range)) {
            slot.state = match slot.state {
                State::Busy { what, .. } => State::Busy { what, is_wanted: false },
                _ => State::Unused,
            };
        }
    }

    /// Copies bytes that were read, from an offset in the slot on.
    pub fn copy_out(&self, slot: usize, offset: u64, to: &mut [u8]) {
        let count = (to.len() as u64).min(MOST.saturating_sub(offset)) as usize;
        self.shared.memory.copy_out(Self::buffer(slot) + offset, &mut to[..count]);
    }

    fn describe(&self, number: u64, (at, length): (u64, u64), flags: u64, next: u64) {
        let memory = &self.shared.memory;
        memory.write(16 * number, 8, self.shared.address + at);
        memory.write(16 * number + 8, 4, length);
        memory.write(16 * number + 12, 2, flags);
        memory.write(16 * number + 14, 2, next);
    }

    /// Gives the disk a request, in a slot that it does not have, of sectors that one buffer holds.
    pub fn give(&mut self, slot: usize, what: Use, range: (u64, u64), bytes: &[u8]) {
        let (memory, size) = (&self.shared.memory, (range.1 - range.0) * SECTOR);
        let (first, head, status) = (PARTS * slot as u64, HEADS + HEAD * slot as u64, Self::status(slot));
        memory.write(head, 8, what.kind());
        memory.write(head + 8, 8, range.0);
        // What the disk does not write is no success.
        memory.write(status, 1, u8::MAX.into());
        let part = if what == Use::Flush { first + 2 } else { first + 1 };
        self.describe(first, (head, HEAD), NEXT, part);
        let flags = if what == Use::Read { NEXT | DEVICE_WRITES } else { NEXT };
        self.describe(first + 1, (Self::buffer(slot), size), flags, first + 2);
        self.describe(first + 2, (status, STATUS), DEVICE_WRITES, 0);
        memory.copy_in(Self::buffer(slot), bytes);
        memory.write(AVAILABLE + 4 + 2 * (u64::from(self.given) % ENTRIES), 2, first);
        self.slots[slot] = Slot { state: State::Busy { what, is_wanted: true }, range, number: self.given };
        self.given = self.given.wrapping_add(1);
        // The index comes last: this processor's writes are seen in their order.
        memory.write(AVAILABLE + 2, 2, self.given.into());
    }

    /// Tells the disk that there are requests.
    pub fn notify(&self, transport: &Transport<M>) {
        transport.notify_queue(0, self.notify_at);
    }

    /// Takes the answers that have come. Returns true if a write or a flush failed.
    pub fn take_answers(&mut self) -> Result<bool, Fault> {
        let (index, mut has_failed) = (self.shared.memory.read(USED + 2, 2) as u16, false);
        if index.wrapping_sub(self.taken) > self.given.wrapping_sub(self.taken) {
            return Err(Fault("the device answered a request that it does not have"));
        }
        while self.taken != index {
            let at = USED + 4 + 8 * (u64::from(self.taken) % ENTRIES);
            let (first, length) = (self.shared.memory.read(at, 4), self.shared.memory.read(at + 4, 4));
            let slot = (first / PARTS) as usize;
            if !first.is_multiple_of(PARTS) || slot >= SLOTS || !self.is_busy(slot) {
                return Err(Fault("the device answered a request that it does not have"));
            }
            has_failed |= self.take_answer(slot, length)?;
            self.taken = self.taken.wrapping_add(1);
        }
        Ok(has_failed)
    }

    fn take_answer(&mut self, number: usize, length: u64) -> Result<bool, Fault> {
        let is_done = self.shared.memory.read(Self::status(number), 1) == 0;
        let slot = &mut self.slots[number];
        let State::Busy { what, is_wanted } = slot.state else { return Ok(false) };
        let room = STATUS + if what == Use::Read { (slot.range.1 - slot.range.0) * SECTOR } else { 0 };
        if length > room {
            return Err(Fault("the disk answered with what is no answer"));
        }
        let is_whole = is_done && length == room;
        slot.state = if is_whole && is_wanted && what == Use::Read { State::Read } else { State::Unused };
        Ok(!is_whole && what != Use::Read)
    }
}

impl Slot {
    /// Returns true if the slot has bytes of a read, or will have them.
    fn is_read(&self) -> bool {
        matches!(self.state, State::Read | State::Busy { what: Use::Read, is_wanted: true })
    }
}
