//! Limits of the child's pools. Each has a pool below, from which memory comes that must stay.
//! Pageable memory is counted here.

use crate::page_counts::PageCounts;
use crate::tally::Tally;
use alloc::collections::BTreeMap;
use nacre_dataspaces::PAGE;
use nacre_proto::{Errno, memory};
use nacre_sys::{OwnedPort, OwnedReference, Reference};

/// Maximum of pools at a time.
const MOST: usize = 1024;

/// Key of no pool, for dataspaces that count in none: each of their pages has its place in a file.
pub(crate) const NO_POOL: u64 = 0;

/// One pool.
pub struct Pool {
    /// The pool below.
    real: OwnedReference,
    parent: Option<u64>,
    /// Bytes that it may have in all.
    limit: u64,
    /// Ports of the pool.
    pub ports: Ports,
}

/// Ports of a pool: of its owner, and of those that share it, find data alone there, find no names
/// there, or find neither.
pub type Ports = [OwnedPort; 5];

/// All of them.
#[derive(Default)]
pub struct Pools {
    all: BTreeMap<u64, Pool>,
    /// Pools by those that they lie in.
    within: Tally,
    /// Pageable pages that are promised.
    promised: PageCounts,
    /// Pageable pages that have addresses, and are promised when they are touched.
    reserved: PageCounts,
}

impl Pools {
    /// Adds a pool, within another one or not.
    pub fn add(&mut self, key: u64, parent: Option<u64>, real: OwnedReference, limit: u64, ports: Ports) -> Result<(), Errno> {
        self.within.check(parent.unwrap_or(NO_POOL), MOST)?;
        self.within.add(parent.unwrap_or(NO_POOL), key);
        self.promised.add(key, parent);
        self.reserved.add(key, parent);
        self.all.insert(key, Pool { real, parent, limit, ports });
        Ok(())
    }

    /// Returns a pool.
    pub fn get(&self, key: u64) -> Result<&Pool, Errno> {
        self.all.get(&key).ok_or(Errno::ENOENT)
    }

    /// Returns the pool below, from which memory comes that stays.
    pub fn real(&self, key: u64) -> Result<Reference, Errno> {
        Ok(self.get(key)?.real.handle())
    }

    /// Bytes that a pool can still have, and bytes that it has. All that it lies in must have as
    /// many left.
    fn left(&self, key: u64) -> Result<(u64, u64), Errno> {
        let (mut at, mut left, mut used) = (Some(key), u64::MAX, None);
        while let Some(key) = at {
            let pool = self.get(key)?;
            let below = memory::status(pool.real.handle())?;
            let has = below.used.saturating_add(self.promised.all(key) * PAGE as u64);
            left = left.min(pool.limit.saturating_sub(has));
            used = used.or(Some(has));
            at = pool.parent;
        }
        Ok((left, used.unwrap_or(0)))
    }

    /// Limit and use of a pool, in bytes.
    pub fn status(&self, key: u64) -> Result<(u64, u64), Errno> {
        self.left(key).map(|(left, used)| (used.saturating_add(left), used))
    }

    /// Checks that a pool, and each pool around it, may have `pages` more pages.
    pub fn check(&self, key: u64, pages: u64) -> Result<(), Errno> {
        if key == NO_POOL {
            return Ok(());
        }
        let (left, _) = self.left(key)?;
        if pages.saturating_mul(PAGE as u64) <= left { Ok(()) } else { Err(Errno::ENOMEM) }
    }

    /// Pageable pages that are promised, by pool.
    pub(crate) fn promised(&self) -> &PageCounts {
        &self.promised
    }

    /// Pageable pages that are promised when they are touched, by pool.
    pub(crate) fn reserved(&self) -> &PageCounts {
        &self.reserved
    }

    /// A pool has `more` pages more, or less, and so has all that it lies in.
    pub fn count(&mut self, key: u64, more: i64) {
        self.promised.count(key, more);
    }

    /// A pool has addresses for `more` pages more, or less, and so has all that it lies in.
    pub fn count_reserved(&mut self, key: u64, more: i64) {
        self.reserved.count(key, more);
    }

    /// A pool within this one, or this one.
    pub fn innermost(&self, key: u64) -> u64 {
        let mut found = key;
        while let Some(within) = self.within.first_of(found) {
            found = within;
        }
        found
    }

    /// Returns true if the pool exists.
    pub fn has(&self, key: u64) -> bool {
        self.all.contains_key(&key)
    }

    /// A pool has gone, with all that lay in it.
    pub fn remove(&mut self, key: u64) {
        if let Some(pool) = self.all.remove(&key) {
            self.promised.remove(key);
            self.reserved.remove(key);
            self.within.remove(pool.parent.unwrap_or(NO_POOL), key);
            // If it is gone already, what was in it is, too.
            let _ = memory::pool_destroy(pool.real.handle());
        }
    }
}
