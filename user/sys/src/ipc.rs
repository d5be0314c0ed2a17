//! Messages: call, send, receive, reply, and notifications.
//!
//! A message that carries nothing but words travels in registers: the functions here are inlined,
//! and then `r14` is 0 and no memory is touched.

use nacre_abi::message::{FOR_CLIENT, WORDS};
use nacre_abi::{Call, Status};

use crate::{Reference, landing, raw};

pub use crate::message::{Buffers, Message, Received};

/// Sends a message to the port behind `target` and waits for the reply, whose bytes come whole
/// though pages of the buffer go meanwhile.
#[inline(always)]
pub fn call(target: Reference, message: &Message<'_>, buffers: Buffers<'_>, timeout: u64) -> Result<Received, Status> {
    if !buffers.bytes.is_empty() && landing::is_needed() {
        return landing::call(target, message, buffers, timeout);
    }
    call_in_place(target, message, buffers, timeout)
}

/// [`call`] whose reply the kernel writes straight to the buffer. If a page of that is missing when
/// the reply comes, its bytes are lost (`BadAddress` about argument 9).
#[inline(always)]
pub fn call_in_place(target: Reference, message: &Message<'_>, buffers: Buffers<'_>, timeout: u64) -> Result<Received, Status> {
    raw::message(Call::IpcCall, target.0, message, buffers, timeout)
}

/// [`call`] with words alone either way, for ever.
#[inline(always)]
pub fn call_words(target: Reference, label: u32, words: [u64; WORDS]) -> Result<Received, Status> {
    raw::message_words(Call::IpcCall, target.0, label.into(), words, crate::FOREVER)
}

/// [`call_words`] for the client whose message this thread received last: it ends with
/// `Interrupted` when that waits no more.
#[inline(always)]
pub fn call_words_for_client(target: Reference, label: u32, words: [u64; WORDS]) -> Result<Received, Status> {
    raw::message_words(Call::IpcCall, target.0, u64::from(label) | FOR_CLIENT, words, crate::FOREVER)
}

/// Sends a message that nobody replies to. To a reply reference (from [`detach`]) it is the reply.
#[inline(always)]
pub fn send(target: Reference, message: &Message<'_>, timeout: u64) -> Result<(), Status> {
    raw::message(Call::IpcSend, target.0, message, Buffers::NONE, timeout).map(drop)
}

/// Waits for a message, a notification, a fault or an exception at the port or set of ports `at`.
#[inline(always)]
pub fn receive(at: u64, buffers: Buffers<'_>, timeout: u64) -> Result<Received, Status> {
    raw::message(Call::IpcReceive, at, &Message::new(0, [0; WORDS]), buffers, timeout)
}

/// [`receive`] of words alone, for ever.
#[inline(always)]
pub fn receive_words(at: u64) -> Result<Received, Status> {
    raw::message_words(Call::IpcReceive, at, 0, [0; WORDS], crate::FOREVER)
}

/// Answers the client whose message this thread received last.
#[inline(always)]
pub fn reply(message: &Message<'_>) -> Result<(), Status> {
    raw::message(Call::IpcReply, 0, message, Buffers::NONE, crate::FOREVER).map(drop)
}

/// [`reply`], then [`receive`], in one entry of the kernel. If the reply fails nothing is received.
#[inline(always)]
pub fn reply_receive(at: u64, message: &Message<'_>, buffers: Buffers<'_>, timeout: u64) -> Result<Received, Status> {
    raw::message(Call::IpcReplyReceive, at, message, buffers, timeout)
}

/// [`reply_receive`] of words alone either way, for ever.
#[inline(always)]
pub fn reply_receive_words(at: u64, label: u32, words: [u64; WORDS]) -> Result<Received, Status> {
    raw::message_words(Call::IpcReplyReceive, at, label.into(), words, crate::FOREVER)
}

/// Makes a reply reference, in the free `slot`, to the client whose message this thread received
/// last; it can be answered later with [`send`].
pub fn detach(slot: u64) -> Result<Reference, Status> {
    raw::call(Call::IpcDetach, [slot, 0, 0, 0]).map(|_| Reference(slot))
}

/// Adds pending notification bits to the port behind `target`. Never waits.
#[inline(always)]
pub fn notify(target: Reference, bits: u64) -> Result<(), Status> {
    raw::call(Call::PortNotify, [target.0, bits, 0, 0]).map(drop)
}
