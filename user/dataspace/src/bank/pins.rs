//! Pages that stay in memory because somebody asked for it, and advice about pages.

use super::{Bank, MIN_FRAMES, Place, Trouble};
use crate::hands::Hands;
use crate::policy::Policy;
use crate::store::Store;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Range;

/// Part of the frames beyond the fewest that a bank works with, of which pages can be pinned: one
/// in so many.
const PART: usize = 2;

/// Pages that do not leave once they are here.
#[derive(Default)]
pub(super) struct Pins(BTreeSet<u64>);

impl Pins {
    pub(super) fn has(&self, page: u64) -> bool {
        self.0.contains(&page)
    }
}

/// Place of a page, as far as clients know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// The page holds zeros that nobody has touched, or what its origin holds.
    Nowhere,
    /// The page is in memory.
    Here,
    /// The page was put away.
    Away,
}

impl<H: Hands, S: Store, P: Policy> Bank<H, S, P> {
    /// Maximum number of pinned pages.
    pub fn most_pinned(&self) -> usize {
        self.frames.len().saturating_sub(MIN_FRAMES) / PART
    }

    /// Number of pinned pages.
    pub fn pinned(&self) -> usize {
        self.pins.0.len()
    }

    /// Pinned pages of a range.
    pub fn pinned_in(&self, range: Range<u64>) -> Vec<u64> {
        self.pins.0.range(range).copied().collect()
    }

    /// Lets a page stay once it is here. Where no page ever leaves, there is nothing to note.
    /// `Full`: too many pages are pinned, or the layer below does not keep the frame.
    pub fn pin(&mut self, page: u64) -> Result<(), Trouble> {
        if self.homes.is_some() || self.pins.has(page) {
            return Ok(());
        }
        if self.pins.0.len() >= self.most_pinned() {
            return Err(Trouble::Full);
        }
        if let Some(frame) = self.frame_of(page) {
            self.hands.keep(frame, true).map_err(|_| Trouble::Full)?;
        }
        self.pins.0.insert(page);
        Ok(())
    }

    /// Lets pages of a range leave again.
    pub fn unpin(&mut self, range: Range<u64>) {
        for page in self.pinned_in(range) {
            if let Some(frame) = self.frame_of(page) {
                self.unkeep(page, frame);
            }
            self.pins.0.remove(&page);
        }
    }

    /// A page has got a frame. If the layer below does not keep the frame of a pinned page, the
    /// page stays here all the same.
    pub(super) fn keep_if_pinned(&mut self, page: u64, frame: usize) {
        if self.pins.has(page) {
            let _ = self.hands.keep(frame, true);
        }
    }

    /// A page loses its frame, or its pin.
    pub(super) fn unkeep(&mut self, page: u64, frame: usize) {
        if self.pins.has(page) {
            let _ = self.hands.keep(frame, false);
        }
    }

    /// Place of a page.
    pub fn whereabouts(&self, page: u64) -> Whereabouts {
        match self.places.get(&page) {
            Some(Place::Here(_)) => Whereabouts::Here,
            Some(Place::Away(..)) => Whereabouts::Away,
            Some(Place::Blank) | None => Whereabouts::Nowhere,
        }
    }

    /// Returns true if no page is pinned.
    pub fn has_no_pins(&self) -> bool {
        self.pins.0.is_empty()
    }

    /// Returns true if a page is pinned.
    pub fn is_pinned(&self, page: u64) -> bool {
        self.pins.has(page)
    }

    /// Puts pages of a range away that are here and not pinned. What cannot leave stays.
    pub fn put_away(&mut self, range: Range<u64>) {
        if self.homes.is_none() {
            for (_, frame) in self.loose(range) {
                let _ = self.leave(frame);
            }
        }
    }

    /// Hides pages of a range that are not pinned, so that they are the next to leave unless
    /// somebody uses them.
    pub fn cool(&mut self, range: Range<u64>) {
        if self.homes.is_none() {
            for (_, frame) in self.loose(range) {
                let _ = self.hide(frame);
                self.recent.iter_mut().filter(|recent| **recent == frame).for_each(|recent| *recent = super::NONE);
            }
        }
    }

    /// Pages of a range that are here and not pinned, with their frames.
    fn loose(&self, range: Range<u64>) -> Vec<(u64, usize)> {
        let here = self.places.range(range).filter_map(|(page, place)| if let Place::Here(frame) = place { Some((*page, *frame)) } else { None });
        here.filter(|(page, frame)| !self.pins.has(*page) && self.frames.get(*frame).is_some()).collect()
    }
}
