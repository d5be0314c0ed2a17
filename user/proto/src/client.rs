//! What the clients' functions have in common.

use nacre_sys::ipc::{self, Buffers, Message, Received};
use nacre_sys::{FOREVER, Reference, Span, SpanMut, Status, EmptySlot};

use crate::{Errno, landing};

/// Highest errno that a reply's label may be.
const MAX_ERRNO: u32 = 4095;

/// The words of a message that starts with `words`.
#[inline(always)]
pub const fn words<const N: usize>(words: [u64; N]) -> [u64; 6] {
    let mut all = [0; 6];
    let mut index = 0;
    while index < N {
        all[index] = words[index];
        index += 1;
    }
    all
}

/// A slot for a reference that a reply brings.
#[inline]
pub fn slot() -> Result<EmptySlot<Reference>, Errno> {
    EmptySlot::new().map_err(Errno::from)
}

/// Calls, and turns failure of any kind into an errno. Success brings as many references as there
/// are slots.
#[inline(always)]
pub fn call(
    target: Reference,
    label: u32,
    words: [u64; 6],
    sent: (Span<'_>, &[Reference]),
    received: (SpanMut<'_>, &[Reference]),
) -> Result<Received, Errno> {
    call_within(FOREVER, target, (label, words), sent, received)
}

/// [`call`] that waits for so many nanoseconds at most (`ETIMEDOUT`), for a server that is not
/// trusted to answer.
#[inline(always)]
pub fn call_within(
    timeout: u64,
    target: Reference,
    (label, words): (u32, [u64; 6]),
    (bytes, references): (Span<'_>, &[Reference]),
    (buffer, slots): (SpanMut<'_>, &[Reference]),
) -> Result<Received, Errno> {
    let message = Message { bytes, references, ..Message::new(label, words) };
    let result = exchange(target, &message, Buffers { bytes: buffer, slots }, timeout);
    match &result {
        Ok(received) if received.label() == 0 && received.references() == slots.len() => {
            landing::note(label, received);
            Ok(*received)
        }
        _ => Err(failure(result, slots)),
    }
}

/// [`call`] that brings any number of references up to that of the slots.
pub fn call_for_some(
    target: Reference,
    label: u32,
    words: [u64; 6],
    (bytes, references): (Span<'_>, &[Reference]),
    (buffer, slots): (SpanMut<'_>, &[Reference]),
) -> Result<Received, Errno> {
    let message = Message { bytes, references, ..Message::new(label, words) };
    let result = exchange(target, &message, Buffers { bytes: buffer, slots }, FOREVER);
    match &result {
        Ok(received) if received.label() == 0 && received.references() <= slots.len() => Ok(*received),
        _ => Err(failure(result, slots)),
    }
}

#[inline(always)]
fn exchange(target: Reference, message: &Message<'_>, buffers: Buffers<'_>, timeout: u64) -> Result<Received, Status> {
    if buffers.bytes.is_empty() || !landing::is_needed() {
        return ipc::call_in_place(target, message, buffers, timeout);
    }
    landing::call(buffers, |buffers| ipc::call_in_place(target, message, buffers, timeout), |_, _| true)
}

/// The errno of what is no success; references that came all the same are destroyed.
#[cold]
fn failure(result: Result<Received, Status>, slots: &[Reference]) -> Errno {
    let (errno, brought) = match result {
        Err(status) => (Errno::from(status), slots.len()),
        Ok(received) if received.label() == 0 || received.label() > MAX_ERRNO => (Errno::EPROTO, received.references()),
        Ok(received) => (Errno(received.label()), received.references()),
    };
    for slot in slots.iter().take(brought) {
        // After a status nobody knows how many came: a slot in which there is none says so.
        let _ = slot.destroy();
    }
    errno
}
