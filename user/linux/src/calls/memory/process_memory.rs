//! Memory of other processes.

use crate::abi::errno::{Answer, EFAULT, EINVAL, Errno};
use crate::abi::registers::Frame;
use crate::operations::proc;
use crate::process::Process;
use crate::state::capabilities::OTHERS;
use alloc::vec::Vec;
use nacre_abi::Rights;
use nacre_proto::flags::{ASK_MEMORY, ASK_MEMORY_SET};
use nacre_sys::SpanMut;

/// Maximum number of bytes of memory in one query.
pub const MOST: u64 = 4096;

/// Moves bytes between a process and this one, from `[there, here]`; how many.
fn move_piece(process: &mut Process, pid: u64, [there, here]: [u64; 2], size: u64, reads: bool) -> Answer {
    let usable = process.memory.map.extent(here, size, if reads { Rights::WRITE } else { Rights::READ });
    if usable == 0 {
        return Err(EFAULT);
    }
    let is_own = pid == process.pid() || process.threads.find(pid).is_some();
    if is_own {
        let (from, to) = if reads { (there, here) } else { (here, there) };
        let size = usable.min(process.memory.map.extent(there, size, if reads { Rights::READ } else { Rights::WRITE }));
        let bytes = if size == 0 { Err(EFAULT) } else { process.memory.readable(from, size) }?.to_vec();
        return process.memory.write_bytes(to, &bytes).map(|()| size);
    }
    let permitted = process.identity.capabilities.permitted();
    let words = proc::remote_query::question(process, if reads { ASK_MEMORY } else { ASK_MEMORY_SET }, [there, usable, permitted], pid, OTHERS);
    if reads {
        let into = process.memory.writable(here, usable)?;
        return process.ask(words, &[], SpanMut::from(into)).map(|(count, _)| count as u64);
    }
    let from = process.memory.readable(here, usable)?;
    process.ask(words, from, SpanMut::EMPTY).map(|(_, [count, _])| count.min(usable))
}

/// Addresses and sizes, of which none may be a negative number.
fn pieces(process: &Process, address: u64, count: u64) -> Result<Vec<(u64, u64)>, Errno> {
    let pieces = process.memory.vectors(address, count)?;
    if pieces.iter().any(|(_, size)| (*size as i64) < 0) { Err(EINVAL) } else { Ok(pieces) }
}

/// The next part of two lists of pieces at once, of at most [`MOST`] bytes: both addresses, and its
/// size.
fn next(there: &mut Vec<(u64, u64)>, here: &mut Vec<(u64, u64)>) -> Option<([u64; 2], u64)> {
    for list in [&mut *there, here] {
        while list.last().is_some_and(|(_, size)| *size == 0) {
            list.pop();
        }
    }
    let (there, here) = (there.last_mut()?, here.last_mut()?);
    let (size, addresses) = (there.1.min(here.1).min(MOST), [there.0, here.0]);
    for piece in [there, here] {
        *piece = (piece.0.wrapping_add(size), piece.1 - size);
    }
    Some((addresses, size))
}

fn transfer(process: &mut Process, frame: &Frame, reads: bool) -> Answer {
    let [pid, here, here_count, there, there_count, flags] = frame.arguments();
    if flags != 0 {
        return Err(EINVAL);
    }
    let mut here = pieces(process, here, here_count)?;
    if here.iter().all(|(_, size)| *size == 0) {
        return Ok(0);
    }
    let mut there = pieces(process, there, there_count)?;
    here.reverse();
    there.reverse();
    let mut total = 0;
    while let Some((addresses, size)) = next(&mut there, &mut here) {
        match move_piece(process, u64::from(pid as u32), addresses, size, reads) {
            Err(_) if total != 0 => break,
            moved => {
                let moved = moved?;
                total += moved;
                if moved < size {
                    break;
                }
            }
        }
    }
    Ok(total)
}

/// `process_vm_readv(process, here, count, there, count, flags)`.
pub fn process_vm_readv(process: &mut Process, frame: &mut Frame) -> Answer {
    transfer(process, frame, true)
}

/// `process_vm_writev(process, here, count, there, count, flags)`.
pub fn process_vm_writev(process: &mut Process, frame: &mut Frame) -> Answer {
    transfer(process, frame, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_met_in_parts_that_fit_both() {
        let (mut there, mut here) = (alloc::vec![(0x9000, 10), (0x5000, 5000)], alloc::vec![(0x100, 5002), (0x200, 0)]);
        assert_eq!(next(&mut there, &mut here), Some(([0x5000, 0x100], 4096)));
        assert_eq!(next(&mut there, &mut here), Some(([0x6000, 0x1100], 904)));
        assert_eq!(next(&mut there, &mut here), Some(([0x9000, 0x1488], 2)));
        assert_eq!(next(&mut there, &mut here), None);
    }
}
