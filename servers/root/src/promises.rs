//! Promises: segments that have addresses at once, and memory only where somebody has touched them.
//!
//! A promise is a window of this program's space, exported by a region whose keeper is this
//! program. A fault brings a *cluster*: a run of frames that lies around the page, mapped into the
//! window. This program never touches the memory: the kernel fills each page with zeros for whoever
//! touches it. Clusters grow while faults follow each other, so that a large area costs few faults,
//! and an area that is touched here and there takes little. Invariant: a frame is in one cluster,
//! and seen through that alone.

use crate::memory::{self, DATA};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::state::{MappingState, RegionState};
use nacre_abi::PAGE_SIZE;
use nacre_proto::Errno;
use nacre_sys::{OwnedMapping, OwnedPort, OwnedReference, OwnedRegion, Space};

/// Segments that may be promised are promised from this size on. Smaller ones take their memory at
/// once, which saves a fault.
pub const LEAST: u64 = 8 * PAGE_SIZE;
/// Addresses of promises: behind those of views, and before those of coloured memory.
const PROMISES: Range<u64> = 0x4000_0000_0000..0x7000_0000_0000;
/// Size of the first cluster: as many pages as the kernel fills with zeros at once.
const FIRST: u64 = 4 * PAGE_SIZE;
/// Size of the largest cluster, in a promise that has little memory and in one that has much.
const LARGEST: Range<u64> = 2 << 20..8 << 20;
/// Number of clusters after which the next ones are twice as large, since each has a record here
/// and a mapping in the kernel.
const MANY: u64 = 128;

/// Number of clusters that are cut in one piece of work.
const AT_ONCE: usize = 32;
/// Number of clusters beside each other that are looked at to tell how long a part is.
const MAX_LOOKED: usize = 64;

/// Memory behind a part of a promise.
struct Cluster {
    start: u64,
    size: u64,
    mapping: OwnedMapping,
}

impl Cluster {
    /// The state of its mapping, which is `all` now, if it is to show a part alone.
    fn part(&self, all: &MappingState, part: Range<u64>) -> MappingState {
        MappingState { start: all.start + part.start, size: part.end - part.start, offset: all.offset + part.start, ..*all }
    }

    /// Makes a part zeros, neither the beginning nor the end. The part is shown nowhere
    /// meanwhile: the kernel would have to look at all of this program's space if the frames were
    /// shown in two places there.
    fn blank(&self, part: Range<u64>) {
        let all = self.mapping.get_state();
        let _ = all.and_then(|all| self.mapping.set_state(&self.part(&all, 0..part.start)));
        memory::blank(self.start + part.start, part.end - part.start);
        let _ = all.and_then(|all| self.mapping.set_state(&all));
    }
}

/// A run of memory that nobody sees: first byte, as a physical offset, and size.
pub type Run = (u64, u64);

/// A segment that takes memory only where somebody touches it.
pub struct Promise {
    base: u64,
    size: u64,
    region: Option<OwnedRegion>,
    /// Port at which faults arrive. It goes after the region.
    keeper: Option<OwnedPort>,
    clusters: BTreeMap<u64, Cluster>,
    taken: u64,
    /// The cluster that came last.
    last: Range<u64>,
    /// Addresses that are kept for it, also after all that is mapped there.
    room: Room,
}

/// Addresses of a promise, which are given back when nothing is mapped there any more: what is
/// mapped at the same place meanwhile would be hidden by what is still there.
#[derive(Default)]
struct Room {
    base: u64,
    size: u64,
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.size != 0 {
            ADDRESSES.lock().give(self.base, self.size);
        }
    }
}

/// Free addresses by their starts. Those that were given back lie behind [`next`](Addresses::next)
/// only until nothing else is free.
struct Addresses {
    next: u64,
    free: BTreeMap<u64, u64>,
    /// Bytes that nobody has.
    left: u64,
}

static ADDRESSES: nacre_sys::lock::Lock<Addresses> = nacre_sys::lock::Lock::new(Addresses::new());

/// Returns true if there are addresses for a promise. One that exceeds its pool leaves an eighth of
/// all addresses to others, since it costs its client nothing.
pub fn has_addresses(size: u64, exceeds_pool: bool) -> bool {
    ADDRESSES.lock().has(size.next_multiple_of(LARGEST.start), exceeds_pool)
}

impl Addresses {
    const fn new() -> Addresses {
        Addresses { next: PROMISES.start, free: BTreeMap::new(), left: PROMISES.end - PROMISES.start }
    }

    fn has(&self, size: u64, exceeds_pool: bool) -> bool {
        let kept = if exceeds_pool { (PROMISES.end - PROMISES.start) / 8 } else { 0 };
        self.left.checked_sub(size).is_some_and(|left| left >= kept)
            && (PROMISES.end - self.next >= size || self.free.values().any(|found| *found >= size))
    }

    fn take(&mut self, size: u64) -> Option<u64> {
        if PROMISES.end - self.next >= size {
            self.next += size;
            self.left -= size;
            return Some(self.next - size);
        }
        let (start, found) = self.free.iter().find(|(_, found)| **found >= size).map(|(start, found)| (*start, *found))?;
        self.free.remove(&start);
        self.left -= size;
        if found > size {
            self.free.insert(start + size, found - size);
        }
        Some(start)
    }

    fn give(&mut self, start: u64, size: u64) {
        self.left += size;
        let (mut start, mut end) = (start, start + size);
        if let Some((before, size)) = self.free.range(..start).next_back().map(|(before, size)| (*before, *size)).filter(|(before, size)| before + size == start) {
            self.free.remove(&before);
            start -= size;
        }
        if let Some(size) = self.free.remove(&end) {
            end += size;
        }
        if end == self.next {
            self.next = start;
        } else {
            self.free.insert(start, end - start);
        }
    }
}

/// The cluster to bring for a fault at `page`: it lies in `gap`, where there is none yet.
fn choose(page: u64, gap: Range<u64>, last: &Range<u64>, (count, taken): (u64, u64)) -> Range<u64> {
    let least = FIRST << (count / MANY).min(u64::from((LARGEST.start / FIRST).ilog2()));
    let most = (taken / 16).next_power_of_two().clamp(LARGEST.start, LARGEST.end);
    let follows = page == last.end || page + PAGE_SIZE == last.start || (last.end..last.end + FIRST).contains(&page);
    let size = if follows { (2 * (last.end - last.start)).next_power_of_two().clamp(least, most) } else { least };
    let start = page & !(size - 1);
    start.max(gap.start)..(start + size).min(gap.end)
}

impl Promise {
    /// A promise of `size` bytes, whole pages, that nobody has yet.
    pub fn new(size: u64) -> Result<Promise, Errno> {
        let room = size.next_multiple_of(LARGEST.start);
        let base = ADDRESSES.lock().take(room).ok_or(Errno::ENOMEM)?;
        Ok(Promise { base, room: Room { base, size: room }, size, region: None, keeper: None, clusters: BTreeMap::new(), taken: 0, last: 0..0 })
    }

    /// Makes its region, whose faults go to `keeper`; a reference to it.
    pub fn export(&mut self, keeper: OwnedPort) -> Result<OwnedReference, Errno> {
        let region = OwnedRegion::new(Space::OWN, self.base, self.size, DATA, keeper.handle().as_keeper())?;
        self.keeper = Some(keeper);
        Ok(self.region.insert(region).new_reference(REFERENCE_USE)?)
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes of memory that it has.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Number of its clusters.
    pub fn clusters(&self) -> u64 {
        self.clusters.len() as u64
    }

    /// The part from `offset` on that has memory, or the beginning of a long one; empty if none
    /// has.
    pub fn next_part(&self, offset: u64) -> Range<u64> {
        let around = self.clusters.range(..=offset).next_back().filter(|(at, cluster)| **at + cluster.size > offset).map(|(at, _)| *at);
        let mut parts = self.clusters.range(around.unwrap_or(offset)..);
        let Some((at, first)) = parts.next() else { return self.size..self.size };
        let (start, mut end) = ((*at).max(offset), at + first.size);
        for (at, cluster) in parts.take(MAX_LOOKED) {
            if *at != end {
                break;
            }
            end += cluster.size;
        }
        start.min(self.size)..end.min(self.size)
    }

    /// Clusters that can be brought for a fault at `offset`, the best first, each half as large as
    /// the one before. `None`: the page is there.
    pub fn choices(&self, offset: u64) -> Result<Option<impl Iterator<Item = Range<u64>>>, Errno> {
        let page = offset & !(PAGE_SIZE - 1);
        if page >= self.size {
            return Err(Errno::ENXIO);
        }
        let before = self.clusters.range(..=page).next_back().map_or(0, |(at, cluster)| at + cluster.size);
        // A cluster can lie behind the end, if a cut has left it there.
        let behind = self.clusters.range(page..).next().map_or(self.size, |(at, _)| (*at).min(self.size));
        if before > page || behind == page {
            return Ok(None);
        }
        let best = choose(page, before..behind, &self.last, (self.clusters(), self.taken));
        let first = best.clone();
        let half = move |range: &Range<u64>| {
            let size = (range.end - range.start).next_power_of_two() / 2;
            let start = page & !(size.max(PAGE_SIZE) - 1);
            (size >= PAGE_SIZE).then(|| start.max(best.start)..(start + size).min(best.end))
        };
        Ok(Some(core::iter::successors(Some(first), half)))
    }

    /// Brings a cluster of those that [`choices`](Promise::choices) gave.
    pub fn bring(&mut self, range: Range<u64>) -> Result<(), Errno> {
        let size = range.end - range.start;
        let start = memory::allocate(size).ok_or(Errno::ENOMEM)?;
        let mapping = memory::show(start, self.base + range.start, size).inspect_err(|_| memory::free(start, size))?;
        self.clusters.insert(range.start, Cluster { start, size, mapping });
        self.taken += size;
        self.last = range;
        Ok(())
    }

    /// Checks that a part consists of whole pages of it.
    pub fn check(&self, offset: u64, size: u64) -> Result<Range<u64>, Errno> {
        let end = offset.checked_add(size).filter(|end| *end <= self.size && (offset | size).is_multiple_of(PAGE_SIZE));
        end.map(|end| offset..end).ok_or(Errno::EINVAL)
    }

    /// Returns the first piece of a part: as much of it as may be cut at once. The rest, if there
    /// is any, is another part.
    pub fn first_piece(&self, part: &Range<u64>) -> Range<u64> {
        let first = self.first_in(part);
        let last = self.clusters.range(first..part.end.max(first)).nth(AT_ONCE - 1);
        part.start..last.map_or(part.end, |(at, cluster)| part.end.min(at + cluster.size))
    }

    /// The start of the cluster at the beginning of a part, or of the part.
    fn first_in(&self, part: &Range<u64>) -> u64 {
        let before = self.clusters.range(..=part.start).next_back();
        before.filter(|(at, cluster)| **at + cluster.size > part.start).map_or(part.start, |(at, _)| *at)
    }

    /// Returns the number of runs that a piece of a part can have at most.
    pub fn runs_at_once(&self, part: &Range<u64>) -> usize {
        let first = self.first_in(part);
        self.clusters.range(first..part.end.max(first)).take(AT_ONCE).count()
    }

    /// Takes the memory of a piece, whole pages, away: nobody sees it any more. Whoever touches the
    /// piece next finds zeros. Adds the runs that are to be given back to `returned`, which has
    /// room for them. If `may_split` is false, it makes no more clusters than there are: a cluster
    /// that would become two keeps its memory, made zeros.
    pub fn cut(&mut self, piece: Range<u64>, may_split: bool, returned: &mut Vec<Run>) {
        let mut from = self.first_in(&piece);
        while from < piece.end
            && let Some((&at, cluster)) = self.clusters.range(from..piece.end).next()
        {
            from = at + cluster.size;
            returned.extend(self.cut_cluster(at, &piece, may_split));
        }
    }

    /// Takes what lies in `piece` from a cluster, and returns it; `None` if the cluster keeps it,
    /// made zeros.
    fn cut_cluster(&mut self, at: u64, piece: &Range<u64>, may_split: bool) -> Option<Run> {
        let cluster = self.clusters.get(&at)?;
        let (low, high) = (at.max(piece.start), (at + cluster.size).min(piece.end));
        if low >= high {
            return None;
        }
        let run = (cluster.start + (low - at), high - low);
        if run.1 == cluster.size {
            self.clusters.remove(&at);
        } else if !may_split && at < low && high < at + cluster.size {
            cluster.blank(low - at..high - at);
            return None;
        } else if self.leave_rest(at, low..high).is_err() {
            // The cluster keeps its frames. There was no memory for another mapping.
            memory::blank(run.0, run.1);
            return None;
        }
        self.taken -= run.1;
        Some(run)
    }

    /// Makes a cluster show all but `gone`, which is a part of it. Its mapping shows the larger
    /// rest, and another one the smaller. An error changes nothing.
    fn leave_rest(&mut self, at: u64, gone: Range<u64>) -> Result<(), Errno> {
        let Some(cluster) = self.clusters.get(&at) else { return Ok(()) };
        let all = cluster.mapping.get_state()?;
        let before = cluster.part(&all, 0..gone.start - at);
        let behind = cluster.part(&all, gone.end - at..cluster.size);
        let (kept, other) = if before.size >= behind.size { (before, behind) } else { (behind, before) };
        cluster.mapping.set_state(&kept)?;
        let start_of = |state: &MappingState| cluster.start + (state.start - all.start);
        let other = (other.size != 0).then_some((start_of(&other), other));
        let shown = match other.map(|(start, other)| memory::show(start, other.start, other.size)) {
            Some(Err(status)) => return cluster.mapping.set_state(&all).map_err(Errno::from).and(Err(status.into())),
            Some(Ok(mapping)) => other.map(|(start, other)| (other.start, Cluster { start, size: other.size, mapping })),
            None => None,
        };
        let start = start_of(&kept);
        if let Some(Cluster { mapping, .. }) = self.clusters.remove(&at) {
            self.clusters.insert(kept.start - self.base, Cluster { start, size: kept.size, mapping });
        }
        self.clusters.extend(shown.map(|(start, cluster)| (start - self.base, cluster)));
        Ok(())
    }

    /// Makes it shorter or longer, as far as addresses are kept for it. What it has behind its new
    /// end is to be [`cut`](Promise::cut).
    pub fn resize(&mut self, size: u64) -> Result<(), Errno> {
        if size > self.room.size {
            return Err(Errno::ENOMEM);
        }
        if let Some(region) = &self.region {
            region.set_state(&RegionState { size, ..region.get_state()? })?;
        }
        self.size = size;
        Ok(())
    }

    /// Takes all of it from everybody. What it had is given back cluster by cluster.
    pub fn dismantle(mut self) -> Clusters {
        // First the region, so that there is one revocation and not one for each cluster.
        self.region = None;
        Clusters { clusters: core::mem::take(&mut self.clusters), _room: core::mem::take(&mut self.room) }
    }
}

/// All that a promise had. There may be so many clusters that there is no memory for a list.
#[derive(Default)]
pub struct Clusters {
    clusters: BTreeMap<u64, Cluster>,
    /// Addresses at which they are, after them.
    _room: Room,
}

impl Clusters {
    /// Returns true if nothing is left.
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// Takes one out.
    pub fn pop(&mut self) -> Option<Run> {
        self.clusters.pop_first().map(|(_, cluster)| (cluster.start, cluster.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn clusters_grow_while_faults_follow_each_other() {
        let (mut last, mut count) = (0..0, 0);
        let mut sizes = Vec::new();
        while last.end < 16 * MIB {
            last = choose(last.end, last.end..1 << 30, &last, (count, last.end));
            sizes.push(last.end - last.start);
            count += 1;
        }
        assert_eq!(sizes[..4], [FIRST, FIRST, 2 * FIRST, 4 * FIRST]);
        assert!(sizes.iter().all(|size| *size <= LARGEST.start));
        assert!(sizes.len() < 20, "{sizes:?}");
        assert_eq!(choose(64 * MIB, 16 * MIB..1 << 30, &last, (count, 16 * MIB)), 64 * MIB..64 * MIB + FIRST);
    }

    #[test]
    fn a_stack_grows_downward() {
        let last = 8 * MIB - FIRST..8 * MIB;
        let next = choose(8 * MIB - FIRST - PAGE_SIZE, 0..8 * MIB - FIRST, &last, (1, FIRST));
        assert_eq!(next, 8 * MIB - 2 * FIRST..8 * MIB - FIRST);
        assert_eq!(choose(8 * MIB - 2 * FIRST - PAGE_SIZE, 0..8 * MIB - 2 * FIRST, &next, (2, 2 * FIRST)), 8 * MIB - 4 * FIRST..8 * MIB - 2 * FIRST);
    }

    #[test]
    fn many_clusters_are_large_ones() {
        assert_eq!(choose(64 * MIB, 0..1 << 30, &(0..0), (MANY, MIB)), 64 * MIB..64 * MIB + 2 * FIRST);
        assert_eq!(choose(64 * MIB, 0..1 << 30, &(0..0), (100 * MANY, MIB)), 64 * MIB..66 * MIB);
    }

    #[test]
    fn addresses_come_back() {
        let mut addresses = Addresses::new();
        let all = PROMISES.end - PROMISES.start;
        let first = addresses.take(MIB).unwrap();
        let second = addresses.take(all - 2 * MIB).unwrap();
        let third = addresses.take(MIB).unwrap();
        assert_eq!(addresses.take(MIB), None);
        addresses.give(first, MIB);
        assert_eq!(addresses.take(MIB), Some(first));
        addresses.give(first, MIB);
        addresses.give(third, MIB);
        addresses.give(second, all - 2 * MIB);
        assert_eq!((addresses.next, addresses.free.len(), addresses.left), (PROMISES.start, 0, all));
    }

    #[test]
    fn promises_beyond_all_memory_leave_addresses_to_others() {
        let mut addresses = Addresses::new();
        let mut size = 1 << 46;
        while size >= MIB {
            if addresses.has(size, true) {
                addresses.take(size).unwrap();
            } else {
                size /= 2;
            }
        }
        assert!(addresses.has((PROMISES.end - PROMISES.start) / 8, false) && !addresses.has(MIB, true));
    }
}
