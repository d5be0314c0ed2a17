//! Futexes in memory that processes share. The server of the memory compares the word and keeps the
//! queue, so that nobody sleeps through a wake.

use crate::abi::errno::{Answer, EAGAIN, EDEADLK, EINTR, EINVAL, ENOSYS, EPERM, ERESTART, ERESTART_ALWAYS, ERESTART_SLEEP, ETIMEDOUT, Errno};
use crate::abi::futex_numbers::{ALL_BITS, CMP_REQUEUE, LOCK_PI, LOCK_PI2, NUMBER, REQUEUE, TRYLOCK_PI, UNLOCK_PI, WAIT, WAITERS};
use crate::abi::futex_numbers::{WAIT_BITSET, WAKE, WAKE_BITSET, WAKE_OP};
use crate::abi::time_units;
use crate::operations::clock_reading::{self, Until};
use crate::process::{Process, futex_wake};
use crate::raw::wait_window::wait_for_word_at;
use crate::state::memory::shared_word::Meeting;
use nacre_proto::{segment, sender};
use nacre_sys::Code;
use nacre_sys::ipc::{Buffers, Message};

/// Waits at the word until somebody wakes it, or the time is over.
fn wait(process: &mut Process, at: &Meeting, expected: u32, bits: u32, until: Until) -> Result<(), Errno> {
    let end = match until {
        Until::For(span) => Until::At(time_units::MONOTONIC, clock_reading::now(process, time_units::MONOTONIC)?.saturating_add(span)),
        until => until,
    };
    loop {
        let Some(left) = end.left(process)? else { return Err(ETIMEDOUT) };
        match wait_at(process, at, expected, bits, left) {
            // A clock that can be set may not be there yet.
            Err(ETIMEDOUT) => {}
            done => return done,
        }
    }
}

/// Takes a word that says who owns it; whoever has waited says that others may.
fn lock_owned(process: &mut Process, at: &Meeting, word: u64, until: Option<Until>) -> Answer {
    let number = process.me().number as u32;
    let mut mark = 0;
    loop {
        let taken = process.memory.update_atomic(word, |old| (old & NUMBER == 0).then_some(old & !NUMBER | number | mark))?;
        if taken.is_some() {
            return Ok(0);
        }
        let Some(until) = until else { return Err(EAGAIN) };
        let owner = futex_wake::value_at(process, word)?;
        match owner & NUMBER {
            0 => continue,
            owner if owner == number => return Err(EDEADLK),
            _ => {}
        }
        let marked = process.memory.update_atomic(word, |old| (old == owner).then_some(old | WAITERS))?;
        if marked.is_none() {
            continue;
        }
        mark = WAITERS;
        match wait(process, at, owner | WAITERS, ALL_BITS, until) {
            Ok(()) | Err(EAGAIN) => {}
            Err(EINTR) => return Err(ERESTART_ALWAYS),
            Err(error) => return Err(error),
        }
    }
}

fn unlock_owned(process: &mut Process, at: &Meeting, word: u64) -> Answer {
    let number = process.me().number as u32;
    let before = process.memory.update_atomic(word, |old| (old & NUMBER == number).then_some(0))?;
    if before.ok_or(EPERM)? & WAITERS != 0 {
        at.wake(1, ALL_BITS)?;
    }
    Ok(0)
}

/// Wakes who waits at a word, wherever it lies.
fn wake_anywhere(process: &mut Process, word: u64, count: u64) -> Answer {
    match process.meeting(word) {
        Some(at) => at.wake(count, ALL_BITS),
        None => Ok(futex_wake::wake(process, word, count, ALL_BITS)),
    }
}

fn requeue(process: &mut Process, at: &Meeting, operation: u64, [word, value, most, second, expected]: [u64; 5]) -> Answer {
    futex_wake::value_at(process, second)?;
    if operation == CMP_REQUEUE && futex_wake::value_at(process, word)? != expected as u32 {
        return Err(EAGAIN);
    }
    match process.meeting(second) {
        Some(to) => at.requeue(value, most, &to),
        None => at.wake(value.saturating_add(most), ALL_BITS),
    }
}

/// A call about a word in shared memory.
pub fn futex(process: &mut Process, at: &Meeting, operation: u64, clock: u64, arguments: [u64; 6]) -> Answer {
    let [word, _, value, fourth, second, third] = arguments;
    let (count, most) = (u64::from(value as u32).max(1), u64::from(fourth as u32));
    futex_wake::value_at(process, word)?;
    match operation {
        WAIT | WAIT_BITSET => {
            let bits = if operation == WAIT { ALL_BITS } else { third as u32 };
            let until = clock_reading::until(process, fourth, (operation == WAIT_BITSET).then_some(clock))?;
            if bits == 0 {
                return Err(EINVAL);
            }
            if futex_wake::value_at(process, word)? != value as u32 {
                return Err(EAGAIN);
            }
            match wait(process, at, value as u32, bits, until) {
                Err(EINTR) if matches!(until, Until::Ever) => Err(ERESTART),
                Err(EINTR) => Err(ERESTART_SLEEP),
                done => done.map(|()| 0),
            }
        }
        LOCK_PI | LOCK_PI2 => {
            let until = clock_reading::until(process, fourth, Some(clock))?;
            lock_owned(process, at, word, Some(until))
        }
        TRYLOCK_PI => lock_owned(process, at, word, None),
        UNLOCK_PI => unlock_owned(process, at, word),
        WAKE => at.wake(count, ALL_BITS),
        WAKE_BITSET if third as u32 == 0 => Err(EINVAL),
        WAKE_BITSET => at.wake(count, third as u32),
        WAKE_OP => {
            let also = futex_wake::operate(process, second, third as u32)?;
            let woken = at.wake(count, ALL_BITS)?;
            Ok(woken + if also { wake_anywhere(process, second, most)? } else { 0 })
        }
        REQUEUE | CMP_REQUEUE => requeue(process, at, operation, [word, u64::from(value as u32), most, second, third]),
        _ => Err(ENOSYS),
    }
}

/// Waits there while the word is `expected`, for at most `timeout` nanoseconds (0: for ever).
pub fn wait_at(process: &mut Process, at: &Meeting, expected: u32, bits: u32, timeout: u64) -> Result<(), Errno> {
    if let Some(condition) = at.condition().filter(|_| bits == u32::MAX && process.lock.is_some()) {
        let address = at.address;
        match process.unlocked(|| wait_for_word_at(condition, address, expected, timeout)).map_err(|status| status.code()) {
            Ok(()) => return Ok(()),
            Err(Some(Code::Interrupted)) => return Err(EINTR),
            Err(Some(Code::TimedOut)) => return Err(ETIMEDOUT),
            // The memory's server says what is wrong.
            Err(_) => {}
        }
    }
    let message = Message::new(segment::wait::LABEL, sender::words([at.offset, expected.into(), bits.into()]));
    process.exchange_until(timeout, at.port, &message, Buffers::NONE).map(drop)
}
