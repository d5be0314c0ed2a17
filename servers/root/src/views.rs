//! Views: windows of this program's space that show contents of files as they are now, for others to map and to write.
//!
//! A view is addresses only. A page appears in it when somebody faults there, as a part of a mapping of physical memory; whatever the file gives up goes from
//! every view before it is used for anything else. Invariant: what a view shows is the file's that it is of, and its alone if the view can be written through.

use crate::memory;
use alloc::collections::BTreeMap;
use nacre_abi::Rights;
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::Errno;
use nacre_sys::{OwnedMapping, OwnedReference, OwnedRegion, Reference, Space};

/// Where views lie: behind what this program maps for itself.
const VIEWS: core::ops::Range<u64> = 0x3000_0000_0000..0x7000_0000_0000;
/// A view has room for its file to grow: its size is a multiple of this.
const STEP: u64 = 1 << 30;
/// Most views.
const MOST: usize = 2048;
/// Most mappings in all views; whoever needs one more does without those that it had.
const MOST_SHOWN: usize = 8192;

/// What is shown in one piece.
struct Shown {
    /// Where in memory.
    start: u64,
    size: u64,
    _mapping: OwnedMapping,
}

/// See the module's head.
struct View {
    base: u64,
    size: u64,
    region: OwnedRegion,
    /// By offset.
    shown: BTreeMap<u64, Shown>,
}

/// All views, by the word of the object that keeps each.
#[derive(Default)]
pub struct Views {
    all: BTreeMap<u64, View>,
    shown: usize,
}

impl Views {
    /// Adds a view of at least `size` bytes, whose faults go to the port behind `keeper`; its size, and a reference to its region.
    pub fn add(&mut self, word: u64, size: u64, writable: bool, keeper: Reference) -> Result<(u64, OwnedReference), Errno> {
        if self.all.len() >= MOST {
            return Err(Errno::ENOMEM);
        }
        let size = size.max(1).checked_next_multiple_of(STEP).ok_or(Errno::ENOMEM)?;
        let base = self.find_free(size).ok_or(Errno::ENOMEM)?;
        let read = Rights::READ.union(Rights::EXECUTE);
        // Never for objects: this program touches the memory itself.
        let rights = if writable { read.union(Rights::WRITE) } else { read };
        let region = OwnedRegion::new(Space::OWN, base, size, rights, keeper)?;
        let reference = region.new_reference(REFERENCE_USE)?;
        self.all.insert(word, View { base, size, region, shown: BTreeMap::new() });
        Ok((size, reference))
    }

    fn find_free(&self, size: u64) -> Option<u64> {
        let mut taken: alloc::vec::Vec<(u64, u64)> = self.all.values().map(|view| (view.base, view.base + view.size)).collect();
        taken.sort_unstable();
        let mut base = VIEWS.start;
        for (start, end) in taken {
            if start - base >= size {
                break;
            }
            base = end;
        }
        (VIEWS.end - base >= size).then_some(base)
    }

    /// Takes a view away; whatever was mapped from it shows nothing any more.
    pub fn remove(&mut self, word: u64) {
        let Some(view) = self.all.remove(&word) else { return };
        self.shown -= view.shown.len();
        // First the region, so that there is one revocation and not one for each mapping.
        drop(view.region);
    }

    /// Shows `size` bytes of memory from `start` on at `offset`, as far as that is not shown yet around `wanted`.
    pub fn show(&mut self, word: u64, wanted: u64, (offset, start, size): (u64, u64, u64)) -> Result<(), Errno> {
        if self.shown >= MOST_SHOWN {
            self.forget(word);
        }
        let view = self.all.get_mut(&word).ok_or(Errno::EIO)?;
        let before = view.shown.range(..=wanted).next_back().map_or(0, |(at, shown)| at + shown.size);
        let behind = view.shown.range(wanted..).next().map_or(view.size, |(at, _)| *at);
        if before > wanted || behind == wanted {
            // Another processor's fault has brought it already.
            return Ok(());
        }
        let (low, high) = (offset.max(before), (offset + size).min(behind));
        if self.shown >= MOST_SHOWN || low > wanted || high <= wanted {
            return Err(Errno::ENOMEM);
        }
        let start = start + (low - offset);
        let mapping = memory::show(start, view.base + low, high - low)?;
        view.shown.insert(low, Shown { start, size: high - low, _mapping: mapping });
        self.shown += 1;
        Ok(())
    }

    /// Lets a view show nothing; it will be faulted in again.
    fn forget(&mut self, word: u64) {
        if let Some(view) = self.all.get_mut(&word) {
            self.shown -= view.shown.len();
            view.shown.clear();
        }
    }

    /// Takes memory out of every view.
    pub fn hide(&mut self, start: u64, size: u64) {
        let end = start.saturating_add(size);
        for view in self.all.values_mut().filter(|view| !view.shown.is_empty()) {
            let before = view.shown.len();
            view.shown.retain(|_, shown| shown.start >= end || shown.start + shown.size <= start);
            self.shown -= before - view.shown.len();
        }
    }
}

