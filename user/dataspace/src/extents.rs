//! Addresses for segments: numbers of pages from 0 to a limit, given in runs and taken back.

use alloc::vec::Vec;

/// Free runs, in the order of their starts. They never touch each other.
#[derive(Debug)]
pub struct Extents {
    free: Vec<(u64, u64)>,
}

impl Extents {
    /// All pages below `limit` are free.
    pub fn new(limit: u64) -> Extents {
        Extents { free: alloc::vec![(0, limit)] }
    }

    /// The start of a run of `count` pages, from now on taken; `None`: there is none.
    pub fn take(&mut self, count: u64) -> Option<u64> {
        let at = self.free.iter().position(|(start, end)| end - start >= count)?;
        let (start, end) = self.free[at];
        if end - start == count {
            self.free.remove(at);
        } else {
            self.free[at].0 += count;
        }
        Some(start)
    }

    /// Takes `count` pages behind a run that is taken, from `start` on, if they are free.
    pub fn take_at(&mut self, start: u64, count: u64) -> bool {
        let Some(run) = self.free.iter_mut().find(|run| run.0 == start && run.1 - run.0 > count) else { return false };
        run.0 += count;
        true
    }

    /// A run that was taken, or a part of one, is free again. If there is no memory to note it, its
    /// addresses are lost: there are very many.
    pub fn give(&mut self, start: u64, count: u64) {
        let end = start + count;
        let at = self.free.partition_point(|run| run.0 < start);
        let joins_before = at > 0 && self.free[at - 1].1 == start;
        let joins_behind = self.free.get(at).is_some_and(|run| run.0 == end);
        match (joins_before, joins_behind) {
            (true, true) => self.free[at - 1].1 = self.free.remove(at).1,
            (true, false) => self.free[at - 1].1 = end,
            (false, true) => self.free[at].0 = start,
            (false, false) if self.free.try_reserve(1).is_ok() => self.free.insert(at, (start, end)),
            (false, false) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_joins_what_is_free() {
        let mut extents = Extents::new(100);
        let starts: Vec<u64> = [10, 20, 30].into_iter().map(|count| extents.take(count).unwrap()).collect();
        assert_eq!(starts, [0, 10, 30]);
        assert!(extents.take_at(60, 5) && !extents.take_at(60, 5) && !extents.take_at(30, 1));
        assert_eq!(extents.take(36), None);
        extents.give(10, 20);
        assert_eq!(extents.take(15), Some(10));
        extents.give(10, 15);
        extents.give(30, 35);
        extents.give(0, 10);
        assert_eq!(extents.free, [(0, 100)]);
    }
}
