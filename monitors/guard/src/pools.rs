//! Pools of memory that the child gets: with names, or without.

use crate::closure::Proof;
use crate::guardian::{Asked, Guardian, UNKNOWN};
use crate::subject::{Kind, MEMORY, Tag};
use nacre_abi::rights::REFERENCE_USE;
use nacre_nest::interpose::ReferenceRule;
use nacre_proto::dataspace::identify;
use nacre_proto::flags::POOL_NAMELESS;
use nacre_proto::reference::Type;
use nacre_proto::{Errno, memory};
use nacre_sys::Reference;

/// Puts a reference that leads to no names in place of a reference to a pool.
fn take_names(slot: Reference) -> Result<(), Errno> {
    let nameless = memory::share(slot, POOL_NAMELESS)?.pool;
    slot.destroy()?;
    Ok(nameless.handle().reference(Reference::create(slot.address())?, REFERENCE_USE)?)
}

impl Guardian {
    /// A pool of memory. If the policy does not allow names, a reference that leads to none takes
    /// its place, so that all else can be asked past the guard.
    pub(crate) fn pool(&self, asked: &Asked, slot: Reference) -> ReferenceRule<Tag, Proof> {
        let has_names = self.policy.decide(identify::LABEL, MEMORY).allowed;
        if !has_names && take_names(slot).is_err() {
            return UNKNOWN;
        }
        self.pass(asked, (Type::Pool, MEMORY, Kind::Plain), |label| !has_names && label == identify::LABEL)
    }
}
