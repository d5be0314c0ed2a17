//! Places in guest memory: parts of a kernel's file, and modules behind or above them. All
//! places are checked before the first byte is written.

use crate::linux::{HIGH_START, LOW_END, PAGE, PART_ALIGNMENT, copy};
use crate::{ByteSource, GuestMemory, LoadError};
use alloc::vec::Vec;

/// Bytes that are cleared at once.
const ZEROS: [u8; 4096] = [0; 4096];
/// Start of the low memory that a kernel may have.
const LOW_START: u64 = 0x1000;

/// Part of a file that goes into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Offset in the file.
    pub offset: u64,
    /// Physical address.
    pub address: u64,
    /// Bytes in the file.
    pub file_size: u64,
    /// Bytes in memory. Those that the file does not have are zero.
    pub memory_size: u64,
}

impl Part {
    /// Returns the end of its memory; `check_parts` has seen that there is one.
    fn end(&self) -> u64 {
        self.address.saturating_add(self.memory_size)
    }

    /// Returns true if an address is inside.
    fn has(&self, address: u64) -> bool {
        address.checked_sub(self.address).is_some_and(|offset| offset < self.memory_size)
    }
}

/// Memory below 1 MiB, for a kernel's parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Low {
    /// Memory that belongs to the loader.
    Ours,
    /// Memory that a kernel may have up to `LOW_END`.
    Free,
}

/// Checks that all parts lie in memory and none in another, and the entry in one of them. Returns
/// the end of the last one, 1 MiB at least.
pub fn check_parts(parts: &[Part], entry: u64, low: Low, memory_size: u64) -> Result<u64, LoadError> {
    let mut end = HIGH_START;
    for part in parts {
        let own_end = part.address.checked_add(part.memory_size).ok_or(LoadError::BadAddress)?;
        let is_low = low == Low::Free && part.address >= LOW_START && own_end <= LOW_END;
        if part.file_size > part.memory_size || part.address < HIGH_START && !is_low {
            return Err(LoadError::BadAddress);
        }
        if own_end > memory_size {
            return Err(LoadError::KernelTooLarge);
        }
        end = end.max(own_end);
    }
    let mut sorted: Vec<&Part> = parts.iter().collect();
    sorted.sort_by_key(|part| part.address);
    if sorted.windows(2).any(|pair| pair[0].end() > pair[1].address) {
        return Err(LoadError::Overlap);
    }
    if parts.iter().any(|part| part.has(entry)) { Ok(end) } else { Err(LoadError::BadEntry) }
}

/// Copies parts that were checked, and clears their memory that the file does not have.
pub fn load_parts(memory: &mut dyn GuestMemory, kernel: &dyn ByteSource, parts: &[Part]) -> Result<(), LoadError> {
    for part in parts {
        copy(memory, kernel, part.offset, part.file_size, part.address, LoadError::KernelUnreadable)?;
        let (mut at, end) = (part.address + part.file_size, part.end());
        while at < end {
            let size = (end - at).min(ZEROS.len() as u64);
            memory.write(at, &ZEROS[..size as usize])?;
            at += size;
        }
    }
    Ok(())
}

/// Returns a place of so many bytes in low memory that no part has: from `from` on, at a page.
pub fn low_place(parts: &[Part], from: u64, size: u64) -> Option<u64> {
    let mut at = from;
    while let Some(part) = parts.iter().find(|part| part.address < at + size && part.end() > at) {
        at = part.end().next_multiple_of(PAGE);
        if at >= LOW_END {
            return None;
        }
    }
    (at + size <= LOW_END).then_some(at)
}

/// Returns the size of a module's parts. Each begins at a multiple of 4 bytes.
pub fn module_size(parts: &[&dyn ByteSource]) -> Result<u64, LoadError> {
    let add = |sum: u64, part: &&dyn ByteSource| sum.checked_next_multiple_of(PART_ALIGNMENT)?.checked_add(part.len());
    parts.iter().try_fold(0u64, add).ok_or(LoadError::InitrdTooLarge)
}

/// Copies the parts of a module, one behind the other.
pub fn load_module(memory: &mut dyn GuestMemory, parts: &[&dyn ByteSource], address: u64) -> Result<(), LoadError> {
    let mut at = address;
    for part in parts {
        at = at.next_multiple_of(PART_ALIGNMENT);
        copy(memory, *part, 0, part.len(), at, LoadError::InitrdUnreadable)?;
        at += part.len();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(address: u64, memory_size: u64) -> Part {
        Part { offset: 0, address, file_size: 0, memory_size }
    }

    #[test]
    fn parts_lie_in_memory_and_beside_each_other() {
        let check = |parts: &[Part], low| check_parts(parts, 0x10_0000, low, 0x40_0000);
        let first = part(0x10_0000, 0x1000);
        assert_eq!(check(&[first, part(0x10_1000, 0x100)], Low::Ours), Ok(0x10_1100));
        assert_eq!(check(&[part(0x10_0fff, 1), first], Low::Ours), Err(LoadError::Overlap));
        assert_eq!(check(&[first, first], Low::Ours), Err(LoadError::Overlap));
        assert_eq!(check(&[first, part(u64::MAX, 2)], Low::Ours), Err(LoadError::BadAddress));
        assert_eq!(check(&[first, part(0x3f_ffff, 2)], Low::Ours), Err(LoadError::KernelTooLarge));
        assert_eq!(check(&[first, Part { file_size: 2, ..part(0x20_0000, 1) }], Low::Ours), Err(LoadError::BadAddress));
        assert_eq!(check(&[part(0x10_0001, 9)], Low::Ours), Err(LoadError::BadEntry));
        assert_eq!(check(&[], Low::Free), Err(LoadError::BadEntry));
        for (address, size, is_free) in [(0x1000, 0x9_ec00, true), (0xfff, 1, false), (0x1000, 0x9_ec01, false), (0xe_0000, 1, false)] {
            assert_eq!(check(&[first, part(address, size)], Low::Free).is_ok(), is_free, "{address:#x}");
            assert_eq!(check(&[first, part(address, size)], Low::Ours), Err(LoadError::BadAddress));
        }
    }

    #[test]
    fn the_loader_takes_low_memory_that_the_kernel_leaves() {
        let place = |parts: &[Part]| low_place(parts, 0x1_0000, 0x1_0000);
        assert_eq!(place(&[]), Some(0x1_0000));
        assert_eq!(place(&[part(0x1000, 0xf000), part(0x2_0000, 1)]), Some(0x1_0000));
        assert_eq!(place(&[part(0x3_0000, 0x10), part(0x1_8000, 0x1_0000)]), Some(0x3_1000));
        assert_eq!(place(&[part(0x1000, 0x8_f000)]), None);
        assert_eq!(place(&[part(0x1_ffff, 0x7_fc00)]), None);
    }
}
