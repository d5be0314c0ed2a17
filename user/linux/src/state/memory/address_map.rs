//! The program's map of addresses: which are there, and what may be done with them.
//!
//! Areas do not overlap. The map is pure: what an area is filled from is a [`Backing`], which knows
//! how to be cut in two. Every pointer that the program passes is looked up here, so that a wrong
//! one gives `EFAULT`.

use crate::abi::errno::{EFAULT, ENOMEM, Errno};
use crate::services::heap_room;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cell::Cell;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_rt::heap;

/// Largest number of areas, as Linux's `vm.max_map_count`.
const MAX_AREAS: usize = 65_530;

/// Areas that a call takes out of the map without counting them first.
const FEW: usize = 4;

/// Contents of an area.
pub trait Backing: Sized {
    /// Cuts in two at `offset` bytes (a multiple of a page, inside): `self` keeps the first part,
    /// the second is returned. An error changes nothing.
    fn split(&mut self, offset: u64) -> Result<Self, Errno>;
}

/// A stretch of addresses with one kind of access.
#[derive(Debug)]
pub struct Area<B> {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// Rights, in the bits of `PROT_READ`, `PROT_WRITE` and `PROT_EXEC`, which are those of
    /// [`Rights`].
    pub rights: Rights,
    /// Contents of the area.
    pub backing: B,
}

/// All areas of the program, by their first address.
#[derive(Debug)]
pub struct Map<B> {
    areas: BTreeMap<u64, Area<B>>,
    /// Below here the last free range was found: the next is most likely there too.
    hint: u64,
    /// Start, end and rights of the area that a pointer was last found in: the next is most likely
    /// there too.
    known: Cell<(u64, u64, Rights)>,
    /// Count of moments when something may have changed.
    changes: u64,
}

/// Absence of an area.
const UNKNOWN: (u64, u64, Rights) = (0, 0, Rights::NONE);

impl<B: Backing> Map<B> {
    /// A map without areas.
    pub const fn new() -> Map<B> {
        Map { areas: BTreeMap::new(), hint: 0, known: Cell::new(UNKNOWN), changes: 0 }
    }

    /// The areas from the one around `address` on, or from the first above it.
    pub fn from(&self, address: u64) -> impl Iterator<Item = &Area<B>> {
        let start = self.area(address).map_or(address, |area| area.start);
        self.areas.range(start..).map(|(_, area)| area)
    }

    /// The area around `address`.
    pub fn area(&self, address: u64) -> Option<&Area<B>> {
        let (_, area) = self.areas.range(..=address).next_back()?;
        (area.end > address).then_some(area)
    }

    /// The area below `address` that is next to it, or around it.
    pub fn below(&self, address: u64) -> Option<&Area<B>> {
        self.areas.range(..address).next_back().map(|(_, area)| area)
    }

    /// The area around `address`, to change what fills it.
    pub fn area_mut(&mut self, address: u64) -> Option<&mut Area<B>> {
        let (_, area) = self.areas.range_mut(..=address).next_back()?;
        (area.end > address).then_some(area)
    }

    /// Returns true if every byte of the range may be accessed with `rights`. An empty range always
    /// may.
    pub fn allows(&self, start: u64, size: u64, rights: Rights) -> bool {
        start.checked_add(size).is_some() && self.extent(start, size, rights) == size
    }

    /// Returns the number of bytes from `start` on that may be accessed with `rights`, at most
    /// `limit`.
    pub fn extent(&self, start: u64, limit: u64, rights: Rights) -> u64 {
        let (known_start, known_end, known_rights) = self.known.get();
        if known_start <= start && start < known_end && limit <= known_end - start && known_rights.contains(rights) {
            return limit;
        }
        let mut reached = start;
        let mut next = self.area(start);
        if let Some(area) = next {
            self.known.set((area.start, area.end, area.rights));
        }
        while let Some(area) = next.filter(|area| area.rights.contains(rights)) {
            reached = area.end;
            if reached - start >= limit {
                break;
            }
            next = self.areas.get(&reached);
        }
        (reached - start).min(limit)
    }

    /// Returns true if no area touches the range.
    pub fn is_free(&self, start: u64, end: u64) -> bool {
        self.from(start).next().is_none_or(|area| area.start >= end)
    }

    /// Returns true if areas of any rights cover the whole range.
    pub fn is_covered(&self, start: u64, end: u64) -> bool {
        self.allows(start, end - start, Rights::NONE)
    }

    /// A free range of `size` bytes (a multiple of a page) in `low..high`: just below the one found
    /// last, or the highest.
    pub fn find_free(&mut self, size: u64, low: u64, high: u64) -> Option<u64> {
        let below = self.hint.checked_sub(size).filter(|start| *start >= low && self.hint <= high && self.is_free(*start, self.hint));
        let start = below.or_else(|| self.find_highest(size, low, high))?;
        self.hint = start;
        Some(start)
    }

    fn find_highest(&self, size: u64, low: u64, high: u64) -> Option<u64> {
        let mut top = high;
        for area in self.areas.range(..high).rev().map(|(_, area)| area) {
            if area.end < top && top - area.end >= size {
                break;
            }
            top = top.min(area.start);
        }
        top.checked_sub(size).filter(|start| *start >= low)
    }

    /// The highest free range of `size` bytes in `low..high`, which says nothing of where the next
    /// is looked for.
    pub fn find_free_below(&self, size: u64, low: u64, high: u64) -> Option<u64> {
        self.find_highest(size, low, high)
    }

    /// Enters an area; where it goes must be free. `ENOMEM`: it is not, or there are [`MAX_AREAS`].
    pub fn insert(&mut self, area: Area<B>) -> Result<(), Errno> {
        if self.is_full() || area.start >= area.end || !self.is_free(area.start, area.end) {
            return Err(ENOMEM);
        }
        self.areas.insert(area.start, area);
        Ok(())
    }

    /// Returns true if no area can be added.
    pub fn is_full(&self) -> bool {
        self.areas.len() >= MAX_AREAS
    }

    /// Makes sure that no area lies on both sides of `address`.
    fn split_at(&mut self, address: u64) -> Result<(), Errno> {
        let Some((_, area)) = self.areas.range_mut(..address).next_back().filter(|(_, area)| area.end > address) else { return Ok(()) };
        if heap::lacks_room(heap_room::PART) {
            return Err(ENOMEM);
        }
        let backing = area.backing.split(address - area.start)?;
        let second = Area { start: address, end: area.end, rights: area.rights, backing };
        area.end = address;
        self.areas.insert(address, second);
        Ok(())
    }

    /// Takes every area of the range out of the map. Gaps do not matter. `ENOMEM`: the range is the
    /// middle of an area, of which two would be left, and there are [`MAX_AREAS`].
    pub fn take(&mut self, start: u64, end: u64) -> Result<Vec<Area<B>>, Errno> {
        if self.is_full() && self.area(start).is_some_and(|area| area.start < start && end < area.end) {
            return Err(ENOMEM);
        }
        self.split_at(start)?;
        self.split_at(end)?;
        self.known.set(UNKNOWN);
        self.changes += 1;
        let mut taken: Vec<Area<B>> = Vec::new();
        taken.try_reserve_exact(FEW)?;
        while let Some((&key, _)) = self.areas.range(start..end).next() {
            if taken.len() == FEW && taken.try_reserve_exact(self.areas.range(start..end).count()).is_err() {
                taken.into_iter().for_each(|area| drop(self.areas.insert(area.start, area)));
                return Err(ENOMEM);
            }
            taken.extend(self.areas.remove(&key));
        }
        self.hint = self.hint.max(end);
        Ok(taken)
    }

    /// The areas of the range, which must be covered whole, cut to it. `ENOMEM`: they are not, or
    /// there are [`MAX_AREAS`] and one is to be cut.
    pub fn within(&mut self, start: u64, end: u64) -> Result<impl Iterator<Item = &mut Area<B>>, Errno> {
        let is_inside = |address: u64| self.area(address).is_some_and(|area| area.start < address);
        if !self.is_covered(start, end) || self.is_full() && (is_inside(start) || is_inside(end)) {
            return Err(ENOMEM);
        }
        self.split_at(start)?;
        self.split_at(end)?;
        self.known.set(UNKNOWN);
        self.changes += 1;
        Ok(self.areas.range_mut(start..end).map(|(_, area)| area))
    }

    /// Returns how often something may have changed.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Every area, in order, to change what fills it.
    pub fn areas_mut(&mut self) -> impl Iterator<Item = &mut Area<B>> {
        self.known.set(UNKNOWN);
        self.changes += 1;
        self.areas.values_mut()
    }

    /// Every area, in order; the map is no more.
    pub fn into_areas(self) -> impl Iterator<Item = Area<B>> {
        self.areas.into_values()
    }

    /// Every area, in order.
    pub fn areas(&self) -> impl Iterator<Item = &Area<B>> {
        self.areas.values()
    }
}

/// `size` rounded up to pages; `None` if that overflows.
pub const fn round_up(size: u64) -> Option<u64> {
    match size.checked_add(PAGE_SIZE - 1) {
        Some(sum) => Some(sum & !(PAGE_SIZE - 1)),
        None => None,
    }
}

/// Returns true if `address` is a multiple of the page size.
pub const fn is_page(address: u64) -> bool {
    address & (PAGE_SIZE - 1) == 0
}

/// `EFAULT` unless `allowed`.
pub fn or_fault(allowed: bool) -> Result<(), Errno> {
    if allowed { Ok(()) } else { Err(EFAULT) }
}

#[cfg(test)]
#[path = "address_map_tests.rs"]
mod tests;
