//! Sets of semaphores.

use crate::abi::errno::{Answer, E2BIG, EAGAIN, EINVAL, ERANGE, ETIMEDOUT, Errno};
use crate::abi::registers::Frame;
use crate::calls::ipc::system_v::{self, IPC_INFO, Looks, MOST, key};
use crate::operations::clock_reading::duration;
use crate::operations::restore_state;
use crate::process::Process;
use crate::services::find::PIECE;
use alloc::vec;
use alloc::vec::Vec;
use nacre_proto::sender::words;
use nacre_proto::flags::{IPC_NOWAIT, KEYED_SEMAPHORES};
use nacre_proto::keyed;
use nacre_rt::fallible;
use nacre_sys::ipc::{Buffers, Message};

/// Bytes of a `sembuf`, and most of them.
const OPERATION: u64 = 6;
const MAX_OPERATIONS: u64 = 500;
const MAX_PER_SET: u32 = 32_000;
const HIGHEST: u32 = 32_767;
const GETPID: u32 = 11;
const GETVAL: u32 = 12;
const GETALL: u32 = 13;
const GETNCNT: u32 = 14;
const GETZCNT: u32 = 15;
const SETVAL: u32 = 16;
const SETALL: u32 = 17;
const LOOKS: Looks = Looks { at: 18, at_any: 20, all: 19 };

/// `semget(key, count, flags)`.
pub fn semget(process: &mut Process, frame: &mut Frame) -> Answer {
    let [name, count, flags, ..] = frame.arguments();
    let count = u32::try_from(count as i32).ok().filter(|count| *count <= MAX_PER_SET).ok_or(EINVAL)?;
    let port = restore_state::keyed(process)?;
    Ok(keyed::get(port, KEYED_SEMAPHORES, key(name), count.into(), flags & 0xffff_ffff)?.number)
}

/// `semop(number, operations, count)`.
pub fn semop(process: &mut Process, frame: &mut Frame) -> Answer {
    let [number, operations, count, ..] = frame.arguments();
    operate(process, number, operations, count, None)
}

/// `semtimedop(number, operations, count, timeout)`.
pub fn semtimedop(process: &mut Process, frame: &mut Frame) -> Answer {
    let [number, operations, count, timeout, ..] = frame.arguments();
    let limit = if timeout == 0 { None } else { Some(duration(&process.memory, timeout)?) };
    operate(process, number, operations, count, limit)
}

fn operate(process: &mut Process, number: u64, address: u64, count: u64, limit: Option<u64>) -> Answer {
    let count = count & 0xffff_ffff;
    if count == 0 || (number as i32) < 0 {
        return Err(EINVAL);
    }
    if count > MAX_OPERATIONS {
        return Err(E2BIG);
    }
    let mut operations = process.memory.readable(address, OPERATION * count)?.to_vec();
    if limit == Some(0) {
        // What would have to wait has no time for it.
        operations.as_chunks_mut::<6>().0.iter_mut().for_each(|operation| operation[5] |= (IPC_NOWAIT >> 8) as u8);
    }
    let port = restore_state::keyed(process)?;
    let message = Message { bytes: (&operations[..]).into(), ..Message::new(keyed::operate::LABEL, words([number & 0xffff_ffff])) };
    match limit.filter(|limit| *limit != 0) {
        Some(limit) => process.exchange_until(limit, port, &message, Buffers::NONE).map_err(|error| if error == ETIMEDOUT { EAGAIN } else { error })?,
        None => process.exchange(port, &message, Buffers::NONE)?,
    };
    Ok(0)
}

/// All values of a set.
fn values(process: &mut Process, number: u64, count: u64) -> Result<Vec<u8>, Errno> {
    let mut all = fallible::zeros(2 * count as usize)?;
    let mut done = 0;
    while done < all.len() {
        let end = all.len().min(done + PIECE);
        let got = keyed::values(restore_state::keyed(process)?, number, done as u64 / 2, &mut all[done..end])?.values;
        if got == 0 {
            return Err(EINVAL);
        }
        done += got;
    }
    Ok(all)
}

fn set_values(process: &mut Process, number: u64, address: u64, count: u64) -> Answer {
    let all = process.memory.readable(address, 2 * count)?.to_vec();
    if all.as_chunks::<2>().0.iter().any(|value| u32::from(u16::from_le_bytes(*value)) > HIGHEST) {
        return Err(ERANGE);
    }
    for (index, part) in all.chunks(PIECE).enumerate() {
        keyed::values_set(restore_state::keyed(process)?, number, (index * PIECE / 2) as u64, part)?;
    }
    Ok(0)
}

/// `semctl(number, index, command, argument)`.
pub fn semctl(process: &mut Process, frame: &mut Frame) -> Answer {
    let [number, index, command, argument, ..] = frame.arguments();
    let (number, index, command) = (number & 0xffff_ffff, index & 0xffff_ffff, command as u32);
    // Behind the permissions: change, how many, last use.
    let tell = |known: &[u64]| match known {
        [changed, count, used, ..] => [*used, 0, *changed, 0, *count, 0, 0].to_vec(),
        _ => vec![0; 7],
    };
    if let Some(answer) = system_v::control(process, KEYED_SEMAPHORES, (number, command, argument), &LOOKS, None, tell) {
        return answer;
    }
    let port = restore_state::keyed(process)?;
    match command {
        GETVAL => Ok(keyed::semaphore(port, number, index)?.value),
        GETPID => Ok(keyed::semaphore(port, number, index)?.pid),
        GETNCNT => Ok(keyed::semaphore(port, number, index)?.up),
        GETZCNT => Ok(keyed::semaphore(port, number, index)?.zero),
        SETVAL => {
            let value = u32::try_from(argument as i32).ok().filter(|value| *value <= HIGHEST).ok_or(ERANGE)?;
            keyed::semaphore_set(port, number, index, value.into())?;
            Ok(0)
        }
        GETALL | SETALL => {
            let count = system_v::state_of(process, KEYED_SEMAPHORES, number)?.get(system_v::COMMON).copied().unwrap_or(0).min(MAX_PER_SET.into());
            if command == SETALL {
                return set_values(process, number, argument, count);
            }
            let all = values(process, number, count)?;
            process.memory.write_bytes(argument, &all)?;
            Ok(0)
        }
        command if command == IPC_INFO || command == LOOKS.all => {
            let (highest, count) = process.places(KEYED_SEMAPHORES)?;
            let used = if command == IPC_INFO { 20 } else { count as u32 };
            system_v::write_numbers(process, 
                argument,
                &[64_000, MOST as u32, 64_000, 64_000, MAX_PER_SET, MAX_OPERATIONS as u32, MAX_OPERATIONS as u32, used, HIGHEST, HIGHEST],
            )?;
            Ok(highest)
        }
        _ => Err(EINVAL),
    }
}
