//! The machine's memory: where it is mapped here, the one allocator of its frames, and runs of it
//! as segments.
//!
//! All memory is mapped in a line from [`LINE`] on, so that a physical offset and an address here
//! are the same but for a constant. What this program itself needs (its heap) is mapped once more
//! elsewhere, where Rust's own objects may be.

use crate::boot::BootFacts;
use crate::chunks;
use crate::frames::{FRAME, Frames};
use alloc::vec;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_abi::boot_info::MemoryRange;
use nacre_abi::environment::PHYSICAL;
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::state::RegionState;
use nacre_abi::{ObjectType, Rights};
use nacre_proto::Errno;
use nacre_sys::lock::Lock;
use nacre_sys::{Mapping, OwnedMapping, OwnedReference, OwnedRegion, Reference, Region, Space, Status, Window, memory, slots};

/// Address at which physical offset 0 would be mapped.
pub const LINE: u64 = nacre_sys::window::WINDOWS.start;
/// Address of the heap's parts, which are mapped one behind the other.
const HEAP: u64 = 0x2000_0000_0000;
/// Memory that clients cannot have: a 64th of all, within these bounds.
const RESERVE: core::ops::RangeInclusive<u64> = 1 << 20..=16 << 20;
/// Size of the heap's first part, beside the map of frames.
const FIRST_HEAP: u64 = 512 << 10;
/// Pages of an area of objects that is added when there is no free slot.
const AREA_PAGES: u64 = 16;
/// Areas of the same size, after which the next ones are twice as large; and how often they are.
const AREAS_OF_A_SIZE: u64 = 4;
const LARGEST_AREA: u64 = 7;
/// Pages donated for the tables of this program's own space.
const TABLE_PAGES: u64 = 64;
/// Runs from this size on are aligned to it, so that large pages can show them.
const LARGE: u64 = 2 << 20;
/// Largest run that is made ready for its client in one piece.
const READY_AT_ONCE: u64 = 16 << 20;
/// Rights of the region of a segment that holds no objects.
pub const DATA: Rights = Rights::READ.union(Rights::WRITE).union(Rights::EXECUTE);

static FRAMES: Lock<Option<Frames>> = Lock::new(None);
/// Memory for the heap while there is no allocator of frames.
static FIRST: Lock<MemoryRange> = Lock::new(MemoryRange { start: 0, size: 0 });
/// See [`total`].
static TOTAL: AtomicU64 = AtomicU64::new(0);
/// Words for the next area of slots, and how many times there were some.
static SPARE: Lock<Option<&'static mut [AtomicU64]>> = Lock::new(None);
static AREAS: AtomicU64 = AtomicU64::new(0);
/// Number of runs that have come back.
static RETURNED: AtomicU64 = AtomicU64::new(0);
static NEXT_HEAP: AtomicU64 = AtomicU64::new(HEAP);

fn with_frames<T>(work: impl FnOnce(&mut Frames) -> T) -> Option<T> {
    FRAMES.lock().as_mut().map(work)
}

/// The window of `size` bytes of memory at a physical offset.
pub fn window(start: u64, size: u64) -> Option<Window> {
    Window::new(LINE.checked_add(start)?, size)
}

fn map(start: u64, at: u64, size: u64, rights: Rights) -> Result<(), Status> {
    let slot = slots::allocate(ObjectType::Mapping)?;
    Mapping::create(slot, Space::OWN, at, size, Region::through(Reference(PHYSICAL)), start, rights).map(drop)
}

/// Shows memory at another address of this program's space, for others to map from there.
pub fn show(start: u64, at: u64, size: u64) -> Result<OwnedMapping, Status> {
    let make = |start, size| region(start, size, DATA).ok();
    let (through, offset) = chunks::around(start, size, make).unwrap_or((Region::through(Reference(PHYSICAL)), start));
    OwnedMapping::new(Space::OWN, at, size, through, offset, DATA)
}

/// Makes the memory usable: the line, the heap's first part, the allocator. Before this nothing
/// larger is allocated.
pub fn start(facts: &BootFacts) -> Result<(), Status> {
    for range in &facts.ranges {
        map(range.start, LINE + range.start, range.size, Rights::ALL)?;
    }
    let image = facts.image;
    map(image.start, LINE + image.start, image.size.next_multiple_of(FRAME), Rights::READ.union(Rights::EXECUTE))?;
    if facts.store.size > 0 {
        // Never for objects: what lasts is bytes.
        map(facts.store.start, LINE + facts.store.start, facts.store.size, DATA)?;
    }
    let end = start_frames(facts);
    slots::set_grow(add_area);
    // Without them memory is mapped through the one region that has all of it.
    let _ = chunks::start(end);
    let tables = with_frames(|frames| frames.allocate_reserved(TABLE_PAGES * FRAME, FRAME)).flatten();
    tables.map_or(Ok(()), |start| Space::SELF.donate(LINE + start, TABLE_PAGES))
}

/// Maps a device's window, for files to show.
pub fn map_window(start: u64, size: u64, writable: bool) -> Result<(), Status> {
    map(start, LINE + start, size, if writable { Rights::READ.union(Rights::WRITE) } else { Rights::READ })
}

/// Makes the allocator of frames; returns the physical offset behind all of them.
fn start_frames(facts: &BootFacts) -> u64 {
    let largest = facts.ranges.iter().max_by_key(|range| range.size).copied().unwrap_or_default();
    let base = facts.ranges.iter().map(|range| range.start).min().unwrap_or(0);
    let end = facts.ranges.iter().map(|range| range.start + range.size).max().unwrap_or(0);
    let words = Frames::words_for(end - base);
    let first = (FIRST_HEAP + 16 * words as u64).next_multiple_of(FRAME).min(largest.size);
    *FIRST.lock() = MemoryRange { start: largest.start + largest.size - first, size: first };
    let mut frames = Frames::new(vec![0; words].leak(), vec![0; words].leak(), base, end - base);
    for range in &facts.ranges {
        let kept = if range.start == largest.start { first } else { 0 };
        frames.release(range.start, range.size - kept, false);
    }
    frames.set_reserve((frames.free_bytes() / 64).clamp(*RESERVE.start(), *RESERVE.end()));
    TOTAL.store(frames.available_bytes(), Ordering::Relaxed);
    *FRAMES.lock() = Some(frames);
    end
}

/// The heap's source: maps at least `size` more bytes.
pub fn grow_heap(size: usize) -> Option<(usize, usize)> {
    let size = (size as u64).next_multiple_of(FRAME);
    let first = *FIRST.lock();
    let part = if first.size >= size { core::mem::take(&mut *FIRST.lock()) } else { MemoryRange { start: take_frames(size)?, size } };
    let at = NEXT_HEAP.fetch_add(part.size, Ordering::Relaxed);
    map(part.start, at, part.size, Rights::READ.union(Rights::WRITE)).ok()?;
    Some((at as usize, part.size as usize))
}

fn take_frames(size: u64) -> Option<u64> {
    with_frames(|frames| frames.allocate_reserved(size, FRAME)).flatten()
}

/// Adds an area of slots for objects. The heap may be what needs them, so it is not asked for
/// anything here.
fn add_area() -> bool {
    let Some(units) = SPARE.lock().take() else {
        return take_frames(AREA_PAGES * FRAME).is_some_and(|start| slots::add_area(LINE + start, AREA_PAGES as usize).is_ok());
    };
    take_frames(units.len() as u64 * FRAME).is_some_and(|start| slots::add_area_with(LINE + start, units).is_ok())
}

/// Makes sure that there are words for the next area of slots. Later areas are larger, since a
/// program can have a few areas only.
pub fn prepare_area() {
    let mut spare = SPARE.lock();
    if spare.is_none() {
        let count = AREA_PAGES << (AREAS.fetch_add(1, Ordering::Relaxed) / AREAS_OF_A_SIZE).min(LARGEST_AREA);
        let mut units = vec::Vec::new();
        if units.try_reserve_exact(count as usize).is_ok() {
            units.resize_with(count as usize, || AtomicU64::new(0));
            *spare = Some(units.leak());
        }
    }
}

/// Bytes that clients can still have.
pub fn available() -> u64 {
    with_frames(|frames| frames.available_bytes()).unwrap_or(0)
}

/// Number of runs that have come back so far.
pub fn returned() -> u64 {
    RETURNED.load(Ordering::Relaxed)
}

/// Bytes that clients could have at the start.
pub fn total() -> u64 {
    TOTAL.load(Ordering::Relaxed)
}

/// A run of zeros for a client.
pub fn allocate(size: u64) -> Option<u64> {
    let start = take_run(size)?;
    clear(start, size.next_multiple_of(FRAME))?;
    Some(start)
}

/// A run for a client, with anything in it.
fn take_run(size: u64) -> Option<u64> {
    let alignment = if size >= LARGE { LARGE } else { FRAME };
    with_frames(|frames| frames.allocate(size, alignment).or_else(|| frames.allocate(size, FRAME)))?
}

/// Makes a run that nobody uses zeros, if it is not known to be so: its pages are cleared when they
/// are touched.
fn clear(start: u64, size: u64) -> Option<()> {
    let window = window(start, size)?;
    if with_frames(|frames| frames.is_zero(start, size))? {
        return Some(());
    }
    memory::clear(window.start(), size).ok()
}

/// Allocates frames of some colours, with anything in them, in at most `most` runs
/// ([`Frames::allocate_coloured`]).
pub fn take_coloured(size: u64, colours: u64, chosen: core::ops::Range<u64>, most: usize) -> Option<vec::Vec<(u64, u64)>> {
    let mut runs = vec::Vec::new();
    runs.try_reserve_exact(most).ok()?;
    with_frames(|frames| frames.allocate_coloured(size, colours, chosen, &mut runs)).flatten()?;
    Some(runs)
}

/// Makes a run zeros when it is touched. Nobody else reaches it.
pub fn clear_run((start, size): (u64, u64)) -> Result<(), Status> {
    memory::clear(LINE + start, size)
}

/// Makes a run zeros that somebody sees.
pub fn blank(start: u64, size: u64) {
    if let Some(window) = window(start, size) {
        // The line shows all memory.
        let _ = memory::clear(window.start(), size);
    }
}

/// Gives a run back.
pub fn free(start: u64, size: u64) {
    RETURNED.fetch_add(1, Ordering::Relaxed);
    with_frames(|frames| frames.release(start, size.next_multiple_of(FRAME), false));
}

/// A region of a run of memory.
pub fn region(start: u64, size: u64, rights: Rights) -> Result<OwnedRegion, Status> {
    OwnedRegion::new(Space::OWN, LINE + start, size.next_multiple_of(FRAME), rights, Reference::NONE)
}

/// A run of memory that others may map. Dropping it takes it back: mappings of it are unmapped,
/// objects in it destroyed.
///
/// Invariant: this program reads or writes the bytes of a segment only if the segment cannot hold
/// objects, or if nobody else has its region yet. A page with a kernel object in it is an exception
/// for whoever touches it, and an exception of this program ends the machine.
pub struct Segment {
    window: Window,
    region: OwnedRegion,
    holds_objects: bool,
    /// Set if the holder of the segment may learn its physical address.
    tells_address: bool,
}

impl Segment {
    /// `size` bytes of zeros, rounded up to pages. Kernel objects and tables can be put there only
    /// if `holds_objects`.
    pub fn new(size: u64, holds_objects: bool) -> Result<Segment, Errno> {
        let (segment, filled) = Segment::unfilled(size, holds_objects)?;
        segment.fill(filled, segment.size() - filled);
        Ok(segment)
    }

    /// Takes a segment whose first bytes are zeros, as many as are returned. The caller must fill
    /// the rest before anybody gets the segment.
    pub fn unfilled(size: u64, holds_objects: bool) -> Result<(Segment, u64), Errno> {
        let size = whole_pages(size)?;
        let rights = if holds_objects { Rights::ALL } else { DATA };
        let is_ready = size <= READY_AT_ONCE;
        let start = if is_ready { allocate(size) } else { take_run(size) }.ok_or(Errno::ENOMEM)?;
        let parts = window(start, size).ok_or(Errno::ENOMEM).and_then(|window| Ok((window, region(start, size, rights)?)));
        match parts {
            Ok((window, region)) => Ok((Segment { window, region, holds_objects, tells_address: false }, if is_ready { size } else { 0 })),
            Err(errno) => {
                free(start, size);
                Err(errno)
            }
        }
    }

    /// Makes a segment of one run of the machine's memory at a multiple of `alignment`, below the
    /// address `below`.
    pub fn run(size: u64, alignment: u64, below: u64) -> Result<Segment, Errno> {
        let size = whole_pages(size)?;
        let start = with_frames(|frames| frames.allocate_below(size, alignment, below)).flatten().ok_or(Errno::ENOMEM)?;
        let parts = window(start, size).ok_or(Errno::ENOMEM).and_then(|window| {
            memory::clear(window.start(), size)?;
            Ok((window, region(start, size, DATA)?))
        });
        parts.map(|(window, region)| Segment { window, region, holds_objects: false, tells_address: true }).inspect_err(|_| free(start, size))
    }

    /// The machine's address of the byte at `offset`, and the bytes from there to the end; `None`
    /// if there are none.
    /// `EACCES`: it was not taken by its address.
    pub fn locate(&self, offset: u64) -> Result<Option<(u64, u64)>, Errno> {
        let left = self.size().checked_sub(offset).filter(|left| *left > 0);
        if self.tells_address { Ok(left.map(|left| (self.address() + offset, left))) } else { Err(Errno::EACCES) }
    }

    /// The machine's address of the segment.
    pub fn address(&self) -> u64 {
        self.window.start() - LINE
    }

    /// Makes a part zeros, which nobody else can reach yet.
    pub fn fill(&self, offset: u64, size: u64) {
        let _ = clear(self.window.start() - LINE + offset, size);
    }

    /// Takes the memory from all who have it mapped. What is to be given back, if the kernel lets
    /// it go.
    pub fn dismantle(&mut self) -> Option<Window> {
        // From here on nobody else reaches the memory, so nothing new appears in it.
        self.region.destroy().ok()?;
        let window = self.window;
        self.window = window.part(0, 0).unwrap_or(window);
        Some(window)
    }

    /// Returns the size of the segment in bytes.
    pub fn size(&self) -> u64 {
        self.window.size()
    }

    /// Returns the memory if no client can make a page of it untouchable.
    pub fn data(&self) -> Result<Window, Errno> {
        if self.holds_objects { Err(Errno::EINVAL) } else { Ok(self.window) }
    }

    /// A reference to its region, to be mapped.
    pub fn region_reference(&self) -> Result<OwnedReference, Status> {
        self.region.new_reference(REFERENCE_USE)
    }

    /// `EINVAL`: a part is not in it, or not of whole pages.
    pub fn check(&self, offset: u64, size: u64) -> Result<Window, Errno> {
        self.window.part(offset, size).filter(|_| (offset | size).is_multiple_of(FRAME)).ok_or(Errno::EINVAL)
    }

    /// Makes a part of it, whole pages, zeros.
    pub fn clear(&self, offset: u64, size: u64) -> Result<(), Errno> {
        let part = self.check(offset, size)?;
        Ok(memory::clear(part.start(), part.size())?)
    }

    /// Leaves the first `size` bytes, whole pages and not more than before. What is to be given
    /// back.
    pub fn shrink(&mut self, size: u64) -> Result<Window, Errno> {
        let window = self.window.part(0, size).ok_or(Errno::EINVAL)?;
        let rest = self.window.part(size, self.size() - size).ok_or(Errno::EINVAL)?;
        self.set_region_size(size)?;
        self.window = window;
        Ok(rest)
    }

    /// Makes it larger, to `size` bytes, whole pages and more than before, if the memory behind it
    /// is free and no more than can be cleared when it is touched.
    pub fn grow(&mut self, size: u64) -> Result<(), Errno> {
        let start = self.window.start() - LINE;
        let (behind, more) = (start + self.size(), size - self.size());
        if more > READY_AT_ONCE {
            return Err(Errno::ENOMEM);
        }
        with_frames(|frames| frames.allocate_at(behind, more)).filter(|&taken| taken).ok_or(Errno::ENOMEM)?;
        let grown = window(start, size).filter(|_| clear(behind, more).is_some()).ok_or(Errno::ENOMEM);
        match grown.and_then(|window| self.set_region_size(size).map(|()| window)) {
            Ok(window) => self.window = window,
            Err(errno) => {
                free(behind, more);
                return Err(errno);
            }
        }
        Ok(())
    }

    fn set_region_size(&mut self, size: u64) -> Result<(), Errno> {
        let state = RegionState { size, ..self.region.get_state()? };
        self.region.set_state(&state).map_err(Errno::from)
    }
}

/// The size of so many bytes in whole pages; `EINVAL` for none and `ENOMEM` for more than there can
/// be.
pub fn whole_pages(size: u64) -> Result<u64, Errno> {
    match size.checked_next_multiple_of(FRAME) {
        Some(0) => Err(Errno::EINVAL),
        Some(size) if size < HEAP - LINE => Ok(size),
        _ => Err(Errno::ENOMEM),
    }
}

/// Destroys what objects are in memory that nobody else can reach any more, and gives it back.
pub fn take_back(window: Window) {
    // Memory that the kernel still uses is lost rather than handed out again.
    if memory::clear(window.start(), window.size()).is_ok() {
        RETURNED.fetch_add(1, Ordering::Relaxed);
        with_frames(|frames| frames.release(window.start() - LINE, window.size(), true));
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        if let Some(window) = self.dismantle() {
            take_back(window);
        }
    }
}

impl nacre_nest::supply::Segment for Segment {
    fn window(&self) -> Window {
        self.window
    }

    fn region(&self) -> Region {
        self.region.handle()
    }
}
