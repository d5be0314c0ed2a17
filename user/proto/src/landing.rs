//! Where answers land while the memory that they are meant for may go.
//!
//! A reply never waits for its client's page: bytes that find it missing are lost. So a program
//! that has pageable memory receives into its heap, which stays, and copies from there.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};

use nacre_sys::ipc::{Buffers, Received};
use nacre_sys::{Code, Span, SpanMut, Status};

static NEEDED: AtomicBool = AtomicBool::new(false);

/// Notes that some of this program's memory may go from now on.
pub fn need() {
    NEEDED.store(true, Ordering::Relaxed);
}

/// Returns true if answers have to land elsewhere.
#[inline(always)]
pub fn is_needed() -> bool {
    NEEDED.load(Ordering::Relaxed)
}

/// Calls with a buffer that stays, then copies what came to where it is wanted, if `may_copy` says
/// so.
#[cold]
pub fn call(buffers: Buffers<'_>, call: impl FnOnce(Buffers<'_>) -> Result<Received, Status>, may_copy: impl FnOnce(u64, u64) -> bool) -> Result<Received, Status> {
    let Buffers { mut bytes, slots } = buffers;
    let mut place = Vec::new();
    place.try_reserve_exact(bytes.size()).map_err(|_| Status::new(Code::NoMemory))?;
    place.resize(bytes.size(), 0);
    let received = call(Buffers { bytes: SpanMut::from(&mut place[..]), slots })?;
    let came = received.bytes().min(place.len());
    if !may_copy(bytes.address(), came as u64) {
        return Err(Status::argument(Code::BadAddress, 9));
    }
    bytes.copy_from(Span::from(&place[..came]));
    Ok(received)
}
