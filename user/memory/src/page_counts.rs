//! Numbers of pages that pools have, so that no pool takes all: each leaves a part of what is left.

use alloc::collections::BTreeMap;
use nacre_proto::Errno;

/// Pages that one pool may be promised: so many times as many as it leaves.
pub(crate) const PROMISED_SHARE: u64 = 3;
/// Pages that one pool may touch: so many times as many as it leaves.
pub(crate) const TOUCHED_SHARE: u64 = 31;

/// Pages of one pool.
struct Pages {
    parent: Option<u64>,
    /// Pages of the pool alone.
    own: u64,
    /// Pages of it and of the pools within it.
    all: u64,
}

/// Pages by pools.
#[derive(Default)]
pub(crate) struct PageCounts(BTreeMap<u64, Pages>);

impl PageCounts {
    /// There is one more pool.
    pub(crate) fn add(&mut self, key: u64, parent: Option<u64>) {
        self.0.insert(key, Pages { parent, own: 0, all: 0 });
    }

    /// A pool has gone.
    pub(crate) fn remove(&mut self, key: u64) {
        self.0.remove(&key);
    }

    /// Returns the pages of a pool and of the pools within it.
    pub(crate) fn all(&self, key: u64) -> u64 {
        self.0.get(&key).map_or(0, |pages| pages.all)
    }

    /// A pool has `more` pages more, or less, and so has all that it lies in.
    pub(crate) fn count(&mut self, key: u64, more: i64) {
        let (mut at, mut own) = (Some(key), more);
        while let Some(pages) = at.and_then(|key| self.0.get_mut(&key)) {
            pages.own = pages.own.saturating_add_signed(own);
            pages.all = pages.all.saturating_add_signed(more);
            (at, own) = (pages.parent, 0);
        }
    }

    /// Checks that a pool may have `wanted` pages more of `free`: then it, and each pool around it,
    /// have at most `share` times as many as are free. So nobody takes all, however many pools it
    /// makes. Nobody is beside the outermost pool.
    pub(crate) fn check(&self, key: u64, wanted: u64, free: u64, share: u64) -> Result<(), Errno> {
        let Some(pages) = self.0.get(&key) else { return Ok(()) };
        let most = free.saturating_sub(wanted).saturating_mul(share);
        let mut has = pages.own;
        let mut around = Some(pages);
        while has.saturating_add(wanted) <= most {
            let Some(pages) = around.filter(|pages| pages.parent.is_some()) else { return Ok(()) };
            has = pages.all;
            around = pages.parent.and_then(|key| self.0.get(&key));
        }
        Err(Errno::ENOMEM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes single pages for a pool until it may have no more, of `free`.
    fn take_all(counts: &mut PageCounts, key: u64, free: &mut u64) -> u64 {
        let before = *free;
        while counts.check(key, 1, *free, PROMISED_SHARE).is_ok() {
            counts.count(key, 1);
            *free -= 1;
        }
        before - *free
    }

    #[test]
    fn each_pool_leaves_some_to_the_pools_beside_it_and_around_it() {
        let mut counts = PageCounts::default();
        counts.add(1, None);
        (2..6).for_each(|key| counts.add(key, Some(1)));
        let mut free = 1024;
        let taken = [2, 1, 3, 4].map(|key| take_all(&mut counts, key, &mut free));
        assert_eq!(taken, [768, 192, 48, 12]);
        assert_eq!((counts.all(1), counts.all(2), free), (1020, 768, 4));
        assert!(counts.check(9, 1, 0, 1).is_ok(), "no pool");
    }

    #[test]
    fn pools_within_a_pool_give_it_no_more() {
        let mut counts = PageCounts::default();
        counts.add(1, None);
        counts.add(2, Some(1));
        (3..100).for_each(|key| counts.add(key, Some(2)));
        let mut free = 1024;
        let taken: u64 = (3..100).map(|key| take_all(&mut counts, key, &mut free)).sum();
        assert_eq!((taken, take_all(&mut counts, 1, &mut free)), (768, 192));
        counts.count(3, -700);
        counts.remove(3);
        assert_eq!((counts.all(1), counts.all(2), counts.all(3)), (260, 68, 0));
    }
}
