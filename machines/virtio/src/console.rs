//! Console with one port: the guest's `hvc0`.

use crate::device::{Broken, Device, Served};
use crate::queue::Queue;
use alloc::boxed::Box;
use nacre_machine_memory::GuestMemory;

const NUMBER: u16 = 3;
const CLASS: u32 = 0x07_8000;
const QUEUES: &[u16] = &[64, 64];
/// Queue of buffers for input. The other one has output.
const INPUT: usize = 0;
/// Bytes that are moved at once.
const PIECE: usize = 1024;
/// Limit of the bytes of one piece of output. What a guest writes beyond it is lost.
const MAX_OUTPUT: u64 = 1 << 20;

/// Terminal behind a console.
pub trait Terminal: Send {
    /// Shows output.
    fn write(&mut self, bytes: &[u8]);

    /// Takes input for the guest. Returns how many bytes there were.
    fn read(&mut self, into: &mut [u8]) -> usize;
}

/// A console as a virtio device. When there is input, its owner calls `Virtio::serve` with queue 0.
pub struct Console(
    /// Terminal behind it.
    pub Box<dyn Terminal>,
);

impl Console {
    /// Fills buffers of the guest's as long as there is input.
    fn input(
        &mut self, queue: &mut Queue, memory: &mut dyn GuestMemory,
    ) -> Result<Served, Broken> {
        let mut any = false;
        for _ in 0..queue.waiting(memory)? {
            let before = queue.clone();
            let chain = queue.take(memory)?;
            let mut bytes = [0; PIECE];
            let room = chain.writable_len().min(PIECE as u64) as usize;
            let count = self.0.read(&mut bytes[..room]).min(room);
            if count == 0 {
                // The buffer stays for the next input.
                *queue = before;
                break;
            }
            let written = chain.write(memory, 0, &bytes[..count])?;
            queue.complete(memory, &chain, written as u64)?;
            any = true;
        }
        Ok(Served { any, rest: false })
    }

    fn output(
        &mut self, queue: &mut Queue, memory: &mut dyn GuestMemory,
    ) -> Result<Served, Broken> {
        queue.serve_each(memory, |memory, chain| {
            let mut bytes = [0; PIECE];
            let mut done = 0;
            while done < chain.readable_len().min(MAX_OUTPUT) {
                let count = chain.read(memory, done, &mut bytes)?;
                self.0.write(&bytes[..count]);
                done += count as u64;
            }
            Ok(0)
        })
    }
}

impl Device for Console {
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
        &mut self, number: usize, queue: &mut Queue, memory: &mut dyn GuestMemory,
    ) -> Result<Served, Broken> {
        if number == INPUT { self.input(queue, memory) } else { self.output(queue, memory) }
    }
}
