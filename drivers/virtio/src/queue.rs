//! A split virtqueue whose buffers stand still: descriptor N describes buffer N for good.
//!
//! Invariant: which buffers the device has is known here alone. What it gives back is one of them,
//! or the device is at fault.

use crate::memory::{Memory, Shared};
use crate::Fault;
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::{Ordering, fence};

/// Number of buffers of a queue whose device has no use for more.
pub const SIZE: usize = 32;
/// Largest number of buffers: the three parts of a queue fit into a page.
pub const MAX_SIZE: usize = 128;
/// Bytes of a page, which holds the three parts of a queue.
const PAGE: u64 = 4096;
/// The parts of a queue in its page: descriptors, what the driver gives, what the device gives
/// back.
const AVAILABLE: u64 = 16 * MAX_SIZE as u64;
const USED: u64 = AVAILABLE + 512;
/// Flag of a descriptor: the device writes there.
const DEVICE_WRITES: u64 = 2;
/// Flag of what the driver gives: no interrupts for what is given back.
const NO_INTERRUPT: u64 = 1;
/// Flag of what the device gives back: it looks for buffers without being notified.
const NO_NOTIFICATION: u64 = 1;

/// A buffer that the device gave back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// Number of the buffer.
    pub buffer: usize,
    /// Bytes that the device wrote; at most the buffer's size.
    pub length: u64,
}

/// A queue. The head of this module describes it.
pub struct Queue<M> {
    shared: Shared<M>,
    buffer_size: u64,
    /// Buffers that the device has.
    given: Vec<bool>,
    given_count: u16,
    /// Number of buffers given so far, and of those taken back, as the rings count.
    available: u16,
    used: u16,
    number: u16,
    notify_at: u64,
}

impl<M: Memory> Queue<M> {
    /// Bytes of memory for a queue with so many buffers of this size.
    pub const fn memory_size(count: usize, buffer_size: u64) -> u64 {
        PAGE + count as u64 * buffer_size
    }

    /// A queue of `count` buffers, a power of two that is at most [`MAX_SIZE`], in `shared`, and
    /// the addresses of its parts for the device.
    pub fn new(shared: Shared<M>, count: usize, buffer_size: u64) -> (Queue<M>, [u64; 3]) {
        let parts = [shared.address, shared.address + AVAILABLE, shared.address + USED];
        // A driver before this one may have left something there.
        [AVAILABLE, AVAILABLE + 2, USED, USED + 2].into_iter().for_each(|at| shared.memory.write(at, 2, 0));
        let queue = Queue { shared, buffer_size, given: vec![false; count.min(MAX_SIZE)], given_count: 0, available: 0, used: 0, number: 0, notify_at: 0 };
        (queue, parts)
    }

    /// Sets the number of the queue and the place where the device is notified of it.
    pub fn notified_at(self, number: u16, notify_at: u64) -> Queue<M> {
        Queue { number, notify_at, ..self }
    }

    /// Returns the number of the queue and the place where the device is notified of it.
    pub fn notification(&self) -> (u16, u64) {
        (self.number, self.notify_at)
    }

    /// Asks the device for no interrupts when it gives buffers of this queue back.
    pub fn be_quiet(&self) {
        self.shared.memory.write(AVAILABLE, 2, NO_INTERRUPT);
    }

    /// Asks the device for interrupts again. What it gave back before this call may have caused
    /// none.
    pub fn be_loud(&self) {
        self.shared.memory.write(AVAILABLE, 2, 0);
        // The device reads the flag after it has written its index, and we the other way round.
        fence(Ordering::SeqCst);
    }

    /// Returns true if the device has to be notified of buffers that it was given.
    pub fn wants_notification(&self) -> bool {
        // The device reads our index after it has written the flag, and we the other way round.
        fence(Ordering::SeqCst);
        self.shared.memory.read(USED, 2) & NO_NOTIFICATION == 0
    }

    /// Returns the number of buffers that the device has.
    pub fn given_count(&self) -> usize {
        self.given_count.into()
    }

    /// Returns the number of buffers that the device does not have.
    pub fn free_count(&self) -> usize {
        self.given.len() - self.given_count()
    }

    /// Returns a buffer that the device does not have.
    pub fn free_buffer(&self) -> Option<usize> {
        self.given.iter().position(|given| !given)
    }

    fn buffer_at(&self, buffer: usize) -> u64 {
        PAGE + buffer as u64 * self.buffer_size
    }

    /// Copies bytes of a buffer that the device does not have, from `offset` on.
    pub fn copy_out(&self, buffer: usize, offset: u64, to: &mut [u8]) {
        let size = (to.len() as u64).min(self.buffer_size.saturating_sub(offset)) as usize;
        self.shared.memory.copy_out(self.buffer_at(buffer) + offset, &mut to[..size]);
    }

    /// Gives the device a buffer to write into.
    pub fn give_to_write(&mut self, buffer: usize) {
        self.give(buffer, self.buffer_size, DEVICE_WRITES);
    }

    /// Gives the device a buffer with `bytes`, at most a buffer's size.
    pub fn give_to_read(&mut self, buffer: usize, bytes: &[u8]) {
        let bytes = &bytes[..bytes.len().min(self.buffer_size as usize)];
        self.shared.memory.copy_in(self.buffer_at(buffer), bytes);
        self.give(buffer, bytes.len() as u64, 0);
    }

    /// Gives the device a buffer to read, whose bytes from `offset` on are `bytes`, and before that
    /// what stood there. `bytes` has at most so many as the buffer has room for.
    pub fn give_to_read_from(&mut self, buffer: usize, offset: u64, bytes: &[u8]) {
        let bytes = &bytes[..bytes.len().min(self.buffer_size.saturating_sub(offset) as usize)];
        self.shared.memory.copy_in(self.buffer_at(buffer) + offset, bytes);
        self.give(buffer, offset + bytes.len() as u64, 0);
    }

    fn give(&mut self, buffer: usize, length: u64, flags: u64) {
        let memory = &self.shared.memory;
        let at = 16 * buffer as u64;
        memory.write(at, 8, self.shared.address + self.buffer_at(buffer));
        memory.write(at + 8, 4, length);
        memory.write(at + 12, 2, flags);
        memory.write(AVAILABLE + 4 + 2 * (u64::from(self.available) % self.given.len() as u64), 2, buffer as u64);
        self.available = self.available.wrapping_add(1);
        // The index comes last: all that the device reads of a buffer stands there by then, since
        // this processor's writes are seen in their order.
        memory.write(AVAILABLE + 2, 2, self.available.into());
        self.given_count += u16::from(!self.given[buffer]);
        self.given[buffer] = true;
    }

    /// Returns how many buffers the device has given back that were not taken yet.
    pub fn returned_count(&self) -> Result<u16, Fault> {
        let index = self.shared.memory.read(USED + 2, 2) as u16;
        let count = index.wrapping_sub(self.used);
        if count <= self.given_count { Ok(count) } else { Err(Fault("the device gave back more buffers than it had")) }
    }

    /// Takes the next buffer that the device gave back.
    pub fn take(&mut self) -> Result<Option<Returned>, Fault> {
        if self.returned_count()? == 0 {
            return Ok(None);
        }
        let at = USED + 4 + 8 * (u64::from(self.used) % self.given.len() as u64);
        let (buffer, length) = (self.shared.memory.read(at, 4) as usize, self.shared.memory.read(at + 4, 4));
        if !self.given.get(buffer).is_some_and(|given| *given) {
            return Err(Fault("the device gave back a buffer that it did not have"));
        }
        if length > self.buffer_size {
            return Err(Fault("the device wrote more than a buffer holds"));
        }
        self.used = self.used.wrapping_add(1);
        self.given[buffer] = false;
        self.given_count -= 1;
        Ok(Some(Returned { buffer, length }))
    }
}
