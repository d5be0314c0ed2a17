//! References to a dataspace that allow less than its own: made when somebody asks for one.

use crate::words::{READ, SHARED};
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::Errno;
use nacre_sys::{OwnedPort, OwnedReference, Port, PortSet};

/// Ports of a dataspace: for its owner, for those who share it, and for those who read it.
pub struct Ports {
    own: OwnedPort,
    /// Keeper of the region of a segment. A port that keeps a region is never told that nobody has
    /// references to it, so this is none that is handed out.
    keeper: Option<OwnedPort>,
    shared: Option<OwnedPort>,
    read: Option<OwnedPort>,
}

impl Ports {
    /// The port of an owner.
    pub fn new(key: u64, set: PortSet) -> Result<Ports, Errno> {
        Ok(Ports { own: OwnedPort::new(key, set)?, keeper: None, shared: None, read: None })
    }

    /// The owner's port.
    pub fn own(&self) -> &OwnedPort {
        &self.own
    }

    /// The port that keeps the region of the segment `key`.
    pub fn keeper(&mut self, key: u64, set: PortSet) -> Result<Port, Errno> {
        Ok(self.keeper.insert(OwnedPort::new(key, set)?).handle())
    }

    /// A reference for those who share the dataspace `key`.
    pub fn share(&mut self, key: u64, reads: bool, set: PortSet) -> Result<OwnedReference, Errno> {
        let (place, word) = if reads { (&mut self.read, key | SHARED | READ) } else { (&mut self.shared, key | SHARED) };
        let port = match place.take() {
            Some(port) => port,
            None => OwnedPort::new(word, set)?,
        };
        Ok(place.insert(port).new_reference(REFERENCE_USE)?)
    }
}
