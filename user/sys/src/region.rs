//! Regions.

use nacre_abi::{Call, Rights, Status};

use crate::object::object;
use crate::{Reference, Space, raw};

object! {
    /// A window of a space that its owner exports, for others to map.
    Region, RegionState, RegionDestroy, RegionMove, RegionReference, RegionGetState, RegionSetState
}

impl Region {
    /// Makes a region in the free `slot` that exports `size` bytes from `start` of `space`. Faults
    /// that it cannot resolve go to the port behind `keeper`, unless that is [`Reference::NONE`].
    pub fn create(slot: u64, space: Space, start: u64, size: u64, rights: Rights, keeper: Reference) -> Result<Region, Status> {
        raw::call_long(Call::RegionCreate, [slot, space.0, start, size, rights.0, keeper.0, 0, 0]).map(|_| Region(slot))
    }
}
