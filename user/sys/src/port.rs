//! Ports: the server's ends of channels.

use nacre_abi::{Call, Status};

use crate::object::object;
use crate::{PortSet, Reference, raw};

object! {
    /// The server's end of a channel.
    Port, PortState, PortDestroy, PortMove, PortReference, PortGetState, PortSetState
}

impl Port {
    /// Makes a port in the free `slot`; `word` is handed to whoever receives from it. It joins
    /// `set`, unless that is [`PortSet::NONE`].
    pub fn create(slot: u64, word: u64, set: PortSet) -> Result<Port, Status> {
        raw::call(Call::PortCreate, [slot, word, set.0, 0]).map(|_| Port(slot))
    }

    /// Names the port itself where a call makes it a keeper or a scheduler: a reference that only
    /// sends is refused there.
    pub const fn as_keeper(self) -> Reference {
        Reference(self.0)
    }
}
