//! Files, as the loaders reach them.

use alloc::vec::Vec;

/// Error of a file that cannot be read, or is shorter than it said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// File, or other bytes, that goes into guest memory.
pub trait ByteSource {
    /// Returns the size in bytes.
    fn len(&self) -> u64;

    /// Reads as many bytes as `into` has, from the offset `at`.
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<(), Unreadable>;

    /// Returns true if there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl ByteSource for &[u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        let start = usize::try_from(at).map_err(|_| Unreadable)?;
        let end = start.checked_add(into.len()).ok_or(Unreadable)?;
        into.copy_from_slice(self.get(start..end).ok_or(Unreadable)?);
        Ok(())
    }
}

impl ByteSource for Vec<u8> {
    fn len(&self) -> u64 {
        ByteSource::len(&self.as_slice())
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        self.as_slice().read_at(at, into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_beyond_the_end_are_refused_whole() {
        let (file, mut bytes) = (vec![1, 2, 3], [9; 2]);
        assert_eq!((file.read_at(2, &mut bytes), bytes), (Err(Unreadable), [9, 9]));
        assert_eq!(file.read_at(u64::MAX, &mut bytes), Err(Unreadable));
        assert_eq!((file.read_at(1, &mut bytes), bytes), (Ok(()), [2, 3]));
    }
}
