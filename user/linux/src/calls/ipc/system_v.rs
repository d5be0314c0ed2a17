//! System V's segments, semaphores and queues of messages: what the three have in common. The
//! service that has pipes has them too, for all processes of a world.

pub mod memory;
pub mod messages;
pub mod semaphores;

use crate::abi::errno::{Answer, EFAULT, EINVAL, Errno};
use crate::operations::restore_state;
use crate::process::Process;
use alloc::vec;
use alloc::vec::Vec;
use nacre_proto::keyed;

/// Commands that all three have.
const IPC_RMID: u32 = 0;
const IPC_SET: u32 = 1;
const IPC_STAT: u32 = 2;
const IPC_INFO: u32 = 3;
/// Sixty-four bits are meant, as always here.
const IPC_64: u32 = 0x100;
/// Words that all three have in common in what the service says: key, owner, maker, mode, number,
/// time of change.
const COMMON: usize = 8;
/// Words of a `struct ipc_perm`.
const PERMISSIONS: usize = 6;
/// Maximum number of objects of each kind, as in the service.
const MOST: u64 = 1024;

/// The commands that look at places instead of numbers, and tell of all.
struct Looks {
    /// The one at a place.
    at: u32,
    /// Command number for an index, without a check of permissions.
    at_any: u32,
    /// Command number for totals.
    all: u32,
}

impl Process {
    fn set(&mut self, kind: u64, number: u64, address: u64, bytes: Option<u64>) -> Answer {
        let [first, second, third] = self.memory.read_words(address)?;
        let bytes = match bytes {
            Some(offset) => self.memory.read_words::<1>(address + 8 * (PERMISSIONS as u64 + offset))?[0],
            None => 0,
        };
        let owner = first >> 32 | second << 32;
        keyed::change(restore_state::keyed(self)?, kind, number, owner, third >> 32 & 0o777, bytes)?;
        Ok(0)
    }

    /// The highest place, and how many there are.
    fn places(&mut self, kind: u64) -> Result<(u64, u64), Errno> {
        let reply = keyed::place(restore_state::keyed(self)?, kind, u64::MAX)?;
        Ok((reply.highest, reply.count))
    }
}

/// Returns the state of an object.
fn state_of(process: &mut Process, kind: u64, number: u64) -> Result<Vec<u64>, Errno> {
    let mut bytes = vec![0; 256];
    let count = keyed::state(restore_state::keyed(process)?, kind, number, &mut bytes[..])?.words;
    let words: Vec<u64> = bytes[..count.min(256)].as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    if words.len() > COMMON { Ok(words) } else { Err(EINVAL) }
}

/// The commands that are the same for all three; `None` for others. `tell` makes of what is known
/// Linux's structure, behind the permissions; `bytes`: where that says how much a queue holds.
fn control(
    process: &mut Process,
    kind: u64,
    (number, command, address): (u64, u32, u64),
    looks: &Looks,
    bytes: Option<u64>,
    tell: impl Fn(&[u64]) -> Vec<u64>,
) -> Option<Answer> {
    let answer = match command & !IPC_64 {
        IPC_RMID => restore_state::keyed(process).and_then(|port| Ok(keyed::remove(port, kind, number).map(|_| 0)?)),
        IPC_SET => process.set(kind, number, address, bytes),
        IPC_STAT => stat(process, kind, number, address, tell).map(|()| 0),
        command if command == looks.at || command == looks.at_any => {
            at_place(process, kind, number).and_then(|found| stat(process, kind, found, address, tell).map(|()| found))
        }
        _ => return None,
    };
    Some(answer)
}

fn at_place(process: &mut Process, kind: u64, index: u64) -> Answer {
    let found = keyed::place(restore_state::keyed(process)?, kind, index)?.number;
    if found == u64::MAX { Err(EINVAL) } else { Ok(found) }
}

fn stat(process: &mut Process, kind: u64, number: u64, address: u64, tell: impl Fn(&[u64]) -> Vec<u64>) -> Result<(), Errno> {
    let known = state_of(process, kind, number)?;
    let halves = |low: u64, high: u64| low & 0xffff_ffff | high << 32;
    let mut words = [halves(known[0], known[1]), halves(known[2], known[3]), halves(known[4], known[5]), 0, 0, 0].to_vec();
    words.extend(tell(&known[COMMON - 1..]));
    process.memory.write_words(address, &words)
}

/// Numbers of 32 bits, one behind the other.
fn write_numbers(process: &mut Process, address: u64, numbers: &[u32]) -> Result<(), Errno> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    if address == 0 { Err(EFAULT) } else { process.memory.write_bytes(address, &bytes) }
}

/// A key, which is a number of 32 bits.
fn key(word: u64) -> u64 {
    word & 0xffff_ffff
}
