//! Spaces.

use nacre_abi::{Call, Status, environment};

use crate::object::object;
use crate::{Reference, raw};

object! {
    /// An address space: an ordered set of mappings.
    Space, SpaceState, SpaceDestroy, SpaceMove, SpaceReference, SpaceGetState, SpaceSetState
}

impl Space {
    /// The caller's own, where a call asks for the space to work in.
    pub const OWN: Space = Space(0);
    /// The reference to its own space that every program is born with.
    pub const SELF: Space = Space(environment::SPACE);

    /// Makes an empty space in the free `slot`. The `pages` pages (at least 5) at `pool` are
    /// donated for its tables; exceptions of its threads go to `keeper`, a port or a reference with
    /// control over it, unless that is [`Reference::NONE`].
    pub fn create(slot: u64, pool: u64, pages: u64, keeper: Reference) -> Result<Space, Status> {
        raw::call(Call::SpaceCreate, [slot, pool, pages, keeper.0]).map(|_| Space(slot))
    }

    /// Donates `pages` more pages, at `pool`, for the space's tables.
    pub fn donate(self, pool: u64, pages: u64) -> Result<(), Status> {
        raw::call(Call::SpaceDonate, [self.0, pool, pages, 0]).map(drop)
    }
}
