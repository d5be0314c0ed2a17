//! Regions of chunks of memory: what small runs are mapped through.
//!
//! All mappings that are made through one region hang on one list. Whoever takes a frame away looks
//! at the whole list of each region that has the frame, and the region of all memory has each. So a
//! small run is mapped through the region of the chunk that it lies in, whose list has no more
//! entries than the chunk has frames. Otherwise a client with many small runs would make each
//! return of memory dear.

use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedRegion, Region};

/// Size of a chunk in bytes.
const CHUNK: u64 = 2 << 20;

/// Regions by the number of their chunk. They stay.
static CHUNKS: Lock<Vec<Option<OwnedRegion>>> = Lock::new(Vec::new());

/// Makes room for the regions of all memory below the physical offset `end`.
pub fn start(end: u64) -> Result<(), Errno> {
    let mut chunks = CHUNKS.lock();
    let count = end.div_ceil(CHUNK) as usize;
    chunks.try_reserve_exact(count).map_err(|_| Errno::ENOMEM)?;
    chunks.resize_with(count, || None);
    Ok(())
}

/// Returns the number of the chunk that a run lies in; `None` if it lies in several.
fn chunk_of(start: u64, size: u64) -> Option<u64> {
    let last = start.checked_add(size.checked_sub(1)?)?;
    (start / CHUNK == last / CHUNK).then_some(start / CHUNK)
}

/// Returns the region of the chunk that a run lies in, and the run's offset in it. `None`: it lies
/// in several, or there is no memory for a region. `make` makes the region of a chunk of this start
/// and size.
pub fn around(start: u64, size: u64, make: impl FnOnce(u64, u64) -> Option<OwnedRegion>) -> Option<(Region, u64)> {
    let number = chunk_of(start, size)?;
    let mut chunks = CHUNKS.lock();
    let place = chunks.get_mut(number as usize)?;
    if place.is_none() {
        *place = make(number * CHUNK, CHUNK);
    }
    place.as_ref().map(|region| (region.handle(), start % CHUNK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_lies_in_one_chunk_or_in_several() {
        assert_eq!(chunk_of(0, CHUNK), Some(0));
        assert_eq!(chunk_of(CHUNK, 4096), Some(1));
        assert_eq!(chunk_of(CHUNK - 4096, 8192), None);
        assert_eq!(chunk_of(3 * CHUNK + 4096, CHUNK), None);
        assert_eq!(chunk_of(4096, 0), None);
        assert_eq!(chunk_of(u64::MAX, 2), None);
    }
}
