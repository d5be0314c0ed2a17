//! The program's memory, as its calls name it: addresses are allegations until the map has confirmed them.
//!
//! The library shares the space with the program, which is stopped in its call and is the only thread; so what the map confirms stays so
//! until the call returns.

use crate::errno::{EFAULT, ENAMETOOLONG, Errno};
use crate::map::or_fault;
use crate::memory::Memory;
use alloc::vec::Vec;
use nacre_abi::Rights;

/// Longest path, with its final zero.
pub const PATH_MAX: u64 = 4096;

/// Bytes that the parent names in the auxiliary vector, before there is a map.
pub fn given(address: u64, size: u64) -> &'static [u8] {
    if address == 0 || size == 0 {
        return &[];
    }
    // SAFETY: the parent mapped the program's headers where it says; a parent that lies harms its own child.
    unsafe { core::slice::from_raw_parts(address as *const u8, size as usize) }
}

/// Copies `size` bytes from one range to another, both mapped by the caller for this.
pub fn copy(from: u64, to: u64, size: u64) {
    // SAFETY: the caller has mapped both, readable and writable, and they are two mappings at different addresses.
    unsafe { core::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, size as usize) };
}

impl Memory {
    /// The bytes of a range that the program may read.
    pub fn readable(&self, address: u64, size: u64) -> Result<&'static [u8], Errno> {
        if size == 0 {
            return Ok(&[]);
        }
        or_fault(self.map.allows(address, size, Rights::READ))?;
        // SAFETY: the map says that these bytes are there and readable, and they stay so while the program waits for its call.
        Ok(unsafe { core::slice::from_raw_parts(address as *const u8, size as usize) })
    }

    /// The bytes of a range that the program may write.
    pub fn writable(&self, address: u64, size: u64) -> Result<&'static mut [u8], Errno> {
        if size == 0 {
            return Ok(&mut []);
        }
        or_fault(self.map.allows(address, size, Rights::WRITE))?;
        // SAFETY: as above, writable; callers hold one such slice at a time.
        Ok(unsafe { core::slice::from_raw_parts_mut(address as *mut u8, size as usize) })
    }

    /// Reads `N` 64-bit words.
    pub fn read_words<const N: usize>(&self, address: u64) -> Result<[u64; N], Errno> {
        let bytes = self.readable(address, 8 * N as u64)?;
        let mut words = [0; N];
        for (word, part) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*part);
        }
        Ok(words)
    }

    /// Writes 64-bit words.
    pub fn write_words(&self, address: u64, words: &[u64]) -> Result<(), Errno> {
        let bytes = self.writable(address, 8 * words.len() as u64)?;
        for (word, part) in words.iter().zip(bytes.as_chunks_mut::<8>().0) {
            *part = word.to_le_bytes();
        }
        Ok(())
    }

    /// Reads a 32-bit number.
    pub fn read_half(&self, address: u64) -> Result<u32, Errno> {
        let bytes = self.readable(address, 4)?;
        Ok(u32::from_le_bytes(bytes.try_into().map_err(|_| EFAULT)?))
    }

    /// Writes a 32-bit number.
    pub fn write_half(&self, address: u64, value: u32) -> Result<(), Errno> {
        self.write_bytes(address, &value.to_le_bytes())
    }

    /// Writes bytes.
    pub fn write_bytes(&self, address: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.writable(address, bytes.len() as u64)?.copy_from_slice(bytes);
        Ok(())
    }

    /// A string that ends with a zero byte, which is not part of what is returned.
    pub fn string(&self, address: u64, limit: u64) -> Result<&'static [u8], Errno> {
        let size = self.map.extent(address, limit, Rights::READ);
        let bytes = self.readable(address, size)?;
        match bytes.iter().position(|byte| *byte == 0) {
            Some(end) => Ok(&bytes[..end]),
            None if size == limit => Err(ENAMETOOLONG),
            None => Err(EFAULT),
        }
    }

    /// A path: a string of at most [`PATH_MAX`] bytes.
    pub fn path(&self, address: u64) -> Result<&'static [u8], Errno> {
        self.string(address, PATH_MAX)
    }

    /// The pieces of an `iovec` array: addresses and sizes, not yet looked up.
    pub fn vectors(&self, address: u64, count: u64) -> Result<Vec<(u64, u64)>, Errno> {
        const MOST: u64 = 1024;
        if count > MOST {
            return Err(crate::errno::EINVAL);
        }
        let mut pieces = Vec::new();
        pieces.try_reserve(count as usize).map_err(|_| crate::errno::ENOMEM)?;
        for index in 0..count {
            let [start, size] = self.read_words(address.wrapping_add(16 * index))?;
            pieces.push((start, size));
        }
        Ok(pieces)
    }

    /// Fills a range with zeros.
    pub fn clear(&self, address: u64, size: u64) -> Result<(), Errno> {
        self.writable(address, size)?.fill(0);
        Ok(())
    }
}
