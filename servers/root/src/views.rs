//! Views: windows of this program's space that show contents of files as they are now, for others
//! to map and to write.
//!
//! A view is addresses only. A page appears in it when somebody faults there, as a part of a
//! mapping of physical memory; whatever the file gives up goes from every view before it is used
//! for anything else. Invariant: what a view shows is the file's that it is of, and its alone if
//! the view can be written through.

use crate::memory;
use alloc::collections::BTreeMap;
use nacre_abi::Rights;
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::Errno;
use nacre_sys::{OwnedMapping, OwnedReference, OwnedRegion, Reference, Space};

/// Addresses of views, behind what this program maps for itself.
const VIEWS: core::ops::Range<u64> = 0x3000_0000_0000..0x4000_0000_0000;
/// A view has room for its file to grow: its size is a multiple of this.
const STEP: u64 = 1 << 30;
/// Largest number of mappings in all views. A view that needs one more takes the place of the
/// oldest, which is faulted in again when it is touched.
const MAX_SHOWN: usize = 8192;

/// Range that is shown in one piece.
struct Shown {
    size: u64,
    /// Number of the range in [`Views::shown`].
    number: u64,
    _mapping: OwnedMapping,
}

/// View of a file. The head of this module describes it.
struct View {
    base: u64,
    size: u64,
    region: OwnedRegion,
    /// Ranges that the view shows, by offset.
    shown: BTreeMap<u64, Shown>,
}

/// A piece of memory that a view shows.
struct Piece {
    view: u64,
    offset: u64,
    start: u64,
    size: u64,
}

/// All views, by the word of the object that keeps each.
#[derive(Default)]
pub struct Views {
    all: BTreeMap<u64, View>,
    /// Sizes of the places of views, by address.
    places: BTreeMap<u64, u64>,
    /// Ranges that all views show, the oldest first.
    shown: BTreeMap<u64, Piece>,
    last: u64,
}

/// The size of a view that shows at least `size` bytes.
pub fn rounded(size: u64) -> Result<u64, Errno> {
    size.max(1).checked_next_multiple_of(STEP).filter(|size| *size <= VIEWS.end - VIEWS.start).ok_or(Errno::ENOMEM)
}

/// Returns the cost of addresses of a view. All addresses together cost as much as the largest
/// number of records that all clients together may have.
pub fn cost(size: u64) -> u64 {
    size / STEP * 1024
}

impl Views {
    /// Number of pieces that all views show.
    pub fn pieces(&self) -> usize {
        self.shown.len()
    }

    /// Adds a view of `size` bytes, as [`rounded`] gives them, whose faults go to the port behind
    /// `keeper`. Returns a reference to its region.
    pub fn add(&mut self, word: u64, size: u64, writable: bool, keeper: Reference) -> Result<OwnedReference, Errno> {
        let base = self.find_free(size).ok_or(Errno::ENOMEM)?;
        let read = Rights::READ.union(Rights::EXECUTE);
        // Never for objects: this program touches the memory itself.
        let rights = if writable { read.union(Rights::WRITE) } else { read };
        let region = OwnedRegion::new(Space::OWN, base, size, rights, keeper)?;
        let reference = region.new_reference(REFERENCE_USE)?;
        self.all.insert(word, View { base, size, region, shown: BTreeMap::new() });
        self.places.insert(base, size);
        Ok(reference)
    }

    fn find_free(&self, size: u64) -> Option<u64> {
        let mut base = VIEWS.start;
        for (start, taken) in &self.places {
            if start - base >= size {
                break;
            }
            base = start + taken;
        }
        (VIEWS.end - base >= size).then_some(base)
    }

    /// Takes a view away; whatever was mapped from it shows nothing any more.
    pub fn remove(&mut self, word: u64) {
        let Some(view) = self.all.remove(&word) else { return };
        self.places.remove(&view.base);
        for shown in view.shown.values() {
            self.shown.remove(&shown.number);
        }
        // First the region, so that there is one revocation and not one for each mapping.
        drop(view.region);
    }

    /// Shows `size` bytes of memory from `start` on at `offset`, as far as that is not shown yet
    /// around `wanted`.
    pub fn show(&mut self, word: u64, wanted: u64, (offset, start, size): (u64, u64, u64)) -> Result<(), Errno> {
        let view = self.all.get_mut(&word).ok_or(Errno::EIO)?;
        let before = view.shown.range(..=wanted).next_back().map_or(0, |(at, shown)| at + shown.size);
        let behind = view.shown.range(wanted..).next().map_or(view.size, |(at, _)| *at);
        if before > wanted || behind == wanted {
            // Another processor's fault has brought it already.
            return Ok(());
        }
        let (low, high) = (offset.max(before), (offset + size).min(behind));
        if low > wanted || high <= wanted {
            return Err(Errno::ENOMEM);
        }
        let (start, size) = (start + (low - offset), high - low);
        let mapping = memory::show(start, view.base + low, size)?;
        self.last += 1;
        view.shown.insert(low, Shown { size, number: self.last, _mapping: mapping });
        self.shown.insert(self.last, Piece { view: word, offset: low, start, size });
        while self.shown.len() > MAX_SHOWN && self.forget_oldest() {}
        Ok(())
    }

    fn forget_oldest(&mut self) -> bool {
        self.shown.first_key_value().map(|(number, _)| *number).is_some_and(|number| self.forget(number))
    }

    /// Takes a piece out of its view; it will be faulted in again.
    fn forget(&mut self, number: u64) -> bool {
        let Some(piece) = self.shown.remove(&number) else { return false };
        if let Some(view) = self.all.get_mut(&piece.view) {
            view.shown.remove(&piece.offset);
        }
        true
    }

    /// Takes memory out of every view.
    pub fn hide(&mut self, start: u64, size: u64) {
        let end = start.saturating_add(size);
        let is_there = |piece: &Piece| piece.start < end && piece.start + piece.size > start;
        let gone: alloc::vec::Vec<u64> = self.shown.iter().filter(|(_, piece)| is_there(piece)).map(|(number, _)| *number).collect();
        for number in gone {
            self.forget(number);
        }
    }
}
