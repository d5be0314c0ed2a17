//! Timers: `alarm`, `setitimer`, `timer_create` and its like. The agent waits for the first that is
//! due.
//!
//! States of a timer: disarmed (no moment); armed. All moments are of the monotonic clock.

use crate::abi::errno::{Answer, EAGAIN, EINVAL, Errno};
use crate::abi::registers::Frame;
use crate::abi::signal_info::LAST;
use crate::abi::time_units::{MICROSECOND, MONOTONIC, SECOND};
use crate::operations::clock_reading::{self, moment, read_setting, span, write_setting, write_timer};
use crate::operations::cpu_time;
use crate::operations::due_timers::{self, SIGALRM};
use crate::process::Process;
use crate::state::timers::{Effect, Posix, Timer};

/// Maximum number of timers of `timer_create`.
const MOST: usize = 1024;
const TIMER_ABSTIME: u64 = 1;

/// The timer of an identifier that the program names.
fn posix(process: &mut Process, identifier: u64) -> Result<&mut Posix, Errno> {
    process.timers.posix.get_mut(identifier as u32 as usize).and_then(Option::as_mut).ok_or(EINVAL)
}

/// Arms the real timer, or disarms it (0); interval and rest of before.
fn set_real(process: &mut Process, interval: u64, value: u64) -> Result<[u64; 2], Errno> {
    let now = clock_reading::now(process, MONOTONIC)?;
    let before = process.timers.real.left(now);
    let due = (value != 0).then(|| now.saturating_add(value));
    process.timers.real = Timer { due, interval, count: 0 };
    if due.is_some() {
        process.call_agent()?;
    }
    Ok(before)
}

/// `alarm(seconds)`: how many seconds were left of the one before.
pub fn alarm(process: &mut Process, frame: &mut Frame) -> Answer {
    let seconds = frame.arguments()[0] & 0xffff_ffff;
    let [_, left] = set_real(process, 0, seconds * SECOND)?;
    // As on Linux: rounded, but an alarm that is still to come is never 0.
    let rounded = (left + SECOND / 2) / SECOND;
    Ok(if left != 0 { rounded.max(1) } else { 0 })
}

/// Returns the index of a CPU-time timer, or `None` for the real-time one.
fn which_used(which: u64) -> Result<Option<usize>, Errno> {
    match which as u32 {
        0 => Ok(None),
        which @ 1..=2 => Ok(Some(which as usize - 1)),
        _ => Err(EINVAL),
    }
}

/// Arms a timer of used time, or disarms it (0); interval and rest of before.
fn set_used(process: &mut Process, index: usize, interval: u64, value: u64) -> Result<[u64; 2], Errno> {
    let now = process.used();
    let before = process.cpu_timers[index].left(now);
    let due = (value != 0).then(|| now.saturating_add(value));
    process.cpu_timers[index] = Timer { due, interval, count: 0 };
    if due.is_some() {
        process.call_agent()?;
    }
    Ok(before)
}

/// `getitimer(which, value)`.
pub fn getitimer(process: &mut Process, frame: &mut Frame) -> Answer {
    let [which, value, ..] = frame.arguments();
    let left = match which_used(which)? {
        Some(index) => {
            let now = process.used();
            process.cpu_timers[index].left(now)
        }
        None => {
            let now = clock_reading::now(process, MONOTONIC)?;
            process.timers.real.left(now)
        }
    };
    write_timer(process, value, left, MICROSECOND)?;
    Ok(0)
}

/// `setitimer(which, new, old)`.
pub fn setitimer(process: &mut Process, frame: &mut Frame) -> Answer {
    let [which, new, old, ..] = frame.arguments();
    let used = which_used(which)?;
    let [a, b, c, d] = if new == 0 { [0; 4] } else { process.memory.read_words(new)? };
    let (interval, value) = (span([a, b], MICROSECOND)?, span([c, d], MICROSECOND)?);
    let before = match used {
        Some(index) => set_used(process, index, interval, value)?,
        None => set_real(process, interval, value)?,
    };
    if old != 0 {
        write_timer(process, old, before, MICROSECOND)?;
    }
    Ok(0)
}

/// Returns the effect that a `sigevent` asks for. The default is `SIGALRM` with the timer's number.
fn effect(process: &Process, address: u64, identifier: u64) -> Result<Effect, Errno> {
    const SIGEV_SIGNAL: u64 = 0;
    const SIGEV_NONE: u64 = 1;
    const SIGEV_THREAD_ID: u64 = 4;
    if address == 0 {
        return Ok(Effect::Signal(SIGALRM, identifier));
    }
    let [value, word, thread] = process.memory.read_words(address)?;
    let (signal, kind) = (word & 0xffff_ffff, word >> 32);
    if kind != SIGEV_NONE && !(1..=LAST).contains(&signal) {
        return Err(EINVAL);
    }
    match kind {
        SIGEV_NONE => Ok(Effect::Nothing),
        SIGEV_SIGNAL => Ok(Effect::Signal(signal, value)),
        SIGEV_THREAD_ID if process.threads.find(thread & 0xffff_ffff).is_some() => Ok(Effect::Thread(signal, value, thread & 0xffff_ffff)),
        _ => Err(EINVAL),
    }
}

/// `timer_create(clock, event, identifier)`.
pub fn timer_create(process: &mut Process, frame: &mut Frame) -> Answer {
    let [clock, event, address, ..] = frame.arguments();
    let used = cpu_time::clock(process, clock)?;
    let clock = if used.is_some() { MONOTONIC } else { clock_reading::clock(clock)? };
    process.memory.writable(address, 4)?;
    let posix = &process.timers.posix;
    let index = posix.iter().position(Option::is_none).unwrap_or(posix.len());
    if index >= MOST {
        return Err(EAGAIN);
    }
    let effect = effect(process, event, index as u64)?;
    if index == process.timers.posix.len() {
        process.timers.posix.push(None);
    }
    process.timers.posix[index] = Some(Posix { timer: Timer::new(), clock, used, effect });
    process.memory.write_half(address, index as u32)?;
    Ok(0)
}

/// `timer_settime(identifier, flags, new, old)`.
pub fn timer_settime(process: &mut Process, frame: &mut Frame) -> Answer {
    let [identifier, flags, new, old, ..] = frame.arguments();
    let Posix { clock, used, .. } = *posix(process, identifier)?;
    let [interval, value] = read_setting(process, new)?;
    let now = clock_reading::now(process, MONOTONIC)?;
    let now = due_timers::now_for(process, used, now);
    let is_absolute = flags & TIMER_ABSTIME != 0;
    let due = match used {
        Some(_) => (value != 0).then(|| if is_absolute { value } else { now.saturating_add(value) }),
        None => moment(process, clock, value, is_absolute)?,
    };
    let posix = posix(process, identifier)?;
    let before = posix.timer.left(now);
    posix.timer = Timer { due, interval, count: 0 };
    if old != 0 {
        write_setting(process, old, before)?;
    }
    if due.is_some() {
        process.call_agent()?;
    }
    Ok(0)
}

/// `timer_gettime(identifier, value)`.
pub fn timer_gettime(process: &mut Process, frame: &mut Frame) -> Answer {
    let [identifier, address, ..] = frame.arguments();
    let used = posix(process, identifier)?.used;
    let now = clock_reading::now(process, MONOTONIC)?;
    let now = due_timers::now_for(process, used, now);
    let left = posix(process, identifier)?.timer.left(now);
    write_setting(process, address, left)?;
    Ok(0)
}

/// `timer_getoverrun(identifier)`: how often it was due besides when it was last due.
pub fn timer_getoverrun(process: &mut Process, frame: &mut Frame) -> Answer {
    let timer = &mut posix(process, frame.arguments()[0])?.timer;
    Ok(core::mem::take(&mut timer.count).saturating_sub(1).min(i32::MAX as u64))
}

/// `timer_delete(identifier)`.
pub fn timer_delete(process: &mut Process, frame: &mut Frame) -> Answer {
    let identifier = frame.arguments()[0];
    posix(process, identifier)?;
    process.timers.posix[identifier as u32 as usize] = None;
    Ok(0)
}
