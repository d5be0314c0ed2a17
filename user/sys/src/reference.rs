//! References: the client's ends, capabilities to ports and to any other object.

use nacre_abi::object::TargetType;
use nacre_abi::{Call, Status, environment};

use crate::object::object;
use crate::raw;

object! {
    /// The client's end of a channel, or a capability to any other object. Its `reference` verb
    /// copies it.
    Reference, ReferenceState, ReferenceDestroy, ReferenceMove, ReferenceReference, ReferenceGetState, ReferenceSetState
}

/// Place in the caller's own memory of the target of a reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Revealed {
    /// Address of the object.
    pub address: u64,
    /// Number of its [`ObjectType`](nacre_abi::ObjectType).
    pub kind: u64,
}

impl Reference {
    /// The null reference, for calls that may do without one.
    pub const NONE: Reference = Reference(0);
    /// The parent's port.
    pub const PARENT: Reference = Reference(environment::PARENT);

    /// Makes a null reference in the free `slot`.
    pub fn create(slot: u64) -> Result<Reference, Status> {
        raw::call(Call::ReferenceCreate, [slot, 0, 0, 0]).map(|_| Reference(slot))
    }

    /// Returns the place of the target if it lies in `size` bytes from `start` of the caller's own
    /// memory.
    pub fn reveal(self, start: u64, size: u64) -> Result<Option<Revealed>, Status> {
        let (address, kind) = raw::call(Call::ReferenceReveal, [self.0, start, size, 0])?;
        Ok((address != 0).then_some(Revealed { address, kind }))
    }

    /// Returns true if the reference leads nowhere: the target is gone, or there never was one.
    pub fn is_null(self) -> Result<bool, Status> {
        Ok(self.get_state()?.target == TargetType::Null as u64)
    }

    /// Makes it lead nowhere.
    pub fn clear(self) -> Result<(), Status> {
        self.set_state(&nacre_abi::state::ReferenceState::default())
    }
}
