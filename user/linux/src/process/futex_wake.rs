//! Wakes threads that wait at futexes, and gives up futexes of threads that end.

use crate::abi::errno::{EINVAL, ENOSYS, Errno};
use crate::abi::futex_numbers::{ALL_BITS, NUMBER, OWNER_DIED, WAITERS};
use crate::process::Process;
use crate::process::wait::NoReturn;
use crate::state::memory::shared_word::Meeting;
use crate::state::threads::futex_queues::Waiter;
use crate::state::threads::futex_wait::Wait;

/// Maximum number of entries of a robust list.
const MAX_ROBUST: usize = 2048;

/// Checks the address of a word; its value.
pub(crate) fn value_at(process: &mut Process, address: u64) -> Result<u32, Errno> {
    if address % 4 != 0 {
        return Err(EINVAL);
    }
    process.memory.read_atomic(address)
}

/// The thread that waits for a word and came first, with any of the bits.
pub fn first(process: &Process, address: u64, bits: u32) -> Option<usize> {
    process.queues.first(address, bits).map(|waiter| waiter.thread)
}

/// Lets the caller wait for words, until [`leave`].
pub(crate) fn enter(process: &mut Process, waits: impl Iterator<Item = Wait>) -> Result<(), Errno> {
    let thread = process.caller;
    for wait in waits {
        if let Err(error) = process.queues.push(Waiter { wait, thread }) {
            leave(process);
            return Err(error);
        }
    }
    Ok(())
}

/// The caller waits no more.
pub(crate) fn leave(process: &mut Process) {
    let (one, several) = (process.me().awaits.take(), core::mem::take(&mut process.me().awaits_several.waits));
    for wait in one.iter().chain(&several) {
        process.queues.remove(wait.address, wait.ticket);
    }
}

/// Wakes up to `count` waiters.
pub(crate) fn wake(process: &mut Process, address: u64, count: u64, bits: u32) -> u64 {
    let mut woken = 0;
    while woken < count
        && let Some(Waiter { wait, thread }) = process.queues.first(address, bits)
    {
        process.queues.remove(address, wait.ticket);
        let Some(thread) = process.threads.get_mut(thread) else { continue };
        let one = thread.awaits.take();
        let others = thread.awaits_several.take(address);
        thread.block.wake();
        for wait in one.iter().chain(&others) {
            process.queues.remove(wait.address, wait.ticket);
        }
        woken += 1;
    }
    woken
}

/// Lets up to `most` threads that wait for one word wait for another. Returns how many.
pub(crate) fn move_waiters(process: &mut Process, from: u64, most: u64, to: u64) -> Result<u64, Errno> {
    let mut moved = 0;
    while moved < most
        && from != to
        && let Some(waiter) = process.queues.first(from, ALL_BITS)
    {
        let ticket = waiter.wait.ticket;
        while process.queues.remove(from, ticket) {
            if let Err(error) = process.queues.push(Waiter { wait: Wait { address: to, ..waiter.wait }, ..waiter }) {
                // There is room where it has just been.
                let _ = process.queues.push(waiter);
                return Err(error);
            }
        }
        let Some(thread) = process.threads.get_mut(waiter.thread) else { continue };
        match &mut thread.awaits {
            Some(wait) => wait.address = to,
            None => thread.awaits_several.move_to(from, to),
        }
        moved += 1;
    }
    Ok(moved)
}

/// Wakes all waiters at the word of a thread that has ended.
pub fn wake_all(process: &mut Process, address: u64) {
    wake(process, address, u64::MAX, ALL_BITS);
}

/// Carries out what `FUTEX_WAKE_OP` packs into a word, and says whether the second word's waiters
/// are to be woken.
pub(crate) fn operate(process: &mut Process, address: u64, packed: u32) -> Result<bool, Errno> {
    let sign = |value: u32| ((value << 20) as i32) >> 20;
    let (operation, compare) = (packed >> 28 & 7, packed >> 24 & 15);
    let (argument, limit) = (sign(packed >> 12 & 0xfff), sign(packed & 0xfff));
    let argument = if packed >> 31 != 0 { 1i32.wrapping_shl(argument as u32 & 31) } else { argument } as u32;
    let before = process.memory.update_atomic(address, |old| match operation {
        0 => Some(argument),
        1 => Some(old.wrapping_add(argument)),
        2 => Some(old | argument),
        3 => Some(old & !argument),
        4 => Some(old ^ argument),
        _ => None,
    })?;
    let before = before.ok_or(ENOSYS)? as i32;
    Ok(match compare {
        0 => before == limit,
        1 => before != limit,
        2 => before < limit,
        3 => before <= limit,
        4 => before > limit,
        5 => before >= limit,
        _ => return Err(ENOSYS),
    })
}

/// Marks a robust futex whose owner has ended, and wakes the next waiter.
fn release(process: &mut Process, address: u64) {
    let number = process.me().number as u32;
    let freed = process.memory.update_atomic(address, |old| (old & NUMBER == number).then_some(old & WAITERS | OWNER_DIED));
    if matches!(freed, Ok(Some(old)) if old & WAITERS != 0) {
        wake(process, address, 1, ALL_BITS);
        if let Some(meeting) = process.meeting(address) {
            // Whose server does not answer has nobody who waits.
            let _ = meeting.wake(1, ALL_BITS);
        }
    }
}

/// Frees the futexes in all threads' robust lists: the process ends.
pub fn release_all_robust(process: &mut Process, _: &NoReturn) {
    let caller = process.caller;
    let all: alloc::vec::Vec<usize> = process.threads.all().map(|(index, _)| index).collect();
    for index in all {
        process.caller = index;
        release_robust(process);
    }
    process.caller = caller;
}

/// Frees the futexes in the caller's robust list. The list is the program's: any nonsense in it
/// ends the walk.
pub fn release_robust(process: &mut Process) {
    let head = core::mem::take(&mut process.me().robust);
    if head == 0 {
        return;
    }
    let Ok([mut entry, offset, pending]) = process.memory.read_words(head) else { return };
    for _ in 0..MAX_ROBUST {
        let current = entry & !1;
        if current == head {
            break;
        }
        let Ok([next]) = process.memory.read_words(current) else { break };
        if current != pending {
            release(process, current.wrapping_add(offset));
        }
        entry = next;
    }
    if pending & !1 != 0 {
        release(process, (pending & !1).wrapping_add(offset));
    }
}

impl Process {
    /// The meeting place that an address is, if it lies in shared memory.
    pub fn meeting(&self, address: u64) -> Option<Meeting> {
        let (segment, offset) = self.memory.meeting_place(address)?;
        let port = segment.port()?;
        Some(Meeting { segment, port, offset, address })
    }
}
