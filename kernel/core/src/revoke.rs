//! Revocation: making sure that nobody sees any more, through the hardware's tables, what
//! composition no longer gives.
//!
//! It goes from a range of a space to the regions that export it, to the mappings made from those,
//! to their spaces, and so on. The spaces that are still to do hang on a list through the spaces
//! themselves. A space that comes up a second time is done whole, so each is visited at most twice,
//! whatever shape (even a circle) users have built: the cost grows with the objects that are
//! derived, and no stack or memory is needed.
//!
//! It can be cut off between any two pieces, and why that is safe: (1) Whoever revokes first makes
//! composition narrower (a frame is `SEIZED`, a mapping is unlinked or changed, a region closed),
//! so from then on no table is filled with what is to go; a piece that is done stays done. (2)
//! There is one revocation at a time, in `Revocation`; who wants to begin another first works on
//! that one to its end, whoever began it. (3) Whoever would take away or move what it stands on - a
//! space, region or mapping - or put a mapping where one is going, does that too, so its cursors
//! never dangle. (4) It has a number: who began it keeps that in the frame, mapping or region, and
//! a call that comes back knows by it whether all is done. Only then does the call return, or the
//! memory become something else. Numbers are never shown to users.

use crate::kernel::{Attempt, Kernel};
use crate::list;
use crate::machine::{Machine, Physical};
use crate::object::{Mapping, Region, Space};
use crate::revocation::Phase;
use nacre_abi::USER_END;

const NULL: Physical = Physical(0);
/// Mappings that one piece looks at.
const MAPPINGS: u32 = 16;
/// Cost of looking at those mappings, and of a sweep through tables, in instructions.
const MAPPINGS_WORK: u32 = 500;
const SWEEP_WORK: u32 = 3000;
const SMALL_WORK: u32 = 250;

impl<M: Machine> Kernel<M> {
    /// Returns true if translations may be left that composition no longer gives.
    pub fn is_revoking(&self) -> bool {
        self.revocation.phase.get() != Phase::None
    }

    /// Works until no revocation is under way, whoever began it.
    #[inline(always)]
    pub(crate) fn revoke_idle(&self) -> Attempt<()> {
        if self.is_revoking() { self.revoke_work() } else { Ok(()) }
    }

    /// Works until the revocation with this number has come to its end.
    pub(crate) fn revoke_finish(&self, number: u64) -> Attempt<()> {
        if self.revocation.number.get() == number { self.revoke_idle() } else { Ok(()) }
    }

    #[inline(never)]
    fn revoke_work(&self) -> Attempt<()> {
        while self.is_revoking() {
            let work = match self.revocation.phase.get() {
                Phase::Space => self.revoke_next(),
                Phase::Tables => self.revoke_tables(),
                _ => self.revoke_mappings(),
            };
            let worked = self.work(work);
            if self.is_revoking() {
                worked?;
            }
        }
        Ok(())
    }

    fn revoke_new(&self) -> u64 {
        let this = &self.revocation;
        debug_assert!(this.phase.get() == Phase::None);
        this.number.set(this.number.get() + 1);
        this.phase.set(Phase::Space);
        this.number.get()
    }

    /// Begins to forget the translations of `low..high` in `space`, and all that are derived from
    /// them. No other revocation is under way.
    pub(crate) fn revoke_begin(&self, space: Space<'_>, low: u64, high: u64) -> u64 {
        let number = self.revoke_new();
        self.revoke_later(space, low, high);
        number
    }

    /// Begins to forget what was derived from a region. No other revocation is under way.
    pub(crate) fn revoke_begin_region(&self, region: Region<'_>) -> u64 {
        let number = self.revoke_new();
        let this = &self.revocation;
        this.space.set(NULL);
        this.low.set(0);
        this.high.set(region.size());
        self.revoke_through(region.at);
        number
    }

    /// Begins to forget what a mapping shows.
    pub(crate) fn revoke_begin_mapping(&self, mapping: Mapping<'_>) -> u64 {
        self.revoke_begin(self.space_at_home(mapping.home()), mapping.start(), mapping.end())
    }

    /// Takes the next space; what that took.
    fn revoke_next(&self) -> u32 {
        let this = &self.revocation;
        let at = this.list.get();
        if at == NULL {
            this.phase.set(Phase::None);
            return 0;
        }
        let space = self.space(at);
        this.list.set(space.flush_next());
        space.set_flush_listed(0);
        this.space.set(at);
        this.low.set(space.flush_low());
        this.high.set(space.flush_high());
        this.cleared.set(space.flush_low());
        this.found.set(false);
        this.phase.set(Phase::Tables);
        0
    }

    /// A sweep through the tables of the space.
    fn revoke_tables(&self) -> u32 {
        let this = &self.revocation;
        let space = self.space(this.space.get());
        let (low, high) = (this.low.get(), this.high.get().min(USER_END));
        if space.root() == NULL {
            self.revoke_regions(space);
            return SMALL_WORK;
        }
        if low == 0 && high == USER_END {
            self.pool_reset(space);
            self.revoke_regions(space);
            return SWEEP_WORK;
        }
        let cleared = self.machine.table_clear(space.root(), this.cleared.get(), high);
        if cleared.found {
            this.found.set(true);
            space.set_generation(space.generation() + 1);
        }
        if cleared.next < high {
            this.cleared.set(cleared.next);
            return SWEEP_WORK;
        }
        if this.found.get() && space.is_in_use() {
            self.machine.translations_flush(space.active(), space.root(), low, high);
        }
        self.revoke_regions(space);
        let entries = (high - low) / nacre_abi::PAGE_SIZE;
        if entries > 64 { SWEEP_WORK } else { SMALL_WORK + 12 * entries as u32 }
    }

    /// The tables are done: on with what the space exports.
    fn revoke_regions(&self, space: Space<'_>) {
        let first = self.regions(space).first(self.revocation.low.get(), self.revocation.high.get());
        self.revoke_through(first.map_or(NULL, |node| node.at));
    }

    /// Goes to this region; to the next space if it is none.
    fn revoke_through(&self, region: Physical) {
        let this = &self.revocation;
        this.region.set(region);
        if region == NULL {
            return this.phase.set(Phase::Space);
        }
        this.mapping.set(list::next(&self.machine, self.region(region).mappings()));
        this.phase.set(Phase::Mappings);
    }

    /// Puts the spaces of some of the mappings made from the region on the list.
    fn revoke_mappings(&self) -> u32 {
        let this = &self.revocation;
        let region = self.region(this.region.get());
        let (from, to) = if this.space.get() == NULL {
            (this.low.get(), this.high.get())
        } else {
            (this.low.get().max(region.start()) - region.start(), this.high.get().min(region.end()).saturating_sub(region.start()))
        };
        let mut node = this.mapping.get();
        for _ in 0..MAPPINGS {
            if node == region.mappings() {
                self.revoke_through(self.region_after(region));
                return SMALL_WORK;
            }
            self.revoke_derived(self.mapping(Physical(node.0 - 8 * 10)), from, to);
            node = list::next(&self.machine, node);
        }
        this.mapping.set(node);
        MAPPINGS_WORK
    }

    /// The next region that exports something of what is revoked; null if there is none.
    fn region_after(&self, region: Region<'_>) -> Physical {
        let this = &self.revocation;
        if this.space.get() == NULL {
            return NULL;
        }
        let regions = self.regions(self.space(this.space.get()));
        regions.next(crate::tree::Node::new(&self.machine, region.at), this.low.get(), this.high.get()).map_or(NULL, |node| node.at)
    }

    /// Revokes the part of `from..to` of a region that a mapping shows, if it shows any.
    fn revoke_derived(&self, mapping: Mapping<'_>, from: u64, to: u64) {
        if mapping.rights().is_view() {
            // Its pages can show any part of the region.
            return self.revoke_later(self.space_at_home(mapping.home()), mapping.start(), mapping.end());
        }
        let (first, last) = (mapping.offset(), mapping.offset() + mapping.size());
        if first < to && from < last {
            let low = mapping.start() + from.max(first) - first;
            let high = mapping.start() + to.min(last) - first;
            self.revoke_later(self.space_at_home(mapping.home()), low, high);
        }
    }

    /// Puts a space on the list: the first time for this range, the second time for all of it, and
    /// no third time.
    pub(crate) fn revoke_later(&self, space: Space<'_>, low: u64, high: u64) {
        let this = &self.revocation;
        if space.flush_number() != this.number.get() {
            space.set_flush_number(this.number.get());
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
            space.set_flush_next(this.list.replace(space.at));
        }
    }
}
