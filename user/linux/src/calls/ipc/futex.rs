//! Futexes: words of the program's memory on which its threads wait for each other.
//!
//! Who waits stands in its thread's [`Wait`]; the tickets say who came first. A word is named by its address. Words in memory that processes share are
//! waited at with the memory's server, unless the call says that they are private: see [`futex_shared`](crate::operations::shared_futex).

use crate::abi::errno::{Answer, EAGAIN, EDEADLK, EINTR, EINVAL, ENOSYS, EPERM, ERESTART, ERESTART_ALWAYS, ERESTART_SLEEP, ESRCH, ETIMEDOUT};
use crate::abi::errno::Errno;
use crate::abi::registers::Frame;
use crate::calls::time::clocks;
use crate::operations::shared_futex;
use crate::process::Process;
use crate::process::threads::Thread;
use crate::raw::thread_block::Woken;

pub(crate) const WAIT: u64 = 0;
pub(crate) const WAKE: u64 = 1;
pub(crate) const REQUEUE: u64 = 3;
pub(crate) const CMP_REQUEUE: u64 = 4;
pub(crate) const WAKE_OP: u64 = 5;
pub(crate) const LOCK_PI: u64 = 6;
pub(crate) const UNLOCK_PI: u64 = 7;
pub(crate) const TRYLOCK_PI: u64 = 8;
pub(crate) const WAIT_BITSET: u64 = 9;
pub(crate) const WAKE_BITSET: u64 = 10;
pub(crate) const LOCK_PI2: u64 = 13;
const CLOCK_REALTIME: u64 = 256;
const PRIVATE: u64 = 128;
pub(crate) const ALL_BITS: u32 = u32::MAX;
/// In a word: somebody waits.
pub(crate) const WAITERS: u32 = 0x8000_0000;
/// In a word: its owner has ended.
const OWNER_DIED: u32 = 0x4000_0000;
/// In a word: the number of its owner.
pub(crate) const NUMBER: u32 = 0x3fff_ffff;
/// Most entries of a robust list.
const MOST_ROBUST: usize = 2048;

/// A thread's wait.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// The word.
    pub(crate) address: u64,
    pub(crate) bits: u32,
    pub(crate) ticket: u64,
}

/// How long a wait may last.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    Ever,
    /// For so many nanoseconds.
    For(u64),
    /// Until a clock says this.
    At(u64, u64),
}

impl Until {
    /// What is left, `None` if nothing is; 0 is for ever.
    pub(crate) fn left(self, process: &mut Process) -> Result<Option<u64>, Errno> {
        match self {
            Until::Ever => Ok(Some(0)),
            Until::For(span) => Ok(Some(span).filter(|span| *span != 0)),
            Until::At(clock, moment) => {
                let now = clocks::now(process, clock)?;
                Ok(moment.checked_sub(now).filter(|left| *left != 0))
            }
        }
    }
}

/// Checks the address of a word; its value.
pub(crate) fn value_at(process: &mut Process, address: u64) -> Result<u32, Errno> {
    if address % 4 != 0 {
        return Err(EINVAL);
    }
    process.memory.read_atomic(address)
}

/// Waits until the thread's `awaits` has been taken by a waker.
fn wait_woken(process: &mut Process, address: u64, bits: u32, until: Until) -> Result<(), Errno> {
    let Some(mut left) = until.left(process)? else { return Err(ETIMEDOUT) };
    process.tickets += 1;
    let ticket = process.tickets;
    process.me().awaits = Some(Wait { address, bits, ticket });
    let end = match until {
        Until::For(span) => Some(clocks::now(process, clocks::MONOTONIC)?.saturating_add(span)),
        _ => None,
    };
    loop {
        let woken = process.sleep(left);
        if process.me().awaits.is_none() {
            return Ok(());
        }
        let interrupted = process.is_interrupted();
        let over = match end {
            _ if woken == Woken::Late => None,
            Some(moment) => Until::At(clocks::MONOTONIC, moment).left(process)?,
            None => until.left(process)?,
        };
        if over.is_none() || interrupted {
            process.me().awaits = None;
            return Err(if over.is_none() { ETIMEDOUT } else { EINTR });
        }
        left = over.unwrap_or(0);
    }
}

fn wait(process: &mut Process, address: u64, expected: u32, bits: u32, until: Until) -> Answer {
    if bits == 0 {
        return Err(EINVAL);
    }
    if value_at(process, address)? != expected {
        return Err(EAGAIN);
    }
    match wait_woken(process, address, bits, until) {
        // As on Linux: a wait without a limit is made again, one with a limit gives EINTR if a handler ran.
        Err(EINTR) if matches!(until, Until::Ever) => Err(ERESTART),
        Err(EINTR) => Err(ERESTART_SLEEP),
        other => other.map(|()| 0),
    }
}

/// The waiter at a word that came first, with any of the bits.
fn first(process: &Process, address: u64, bits: u32) -> Option<usize> {
    let waits = |thread: &Thread| thread.awaits.into_iter().chain(thread.awaits_several.at(address));
    let waiters = process.threads.all().filter_map(|(index, thread)| Some((index, waits(thread).find(|wait| wait.address == address)?)));
    let here = waiters.filter(|(_, wait)| wait.address == address && wait.bits & bits != 0);
    here.min_by_key(|(_, wait)| wait.ticket).map(|(index, _)| index)
}

/// Wakes up to `count` waiters.
pub(crate) fn wake(process: &mut Process, address: u64, count: u64, bits: u32) -> u64 {
    let mut woken = 0;
    while woken < count
        && let Some(thread) = first(process, address, bits).and_then(|index| process.threads.get_mut(index))
    {
        thread.awaits = None;
        thread.awaits_several.take(address);
        thread.block.wake();
        woken += 1;
    }
    woken
}

/// Wakes all waiters at the word of a thread that has ended.
pub fn wake_all(process: &mut Process, address: u64) {
    wake(process, address, u64::MAX, ALL_BITS);
}

/// Wakes up to `count` and lets up to `most` more wait at another word.
fn requeue(process: &mut Process, from: u64, count: u64, most: u64, to: u64) -> Answer {
    let woken = wake(process, from, count, ALL_BITS);
    let mut moved = 0;
    while moved < most
        && from != to
        && let Some(thread) = first(process, from, ALL_BITS).and_then(|index| process.threads.get_mut(index))
    {
        match &mut thread.awaits {
            Some(wait) => wait.address = to,
            None => thread.awaits_several.move_to(from, to),
        }
        moved += 1;
    }
    Ok(woken + moved)
}

/// Carries out what `FUTEX_WAKE_OP` packs into a word, and says whether the second word's waiters are to be woken.
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

/// Takes a word that says who owns it, if nobody does.
fn try_own(process: &mut Process, address: u64) -> Result<bool, Errno> {
    let number = process.me().number as u32;
    let others = first(process, address, ALL_BITS).is_some();
    let before = process.memory.update_atomic(address, |old| {
        let free = old & NUMBER == 0;
        let waiters = if others || !free { WAITERS } else { old & WAITERS };
        Some(if free { number | old & OWNER_DIED | waiters } else { old | WAITERS })
    })?;
    let before = before.unwrap_or(0);
    match before & NUMBER {
        0 => Ok(true),
        owner if owner == number => Err(EDEADLK),
        owner if process.threads.find(u64::from(owner)).is_none() => Err(ESRCH),
        _ => Ok(false),
    }
}

fn lock_owned(process: &mut Process, address: u64, until: Until) -> Answer {
    value_at(process, address)?;
    while !try_own(process, address)? {
        match wait_woken(process, address, ALL_BITS, until) {
            Err(EINTR) => return Err(ERESTART_ALWAYS),
            Err(error) => return Err(error),
            Ok(()) if process.memory.read_atomic(address)? & NUMBER == process.me().number as u32 => return Ok(0),
            Ok(()) => {}
        }
    }
    Ok(0)
}

/// Hands an owned word to the waiter that came first.
fn unlock_owned(process: &mut Process, address: u64) -> Answer {
    let number = process.me().number as u32;
    if value_at(process, address)? & NUMBER != number {
        return Err(EPERM);
    }
    let next = first(process, address, ALL_BITS);
    let owner = next.and_then(|index| process.threads.get(index)).map_or(0, |thread| thread.number as u32);
    if let Some(thread) = next.and_then(|index| process.threads.get_mut(index)) {
        thread.awaits = None;
        thread.awaits_several.take(address);
        thread.block.wake();
    }
    let more = if first(process, address, ALL_BITS).is_some() { WAITERS } else { 0 };
    process.memory.update_atomic(address, |_| Some(owner | more))?;
    Ok(0)
}

/// The end of a wait in a call's fourth argument.
pub(crate) fn until(process: &Process, address: u64, clock: Option<u64>) -> Result<Until, Errno> {
    if address == 0 {
        return Ok(Until::Ever);
    }
    let moment = clocks::duration(&process.memory, address)?;
    Ok(clock.map_or(Until::For(moment), |clock| Until::At(clock, moment)))
}

/// Operations that wake, and move who waits.
fn wake_some(process: &mut Process, operation: u64, [word, value, fourth, second, third]: [u64; 5]) -> Answer {
    let (value, fourth, bits) = (u64::from(value as u32), u64::from(fourth as u32), third as u32);
    value_at(process, word)?;
    match operation {
        WAKE => Ok(wake(process, word, value.max(1), ALL_BITS)),
        WAKE_BITSET if bits == 0 => Err(EINVAL),
        WAKE_BITSET => Ok(wake(process, word, value.max(1), bits)),
        WAKE_OP => {
            let also = operate(process, second, third as u32)?;
            let woken = wake(process, word, value.max(1), ALL_BITS);
            Ok(woken + if also { wake(process, second, fourth, ALL_BITS) } else { 0 })
        }
        _ => {
            value_at(process, second)?;
            if operation == CMP_REQUEUE && value_at(process, word)? != third as u32 {
                return Err(EAGAIN);
            }
            requeue(process, word, value, fourth, second)
        }
    }
}

/// `futex(word, operation, value, timeout or count, second word, third value)`.
pub fn futex(process: &mut Process, frame: &mut Frame) -> Answer {
    let [word, operation, value, fourth, second, third] = frame.arguments();
    let clock = if operation & CLOCK_REALTIME != 0 { clocks::REALTIME } else { clocks::MONOTONIC };
    let is_private = operation & PRIVATE != 0;
    let operation = operation & 0x7f;
    let is_negative = matches!(operation, REQUEUE | CMP_REQUEUE) && ((value as i32) < 0 || (fourth as i32) < 0);
    if word % 4 != 0 || is_negative {
        return Err(EINVAL);
    }
    if !is_private && let Some(meeting) = process.meeting(word) {
        let clock = if operation == LOCK_PI { clocks::REALTIME } else { clock };
        return shared_futex::futex(process, &meeting, operation, clock, frame.arguments());
    }
    let moment = match operation {
        WAIT => None,
        LOCK_PI => Some(clocks::REALTIME),
        _ => Some(clock),
    };
    match operation {
        WAIT | WAIT_BITSET => {
            let bits = if operation == WAIT { ALL_BITS } else { third as u32 };
            let until = until(process, fourth, moment)?;
            wait(process, word, value as u32, bits, until)
        }
        LOCK_PI | LOCK_PI2 => {
            let until = until(process, fourth, moment)?;
            lock_owned(process, word, until)
        }
        TRYLOCK_PI => {
            value_at(process, word)?;
            if try_own(process, word)? { Ok(0) } else { Err(EAGAIN) }
        }
        UNLOCK_PI => unlock_owned(process, word),
        WAKE | WAKE_BITSET | WAKE_OP | REQUEUE | CMP_REQUEUE => wake_some(process, operation, [word, value, fourth, second, third]),
        _ => Err(ENOSYS),
    }
}

/// What happens to a robust futex when its owner ends: the next one learns that, and is woken.
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
pub fn release_all_robust(process: &mut Process) {
    let caller = process.caller;
    let all: alloc::vec::Vec<usize> = process.threads.all().map(|(index, _)| index).collect();
    for index in all {
        process.caller = index;
        release_robust(process);
    }
    process.caller = caller;
}

/// Frees the futexes in the caller's robust list. The list is the program's: any nonsense in it ends the walk.
pub fn release_robust(process: &mut Process) {
    let head = core::mem::take(&mut process.me().robust);
    if head == 0 {
        return;
    }
    let Ok([mut entry, offset, pending]) = process.memory.read_words(head) else { return };
    for _ in 0..MOST_ROBUST {
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
