//! Numbers of things that clients have, so that none takes all: each has at most three times what
//! is free, which is three quarters for one that is alone.

use alloc::collections::{BTreeMap, BTreeSet};
use nacre_proto::Errno;

/// Part that one owner may have of what is free: so many times as much.
const SHARE: usize = 3;

/// Things by their owners.
#[derive(Default)]
pub(crate) struct Tally {
    members: BTreeSet<(u64, u64)>,
    counts: BTreeMap<u64, usize>,
}

impl Tally {
    /// Checks that an owner may have one more, where there are `most` in all.
    pub(crate) fn check(&self, owner: u64, most: usize) -> Result<(), Errno> {
        let free = most.saturating_sub(self.members.len());
        let has = self.counts.get(&owner).copied().unwrap_or(0);
        if has < free * SHARE { Ok(()) } else { Err(Errno::ENOMEM) }
    }

    /// An owner has one more.
    pub(crate) fn add(&mut self, owner: u64, key: u64) {
        if self.members.insert((owner, key)) {
            *self.counts.entry(owner).or_insert(0) += 1;
        }
    }

    /// An owner has one less.
    pub(crate) fn remove(&mut self, owner: u64, key: u64) {
        if self.members.remove(&(owner, key))
            && let Some(count) = self.counts.get_mut(&owner)
        {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&owner);
            }
        }
    }

    /// Finds one of the things that an owner has.
    pub(crate) fn first_of(&self, owner: u64) -> Option<u64> {
        self.members.range((owner, 0)..=(owner, u64::MAX)).next().map(|(_, key)| *key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_all_leaves_a_quarter_and_the_next_one_a_quarter_of_that() {
        let mut tally = Tally::default();
        for owner in 1..4 {
            for key in 0.. {
                if tally.check(owner, 64).is_err() {
                    break;
                }
                tally.add(owner, owner * 100 + key);
            }
        }
        assert_eq!((tally.counts[&1], tally.counts[&2], tally.counts[&3]), (48, 12, 3));
        tally.remove(1, 100);
        tally.remove(1, 100);
        assert_eq!((tally.members.len(), tally.first_of(1), tally.first_of(9)), (62, Some(101), None));
    }
}
