//! The store of file contents: physical memory, and the regions through which others have contents
//! mapped.

use crate::frames::FRAME;
use crate::memory;
use crate::payers::{Payers, Shares};
use crate::store::Store;
use crate::views::Views;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use nacre_abi::Rights;
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::Errno;
use nacre_sys::{OwnedReference, OwnedRegion, Region, Span};

/// Free memory below which clients get no more records.
const ROOM: u64 = 1 << 20;
/// Maximum number of regions of file contents. They stay, since nobody says when they are not
/// mapped any more; contents beyond them are copied.
const MAX_REGIONS: usize = 4096;

/// Regions and pieces of views that are looked at in one piece of work: each run that is given back
/// looks at all.
const LOOKS: usize = 8192;
/// Largest number of runs that are given back in one piece of work.
const MAX_AT_ONCE: usize = 64;

/// Memory of file contents. The head of this module describes it.
#[derive(Default)]
pub struct Ram {
    /// Regions by start and size, with their payers.
    regions: BTreeMap<(u64, u64), (OwnedRegion, u64)>,
    /// Number of regions of each payer.
    region_shares: Shares,
    /// Views through which others see contents as they change.
    pub views: Views,
    /// Bytes in all contents.
    used: u64,
    /// Payers of contents and names.
    pub payers: Payers,
    /// Runs of contents that are gone, which wait to be given back.
    discarded: Vec<Vec<(u64, u64)>>,
}

impl Ram {
    /// The region of a run of contents, for the reader's eyes and for execution.
    pub fn region(&mut self, start: u64, size: u64) -> Result<Region, Errno> {
        let key = (start, size.next_multiple_of(FRAME));
        if let Some((region, _)) = self.regions.get(&key) {
            return Ok(region.handle());
        }
        let free = MAX_REGIONS.saturating_sub(self.regions.len());
        if self.region_shares.room(&self.payers.now, free as u64) == 0 {
            return Err(Errno::ENODEV);
        }
        let region = memory::region(start, size, Rights::READ.union(Rights::EXECUTE))?;
        let handle = region.handle();
        self.regions.insert(key, (region, self.region_shares.take(&self.payers.now, 1)));
        Ok(handle)
    }

    /// Returns true if a region of a part of a file would leave enough for whole files. Programs
    /// map whole files, and there are many more parts than files.
    pub fn has_room_for_parts(&self) -> bool {
        self.regions.len() < MAX_REGIONS / 4
    }

    /// Returns true if runs wait to be given back.
    pub fn has_discarded(&self) -> bool {
        !self.discarded.is_empty()
    }

    /// Gives some of the runs back that wait for it; false if there are none.
    pub fn free_discarded(&mut self) -> bool {
        for left in (0..self.at_once()).rev() {
            let Some(runs) = self.discarded.last_mut() else { return left + 1 != self.at_once() };
            match runs.pop() {
                Some((start, size)) => self.free(start, size),
                None => drop(self.discarded.pop()),
            }
        }
        true
    }

    /// Bytes that contents of files can still take.
    pub fn available(&self) -> u64 {
        self.free_bytes().min(memory::available())
    }

    /// Returns the bytes that contents and names leave of what they may take.
    fn free_bytes(&self) -> u64 {
        most().saturating_sub(self.used + self.payers.names())
    }

    /// A reference to it.
    pub fn region_reference(&mut self, start: u64, size: u64) -> Result<OwnedReference, Errno> {
        let region = self.region(start, size)?;
        Ok(OwnedReference::made_by(|slot| region.reference(slot, REFERENCE_USE))?)
    }
}

/// Returns the maximum of memory that contents of files take: half of all, as in Linux's file
/// system in memory.
pub fn most() -> u64 {
    memory::total() / 2
}

impl Store for Ram {
    fn allocate(&mut self, size: u64) -> Option<u64> {
        let size = size.checked_next_multiple_of(FRAME)?;
        loop {
            let may_take = size <= self.available() && self.payers.may_take(size, self.free_bytes());
            if let Some(start) = if may_take { memory::allocate(size) } else { None } {
                self.used += size;
                self.payers.add_run(start, size);
                return Some(start);
            }
            if !self.free_discarded() {
                return None;
            }
        }
    }

    fn allocate_for_all(&mut self, size: u64) -> Option<u64> {
        let payer = core::mem::take(&mut self.payers.now);
        let start = self.allocate(size);
        self.payers.now = payer;
        start
    }

    fn free_for_all(&self) -> u64 {
        self.available()
    }

    fn at_once(&self) -> usize {
        (LOOKS / (1 + self.regions.len() + self.views.pieces())).clamp(1, MAX_AT_ONCE)
    }

    fn discard(&mut self, runs: Vec<(u64, u64)>) {
        self.discarded.push(runs);
    }

    fn free(&mut self, start: u64, size: u64) {
        let size = size.next_multiple_of(FRAME);
        let overlaps = |key: &(u64, u64)| key.0 + key.1 > start;
        let mapped: alloc::vec::Vec<_> = self.regions.range(..(start + size, 0)).map(|(key, _)| *key).filter(overlaps).collect();
        for key in mapped {
            if let Some((_, payer)) = self.regions.remove(&key) {
                self.region_shares.give_back(payer, 1);
            }
        }
        self.views.hide(start, size);
        self.used = self.used.saturating_sub(size);
        self.payers.remove_run(start, size);
        memory::free(start, size);
    }

    fn hide(&mut self, start: u64, size: u64) {
        self.views.hide(start, size);
    }

    fn span(&self, start: u64, size: u64) -> Span<'_> {
        memory::window(start, size).and_then(|window| window.span(0, size)).unwrap_or(Span::EMPTY)
    }

    fn write(&mut self, start: u64, bytes: &[u8]) {
        let _ = memory::window(start, bytes.len() as u64).and_then(|window| window.write(0, bytes));
    }

    fn zero(&mut self, start: u64, size: u64) {
        let _ = memory::window(start, size).and_then(|window| window.fill(0, size, 0));
    }

    fn copy(&mut self, from: u64, to: u64, size: u64) {
        let from = memory::window(from, size);
        let _ = memory::window(to, size).zip(from).and_then(|(to, from)| to.copy_from(0, from));
    }

    fn take_name(&mut self, length: usize) -> Option<u64> {
        self.payers.take_name(length, self.free_bytes())
    }

    fn move_name(&mut self, length: usize) -> u64 {
        self.payers.move_name(length)
    }

    fn give_name(&mut self, payer: u64, length: usize) {
        self.payers.give_name(payer, length);
    }

    fn spend(&mut self, bytes: u64) -> bool {
        self.payers.spend(bytes)
    }

    fn has_room(&self) -> bool {
        memory::available() > ROOM
    }
}
