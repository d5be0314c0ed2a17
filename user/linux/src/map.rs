//! The program's map of addresses: which are there, and what may be done with them.
//!
//! Areas are sorted and do not overlap. The map is pure: what an area is filled from is a [`Backing`], which knows how to be cut in two.
//! Every pointer that the program passes is looked up here, so that a wrong one gives `EFAULT`.

use crate::errno::{EFAULT, ENOMEM, Errno};
use alloc::vec::Vec;
use nacre_abi::{PAGE_SIZE, Rights};

/// What fills an area.
pub trait Backing: Sized {
    /// Cuts in two at `offset` bytes (a multiple of a page, inside): `self` keeps the first part, the second is returned. An error changes nothing.
    fn split(&mut self, offset: u64) -> Result<Self, Errno>;
}

/// A stretch of addresses with one kind of access.
#[derive(Debug)]
pub struct Area<B> {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// What may be done, in the bits of `PROT_READ`, `PROT_WRITE` and `PROT_EXEC`, which are those of [`Rights`].
    pub rights: Rights,
    /// What fills it.
    pub backing: B,
}

/// All areas of the program.
#[derive(Debug)]
pub struct Map<B> {
    areas: Vec<Area<B>>,
}

impl<B: Backing> Map<B> {
    /// A map without areas.
    pub const fn new() -> Map<B> {
        Map { areas: Vec::new() }
    }

    /// Index of the first area that ends above `address`.
    fn index(&self, address: u64) -> usize {
        self.areas.partition_point(|area| area.end <= address)
    }

    /// The area around `address`.
    pub fn area(&self, address: u64) -> Option<&Area<B>> {
        self.areas.get(self.index(address)).filter(|area| area.start <= address)
    }

    /// Whether every byte of the range may be accessed with `rights`. An empty range always may.
    #[inline]
    pub fn allows(&self, start: u64, size: u64, rights: Rights) -> bool {
        let Some(end) = start.checked_add(size) else { return false };
        let mut reached = start;
        for area in &self.areas[self.index(start)..] {
            if reached >= end || area.start > reached || !area.rights.contains(rights) {
                break;
            }
            reached = area.end;
        }
        reached >= end
    }

    /// How many bytes from `start` on may be accessed with `rights`, at most `limit`.
    pub fn extent(&self, start: u64, limit: u64, rights: Rights) -> u64 {
        let mut reached = start;
        for area in &self.areas[self.index(start)..] {
            if reached - start >= limit || area.start > reached || !area.rights.contains(rights) {
                break;
            }
            reached = area.end;
        }
        (reached - start).min(limit)
    }

    /// Whether no area touches the range.
    pub fn is_free(&self, start: u64, end: u64) -> bool {
        self.areas.get(self.index(start)).is_none_or(|area| area.start >= end)
    }

    /// Whether areas cover the whole range, whatever their rights.
    pub fn is_covered(&self, start: u64, end: u64) -> bool {
        self.allows(start, end - start, Rights::NONE)
    }

    /// The highest free range of `size` bytes in `low..high`; `size` is a multiple of a page.
    pub fn find_free(&self, size: u64, low: u64, high: u64) -> Option<u64> {
        let mut top = high;
        for area in self.areas.iter().rev().filter(|area| area.start < high) {
            if area.end < top && top - area.end >= size {
                break;
            }
            top = top.min(area.start);
        }
        top.checked_sub(size).filter(|start| *start >= low)
    }

    /// Enters an area; where it goes must be free.
    pub fn insert(&mut self, area: Area<B>) -> Result<(), Errno> {
        if area.start >= area.end || !self.is_free(area.start, area.end) {
            return Err(ENOMEM);
        }
        self.areas.try_reserve(1).map_err(|_| ENOMEM)?;
        let at = self.index(area.start);
        self.areas.insert(at, area);
        Ok(())
    }

    /// Makes sure that no area lies on both sides of `address`.
    fn split_at(&mut self, address: u64) -> Result<(), Errno> {
        let index = self.index(address);
        self.areas.try_reserve(1).map_err(|_| ENOMEM)?;
        let Some(area) = self.areas.get_mut(index).filter(|area| area.start < address) else { return Ok(()) };
        let backing = area.backing.split(address - area.start)?;
        let second = Area { start: address, end: area.end, rights: area.rights, backing };
        area.end = address;
        self.areas.insert(index + 1, second);
        Ok(())
    }

    /// The indices of the areas in the range, after cutting those that stick out.
    fn cut(&mut self, start: u64, end: u64) -> Result<core::ops::Range<usize>, Errno> {
        self.split_at(start)?;
        self.split_at(end)?;
        Ok(self.index(start)..self.areas.partition_point(|area| area.start < end))
    }

    /// Takes every area of the range out of the map. Gaps do not matter.
    pub fn take(&mut self, start: u64, end: u64) -> Result<Vec<Area<B>>, Errno> {
        let range = self.cut(start, end)?;
        Ok(self.areas.drain(range).collect())
    }

    /// The areas of the range, which must be covered whole, cut to it.
    pub fn within(&mut self, start: u64, end: u64) -> Result<&mut [Area<B>], Errno> {
        if !self.is_covered(start, end) {
            return Err(ENOMEM);
        }
        let range = self.cut(start, end)?;
        Ok(&mut self.areas[range])
    }

    /// Every area, in order.
    pub fn areas(&self) -> &[Area<B>] {
        &self.areas
    }
}

/// `size` rounded up to pages; `None` if that overflows.
pub const fn round_up(size: u64) -> Option<u64> {
    match size.checked_add(PAGE_SIZE - 1) {
        Some(sum) => Some(sum & !(PAGE_SIZE - 1)),
        None => None,
    }
}

/// Whether `address` is a multiple of a page.
pub const fn is_page(address: u64) -> bool {
    address & (PAGE_SIZE - 1) == 0
}

/// `EFAULT` unless `allowed`.
pub fn or_fault(allowed: bool) -> Result<(), Errno> {
    if allowed { Ok(()) } else { Err(EFAULT) }
}

#[cfg(test)]
#[path = "map_tests.rs"]
mod tests;
