//! Calls about memory that holds objects.

use nacre_abi::rights::RECLAIM_CLEAR;
use nacre_abi::state::ObjectEntry;
use nacre_abi::{Call, Status};

use crate::raw;
pub use crate::window::Window;

/// Lists the objects in `size` bytes from `start` of the caller's memory: how many were written to `entries`, and where to go on (0 = the end).
pub fn objects(start: u64, size: u64, entries: &mut [ObjectEntry]) -> Result<(usize, u64), Status> {
    raw::memory_objects(start, size, entries).map(|(count, next)| (count as usize, next))
}

/// Destroys every object in `size` bytes from `start` of the caller's memory, and takes pages back that were donated.
pub fn reclaim(start: u64, size: u64) -> Result<(), Status> {
    raw::call(Call::MemoryReclaim, [start, size, 0, 0]).map(drop)
}

/// The same, and the memory is full of zeros afterwards: each page is cleared when somebody touches it for the first time.
pub fn clear(start: u64, size: u64) -> Result<(), Status> {
    raw::call(Call::MemoryReclaim, [start, size, RECLAIM_CLEAR, 0]).map(drop)
}
