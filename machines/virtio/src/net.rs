//! Network card: frames of Ethernet between the guest and a wire.

use crate::device::{Broken, Device, Served};
use crate::queue::Queue;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use nacre_machine_memory::GuestMemory;

const NUMBER: u16 = 1;
const CLASS: u32 = 0x02_0000;
const QUEUES: &[u16] = &[256, 256];
/// Queue of buffers for frames that come. The other one has frames that go.
const ARRIVALS: usize = 0;
/// Features: the card tells its address, and whether it is connected.
const HAS_ADDRESS: u64 = 1 << 5;
const HAS_STATUS: u64 = 1 << 16;
/// Status of a card that is connected.
const CONNECTED: u16 = 1;
/// Bytes before each frame: nothing of what they could say is offered. The last two count the
/// buffers of a frame that comes: one.
const HEAD: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
/// Sizes of the shortest and the longest frame, in bytes: the addresses and the kind alone, and
/// those with 1,500 bytes.
const MIN_FRAME: u64 = 14;
const MAX_FRAME: u64 = 1514;

/// Wire behind a card. When frames have come, or there is room again for what the guest sends, its
/// owner calls `Virtio::serve` with queue 0 or 1.
pub trait Wire: Send {
    /// Returns the card's address.
    fn address(&self) -> [u8; 6];

    /// Returns true if the wire takes one more frame of the guest's.
    fn has_room(&mut self) -> bool;

    /// Sends a frame of the guest's, of 14 to 1,514 bytes.
    fn send(&mut self, frame: Vec<u8>);

    /// Returns true if a frame has come.
    fn has_frame(&mut self) -> bool;

    /// Takes a frame that has come.
    fn receive(&mut self) -> Option<Vec<u8>>;
}

/// A network card as a virtio device.
pub struct Network(
    /// Wire behind it.
    pub Box<dyn Wire>,
);

impl Network {
    /// Moves one frame to the guest. One that is longer than its buffer is lost.
    fn bring(&mut self, queue: &mut Queue, memory: &mut dyn GuestMemory) -> Result<(), Broken> {
        let chain = queue.take(memory)?;
        let frame = self.0.receive().unwrap_or_default();
        let size = (HEAD.len() + frame.len()) as u64;
        let fits = chain.writable_len() >= size && !frame.is_empty();
        if fits {
            chain.write(memory, 0, &[&HEAD[..], &frame].concat())?;
        }
        queue.complete(memory, &chain, if fits { size } else { 0 })
    }

    /// Moves one frame from the guest. One of a size that no frame has is lost.
    fn fetch(&mut self, queue: &mut Queue, memory: &mut dyn GuestMemory) -> Result<(), Broken> {
        let chain = queue.take(memory)?;
        let size = chain.readable_len().checked_sub(HEAD.len() as u64).ok_or(Broken)?;
        if (MIN_FRAME..=MAX_FRAME).contains(&size) {
            let mut frame = vec![0; size as usize];
            chain.read(memory, HEAD.len() as u64, &mut frame)?;
            self.0.send(frame);
        }
        queue.complete(memory, &chain, 0)
    }
}

impl Device for Network {
    fn number(&self) -> u16 {
        NUMBER
    }

    fn class(&self) -> u32 {
        CLASS
    }

    fn features(&self) -> u64 {
        HAS_ADDRESS | HAS_STATUS
    }

    fn queue_sizes(&self) -> &'static [u16] {
        QUEUES
    }

    fn registers(&self, into: &mut [u8]) {
        into[..6].copy_from_slice(&self.0.address());
        into[6..8].copy_from_slice(&CONNECTED.to_le_bytes());
    }

    fn serve(
        &mut self, number: usize, queue: &mut Queue, memory: &mut dyn GuestMemory,
    ) -> Result<Served, Broken> {
        let mut any = false;
        // There are at most as many as the queue has descriptors.
        for _ in 0..queue.waiting(memory)? {
            let goes_on = if number == ARRIVALS { self.0.has_frame() } else { self.0.has_room() };
            if !goes_on {
                // The wire's owner calls when it is time.
                break;
            }
            if number == ARRIVALS { self.bring(queue, memory)? } else { self.fetch(queue, memory)? }
            any = true;
        }
        Ok(Served { any, rest: false })
    }
}
