//! Attachments: regions of dataspaces, found by their keys and by their dataspaces.

use crate::tally::Tally;
use alloc::collections::{BTreeMap, BTreeSet};
use nacre_proto::Errno;
use nacre_sys::{OwnedPort, OwnedRegion};

/// A region that somebody has of a dataspace. It is an open file, too.
pub(crate) struct Attachment {
    pub(crate) dataspace: u64,
    pub(crate) region: OwnedRegion,
    /// True if the attachment came through a reference that owns the dataspace.
    pub(crate) owns: bool,
    /// Position and flags of the open file.
    pub(crate) position: u64,
    pub(crate) flags: u64,
    pub(crate) _ports: [OwnedPort; 2],
}

/// All attachments.
pub(crate) struct Attachments<A> {
    all: BTreeMap<u64, A>,
    by_dataspace: BTreeSet<(u64, u64)>,
    owners: BTreeMap<u64, u64>,
    tally: Tally,
}

impl<A> Default for Attachments<A> {
    fn default() -> Attachments<A> {
        Attachments { all: BTreeMap::new(), by_dataspace: BTreeSet::new(), owners: BTreeMap::new(), tally: Tally::default() }
    }
}

impl<A> Attachments<A> {
    /// Checks that a pool may have one more, where there are `most` in all.
    pub(crate) fn check(&self, pool: u64, most: usize) -> Result<(), Errno> {
        self.tally.check(pool, most)
    }

    pub(crate) fn get(&self, key: u64) -> Option<&A> {
        self.all.get(&key)
    }

    pub(crate) fn get_mut(&mut self, key: u64) -> Option<&mut A> {
        self.all.get_mut(&key)
    }

    /// Adds an attachment of a dataspace, which counts in a pool.
    pub(crate) fn add(&mut self, key: u64, (dataspace, pool): (u64, u64), attachment: A) {
        self.owners.insert(key, pool);
        self.tally.add(pool, key);
        self.all.insert(key, attachment);
        self.by_dataspace.insert((dataspace, key));
    }

    /// Removes an attachment of a dataspace.
    pub(crate) fn remove(&mut self, key: u64, dataspace: u64) {
        self.by_dataspace.remove(&(dataspace, key));
        if let Some(pool) = self.owners.remove(&key) {
            self.tally.remove(pool, key);
        }
        self.all.remove(&key);
    }

    /// Attachments of a dataspace.
    pub(crate) fn of(&self, dataspace: u64) -> impl Iterator<Item = &A> {
        self.by_dataspace.range((dataspace, 0)..=(dataspace, u64::MAX)).filter_map(|(_, key)| self.all.get(key))
    }

    /// Removes all attachments of a dataspace, and looks at no others.
    pub(crate) fn remove_all(&mut self, dataspace: u64) {
        while let Some((_, key)) = self.by_dataspace.range((dataspace, 0)..=(dataspace, u64::MAX)).next().copied() {
            self.remove(key, dataspace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dataspaces_attachments_go_alone() {
        let mut all = Attachments::default();
        for key in 0..12 {
            all.add(key, (key % 3, 1), key);
        }
        all.remove(4, 1);
        assert_eq!(all.of(1).copied().collect::<Vec<u64>>(), [1, 7, 10]);
        all.remove_all(1);
        assert_eq!((all.all.len(), all.of(1).count(), all.of(0).count(), all.get(7), all.get(8)), (8, 0, 4, None, Some(&8)));
    }
}
