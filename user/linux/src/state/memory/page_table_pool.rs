//! Pages for the tables of the process's space. It is born with some; who maps much needs more, or the kernel throws tables away again and again to make others. What is donated
//! stays with the space until it ends.

use crate::abi::errno::{ENOMEM, Errno};
use crate::services::connections::Segment;
use crate::state::memory::{Fill, HIGHEST, LOWEST, Memory};
use crate::state::memory::address_map::Area;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_sys::{OwnedMapping, Region, Space};

/// What the tables of each level cover, from the lowest to the highest below the root.
const LEVELS: [u32; 3] = [21, 30, 39];
/// Tables of the library itself: the root, and three levels each for its own parts, for objects, stack and inheritance, for its heap, and for what it shows itself of others.
const OWN: u64 = 14;
/// What programs have at the start, more or less.
const PROGRAM: u64 = 6;
/// Most pages that one call donates.
const AT_ONCE: u64 = 512;
/// Pages that are left over at least.
const SPARE: u64 = 4;
/// Most pages that a fork's child is born with. Each costs its maker some 400 instructions; what lacks the child brings itself.
const MOST_BORN: u64 = 64;

/// What is known of the tables.
#[derive(Clone, Copy)]
pub struct Tables {
    /// Pages that the space has for them.
    pages: u64,
    /// No more than so many are used.
    bound: u64,
    /// Where that is too much, all is counted.
    limit: u64,
    /// The lowest table that was counted last: the next area is likely beside it.
    last: u64,
}

impl Tables {
    /// Pages with which programs begin.
    pub const FEWEST: u64 = 24;

    /// Those of a space that was born with so many pages.
    pub fn of(pages: u64) -> Tables {
        Tables { pages, bound: OWN + PROGRAM, limit: pages, last: 0 }
    }

    /// Those of a fork's child, whose maker has counted them.
    pub fn of_child(pages: u64) -> Tables {
        Tables { bound: pages.saturating_sub(SPARE), ..Tables::of(pages) }
    }

    /// The same when another program has taken the place of the one whose these were.
    pub fn again(self) -> Tables {
        Tables { limit: self.pages, ..Tables::of(self.pages) }
    }

    /// How many pages a fork's child is born with.
    pub fn for_child(self) -> u64 {
        (self.bound + SPARE).clamp(Tables::FEWEST, MOST_BORN)
    }

    /// Something is mapped that was not; whether all is to be counted.
    fn add(&mut self, start: u64, end: u64) -> bool {
        let (first, last) = (start >> LEVELS[0], end.saturating_sub(1) >> LEVELS[0]);
        let is_known = (first..=last).contains(&self.last);
        self.bound += (last + 1).saturating_sub(first) - u64::from(is_known);
        self.last = first;
        self.bound > self.limit
    }
}

/// How many tables these ranges, in ascending order, need.
fn needed(ranges: impl Iterator<Item = (u64, u64)>) -> u64 {
    let (mut count, mut last) = (0, [u64::MAX; LEVELS.len()]);
    for (start, end) in ranges.filter(|(start, end)| start < end) {
        for (level, last) in LEVELS.iter().zip(&mut last) {
            let (from, to) = (start >> level, (end - 1) >> level);
            count += to - from + u64::from(from != *last);
            *last = to;
        }
    }
    count
}

impl Memory {
    /// Something is mapped that was not: donates pages if there are not enough. Without memory for that, all is as it was, and slower.
    pub(super) fn provide_tables(&mut self, start: u64, end: u64) {
        if self.tables.add(start, end) {
            self.count_tables();
        }
    }

    /// The same at a fork's child's start, whose maker has given it no more than some.
    pub fn check_tables(&mut self) {
        if self.tables.pages >= MOST_BORN {
            self.count_tables();
        }
    }

    fn count_tables(&mut self) {
        let shows = |area: &&Area<Fill>| matches!(area.backing, Fill::Own(_));
        let needed = OWN + needed(self.map.areas().filter(shows).map(|area| (area.start, area.end)));
        self.tables.bound = needed;
        // The more areas there are, the longer counting takes, and the less often it is to be done.
        let wanted = needed + needed / 8 + self.map.areas().count() as u64 / 64 + 2 * SPARE;
        if needed + SPARE > self.tables.pages {
            // What was donated before an error counts.
            let _ = self.donate(wanted - self.tables.pages);
        }
        self.tables.limit = if needed <= self.tables.pages { self.tables.pages } else { wanted };
    }

    fn donate(&mut self, pages: u64) -> Result<(), Errno> {
        let size = pages * PAGE_SIZE;
        let segment = Segment::for_tables(size)?;
        let away = self.map.find_free(size, LOWEST, HIGHEST).ok_or(ENOMEM)?;
        let rights = Rights::READ.union(Rights::WRITE).union(Rights::OBJECTS);
        let _shown = OwnedMapping::new(Space::OWN, away, size, Region::through(segment.region()), 0, rights).map_err(|_| ENOMEM)?;
        // Some of it may be tables soon: then it must not go before the space does.
        core::mem::forget(segment);
        for done in (0..pages).step_by(AT_ONCE as usize) {
            let count = (pages - done).min(AT_ONCE);
            Space::OWN.donate(away + done * PAGE_SIZE, count).map_err(|_| ENOMEM)?;
            self.tables.pages += count;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn ranges_below_one_table_share_it() {
        assert_eq!(needed([].into_iter()), 0);
        assert_eq!(needed([(0x1000, 0x2000), (0x5000, 0x6000)].into_iter()), 3);
        assert_eq!(needed([(MIB, 3 * MIB)].into_iter()), 4);
        assert_eq!(needed([(0, 200 * MIB)].into_iter()), 102);
        assert_eq!(needed([(0, MIB), (1 << 30, (1 << 30) + MIB), (1 << 39, (1 << 39) + MIB)].into_iter()), 3 + 2 + 3);
    }

    #[test]
    fn what_lies_beside_the_last_one_is_not_counted_again() {
        let mut tables = Tables::of(30);
        assert!(!tables.add(10 * MIB, 11 * MIB));
        let bound = tables.bound;
        assert!(!tables.add(9 * MIB + MIB / 2, 10 * MIB));
        assert_eq!(tables.bound, bound + 1, "the one below it is another");
        assert!(!tables.add(9 * MIB, 9 * MIB + MIB / 2));
        assert_eq!(tables.bound, bound + 1);
        assert!(tables.add(100 * MIB, 200 * MIB));
        assert_eq!(tables.for_child(), 64);
    }
}
