//! Dataspaces that may be larger than what their manager can keep: their pages are promised when
//! somebody touches them, a cluster at a time.
//!
//! Whatever needs all pages of such a dataspace - a copy, a transfer, another length - has the rest
//! promised first, or fails.

use super::{Node, Spaces};
use crate::bank::{CLUSTER, Trouble};
use crate::hands::Hands;
use crate::policy::Policy;
use crate::store::Store;
use alloc::collections::BTreeSet;
use core::ops::Range;

/// Part of all addresses that such dataspaces can have together: one in so many. So there are
/// always some for memory that is promised whole.
pub(super) const PART: u64 = 2;
/// Part of these that only small dataspaces can have: one address in so many.
const KEPT_PART: u64 = 16;
/// Small dataspaces for which that part is enough.
const SMALL_ONES: u64 = 8192;

/// Clusters of a dataspace that are promised.
#[derive(Debug, Default)]
pub(super) struct Paid {
    clusters: BTreeSet<u64>,
    /// Pages in them.
    pub(super) pages: u64,
}

/// Returns the number of pages of a dataspace in a cluster.
fn share(pages: &Range<u64>, cluster: u64) -> u64 {
    let (start, end) = (cluster * CLUSTER, (cluster + 1) * CLUSTER);
    end.min(pages.end).saturating_sub(start.max(pages.start))
}

impl<H: Hands, S: Store, P: Policy> Spaces<H, S, P> {
    /// Returns true if a manager can promise pages when they are touched.
    pub fn may_be_unpaid(&self, manager: usize) -> bool {
        self.banks.get(manager).is_some_and(|bank| !(bank.has_homes() || bank.store().keeps_all() || bank.store().is_origin()))
    }

    /// Number of pages left for dataspaces that are not promised whole.
    pub fn unpaid_left(&self) -> u64 {
        self.unpaid_left
    }

    /// Returns the most pages of a small dataspace, for which there are always addresses.
    pub fn small(&self) -> u64 {
        self.unpaid_all / KEPT_PART / SMALL_ONES
    }

    /// Returns true if there are addresses for so many pages more. Nobody takes all that is left,
    /// and what is large leaves enough for all that is small.
    fn has_addresses(&self, count: u64) -> bool {
        let left = self.unpaid_left;
        let leaves_some = count <= left / 2 && left - count >= self.unpaid_all / KEPT_PART;
        leaves_some || count <= self.small().min(left)
    }

    /// Makes a dataspace of zeros whose pages are promised when somebody touches them. Where pages
    /// have places of their own, all are promised at once.
    pub fn create_unpaid(&mut self, manager: usize, count: u64) -> Result<u64, Trouble> {
        if !self.may_be_unpaid(manager) {
            return self.create(manager, count);
        }
        if count == 0 || !self.has_addresses(count) {
            return Err(Trouble::Full);
        }
        let start = self.extents.take(count).ok_or(Trouble::Full)?;
        self.unpaid_left -= count;
        let paid = Some(Paid::default());
        self.nodes.insert(start, Node { manager, end: start + count, room: start + count, source: None, above: [].into(), below: None, paid });
        Ok(start)
    }

    /// Returns true if not all pages of a dataspace are promised.
    pub fn is_unpaid(&self, space: u64) -> bool {
        self.nodes.get(&space).is_some_and(|node| node.paid.is_some())
    }

    /// Returns the number of pages of a dataspace that are promised.
    pub fn counted(&self, space: u64) -> u64 {
        self.nodes.get(&space).map_or(0, |node| node.paid.as_ref().map_or(node.end - space, |paid| paid.pages))
    }

    /// Returns the number of pages to be promised before somebody may touch this one.
    pub fn due(&self, page: u64) -> u64 {
        let Some((space, node)) = self.at(page).and_then(|space| Some((space, self.nodes.get(&space)?))) else { return 0 };
        let is_due = node.paid.as_ref().is_some_and(|paid| !paid.clusters.contains(&(page / CLUSTER)));
        if is_due { share(&(space..node.end), page / CLUSTER) } else { 0 }
    }

    /// Returns the number of pages to be promised before somebody may touch all of these.
    pub fn due_of(&self, pages: Range<u64>) -> u64 {
        let first = pages.start;
        pages.filter(|page| *page == first || page % CLUSTER == 0).map(|page| self.due(page)).sum()
    }

    /// Promises the pages that come with this one.
    pub(super) fn pay(&mut self, space: u64, page: u64) -> Result<(), Trouble> {
        let due = self.due(page);
        if due == 0 {
            return Ok(());
        }
        let node = self.nodes.get_mut(&space).ok_or(Trouble::Lost)?;
        if !self.banks[node.manager].promise(due) {
            self.banks[node.manager].note_unanswered(Trouble::Full);
            return Err(Trouble::Full);
        }
        if let Some(paid) = &mut node.paid {
            paid.clusters.insert(page / CLUSTER);
            paid.pages += due;
        }
        Ok(())
    }

    /// Promises all pages of a dataspace that are not promised yet. `Full`: the manager cannot keep
    /// so many.
    pub fn pay_whole(&mut self, space: u64) -> Result<(), Trouble> {
        let Some(node) = self.nodes.get_mut(&space) else { return Ok(()) };
        let (Some(paid), count) = (&node.paid, node.end - space) else { return Ok(()) };
        if !self.banks[node.manager].promise(count - paid.pages) {
            return Err(Trouble::Full);
        }
        node.paid = None;
        self.unpaid_left += count;
        Ok(())
    }

    /// Clusters all of whose pages are zeros again need no promise.
    pub(super) fn release_cleared(&mut self, space: u64, pages: &Range<u64>) {
        let Some(node) = self.nodes.get_mut(&space) else { return };
        let (all, Some(paid)) = (space..node.end, &mut node.paid) else { return };
        let found = paid.clusters.range(pages.start / CLUSTER..pages.end.div_ceil(CLUSTER)).copied();
        let cleared: BTreeSet<u64> = found.filter(|cluster| share(pages, *cluster) == share(&all, *cluster)).collect();
        let count: u64 = cleared.iter().map(|cluster| share(&all, *cluster)).sum();
        paid.clusters.retain(|cluster| !cleared.contains(cluster));
        paid.pages -= count;
        self.banks[node.manager].release(count);
    }
}
