//! Source of random bytes.

use crate::device::{Broken, Device, Served};
use crate::queue::Queue;
use alloc::boxed::Box;
use nacre_machine_memory::GuestMemory;

const NUMBER: u16 = 4;
const CLASS: u32 = 0xff_0000;
const QUEUES: &[u16] = &[8];
/// Limit of the bytes of one answer.
const PIECE: usize = 256;

/// Place that random bytes come from.
pub trait Random: Send {
    /// Fills the buffer. Returns how many bytes there were.
    fn fill(&mut self, into: &mut [u8]) -> usize;
}

/// A source of random bytes as a virtio device.
pub struct Entropy(
    /// Place that the bytes come from.
    pub Box<dyn Random>,
);

impl Device for Entropy {
    fn number(&self) -> u16 {
        NUMBER
    }

    fn class(&self) -> u32 {
        CLASS
    }

    fn features(&self) -> u64 {
        0
    }

    fn queue_sizes(&self) -> &'static [u16] {
        QUEUES
    }

    fn registers(&self, _: &mut [u8]) {}

    fn serve(
        &mut self, _: usize, queue: &mut Queue, memory: &mut dyn GuestMemory,
    ) -> Result<Served, Broken> {
        queue.serve_each(memory, |memory, chain| {
            let mut bytes = [0; PIECE];
            let room = chain.writable_len().min(PIECE as u64) as usize;
            let count = self.0.fill(&mut bytes[..room]).min(room);
            Ok(chain.write(memory, 0, &bytes[..count])? as u64)
        })
    }
}
