//! A promise of nearly all memory that was torn into single pages: the server's records of it are
//! many, and the memory that is free lies nowhere together.

use super::promises::Shown;
use crate::outcome::{Outcome, Verdict};
use crate::tools::{find, why};
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::PAGE_SIZE;
use nacre_proto::flags::{SEGMENT_PROMISED, SERVICE_MEMORY};
use nacre_proto::{memory, segment};
use nacre_sys::Reference;

/// Size of a piece of the memory that is taken at once.
const BULK: u64 = 32 << 20;

/// Takes most memory at once, nearly all of the rest by one promise, and gives every second page of
/// the promise back. What is free then lies in single pages. It also takes what lies together. Then
/// the promise goes at once.
fn tear(pool: Reference) -> Result<(), String> {
    let left = || memory::status(pool).map(|status| status.limit - status.used).map_err(why("the pool"));
    let mut rest = Vec::new();
    while left()? > 3 * BULK && let Ok(bulk) = memory::segment_create(pool, BULK, 0) {
        rest.push(bulk);
    }
    let size = left()? / 100 * 90 / PAGE_SIZE * PAGE_SIZE;
    // Where memory is not promised there may be none left for this.
    let Ok(shown) = Shown::take(pool, size) else { return Ok(()) };
    if shown.made.holds & SEGMENT_PROMISED == 0 {
        return Ok(());
    }
    for page in 0..size / PAGE_SIZE {
        shown.touch(page * PAGE_SIZE)?;
    }
    let mut together = Vec::new();
    for page in (0..size / PAGE_SIZE).step_by(2) {
        let _ = segment::clear(shown.made.segment.handle(), page * PAGE_SIZE, PAGE_SIZE);
        if page % 8 == 0 {
            together.extend(memory::segment_create(pool, 4 * PAGE_SIZE, 0).ok());
        }
    }
    drop(shown);
    drop((together, rest));
    Ok(())
}

/// Tears a promise, twice.
pub fn attack(_: &[u8]) -> Outcome {
    let Ok(pool) = find(SERVICE_MEMORY) else { return Ok(Verdict::Absent("memory")) };
    for _ in 0..2 {
        tear(pool.handle())?;
    }
    Ok(Verdict::Refused)
}
