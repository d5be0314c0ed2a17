//! Accounts of memory: pools inside pools. What a pool uses counts against it and every pool around
//! it.

use crate::table::{Key, Table};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use nacre_proto::Errno;

/// Bytes that a segment or a pool costs its pool beside its memory: the records about it.
pub const RECORD_COST: u64 = 512;

/// Maximum number of pools around a pool.
const MAX_DEPTH: u32 = 64;

struct Pool {
    parent: Option<Key>,
    depth: u32,
    limit: u64,
    used: u64,
    /// Set if no memory for kernel objects is taken from the pool.
    is_data: bool,
    children: BTreeSet<Key>,
    segments: BTreeSet<u64>,
}

/// All pools; each is named by its key.
pub struct Pools {
    pools: Table<Pool>,
}

/// Contents of a destroyed pool that have to be taken down.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Remains {
    /// The pools that are gone, the destroyed one first.
    pub pools: Vec<Key>,
    /// The segments that were in them.
    pub segments: Vec<u64>,
}

impl Pools {
    /// The outermost pool, of `limit` bytes.
    pub fn new(limit: u64) -> (Pools, Key) {
        let mut pools = Table::new();
        let outermost =
            pools.insert(Pool { parent: None, depth: 0, limit, used: 0, is_data: false, children: BTreeSet::new(), segments: BTreeSet::new() });
        (Pools { pools }, outermost)
    }

    /// Limit and use of a pool, in bytes. What the pools around it have left counts as well.
    pub fn status(&self, pool: Key) -> Result<(u64, u64), Errno> {
        let used = self.pools.get(pool).ok_or(Errno::EIO)?.used;
        let (mut left, mut at) = (u64::MAX, Some(pool));
        while let Some(pool) = at.and_then(|key| self.pools.get(key)) {
            left = left.min(pool.limit.saturating_sub(pool.used));
            at = pool.parent;
        }
        Ok((used.saturating_add(left), used))
    }

    /// Returns true if no memory for kernel objects is taken from the pool.
    pub fn is_data(&self, pool: Key) -> bool {
        self.pools.get(pool).is_some_and(|pool| pool.is_data)
    }

    /// Makes a pool of at most `limit` bytes inside `parent`, which pays for the record. It is for
    /// data alone if `is_data` says so, or if its parent is.
    pub fn create(&mut self, parent: Key, limit: u64, is_data: bool) -> Result<Key, Errno> {
        let around = self.pools.get(parent).ok_or(Errno::EIO)?;
        let (depth, is_data) = (around.depth + 1, is_data || around.is_data);
        if depth > MAX_DEPTH {
            return Err(Errno::ENOMEM);
        }
        self.pools.reserve()?;
        self.charge(parent, RECORD_COST)?;
        let pool = Pool { parent: Some(parent), depth, limit, used: 0, is_data, children: BTreeSet::new(), segments: BTreeSet::new() };
        let key = self.pools.insert(pool);
        self.pools.get_mut(parent).ok_or(Errno::EIO)?.children.insert(key);
        Ok(key)
    }

    /// Counts `bytes` against `pool` and those around it, or changes nothing and says `ENOMEM`.
    pub fn charge(&mut self, pool: Key, bytes: u64) -> Result<(), Errno> {
        let mut at = Some(pool);
        while let Some(key) = at {
            let pool = self.pools.get(key).ok_or(Errno::EIO)?;
            if pool.used.checked_add(bytes).is_none_or(|used| used > pool.limit) {
                return Err(Errno::ENOMEM);
            }
            at = pool.parent;
        }
        self.adjust(pool, |used| used + bytes);
        Ok(())
    }

    /// Takes back what [`charge`](Self::charge) counted.
    pub fn refund(&mut self, pool: Key, bytes: u64) {
        self.adjust(pool, |used| used.saturating_sub(bytes));
    }

    fn adjust(&mut self, pool: Key, change: impl Fn(u64) -> u64) {
        let mut at = Some(pool);
        while let Some(pool) = at.and_then(|key| self.pools.get_mut(key)) {
            pool.used = change(pool.used);
            at = pool.parent;
        }
    }

    /// Notes that `segment` lives in `pool`.
    pub fn adopt(&mut self, pool: Key, segment: u64) {
        if let Some(pool) = self.pools.get_mut(pool) {
            pool.segments.insert(segment);
        }
    }

    /// Notes that `segment` is gone.
    pub fn disown(&mut self, pool: Key, segment: u64) {
        if let Some(pool) = self.pools.get_mut(pool) {
            pool.segments.remove(&segment);
        }
    }

    /// Removes `pool` and every pool in it, and gives back to the pools around it what they used.
    pub fn destroy(&mut self, pool: Key) -> Result<Remains, Errno> {
        let (parent, used) = self.pools.get(pool).map(|pool| (pool.parent, pool.used)).ok_or(Errno::EIO)?;
        let parent = parent.ok_or(Errno::EPERM)?;
        self.refund(parent, used + RECORD_COST);
        if let Some(parent) = self.pools.get_mut(parent) {
            parent.children.remove(&pool);
        }
        let mut remains = Remains { pools: alloc::vec![pool], segments: Vec::new() };
        let mut next = 0;
        while let Some(&key) = remains.pools.get(next) {
            if let Some(pool) = self.pools.remove(key) {
                remains.pools.extend(pool.children);
                remains.segments.extend(pool.segments);
            }
            next += 1;
        }
        Ok(remains)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_cannot_use_more_than_any_pool_around_it() {
        let (mut pools, outermost) = Pools::new(10_000);
        let inner = pools.create(outermost, u64::MAX, false).unwrap();
        assert_eq!(pools.status(inner), Ok((9_488, 0)));
        assert_eq!(pools.charge(inner, 9_488), Ok(()));
        assert_eq!(pools.charge(inner, 1), Err(Errno::ENOMEM));
        assert_eq!(pools.status(inner), Ok((9_488, 9_488)));
        assert_eq!(pools.status(outermost), Ok((10_000, 10_000)));
        assert_eq!(pools.charge(inner, u64::MAX), Err(Errno::ENOMEM));
    }

    #[test]
    fn destroying_takes_everything_back() {
        let (mut pools, outermost) = Pools::new(100_000);
        let middle = pools.create(outermost, 50_000, false).unwrap();
        let inner = pools.create(middle, 20_000, false).unwrap();
        pools.charge(inner, 8_192).unwrap();
        pools.adopt(inner, 7);
        pools.charge(middle, 4_096).unwrap();
        pools.adopt(middle, 9);
        let remains = pools.destroy(middle).unwrap();
        assert_eq!(remains, Remains { pools: alloc::vec![middle, inner], segments: alloc::vec![9, 7] });
        assert_eq!(pools.status(outermost), Ok((100_000, 0)));
        assert_eq!(pools.charge(inner, 1), Err(Errno::EIO));
        assert_eq!(pools.destroy(outermost), Err(Errno::EPERM));
    }

    #[test]
    fn pools_for_data_hold_only_such_pools() {
        let (mut pools, outermost) = Pools::new(100_000);
        let data = pools.create(outermost, u64::MAX, true).unwrap();
        let inner = pools.create(data, u64::MAX, false).unwrap();
        let beside = pools.create(outermost, u64::MAX, false).unwrap();
        assert_eq!([outermost, data, inner, beside].map(|pool| pools.is_data(pool)), [false, true, true, false]);
    }

    #[test]
    fn depth_is_bounded() {
        let (mut pools, mut pool) = Pools::new(u64::MAX);
        for _ in 0..MAX_DEPTH {
            pool = pools.create(pool, u64::MAX, false).unwrap();
        }
        assert_eq!(pools.create(pool, 1, false), Err(Errno::ENOMEM));
    }
}
