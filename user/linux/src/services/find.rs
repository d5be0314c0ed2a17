//! Finds a service, and lists directories.

use crate::abi::errno::{EIO, Errno};
use nacre_proto::{directory, parent};
use nacre_sys::{OwnedReference, Reference};

/// Maximum size of a message in bytes.
pub const PIECE: usize = nacre_abi::message::MAX_BYTES as usize;

/// The service behind `place`, found through the parent the first time.
pub fn find(place: &mut Option<OwnedReference>, service: u64) -> Result<Reference, Errno> {
    if place.is_none() {
        *place = Some(parent::find(Reference::PARENT, service)?.found);
    }
    place.as_ref().map(|reference| reference.handle()).ok_or(EIO)
}

/// Entries of a directory from `cookie` on: where to go on, and how many bytes they take.
pub fn list(directory: Reference, cookie: u64, batch: &mut [u8]) -> Result<(u64, usize), Errno> {
    let reply = directory::list(directory, cookie, batch.len() as u64, batch)?;
    Ok((reply.next, reply.entries))
}
