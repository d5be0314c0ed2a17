//! The boot protocols: what a boot loader left in memory, as a
//! [`BootDescription`](nacre_machine::boot::BootDescription). Plain parsing of bytes that nobody
//! vouches for; the one unsafe part is the entry in `main`.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod multiboot;
pub mod pvh;

/// Source of physical memory.
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

#[cfg(test)]
mod tests {
    use super::PhysicalBytes;

    /// Memory that a boot loader has filled.
    #[derive(Clone)]
    pub struct Memory(Vec<u8>);

    impl Memory {
        pub fn new(size: usize) -> Memory {
            Memory(vec![0; size])
        }

        pub fn put(&mut self, at: usize, bytes: &[u8]) {
            self.0[at..at + bytes.len()].copy_from_slice(bytes);
        }
    }

    impl PhysicalBytes for Memory {
        fn bytes(&self, start: u64, size: u64) -> Option<&[u8]> {
            let end = usize::try_from(start.checked_add(size)?).ok()?;
            self.0.get(usize::try_from(start).ok()?..end)
        }
    }

    /// Reads memory in which a few bytes were changed, many times.
    pub fn survives_damage(memory: Memory, read: impl Fn(&Memory)) {
        let mut seed = 11u64;
        for _ in 0..5000 {
            let mut damaged = memory.clone();
            for _ in 0..6 {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                damaged.0[0x100 + (seed >> 40) as usize % 0x380] = [0, 0xff, (seed >> 32) as u8][(seed >> 60) as usize % 3];
            }
            read(&damaged);
        }
    }
}
