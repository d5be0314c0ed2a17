//! Mappings.

use nacre_abi::{Call, Rights, Status};

use crate::object::object;
use crate::{Region, Space, raw};

object! {
    /// A window of a space that is filled from a region.
    Mapping, MappingState, MappingDestroy, MappingMove, MappingReference, MappingGetState, MappingSetState
}

impl Mapping {
    /// Makes a mapping in the free `slot`: `size` bytes from `start` of `space` show `region` from
    /// `offset` on, with `rights` of those that the region has.
    pub fn create(slot: u64, space: Space, start: u64, size: u64, region: Region, offset: u64, rights: Rights) -> Result<Mapping, Status> {
        raw::call_long(Call::MappingCreate, [slot, space.0, start, size, region.0, offset, rights.0, 0]).map(|_| Mapping(slot))
    }

    /// Makes a view in the free `slot`: a mapping that shows nothing but what is entered. Offsets
    /// count from the region's start.
    pub fn create_view(slot: u64, space: Space, start: u64, size: u64, region: Region, rights: Rights) -> Result<Mapping, Status> {
        Mapping::create(slot, space, start, size, region, 0, rights.union(Rights::VIEW))
    }

    /// Enters pages into a view, which is this mapping; how many were.
    ///
    /// # Errors
    /// Those of `view_enter` in the manual of calls.
    pub fn enter(self, pages: &[ViewPage]) -> Result<u64, Status> {
        raw::call(Call::ViewEnter, [self.0, pages.as_ptr() as u64, pages.len() as u64, 0]).map(|(entered, _)| entered)
    }

    /// Takes the pages of a range out of a view, which is this mapping.
    ///
    /// # Errors
    /// Those of `view_forget` in the manual of calls.
    pub fn forget(self, start: u64, size: u64) -> Result<(), Status> {
        raw::call(Call::ViewForget, [self.0, start, size, 0]).map(drop)
    }
}

/// A page to be entered into a view, as the kernel reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(C)]
pub struct ViewPage {
    place: u64,
    offset: u64,
}

impl ViewPage {
    /// The page at `address`, a multiple of the page size, with rights and flags
    /// (`VIEW_PRIVILEGED`, `VIEW_LARGE`), which shows the region's page at `offset`.
    pub fn new(address: u64, rights: Rights, flags: u64, offset: u64) -> ViewPage {
        ViewPage { place: address | rights.0 | flags, offset }
    }
}
