//! The scene: frames, spaces of guests and their memory, in an arena that no Rust object lies in.

use nacre_abi::rights::{REFERENCE_ALL, RECLAIM_CLEAR};
use nacre_abi::{Call, PAGE_SIZE, Rights, Status, USER_END, environment};
use nacre_raw::{call, write};
use nacre_proto::{Errno, flags};
use nacre_rt::memory::{self, Segment};
use nacre_sys::{OwnedMapping, Region, Space};

/// Address of the arena.
pub const ARENA: u64 = 0x3000_0000_0000;
/// Size of the arena.
pub const ARENA_SIZE: u64 = 0x40_0000;
/// Address at which frames are entered. A meddler takes the mapping there away.
pub const WINDOW: u64 = 0x3100_0000_0000;
/// Pages that are touched so that a pager takes others away, and their number.
pub const CHURN: u64 = 0x3400_0000_0000;
pub const CHURN_PAGES: u64 = 128;
/// Address of the guest's memory in its space.
pub const MEMORY_AT: u64 = 0x10_0000;

/// The page of the arena with this number.
pub const fn page(number: u64) -> u64 {
    ARENA + number * PAGE_SIZE
}

/// Space that shows the guest's memory by a mapping.
pub const SPACE: u64 = page(0);
/// Spaces whose views are all of them.
pub const LOWER: u64 = page(0) + 256;
pub const UPPER: u64 = page(0) + 512;
/// Region of the guest's memory.
pub const REGION: u64 = page(1);
pub const MAPPING: u64 = page(1) + 128;
pub const LOWER_VIEW: u64 = page(1) + 256;
pub const UPPER_VIEW: u64 = page(1) + 384;
/// Slots for what a meddler lays over views and makes from them.
pub const OVERLAY: u64 = page(1) + 512;
pub const DERIVED: u64 = page(1) + 640;
pub const DERIVED_VIEW: u64 = page(1) + 768;
/// Region of the pages of frames, and the mapping of two of them at [`WINDOW`].
pub const FRAME_REGION: u64 = page(2);
pub const FRAME_MAPPING: u64 = page(2) + 128;
/// References to this program's space with all rights, and to a guest's with none.
pub const OWN: u64 = page(3);
pub const WEAK: u64 = page(3) + 64;
/// Pages of frames: two for the threads that enter, the rest are the meddlers'.
pub const FRAMES: u64 = page(16);
/// Number of them.
pub const FRAME_PAGES: u64 = 8;
/// Lists of pages for views, one for each thread.
pub const LISTS: u64 = page(24);
/// The guest's memory. The second half comes and goes.
pub const MEMORY: u64 = page(32);
/// Pages of it.
pub const MEMORY_PAGES: u64 = 16;
/// Pages to donate, 16 for each space.
const POOLS: u64 = page(64);

/// Makes a call; its status.
pub fn try_call(which: Call, arguments: &[u64]) -> Status {
    let mut all = [0; 8];
    all[..arguments.len()].copy_from_slice(arguments);
    call(which, all).0
}

/// A call that must succeed.
///
/// # Errors
/// Tells which call failed, and how.
pub fn must(which: Call, arguments: &[u64]) -> Result<(), alloc::string::String> {
    try_call(which, arguments).result().map_err(|status| alloc::format!("{}: {status:?}", which.name()))
}

/// Makes one of the three spaces, with a pool of so many pages, and what is in it.
pub fn make_space(number: u64, pages: u64) {
    let space = [SPACE, LOWER, UPPER][number as usize % 3];
    try_call(Call::SpaceCreate, &[space, POOLS + 16 * PAGE_SIZE * (number % 3), pages, 0]);
    fill_space(number);
}

/// Makes the mapping or the view of a space.
pub fn fill_space(number: u64) {
    match number % 3 {
        0 => try_call(Call::MappingCreate, &[MAPPING, SPACE, MEMORY_AT, MEMORY_PAGES * PAGE_SIZE, REGION, 0, 7]),
        1 => try_call(Call::MappingCreate, &[LOWER_VIEW, LOWER, 0, USER_END, REGION, 0, Rights::VIEW.0 | 7]),
        _ => try_call(Call::MappingCreate, &[UPPER_VIEW, UPPER, 0, USER_END, REGION, 0, Rights::VIEW.0 | 7]),
    };
}

/// Shows two pages of frames at the window, from the one with this number on.
pub fn show_frames(first: u64, rights: u64) {
    try_call(Call::MappingCreate, &[FRAME_MAPPING, 0, WINDOW, 2 * PAGE_SIZE, FRAME_REGION, first * PAGE_SIZE, rights]);
}

/// Maps the arena. `is_paged`: frames and the guest's memory are memory that a pager may take away
/// at any moment, and can't become objects.
///
/// # Errors
/// Tells of memory that is not to be had.
pub fn map(is_paged: bool) -> Result<(), Errno> {
    let more = Rights::OBJECTS.union(Rights::EXECUTE);
    if !is_paged {
        Segment::map(ARENA, ARENA_SIZE, more)?.leak();
        return Ok(());
    }
    Segment::map(ARENA, FRAMES - ARENA, more)?.leak();
    Segment::map(POOLS, ARENA + ARENA_SIZE - POOLS, more)?.leak();
    map_paged(FRAMES, POOLS - FRAMES)?;
    map_paged(CHURN, CHURN_PAGES * PAGE_SIZE)
}

fn map_paged(start: u64, size: u64) -> Result<(), Errno> {
    let segment = nacre_proto::memory::segment_create(memory::pool()?, size, flags::SEGMENT_PAGEABLE)?;
    let region = Region::through(segment.region.handle());
    OwnedMapping::new(Space::OWN, start, size, region, 0, Rights::READ.union(Rights::WRITE).union(Rights::EXECUTE))?.leak();
    segment.segment.leak();
    segment.region.leak();
    Ok(())
}

/// Makes everything anew.
///
/// # Errors
/// Tells which call failed.
pub fn build() -> Result<(), alloc::string::String> {
    must(Call::MemoryReclaim, &[ARENA, FRAMES - ARENA, RECLAIM_CLEAR])?;
    must(Call::MemoryReclaim, &[POOLS, ARENA + ARENA_SIZE - POOLS, RECLAIM_CLEAR])?;
    must(Call::RegionCreate, &[REGION, 0, MEMORY, MEMORY_PAGES * PAGE_SIZE, Rights::ALL.0, 0])?;
    must(Call::RegionCreate, &[FRAME_REGION, 0, FRAMES, FRAME_PAGES * PAGE_SIZE, Rights::ALL.0, 0])?;
    (0..3).for_each(|number| make_space(number, 12));
    show_frames(0, 3);
    must(Call::ReferenceCreate, &[OWN])?;
    must(Call::ReferenceCreate, &[WEAK])?;
    must(Call::ReferenceReference, &[environment::SPACE, OWN, REFERENCE_ALL])?;
    must(Call::SpaceReference, &[SPACE, WEAK, 0])
}

/// Enters a page into a view; the status.
pub fn enter_page(list: u64, view: u64, address: u64, offset: u64) -> Status {
    write(list, address);
    write(list + 8, offset);
    try_call(Call::ViewEnter, &[view, list, 1])
}
