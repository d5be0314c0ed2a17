//! Futexes: words of the program's memory on which its threads wait for each other.
//!
//! Who waits stands in its thread's [`Wait`]; the tickets say who came first. A word is named by
//! its address. Words in memory that processes share are waited at with the memory's server, unless
//! the call says that they are private: see [`futex_shared`](crate::operations::shared_futex).

use crate::abi::errno::{Answer, EAGAIN, EDEADLK, EINTR, EINVAL, ENOSYS, EPERM, ERESTART, ERESTART_ALWAYS, ERESTART_SLEEP, ESRCH, ETIMEDOUT};
use crate::abi::errno::Errno;
use crate::abi::futex_numbers::{ALL_BITS, CLOCK_REALTIME, CMP_REQUEUE, LOCK_PI, LOCK_PI2, NUMBER, OWNER_DIED, PRIVATE, REQUEUE, TRYLOCK_PI};
use crate::abi::futex_numbers::{UNLOCK_PI, WAIT, WAITERS, WAIT_BITSET, WAKE, WAKE_BITSET, WAKE_OP};
use crate::abi::registers::Frame;
use crate::abi::time_units;
use crate::operations::clock_reading::{self, Until, until};
use crate::operations::shared_futex;
use crate::process::Process;
use crate::process::futex_wake::{enter, first, leave, move_waiters, operate, value_at, wake};
use crate::raw::thread_block::Woken;
use crate::state::threads::futex_wait::Wait;

/// Waits until the thread's `awaits` has been taken by a waker.
fn wait_woken(process: &mut Process, address: u64, bits: u32, until: Until) -> Result<(), Errno> {
    process.tickets += 1;
    let ticket = process.tickets;
    let wait = Wait { address, bits, ticket };
    enter(process, core::iter::once(wait))?;
    process.me().awaits = Some(wait);
    let result = sleep_until_woken(process, until);
    leave(process);
    result
}

/// Sleeps until the thread's `awaits` has been taken.
fn sleep_until_woken(process: &mut Process, until: Until) -> Result<(), Errno> {
    let Some(mut left) = until.left(process)? else { return Err(ETIMEDOUT) };
    let end = match until {
        Until::For(span) => Some(clock_reading::now(process, time_units::MONOTONIC)?.saturating_add(span)),
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
            Some(moment) => Until::At(time_units::MONOTONIC, moment).left(process)?,
            None => until.left(process)?,
        };
        if over.is_none() || interrupted {
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
        // As on Linux: a wait without a limit is made again, one with a limit gives EINTR if a
        // handler ran.
        Err(EINTR) if matches!(until, Until::Ever) => Err(ERESTART),
        Err(EINTR) => Err(ERESTART_SLEEP),
        other => other.map(|()| 0),
    }
}

/// Wakes up to `count` and lets up to `most` more wait at another word.
fn requeue(process: &mut Process, from: u64, count: u64, most: u64, to: u64) -> Answer {
    let woken = wake(process, from, count, ALL_BITS);
    Ok(woken + move_waiters(process, from, most, to)?)
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
    wake(process, address, 1, ALL_BITS);
    let more = if first(process, address, ALL_BITS).is_some() { WAITERS } else { 0 };
    process.memory.update_atomic(address, |_| Some(owner | more))?;
    Ok(0)
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
    let clock = if operation & CLOCK_REALTIME != 0 { time_units::REALTIME } else { time_units::MONOTONIC };
    let is_private = operation & PRIVATE != 0;
    let operation = operation & 0x7f;
    let is_negative = matches!(operation, REQUEUE | CMP_REQUEUE) && ((value as i32) < 0 || (fourth as i32) < 0);
    if word % 4 != 0 || is_negative {
        return Err(EINVAL);
    }
    if !is_private && let Some(meeting) = process.meeting(word) {
        let clock = if operation == LOCK_PI { time_units::REALTIME } else { clock };
        return shared_futex::futex(process, &meeting, operation, clock, frame.arguments());
    }
    let moment = match operation {
        WAIT => None,
        LOCK_PI => Some(time_units::REALTIME),
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
