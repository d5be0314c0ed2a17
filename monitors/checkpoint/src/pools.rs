//! Pools of memory inside each other: how much each may have, and how much is taken of it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_snapshot::image;

/// The pool that is the environment's own. It never goes.
pub const OUTERMOST: u64 = 0;
/// Maximum number of pools.
const MAX_POOLS: usize = 16384;
/// Maximum number of pools inside each other.
const MAX_DEPTH: usize = 64;

/// A pool.
#[derive(Debug)]
struct Pool {
    parent: Option<u64>,
    limit: u64,
    used: u64,
}

/// All pools, by their numbers. The number of a pool is above that of the pool around it.
#[derive(Debug)]
pub struct Pools {
    all: BTreeMap<u64, Pool>,
    next: u64,
}

impl Pools {
    /// The outermost pool alone, with this limit in bytes.
    pub fn new(limit: u64) -> Pools {
        Pools { all: BTreeMap::from([(OUTERMOST, Pool { parent: None, limit, used: 0 })]), next: OUTERMOST + 1 }
    }

    /// Pools as an image tells of them, within one of this limit; `None` if they make no sense.
    pub fn from_image(limit: u64, pools: &[image::Pool]) -> Option<Pools> {
        let mut made = Pools::new(limit);
        for pool in pools {
            let is_new = pool.number >= made.next && pool.number < u64::MAX && made.all.contains_key(&pool.parent) && made.all.len() < MAX_POOLS;
            if !is_new || made.around(pool.parent).count() >= MAX_DEPTH {
                return None;
            }
            made.all.insert(pool.number, Pool { parent: Some(pool.parent), limit: pool.limit, used: 0 });
            made.next = pool.number + 1;
        }
        Some(made)
    }

    /// Returns all but the outermost one, for an image.
    pub fn to_image(&self) -> Vec<image::Pool> {
        self.all.iter().filter_map(|(number, pool)| Some(image::Pool { number: *number, parent: pool.parent?, limit: pool.limit })).collect()
    }

    /// Returns true if there is a pool with this number.
    pub fn has(&self, number: u64) -> bool {
        self.all.contains_key(&number)
    }

    /// A pool and all around it, from the inside out.
    fn around(&self, number: u64) -> impl Iterator<Item = &Pool> {
        core::iter::successors(self.all.get(&number), |pool| self.all.get(&pool.parent?))
    }

    /// Takes bytes from a pool and all around it. `ENOMEM`: one has too few left. `EIO`: the pool
    /// has gone.
    pub fn charge(&mut self, number: u64, size: u64) -> Result<(), Errno> {
        if !self.has(number) {
            return Err(Errno::EIO);
        }
        if self.around(number).any(|pool| pool.used.checked_add(size).is_none_or(|used| used > pool.limit)) {
            return Err(Errno::ENOMEM);
        }
        self.change(number, |used| used + size);
        Ok(())
    }

    /// Gives bytes back to a pool and all around it.
    pub fn refund(&mut self, number: u64, size: u64) {
        self.change(number, |used| used.saturating_sub(size));
    }

    fn change(&mut self, number: u64, change: impl Fn(u64) -> u64) {
        let mut next = Some(number);
        while let Some(pool) = next.and_then(|number| self.all.get_mut(&number)) {
            pool.used = change(pool.used);
            next = pool.parent;
        }
    }

    /// Makes a pool within another: its number.
    pub fn create(&mut self, parent: u64, limit: u64) -> Result<u64, Errno> {
        match () {
            () if !self.has(parent) => Err(Errno::EIO),
            () if limit == 0 => Err(Errno::EINVAL),
            () if self.all.len() >= MAX_POOLS || self.around(parent).count() >= MAX_DEPTH => Err(Errno::ENOMEM),
            () => {
                let number = self.next;
                self.next += 1;
                self.all.insert(number, Pool { parent: Some(parent), limit, used: 0 });
                Ok(number)
            }
        }
    }

    /// The limit of a pool, as far as those around it have as much, and what is used of it.
    pub fn status(&self, number: u64) -> Result<(u64, u64), Errno> {
        let used = self.all.get(&number).ok_or(Errno::EIO)?.used;
        let left = self.around(number).map(|pool| pool.limit.saturating_sub(pool.used)).min().unwrap_or(0);
        Ok((used.saturating_add(left), used))
    }

    /// Removes a pool and all inside it: their numbers. Memory that was taken from them is to be
    /// given back before.
    pub fn remove(&mut self, number: u64) {
        for inside in self.inside(number) {
            self.all.remove(&inside);
        }
    }

    /// Returns the numbers of a pool and of all inside it.
    pub fn inside(&self, number: u64) -> Vec<u64> {
        let mut found = Vec::from([number]);
        // The pool around another has the smaller number, so it was met before.
        for (inner, pool) in self.all.range(number.saturating_add(1)..) {
            if pool.parent.is_some_and(|parent| found.binary_search(&parent).is_ok()) {
                found.push(*inner);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_has_what_all_around_it_have() {
        let mut pools = Pools::new(100);
        let outer = pools.create(OUTERMOST, 60).unwrap();
        let inner = pools.create(outer, 1000).unwrap();
        assert_eq!(pools.charge(inner, 61), Err(Errno::ENOMEM));
        assert_eq!(pools.charge(inner, 40), Ok(()));
        assert_eq!((pools.status(inner), pools.status(outer), pools.status(OUTERMOST)), (Ok((60, 40)), Ok((60, 40)), Ok((100, 40))));
        assert_eq!(pools.charge(OUTERMOST, 50), Ok(()));
        assert_eq!(pools.status(inner), Ok((50, 40)));
        pools.refund(inner, 40);
        assert_eq!(pools.status(OUTERMOST), Ok((100, 50)));
        assert_eq!(pools.charge(inner, u64::MAX), Err(Errno::ENOMEM));
    }

    #[test]
    fn what_is_inside_goes_along() {
        let mut pools = Pools::new(100);
        let outer = pools.create(OUTERMOST, 60).unwrap();
        let other = pools.create(OUTERMOST, 60).unwrap();
        let inner = pools.create(outer, 60).unwrap();
        assert_eq!(pools.inside(outer), [outer, inner]);
        pools.remove(outer);
        assert_eq!((pools.has(inner), pools.has(other)), (false, true));
        assert_eq!(pools.charge(inner, 1), Err(Errno::EIO));
        assert_eq!(pools.create(outer, 1), Err(Errno::EIO));
    }

    #[test]
    fn pools_are_as_many_and_as_deep_as_they_may_be() {
        let mut pools = Pools::new(100);
        let mut number = OUTERMOST;
        for _ in 1..MAX_DEPTH {
            number = pools.create(number, 5).unwrap();
        }
        assert_eq!(pools.create(number, 5), Err(Errno::ENOMEM));
        assert_eq!(pools.create(OUTERMOST, 0), Err(Errno::EINVAL));
        let again = Pools::from_image(100, &pools.to_image()).unwrap();
        assert_eq!(again.to_image(), pools.to_image());
        for wrong in [image::Pool { number: 0, parent: 0, limit: 1 }, image::Pool { number: 2, parent: 2, limit: 1 }, image::Pool { number: u64::MAX, parent: 0, limit: 1 }] {
            assert!(Pools::from_image(100, &[wrong]).is_none());
        }
    }
}
