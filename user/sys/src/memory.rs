//! Calls about memory that holds objects.

use core::ops::Range;
use nacre_abi::rights::RECLAIM_CLEAR;
use nacre_abi::state::ObjectEntry;
use nacre_abi::{Call, Status};

use crate::raw;
pub use crate::window::Window;

/// Lists the objects in `size` bytes from `start` of the caller's memory: how many were written to
/// `entries`, and where to go on (0 = the end).
pub fn objects(start: u64, size: u64, entries: &mut [ObjectEntry]) -> Result<(usize, u64), Status> {
    raw::memory_objects(start, size, entries).map(|(count, next)| (count as usize, next))
}

/// Destroys every object in `size` bytes from `start` of the caller's memory, and takes pages back
/// that were donated.
pub fn reclaim(start: u64, size: u64) -> Result<(), Status> {
    raw::call(Call::MemoryReclaim, [start, size, 0, 0]).map(drop)
}

/// The first pages of `start..end`, whole pages of the caller's memory, that may hold something but
/// zeros; `None`: there are none. Whether something is mapped there is not asked.
pub fn touched(start: u64, end: u64) -> Option<Range<u64>> {
    match raw::call(Call::MemoryTouched, [start, end - start, 0, 0]) {
        Ok((first, last)) => (first < end).then_some(first..last),
        Err(_) => (start < end).then_some(start..end),
    }
}

/// Copies `size` bytes, whole pages of the caller's memory, to others of it. Pages that are known
/// to be zeros on both sides are left alone.
///
/// # Errors
/// `BadAddress` about 1 or 2: a page may not be read, or written. Those before it have been copied.
///
/// # Safety
/// No reference leads to what is written.
pub unsafe fn copy(from: u64, to: u64, size: u64) -> Result<(), Status> {
    raw::call(Call::MemoryCopy, [from, to, size, 0]).map(drop)
}

/// Reclaims a range as [`reclaim`] does, and fills it with zeros: a page is cleared when it is
/// touched for the first time.
pub fn clear(start: u64, size: u64) -> Result<(), Status> {
    raw::call(Call::MemoryReclaim, [start, size, RECLAIM_CLEAR, 0]).map(drop)
}
