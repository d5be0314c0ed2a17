//! What a worker of the relay works with.

use crate::crossing::{Crossing, SLOTS};
use crate::text::Half;
use alloc::boxed::Box;
use alloc::vec;
use nacre_abi::message::MAX_BYTES;
use nacre_abi::{ObjectType, Status};
use nacre_proto::Errno;
use nacre_sys::ipc::Received;
use nacre_sys::{Reference, slots};

/// What one worker has: buffers and slots for either direction.
pub struct Desk {
    /// The worker's number.
    pub number: usize,
    /// Bytes of a request.
    pub request: Box<[u8]>,
    /// Bytes of a reply.
    pub reply: Box<[u8]>,
    /// References of a request.
    pub request_slots: [Reference; SLOTS],
    /// References of a reply.
    pub reply_slots: [Reference; SLOTS],
}

/// An answer that is to be sent.
pub struct Answer {
    /// The errno.
    pub label: u32,
    /// The words.
    pub words: [u64; 6],
    /// How many bytes, at the start of the desk's reply buffer.
    pub size: usize,
    /// The references.
    pub crossing: Option<Box<Crossing>>,
}

impl Answer {
    /// An error.
    pub fn error(errno: Errno) -> Answer {
        Answer::bare(errno.0)
    }

    /// A label alone.
    pub fn bare(label: u32) -> Answer {
        Answer { label, words: [0; 6], size: 0, crossing: None }
    }
}

fn take_slots() -> Result<[Reference; SLOTS], Status> {
    let mut taken = [Reference::NONE; SLOTS];
    for slot in &mut taken {
        *slot = Reference(slots::allocate(ObjectType::Reference)?);
    }
    Ok(taken)
}

impl Desk {
    /// The desk of worker `number`.
    pub fn new(number: usize) -> Result<Desk, Status> {
        Ok(Desk {
            number,
            request: vec![0; MAX_BYTES as usize].into(),
            reply: vec![0; MAX_BYTES as usize].into(),
            request_slots: take_slots()?,
            reply_slots: take_slots()?,
        })
    }

    /// What was received, as it is shown.
    pub fn half<'a>(received: &Received, bytes: &'a [u8], references: Option<&'a Crossing>) -> Half<'a> {
        Half {
            label: received.label(),
            words: received.words,
            bytes: &bytes[..received.bytes().min(bytes.len())],
            references: references.map_or(&[], Crossing::names),
        }
    }
}
