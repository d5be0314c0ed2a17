//! Pages of dataspaces that stay in memory because somebody asked for it, and advice about pages.

use super::Spaces;
use crate::bank::{Trouble, Whereabouts};
use crate::hands::Hands;
use crate::policy::Policy;
use crate::store::Store;
use core::ops::Range;

impl<H: Hands, S: Store, P: Policy> Spaces<H, S, P> {
    /// Place of a page of a dataspace, whichever manager or snapshot has it, and true if the page
    /// is pinned.
    pub fn whereabouts(&self, space: u64, offset: u64) -> (Whereabouts, bool) {
        let Some(node) = self.nodes.get(&space) else { return (Whereabouts::Nowhere, false) };
        let bank = &self.banks[node.manager];
        let is_pinned = bank.is_pinned(space + offset);
        if bank.has(space + offset) {
            return (bank.whereabouts(space + offset), is_pinned);
        }
        if self.has(space, offset) {
            return (Whereabouts::Away, is_pinned);
        }
        let mut at = node.source;
        while let Some(source) = at {
            let node = &self.nodes[&source];
            if source + offset < node.end && self.banks[node.manager].has(source + offset) {
                return (self.banks[node.manager].whereabouts(source + offset), is_pinned);
            }
            at = node.source;
        }
        (Whereabouts::Nowhere, is_pinned)
    }

    /// Calls `each` for the pages of a part that are anywhere, or pinned: with the page's number in
    /// the part, its place, and true if it is pinned.
    pub fn each_whereabouts(&self, space: u64, offsets: Range<u64>, mut each: impl FnMut(u64, Whereabouts, bool)) {
        let Some(node) = self.nodes.get(&space) else { return };
        let (bank, first) = (&self.banks[node.manager], offsets.start);
        if node.source.is_none() && node.below.is_none() && bank.has_no_pins() && self.stranded.is_empty() {
            // All that there is of it is in its bank.
            let pages = space + offsets.start..space + offsets.end;
            return bank.known(pages.clone()).for_each(|page| each(page - pages.start, bank.whereabouts(page), false));
        }
        offsets.for_each(|offset| {
            let (place, is_pinned) = self.whereabouts(space, offset);
            each(offset - first, place, is_pinned);
        });
    }

    /// Brings pages of a dataspace and lets them stay; with `later` each stays once somebody has
    /// touched it. On failure some pages may be pinned.
    pub fn pin(&mut self, space: u64, pages: Range<u64>, later: bool) -> Result<(), Trouble> {
        for page in pages {
            let manager = self.manager(space).ok_or(Trouble::Lost)?;
            if self.banks[manager].is_pinned(page) && (later || self.banks[manager].frame_of(page).is_some()) {
                continue;
            }
            // A pin that comes to nothing brings nothing.
            if self.banks[manager].pinned() >= self.banks[manager].most_pinned() && !self.banks[manager].has_homes() {
                return Err(Trouble::Full);
            }
            if !later && self.banks[manager].frame_of(page).is_none() {
                self.fault(page, false)?;
            }
            self.banks[manager].pin(page)?;
        }
        Ok(())
    }

    /// Lets pages of a dataspace leave again.
    pub fn unpin(&mut self, space: u64, pages: Range<u64>) {
        if let Some(manager) = self.manager(space) {
            self.banks[manager].unpin(pages);
        }
    }

    /// Brings pages of a dataspace that were put away, until there is no frame for one.
    pub fn bring(&mut self, space: u64, pages: Range<u64>) {
        for page in pages {
            if self.whereabouts(space, page - space).0 == Whereabouts::Away && self.fault(page, false).is_err() {
                return;
            }
        }
    }

    /// Puts pages of a dataspace away that are here.
    pub fn put_away(&mut self, space: u64, pages: Range<u64>) {
        if let Some(manager) = self.manager(space) {
            self.banks[manager].put_away(pages);
            self.pass_down();
        }
    }

    /// Lets pages of a dataspace be the next to leave, unless somebody uses them.
    pub fn cool(&mut self, space: u64, pages: Range<u64>) {
        if let Some(manager) = self.manager(space) {
            self.banks[manager].cool(pages);
        }
    }

    /// Pins pages in the manager that they move to. On failure some may be pinned there.
    pub(super) fn move_pins(&mut self, pages: Range<u64>, from: usize, to: usize) -> Result<(), Trouble> {
        let pinned = self.banks[from].pinned_in(pages);
        pinned.into_iter().try_for_each(|page| self.banks[to].pin(page))
    }
}
