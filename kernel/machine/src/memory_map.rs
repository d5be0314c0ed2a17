//! A sorted list of disjoint, page-aligned ranges of memory: what is RAM, then what of it is still
//! free.
#![forbid(unsafe_code)]

use nacre_abi::PAGE_SIZE;
use nacre_abi::boot_info::{MAX_RANGES, MemoryRange};

/// Ranges in ascending order; none touches the next. Ranges beyond [`MAX_RANGES`] are forgotten,
/// which only wastes memory.
#[derive(Clone, Copy)]
pub struct MemoryMap {
    ranges: [MemoryRange; MAX_RANGES],
    count: usize,
}

impl MemoryMap {
    /// Creates an empty map.
    pub const fn new() -> MemoryMap {
        MemoryMap { ranges: [MemoryRange { start: 0, size: 0 }; MAX_RANGES], count: 0 }
    }

    /// The ranges.
    pub fn ranges(&self) -> &[MemoryRange] {
        &self.ranges[..self.count]
    }

    /// Returns the size of all memory in bytes.
    pub fn total(&self) -> u64 {
        self.ranges().iter().map(|range| range.size).sum()
    }

    /// First address after all ranges.
    pub fn end(&self) -> u64 {
        self.ranges().last().map_or(0, |range| range.start + range.size)
    }

    /// Adds the whole pages of `start..end`.
    pub fn add(&mut self, start: u64, end: u64) {
        let (mut start, mut end) = (start.checked_next_multiple_of(PAGE_SIZE).unwrap_or(u64::MAX), end & !(PAGE_SIZE - 1));
        if start >= end {
            return;
        }
        let first = self.ranges().iter().take_while(|range| range.start + range.size < start).count();
        let touching = self.ranges()[first..].iter().take_while(|range| range.start <= end).count();
        if touching > 0 {
            let last = self.ranges[first + touching - 1];
            start = start.min(self.ranges[first].start);
            end = end.max(last.start + last.size);
        }
        self.replace(first, touching, &[MemoryRange { start, size: end - start }]);
    }

    /// Takes away every page that `start..end` touches.
    pub fn remove(&mut self, start: u64, end: u64) {
        let (start, end) = (start & !(PAGE_SIZE - 1), end.checked_next_multiple_of(PAGE_SIZE).unwrap_or(u64::MAX));
        if start >= end {
            return;
        }
        let first = self.ranges().iter().take_while(|range| range.start + range.size <= start).count();
        let touching = self.ranges()[first..].iter().take_while(|range| range.start < end).count();
        if touching == 0 {
            return;
        }
        let (low, last) = (self.ranges[first].start, self.ranges[first + touching - 1]);
        let before = MemoryRange { start: low, size: start.saturating_sub(low) };
        let after = MemoryRange { start: end, size: (last.start + last.size).saturating_sub(end) };
        match (before.size > 0, after.size > 0) {
            (true, true) => self.replace(first, touching, &[before, after]),
            (true, false) => self.replace(first, touching, &[before]),
            (false, true) => self.replace(first, touching, &[after]),
            (false, false) => self.replace(first, touching, &[]),
        }
    }

    /// The start of the highest `size` free bytes below `limit` that are aligned to `alignment`, a
    /// power of two.
    pub fn find(&self, size: u64, alignment: u64, limit: u64) -> Option<u64> {
        self.ranges().iter().rev().find_map(|range| {
            let end = (range.start + range.size).min(limit);
            let start = end.checked_sub(size)? & !(alignment - 1);
            (start >= range.start).then_some(start)
        })
    }

    fn replace(&mut self, first: usize, old: usize, new: &[MemoryRange]) {
        let tail_end = (self.count + new.len() - old).min(MAX_RANGES);
        let tail_start = (first + new.len()).min(tail_end);
        let kept = tail_end - tail_start;
        self.ranges.copy_within(first + old..first + old + kept, tail_start);
        for (slot, range) in self.ranges[first..tail_start].iter_mut().zip(new) {
            *slot = *range;
        }
        self.count = tail_end;
    }
}

impl Default for MemoryMap {
    fn default() -> Self {
        MemoryMap::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(map: &MemoryMap) -> Vec<(u64, u64)> {
        map.ranges().iter().map(|range| (range.start / PAGE_SIZE, (range.start + range.size) / PAGE_SIZE)).collect()
    }

    fn of(ranges: &[(u64, u64)]) -> MemoryMap {
        let mut map = MemoryMap::new();
        ranges.iter().for_each(|(start, end)| map.add(start * PAGE_SIZE, end * PAGE_SIZE));
        map
    }

    #[test]
    fn ranges_merge_and_stay_sorted() {
        assert_eq!(pages(&of(&[(8, 9), (1, 2), (4, 6), (2, 4)])), [(1, 6), (8, 9)]);
        assert_eq!(pages(&of(&[(1, 2), (4, 5), (8, 9), (0, 10)])), [(0, 10)]);
    }

    #[test]
    fn ends_are_cut_inwards_when_added_and_outwards_when_removed() {
        let mut map = MemoryMap::new();
        map.add(1, 4 * PAGE_SIZE + 5);
        assert_eq!(pages(&map), [(1, 4)]);
        map.remove(2 * PAGE_SIZE + 1, 2 * PAGE_SIZE + 2);
        assert_eq!(pages(&map), [(1, 2), (3, 4)]);
        map.remove(0, u64::MAX);
        assert_eq!(pages(&map), []);
    }

    #[test]
    fn agrees_with_a_set_of_pages() {
        let (mut map, mut model, mut seed) = (MemoryMap::new(), [false; 40], 1u64);
        for _ in 0..5000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (start, size, add) = ((seed >> 33) % 32, (seed >> 40) % 8, seed >> 50 & 1 == 0);
            model[start as usize..(start + size) as usize].fill(add);
            let (low, high) = (start * PAGE_SIZE, (start + size) * PAGE_SIZE);
            if add { map.add(low, high) } else { map.remove(low, high) }
            let mut seen = [false; 40];
            pages(&map).iter().for_each(|(from, to)| seen[*from as usize..*to as usize].fill(true));
            assert_eq!(seen, model);
            assert!(pages(&map).windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }

    #[test]
    fn too_many_ranges_are_forgotten() {
        let mut map = MemoryMap::new();
        (0..200).for_each(|number| map.add(number * 2 * PAGE_SIZE, (number * 2 + 1) * PAGE_SIZE));
        assert_eq!(map.ranges().len(), MAX_RANGES);
        map.remove(PAGE_SIZE * 2, PAGE_SIZE * 3);
        assert_eq!(map.ranges().len(), MAX_RANGES - 1);
    }

    #[test]
    fn the_highest_fitting_place_is_found() {
        let map = of(&[(1, 8), (16, 18)]);
        assert_eq!(map.find(2 * PAGE_SIZE, PAGE_SIZE, u64::MAX), Some(16 * PAGE_SIZE));
        assert_eq!(map.find(4 * PAGE_SIZE, PAGE_SIZE, u64::MAX), Some(4 * PAGE_SIZE));
        assert_eq!(map.find(2 * PAGE_SIZE, PAGE_SIZE, 7 * PAGE_SIZE), Some(5 * PAGE_SIZE));
        assert_eq!(map.find(8 * PAGE_SIZE, PAGE_SIZE, u64::MAX), None);
    }
}
