//! Page tables for the program's memory.

use crate::abi::errno::{ENOMEM, Errno};
use crate::services::segment::Segment;
use crate::state::memory::Memory;
use crate::state::memory::address_map::Area;
use crate::state::memory::mapped_part::{Fill, HIGHEST, LOWEST};
use crate::state::memory::page_table_pool::{AT_ONCE, MAX_BORN, OWN, SPARE, needed};
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_sys::{OwnedMapping, Region, Space};

/// Promised areas of more bytes may be larger than the memory that there is.
const LARGE: u64 = 128 << 20;

impl Memory {
    /// Something is mapped that was not: donates pages if there are not enough. Without memory for
    /// that, all is as it was, and slower.
    pub(super) fn provide_tables(&mut self, start: u64, end: u64) {
        if self.tables.add(start, end) {
            self.count_tables();
        }
    }

    /// Notes that an area may be larger than the memory that there is.
    pub(super) fn promise_tables(&mut self, size: u64) {
        if size > LARGE && self.tables.most == u64::MAX {
            let limit = nacre_rt::memory::pool().ok().and_then(|pool| nacre_proto::memory::status(pool).ok()).map_or(u64::MAX, |pool| pool.limit);
            self.tables.most = limit.max(LARGE);
        }
    }

    /// Checks the tables at the start of a fork's child, whose parent has given it only some.
    pub fn check_tables(&mut self) {
        if self.tables.pages >= MAX_BORN {
            self.count_tables();
        }
    }

    fn count_tables(&mut self) {
        let shows = |area: &&Area<Fill>| matches!(area.backing, Fill::Own(_));
        let needed = OWN + needed(self.map.areas().filter(shows).map(|area| (area.start, self.tables.end_of((area.start, area.end)))));
        self.tables.bound = needed;
        // The more areas there are, the longer counting takes, and the less often it is to be done.
        let wanted = needed + needed / 8 + self.map.areas().count() as u64 / 64 + 2 * SPARE;
        if needed + SPARE > self.tables.pages {
            // What was donated before an error counts.
            let _ = self.donate(wanted - self.tables.pages);
        }
        self.tables.limit = if needed <= self.tables.pages { self.tables.pages } else { wanted };
    }

    fn donate(&mut self, pages: u64) -> Result<(), Errno> {
        let size = pages * PAGE_SIZE;
        let segment = Segment::for_tables(size)?;
        let away = self.map.find_free(size, LOWEST, HIGHEST).ok_or(ENOMEM)?;
        let rights = Rights::READ.union(Rights::WRITE).union(Rights::OBJECTS);
        let _shown = OwnedMapping::new(Space::OWN, away, size, Region::through(segment.region()), 0, rights).map_err(|_| ENOMEM)?;
        // Some of it may be tables soon: then it must not go before the space does.
        core::mem::forget(segment);
        for done in (0..pages).step_by(AT_ONCE as usize) {
            let count = (pages - done).min(AT_ONCE);
            Space::OWN.donate(away + done * PAGE_SIZE, count).map_err(|_| ENOMEM)?;
            self.tables.pages += count;
        }
        Ok(())
    }
}
