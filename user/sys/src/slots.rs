//! Where free slots for objects are. A program has areas of object memory; since that cannot be
//! read, this allocator keeps a bit for each 64-byte unit of them in plain memory, one word a page.
//!
//! There is no lock: a page's word changes by compare and exchange. `allocate` takes the first
//! place that fits; when there is none it asks whoever set the hook to add an area, once.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use nacre_abi::object::UNIT;
use nacre_abi::{Code, ObjectType, PAGE_SIZE, Status};

use crate::FunctionCell;
use crate::raw::OnceSlice;

/// Maximum number of areas.
const AREAS: usize = 32;
/// Pages for which the allocator itself has words: together, the areas of [`Slots::add_area`] have
/// no more.
const OWN_PAGES: usize = 512;

/// One area: `units` is empty until the area is there.
struct Area {
    taken: AtomicBool,
    start: AtomicU64,
    units: OnceSlice<AtomicU64>,
    /// First page that may have a free unit.
    hint: AtomicUsize,
}

impl Area {
    const fn none() -> Area {
        Area { taken: AtomicBool::new(false), start: AtomicU64::new(0), units: OnceSlice::new(), hint: AtomicUsize::new(0) }
    }

    fn take(&self, size: u64) -> Option<u64> {
        let hint = self.hint.load(Ordering::Relaxed);
        let mut pages = self.units.get().iter().enumerate().skip(hint);
        let (page, unit) = pages.find_map(|(page, word)| Some((page, take_units(word, size / UNIT)?)))?;
        if size == UNIT {
            // A page that is freed meanwhile stores its own, lower number; if this store comes
            // later, the page is found when the area seems full.
            self.hint.store(page, Ordering::Relaxed);
        }
        Some(self.start.load(Ordering::Relaxed) + page as u64 * PAGE_SIZE + u64::from(unit) * UNIT)
    }

    fn give_back(&self, address: u64, size: u64) -> bool {
        let units = self.units.get();
        let offset = address.wrapping_sub(self.start.load(Ordering::Relaxed));
        let page = (offset / PAGE_SIZE) as usize;
        let Some(word) = units.get(page) else { return false };
        let mask = run_of(size / UNIT) << (offset % PAGE_SIZE / UNIT);
        word.fetch_and(!mask, Ordering::Release);
        self.hint.fetch_min(page, Ordering::Relaxed);
        true
    }
}

/// `count` (1, 2, 4 or 64) ones.
const fn run_of(count: u64) -> u64 {
    if count == 64 { u64::MAX } else { (1 << count) - 1 }
}

/// The number of the first free unit of which `count` follow each other and lie at a multiple of
/// `count`.
const fn free_run(taken: u64, count: u64) -> Option<u32> {
    let free = !taken;
    let runs = match count {
        1 => free,
        2 => free & free >> 1 & 0x5555_5555_5555_5555,
        4 => free & free >> 1 & free >> 2 & free >> 3 & 0x1111_1111_1111_1111,
        _ => (free == u64::MAX) as u64,
    };
    if runs == 0 { None } else { Some(runs.trailing_zeros()) }
}

fn take_units(word: &AtomicU64, count: u64) -> Option<u32> {
    let mut taken = word.load(Ordering::Relaxed);
    loop {
        let unit = free_run(taken, count)?;
        match word.compare_exchange_weak(taken, taken | run_of(count) << unit, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Some(unit),
            Err(now) => taken = now,
        }
    }
}

/// Keeps the slots of some areas. Programs use the one behind [`allocate`]; it is a type so that it
/// can be tested.
#[repr(C)] // What every program uses stands together.
pub struct Slots {
    own_used: AtomicUsize,
    areas: [Area; AREAS],
    own: [AtomicU64; OWN_PAGES],
}

impl Slots {
    /// Returns slots without areas.
    pub const fn new() -> Slots {
        Slots { areas: [const { Area::none() }; AREAS], own: [const { AtomicU64::new(0) }; OWN_PAGES], own_used: AtomicUsize::new(0) }
    }

    /// Adds `pages` pages of object memory. Units before `first_free` in the first page are taken
    /// already. `NoMemory` if the allocator has no words left for so many: then
    /// [`Slots::add_area_with`] brings its own.
    pub fn add_area(&'static self, start: u64, pages: usize) -> Result<(), Status> {
        let used = self.own_used.fetch_add(pages, Ordering::Relaxed);
        match self.own.get(used..used.saturating_add(pages)) {
            Some(units) => self.add_area_with(start, units),
            None => {
                self.own_used.fetch_sub(pages, Ordering::Relaxed);
                Err(Status::new(Code::NoMemory))
            }
        }
    }

    /// Adds as many pages of object memory as there are words in `units`; bits that are set stand
    /// for units that are taken.
    pub fn add_area_with(&self, start: u64, units: &'static [AtomicU64]) -> Result<(), Status> {
        let free = self.areas.iter().find(|area| !area.taken.swap(true, Ordering::Relaxed));
        let area = free.ok_or(Status::new(Code::NoMemory))?;
        area.start.store(start, Ordering::Relaxed);
        area.units.set(units);
        Ok(())
    }

    /// A free slot for an object of this type, from now on taken.
    pub fn allocate(&self, kind: ObjectType) -> Option<u64> {
        self.areas().find_map(|area| area.take(kind.size())).or_else(|| self.allocate_slowly(kind))
    }

    /// Takes the slot at `address`, which a program finds occupied when it starts. False if it lies
    /// in no area or is taken.
    pub fn claim(&self, address: u64, kind: ObjectType) -> bool {
        self.areas().any(|area| {
            let offset = address.wrapping_sub(area.start.load(Ordering::Relaxed));
            let mask = run_of(kind.size() / UNIT) << (offset % PAGE_SIZE / UNIT);
            area.units.get().get((offset / PAGE_SIZE) as usize).is_some_and(|word| word.fetch_or(mask, Ordering::Acquire) & mask == 0)
        })
    }

    /// The slot is free again; what stood in it has been destroyed.
    #[inline(never)]
    pub fn free(&self, address: u64, kind: ObjectType) {
        let known = self.areas().any(|area| area.give_back(address, kind.size()));
        debug_assert!(known, "a slot in no area");
    }

    /// Returns the number of pages for which [`Slots::add_area`] still has words.
    pub fn pages_left(&self) -> usize {
        OWN_PAGES.saturating_sub(self.own_used.load(Ordering::Relaxed))
    }

    /// Returns the number of free units.
    pub fn free_units(&self) -> u64 {
        self.areas().flat_map(|area| area.units.get()).map(|word| u64::from(word.load(Ordering::Relaxed).count_zeros())).sum()
    }

    /// Allocates without trust in hints, which may be too high after a race.
    #[cold]
    fn allocate_slowly(&self, kind: ObjectType) -> Option<u64> {
        self.areas().find_map(|area| {
            area.hint.store(0, Ordering::Relaxed);
            area.take(kind.size())
        })
    }

    fn areas(&self) -> impl Iterator<Item = &Area> {
        self.areas.iter().take_while(|area| area.taken.load(Ordering::Relaxed))
    }
}

impl Default for Slots {
    fn default() -> Slots {
        Slots::new()
    }
}

static SLOTS: Slots = Slots::new();
static GROW: FunctionCell<fn() -> bool> = FunctionCell::new();

/// A free slot for an object of this type, from now on taken. `NoMemory` if there is none and the
/// program cannot get more object memory.
pub fn allocate(kind: ObjectType) -> Result<u64, Status> {
    loop {
        if let Some(address) = SLOTS.allocate(kind) {
            return Ok(address);
        }
        if !GROW.get().is_some_and(|grow| grow()) {
            return Err(Status::new(Code::NoMemory));
        }
    }
}

/// The slot is free again; what stood in it has been destroyed.
pub fn free(address: u64, kind: ObjectType) {
    SLOTS.free(address, kind);
}

/// Takes the slot at `address`, which the program finds occupied when it starts. False if it lies
/// in no area or is taken.
pub fn claim(address: u64, kind: ObjectType) -> bool {
    SLOTS.claim(address, kind)
}

/// Adds `pages` pages of object memory from `start`.
pub fn add_area(start: u64, pages: usize) -> Result<(), Status> {
    SLOTS.add_area(start, pages)
}

/// Adds as many pages of object memory from `start` as there are words in `units`; bits that are
/// set stand for units that are taken.
pub fn add_area_with(start: u64, units: &'static [AtomicU64]) -> Result<(), Status> {
    SLOTS.add_area_with(start, units)
}

/// Sets the function that is called when there is no free slot. It adds an area, and returns true
/// if it could.
pub fn set_grow(grow: fn() -> bool) {
    GROW.set(grow);
}

/// Returns the number of pages for which [`add_area`] still has words.
pub fn pages_left() -> usize {
    SLOTS.pages_left()
}

/// Returns the number of free units of 64 bytes.
pub fn free_units() -> u64 {
    SLOTS.free_units()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;
    use std::collections::HashSet;
    use std::vec::Vec;

    fn with_pages(pages: usize) -> &'static Slots {
        let slots: &'static Slots = Box::leak(Box::new(Slots::new()));
        slots.add_area(0x10000, pages).unwrap();
        slots
    }

    #[test]
    fn slots_are_aligned_and_do_not_overlap() {
        let slots = with_pages(4);
        let mut units = HashSet::new();
        for kind in [ObjectType::Reference, ObjectType::Port, ObjectType::Space, ObjectType::Thread, ObjectType::Region].into_iter().cycle().take(20) {
            let Some(address) = slots.allocate(kind) else { continue };
            assert_eq!(address % kind.alignment(), 0);
            for unit in (address..address + kind.size()).step_by(64) {
                assert!(units.insert(unit), "unit {unit:#x} given twice");
            }
        }
    }

    #[test]
    fn everything_can_be_taken_and_given_back() {
        let slots = with_pages(3);
        let all: Vec<u64> = core::iter::from_fn(|| slots.allocate(ObjectType::Reference)).collect();
        assert_eq!(all.len(), 3 * 64);
        assert_eq!(slots.free_units(), 0);
        for address in &all[64..128] {
            slots.free(*address, ObjectType::Reference);
        }
        assert_eq!(slots.allocate(ObjectType::Thread), Some(0x11000));
        assert_eq!(slots.allocate(ObjectType::Reference), None);
    }

    #[test]
    fn a_second_area_serves_when_the_first_is_full() {
        let slots = with_pages(1);
        assert!(slots.claim(0x10000, ObjectType::Reference));
        assert!(!slots.claim(0x10000, ObjectType::Reference));
        assert_eq!(slots.allocate(ObjectType::Thread), None);
        slots.add_area(0x40000, 2).unwrap();
        assert_eq!(slots.allocate(ObjectType::Thread), Some(0x40000));
        assert_eq!(slots.allocate(ObjectType::Reference), Some(0x10040));
        assert_eq!(slots.add_area(0x80000, 4096), Err(Status::new(Code::NoMemory)));
        let words: &'static [AtomicU64] = Box::leak((0..4096).map(|_| AtomicU64::new(0)).collect());
        slots.add_area_with(0x80000, words).unwrap();
        // Taken: two references, a thread.
        assert_eq!(slots.free_units(), 62 + 64 + 64 * 4096);
    }

    #[test]
    fn threads_share_it() {
        let slots = with_pages(64);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(move || {
                    for _ in 0..2000 {
                        let taken: Vec<u64> = (0..8).filter_map(|_| slots.allocate(ObjectType::Port)).collect();
                        assert_eq!(taken.len(), 8);
                        taken.iter().for_each(|address| slots.free(*address, ObjectType::Port));
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(slots.free_units(), 64 * 64);
    }
}
