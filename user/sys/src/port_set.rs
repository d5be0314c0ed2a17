//! Sets of ports that are received from together.

use nacre_abi::{Call, Status};

use crate::object::object;
use crate::raw;

object! {
    /// Several ports that are received from together.
    PortSet, PortSetState, PortSetDestroy, PortSetMove, PortSetReference, PortSetGetState, PortSetSetState
}

impl PortSet {
    /// The null set: the port belongs to no set.
    pub const NONE: PortSet = PortSet(0);

    /// Makes an empty set in the free `slot`.
    pub fn create(slot: u64) -> Result<PortSet, Status> {
        raw::call(Call::PortSetCreate, [slot, 0, 0, 0]).map(|_| PortSet(slot))
    }
}
