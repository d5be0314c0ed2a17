//! How many files of other sides are known, and those of them that may be forgotten.

use crate::table::Key;
use alloc::collections::VecDeque;

/// Known files of a side that are never too many.
#[cfg(not(test))]
pub(super) const MANY: usize = 16_384;
#[cfg(test)]
pub(super) const MANY: usize = 64;

/// Files of sides that may be forgotten.
pub(super) struct Forgetting {
    /// Number of files of each side that are known.
    pub(super) known: [usize; 1 << u8::BITS],
    /// Number that is too many.
    limits: [usize; 1 << u8::BITS],
    /// Set once a side may have too many.
    pub(super) is_due: bool,
    /// Files that were idle when they were looked at.
    pub(super) left: VecDeque<Key>,
}

impl Default for Forgetting {
    fn default() -> Forgetting {
        Forgetting { known: [0; 1 << u8::BITS], limits: [MANY; 1 << u8::BITS], is_due: false, left: VecDeque::new() }
    }
}

impl Forgetting {
    /// Counts one more known file of a side's.
    pub(super) fn count(&mut self, side: u8) {
        self.known[usize::from(side)] += 1;
        self.is_due |= self.is_crowded(side);
    }

    /// Returns true for a side with too many.
    pub(super) fn is_crowded(&self, side: u8) -> bool {
        self.known[usize::from(side)] > self.limits[usize::from(side)]
    }

    /// Lets sides have twice what has stayed before it is looked at again.
    pub(super) fn settle(&mut self) {
        self.limits.iter_mut().zip(self.known).for_each(|(limit, known)| *limit = MANY.max(2 * known));
    }

    /// Counts one less.
    pub(super) fn discount(&mut self, side: u8) {
        let known = &mut self.known[usize::from(side)];
        *known = known.saturating_sub(1);
    }
}
