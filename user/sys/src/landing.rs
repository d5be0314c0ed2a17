//! Receiving answers while the memory that they are meant for may go.
//!
//! A reply never waits for its client's page: the kernel drops bytes that find it missing. So a
//! program that has pageable memory receives into memory that stays, and copies from there. Its
//! copy waits for the page as every access does.

use core::sync::atomic::{AtomicBool, Ordering};

use nacre_abi::message::MAX_BYTES;
use nacre_abi::{Call, Status};

use crate::ipc::{Buffers, Message, Received};
use crate::{Reference, Span, SpanMut, raw};

static NEEDED: AtomicBool = AtomicBool::new(false);

/// Size up to which an answer takes little of the stack.
const SHORT: usize = 512;

/// Notes that some of this program's memory may go from now on.
pub fn need() {
    NEEDED.store(true, Ordering::Relaxed);
}

/// Returns true if answers have to land elsewhere.
#[inline(always)]
pub fn is_needed() -> bool {
    NEEDED.load(Ordering::Relaxed)
}

/// Calls, receives on the stack, and copies what came to where it is wanted.
#[cold]
#[inline(never)]
pub(crate) fn call(target: Reference, message: &Message<'_>, buffers: Buffers<'_>, timeout: u64) -> Result<Received, Status> {
    if buffers.bytes.size() <= SHORT {
        return call_with::<SHORT>(target, message, buffers, timeout);
    }
    call_with::<{ MAX_BYTES as usize }>(target, message, buffers, timeout)
}

#[inline(never)]
fn call_with<const SIZE: usize>(target: Reference, message: &Message<'_>, mut buffers: Buffers<'_>, timeout: u64) -> Result<Received, Status> {
    let mut place = [0; SIZE];
    let size = buffers.bytes.size().min(SIZE);
    let here = Buffers { bytes: SpanMut::from(&mut place[..size]), slots: buffers.slots };
    let received = raw::message(Call::IpcCall, target.0, message, here, timeout)?;
    buffers.bytes.copy_from(Span::from(&place[..received.bytes().min(size)]));
    Ok(received)
}
