//! Answers that a monitor gives in place of an original.

use crate::interpose::Substitute;
use crate::interpose::reference_translation::destroy;
use crate::interpose::worker_buffers::WorkerBuffers;
use nacre_abi::object::TargetType;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_abi::{Code, Status};
use nacre_sys::{Info, Reference};
use nacre_sys::ipc::Received;

/// Rights of the copy of a reference: all, but those to a port that would let it be changed.
fn rights(reference: Reference) -> u64 {
    let state = reference.get_state().unwrap_or_default();
    if state.target == TargetType::Port as u64 { state.rights & (REFERENCE_USE | REFERENCE_NOTIFY) } else { state.rights }
}

/// Puts an answer of the monitor's where an original's would have come.
#[cold]
pub fn put(desk: &WorkerBuffers, answer: &Substitute) -> Result<Received, Status> {
    let bytes = &answer.bytes[..answer.bytes.len().min(desk.reply.size() as usize)];
    desk.reply.write(0, bytes).ok_or(Status::new(Code::BadAddress))?;
    let mut count = 0;
    for (reference, slot) in answer.references.iter().zip(desk.reply_slots) {
        reference.reference(slot, rights(*reference)).inspect_err(|_| destroy(&desk.reply_slots[..count]))?;
        count += 1;
    }
    Ok(Received { info: Info::received(answer.label, bytes.len() as u64, count as u64, 0), word: 0, words: answer.words })
}
