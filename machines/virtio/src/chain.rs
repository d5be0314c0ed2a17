//! Chain of descriptors: a request of the guest's, as stretches of its memory.

use alloc::vec::Vec;
use nacre_machine_memory::{GuestMemory, OutOfRange};

/// Stretch of guest memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) at: u64,
    pub(crate) length: u32,
}

/// A request: stretches that the device reads, then stretches that it writes. All are inside of
/// guest memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// Number of the first descriptor.
    pub(crate) head: u16,
    pub(crate) readable: Vec<Stretch>,
    pub(crate) writable: Vec<Stretch>,
}

fn sum(stretches: &[Stretch]) -> u64 {
    stretches.iter().map(|stretch| u64::from(stretch.length)).sum()
}

/// Calls `move_piece` with the address and the range of the buffer for each stretch of `length`
/// bytes from `offset` on. Returns the number of bytes that there were.
fn for_pieces(
    stretches: &[Stretch], mut offset: u64, length: usize,
    mut move_piece: impl FnMut(u64, core::ops::Range<usize>) -> Result<(), OutOfRange>,
) -> Result<usize, OutOfRange> {
    let mut done = 0;
    for stretch in stretches {
        let size = u64::from(stretch.length);
        if offset >= size {
            offset -= size;
            continue;
        }
        let count = (size - offset).min((length - done) as u64) as usize;
        move_piece(stretch.at + offset, done..done + count)?;
        (done, offset) = (done + count, 0);
        if done == length {
            break;
        }
    }
    Ok(done)
}

impl Chain {
    /// Returns the number of bytes that the device may read.
    pub fn readable_len(&self) -> u64 {
        sum(&self.readable)
    }

    /// Returns the number of bytes that the device may write.
    pub fn writable_len(&self) -> u64 {
        sum(&self.writable)
    }

    /// Reads bytes of the request from an offset on. Returns how many there were.
    pub fn read(
        &self, memory: &dyn GuestMemory, offset: u64, into: &mut [u8],
    ) -> Result<usize, OutOfRange> {
        for_pieces(&self.readable, offset, into.len(), |at, range| memory.read(at, &mut into[range]))
    }

    /// Writes bytes of the answer from an offset on. Returns for how many there was room.
    pub fn write(
        &self, memory: &mut dyn GuestMemory, offset: u64, bytes: &[u8],
    ) -> Result<usize, OutOfRange> {
        for_pieces(&self.writable, offset, bytes.len(), |at, range| memory.write(at, &bytes[range]))
    }
}
