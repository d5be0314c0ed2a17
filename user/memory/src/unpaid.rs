//! Segments that may be larger than what there is: a pool has their pages from when somebody
//! touches them.

use crate::keeper::{Dataspace, Keeper, errno};
use crate::page_counts::{PROMISED_SHARE, TOUCHED_SHARE};
use core::ops::Range;
use nacre_proto::Errno;

impl Keeper {
    /// Pages that the first manager can still promise.
    fn unpromised(&self) -> u64 {
        self.spaces.bank(0).map_or(0, |bank| bank.most().saturating_sub(bank.promised()))
    }

    /// Makes a segment whose pages are all promised. One pool is never promised all that there is:
    /// the rest is for pages that are promised when they are touched.
    pub(crate) fn create_paid(&mut self, pool: u64, count: u64) -> Result<u64, Errno> {
        if self.spaces.may_be_unpaid(0) {
            self.pools.promised().check(pool, count, self.unpromised(), PROMISED_SHARE)?;
        }
        self.add_dataspace(pool, count, |spaces| spaces.create(0, count))
    }

    /// Makes a segment whose pages are promised when they are touched. `must_fit`: it is refused
    /// if there is no room for it beside the pages that are in use now, whatever is promised.
    /// Without `must_fit` it may be of any size, so one pool leaves addresses for these to others.
    pub(crate) fn create_unpaid(&mut self, pool: u64, count: u64, must_fit: bool) -> Result<u64, Errno> {
        let bank = self.spaces.bank(0).ok_or(Errno::ENOMEM)?;
        let (here, away) = bank.population();
        if must_fit && count > bank.most().saturating_sub((here + away) as u64) {
            return Err(Errno::ENOMEM);
        }
        if !must_fit && count > self.spaces.small() {
            self.pools.reserved().check(pool, count, self.spaces.unpaid_left(), PROMISED_SHARE)?;
        }
        self.add_dataspace(pool, 0, |spaces| spaces.create_unpaid(0, count))
    }

    /// Notes that a new dataspace is not promised whole, if it is so.
    pub(crate) fn note_unpaid(&mut self, pool: u64, space: u64) {
        if self.spaces.is_unpaid(space) {
            self.unpaid.insert(space, (pool, 0));
            self.count_reserved(pool, space, 1);
        }
    }

    /// A dataspace is promised whole, or goes.
    pub(crate) fn end_unpaid(&mut self, space: u64) {
        if let Some((pool, _)) = self.unpaid.remove(&space) {
            self.count_reserved(pool, space, -1);
        }
    }

    fn count_reserved(&mut self, pool: u64, space: u64, sign: i64) {
        let count = self.spaces.pages(space).map_or(0, |pages| pages.end - pages.start);
        self.pools.count_reserved(pool, sign * count as i64);
    }

    /// Checks that the pool of a dataspace may have what comes when these pages are touched.
    pub(crate) fn check_due(&self, space: u64, pages: Range<u64>) -> Result<(), Errno> {
        let Some((pool, _)) = self.unpaid.get(&space) else { return Ok(()) };
        match self.spaces.due_of(pages) {
            0 => Ok(()),
            due => {
                self.pools.promised().check(*pool, due, self.unpromised(), TOUCHED_SHARE)?;
                self.pools.check(*pool, due)
            }
        }
    }

    /// Counts what was promised of a dataspace, or is no longer.
    pub(crate) fn recount(&mut self, space: u64) {
        let now = self.spaces.counted(space);
        if let Some((pool, counted)) = self.unpaid.get_mut(&space) {
            let more = now as i64 - *counted as i64;
            *counted = now;
            let pool = *pool;
            if more != 0 {
                self.pools.count(pool, more);
            }
        }
    }

    /// Has all of a dataspace promised: what is to be done with it needs all of it.
    pub(crate) fn pay_whole(&mut self, key: u64) -> Result<(), Errno> {
        let Some(Dataspace { pool, space, .. }) = self.dataspaces.get(&key) else { return Ok(()) };
        let (pool, space) = (*pool, *space);
        let Some((_, counted)) = self.unpaid.get(&space) else { return Ok(()) };
        let more = self.spaces.pages(space).map_or(0, |pages| pages.end - pages.start) - counted;
        self.pools.check(pool, more)?;
        self.spaces.pay_whole(space).map_err(errno)?;
        self.recount(space);
        self.end_unpaid(space);
        Ok(())
    }
}
