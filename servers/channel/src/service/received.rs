//! Answers with what was received.

use super::Form;
use crate::hub::CONTROL;
use crate::queue::Received;
use alloc::vec::Vec;
use nacre_proto::file::read;
use nacre_proto::flags::{MSG_CTRUNC, MSG_MORE, MSG_TRUNC};
use nacre_proto::server::{self, Output};
use nacre_sys::ipc::Message;
use nacre_sys::{OwnedReference, Reference, Span, Status};

/// Bytes of a `channel.receive` reply beside the data, at most: sender, two names, control bytes.
pub(super) const BESIDES: u64 = 16 + 128 + CONTROL as u64;

/// The words of an answer to `channel.receive`.
pub(super) fn words(received: &Received<OwnedReference>, form: Form) -> [u64; 6] {
    let lost = if received.is_cut { MSG_CTRUNC } else { 0 };
    let cut = if received.total > received.data.len() { MSG_TRUNC } else { 0 };
    let more = if received.has_more { MSG_MORE } else { 0 };
    let (names, control) = if form == Form::Bare { (0, 0) } else { (received.from.len() as u64, received.control.len() as u64) };
    let references = received.references.len() as u64;
    [received.data.len() as u64, names, received.total as u64, lost | cut | more, references, control]
}

/// Returns the bytes of the answer.
pub(super) fn bytes(received: &Received<OwnedReference>, form: Form) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BESIDES as usize + received.data.len());
    if form == Form::Signed {
        received.sender.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    }
    if form != Form::Bare {
        bytes.extend(&received.from);
        bytes.extend(&received.control);
    }
    bytes.extend(&received.data);
    bytes
}

pub(super) fn send_received(received: &Received<OwnedReference>, form: Form, reply: OwnedReference) -> Result<(), Status> {
    if form == Form::Plain {
        return read::Output { count: received.data.len() as u64 }.send(reply, Span::from(&received.data[..]));
    }
    let bytes = bytes(received, form);
    let references: Vec<Reference> = received.references.iter().map(|reference| reference.handle()).collect();
    server::answer(reply, &Message { bytes: Span::from(&bytes[..]), references: &references, ..Message::new(0, words(received, form)) })
}
