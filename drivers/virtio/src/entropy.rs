//! The source of random bytes (number 4): it fills one buffer after the other, as far as it has
//! bytes (section 5.4 of the specification).

use crate::memory::{Memory, Shared};
use crate::pci::{Configuration, Function};
use crate::queue::Queue;
use crate::transport::{Layout, Transport};
use crate::Fault;

/// Bytes that are asked for at a time.
pub const PORTION: usize = 64;

/// A source of random bytes. The head of this module describes it.
pub struct Entropy<M> {
    transport: Transport<M>,
    queue: Queue<M>,
}

impl<M: Memory> Entropy<M> {
    /// Bytes of memory that the device shares with the driver, whole pages.
    pub const MEMORY: u64 = Queue::<M>::memory_size(1, PORTION as u64).next_multiple_of(4096);

    /// Starts the device. `registers` maps the registers with a number, and `take` takes memory for
    /// the device.
    pub fn start(
        space: &mut impl Configuration, function: Function, registers: impl FnOnce(u8) -> Option<(M, u64)>, take: impl FnOnce(u64) -> Option<Shared<M>>,
    ) -> Result<Entropy<M>, Fault> {
        let (layout, bar) = Layout::read(space, function)?;
        let (registers, size) = registers(bar).ok_or(Fault("its registers cannot be mapped"))?;
        let transport = Transport::new(registers, size, layout)?;
        transport.begin(0)?;
        let memory = take(Self::MEMORY).ok_or(Fault("there is no memory for its buffer"))?;
        let queue = transport.queue(0, memory, (1, PORTION as u64))?;
        transport.run();
        Ok(Entropy { transport, queue })
    }

    /// Asks for bytes, unless some are on their way. An interrupt tells when they have come.
    pub fn ask(&mut self) {
        if let Some(buffer) = self.queue.free_buffer() {
            self.queue.give_to_write(buffer);
            self.transport.notify(&self.queue);
        }
    }

    /// Takes the device's interrupt: its line goes down. Returns false if it was another device's.
    pub fn take_interrupt(&self) -> bool {
        self.transport.take_interrupt()
    }

    /// Copies what has come to `to`, and returns how many bytes these are; `None`: nothing has.
    pub fn take(&mut self, to: &mut [u8; PORTION]) -> Result<Option<usize>, Fault> {
        let Some(returned) = self.queue.take()? else { return Ok(None) };
        // At most the buffer's size, or the queue would have refused it.
        let count = (returned.length as usize).min(PORTION);
        self.queue.copy_out(returned.buffer, 0, &mut to[..count]);
        Ok(Some(count))
    }
}
