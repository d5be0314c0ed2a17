//! The boot protocols: what a boot loader left in memory, as a [`BootDescription`](nacre_machine::boot::BootDescription). Plain parsing of bytes that
//! nobody vouches for; the one unsafe part is the entry in `main`.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod multiboot;
pub mod pvh;

/// Where physical memory is read.
pub trait PhysicalBytes {
    /// `size` bytes at `start`, if they can be reached.
    fn bytes(&self, start: u64, size: u64) -> Option<&[u8]>;

    /// The bytes from `start` up to a zero byte, at most `limit`.
    fn text(&self, start: u64, limit: u64) -> &[u8] {
        let Some(bytes) = self.bytes(start, limit) else { return &[] };
        bytes.split(|byte| *byte == 0).next().unwrap_or(&[])
    }
}

impl PhysicalBytes for nacre_machine::BootMemory {
    fn bytes(&self, start: u64, size: u64) -> Option<&[u8]> {
        nacre_machine::BootMemory::bytes(self, start, size)
    }
}

/// Kind of memory that is RAM, in the memory maps of both protocols.
const RAM: u32 = 1;
