//! Memory that is watched: copies of its pages, which cannot be written, stand in front of them. An
//! instruction that writes there has an exception, and is made with the pages open. A message may
//! bring bytes there, so pages are open while a call is made. This holds for a replay, whose
//! program has one thread and shares no memory. `live_writes` is about programs that run, where no
//! copies stand in front.

use crate::breakpoints::Pages;
use crate::fronts::{Front, Place};
use crate::live::Live;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::PAGE_SIZE;

/// Maximum number of ranges.
const MAX_RANGES: usize = 16;
/// Maximum number of bytes of a range.
const MAX_SIZE: u64 = PAGE_SIZE;

/// Ranges that are watched in a process.
#[derive(Default)]
pub struct Watches {
    /// Values of the ranges when they were looked at last. Empty: there was no memory.
    values: BTreeMap<(u64, u64), Vec<u8>>,
    covered: BTreeMap<u64, Front>,
    /// State of watched memory of a program that runs, perhaps with several threads.
    pub live: Option<Live>,
    /// Pages are open, while an instruction or a call is made.
    pub is_open: bool,
    /// Number of instructions that have written to the pages.
    pub touches: u64,
    /// The program stands before such an instruction.
    pub is_before: bool,
    /// A call has made the last change.
    pub is_by_call: bool,
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

    /// Returns true if an address lies in a watched page.
    pub fn has_page(&self, address: u64) -> bool {
        self.pages().contains(&(address & !(PAGE_SIZE - 1)))
    }

    /// Returns true if pages stay open for now.
    pub fn stays_open(&self) -> bool {
        self.is_open || self.live.as_ref().is_some_and(|live| live.is_changing || live.writer.is_some())
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
            covered.take_away(place.pages);
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

    /// Watches no ranges.
    pub fn forget(&mut self, pages: &mut Pages) {
        self.values.clear();
        self.uncover(pages);
    }

    /// Watches nothing any more.
    pub fn clear(&mut self, pages: &mut Pages) {
        self.open(pages);
        *self = Watches::default();
    }

    /// Lets the program write to the pages.
    pub fn open(&mut self, pages: &mut Pages) {
        self.is_open = true;
        self.uncover(pages);
    }

    /// Takes away what stands in front of the pages.
    pub fn uncover(&mut self, pages: &mut Pages) {
        core::mem::take(&mut self.covered).into_values().for_each(|front| front.take_away(pages));
    }

    /// Lets it do so no more. What is not there yet is covered when it is.
    pub fn close(&mut self, place: &mut Place<'_>) {
        self.is_open = false;
        for page in self.pages() {
            if !self.covered.contains_key(&page)
                && let Some(front) = self.front(place, page)
            {
                self.covered.insert(page, front);
            }
        }
    }

    /// Puts something in front of a page.
    fn front(&mut self, place: &mut Place<'_>, page: u64) -> Option<Front> {
        let Some(live) = &mut self.live else { return Front::copy(place, page) };
        let known = live.mappings.get(&page).and_then(|mapping| Front::of_mapping(place.space, *mapping, page));
        known.or_else(|| {
            let mapping = place.view.mapping_at(page)?;
            live.mappings.insert(page, mapping);
            Front::of_mapping(place.space, mapping, page)
        })
    }

    /// Returns the addresses of ranges that have changed since this was asked last.
    pub fn changed(&mut self, place: &Place<'_>) -> Vec<u64> {
        let mut found = Vec::new();
        for (range, value) in &mut self.values {
            let now = read(place, *range);
            let was = core::mem::replace(value, now);
            if !was.is_empty() && !value.is_empty() && was != *value {
                found.push(range.0);
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
