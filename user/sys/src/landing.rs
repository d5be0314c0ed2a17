//! Receiving answers while the memory that they are meant for may go.
//!
//! A reply never waits for its client's page: the kernel drops bytes that find it missing. So a
//! program that has pageable memory receives into memory that stays, and copies from there. Its
//! copy waits for the page as every access does.

use core::sync::atomic::{AtomicU32, Ordering};

use nacre_abi::message::MAX_BYTES;
use nacre_abi::{Call, Status};

use crate::ipc::{Buffers, Message, Received};
use crate::{Reference, Span, SpanMut, raw};

/// Reasons why answers have to land elsewhere: [`PAGEABLE`], [`WATCHED`].
pub static REASONS: AtomicU32 = AtomicU32::new(0);
/// Some of this program's memory may go.
const PAGEABLE: u32 = 1;
/// A debugger watches memory of this program, whose pages cannot be written meanwhile. It sets this
/// itself.
pub const WATCHED: u32 = 2;

/// Size up to which an answer takes little of the stack.
const SHORT: usize = 512;

/// Notes that some of this program's memory may go from now on.
pub fn need() {
    REASONS.fetch_or(PAGEABLE, Ordering::Relaxed);
}

/// Returns true if answers have to land elsewhere.
#[inline(always)]
pub fn is_needed() -> bool {
    REASONS.load(Ordering::Relaxed) != 0
}

/// Returns true if some of this program's memory may go.
pub fn is_pageable() -> bool {
    REASONS.load(Ordering::Relaxed) & PAGEABLE != 0
}

/// Returns true if a debugger watches memory of this program.
#[inline(always)]
pub fn is_watched() -> bool {
    REASONS.load(Ordering::Relaxed) & WATCHED != 0
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
