//! Root read the word that `segment.wait` names in the client's page. The client had made a kernel
//! object there, so root faulted.

use crate::tools::{PATIENCE, why};
use crate::outcome::{Outcome, Verdict};
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_proto::{Errno, memory, segment};
use nacre_rt::memory::{addresses, object_pool, pool};
use nacre_sys::ipc::{self, Buffers, Message};
use nacre_sys::{Mapping, OwnedMapping, OwnedReference, OwnedSpace, Port, PortSet, Reference, Region, Space, SpanMut};

/// Pages of the attacked segment: one with a port, and more than a space needs for its tables.
const PAGES: u64 = 16;
/// Flags of `segment_create` to try: none, and those that ask for object memory.
const FLAGS: [u64; 3] = [0, 1, u64::MAX];

/// Asks for words in pages with objects, in donated pages, and beyond the segment.
fn ask(segment: Reference) {
    for page in [0, 1, 5, PAGES - 1, PAGES] {
        let offset = page * PAGE_SIZE;
        for (label, words) in [
            (segment::wait::LABEL, [offset, 1, u64::MAX, 0, 0, 0]),
            (segment::wake::LABEL, [offset, 1, u64::MAX, 0, 0, 0]),
            (segment::requeue::LABEL, [offset, 1, 1, 0, 0, 0]),
            (segment::clear::LABEL, [offset, PAGE_SIZE, 0, 0, 0, 0]),
            (segment::wait::LABEL, [offset, 0, u64::MAX, 0, 0, 0]),
        ] {
            // Any answer will do, and none after a short while too: what counts is that the server
            // lives.
            let _ = ipc::call(segment, &Message::new(label, words), Buffers::NONE, PATIENCE / 100);
        }
        let Ok(slot) = OwnedReference::null() else { continue };
        let message = Message::new(segment::meet::LABEL, [offset, 0, 0, 0, 0, 0]);
        let _ = ipc::call(segment, &message, Buffers::new(SpanMut::EMPTY, &[slot.handle()]), PATIENCE / 100);
    }
}

/// Makes a port and a space's tables in a segment, then asks about its words.
pub fn attack(_: &[u8]) -> Outcome {
    let pool = match pool() {
        Err(Errno::ENOENT | Errno::EACCES) => return Ok(Verdict::Absent("memory")),
        other => other.map_err(why("finding memory"))?,
    };
    let objects = object_pool().unwrap_or(pool);
    for (pool, flags) in FLAGS.into_iter().flat_map(|flags| [(pool, flags), (objects, flags)]) {
        let Ok(taken) = memory::segment_create(pool, PAGES * PAGE_SIZE, flags) else { continue };
        let start = addresses(PAGES * PAGE_SIZE).ok_or("no addresses are left")?;
        let region = Region::through(taken.region.handle());
        let map = |rights| OwnedMapping::make(|slot| Mapping::create(slot, Space::OWN, start, PAGES * PAGE_SIZE, region, 0, rights));
        // Memory that refuses objects is attacked too.
        if let Ok(mapping) = map(Rights::ALL).or_else(|_| map(Rights::READ.union(Rights::WRITE))) {
            let _ = Port::create(start, 0, PortSet::NONE);
            let space = OwnedSpace::make(|slot| Space::create(slot, start + PAGE_SIZE, 8, Reference::NONE));
            ask(taken.segment.handle());
            drop(space);
            drop(mapping);
        }
    }
    Ok(Verdict::Refused)
}
