//! A promise of many clusters is made shorter while its client holds all other memory: what lay
//! behind the new end comes back, or nothing has changed.

use super::no_memory::hold;
use super::promises::{Shown, returned};
use crate::outcome::{Outcome, Verdict};
use crate::tools::{find, moment, why};
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::PAGE_SIZE;
use nacre_proto::flags::{SEGMENT_PROMISED, SERVICE_MEMORY};
use nacre_proto::{memory, segment};
use nacre_sys::Reference;

/// Size of the promise, and number of places in it that have memory.
const SIZE: u64 = 32 << 20;
const PLACES: u64 = 256;
/// Sizes that it gets, one after the other: also in the middle of a cluster, and longer again.
const SIZES: [u64; 6] = [SIZE - PAGE_SIZE, SIZE / 2 + PAGE_SIZE, SIZE / 2, SIZE, PAGE_SIZE, SIZE / 4];
/// Maximum of segments that are held.
const SEGMENTS: usize = 512;
/// Moments in which memory comes back: 20 s.
const PATIENCE: u64 = 1000;

/// Offsets of the places, in an order in which none follows the one before.
fn places() -> impl Iterator<Item = u64> {
    (0..PLACES).map(|place| place * 7 % PLACES * (SIZE / PLACES))
}

/// Checks that all places below `end` hold what was written.
fn check(shown: &Shown, end: u64) -> Result<(), String> {
    let lost = places().find(|place| *place < end && shown.read(*place) != Some(*place | 1));
    lost.map_or(Ok(()), |place| Err(alloc::format!("what was written at {place} is lost")))
}

/// Waits until a promise has no memory behind `end` and the pool no more than `limit` bytes in use.
fn settle(pool: Reference, segment: Reference, end: u64, limit: u64) -> Result<(), String> {
    let (mut used, mut part) = (0, 0..0);
    for _ in 0..PATIENCE {
        used = memory::status(pool).map_err(why("the pool"))?.used;
        let next = segment::next(segment, end).map_err(why("its parts"))?;
        part = next.start..next.end;
        if used <= limit && part.is_empty() {
            return Ok(());
        }
        moment();
    }
    Err(alloc::format!("behind {end:#x} there is {part:x?}, and {used} bytes are in use, not {limit}"))
}

/// Makes a promise shorter in all ways. With `is_full`, no other memory is left meanwhile.
fn shrink(pool: Reference, is_full: bool) -> Result<(), String> {
    let shown = Shown::take(pool, SIZE).map_err(why("a promise"))?;
    let (segment, is_promise) = (shown.made.segment.handle(), shown.made.holds & SEGMENT_PROMISED != 0);
    let mut held = Vec::with_capacity(SEGMENTS);
    let mut end = SIZE;
    places().try_for_each(|place| shown.touch(place))?;
    for size in SIZES {
        if is_full {
            hold(pool, &mut held);
        }
        let used = memory::status(pool).map_err(why("the pool"))?.used;
        match segment::resize(segment, size) {
            Ok(_) if is_promise && size < end => settle(pool, segment, size, used)?,
            Ok(_) | Err(_) if !is_promise => return Ok(()),
            Ok(_) => {}
            // An error changes nothing: all places are still there.
            Err(_) => check(&shown, end)?,
        }
        let now = segment::next(segment, 0).map_err(why("its first part"))?;
        if now.end > size.max(end) {
            return Err("a promise has memory behind its end".into());
        }
        end = end.min(size);
        check(&shown, end)?;
    }
    Ok(())
}

/// Makes promises shorter with and without memory. All comes back at the end.
pub fn attack(_: &[u8]) -> Outcome {
    let Ok(pool) = find(SERVICE_MEMORY) else { return Ok(Verdict::Absent("memory")) };
    // The first ones bring the program's own records to their size.
    shrink(pool.handle(), false)?;
    shrink(pool.handle(), true)?;
    let before = memory::status(pool.handle()).map_err(why("the pool"))?.used;
    for is_full in [false, true, true] {
        shrink(pool.handle(), is_full)?;
        returned(pool.handle(), before)?;
    }
    Ok(Verdict::Refused)
}
