//! Pages that the program has locked.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The ranges that are locked, which do not overlap, and whether what is mapped from now on will
/// be.
#[derive(Debug, Default)]
pub struct Locked {
    ranges: BTreeMap<u64, u64>,
    pub has_future: bool,
    /// Pages that are mapped from now on are locked once they are touched.
    pub is_later: bool,
}

impl Locked {
    fn overlapping(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64)> {
        self.ranges.range(..end).rev().map(|(from, to)| (*from, *to)).take_while(move |(_, to)| *to > start)
    }

    /// Bytes of a range that are locked.
    pub fn within(&self, start: u64, end: u64) -> u64 {
        self.overlapping(start, end).map(|(from, to)| to.min(end) - from.max(start)).sum()
    }

    /// All bytes that are.
    pub fn bytes(&self) -> u64 {
        self.within(0, u64::MAX)
    }

    /// All ranges that are locked.
    pub fn all(&self) -> Vec<(u64, u64)> {
        self.ranges.iter().map(|(start, end)| (*start, *end)).collect()
    }

    /// Parts of a range that are not locked.
    pub fn gaps(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut locked: Vec<(u64, u64)> = self.overlapping(start, end).collect();
        locked.reverse();
        let (mut gaps, mut at) = (Vec::new(), start);
        for (from, to) in locked {
            gaps.extend((at < from).then_some((at, from)));
            at = to;
        }
        gaps.extend((at < end).then_some((at, end)));
        gaps
    }

    /// Returns true if any byte of the range is locked.
    pub fn touches(&self, start: u64, end: u64) -> bool {
        self.overlapping(start, end).next().is_some()
    }

    /// The range is not locked any more.
    pub fn forget(&mut self, start: u64, end: u64) {
        let cut: Vec<(u64, u64)> = self.overlapping(start, end).collect();
        for (from, to) in cut {
            self.ranges.remove(&from);
            if from < start {
                self.ranges.insert(from, start);
            }
            if to > end {
                self.ranges.insert(end, to);
            }
        }
    }

    pub fn add(&mut self, start: u64, end: u64) {
        self.forget(start, end);
        if start < end {
            self.ranges.insert(start, end);
        }
    }

    /// Moves the locks of a range to the place that it has moved to.
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
        let mut locked = Locked::default();
        locked.add(10, 20);
        locked.add(15, 30);
        assert_eq!(locked.bytes(), 20);
        locked.forget(12, 18);
        assert_eq!(locked.bytes(), 14);
        assert!(locked.touches(11, 13) && !locked.touches(12, 18) && locked.touches(17, 19));
        assert_eq!(locked.gaps(11, 40), [(12, 18), (30, 40)]);
        assert_eq!(locked.gaps(20, 30), []);
        locked.follow(11, 19, 111);
        assert_eq!(locked.ranges.into_iter().collect::<Vec<_>>(), [(10, 11), (19, 30), (111, 112), (118, 119)]);
    }
}
