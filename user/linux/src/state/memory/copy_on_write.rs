//! Copy on write. A fork shows large private memory to both processes, to be read; whoever writes
//! to a page first gets a copy of it.
//!
//! The copy is an overlay: a mapping that stands in front of the shared one, so other threads find
//! the old page or the new one and never nothing. Many pages in a row
//! become memory of the process's own in one piece, which takes the place of what the mapping
//! showed, all at once.
//!
//! Nobody but the library knows of it: a segment that two processes have goes with the last of
//! them, a write is a fault like any other, and the copy is memory of the pool. What the library
//! itself writes for the program it takes through [`Memory::writable`], which has it copied before.

use crate::abi::errno::{ENOMEM, Errno};
use crate::raw::debugger;
use crate::raw::memory_words;
use crate::services::segment::Segment;
use crate::state::memory::Memory;
use crate::state::memory::address_map::Area;
use crate::state::memory::mapped_part::{AtFork, Fill, Late, Part, effective, read_only};
use crate::state::memory::pageable;
use crate::state::memory::promised::{self, KnownPart};
use crate::state::memory::soft_dirty;
use alloc::vec::Vec;
use nacre_abi::state::MappingState;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_nest::places::Place;
use nacre_sys::{OwnedMapping, Reference, Region, Space};

/// Smaller areas are copied at once: what follows a write costs as much as to copy some thirty
/// pages.
const LEAST: u64 = 0x4_0000;
/// Minimum size of a piece that becomes the process's own at once, in bytes. Less is copied page by
/// page.
const PIECE: u64 = 0x4_0000;
/// Maximum size that one write makes the library copy. Consecutive writes double the size up to it.
const LARGEST: u64 = 0x10_0000;

impl Part {
    /// Returns true if what is shown is private, and copied when it is written. What has no port is
    /// a file's or the parent's.
    pub fn is_lazy(&self) -> bool {
        !self.writable && !self.shared && self.segment.as_ref().is_some_and(|segment| segment.port().is_some())
    }

    /// Returns true if the part can be left to a fork's child as it is, to be copied later.
    pub fn can_wait(&self) -> bool {
        let keeps = self.segment.as_ref().is_some_and(|segment| segment.port().is_some());
        self.writable && !self.shared && !self.lent && self.registered.is_none() && self.at_fork == AtFork::Copied && keeps && self.state.size >= LEAST
    }

    /// Returns what a fork's child has of the part from `start` on, in pieces: first address, end,
    /// and whether it gets a copy of it at once.
    pub fn pieces(&self, start: u64) -> Result<Vec<(u64, u64, bool)>, Errno> {
        self.pages.pieces(start, self.state.start + self.state.size)
    }

    fn make_lazy(&mut self) -> Result<(), Errno> {
        let rights = Rights(self.state.rights);
        self.writable = false;
        self.protect(rights).inspect_err(|_| self.writable = true)
    }

    /// Shows memory of the process's own from now on, in place of what is shared: with the same in
    /// it, or zeros. At no moment nothing is there.
    fn become_own(&mut self, rights: Rights, copies: bool) -> Result<(), Errno> {
        let replaced = self.replace_shown(rights, copies);
        if replaced.is_err() {
            // Copies of pages may be written again.
            let _ = self.protect(rights);
        }
        replaced
    }

    fn replace_shown(&mut self, rights: Rights, copies: bool) -> Result<(), Errno> {
        debugger::change_begins();
        let MappingState { start, size, .. } = self.state;
        let segment = match copies {
            true => Segment::filled(size)?,
            // It may have been more than is promised to anybody.
            false => Segment::pageable(size).or_else(|_| Segment::overcommitted(size))?,
        };
        if copies {
            // From now on other threads that write wait for the lock.
            self.protect(read_only(rights).union(Rights::READ))?;
            let place = Place::take(size).ok_or(ENOMEM)?;
            let (away, region) = (place.window().start(), Region::through(segment.region()));
            let _shown = OwnedMapping::new(Space::OWN, away, size, region, 0, Rights::READ.union(Rights::WRITE)).map_err(|_| ENOMEM)?;
            promised::copy_to_fresh(self, start, away, size, &mut KnownPart::default())?;
        }
        let state = MappingState { start, size, offset: 0, rights: rights.0, ..self.state };
        self.shown.handle().set_state_and_links(&state, &[segment.region(), Reference::NONE]).map_err(|_| ENOMEM)?;
        (self.state, self.segment, self.writable) = (state, Some(segment), true);
        self.pages.clear();
        Ok(())
    }
}

impl Memory {
    /// Lets what is large and private be copied only when it is written, here and in a child that
    /// is shown it now. `is_used` tells what is copied at once all the same. So are pages that are
    /// kept in memory: they are the parent's alone.
    pub fn make_lazy(&mut self, is_used: impl Fn(&Area<Fill>) -> bool) -> Result<(), Errno> {
        for area in self.map.areas_mut() {
            let (used, is_locked) = (is_used(area), self.locked.touches(area.start, area.end));
            if let Fill::Own(part) = &mut area.backing
                && part.can_wait()
                && !used
                && !(is_locked && pageable::goes(part))
            {
                part.make_lazy()?;
                self.lazy.any = true;
            }
        }
        Ok(())
    }

    /// Returns true if there are, or were, lazy areas.
    pub fn is_lazy(&self) -> bool {
        self.lazy.any
    }

    /// Number of pieces that have taken the place of shared memory: an area may have been cut for
    /// one, and part of it had no memory for a moment.
    pub fn pieces_replaced(&self) -> u64 {
        self.lazy.replaced
    }

    /// Copies all that is lazy in a range and may be written.
    pub fn own(&mut self, start: u64, size: u64) -> Result<(), Errno> {
        soft_dirty::note_written(self, start, size)?;
        let (mut at, end) = (start & !(PAGE_SIZE - 1), start + size);
        while at < end
            && let Some((from, to)) = self.lazy_run(at, end)
        {
            self.copy_run(from, to)?;
            at = to;
        }
        Ok(())
    }

    /// Copies everything that is lazy: none of it is shared any more, nor are there copies of
    /// single pages.
    pub fn own_all(&mut self) -> Result<(), Errno> {
        if !self.lazy.any {
            return Ok(());
        }
        for area in self.map.areas_mut() {
            let rights = area.rights;
            if let Fill::Own(part) = &mut area.backing
                && part.is_lazy()
                && (rights.contains(Rights::WRITE) || !part.pages.is_empty())
            {
                part.become_own(rights, true)?;
                self.lazy.replaced += 1;
            }
        }
        Ok(())
    }

    /// The first pages in a row from `at` on, before `end`, that are shared with others, may be
    /// written, and have no copy.
    fn lazy_run(&self, at: u64, end: u64) -> Option<(u64, u64)> {
        if !self.lazy.any {
            return None;
        }
        for area in self.map.from(at).take_while(|area| area.start < end) {
            let Fill::Own(part) = &area.backing else { continue };
            if area.rights.contains(Rights::WRITE) && part.is_lazy() {
                let limit = end.checked_next_multiple_of(PAGE_SIZE).map_or(area.end, |end| end.min(area.end));
                let run = part.pages.gap(at.max(area.start), limit);
                if run.is_some() {
                    return run;
                }
            }
        }
        None
    }

    /// Copies pages in a row of one lazy area, none of which was copied before.
    fn copy_run(&mut self, start: u64, end: u64) -> Result<(), Errno> {
        if end - start >= PIECE {
            return self.replace(start, end, true);
        }
        let area = self.map.area_mut(start).ok_or(ENOMEM)?;
        let rights = area.rights;
        let Fill::Own(part) = &mut area.backing else { return Err(ENOMEM) };
        for page in (start..end).step_by(PAGE_SIZE as usize) {
            let copy = self.lazy.bank.copy_of(page, effective(rights), |to| memory_words::copy_to_fresh(page, to, PAGE_SIZE))?;
            part.pages.insert(page, copy);
        }
        self.lazy.copied(start, end);
        Ok(())
    }

    /// Returns true if a fault at `address` was only because something is lazy, and the access can
    /// be made again; where the map has the page, at most `most` times in a row.
    pub fn resolve(&mut self, address: u64, access: Rights, (late, most): (&mut Late, u32)) -> bool {
        let page = address & !(PAGE_SIZE - 1);
        if access == Rights::WRITE && soft_dirty::note_written(self, page, PAGE_SIZE) == Ok(true) {
            return true;
        }
        if access == Rights::WRITE && self.lazy_run(page, page + PAGE_SIZE).is_some() {
            let (from, to) = self.lazy.last;
            let size = if page == to { (2 * (to - from)).min(LARGEST) } else { PAGE_SIZE };
            return self.lazy_run(page, page + size).is_some_and(|(from, to)| self.copy_run(from, to).is_ok());
        }
        // Another thread has had it copied, or an area was cut, and this one came meanwhile.
        self.map.allows(address, 1, access) && late.is_late(address, self.map.changes(), most)
    }

    /// Replaces a part of a lazy area by memory of the process's own, which has the same in it or
    /// zeros.
    pub(super) fn replace(&mut self, start: u64, end: u64, copies: bool) -> Result<(), Errno> {
        let area = self.map.within(start, end)?.next().ok_or(ENOMEM)?;
        let rights = area.rights;
        let Fill::Own(part) = &mut area.backing else { return Err(ENOMEM) };
        part.become_own(rights, copies)?;
        self.lazy.replaced += 1;
        self.lazy.copied(start, end);
        Ok(())
    }
}
