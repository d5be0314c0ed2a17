//! A request that no kernel carried, through a server's dispatch: what a handler sees, and what
//! would be sent. For tests on the host.

use alloc::vec::Vec;

use super::{Outgoing, Received, Request, SLOTS};
use crate::Errno;
use nacre_sys::{Info, Reference};

/// A message that would be sent: label, words, references, bytes.
pub type Sent = (u32, [u64; 6], Vec<Reference>, Vec<u8>);

/// Hands a request to `handle`; at most eight of the references are taken.
pub fn ask(label: u32, words: [u64; 6], bytes: &[u8], references: &[Reference], handle: impl FnOnce(&mut Request<'_>)) -> Sent {
    let mut slots = [Reference::NONE; SLOTS];
    slots.iter_mut().zip(references).for_each(|(slot, reference)| *slot = *reference);
    let count = references.len().min(SLOTS);
    let info = Info::received(label, bytes.len() as u64, count as u64, Info::NEEDS_REPLY);
    let mut outgoing = Outgoing { due: true, ..Outgoing::default() };
    outgoing.refuse(Errno::ENOSYS.0);
    let received = Received { info, word: 5, words };
    handle(&mut Request { received, bytes, slots: &mut slots, outgoing: &mut outgoing });
    assert!(outgoing.due);
    let parts = &outgoing.parts;
    (outgoing.label, parts.words, parts.references[..parts.count].to_vec(), outgoing.buffer.clone())
}
