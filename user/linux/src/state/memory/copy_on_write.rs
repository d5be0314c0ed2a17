//! Copy on write. A fork shows large private memory to both processes, to be read; whoever writes to it first gets a copy of what is around.
//!
//! Nobody but the library knows of it: a segment that two processes have goes with the last of them, a write is a fault like any other, and the copy is
//! memory of the pool. What the library itself writes for the program it takes through [`Memory::writable`], which has it copied before.

use crate::abi::errno::{ENOMEM, Errno};
use crate::services::segment::Segment;
use crate::state::memory::Memory;
use crate::state::memory::address_map::Area;
use crate::state::memory::mapped_part::{AtFork, Fill, HIGHEST, LOWEST, Lazy, Part};
use crate::state::memory::promised::{self, KnownPart};
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_abi::state::MappingState;

/// Smaller areas are copied at once: what follows a write costs as much as to copy some thirty pages.
const LEAST: u64 = 0x4_0000;
/// What a write has copied, at least: multiples of this.
const PIECE: u64 = 0x1_0000;
/// What it has copied at most; a large area, or writes one after the other, get larger pieces.
const LARGEST: u64 = 0x10_0000;
/// A large area gets about so many.
const PIECES: u64 = 256;
/// So many threads can have met the moment when a piece had no memory.
const MOST_LATE: u32 = 1024;

impl Part {
    /// Whether what is shown is private, and copied when it is written. What has no port is a file's or the parent's.
    pub fn is_lazy(&self) -> bool {
        !self.writable && !self.shared && self.segment.as_ref().is_some_and(|segment| segment.port().is_some())
    }

    /// Whether the part can be left to a fork's child as it is, to be copied later.
    pub fn can_wait(&self) -> bool {
        let keeps = self.segment.as_ref().is_some_and(|segment| segment.port().is_some());
        self.writable && !self.shared && !self.lent && self.at_fork == AtFork::Copied && keeps && self.state.size >= LEAST
    }

    fn make_lazy(&mut self) -> Result<(), Errno> {
        let rights = Rights(self.state.rights);
        self.writable = false;
        self.protect(rights).inspect_err(|_| self.writable = true)
    }
}

/// What is copied of a lazy area when `start..end` is written, which touches it; `more` after the piece before it.
fn piece(area: (u64, u64), (start, end): (u64, u64), more: u64) -> (u64, u64) {
    let usual = ((area.1 - area.0) / PIECES).next_power_of_two().clamp(PIECE, LARGEST);
    let from = (start & !(usual - 1)).max(area.0);
    let to = end.max(from.saturating_add(more)).checked_next_multiple_of(usual).unwrap_or(area.1);
    (from, to.min(area.1))
}

impl Memory {
    /// From now on what is large and private is copied only when it is written, here and in a child that is shown it now. `is_used` tells what is copied at once all the same.
    pub fn make_lazy(&mut self, is_used: impl Fn(&Area<Fill>) -> bool) -> Result<(), Errno> {
        for area in self.map.areas_mut() {
            let used = is_used(area);
            if let Fill::Own(part) = &mut area.backing
                && part.can_wait()
                && !used
            {
                part.make_lazy()?;
                self.lazy.any = true;
            }
        }
        Ok(())
    }

    /// Whether there may be something to make lazy.
    pub fn can_wait(&self) -> bool {
        self.map.areas().any(|area| matches!(&area.backing, Fill::Own(part) if part.can_wait()))
    }

    /// Whether there are, or were, lazy areas.
    pub fn is_lazy(&self) -> bool {
        self.lazy.any
    }

    /// How many pieces have been copied: while one was, its addresses had no memory for a moment.
    pub fn pieces_copied(&self) -> u64 {
        self.lazy.copied
    }

    /// Has all copied that is lazy in a range and may be written.
    pub fn own(&mut self, start: u64, size: u64) -> Result<(), Errno> {
        while let Some((from, to)) = self.lazy_piece((start, start + size), 0) {
            self.replace(from, to, true)?;
        }
        Ok(())
    }

    /// Has everything copied that is lazy.
    pub fn own_all(&mut self) -> Result<(), Errno> {
        self.own(LOWEST, nacre_abi::USER_END - LOWEST)
    }

    fn lazy_piece(&self, (start, end): (u64, u64), more: u64) -> Option<(u64, u64)> {
        if !self.lazy.any {
            return None;
        }
        let is_lazy = |area: &&Area<Fill>| area.rights.contains(Rights::WRITE) && matches!(&area.backing, Fill::Own(part) if part.is_lazy());
        let area = self.map.from(start).take_while(|area| area.start < end).find(is_lazy)?;
        Some(piece((area.start, area.end), (start.max(area.start), end.min(area.end)), more))
    }

    /// Whether a fault at `address` was only because something is lazy, and the access can be made again.
    pub fn resolve(&mut self, address: u64, access: Rights) -> bool {
        let (from, to) = self.lazy.last;
        if access == Rights::WRITE {
            let more = if address & !(PIECE - 1) == to { (2 * (to - from)).min(LARGEST) } else { 0 };
            if let Some((from, to)) = self.lazy_piece((address & !(PAGE_SIZE - 1), (address & !(PAGE_SIZE - 1)) + PAGE_SIZE), more) {
                return self.replace(from, to, true).is_ok();
            }
        }
        // Another thread has had it copied, and this one came while there was nothing.
        let is_late = (from..to).contains(&address) && self.map.allows(address, 1, access) && self.lazy.late < MOST_LATE;
        self.lazy.late += u32::from(is_late);
        is_late
    }

    /// Replaces a part of a lazy area by memory of the process's own, which has the same in it or zeros.
    pub(super) fn replace(&mut self, start: u64, end: u64, copies: bool) -> Result<(), Errno> {
        let size = end - start;
        let away = self.map.find_free_below(size, LOWEST, HIGHEST).ok_or(ENOMEM)?;
        let mut copy = Part::create(Segment::filled(size)?, away, size, 0, Rights::READ.union(Rights::WRITE))?;
        let area = self.map.within(start, end)?.next().ok_or(ENOMEM)?;
        let rights = area.rights;
        if let Fill::Own(part) = &mut area.backing {
            if copies {
                promised::copy_to_fresh(part, start, away, size, &mut KnownPart::default())?;
            }
            copy.at_fork = part.at_fork;
            copy.origin = part.origin.take();
        }
        area.backing = Fill::Reserved;
        copy.set(MappingState { start, rights: rights.0, ..copy.state })?;
        area.backing = Fill::Own(copy);
        self.lazy = Lazy { last: (start, end), late: 0, copied: self.lazy.copied + 1, ..self.lazy };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_around_what_is_written_and_inside_its_area() {
        let area = (0x10_3000, 0x14_5000);
        assert_eq!(piece(area, (0x12_4000, 0x12_5000), 0), (0x12_0000, 0x13_0000));
        assert_eq!(piece(area, (0x10_3000, 0x10_4000), 0), (0x10_3000, 0x11_0000));
        assert_eq!(piece(area, (0x14_4000, 0x14_5000), 0), (0x14_0000, 0x14_5000));
        assert_eq!(piece(area, (0x12_0000, 0x12_1000), 0x2_0000), (0x12_0000, 0x14_0000));
        assert_eq!(piece(area, (0x11_f000, 0x13_1000), 0), (0x11_0000, 0x14_0000));
    }

    #[test]
    fn a_large_area_has_large_pieces_but_not_too_large() {
        let area = (0x1000_0000, 0x1000_0000 + (64 << 20));
        assert_eq!(piece(area, (0x1005_0000, 0x1005_1000), 0), (0x1004_0000, 0x1008_0000));
        let area = (0x1000_0000, 0x1000_0000 + (4 << 30));
        assert_eq!(piece(area, (0x1015_0000, 0x1015_1000), 0), (0x1010_0000, 0x1020_0000));
    }
}
