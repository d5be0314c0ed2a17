//! The guest's memory: a segment, shown in our own space and in a space of the guest's, whose
//! addresses are the guest's physical ones.

use alloc::vec::Vec;
use core::mem::ManuallyDrop;
use nacre_abi::frame::{FRAME_VERSION, word};
use nacre_abi::{PAGE_SIZE, Rights, Status};
use nacre_machine_load::{GuestMemory, OutOfRange};
use nacre_nest::Services;
use nacre_nest::places::Place;
use nacre_nest::services::Segment as Objects;
use nacre_nest::supply::{ResourceSource, Segment as _};
use nacre_proto::flags::SEGMENT_PAGEABLE;
use nacre_proto::{Errno, memory, segment};
use nacre_sys::{Frame, OwnedMapping, OwnedReference, Reference, Region, Space, Window};

/// Pages for the tables of a space, besides one for each 2 MiB.
const TABLES: u64 = 16;
const LARGE_PAGE: u64 = 2 << 20;
/// Maximum number of pages that one call donates to a space.
const MAX_DONATION: u64 = 512;

/// Makes a space at `at` whose tables are `pool` pages at `tables`.
pub fn space(at: u64, tables: u64, pool: u64) -> Result<Space, Status> {
    let space = Space::create(at, tables, pool.min(MAX_DONATION), Reference::NONE)?;
    for (page, count) in donations(pool).skip(1) {
        space.donate(tables + page * PAGE_SIZE, count)?;
    }
    Ok(space)
}

/// Offsets and sizes, in pages, of the parts of a pool that calls of their own donate.
fn donations(pool: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..pool).step_by(MAX_DONATION as usize).map(move |at| (at, MAX_DONATION.min(pool - at)))
}

/// Memory from the parent's pool, shown in our own space.
struct Shown {
    // Dropped in this order.
    _mapping: OwnedMapping,
    region: OwnedReference,
    segment: OwnedReference,
    place: Place,
}

impl Shown {
    fn take(services: &Services, size: u64) -> Result<Shown, Errno> {
        let taken = memory::segment_create(services.data_memory(), size, SEGMENT_PAGEABLE)?;
        let place = Place::take(size).ok_or(Errno::ENOMEM)?;
        let region = Region::through(taken.region.handle());
        let mapping = OwnedMapping::new(Space::SELF, place.window().start(), size, region, 0, Rights::READ.union(Rights::WRITE))?;
        Ok(Shown { _mapping: mapping, region: taken.region, segment: taken.segment, place })
    }

    fn region(&self) -> Region {
        Region::through(self.region.handle())
    }
}

/// A guest without a processor's state.
pub struct Guest {
    _shown: OwnedMapping,
    memory: Shown,
    frames: Vec<Shown>,
    /// Page with words of the clock. It stays: the timer's thread reads the time to the end of the
    /// program.
    clock: ManuallyDrop<Shown>,
    space: Space,
    _objects: Objects,
}

impl Guest {
    /// Takes `size` bytes of memory and makes the guest's space, and pages for its processors.
    pub fn new(services: &mut Services, size: u64, processors: usize) -> Result<Guest, Errno> {
        let size = size.next_multiple_of(PAGE_SIZE);
        let memory = Shown::take(services, size)?;
        let pool = TABLES + size / LARGE_PAGE;
        let objects = services.segment((1 + pool) * PAGE_SIZE).map_err(|_| Errno::ENOMEM)?;
        let base = objects.window().start();
        let space = space(base, base + PAGE_SIZE, pool)?;
        let all = Rights::READ.union(Rights::WRITE).union(Rights::EXECUTE);
        let shown = OwnedMapping::new(space, 0, size, memory.region(), 0, all)?;
        let frames = (0..processors).map(|_| Shown::take(services, PAGE_SIZE)).collect::<Result<_, _>>()?;
        Ok(Guest { _shown: shown, memory, frames, clock: ManuallyDrop::new(Shown::take(services, PAGE_SIZE)?), space, _objects: objects })
    }

    /// The frame of a processor. `None`: there is no such processor.
    pub fn frame(&self, processor: usize) -> Option<Frame> {
        Frame::begin(self.frames.get(processor)?.place.window(), self.space.0)
    }

    /// Makes a processor's frame as it was before the first start.
    pub fn clear_frame(&self, frame: &Frame) {
        (0..word::COUNT).for_each(|number| frame.set(number, 0));
        frame.set(word::VERSION, FRAME_VERSION);
        frame.set(word::SPACE, self.space.0);
    }

    /// Makes its memory zeros.
    pub fn clear(&self) -> Result<(), Errno> {
        segment::clear(self.segment(), 0, self.memory.place.window().size()).map(drop)
    }

    /// Returns the segments of all frames.
    pub fn frame_segments(&self) -> impl Iterator<Item = Reference> {
        self.frames.iter().map(|frame| frame.segment.handle())
    }

    /// Returns the page with words of the clock: its segment, and where it is shown.
    pub fn clock_page(&self) -> (Reference, Window) {
        (self.clock.segment.handle(), self.clock.place.window())
    }

    /// Returns what tables for its addresses are made of.
    pub fn ground(&self) -> Ground {
        Ground { space: self.space, region: self.memory.region(), memory: self.memory() }
    }

    /// Segment of its memory.
    pub fn segment(&self) -> Reference {
        self.memory.segment.handle()
    }

    /// Returns its memory.
    pub fn memory(&self) -> Memory {
        Memory(self.memory.place.window())
    }
}

/// Parts of a guest that tables for its addresses are made of.
#[derive(Clone, Copy)]
pub struct Ground {
    /// Space whose addresses are the guest's physical ones.
    pub space: Space,
    /// Region of the guest's memory, for views of it.
    pub region: Region,
    /// The guest's memory.
    pub memory: Memory,
}

/// The guest's memory by its own addresses.
#[derive(Clone, Copy, Debug)]
pub struct Memory(Window);

impl GuestMemory for Memory {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), OutOfRange> {
        // Others may write the entry of a table meanwhile: it is read in one access.
        if let width @ (4 | 8) = into.len()
            && let Some(value) = self.0.load(at, width as u64)
        {
            into.copy_from_slice(&value.to_le_bytes()[..width]);
            return Ok(());
        }
        self.0.read(at, into).ok_or(OutOfRange)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.0.write(at, bytes).ok_or(OutOfRange)
    }

    fn replace(&mut self, at: u64, width: usize, old: u64, new: u64) -> Result<bool, OutOfRange> {
        self.0.replace(at, width as u64, old, new).ok_or(OutOfRange)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_donated_in_parts_that_a_call_takes() {
        for (pool, parts) in [(80, &[(0, 80)][..]), (512, &[(0, 512)]), (1552, &[(0, 512), (512, 512), (1024, 512), (1536, 16)])] {
            assert!(donations(pool).eq(parts.iter().copied()));
        }
    }
}
