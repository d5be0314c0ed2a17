//! Ranges of addresses that something is noted of.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Ranges that do not overlap.
#[derive(Debug, Default)]
pub struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    fn overlapping(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64)> {
        self.0.range(..end).rev().map(|(from, to)| (*from, *to)).take_while(move |(_, to)| *to > start)
    }

    /// Returns the start of the range that an address lies in, or the address.
    pub fn start_of(&self, address: u64) -> u64 {
        self.overlapping(address, address + 1).next().map_or(address, |(start, _)| start)
    }

    /// Returns the end of the range that an address lies in, or the address.
    pub fn end_of(&self, address: u64) -> u64 {
        self.overlapping(address, address + 1).next().map_or(address, |(_, end)| end)
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes of a range that are in them.
    pub fn within(&self, start: u64, end: u64) -> u64 {
        self.overlapping(start, end).map(|(from, to)| to.min(end) - from.max(start)).sum()
    }

    /// All bytes that are in them.
    pub fn bytes(&self) -> u64 {
        self.within(0, u64::MAX)
    }

    /// All of them.
    pub fn all(&self) -> Vec<(u64, u64)> {
        self.0.iter().map(|(start, end)| (*start, *end)).collect()
    }

    /// Parts of a range that are in none.
    pub fn gaps(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut found: Vec<(u64, u64)> = self.overlapping(start, end).collect();
        found.reverse();
        let (mut gaps, mut at) = (Vec::new(), start);
        for (from, to) in found {
            gaps.extend((at < from).then_some((at, from)));
            at = to;
        }
        gaps.extend((at < end).then_some((at, end)));
        gaps
    }

    /// Returns true if any byte of the range is in one.
    pub fn touches(&self, start: u64, end: u64) -> bool {
        self.overlapping(start, end).next().is_some()
    }

    /// Drops what is noted of a range.
    pub fn forget(&mut self, start: u64, end: u64) {
        let cut: Vec<(u64, u64)> = self.overlapping(start, end).collect();
        for (from, to) in cut {
            self.0.remove(&from);
            if from < start {
                self.0.insert(from, start);
            }
            if to > end {
                self.0.insert(end, to);
            }
        }
    }

    /// Something is noted of a range.
    pub fn add(&mut self, start: u64, end: u64) {
        self.forget(start, end);
        if start < end {
            self.0.insert(start, end);
        }
    }

    /// Moves what is noted of a range to the place that the range has moved to.
    pub fn follow(&mut self, start: u64, end: u64, to: u64) {
        let moved: Vec<(u64, u64)> = self.overlapping(start, end).map(|(from, until)| (from.max(start), until.min(end))).collect();
        self.forget(start, end);
        moved.into_iter().for_each(|(from, until)| self.add(to + (from - start), to + (until - start)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_and_moved() {
        let mut ranges = Ranges::default();
        ranges.add(10, 20);
        ranges.add(15, 30);
        assert_eq!(ranges.bytes(), 20);
        ranges.forget(12, 18);
        assert_eq!(ranges.bytes(), 14);
        assert!(ranges.touches(11, 13) && !ranges.touches(12, 18) && ranges.touches(17, 19));
        assert_eq!(ranges.gaps(11, 40), [(12, 18), (30, 40)]);
        assert_eq!(ranges.gaps(20, 30), []);
        ranges.follow(11, 19, 111);
        assert_eq!(ranges.0.into_iter().collect::<Vec<_>>(), [(10, 11), (19, 30), (111, 112), (118, 119)]);
    }
}
