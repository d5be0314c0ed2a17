//! Copies of single pages, in front of what a lazy area shows.

use crate::abi::errno::{ENOMEM, Errno};
use crate::raw::debugger;
use crate::services::heap_room;
use crate::services::segment::Segment;
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_abi::state::MappingState;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_nest::places::Place;
use nacre_rt::{fallible, heap};
use nacre_sys::{OwnedMapping, Region, Space};

/// Pages of the first segment that copies are made in. Each is twice as large as the one before.
const FIRST_BANK: u64 = 16;
/// Pages of the largest.
const LARGEST_BANK: u64 = 256;
/// Pages of runs that a fork's child gets in one piece, though so many between them are shared.
const BRIDGED: u64 = 4;

/// The copy of a page: a mapping of a part of a segment.
pub struct PageCopy {
    shown: OwnedMapping,
    segment: Rc<Segment>,
    state: MappingState,
    /// True if the page may not be written, whatever its area's rights are.
    pub is_protected: bool,
}

/// The copies of an area's pages, by their addresses.
pub struct Pages<C = PageCopy>(BTreeMap<u64, C>);

impl<C> Default for Pages<C> {
    fn default() -> Pages<C> {
        Pages(BTreeMap::new())
    }
}

impl<C> Pages<C> {
    /// Returns true if no page has a copy.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a copy.
    pub fn insert(&mut self, page: u64, copy: C) {
        self.0.insert(page, copy);
    }

    /// The copy of a page.
    pub fn get(&self, page: u64) -> Option<&C> {
        self.0.get(&page)
    }

    /// The copies of a range, with their pages.
    pub fn range(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, &C)> {
        self.0.range(start..end).map(|(page, copy)| (*page, copy))
    }

    /// Destroys the copies of a range.
    pub fn forget(&mut self, start: u64, end: u64) {
        debugger::change_begins();
        let mut behind = self.0.split_off(&start);
        self.0.append(&mut behind.split_off(&end));
    }

    /// Destroys all copies.
    pub fn clear(&mut self) {
        debugger::change_begins();
        self.0.clear();
    }

    /// The first pages in a row of `start..end` that have no copy.
    pub fn gap(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let mut from = start;
        for (page, _) in self.0.range(start..end) {
            if *page > from {
                return Some((from, *page));
            }
            from = page + PAGE_SIZE;
        }
        (from < end).then_some((from, end))
    }

    /// Takes the copies from `address` on out.
    pub fn split_off(&mut self, address: u64) -> Pages<C> {
        Pages(self.0.split_off(&address))
    }

    /// Cuts `start..end` into pieces, in order: first address, end, and whether a fork's child gets
    /// a copy of it, since most of its pages are copies here.
    pub fn pieces(&self, start: u64, end: u64) -> Result<Vec<(u64, u64, bool)>, Errno> {
        let (mut pieces, mut at) = (Vec::new(), start);
        for (from, to) in self.runs(start, end)? {
            pieces.try_reserve(3)?;
            pieces.extend((at < from).then_some((at, from, false)));
            pieces.push((from, to, true));
            at = to;
        }
        pieces.try_reserve(1)?;
        pieces.extend((at < end).then_some((at, end, false)));
        Ok(pieces)
    }

    fn runs(&self, start: u64, end: u64) -> Result<Vec<(u64, u64)>, Errno> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for (page, _) in self.0.range(start..end) {
            match runs.last_mut() {
                Some((_, last)) if page - *last <= BRIDGED * PAGE_SIZE => *last = page + PAGE_SIZE,
                _ => fallible::push(&mut runs, (*page, page + PAGE_SIZE))?,
            }
        }
        Ok(runs)
    }
}

impl Pages {
    /// The segments of the copies.
    pub fn segments(&self) -> impl Iterator<Item = &Rc<Segment>> {
        self.0.values().map(|copy| &copy.segment)
    }

    /// Changes the rights of all copies.
    pub fn protect(&mut self, rights: Rights) -> Result<(), Errno> {
        self.0.values_mut().try_for_each(|copy| copy.protect(rights))
    }

    /// Lets a page be written with its area's `rights`, or not; `None`: it has no copy.
    pub fn set_protected(&mut self, page: u64, is_protected: bool, rights: Rights) -> Option<Result<(), Errno>> {
        let copy = self.0.get_mut(&page)?;
        copy.is_protected = is_protected;
        Some(copy.protect(rights))
    }

    /// The copies go with their area, which moves from `start` to `to`.
    pub fn move_by(&mut self, start: u64, to: u64) -> Result<(), Errno> {
        let mut moved = BTreeMap::new();
        for (page, mut copy) in core::mem::take(&mut self.0) {
            let page = to + (page - start);
            copy.set(MappingState { start: page, ..copy.state })?;
            moved.insert(page, copy);
        }
        self.0 = moved;
        Ok(())
    }
}

impl PageCopy {
    /// Returns the segment and offset of the copy.
    pub fn place(&self) -> (&Rc<Segment>, u64) {
        (&self.segment, self.state.offset)
    }

    /// A page of a segment, from `offset` on, to be written at `place`. The program does not see it
    /// yet.
    pub fn prepare(segment: Rc<Segment>, offset: u64, place: u64) -> Result<PageCopy, Errno> {
        let (region, rights) = (Region::through(segment.region()), Rights::READ.union(Rights::WRITE));
        let shown = OwnedMapping::new(Space::OWN, place, PAGE_SIZE, region, offset, rights).map_err(|_| ENOMEM)?;
        let state = MappingState { start: place, size: PAGE_SIZE, offset, rights: rights.0, ..MappingState::default() };
        Ok(PageCopy { shown, segment, state, is_protected: false })
    }

    /// A page of a segment, from `offset` on, in front of what else is at `page`.
    pub fn of_segment(segment: Rc<Segment>, offset: u64, page: u64, rights: Rights, is_protected: bool) -> Result<PageCopy, Errno> {
        debugger::change_begins();
        let (region, rights) = (Region::through(segment.region()), allowed(rights, is_protected));
        let shown = OwnedMapping::new(Space::OWN, page, PAGE_SIZE, region, offset, rights).map_err(|_| ENOMEM)?;
        let state = MappingState { start: page, size: PAGE_SIZE, offset, rights: rights.0, ..MappingState::default() };
        Ok(PageCopy { shown, segment, state, is_protected })
    }

    /// Shows a page that was prepared in front of what else is at `page`.
    pub fn show(&mut self, page: u64, rights: Rights, is_protected: bool) -> Result<(), Errno> {
        self.is_protected = is_protected;
        self.set(MappingState { start: page, rights: allowed(rights, is_protected).0, ..self.state })
    }

    fn protect(&mut self, rights: Rights) -> Result<(), Errno> {
        self.set(MappingState { rights: allowed(rights, self.is_protected).0, ..self.state })
    }

    fn set(&mut self, state: MappingState) -> Result<(), Errno> {
        if self.state.rights != state.rights || self.state.start != state.start {
            debugger::change_begins();
            self.shown.handle().set_state(&state).map_err(|_| ENOMEM)?;
            self.state = state;
        }
        Ok(())
    }
}

/// Returns the rights of a copy in an area of these rights.
fn allowed(rights: Rights, is_protected: bool) -> Rights {
    if is_protected { rights.intersect(Rights::READ.union(Rights::EXECUTE)) } else { rights }.union(Rights::OVER)
}

/// The segment that copies are made in at present, and where the library writes it.
struct Open {
    _shown: OwnedMapping,
    segment: Rc<Segment>,
    place: Place,
}

/// Source of copies of pages: pages of segments, each used once.
#[derive(Default)]
pub struct Bank {
    open: Option<Open>,
    used: u64,
    pages: u64,
}

impl Bank {
    /// Shows a page of the bank in place of a page of the program, after `fill` has written it at
    /// the address that it is given.
    pub fn copy_of(&mut self, page: u64, rights: Rights, fill: impl FnOnce(u64) -> Result<(), Errno>) -> Result<PageCopy, Errno> {
        if heap::lacks_room(heap_room::PART) {
            return Err(ENOMEM);
        }
        if self.open.is_none() || self.used == self.pages {
            self.refill()?;
        }
        let Some(open) = &self.open else { return Err(ENOMEM) };
        let offset = self.used * PAGE_SIZE;
        debugger::change_begins();
        fill(open.place.window().start() + offset)?;
        let rights = rights.union(Rights::OVER);
        let region = Region::through(open.segment.region());
        let shown = OwnedMapping::new(Space::OWN, page, PAGE_SIZE, region, offset, rights).map_err(|_| ENOMEM)?;
        self.used += 1;
        let state = MappingState { start: page, size: PAGE_SIZE, offset, rights: rights.0, ..MappingState::default() };
        Ok(PageCopy { shown, segment: open.segment.clone(), state, is_protected: false })
    }

    fn refill(&mut self) -> Result<(), Errno> {
        let pages = if self.pages == 0 { FIRST_BANK } else { (2 * self.pages).min(LARGEST_BANK) };
        // A pool that is nearly empty may still have what is needed now.
        let (segment, pages) = match Segment::pageable(pages * PAGE_SIZE) {
            Ok(segment) => (segment, pages),
            Err(_) => (Segment::pageable(PAGE_SIZE)?, 1),
        };
        self.open = None;
        let place = Place::take(pages * PAGE_SIZE).ok_or(ENOMEM)?;
        let (start, region) = (place.window().start(), Region::through(segment.region()));
        let rights = Rights::READ.union(Rights::WRITE);
        let shown = OwnedMapping::new(Space::OWN, start, pages * PAGE_SIZE, region, 0, rights).map_err(|_| ENOMEM)?;
        self.open = Some(Open { segment, place, _shown: shown });
        (self.used, self.pages) = (0, pages);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(pages: &[u64]) -> Pages<()> {
        Pages(pages.iter().map(|page| (page * PAGE_SIZE, ())).collect())
    }

    fn gap(pages: &[u64], start: u64, end: u64) -> Option<(u64, u64)> {
        copied(pages).gap(start * PAGE_SIZE, end * PAGE_SIZE).map(|(from, to)| (from / PAGE_SIZE, to / PAGE_SIZE))
    }

    #[test]
    fn a_gap_is_what_has_no_copy_between_those_that_have() {
        assert_eq!(gap(&[], 2, 5), Some((2, 5)));
        assert_eq!(gap(&[2, 3, 7], 2, 9), Some((4, 7)));
        assert_eq!(gap(&[2, 3, 7], 1, 9), Some((1, 2)));
        assert_eq!(gap(&[2, 3, 7], 7, 9), Some((8, 9)));
        assert_eq!(gap(&[2, 3, 4], 2, 5), None);
        assert_eq!(gap(&[9], 2, 5), Some((2, 5)));
    }

    #[test]
    fn runs_are_joined_over_a_few_pages_and_stay_in_their_range() {
        let runs = copied(&[1, 2, 3, 8, 20, 30]).runs(2 * PAGE_SIZE, 30 * PAGE_SIZE).unwrap();
        assert_eq!(runs, [(2 * PAGE_SIZE, 9 * PAGE_SIZE), (20 * PAGE_SIZE, 21 * PAGE_SIZE)]);
        let pieces = copied(&[4, 10]).pieces(4 * PAGE_SIZE, 12 * PAGE_SIZE).unwrap();
        assert_eq!(pieces.iter().map(|(from, to, own)| (from / PAGE_SIZE, to / PAGE_SIZE, *own)).collect::<Vec<_>>(), [(4, 5, true), (5, 10, false), (10, 11, true), (11, 12, false)]);
    }

    #[test]
    fn an_area_that_is_cut_leaves_each_part_its_copies() {
        let mut pages = copied(&[1, 2, 5]);
        let behind = pages.split_off(2 * PAGE_SIZE);
        assert_eq!(pages.gap(PAGE_SIZE, 3 * PAGE_SIZE), Some((2 * PAGE_SIZE, 3 * PAGE_SIZE)));
        assert_eq!(behind.gap(2 * PAGE_SIZE, 6 * PAGE_SIZE), Some((3 * PAGE_SIZE, 5 * PAGE_SIZE)));
    }
}
