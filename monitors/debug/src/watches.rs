//! Memory that is watched: copies of its pages, which cannot be written, stand in front of them. An
//! instruction that writes there has an exception, and is made with the pages open. A message may
//! bring bytes there, so pages are open while a call is made. This holds for a replay, whose
//! program has one thread and shares no memory.

use crate::breakpoints::{Covered, Pages, cover};
use crate::copier::Copier;
use crate::view::View;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_sys::Space;

/// Maximum number of ranges.
const MAX_RANGES: usize = 16;
/// Maximum number of bytes of a range.
const MAX_SIZE: u64 = PAGE_SIZE;

/// Ranges that are watched in a process.
#[derive(Default)]
pub struct Watches {
    /// Values of the ranges when they were looked at last. Empty: there was no memory.
    values: BTreeMap<(u64, u64), Vec<u8>>,
    covered: BTreeMap<u64, Covered>,
    /// Pages are open, while an instruction or a call is made.
    pub is_open: bool,
    /// Number of instructions that have written to the pages.
    pub touches: u64,
    /// The program stands before such an instruction.
    pub is_before: bool,
    /// A call has made the last change.
    pub is_by_call: bool,
}

/// Memory of the process, and what copies of its pages need.
pub struct Place<'a> {
    /// The space.
    pub space: Space,
    /// Memory of the process.
    pub view: &'a View,
    /// The thread that copies memory.
    pub copier: &'a Copier,
    /// Pages for copies.
    pub pages: &'a mut Pages,
}

impl Watches {
    /// Returns true if nothing is watched.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Ranges that are watched.
    pub fn ranges(&self) -> BTreeSet<(u64, u64)> {
        self.values.keys().copied().collect()
    }

    /// Returns true if an address lies in a page that cannot be written.
    pub fn covers(&self, address: u64) -> bool {
        self.covered.contains_key(&(address & !(PAGE_SIZE - 1)))
    }

    /// Watches a range, too. False: that cannot be.
    pub fn add(&mut self, place: &mut Place<'_>, range: (u64, u64)) -> bool {
        let (address, size) = range;
        if !(1..=MAX_SIZE).contains(&size) || address.checked_add(size).is_none() || self.values.len() >= MAX_RANGES {
            return false;
        }
        self.values.insert(range, read(place, range));
        self.close(place);
        // Where a breakpoint lies nothing else can stand in front.
        let is_covered = self.values[&range].is_empty() || pages_of(range).all(|page| self.covered.contains_key(&page));
        if !is_covered {
            self.remove(place, range);
        }
        is_covered
    }

    /// Watches a range no more. False: it was not watched.
    pub fn remove(&mut self, place: &mut Place<'_>, range: (u64, u64)) -> bool {
        let was = self.values.remove(&range).is_some();
        let kept = self.pages();
        for (_, covered) in self.covered.extract_if(.., |page, _| !kept.contains(page)) {
            covered.uncover(place.pages);
        }
        was
    }

    /// Watches these ranges, and no others.
    pub fn set(&mut self, place: &mut Place<'_>, ranges: &BTreeSet<(u64, u64)>) {
        for range in self.ranges().difference(ranges) {
            self.remove(place, *range);
        }
        for range in ranges.difference(&self.ranges()) {
            self.add(place, *range);
        }
    }

    fn pages(&self) -> BTreeSet<u64> {
        self.values.keys().copied().flat_map(pages_of).collect()
    }

    /// Watches nothing any more.
    pub fn clear(&mut self, pages: &mut Pages) {
        self.open(pages);
        *self = Watches::default();
    }

    /// Lets the program write to the pages.
    pub fn open(&mut self, pages: &mut Pages) {
        self.is_open = true;
        core::mem::take(&mut self.covered).into_values().for_each(|covered| covered.uncover(pages));
    }

    /// Lets it do so no more. What is not there yet is covered when it is.
    pub fn close(&mut self, place: &mut Place<'_>) {
        self.is_open = false;
        for page in self.pages() {
            if !self.covered.contains_key(&page)
                && let Ok(covered) = cover((place.space, place.view), (place.copier, place.pages), page, Rights::READ)
            {
                self.covered.insert(page, covered);
            }
        }
    }

    /// Returns the address of a range that has changed since this was asked last.
    pub fn changed(&mut self, place: &Place<'_>) -> Option<u64> {
        let mut found = None;
        for (range, value) in &mut self.values {
            let now = read(place, *range);
            let was = core::mem::replace(value, now);
            if !was.is_empty() && was != *value {
                found = found.or(Some(range.0));
            }
        }
        found
    }
}

fn pages_of((address, size): (u64, u64)) -> impl Iterator<Item = u64> {
    (address & !(PAGE_SIZE - 1)..address + size).step_by(PAGE_SIZE as usize)
}

/// Reads a range; nothing if not all of it is there.
fn read(place: &Place<'_>, (address, size): (u64, u64)) -> Vec<u8> {
    let mut bytes = vec![0; size as usize];
    if place.view.read(place.copier, address, &mut bytes) == bytes.len() { bytes } else { Vec::new() }
}
