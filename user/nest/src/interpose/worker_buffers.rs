//! What a worker of the relay works with.

use super::reference_translation::{ReferenceTranslation, SLOTS};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::message::MAX_BYTES;
use nacre_abi::{ObjectType, Status};
use nacre_proto::Errno;
use nacre_rt::roomed::Room;
use nacre_sys::gate::Headroom;
use nacre_sys::{Reference, Span, SpanMut, Window, slots};

/// Pieces of heap that a worker sets aside for the message that it carries. A relay has two workers
/// at least.
const PIECES: usize = 1;

/// Buffers and slots of one worker, for either direction.
pub struct WorkerBuffers {
    /// The worker's number.
    pub number: usize,
    /// Bytes of a request: fresh memory that nobody touches before a message needs it.
    pub request: Window,
    /// Bytes of a reply.
    pub reply: Window,
    /// References of a request.
    pub request_slots: [Reference; SLOTS],
    /// References of a reply.
    pub reply_slots: [Reference; SLOTS],
    /// Heap that is there when nothing else is. The first workers set it aside, and all share it.
    pub headroom: Option<Headroom>,
}

/// An answer that is to be sent.
pub struct Answer<T> {
    /// The errno.
    pub label: u32,
    /// The words.
    pub words: [u64; 6],
    /// Number of bytes, at the start of the desk's reply buffer.
    pub size: usize,
    /// The references.
    pub crossing: Option<Box<ReferenceTranslation<T>>>,
}

impl<T> Answer<T> {
    /// An error.
    pub fn error(errno: Errno) -> Answer<T> {
        Answer::bare(errno.0)
    }

    /// A label alone.
    pub fn bare(label: u32) -> Answer<T> {
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

fn slots_of(room: &Room, first: usize) -> Option<[Reference; SLOTS]> {
    let mut taken = [Reference::NONE; SLOTS];
    for (number, slot) in taken.iter_mut().enumerate() {
        *slot = room.slot((first + number) as u64)?;
    }
    Some(taken)
}

impl WorkerBuffers {
    /// The desk of worker `number`, in [`WorkerBuffers::SIZE`] bytes of `memory`.
    pub fn new(number: usize, memory: Window) -> Option<WorkerBuffers> {
        Some(WorkerBuffers {
            number,
            request: memory.part(0, MAX_BYTES)?,
            reply: memory.part(MAX_BYTES, MAX_BYTES)?,
            request_slots: take_slots().ok()?,
            reply_slots: take_slots().ok()?,
            headroom: Some(Headroom::take(PIECES).ok()?),
        })
    }

    /// The desk of a worker beyond the first, in a room with [`WorkerBuffers::SIZE`] bytes for it,
    /// which lasts longer than the desk.
    pub fn in_room(number: usize, room: &Room) -> Option<WorkerBuffers> {
        Some(WorkerBuffers {
            number,
            request: room.rest().part(0, MAX_BYTES)?,
            reply: room.rest().part(MAX_BYTES, MAX_BYTES)?,
            request_slots: slots_of(room, 0)?,
            reply_slots: slots_of(room, SLOTS)?,
            headroom: None,
        })
    }

    /// Bytes of memory of a desk.
    pub const SIZE: u64 = 2 * MAX_BYTES;
}

/// All of a buffer, to receive into.
#[inline]
pub fn room(buffer: Window) -> SpanMut<'static> {
    buffer.span_mut(0, buffer.size()).unwrap_or(SpanMut::EMPTY)
}

/// The first `size` bytes of a buffer, to send on.
#[inline]
pub fn filled(buffer: Window, size: usize) -> Span<'static> {
    buffer.span(0, size as u64).unwrap_or(Span::EMPTY)
}

/// The first `size` bytes of a buffer, to look at.
pub fn copied(buffer: Window, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size.min(buffer.size() as usize)];
    filled(buffer, size).copy_to(&mut bytes);
    bytes
}
