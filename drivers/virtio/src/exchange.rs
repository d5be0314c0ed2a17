//! A device with one queue that answers requests: the one that serves files (number 9), which
//! speaks 9P.
//!
//! One request is on its way at a time, in one buffer, and its answer comes in another one. The
//! device never interrupts: whoever waits for an answer looks. The buffers lie behind the rings, so
//! that somebody else who has the memory can write requests there and read answers.

use crate::memory::{Memory, Shared};
use crate::pci::{Configuration, Function};
use crate::transport::{Layout, Transport};
use crate::Fault;

/// Entries of the rings; two descriptors are used.
const ENTRIES: u64 = 16;
/// Offsets of the rings in the first page.
const AVAILABLE: u64 = 16 * ENTRIES;
const USED: u64 = 2048;
const PAGE: u64 = 4096;
/// Flags of descriptors: there is a next one; the device writes there.
const NEXT: u64 = 1;
const DEVICE_WRITES: u64 = 2;
/// Flag of the ring: no interrupts.
const NO_INTERRUPT: u64 = 1;

/// A device that answers requests. The head of this module describes it.
pub struct Exchange<M> {
    transport: Transport<M>,
    shared: Shared<M>,
    buffer_size: u64,
    notify_at: u64,
    /// Number of requests so far, as the rings count.
    sent: u16,
    /// The device has a request that it has not answered.
    is_busy: bool,
}

impl<M: Memory> Exchange<M> {
    /// Bytes of the rings: the request lies behind them, and behind it the answer, in buffers of
    /// the same size.
    pub const RINGS: u64 = PAGE;

    /// Starts the device with these features. Requests and answers have at most `buffer_size`
    /// bytes, whole pages.
    /// `registers` maps the registers with a number, and `take` takes memory for the device.
    pub fn start(
        space: &mut impl Configuration, function: Function, registers: impl FnOnce(u8) -> Option<(M, u64)>, take: impl FnOnce(u64) -> Option<Shared<M>>,
        (buffer_size, features): (u64, u64),
    ) -> Result<Exchange<M>, Fault> {
        let (layout, bar) = Layout::read(space, function)?;
        let (registers, size) = registers(bar).ok_or(Fault("its registers cannot be mapped"))?;
        let transport = Transport::new(registers, size, layout)?;
        transport.begin(features)?;
        let shared = take(PAGE + 2 * buffer_size).ok_or(Fault("there is no memory for its buffers"))?;
        let parts = [shared.address, shared.address + AVAILABLE, shared.address + USED];
        let notify_at = transport.announce(0, ENTRIES, parts)?;
        let exchange = Exchange { transport, shared, buffer_size, notify_at, sent: 0, is_busy: false };
        exchange.describe(0, exchange.request_at(), 0, NEXT);
        exchange.describe(1, exchange.answer_at(), buffer_size, DEVICE_WRITES);
        // A driver before this one can have left something there.
        [AVAILABLE + 2, USED, USED + 2].into_iter().for_each(|at| exchange.shared.memory.write(at, 2, 0));
        exchange.shared.memory.write(AVAILABLE, 2, NO_INTERRUPT);
        exchange.transport.run();
        Ok(exchange)
    }

    fn request_at(&self) -> u64 {
        PAGE
    }

    fn answer_at(&self) -> u64 {
        PAGE + self.buffer_size
    }

    fn describe(&self, number: u64, at: u64, length: u64, flags: u64) {
        let memory = &self.shared.memory;
        memory.write(16 * number, 8, self.shared.address + at);
        memory.write(16 * number + 8, 4, length);
        memory.write(16 * number + 12, 2, flags);
        memory.write(16 * number + 14, 2, number + 1);
    }

    /// Returns the number of bytes that a request or an answer has at most.
    pub fn buffer_size(&self) -> u64 {
        self.buffer_size
    }

    /// Returns a word of the device's own structure.
    pub fn own(&self, offset: u64) -> u32 {
        self.transport.own(offset)
    }

    /// Sets the number of bytes that the device may answer with, at most a buffer's, for devices
    /// whose answers have the length that is asked for.
    pub fn set_answer_size(&mut self, size: u64) -> Result<(), Fault> {
        if self.is_busy || size > self.buffer_size {
            return Err(Fault("an answer is too long"));
        }
        self.shared.memory.write(16 + 8, 4, size);
        Ok(())
    }

    /// Gives the device a request, at most a buffer's size. It must have answered the last one.
    pub fn send(&mut self, request: &[u8]) -> Result<(), Fault> {
        self.check_request(request.len() as u64)?;
        self.shared.memory.copy_in(self.request_at(), request);
        self.send_written(request.len() as u64)
    }

    fn check_request(&self, size: u64) -> Result<(), Fault> {
        if self.is_busy || size > self.buffer_size { Err(Fault("a request was given too early, or is too long")) } else { Ok(()) }
    }

    /// Gives the device the request of so many bytes that stands in the buffer.
    pub fn send_written(&mut self, size: u64) -> Result<(), Fault> {
        self.check_request(size)?;
        let memory = &self.shared.memory;
        memory.write(8, 4, size);
        memory.write(AVAILABLE + 4 + 2 * (u64::from(self.sent) % ENTRIES), 2, 0);
        self.sent = self.sent.wrapping_add(1);
        // The index comes last: this processor's writes are seen in their order.
        memory.write(AVAILABLE + 2, 2, self.sent.into());
        self.is_busy = true;
        self.transport.notify_queue(0, self.notify_at);
        Ok(())
    }

    /// Copies the answer to the last request into `to`, as far as it has room, and returns its
    /// length; `None` if it has not come yet.
    pub fn receive(&mut self, to: &mut [u8]) -> Result<Option<usize>, Fault> {
        let Some(length) = self.take_answer()? else { return Ok(None) };
        let count = to.len().min(length as usize);
        self.shared.memory.copy_out(self.answer_at(), &mut to[..count]);
        Ok(Some(length as usize))
    }

    /// Returns the length of the answer to the last request, which stands in the buffer; `None` if
    /// it has not come yet.
    pub fn take_answer(&mut self) -> Result<Option<u64>, Fault> {
        let memory = &self.shared.memory;
        let used = memory.read(USED + 2, 2) as u16;
        if !self.is_busy || used == self.sent.wrapping_sub(1) {
            return Ok(None);
        }
        if used != self.sent {
            return Err(Fault("the device answered a request that it does not have"));
        }
        let at = USED + 4 + 8 * (u64::from(used.wrapping_sub(1)) % ENTRIES);
        let (number, length) = (memory.read(at, 4), memory.read(at + 4, 4));
        if number != 0 || length > self.buffer_size {
            return Err(Fault("the device answered with what is no answer"));
        }
        self.is_busy = false;
        Ok(Some(length))
    }

    /// Stops the device: afterwards it reads and writes no memory.
    pub fn stop(&mut self) {
        let _ = self.transport.reset();
    }
}
