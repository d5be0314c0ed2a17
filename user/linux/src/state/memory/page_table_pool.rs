//! Pages for the tables of the process's space. It is born with some; who maps much needs more, or
//! the kernel throws tables away again and again to make others. What is donated stays with the
//! space until it ends.

/// Address bits that a table of each level covers, from the lowest to the highest below the root.
const LEVELS: [u32; 3] = [21, 30, 39];
/// Tables of the library itself: the root, and three levels each for its own parts, for objects,
/// stack and inheritance, for its heap, and for what it shows itself of others.
pub const OWN: u64 = 14;
/// Approximate number of tables that a program needs at the start.
const PROGRAM: u64 = 6;
/// Maximum number of pages that one call donates.
pub const AT_ONCE: u64 = 512;
/// Pages that are left over at least.
pub const SPARE: u64 = 4;
/// Maximum number of pages that a fork's child is born with. Each costs its parent some 400
/// instructions. The child donates further pages itself.
pub const MAX_BORN: u64 = 64;

/// Estimate of the page tables in use.
#[derive(Clone, Copy)]
pub struct Tables {
    /// Pages that the space has for them.
    pub(super) pages: u64,
    /// Upper bound of the tables in use.
    pub(super) bound: u64,
    /// Bound at which all tables are counted.
    pub(super) limit: u64,
    /// Bytes of one area that are shown at a time: no more than there is memory.
    pub(super) most: u64,
    /// The lowest table that was counted last: the next area is likely beside it.
    last: u64,
}

impl Tables {
    /// Pages with which programs begin.
    pub const FEWEST: u64 = 24;

    /// Makes the estimate for a space that was born with `pages`.
    pub fn of(pages: u64) -> Tables {
        Tables { pages, bound: OWN + PROGRAM, limit: pages, most: u64::MAX, last: 0 }
    }

    /// Makes the estimate for a fork's child, whose parent has counted its tables.
    pub fn of_child(pages: u64) -> Tables {
        Tables { bound: pages.saturating_sub(SPARE), ..Tables::of(pages) }
    }

    /// Makes the estimate for another program in the same space.
    pub fn again(self) -> Tables {
        Tables { limit: self.pages, ..Tables::of(self.pages) }
    }

    /// Returns the number of pages that a fork's child is born with.
    pub fn for_child(self) -> u64 {
        (self.bound + SPARE).clamp(Tables::FEWEST, MAX_BORN)
    }

    /// Returns the end of an area, as far as its tables are needed at a time.
    pub(super) fn end_of(&self, (start, end): (u64, u64)) -> u64 {
        end.min(start.saturating_add(self.most))
    }

    /// Something is mapped that was not; whether all is to be counted.
    pub(super) fn add(&mut self, start: u64, end: u64) -> bool {
        let end = self.end_of((start, end));
        let (first, last) = (start >> LEVELS[0], end.saturating_sub(1) >> LEVELS[0]);
        let is_known = (first..=last).contains(&self.last);
        self.bound += (last + 1).saturating_sub(first) - u64::from(is_known);
        self.last = first;
        self.bound > self.limit
    }
}

/// Returns the number of tables that these ranges, in ascending order, need.
pub fn needed(ranges: impl Iterator<Item = (u64, u64)>) -> u64 {
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
