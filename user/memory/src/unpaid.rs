//! Segments that may be larger than what there is: a pool has their pages from when somebody
//! touches them.

use crate::keeper::{Dataspace, Keeper, errno};
use core::ops::Range;
use nacre_proto::Errno;

impl Keeper {
    /// Notes that a new dataspace is not promised whole, if it is so.
    pub(crate) fn note_unpaid(&mut self, pool: u64, space: u64) {
        if self.spaces.is_unpaid(space) {
            self.unpaid.insert(space, (pool, 0));
        }
    }

    /// Checks that the pool of a dataspace may have what comes when these pages are touched.
    pub(crate) fn check_due(&self, space: u64, pages: Range<u64>) -> Result<(), Errno> {
        let Some((pool, _)) = self.unpaid.get(&space) else { return Ok(()) };
        match self.spaces.due_of(pages) {
            0 => Ok(()),
            due => self.pools.check(*pool, due),
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
        self.unpaid.remove(&space);
        Ok(())
    }
}
