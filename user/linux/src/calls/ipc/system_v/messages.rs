//! Queues of messages.

use crate::abi::errno::{Answer, EINVAL, ENOSYS};
use crate::abi::registers::Frame;
use crate::calls::ipc::system_v::{self, IPC_INFO, Looks, MOST, key};
use crate::operations::restore_state;
use crate::process::Process;
use alloc::vec;
use nacre_proto::sender::words;
use nacre_proto::flags::KEYED_MESSAGES;
use nacre_proto::keyed;
use nacre_rt::fallible;
use nacre_sys::SpanMut;
use nacre_sys::ipc::{Buffers, Message};

/// Maximum size of a message in bytes.
const LONGEST: u64 = 8192;
/// Default capacity of a queue in bytes.
const USUAL: u32 = 16_384;
/// A message is copied, by its place.
const COPY: u64 = 0o40000;
const LOOKS: Looks = Looks { at: 11, at_any: 13, all: 12 };
/// Index of the capacity in the structure, in words behind the permissions.
const MAX_BYTES: u64 = 5;

/// `msgget(key, flags)`.
pub fn msgget(process: &mut Process, frame: &mut Frame) -> Answer {
    let [name, flags, ..] = frame.arguments();
    let port = restore_state::keyed(process)?;
    Ok(keyed::get(port, KEYED_MESSAGES, key(name), 0, flags & 0xffff_ffff)?.number)
}

/// `msgsnd(number, message, size, flags)`.
pub fn msgsnd(process: &mut Process, frame: &mut Frame) -> Answer {
    let [number, address, size, flags, ..] = frame.arguments();
    let [kind] = process.memory.read_words(address)?;
    if size > LONGEST || (number as i32) < 0 || (kind as i64) < 1 {
        return Err(EINVAL);
    }
    let text = process.memory.readable(address + 8, size)?.to_vec();
    let port = restore_state::keyed(process)?;
    let message = Message { bytes: (&text[..]).into(), ..Message::new(keyed::send::LABEL, words([number & 0xffff_ffff, kind, flags & 0xffff_ffff])) };
    process.exchange(port, &message, Buffers::NONE)?;
    Ok(0)
}

/// `msgrcv(number, message, size, kind, flags)`.
pub fn msgrcv(process: &mut Process, frame: &mut Frame) -> Answer {
    let [number, address, size, kind, flags, _] = frame.arguments();
    if (size as i64) < 0 || (number as i32) < 0 {
        return Err(EINVAL);
    }
    if flags & COPY != 0 {
        return Err(ENOSYS);
    }
    let mut text = fallible::zeros(size.min(LONGEST) as usize)?;
    let port = restore_state::keyed(process)?;
    let message = Message::new(keyed::receive::LABEL, words([number & 0xffff_ffff, text.len() as u64, kind, flags & 0xffff_ffff]));
    let received = process.exchange(port, &message, Buffers { bytes: SpanMut::from(&mut text[..]), slots: &[] })?;
    let count = received.bytes().min(text.len());
    process.memory.write_words(address, &[received.words[0]])?;
    process.memory.write_bytes(address + 8, &text[..count])?;
    Ok(count as u64)
}

/// `msgctl(number, command, state)`.
pub fn msgctl(process: &mut Process, frame: &mut Frame) -> Answer {
    let [number, command, address, ..] = frame.arguments();
    let (number, command) = (number & 0xffff_ffff, command as u32);
    // Behind the permissions: change, bytes, messages, most bytes, last sender and receiver, and
    // when.
    let tell = |known: &[u64]| match known {
        [changed, bytes, count, most, sender, receiver, sent, received, ..] => {
            [*sent, *received, *changed, *bytes, *count, *most, sender & 0xffff_ffff | receiver << 32, 0, 0].to_vec()
        }
        _ => vec![0; 9],
    };
    if let Some(answer) = system_v::control(process, KEYED_MESSAGES, (number, command, address), &LOOKS, Some(MAX_BYTES), tell) {
        return answer;
    }
    if command != IPC_INFO && command != LOOKS.all {
        return Err(EINVAL);
    }
    let (highest, count) = process.places(KEYED_MESSAGES)?;
    let used = if command == IPC_INFO { 0 } else { count as u32 };
    system_v::write_numbers(process, address, &[used, 0, LONGEST as u32, USUAL, MOST as u32, 16, 0, 0xffff])?;
    Ok(highest)
}
