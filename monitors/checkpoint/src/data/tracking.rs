//! Data of which it is known what was written since the round of a move before: pages that were
//! opened since, and chunks that were writable as a whole.

use super::Data;
use alloc::vec::Vec;

impl Data {
    /// Notes what is written, from the next freeze on.
    pub fn begin_tracking(&mut self) {
        self.is_tracked = true;
    }

    /// Ends the notes.
    pub fn end_tracking(&mut self) {
        if core::mem::take(&mut self.is_tracked) && self.saving.is_none() {
            self.widen();
        }
    }

    /// Parts that may have been written since the last call, in order and apart. Nothing of this
    /// environment runs. Pages of its own always count.
    pub fn take_written(&mut self) -> Vec<(u64, u64)> {
        let chunks = self.shown.iter().filter(|shown| !shown.is_narrow).map(|shown| (shown.offset, shown.end()));
        let pages = self.open.iter().map(|(at, open)| (*at, at + open.size));
        let written = joined(chunks.chain(pages).collect());
        // A write opens them again.
        self.open.retain(|_, open| open.own.is_some());
        written
    }
}

/// Ranges in order and apart that cover what these do.
fn joined(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    ranges.dedup_by(|next, last| {
        let meets = next.0 <= last.1;
        if meets {
            last.1 = last.1.max(next.1);
        }
        meets
    });
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_meet_are_one() {
        assert_eq!(joined(Vec::from([(20, 30), (0, 5), (5, 8), (2, 4), (29, 31)])), [(0, 8), (20, 31)]);
        assert_eq!(joined(Vec::new()), []);
    }
}
