//! A split queue: descriptors and requests that the guest writes, completions that the device does.
//!
//! Invariant: `next` is the guest's number of the first request that was not taken, `given` the
//! device's number of completions. Both only grow, by wrapping, and neither is read back from
//! memory, where the guest could change it.

use crate::BadState;
use crate::chain::{Chain, Stretch};
use crate::device::{Broken, Served};
use core::sync::atomic::{Ordering, fence};
use nacre_machine_memory::GuestMemory;

/// Size of a descriptor.
const DESCRIPTOR: u64 = 16;
/// Flags of descriptors: another one follows, the device writes, it describes descriptors.
const NEXT: u16 = 1;
const WRITABLE: u16 = 2;
const INDIRECT: u16 = 4;
/// Bytes of requests after which a turn ends, and those that each counts for at least.
const TURN: u64 = 1 << 20;
const REQUEST: u64 = 4 << 10;
/// Flag of the ring of requests: the guest wants no interrupt.
const NO_INTERRUPT: u16 = 1;

/// State of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// Number of descriptors: a power of two.
    pub size: u16,
    /// True if the guest has made the queue ready.
    pub is_enabled: bool,
    /// Address of the descriptors.
    pub descriptors: u64,
    /// Address of the ring of requests.
    pub requests: u64,
    /// Address of the ring of completions.
    pub completions: u64,
    /// Number of requests that were taken.
    pub next: u16,
    /// Number of completions.
    pub given: u16,
}

/// A queue.
#[derive(Clone, Debug)]
pub struct Queue {
    pub(crate) state: QueueState,
    largest: u16,
}

/// A descriptor as it was read.
struct Descriptor {
    at: u64,
    length: u32,
    flags: u16,
    next: u16,
}

fn read_u16(memory: &dyn GuestMemory, at: u64) -> Result<u16, Broken> {
    let mut bytes = [0; 2];
    memory.read(at, &mut bytes)?;
    Ok(u16::from_le_bytes(bytes))
}

/// Adds an offset to an address of the guest's.
fn add(at: u64, offset: u64) -> Result<u64, Broken> {
    at.checked_add(offset).ok_or(Broken)
}

impl Descriptor {
    fn read(memory: &dyn GuestMemory, table: u64, index: u16) -> Result<Descriptor, Broken> {
        let mut bytes = [0; DESCRIPTOR as usize];
        memory.read(add(table, DESCRIPTOR * u64::from(index))?, &mut bytes)?;
        let [a, b, c, d, e, f, g, h, i, j, k, l, flags @ .., m, n] = bytes;
        Ok(Descriptor {
            at: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            length: u32::from_le_bytes([i, j, k, l]),
            flags: u16::from_le_bytes(flags),
            next: u16::from_le_bytes([m, n]),
        })
    }
}

impl Queue {
    /// Makes a queue of at most so many descriptors, as it is after reset.
    pub(crate) fn new(largest: u16) -> Self {
        Queue { state: QueueState { size: largest, ..QueueState::default() }, largest }
    }

    /// Returns the queue as it is after reset.
    pub(crate) fn afresh(&self) -> Self {
        Queue::new(self.largest)
    }

    /// Makes the queue ready, unless the guest has chosen a size that no queue has.
    pub(crate) fn enable(&mut self) {
        self.state.is_enabled = self.has_valid_size();
    }

    fn has_valid_size(&self) -> bool {
        self.state.size.is_power_of_two() && self.state.size <= self.largest
    }

    /// Takes over a saved state.
    pub(crate) fn set_state(&mut self, state: &QueueState) -> Result<(), BadState> {
        let other = Queue { state: *state, largest: self.largest };
        if state.is_enabled && !other.has_valid_size() {
            return Err(BadState("size of a virtio queue"));
        }
        *self = other;
        Ok(())
    }

    /// Returns how many requests wait. A guest cannot have given more than there are descriptors.
    pub fn waiting(&self, memory: &dyn GuestMemory) -> Result<u16, Broken> {
        if !self.state.is_enabled {
            return Ok(0);
        }
        let index = read_u16(memory, add(self.state.requests, 2)?)?;
        // What the guest wrote before the index is read after it.
        fence(Ordering::Acquire);
        let count = index.wrapping_sub(self.state.next);
        if count <= self.state.size { Ok(count) } else { Err(Broken) }
    }

    /// Takes the next request, of which `waiting` has told.
    pub fn take(&mut self, memory: &dyn GuestMemory) -> Result<Chain, Broken> {
        let place = u64::from(self.state.next % self.state.size.max(1));
        let head = read_u16(memory, add(self.state.requests, 4 + 2 * place)?)?;
        let chain = self.follow(memory, head)?;
        self.state.next = self.state.next.wrapping_add(1);
        Ok(chain)
    }

    /// Follows a chain. It has no more descriptors than the queue, so one with a cycle is refused.
    fn follow(&self, memory: &dyn GuestMemory, head: u16) -> Result<Chain, Broken> {
        let mut chain = Chain { head, ..Chain::default() };
        let (mut table, mut table_size) = (self.state.descriptors, self.state.size);
        let mut index = head;
        for _ in 0..=self.state.size {
            if index >= table_size {
                return Err(Broken);
            }
            let found = Descriptor::read(memory, table, index)?;
            if found.flags & INDIRECT != 0 {
                // Tables are not nested, and nothing follows one.
                if table != self.state.descriptors || found.flags & NEXT != 0 {
                    return Err(Broken);
                }
                (table, table_size) = (found.at, self.table_size(found.length)?);
                index = 0;
                continue;
            }
            add_stretch(&mut chain, memory, &found)?;
            if found.flags & NEXT == 0 {
                return Ok(chain);
            }
            index = found.next;
        }
        Err(Broken)
    }

    /// Returns the number of descriptors of a table elsewhere. It has no more than the queue.
    fn table_size(&self, length: u32) -> Result<u16, Broken> {
        let is_whole = u64::from(length).is_multiple_of(DESCRIPTOR);
        let count = u16::try_from(u64::from(length) / DESCRIPTOR).map_err(|_| Broken)?;
        if is_whole && count <= self.state.size { Ok(count) } else { Err(Broken) }
    }

    /// Tells the guest that a request is completed, and how many bytes were written.
    pub fn complete(
        &mut self, memory: &mut dyn GuestMemory, chain: &Chain, written: u64,
    ) -> Result<(), Broken> {
        let place = u64::from(self.state.given % self.state.size.max(1));
        let [a, b, c, d] = u32::from(chain.head).to_le_bytes();
        let [e, f, g, h] = u32::try_from(written).unwrap_or(u32::MAX).to_le_bytes();
        memory.write(add(self.state.completions, 4 + 8 * place)?, &[a, b, c, d, e, f, g, h])?;
        // The index comes last: whoever reads it finds everything else.
        fence(Ordering::Release);
        self.state.given = self.state.given.wrapping_add(1);
        memory.write(add(self.state.completions, 2)?, &self.state.given.to_le_bytes())?;
        Ok(())
    }

    /// Returns true if the guest wants an interrupt for completions.
    pub(crate) fn wants_interrupt(&self, memory: &dyn GuestMemory) -> Result<bool, Broken> {
        // A guest sets the flag back and then looks for completions, so the flag is read after the
        // index was written.
        fence(Ordering::SeqCst);
        Ok(read_u16(memory, self.state.requests)? & NO_INTERRUPT == 0)
    }

    /// Serves requests that wait by `serve`, which returns how many bytes it wrote: all of them, or
    /// as many as make up a turn.
    pub fn serve_each(
        &mut self, memory: &mut dyn GuestMemory,
        mut serve: impl FnMut(&mut dyn GuestMemory, &Chain) -> Result<u64, Broken>,
    ) -> Result<Served, Broken> {
        let count = self.waiting(memory)?;
        let (mut left, mut moved) = (count, 0u64);
        while left != 0 && moved < TURN {
            let chain = self.take(memory)?;
            let written = serve(memory, &chain)?;
            self.complete(memory, &chain, written)?;
            left -= 1;
            moved = moved.saturating_add(REQUEST.max(chain.readable_len() + chain.writable_len()));
        }
        Ok(Served { any: count != 0, rest: left != 0 })
    }
}

/// Adds a descriptor's stretch. Those that the device reads come first.
fn add_stretch(
    chain: &mut Chain, memory: &dyn GuestMemory, found: &Descriptor,
) -> Result<(), Broken> {
    let end = add(found.at, found.length.into())?;
    if end > memory.size() {
        return Err(Broken);
    }
    let stretch = Stretch { at: found.at, length: found.length };
    if found.flags & WRITABLE != 0 {
        chain.writable.push(stretch);
    } else if chain.writable.is_empty() {
        chain.readable.push(stretch);
    } else {
        return Err(Broken);
    }
    Ok(())
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
