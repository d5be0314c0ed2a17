//! Revocation: making sure that nobody sees any more, through the hardware's tables, what composition no longer gives.
//!
//! It goes from a range of a space to the regions that export it, to the mappings made from those, to their spaces, and so on. The spaces that are still to do hang on a list
//! through the spaces themselves. A space that comes up a second time is done whole, so each is visited at most twice, whatever shape (even a circle) users have built:
//! the cost grows with the objects that are derived, and no stack or memory is needed.

use crate::kernel::Kernel;
use crate::machine::{Machine, Physical};
use crate::object::{Mapping, Region, Space};
use nacre_abi::USER_END;

impl<M: Machine> Kernel<M> {
    /// Forgets all translations derived from `size` bytes of the machine at `at`.
    pub(crate) fn revoke_physical(&self, at: Physical, size: u64) {
        let root = self.kernel_space();
        self.revoke(root, at.0, at.0 + size);
    }

    /// Forgets the translations of `low..high` in `space`, and all that are derived from them.
    pub(crate) fn revoke(&self, space: Space<'_>, low: u64, high: u64) {
        self.flush_number.set(self.flush_number.get() + 1);
        let mut list = Physical(0);
        self.revoke_later(&mut list, space, low, high);
        while list != Physical(0) {
            let space = self.space(list);
            list = space.flush_next();
            space.set_flush_listed(0);
            self.revoke_in(&mut list, space, space.flush_low(), space.flush_high());
        }
    }

    /// Forgets what was derived from a part of a region.
    pub(crate) fn revoke_region(&self, region: Region<'_>, offset: u64, size: u64) {
        self.flush_number.set(self.flush_number.get() + 1);
        let mut list = Physical(0);
        self.revoke_derived(&mut list, region, offset, offset.saturating_add(size));
        while list != Physical(0) {
            let space = self.space(list);
            list = space.flush_next();
            space.set_flush_listed(0);
            self.revoke_in(&mut list, space, space.flush_low(), space.flush_high());
        }
    }

    /// Forgets what a mapping shows.
    pub(crate) fn revoke_mapping(&self, mapping: Mapping<'_>) {
        self.revoke(self.space(mapping.space()), mapping.start(), mapping.end());
    }

    /// One space of a revocation.
    fn revoke_in(&self, list: &mut Physical, space: Space<'_>, low: u64, high: u64) {
        let root = space.root();
        if root != Physical(0) && self.machine.table_clear(root, low, high.min(USER_END)) {
            space.set_generation(space.generation() + 1);
            if space.active() != 0 {
                self.machine.translations_flush(space.active(), root, low, high);
            }
        }
        let regions = self.regions(space);
        let mut next = regions.first(low, high);
        while let Some(node) = next {
            let region = self.region(node.at);
            let from = low.max(region.start()) - region.start();
            let to = high.min(region.end()) - region.start();
            self.revoke_derived(list, region, from, to);
            next = regions.next(node, low, high);
        }
    }

    /// Puts the spaces of the mappings made from `from..to` of a region on the list.
    fn revoke_derived(&self, list: &mut Physical, region: Region<'_>, from: u64, to: u64) {
        let anchor = region.mappings();
        let mut node = crate::list::next(&self.machine, anchor);
        while node != anchor {
            let mapping = self.mapping(Physical(node.0 - 8 * 10));
            let (first, last) = (mapping.offset(), mapping.offset() + mapping.size());
            if first < to && from < last {
                let low = mapping.start() + from.max(first) - first;
                let high = mapping.start() + to.min(last) - first;
                self.revoke_later(list, self.space(mapping.space()), low, high);
            }
            node = crate::list::next(&self.machine, node);
        }
    }

    /// Puts a space on the list: the first time for this range, the second time for all of it, and no third time.
    fn revoke_later(&self, list: &mut Physical, space: Space<'_>, low: u64, high: u64) {
        let number = self.flush_number.get();
        if space.flush_number() != number {
            space.set_flush_number(number);
            space.set_flush_visits(0);
            space.set_flush_listed(0);
        }
        match space.flush_visits() {
            0 => {
                space.set_flush_low(low);
                space.set_flush_high(high);
            }
            1 => {
                space.set_flush_low(0);
                space.set_flush_high(u64::MAX);
            }
            _ => return,
        }
        space.set_flush_visits(space.flush_visits() + 1);
        if space.flush_listed() == 0 {
            space.set_flush_listed(1);
            space.set_flush_next(*list);
            *list = space.at;
        }
    }
}
