//! Where answers land while the memory that they are meant for may go: in the heap, which stays,
//! for threads whose stacks are small or may go themselves.
//!
//! Whoever calls by `ipc::call` has the same on the stack
//! ([`nacre_sys::landing`]).

use alloc::vec::Vec;

use nacre_sys::ipc::{Buffers, Received};
use nacre_sys::{Code, Span, SpanMut, Status};

pub use nacre_sys::landing::{REASONS, is_needed, is_pageable, is_watched, need};

use crate::flags::SEGMENT_PAGEABLE;
use crate::{dataspace, memory};

/// Notes that memory may go, if an answer brings such memory: a pageable segment, or an attachment
/// of a dataspace.
#[inline(always)]
pub(crate) fn note(label: u32, received: &Received) {
    if label == memory::segment_create::LABEL && received.words[1] & SEGMENT_PAGEABLE != 0 || label == dataspace::attach::LABEL {
        need();
    }
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
