//! Memory of guest machines, by guest-physical addresses, as loaders, walkers of page tables and
//! devices reach it. A monitor implements [`GuestMemory`].

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::{vec, vec::Vec};
use core::ops::Range;

/// Error of an access that is not wholly inside guest memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange;

/// Memory of a guest, by guest-physical addresses from 0 on, without holes.
pub trait GuestMemory {
    /// Returns the size in bytes.
    fn size(&self) -> u64;

    /// Reads bytes. An error reads none.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), OutOfRange>;

    /// Writes bytes. An error writes none.
    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), OutOfRange>;

    /// Replaces a number of 4 or 8 bytes, at a multiple of its size, if it is still `old`. Returns
    /// true if it was. Memory that several processors write does so at once.
    fn replace(&mut self, at: u64, width: usize, old: u64, new: u64) -> Result<bool, OutOfRange> {
        let width = width.min(8);
        let mut bytes = [0; 8];
        self.read(at, &mut bytes[..width])?;
        if u64::from_le_bytes(bytes) != old {
            return Ok(false);
        }
        self.write(at, &new.to_le_bytes()[..width]).map(|()| true)
    }
}

/// Guest memory that is a vector, for tests and tools.
#[derive(Clone, Debug)]
pub struct VecMemory(
    /// Bytes, from address 0 on.
    pub Vec<u8>,
);

impl VecMemory {
    /// Makes memory full of zeros.
    pub fn new(size: usize) -> Self {
        VecMemory(vec![0; size])
    }
}

impl GuestMemory for VecMemory {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), OutOfRange> {
        let range = range(at, into.len()).ok_or(OutOfRange)?;
        into.copy_from_slice(self.0.get(range).ok_or(OutOfRange)?);
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), OutOfRange> {
        let range = range(at, bytes.len()).ok_or(OutOfRange)?;
        self.0.get_mut(range).ok_or(OutOfRange)?.copy_from_slice(bytes);
        Ok(())
    }
}

fn range(at: u64, length: usize) -> Option<Range<usize>> {
    let start = usize::try_from(at).ok()?;
    Some(start..start.checked_add(length)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_number_that_is_expected_is_replaced() {
        let mut memory = VecMemory(vec![1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(memory.replace(4, 4, 0x0807_0605, 9), Ok(true));
        assert_eq!(memory.replace(4, 4, 0x0807_0605, 7), Ok(false));
        assert_eq!(memory.replace(8, 4, 0, 7), Err(OutOfRange));
        assert_eq!(memory.0, [1, 2, 3, 4, 9, 0, 0, 0]);
    }

    #[test]
    fn accesses_beyond_the_end_are_refused_whole() {
        let mut memory = VecMemory::new(8);
        assert_eq!(memory.write(6, &[1, 2]), Ok(()));
        assert_eq!(memory.write(7, &[3, 4]), Err(OutOfRange));
        assert_eq!(memory.write(u64::MAX, &[3, 4]), Err(OutOfRange));
        let mut bytes = [9; 3];
        assert_eq!((memory.read(5, &mut bytes), bytes), (Ok(()), [0, 1, 2]));
        assert_eq!((memory.read(6, &mut bytes), bytes), (Err(OutOfRange), [0, 1, 2]));
    }
}
