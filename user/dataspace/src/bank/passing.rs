//! Pages that go to another bank when they leave, in place of the store.

use super::{Bank, Place};
use crate::hands::Hands;
use crate::policy::Policy;
use crate::store::Store;
use crate::Page;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

/// Ranges whose pages go to another bank, and pages on their way there.
#[derive(Default)]
pub(super) struct Passing {
    ranges: BTreeMap<u64, u64>,
    gone: Vec<(u64, Vec<u8>)>,
}

impl Passing {
    /// Takes a page that leaves. Returns false if it goes to the store.
    pub(super) fn take(&mut self, page: u64, bytes: &Page) -> bool {
        let passes = self.ranges.range(..=page).next_back().is_some_and(|(_, end)| page < *end);
        let mut copy = Vec::new();
        if !passes || self.gone.try_reserve(1).is_err() || copy.try_reserve_exact(bytes.len()).is_err() {
            return false;
        }
        copy.extend_from_slice(bytes);
        self.gone.push((page, copy));
        true
    }
}

impl<H: Hands, S: Store, P: Policy> Bank<H, S, P> {
    /// Lets pages of a range go elsewhere from now on. The range replaces one that starts there.
    pub fn pass(&mut self, range: Range<u64>) {
        self.passing.ranges.insert(range.start, range.end);
    }

    /// Lets pages of the range that starts here go to the store again.
    pub fn keep_range(&mut self, start: u64) {
        self.passing.ranges.remove(&start);
    }

    /// A page that has left for another bank, and what it holds.
    pub fn take_passed(&mut self) -> Option<(u64, Vec<u8>)> {
        self.passing.gone.pop()
    }

    /// Returns true if a page is in the store alone.
    pub fn is_away(&self, page: u64) -> bool {
        matches!(self.places.get(&page), Some(Place::Away(..)))
    }
}
