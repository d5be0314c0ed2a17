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
}
