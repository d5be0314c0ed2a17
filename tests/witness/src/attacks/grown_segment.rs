//! A segment that was to grow showed what others had behind it until the growth was refused. A
//! thread runs from there all the time meanwhile.

use crate::tools::{Outpost, find, program_state, why};
use crate::outcome::{Outcome, Verdict};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_nest::places::Place;
use nacre_proto::flags::{SEGMENT_PAGEABLE, SERVICE_MEMORY};
use nacre_proto::{dataspace, memory, segment};
use nacre_sys::{OwnedMapping, OwnedReference, Reference, Region, Space, Thread};

/// Address of the segment in the space of the thread that looks.
const SEEN: u64 = 0x10_0000;
/// Attachments of the segment, all of which grow: that takes time.
const ATTACHMENTS: usize = 2000;
/// Attempts to grow.
const ROUNDS: usize = 40;
/// Code behind the segment: `mov eax, 0x5ec2e7`, and a jump to itself.
const SECRET: [u8; 7] = [0xb8, 0xe7, 0xc2, 0x5e, 0x00, 0xeb, 0xfe];
/// Value of the thread's `rax` when it has found that code.
const FOUND: u64 = 0x005e_c2e7;

/// The thread that looks; 0: nobody looks any more.
static LOOKS: AtomicU64 = AtomicU64::new(0);
/// The thread has found what others have.
static HAS_FOUND: AtomicBool = AtomicBool::new(false);

/// Makes the thread run from `address` again and again.
fn look(address: usize) {
    loop {
        let thread = match LOOKS.load(Ordering::Acquire) {
            0 => return,
            thread => Thread(thread),
        };
        // Where it was ended by its fault it begins anew.
        let _ = thread.stop();
        if thread.get_state().is_ok_and(|state| state.rax == FOUND) {
            HAS_FOUND.store(true, Ordering::Release);
        }
        let _ = thread.set_state(&program_state(address as u64));
        let _ = thread.start();
        Thread::yield_now();
    }
}

/// Takes a segment of this many pages.
fn take(pool: Reference, pages: u64) -> Result<memory::segment_create::Reply, alloc::string::String> {
    memory::segment_create(pool, pages * PAGE_SIZE, SEGMENT_PAGEABLE).map_err(why("a segment"))
}

/// Puts code behind a segment that others have, and lets a thread run from there while the segment
/// is to grow.
pub fn attack(_: &[u8]) -> Outcome {
    let Ok(pool) = find(SERVICE_MEMORY) else { return Ok(Verdict::Absent("memory")) };
    let small = take(pool.handle(), 2)?;
    let outpost = Outpost::with_keeper(Reference::NONE)?.ok_or("a space without keeper was refused")?;
    let _seen = OwnedMapping::new(outpost.space.handle(), SEEN, 2 * PAGE_SIZE, Region::through(small.region.handle()), 0, Rights::READ.union(Rights::EXECUTE)).map_err(why("a mapping"))?;
    segment::resize(small.segment.handle(), PAGE_SIZE).map_err(why("a smaller segment"))?;
    let behind = take(pool.handle(), 1)?;
    let place = Place::take(PAGE_SIZE).ok_or("no addresses are left")?;
    let shown = OwnedMapping::new(Space::OWN, place.window().start(), PAGE_SIZE, Region::through(behind.region.handle()), 0, Rights::READ.union(Rights::WRITE)).map_err(why("a mapping"))?;
    place.window().write(0, &SECRET).ok_or("the page is too short")?;
    // Without managers there are no attachments, and less time.
    let attached: Vec<[OwnedReference; 2]> =
        (0..ATTACHMENTS).map_while(|_| dataspace::attach(small.segment.handle(), 0).ok()).map(|made| [made.region, made.attachment]).collect();
    LOOKS.store(outpost.thread.handle().0, Ordering::Release);
    let looks = nacre_rt::thread::spawn(look, (SEEN + PAGE_SIZE) as usize).map_err(why("a thread"))?;
    for _ in 0..ROUNDS {
        if segment::resize(small.segment.handle(), 2 * PAGE_SIZE).is_ok() {
            // Nobody stands behind it.
            let _ = segment::resize(small.segment.handle(), PAGE_SIZE);
        }
    }
    LOOKS.store(0, Ordering::Release);
    looks.join();
    drop((attached, shown));
    if HAS_FOUND.load(Ordering::Acquire) { Err("a segment that was to grow shows what others have".into()) } else { Ok(Verdict::Refused) }
}
