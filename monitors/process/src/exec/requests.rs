//! Requests at the streams of a process that a person has started, which wait.

use super::words::word;
use alloc::vec::Vec;
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::Errno;
use nacre_sys::{OwnedPort, OwnedReference, PortSet};

/// A read that waits for bytes.
pub struct Reader {
    /// The answer goes here.
    pub reply: OwnedReference,
    /// Bytes that are wanted, at most.
    pub size: usize,
}

/// A write that waits for room.
pub struct Writer {
    /// The answer goes here.
    pub reply: OwnedReference,
    /// Kind of frame.
    pub kind: u8,
    /// Bytes to write.
    pub data: Vec<u8>,
}

/// A port that waits for events of a stream.
pub struct Watcher {
    /// Place of the stream.
    pub place: usize,
    /// The events.
    pub events: u64,
    /// Bits that the port gets.
    pub bits: u64,
    /// The port.
    pub port: OwnedReference,
}

/// Returns true if nobody waits for the reply any more.
pub fn is_gone(reply: &OwnedReference) -> bool {
    reply.is_null().unwrap_or(true)
}

/// Ports for the streams of the process with this number, and references to them.
pub fn make(number: u64, set: PortSet) -> Result<(Vec<OwnedPort>, [Option<OwnedReference>; 3]), Errno> {
    let (mut ports, mut references) = (Vec::new(), [const { None }; 3]);
    for (place, reference) in references.iter_mut().enumerate() {
        let port = OwnedPort::new(word(number, place), set)?;
        *reference = Some(port.new_reference(REFERENCE_USE)?);
        ports.push(port);
    }
    Ok((ports, references))
}
