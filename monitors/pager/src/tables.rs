//! The spaces that stand between frames and the child, and what the bank does with them.
//!
//! `O` shows what is here: one mapping for each frame that holds a page. `T` shows all of `O`, by one mapping of one region, whose keeper we are; regions of segments are made over `T`.

use alloc::vec::Vec;
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_dataspace::hands::Refused;
use nacre_dataspace::{Hands, Page};
use nacre_nest::Services;
use nacre_nest::places::Place;
use nacre_nest::services::Segment;
use nacre_nest::supply::{Segment as _, Supplier};
use nacre_proto::flags::SEGMENT_PAGEABLE;
use nacre_proto::{Errno, memory};
use nacre_sys::{Mapping, OwnedMapping, OwnedReference, OwnedRegion, Port, Reference, Region, Space, Status, Vacant, Window};

/// Address at which both spaces have their pages.
const BASE: u64 = 0x1000_0000_0000;
/// Number of their pages.
pub const PAGES: u64 = 1 << 30;
/// Pages that are donated for a space that only composes.
const POOL: u64 = 5;
/// All that memory without objects can be used for.
const DATA: Rights = Rights::READ.union(Rights::WRITE).union(Rights::EXECUTE);

/// Frames of a segment, and where they are shown.
pub struct Tables {
    /// `O`.
    here: Space,
    frames: Region,
    window: Window,
    /// A slot for each frame's mapping.
    mappings: Vec<Vacant<Mapping>>,
    _kept: (OwnedMapping, OwnedReference, OwnedReference, Place),
}

/// `T`, over which segments have their regions.
pub struct Top {
    space: Space,
    _kept: (OwnedRegion, OwnedMapping, Segment),
}

/// Makes both spaces, with `count` frames of memory from the pool; `keeper` is asked for pages that are not here.
pub fn make(services: &mut Services, count: usize, keeper: Port) -> Result<(Tables, Top), Errno> {
    let objects = services.segment(2 * (1 + POOL) * PAGE_SIZE).map_err(|_| Errno::ENOMEM)?;
    let base = objects.window().start();
    let here = Space::create(base, base + PAGE_SIZE, POOL, Reference::NONE)?;
    let second = base + (1 + POOL) * PAGE_SIZE;
    let top = Space::create(second, second + PAGE_SIZE, POOL, Reference::NONE)?;
    let region = OwnedRegion::new(here, BASE, PAGES * PAGE_SIZE, DATA, keeper.as_keeper())?;
    let mapping = OwnedMapping::new(top, BASE, PAGES * PAGE_SIZE, region.handle(), 0, DATA)?;
    Ok((frames(services.memory(), here, count)?, Top { space: top, _kept: (region, mapping, objects) }))
}

fn frames(pool: Reference, here: Space, count: usize) -> Result<Tables, Errno> {
    let size = count as u64 * PAGE_SIZE;
    let taken = memory::segment_create(pool, size, SEGMENT_PAGEABLE)?;
    let place = Place::take(size).ok_or(Errno::ENOMEM)?;
    let (window, frames) = (place.window(), Region::through(taken.region.handle()));
    let shown = OwnedMapping::new(Space::SELF, window.start(), size, frames, 0, Rights::READ.union(Rights::WRITE))?;
    let mut mappings = Vec::new();
    mappings.try_reserve_exact(count).map_err(|_| Errno::ENOMEM)?;
    for _ in 0..count {
        mappings.push(Vacant::new()?);
    }
    Ok(Tables { here, frames, window, mappings, _kept: (shown, taken.segment, taken.region, place) })
}

impl Top {
    /// A region of `count` pages from `start` on, for whoever gets a reference to it.
    pub fn region(&self, start: u64, count: u64) -> Result<OwnedRegion, Status> {
        OwnedRegion::new(self.space, BASE + start * PAGE_SIZE, count * PAGE_SIZE, DATA, Reference::NONE)
    }

    /// A reference to hand out.
    pub fn reference(region: &OwnedRegion) -> Result<OwnedReference, Status> {
        region.new_reference(REFERENCE_USE)
    }
}

impl Tables {
    fn part(&self, frame: usize) -> Option<Window> {
        self.window.part(frame as u64 * PAGE_SIZE, PAGE_SIZE)
    }
}

impl Hands for Tables {
    fn show(&mut self, page: u64, frame: usize, written: bool) -> Result<(), Refused> {
        let rights = if written { DATA } else { Rights::READ.union(Rights::EXECUTE) };
        let slot = self.mappings[frame].address();
        Mapping::create(slot, self.here, BASE + page * PAGE_SIZE, PAGE_SIZE, self.frames, frame as u64 * PAGE_SIZE, rights).map(drop).map_err(|_| Refused)
    }

    fn hide(&mut self, _: u64, frame: usize) -> Result<(), Refused> {
        self.mappings[frame].handle().destroy().map_err(|_| Refused)
    }

    fn read(&mut self, frame: usize, into: &mut Page) {
        let _ = self.part(frame).and_then(|window| window.read(0, into));
    }

    fn write(&mut self, frame: usize, from: &Page) {
        let _ = self.part(frame).and_then(|window| window.write(0, from));
    }

    fn clear(&mut self, frame: usize) {
        let _ = self.part(frame).and_then(|window| window.fill(0, PAGE_SIZE, 0));
    }
}
