//! Accounts of memory: pools inside pools. What a pool uses counts against it and every pool around
//! it.

use crate::table::{Key, Table};
use alloc::collections::BTreeSet;
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
    ports: BTreeSet<u64>,
}

/// All pools; each is named by its key.
pub struct Pools {
    pools: Table<Pool>,
    refunds: u64,
}

/// Contents of a destroyed pool that have to be taken down.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Remains {
    /// Pools that were in it. They give nothing any more, and have contents of their own.
    pub pools: BTreeSet<Key>,
    /// Segments that were in it.
    pub segments: BTreeSet<u64>,
    /// Objects by which clients reach it.
    pub ports: BTreeSet<u64>,
}

impl Pool {
    fn new(parent: Option<Key>, depth: u32, limit: u64, is_data: bool) -> Pool {
        Pool { parent, depth, limit, used: 0, is_data, children: BTreeSet::new(), segments: BTreeSet::new(), ports: BTreeSet::new() }
    }
}

impl Pools {
    /// The outermost pool, of `limit` bytes.
    pub fn new(limit: u64) -> (Pools, Key) {
        let mut pools = Table::new();
        let outermost = pools.insert(Pool::new(None, 0, limit, false));
        (Pools { pools, refunds: 0 }, outermost)
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
        let key = self.pools.insert(Pool::new(Some(parent), depth, limit, is_data));
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
        self.refunds += 1;
        self.adjust(pool, |used| used.saturating_sub(bytes));
    }

    /// Number of refunds so far.
    pub fn refunds(&self) -> u64 {
        self.refunds
    }

    fn adjust(&mut self, pool: Key, change: impl Fn(u64) -> u64) {
        let mut at = Some(pool);
        while let Some(pool) = at.and_then(|key| self.pools.get_mut(key)) {
            pool.used = change(pool.used);
            at = pool.parent;
        }
    }

    /// `EIO`: the pool was destroyed, or one around it. What is being made for it is not given out.
    pub fn check(&self, pool: Key) -> Result<(), Errno> {
        let mut at = Some(pool);
        while let Some(key) = at {
            at = self.pools.get(key).ok_or(Errno::EIO)?.parent;
        }
        Ok(())
    }

    /// Notes that `segment` lives in `pool`.
    pub fn adopt(&mut self, pool: Key, segment: u64) {
        if let Some(pool) = self.pools.get_mut(pool) {
            pool.segments.insert(segment);
        }
    }

    /// Notes that clients reach `pool` by the object `port`.
    pub fn adopt_port(&mut self, pool: Key, port: u64) {
        if let Some(pool) = self.pools.get_mut(pool) {
            pool.ports.insert(port);
        }
    }

    /// Notes that the object `port` is gone.
    pub fn disown_port(&mut self, pool: Key, port: u64) {
        if let Some(pool) = self.pools.get_mut(pool) {
            pool.ports.remove(&port);
        }
    }

    /// Notes that `segment` is gone.
    pub fn disown(&mut self, pool: Key, segment: u64) {
        if let Some(pool) = self.pools.get_mut(pool) {
            pool.segments.remove(&segment);
        }
    }

    /// Removes `pool`, and gives back to the pools around it what it used. Pools in it give nothing
    /// from now on: [`Pools::open`] removes them, one at a time.
    pub fn destroy(&mut self, pool: Key) -> Result<Remains, Errno> {
        let (parent, used) = self.pools.get(pool).map(|pool| (pool.parent, pool.used)).ok_or(Errno::EIO)?;
        let parent = parent.ok_or(Errno::EPERM)?;
        self.refund(parent, used + RECORD_COST);
        if let Some(parent) = self.pools.get_mut(parent) {
            parent.children.remove(&pool);
        }
        Ok(self.open(pool))
    }

    /// Removes a pool of a destroyed one.
    pub fn open(&mut self, pool: Key) -> Remains {
        let removed = self.pools.remove(pool);
        removed.map_or_else(Remains::default, |pool| Remains { pools: pool.children, segments: pool.segments, ports: pool.ports })
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
        pools.adopt_port(middle, 5);
        let remains = pools.destroy(middle).unwrap();
        assert_eq!(remains, Remains { pools: [inner].into(), segments: [9].into(), ports: [5].into() });
        assert_eq!(pools.status(outermost), Ok((100_000, 0)));
        assert_eq!(pools.open(inner), Remains { pools: [].into(), segments: [7].into(), ports: [].into() });
        assert_eq!(pools.open(inner), Remains::default());
        assert_eq!(pools.destroy(outermost), Err(Errno::EPERM));
    }

    #[test]
    fn pools_in_a_destroyed_one_give_nothing_before_they_are_taken_down() {
        let (mut pools, outermost) = Pools::new(100_000);
        let middle = pools.create(outermost, 50_000, false).unwrap();
        let inner = pools.create(middle, 20_000, false).unwrap();
        assert_eq!(pools.check(inner), Ok(()));
        pools.destroy(middle).unwrap();
        assert_eq!((pools.check(inner), pools.charge(inner, 1)), (Err(Errno::EIO), Err(Errno::EIO)));
        assert_eq!(pools.create(inner, 1, false), Err(Errno::EIO));
        pools.refund(inner, 1);
        pools.destroy(inner).unwrap();
        assert_eq!(pools.status(outermost), Ok((100_000, 0)), "what the inner one had is given back once");
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
