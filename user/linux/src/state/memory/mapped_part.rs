//! A part of the program's memory: what is mapped there, and what a fork does with it.

use crate::abi::errno::{ENOMEM, Errno};
use crate::raw::debugger;
use crate::services::heap_room;
use crate::services::segment::Segment;
use crate::state::files::open_file::OpenFile;
use crate::state::memory::address_map::{Backing, Map};
use crate::state::memory::page_copies::{Bank, Pages};
use crate::state::memory::registered::Registered;
use alloc::rc::Rc;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_abi::state::MappingState;
use nacre_rt::heap;
use nacre_sys::{Mapping, OwnedMapping, OwnedReference, Region, Space};

/// Lowest address that a program may map.
pub const LOWEST: u64 = 0x1_0000;
/// Highest address of areas, which are placed downward from here.
pub const HIGHEST: u64 = 0x7000_0000_0000;
/// Size from which asking the memory server for fresh pages costs less than zeroing old ones.
pub const CLEARED_BY_SERVER: u64 = 0x4000;

/// Contents of an area of the program.
pub enum Fill {
    /// The library's own: the program may do with it what these rights say, and not change it.
    Library(Rights),
    /// Reserved addresses without memory.
    Reserved,
    /// Pages behind a file's end, with the rights that they would have if the file were longer.
    Beyond(Rights),
    /// A part of a segment, or of a file.
    Own(Part),
}

impl Fill {
    /// Returns true if other processes see what is written.
    pub fn is_shared(&self) -> bool {
        matches!(self, Fill::Own(part) if part.shared)
    }

    /// Returns true if pages are brought when they are touched.
    pub fn is_paged(&self) -> bool {
        matches!(self, Fill::Own(part) if part.segment.as_ref().is_some_and(|segment| segment.is_paged()))
    }
}

impl Backing for Fill {
    fn split(&mut self, offset: u64) -> Result<Fill, Errno> {
        let part = match self {
            Fill::Library(rights) => return Ok(Fill::Library(*rights)),
            Fill::Reserved => return Ok(Fill::Reserved),
            Fill::Beyond(rights) => return Ok(Fill::Beyond(*rights)),
            Fill::Own(part) => part,
        };
        let segment = part.segment()?;
        let second = part.cut(segment, offset)?;
        let origin = part.origin.as_ref().map(|(file, at)| (file.clone(), at + offset));
        let pages = part.pages.split_off(second.state.start);
        Ok(Fill::Own(Part { writable: part.writable, shared: part.shared, lent: part.lent, at_fork: part.at_fork, pages, registered: part.registered, tracked: part.tracked, origin, ..second }))
    }
}

/// A mapping, wherever it lies.
pub enum Shown {
    /// Made here.
    Made(OwnedMapping),
    /// Made by the parent.
    Given(OwnedMapping),
}

impl Shown {
    pub(super) fn handle(&self) -> Mapping {
        match self {
            Shown::Made(mapping) | Shown::Given(mapping) => mapping.handle(),
        }
    }
}

/// A mapping and what it shows.
pub struct Part {
    pub(super) shown: Shown,
    /// Looked up when it is needed, if the parent made the mapping.
    pub segment: Option<Rc<Segment>>,
    pub state: MappingState,
    /// Set if mappings may be writable. Memory that a fork has left to both processes may be
    /// written by neither: see [`lazy`].
    pub writable: bool,
    /// Set if the process and a fork's child see each other's writes.
    pub shared: bool,
    /// Private memory that another process sees and writes, too, as `CLONE_VM` has it.
    pub(super) lent: bool,
    /// Policy for a fork's child.
    pub at_fork: AtFork,
    /// Copies of pages of a lazy part, which stand in front of what it shows.
    pub(super) pages: Pages,
    /// The user-fault file that is told of faults at it, and which.
    pub(super) registered: Option<Registered>,
    /// Set if writes are noted: pages that were written stand in front.
    pub(super) tracked: bool,
    /// The file that a private copy was made of, and where in it the part starts.
    pub origin: Option<(Rc<OpenFile>, u64)>,
}

impl Part {
    /// Maps `size` bytes of a segment from `offset` on at `start`.
    pub fn create(segment: Rc<Segment>, start: u64, size: u64, offset: u64, rights: Rights) -> Result<Part, Errno> {
        debugger::change_begins();
        let region = Region::through(segment.region());
        let mapping = OwnedMapping::new(Space::OWN, start, size, region, offset, rights).map_err(|_| ENOMEM)?;
        let state = MappingState { start, size, offset, rights: rights.0, ..MappingState::default() };
        let writable = segment.is_writable();
        Ok(Part { shown: Shown::Made(mapping), segment: Some(segment), state, writable, shared: false, lent: false, at_fork: AtFork::Copied, pages: Pages::default(), registered: None, tracked: false, origin: None })
    }

    /// Makes the part for a mapping of the parent's at `start`, with these rights.
    pub fn given(mapping: Mapping, start: u64, size: u64, rights: Rights, writable: bool) -> Part {
        let state = MappingState { start, size, rights: rights.0, ..MappingState::default() };
        let shown = Shown::Given(OwnedMapping::adopt(mapping));
        Part { shown, segment: None, state, writable, shared: false, lent: false, at_fork: AtFork::Copied, pages: Pages::default(), registered: None, tracked: false, origin: None }
    }

    /// Returns the segment and offset that a fork's child shares, or `None` if it gets a copy.
    /// `shares`: the child shares all memory.
    pub fn shown_to_all(&mut self, shares: bool) -> Result<Option<(Rc<Segment>, u64)>, Errno> {
        if self.writable && !self.shared && !shares || self.at_fork == AtFork::Wiped {
            return Ok(None);
        }
        Ok(Some((self.segment()?, self.state.offset)))
    }

    /// Runs `read` while what is shown may be read.
    pub fn while_readable<T>(&mut self, read: impl FnOnce(&Part) -> T) -> Result<T, Errno> {
        let rights = Rights(self.state.rights);
        if let Some(registered) = self.registered {
            return self.while_all_shown(registered, read);
        }
        if rights.contains(Rights::READ) {
            return Ok(read(self));
        }
        self.protect(effective(rights.union(Rights::READ)))?;
        let result = read(self);
        self.protect(rights)?;
        Ok(result)
    }

    /// Returns true if a user-fault file is told of its faults.
    pub fn is_telling(&self) -> bool {
        self.registered.is_some_and(|registered| registered.hides())
    }

    /// Returns the pages of a range that are there, of a part whose file brings them.
    pub fn present(&self, start: u64, end: u64) -> impl Iterator<Item = u64> {
        self.pages.range(start, end).map(|(page, _)| page)
    }

    /// Runs `read` while all of it is shown to be read, present or not.
    fn while_all_shown<T>(&mut self, registered: Registered, read: impl FnOnce(&Part) -> T) -> Result<T, Errno> {
        self.set(MappingState { rights: Rights::READ.0, ..self.state })?;
        self.pages.protect(Rights::READ)?;
        let result = read(self);
        self.pages.protect(registered.rights)?;
        self.set(MappingState { rights: registered.shown().0, ..self.state })?;
        Ok(result)
    }

    /// The segment that processes share it through, and where in it the part starts.
    pub fn meeting_place(&self) -> Option<(Rc<Segment>, u64)> {
        let segment = self.segment.as_ref().filter(|_| self.shared)?;
        Some((segment.clone(), self.state.offset))
    }

    /// Returns true for private memory that is no file's, nor a copy of one.
    pub fn is_anonymous(&self) -> bool {
        let is_own = self.writable || self.segment.as_ref().is_some_and(|segment| segment.port().is_some());
        !self.shared && self.origin.is_none() && is_own
    }

    /// Returns true if the memory is the process's own, or shared, and may be written.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// Returns true if a touch of it may find that there is no memory.
    pub fn may_be_short(&self) -> bool {
        self.segment.as_ref().is_some_and(|segment| segment.may_be_short())
    }

    /// Leaves the mapping as it is.
    pub fn leave(self) {
        core::mem::forget(self.shown);
    }

    /// The segment behind it.
    pub(super) fn segment(&mut self) -> Result<Rc<Segment>, Errno> {
        if let Some(segment) = &self.segment {
            return Ok(segment.clone());
        }
        if heap::lacks_room(heap_room::PART) {
            return Err(ENOMEM);
        }
        let (region, space) = (OwnedReference::null().map_err(|_| ENOMEM)?, OwnedReference::null().map_err(|_| ENOMEM)?);
        let mapping = self.shown.handle();
        let state = mapping.get_state_and_links(&[region.handle(), space.handle()]).map_err(|_| ENOMEM)?;
        self.state.offset = state.offset;
        Ok(self.segment.insert(Segment::given(region, self.writable)).clone())
    }

    pub(super) fn set(&mut self, state: MappingState) -> Result<(), Errno> {
        debugger::change_begins();
        self.shown.handle().set_state(&state).map_err(|_| ENOMEM)?;
        self.state = state;
        Ok(())
    }

    pub fn move_to(&mut self, start: u64) -> Result<(), Errno> {
        self.segment()?;
        let before = self.state.start;
        self.set(MappingState { start, ..self.state })?;
        self.pages.move_by(before, start)
    }

    /// Cuts the mapping at `offset`: the second part. It comes as an overlay first, so that other
    /// threads never find nothing, but where copies of pages stand in the way.
    fn cut(&mut self, segment: Rc<Segment>, offset: u64) -> Result<Part, Errno> {
        let before = self.state;
        let (start, size, rights) = (before.start + offset, before.size - offset, Rights(before.rights));
        let in_front = Part::create(segment.clone(), start, size, before.offset + offset, rights.union(Rights::OVER));
        self.set(MappingState { size: offset, ..before })?;
        let second = match in_front {
            Ok(mut second) => second.set(MappingState { rights: rights.0, ..second.state }).map(|()| second),
            Err(_) => Part::create(segment, start, size, before.offset + offset, rights),
        };
        if second.is_err() {
            self.set(before)?;
        }
        second
    }

    /// Changes the rights. What may not be written through a mapping is only shown, and whoever
    /// writes gets a copy first.
    pub fn protect(&mut self, rights: Rights) -> Result<(), Errno> {
        self.pages.protect(rights)?;
        let rights = match &mut self.registered {
            Some(registered) => registered.change(rights),
            None if self.writable && !self.tracked => rights,
            None => read_only(rights),
        };
        if self.state.rights == rights.0 {
            return Ok(());
        }
        self.segment()?;
        self.set(MappingState { rights: rights.0, ..self.state })
    }
}

/// Policy for memory in a fork's child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AtFork {
    /// Copied or shared, as it is.
    #[default]
    Copied,
    /// Left out: the child has no memory there.
    Left,
    /// Wiped: the child has zeros there.
    Wiped,
}

/// Returns the rights that a processor can tell apart: writable or executable memory is readable.
pub fn effective(rights: Rights) -> Rights {
    if rights == Rights::NONE { rights } else { rights.union(Rights::READ) }
}

/// Returns the effective rights without writing.
pub fn read_only(rights: Rights) -> Rights {
    rights.intersect(Rights::READ.union(Rights::EXECUTE))
}

/// Number of faults in a row of a thread at one page that is there, while nothing changes, before
/// the page counts as not there.
pub const MAX_LATE: u32 = 4;
/// Number of faults in a row of a thread at one page, whatever changes.
const MAX_LATE_AT_PAGE: u32 = 1000;

/// A thread's faults at a page that the map has: each may have met a change under way, or come
/// after another thread had the page changed.
#[derive(Clone, Copy, Default)]
pub struct Late {
    page: u64,
    /// Changes of the map that there had been at the last one.
    changes: u64,
    since_change: u32,
    at_page: u32,
}

impl Late {
    /// Returns true if a fault at `address` may have been late, and the access can be made again:
    /// `most` times in a row while nothing changes.
    pub(super) fn is_late(&mut self, address: u64, changes: u64, most: u32) -> bool {
        let page = address & !(PAGE_SIZE - 1);
        if self.page != page {
            *self = Late { page, changes, ..Late::default() };
        }
        if self.changes != changes {
            (self.changes, self.since_change) = (changes, 0);
        }
        self.since_change += 1;
        self.at_page += 1;
        self.since_change <= most && self.at_page <= MAX_LATE_AT_PAGE
    }
}

/// State of lazy areas.
#[derive(Default)]
pub struct Lazy {
    /// There are, or were, some.
    pub(super) any: bool,
    /// Range that was copied last.
    pub(super) last: (u64, u64),
    /// Number of pieces that have taken the place of shared memory.
    pub(super) replaced: u64,
    /// Source of copies of pages.
    pub(super) bank: Bank,
}

impl Lazy {
    /// Finds out if some of the areas are lazy.
    pub fn among(map: &Map<Fill>) -> Lazy {
        Lazy { any: map.areas().any(|area| matches!(&area.backing, Fill::Own(part) if part.is_lazy())), ..Lazy::default() }
    }

    /// Notes what was copied.
    pub(super) fn copied(&mut self, start: u64, end: u64) {
        self.last = (start, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_faults_end_where_nothing_changes() {
        let mut late = Late::default();
        assert!((0..MAX_LATE).all(|_| late.is_late(0x5008, 1, MAX_LATE)));
        assert!(!late.is_late(0x5000, 1, MAX_LATE));
        assert!(late.is_late(0x5000, 2, MAX_LATE), "something has changed");
        assert!(late.is_late(0x6000, 2, MAX_LATE), "another page");
        assert!((1..2000).map(|changes| late.is_late(0x6000, changes, MAX_LATE)).any(|is_late| !is_late));
    }
}
